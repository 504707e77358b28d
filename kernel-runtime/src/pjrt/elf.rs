//! What a shared library exports, read from its file. Loading one runs its code: libtpu, for one,
//! then asks a metadata server for minutes where there is none.
use std::fs::File;
use std::io::Result;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What the names of a library's functions tell about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// No ELF file of 64 bits.
    NoLibrary,
    /// A library whose end is missing. Loading it would end the process by a signal.
    CutShort,
    /// A library without the symbol that every PJRT plugin has.
    NoPlugin,
    /// A plugin that exports libtpu's own interface too.
    Tpu,
    /// Another plugin, for CPU or GPU.
    Other,
    /// A library whose table of symbols is not where linkers put it.
    Unknown,
}

impl Kind {
    /// Why a file of this kind is no PJRT plugin at all.
    pub(super) fn refusal(self) -> Option<&'static str> {
        match self {
            Kind::NoLibrary => Some("it is no shared library"),
            Kind::CutShort => Some("it is a shared library cut short: get it again"),
            Kind::NoPlugin => {
                Some("it is a library but no PJRT plugin: it has no symbol GetPjrtApi")
            }
            Kind::Tpu | Kind::Other | Kind::Unknown => None,
        }
    }
}

/// What kind of library `path` is, without loading it.
pub(super) fn kind(path: &Path) -> Result<Kind> {
    let file = File::open(path)?;
    let mut head = [0; 64];
    let is_elf = file.read_exact_at(&mut head, 0).is_ok()
        && head.starts_with(b"\x7fELF")
        // 64 bits, little endian.
        && head[4..6] == [2, 1];
    if !is_elf {
        return Ok(Kind::NoLibrary);
    }
    if is_cut_short(&file, &head) {
        return Ok(Kind::CutShort);
    }
    let Some(names) = exports(&file, &head) else { return Ok(Kind::Unknown) };
    let has = |wanted: fn(&[u8]) -> bool| names.iter().any(|name| wanted(name));
    Ok(if !has(|name| name == b"GetPjrtApi") {
        Kind::NoPlugin
    } else if has(|name| name == b"GetLibtpuSdkApi" || name.starts_with(b"TfTpu_")) {
        Kind::Tpu
    } else {
        Kind::Other
    })
}

const SECTION_BYTES: usize = 64;

/// Whether a part that would be mapped into memory, or the table at the end, is beyond the end.
fn is_cut_short(file: &File, head: &[u8; 64]) -> bool {
    const SEGMENT_BYTES: usize = 56;
    const LOAD: u32 = 1;
    let Ok(file_bytes) = file.metadata().map(|data| data.len()) else { return false };
    let is_beyond = |offset: Option<u64>, len: Option<u64>| {
        let end = offset.zip(len).and_then(|(offset, len)| offset.checked_add(len));
        end.is_none_or(|end| end > file_bytes)
    };
    let n_bytes = |n: Option<usize>, bytes: usize| n.map(|n| (n * bytes) as u64);
    let segments = n_bytes(short(head, 56), SEGMENT_BYTES);
    let sections = n_bytes(short(head, 60), SECTION_BYTES);
    if is_beyond(long(head, 32), segments) || is_beyond(long(head, 40), sections) {
        return true;
    }
    let table = long(head, 32).zip(segments).and_then(|(offset, len)| read(file, offset, len));
    table.unwrap_or_default().chunks_exact(SEGMENT_BYTES).any(|segment| {
        word(segment, 0) == Some(LOAD) && is_beyond(long(segment, 8), long(segment, 32))
    })
}

/// The names of the symbols that the library defines for others.
fn exports(file: &File, head: &[u8; 64]) -> Option<Vec<Vec<u8>>> {
    const DYNSYM: u32 = 11;
    const SYMBOL_BYTES: usize = 24;
    if short(head, 58)? != SECTION_BYTES {
        return None;
    }
    let table = read(file, long(head, 40)?, (short(head, 60)? * SECTION_BYTES) as u64)?;
    let sections: Vec<&[u8]> = table.chunks_exact(SECTION_BYTES).collect();
    let content = |section: &[u8]| read(file, long(section, 24)?, long(section, 32)?);
    let dynsym = sections.iter().find(|section| word(section, 4) == Some(DYNSYM))?;
    let strings = content(sections.get(word(dynsym, 40)? as usize)?)?;
    let symbols = content(dynsym)?;
    let name = |symbol: &[u8]| {
        let is_defined = symbol[6..8] != [0, 0];
        let rest = strings.get(word(symbol, 0)? as usize..)?;
        let end = rest.iter().position(|&byte| byte == 0)?;
        is_defined.then(|| rest[..end].to_vec())
    };
    Some(symbols.chunks_exact(SYMBOL_BYTES).filter_map(name).collect())
}

