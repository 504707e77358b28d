//! Collectives of a ring of devices, by copies from device to device: all-gather, reduce-scatter,
//! all-to-all.
//!
//! XLA has collectives of its own; these are for kernels to begin with that overlap them with
//! other work, and show how devices are kept in step. Each runs on the devices of its mesh at the
//! same time:
//!
//! ```
//! use systole::prelude::*;
//! use systole::run::call_devices;
//! use systole_kernels::collectives;
//!
//! let shard = |device: i32| Array::from_f32(&[8, 128], vec![device as f32; 1024]);
//! let kernel = collectives::all_gather(DType::F32, 2, [8, 128])?;
//! let outputs = call_devices(&kernel, &[vec![shard(0)?], vec![shard(1)?]])?;
//! assert_eq!(outputs[0][0].shape(), [2, 8, 128]);
//! assert_eq!(outputs[0], outputs[1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod kernel;
pub mod reference;

use systole::diag::Diagnostics;
use systole::ir::{DType, Kernel};

/// Rows that a copy of these elements may begin at and take: a tile of the layout in HBM.
fn tile_rows(dtype: DType) -> usize {
    match dtype.size_bytes() {
        1 => 32,
        2 => 16,
        _ => 8,
    }
}

/// Traces the all-gather of `[m, n]` per device over `n_devices` devices.
///
/// # Errors
/// If a size is zero, or there is one device alone.
pub fn all_gather(
    dtype: DType,
    n_devices: usize,
    [m, n]: [usize; 2],
) -> Result<Kernel, Diagnostics> {
    check_sizes(n_devices, [m, n])?;
    // Rows that cannot be cut in two travel one way.
    let tile = tile_rows(dtype);
    let first = if m.is_multiple_of(tile) && m > tile { (m / tile / 2) * tile } else { m };
    let lanes = [(0, first), (first, m - first)];
    crate::by_float!(dtype, T => {
        crate::trace(&kernel::all_gather::<T>(n_devices, lanes), &[(dtype, &[m, n])])
    })
}

/// Traces the reduce-scatter of `[n_devices, m, n]` per device.
///
/// # Errors
/// If a size is zero, or there is one device alone.
pub fn reduce_scatter(
    dtype: DType,
    n_devices: usize,
    [m, n]: [usize; 2],
) -> Result<Kernel, Diagnostics> {
    check_sizes(n_devices, [m, n])?;
    // Four buffers of half a megabyte or less hide what a step costs.
    const BYTES: usize = 1 << 19;
    let tile = tile_rows(dtype);
    let most = (BYTES / (n.next_multiple_of(128) * 4) / tile).max(1) * tile;
    // Blocks are cut where the rows end: copies would read beyond.
    let mut rows = (1..=m.min(most) / tile.min(m)).map(|k| k * tile.min(m));
    let rows = rows.rfind(|&rows| m.is_multiple_of(rows));
    let rows = rows.unwrap_or(m);
    crate::by_float!(dtype, T => {
        let kernel = kernel::reduce_scatter::<T>(n_devices, rows);
        crate::trace(&kernel, &[(dtype, &[n_devices, m, n])])
    })
}

/// Traces the all-to-all of `[n_devices, m, n]` per device.
///
/// # Errors
/// If a size is zero, or there is one device alone.
pub fn all_to_all(
    dtype: DType,
    n_devices: usize,
    [m, n]: [usize; 2],
) -> Result<Kernel, Diagnostics> {
    check_sizes(n_devices, [m, n])?;
    crate::by_float!(dtype, T => {
        crate::trace(&kernel::all_to_all::<T>(n_devices), &[(dtype, &[n_devices, m, n])])
    })
}

fn check_sizes(n_devices: usize, [m, n]: [usize; 2]) -> Result<(), Diagnostics> {
    let (rows, columns) = (("rows", m, crate::MAX_SIZE), ("columns", n, crate::MAX_SIZE));
    crate::check_most(&[("devices", n_devices, 1 << 16), rows, columns])?;
    if m == 0 || n == 0 {
        let message = format!("an array of {m} x {n} has nothing to send");
        return Err(crate::refuse(message, "leave the collective out where there is nothing"));
    }
    if n_devices >= 2 {
        return Ok(());
    }
    let message = format!("a collective of {n_devices} devices has nobody to talk to");
    Err(crate::refuse(message, "give it the devices of a mesh, two or more"))
}
