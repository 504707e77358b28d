//! Kernels written op by op, each op on a line of the test's choice.

use smallvec::SmallVec;
use std::sync::Arc;
use systole::back::interp::{self, Options, Outcome};
use systole::diag::{Code, Diagnostics};
use systole::ir::ops::{
    Access, AccessDim, Binary, Compare, ControlOp, DebugOp, DotOp, Elementwise, Literal, MemoryOp,
    ReduceKind, ReduceOp, ShapeOp, Start, Unary,
};
use systole::ir::{
    Array, BlockDim, Buffering, Builder, DType, Extent, GridAxis, Kernel, Loc, LocId, MemorySpace,
    Op, Param, ParamAxis, ParamKind, Scratch, Semantics, Shape, Type, Value, Window,
};
use systole::target::GENERIC;
use systole::valid;

pub(crate) use systole::ir::BlockDim::{Blocked, Element, Squeezed};
pub(crate) use systole::ir::Semantics::{Arbitrary, Parallel};

/// A kernel under construction.
pub(crate) struct Draft {
    pub(crate) b: Builder,
    loc: LocId,
    prefetch: Vec<Type>,
}

/// The body of a loop: the index and what is carried, to what is carried on.
pub(crate) type LoopFn<'a> = &'a dyn Fn(&mut Draft, Value, &[Value]) -> Vec<Value>;

/// Computes a block's index from the grid indices and prefetch tables.
pub(crate) type IndexFn<'a> = &'a dyn Fn(&mut Draft, &[Value]) -> Vec<Value>;

impl Draft {
    pub(crate) fn new(grid: &[(&str, usize, Semantics)]) -> (Draft, Vec<Value>) {
        let mut draft = Draft { b: Builder::new("test"), loc: LocId::UNKNOWN, prefetch: vec![] };
        let idx = grid
            .iter()
            .map(|&(name, n, semantics)| {
                let extent = Extent::Static(n);
                draft.b.grid_axis(GridAxis { name: name.to_owned(), extent, semantics })
            })
            .collect();
        (draft, idx)
    }

    /// What follows stands on this line of `kernel.rs`.
    pub(crate) fn line(&mut self, line: u32) -> &mut Draft {
        let file = Arc::from("kernel.rs");
        self.loc = self.b.loc(Loc { file, line, column: 5, inlined_at: None });
        self
    }

    /// A parameter with a window.
    pub(crate) fn param(
        &mut self,
        kind: ParamKind,
        name: &str,
        dtype: DType,
        sizes: &[usize],
        block: &[BlockDim],
        index: IndexFn<'_>,
    ) -> Value {
        let mut args = vec![Type::Scalar(DType::I32); self.b.kernel().grid.len()];
        args.extend(self.prefetch.iter().cloned());
        let (index_map, args) = self.b.open_block(&args);
        let yields = index(self, &args);
        self.b.close_block(&yields, self.loc);
        let window = Window {
            block: block.to_vec(),
            index_map,
            buffering: Buffering::Double,
            streams: None,
        };
        self.declare(kind, name, dtype, sizes, MemorySpace::Vmem, Some(window))
    }

    /// A parameter whose block is the array.
    pub(crate) fn whole(
        &mut self,
        kind: ParamKind,
        name: &str,
        dtype: DType,
        sizes: &[usize],
    ) -> Value {
        let block: Vec<BlockDim> = sizes.iter().map(|&size| Blocked(size)).collect();
        let rank = sizes.len();
        self.param(kind, name, dtype, sizes, &block, &|d, _| vec![d.int(0); rank])
    }

    /// A table in SMEM.
    pub(crate) fn table(&mut self, name: &str, sizes: &[usize]) -> Value {
        let (dtype, space) = (DType::I32, MemorySpace::Smem);
        self.prefetch.push(Type::Ref { dtype, shape: Shape::from_slice(sizes), space });
        self.declare(ParamKind::Prefetch, name, dtype, sizes, space, None)
    }

