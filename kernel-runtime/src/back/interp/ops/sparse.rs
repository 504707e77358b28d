//! Registers of a SparseCore.

use super::super::agents::Group;
use super::super::exec::{Executor, Stop};
use super::super::flight::Rect;
use super::super::plan::Inst;
use super::super::report::{Cause, index_text, memory_name};
use super::super::tile::{
    Data, Held, Number, Poison, PoisonId, Storage, Tile, decode_int, encode_int, slice_mut,
};
use super::indirect::place_of;
use crate::diag::{Code, Diagnostic};
use crate::ir::ops::{Access, Binary, ScanKind, SparseOp, Start};
use crate::ir::{DType, Shape};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// Coordinates in memory, one list per element.
type Places = Vec<SmallVec<[usize; 4]>>;

/// Why an element is undefined; 0 if it is not.
fn id_at(poison: Option<&Poison>, idx: usize) -> PoisonId {
    poison.map_or(0, |poison| poison.get(idx))
}

impl Executor<'_> {
    /// Runs an op of a SparseCore.
    pub(in super::super) fn sparse(&mut self, inst: &Inst<'_>, op: &SparseOp) -> Result<(), Stop> {
        if let Some(indirect) = op.indirect() {
            return self.indirect(inst, indirect);
        }
        match op {
            SparseOp::Start(_) | SparseOp::Wait(_) => Ok(()),
            SparseOp::Barrier => self.barrier(Group::Core, inst.loc),
            SparseOp::LoadIdx { masked } => self.load_idx(inst, *masked),
            SparseOp::StoreIdx { add, masked } => self.store_idx(inst, *add, *masked),
            SparseOp::LoadExpanded { access } => self.load_expanded(inst, access),
            SparseOp::StoreCompressed { access } => self.store_compressed(inst, access),
            SparseOp::Scan { kind, masked } => self.scan(inst, *kind, *masked),
            SparseOp::Sort { descending, masked } => self.sort(inst, *descending, *masked),
            SparseOp::ScanCount { masked } => self.scan_count(inst, *masked),
            SparseOp::MaskCount => {
                self.mask_reduce(inst, |mask| mask.iter().filter(|&&element| element != 0).count())
            }
            SparseOp::MaskFirst => self.mask_reduce(inst, |mask| {
                mask.iter().position(|&element| element != 0).unwrap_or(mask.len())
            }),
        }
    }

    /// The mask of an op, its last operand, which is defined; true everywhere if there is none.
    fn mask(&mut self, inst: &Inst<'_>, masked: bool, n: usize) -> Result<Vec<u8>, Stop> {
        if !masked {
            return Ok(vec![1; n]);
        }
        let mask = self.tile(inst, inst.uses.len() - 1)?;
        let bad = mask.poison.as_ref().map(Poison::any);
        if let Some(origin) = bad.and_then(|id| self.origins.get(id)) {
            let what = format!("the mask of this {}", inst.op.mnemonic());
            return Err(self.report_undefined(origin, &what, inst.loc));
        }
        Ok(mask.data.u8s().to_vec())
    }

    /// The place in memory that each element of the indices names, where the mask is true.
    fn indexed(
        &mut self,
        inst: &Inst<'_>,
        first: usize,
        masked: bool,
    ) -> Result<(Vec<Option<usize>>, Places), Stop> {
        let shape = self.memories[inst.memory].shape.clone();
        let mut tiles = Vec::with_capacity(shape.len());
        for axis in 0..shape.len() {
            tiles.push(self.tile(inst, first + axis)?);
        }
        let n = tiles.first().map_or(0, |tile| tile.data.i32s().len());
        let mask = self.mask(inst, masked, n)?;
        let (mut places, mut all) = (Vec::with_capacity(n), Vec::with_capacity(n));
        for (idx, &chosen) in mask.iter().enumerate() {
            let mut at = SmallVec::<[usize; 4]>::new();
            for (axis, tile) in tiles.iter().enumerate().filter(|_| chosen != 0) {
                let id = id_at(tile.poison.as_ref(), idx);
                if let Some(origin) = self.origins.get(id) {
                    let what = format!("an index of this {}", inst.op.mnemonic());
                    return Err(self.report_undefined(origin, &what, inst.loc));
                }
                let start = i64::from(tile.data.i32s()[idx]);
                let whole = (1, 1, 1);
                at.push(self.check_start(inst, (inst.memory, axis), start, whole)?);
            }
            places.push((chosen != 0).then(|| place_of(&shape, &at)));
            all.push(at);
        }
        Ok((places, all))
    }

    /// Checks single elements against the copies in flight.
    fn check_elements(
        &mut self,
        inst: &Inst<'_>,
        places: &[SmallVec<[usize; 4]>],
        writes: bool,
    ) -> Result<(), Stop> {
        if self.memories[inst.memory].in_flight == 0 {
            return Ok(());
        }
        for at in places.iter().filter(|at| !at.is_empty()) {
            let ones = SmallVec::from_elem(1, at.len());
            let rect = Rect {
                memory: inst.memory,
                starts: at.clone(),
                sizes: ones.clone(),
                strides: ones,
            };
            self.check_in_flight(&rect, writes, inst.loc)?;
        }
        Ok(())
    }

    fn load_idx(&mut self, inst: &Inst<'_>, masked: bool) -> Result<(), Stop> {
        let (places, all) = self.indexed(inst, 0, masked)?;
        self.check_elements(inst, &all, false)?;
        self.take_elements(inst, &places);
        Ok(())
    }

    /// Sets the result to elements of memory; what has no place is undefined.
    fn take_elements(&mut self, inst: &Inst<'_>, places: &[Option<usize>]) {
        let left_out = self.origin_id(Cause::MaskedOff, inst.memory, Some(inst.loc));
        let memory = &self.memories[inst.memory];
        let dtype = memory.dtype;
        let mut data = self.pool.data(Storage::of(dtype), places.len());
        data.clear();
        let mut ids = vec![0; places.len()];
        for (idx, place) in places.iter().enumerate() {
            match *place {
                Some(place) => {
                    data.set_number(dtype, idx, memory.data.number(dtype, place));
                    let id = id_at(memory.poison.as_ref(), place);
                    ids[idx] = self.origins.loaded(id, inst.loc);
                }
                None => ids[idx] = left_out,
            }
        }
        self.set_tile(inst, data, Poison::from_ids(ids));
    }

    fn store_idx(&mut self, inst: &Inst<'_>, add: bool, masked: bool) -> Result<(), Stop> {
        let (places, all) = self.indexed(inst, 1, masked)?;
        self.check_elements(inst, &all, true)?;
        let tile = self.tile(inst, 0)?;
        if !add {
            let mut seen = HashMap::with_capacity(places.len());
            for (idx, place) in places.iter().enumerate() {
                let Some(place) = place else { continue };
                if let Some(other) = seen.insert(*place, idx) {
                    return Err(self.report_same_place(inst, (other, idx), &all[idx]));
                }
            }
        }
        for (idx, place) in places.iter().enumerate() {
            if let Some(place) = *place {
                self.put_element(inst, &tile, (idx, place), add);
            }
        }
        self.memories[inst.memory].stored_at = Some(inst.loc);
        Ok(())
    }

    fn report_same_place(
        &mut self,
        inst: &Inst<'_>,
        (first, second): (usize, usize),
        at: &[usize],
    ) -> Stop {
        let kernel = self.run.kernel();
        let name = memory_name(kernel, inst.memory);
        let diagnostic = Diagnostic::error(
            Code::INTERP_DUPLICATE_ROW,
            format!(
                "elements {first} and {second} of this store both go to `{name}{}`",
                index_text(at)
            ),
        )
        .at_opt(kernel.span(inst.loc), "here")
        .help("store one of them, by a mask such as that of `scan_count`; or add: `add_idx`");
        self.report(inst.loc, diagnostic)
    }

    /// Stores or adds element `idx` of a tile at a place of memory.
    fn put_element(
        &mut self,
        inst: &Inst<'_>,
        tile: &Tile,
        (idx, place): (usize, usize),
        add: bool,
    ) {
        let memory = &mut self.memories[inst.memory];
        let dtype = memory.dtype;
        let mut value = tile.data.number(dtype, idx);
        let mut id = id_at(tile.poison.as_ref(), idx);
        if add {
            value = match (memory.data.number(dtype, place), value) {
                (Number::Float(x), Number::Float(y)) => Number::Float(dtype.round_f32(x + y)),
                (Number::Int(x), Number::Int(y)) => Number::Int(dtype.wrap_int(x.wrapping_add(y))),
                (_, value) => value,
            };
            if id == 0 {
                id = id_at(memory.poison.as_ref(), place);
            }
        }
        memory.data.set_number(dtype, place, value);
        if id != 0 || memory.poison.is_some() {
            let mut ids = match memory.poison.take() {
                Some(Poison::Each(ids)) => ids,
                Some(Poison::Uniform(id)) => Arc::new(vec![id; memory.n_elems()]),
                None => Arc::new(vec![0; memory.n_elems()]),
            };
            slice_mut(&mut ids)[place] = id;
            memory.poison = ids.iter().any(|&id| id != 0).then_some(Poison::Each(ids));
        }
    }

    /// The places of the elements of an access of one axis, in their order.
    fn run_of(
        &mut self,
        inst: &Inst<'_>,
        access: &Access,
        first: usize,
    ) -> Result<(Vec<usize>, Places), Stop> {
        let shape = self.memories[inst.memory].shape.clone();
        let mut starts = Shape::new();
        let mut operand = first;
        for (axis, dim) in access.dims.iter().enumerate() {
            let start = match dim.start {
                Start::Static(start) => start,
                Start::Dynamic { multiple_of } => {
                    let scalar = self.scalar(inst, operand)?;
                    operand += 1;
                    let name = memory_name(self.run.kernel(), inst.memory);
                    let what = format!("the index of `{name}` along axis {axis}");
                    let start = self.index(scalar, &what, inst.loc)?;
                    let part = (dim.size, dim.stride, multiple_of);
                    self.check_start(inst, (inst.memory, axis), start, part)?
                }
            };
            starts.push(start);
        }
        let long = access.dims.iter().position(|dim| dim.keep).unwrap_or(0);
        let dim = access.dims[long];
        let all: Places = (0..dim.size)
            .map(|idx| {
                let mut at: SmallVec<[usize; 4]> = starts.iter().copied().collect();
                at[long] += idx * dim.stride;
                at
            })
            .collect();
        Ok((all.iter().map(|at| place_of(&shape, at)).collect(), all))
    }

    fn load_expanded(&mut self, inst: &Inst<'_>, access: &Access) -> Result<(), Stop> {
        let (run, all) = self.run_of(inst, access, 0)?;
        let mask = self.mask(inst, true, run.len())?;
        let mut next = run.iter().copied();
        let places: Vec<Option<usize>> =
            mask.iter().map(|&chosen| if chosen != 0 { next.next() } else { None }).collect();
        let n = mask.iter().filter(|&&chosen| chosen != 0).count();
        self.check_elements(inst, &all[..n], false)?;
        self.take_elements(inst, &places);
        Ok(())
    }

    fn store_compressed(&mut self, inst: &Inst<'_>, access: &Access) -> Result<(), Stop> {
        let (run, all) = self.run_of(inst, access, 1)?;
        let tile = self.tile(inst, 0)?;
        let mask = self.mask(inst, true, run.len())?;
        let chosen: Vec<usize> = (0..mask.len()).filter(|&idx| mask[idx] != 0).collect();
        self.check_elements(inst, &all[..chosen.len()], true)?;
        for (idx, place) in chosen.into_iter().zip(run) {
            self.put_element(inst, &tile, (idx, place), false);
        }
        self.memories[inst.memory].stored_at = Some(inst.loc);
        Ok(())
    }

    fn scan(&mut self, inst: &Inst<'_>, kind: ScanKind, masked: bool) -> Result<(), Stop> {
        let dtype =
            inst.uses.first().map_or(DType::F32, |used| self.run.plan.ty(used.value).dtype());
        let tile = self.tile(inst, 0)?;
        let n = match &tile.data {
            Data::F32(values) => values.len(),
            Data::I32(values) => values.len(),
            Data::U8(values) => values.len(),
        };
        let mask = self.mask(inst, masked, n)?;
        let op = match kind {
            ScanKind::Sum => Binary::Add,
            ScanKind::Max => Binary::Max,
            ScanKind::Min => Binary::Min,
        };
        let mut data = self.pool.data(Storage::of(dtype), n);
        let mut ids = vec![0; n];
        let mut so_far: Option<(Number, PoisonId)> = None;
        for idx in 0..n {
            let own = (tile.data.number(dtype, idx), id_at(tile.poison.as_ref(), idx));
            if mask[idx] != 0 {
                so_far = Some(match so_far {
                    None => own,
                    Some((sum, id)) => {
                        let id = if id == 0 { own.1 } else { id };
                        (combine(op, dtype, sum, own.0), id)
                    }
                });
            }
            let zero = match own.0 {
                Number::Float(_) => Number::Float(0.0),
                Number::Int(_) => Number::Int(0),
            };
            let (value, id) = match (so_far, kind) {
                (Some(so_far), _) => so_far,
                (None, ScanKind::Sum) => (zero, 0),
                (None, ScanKind::Max | ScanKind::Min) => own,
            };
            data.set_number(dtype, idx, value);
            ids[idx] = id;
        }
        self.set_tile(inst, data, Poison::from_ids(ids));
        Ok(())
    }

    fn sort(&mut self, inst: &Inst<'_>, descending: bool, masked: bool) -> Result<(), Stop> {
        let types: SmallVec<[DType; 2]> =
            inst.uses.iter().take(2).map(|used| self.run.plan.ty(used.value).dtype()).collect();
        let (keys, values) = (self.tile(inst, 0)?, self.tile(inst, 1)?);
        if let Some(origin) = keys.poison.as_ref().and_then(|p| self.origins.get(p.any())) {
            return Err(self.report_undefined(origin, "a key of this sort", inst.loc));
        }
        let [key_ty, value_ty] = types[..] else { return Ok(()) };
        let n = self.run.plan.shape(inst.results[0])[0];
        let mask = self.mask(inst, masked, n)?;
        let mut order: Vec<usize> = (0..n).filter(|&idx| mask[idx] != 0).collect();
        let compare =
            |a: usize, b: usize| match (keys.data.number(key_ty, a), keys.data.number(key_ty, b)) {
                (Number::Float(x), Number::Float(y)) => x.total_cmp(&y),
                (Number::Int(x), Number::Int(y)) => x.cmp(&y),
                _ => std::cmp::Ordering::Equal,
            };
        order.sort_by(|&a, &b| if descending { compare(b, a) } else { compare(a, b) });
        let left_out = self.origin_id(Cause::LeftOut, 0, Some(inst.loc));
        for (number, (tile, dtype)) in
            [(&keys, key_ty), (&values, value_ty)].into_iter().enumerate()
        {
            let mut data = self.pool.data(Storage::of(dtype), n);
            data.clear();
            let mut ids = vec![left_out; n];
            for (to, &from) in order.iter().enumerate() {
                data.set_number(dtype, to, tile.data.number(dtype, from));
                ids[to] = id_at(tile.poison.as_ref(), from);
            }
            let result = inst.results[number];
            self.held[result.0 as usize] = Held::Tile(Tile { data, poison: Poison::from_ids(ids) });
        }
        if let Some(&result) = inst.results.get(2) {
            let kept = (0..n).map(|idx| u8::from(idx < order.len())).collect();
            let data = Data::U8(Arc::new(kept));
            self.held[result.0 as usize] = Held::Tile(Tile { data, poison: None });
        }
        Ok(())
    }

    fn scan_count(&mut self, inst: &Inst<'_>, masked: bool) -> Result<(), Stop> {
        let dtype =
            inst.uses.first().map_or(DType::F32, |used| self.run.plan.ty(used.value).dtype());
        let tile = self.tile(inst, 0)?;
        if let Some(origin) = tile.poison.as_ref().and_then(|p| self.origins.get(p.any())) {
            return Err(self.report_undefined(origin, "an element that is counted", inst.loc));
        }
        let n = self.run.plan.shape(inst.results[0])[0];
        let mask = self.mask(inst, masked, n)?;
        let bits = |idx: usize| match tile.data.number(dtype, idx) {
            Number::Float(x) => u64::from((x + 0.0).to_bits()),
            Number::Int(x) => x as u64,
        };
        let left_out = self.origin_id(Cause::LeftOut, 0, Some(inst.loc));
        let (mut counts, mut last, mut ids) = (vec![0; n], vec![0u8; n], vec![left_out; n]);
        let mut seen: HashMap<u64, (i32, usize)> = HashMap::new();
        for idx in (0..n).filter(|&idx| mask[idx] != 0) {
            let entry = seen.entry(bits(idx)).or_insert((0, idx));
            last[entry.1] = 0;
            *entry = (entry.0 + 1, idx);
            (counts[idx], last[idx], ids[idx]) = (entry.0, 1, 0);
        }
        let counts = Tile { data: Data::I32(Arc::new(counts)), poison: Poison::from_ids(ids) };
        let last = Tile { data: Data::U8(Arc::new(last)), poison: None };
        for (&result, tile) in inst.results.iter().zip([counts, last]) {
            self.held[result.0 as usize] = Held::Tile(tile);
        }
        Ok(())
    }

    fn mask_reduce(
        &mut self,
        inst: &Inst<'_>,
        reduce: impl FnOnce(&[u8]) -> usize,
    ) -> Result<(), Stop> {
        let mask = self.tile(inst, 0)?;
        let n = mask.data.u8s().len();
        let poison = mask.poison.as_ref().map(Poison::any).filter(|&id| id != 0);
        let result = reduce(mask.data.u8s()) as i32;
        let data = Data::I32(Arc::new(vec![result; n]));
        self.set_tile(inst, data, poison.map(Poison::Uniform));
        Ok(())
    }
}

fn combine(op: Binary, dtype: DType, x: Number, y: Number) -> Number {
    match (x, y) {
        (Number::Float(x), Number::Float(y)) => Number::Float(dtype.round_f32(op.eval_float(x, y))),
        (Number::Int(x), Number::Int(y)) => {
            let bits = encode_int(dtype, op.eval_int(x, y));
            Number::Int(decode_int(dtype, bits))
        }
        (_, y) => y,
    }
}
