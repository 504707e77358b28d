//! What a pipeline does for each of its arrays, found out before its first op: which axes of the
//! grid move a block, how many buffers it has, and whether it stays inside of its array.

use super::cut::Cut;
use super::math::Math;
use super::spec::{About, AnySpec, Way};
use crate::diag::{Code, Diagnostic, Span};
use crate::ir::ty::Sizes;
use crate::ir::{BlockId, DType, MemorySpace, SemaphoreKind, Shape, Type, Value, ValueDef};
use crate::trace::context::{At, Handle, RegionKind, Tracer, with};
use crate::trace::convert::Operand;
use crate::trace::handle::Scalar;
use crate::trace::replay::{RegionLog, Stage};
use smallvec::SmallVec;

/// Axes of the grid of a pipeline.
const MAX_AXES: usize = 16;

/// An axis of the grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    /// The number of steps, not negative.
    pub(super) extent: Scalar<i32>,
    /// The number, if it is known while tracing.
    pub(super) known: Option<i64>,
}

impl Axis {
    /// Whether its index never changes.
    pub(super) fn is_single(self) -> bool {
        self.known == Some(1)
    }
}

/// What a pipeline does for an array.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    pub(super) about: About,
    /// How many leading axes of the grid move the block: it changes when one of them does.
    pub(super) depth: usize,
    /// Whether it surely changes then: its index is made of indices of the grid as they are.
    pub(super) simple: bool,
    /// The number of slots.
    pub(super) n: usize,
    /// How many blocks fetches are ahead.
    pub(super) ahead: usize,
    pub(super) memory: Handle,
    pub(super) fetched: Handle,
    pub(super) sent: Handle,
    /// The axes along which the end of the array cuts the last block.
    pub(super) cuts: SmallVec<[Cut; 2]>,
    /// A table in SMEM: how the block of each slot is cut.
    pub(super) cut: Handle,
}

impl Ring {
    /// Whether its only block is fetched before the first step and stays.
    pub(super) fn stays(&self) -> bool {
        self.depth == 0 && self.about.way == Way::In
    }
}

/// The axes of a grid; `None` if they are no extents, which is reported.
pub(super) fn axes<const N: usize>(extents: &[Operand; N], at: At) -> Option<[Axis; N]> {
    let math = Math { at };
    if N > MAX_AXES {
        error(at, format!("this pipeline has {N} axes; it has at most {MAX_AXES}"), "join some");
        return None;
    }
    let mut axes = Vec::new();
    let mut total = Some(1_i64);
    for (idx, &extent) in extents.iter().enumerate() {
        let handle = with(|t| t.value(extent, DType::I32, at).map(|value| t.handle(value)));
        let given = Scalar::new(handle.flatten()?);
        let known = math.known(given);
        if let Some(wrong) = known.filter(|&known| known < 1) {
            error(
                at,
                format!("axis {idx} of this pipeline has {wrong} steps; it needs 1 or more"),
                "leave the pipeline out with `if comptime!(..)` where there is nothing to do",
            );
            return None;
        }
        total = total.zip(known).and_then(|(a, b)| a.checked_mul(b));
        let extent = if known.is_some() { given } else { math.max(given, 0_i32) };
        axes.push(Axis { extent, known });
    }
    if let Some(total) = total.filter(|&total| total > i64::from(i32::MAX)) {
        error(
            at,
            format!("this pipeline has {total} steps, which are counted in 32 bits"),
            "make the blocks larger",
        );
        return None;
    }
    axes.try_into().ok()
}

fn error(at: At, message: String, help: &str) {
    with(|t| t.error_with_help(Code::TRACE_PIPELINE, message, help, at));
}

