//! Random valid kernels from the op tables. Whatever needs a random kernel takes it from here.
//!
//! A kernel depends on its seed alone, so a find is made again by its number. What it computes is
//! defined: loops end, indices stay inside, memory is written before it is read, and padding is
//! masked. `ops` has what may stand in a body.

mod ops;

use crate::sketch::{Sketch, access, dim};
use ops::Body;
use systole::ir::kernel::{BlockDim, ParamKind, Semantics, Value};
use systole::ir::ops::{Binary, Compare, MemoryOp, ShapeOp};
use systole::ir::ty::Shape;
use systole::ir::{Array, DType, Kernel, Op};

/// Blocks and scratch have this shape.
const SHAPE: [usize; 2] = [16, 128];
/// Element types of arrays and scratch.
const TYPES: [DType; 11] = [
    DType::F32,
    DType::F32,
    DType::F32,
    DType::BF16,
    DType::F16,
    DType::I32,
    DType::I8,
    DType::I16,
    DType::U8,
    DType::U16,
    DType::U32,
];

/// What the numbers of a kernel may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// Every correct back end gives the same bits. Floats are whole numbers of bounded size, so
    /// that sums are exact in any order and a product may be fused with a sum. Ops that round are
    /// followed by a `floor` at a safe distance from the values that they can take: they are run,
    /// but their last bits do not show.
    Exact,
    /// Whatever comes of it: fractions, infinities, NaN; and prints.
    Any,
}

/// A small generator of numbers (splitmix64): equal seeds give equal kernels on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// How many seeds a test tries: `SYSTOLE_FUZZ_SECONDS` is for how long, from `SYSTOLE_FUZZ_SEED`
/// on; without it, the first `n` of all.
pub(crate) fn seeds(n: u64) -> impl Iterator<Item = u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("SYSTOLE_FUZZ_SEED").unwrap_or(0);
    let end = number("SYSTOLE_FUZZ_SECONDS")
        .map(|seconds| std::time::Instant::now() + std::time::Duration::from_secs(seconds));
    (first..).take_while(move |seed| match end {
        Some(end) => std::time::Instant::now() < end,
        None => *seed < first + n,
    })
}

/// The inputs of a kernel, for a seed: small numbers, whole if they must be exact, with the corners
/// of integer types among them.
pub(crate) fn inputs(kernel: &Kernel, seed: u64, numbers: Numbers) -> Vec<Array> {
    let mut random = Random(!seed);
    let step = if numbers == Numbers::Exact { 1.0 } else { 4.0 };
    let mut number = |dtype: DType| match dtype.int_range() {
        Some((lo, hi)) if random.one_in(61) => random.pick(&[lo, hi, 0, hi - 1]) as f64,
        Some((lo, _)) => (random.below(17) as i64 - 8).max(lo) as f64,
        None => random.below(16 * step as usize + 1) as f64 / step - 8.0,
    };
    let inputs = kernel.params.iter().filter(|param| param.kind.is_input());
    inputs
        .map(|param| {
            let shape = param.array_shape();
            let n_elems = shape.iter().product();
            let values: Vec<f64> = (0..n_elems).map(|_| number(param.dtype)).collect();
            Array::from_f64(param.dtype, &shape, &values).unwrap()
        })
        .collect()
}

/// The kernel of this seed with about `n_ops` ops. One with fewer ops begins like it.
pub(crate) fn kernel(seed: u64, n_ops: usize, numbers: Numbers) -> Kernel {
    let mut random = Random(seed);
    let mut s = Sketch::new("random");
    let extents: Vec<usize> = (0..random.below(3)).map(|_| random.pick(&[1, 2, 3, 20])).collect();
    let grid: Vec<Value> = extents
        .iter()
        .enumerate()
        .map(|(axis, &extent)| match axis == 0 && !random.one_in(3) {
            true => s.grid(extent, Semantics::Parallel),
            false => s.grid(extent, Semantics::Arbitrary),
        })
        .collect();
    let inputs: Vec<Window> = (0..1 + random.below(3))
        .map(|_| Window::new(&mut s, &mut random, ParamKind::In, &extents))
        .collect();
    let outputs: Vec<Window> = (0..1 + random.below(2))
        .map(|_| Window::new(&mut s, &mut random, ParamKind::Out, &extents))
        .collect();
    let memory = [(); 2].map(|()| s.scratch(random.pick(&TYPES), &SHAPE));
    let mut body = Body::new(s, random, numbers, &memory);
    for &index in &grid {
        body.learn(index, 20);
    }
    for input in &inputs {
        input.load(&mut body, &grid);
    }
    for memory in memory {
        let tile = body.value_of(body.s.ty(memory).dtype(), &SHAPE);
        body.s.store(memory, tile);
    }
    body.all_ops(n_ops);
    for output in &outputs {
        output.store(&mut body, &grid);
    }
    body.s.kernel()
}

