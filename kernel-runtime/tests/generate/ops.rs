//! The ops of a random body, and what is known of their results.

use super::{Numbers, Random, SHAPE, TYPES};
use crate::sketch::{Sketch, access, dim};
use systole::ir::kernel::{BlockId, Value};
use systole::ir::ops::{
    AccessDim, Binary, Compare, ControlOp, DebugOp, DotOp, Elementwise, MemoryOp, Precision,
    ReduceKind, ReduceOp, RollStride, ShapeOp, Unary,
};
use systole::ir::ty::{MemorySpace, Shape, Type};
use systole::ir::{DType, Loc, LocId, Op};

/// Exact floats are brought back to this size where they grow too large.
const SMALL: i64 = 8;
/// Larger tiles are not used further.
const MAX_ELEMS: usize = 4 * SHAPE[0] * SHAPE[1];

/// A value and a bound of its size. Exact floats are whole, so that the bound says what is exact.
#[derive(Clone, Copy)]
struct Known {
    value: Value,
    bound: i64,
}

/// A body being written.
pub(super) struct Body {
    pub(super) s: Sketch,
    pub(super) random: Random,
    numbers: Numbers,
    /// Values in sight, those of open regions last.
    known: Vec<Known>,
    memory: Vec<Value>,
    n_left: usize,
}

/// The largest whole number up to which sums and products of a type are certain to be exact, or
/// rounded once to another whole number.
fn limit(dtype: DType) -> i64 {
    if dtype == DType::F16 { 1 << 11 } else { 1 << 22 }
}

/// The size of the largest number of an integer type or `bool`.
fn largest(dtype: DType) -> i64 {
    dtype.int_range().map_or(1, |(lo, hi)| hi.max(-lo))
}

impl Body {
    pub(super) fn new(s: Sketch, random: Random, numbers: Numbers, memory: &[Value]) -> Body {
        Body { s, random, numbers, known: Vec::new(), memory: memory.to_vec(), n_left: 0 }
    }

    /// Whether a float needs care.
    fn is_exact(&self, dtype: DType) -> bool {
        self.numbers == Numbers::Exact && dtype.is_float()
    }

    fn dtype(&self, value: Value) -> DType {
        self.s.ty(value).dtype()
    }

    /// Adds an op, if the builder takes it.
    fn push(&mut self, op: Op, operands: &[Value]) -> Option<Value> {
        self.s.b.push(op, operands, self.s.loc).ok().and_then(|results| results.first().copied())
    }

    /// A place in a file, now and then inlined at another.
    fn new_loc(&mut self) {
        let line = self.random.below(40) as u32;
        let outer = line.is_multiple_of(5).then(|| {
            let loc = Loc { file: "src/main.rs".into(), line: 7, column: 3, inlined_at: None };
            self.s.b.loc(loc)
        });
        self.s.loc = match line < 12 {
            true => LocId::UNKNOWN,
            false => {
                self.s.b.loc(Loc { file: "src/k.rs".into(), line, column: 9, inlined_at: outer })
            }
        };
    }

    /// Makes a value known, which is not larger than `bound`.
    pub(super) fn learn(&mut self, value: Value, bound: i64) {
        let known = self.bounded(value, bound);
        if self.s.ty(value).n_elems() <= MAX_ELEMS {
            self.known.push(known);
        }
    }

    /// Makes a value known that is small if it must be exact: one from memory, or carried.
    pub(super) fn learn_small(&mut self, value: Value) {
        self.learn(value, if self.dtype(value).is_float() { SMALL } else { i64::MAX });
    }

    fn bounded(&self, value: Value, bound: i64) -> Known {
        let dtype = self.dtype(value);
        // Rounding to a narrow float may have made it larger.
        let bound = match dtype.is_float() {
            true => bound.saturating_add(bound / 64),
            false => bound.min(largest(dtype)),
        };
        Known { value, bound }
    }

