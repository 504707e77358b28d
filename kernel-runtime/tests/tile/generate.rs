//! Random kernels from the op tables: every op that the builder takes can come up.
//!
//! A kernel is a function of its seed. Loops end, and everything stored is initialised.

use systole::ir::ops::{
    Access, AccessDim, Binary, Compare, ControlOp, DebugOp, DotOp, Elementwise, Literal, MemoryOp,
    Op, Precision, ReduceKind, ReduceOp, ShapeOp, Start, Unary,
};
use systole::ir::{
    BlockDim, Buffering, Builder, DType, Extent, GridAxis, Loc, LocId, MemorySpace, Param,
    ParamAxis, ParamKind, Scratch, Semantics, Shape, Type, Value, Window,
};

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

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

struct Generator {
    random: Random,
    builder: Builder,
    /// Values in sight, with those of open blocks last.
    pool: Vec<Value>,
    out: Value,
    acc: Value,
}

const ROWS: usize = 16;
const COLS: usize = 128;

/// The kernel of this seed, with about `n_ops` ops.
pub(crate) fn kernel(seed: u64, n_ops: usize) -> systole::ir::Kernel {
    let mut random = Random(seed);
    let mut builder = Builder::new("random");
    let i = builder.grid_axis(GridAxis {
        name: "i".into(),
        extent: Extent::Static(1 + random.below(3)),
        semantics: random.pick(&[Semantics::Parallel, Semantics::Arbitrary]),
    });
    let dtype = random.pick(&[DType::F32, DType::BF16, DType::I32]);
    let input = windowed(&mut builder, "x", ParamKind::In, dtype);
    let out = windowed(&mut builder, "y", ParamKind::Out, DType::F32);
    let acc = builder.scratch(Scratch {
        name: "acc".into(),
        dtype: DType::F32,
        shape: Shape::from_slice(&[ROWS, COLS]),
        space: MemorySpace::Vmem,
        loc: LocId::UNKNOWN,
    });
    let mut generator = Generator { random, builder, pool: vec![i], out, acc };
    let zero = generator.constant(DType::F32);
    let zero = generator.push(Op::Shape(ShapeOp::Splat(Shape::from_slice(&[ROWS, COLS]))), &[zero]);
    generator.store(generator.acc, zero[0]);
    generator.load(input);
    generator.ops(n_ops, 0);
    generator.finish()
}

/// A parameter of one block per grid step along its first axis.
fn windowed(builder: &mut Builder, name: &str, kind: ParamKind, dtype: DType) -> Value {
    let Extent::Static(n_steps) = builder.kernel().grid[0].extent else { unreachable!() };
    let (index_map, args) = builder.open_block(&[Type::Scalar(DType::I32)]);
    let zero = builder.constant(Literal::int(DType::I32, 0), LocId::UNKNOWN);
    builder.close_block(&[args[0], zero], LocId::UNKNOWN);
    builder.param(Param {
        name: name.into(),
        kind,
        dtype,
        axes: vec![
            ParamAxis { name: "m".into(), size: ROWS * n_steps },
            ParamAxis { name: "n".into(), size: COLS },
        ],
        space: MemorySpace::Vmem,
        window: Some(Window {
            block: vec![BlockDim::Blocked(ROWS), BlockDim::Blocked(COLS)],
            index_map,
            buffering: Buffering::Double,
            streams: None,
        }),
        loc: LocId::UNKNOWN,
    })
}

impl Generator {
    fn loc(&mut self) -> LocId {
        if self.random.below(3) == 0 {
            return LocId::UNKNOWN;
        }
        let line = 1 + self.random.below(40) as u32;
        let outer = line.is_multiple_of(5).then(|| {
            let loc = Loc { file: "src/main.rs".into(), line: 7, column: 3, inlined_at: None };
            self.builder.loc(loc)
        });
        self.builder.loc(Loc { file: "src/k.rs".into(), line, column: 9, inlined_at: outer })
    }

    /// Adds an op if the builder takes it; its results come into sight.
    fn push(&mut self, op: Op, operands: &[Value]) -> Vec<Value> {
        let loc = self.loc();
        let results = self.builder.push(op, operands, loc).map(|r| r.to_vec()).unwrap_or_default();
        // Tiles grow by concat and shrink by nothing: keep them small.
        let small = |v: &Value| self.builder.kernel().ty(*v).n_elems() <= 16 * ROWS * COLS;
        self.pool.extend(results.iter().copied().filter(small));
        results
    }

    fn constant(&mut self, dtype: DType) -> Value {
        let value = self.random.below(2001) as f64 / 8.0 - 125.0;
        let loc = self.loc();
        let value = self.builder.constant(Literal::from_f64(dtype, value), loc);
        self.pool.push(value);
        value
    }

