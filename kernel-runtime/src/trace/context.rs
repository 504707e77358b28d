//! The tracing context: the kernel being built on this thread, and what went wrong so far.
//!
//! A mistake never stops tracing. It becomes a diagnostic, and the value that it should have
//! given becomes *poison*: ops on poison give poison and say nothing more.

use super::replay::{Body, Log, Replay};
use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use crate::ir::builder::Builder;
use crate::ir::ops::{ControlOp, Elementwise, Literal, MAX_MULTIPLE};
use crate::ir::{BlockId, DType, Extent, Kernel, Loc, LocId, Op, Shape, Type, Value, ValueDef};
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::sync::Arc;

/// Where the user wrote something.
pub(crate) type At = &'static Location<'static>;

/// An untyped value of a trace. `Copy`, so that expressions can use it as often as they like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    value: u32,
    session: u32,
}

impl Handle {
    /// What an op gives that could not be made.
    pub(crate) const POISON: Handle = Handle { value: u32::MAX, session: 0 };

    /// The value, in its own trace.
    pub(crate) fn value(self) -> Value {
        Value(self.value)
    }

    pub(crate) fn is_poison(self) -> bool {
        self.value == u32::MAX
    }
}

/// What a region is, for messages about values that leave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegionKind {
    Body,
    IndexMap,
    Then,
    Else,
    Logic,
    ForBody,
    WhileCondition,
    WhileBody,
    Pipeline,
    Scope,
}