    fn any(&mut self, fits: impl Fn(&Type) -> bool) -> Option<Known> {
        let kernel = self.s.b.kernel();
        let fitting: Vec<Known> =
            self.known.iter().copied().filter(|known| fits(kernel.ty(known.value))).collect();
        // Later values twice as often: programs grow deep and not only wide.
        let from = if self.random.one_in(2) { fitting.len() / 2 } else { 0 };
        let idx = from + self.random.below(fitting.len() - from);
        fitting.get(idx).copied()
    }

    /// A value of the type of another: one in sight, or made of one.
    fn any_like(&mut self, value: Value) -> Known {
        let ty = self.s.ty(value);
        if self.random.one_in(2)
            && let Some(known) = self.any(|other| *other == ty)
        {
            return known;
        }
        let value = self.value_of(ty.dtype(), ty.shape());
        self.bounded(value, if ty.dtype().is_float() { SMALL } else { i64::MAX })
    }

    /// A value of numbers up to `SMALL` that depends on this one, if they must be exact.
    fn small(&mut self, x: Known) -> Known {
        if self.numbers == Numbers::Any || x.bound <= SMALL {
            return x;
        }
        let modulus = self.s.like(x.value, SMALL as f64 + 1.0);
        Known { value: self.s.binary(Binary::Rem, x.value, modulus), bound: SMALL }
    }

    /// Any value in sight, small, brought to this type.
    pub(super) fn value_of(&mut self, dtype: DType, shape: &[usize]) -> Value {
        let x = self.any(|ty| ty.is_scalar() || !shape.is_empty()).unwrap();
        let x = self.small(x).value;
        let x = self.s.cast(x, dtype);
        self.fit(x, shape)
    }

    /// A value cut at random, or repeated, to a shape.
    fn fit(&mut self, mut x: Value, shape: &[usize]) -> Value {
        let ty = self.s.ty(x);
        if shape.is_empty() {
            return x;
        }
        if ty.is_scalar() {
            return self.s.shape(ShapeOp::Splat(Shape::from_slice(shape)), &[x]);
        }
        let part = ty.shape().iter().zip(shape);
        let part: Shape = part.map(|(&n, &to)| if n < to { 1 } else { to }).collect();
        if part[..] != *ty.shape() {
            let all = ty.shape().iter().zip(&part);
            let starts = all.map(|(all, part)| self.random.below(all - part + 1)).collect();
            let strides = part.iter().map(|_| 1).collect();
            x = self.s.shape(ShapeOp::Slice { starts, sizes: part.clone(), strides }, &[x]);
        }
        if part[..] == *shape { x } else { self.s.broadcast(x, shape) }
    }

    /// A small value that depends on several, so that a mistake in one of them shows.
    pub(super) fn digest(&mut self, dtype: DType) -> Value {
        let mut sum = self.value_of(DType::I32, &SHAPE);
        for _ in 0..8 {
            let x = self.any(|_| true).unwrap().value;
            let x = self.s.cast(x, DType::I32);
            let x = self.fit(x, &SHAPE);
            let factor = self.s.like(sum, 31.0);
            let product = self.s.binary(Binary::Mul, sum, factor);
            sum = self.s.binary(Binary::Add, product, x);
        }
        let small = self.small(Known { value: sum, bound: i64::MAX }).value;
        self.s.cast(small, dtype)
    }

    pub(super) fn all_ops(&mut self, n_ops: usize) {
        self.n_left = n_ops;
        self.ops(n_ops, 0);
    }

