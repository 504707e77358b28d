//! Tracing a body again, to find what it changes unseen.
//!
//! A region is traced once. What it changes gets to the next turn of a loop, or past a branch, only
//! through the variables that the macro hands over. What a `Cell` or a `static` holds, or what a
//! reference points at that a pattern binds, is not among them: the kernel would keep the value of
//! the first turn, or of the arm that was traced last. So a body that was traced without a mistake
//! is run again, in other ways that a chip may take through it ([`Pass`]). Nothing is added to the
//! kernel then: each op must be the next one that is there, on the same operands, and gives the
//! values that are there.

use super::context::{At, Handle, RegionKind, Tracer};
use crate::diag::{Code, Diagnostic, Span};
use crate::ir::ops::ControlOp;
use crate::ir::{BlockId, Kernel, Op, Value};
use smallvec::SmallVec;
use std::collections::HashMap;

/// A way through a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// As it was traced: what differs then differs each time.
    Same,
    /// Each loop makes two turns, the loops in the second one a single turn.
    TwoTurns,
    /// As [`Pass::TwoTurns`], but no first arm of an `if` runs.
    NoFirstArm,
    /// As [`Pass::TwoTurns`], but no second arm of an `if` runs.
    NoSecondArm,
    /// No loop makes a turn, unless it is known to.
    NoTurn,
}

/// A part of the body that a pass may leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    FirstArm,
    SecondArm,
    Loop,
}

/// What a piece of control flow became, for passes to compare with.
#[derive(Debug)]
struct Construct {
    first: RegionKind,
    at: At,
    regions: SmallVec<[RegionLog; 2]>,
    /// The variables afterwards, then the value.
    results: Vec<Handle>,
    /// What follows it in the block around it.
    end: Place,
}

/// A region and the values at its borders.
#[derive(Debug)]
pub(crate) struct RegionLog {
    pub(crate) block: BlockId,
    /// What it starts with: a loop's index, then the variables.
    pub(crate) enter: Vec<Handle>,
    /// What it ends with: the variables, then the value.
    pub(crate) leave: Vec<Handle>,
}

/// A piece of control flow, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConstructId(usize);

/// How a piece of control flow is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It is being traced.
    First(ConstructId),
    /// A pass runs through it.
    Again(ConstructId),
    /// A pass has found a difference, or nothing is traced at all.
    Lost,
}

/// A place in a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    op: usize,
    construct: usize,
}

/// What was traced, beside the ops.
#[derive(Debug, Default)]
pub(crate) struct Log {
    constructs: Vec<Construct>,
    /// Per block, by its index: the control flow in it, in the order in which it begins.
    of_block: Vec<Vec<ConstructId>>,
    /// Arguments that loops dropped, and the values in their place.
    replaced: HashMap<Value, Value>,
}

impl Log {
    fn block(&mut self, block: BlockId) -> &mut Vec<ConstructId> {
        let idx = block.0 as usize;
        if self.of_block.len() <= idx {
            self.of_block.resize_with(idx + 1, Vec::new);
        }
        &mut self.of_block[idx]
    }
}

/// Where the body of the kernel begins.
#[derive(Debug, Default)]
pub(crate) struct Body {
    at: Option<At>,
    next: Place,
    /// Its ops, without the constants that failed passes leave behind.
    n_ops: usize,
    n_divisors: usize,
}

impl Body {
    /// The number of ops that the trace left in a block.
    fn n_ops_of(&self, kernel: &Kernel, block: BlockId) -> usize {
        if block == kernel.body { self.n_ops } else { kernel.block(block).ops.len() }
    }
}

/// A pass that is under way.
#[derive(Debug)]
pub(crate) struct Replay {
    pass: Pass,
    frames: Vec<Frame>,
    /// The loops that are in their second turn.
    second_turns: Vec<At>,
    /// What differs; the rest of the pass is idle then.
    difference: Option<Diagnostic>,
}

#[derive(Debug)]
struct Frame {
    block: BlockId,
    next: Place,
    n_divisors: usize,
}