    fn declare(
        &mut self,
        kind: ParamKind,
        name: &str,
        dtype: DType,
        sizes: &[usize],
        space: MemorySpace,
        window: Option<Window>,
    ) -> Value {
        let axes = sizes
            .iter()
            .enumerate()
            .map(|(axis, &size)| ParamAxis { name: format!("{name}{axis}"), size })
            .collect();
        let name = name.to_owned();
        self.b.param(Param { name, kind, dtype, axes, space, window, pinned: None, loc: self.loc })
    }

    pub(crate) fn scratch(&mut self, name: &str, dtype: DType, shape: &[usize]) -> Value {
        self.scratch_in(MemorySpace::Vmem, name, dtype, shape)
    }

    pub(crate) fn scratch_in(
        &mut self,
        space: MemorySpace,
        name: &str,
        dtype: DType,
        shape: &[usize],
    ) -> Value {
        let (name, shape) = (name.to_owned(), Shape::from_slice(shape));
        self.b.scratch(Scratch { name, dtype, shape, space, loc: self.loc })
    }

    pub(crate) fn op(&mut self, op: Op, operands: &[Value]) -> Value {
        self.b.push(op, operands, self.loc).unwrap_or_else(|e| panic!("{e}"))[0]
    }

    fn effect(&mut self, op: Op, operands: &[Value]) {
        self.b.push(op, operands, self.loc).unwrap_or_else(|e| panic!("{e}"));
    }

    pub(crate) fn int(&mut self, value: i64) -> Value {
        self.b.constant(Literal::int(DType::I32, value), self.loc)
    }

    pub(crate) fn constant(&mut self, dtype: DType, value: f64) -> Value {
        self.b.constant(Literal::from_f64(dtype, value), self.loc)
    }

    pub(crate) fn unary(&mut self, op: Unary, x: Value) -> Value {
        self.op(Op::Elementwise(Elementwise::Unary(op)), &[x])
    }

    pub(crate) fn binary(&mut self, op: Binary, x: Value, y: Value) -> Value {
        self.op(Op::Elementwise(Elementwise::Binary(op)), &[x, y])
    }

    pub(crate) fn compare(&mut self, op: Compare, x: Value, y: Value) -> Value {
        self.op(Op::Elementwise(Elementwise::Compare(op)), &[x, y])
    }

    pub(crate) fn select(&mut self, cond: Value, x: Value, y: Value) -> Value {
        self.op(Op::Elementwise(Elementwise::Select), &[cond, x, y])
    }

    pub(crate) fn cast(&mut self, dtype: DType, x: Value) -> Value {
        self.op(Op::Elementwise(Elementwise::Cast(dtype)), &[x])
    }

    pub(crate) fn shape_op(&mut self, op: ShapeOp, operands: &[Value]) -> Value {
        self.op(Op::Shape(op), operands)
    }

    pub(crate) fn splat(&mut self, x: Value, shape: &[usize]) -> Value {
        self.shape_op(ShapeOp::Splat(Shape::from_slice(shape)), &[x])
    }

    pub(crate) fn broadcast(&mut self, x: Value, shape: &[usize]) -> Value {
        self.shape_op(ShapeOp::Broadcast(Shape::from_slice(shape)), &[x])
    }

    pub(crate) fn iota(&mut self, shape: &[usize], axis: usize) -> Value {
        let shape = Shape::from_slice(shape);
        self.shape_op(ShapeOp::Iota { dtype: DType::I32, shape, axis }, &[])
    }

    pub(crate) fn reduce(&mut self, kind: ReduceKind, axis: usize, x: Value) -> Value {
        self.op(Op::Reduce(ReduceOp { kind, axis }), &[x])
    }

    pub(crate) fn dot(&mut self, op: DotOp, x: Value, y: Value) -> Value {
        self.op(Op::Dot(op), &[x, y])
    }

    /// A tile filled with a constant.
    pub(crate) fn filled(&mut self, dtype: DType, shape: &[usize], value: f64) -> Value {
        let value = self.constant(dtype, value);
        self.splat(value, shape)
    }

