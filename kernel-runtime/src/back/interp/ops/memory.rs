//! Loads and stores.

use super::super::exec::{Executor, Stop, TableRead};
use super::super::flight::Rect;
use super::super::memory::{Copy, Strides, dense_strides, ids_of};
use super::super::plan::Inst;
use super::super::report::{Cause, memory_name};
use super::super::tile::{Data, Held, Poison, PoisonId, Scalar, Storage, Tile, slice_mut};
use crate::diag::{Code, Diagnostic};
use crate::ir::ops::{Access, MemoryOp, Start};
use crate::ir::{LocId, Op, Shape};

impl Executor<'_> {
    /// Runs a load or store.
    pub(in super::super) fn memory(&mut self, inst: &Inst<'_>, op: &MemoryOp) -> Result<(), Stop> {
        match op {
            MemoryOp::Load { access, masked } => {
                let at = self.place(inst, access, 0, false)?;
                if access.tile_shape().is_empty() {
                    self.load_scalar(inst, &at);
                    return Ok(());
                }
                let tile = match at {
                    None => self.load_whole(inst),
                    Some(copy) => self.load_part(inst, access, &copy),
                };
                let tile = if *masked { self.mask_load(inst, access, tile)? } else { tile };
                self.set(inst, Held::Tile(tile));
            }
            MemoryOp::Store { access, masked } => {
                let at = self.place(inst, access, 1, true)?;
                if access.tile_shape().is_empty() {
                    let scalar = self.scalar(inst, 0)?;
                    self.store_scalar(inst, &at, scalar);
                } else {
                    let tile = self.tile(inst, 0)?;
                    let mask =
                        if *masked { Some(self.tile(inst, inst.uses.len() - 1)?) } else { None };
                    self.store(inst, access, at, tile, mask)?;
                }
                self.memories[inst.memory].stored_at = Some(inst.loc);
            }
        }
        Ok(())
    }

    /// The copy from memory to a tile that an access means, or `None` for all of the memory.
    fn place(
        &mut self,
        inst: &Inst<'_>,
        access: &Access,
        n_before: usize,
        writes: bool,
    ) -> Result<Option<Copy>, Stop> {
        let shape = self.memories[inst.memory].shape.clone();
        let memory = &self.memories[inst.memory];
        let is_watched = memory.in_flight > 0 || memory.history.is_some();
        let mut starts = Shape::new();
        if access.is_full(&shape) && !shape.is_empty() {
            if is_watched {
                starts.resize(shape.len(), 0);
                self.check_marks(inst, access, starts, writes)?;
            }
            return Ok(None);
        }
        let strides = dense_strides(&shape);
        let mut from = 0;
        let mut next_operand = n_before;
        for (axis, dim) in access.dims.iter().enumerate() {
            let start = match dim.start {
                Start::Static(start) => start,
                Start::Dynamic { multiple_of } => {
                    let scalar = self.scalar(inst, next_operand)?;
                    next_operand += 1;
                    let name = memory_name(self.run.kernel(), inst.memory);
                    let what = format!("the index of `{name}` along axis {axis}");
                    let start = self.index(scalar, &what, inst.loc)?;
                    self.check_start(
                        inst,
                        (inst.memory, axis),
                        start,
                        (dim.size, dim.stride, multiple_of),
                    )?
                }
            };
            from += start * strides[axis];
            starts.push(start);
        }
        if is_watched {
            self.check_marks(inst, access, starts, writes)?;
        }
        let sizes: Shape = access.dims.iter().map(|dim| dim.size).collect();
        let steps: Strides =
            access.dims.iter().zip(&strides).map(|(dim, stride)| dim.stride * stride).collect();
        Ok(Some(Copy::new(&sizes, (from, &steps), (0, &dense_strides(&sizes)))))
    }

    /// Checks an access that starts here against the copies in flight, and what other agents do.
    fn check_marks(
        &mut self,
        inst: &Inst<'_>,
        access: &Access,
        starts: Shape,
        writes: bool,
    ) -> Result<(), Stop> {
        let rect = Rect {
            memory: inst.memory,
            starts,
            sizes: access.dims.iter().map(|dim| dim.size).collect(),
            strides: access.dims.iter().map(|dim| dim.stride).collect(),
        };
        self.check_in_flight(&rect, writes, inst.loc)?;
        self.note_access(&rect, writes, inst.loc)
    }

    /// Checks where an access of a memory along an axis starts: within bounds, and as promised.
    pub(in super::super) fn check_start(
        &mut self,
        inst: &Inst<'_>,
        (memory, axis): (usize, usize),
        start: i64,
        (size, stride, multiple_of): (usize, usize, usize),
    ) -> Result<usize, Stop> {
        let kernel = self.run.kernel();
        let name = memory_name(kernel, memory);
        let extent = self.memories[memory].shape[axis];
        let last = start + ((size - 1) * stride) as i64;
        if start < 0 || last >= extent as i64 {
            let verb = match inst.op {
                Op::Dma(_) => "copy",
                _ => inst.op.mnemonic(),
            };
            let touched = match size {
                1 => format!("element {start}"),
                _ if stride == 1 => format!("elements {start} to {last}"),
                _ => format!("elements {start} to {last} in steps of {stride}"),
            };
            let diagnostic = Diagnostic::error(
                Code::INTERP_OUT_OF_BOUNDS,
                format!("this {verb} touches {touched} of `{name}` along axis {axis}, which has {extent}"),
            )
            .at_opt(kernel.span(inst.loc), "out of bounds here");
            return Err(self.report(inst.loc, diagnostic));
        }
        if multiple_of > 1 && start % multiple_of as i64 != 0 {
            let diagnostic = Diagnostic::error(
                Code::INTERP_MISALIGNED,
                format!("the index of `{name}` along axis {axis} is {start}, which is no multiple of {multiple_of} as promised"),
            )
            .at_opt(kernel.span(inst.loc), "promised here")
            .help("correct the index, or drop the promise");
            return Err(self.report(inst.loc, diagnostic));
        }
        Ok(start as usize)
    }

    fn load_whole(&mut self, inst: &Inst<'_>) -> Tile {
        let memory = &self.memories[inst.memory];
        let (data, poison) = (memory.data.clone(), memory.poison.clone());
        let poison = poison.and_then(|poison| self.loaded(poison, inst.loc));
        Tile { data, poison }
    }

    fn load_part(&mut self, inst: &Inst<'_>, access: &Access, copy: &Copy) -> Tile {
        let n = access.tile_shape().iter().product();
        let memory = &self.memories[inst.memory];
        let mut data = self.pool.data(Storage::of(memory.dtype), n);
        data.copy_from(&memory.data, copy);
        let poison = memory.poison.as_ref().and_then(|poison| poison.copied(n, copy));
        let poison = poison.and_then(|poison| self.loaded(poison, inst.loc));
        Tile { data, poison }
    }

    /// Poison as it is after a load, which becomes part of its origin.
    fn loaded(&mut self, poison: Poison, loc: LocId) -> Option<Poison> {
        match poison {
            Poison::Uniform(id) => Some(Poison::Uniform(self.origins.loaded(id, loc))),
            Poison::Each(mut ids) => {
                let mut known = (0, 0);
                for id in slice_mut(&mut ids) {
                    if *id != 0 {
                        if known.0 != *id {
                            known = (*id, self.origins.loaded(*id, loc));
                        }
                        *id = known.1;
                    }
                }
                Some(Poison::Each(ids))
            }
        }
    }

    fn mask_load(&mut self, inst: &Inst<'_>, access: &Access, tile: Tile) -> Result<Tile, Stop> {
        let mask = self.tile(inst, inst.uses.len() - 1)?;
        let n = access.tile_shape().iter().product::<usize>();
        let left_out = self.origin_id(Cause::MaskedOff, inst.memory, Some(inst.loc));
        let get = |poison: &Option<Poison>, idx| poison.as_ref().map_or(0, |p| p.get(idx));
        let ids: Vec<PoisonId> = (0..n)
            .map(|idx| match (get(&mask.poison, idx), mask.data.u8s()[idx]) {
                (0, 0) => left_out,
                (0, _) => get(&tile.poison, idx),
                (id, _) => id,
            })
            .collect();
        self.pool.give(mask.data);
        Ok(Tile { data: tile.data, poison: Poison::from_ids(ids) })
    }

    fn load_scalar(&mut self, inst: &Inst<'_>, at: &Option<Copy>) {
        let place = element_of(at);
        let memory = &self.memories[inst.memory];
        let value = memory.data.number(memory.dtype, place);
        let id = memory.poison.as_ref().map_or(0, |poison| poison.get(place));
        let poison = self.origins.loaded(id, inst.loc);
        if let Some(reads) = &mut self.table_reads {
            reads.push(TableRead { memory: inst.memory, element: place, value });
        }
        self.set(inst, Held::Scalar(Scalar { value, poison, overflow: None }));
    }

    fn store_scalar(&mut self, inst: &Inst<'_>, at: &Option<Copy>, scalar: Scalar) {
        let place = element_of(at);
        let memory = &mut self.memories[inst.memory];
        let n = memory.n_elems();
        memory.data.set_number(memory.dtype, place, scalar.value);
        if scalar.poison != 0 || memory.poison.is_some() {
            let mut ids = ids_of(memory.poison.take(), n);
            slice_mut(&mut ids)[place] = scalar.poison;
            memory.poison = ids.iter().any(|&id| id != 0).then_some(Poison::Each(ids));
        }
    }

    fn store(
        &mut self,
        inst: &Inst<'_>,
        access: &Access,
        at: Option<Copy>,
        tile: Tile,
        mask: Option<Tile>,
    ) -> Result<(), Stop> {
        let memory = &mut self.memories[inst.memory];
        let (at, mask) = match (at, mask) {
            (None, None) => {
                let old = std::mem::replace(&mut memory.data, tile.data);
                memory.poison = tile.poison;
                self.pool.give(old);
                return Ok(());
            }
            (None, mask) => {
                let strides = dense_strides(&memory.shape);
                (Copy::new(&memory.shape, (0, &strides), (0, &strides)), mask)
            }
            (Some(at), mask) => (at, mask),
        };
        let store = at.reversed();
        let Some(mask) = mask else {
            memory.data.copy_from(&tile.data, &store);
            let n_tile = access.tile_shape().iter().product();
            let ids = tile.poison.map(|p| p.to_ids(n_tile));
            self.memories[inst.memory].set_poison(&store, None, ids);
            self.pool.give(tile.data);
            return Ok(());
        };
        if let Some(id) = mask.poison.as_ref().map(Poison::any)
            && let Some(origin) = self.origins.get(id)
        {
            return Err(self.report_undefined(origin, "the mask of this store", inst.loc));
        }
        let chosen = mask.data.u8s();
        match (&mut memory.data, &tile.data) {
            (Data::F32(to), Data::F32(from)) => store.run_masked(from, slice_mut(to), chosen),
            (Data::I32(to), Data::I32(from)) => store.run_masked(from, slice_mut(to), chosen),
            (Data::U8(to), Data::U8(from)) => store.run_masked(from, slice_mut(to), chosen),
            _ => {}
        }
        let n_tile = chosen.len();
        let ids = tile.poison.map(|p| p.to_ids(n_tile));
        self.memories[inst.memory].set_poison(&store, Some(chosen), ids);
        self.pool.give(tile.data);
        self.pool.give(mask.data);
        Ok(())
    }
}

/// The place of a single element in memory.
fn element_of(at: &Option<Copy>) -> usize {
    let mut place = 0;
    if let Some(copy) = at {
        copy.rows(|from, _, _, _, _| place = from);
    }
    place
}
