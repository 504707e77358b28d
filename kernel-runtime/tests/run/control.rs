//! Branches and loops on tensors.

use super::{MODES, code, error_of, tensor};
use systole::diag::Diagnostics;
use systole::run::{
    Device, Static, Tensor, Tree, cond, fori_loop, grad, jit, scan, value_and_grad, while_loop,
    with_device, with_mode,
};

fn scalar(value: f32) -> Tensor<f32> {
    Tensor::scalar(value)
}

fn values(tensor: &Tensor<f32>) -> Vec<f32> {
    tensor.to_vec().unwrap()
}

/// A branch that doubles or negates, with a tensor from outside in one arm.
fn branch(x: Tensor<f32>, bias: &Tensor<f32>) -> Result<Tensor<f32>, Diagnostics> {
    cond(&x.sum(&[0]).gt(0.0), |x| x * 2.0 + bias, |x: Tensor<f32>| x.neg(), x)
}

#[test]
fn cond_takes_the_branch_that_the_condition_says_in_every_mode() {
    let bias = tensor(&[10.0, 20.0], &[2]);
    for mode in MODES {
        with_mode(mode, || {
            let up = branch(tensor(&[1.0, 2.0], &[2]) + 0.0, &bias).unwrap();
            let down = branch(tensor(&[-1.0, -2.0], &[2]) + 0.0, &bias).unwrap();
            assert_eq!(
                (values(&up), values(&down)),
                (vec![12.0, 24.0], vec![1.0, 2.0]),
                "{mode:?}"
            );
        });
    }
    let f = jit(move |x: Tensor<f32>| branch(x, &bias));
    for _ in 0..2 {
        let up = f.call((tensor(&[1.0, 2.0], &[2]),)).unwrap();
        let down = f.call((tensor(&[-1.0, -2.0], &[2]),)).unwrap();
        assert_eq!((values(&up), values(&down)), (vec![12.0, 24.0], vec![1.0, 2.0]));
    }
    assert_eq!(f.n_programs(), 1);
}

#[test]
fn eager_loops_compile_once_whatever_their_inputs() {
    // A client that no other test uses: counters are the client's.
    let device = Device::cpus(21).remove(0);
    let n_programs = || device.compiler().unwrap().stats().n_programs;
    let newton = |x: &Tensor<f32>| {
        while_loop(
            |(guess, x): &(Tensor<f32>, Tensor<f32>)| (guess * guess - x).abs().gt(1e-3),
            |(guess, x)| ((&guess + &x / &guess) * 0.5, x),
            (Tensor::scalar(1.0), x.clone()),
        )
    };
    with_device(&device, || {
        let (root, _) = newton(&(scalar(2.0) + 0.0)).unwrap();
        assert!((root.item().unwrap() - 2.0_f64.sqrt()).abs() < 1e-3);
        let before = n_programs();
        let (root, _) = newton(&(scalar(9.0) + 0.0)).unwrap();
        assert!((root.item().unwrap() - 3.0).abs() < 1e-3);
        assert_eq!(n_programs(), before);
    });
}

#[test]
fn while_loops_whose_condition_fails_at_once_do_not_run() {
    for mode in MODES {
        with_mode(mode, || {
            let count = |end: i32| {
                while_loop(
                    |i: &Tensor<i32>| i.lt(Tensor::scalar(end)),
                    |i| i + 2,
                    Tensor::<i32>::scalar(0),
                )
                .unwrap()
            };
            assert_eq!(count(1).item().unwrap(), 2.0, "{mode:?}");
            assert_eq!(count(0).item().unwrap(), 0.0);
            assert_eq!(count(7).item().unwrap(), 8.0);
        });
    }
}

