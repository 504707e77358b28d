//! Which keys a query row sees by its position alone, and what that means for whole blocks.

use std::ops::Range;

/// A band of the `[queries, keys]` square: row `r` sees column `c` where
/// `-before <= c - (r + offset) <= after`.
///
/// What lies outside costs nothing: blocks there are skipped. Anything that depends on more than
/// `c - r` is the mask closure's part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Band {
    /// How far back a row sees, beside its own position; `None` is without limit.
    pub before: Option<usize>,
    /// How far ahead a row sees; `Some(0)` is causal, `None` is without limit.
    pub after: Option<usize>,
    /// Position of row 0 among the keys: `sk - sq` where queries are the last tokens.
    pub offset: isize,
}

/// How a band covers a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// No row sees any of the columns.
    None,
    /// Some rows see some of the columns.
    Part,
    /// Every row sees every column.
    Full,
}

impl Band {
    /// Whether a row sees a column.
    pub fn sees(&self, row: usize, col: usize) -> bool {
        self.coverage(row..row + 1, col..col + 1, 0) == Coverage::Full
    }

    /// The band as limits on `c - r`: lowest and highest difference seen.
    pub fn limits(&self) -> (Option<isize>, Option<isize>) {
        // No array is as long as that, so what lies beyond changes nothing but the arithmetic.
        const FAR: isize = 1 << 28;
        let offset = self.offset.clamp(-FAR, FAR);
        let reach = |n: usize| n.min(FAR as usize) as isize;
        (self.before.map(|n| offset - reach(n)), self.after.map(|n| offset + reach(n)))
    }

    /// How the band covers a block whose columns are shifted by `delta` against its rows.
    pub fn coverage(&self, rows: Range<usize>, cols: Range<usize>, delta: isize) -> Coverage {
        let (lowest, highest) = self.limits();
        let least = cols.start as isize + delta - (rows.end as isize - 1);
        let most = cols.end as isize - 1 + delta - rows.start as isize;
        let outside =
            highest.is_some_and(|limit| least > limit) || lowest.is_some_and(|limit| most < limit);
        let inside =
            highest.is_none_or(|limit| most <= limit) && lowest.is_none_or(|limit| least >= limit);
        match (outside, inside) {
            (true, _) => Coverage::None,
            (_, true) => Coverage::Full,
            _ => Coverage::Part,
        }
    }

    /// Whether some row sees no column at all.
    pub fn has_blind_rows(&self, sq: usize, sk: usize) -> bool {
        let (lowest, highest) = self.limits();
        highest.is_some_and(|limit| limit < 0)
            || lowest.is_some_and(|limit| sq as isize - 1 + limit > sk as isize - 1)
    }

    /// The number of `(row, column)` pairs seen.
    pub fn n_pairs(&self, sq: usize, sk: usize) -> u64 {
        let (lowest, highest) = self.limits();
        (0..sq as isize)
            .map(|row| {
                let first = lowest.map_or(0, |limit| (row + limit).max(0));
                let last =
                    highest.map_or(sk as isize - 1, |limit| (row + limit).min(sk as isize - 1));
                (last - first + 1).max(0) as u64
            })
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_agrees_with_single_elements() {
        let bands = [
            Band::default(),
            Band { after: Some(0), ..Band::default() },
            Band { before: Some(3), after: Some(0), offset: 0 },
            Band { before: Some(2), after: Some(1), offset: 4 },
            Band { before: None, after: Some(0), offset: -3 },
        ];
        for band in bands {
            for (r0, r1, c0, c1) in [(0, 4, 0, 4), (4, 8, 0, 4), (0, 4, 4, 8), (2, 5, 1, 9)] {
                let seen = (r0..r1).flat_map(|r| (c0..c1).map(move |c| (r, c)));
                let n = seen.filter(|&(r, c)| band.sees(r, c)).count();
                let expected = match n {
                    0 => Coverage::None,
                    n if n == (r1 - r0) * (c1 - c0) => Coverage::Full,
                    _ => Coverage::Part,
                };
                assert_eq!(band.coverage(r0..r1, c0..c1, 0), expected, "{band:?} {r0} {c0}");
            }
        }
    }

    #[test]
    fn pairs_are_counted() {
        let causal = Band { after: Some(0), ..Band::default() };
        assert_eq!(causal.n_pairs(4, 4), 10);
        assert_eq!(Band::default().n_pairs(3, 5), 15);
        let window = Band { before: Some(1), after: Some(0), offset: 0 };
        assert_eq!(window.n_pairs(4, 4), 7);
    }
}