    fn full(&self, reference: Value) -> Access {
        let shape = self.b.kernel().ty(reference).shape();
        Access { dims: shape.iter().map(|&size| AccessDim::full(size)).collect() }
    }

    /// Loads all of a reference.
    pub(crate) fn load(&mut self, reference: Value) -> Value {
        let access = self.full(reference);
        self.op(Op::Memory(MemoryOp::Load { access, masked: false }), &[reference])
    }

    /// Stores all of a reference.
    pub(crate) fn store(&mut self, reference: Value, value: Value) {
        let access = self.full(reference);
        let op = Op::Memory(MemoryOp::Store { access, masked: false });
        self.effect(op, &[reference, value]);
    }

    pub(crate) fn load_masked(&mut self, reference: Value, mask: Value) -> Value {
        let access = self.full(reference);
        self.op(Op::Memory(MemoryOp::Load { access, masked: true }), &[reference, mask])
    }

    pub(crate) fn store_masked(&mut self, reference: Value, value: Value, mask: Value) {
        let access = self.full(reference);
        let op = Op::Memory(MemoryOp::Store { access, masked: true });
        self.effect(op, &[reference, value, mask]);
    }

    /// Loads `size` rows from `start` of a reference of rank 2.
    pub(crate) fn load_rows(&mut self, reference: Value, start: Value, size: usize) -> Value {
        let access = self.rows(reference, size, 1);
        self.op(Op::Memory(MemoryOp::Load { access, masked: false }), &[reference, start])
    }

    /// As [`Draft::load_rows`], with a promise on the start.
    pub(crate) fn load_rows_aligned(
        &mut self,
        reference: Value,
        start: Value,
        (size, multiple_of): (usize, usize),
    ) -> Value {
        let access = self.rows(reference, size, multiple_of);
        self.op(Op::Memory(MemoryOp::Load { access, masked: false }), &[reference, start])
    }

    pub(crate) fn store_rows(&mut self, reference: Value, value: Value, start: Value) {
        let size = self.b.kernel().ty(value).shape()[0];
        let access = self.rows(reference, size, 1);
        let op = Op::Memory(MemoryOp::Store { access, masked: false });
        self.effect(op, &[reference, value, start]);
    }

    fn rows(&self, reference: Value, size: usize, multiple_of: usize) -> Access {
        let mut access = self.full(reference);
        access.dims[0].start = Start::Dynamic { multiple_of };
        access.dims[0].size = size;
        access
    }

    /// Loads one scalar from SMEM.
    pub(crate) fn read(&mut self, table: Value, idx: Value) -> Value {
        let access = element_access();
        self.op(Op::Memory(MemoryOp::Load { access, masked: false }), &[table, idx])
    }

    /// Stores one scalar to SMEM.
    pub(crate) fn write(&mut self, table: Value, idx: Value, value: Value) {
        let op = Op::Memory(MemoryOp::Store { access: element_access(), masked: false });
        self.effect(op, &[table, value, idx]);
    }

    /// `if cond { then }`, without results.
    pub(crate) fn when(&mut self, cond: Value, then: &dyn Fn(&mut Draft)) {
        self.either(
            cond,
            &|d| {
                then(d);
                vec![]
            },
            &|_| vec![],
        );
    }

    pub(crate) fn either(
        &mut self,
        cond: Value,
        then: &dyn Fn(&mut Draft) -> Vec<Value>,
        other: &dyn Fn(&mut Draft) -> Vec<Value>,
    ) -> SmallVec<[Value; 2]> {
        let regions = [then, other].map(|arm| {
            let (block, _) = self.b.open_block(&[]);
            let yields = arm(self);
            self.b.close_block(&yields, self.loc);
            block
        });
        let op = Op::Control(ControlOp::If);
        self.b.push_with_regions(op, &[cond], &regions, self.loc).unwrap()
    }

