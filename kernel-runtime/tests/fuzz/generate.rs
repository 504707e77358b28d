//! Random kernels whose every result is defined, with inputs and how far back ends may differ.
//!
//! A case is a function of its seed. Ops come from the op tables. For each value the generator
//! keeps a bound of its magnitude and of the difference that two correct back ends may show
//! (rounding of transcendental functions, order of sums, fused multiply-add); ops that turn a
//! small difference into a large one, such as comparisons and `floor`, only get exact operands.

use systole::ir::ops::{
    Access, AccessDim, Binary, Compare, ControlOp, DotOp, Elementwise, Literal, MemoryOp,
    Precision, ReduceKind, ReduceOp, ShapeOp, Start, Unary,
};
use systole::ir::{
    Array, BlockDim, Buffering, Builder, DType, Extent, GridAxis, Kernel, LocId, MemorySpace, Op,
    Param, ParamAxis, ParamKind, Scratch, Semantics, Shape, Type, Value, Window,
};

/// A kernel, what to call it with, and by how much each output's elements may differ.
pub(crate) struct Case {
    pub(crate) kernel: Kernel,
    pub(crate) inputs: Vec<Array>,
    pub(crate) tolerances: Vec<f64>,
}

/// What is known of a value.
#[derive(Clone, Debug)]
struct Known {
    value: Value,
    ty: Type,
    /// No element is larger in magnitude. Meaningless for integers.
    magnitude: f64,
    /// No two correct back ends differ by more.
    error: f64,
}

struct Generator {
    random: u64,
    b: Builder,
    /// Values in sight.
    known: Vec<Known>,
    /// The grid indices.
    grid: Vec<Value>,
}

const ROWS: usize = 8;
const COLS: usize = 128;
/// Values beyond are clamped: results stay finite, and errors small.
const MAX_MAGNITUDE: f64 = 1000.0;
/// Values that may differ by more are not used further.
const MAX_ERROR: f64 = 0.5;

/// The case of this seed, with about `n_ops` ops.
pub(crate) fn case(seed: u64, n_ops: usize) -> Case {
    let mut g =
        Generator { random: seed, b: Builder::new("random"), known: Vec::new(), grid: Vec::new() };
    let n_axes = 1 + g.below(2);
    let mut extents = Vec::new();
    for axis in 0..n_axes {
        let extent = 1 + g.below(3);
        let semantics = g.pick(&[Semantics::Parallel, Semantics::Arbitrary]);
        extents.push(extent);
        let name = format!("g{axis}");
        let extent = Extent::Static(extent);
        let index = g.b.grid_axis(GridAxis { name, extent, semantics });
        g.grid.push(index);
    }
    let n_rows: usize = extents.iter().product::<usize>() * ROWS;
    // Some arrays end within the last block.
    let n_rows = if g.one_in(3) { n_rows - 1 - g.below(ROWS - 1) } else { n_rows };
    let n_inputs = 1 + g.below(2);
    let dtypes = [DType::F32, DType::F32, DType::BF16, DType::I32, DType::I8, DType::U32];
    let mut inputs = Vec::new();
    let mut refs = Vec::new();
    for idx in 0..n_inputs {
        let dtype = g.pick(&dtypes);
        refs.push(g.param(&format!("x{idx}"), ParamKind::In, dtype, n_rows, &extents));
        inputs.push(g.array(dtype, &[n_rows, COLS]));
    }
    let out_dtypes = [DType::F32, DType::BF16, DType::I32];
    let outs: Vec<(Value, DType)> = (0..1 + g.below(2))
        .map(|idx| {
            let dtype = g.pick(&out_dtypes);
            (g.param(&format!("y{idx}"), ParamKind::Out, dtype, n_rows, &extents), dtype)
        })
        .collect();
    let acc = g.scratch();
    let valid_rows = g.valid_rows(n_rows, &extents);
    for reference in refs {
        g.load_input(reference, valid_rows);
    }
    g.fill_scratch(acc);
    g.ops(n_ops, acc, 0);
    let tolerances = outs.into_iter().map(|(out, dtype)| g.store_output(out, dtype)).collect();
    Case { kernel: g.b.finish(), inputs, tolerances }
}

