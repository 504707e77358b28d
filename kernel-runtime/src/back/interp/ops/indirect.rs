//! Indirect copies: rows of a table by a list of ids.

use super::super::exec::{Executor, Stop};
use super::super::flight::{End, Flight, Rect, Rows};
use super::super::memory::dense_strides;
use super::super::plan::Inst;
use super::super::report::{index_text, memory_name};
use super::super::tile::{PoisonId, Tile};
use crate::diag::{Code, Diagnostic};
use crate::ir::Shape;
use crate::ir::ops::{Direction, IndirectRef, IndirectStart, IndirectValues};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// The ids of a copy, and where they come from.
struct Ids {
    values: Vec<i64>,
    /// The part of memory that lists them; none if they are a tile.
    rect: Option<Rect>,
}

impl Executor<'_> {
    /// Starts an indirect copy or waits for one.
    pub(in super::super) fn indirect(
        &mut self,
        inst: &Inst<'_>,
        indirect: IndirectRef<'_>,
    ) -> Result<(), Stop> {
        let places: SmallVec<[usize; 8]> = (0..inst.uses.len()).collect();
        let (Some(values), &[table, rows, .., semaphores]) =
            (indirect.split_values(&places), inst.refs.as_slice())
        else {
            return Ok(());
        };
        let copy = indirect.copy();
        let semaphore = self.semaphore(inst, semaphores, &copy.semaphore, values.semaphore)?;
        let dtype = self.memories[table].dtype;
        let shape = copy.rows.tile_shape();
        let weight = (shape.iter().product::<usize>() * dtype.size_bytes()) as i64;
        let IndirectRef::Start(start) = indirect else {
            return self.wait(semaphore, weight, inst.loc);
        };
        self.yield_point()?;
        let ids = self.ids(inst, start, &values)?;
        let mut table_end =
            self.end(inst, table, &copy.table, values.table, &copy.table.tile_shape())?;
        let mut rows_end = self.end(inst, rows, &copy.rows, values.rows, &shape)?;
        let kept = self.kept(inst, start, &values, &ids, &table_end)?;
        let mut sizes = shape;
        if let Some(first) = sizes.first_mut() {
            *first = kept.len();
        }
        let of = |end: &End, numbers: &dyn Fn(usize) -> usize| {
            let axis = |access: &crate::ir::ops::Access| access.dims.iter().position(|d| d.keep);
            let axis = match std::ptr::eq(end, &table_end) {
                true => axis(&copy.table),
                false => axis(&copy.rows),
            };
            let axis = axis.unwrap_or(0);
            let first = end.rect.starts[axis];
            let list: Arc<[usize]> = kept.iter().map(|&place| first + numbers(place)).collect();
            Rows { axis, list }
        };
        let table_rows = of(&table_end, &|place| ids.values[place] as usize);
        let own_rows = of(&rows_end, &|place| place);
        (table_end.rows, rows_end.rows) = (Some(table_rows), Some(own_rows));
        let (from, to) = match copy.direction {
            Direction::Gather => (table_end, rows_end),
            Direction::Scatter => (rows_end, table_end),
        };
        self.start_flight(Flight {
            from,
            to,
            sizes,
            dtype,
            add: start.add,
            also_reads: ids.rect.map(|rect| End::of(self.owner(rect.memory), &rect)),
            semaphore,
            source_semaphore: None,
            weight,
            source_weight: 0,
            loc: inst.loc,
            id: 0,
            agent: self.me,
            time: 0,
            cargo: None,
            n_moved: 0,
            step: self.step_number,
            done: [false; 2],
        })
    }

    /// The ids as they are now, which are all defined.
    fn ids(
        &mut self,
        inst: &Inst<'_>,
        start: &IndirectStart,
        values: &IndirectValues<'_, usize>,
    ) -> Result<Ids, Stop> {
        let (tile, rect) = match (&start.ids, values.tile) {
            (Some(access), _) => {
                let memory = inst.refs[2];
                let end = self.end(inst, memory, access, values.ids, &access.tile_shape())?;
                let n: usize = access.tile_shape().iter().product();
                let step = end.steps.first().copied().unwrap_or(1);
                let held = &self.memories[memory];
                let data: Vec<i64> =
                    (0..n).map(|idx| i64::from(held.data.i32s()[end.base + idx * step])).collect();
                let poison = held.poison.as_ref();
                let bad = poison.and_then(|poison| {
                    (0..n).map(|idx| poison.get(end.base + idx * step)).find(|&id| id != 0)
                });
                ((data, bad), Some(end.rect))
            }
            (None, Some(tile)) => {
                let Tile { data, poison } = self.tile(inst, tile)?;
                let values = data.i32s().iter().map(|&id| i64::from(id)).collect();
                let bad: Option<PoisonId> = poison.as_ref().map(|poison| poison.any());
                ((values, bad.filter(|&id| id != 0)), None)
            }
            (None, None) => ((Vec::new(), None), None),
        };
        let (values, bad) = tile;
        if let Some(origin) = bad.and_then(|id| self.origins.get(id)) {
            return Err(self.report_undefined(origin, "a list of ids", inst.loc));
        }
        Ok(Ids { values, rect })
    }

    /// The places of the ids that are not skipped, all of which are in the table.
    fn kept(
        &mut self,
        inst: &Inst<'_>,
        start: &IndirectStart,
        values: &IndirectValues<'_, usize>,
        ids: &Ids,
        table: &End,
    ) -> Result<Vec<usize>, Stop> {
        let skip = match values.skip {
            Some(place) => {
                let scalar = self.scalar(inst, place)?;
                Some(self.index(scalar, "the id that this copy skips", inst.loc)?)
            }
            None => None,
        };
        let axis = start.copy.table.dims.iter().position(|dim| dim.keep).unwrap_or(0);
        let n_rows = table.rect.sizes[axis];
        let kept: Vec<usize> =
            (0..ids.values.len()).filter(|&place| Some(ids.values[place]) != skip).collect();
        let outside = kept
            .iter()
            .copied()
            .find(|&place| usize::try_from(ids.values[place]).map_or(true, |id| id >= n_rows));
        if let Some(place) = outside {
            return Err(self.report_outside(inst, ids, place, (table, n_rows)));
        }
        if start.copy.direction == Direction::Scatter && !start.add {
            let mut first = HashMap::with_capacity(kept.len());
            for &place in &kept {
                if let Some(other) = first.insert(ids.values[place], place) {
                    return Err(self.report_twice(inst, ids, (other, place), table));
                }
            }
        }
        Ok(kept)
    }

    /// Names an id: `` `ids[3]` `` or `id 3 of the tile`.
    fn id_text(&self, ids: &Ids, place: usize) -> String {
        let Some(rect) = &ids.rect else { return format!("id {place} of the list") };
        let mut at: Shape = rect.starts.iter().copied().collect();
        let long = rect.sizes.iter().position(|&size| size > 1).unwrap_or(at.len() - 1);
        at[long] += place * rect.strides[long];
        format!("`{}{}`", memory_name(self.run.kernel(), rect.memory), index_text(&at))
    }

    fn report_outside(
        &mut self,
        inst: &Inst<'_>,
        ids: &Ids,
        place: usize,
        (table, n_rows): (&End, usize),
    ) -> Stop {
        let kernel = self.run.kernel();
        let name = memory_name(kernel, table.rect.memory);
        let (text, id) = (self.id_text(ids, place), ids.values[place]);
        let diagnostic = Diagnostic::error(
            Code::INTERP_OUT_OF_BOUNDS,
            format!("{text} is {id}, but `{name}` has rows 0 to {}", n_rows - 1),
        )
        .at_opt(kernel.span(inst.loc), "out of bounds here")
        .help("check ids before the call; ids that are to be left out have a value of their own: `.skipping(-1)`");
        self.report(inst.loc, diagnostic)
    }

    fn report_twice(
        &mut self,
        inst: &Inst<'_>,
        ids: &Ids,
        (first, second): (usize, usize),
        table: &End,
    ) -> Stop {
        let kernel = self.run.kernel();
        let name = memory_name(kernel, table.rect.memory);
        let (one, two) = (self.id_text(ids, first), self.id_text(ids, second));
        let id = ids.values[first];
        let diagnostic = Diagnostic::error(
            Code::INTERP_DUPLICATE_ROW,
            format!(
                "{one} and {two} are both {id}: this scatter writes row {id} of `{name}` twice"
            ),
        )
        .at_opt(kernel.span(inst.loc), "here")
        .help("combine rows of one id before they are scattered, or add them: `.accumulate()`");
        self.report(inst.loc, diagnostic)
    }
}

/// The places of a dense array by the index along its axes.
pub(super) fn place_of(shape: &[usize], at: &[usize]) -> usize {
    dense_strides(shape).iter().zip(at).map(|(stride, idx)| stride * idx).sum()
}