    fn ops(&mut self, n: usize, depth: usize) {
        for _ in 0..n {
            if self.n_left == 0 {
                return;
            }
            self.n_left -= 1;
            self.new_loc();
            match self.random.below(31) {
                0..=3 => self.unary(),
                4..=8 => self.binary(),
                9..=11 => self.compare_and_select(),
                12..=14 => self.convert(),
                15 | 16 => self.reduce(),
                17..=20 => self.shape(),
                21 => self.dot(),
                22..=24 => self.access(),
                25 => self.constant(),
                26 if self.numbers == Numbers::Any => self.print(),
                27 if depth < 3 => self.branch(depth),
                28 if depth < 3 => self.count(depth),
                29 if depth < 3 => self.repeat(depth),
                30 if depth < 3 => self.scope(depth),
                _ => self.binary(),
            };
        }
    }

    fn constant(&mut self) -> Option<()> {
        let dtype = self.random.pick(DType::COMPUTED);
        let (value, bound) = match self.numbers {
            Numbers::Exact => (self.random.below(17) as f64 - 8.0, SMALL),
            Numbers::Any => (self.random.below(2001) as f64 / 8.0 - 125.0, 125),
        };
        let value = self.s.literal(dtype, value);
        self.learn(value, bound);
        Some(())
    }

    fn unary(&mut self) -> Option<()> {
        let op = self.random.pick(Unary::ALL);
        let x = self.any(|ty| op.accepts(ty.dtype()))?;
        if self.is_exact(self.dtype(x.value)) && op.ulp() > 0 {
            // At zero these give an infinity of its sign, which reductions leave open.
            let has_pole = matches!(op, Unary::Reciprocal | Unary::ReciprocalApprox | Unary::Rsqrt);
            let from = if has_pole { 1 } else { -SMALL };
            let offset = safe_offset(op, from)?;
            let mut x = self.small_f32(x);
            if from > 0 {
                x = self.positive(x);
            }
            let value = self.s.unary(op, x);
            let value = self.settle(value, offset);
            self.learn(value, SMALL);
            return Some(());
        }
        let value = self.s.unary(op, x.value);
        self.learn(value, if self.dtype(value).is_float() { x.bound.max(1) } else { i64::MAX });
        Some(())
    }

    fn binary(&mut self) -> Option<()> {
        let op = self.random.pick(Binary::ALL);
        let mut x = self.any(|ty| op.accepts(ty.dtype()))?;
        let mut y = self.any_like(x.value);
        let dtype = self.dtype(x.value);
        if !self.is_exact(dtype) {
            let value = self.s.binary(op, x.value, y.value);
            self.learn(value, i64::MAX);
            return Some(());
        }
        let bound = |x: Known, y: Known| match op {
            Binary::Mul => x.bound.saturating_mul(y.bound),
            _ => x.bound.saturating_add(y.bound),
        };
        if bound(x, y) > limit(dtype) || matches!(op, Binary::Rem) {
            (x, y) = (self.small(x), self.small(y));
        }
        let (value, bound) = match op {
            Binary::Div => {
                // A quotient of small whole numbers is never within 1/136 of a whole number less
                // 1/17.
                let (x, y) = (self.small_f32(x), self.small_f32(y));
                let y = self.positive(y);
                let quotient = self.s.binary(op, x, y);
                (self.settle(quotient, 1.0 / 17.0), SMALL)
            }
            Binary::Atan2 => {
                // The first one is no zero, whose sign would choose the side.
                let (x, y) = (self.small_f32(x), self.small_f32(y));
                let x = self.positive(x);
                let angle = self.s.binary(op, x, y);
                (self.settle(angle, 0.5), SMALL)
            }
            Binary::Pow => {
                let (x, y) = (self.small_f32(x), self.small_f32(y));
                let y = self.s.unary(Unary::Abs, y);
                let power = self.s.binary(op, x, y);
                (self.settle(power, 0.5), SMALL)
            }
            Binary::Rem => {
                let y = self.positive(y.value);
                (self.s.binary(op, x.value, y), SMALL)
            }
            Binary::Add
            | Binary::Sub
            | Binary::Mul
            | Binary::Max
            | Binary::Min
            | Binary::And
            | Binary::Or
            | Binary::Xor
            | Binary::Shl
            | Binary::Shr => (self.s.binary(op, x.value, y.value), bound(x, y)),
        };
        self.learn(value, bound);
        Some(())
    }