impl Generator {
    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// An array of small values, with the corners of integer types among them.
    fn array(&mut self, dtype: DType, shape: &[usize]) -> Array {
        let n = shape.iter().product();
        let values: Vec<f64> = (0..n)
            .map(|_| {
                let raw = self.next();
                let small = (raw % 1601) as f64 / 100.0 - 8.0;
                match dtype.int_range() {
                    Some((lo, hi)) if raw.is_multiple_of(61) => {
                        self.pick(&[lo, hi, 0, hi - 1]) as f64
                    }
                    Some((lo, hi)) => small.round().clamp(lo as f64, hi as f64),
                    None => small,
                }
            })
            .collect();
        Array::from_f64(dtype, shape, &values).unwrap()
    }

    /// A parameter of one block per grid step: block number `g0 * extent1 + g1`.
    fn param(
        &mut self,
        name: &str,
        kind: ParamKind,
        dtype: DType,
        n_rows: usize,
        extents: &[usize],
    ) -> Value {
        let args = vec![Type::Scalar(DType::I32); extents.len()];
        let (index_map, args) = self.b.open_block(&args);
        let block = self.linear(&args, extents);
        let zero = self.int(0);
        self.b.close_block(&[block, zero], LocId::UNKNOWN);
        let axes = vec![
            ParamAxis { name: "m".into(), size: n_rows },
            ParamAxis { name: "n".into(), size: COLS },
        ];
        let window = Some(Window {
            block: vec![BlockDim::Blocked(ROWS), BlockDim::Blocked(COLS)],
            index_map,
            buffering: Buffering::Double,
            streams: None,
        });
        let (name, space, loc) = (name.to_owned(), MemorySpace::Vmem, LocId::UNKNOWN);
        self.b.param(Param { name, kind, dtype, axes, space, window, loc })
    }

    fn linear(&mut self, indices: &[Value], extents: &[usize]) -> Value {
        let mut linear = indices[0];
        for (&index, &extent) in indices.iter().zip(extents).skip(1) {
            let extent = self.int(extent as i64);
            linear = self.binary(Binary::Mul, linear, extent);
            linear = self.binary(Binary::Add, linear, index);
        }
        linear
    }

    fn scratch(&mut self) -> Value {
        let (dtype, shape) = (DType::F32, Shape::from_slice(&[ROWS, COLS]));
        let (name, space, loc) = ("acc".into(), MemorySpace::Vmem, LocId::UNKNOWN);
        self.b.scratch(Scratch { name, dtype, shape, space, loc })
    }

    fn push(&mut self, op: Op, operands: &[Value]) -> Value {
        self.b.push(op, operands, LocId::UNKNOWN).unwrap_or_else(|e| panic!("{e}"))[0]
    }

    fn effect(&mut self, op: Op, operands: &[Value]) {
        self.b.push(op, operands, LocId::UNKNOWN).unwrap_or_else(|e| panic!("{e}"));
    }

    fn int(&mut self, value: i64) -> Value {
        self.b.constant(Literal::int(DType::I32, value), LocId::UNKNOWN)
    }

    fn binary(&mut self, op: Binary, x: Value, y: Value) -> Value {
        self.push(Op::Elementwise(Elementwise::Binary(op)), &[x, y])
    }

    fn learn(&mut self, value: Value, magnitude: f64, error: f64) -> Known {
        let known = Known { value, ty: self.b.kernel().ty(value).clone(), magnitude, error };
        let bounded = self.bounded(known);
        if bounded.error <= MAX_ERROR && bounded.ty.n_elems() <= 4 * ROWS * COLS {
            self.known.push(bounded.clone());
        }
        bounded
    }