impl RegionKind {
    fn describe(self) -> &'static str {
        match self {
            RegionKind::Body => "the kernel's body",
            RegionKind::IndexMap => "the index expressions of a block",
            RegionKind::Then => "the first arm of the `if`",
            RegionKind::Else => "the second arm of the `if`",
            RegionKind::Logic => "the right side of `&&` or `||`",
            RegionKind::ForBody => "the `for` body",
            RegionKind::WhileCondition => "the `while` condition",
            RegionKind::WhileBody => "the `while` body",
            RegionKind::Pipeline => "the block indices of a pipeline",
            RegionKind::Scope => "the `run_scoped`",
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Region {
    kind: RegionKind,
    parent: BlockId,
    at: Option<At>,
    /// How many promises were known before it: those made in it end with it.
    n_divisors: usize,
}

/// The state of one trace.
#[derive(Debug)]
pub(crate) struct Tracer {
    pub(crate) builder: Builder,
    diagnostics: Diagnostics,
    session: u32,
    /// The block of each value, by its index.
    value_blocks: Vec<BlockId>,
    /// What each block is, by its index.
    regions: Vec<Region>,
    /// Divisors that are promised or known of values no op of which shows them.
    pub(super) divisors: Vec<(Value, usize)>,
    /// What control flow became, and the pass that compares with it.
    pub(super) log: Log,
    pub(super) replay: Option<Replay>,
    pub(super) body: Body,
    /// Parts of memory that copies name, by the numbers that their handles carry.
    pub(super) places: Vec<super::place::Place>,
    /// Whether host code was told the shape of poison: what it makes of it is not its mistake.
    guesses: bool,
    /// The file of the last location, which the next one nearly always shares.
    file: Option<(&'static str, Arc<str>)>,
}

thread_local! {
    static CURRENT: RefCell<Option<Tracer>> = const { RefCell::new(None) };
    static SESSIONS: Cell<u32> = const { Cell::new(0) };
}

/// Runs `f` on the thread's tracer; `None` outside of a kernel.
pub(crate) fn with<R>(f: impl FnOnce(&mut Tracer) -> R) -> Option<R> {
    CURRENT.with(|current| current.borrow_mut().as_mut().map(f))
}

/// Runs `f` for the value it makes; poison outside of a kernel.
pub(crate) fn make(f: impl FnOnce(&mut Tracer) -> Handle) -> Handle {
    with(f).unwrap_or(Handle::POISON)
}

/// A trace that is under way on this thread. Dropping it puts back the one it interrupted.
#[derive(Debug)]
pub(crate) struct Session {
    outer: Option<Tracer>,
    finished: bool,
}

impl Session {
    /// Starts to trace a kernel.
    pub(crate) fn begin(name: &str) -> Session {
        let session = SESSIONS.with(|sessions| {
            sessions.set(sessions.get().wrapping_add(1).max(1));
            sessions.get()
        });
        let builder = Builder::new(name);
        let body = builder.current_block();
        let tracer = Tracer {
            builder,
            diagnostics: Diagnostics::default(),
            session,
            value_blocks: Vec::new(),
            regions: vec![Region { kind: RegionKind::Body, parent: body, at: None, n_divisors: 0 }],
            divisors: Vec::new(),
            log: Log::default(),
            replay: None,
            body: Body::default(),
            places: Vec::new(),
            guesses: false,
            file: None,
        };
        let outer = CURRENT.with(|current| current.borrow_mut().replace(tracer));
        Session { outer, finished: false }
    }

    /// Ends the trace: the kernel, or everything that went wrong.
    pub(crate) fn finish(mut self) -> Result<Kernel, Diagnostics> {
        self.finished = true;
        let tracer = CURRENT.with(|current| current.replace(self.outer.take()));
        let Some(tracer) = tracer else { return Err(Diagnostics::default()) };
        if tracer.diagnostics.has_errors() {
            return Err(tracer.diagnostics);
        }
        Ok(tracer.builder.finish())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.finished {
            CURRENT.with(|current| current.replace(self.outer.take()));
        }
    }
}

impl Tracer {
    /// Adds a diagnostic, unless it follows from one that is there.
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        let of_sizes = [
            Code::IR_SHAPE,
            Code::IR_INDEX,
            Code::TRACE_NUMBER,
            Code::TRACE_GRID,
            Code::TRACE_CARRIED_TYPE,
        ];
        // A pass looks for differences alone: what it meets has been told the first time.
        if self.is_replaying() || self.guesses && of_sizes.contains(&diagnostic.code) {
            return;
        }
        if !self.diagnostics.0.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Adds an error at a place.
    pub(crate) fn error(&mut self, code: Code, message: impl Into<String>, at: At) {
        self.report(Diagnostic::error(code, message).at(Span::from_location(at), ""));
    }

    /// Adds an error with its cure at a place.
    pub(crate) fn error_with_help(
        &mut self,
        code: Code,
        message: impl Into<String>,
        help: impl Into<String>,
        at: At,
    ) {
        self.report(Diagnostic::error(code, message).at(Span::from_location(at), "").help(help));
    }

    /// Whether an error has been reported.
    pub(crate) fn has_errors(&self) -> bool {
        self.diagnostics.has_errors()
    }

    /// The location of an op.
    pub(crate) fn loc(&mut self, at: At) -> LocId {
        let file = match &self.file {
            // Paths of one file come from one string, so comparing them is cheap.
            Some((known, file)) if *known == at.file() => file.clone(),
            _ => {
                let file: Arc<str> = Arc::from(at.file());
                self.file = Some((at.file(), file.clone()));
                file
            }
        };
        self.builder.loc(Loc { file, line: at.line(), column: at.column(), inlined_at: None })
    }

    /// The handle of a value made just now.
    pub(crate) fn handle(&mut self, value: Value) -> Handle {
        self.note_values();
        Handle { value: value.0, session: self.session }
    }

    /// Remembers the block of values that have been made since.
    fn note_values(&mut self) {
        let block = self.builder.current_block();
        self.value_blocks.resize(self.builder.kernel().n_values(), block);
    }

    /// Adds something to the arguments of the body, whatever region is open.
    pub(crate) fn declare_late(&mut self, declare: impl FnOnce(&mut Tracer) -> Handle) -> Handle {
        self.note_values();
        let first = self.value_blocks.len();
        let handle = declare(self);
        let body = self.builder.kernel().body;
        self.value_blocks[first..].fill(body);
        handle
    }

    /// The value of a handle if it may be used here; otherwise says why not.
    pub(crate) fn operand(&mut self, handle: Handle, at: At) -> Option<Value> {
        self.operand_from(handle, self.current_block(), at)
    }

    /// The value of a handle if it may be used at the end of `block`.
    pub(crate) fn operand_from(&mut self, handle: Handle, block: BlockId, at: At) -> Option<Value> {
        if handle.is_poison() {
            if handle.session == 0 && !self.has_errors() {
                // Poison without an error comes from an op outside of any kernel.
                self.foreign(at);
            }
            return None;
        }
        if handle.session != self.session {
            self.foreign(at);
            return None;
        }
        let value = handle.value();
        let home = self.value_blocks[value.0 as usize];
        let mut block = block;
        while block != home {
            let region = self.regions[block.0 as usize];
            if region.kind == RegionKind::Body {
                self.escape(value, home, at);
                self.differ(at, None, Some(value));
                return None;
            }
            block = region.parent;
        }
        Some(value)
    }

    fn foreign(&mut self, at: At) {
        self.error_with_help(
            Code::TRACE_FOREIGN,
            "this value was not made in the kernel that is being traced",
            "tiles and scalars live only while their kernel is traced: make them in its body",
            at,
        );
    }

    fn escape(&mut self, value: Value, home: BlockId, at: At) {
        let region = self.regions[home.0 as usize];
        let made_at = self.span_of(value);
        let place = |at: At| format!(" at line {}", at.line());
        let mut diagnostic = Diagnostic::error(
            Code::TRACE_ESCAPE,
            format!(
                "this value was made inside {}{} and does not exist outside of it",
                region.kind.describe(),
                region.at.map(place).unwrap_or_default(),
            ),
        )
        .at(Span::from_location(at), "used here");
        if let Some(span) = made_at {
            diagnostic = diagnostic.at(span, "made here");
        }
        self.report(diagnostic.help(
            "keep it in a `let mut` variable from before, which carries its value out of the region",
        ));
    }

    /// The block that a value was made in.
    pub(super) fn home_of(&self, value: Value) -> BlockId {
        self.value_blocks[value.0 as usize]
    }

    /// Whether a value was made in a block or in a region within.
    pub(super) fn is_within(&self, value: Value, block: BlockId) -> bool {
        let mut home = self.home_of(value);
        while home != block {
            let region = self.regions[home.0 as usize];
            if region.kind == RegionKind::Body {
                return false;
            }
            home = region.parent;
        }
        true
    }

    /// What a block is, for messages: "the `for` body at line 7".
    pub(crate) fn describe_region(&self, block: BlockId) -> String {
        let region = self.regions[block.0 as usize];
        match region.at {
            Some(at) => format!("{} at line {}", region.kind.describe(), at.line()),
            None => region.kind.describe().to_owned(),
        }
    }

    /// Where the op that makes a value stands.
    pub(crate) fn span_of(&self, value: Value) -> Option<Span> {
        let kernel = self.builder.kernel();
        kernel.defining_op(value).and_then(|op| kernel.span(op.loc))
    }

    /// The type of a handle's value; `None` for poison and foreign handles.
    pub(crate) fn ty(&self, handle: Handle) -> Option<&Type> {
        let known = !handle.is_poison() && handle.session == self.session;
        known.then(|| self.builder.kernel().ty(Value(handle.value)))
    }

    /// Adds an op with one result.
    pub(crate) fn push(&mut self, op: Op, operands: &[Value], at: At) -> Option<Value> {
        let results = self.push_all(op, operands, &[], at)?;
        results.first().copied()
    }

    /// Adds an op with any number of results; `None` if it does not take its operands.
    pub(crate) fn push_all(
        &mut self,
        op: Op,
        operands: &[Value],
        regions: &[BlockId],
        at: At,
    ) -> Option<SmallVec<[Value; 2]>> {
        if self.is_replaying() {
            return self.push_again(&op, operands, at);
        }
        let loc = self.loc(at);
        let results = self.builder.push_with_regions(op, operands, regions, loc);
        self.note_values();
        match results {
            Ok(results) => Some(results),
            Err(mut diagnostic) => {
                if diagnostic.labels.is_empty() {
                    diagnostic = diagnostic.at(Span::from_location(at), "");
                }
                self.report(diagnostic);
                None
            }
        }
    }

    /// Adds an op on handles, with one result.
    pub(crate) fn emit(&mut self, op: Op, operands: &[Handle], at: At) -> Handle {
        let mut values: SmallVec<[Value; 4]> = SmallVec::new();
        for &operand in operands {
            match self.operand(operand, at) {
                Some(value) => values.push(value),
                None => return Handle::POISON,
            }
        }
        match self.push(op, &values, at) {
            Some(value) => self.handle(value),
            None => Handle::POISON,
        }
    }

    /// Opens a region.
    pub(crate) fn open(
        &mut self,
        kind: RegionKind,
        args: &[Type],
        at: At,
    ) -> (BlockId, Vec<Value>) {
        let parent = self.builder.current_block();
        self.note_values();
        let (block, args) = self.builder.open_block(args);
        self.note_values();
        let n_divisors = self.divisors.len();
        self.regions.push(Region { kind, parent, at: Some(at), n_divisors });
        (block, args)
    }

    /// Closes the innermost region.
    pub(crate) fn close(&mut self, yields: &[Value], at: At) {
        self.note_values();
        let region = self.regions[self.builder.current_block().0 as usize];
        self.divisors.truncate(region.n_divisors);
        let loc = self.loc(at);
        self.builder.close_block(yields, loc);
    }

    /// Closes the innermost region by moving its ops to the one around it.
    pub(crate) fn inline(&mut self) {
        self.note_values();
        let block = self.builder.current_block();
        let parent = self.regions[block.0 as usize].parent;
        self.inline_log(block, parent);
        self.builder.inline_block();
        for home in self.value_blocks.iter_mut().filter(|home| **home == block) {
            *home = parent;
        }
    }

    /// A scalar constant.
    pub(crate) fn constant(&mut self, literal: Literal, at: At) -> Value {
        if self.is_replaying() {
            let op = Op::Elementwise(Elementwise::Constant(literal));
            if let Some(results) = self.push_again(&op, &[], at) {
                return results[0];
            }
            // The pass has failed, and the kernel with it: any constant will do.
        }
        let loc = self.loc(at);
        let value = self.builder.constant(literal, loc);
        self.note_values();
        value
    }

    /// The value of a scalar that is known while tracing.
    pub(crate) fn known(&self, value: Value) -> Option<Literal> {
        let kernel = self.builder.kernel();
        match kernel.def(value) {
            ValueDef::Result(op, _) => match kernel.op(op).op {
                Op::Elementwise(Elementwise::Constant(literal)) => Some(literal),
                _ => None,
            },
            // A grid axis of one step has index 0.
            ValueDef::Arg(block, idx) => {
                let axis = kernel.grid.get(idx as usize)?;
                let is_grid = self.regions[block.0 as usize].kind == RegionKind::Body;
                let single = axis.extent == Extent::Static(1);
                (is_grid && single).then(|| Literal::int(DType::I32, 0))
            }
        }
    }

    /// The grid axis whose index a value is, in the body or in the index of a block, and its extent.
    pub(crate) fn grid_extent(&self, value: Value) -> Option<(usize, Extent)> {
        let kernel = self.builder.kernel();
        let ValueDef::Arg(block, idx) = kernel.def(value) else { return None };
        let kind = self.regions[block.0 as usize].kind;
        if !matches!(kind, RegionKind::Body | RegionKind::IndexMap) {
            return None;
        }
        kernel.grid.get(idx as usize).map(|axis| (idx as usize, axis.extent))
    }

    /// Promises that a value is a multiple of `divisor`.
    pub(crate) fn promise_divisor(&mut self, value: Value, divisor: usize) {
        self.divisors.push((value, divisor));
    }

    /// A number that is known to divide an integer scalar, at least 1.
    pub(crate) fn divisor(&self, value: Value) -> usize {
        // Zero is a multiple of everything.
        let divisor = self.divisor_at(value, 8);
        if divisor == 0 { 1 << 30 } else { promisable(divisor) }
    }

    /// Whether a scalar can be promised to be a multiple of this; tells if not.
    pub(crate) fn expect_multiple(&mut self, multiple_of: usize, at: At) -> bool {
        let fits = (1..=MAX_MULTIPLE).contains(&multiple_of);
        if !fits {
            self.error(
                Code::TRACE_NUMBER,
                format!("nothing but 0 is a multiple of {multiple_of}"),
                at,
            );
        }
        fits
    }

    fn divisor_at(&self, value: Value, depth: usize) -> usize {
        use crate::ir::ops::Binary;
        let promised =
            self.divisors.iter().rev().find(|(known, _)| *known == value).map(|(_, n)| *n);
        if let Some(promised) = promised {
            return promised;
        }
        if let Some(known) = self.known(value).and_then(Literal::as_int) {
            return known.unsigned_abs() as usize;
        }
        let Some(op) = self.builder.kernel().defining_op(value) else { return 1 };
        if depth == 0 {
            return 1;
        }
        let operand = |idx: usize| self.divisor_at(op.operands[idx], depth - 1);
        match &op.op {
            Op::Elementwise(Elementwise::Binary(Binary::Mul)) => {
                operand(0).checked_mul(operand(1)).map_or(1, promisable)
            }
            Op::Elementwise(Elementwise::Binary(
                Binary::Add | Binary::Sub | Binary::Max | Binary::Min,
            )) => gcd(operand(0), operand(1)),
            Op::Elementwise(Elementwise::Select) => gcd(operand(1), operand(2)),
            _ => 1,
        }
    }

    /// The shape of a handle's tile; empty for scalars and poison.
    pub(crate) fn shape(&self, handle: Handle) -> Shape {
        self.ty(handle).map(|ty| Shape::from_slice(ty.shape())).unwrap_or_default()
    }

    /// As [`Tracer::shape`], for host code to compute with.
    pub(crate) fn told_shape(&mut self, handle: Handle) -> Shape {
        self.guesses |= handle.is_poison() && self.has_errors();
        self.shape(handle)
    }

    /// Whether a block holds ops that touch memory, branch or print.
    pub(crate) fn is_pure(&self, block: BlockId) -> bool {
        let kernel = self.builder.kernel();
        kernel.block(block).ops.iter().all(|&id| match &kernel.op(id).op {
            Op::Elementwise(_) | Op::Shape(_) | Op::Convert(_) | Op::Reduce(_) | Op::Dot(_) => true,
            Op::Control(op) => {
                matches!(op, ControlOp::Yield | ControlOp::GridExtent { .. } | ControlOp::DeviceId)
            }
            Op::Sparse(op) => op.is_pure(),
            Op::Memory(_)
            | Op::Mxu(_)
            | Op::Dma(_)
            | Op::Sync(_)
            | Op::Random(_)
            | Op::Debug(_) => false,
        })
    }

    /// Whether a closed block has no op but its `yield`.
    pub(crate) fn is_empty(&self, block: BlockId) -> bool {
        self.builder.kernel().block(block).ops.len() <= 1
    }
}

/// A divisor of `n` that a promise can name: `n` itself, or of a larger one its power of two.
fn promisable(n: usize) -> usize {
    if n <= MAX_MULTIPLE { n } else { 1 << n.trailing_zeros().min(30) }
}

/// The greatest common divisor; that of 0 and `n` is `n`.
pub(crate) fn gcd(mut a: usize, mut b: usize) -> usize {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
