//! Aligned text tables.

use std::fmt;

/// How a column is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A table of text: names to the left, numbers to the right.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table with these headings.
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Table {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headings: Vec<String> = self.columns.iter().map(|(name, _)| (*name).into()).collect();
        let lines = || std::iter::once(&headings).chain(&self.rows);
        let width_of = |column: usize| {
            lines().filter_map(|cells| cells.get(column)).map(|cell| cell.chars().count()).max()
        };
        let widths: Vec<usize> =
            (0..headings.len()).map(|column| width_of(column).unwrap_or(0)).collect();
        for cells in lines() {
            let mut line = String::new();
            for (column, (&width, (_, align))) in widths.iter().zip(&self.columns).enumerate() {
                let cell = cells.get(column).map_or("", String::as_str);
                let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
                if column > 0 {
                    line.push_str("  ");
                }
                match align {
                    Align::Left => line.extend([cell, &padding]),
                    Align::Right => line.extend([&padding, cell]),
                }
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// A whole number with its thousands apart: `22,133`.
pub(crate) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (idx, digit) in digits.chars().enumerate() {
        if idx > 0 && (digits.len() - idx).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes in the largest binary unit that leaves at least 1: `6.3 MiB`.
pub(crate) fn bytes(value: u64) -> String {
    scaled(value as f64, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"])
}

/// A count in the largest decimal unit that leaves at least 1: `2.1 G`.
pub(crate) fn count(value: u64) -> String {
    scaled(value as f64, 1000.0, &["", "k", "M", "G", "T", "P"])
}

fn scaled(mut value: f64, base: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while value >= base && unit + 1 < units.len() {
        value /= base;
        unit += 1;
    }
    let digits = usize::from(unit > 0);
    format!("{value:.digits$} {}", units[unit]).trim_end().into()
}

/// A value if there is one, else a dash.
pub(crate) fn or_dash<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "-".into(), show)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligns_numbers_to_the_right() {
        let mut table = Table::new(&[("kernel", Align::Left), ("cycles", Align::Right)]);
        table.row(vec!["matmul".into(), grouped(22_133)]);
        table.row(vec!["x".into(), grouped(7)]);
        assert_eq!(table.to_string(), "kernel  cycles\nmatmul  22,133\nx            7\n");
    }

    #[test]
    fn scales_to_units() {
        assert_eq!(grouped(1_000_000), "1,000,000");
        assert_eq!(grouped(999), "999");
        assert_eq!(bytes(512), "512 B");
        assert_eq!(bytes(6 * 1024 * 1024 + 300_000), "6.3 MiB");
        assert_eq!(count(2_147_483_648), "2.1 G");
        assert_eq!(count(12), "12");
    }
}