    /// The value, clamped if its magnitude is beyond the bound.
    fn bounded(&mut self, known: Known) -> Known {
        if !known.ty.dtype().is_float() || known.magnitude <= MAX_MAGNITUDE {
            return known;
        }
        self.clamped(&known, -100.0, 100.0)
    }

    fn clamped(&mut self, x: &Known, lo: f64, hi: f64) -> Known {
        let lo_value = self.filled(&x.ty, lo);
        let hi_value = self.filled(&x.ty, hi);
        let value = self.binary(Binary::Max, x.value, lo_value);
        let value = self.binary(Binary::Min, value, hi_value);
        let magnitude = lo.abs().max(hi.abs()) * 1.01;
        Known { value, ty: x.ty.clone(), magnitude, error: x.error }
    }

    /// A constant of this type.
    fn filled(&mut self, ty: &Type, value: f64) -> Value {
        let value = self.b.constant(Literal::from_f64(ty.dtype(), value), LocId::UNKNOWN);
        match ty {
            Type::Tile { shape, .. } => {
                self.push(Op::Shape(ShapeOp::Splat(shape.clone())), &[value])
            }
            Type::Scalar(_) | Type::Ref { .. } => value,
        }
    }

    /// `bool[ROWS, COLS]`: which rows of the block are inside the arrays.
    fn valid_rows(&mut self, n_rows: usize, extents: &[usize]) -> Value {
        let shape = Shape::from_slice(&[ROWS, COLS]);
        let grid = self.grid.clone();
        let block = self.linear(&grid, extents);
        let rows = self.int(ROWS as i64);
        let first = self.binary(Binary::Mul, block, rows);
        let end = self.int(n_rows as i64);
        let left = self.binary(Binary::Sub, end, first);
        let left = self.push(Op::Shape(ShapeOp::Splat(shape.clone())), &[left]);
        let row = self.push(Op::Shape(ShapeOp::Iota { dtype: DType::I32, shape, axis: 0 }), &[]);
        self.push(Op::Elementwise(Elementwise::Compare(Compare::Lt)), &[row, left])
    }

    /// Loads an input's block, with its padding replaced.
    fn load_input(&mut self, reference: Value, valid_rows: Value) {
        let access = Access { dims: [ROWS, COLS].map(AccessDim::full).into_iter().collect() };
        let masked = self.one_in(3);
        let load = Op::Memory(MemoryOp::Load { access, masked });
        let operands = [reference, valid_rows];
        let x = self.push(load, &operands[..1 + usize::from(masked)]);
        let ty = self.b.kernel().ty(x).clone();
        let fill = self.filled(&ty, 1.0);
        let x = self.push(Op::Elementwise(Elementwise::Select), &[valid_rows, x, fill]);
        self.learn(x, 8.1, 0.0);
    }

    fn fill_scratch(&mut self, acc: Value) {
        let ty = Type::tile(DType::F32, &[ROWS, COLS]);
        let value = self.filled(&ty, 0.5);
        let access = Access { dims: [ROWS, COLS].map(AccessDim::full).into_iter().collect() };
        self.effect(Op::Memory(MemoryOp::Store { access, masked: false }), &[acc, value]);
    }

    /// Stores a value of about the right type; gives by how much it may differ.
    fn store_output(&mut self, out: Value, dtype: DType) -> f64 {
        let candidates: Vec<Known> =
            self.known.iter().rev().filter(|known| known.ty.is_tile()).take(4).cloned().collect();
        let x = candidates[self.below(candidates.len())].clone();
        let exact_only = !dtype.is_float();
        let x = if exact_only && x.error > 0.0 {
            // A difference could flip an integer: the inputs' own values are exact.
            self.known.iter().find(|k| k.ty.is_tile() && k.error == 0.0).cloned().unwrap()
        } else {
            x
        };
        let x = self.cast(&x, dtype);
        let x = self.fit(&x);
        let access = Access { dims: [ROWS, COLS].map(AccessDim::full).into_iter().collect() };
        self.effect(Op::Memory(MemoryOp::Store { access, masked: false }), &[out, x.value]);
        x.error
    }

