//! Statistics of rows that are kept once per lane, so that few passes cross lanes.

use systole::prelude::*;

/// A logit that no real one reaches; its exponential is 0 beside any real one. Infinity would make
/// NaN of a row that sees nothing.
pub(crate) const MASKED: f32 = -1e30;

/// Lanes of a register.
pub(crate) const LANES: usize = 128;

/// Combines the columns of a tile lane by lane: `[r, n] -> [r, 128]`, by halves, so that the
/// combinations do not wait for each other.
pub(crate) fn by_lane(
    tile: Tile<f32>,
    combine: impl Fn(Tile<f32>, Tile<f32>) -> Tile<f32>,
) -> Tile<f32> {
    let mut parts: Vec<Tile<f32>> =
        (0..tile.size(1)).step_by(LANES).map(|at| tile.slice((.., at..at + LANES))).collect();
    while parts.len() > 1 {
        parts = parts
            .chunks(2)
            .map(|pair| match pair {
                [x, y] => combine(*x, *y),
                other => other[0],
            })
            .collect();
    }
    parts[0]
}

/// A tile whose lanes of a row are all equal, at another width.
pub(crate) fn to_width(lanes: Tile<f32>, width: usize) -> Tile<f32> {
    match width {
        LANES => lanes,
        width if width < LANES => lanes.slice((.., 0..width)),
        width => concat(&vec![lanes; width / LANES], 1),
    }
}