impl Tracer {
    /// Ends the body of the kernel; gives the passes that it needs.
    pub(crate) fn end_body(&mut self) -> Vec<Pass> {
        let kernel = self.builder.kernel();
        self.body.n_ops = kernel.block(kernel.body).ops.len();
        let has = |kinds: &[RegionKind]| {
            self.log.constructs.iter().any(|construct| kinds.contains(&construct.first))
        };
        let loops = has(&[RegionKind::ForBody, RegionKind::WhileCondition]);
        let branches = has(&[RegionKind::Then, RegionKind::Logic]);
        let mut passes = Vec::new();
        if branches {
            passes.extend([Pass::NoFirstArm, Pass::NoSecondArm]);
        } else if loops {
            passes.push(Pass::TwoTurns);
        }
        passes.extend(loops.then_some(Pass::NoTurn));
        passes
    }

    /// Starts to trace the body of the kernel that stands here.
    pub(crate) fn begin_body(&mut self, at: At) {
        let block = self.builder.kernel().body;
        let op = self.builder.kernel().block(block).ops.len();
        let next = Place { op, construct: self.log.block(block).len() };
        self.body = Body { at: Some(at), next, n_ops: op, n_divisors: self.divisors.len() };
    }

    /// Starts a pass through the body.
    pub(crate) fn begin_pass(&mut self, pass: Pass) {
        self.divisors.truncate(self.body.n_divisors);
        let (block, next) = (self.builder.kernel().body, self.body.next);
        let frame = Frame { block, next, n_divisors: self.body.n_divisors };
        let (frames, second_turns) = (vec![frame], Vec::new());
        self.replay = Some(Replay { pass, frames, second_turns, difference: None });
    }

    /// Ends a pass; gives what differs.
    pub(crate) fn end_pass(&mut self) -> Option<Diagnostic> {
        if let Some(at) = self.body.at {
            self.check_done(at);
        }
        self.replay.take().and_then(|replay| replay.difference)
    }

    /// Whether a pass is under way.
    pub(crate) fn is_replaying(&self) -> bool {
        self.replay.is_some()
    }

    /// The block that ops go to, or that a pass is in.
    pub(crate) fn current_block(&self) -> BlockId {
        match self.replay.as_ref().and_then(|replay| replay.frames.last()) {
            Some(frame) => frame.block,
            None => self.builder.current_block(),
        }
    }

    /// The value that stands for another since a loop dropped its argument.
    pub(crate) fn standing_for(&self, mut value: Value) -> Value {
        while let Some(&other) = self.log.replaced.get(&value) {
            value = other;
        }
        value
    }

    /// Drops an argument of a loop, as [`Builder::drop_block_arg`](crate::ir::Builder).
    pub(crate) fn drop_arg(
        &mut self,
        block: BlockId,
        arg: usize,
        yield_skip: Option<usize>,
        replacement: Value,
    ) {
        let old = self.builder.kernel().block(block).args[arg];
        self.log.replaced.insert(old, replacement);
        self.builder.drop_block_arg(block, arg, yield_skip, replacement);
    }

    /// Begins a piece of control flow, whose first region is of this kind.
    pub(crate) fn begin(&mut self, first: RegionKind, at: At) -> Stage {
        let Some(replay) = &mut self.replay else {
            let id = ConstructId(self.log.constructs.len());
            let (regions, results, end) = (SmallVec::new(), Vec::new(), Place::default());
            self.log.constructs.push(Construct { first, at, regions, results, end });
            let block = self.builder.current_block();
            self.log.block(block).push(id);
            return Stage::First(id);
        };
        if replay.difference.is_some() {
            return Stage::Lost;
        }
        let Some(frame) = replay.frames.last_mut() else { return Stage::Lost };
        let id = self.log.block(frame.block).get(frame.next.construct).copied();
        let known = id.filter(|id| {
            let construct = &self.log.constructs[id.0];
            construct.first == first && construct.at == at
        });
        frame.next.construct += 1;
        match known {
            Some(id) => Stage::Again(id),
            None => {
                self.differ(at, None, None);
                Stage::Lost
            }
        }
    }

    /// Records what a piece of control flow became.
    pub(crate) fn done(
        &mut self,
        id: ConstructId,
        regions: impl IntoIterator<Item = RegionLog>,
        results: Vec<Handle>,
    ) {
        let block = self.builder.current_block();
        let op = self.builder.kernel().block(block).ops.len();
        let end = Place { op, construct: self.log.block(block).len() };
        let construct = &mut self.log.constructs[id.0];
        (construct.regions, construct.results) = (regions.into_iter().collect(), results);
        construct.end = end;
    }

