//! Small kernels, op by op.

use std::sync::Arc;
use systole::ir::ops::{
    Access, AccessDim, Binary, Compare, ControlOp, DotOp, Elementwise, Literal, MemoryOp,
    Precision, ReduceKind, ReduceOp, ShapeOp, Start, Unary,
};
use systole::ir::{
    BlockDim, Buffering, Builder, DType, Extent, GridAxis, Kernel, Loc, LocId, MemorySpace, Op,
    Param, ParamAxis, ParamKind, Scratch, Semantics, Shape, Type, Value, Window,
};

/// A builder that panics on what does not type: tests build valid kernels.
pub(crate) struct Sketch {
    pub(crate) b: Builder,
    line: u32,
    grid: Vec<Value>,
}

/// How an axis of a parameter is cut into blocks: block and index, `None` for the whole axis.
#[derive(Clone, Copy)]
pub(crate) enum Cut {
    Whole,
    /// Blocks of this size, numbered by this grid axis.
    By(usize, usize),
    /// One element of this grid axis, squeezed.
    Squeeze(usize),
    /// A window of this many elements, at this many elements per step of a grid axis.
    Element(usize, usize, usize),
}

impl Sketch {
    pub(crate) fn new(name: &str) -> Sketch {
        Sketch { b: Builder::new(name), line: 1, grid: Vec::new() }
    }

    pub(crate) fn finish(self) -> Kernel {
        self.b.finish()
    }

    /// Every op gets a line of its own, as in a kernel that somebody wrote.
    pub(crate) fn loc(&mut self) -> LocId {
        self.line += 1;
        self.b.loc(Loc {
            file: Arc::from("kernel.rs"),
            line: self.line,
            column: 5,
            inlined_at: None,
        })
    }

    pub(crate) fn axis(&mut self, name: &str, extent: usize, semantics: Semantics) -> Value {
        let index = self.b.grid_axis(GridAxis {
            name: name.to_owned(),
            extent: Extent::Static(extent),
            semantics,
        });
        self.grid.push(index);
        index
    }

    pub(crate) fn param(
        &mut self,
        kind: ParamKind,
        name: &str,
        dtype: DType,
        shape: &[usize],
        cuts: &[Cut],
    ) -> Value {
        let loc = self.loc();
        let args = vec![Type::Scalar(DType::I32); self.grid.len()];
        let (index_map, indices) = self.b.open_block(&args);
        let mut entries = Vec::new();
        let mut block = Vec::new();
        for (cut, &size) in cuts.iter().zip(shape) {
            let (entry, dim) = match *cut {
                Cut::Whole => {
                    (self.b.constant(Literal::int(DType::I32, 0), loc), BlockDim::Blocked(size))
                }
                Cut::By(tile, axis) => (indices[axis], BlockDim::Blocked(tile)),
                Cut::Squeeze(axis) => (indices[axis], BlockDim::Squeezed),
                Cut::Element(size, per_step, axis) => {
                    let step = self.b.constant(Literal::int(DType::I32, per_step as i64), loc);
                    let op = Op::Elementwise(Elementwise::Binary(Binary::Mul));
                    let start = self.b.push(op, &[indices[axis], step], loc).expect("types")[0];
                    (start, BlockDim::Element(size))
                }
            };
            entries.push(entry);
            block.push(dim);
        }
        self.b.close_block(&entries, loc);
        let window = Window { block, index_map, buffering: Buffering::Double, streams: None };
        self.b.param(Param {
            name: name.to_owned(),
            kind,
            dtype,
            axes: axes(name, shape),
            space: MemorySpace::Vmem,
            window: Some(window),
            pinned: None,
            loc,
        })
    }

    /// A parameter whose block is the whole array.
    pub(crate) fn whole(
        &mut self,
        kind: ParamKind,
        name: &str,
        dtype: DType,
        shape: &[usize],
    ) -> Value {
        self.param(kind, name, dtype, shape, &vec![Cut::Whole; shape.len()])
    }

    /// A table in SMEM.
    pub(crate) fn smem(
        &mut self,
        kind: ParamKind,
        name: &str,
        dtype: DType,
        shape: &[usize],
    ) -> Value {
        let loc = self.loc();
        self.b.param(Param {
            name: name.to_owned(),
            kind,
            dtype,
            axes: axes(name, shape),
            space: MemorySpace::Smem,
            window: None,
            pinned: None,
            loc,
        })
    }

    /// Gives a parameter another index map, which sees the one grid index and the one table.
    pub(crate) fn remap(
        &mut self,
        param: usize,
        table: Value,
        map: impl FnOnce(&mut Sketch, &[Value]) -> Vec<Value>,
    ) {
        let loc = self.loc();
        let table = self.b.kernel().ty(table).clone();
        let (index_map, args) = self.b.open_block(&[Type::Scalar(DType::I32), table]);
        let entries = map(self, &args);
        self.b.close_block(&entries, loc);
        if let Some(window) = &mut self.b.kernel_mut().params[param].window {
            window.index_map = index_map;
        }
    }

    pub(crate) fn scratch(&mut self, name: &str, dtype: DType, shape: &[usize]) -> Value {
        let loc = self.loc();
        self.b.scratch(Scratch {
            name: name.to_owned(),
            dtype,
            shape: Shape::from_slice(shape),
            space: MemorySpace::Vmem,
            loc,
        })
    }

    pub(crate) fn op(&mut self, op: Op, operands: &[Value]) -> Value {
        self.ops(op, operands)[0]
    }

    pub(crate) fn ops(&mut self, op: Op, operands: &[Value]) -> Vec<Value> {
        let loc = self.loc();
        self.b.push(op, operands, loc).unwrap_or_else(|error| panic!("{error}")).to_vec()
    }