    /// `for i in (lo..hi).step_by(step)`, carrying values.
    pub(crate) fn count(
        &mut self,
        [lo, hi, step]: [Value; 3],
        inits: &[Value],
        body: LoopFn<'_>,
    ) -> SmallVec<[Value; 2]> {
        let mut args = vec![Type::Scalar(DType::I32)];
        args.extend(inits.iter().map(|&v| self.b.kernel().ty(v).clone()));
        let loc = self.loc;
        let (block, args) = self.b.open_block(&args);
        let yields = body(self, args[0], &args[1..]);
        self.b.close_block(&yields, self.loc);
        let operands: Vec<Value> =
            [lo, hi, step].into_iter().chain(inits.iter().copied()).collect();
        let op = Op::Control(ControlOp::For);
        self.b.push_with_regions(op, &operands, &[block], loc).unwrap()
    }

    /// `while cond { body }`, carrying values.
    pub(crate) fn repeat(
        &mut self,
        inits: &[Value],
        cond: &dyn Fn(&mut Draft, &[Value]) -> Value,
        body: &dyn Fn(&mut Draft, &[Value]) -> Vec<Value>,
    ) -> SmallVec<[Value; 2]> {
        let args: Vec<Type> = inits.iter().map(|&v| self.b.kernel().ty(v).clone()).collect();
        let loc = self.loc;
        let (cond_block, cond_args) = self.b.open_block(&args);
        let goes_on = cond(self, &cond_args);
        self.b.close_block(&[goes_on], self.loc);
        let (body_block, body_args) = self.b.open_block(&args);
        let yields = body(self, &body_args);
        self.b.close_block(&yields, self.loc);
        let op = Op::Control(ControlOp::While);
        self.b.push_with_regions(op, inits, &[cond_block, body_block], loc).unwrap()
    }

    pub(crate) fn print(&mut self, message: &str, operands: &[Value]) {
        self.effect(Op::Debug(DebugOp::Print { message: message.to_owned() }), operands);
    }

    pub(crate) fn assert(&mut self, message: &str, cond: Value) {
        self.effect(Op::Debug(DebugOp::Assert { message: message.to_owned() }), &[cond]);
    }

    pub(crate) fn finish(self) -> Kernel {
        self.b.finish()
    }

    pub(crate) fn run(self, inputs: &[Array]) -> Result<Outcome, Diagnostics> {
        run(self.finish(), inputs, &Options::default())
    }
}

fn element_access() -> Access {
    let start = Start::Dynamic { multiple_of: 1 };
    Access { dims: SmallVec::from_elem(AccessDim { start, size: 1, stride: 1, keep: false }, 1) }
}

pub(crate) fn run(
    kernel: Kernel,
    inputs: &[Array],
    options: &Options,
) -> Result<Outcome, Diagnostics> {
    let valid = valid::check(kernel, &GENERIC).unwrap_or_else(|e| panic!("{e}"));
    interp::run(&valid, inputs, options)
}

/// An `f32` array whose elements are 0, 1, 2, ..
pub(crate) fn counting(shape: &[usize]) -> Array {
    let n = shape.iter().product::<usize>();
    Array::from_f32(shape, (0..n).map(|x| x as f32).collect()).unwrap()
}

/// Asserts that exactly one problem is told, on these lines, with all of these words.
#[track_caller]
pub(crate) fn assert_caught(
    result: Result<Outcome, Diagnostics>,
    code: Code,
    lines: &[u32],
    words: &[&str],
) {
    let problems = result.expect_err("the mistake was not caught");
    assert_eq!(problems.0.len(), 1, "{problems}");
    let problem = &problems.0[0];
    let text = problem.to_string();
    assert_eq!(problem.code, code, "{text}");
    let found: Vec<u32> = problem.labels.iter().map(|label| label.span.line).collect();
    assert_eq!(found, lines, "{text}");
    for word in words {
        assert!(text.contains(word), "`{word}` is missing in\n{text}");
    }
}