    /// The value brought to `[ROWS, COLS]` by reductions and broadcasts.
    fn fit(&mut self, x: &Known) -> Known {
        let mut x = x.clone();
        let target = [ROWS, COLS];
        for (axis, wanted) in target.into_iter().enumerate() {
            let size = x.ty.shape()[axis];
            if size != wanted && size != 1 {
                let op = Op::Reduce(ReduceOp { kind: ReduceKind::Max, axis });
                let value = self.push(op, &[x.value]);
                x = Known { value, ty: self.b.kernel().ty(value).clone(), ..x };
            }
        }
        if x.ty.shape() != target {
            let op = Op::Shape(ShapeOp::Broadcast(Shape::from_slice(&target)));
            let value = self.push(op, &[x.value]);
            x = Known { value, ty: self.b.kernel().ty(value).clone(), ..x };
        }
        x
    }

    fn any(&mut self, takes: impl Fn(&Known) -> bool) -> Option<Known> {
        let fitting: Vec<usize> =
            (0..self.known.len()).filter(|&idx| takes(&self.known[idx])).collect();
        if fitting.is_empty() {
            return None;
        }
        // Later values twice as often: programs grow deep and not only wide.
        let late = self.one_in(2);
        let from = if late { fitting.len() / 2 } else { 0 };
        let idx = from + self.below(fitting.len() - from);
        Some(self.known[fitting[idx]].clone())
    }

    fn ops(&mut self, n: usize, acc: Value, depth: usize) {
        for _ in 0..n {
            match self.below(24) {
                0..=4 => self.unary_op(),
                5..=9 => self.binary_op(),
                10 | 11 => self.compare_and_select(),
                12 => self.cast_op(),
                13 | 14 => self.reduce_op(),
                15..=17 => self.shape_op(),
                18 => self.dot_op(),
                19 | 20 => self.scratch_op(acc),
                21 if depth < 2 => self.branch(acc, depth),
                22 if depth < 2 => self.count(acc, depth),
                23 if depth < 2 => self.repeat(acc, depth),
                _ => self.binary_op(),
            }
        }
    }

    fn unary_op(&mut self) {
        let op = self.pick(Unary::ALL);
        let Some(x) = self.any(|k| op.accepts(k.ty.dtype())) else { return };
        let dtype = x.ty.dtype();
        let apply =
            |g: &mut Generator, x: Value| g.push(Op::Elementwise(Elementwise::Unary(op)), &[x]);
        if !dtype.is_float() {
            let value = apply(self, x.value);
            self.learn(value, 0.0, 0.0);
            return;
        }
        let (lo, hi) = (op.domain().start.max(-8.0), op.domain().end.min(8.0));
        let x = self.clamped(&x, lo, hi);
        let at = |i: usize| op.eval_float((lo + (hi - lo) * i as f64 / 512.0) as f32);
        let values: Vec<f64> = (0..=512).map(|i| f64::from(at(i))).collect();
        let magnitude = values.iter().fold(0.0_f64, |m, v| m.max(v.abs())) * 1.05;
        let jumps = matches!(op, Unary::Sign | Unary::Floor | Unary::Ceil | Unary::RoundEven);
        let step = (hi - lo) / 512.0;
        let slope = values.windows(2).map(|w| (w[1] - w[0]).abs() / step).fold(0.0, f64::max);
        if x.error > 0.0 && (jumps || slope > 4.0) {
            return;
        }
        let value = apply(self, x.value);
        let rounding = if op.ulp() > 0 { f64::from(op.ulp() + 1) } else { 0.0 };
        let rounding = rounding + if x.error > 0.0 { 1.0 } else { 0.0 };
        let error = 2.0 * slope * x.error + rounding * ulp(dtype, magnitude);
        self.learn(value, magnitude, error);
    }

