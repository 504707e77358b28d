//! The 26 tables of DLRM v2, MLPerf's recommendation model on Criteo's multi-hot data.

use super::{Bags, OutOfRange, RawBags, Table};
use systole::diag::Diagnostics;

/// Columns of every table.
pub const WIDTH: usize = 128;

/// Samples of MLPerf's reference batch.
pub const BATCH: usize = 65_536;

/// Rows of each table, and ids per sample.
pub const TABLES: [(usize, usize); 26] = [
    (40_000_000, 3),
    (39_060, 2),
    (17_295, 1),
    (7_424, 2),
    (20_265, 6),
    (3, 1),
    (7_122, 1),
    (1_543, 1),
    (63, 1),
    (40_000_000, 7),
    (3_067_956, 3),
    (405_282, 8),
    (10, 1),
    (2_209, 6),
    (11_938, 9),
    (155, 5),
    (4, 1),
    (976, 1),
    (14, 1),
    (40_000_000, 12),
    (40_000_000, 100),
    (40_000_000, 27),
    (590_152, 10),
    (12_973, 3),
    (108, 1),
    (36, 1),
];

/// The tables, each with at most `max_rows` rows; `usize::MAX` for the real ones.
pub fn tables(max_rows: usize) -> Vec<Table> {
    let table = |(idx, (rows, _)): (usize, &(usize, usize))| Table {
        name: format!("t{idx}"),
        rows: (*rows).min(max_rows),
        width: WIDTH,
    };
    TABLES.iter().enumerate().map(table).collect()
}

/// Made-up ids of one feature for `n_samples` samples: as many per sample as the feature has, small
/// ones more often than large ones, as ids sorted by popularity are. Equal arguments give equal
/// ids.
pub fn ids(feature: usize, rows: usize, n_samples: usize, seed: u64) -> Vec<i32> {
    let (_, hot) = TABLES[feature % TABLES.len()];
    let stream = mix(seed ^ mix(feature as u64));
    let id = |at: u64| {
        // In 0..1; its cube is below 1/8 half of the time.
        let unit = (mix(stream.wrapping_add(at)) >> 11) as f64 / (1_u64 << 53) as f64;
        ((unit * unit * unit * rows as f64) as usize).min(rows.saturating_sub(1)) as i32
    };
    (0..(n_samples * hot) as u64).map(id).collect()
}

/// A batch of made-up ids for each of the 26 tables with at most `max_rows` rows.
///
/// # Errors
/// If the tables have no rows.
pub fn batch(n_samples: usize, max_rows: usize, seed: u64) -> Result<Vec<Bags>, Diagnostics> {
    let most = TABLES.iter().map(|(_, hot)| hot).max().copied().unwrap_or(1);
    crate::check_most(&[("samples", n_samples, crate::MAX_SIZE / most)])?;
    let bags = |(feature, &(rows, hot)): (usize, &(usize, usize))| {
        let rows = rows.min(max_rows);
        RawBags::fixed(&ids(feature, rows, n_samples, seed), hot).check(rows, OutOfRange::Error)
    };
    TABLES.iter().enumerate().map(bags).collect()
}

/// SplitMix64's finaliser (Steele, Lea, Flood 2014): every input bit reaches every output bit.
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
