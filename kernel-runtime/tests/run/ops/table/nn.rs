//! Ops of neural networks.

use super::super::{Case, floats, ints};
use super::case;

pub(super) fn add(cases: &mut Vec<Case>) {
    let x = || floats(&[3, 4], -2.0..2.0);
    let row = |low: f64| floats(&[4], low..low + 1.0);
    cases.extend([
        case("softmax", [x()], |x| x[0].softmax(-1)),
        case("softmax_first", [x()], |x| x[0].softmax(0)),
        case("log_softmax", [x()], |x| x[0].log_softmax(-1)),
        case("logsumexp", [x()], |x| x[0].logsumexp(&[-1])),
        case("logsumexp_all", [x()], |x| x[0].logsumexp(&[0, 1])),
        case("layer_norm", [x(), row(0.5), row(-0.5)], |x| x[0].layer_norm(&x[1], &x[2], 1e-5)),
        case("rms_norm", [x(), row(0.5)], |x| x[0].rms_norm(&x[1], 1e-6)),
        case("gelu", [x()], |x| x[0].gelu()),
        case("gelu_tanh", [x()], |x| x[0].gelu_tanh()),
        case("silu", [x()], |x| x[0].silu()),
        case("cross_entropy", [x(), ints(&[3], &[0, 3, 2])], |x| x[0].cross_entropy(&x[1])),
    ]);
}