fn short(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?)))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// A part of the file; none if it is not there or larger than tables are.
fn read(file: &File, offset: u64, len: u64) -> Option<Vec<u8>> {
    const MAX_BYTES: u64 = 256 << 20;
    let end = offset.checked_add(len)?;
    if len > MAX_BYTES || end > file.metadata().ok()?.len() {
        return None;
    }
    let mut bytes = vec![0; len as usize];
    file.read_exact_at(&mut bytes, offset).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF file with these defined symbols, and with an undefined one.
    fn library(names: &[&str]) -> Vec<u8> {
        let mut strings = b"\0GetLibtpuSdkApi\0".to_vec();
        let symbol = |name: usize, section: u16| {
            let mut bytes = [0; 24];
            bytes[..4].copy_from_slice(&(name as u32).to_le_bytes());
            bytes[6..8].copy_from_slice(&section.to_le_bytes());
            bytes
        };
        let mut symbols = vec![symbol(1, 0)];
        for name in names {
            symbols.push(symbol(strings.len(), 1));
            strings.extend([name.as_bytes(), b"\0"].concat());
        }
        let symbols = symbols.concat();
        let section = |kind: u32, offset: usize, len: usize, link: u32| {
            let mut bytes = [0; 64];
            bytes[4..8].copy_from_slice(&kind.to_le_bytes());
            bytes[24..32].copy_from_slice(&(offset as u64).to_le_bytes());
            bytes[32..40].copy_from_slice(&(len as u64).to_le_bytes());
            bytes[40..44].copy_from_slice(&link.to_le_bytes());
            bytes
        };
        let mut head = [0; 64];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        head[40] = 64;
        head[58] = 64;
        head[60] = 2;
        // One part to be mapped, of which `truncate` may leave too little.
        head[32..40].copy_from_slice(&192_u64.to_le_bytes());
        head[56] = 1;
        let at = 64 + 2 * 64 + 56;
        let mut segment = [0; 56];
        segment[0] = 1;
        segment[32..40]
            .copy_from_slice(&((at + symbols.len() + strings.len()) as u64).to_le_bytes());
        let table =
            [section(11, at, symbols.len(), 1), section(3, at + symbols.len(), strings.len(), 0)]
                .concat();
        [&head[..], &table, &segment, &symbols, &strings].concat()
    }

    fn kind_of(bytes: &[u8]) -> Kind {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        kind(file.path()).unwrap()
    }

    #[test]
    fn tells_plugins_by_what_they_export() {
        assert_eq!(kind_of(&library(&["GetPjrtApi"])), Kind::Other);
        assert_eq!(kind_of(&library(&["a", "TfTpu_Initialize", "GetPjrtApi"])), Kind::Tpu);
        assert_eq!(kind_of(&library(&["GetLibtpuSdkApi", "GetPjrtApi"])), Kind::Tpu);
        assert_eq!(kind_of(&library(&["TfTpu_Initialize"])), Kind::NoPlugin);
        assert_eq!(kind_of(&library(&[])), Kind::NoPlugin);
        assert_eq!(kind_of(b"text"), Kind::NoLibrary);
        assert_eq!(kind_of(b""), Kind::NoLibrary);
        let mut whole = library(&["GetPjrtApi"]);
        for len in 64..whole.len() {
            assert_eq!(kind_of(&whole[..len]), Kind::CutShort, "{len}");
        }
        // Without a table of sections nothing is known.
        whole[60] = 0;
        assert_eq!(kind_of(&whole), Kind::Unknown);
        assert!(kind(Path::new("/no/such/file")).is_err());
    }

    proptest::proptest! {
        #[test]
        fn reads_any_damage(at in 0_usize..340, byte: u8, len in 0_usize..400) {
            let mut bytes = library(&["GetPjrtApi", "b"]);
            let at = at % bytes.len();
            bytes[at] = byte;
            bytes.truncate(len);
            kind_of(&bytes);
        }
    }
}