/// What a pipeline does for each array; `None` if an array cannot be walked over like that, which
/// is reported.
pub(super) fn rings<const N: usize>(
    axes: &[Axis; N],
    specs: &[&dyn AnySpec<N>],
    at: At,
) -> Option<Vec<Ring>> {
    let kind = RegionKind::Pipeline;
    let stage = with(|t| t.begin(kind, at))?;
    let (id, block, args) = match stage {
        Stage::Lost => return None,
        Stage::First(id) => with(|t| {
            let (block, args) = t.open(kind, &[const { Type::Scalar(DType::I32) }; N], at);
            (id, block, args.into_iter().map(|arg| t.handle(arg)).collect::<Vec<_>>())
        })?,
        Stage::Again(id) => with(|t| {
            let args = t.enter_again(id, 0);
            (id, t.current_block(), args)
        })?,
    };
    let index: [Scalar<i32>; N] =
        std::array::from_fn(|idx| Scalar::new(args.get(idx).copied().unwrap_or(Handle::POISON)));
    let entries: Vec<Vec<Handle>> = specs.iter().map(|spec| entries_of(*spec, index)).collect();
    let leave: Vec<Handle> = entries.concat();
    let made = match stage {
        Stage::First(_) => with(|t| {
            let yields: Vec<Value> =
                leave.iter().filter_map(|&handle| t.operand(handle, at)).collect();
            t.close(&yields, at);
            let rings = t.plan(axes, specs, (block, &args), &entries)?;
            let handles =
                rings.iter().flat_map(|ring| [ring.memory, ring.fetched, ring.sent, ring.cut]);
            let handles = handles.collect();
            t.done(id, [RegionLog { block, enter: args, leave }], handles);
            Some(rings)
        }),
        _ => with(|t| {
            t.leave_again(id, 0, &leave);
            let handles = t.end_again(id);
            let mut rings = t.moves(axes, specs, (block, &args), &entries)?;
            for (ring, handles) in rings.iter_mut().zip(handles.chunks_exact(4)) {
                (ring.memory, ring.fetched) = (handles[0], handles[1]);
                (ring.sent, ring.cut) = (handles[2], handles[3]);
            }
            Some(rings)
        }),
    };
    made.flatten()
}

/// Which block a step works on, as values.
pub(super) fn entries_of<const N: usize>(
    spec: &dyn AnySpec<N>,
    index: [Scalar<i32>; N],
) -> Vec<Handle> {
    let at = spec.about().at;
    let value = |entry| {
        let value = with(|t| t.value(entry, DType::I32, at).map(|value| t.handle(value)));
        value.flatten().unwrap_or(Handle::POISON)
    };
    spec.entries(index).into_iter().map(value).collect()
}

impl Tracer {
    /// Plans the rings and adds their scratch.
    fn plan<const N: usize>(
        &mut self,
        axes: &[Axis; N],
        specs: &[&dyn AnySpec<N>],
        region: (BlockId, &[Handle]),
        entries: &[Vec<Handle>],
    ) -> Option<Vec<Ring>> {
        let mut rings = self.moves(axes, specs, region, entries)?;
        for ring in &mut rings {
            let at = ring.about.at;
            let name = self.name_of(ring.about.memory);
            let dtype = self.ty(ring.about.memory)?.dtype();
            let sizes = ring.about.sizes.iter().copied().flatten();
            let shape: Shape = std::iter::once(ring.n).chain(sizes).collect();
            let memory = self.unused(&format!("{name}_blocks"));
            ring.memory = self.add_scratch(&memory, (dtype, MemorySpace::Vmem), &shape, at);
            if ring.about.way != Way::Out {
                let fetched = self.unused(&format!("{name}_fetched"));
                ring.fetched = self.add_semaphores(&fetched, SemaphoreKind::Dma, &[ring.n], at);
            }
            if ring.about.way != Way::In {
                let sent = self.unused(&format!("{name}_sent"));
                ring.sent = self.add_semaphores(&sent, SemaphoreKind::Dma, &[ring.n], at);
            }
            if !ring.cuts.is_empty() {
                let cut = self.unused(&format!("{name}_cut"));
                let kind = (DType::I32, MemorySpace::Smem);
                ring.cut = self.add_scratch(&cut, kind, &[ring.n], at);
            }
        }
        Some(rings)
    }

    /// Finds out how blocks move, and checks that they stay inside of their arrays.
    fn moves<const N: usize>(
        &mut self,
        axes: &[Axis; N],
        specs: &[&dyn AnySpec<N>],
        region: (BlockId, &[Handle]),
        entries: &[Vec<Handle>],
    ) -> Option<Vec<Ring>> {
        let specs = specs.iter().zip(entries);
        // Every array is checked, whatever is wrong with those before it.
        let rings: Vec<Option<Ring>> =
            specs.map(|(spec, entries)| self.ring(axes, spec.about(), region, entries)).collect();
        rings.into_iter().collect()
    }

