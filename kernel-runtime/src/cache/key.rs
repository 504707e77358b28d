//! Keys: hashes of what a value is made from.
use std::fmt;

/// The key of an entry: a blake3 hash over everything that the value depends on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key([u8; blake3::OUT_LEN]);

impl Key {
    /// The key of these parts, told apart from any other list of parts. Let the first say what kind
    /// of value it is and the version of its format.
    ///
    /// ```
    /// use systole::cache::Key;
    ///
    /// assert_ne!(Key::of(&[b"ab", b"c"]), Key::of(&[b"a", b"bc"]));
    /// ```
    pub fn of(parts: &[&[u8]]) -> Key {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            // With lengths, no two lists of parts are the same bytes.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Key(*hasher.finalize().as_bytes())
    }

    /// Reads what [`Key`]'s `Display` wrote: 64 hexadecimal digits in lower case.
    pub fn parse(text: &str) -> Option<Key> {
        let hash = blake3::Hash::from_hex(text).ok()?;
        // Upper case would be a second name of the same entry.
        (hash.to_hex().as_str() == text).then(|| Key(*hash.as_bytes()))
    }

    /// Where a value of this key is in a folder or object store: `3f/a0..9c` for `3fa0..9c`, so that
    /// no folder gets too many files.
    pub(super) fn place(&self) -> String {
        let text = self.to_string();
        let (shard, name) = text.split_at(2);
        format!("{shard}/{name}")
    }

    /// The hash.
    pub fn as_bytes(&self) -> &[u8; blake3::OUT_LEN] {
        &self.0
    }
}

impl From<blake3::Hash> for Key {
    fn from(hash: blake3::Hash) -> Key {
        Key(*hash.as_bytes())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_parts_apart_and_reads_its_own_text() {
        assert_ne!(Key::of(&[b"a"]), Key::of(&[b"a", b""]));
        let key = Key::of(&[b"a"]);
        let text = key.to_string();
        assert_eq!(Key::parse(&text), Some(key));
        for wrong in [&text[1..], &text.to_uppercase(), "", &format!("{text}0"), "../../etc"] {
            assert_eq!(Key::parse(wrong), None, "{wrong}");
        }
    }
}
