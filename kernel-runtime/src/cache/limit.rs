//! How large a cache may grow, as the user says it.

/// The variable that says how many bytes each cache on disk may take: `2GiB`, `500 MB`, `0` for none.
pub const LIMIT_VARIABLE: &str = "SYSTOLE_CACHE_LIMIT";

/// The limit where the variable is not set: 2 GiB.
pub const DEFAULT_LIMIT_BYTES: u64 = 2 << 30;

/// The limit that [`LIMIT_VARIABLE`] sets, in bytes, or the default.
///
/// # Errors
/// When the variable says no size; the text names it, its value and what it may be.
pub fn limit_bytes() -> Result<u64, String> {
    match std::env::var_os(LIMIT_VARIABLE) {
        None => Ok(DEFAULT_LIMIT_BYTES),
        Some(value) if value.is_empty() => Ok(DEFAULT_LIMIT_BYTES),
        Some(value) => value.to_str().and_then(parse_bytes).ok_or_else(|| {
            format!(
                "{LIMIT_VARIABLE}={} is no size: write a number of bytes such as 500000000, or with \
                 a unit such as 500MB or 2GiB; 0 keeps nothing. Until then 2GiB holds",
                value.to_string_lossy()
            )
        }),
    }
}

/// Reads a size: a whole number, alone or with `B`, `kB`, `MB`, `GB`, `TB` (powers of 1000) or
/// `KiB`, `MiB`, `GiB`, `TiB` (powers of 1024), in any case.
///
/// ```
/// use systole::cache::parse_bytes;
///
/// assert_eq!(parse_bytes("2 GiB"), Some(2 << 30));
/// assert_eq!(parse_bytes("2 apples"), None);
/// ```
pub fn parse_bytes(text: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 10] = [
        ("", 1),
        ("b", 1),
        ("kb", 1000),
        ("mb", 1000_u64.pow(2)),
        ("gb", 1000_u64.pow(3)),
        ("tb", 1000_u64.pow(4)),
        ("kib", 1 << 10),
        ("mib", 1 << 20),
        ("gib", 1 << 30),
        ("tib", 1 << 40),
    ];
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim_start().to_ascii_lowercase();
    let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*scale)
}

#[cfg(test)]
mod tests {
    use super::parse_bytes;

    #[test]
    fn reads_sizes_with_units() {
        for (text, bytes) in [
            ("0", 0),
            (" 17 ", 17),
            ("17B", 17),
            ("500mb", 500_000_000),
            ("500 MiB", 500 << 20),
            ("1tib", 1 << 40),
        ] {
            assert_eq!(parse_bytes(text), Some(bytes), "{text}");
        }
        for wrong in ["", "GiB", "-1", "1.5GiB", "2 apples", "99999999999TiB", "0x10"] {
            assert_eq!(parse_bytes(wrong), None, "{wrong}");
        }
    }
}
