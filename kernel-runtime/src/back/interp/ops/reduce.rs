//! Reductions along one axis, in an order that depends on the shape alone.

use super::super::exec::{Executor, Stop};
use super::super::plan::Inst;
use super::super::pool::Pool;
use super::super::tile::{Data, Poison, PoisonId, decode_int, encode_int, slice_mut};
use super::elementwise::round_in_place;
use crate::ir::DType;
use crate::ir::ops::{Binary, ReduceKind, ReduceOp};

/// A tile seen as rows of `size` elements that are `inner` apart, reduced along `size`.
#[derive(Clone, Copy, Debug)]
struct Rows {
    outer: usize,
    size: usize,
    inner: usize,
}

impl Executor<'_> {
    /// Runs a reduction.
    pub(in super::super) fn reduce(&mut self, inst: &Inst<'_>, op: &ReduceOp) -> Result<(), Stop> {
        let Some(used) = inst.uses.first() else { return Ok(()) };
        let ty = self.run.plan.ty(used.value);
        let (shape, dtype) = (ty.shape(), ty.dtype());
        let rows = Rows {
            outer: shape[..op.axis].iter().product(),
            size: shape[op.axis],
            inner: shape[op.axis + 1..].iter().product(),
        };
        let tile = self.tile(inst, 0)?;
        let data = match &tile.data {
            Data::F32(values) => reduce_float(&mut self.pool, op.kind, dtype, values, rows),
            Data::I32(values) => reduce_int(&mut self.pool, op.kind, dtype, values, rows),
            // `bool` is not reduced: the type rule says so.
            Data::U8(_) => Data::U8(self.pool.u8s(rows.outer * rows.inner)),
        };
        let poison = tile.poison.as_ref().and_then(|poison| reduce_poison(poison, rows));
        if self.run.options.trap_non_finite && poison.is_none() {
            let finite = |data: &Data| data.f32s().iter().all(|x| x.is_finite());
            let bad = data.f32s().iter().position(|x| !x.is_finite());
            if let (Some(idx), true) = (bad, finite(&tile.data)) {
                return Err(self.report_non_finite(inst, idx, data.f32s()[idx], 1));
            }
        }
        self.pool.give(tile.data);
        self.set_tile(inst, data, poison);
        Ok(())
    }
}

fn reduce_poison(poison: &Poison, rows: Rows) -> Option<Poison> {
    let Poison::Each(ids) = poison else { return Some(poison.clone()) };
    let mut result: Vec<PoisonId> = vec![0; rows.outer * rows.inner];
    for (idx, &id) in ids.iter().enumerate() {
        let place = idx / (rows.size * rows.inner) * rows.inner + idx % rows.inner;
        if result[place] == 0 {
            result[place] = id;
        }
    }
    Poison::from_ids(result)
}

fn reduce_float(
    pool: &mut Pool,
    kind: ReduceKind,
    dtype: DType,
    values: &[f32],
    rows: Rows,
) -> Data {
    let op = match kind {
        ReduceKind::Sum => Binary::Add,
        ReduceKind::Max => Binary::Max,
        ReduceKind::Min => Binary::Min,
        ReduceKind::ArgMax => {
            return arg_reduce(pool, values, rows, |x, best| x > best, f32::is_nan);
        }
        ReduceKind::ArgMin => {
            return arg_reduce(pool, values, rows, |x, best| x < best, f32::is_nan);
        }
    };
    let mut result = pool.f32s(rows.outer * rows.inner);
    let to = slice_mut(&mut result);
    if rows.inner == 1 {
        for (to, row) in to.iter_mut().zip(values.chunks_exact(rows.size)) {
            *to = match op {
                Binary::Max => fold_row(row, |x, y| Binary::Max.eval_float(x, y)),
                Binary::Min => fold_row(row, |x, y| Binary::Min.eval_float(x, y)),
                _ => fold_row(row, |x, y| Binary::Add.eval_float(x, y)),
            };
        }
    } else {
        let planes = values.chunks_exact(rows.size * rows.inner);
        for (to, plane) in to.chunks_exact_mut(rows.inner).zip(planes) {
            to.copy_from_slice(&plane[..rows.inner]);
            for row in plane[rows.inner..].chunks_exact(rows.inner) {
                op.zip_f32(to, row);
            }
        }
    }
    round_in_place(dtype, to);
    Data::F32(result)
}

/// Combines a row in 16 lanes, then the lanes pairwise: a fixed order that vectorises.
#[inline(always)]
fn fold_row(row: &[f32], combine: impl Fn(f32, f32) -> f32) -> f32 {
    const LANES: usize = 16;
    let (chunks, rest) = row.as_chunks::<LANES>();
    let Some((first, chunks)) = chunks.split_first() else {
        return rest.iter().copied().reduce(combine).unwrap_or(0.0);
    };
    let mut lanes = *first;
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = combine(*lane, x);
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane = combine(*lane, x);
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] = combine(lanes[lane], lanes[lane + width]);
        }
        width /= 2;
    }
    lanes[0]
}

fn reduce_int(pool: &mut Pool, kind: ReduceKind, dtype: DType, values: &[i32], rows: Rows) -> Data {
    let decode = |bits: i32| decode_int(dtype, bits);
    let op = match kind {
        ReduceKind::Sum => Binary::Add,
        ReduceKind::Max => Binary::Max,
        ReduceKind::Min => Binary::Min,
        ReduceKind::ArgMax => {
            return arg_reduce(pool, values, rows, |x, y| decode(x) > decode(y), |_| false);
        }
        ReduceKind::ArgMin => {
            return arg_reduce(pool, values, rows, |x, y| decode(x) < decode(y), |_| false);
        }
    };
    let mut result = pool.i32s(rows.outer * rows.inner);
    for (idx, to) in slice_mut(&mut result).iter_mut().enumerate() {
        let total = row_of(values, rows, idx).map(decode).reduce(|x, y| op.eval_int(x, y));
        *to = encode_int(dtype, total.unwrap_or(0));
    }
    Data::I32(result)
}

/// The elements that make result number `idx`.
fn row_of<T: Copy>(values: &[T], rows: Rows, idx: usize) -> impl Iterator<Item = T> {
    let start = idx / rows.inner * rows.size * rows.inner + idx % rows.inner;
    values[start..].iter().step_by(rows.inner).take(rows.size).copied()
}

/// The place of the best element of each row: the first of equals, and the first NaN if any.
fn arg_reduce<T: Copy>(
    pool: &mut Pool,
    values: &[T],
    rows: Rows,
    better: impl Fn(T, T) -> bool,
    is_nan: impl Fn(T) -> bool,
) -> Data {
    let mut result = pool.i32s(rows.outer * rows.inner);
    for (idx, to) in slice_mut(&mut result).iter_mut().enumerate() {
        let mut best: Option<(usize, T)> = None;
        for (place, x) in row_of(values, rows, idx).enumerate() {
            let wins = best.is_none_or(|(_, old)| !is_nan(old) && (is_nan(x) || better(x, old)));
            if wins {
                best = Some((place, x));
            }
        }
        *to = best.map_or(0, |(place, _)| place as i32);
    }
    Data::I32(result)
}