    fn binary_op(&mut self) {
        let op = self.pick(Binary::ALL);
        let Some(x) = self.any(|k| op.accepts(k.ty.dtype())) else { return };
        let Some(y) = self.any(|k| k.ty == x.ty) else { return };
        let dtype = x.ty.dtype();
        if !dtype.is_float() {
            // XLA simplifies x / x to 1, even where x is 0 and its own rule for division says -1.
            let same = matches!(op, Binary::Div | Binary::Rem) && x.value == y.value;
            if !same {
                let value = self.binary(op, x.value, y.value);
                self.learn(value, 0.0, 0.0);
            }
            return;
        }
        let exact = x.error == 0.0 && y.error == 0.0;
        let (mut x, mut y) = (x, y);
        match op {
            Binary::Div | Binary::Rem => y = self.clamped(&y, op.domain().start, op.domain().end),
            Binary::Pow => {
                x = self.clamped(&x, op.domain().start, 3.0);
                y = self.clamped(&y, op.domain().start, 3.0);
            }
            _ => {}
        }
        let bound = MAX_MAGNITUDE.max(x.magnitude).max(y.magnitude);
        let (magnitude, error) = match op {
            Binary::Add | Binary::Sub => (x.magnitude + y.magnitude, x.error + y.error),
            // A back end may fuse the product into a following sum, unrounded.
            Binary::Mul => (
                x.magnitude * y.magnitude,
                x.magnitude * y.error
                    + y.magnitude * x.error
                    + ulp(dtype, x.magnitude * y.magnitude),
            ),
            Binary::Div => {
                let least = op.domain().start * 0.99;
                let error = x.error / least + x.magnitude * y.error / (least * least);
                (x.magnitude / least, error + ulp(dtype, x.magnitude / least))
            }
            Binary::Max | Binary::Min => (x.magnitude.max(y.magnitude), x.error.max(y.error)),
            Binary::Rem if exact => (y.magnitude, 0.0),
            Binary::Pow if exact => (30.0, f64::from(op.ulp()) * ulp(dtype, 30.0)),
            Binary::Rem
            | Binary::Pow
            | Binary::And
            | Binary::Or
            | Binary::Xor
            | Binary::Shl
            | Binary::Shr => return,
        };
        let rounding = if error > 0.0 { ulp(dtype, magnitude) } else { 0.0 };
        if error + rounding > MAX_ERROR && magnitude > bound {
            return;
        }
        let value = self.binary(op, x.value, y.value);
        self.learn(value, magnitude, error + rounding);
    }

    fn compare_and_select(&mut self) {
        let Some(x) = self.any(|k| k.error == 0.0) else { return };
        let Some(y) = self.any(|k| k.error == 0.0 && k.ty == x.ty) else { return };
        let op = self.pick(Compare::ALL);
        let cond = self.push(Op::Elementwise(Elementwise::Compare(op)), &[x.value, y.value]);
        let cond = self.learn(cond, 0.0, 0.0);
        let Some(a) = self.any(|k| cond.ty.is_scalar() || k.ty.shape() == cond.ty.shape()) else {
            return;
        };
        let Some(b) = self.any(|k| k.ty == a.ty) else { return };
        let value =
            self.push(Op::Elementwise(Elementwise::Select), &[cond.value, a.value, b.value]);
        self.learn(value, a.magnitude.max(b.magnitude), a.error.max(b.error));
    }

    fn cast_op(&mut self) {
        let Some(x) = self.any(|_| true) else { return };
        let dtype = self.pick(DType::ALL);
        if x.error > 0.0 && !dtype.is_float() {
            return;
        }
        let x = self.cast(&x, dtype);
        self.learn(x.value, x.magnitude, x.error);
    }

    fn cast(&mut self, x: &Known, dtype: DType) -> Known {
        if x.ty.dtype() == dtype {
            return x.clone();
        }
        let value = self.push(Op::Elementwise(Elementwise::Cast(dtype)), &[x.value]);
        let magnitude = if x.ty.dtype().is_float() { x.magnitude } else { 4.3e9 };
        // f16 ends at 65504.
        let magnitude = if dtype == DType::F16 { magnitude.min(65504.0) } else { magnitude };
        let rounding = if x.error > 0.0 { ulp(dtype, magnitude) } else { 0.0 };
        let ty = x.ty.with_dtype(dtype);
        let wide = Known { value, ty, magnitude, error: x.error + rounding };
        if dtype == DType::F16 && x.ty.dtype().int_range().is_some_and(|(_, hi)| hi > 65504) {
            // Infinity is possible: clamping brings it back.
            return self.clamped(&wide, -100.0, 100.0);
        }
        self.bounded(wide)
    }

