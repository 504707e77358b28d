//! A terse way to write kernels in tests: the builder, with mistakes as panics.
#![allow(dead_code, reason = "each test binary uses its own part")]

use systole::ir::builder::Builder;
use systole::ir::kernel::{
    BlockDim, BlockId, Buffering, Extent, GridAxis, Param, ParamAxis, ParamKind, Scratch,
    Semantics, Value, Window,
};
use systole::ir::ops::{
    Access, AccessDim, Binary, Compare, ControlOp, DebugOp, DotOp, Elementwise, Literal, MemoryOp,
    Precision, ReduceKind, ReduceOp, ShapeOp, Start, Unary,
};
use systole::ir::ty::{MemorySpace, Shape, Type};
use systole::ir::{DType, Kernel, LocId, Op};
use systole::target::GENERIC;
use systole::valid::{self, Valid};

/// A kernel being written.
pub(crate) struct Sketch {
    pub(crate) b: Builder,
    /// Where the ops that follow come from.
    pub(crate) loc: LocId,
}

impl Sketch {
    pub(crate) fn new(name: &str) -> Sketch {
        Sketch { b: Builder::new(name), loc: LocId::UNKNOWN }
    }

    /// Adds a grid axis; all of them come before the parameters.
    pub(crate) fn grid(&mut self, extent: usize, semantics: Semantics) -> Value {
        let name = format!("g{}", self.b.kernel().grid.len());
        self.b.grid_axis(GridAxis { name, extent: Extent::Static(extent), semantics })
    }

    pub(crate) fn parallel(&mut self, extent: usize) -> Value {
        self.grid(extent, Semantics::Parallel)
    }

    pub(crate) fn arbitrary(&mut self, extent: usize) -> Value {
        self.grid(extent, Semantics::Arbitrary)
    }

    /// Adds a parameter whose block index is made from the grid indices (and then the references
    /// of the prefetch parameters).
    pub(crate) fn param(
        &mut self,
        kind: ParamKind,
        dtype: DType,
        shape: &[usize],
        block: &[BlockDim],
        index: impl FnOnce(&mut Sketch, &[Value]) -> Vec<Value>,
    ) -> Value {
        let kernel = self.b.kernel();
        let mut args = vec![Type::Scalar(DType::I32); kernel.grid.len()];
        let tables = kernel.params.iter().filter(|p| p.kind == ParamKind::Prefetch);
        args.extend(tables.map(Param::ref_type));
        let (index_map, args) = self.b.open_block(&args);
        let starts = index(self, &args);
        self.b.close_block(&starts, LocId::UNKNOWN);
        let window = Window {
            block: block.to_vec(),
            index_map,
            buffering: Buffering::Double,
            streams: None,
        };
        self.declare(kind, dtype, shape, MemorySpace::Vmem, Some(window))
    }

    /// Adds a parameter whose one block is the whole array.
    pub(crate) fn whole(&mut self, kind: ParamKind, dtype: DType, shape: &[usize]) -> Value {
        let block: Vec<BlockDim> = shape.iter().map(|&size| BlockDim::Blocked(size)).collect();
        self.param(kind, dtype, shape, &block, |s, _| shape.iter().map(|_| s.int(0)).collect())
    }

    /// The number of steps along a grid axis.
    pub(crate) fn grid_extent(&mut self, axis: usize) -> Value {
        self.op(Op::Control(ControlOp::GridExtent { axis }), &[])
    }

    pub(crate) fn input(&mut self, dtype: DType, shape: &[usize]) -> Value {
        self.whole(ParamKind::In, dtype, shape)
    }

    pub(crate) fn output(&mut self, dtype: DType, shape: &[usize]) -> Value {
        self.whole(ParamKind::Out, dtype, shape)
    }

    /// Adds a table that is prefetched into SMEM.
    pub(crate) fn prefetch(&mut self, dtype: DType, shape: &[usize]) -> Value {
        self.declare(ParamKind::Prefetch, dtype, shape, MemorySpace::Smem, None)
    }

    fn declare(
        &mut self,
        kind: ParamKind,
        dtype: DType,
        shape: &[usize],
        space: MemorySpace,
        window: Option<Window>,
    ) -> Value {
        let idx = self.b.kernel().params.len();
        let axes = shape
            .iter()
            .enumerate()
            .map(|(axis, &size)| ParamAxis { name: format!("p{idx}d{axis}"), size })
            .collect();
        let loc = LocId::UNKNOWN;
        self.b.param(Param {
            name: format!("p{idx}"),
            kind,
            dtype,
            axes,
            space,
            window,
            pinned: None,
            loc,
        })
    }

    pub(crate) fn scratch(&mut self, dtype: DType, shape: &[usize]) -> Value {
        self.scratch_in(MemorySpace::Vmem, dtype, shape)
    }

    pub(crate) fn scratch_in(
        &mut self,
        space: MemorySpace,
        dtype: DType,
        shape: &[usize],
    ) -> Value {
        let name = format!("s{}", self.b.kernel().scratch.len());
        let shape = Shape::from_slice(shape);
        self.b.scratch(Scratch { name, dtype, shape, space, loc: LocId::UNKNOWN })
    }

    pub(crate) fn ty(&self, value: Value) -> Type {
        self.b.kernel().ty(value).clone()
    }

