//! Reading protobuf messages without their schema: enough for the optimised HLO.

/// The payload of one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field<'a> {
    /// A varint or a fixed-width number.
    Int(u64),
    /// A string, message, or packed list.
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    pub(crate) fn bytes(self) -> &'a [u8] {
        match self {
            Field::Bytes(bytes) => bytes,
            Field::Int(_) => &[],
        }
    }

    pub(crate) fn text(self) -> &'a str {
        std::str::from_utf8(self.bytes()).unwrap_or_default()
    }

    pub(crate) fn int(self) -> u64 {
        match self {
            Field::Int(int) => int,
            Field::Bytes(_) => 0,
        }
    }

    /// A repeated integer, packed or not.
    pub(crate) fn ints(self) -> Vec<u64> {
        match self {
            Field::Int(int) => vec![int],
            Field::Bytes(mut bytes) => {
                let mut ints = Vec::new();
                while let Some(int) = varint(&mut bytes) {
                    ints.push(int);
                }
                ints
            }
        }
    }
}

/// Iterates over the fields of a message as `(number, payload)`; ends early if it is corrupt.
pub(crate) fn fields(mut message: &[u8]) -> impl Iterator<Item = (u64, Field<'_>)> {
    std::iter::from_fn(move || {
        let key = varint(&mut message)?;
        let field = match key & 7 {
            0 => Field::Int(varint(&mut message)?),
            1 => Field::Int(u64::from_le_bytes(*message.split_off(..8)?.first_chunk()?)),
            2 => {
                let len = usize::try_from(varint(&mut message)?).ok()?;
                Field::Bytes(message.split_off(..len)?)
            }
            5 => Field::Int(u64::from(u32::from_le_bytes(*message.split_off(..4)?.first_chunk()?))),
            _ => return None,
        };
        Some((key >> 3, field))
    })
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.split_off_first()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_wire_type_and_stops_at_rubbish() {
        let message =
            [0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x1d, 1, 0, 0, 0, 0x22, 2, 3, 4, 0x12, 9];
        let all: Vec<_> = fields(&message).collect();
        assert_eq!(all.len(), 4);
        assert_eq!(all[0], (1, Field::Int(150)));
        assert_eq!(all[1].1.text(), "hi");
        assert_eq!(all[2], (3, Field::Int(1)));
        assert_eq!(all[3].1.ints(), [3, 4]);
    }

    proptest::proptest! {
        #[test]
        fn reads_any_bytes(bytes: Vec<u8>) {
            for (_, field) in fields(&bytes) {
                let _all = (field.ints(), field.text(), field.int());
            }
            let _module = super::super::hlo::Module::parse("hlo", &bytes);
        }
    }
}
