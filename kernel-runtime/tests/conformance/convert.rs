//! Conversions across rows and words, and rounding by chance.

use crate::batch::{Batch, array};
use crate::shape::build;
use systole::ir::ops::ConvertOp;
use systole::ir::{Array, DType, Op};
use systole::run::{Sampler, Tolerance};

const SIZES: [usize; 2] = [32, 128];

pub(crate) fn batches() -> Vec<Batch> {
    let mut batch = Batch::new("convert", "convert");
    for from in DType::COMPUTED.iter().copied().filter(|dtype| *dtype != DType::Bool) {
        for to in
            [DType::F32, DType::I32, DType::U32, DType::BF16, DType::I16, DType::I8, DType::U8]
        {
            bitcast_rows(&mut batch, from, to);
        }
    }
    for dtype in [DType::BF16, DType::I16, DType::U16, DType::I8, DType::U8] {
        pack(&mut batch, dtype);
        unpack(&mut batch, dtype);
    }
    stochastic_round(&mut batch);
    vec![batch]
}

fn sample(dtype: DType) -> Array {
    let mut sampler = Sampler::new(11);
    match dtype.is_float() {
        true => sampler.normal(dtype, &SIZES),
        false => sampler.uniform(dtype, &SIZES, range(dtype).0, range(dtype).1),
    }
}

fn range(dtype: DType) -> (f64, f64) {
    let (lo, hi) = dtype.int_range().unwrap_or((-100, 100));
    (lo as f64, hi as f64)
}

/// The bytes of each column, rows one after the other.
fn bitcast_rows(batch: &mut Batch, from: DType, to: DType) {
    let x = sample(from);
    let (size, to_size) = (from.size_bytes(), to.size_bytes());
    let rows = SIZES[0] * size / to_size;
    let mut bytes = vec![0; rows * SIZES[1] * to_size];
    for (place, element) in x.as_bytes().chunks(size).enumerate() {
        let (row, column) = (place / SIZES[1], place % SIZES[1]);
        for (nth, &byte) in element.iter().enumerate() {
            let at = row * size + nth;
            bytes[(at / to_size * SIZES[1] + column) * to_size + at % to_size] = byte;
        }
    }
    let expected = Array::from_bytes(to, &[rows, SIZES[1]], &bytes).unwrap();
    // What is NaN or tiny as a float is not kept bit by bit everywhere.
    let odd = |x: &f32| to.is_float() && !(x.is_finite() && (x.abs() > 1e-30 || *x == 0.0));
    if expected.to_f32().iter().any(odd) {
        return;
    }
    let input = batch.input(x);
    let name = format!("bitcast_rows::{from}_{to}");
    batch.case(name, expected, Tolerance::exact(), move |s, refs| {
        let x = s.load(refs.inputs[input]);
        s.op(Op::Convert(ConvertOp::BitcastRows { dtype: to }), &[x])
    });
}

/// The bits of a number converted to a type.
fn bits(dtype: DType, value: f64) -> u32 {
    let element = array(dtype, &[1], &[value]);
    element.as_bytes().iter().rev().fold(0, |bits, &byte| bits << 8 | u32::from(byte))
}

fn pack(batch: &mut Batch, dtype: DType) {
    let wide = ConvertOp::wide(dtype);
    let n = ConvertOp::n_parts(dtype);
    let mut sampler = Sampler::new(12);
    let parts: Vec<Array> = (0..n)
        .map(|_| match wide.is_float() {
            true => sampler.normal(wide, &SIZES),
            false => sampler.uniform(wide, &SIZES, -70000.0, 70000.0),
        })
        .collect();
    let values: Vec<Vec<f64>> = parts.iter().map(Array::to_f64).collect();
    let wrapped = |value: f64| match dtype.is_float() {
        true => value,
        false => dtype.wrap_int(value as i64) as f64,
    };
    let expected = build(DType::U32, &SIZES, |i| {
        let place = i[0] * SIZES[1] + i[1];
        let word = (0..n).fold(0, |word, part| {
            word | bits(dtype, wrapped(values[part][place])) << (part * 32 / n)
        });
        f64::from(word)
    });
    let inputs: Vec<usize> = parts.into_iter().map(|part| batch.input(part)).collect();
    batch.case(format!("pack::{dtype}"), expected, Tolerance::exact(), move |s, refs| {
        let parts: Vec<_> = inputs.iter().map(|&input| s.load(refs.inputs[input])).collect();
        s.op(Op::Convert(ConvertOp::Pack { dtype }), &parts)
    });
}

fn unpack(batch: &mut Batch, dtype: DType) {
    let n = ConvertOp::n_parts(dtype);
    let values = sample(dtype).to_f64();
    // Word `i` has elements `i`, `i + 1`, .. of the sample.
    let part = |place: usize, part: usize| values[(place + part) % values.len()];
    let words = build(DType::U32, &SIZES, |i| {
        let place = i[0] * SIZES[1] + i[1];
        let word = (0..n).fold(0, |w, p| w | bits(dtype, part(place, p)) << (p * 32 / n));
        f64::from(word)
    });
    let input = batch.input(words);
    for index in 0..n {
        let wide = ConvertOp::wide(dtype);
        let expected = build(wide, &SIZES, |i| part(i[0] * SIZES[1] + i[1], index));
        let name = format!("unpack_{index}::{dtype}");
        batch.case(name, expected, Tolerance::exact(), move |s, refs| {
            let words = s.load(refs.inputs[input]);
            s.op(Op::Convert(ConvertOp::Unpack { dtype, index }), &[words])
        });
    }
}

fn stochastic_round(batch: &mut Batch) {
    let mut values = sample(DType::F32).to_f32();
    values[3] = f32::INFINITY;
    values[4] = f32::NAN;
    values[5] = f32::NEG_INFINITY;
    let random = Sampler::new(13).uniform(DType::U32, &SIZES, 0.0, 4e9);
    let words = random.to_f64();
    let rounded: Vec<f64> = values
        .iter()
        .zip(&words)
        .map(|(&x, &word)| {
            let raised = x.to_bits().wrapping_add(word as u32 & 0xFFFF) & 0xFFFF_0000;
            f64::from(if x.is_finite() { f32::from_bits(raised) } else { x })
        })
        .collect();
    let expected = array(DType::BF16, &SIZES, &rounded);
    let x = batch.input(Array::from_f32(&SIZES, values).unwrap());
    let random = batch.input(random);
    batch.case("stochastic_round::bf16", expected, Tolerance::exact(), move |s, refs| {
        let (x, random) = (s.load(refs.inputs[x]), s.load(refs.inputs[random]));
        s.op(Op::Convert(ConvertOp::StochasticRound { dtype: DType::BF16 }), &[x, random])
    });
}