    /// Whether the pass leaves a part out.
    pub(crate) fn leaves_out(&self, part: Part) -> bool {
        let pass = self.replay.as_ref().map(|replay| replay.pass);
        match part {
            Part::FirstArm => pass == Some(Pass::NoFirstArm),
            Part::SecondArm => pass == Some(Pass::NoSecondArm),
            Part::Loop => pass == Some(Pass::NoTurn),
        }
    }

    /// Whether the first region has a block of its own: it was not inlined.
    pub(crate) fn has_region(&self, id: ConstructId) -> bool {
        !self.log.constructs[id.0].regions.is_empty()
    }

    /// Enters a region again, if it still has a block of its own; gives what it starts with.
    pub(crate) fn enter_again(&mut self, id: ConstructId, region: usize) -> Vec<Handle> {
        let n_divisors = self.divisors.len();
        let Some(replay) = &mut self.replay else { return Vec::new() };
        let Some(region) = self.log.constructs[id.0].regions.get(region) else {
            return Vec::new();
        };
        if replay.difference.is_none() {
            replay.frames.push(Frame { block: region.block, next: Place::default(), n_divisors });
        }
        region.enter.clone()
    }

    /// Leaves a region again with these values, which must be those of the first time.
    pub(crate) fn leave_again(&mut self, id: ConstructId, region: usize, leave: &[Handle]) {
        let at = self.log.constructs[id.0].at;
        self.check_leave(id, region, 0, leave);
        if self.log.constructs[id.0].regions.get(region).is_none() {
            return;
        }
        self.check_done(at);
        let Some(replay) = &mut self.replay else { return };
        if replay.difference.is_none()
            && let Some(frame) = replay.frames.pop()
        {
            self.divisors.truncate(frame.n_divisors);
        }
    }

    /// Checks what a region ends with, from value number `first` on.
    pub(crate) fn check_leave(
        &mut self,
        id: ConstructId,
        region: usize,
        first: usize,
        found: &[Handle],
    ) {
        let construct = &self.log.constructs[id.0];
        let Some(log) = construct.regions.get(region) else { return };
        let at = construct.at;
        let expected = log.leave.get(first..).unwrap_or_default();
        if expected.len() < found.len() {
            return self.differ(at, None, None);
        }
        let same =
            |a: Handle, b: Handle| self.standing_for(a.value()) == self.standing_for(b.value());
        let mut pairs = expected.iter().copied().zip(found.iter().copied());
        if let Some((expected, found)) = pairs.find(|&(a, b)| !same(a, b)) {
            self.differ(at, Some(expected.value()), Some(found.value()));
        }
    }

    /// Ends a piece of control flow again; gives the variables afterwards, then its value.
    pub(crate) fn end_again(&mut self, id: ConstructId) -> Vec<Handle> {
        let construct = &self.log.constructs[id.0];
        if let Some(replay) = &mut self.replay
            && replay.difference.is_none()
            && let Some(frame) = replay.frames.last_mut()
        {
            frame.next = construct.end;
        }
        construct.results.clone()
    }

    /// Whether a loop makes another turn after this one, which is then begun.
    pub(crate) fn next_turn(&mut self, turn: usize, at: At) -> bool {
        let Some(replay) = &mut self.replay else { return false };
        if turn == 2 {
            replay.second_turns.pop();
            return false;
        }
        let twice = match replay.pass {
            Pass::TwoTurns | Pass::NoFirstArm | Pass::NoSecondArm => true,
            Pass::Same | Pass::NoTurn => false,
        };
        let goes_on = twice && replay.difference.is_none() && replay.second_turns.is_empty();
        if goes_on {
            replay.second_turns.push(at);
        }
        goes_on
    }