    fn reduce_op(&mut self) {
        let kinds = ReduceKind::ALL;
        let kind = self.pick(kinds);
        let Some(x) = self.any(|k| k.ty.is_tile() && k.ty.dtype() != DType::Bool) else { return };
        let axis = self.below(x.ty.shape().len());
        let n = x.ty.shape()[axis] as f64;
        let dtype = x.ty.dtype();
        let (magnitude, error) = match kind {
            ReduceKind::ArgMax | ReduceKind::ArgMin if x.error > 0.0 => return,
            ReduceKind::ArgMax | ReduceKind::ArgMin => (0.0, 0.0),
            ReduceKind::Max | ReduceKind::Min => (x.magnitude, x.error),
            ReduceKind::Sum if !dtype.is_float() => (0.0, 0.0),
            ReduceKind::Sum => {
                let magnitude = n * x.magnitude;
                let order = n * ulp(DType::F32, magnitude);
                (magnitude, n * x.error + order + ulp(dtype, magnitude))
            }
        };
        let value = self.push(Op::Reduce(ReduceOp { kind, axis }), &[x.value]);
        self.learn(value, magnitude, error);
    }

    fn shape_op(&mut self) {
        let Some(x) = self.any(|_| true) else { return };
        let Type::Tile { shape, .. } = &x.ty else {
            let shape = Shape::from_slice(&[self.pick(&[1, ROWS]), self.pick(&[1, COLS])]);
            let value = self.push(Op::Shape(ShapeOp::Splat(shape)), &[x.value]);
            self.learn(value, x.magnitude, x.error);
            return;
        };
        let axis = self.below(shape.len());
        let mut operands = vec![x.value];
        let op = match self.below(7) {
            0 => {
                let sizes = shape.iter().zip([ROWS, COLS]);
                ShapeOp::Broadcast(sizes.map(|(&n, full)| if n == 1 { full } else { n }).collect())
            }
            1 => ShapeOp::Transpose([1, 0].into_iter().collect()),
            2 => {
                let (rows, cols) = (shape[0], shape[1]);
                let fold = if rows % 2 == 0 { [rows / 2, cols * 2] } else { [cols, rows] };
                ShapeOp::Reshape(Shape::from_slice(&fold))
            }
            3 => {
                let Some(y) = self.any(|k| k.ty == x.ty) else { return };
                let error = x.error.max(y.error);
                let value = self.push(Op::Shape(ShapeOp::Concat { axis }), &[x.value, y.value]);
                self.learn(value, x.magnitude.max(y.magnitude), error);
                return;
            }
            4 => {
                let starts: Shape = shape.iter().map(|&n| self.below(n)).collect();
                let strides: Shape = shape.iter().map(|_| 1 + self.below(3)).collect();
                let sizes = (0..shape.len())
                    .map(|axis| (shape[axis] - starts[axis]).div_ceil(strides[axis]))
                    .collect();
                ShapeOp::Slice { starts, sizes, strides }
            }
            5 => {
                let shift = self.below(2 * shape[axis] + 1) as i64 - shape[axis] as i64;
                operands.push(self.int(shift));
                ShapeOp::Roll { axis }
            }
            _ => {
                operands.clear();
                let dtype = self.pick(&[DType::I32, DType::U8]);
                ShapeOp::Iota { dtype, shape: shape.clone(), axis }
            }
        };
        let value = self.push(Op::Shape(op), &operands);
        self.learn(value, x.magnitude, x.error);
    }

