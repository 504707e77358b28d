//! Element-wise ops, from their table.

use crate::batch::{Batch, array};
use systole::ir::ops::{Binary, Compare, Elementwise, Unary};
use systole::ir::{Array, DType, Op};
use systole::run::{Sampler, Tolerance};

const SHAPE: [usize; 2] = [16, 128];
const N: usize = 16 * 128;

pub(crate) fn batches() -> Vec<Batch> {
    let mut batches = Vec::new();
    for &dtype in DType::COMPUTED {
        batches.extend([unary(dtype), binary(dtype), compare(dtype), select(dtype)]);
    }
    batches.extend(DType::ALL.iter().map(|&dtype| cast(dtype)));
    batches.retain(|batch| !batch.members.is_empty());
    batches
}

/// Values at the borders of a type, where ops have their special cases.
pub(crate) fn special(dtype: DType) -> Vec<f64> {
    if let Some((lo, hi)) = dtype.int_range() {
        let values = [lo, lo + 1, hi, hi - 1, 0, 1, 2, 3, 5, 7, 31, 64, -1, -2, -7];
        return values.into_iter().filter(|x| (lo..=hi).contains(x)).map(|x| x as f64).collect();
    }
    if dtype == DType::Bool {
        return vec![0.0, 1.0];
    }
    vec![0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -1.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]
}

/// Values that have to be converted with care.
fn hard_to_cast(dtype: DType) -> Vec<f64> {
    let mut values = special(dtype);
    if dtype.is_float() {
        for border in [128.0, 256.0, 32768.0, 65536.0, 2f64.powi(31), 2f64.powi(32)] {
            for x in [border - 1.0, border - 0.5, border, border + 0.5, 1.5 * border, 1e5 * border]
            {
                values.extend([x, -x]);
            }
        }
        // The largest floats of 8 bits, and where what is larger begins; their smallest ones.
        for x in [448.0, 463.0, 464.0, 465.0, 57_344.0, 61_439.0, 61_440.0, 61_441.0] {
            values.extend([x, -x]);
        }
        for smallest in [2f64.powi(-9), 2f64.powi(-16)] {
            for x in [0.49, 0.5, 0.51, 1.0, 1.49, 1.5, 1.51, 2.5, 3.75, 4.5] {
                values.extend([x * smallest, -x * smallest]);
            }
        }
        // Halfway between two bf16 numbers, and between two f16 numbers.
        values.extend([1.0 + 1.0 / 256.0, 1.0 + 3.0 / 256.0, 1.0 + 1.0 / 2048.0, 65519.0, 65520.0]);
        values.extend([1e-6, 3e-7, -2.98e-8, 6.1e-5]);
    } else if dtype != DType::Bool {
        let (lo, hi) = dtype.int_range().unwrap();
        let wide = [255, 256, 257, 259, 2049, 2051, 32769, 16_777_217, 16_777_219, 33_554_435];
        values.extend(wide.into_iter().filter(|x| (lo..=hi).contains(x)).map(|x| x as f64));
    }
    values
}

/// The special values and then samples: of a domain, and for integers of the whole type.
fn samples(dtype: DType, domain: std::ops::Range<f64>, seed: u64) -> Vec<f64> {
    let mut sampler = Sampler::new(seed);
    let mut values = special(dtype);
    if let Some((lo, hi)) = dtype.int_range() {
        values.extend(sampler.uniform(dtype, &[N / 2], lo as f64, hi as f64 + 1.0).to_f64());
        let (lo, hi) = (domain.start.max(lo as f64), domain.end.min(hi as f64));
        values.extend(sampler.uniform(dtype, &[N], lo, hi).to_f64());
    } else if dtype == DType::Bool {
        values.extend(sampler.uniform(DType::I32, &[N], 0.0, 2.0).to_f64());
    } else {
        values.extend(sampler.uniform(dtype, &[N], domain.start, domain.end).to_f64());
    }
    values.truncate(N);
    // An ordinary value last, where the back end that is wrong on purpose is wrong.
    values[N - 1] = 1.0;
    round(dtype, &values)
}

/// Values as the type has them.
fn round(dtype: DType, values: &[f64]) -> Vec<f64> {
    array(dtype, &[values.len()], values).to_f64()
}