    fn ring<const N: usize>(
        &mut self,
        axes: &[Axis; N],
        about: &About,
        (block, args): (BlockId, &[Handle]),
        entries: &[Handle],
    ) -> Option<Ring> {
        let at = about.at;
        let moves: SmallVec<[Moves; 4]> = entries
            .iter()
            .map(|&entry| {
                let entry = self.operand_from(entry, block, at);
                self.moves_of(entry, axes, (block, args))
            })
            .collect();
        let cuts = self.check_sizes(axes, about, &moves)?;
        let moved: u64 = moves.iter().fold(0, |all, moves| all | moves.axes);
        let depth = N.min(64 - moved.leading_zeros() as usize);
        self.check_revisit(axes, about, moved, depth)?;
        let simple = moves.iter().all(|moves| moves.plain || moves.axes == 0);
        let (n, ahead) = match (about.way, about.n_buffers) {
            (_, Some(0)) => {
                let message = "a pipeline needs at least one buffer for these blocks";
                let help = "leave `.buffers(..)` out, or give it 1 or more";
                self.error_with_help(Code::TRACE_PIPELINE, message, help, at);
                return None;
            }
            (Way::In, _) if depth == 0 => (1, 0),
            (Way::In, n) => (n.unwrap_or(2), n.unwrap_or(2) - 1),
            (Way::Out, n) => (if depth == 0 { 1 } else { n.unwrap_or(2) }, 0),
            (Way::Both, _) if depth == 0 => (1, 0),
            // The next block may be this one again: it is fetched when this one is back.
            (Way::Both, None) if !simple => (1, 0),
            (Way::Both, Some(n)) if !simple && n > 1 => {
                let message = format!(
                    "these blocks are updated in place, and where they lie is computed; they take one buffer, not {n}"
                );
                self.error_with_help(
                    Code::TRACE_PIPELINE,
                    message,
                    "a block that comes up twice is fetched again only when it is back; leave `.buffers(..)` out, or use indices of the grid as they are",
                    at,
                );
                return None;
            }
            (Way::Both, n) => (n.unwrap_or(3), n.unwrap_or(3).saturating_sub(2)),
        };
        let [memory, fetched, sent, cut] = [Handle::POISON; 4];
        let about = about.clone();
        Some(Ring { about, depth, simple, n, ahead, memory, fetched, sent, cuts, cut })
    }

    /// Ranks and sizes fit, and no known step leads outside of the array. Gives the axes along
    /// which the last block is shorter.
    fn check_sizes<const N: usize>(
        &mut self,
        axes: &[Axis; N],
        about: &About,
        moves: &[Moves],
    ) -> Option<SmallVec<[Cut; 2]>> {
        let at = about.at;
        let mut cuts = SmallVec::new();
        let shape = self.ty(about.memory).map(|ty| Shape::from_slice(ty.shape()))?;
        let name = self.name_of(about.memory);
        let mut wrong = |message: String, help: String| {
            self.error_with_help(Code::TRACE_PIPELINE, message, help, at);
            None
        };
        if about.sizes.len() != shape.len() {
            return wrong(
                format!(
                    "the blocks have {} sizes, but `{name}` has rank {} {}",
                    about.sizes.len(),
                    shape.len(),
                    Sizes(&shape)
                ),
                "give a size per axis; `Squeezed` is a size of 1 that the body does not see"
                    .to_owned(),
            );
        }
        if moves.len() != shape.len() {
            return wrong(
                format!(
                    "the index of the blocks has {} entries, but `{name}` has rank {} {}",
                    moves.len(),
                    shape.len(),
                    Sizes(&shape)
                ),
                "give an entry per axis of the array: 0 where the block is the whole axis"
                    .to_owned(),
            );
        }
        for (axis, (moves, &len)) in moves.iter().zip(&shape).enumerate() {
            let size = about.sizes[axis].unwrap_or(1);
            if size == 0 || size > len {
                return wrong(
                    format!(
                        "a block has {size} elements along axis {axis} of `{name}`, which has {len}"
                    ),
                    format!("take a size from 1 to {len}"),
                );
            }
            let n_blocks = len.div_ceil(size) as i64;
            if let Some((grid_axis, extent)) = moves.walks(axes)
                && extent > n_blocks
            {
                return wrong(
                    format!(
                        "axis {grid_axis} of this pipeline has {extent} steps, but `{name}` has {n_blocks} blocks of {size} along axis {axis}, which has {len} elements"
                    ),
                    format!("make the extent {n_blocks}, or the blocks smaller"),
                );
            }
            if let Some(at) = moves.fixed.filter(|at| !(0..n_blocks).contains(at)) {
                return wrong(
                    format!(
                        "block {at} of {size} along axis {axis} of `{name}` lies outside of its {len} elements"
                    ),
                    format!("blocks are counted from 0 to {}", n_blocks - 1),
                );
            }
            let (last, rest) = (len / size, len % size);
            if rest != 0 && moves.fixed.is_none_or(|at| at == last as i64) {
                cuts.push(Cut { axis, last, rest });
            }
        }
        Some(cuts)
    }

