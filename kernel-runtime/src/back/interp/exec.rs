//! The executor: runs the grid steps of one segment after the other.

use super::agents::{Layout, Link, World};
use super::generator::Generator;
use super::input;
use super::memory::Memory;
use super::ops::MatrixUnits;
use super::plan::{Code, Inst, MemoryIdx, Plan, Use};
use super::pool::Pool;
use super::report::{
    Cause, Origin, Origins, Report, Reports, cause_text, explain_origin, origin_code, step_text,
};
use super::stamps::Touched;
use super::tile::{Data, Held, Number, PoisonId, Scalar, Tile};
use super::window::{Placement, WriteBack, is_reachable};
use super::{Options, Print, Product, Random};
use crate::diag::{Code as DiagCode, Diagnostic, Diagnostics};
use crate::ir::{Array, GridAxis, Kernel, LocId, Op, ParamKind, Value};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// What every executor of a run shares.
pub(super) struct Run<'a> {
    /// The kernel to run.
    pub(super) plan: Plan<'a>,
    /// Per parameter: its array, if the call gives one.
    pub(super) arrays: Vec<Option<&'a Array>>,
    /// Per parameter: the whole array as elements, made when first asked for.
    pub(super) whole: Vec<OnceLock<Data>>,
    /// Steps per grid axis.
    pub(super) extents: Vec<i64>,
    /// The number of axes up to the last whose steps may run at the same time: each of their steps is a segment.
    pub(super) n_outer: usize,
    /// What the caller asked for.
    pub(super) options: &'a Options,
}

impl<'a> Run<'a> {
    /// A run with these inputs.
    ///
    /// # Errors
    /// If they do not fit.
    pub(super) fn new(
        kernel: &'a Kernel,
        inputs: &'a [Array],
        options: &'a Options,
    ) -> Result<Run<'a>, Diagnostics> {
        let (extents, arrays) = input::bind(kernel, inputs)?;
        let is_concurrent = |axis: &GridAxis| axis.semantics.is_parallel();
        let n_outer = kernel.grid.iter().rposition(is_concurrent).map_or(0, |last| last + 1);
        let whole = kernel.params.iter().map(|_| OnceLock::new()).collect();
        Ok(Run { plan: Plan::new(kernel), arrays, whole, extents, n_outer, options })
    }

    /// The kernel.
    pub(super) fn kernel(&self) -> &'a Kernel {
        self.plan.kernel
    }

    /// The steps of the axes outside the segments.
    pub(super) fn n_segments(&self) -> u64 {
        self.extents[..self.n_outer].iter().map(|&n| n as u64).product()
    }

    /// The steps within a segment.
    pub(super) fn n_inner(&self) -> u64 {
        self.extents[self.n_outer..].iter().map(|&n| n as u64).product()
    }

    /// The grid index of a step from its lexicographic number.
    pub(super) fn step(&self, mut number: u64) -> SmallVec<[i64; 4]> {
        let mut step = SmallVec::from_elem(0, self.extents.len());
        for axis in (0..self.extents.len()).rev() {
            let extent = self.extents[axis] as u64;
            step[axis] = (number % extent) as i64;
            number /= extent;
        }
        step
    }
}

/// The step was given up; the report is made already.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop;

/// What a segment gave.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Its lexicographic number.
    pub(super) segment: u64,
    /// Its place in the order in which segments are run.
    pub(super) position: usize,
    /// Its problems.
    pub(super) reports: Reports,
    /// What it printed.
    pub(super) prints: Vec<Print>,
    /// The matrix products that it ran, and how often.
    pub(super) products: BTreeMap<Product, u64>,
    /// The output blocks it wrote back.
    pub(super) written: Vec<WriteBack>,
    /// Whether a step was given up.
    pub(super) stopped: bool,
    /// Whether that was for want of fuel.
    pub(super) out_of_fuel: bool,
}