/// Pairs: every special value with every other, then samples.
fn pairs(dtype: DType, domain: std::ops::Range<f64>) -> (Vec<f64>, Vec<f64>) {
    let (mut x, mut y) = (samples(dtype, domain.clone(), 1), samples(dtype, domain, 2));
    let special = special(dtype);
    let all = special.iter().flat_map(|&a| special.iter().map(move |&b| (a, b)));
    for (idx, (a, b)) in all.take(N - 1).enumerate() {
        (x[idx], y[idx]) = (a, b);
    }
    (round(dtype, &x), round(dtype, &y))
}

/// An input array; `bool` is not kept in memory, so it comes as integers.
fn stored(dtype: DType, values: &[f64]) -> Array {
    let dtype = if dtype == DType::Bool { DType::I32 } else { dtype };
    array(dtype, &SHAPE, values)
}

/// What a row's ULP, which is for `f32`, means for a type: narrow floats may round the other way.
fn tolerance(dtype: DType, ulp: u32) -> Tolerance {
    Tolerance::ulp(u64::from(match dtype {
        DType::F32 => ulp,
        DType::BF16 | DType::F16 => ulp.min(1),
        _ => 0,
    }))
}

fn eval1(op: Unary, dtype: DType, x: f64) -> f64 {
    if dtype.is_float() {
        f64::from(dtype.round_f32(op.eval_float(x as f32)))
    } else {
        dtype.wrap_int(op.eval_int(x as i64)) as f64
    }
}

fn eval2(op: Binary, dtype: DType, x: f64, y: f64) -> f64 {
    if dtype.is_float() {
        f64::from(dtype.round_f32(op.eval_float(x as f32, y as f32)))
    } else {
        dtype.wrap_int(op.eval_int(x as i64, y as i64)) as f64
    }
}

fn unary(dtype: DType) -> Batch {
    let mut batch = Batch::new("elementwise", format!("unary_{dtype}"));
    for &op in Unary::ALL.iter().filter(|op| op.accepts(dtype)) {
        let x = samples(dtype, op.domain(), 3);
        let expected: Vec<f64> = x.iter().map(|&x| eval1(op, dtype, x)).collect();
        let x = batch.input(stored(dtype, &x));
        let expected = array(dtype, &SHAPE, &expected);
        batch.case(
            format!("{}::{dtype}", op.name()),
            expected,
            tolerance(dtype, op.ulp()),
            move |s, refs| {
                let x = s.load(refs.inputs[x]);
                let x = s.cast(x, dtype);
                s.unary(op, x)
            },
        );
    }
    batch
}

fn binary(dtype: DType) -> Batch {
    let mut batch = Batch::new("elementwise", format!("binary_{dtype}"));
    for &op in Binary::ALL.iter().filter(|op| op.accepts(dtype)) {
        let (x, y) = pairs(dtype, op.domain());
        let expected: Vec<f64> = x.iter().zip(&y).map(|(&x, &y)| eval2(op, dtype, x, y)).collect();
        let (x, y) = (batch.input(stored(dtype, &x)), batch.input(stored(dtype, &y)));
        batch.case(
            format!("{}::{dtype}", op.name()),
            array(dtype, &SHAPE, &expected),
            tolerance(dtype, op.ulp()),
            move |s, refs| {
                let (x, y) = (s.load(refs.inputs[x]), s.load(refs.inputs[y]));
                let (x, y) = (s.cast(x, dtype), s.cast(y, dtype));
                s.binary(op, x, y)
            },
        );
        if dtype.is_int() && matches!(op, Binary::Div | Binary::Rem) {
            divide(&mut batch, op, dtype);
        }
    }
    batch
}

/// Integers by themselves and by constants, zero among them: what XLA simplifies, or computes while
/// it compiles.
fn divide(batch: &mut Batch, op: Binary, dtype: DType) {
    let values = samples(dtype, op.domain(), 6);
    let input = batch.input(stored(dtype, &values));
    let mut add = |x: Option<f64>, y: Option<f64>| {
        let result = |&value: &f64| eval2(op, dtype, x.unwrap_or(value), y.unwrap_or(value));
        let expected = array(dtype, &SHAPE, &values.iter().map(result).collect::<Vec<_>>());
        let [dividend, divisor] = [x, y].map(|x| x.map_or("x".to_owned(), |x| x.to_string()));
        let name = format!("{}_{dividend}_by_{divisor}::{dtype}", op.name());
        batch.case(name, expected, Tolerance::exact(), move |s, refs| {
            let loaded = s.load(refs.inputs[input]);
            let [x, y] = [x, y].map(|x| x.map_or(loaded, |x| s.like(loaded, x)));
            s.binary(op, x, y)
        });
    };
    add(None, None);
    for divisor in [0.0, 1.0, 2.0, 7.0] {
        add(None, Some(divisor));
        add(Some(5.0), Some(divisor));
    }
}

