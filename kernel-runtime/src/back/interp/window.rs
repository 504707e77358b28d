//! Windows: which block of each parameter a step sees, fetching it and writing it back.

use super::agents::history::History;
use super::exec::{Executor, Found, Run, Stop, TableRead};
use super::memory::{Copy, dense_strides};
use super::plan::{Coordinate, IndexMap};
use super::pool::Pool;
use super::report::{
    Cause, Origin, cause_text, explain_origin, index_text, memory_name, origin_code,
};
use super::tile::{Data, Held, Number, Poison, PoisonId, Scalar, Storage, slice_mut};
use crate::diag::{Code, Diagnostic};
use crate::ir::array::ArrayData;
use crate::ir::{
    Array, BlockDim, LocId, MemorySpace, Param, ParamKind, Shape, f8e4m3fn, f8e5m2, i4,
};
use pulp::Arch;
use smallvec::SmallVec;

/// The first element of a block, per axis of the array.
pub(super) type Starts = SmallVec<[usize; 4]>;

/// Where a parameter's window is.
#[derive(Clone, Debug, Default)]
pub(super) struct Placement {
    /// The block that is in memory, if one is.
    pub(super) starts: Option<Starts>,
    /// The last step that saw it.
    step: u64,
}

/// An output block on its way back to its array.
#[derive(Debug)]
pub(super) struct WriteBack {
    /// Which parameter.
    pub(super) param: usize,
    /// Where the block starts.
    pub(super) starts: Starts,
    /// Its sizes without what lies beyond the array.
    pub(super) sizes: Shape,
    /// Its elements, padding included.
    pub(super) data: Data,
    /// Per element of the block: whether nobody stored it; `None` if all were stored.
    pub(super) unwritten: Option<Vec<u8>>,
    /// The last step that saw it.
    pub(super) step: u64,
    /// The last store to it.
    pub(super) stored_at: Option<LocId>,
}

/// The part of a block inside its array.
pub(super) fn clipped(param: &Param, starts: &[usize]) -> Shape {
    let window = param.window_shape();
    (0..window.len()).map(|axis| window[axis].min(param.axes[axis].size - starts[axis])).collect()
}

/// The copy from the array's elements to the block's.
pub(super) fn block_copy(param: &Param, starts: &[usize], sizes: &[usize]) -> Copy {
    let array_strides = dense_strides(&param.array_shape());
    let from = starts.iter().zip(&array_strides).map(|(start, stride)| start * stride).sum();
    Copy::new(sizes, (from, &array_strides), (0, &dense_strides(&param.window_shape())))
}

/// Whether `load` and `store` reach the parameter.
pub(super) fn is_reachable(param: &Param) -> bool {
    !matches!(param.space, MemorySpace::Hbm | MemorySpace::Any)
}