    /// The steps that write a block are consecutive.
    fn check_revisit<const N: usize>(
        &mut self,
        axes: &[Axis; N],
        about: &About,
        moved: u64,
        depth: usize,
    ) -> Option<()> {
        let still = |axis: &usize| moved >> axis & 1 == 0 && !axes[*axis].is_single();
        let Some(outer) = (0..depth).find(still).filter(|_| about.way != Way::In) else {
            return Some(());
        };
        let name = self.name_of(about.memory);
        let inner = depth - 1;
        let diagnostic = Diagnostic::error(
            Code::TRACE_PIPELINE,
            format!("each block of `{name}` is left and visited again: it moves with axis {inner} of this pipeline, but not with axis {outer}, which is outside of it"),
        )
        .at(Span::from_location(about.at), "")
        .help(format!("a block is sent when it is left: let axis {outer} come after axis {inner} in the grid, or keep sums in scratch and write the block once"));
        self.report(diagnostic);
        None
    }

    /// Which axes of the grid move an entry.
    fn moves_of<const N: usize>(
        &self,
        entry: Option<Value>,
        axes: &[Axis; N],
        region: (BlockId, &[Handle]),
    ) -> Moves {
        let Some(entry) = entry else { return Moves::default() };
        let single = axes.iter().enumerate().filter(|(_, axis)| axis.is_single());
        let single = single.fold(0_u64, |all, (idx, _)| all | 1 << idx);
        let plain = region.1.iter().any(|arg| arg.value() == entry);
        let fixed = self.known(entry).and_then(|literal| literal.as_int());
        Moves { axes: self.reads(entry, region.0) & !single, plain, fixed }
    }

    /// Which arguments of a block a value is made from, as bits.
    fn reads(&self, value: Value, block: BlockId) -> u64 {
        if self.home_of(value) != block {
            // From outside, or of a region within, of which nothing is known.
            return if self.is_within(value, block) { u64::MAX } else { 0 };
        }
        let kernel = self.builder.kernel();
        match kernel.def(value) {
            ValueDef::Arg(_, idx) => 1 << idx,
            ValueDef::Result(op, _) => {
                let op = kernel.op(op);
                let start = if op.regions.is_empty() { 0 } else { u64::MAX };
                op.operands.iter().fold(start, |all, &operand| all | self.reads(operand, block))
            }
        }
    }

    /// The name of a parameter.
    fn name_of(&self, reference: Handle) -> String {
        let kernel = self.builder.kernel();
        let is_it = |idx: &usize| kernel.param_ref(*idx) == reference.value();
        match (0..kernel.params.len()).find(is_it) {
            Some(idx) => kernel.params[idx].name.clone(),
            None => "x".to_owned(),
        }
    }

    /// A name like this one that nothing in the kernel has.
    fn unused(&self, name: &str) -> String {
        let kernel = self.builder.kernel();
        let taken = |name: &str| {
            kernel.grid.iter().any(|axis| axis.name == name)
                || kernel.params.iter().any(|param| param.name == name)
                || kernel.scratch.iter().any(|scratch| scratch.name == name)
                || kernel.semaphores.iter().any(|array| array.name == name)
        };
        let mut found = name.to_owned();
        let mut n = 2;
        while taken(&found) {
            found = format!("{name}_{n}");
            n += 1;
        }
        found
    }
}

/// How an entry of the index of a block moves.
#[derive(Clone, Copy, Debug, Default)]
struct Moves {
    /// The axes of the grid that it is made from, as bits, without those of one step.
    axes: u64,
    /// Whether it is the index of an axis as it is.
    plain: bool,
    /// What it is, if it is always the same.
    fixed: Option<i64>,
}

impl Moves {
    /// The axis of the grid that walks over the blocks one by one, and its extent.
    fn walks<const N: usize>(&self, axes: &[Axis; N]) -> Option<(usize, i64)> {
        let axis = self.axes.trailing_zeros() as usize;
        let extent = axes.get(axis)?.known?;
        self.plain.then_some((axis, extent))
    }
}
