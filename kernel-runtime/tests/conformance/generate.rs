//! Random valid kernels whose results are exact.
//!
//! Floats hold whole numbers of bounded size, so that sums are exact in any order and it does not
//! matter whether a product and a sum are fused. Ops that round are followed by a `floor` at a
//! safe distance from the values they can take: they are run, but their last bits do not show.
//! What each op does with every other value is for the conformance suite.

use crate::sketch::{Sketch, access, dim};
use systole::ir::kernel::{BlockDim, ParamKind, Value};
use systole::ir::ops::{Binary, Compare, Precision, ReduceKind, ShapeOp, Unary};
use systole::ir::{Array, DType, Kernel};
use systole::run::Sampler;

/// Every tile in the pool has this shape.
const SHAPE: [usize; 2] = [16, 128];
/// Values are brought back to this size where they grow.
const SMALL: i64 = 8;
/// Element types of tiles.
const TYPES: [DType; 7] =
    [DType::F32, DType::F32, DType::BF16, DType::I32, DType::F16, DType::I8, DType::U8];

/// The kernel of a seed, with about `n_ops` random ops, and its inputs.
pub(crate) fn kernel(seed: u64, n_ops: usize) -> (Kernel, Vec<Array>) {
    let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut s = Sketch::new("fuzz");
    let extents: Vec<usize> = (0..rng.below(3)).map(|_| [1, 2, 3, 5, 20][rng.below(5)]).collect();
    let indices: Vec<Value> = extents
        .iter()
        .enumerate()
        .map(|(axis, &n)| if axis == 0 { s.parallel(n) } else { s.arbitrary(n) })
        .collect();
    let mut sampler = Sampler::new(seed);
    let (mut inputs, mut arrays) = (Vec::new(), Vec::new());
    for _ in 0..1 + rng.below(3) {
        let dtype = TYPES[rng.below(TYPES.len())];
        let (array_shape, block) = window(&mut rng, &extents, true);
        let (lo, hi) = if is_unsigned(dtype) { (0.0, 9.0) } else { (-8.0, 9.0) };
        let values = sampler.uniform(DType::I32, &array_shape, lo, hi).to_f64();
        arrays.push(Array::from_f64(dtype, &array_shape, &values).unwrap());
        inputs.push((declare(&mut s, ParamKind::In, dtype, &array_shape, &block), block));
    }
    let (array_shape, block) = window(&mut rng, &extents, false);
    let out_dtype = TYPES[rng.below(TYPES.len())];
    let output = declare(&mut s, ParamKind::Out, out_dtype, &array_shape, &block);
    let memory: Vec<Value> = (0..2)
        .map(|_| {
            let dtype = TYPES[rng.below(TYPES.len())];
            s.scratch(dtype, &SHAPE)
        })
        .collect();
    let scalars = indices.clone();
    let mut body = Body { s, rng, tiles: Vec::new(), scalars, memory, n_left: n_ops };
    body.start(&inputs);
    body.ops(0);
    body.finish(output, &extents, &block, &indices);
    (body.s.kernel(), arrays)
}

fn is_unsigned(dtype: DType) -> bool {
    dtype.is_int() && !dtype.is_signed_int()
}

/// How a parameter is cut: per axis, the grid axis that its block number follows.
type Cut = [Option<usize>; 2];

/// An array's shape and its cut. Arrays may end within a block. An output is cut by the first
/// grid axis if there is one, so that `parallel` steps write their own blocks.
fn window(rng: &mut Rng, extents: &[usize], input: bool) -> (Vec<usize>, Cut) {
    let mut shape = SHAPE.to_vec();
    let mut cut = [None; 2];
    for axis in 0..extents.len().min(2) {
        if !input && axis == 0 || rng.below(3) > 0 {
            cut[axis] = Some(axis);
            shape[axis] *= extents[axis];
        }
    }
    if !input {
        // Only the edge of an output may be ragged: what is read there would be padding.
        for size in &mut shape {
            *size -= [0, 0, 3][rng.below(3)];
        }
    }
    (shape, cut)
}

