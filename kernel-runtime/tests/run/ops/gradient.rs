//! Gradients against finite differences.

use super::table::cases;
use super::{Case, tensor};
use systole::prelude::*;
use systole::run::{DynTensor, grad, jit};

const STEP: f64 = 1e-2;

/// Distinct numbers of either sign, so that no two elements of a result can stand for each other.
fn weight(output: usize, idx: usize) -> f64 {
    ((output * 31 + idx * 7) % 13) as f64 / 6.5 - 0.9
}

/// The results that have a gradient, by number.
fn float_outputs(outputs: &[DynTensor]) -> Vec<usize> {
    (0..outputs.len()).filter(|&idx| outputs[idx].dtype() == DType::F32).collect()
}

/// The weighted sum of the results, on the host.
fn loss(case: &Case, inputs: &[DynTensor]) -> f64 {
    let outputs = case.run(inputs);
    let of = |idx: usize| {
        let values = outputs[idx].to_array().unwrap().to_f64();
        values.into_iter().enumerate().map(|(at, x)| x * weight(idx, at)).sum::<f64>()
    };
    float_outputs(&outputs).into_iter().map(of).sum()
}

fn weighted_sum(case: &Case, inputs: &[DynTensor]) -> DynTensor {
    let outputs = case.run(inputs);
    let of = |idx: usize| {
        let weights: Vec<f64> = (0..outputs[idx].n_elems()).map(|at| weight(idx, at)).collect();
        let weights = tensor(DType::F32, outputs[idx].shape(), &weights);
        let axes: Vec<i64> = (0..outputs[idx].rank() as i64).collect();
        (&outputs[idx] * weights).sum(&axes)
    };
    let sums = float_outputs(&outputs).into_iter().map(of);
    sums.reduce(|a, b| a + b).unwrap()
}

#[test]
fn gradients_equal_finite_differences() {
    let mut n_checked = 0;
    for case in cases() {
        let is_float = |x: &DynTensor| x.dtype() == DType::F32;
        let gives_floats = !float_outputs(&case.run(&case.inputs)).is_empty();
        if !gives_floats || !case.inputs.iter().any(is_float) {
            continue;
        }
        // Compiled whole: a program per case and not one per op.
        let gradients = jit(|inputs: Vec<DynTensor>| {
            let gradients = grad(|inputs: Vec<DynTensor>| weighted_sum(&case, &inputs));
            gradients(&inputs).unwrap_or_else(|error| panic!("{}: {error}", case.name))
        });
        let gradients = gradients.call((case.inputs.clone(),)).unwrap();
        for place in (0..case.inputs.len()).filter(|&place| is_float(&case.inputs[place])) {
            check(&case, place, &gradients[place].to_array().unwrap().to_f64());
        }
        n_checked += 1;
    }
    assert!(n_checked > 80, "only {n_checked} cases have a gradient");
}

/// Compares the gradient of one input.
fn check(case: &Case, place: usize, gradient: &[f64]) {
    let input = &case.inputs[place];
    let values = input.to_array().unwrap().to_f64();
    assert_eq!(gradient.len(), values.len(), "{}: input {place}", case.name);
    for idx in 0..values.len() {
        let at = |delta: f64| {
            let mut moved = values.clone();
            moved[idx] = f64::from((values[idx] + delta) as f32);
            let mut inputs = case.inputs.clone();
            inputs[place] = tensor(DType::F32, input.shape(), &moved);
            (loss(case, &inputs), moved[idx])
        };
        let ((above, x_above), (below, x_below)) = (at(STEP), at(-STEP));
        let slope = (above - below) / (x_above - x_below);
        let far = (slope - gradient[idx]).abs() / (1.0 + slope.abs());
        assert!(
            far < 4e-3,
            "{}: input {place}, element {idx}: finite differences {slope}, gradient {}",
            case.name,
            gradient[idx]
        );
    }
}