/// Runs segments on one thread; its buffers live on from one to the next.
pub(super) struct Executor<'r> {
    pub(super) run: &'r Run<'r>,
    pub(super) held: Vec<Held>,
    pub(super) pool: Pool,
    pub(super) memories: Vec<Memory>,
    pub(super) placements: Vec<Placement>,
    pub(super) origins: Origins,
    /// What has been touched of outputs that all steps share.
    pub(super) touched: Touched,
    /// What all agents share: this one has it while it runs.
    pub(super) world: Box<World>,
    /// Which agents there are.
    pub(super) layout: Arc<Layout>,
    /// The number of this agent.
    pub(super) me: usize,
    /// The way to the others, if there are any.
    pub(super) link: Option<Link>,
    pub(super) step: SmallVec<[i64; 4]>,
    pub(super) step_number: u64,
    pub(super) fuel: u64,
    /// The loops around the place, outermost first, with the turns that each has begun.
    pub(super) loops: Vec<(LocId, u64)>,
    /// What the index map at hand has read from tables; `None` while the body runs.
    pub(super) table_reads: Option<Vec<TableRead>>,
    /// The core's random number generator, once it is seeded.
    pub(super) generator: Option<Generator>,
    /// The core's matrix units, as far as the kernel controls them.
    pub(super) units: MatrixUnits,
    pub(super) found: Found,
}

/// An entry of a table that an index map has read.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableRead {
    /// Which table.
    pub(super) memory: MemoryIdx,
    /// Which element of it, counted row by row.
    pub(super) element: usize,
    /// What it is.
    pub(super) value: Number,
}

impl Drop for Executor<'_> {
    fn drop(&mut self) {
        let mut pool = std::mem::take(&mut self.pool);
        for held in self.held.drain(..) {
            if let Held::Tile(tile) = held {
                pool.give(tile.data);
            }
        }
        for memory in self.memories.drain(..) {
            pool.give(memory.data);
        }
        pool.into_reserve();
    }
}