fn declare(s: &mut Sketch, kind: ParamKind, dtype: DType, shape: &[usize], cut: &Cut) -> Value {
    let block = SHAPE.map(BlockDim::Blocked);
    s.param(kind, dtype, shape, &block, |s, g| {
        cut.iter()
            .map(|axis| match axis {
                Some(axis) => g[*axis],
                None => s.int(0),
            })
            .collect()
    })
}

/// SplitMix64.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// A tile and how large its numbers may be (integers wrap, so theirs does not matter).
#[derive(Clone, Copy)]
struct Tile {
    value: Value,
    bound: i64,
}

struct Body {
    s: Sketch,
    rng: Rng,
    tiles: Vec<Tile>,
    scalars: Vec<Value>,
    memory: Vec<Value>,
    n_left: usize,
}

impl Body {
    /// Loads the inputs and fills scratch.
    fn start(&mut self, inputs: &[(Value, Cut)]) {
        for &(input, _) in inputs {
            let value = self.s.load(input);
            self.tiles.push(Tile { value, bound: SMALL });
        }
        let two = self.s.int(2);
        self.scalars.push(two);
        for idx in 0..self.memory.len() {
            let tile = self.small_as(self.dtype(self.memory[idx]));
            self.s.store(self.memory[idx], tile);
        }
    }

    /// Stores a result; an output block that stays where it is gathers those of all its steps.
    fn finish(&mut self, output: Value, extents: &[usize], cut: &Cut, indices: &[Value]) {
        let dtype = self.dtype(output);
        let result = self.small_as(dtype);
        if extents.len() < 2 || cut[1].is_some() {
            self.s.store(output, result);
            return;
        }
        let zero = self.s.int(0);
        let first = self.s.compare(Compare::Eq, indices[1], zero);
        self.s.if_(
            first,
            |s| {
                s.store(output, result);
                vec![]
            },
            |s| {
                let old = s.load(output);
                let larger = s.binary(Binary::Max, old, result);
                s.store(output, larger);
                vec![]
            },
        );
    }

    fn dtype(&self, value: Value) -> DType {
        self.s.ty(value).dtype()
    }

    fn any(&mut self) -> Tile {
        self.tiles[self.rng.below(self.tiles.len())]
    }

    /// The numbers of a tile limited to `SMALL`.
    fn small(&mut self, tile: Tile) -> Value {
        let dtype = self.dtype(tile.value);
        if dtype.is_float() && tile.bound <= SMALL {
            return tile.value;
        }
        let hi = self.s.like(tile.value, SMALL as f64);
        let lo = self.s.like(tile.value, if is_unsigned(dtype) { 0.0 } else { -SMALL as f64 });
        let value = self.s.binary(Binary::Max, tile.value, lo);
        self.s.binary(Binary::Min, value, hi)
    }

    /// Any tile with small numbers, as this type.
    fn small_as(&mut self, dtype: DType) -> Value {
        let tile = self.any();
        let mut value = self.small(tile);
        if is_unsigned(dtype) && !is_unsigned(self.dtype(value)) {
            value = self.s.unary(Unary::Abs, value);
        }
        self.s.cast(value, dtype)
    }

    fn push(&mut self, value: Value, bound: i64) {
        self.tiles.push(Tile { value, bound });
    }

    /// Ops until the budget is spent, or for a nested block until luck says so.
    fn ops(&mut self, depth: usize) {
        let n = if depth == 0 { self.n_left } else { 1 + self.rng.below(5) };
        for _ in 0..n {
            if self.n_left == 0 {
                return;
            }
            self.n_left -= 1;
            match self.rng.below(12) {
                0 | 1 => self.unary(),
                2 | 3 => self.binary(),
                4 => self.inexact(),
                5 => self.compare(),
                6 => self.cast(),
                7 => self.shape(),
                8 => self.reduce(),
                9 => self.dot(),
                10 => self.access(),
                _ if depth < 2 => self.control(depth),
                _ => self.access(),
            }
        }
    }