impl Executor<'_> {
    /// Puts the block of each parameter that the current step names into memory.
    pub(super) fn place_windows(&mut self) -> Result<(), Stop> {
        let run = self.run;
        for (idx, param) in run.kernel().params.iter().enumerate() {
            if !is_reachable(param) {
                self.place_whole(idx, param);
                continue;
            }
            let starts = self.block_starts(idx, param)?;
            if self.placements[idx].starts.as_ref() != Some(&starts) {
                self.check_block_is_free(idx, param.loc)?;
                self.write_back(idx);
                self.fetch(idx, param, &starts);
                self.placements[idx].starts = Some(starts);
            }
            self.placements[idx].step = self.step_number;
        }
        Ok(())
    }

    /// Makes the memory that other agents reach be there, before any agent runs.
    pub(super) fn place_reachable(&mut self) {
        let run = self.run;
        let is_mine = |executor: &Self, idx| executor.owner(idx) == executor.me;
        for (idx, param) in run.kernel().params.iter().enumerate() {
            if is_reachable(param) {
                continue;
            }
            if is_mine(self, idx) {
                self.place_whole(idx, param);
            }
            self.placements[idx].starts = Some(Starts::from_elem(0, param.axes.len()));
        }
        for idx in 0..self.memories.len() {
            if !self.layout.is_tracked(idx) || !is_mine(self, idx) {
                continue;
            }
            if idx >= run.kernel().params.len() {
                self.reset_memory(idx);
            }
            let n_elems = self.memories[idx].n_elems();
            self.memories[idx].history = Some(Box::new(History::new(n_elems)));
        }
    }

    /// The output arrays that copies alone reach, when all agents have come to their end.
    pub(super) fn write_back_whole_arrays(&mut self) -> Found {
        for (idx, param) in self.run.kernel().params.iter().enumerate() {
            if !is_reachable(param) {
                self.placements[idx].starts = Some(Starts::from_elem(0, param.axes.len()));
            }
        }
        let mut whole = Found { segment: u64::MAX, ..Found::default() };
        self.write_back_whole(&mut whole);
        whole
    }

    /// Makes an array that copies alone reach be there, once for all segments.
    fn place_whole(&mut self, idx: usize, param: &Param) {
        if self.placements[idx].starts.is_none() {
            let starts = Starts::from_elem(0, param.axes.len());
            self.fetch(idx, param, &starts);
            self.placements[idx].starts = Some(starts);
        }
        self.placements[idx].step = self.step_number;
    }

    fn block_starts(&mut self, idx: usize, param: &Param) -> Result<Starts, Stop> {
        let run = self.run;
        let (Some(window), Some(map)) = (&param.window, &run.plan.index_maps[idx]) else {
            return Ok(Starts::from_elem(0, param.axes.len()));
        };
        let mut starts = Starts::new();
        for axis in 0..window.block.len() {
            let index = match map {
                IndexMap::Direct(coordinates) => match coordinates.get(axis) {
                    Some(Coordinate::Axis(grid_axis)) => self.step[*grid_axis],
                    Some(Coordinate::Constant(value)) => *value,
                    None => 0,
                },
                IndexMap::Computed(code) => {
                    if axis == 0 {
                        for (arg, &value) in code.args.iter().zip(self.step.iter()) {
                            self.held[arg.0 as usize] = Held::Scalar(Scalar::int(value));
                        }
                        self.table_reads = Some(Vec::new());
                        self.run_code(code)?;
                    }
                    let what = format!("the block index of `{}` along axis {axis}", param.name);
                    match code.yields.get(axis).map(|&used| self.take(used)) {
                        Some(Held::Scalar(scalar)) => self.index(scalar, &what, param.loc)?,
                        _ => 0,
                    }
                }
            };
            starts.push(self.block_start(param, axis, window.block[axis], index)?);
        }
        self.table_reads = None;
        Ok(starts)
    }

    fn block_start(
        &mut self,
        param: &Param,
        axis: usize,
        block: BlockDim,
        index: i64,
    ) -> Result<usize, Stop> {
        let size = param.axes[axis].size;
        let unit = match block {
            BlockDim::Blocked(size) => size as i64,
            BlockDim::Squeezed | BlockDim::Element(_) => 1,
        };
        let start = index.checked_mul(unit);
        match start.and_then(|start| usize::try_from(start).ok()) {
            Some(start) if start < size => return Ok(start),
            _ => {}
        }
        let name = &param.name;
        let what = match block {
            BlockDim::Blocked(block) => format!(
                "block {index} of `{name}` along axis {axis} (`{}`) starts at element {}, but the axis has {size} elements: blocks of {block} are numbered 0 to {}",
                param.axes[axis].name,
                index.saturating_mul(unit),
                (size.max(1) - 1) / block.max(1)
            ),
            BlockDim::Squeezed | BlockDim::Element(_) => format!(
                "the window of `{name}` along axis {axis} (`{}`) starts at element {index}, but the axis has {size} elements",
                param.axes[axis].name
            ),
        };
        let mut diagnostic = Diagnostic::error(Code::INTERP_BLOCK_OUT_OF_RANGE, what)
            .at_opt(self.run.kernel().span(param.loc), "the window is declared here");
        let reads = self.table_reads.take().unwrap_or_default();
        let help = match reads.len() {
            0 => "correct the index of the block, or the extent of the grid axis it is made from",
            _ => "correct the table: a chip would read or write whatever lies there",
        };
        for read in reads {
            diagnostic = diagnostic.note(self.table_note(read));
        }
        Err(self.report(param.loc, diagnostic.help(help)))
    }

    /// Which entry of a table an index was made from: `` `ids[3]` is 77 ``.
    fn table_note(&self, read: TableRead) -> String {
        let memory = &self.memories[read.memory];
        let at: Starts = dense_strides(&memory.shape)
            .iter()
            .zip(&memory.shape)
            .map(|(stride, size)| read.element / stride % size)
            .collect();
        let name = memory_name(self.run.kernel(), read.memory);
        let value = match read.value {
            Number::Int(value) => value.to_string(),
            Number::Float(value) => value.to_string(),
        };
        format!("the index comes from a table: `{name}{}` is {value}", index_text(&at))
    }

    fn fetch(&mut self, idx: usize, param: &Param, starts: &[usize]) {
        let Some(array) = self.run.arrays[idx] else {
            self.reset_memory(idx);
            return;
        };
        self.memories[idx].stored_at = None;
        self.memories[idx].poison = None;
        let sizes = clipped(param, starts);
        let n = self.memories[idx].n_elems();
        let is_whole = sizes == param.array_shape() && sizes == param.window_shape();
        if Self::is_read_only(param.kind) && is_whole {
            let run = self.run;
            let whole = run.whole[idx].get_or_init(|| {
                let mut data = Pool::default().data(Storage::of(param.dtype), n);
                read_array(array, &mut data, &block_copy(param, starts, &sizes));
                data
            });
            let old = std::mem::replace(&mut self.memories[idx].data, whole.clone());
            self.pool.give(old);
            return;
        }
        let fresh = self.pool.data(Storage::of(param.dtype), n);
        let old = std::mem::replace(&mut self.memories[idx].data, fresh);
        self.pool.give(old);
        let data = &mut self.memories[idx].data;
        if sizes != param.window_shape() {
            data.clear();
            let id = self.origins.id(Origin { cause: Cause::Padding, memory: idx, load: None });
            self.memories[idx].poison = padding(param, &sizes, id);
        }
        let data = &mut self.memories[idx].data;
        read_array(array, data, &block_copy(param, starts, &sizes));
    }

    /// Writes every output block back, at the end of a segment.
    pub(super) fn write_back_all(&mut self) {
        for (idx, param) in self.run.kernel().params.iter().enumerate() {
            if is_reachable(param) {
                self.write_back(idx);
            }
        }
    }

    /// Adds the output arrays that copies alone reach, which all segments share, to what the last
    /// of them gave.
    pub(super) fn write_back_whole(&mut self, last: &mut Found) {
        std::mem::swap(&mut self.found, last);
        for (idx, param) in self.run.kernel().params.iter().enumerate() {
            if !is_reachable(param) {
                self.write_back(idx);
            }
        }
        std::mem::swap(&mut self.found, last);
    }

    fn write_back(&mut self, idx: usize) {
        let run = self.run;
        let param = &run.kernel().params[idx];
        if !param.kind.is_output() {
            return;
        }
        let Some(starts) = self.placements[idx].starts.take() else { return };
        let sizes = clipped(param, &starts);
        let unwritten = match self.memories[idx].poison.take() {
            Some(poison) => self.check_written(idx, &starts, &sizes, &poison),
            None => None,
        };
        let memory = &mut self.memories[idx];
        let empty = Pool::default().data(Storage::of(param.dtype), 0);
        self.found.written.push(WriteBack {
            param: idx,
            starts,
            sizes,
            data: std::mem::replace(&mut memory.data, empty),
            unwritten,
            step: self.placements[idx].step,
            stored_at: memory.stored_at,
        });
    }

    /// Reports undefined elements that were stored, and gives the places never stored.
    fn check_written(
        &mut self,
        idx: usize,
        starts: &[usize],
        sizes: &[usize],
        poison: &Poison,
    ) -> Option<Vec<u8>> {
        let run = self.run;
        let param = &run.kernel().params[idx];
        let window = param.window_shape();
        let strides = dense_strides(&window);
        let own =
            (param.kind == ParamKind::Out).then(|| self.origin_id(Cause::NeverWritten, idx, None));
        let mut unwritten: Option<Vec<u8>> = None;
        let mut first: Option<(usize, PoisonId)> = None;
        let mut n_bad = 0_usize;
        Copy::new(sizes, (0, &strides), (0, &strides)).rows(|at, _, n, stride, _| {
            for place in (0..n).map(|i| at + i * stride) {
                let id = poison.get(place);
                if id == 0 {
                    continue;
                }
                if Some(id) == own {
                    let n_elems = window.iter().product();
                    unwritten.get_or_insert_with(|| vec![0; n_elems])[place] = 1;
                } else {
                    n_bad += 1;
                    first.get_or_insert((place, id));
                }
            }
        });
        if let Some((place, id)) = first {
            let idx_in_array: Starts = (0..window.len())
                .map(|axis| starts[axis] + place / strides[axis] % window[axis])
                .collect();
            self.report_leak(idx, id, &idx_in_array, n_bad);
        }
        unwritten
    }

    fn report_leak(&mut self, idx: usize, id: PoisonId, at: &[usize], n_bad: usize) {
        let Some(origin) = self.origins.get(id) else { return };
        let kernel = self.run.kernel();
        let param = &kernel.params[idx];
        let more = match n_bad {
            1 => String::new(),
            n => format!(" and {} more elements", n - 1),
        };
        let text = format!(
            "{} reach the result: `{}{}`{more}",
            cause_text(origin, kernel),
            param.name,
            index_text(at)
        );
        let loc = self.memories[idx].stored_at.unwrap_or(param.loc);
        let diagnostic =
            Diagnostic::error(origin_code(origin), text).at_opt(kernel.span(loc), "stored here");
        // The block may go back when the next step begins: the step to name saw it last.
        let current = (self.step.clone(), self.step_number);
        self.step_number = self.placements[idx].step;
        self.step = self.run.step(self.step_number);
        let _ = self.report(loc, explain_origin(diagnostic, kernel, origin));
        (self.step, self.step_number) = current;
    }
}