    fn small_f32(&mut self, x: Known) -> Value {
        let x = self.small(x).value;
        self.s.cast(x, DType::F32)
    }

    /// The size of each number, at least 1.
    fn positive(&mut self, x: Value) -> Value {
        let one = self.s.like(x, 1.0);
        let size = self.s.unary(Unary::Abs, x);
        self.s.binary(Binary::Max, size, one)
    }

    /// `floor(x + offset)` in small numbers; 0 for NaN.
    fn settle(&mut self, x: Value, offset: f64) -> Value {
        let (zero, offset) = (self.s.like(x, 0.0), self.s.like(x, offset));
        let number = self.s.compare(Compare::Eq, x, x);
        let x = self.s.select(number, x, zero);
        let (lo, hi) = (self.s.like(x, -SMALL as f64), self.s.like(x, SMALL as f64));
        let x = self.s.binary(Binary::Max, x, lo);
        let x = self.s.binary(Binary::Min, x, hi);
        let x = self.s.binary(Binary::Add, x, offset);
        self.s.unary(Unary::Floor, x)
    }

    fn compare_and_select(&mut self) -> Option<()> {
        let x = self.any(|_| true)?;
        let y = self.any_like(x.value);
        let op = self.random.pick(Compare::ALL);
        let cond = self.s.compare(op, x.value, y.value);
        self.learn(cond, 1);
        let mask = self.any(|ty| ty.dtype() == DType::Bool)?;
        let mask_ty = self.s.ty(mask.value);
        let a = self.any(|ty| mask_ty.is_scalar() || ty.shape() == mask_ty.shape())?;
        let b = self.any_like(a.value);
        let value = self.s.select(mask.value, a.value, b.value);
        self.learn(value, a.bound.max(b.bound));
        Some(())
    }

    /// `cast` or `bitcast`.
    fn convert(&mut self) -> Option<()> {
        let to = self.random.pick(DType::COMPUTED);
        let mut x = self.any(|_| true)?;
        if self.random.one_in(4) {
            // The sign of zero would show in a float's bits, and theirs make no whole number.
            let floats = self.dtype(x.value).is_float() || to.is_float();
            if self.numbers == Numbers::Exact && floats {
                return None;
            }
            let value = self.push(Op::Elementwise(Elementwise::Bitcast(to)), &[x.value])?;
            self.learn(value, i64::MAX);
            return Some(());
        }
        if to.is_float() && x.bound > limit(to) {
            x = self.small(x);
        }
        let value = self.s.cast(x.value, to);
        // Integers may wrap.
        let wraps = to.int_range().is_some_and(|(lo, hi)| lo == 0 || x.bound > hi);
        self.learn(value, if wraps { i64::MAX } else { x.bound });
        Some(())
    }

    fn reduce(&mut self) -> Option<()> {
        let kind = self.random.pick(ReduceKind::ALL);
        let mut x = self.any(|ty| ty.is_tile() && ty.dtype() != DType::Bool)?;
        let axis = self.random.below(2);
        let ty = self.s.ty(x.value);
        let n = ty.shape()[axis] as i64;
        if kind == ReduceKind::Sum && x.bound.saturating_mul(n) > limit(ty.dtype()) {
            x = self.small(x);
        }
        let value = self.push(Op::Reduce(ReduceOp { kind, axis }), &[x.value])?;
        self.learn(value, x.bound.saturating_mul(n));
        Some(())
    }