#[test]
fn scans_carry_and_stack() {
    let sums = |xs: Tensor<f32>| scan(|c, x: Tensor<f32>| (&c + &x, c * x), scalar(1.0), xs);
    for mode in MODES {
        with_mode(mode, || {
            let (sum, products) = sums(tensor(&[1.0, 2.0, 3.0], &[3])).unwrap();
            assert_eq!((sum.item().unwrap(), values(&products)), (7.0, vec![1.0, 4.0, 12.0]));
            let (none, empty) = sums(tensor(&[], &[0])).unwrap();
            assert_eq!((none.item().unwrap(), empty.shape()), (1.0, &[0][..]));
        });
    }
    // Rows of one tensor beside elements of another, and an integer that is carried.
    let rows = tensor(&[1.0, 2.0, 3.0, 4.0], &[2, 2]);
    let (n, scaled) = scan(
        |n: Tensor<i32>, (row, by): (Tensor<f32>, Tensor<f32>)| (n + 1, row * by),
        Tensor::scalar(0),
        (rows, tensor(&[10.0, 100.0], &[2])),
    )
    .unwrap();
    assert_eq!(n.item().unwrap(), 2.0);
    assert_eq!(values(&scaled), [10.0, 20.0, 300.0, 400.0]);
}

#[test]
fn counted_loops_see_their_index() {
    let weighted = |range: std::ops::Range<i32>| {
        fori_loop(range, |i, sum: Tensor<i32>| sum + &i * &i, Tensor::<i32>::scalar(0)).unwrap()
    };
    assert_eq!(weighted(0..4).item().unwrap(), 14.0);
    assert_eq!(weighted(-2..3).item().unwrap(), 10.0);
    assert_eq!(weighted(3..3).item().unwrap(), 0.0);
    let reversed = std::ops::Range { start: 3, end: -3 };
    assert_eq!(weighted(reversed).item().unwrap(), 0.0);
}

/// Loops and branches in one another.
fn nested(xs: Tensor<f32>, w: Tensor<f32>) -> Result<Tensor<f32>, Diagnostics> {
    let (total, _) = scan(
        |total: Tensor<f32>, x: Tensor<f32>| {
            let inner = fori_loop(0..3, |_, y: Tensor<f32>| (y * &w).tanh() + &x, x.clone())?;
            let kept = cond(&inner.gt(0.5), |y: Tensor<f32>| &y * &w + &total, |y| y.sin(), inner)?;
            Ok((total * 0.5 + kept, ()))
        },
        scalar(0.25),
        xs,
    )?;
    Ok(total)
}

#[test]
fn control_flow_nests_and_has_gradients() {
    let xs = tensor(&[0.3, -0.7, 1.1, 0.05], &[4]);
    let w = scalar(0.8);
    let (value, (dxs, dw)) =
        value_and_grad(|(xs, w)| nested(xs, w))(&(xs.clone(), w.clone())).unwrap();
    let compiled = jit(nested).call((xs.clone(), w.clone())).unwrap();
    assert!((value.item().unwrap() - compiled.item().unwrap()).abs() < 1e-6);
    let at = |xs: &[f32], w: f32| nested(tensor(xs, &[4]), scalar(w)).unwrap().item().unwrap();
    let xs = values(&xs);
    let h = 1e-3_f32;
    for (idx, dx) in values(&dxs).into_iter().enumerate() {
        let moved = |h: f32| {
            let mut xs = xs.clone();
            xs[idx] += h;
            at(&xs, 0.8)
        };
        let slope = (moved(h) - moved(-h)) / (2.0 * f64::from(h));
        assert!((slope - f64::from(dx)).abs() < 2e-3, "{idx}: {slope} {dx}");
    }
    let slope = (at(&xs, 0.8 + h) - at(&xs, 0.8 - h)) / (2.0 * f64::from(h));
    assert!((slope - dw.item().unwrap()).abs() < 2e-3, "{slope} {dw}");
    // Of the compiled gradient too.
    let compiled = jit(|xs: Tensor<f32>, w: Tensor<f32>| grad(|(xs, w)| nested(xs, w))(&(xs, w)));
    let (again, _) = compiled.call((tensor(&xs, &[4]), w)).unwrap();
    assert_eq!(values(&again).len(), 4);
    for (a, b) in values(&again).iter().zip(values(&dxs)) {
        assert!((a - b).abs() < 1e-6);
    }
}

