//! How the work of one head is cut into tiles. Pure arithmetic, done while tracing.
//!
//! A grid step works on a super tile of `zq` queries by `zk` keys. Within it everything is
//! unrolled: libtpu schedules inside a basic block alone, so a loop costs hundreds of cycles per
//! turn. Super tiles that look alike under the band share one unrolled body, a [`Case`].

use super::band::{Band, Coverage};
use std::ops::Range;
use systole::prelude::*;

/// Sizes of the tiles of one head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Queries per grid step.
    pub zq: usize,
    /// Keys per grid step.
    pub zk: usize,
    /// The query blocks within a super tile, `(first row, rows)`, in the order of work. The last
    /// one should be short: nothing overlaps with its end.
    pub q_blocks: Vec<(usize, usize)>,
    /// Keys per product where the band covers all of it.
    pub bk: usize,
    /// Granularity at which the band's edge is followed; a multiple of 128.
    pub dt: usize,
    /// Whether the scores of the next query block are computed before the products of the current
    /// one, which keeps the matrix unit busy where the exponentials are the limit.
    pub pipelined: bool,
    /// The scoped VMEM limit that the kernel asks for.
    pub vmem_limit_bytes: u64,
}

/// The shape of one head's work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Tile sizes.
    pub blocks: Blocks,
    /// Which keys a row sees.
    pub band: Band,
    /// Number of queries.
    pub sq: usize,
    /// Number of keys.
    pub sk: usize,
}

/// Super tiles that share a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Shift of the columns against the rows, if the band's edge goes through the tile; `None` if
    /// the band covers all of it.
    pub delta: Option<isize>,
    /// Rows that exist.
    pub n_rows: usize,
    /// Columns that exist.
    pub n_cols: usize,
    /// Whether it is the first tile of its rows.
    pub first: bool,
    /// Whether it is the last tile of its rows.
    pub last: bool,
    /// Whether the tile's rows see no key at all.
    pub empty: bool,
}

/// A product of a query block with some keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    /// Columns, relative to the super tile.
    pub cols: Range<usize>,
    /// Rows that see any of them, relative to the query block.
    pub rows: Range<usize>,
    /// The parts of `rows`, in steps of `dt`, that the band's edge goes through.
    pub edges: Vec<usize>,
    /// Whether some columns lie beyond the last key.
    pub ragged: bool,
}

impl Plan {
    /// Number of super tiles along the queries.
    pub fn nq(&self) -> usize {
        self.sq.div_ceil(self.blocks.zq)
    }

    /// Number of super tiles along the keys.
    pub fn nk(&self) -> usize {
        self.sk.div_ceil(self.blocks.zk)
    }

    fn coverage(&self, i: usize, j: usize) -> Coverage {
        let (zq, zk) = (self.blocks.zq, self.blocks.zk);
        let rows = i * zq..((i + 1) * zq).min(self.sq);
        self.band.coverage(rows, j * zk..((j + 1) * zk).min(self.sk), 0)
    }

    /// The super tiles that row tile `i` sees: first and last.
    pub fn seen(&self, i: usize) -> Option<(usize, usize)> {
        let mut seen = (0..self.nk()).filter(|&j| self.coverage(i, j) != Coverage::None);
        let first = seen.next()?;
        Some((first, seen.next_back().unwrap_or(first)))
    }

    /// Every kind of super tile that occurs.
    pub fn cases(&self) -> Vec<Case> {
        let mut cases: Vec<Case> = Vec::new();
        for i in 0..self.nq() {
            let (first, last, empty) = match self.seen(i) {
                Some((first, last)) => (first, last, false),
                None => (0, 0, true),
            };
            for j in first..=last {
                let case = self.case(i, j, (first, last), empty);
                if !cases.contains(&case) {
                    cases.push(case);
                }
            }
        }
        cases
    }

    fn case(&self, i: usize, j: usize, (first, last): (usize, usize), empty: bool) -> Case {
        let Blocks { zq, zk, .. } = self.blocks;
        let delta = (j * zk) as isize - (i * zq) as isize;
        Case {
            delta: (self.coverage(i, j) != Coverage::Full).then_some(delta),
            n_rows: (self.sq - i * zq).min(zq),
            n_cols: (self.sk - j * zk).min(zk),
            first: j == first,
            last: j == last,
            empty,
        }
    }