/// The mask of a block of which `sizes` lie inside the array.
fn padding(param: &Param, sizes: &[usize], id: PoisonId) -> Option<Poison> {
    let window = param.window_shape();
    let mut ids = vec![id; window.iter().product()];
    let none = Shape::from_elem(0, sizes.len());
    Copy::new(sizes, (0, &none), (0, &dense_strides(&window))).run(&[0], &mut ids);
    Poison::from_ids(ids)
}

/// Reads elements of an array into a block.
fn read_array(array: &Array, to: &mut Data, copy: &Copy) {
    match to {
        Data::F32(to) => {
            let to = slice_mut(to);
            match array.data() {
                ArrayData::F32(from) => copy.run(from, to),
                // Exact, and unlike `to_f32` without a branch for NaN, so that it vectorises.
                ArrayData::BF16(from) => Arch::new().dispatch(|| {
                    copy.convert(from, to, |x| f32::from_bits(u32::from(x.to_bits()) << 16));
                }),
                ArrayData::F16(from) => copy.convert(from, to, half::f16::to_f32),
                ArrayData::F8E4M3FN(from) => copy.convert(from, to, f8e4m3fn::to_f32),
                ArrayData::F8E5M2(from) => copy.convert(from, to, f8e5m2::to_f32),
                _ => {}
            }
        }
        Data::I32(to) => {
            let to = slice_mut(to);
            match array.data() {
                ArrayData::I4(from) => copy.convert(from, to, |x| i32::from(x.get())),
                ArrayData::I8(from) => copy.convert(from, to, i32::from),
                ArrayData::I16(from) => copy.convert(from, to, i32::from),
                ArrayData::I32(from) => copy.run(from, to),
                ArrayData::U8(from) => copy.convert(from, to, i32::from),
                ArrayData::U16(from) => copy.convert(from, to, i32::from),
                ArrayData::U32(from) => copy.convert(from, to, |x| x as i32),
                _ => {}
            }
        }
        Data::U8(to) => {
            if let ArrayData::Bool(from) = array.data() {
                copy.run(from, slice_mut(to));
            }
        }
    }
}