    fn dot_op(&mut self) {
        let is_matrix = |k: &Known| k.ty.is_tile() && k.ty.dtype() != DType::Bool;
        let Some(x) = self.any(is_matrix) else { return };
        let is_float = x.ty.dtype().is_float();
        let k = x.ty.shape()[1];
        let fits = |y: &Known| {
            is_matrix(y) && y.ty.dtype().is_float() == is_float && y.ty.shape().contains(&k)
        };
        let Some(y) = self.any(fits) else { return };
        let transpose_rhs = y.ty.shape()[0] != k;
        let precision = self.pick(Precision::ALL);
        let op = DotOp { transpose_lhs: false, transpose_rhs, precision };
        // `rest` bounds what the passes leave out, where a back end may take more of them.
        let rest = |k: &Known| match (k.ty.dtype(), precision) {
            (DType::F32, Precision::Medium) if k.error > 0.0 => ulp(DType::BF16, k.magnitude),
            (DType::F32, Precision::High) => k.magnitude * 2.0_f64.powi(-15),
            (DType::F32, Precision::Highest) => k.magnitude * 2.0_f64.powi(-22),
            _ => 0.0,
        };
        let (dx, dy) = (x.error + rest(&x), y.error + rest(&y));
        let n = k as f64;
        let magnitude = n * x.magnitude * y.magnitude;
        let error = n * (x.magnitude * dy + y.magnitude * dx + dx * dy)
            + 4.0 * n * ulp(DType::F32, magnitude);
        if is_float && error > MAX_ERROR {
            return;
        }
        let value = self.push(Op::Dot(op), &[x.value, y.value]);
        if is_float {
            self.learn(value, magnitude, error);
        } else {
            self.learn(value, 0.0, 0.0);
        }
    }

    /// Writes rows of the scratch at a computed place and reads others.
    fn scratch_op(&mut self, acc: Value) {
        let row = self.below(ROWS - 1) as i64;
        let row = self.int(row);
        let zero = self.int(0);
        let start = self.binary(Binary::Add, row, zero);
        let start = self.binary(Binary::Sub, start, zero);
        let start = self.binary(Binary::Min, start, row);
        let mut dims = [ROWS, COLS].map(AccessDim::full);
        dims[0] =
            AccessDim { start: Start::Dynamic { multiple_of: 1 }, size: 1, stride: 1, keep: true };
        let access = Access { dims: dims.into_iter().collect() };
        let is_row = |k: &Known| {
            k.ty == Type::tile(DType::F32, &[1, COLS]) && k.error == 0.0 && k.magnitude <= 100.0
        };
        if let Some(x) = self.any(is_row) {
            let store = Op::Memory(MemoryOp::Store { access: access.clone(), masked: false });
            self.effect(store, &[acc, x.value, start]);
        }
        let value = self.push(Op::Memory(MemoryOp::Load { access, masked: false }), &[acc, start]);
        self.learn(value, 100.0, 0.0);
    }

    /// Runs `body` in a region that yields a value of each of these types.
    fn region(
        &mut self,
        args: &[Known],
        types: &[Known],
        body: impl FnOnce(&mut Generator),
    ) -> (systole::ir::BlockId, Vec<Value>, Vec<Known>) {
        let arg_types: Vec<Type> = args.iter().map(|arg| arg.ty.clone()).collect();
        let n_outside = self.known.len();
        let (block, values) = self.b.open_block(&arg_types);
        for (arg, &value) in args.iter().zip(&values) {
            self.known.push(Known { value, ..arg.clone() });
        }
        body(self);
        let yields: Vec<Known> = types
            .iter()
            .map(|wanted| {
                let alike = |k: &Known| {
                    k.ty == wanted.ty && k.magnitude <= wanted.magnitude && k.error <= wanted.error
                };
                self.any(alike).unwrap_or_else(|| wanted.clone())
            })
            .collect();
        let yielded: Vec<Value> = yields.iter().map(|known| known.value).collect();
        self.known.truncate(n_outside);
        self.b.close_block(&yielded, LocId::UNKNOWN);
        (block, values, yields)
    }