    /// The bodies to trace, each with the condition under which it runs; `None` if there is but
    /// one.
    pub fn dispatch(&self, i: Scalar<i32>, j: Scalar<i32>) -> Vec<(Case, Option<Scalar<bool>>)> {
        let cases = self.cases();
        let n_cases = cases.len();
        let condition = |case: &Case| (n_cases > 1).then(|| self.is_case(case, i, j));
        let conditions: Vec<_> = cases.iter().map(condition).collect();
        cases.into_iter().zip(conditions).collect()
    }

    /// The super tile of keys to have in VMEM at step `(i, j)`: `j` itself, or the nearest one
    /// that row tile `i` sees, so that a skipped step fetches nothing.
    pub fn seen_tile(&self, i: Scalar<i32>, j: Scalar<i32>) -> Scalar<i32> {
        let (zq, zk) = (self.blocks.zq, self.blocks.zk);
        let (lowest, highest) = self.band.limits();
        let last_tile = self.nk() - 1;
        if last_tile == 0 {
            return scalar(0);
        }
        let mut tile = j;
        if let Some(limit) = lowest {
            let first_col = (i * zq + limit as i32).max(0).min(self.sk - 1);
            tile = tile.max(first_col / zk);
        }
        if let Some(limit) = highest {
            // Equal tiles of a causal band end at the diagonal; a division is not needed there,
            // and libtpu's cycle model does not evaluate one.
            let last = if zq == zk && limit == 0 {
                i
            } else {
                (i * zq + (zq as i32 - 1 + limit as i32)).max(0) / zk
            };
            tile = tile.min(last.min(last_tile));
        }
        tile
    }

    /// Whether step `(i, j)` runs the body of `case`. Multiplications and comparisons alone: the
    /// cycle model takes a branch that it cannot evaluate for not taken.
    fn is_case(&self, case: &Case, i: Scalar<i32>, j: Scalar<i32>) -> Scalar<bool> {
        let Blocks { zq, zk, .. } = self.blocks;
        let (lowest, highest) = self.band.limits();
        // Column 0 of the tile against row 0.
        let shift = j * zk - i * zq;
        let mut all = match case.delta {
            Some(delta) => shift.eq(delta as i32),
            None => {
                let most = highest.map(|limit| limit as i32 - (case.n_cols as i32 - 1));
                let least = lowest.map(|limit| limit as i32 + (case.n_rows as i32 - 1));
                match (most, least) {
                    (Some(most), Some(least)) => shift.le(most) & shift.ge(least),
                    (Some(most), None) => shift.le(most),
                    (None, Some(least)) => shift.ge(least),
                    (None, None) => j.ge(0),
                }
            }
        };
        if !self.sq.is_multiple_of(zq) {
            let last_tile = i.eq(self.nq() - 1);
            all &= if case.n_rows == zq { !last_tile } else { last_tile };
        }
        if !self.sk.is_multiple_of(zk) {
            let last_tile = j.eq(self.nk() - 1);
            all &= if case.n_cols == zk { !last_tile } else { last_tile };
        }
        if case.empty {
            return all & j.eq(0);
        }
        // The tile is seen, so it is the first of its row if the one before is not, or is none.
        let mut first = j.eq(0);
        if let Some(limit) = lowest {
            first |= shift.le(limit as i32);
        }
        let mut last = j.eq(self.nk() - 1);
        if let Some(limit) = highest {
            let next = limit as i32 + case.n_rows as i32 - 1 - zk as i32;
            last |= shift.gt(next);
        }
        all & if case.first { first } else { !first } & if case.last { last } else { !last }
    }

    /// Shape of the scratch that holds a query block's scores.
    pub fn scores_shape(&self) -> [usize; 2] {
        let rows = self.blocks.q_blocks.iter().map(|(_, rows)| *rows).max().unwrap_or(8);
        [rows, self.blocks.zk]
    }

    /// Shape of the scratch that holds `width` numbers per row between super tiles; minimal if a
    /// row has but one.
    pub fn state_shape(&self, width: usize) -> [usize; 2] {
        [if self.nk() == 1 { 8 } else { self.blocks.zq }, width]
    }