#[test]
fn gradients_of_gradients_go_through_loops() {
    // x^4 by three products: second derivative 12 x^2.
    let power = |x: Tensor<f32>| fori_loop(0..3, |_, y: Tensor<f32>| y * &x, x.clone());
    let slope = |x: Tensor<f32>| grad(power)(&x);
    let curvature = grad(slope)(&scalar(1.5)).unwrap();
    assert!((curvature.item().unwrap() - 27.0).abs() < 1e-3, "{curvature}");
    let third = grad(|x: Tensor<f32>| grad(slope)(&x))(&scalar(1.5)).unwrap();
    assert!((third.item().unwrap() - 36.0).abs() < 1e-3, "{third}");
}

#[test]
fn gradients_reach_results_of_turns_and_tensors_from_outside() {
    let w = tensor(&[2.0, 3.0], &[2]);
    let loss = |(w, xs): (Tensor<f32>, Tensor<f32>)| {
        let (_, ys) =
            scan(|i: Tensor<i32>, x: Tensor<f32>| (i + 1, x * &w), Tensor::scalar(0), xs)?;
        Ok::<_, Diagnostics>(ys.sum(&[0, 1]))
    };
    let xs = tensor(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2]);
    let (dw, dxs) = grad(loss)(&(w, xs)).unwrap();
    assert_eq!(values(&dw), [9.0, 12.0]);
    assert_eq!(values(&dxs), [2.0, 3.0, 2.0, 3.0, 2.0, 3.0]);
}

#[test]
fn while_loops_have_no_gradient_and_say_what_has() {
    let f = |x: Tensor<f32>| while_loop(|x: &Tensor<f32>| x.gt(1.0), |x| x * 0.5, x);
    let error = grad(f)(&scalar(3.0)).unwrap_err();
    assert_eq!(code(&error), "tensor::gradient");
    assert!(error.0[0].help.as_ref().unwrap().contains("fori_loop"), "{error}");
    // Where nothing depends on it, it may stand in a function that is differentiated.
    let g = |x: Tensor<f32>| {
        let steps = while_loop(|n: &Tensor<i32>| n.lt(3), |n| n + 1, Tensor::<i32>::scalar(0))?;
        Ok::<_, Diagnostics>(x * steps.cast::<f32>())
    };
    assert_eq!(grad(g)(&scalar(3.0)).unwrap().item().unwrap(), 3.0);
}

#[test]
fn types_that_do_not_stay_are_errors_with_both_types_and_both_lines() {
    let x = tensor(&[1.0, 2.0], &[2]);
    let line = line!() + 1;
    let grown = fori_loop(0..2, |_, x: Tensor<f32>| x.expand_dims(0), x.clone()).unwrap_err();
    assert_eq!(code(&grown), "tensor::control");
    assert!(grown.0[0].message.contains("carries f32[2] as tensor 0"), "{grown}");
    assert!(grown.0[0].message.contains("gives f32[1, 2]"), "{grown}");
    let lines: Vec<u32> = grown.0[0].labels.iter().map(|label| label.span.line).collect();
    assert_eq!(lines, [line, line]);

    let branches = cond(
        &x.sum(&[0]).gt(0.0),
        |x: Tensor<f32>| (x.to_dyn(), x.to_dyn()),
        |x| (x.sum(&[0]).to_dyn(), x.cast::<i32>().to_dyn()),
        x.clone(),
    );
    let branches = branches.unwrap_err();
    // Both are told.
    assert_eq!(branches.0.len(), 2);
    assert!(branches.0[1].message.contains("f32[2] as tensor 1"), "{branches}");
    assert!(branches.0[1].message.contains("i32[2]"), "{branches}");

    let wide = while_loop(|x: &Tensor<f32>| x.gt(0.0), |x| x - 1.0, x.clone()).unwrap_err();
    assert!(wide.0[0].message.contains("bool[2]"), "{wide}");
    let wide = cond(&x.gt(0.0), |x| x, |x: Tensor<f32>| x, x.clone()).unwrap_err();
    assert!(wide.0[0].message.contains("bool[2]"), "{wide}");

    let lists = fori_loop(
        0..2,
        |_, xs: Vec<Tensor<f32>>| xs.into_iter().take(1).collect::<Vec<_>>(),
        vec![x.clone(), x.clone()],
    );
    assert!(lists.unwrap_err().0[0].message.contains("2 tensors"));
    let changed = fori_loop(
        0..2,
        |_, (x, Static(n)): (Tensor<f32>, Static<i32>)| (x, Static(n + 1)),
        (x.clone(), Static(0)),
    );
    assert!(changed.unwrap_err().0[0].message.contains("no tensors"));

    let pairs = |a: Tensor<f32>, b: Tensor<f32>| {
        scan(|c: Tensor<f32>, _: (Tensor<f32>, Tensor<f32>)| (c, ()), scalar(0.0), (a, b))
    };
    let uneven = pairs(x.clone(), tensor(&[1.0], &[1])).unwrap_err();
    assert!(uneven.0[0].message.contains("[2] and [1]"), "{uneven}");
    assert!(pairs(x.clone(), scalar(1.0)).is_err());
    let over_nothing = scan(|c: Tensor<f32>, (): ()| (c, ()), scalar(0.0), ()).unwrap_err();
    assert!(over_nothing.0[0].help.as_ref().unwrap().contains("fori_loop"));
}