/// A parameter, and how it is cut: per axis, the grid axis that its block number follows.
struct Window {
    param: Value,
    dtype: DType,
    cut: [Option<usize>; 2],
    array_shape: [usize; 2],
}

impl Window {
    /// Arrays may end within a block. An output is cut by the first grid axis if there is one, so
    /// that `parallel` steps write their own blocks.
    fn new(s: &mut Sketch, random: &mut Random, kind: ParamKind, extents: &[usize]) -> Window {
        let (mut cut, mut array_shape) = ([None; 2], SHAPE);
        for axis in 0..extents.len() {
            if kind == ParamKind::Out && axis == 0 || !random.one_in(3) {
                cut[axis] = Some(axis);
                array_shape[axis] *= extents[axis];
            }
            array_shape[axis] -= random.pick(&[0, 0, 3]);
        }
        let dtype = random.pick(&TYPES);
        let block = SHAPE.map(BlockDim::Blocked);
        let param = s.param(kind, dtype, &array_shape, &block, |s, g| {
            cut.map(|axis| axis.map_or_else(|| s.int(0), |axis| g[axis])).to_vec()
        });
        Window { param, dtype, cut, array_shape }
    }

    /// Loads the block, with ones in place of its padding.
    fn load(&self, body: &mut Body, grid: &[Value]) {
        let shape = Shape::from_slice(&SHAPE);
        let s = &mut body.s;
        let mut inside: Option<Value> = None;
        for (axis, (&size, &block)) in self.array_shape.iter().zip(&SHAPE).enumerate() {
            if size.is_multiple_of(block) {
                continue;
            }
            let (size, block_size) = (s.int(size as i64), s.int(block as i64));
            let block = self.cut[axis].map_or_else(|| s.int(0), |axis| grid[axis]);
            let start = s.binary(Binary::Mul, block, block_size);
            let left = s.binary(Binary::Sub, size, start);
            let left = s.shape(ShapeOp::Splat(shape.clone()), &[left]);
            let iota = ShapeOp::Iota { dtype: DType::I32, shape: shape.clone(), axis };
            let index = s.shape(iota, &[]);
            let below = s.compare(Compare::Lt, index, left);
            inside = Some(inside.map_or(below, |mask| s.binary(Binary::And, mask, below)));
        }
        let Some(mask) = inside else {
            let value = s.load(self.param);
            return body.learn_small(value);
        };
        let masked = body.random.one_in(3);
        let whole = access(&SHAPE.map(|size| dim(Some(0), size, 1, true)));
        let load = Op::Memory(MemoryOp::Load { access: whole, masked });
        let operands = [self.param, mask];
        let value = body.s.op(load, &operands[..1 + usize::from(masked)]);
        let ones = body.s.like(value, 1.0);
        let value = body.s.select(mask, value, ones);
        body.learn_small(value);
    }

    /// Stores a result; an output block that stays where it is gathers those of all its steps.
    fn store(&self, body: &mut Body, grid: &[Value]) {
        let (param, result) = (self.param, body.digest(self.dtype));
        let s = &mut body.s;
        if self.cut[1].is_some() || grid.len() < 2 {
            return s.store(param, result);
        }
        let zero = s.int(0);
        let first = s.compare(Compare::Eq, grid[1], zero);
        s.if_(
            first,
            |s| {
                s.store(param, result);
                vec![]
            },
            |s| {
                let old = s.load(param);
                let larger = s.binary(Binary::Max, old, result);
                s.store(param, larger);
                vec![]
            },
        );
    }
}