    /// The products of a query block in a case, in order.
    pub fn tiles(&self, case: &Case, (base, bq): (usize, usize)) -> Vec<Product> {
        let Blocks { bk, dt, .. } = self.blocks;
        if case.empty {
            return Vec::new();
        }
        let mut tiles = Vec::new();
        let mut col = 0;
        while col < case.n_cols {
            let wide = col..(col + bk).min(case.n_cols);
            let tile = self.tile(case, (base, bq), wide.clone());
            // A wide product must not compute what nobody sees, nor read a ragged tail.
            if wide.len() == bk
                && tile.as_ref().is_none_or(|t| t.rows == (0..bq) && t.edges.is_empty())
            {
                tiles.extend(tile);
                col += bk;
                continue;
            }
            let end = (col + bk).min(case.n_cols);
            while col < end {
                tiles.extend(self.tile(case, (base, bq), col..(col + dt).min(case.n_cols)));
                col += dt;
            }
        }
        tiles
    }

    fn tile(&self, case: &Case, (base, bq): (usize, usize), cols: Range<usize>) -> Option<Product> {
        let dt = self.blocks.dt;
        let coverage = |row: usize| match case.delta {
            Some(delta) => {
                let rows = base + row..base + row + dt;
                self.band.coverage(rows, cols.clone(), delta)
            }
            None => Coverage::Full,
        };
        let seen: Vec<usize> =
            (0..bq).step_by(dt).filter(|&row| coverage(row) != Coverage::None).collect();
        let (first, last) = (*seen.first()?, *seen.last()?);
        let edges = seen.into_iter().filter(|&row| coverage(row) == Coverage::Part).collect();
        let width = cols.len().next_multiple_of(dt);
        Some(Product {
            ragged: width != cols.len(),
            cols: cols.start..cols.start + width,
            rows: first..(last + dt).min(bq),
            edges,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(z: usize, band: Band, sq: usize, sk: usize) -> Plan {
        let q_blocks = (0..z).step_by(256).map(|base| (base, 256)).collect();
        let blocks = Blocks {
            zq: z,
            zk: z,
            q_blocks,
            bk: 256,
            dt: 128,
            pipelined: false,
            vmem_limit_bytes: 0,
        };
        Plan { blocks, band, sq, sk }
    }

    const CAUSAL: Band = Band { before: None, after: Some(0), offset: 0 };

    #[test]
    fn one_tile_per_head_is_one_case() {
        let cases = plan(1024, CAUSAL, 1024, 1024).cases();
        assert_eq!(cases.len(), 1);
        assert!(cases[0].first && cases[0].last && cases[0].delta == Some(0));
    }

    #[test]
    fn causal_super_tiles_make_four_cases() {
        assert_eq!(plan(512, CAUSAL, 2048, 2048).cases().len(), 4);
    }

    #[test]
    fn every_seen_element_is_in_one_tile() {
        let window = Band { before: Some(300), after: Some(0), offset: 0 };
        let ahead = Band { before: Some(100), after: Some(200), offset: 60 };
        for (band, sq, sk) in [
            (CAUSAL, 700, 700),
            (window, 1024, 1024),
            (ahead, 600, 900),
            (Band::default(), 130, 77),
        ] {
            let plan = plan(512, band, sq, sk);
            for (row, col) in
                [(0, 0), (5, 5), (129, 76), (120, 10), (599, 500), (511, 511), (512, 600)]
            {
                if row < sq && col < sk {
                    let n = n_products(&plan, row, col);
                    let seen = usize::from(band.sees(row, col));
                    assert!(n == seen || (seen == 0 && n == 1), "{band:?} ({row}, {col}): {n}");
                }
            }
        }
    }

    /// In how many products an element of the square takes part.
    fn n_products(plan: &Plan, row: usize, col: usize) -> usize {
        let (i, j) = (row / plan.blocks.zq, col / plan.blocks.zk);
        let Some((first, last)) = plan.seen(i) else { return 0 };
        if !(first..=last).contains(&j) {
            return 0;
        }
        let case = plan.case(i, j, (first, last), false);
        let (row, col) = (row - i * plan.blocks.zq, col - j * plan.blocks.zk);
        let block =
            plan.blocks.q_blocks.iter().find(|(base, bq)| (*base..base + bq).contains(&row));
        let Some(&(base, bq)) = block else { return 0 };
        let holds = |tile: &Product| tile.cols.contains(&col) && tile.rows.contains(&(row - base));
        plan.tiles(&case, (base, bq)).iter().filter(|tile| holds(tile)).count()
    }
}