    fn unary(&mut self) {
        let tile = self.any();
        let dtype = self.dtype(tile.value);
        let exact = [Unary::Neg, Unary::Abs, Unary::Sign, Unary::Floor, Unary::Ceil];
        let exact = [&exact[..], &[Unary::RoundEven, Unary::Not]].concat();
        let op = exact[self.rng.below(exact.len())];
        if op.accepts(dtype) {
            let value = self.s.unary(op, tile.value);
            self.push(value, tile.bound.max(1));
        }
    }

    fn binary(&mut self) {
        let x = self.any();
        let dtype = self.dtype(x.value);
        let op = Binary::ALL[self.rng.below(Binary::ALL.len())];
        if !op.accepts(dtype) {
            return;
        }
        if !dtype.is_float() {
            let y = self.small_as(dtype);
            let value = self.s.binary(op, x.value, y);
            return self.push(value, 0);
        }
        let x = self.small(x);
        let y = self.small_as(dtype);
        let (value, bound) = match op {
            Binary::Add | Binary::Sub => (self.s.binary(op, x, y), 2 * SMALL),
            Binary::Mul => (self.s.binary(op, x, y), SMALL * SMALL),
            Binary::Max | Binary::Min => (self.s.binary(op, x, y), SMALL),
            Binary::Rem => {
                let divisor = self.positive(y);
                (self.s.binary(op, x, divisor), SMALL)
            }
            // A quotient of small whole numbers is never within 1/136 of a whole number less 1/17.
            Binary::Div => {
                let x = self.s.cast(x, DType::F32);
                let y = self.positive(y);
                let y = self.s.cast(y, DType::F32);
                let quotient = self.s.binary(op, x, y);
                (self.settle(quotient, 1.0 / 17.0), SMALL)
            }
            Binary::Pow | Binary::And | Binary::Or | Binary::Xor | Binary::Shl | Binary::Shr => {
                return;
            }
        };
        self.push(value, bound);
    }

    /// The size of each number, at least 1.
    fn positive(&mut self, x: Value) -> Value {
        let one = self.s.like(x, 1.0);
        let size = self.s.unary(Unary::Abs, x);
        self.s.binary(Binary::Max, size, one)
    }

    /// `floor(x + offset)` in small numbers; 0 for NaN.
    fn settle(&mut self, x: Value, offset: f64) -> Value {
        let s = &mut self.s;
        let (zero, offset) = (s.like(x, 0.0), s.like(x, offset));
        let (lo, hi) = (s.like(x, -SMALL as f64), s.like(x, SMALL as f64));
        let number = s.compare(Compare::Eq, x, x);
        let x = s.select(number, x, zero);
        let x = s.binary(Binary::Max, x, lo);
        let x = s.binary(Binary::Min, x, hi);
        let x = s.binary(Binary::Add, x, offset);
        let x = s.unary(Unary::Floor, x);
        s.binary(Binary::Min, x, hi)
    }

    /// An op that rounds, at whole numbers.
    fn inexact(&mut self) {
        let op = Unary::ALL[self.rng.below(Unary::ALL.len())];
        let Some(offset) = safe_offset(op) else { return };
        let x = self.small_as(DType::F32);
        let value = self.s.unary(op, x);
        let value = self.settle(value, offset);
        self.push(value, SMALL);
    }

    fn compare(&mut self) {
        let x = self.any();
        let dtype = self.dtype(x.value);
        let y = self.small_as(dtype);
        let op = Compare::ALL[self.rng.below(Compare::ALL.len())];
        let holds = self.s.compare(op, x.value, y);
        let value = self.s.select(holds, x.value, y);
        self.push(value, x.bound.max(SMALL));
    }