    pub(crate) fn int(&mut self, value: i64) -> Value {
        let loc = self.loc();
        self.b.constant(Literal::int(DType::I32, value), loc)
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

    pub(crate) fn splat(&mut self, literal: Literal, shape: &[usize]) -> Value {
        let loc = self.loc();
        let scalar = self.b.constant(literal, loc);
        self.op(Op::Shape(ShapeOp::Splat(Shape::from_slice(shape))), &[scalar])
    }

    pub(crate) fn splat_value(&mut self, scalar: Value, shape: &[usize]) -> Value {
        self.op(Op::Shape(ShapeOp::Splat(Shape::from_slice(shape))), &[scalar])
    }

    pub(crate) fn broadcast(&mut self, x: Value, shape: &[usize]) -> Value {
        self.op(Op::Shape(ShapeOp::Broadcast(Shape::from_slice(shape))), &[x])
    }

    pub(crate) fn reduce(&mut self, kind: ReduceKind, axis: usize, x: Value) -> Value {
        self.op(Op::Reduce(ReduceOp { kind, axis }), &[x])
    }

    pub(crate) fn dot(
        &mut self,
        x: Value,
        y: Value,
        (transpose_lhs, transpose_rhs): (bool, bool),
        precision: Precision,
    ) -> Value {
        self.op(Op::Dot(DotOp { transpose_lhs, transpose_rhs, precision }), &[x, y])
    }

    /// Loads a whole reference.
    pub(crate) fn load(&mut self, reference: Value) -> Value {
        let access = self.full(reference);
        self.op(Op::Memory(MemoryOp::Load { access, masked: false }), &[reference])
    }

    pub(crate) fn load_part(
        &mut self,
        reference: Value,
        dims: &[AccessDim],
        starts: &[Value],
    ) -> Value {
        let access = Access { dims: dims.iter().copied().collect() };
        let mut operands = vec![reference];
        operands.extend_from_slice(starts);
        self.op(Op::Memory(MemoryOp::Load { access, masked: false }), &operands)
    }

    /// Stores a whole reference.
    pub(crate) fn store(&mut self, reference: Value, value: Value) {
        let access = self.full(reference);
        self.ops_none(Op::Memory(MemoryOp::Store { access, masked: false }), &[reference, value]);
    }

    pub(crate) fn store_part(
        &mut self,
        reference: Value,
        value: Value,
        dims: &[AccessDim],
        starts: &[Value],
    ) {
        let access = Access { dims: dims.iter().copied().collect() };
        let mut operands = vec![reference, value];
        operands.extend_from_slice(starts);
        self.ops_none(Op::Memory(MemoryOp::Store { access, masked: false }), &operands);
    }

    pub(crate) fn ops_none(&mut self, op: Op, operands: &[Value]) {
        let loc = self.loc();
        self.b.push(op, operands, loc).unwrap_or_else(|error| panic!("{error}"));
    }

    /// `if cond { then }`.
    pub(crate) fn when(&mut self, cond: Value, then: impl FnOnce(&mut Sketch)) {
        let loc = self.loc();
        let (yes, _) = self.b.open_block(&[]);
        then(self);
        self.b.close_block(&[], loc);
        let (no, _) = self.b.open_block(&[]);
        self.b.close_block(&[], loc);
        let op = Op::Control(ControlOp::If);
        self.b.push_with_regions(op, &[cond], &[yes, no], loc).expect("types");
    }

    /// `for index in lo..hi` with carried values.
    pub(crate) fn repeat(
        &mut self,
        n: i64,
        inits: &[Value],
        body: impl FnOnce(&mut Sketch, Value, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let loc = self.loc();
        let bounds = [self.int(0), self.int(n), self.int(1)];
        let mut types = vec![Type::Scalar(DType::I32)];
        types.extend(inits.iter().map(|&init| self.b.kernel().ty(init).clone()));
        let (block, args) = self.b.open_block(&types);
        let yields = body(self, args[0], &args[1..]);
        self.b.close_block(&yields, loc);
        let operands: Vec<Value> = bounds.iter().chain(inits).copied().collect();
        let op = Op::Control(ControlOp::For);
        self.b.push_with_regions(op, &operands, &[block], loc).expect("types").to_vec()
    }

    fn full(&self, reference: Value) -> Access {
        let shape = self.b.kernel().ty(reference).shape();
        Access { dims: shape.iter().map(|&size| AccessDim::full(size)).collect() }
    }
}

/// Dimensions of one name have one size, so each parameter has its own.
fn axes(param: &str, shape: &[usize]) -> Vec<ParamAxis> {
    let axes = shape.iter().enumerate();
    axes.map(|(idx, &size)| ParamAxis { name: format!("{param}_{idx}"), size }).collect()
}

/// An access of one element, which the tile drops.
pub(crate) fn at(index: usize) -> AccessDim {
    AccessDim { start: Start::Static(index), size: 1, stride: 1, keep: false }
}

/// An access of a run of elements.
pub(crate) fn run(start: usize, size: usize, stride: usize) -> AccessDim {
    AccessDim { start: Start::Static(start), size, stride, keep: true }
}

/// An access of a run of elements from a start given as an operand.
pub(crate) fn run_from(multiple_of: usize, size: usize) -> AccessDim {
    AccessDim { start: Start::Dynamic { multiple_of }, size, stride: 1, keep: true }
}

/// An access of one element given as an operand, which the tile drops.
pub(crate) fn at_dynamic() -> AccessDim {
    AccessDim { start: Start::Dynamic { multiple_of: 1 }, size: 1, stride: 1, keep: false }
}