    fn pick(&mut self) -> Value {
        let idx = self.random.below(self.pool.len());
        self.pool[idx]
    }

    /// A value in sight of the same type, the value itself if there is no other.
    fn pick_like(&mut self, value: Value) -> Value {
        let kernel = self.builder.kernel();
        let alike: Vec<Value> =
            self.pool.iter().copied().filter(|&v| kernel.ty(v) == kernel.ty(value)).collect();
        if alike.is_empty() { value } else { self.random.pick(&alike) }
    }

    fn load(&mut self, reference: Value) {
        let rows = if self.random.below(2) == 0 {
            AccessDim::full(ROWS)
        } else {
            AccessDim { start: Start::Static(8), size: 8, stride: 1, keep: true }
        };
        let access = Access { dims: [rows, AccessDim::full(COLS)].into_iter().collect() };
        self.push(Op::Memory(MemoryOp::Load { access, masked: false }), &[reference]);
    }

    fn store(&mut self, reference: Value, value: Value) {
        let full =
            Access { dims: [AccessDim::full(ROWS), AccessDim::full(COLS)].into_iter().collect() };
        self.push(Op::Memory(MemoryOp::Store { access: full, masked: false }), &[reference, value]);
    }

    fn ops(&mut self, n_ops: usize, depth: usize) {
        for _ in 0..n_ops {
            match self.random.below(24) {
                0..=7 => self.elementwise(),
                8..=15 => self.shape(),
                16 => self.reduce(),
                17 => self.dot(),
                18 => self.load(self.acc),
                19 => {
                    let dtype = self.random.pick(DType::ALL);
                    self.constant(dtype);
                }
                20 if depth < 3 => self.branch(depth),
                21 if depth < 3 => self.count_up(depth, false),
                22 if depth < 3 => self.count_up(depth, true),
                _ => self.debug(),
            }
        }
    }

    fn elementwise(&mut self) {
        let x = self.pick();
        let y = self.pick_like(x);
        let dtype = self.random.pick(DType::ALL);
        match self.random.below(8) {
            0 | 1 => {
                let op = self.random.pick(Unary::ALL);
                self.push(Op::Elementwise(Elementwise::Unary(op)), &[x]);
            }
            2 | 3 => {
                let op = self.random.pick(Binary::ALL);
                self.push(Op::Elementwise(Elementwise::Binary(op)), &[x, y]);
            }
            4 => {
                let op = self.random.pick(Compare::ALL);
                let mask = self.push(Op::Elementwise(Elementwise::Compare(op)), &[x, y]);
                if let Some(&mask) = mask.first() {
                    self.push(Op::Elementwise(Elementwise::Select), &[mask, x, y]);
                }
            }
            5 | 6 => {
                self.push(Op::Elementwise(Elementwise::Cast(dtype)), &[x]);
            }
            _ => {
                self.push(Op::Elementwise(Elementwise::Bitcast(dtype)), &[x]);
            }
        }
    }

    fn shape(&mut self) {
        let x = self.pick();
        let shape = Shape::from_slice(self.builder.kernel().ty(x).shape());
        let axis = self.random.below(2);
        let sizes: Shape = shape.iter().map(|&size| 1 + self.random.below(size)).collect();
        match self.random.below(8) {
            0 => self.push(Op::Shape(ShapeOp::Splat(Shape::from_slice(&[ROWS, COLS]))), &[x]),
            1 => self.push(Op::Shape(ShapeOp::Broadcast(Shape::from_slice(&[ROWS, COLS]))), &[x]),
            2 => {
                let n = shape.iter().product();
                self.push(Op::Shape(ShapeOp::Reshape(Shape::from_slice(&[1, n]))), &[x])
            }
            3 => self.push(Op::Shape(ShapeOp::Transpose((0..shape.len()).rev().collect())), &[x]),
            4 => {
                let y = self.pick_like(x);
                self.push(Op::Shape(ShapeOp::Concat { axis }), &[x, y])
            }
            5 => self.push(
                Op::Shape(ShapeOp::Slice {
                    starts: shape.iter().zip(&sizes).map(|(all, part)| all - part).collect(),
                    strides: sizes.iter().map(|_| 1).collect(),
                    sizes,
                }),
                &[x],
            ),
            6 => {
                let dtype = self.random.pick(&[DType::I32, DType::U32]);
                let shape = Shape::from_slice(&[ROWS, COLS]);
                self.push(Op::Shape(ShapeOp::Iota { dtype, shape, axis }), &[])
            }
            _ => {
                let shift = self.constant(DType::I32);
                self.push(Op::Shape(ShapeOp::Roll { axis }), &[x, shift])
            }
        };
    }