    fn cast(&mut self) {
        let to = TYPES[self.rng.below(TYPES.len())];
        let value = self.small_as(to);
        self.push(value, SMALL);
    }

    fn shape(&mut self) {
        let x = self.any();
        let axis = self.rng.below(2);
        let value = match self.rng.below(4) {
            0 => {
                let shift = self.scalar();
                self.s.shape(ShapeOp::Roll { axis }, &[x.value, shift])
            }
            1 => {
                let perm = ShapeOp::Transpose([1, 0].into_iter().collect());
                let turned = self.s.shape(perm, &[x.value]);
                self.s.shape(ShapeOp::Reshape(SHAPE.into_iter().collect()), &[turned])
            }
            2 => {
                let y = self.small_as(self.dtype(x.value));
                let both = self.s.shape(ShapeOp::Concat { axis }, &[x.value, y]);
                let mut starts = [0, 0];
                let (mut strides, n) = ([1, 1], SHAPE[axis]);
                match self.rng.below(2) {
                    0 => strides[axis] = 2,
                    _ => starts[axis] = self.rng.below(n),
                }
                let slice = ShapeOp::Slice {
                    starts: starts.into_iter().collect(),
                    sizes: SHAPE.into_iter().collect(),
                    strides: strides.into_iter().collect(),
                };
                self.s.shape(slice, &[both])
            }
            _ => {
                let shape = SHAPE.into_iter().collect();
                let iota = ShapeOp::Iota { dtype: DType::I32, shape, axis };
                self.s.shape(iota, &[])
            }
        };
        self.push(value, x.bound.max(SMALL));
    }

    fn reduce(&mut self) {
        let tile = self.any();
        let x = self.small(tile);
        let axis = self.rng.below(2);
        let kind = ReduceKind::ALL[self.rng.below(ReduceKind::ALL.len())];
        let reduced = self.s.reduce(kind, x, axis);
        let value = self.s.broadcast(reduced, &SHAPE);
        // A sum may not fit bf16 exactly, but it is rounded once.
        self.push(value, SMALL * SHAPE[axis] as i64);
    }

    fn dot(&mut self) {
        let tile = self.any();
        let mut x = self.small(tile);
        if self.dtype(x) == DType::F16 {
            x = self.s.cast(x, DType::F32);
        }
        let y = self.small_as(self.dtype(x));
        let precision = Precision::ALL[self.rng.below(3)];
        // [16, 128] x [16, 128]^T, then its small numbers by the first operand.
        let square = self.s.dot(x, y, (false, true), precision);
        let bound = SMALL * SMALL * 128;
        let square = self.small(Tile { value: square, bound });
        let square = self.s.cast(square, self.s.ty(x).dtype());
        let value = self.s.dot(square, x, (self.rng.below(2) == 0, false), precision);
        self.push(value, SMALL * SMALL * 16);
    }

    /// An `i32` scalar below 100 or so.
    fn scalar(&mut self) -> Value {
        let known = self.scalars[self.rng.below(self.scalars.len())];
        let more = self.s.int(self.rng.below(40) as i64);
        self.s.binary(Binary::Add, known, more)
    }

    /// A scalar in `0..n`.
    fn place(&mut self, n: usize) -> Value {
        let (scalar, n) = (self.scalar(), self.s.int(n as i64));
        self.s.binary(Binary::Rem, scalar, n)
    }