impl<'r> Executor<'r> {
    /// The only executor of its steps, with nothing loaded.
    pub(super) fn new(run: &'r Run<'r>) -> Executor<'r> {
        let memories = Memory::all_of(&run.plan);
        let layout = Arc::new(Layout::single(memories.len()));
        let world = World::new(layout.clone(), &run.plan, run.options.seed);
        Executor::with(run, memories, Box::new(world), layout)
    }

    /// The executor of one agent of several, which waits for the world.
    pub(super) fn for_agent(
        run: &'r Run<'r>,
        layout: Arc<Layout>,
        me: usize,
        link: Link,
    ) -> Executor<'r> {
        let mut executor = Executor::with(run, Memory::all_of(&run.plan), Box::default(), layout);
        (executor.me, executor.link) = (me, Some(link));
        executor
    }

    fn with(
        run: &'r Run<'r>,
        memories: Vec<Memory>,
        world: Box<World>,
        layout: Arc<Layout>,
    ) -> Executor<'r> {
        let kernel = run.kernel();
        let mut held = Vec::new();
        held.resize_with(kernel.n_values(), Held::default);
        Executor {
            run,
            held,
            pool: Pool::from_reserve(),
            memories,
            placements: kernel.params.iter().map(|_| Placement::default()).collect(),
            origins: Origins::default(),
            touched: Touched::new(run),
            world,
            layout,
            me: 0,
            link: None,
            step: SmallVec::new(),
            step_number: 0,
            fuel: 0,
            loops: Vec::new(),
            table_reads: None,
            generator: None,
            units: MatrixUnits::default(),
            found: Found::default(),
        }
    }

    /// Runs a segment.
    pub(super) fn segment(&mut self, segment: u64, position: usize) -> Found {
        self.found = Found { segment, position, ..Found::default() };
        self.begin_segment(segment);
        self.generator = None;
        self.units = MatrixUnits::default();
        let n_params = self.run.kernel().params.len();
        for memory in n_params..self.memories.len() {
            if self.is_alone() || !self.layout.is_tracked(memory) {
                self.reset_memory(memory);
            }
        }
        for (placement, param) in self.placements.iter_mut().zip(&self.run.kernel().params) {
            if param.kind.is_output() && is_reachable(param) {
                *placement = Placement::default();
            }
        }
        let n_inner = self.run.n_inner();
        let steps = (0..n_inner).try_for_each(|inner| self.step(segment * n_inner + inner));
        let result = steps.and_then(|()| self.land_all()).and_then(|()| self.empty_units());
        self.forget_flights();
        match result {
            Ok(()) => self.write_back_all(),
            Err(Stop) => {
                self.found.stopped = true;
                for held in &mut self.held {
                    *held = Held::Nothing;
                }
            }
        }
        std::mem::take(&mut self.found)
    }

    /// Begins a segment: what the seed decides in it does not depend on those before.
    fn begin_segment(&mut self, segment: u64) {
        self.touched.segment = segment;
        if self.is_alone() {
            let seed = self.run.options.seed;
            self.world.random = Random(seed.rotate_left(32) ^ segment.wrapping_add(1));
        }
    }

    fn step(&mut self, number: u64) -> Result<(), Stop> {
        self.step = self.run.step(number);
        self.step_number = number;
        // What ghosts do comes to an end.
        if !self.is_ghost() {
            self.fuel = self.run.options.fuel;
        }
        self.loops.clear();
        self.table_reads = None;
        self.place_windows()?;
        let run = self.run;
        let body = &run.plan.body;
        for (axis, &idx) in self.step.iter().enumerate() {
            self.held[body.args[axis].0 as usize] = Held::Scalar(Scalar::int(idx));
        }
        self.run_code(body)
    }

    /// Makes memory undefined.
    pub(super) fn reset_memory(&mut self, memory: usize) {
        let id = self.origins.id(Origin { cause: Cause::NeverWritten, memory, load: None });
        self.memories[memory].reset(id, &mut self.pool);
    }

    /// What an agent and its step are called.
    pub(super) fn step_text(&self) -> String {
        let step = step_text(self.run.kernel(), &self.step);
        match self.is_alone() {
            true => step,
            false => format!("{}, {step}", self.layout.name(self.me)),
        }
    }

    /// Runs a block; what it yields is then in place.
    pub(super) fn run_code(&mut self, code: &Code<'_>) -> Result<(), Stop> {
        for &arg in &code.unused_args {
            self.drop_value(arg);
        }
        for inst in &code.insts {
            self.run_inst(inst)?;
            for &value in &inst.drops {
                self.drop_value(value);
            }
        }
        Ok(())
    }

    fn run_inst(&mut self, inst: &Inst<'_>) -> Result<(), Stop> {
        match inst.op {
            Op::Elementwise(op) => self.elementwise(inst, *op),
            Op::Shape(op) => self.shape(inst, op),
            Op::Convert(op) => self.convert(inst, *op),
            Op::Random(op) => self.random(inst, op),
            Op::Reduce(op) => self.reduce(inst, op),
            Op::Dot(op) => self.dot(inst, op),
            Op::Mxu(op) => self.mxu(inst, op),
            Op::Memory(op) => self.memory(inst, op),
            Op::Dma(op) => self.dma(inst, op),
            Op::Sync(op) => self.sync(inst, op),
            Op::Sparse(op) => self.sparse(inst, op),
            Op::Control(op) => self.control(inst, *op),
            Op::Debug(op) => self.debug(inst, op),
        }
    }

    /// Reads an operand; its place is empty afterwards if this is its last use.
    pub(super) fn take(&mut self, used: Use) -> Held {
        let held = &mut self.held[used.value.0 as usize];
        if used.last { std::mem::take(held) } else { held.clone() }
    }

    /// Reads operand `idx`, a tile.
    pub(super) fn tile(&mut self, inst: &Inst<'_>, idx: usize) -> Result<Tile, Stop> {
        match inst.uses.get(idx).map(|&used| self.take(used)) {
            Some(Held::Tile(tile)) => Ok(tile),
            _ => Err(self.malformed(inst.loc)),
        }
    }

    /// Reads operand `idx`, a scalar.
    pub(super) fn scalar(&mut self, inst: &Inst<'_>, idx: usize) -> Result<Scalar, Stop> {
        match inst.uses.get(idx).map(|&used| self.take(used)) {
            Some(Held::Scalar(scalar)) => Ok(scalar),
            _ => Err(self.malformed(inst.loc)),
        }
    }

    /// Sets the only result.
    pub(super) fn set(&mut self, inst: &Inst<'_>, held: Held) {
        if let Some(&value) = inst.results.first() {
            self.held[value.0 as usize] = held;
        }
    }

    /// Sets the only result to a tile, after the optional check for non-finite elements.
    pub(super) fn set_tile(
        &mut self,
        inst: &Inst<'_>,
        data: Data,
        poison: Option<super::tile::Poison>,
    ) {
        self.set(inst, Held::Tile(Tile { data, poison }));
    }

    /// Forgets a value and keeps its buffer for others.
    pub(super) fn drop_value(&mut self, value: Value) {
        if let Held::Tile(tile) = std::mem::take(&mut self.held[value.0 as usize]) {
            self.pool.give(tile.data);
        }
    }

    /// Reports a problem of the current step.
    pub(super) fn report(&mut self, loc: LocId, diagnostic: Diagnostic) -> Stop {
        // What goes wrong after a deadlock follows from it.
        if self.is_ghost() {
            return Stop;
        }
        let diagnostic = diagnostic.note(self.step_text());
        self.found.reports.add(Report { diagnostic, loc, step: self.step_number, n_steps: 1 });
        Stop
    }

    fn malformed(&mut self, loc: LocId) -> Stop {
        let span = self.run.kernel().span(loc);
        let diagnostic = Diagnostic::error(
            DiagCode::IR_TYPE,
            "an operand is not there or has another kind than its op takes: the kernel is not well formed",
        );
        self.report(loc, diagnostic.at_opt(span, ""))
    }

    /// The scalar, which must be defined: `what` it is for goes into the message.
    pub(super) fn defined(
        &mut self,
        scalar: Scalar,
        what: &str,
        loc: LocId,
    ) -> Result<Number, Stop> {
        match self.origins.get(scalar.poison) {
            None => Ok(scalar.value),
            Some(origin) => Err(self.report_undefined(origin, what, loc)),
        }
    }

    /// Reports that elements of this origin decide what must be defined.
    pub(super) fn report_undefined(&mut self, origin: Origin, what: &str, loc: LocId) -> Stop {
        let kernel = self.run.kernel();
        let text = format!("{what} depends on {}", cause_text(origin, kernel));
        let diagnostic =
            Diagnostic::error(origin_code(origin), text).at_opt(kernel.span(loc), "used here");
        self.report(loc, explain_origin(diagnostic, kernel, origin))
    }

    /// The scalar as an index or bound: defined, and not wrapped around on the way.
    pub(super) fn index(&mut self, scalar: Scalar, what: &str, loc: LocId) -> Result<i64, Stop> {
        let value = match self.defined(scalar, what, loc)? {
            Number::Int(value) => value,
            Number::Float(_) => return Err(self.malformed(loc)),
        };
        let Some(overflow) = scalar.overflow else { return Ok(value) };
        let kernel = self.run.kernel();
        let diagnostic = Diagnostic::error(
            DiagCode::INTERP_INDEX_OVERFLOW,
            format!(
                "{what} comes from {}, which does not fit 32 bits and wrapped to {}",
                overflow.exact, overflow.exact as i32
            ),
        )
        .at_opt(kernel.span(overflow.loc), "wraps around here")
        .at_opt(kernel.span(loc), "used here")
        .help("index arithmetic is 32 bits wide: divide before multiplying, or split the array");
        Err(self.report(overflow.loc, diagnostic))
    }

    /// Pays for a turn of the innermost loop.
    pub(super) fn burn(&mut self, fuel: u64) -> Result<(), Stop> {
        if let Some((_, n_turns)) = self.loops.last_mut() {
            *n_turns += 1;
        }
        // A turn of an empty body costs as well.
        match self.fuel.checked_sub(fuel.saturating_add(2)) {
            Some(left) => {
                self.fuel = left;
                Ok(())
            }
            None => Err(self.report_out_of_fuel()),
        }
    }

    fn report_out_of_fuel(&mut self) -> Stop {
        let fuel = self.run.options.fuel;
        let kernel = self.run.kernel();
        // Of loops within each other the one that turned most often is at fault.
        let most = self.loops.iter().copied().max_by_key(|&(_, n_turns)| n_turns);
        let (loc, n_turns) = most.unwrap_or((LocId::UNKNOWN, 0));
        let mut diagnostic = Diagnostic::error(
            DiagCode::INTERP_OUT_OF_FUEL,
            format!("this loop is still running after {n_turns} turns: loops may do {fuel} units of work in one grid step"),
        )
        .at_opt(kernel.span(loc), "this loop");
        for &(other, n_turns) in self.loops.iter().filter(|&&(other, _)| other != loc) {
            diagnostic =
                diagnostic.at_opt(kernel.span(other), format!("with {n_turns} turns of this one"));
        }
        let diagnostic = diagnostic.help(
            "check that its condition becomes false; if it only is long, raise `Options::fuel`",
        );
        self.found.out_of_fuel = true;
        self.report(loc, diagnostic)
    }

    /// Whether a parameter keeps its block from one segment to the next.
    pub(super) fn is_read_only(kind: ParamKind) -> bool {
        matches!(kind, ParamKind::In | ParamKind::Prefetch)
    }

    /// The id of an origin in memory.
    pub(super) fn origin_id(
        &mut self,
        cause: Cause,
        memory: usize,
        load: Option<LocId>,
    ) -> PoisonId {
        self.origins.id(Origin { cause, memory, load })
    }
}