#[test]
fn errors_of_a_body_keep_their_line() {
    let (x, y) = (tensor(&[1.0, 2.0], &[2]), tensor(&[1.0, 2.0, 3.0], &[3]));
    let line = line!() + 1;
    let error = fori_loop(0..2, |_, x: Tensor<f32>| x + &y, x).unwrap_err();
    assert_eq!((code(&error), error.0[0].labels[0].span.line), ("tensor::shape", line));
    // What could not be made before is told as it was.
    let broken = tensor(&[1.0], &[1]).reshape([7]);
    let error = fori_loop(0..2, |_, x: Tensor<f32>| x, broken.clone()).unwrap_err();
    assert_eq!(error.0, error_of(&broken).0);
}

#[derive(Clone, Tree)]
struct State<T> {
    at: Tensor<i32>,
    value: T,
    #[tree(static)]
    doubles: bool,
}

#[derive(Clone, Tree)]
enum Shape {
    Point(Tensor<f32>),
    Box { low: Tensor<f32>, high: Tensor<f32> },
}

#[test]
fn structures_of_tensors_are_carried() {
    let run = |doubles: bool| {
        let state = State { at: Tensor::scalar(0), value: (scalar(1.0), scalar(0.5)), doubles };
        let state = while_loop(
            |state: &State<(Tensor<f32>, Tensor<f32>)>| state.at.lt(4),
            |State { at, value: (a, b), doubles }| {
                let by = if doubles { 2.0 } else { 3.0 };
                State { at: at + 1, value: (a * by, b), doubles }
            },
            state,
        );
        state.unwrap().value.0.item().unwrap()
    };
    assert_eq!((run(true), run(false)), (16.0, 81.0));
}

#[test]
fn static_fields_and_variants_belong_to_the_program() {
    let f =
        jit(
            |state: State<Tensor<f32>>| {
                if state.doubles { state.value * 2.0 } else { state.value + state.at.cast::<f32>() }
            },
        );
    let state = |doubles| State { at: Tensor::scalar(5), value: scalar(3.0), doubles };
    let call = |doubles| f.call((state(doubles),)).unwrap().item().unwrap();
    assert_eq!((call(true), call(false), call(true)), (6.0, 8.0, 6.0));
    assert_eq!(f.n_programs(), 2);

    let volume = jit(|shape: Shape| match shape {
        Shape::Point(at) => at.zeros_like(),
        Shape::Box { low, high } => high - low,
    });
    let point = volume.call((Shape::Point(scalar(1.0)),)).unwrap();
    let sides = Shape::Box { low: scalar(1.0), high: scalar(4.0) };
    assert_eq!(point.item().unwrap(), 0.0);
    assert_eq!(volume.call((sides,)).unwrap().item().unwrap(), 3.0);
    assert_eq!(volume.n_programs(), 2);
    let dx = grad(|shape: Shape| match shape {
        Shape::Point(at) => at,
        Shape::Box { low, high } => high * low,
    });
    let Shape::Box { low, high } = dx(&Shape::Box { low: scalar(2.0), high: scalar(4.0) }).unwrap()
    else {
        unreachable!("gradients have the variant of the arguments")
    };
    assert_eq!((low.item().unwrap(), high.item().unwrap()), (4.0, 2.0));
}