    /// Loads from scratch, or stores to it, whole or in part.
    fn access(&mut self) {
        let memory = self.memory[self.rng.below(self.memory.len())];
        let dtype = self.dtype(memory);
        if self.rng.below(3) == 0 {
            let value = self.s.load(memory);
            return self.push(value, SMALL);
        }
        let whole = dim(Some(0), 128, 1, true);
        let (rows, starts) = match self.rng.below(3) {
            0 => (dim(Some(self.rng.below(9)), 8, 1, true), vec![]),
            1 => (dim(Some(self.rng.below(2)), 8, 2, true), vec![]),
            _ => (dim(None, 8, 1, true), vec![self.place(9)]),
        };
        let part = access(&[rows, whole]);
        if self.rng.below(2) == 0 {
            let value = self.small_as(dtype);
            let half = ShapeOp::Slice {
                starts: [4, 0].into_iter().collect(),
                sizes: [8, 128].into_iter().collect(),
                strides: [1, 1].into_iter().collect(),
            };
            let value = self.s.shape(half, &[value]);
            self.s.store_at(memory, value, part, &starts);
        } else {
            let value = self.s.load_at(memory, part, &starts);
            let value = self.s.shape(ShapeOp::Concat { axis: 0 }, &[value, value]);
            self.push(value, SMALL);
        }
    }

    /// A branch or a loop around more ops; it carries a tile.
    fn control(&mut self, depth: usize) {
        let carried = self.small_as(DType::F32);
        let is_loop = self.rng.below(2) == 0;
        let inside = |body: &mut Body, args: &[Value]| {
            let (n_tiles, n_scalars) = (body.tiles.len(), body.scalars.len());
            if let [index, tile] = args {
                body.scalars.push(*index);
                body.push(*tile, SMALL);
            }
            body.ops(depth + 1);
            let value = body.small_as(DType::F32);
            body.tiles.truncate(n_tiles);
            body.scalars.truncate(n_scalars);
            vec![value]
        };
        let result = if is_loop {
            let (lo, step) = (self.s.int(0), self.s.int(1 + self.rng.below(2) as i64));
            let hi = match self.rng.below(2) {
                0 => self.s.int(self.rng.below(4) as i64),
                _ => self.place(4),
            };
            self.nested(
                |s, body| s.for_([lo, hi, step], &[carried], |s, args| body(s, args)),
                inside,
            )
        } else {
            let (x, y) = (self.place(3), self.s.int(1));
            let cond = self.s.compare(Compare::Eq, x, y);
            let empty = self.rng.below(2) == 0;
            self.nested(
                |s, body| {
                    s.if_(
                        cond,
                        |s| body(s, &[]),
                        |s| if empty { vec![carried] } else { vec![s.unary(Unary::Neg, carried)] },
                    )
                },
                inside,
            )
        };
        self.push(result[0], SMALL);
    }

    /// Builds an op with a region whose ops come from this generator: the sketch is lent to the
    /// op's constructor and comes back inside the region.
    fn nested(
        &mut self,
        build: impl FnOnce(
            &mut Sketch,
            &mut dyn FnMut(&mut Sketch, &[Value]) -> Vec<Value>,
        ) -> Vec<Value>,
        inside: impl Fn(&mut Body, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let mut s = std::mem::replace(&mut self.s, Sketch::new("lent"));
        let results = build(&mut s, &mut |s, args| {
            std::mem::swap(&mut self.s, s);
            let yields = inside(self, args);
            std::mem::swap(&mut self.s, s);
            yields
        });
        self.s = s;
        results
    }
}

/// An offset that takes every value of the op at a small whole number away from whole numbers;
/// `None` if there is none, or the op is exact anyway.
fn safe_offset(op: Unary) -> Option<f64> {
    // At zero these give an infinity of its sign, which reductions leave open.
    let shows_sign_of_zero = matches!(op, Unary::Reciprocal | Unary::Rsqrt);
    if op.ulp() == 0 || !op.accepts(DType::F32) || shows_sign_of_zero {
        return None;
    }
    let values = (-SMALL..=SMALL).map(|x| f64::from(op.eval_float(x as f32)));
    let values: Vec<f64> = values.filter(|x| x.abs() <= SMALL as f64 + 1.0).collect();
    let is_safe = |offset: f64| {
        values.iter().all(|x| {
            let distance = (x + offset) - (x + offset).round();
            distance.abs() > 1e-3
        })
    };
    (1..64).map(|i| f64::from(i) / 64.0).find(|&offset| is_safe(offset))
}