    /// An op in a pass: the results of the one that is there. `None` if it differs.
    pub(crate) fn push_again(
        &mut self,
        op: &Op,
        operands: &[Value],
        at: At,
    ) -> Option<SmallVec<[Value; 2]>> {
        let replay = self.replay.as_ref()?;
        if replay.difference.is_some() {
            return None;
        }
        let frame = replay.frames.last()?;
        let kernel = self.builder.kernel();
        let n_ops = self.body.n_ops_of(kernel, frame.block);
        let ops = &kernel.block(frame.block).ops[..n_ops];
        let there = ops.get(frame.next.op).map(|&id| kernel.op(id));
        let Some(there) = there.filter(|there| there.op == *op) else {
            self.differ(at, None, None);
            return None;
        };
        // As when it was traced, an argument that a loop dropped since stands for itself until here.
        let mut pairs = there.operands.iter().zip(operands);
        if let Some((&expected, &found)) = pairs.find(|&(&a, &b)| a != self.standing_for(b)) {
            self.differ(at, Some(expected), Some(found));
            return None;
        }
        let results = there.results.clone();
        self.replay.as_mut()?.frames.last_mut()?.next.op += 1;
        Some(results)
    }

    /// Checks that all of a block has been met again.
    fn check_done(&mut self, at: At) {
        let Some(frame) = self.replay.as_ref().and_then(|replay| replay.frames.last()) else {
            return;
        };
        let kernel = self.builder.kernel();
        let n_ops = self.body.n_ops_of(kernel, frame.block);
        let ops = &kernel.block(frame.block).ops[..n_ops];
        let rest = ops.get(frame.next.op..).unwrap_or_default();
        let is_yield = |&id: &crate::ir::OpId| kernel.op(id).op == Op::Control(ControlOp::Yield);
        if !rest.iter().all(is_yield) {
            self.differ(at, None, None);
        }
    }

    /// Notes the first difference: an op that takes another value, or is another op.
    pub(crate) fn differ(&mut self, at: At, expected: Option<Value>, found: Option<Value>) {
        if self.replay.as_ref().is_none_or(|replay| replay.difference.is_some()) {
            return;
        }
        let (expected, found) =
            (expected.and_then(|v| self.span_of(v)), found.and_then(|v| self.span_of(v)));
        let Some(replay) = &mut self.replay else { return };
        let is_value = expected.is_some() || found.is_some();
        let when = match (replay.second_turns.last(), replay.pass) {
            (Some(at), _) => format!("in the next turn of the loop at line {}", at.line()),
            (None, Pass::Same | Pass::TwoTurns) => "when the body is traced again".to_owned(),
            (None, Pass::NoFirstArm) => "if a first arm of an `if` does not run".to_owned(),
            (None, Pass::NoSecondArm) => "if a second arm of an `if` does not run".to_owned(),
            (None, Pass::NoTurn) => "if a loop makes no turn".to_owned(),
        };
        let what = if is_value { "another value is used here" } else { "the ops are others here" };
        let diagnostic = Diagnostic::error(
            Code::TRACE_HIDDEN_STATE,
            format!("{when}, {what}: something changes that the kernel does not see"),
        )
        .at(Span::from_location(at), if is_value { "used here" } else { "" })
        .at_opt(expected, "the kernel would always use this value")
        .at_opt(found, format!("the value {when}"));
        let help = match replay.pass {
            Pass::Same => {
                "a body must trace the same each time: let it not depend on random numbers, the \
                 order of a `HashMap`, or what an earlier trace left behind"
            }
            _ => {
                "keep it in a `let mut` variable, or one bound by `let x = &mut ..`, that the loop \
                 or `if` names; what a `Cell`, a `static` or a reference from a pattern holds is \
                 not carried. Or run the construct while tracing: `#[unroll] for`, \
                 `if comptime!(..)`"
            }
        };
        replay.difference = Some(diagnostic.help(help));
    }

    /// Moves the record of a region that is inlined to the block around it.
    pub(crate) fn inline_log(&mut self, block: BlockId, parent: BlockId) {
        let base = Place {
            op: self.builder.kernel().block(parent).ops.len(),
            construct: self.log.block(parent).len(),
        };
        let moved = std::mem::take(self.log.block(block));
        for id in &moved {
            let end = &mut self.log.constructs[id.0].end;
            (end.op, end.construct) = (end.op + base.op, end.construct + base.construct);
        }
        self.log.block(parent).extend(moved);
    }
}