    fn shape(&mut self) -> Option<()> {
        let x = self.any(|_| true)?;
        let Type::Tile { shape, .. } = self.s.ty(x.value) else {
            let sizes = [self.random.pick(&[1, SHAPE[0]]), self.random.pick(&[1, SHAPE[1]])];
            let value = self.s.shape(ShapeOp::Splat(Shape::from_slice(&sizes)), &[x.value]);
            self.learn(value, x.bound);
            return Some(());
        };
        let axis = self.random.below(2);
        let (mut operands, mut bound) = (vec![x.value], x.bound);
        let op = match self.random.below(8) {
            0 => {
                let sizes = shape.iter().zip(SHAPE);
                ShapeOp::Broadcast(sizes.map(|(&n, full)| if n == 1 { full } else { n }).collect())
            }
            1 => ShapeOp::Transpose([1, 0].into_iter().collect()),
            2 => {
                let (rows, cols) = (shape[0], shape[1]);
                let fold = if rows % 2 == 0 { [rows / 2, cols * 2] } else { [cols, rows] };
                ShapeOp::Reshape(Shape::from_slice(&fold))
            }
            3 => {
                let y = self.any_like(x.value);
                operands.push(y.value);
                bound = bound.max(y.bound);
                ShapeOp::Concat { axis }
            }
            4 => {
                let starts: Shape = shape.iter().map(|&n| self.random.below(n)).collect();
                let strides: Shape = shape.iter().map(|_| 1 + self.random.below(3)).collect();
                let rest = shape.iter().zip(&starts).zip(&strides);
                let sizes = rest.map(|((n, start), stride)| (n - start).div_ceil(*stride));
                ShapeOp::Slice { sizes: sizes.collect(), starts, strides }
            }
            5 => {
                let shift = self.place(3 * shape[axis]);
                let back = self.s.int(-(shape[axis] as i64));
                operands.push(self.s.binary(Binary::Add, shift, back));
                let stride = self.random.one_in(3).then(|| {
                    let by = self.random.below(5);
                    RollStride { by, axis: 1 - axis }
                });
                ShapeOp::Roll { axis, stride: stride.filter(|_| shape.len() == 2) }
            }
            6 => {
                let places = ShapeOp::Iota { dtype: DType::I32, shape: shape.clone(), axis };
                let places = self.push(Op::Shape(places), &[])?;
                let last = self.s.like(places, shape[axis] as f64 - 1.0);
                operands.push(self.s.binary(Binary::Sub, last, places));
                ShapeOp::TakeAlongAxis { axis }
            }
            _ => {
                operands.clear();
                let dtype = self.random.pick(&[DType::I32, DType::U32, DType::U8]);
                bound = shape[axis] as i64;
                ShapeOp::Iota { dtype, shape, axis }
            }
        };
        let value = self.push(Op::Shape(op), &operands)?;
        self.learn(value, bound);
        Some(())
    }

    fn dot(&mut self) -> Option<()> {
        let is_matrix = |ty: &Type| ty.is_tile() && ty.dtype() != DType::Bool;
        let mut x = self.any(is_matrix)?;
        let ty = self.s.ty(x.value);
        let [transpose_lhs, mut transpose_rhs] = [(); 2].map(|()| self.random.one_in(2));
        let k = ty.shape()[usize::from(!transpose_lhs)];
        let is_float = ty.dtype().is_float();
        let mut y = self.any(|ty| {
            is_matrix(ty) && ty.dtype().is_float() == is_float && ty.shape().contains(&k)
        })?;
        if self.s.ty(y.value).shape()[usize::from(transpose_rhs)] != k {
            transpose_rhs = !transpose_rhs;
        }
        let precision = self.random.pick(Precision::ALL);
        let op = DotOp { transpose_lhs, transpose_rhs, precision };
        let (m, _, n) = op.sizes(ty.shape(), self.s.ty(y.value).shape());
        if m * n > MAX_ELEMS {
            return None;
        }
        let bound = |x: Known, y: Known| x.bound.saturating_mul(y.bound).saturating_mul(k as i64);
        if bound(x, y) > limit(DType::F32) {
            (x, y) = (self.small(x), self.small(y));
        }
        let value = self.push(Op::Dot(op), &[x.value, y.value])?;
        self.learn(value, bound(x, y));
        Some(())
    }