    fn branch(&mut self, acc: Value, depth: usize) {
        let Some(x) = self.any(|k| k.ty.is_tile()) else { return };
        let (index, limit) = (self.grid[0], self.below(3) as i64);
        let limit = self.int(limit);
        let cond = self.push(Op::Elementwise(Elementwise::Compare(Compare::Ge)), &[index, limit]);
        let n_ops = 1 + self.below(4);
        let regions = [0, 1].map(|_| {
            self.region(&[], std::slice::from_ref(&x), |g| g.ops(n_ops, acc, depth + 1)).0
        });
        let op = Op::Control(ControlOp::If);
        let results = self.b.push_with_regions(op, &[cond], &regions, LocId::UNKNOWN).unwrap();
        self.learn(results[0], x.magnitude, x.error);
    }

    fn count(&mut self, acc: Value, depth: usize) {
        let Some(x) = self.any(|k| k.ty.is_tile()) else { return };
        let (lo, n, step) = (self.below(3) as i64, self.below(4) as i64, 1 + self.below(2) as i64);
        let bounds = [lo, lo + n, step].map(|bound| self.int(bound));
        let index =
            Known { value: bounds[0], ty: Type::Scalar(DType::I32), magnitude: 0.0, error: 0.0 };
        let n_ops = 1 + self.below(4);
        let args = [index, x.clone()];
        let (block, ..) = self.region(&args, &args[1..], |g| g.ops(n_ops, acc, depth + 1));
        let operands = [bounds[0], bounds[1], bounds[2], x.value];
        let op = Op::Control(ControlOp::For);
        let results = self.b.push_with_regions(op, &operands, &[block], LocId::UNKNOWN).unwrap();
        self.learn(results[0], x.magnitude, x.error);
    }

    /// `while`: halves a counter until it is zero.
    fn repeat(&mut self, acc: Value, depth: usize) {
        let Some(x) = self.any(|k| k.ty.is_tile()) else { return };
        let start = self.below(9) as i64;
        let start = self.int(start);
        let counter =
            Known { value: start, ty: Type::Scalar(DType::I32), magnitude: 0.0, error: 0.0 };
        let types = [counter.ty.clone(), x.ty.clone()];
        let (cond, args) = self.b.open_block(&types);
        let zero = self.int(0);
        let goes_on =
            self.push(Op::Elementwise(Elementwise::Compare(Compare::Gt)), &[args[0], zero]);
        self.b.close_block(&[goes_on], LocId::UNKNOWN);
        let n_outside = self.known.len();
        let (body, args) = self.b.open_block(&types);
        self.known.push(Known { value: args[1], ..x.clone() });
        let n_ops = 1 + self.below(3);
        self.ops(n_ops, acc, depth + 1);
        let alike = |k: &Known| k.ty == x.ty && k.magnitude <= x.magnitude && k.error <= x.error;
        let next = self.any(alike).map_or(args[1], |known| known.value);
        let two = self.int(2);
        let half = self.binary(Binary::Div, args[0], two);
        self.known.truncate(n_outside);
        self.b.close_block(&[half, next], LocId::UNKNOWN);
        let op = Op::Control(ControlOp::While);
        let operands = [start, x.value];
        let results =
            self.b.push_with_regions(op, &operands, &[cond, body], LocId::UNKNOWN).unwrap();
        self.learn(results[1], x.magnitude, x.error);
    }
}

/// The distance of neighbours of this size in a float type; 0 for others.
fn ulp(dtype: DType, magnitude: f64) -> f64 {
    let fraction_bits = match dtype {
        DType::F32 => 23,
        DType::F16 => 10,
        DType::BF16 => 7,
        DType::Bool | DType::I8 | DType::I16 | DType::I32 | DType::U8 | DType::U16 | DType::U32 => {
            return 0.0;
        }
    };
    2.0_f64.powi(magnitude.max(1e-30).log2().floor() as i32 - fraction_bits)
}