    /// Adds an op; gives its results.
    pub(crate) fn push(&mut self, op: Op, operands: &[Value], regions: &[BlockId]) -> Vec<Value> {
        match self.b.push_with_regions(op, operands, regions, self.loc) {
            Ok(results) => results.to_vec(),
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) fn op(&mut self, op: Op, operands: &[Value]) -> Value {
        self.push(op, operands, &[])[0]
    }

    pub(crate) fn int(&mut self, value: i64) -> Value {
        self.b.constant(Literal::int(DType::I32, value), self.loc)
    }

    pub(crate) fn literal(&mut self, dtype: DType, value: f64) -> Value {
        self.b.constant(Literal::from_f64(dtype, value), self.loc)
    }

    /// A tile with one value everywhere, of a type like that of another value.
    pub(crate) fn like(&mut self, other: Value, value: f64) -> Value {
        let ty = self.ty(other);
        let scalar = self.literal(ty.dtype(), value);
        match ty.is_tile() {
            true => self.shape(ShapeOp::Splat(Shape::from_slice(ty.shape())), &[scalar]),
            false => scalar,
        }
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

    pub(crate) fn cast(&mut self, x: Value, dtype: DType) -> Value {
        self.op(Op::Elementwise(Elementwise::Cast(dtype)), &[x])
    }

    pub(crate) fn shape(&mut self, op: ShapeOp, operands: &[Value]) -> Value {
        self.op(Op::Shape(op), operands)
    }

    pub(crate) fn broadcast(&mut self, x: Value, shape: &[usize]) -> Value {
        self.shape(ShapeOp::Broadcast(Shape::from_slice(shape)), &[x])
    }

    pub(crate) fn reduce(&mut self, kind: ReduceKind, x: Value, axis: usize) -> Value {
        self.op(Op::Reduce(ReduceOp { kind, axis }), &[x])
    }

    pub(crate) fn dot(
        &mut self,
        x: Value,
        y: Value,
        transpose: (bool, bool),
        precision: Precision,
    ) -> Value {
        let dot = DotOp { transpose_lhs: transpose.0, transpose_rhs: transpose.1, precision };
        self.op(Op::Dot(dot), &[x, y])
    }

    pub(crate) fn load(&mut self, r: Value) -> Value {
        let access = self.full(r);
        self.load_at(r, access, &[])
    }

    pub(crate) fn load_at(&mut self, r: Value, access: Access, starts: &[Value]) -> Value {
        let op = Op::Memory(MemoryOp::Load { access, masked: false });
        self.op(op, &[&[r], starts].concat())
    }

    pub(crate) fn store(&mut self, r: Value, value: Value) {
        let access = self.full(r);
        self.store_at(r, value, access, &[]);
    }

    pub(crate) fn store_at(&mut self, r: Value, value: Value, access: Access, starts: &[Value]) {
        let op = Op::Memory(MemoryOp::Store { access, masked: false });
        self.push(op, &[&[r, value], starts].concat(), &[]);
    }

    fn full(&self, r: Value) -> Access {
        let shape = self.ty(r);
        Access { dims: shape.shape().iter().map(|&size| AccessDim::full(size)).collect() }
    }

    /// Writes a block that yields what `body` gives.
    pub(crate) fn block(
        &mut self,
        args: &[Type],
        body: impl FnOnce(&mut Sketch, &[Value]) -> Vec<Value>,
    ) -> BlockId {
        let (block, args) = self.b.open_block(args);
        let yields = body(self, &args);
        self.b.close_block(&yields, LocId::UNKNOWN);
        block
    }

    pub(crate) fn if_(
        &mut self,
        cond: Value,
        then: impl FnOnce(&mut Sketch) -> Vec<Value>,
        other: impl FnOnce(&mut Sketch) -> Vec<Value>,
    ) -> Vec<Value> {
        let then = self.block(&[], |s, _| then(s));
        let other = self.block(&[], |s, _| other(s));
        self.push(Op::Control(ControlOp::If), &[cond], &[then, other])
    }

    /// A loop over `lo, lo + step, ..` below `hi`; `body` gets the index and the carried values.
    pub(crate) fn for_(
        &mut self,
        bounds: [Value; 3],
        inits: &[Value],
        body: impl FnOnce(&mut Sketch, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let mut args = vec![Type::Scalar(DType::I32)];
        args.extend(inits.iter().map(|&init| self.ty(init)));
        let body = self.block(&args, body);
        self.push(Op::Control(ControlOp::For), &[&bounds, inits].concat(), &[body])
    }

    pub(crate) fn while_(
        &mut self,
        inits: &[Value],
        cond: impl FnOnce(&mut Sketch, &[Value]) -> Value,
        body: impl FnOnce(&mut Sketch, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let args: Vec<Type> = inits.iter().map(|&init| self.ty(init)).collect();
        let cond = self.block(&args, |s, args| vec![cond(s, args)]);
        let body = self.block(&args, body);
        self.push(Op::Control(ControlOp::While), inits, &[cond, body])
    }

    pub(crate) fn print(&mut self, operands: &[Value]) {
        self.push(Op::Debug(DebugOp::Print { message: "values".into() }), operands, &[]);
    }

    pub(crate) fn assert(&mut self, cond: Value) {
        self.push(Op::Debug(DebugOp::Assert { message: "must hold".into() }), &[cond], &[]);
    }

    pub(crate) fn kernel(self) -> Kernel {
        self.b.finish()
    }

    pub(crate) fn valid(self) -> Valid {
        match valid::check(self.b.finish(), &GENERIC) {
            Ok(valid) => valid,
            Err(errors) => panic!("{errors}"),
        }
    }
}

/// What an access touches along one axis.
pub(crate) fn dim(start: Option<usize>, size: usize, stride: usize, keep: bool) -> AccessDim {
    let start = match start {
        Some(start) => Start::Static(start),
        None => Start::Dynamic { multiple_of: 1 },
    };
    AccessDim { start, size, stride, keep }
}

pub(crate) fn access(dims: &[AccessDim]) -> Access {
    Access { dims: dims.iter().copied().collect() }
}