    /// An `i32` scalar in `0..n`.
    fn place(&mut self, n: usize) -> Value {
        let known = self.any(|ty| *ty == Type::Scalar(DType::I32));
        let (n, zero) = (self.s.int(n as i64), self.s.int(0));
        let x = known.map_or(zero, |known| known.value);
        let x = self.s.binary(Binary::Rem, x, n);
        self.s.binary(Binary::Max, x, zero)
    }

    /// Loads from scratch, or stores to it, whole or in part, under a mask or not.
    fn access(&mut self) -> Option<()> {
        let memory = self.random.below(self.memory.len());
        let memory = self.memory[memory];
        let (rows, starts) = match self.random.below(4) {
            0 => (AccessDim::full(SHAPE[0]), vec![]),
            1 => (dim(Some(self.random.below(9)), 8, 1, true), vec![]),
            2 => (dim(Some(self.random.below(2)), 8, 2, true), vec![]),
            _ => (dim(None, 8, 1, true), vec![self.place(9)]),
        };
        let access = access(&[rows, AccessDim::full(SHAPE[1])]);
        let (dtype, shape) = (self.dtype(memory), access.tile_shape());
        let masked = self.random.one_in(4);
        let mask = if masked { vec![self.value_of(DType::Bool, &shape)] } else { vec![] };
        if self.random.one_in(2) {
            let value = self.value_of(dtype, &shape);
            let store = Op::Memory(MemoryOp::Store { access, masked });
            self.s.push(store, &[&[memory, value], &starts[..], &mask].concat(), &[]);
            return Some(());
        }
        let load = Op::Memory(MemoryOp::Load { access, masked });
        let mut value = self.s.op(load, &[&[memory], &starts[..], &mask].concat());
        if masked {
            // What the mask leaves out is not defined.
            let other = self.value_of(dtype, &shape);
            value = self.s.select(mask[0], value, other);
        }
        self.learn_small(value);
        Some(())
    }

    fn print(&mut self) -> Option<()> {
        let x = self.any(|_| true)?;
        let message = self.random.pick(&["x", "a \"quoted\"\n\\ ∑ message", ""]).to_string();
        self.s.push(Op::Debug(DebugOp::Print { message }), &[x.value], &[]);
        Some(())
    }

    fn small_like(&mut self, like: Value) -> Value {
        let known = self.any_like(like);
        self.small(known).value
    }

    /// Writes a region that takes `args` and yields a small value of the type of `like`, after what
    /// `step` makes of the first argument.
    fn region(
        &mut self,
        args: &[Type],
        like: Value,
        depth: usize,
        step: impl FnOnce(&mut Sketch, Value) -> Option<Value>,
    ) -> BlockId {
        let (block, args) = self.s.b.open_block(args);
        let n_outside = self.known.len();
        for &arg in &args {
            self.learn_small(arg);
        }
        let n_ops = self.random.below(5);
        self.ops(n_ops, depth + 1);
        let next = self.small_like(like);
        self.known.truncate(n_outside);
        let mut yields = vec![next];
        if let [first, ..] = args[..]
            && let Some(first) = step(&mut self.s, first)
        {
            yields.insert(0, first);
        }
        self.s.b.close_block(&yields, self.s.loc);
        block
    }

    fn branch(&mut self, depth: usize) -> Option<()> {
        let cond = match self.any(|ty| *ty == Type::Scalar(DType::Bool)) {
            Some(cond) if self.random.one_in(2) => cond.value,
            _ => {
                let (x, one) = (self.place(3), self.s.int(1));
                self.s.compare(Compare::Eq, x, one)
            }
        };
        let like = self.any(|_| true)?.value;
        let regions = [(); 2].map(|()| self.region(&[], like, depth, |_, _| None));
        let results = self.s.push(Op::Control(ControlOp::If), &[cond], &regions);
        self.learn_small(results[0]);
        Some(())
    }