fn compare(dtype: DType) -> Batch {
    let mut batch = Batch::new("elementwise", format!("compare_{dtype}"));
    let (x, y) = pairs(dtype, -3.0..3.0);
    let inputs = (batch.input(stored(dtype, &x)), batch.input(stored(dtype, &y)));
    for &op in Compare::ALL {
        let holds = x.iter().zip(&y).map(|(&x, &y)| f64::from(u8::from(op.eval(x, y))));
        let expected = array(DType::Bool, &SHAPE, &holds.collect::<Vec<_>>());
        let name = format!("{}::{dtype}", op.name());
        batch.case(name, expected, Tolerance::exact(), move |s, refs| {
            let (x, y) = (s.load(refs.inputs[inputs.0]), s.load(refs.inputs[inputs.1]));
            let (x, y) = (s.cast(x, dtype), s.cast(y, dtype));
            s.compare(op, x, y)
        });
    }
    batch
}

/// `select`, `const` and `bitcast`.
fn select(dtype: DType) -> Batch {
    let mut batch = Batch::new("elementwise", format!("select_{dtype}"));
    let (x, y) = pairs(dtype, -100.0..100.0);
    let cond = samples(DType::Bool, 0.0..1.0, 4);
    let pick = |idx: usize| if cond[idx] != 0.0 { x[idx] } else { y[idx] };
    let expected = array(dtype, &SHAPE, &(0..N).map(pick).collect::<Vec<_>>());
    let inputs = (batch.input(stored(dtype, &x)), batch.input(stored(dtype, &y)));
    let cond = batch.input(stored(DType::Bool, &cond));
    batch.case(format!("select::{dtype}"), expected, Tolerance::exact(), move |s, refs| {
        let (x, y) = (s.load(refs.inputs[inputs.0]), s.load(refs.inputs[inputs.1]));
        let (x, y) = (s.cast(x, dtype), s.cast(y, dtype));
        let cond = s.load(refs.inputs[cond]);
        let cond = s.cast(cond, DType::Bool);
        s.select(cond, x, y)
    });
    let value = special(dtype)[1];
    let expected = array(dtype, &SHAPE, &[value; N]);
    batch.case(format!("const::{dtype}"), expected, Tolerance::exact(), move |s, refs| {
        let x = s.load(refs.inputs[inputs.0]);
        let x = s.cast(x, dtype);
        s.like(x, value)
    });
    for &to in DType::COMPUTED {
        let bool = dtype == DType::Bool || to == DType::Bool;
        if bool || to.size_bytes() != dtype.size_bytes() {
            continue;
        }
        let bits = array(dtype, &SHAPE, &x);
        let expected = Array::from_bytes(to, &SHAPE, bits.as_bytes()).unwrap();
        let name = format!("bitcast::{dtype}_to_{to}");
        batch.case(name, expected, Tolerance::exact(), move |s, refs| {
            let x = s.load(refs.inputs[inputs.0]);
            s.op(Op::Elementwise(Elementwise::Bitcast(to)), &[x])
        });
    }
    batch
}

/// `cast` to every type, by the rules of the language: here the conversions of Rust, which are the
/// same for floats to integers.
fn cast(dtype: DType) -> Batch {
    let mut batch = Batch::new("elementwise", format!("cast_{dtype}"));
    let mut x = samples(dtype, -300.0..300.0, 5);
    for (to, &from) in x.iter_mut().zip(&hard_to_cast(dtype)) {
        *to = from;
    }
    let x = round(dtype, &x);
    let input = batch.input(stored(dtype, &x));
    for &to in DType::ALL {
        let convert = |&x: &f64| match (to.int_range(), dtype.is_float()) {
            (Some((lo, hi)), true) => (x as i64).clamp(lo, hi) as f64,
            (Some(_), false) => to.wrap_int(x as i64) as f64,
            (None, _) if to == DType::Bool => f64::from(u8::from(x != 0.0)),
            (None, _) => f64::from(to.round_f32(x as f32)),
        };
        let expected = array(to, &SHAPE, &x.iter().map(convert).collect::<Vec<_>>());
        let name = format!("cast::{dtype}_to_{to}");
        batch.case(name, expected, Tolerance::exact(), move |s, refs| {
            let x = s.load(refs.inputs[input]);
            let x = s.cast(x, dtype);
            s.cast(x, to)
        });
    }
    batch
}