/// Writes elements of a block into an array; `copy` goes from the block to the array.
pub(super) fn write_array(from: &Data, array: &mut Array, copy: &Copy) {
    match array.data_mut() {
        ArrayData::Bool(to) => copy.run(from.u8s(), to),
        ArrayData::I4(to) => copy.convert(from.i32s(), to, |x| i4::from_low_bits(x.into())),
        ArrayData::I8(to) => copy.convert(from.i32s(), to, |x| x as i8),
        ArrayData::I16(to) => copy.convert(from.i32s(), to, |x| x as i16),
        ArrayData::I32(to) => copy.run(from.i32s(), to),
        ArrayData::U8(to) => copy.convert(from.i32s(), to, |x| x as u8),
        ArrayData::U16(to) => copy.convert(from.i32s(), to, |x| x as u16),
        ArrayData::U32(to) => copy.convert(from.i32s(), to, |x| x as u32),
        // The elements are exact in bf16 already: the upper half is the value.
        ArrayData::BF16(to) => {
            copy.convert(from.f32s(), to, |x| half::bf16::from_bits((x.to_bits() >> 16) as u16))
        }
        ArrayData::F16(to) => copy.convert(from.f32s(), to, half::f16::from_f32),
        ArrayData::F8E4M3FN(to) => copy.convert(from.f32s(), to, f8e4m3fn::from_f32),
        ArrayData::F8E5M2(to) => copy.convert(from.f32s(), to, f8e5m2::from_f32),
        ArrayData::F32(to) => copy.run(from.f32s(), to),
    }
}

impl Run<'_> {
    /// Whether an output is reached by copies alone: all segments then work on one array.
    pub(super) fn shares_outputs(&self) -> bool {
        self.kernel().params.iter().any(|param| param.kind.is_output() && !is_reachable(param))
    }

    /// Whether any axis of the parameter's window is placed by elements, so that blocks overlap.
    pub(super) fn may_overlap(&self, param: usize) -> bool {
        let window = self.kernel().params[param].window.as_ref();
        window.is_some_and(|window| {
            window.block.iter().any(|dim| matches!(dim, BlockDim::Element(_)))
        })
    }
}