    fn count(&mut self, depth: usize) -> Option<()> {
        let like = self.any(|_| true)?.value;
        let init = self.small_like(like);
        let (lo, step) = (self.random.below(7) as i64 - 3, 1 + self.random.below(3) as i64);
        let hi = lo - 1 + self.random.below(6) as i64;
        let [lo, mut hi, step] = [lo, hi, step].map(|bound| self.s.int(bound));
        if self.random.one_in(3) {
            hi = self.place(4);
        }
        let args = [Type::Scalar(DType::I32), self.s.ty(init)];
        let body = self.region(&args, init, depth, |_, _| None);
        let results = self.s.push(Op::Control(ControlOp::For), &[lo, hi, step, init], &[body]);
        self.learn_small(results[0]);
        Some(())
    }

    /// Memory that a part of the body alone has: written whole, then used like other memory.
    fn scope(&mut self, depth: usize) -> Option<()> {
        let like = self.any(|_| true)?.value;
        let dtype = self.random.pick(&TYPES);
        let shape = Shape::from_slice(&SHAPE);
        let (block, args) =
            self.s.b.open_block(&[Type::Ref { dtype, shape, space: MemorySpace::Vmem }]);
        let n_outside = self.known.len();
        let first = self.value_of(dtype, &SHAPE);
        let access = access(&SHAPE.map(AccessDim::full));
        let store = Op::Memory(MemoryOp::Store { access, masked: false });
        self.s.push(store, &[args[0], first], &[]);
        self.memory.push(args[0]);
        let n_ops = self.random.below(5);
        self.ops(n_ops, depth + 1);
        self.memory.pop();
        let result = self.small_like(like);
        self.known.truncate(n_outside);
        self.s.b.close_block(&[result], self.s.loc);
        let results = self.s.push(Op::Control(ControlOp::Scope), &[], &[block]);
        self.learn_small(results[0]);
        Some(())
    }

    /// `while`: counts up by some step, or halves a number until it is zero.
    fn repeat(&mut self, depth: usize) -> Option<()> {
        let like = self.any(|_| true)?.value;
        let init = self.small_like(like);
        let start = self.random.below(9) as i64;
        let (start, compare, end, next, step) = match self.random.below(3) {
            0 => (start, Compare::Gt, 0, Binary::Div, 2),
            1 => (-start, Compare::Lt, 2, Binary::Add, 1 + self.random.below(5) as i64),
            _ => (-start, Compare::Le, 2, Binary::Add, 1 + self.random.below(5) as i64),
        };
        let start = self.s.int(start);
        let args = [Type::Scalar(DType::I32), self.s.ty(init)];
        let cond = self.s.block(&args, |s, args| {
            let end = s.int(end);
            vec![s.compare(compare, args[0], end)]
        });
        let body = self.region(&args, init, depth, |s, counter| {
            let step = s.int(step);
            Some(s.binary(next, counter, step))
        });
        let results = self.s.push(Op::Control(ControlOp::While), &[start, init], &[cond, body]);
        self.learn_small(results[1]);
        Some(())
    }
}

/// An offset that takes every value of the op at a small whole number from `from` on away from
/// whole numbers; `None` if there is none.
fn safe_offset(op: Unary, from: i64) -> Option<f64> {
    let values = (from..=SMALL).map(|x| f64::from(op.eval_float(x as f32)));
    let values: Vec<f64> = values.filter(|x| x.abs() <= SMALL as f64 + 1.0).collect();
    let is_safe = |offset: f64| {
        values.iter().all(|x| {
            let distance = (x + offset) - (x + offset).round();
            distance.abs() > 1e-3
        })
    };
    (1..64).map(|i| f64::from(i) / 64.0).find(|&offset| is_safe(offset))
}