    fn reduce(&mut self) {
        let op = ReduceOp { kind: self.random.pick(ReduceKind::ALL), axis: self.random.below(2) };
        let x = self.pick();
        self.push(Op::Reduce(op), &[x]);
    }

    fn dot(&mut self) {
        let x = self.pick();
        let y = self.pick_like(x);
        let precision = self.random.pick(Precision::ALL);
        let (transpose_lhs, transpose_rhs) =
            self.random.pick(&[(true, false), (false, true), (true, true)]);
        self.push(Op::Dot(DotOp { transpose_lhs, transpose_rhs, precision }), &[x, y]);
    }

    fn debug(&mut self) {
        let x = self.pick();
        let message = self.random.pick(&["x", "a \"quoted\"\n\\ ∑ message", ""]).to_string();
        self.push(Op::Debug(DebugOp::Print { message }), &[x]);
    }

    /// An `if` on a random scalar, of which both arms yield values of one type.
    fn branch(&mut self, depth: usize) {
        let i = self.pool[0];
        let bound = self.constant(DType::I32);
        let cond = self.push(Op::Elementwise(Elementwise::Compare(Compare::Lt)), &[i, bound]);
        let like = self.pick();
        let regions: Vec<_> = (0..2)
            .map(|_| {
                let (block, _) = self.builder.open_block(&[]);
                let n_before = self.pool.len();
                let n_ops = self.random.below(4);
                self.ops(n_ops, depth + 1);
                let yields = self.pick_like(like);
                self.pool.truncate(n_before);
                let loc = self.loc();
                self.builder.close_block(&[yields], loc);
                block
            })
            .collect();
        self.close(Op::Control(ControlOp::If), &cond, &regions);
    }

    /// A loop that counts to a small number and carries one more value.
    fn count_up(&mut self, depth: usize, as_while: bool) {
        let int = |g: &mut Self, value| {
            let loc = g.loc();
            g.builder.constant(Literal::int(DType::I32, value), loc)
        };
        let n = self.random.below(4) as i64;
        let [lo, hi, step] = [int(self, 0), int(self, n), int(self, 1)];
        let init = self.pick();
        let types = [Type::Scalar(DType::I32), self.builder.kernel().ty(init).clone()];
        if types[1].is_ref() {
            return;
        }
        let mut regions = Vec::new();
        if as_while {
            let (block, args) = self.builder.open_block(&types);
            let op = Op::Elementwise(Elementwise::Compare(Compare::Lt));
            let go_on = self.builder.push(op, &[args[0], hi], LocId::UNKNOWN).unwrap();
            self.builder.close_block(&go_on, LocId::UNKNOWN);
            regions.push(block);
        }
        let (block, args) = self.builder.open_block(&types);
        let n_before = self.pool.len();
        self.pool.extend(&args);
        let n_ops = self.random.below(4);
        self.ops(n_ops, depth + 1);
        let next = self.pick_like(args[1]);
        self.pool.truncate(n_before);
        let mut yields = vec![next];
        if as_while {
            let op = Op::Elementwise(Elementwise::Binary(Binary::Add));
            let count = self.builder.push(op, &[args[0], step], LocId::UNKNOWN).unwrap();
            yields.insert(0, count[0]);
        }
        self.builder.close_block(&yields, LocId::UNKNOWN);
        regions.push(block);
        let (op, operands) = if as_while {
            (ControlOp::While, vec![lo, init])
        } else {
            (ControlOp::For, vec![lo, hi, step, init])
        };
        self.close(Op::Control(op), &operands, &regions);
    }

    fn close(&mut self, op: Op, operands: &[Value], regions: &[systole::ir::BlockId]) {
        let loc = self.loc();
        let results = self.builder.push_with_regions(op, operands, regions, loc).unwrap();
        self.pool.extend(results);
    }

    /// Adds up what there is of the output's type and stores it.
    fn finish(mut self) -> systole::ir::Kernel {
        let kernel = self.builder.kernel();
        let wanted = Type::tile(DType::F32, &[ROWS, COLS]);
        let fitting: Vec<Value> =
            self.pool.iter().copied().filter(|&v| *kernel.ty(v) == wanted).collect();
        let mut sum = fitting[0];
        for &value in &fitting[1..] {
            let op = Op::Elementwise(Elementwise::Binary(Binary::Add));
            sum = self.push(op, &[sum, value])[0];
        }
        self.store(self.out, sum);
        self.builder.finish()
    }
}
