//! Gradients of one's own, and the check of gradients.

use super::{code, tensor};
use systole::diag::Diagnostics;
use systole::run::{GradientCheck, Tensor, check_gradient, custom_vjp, fori_loop, grad, jit};

#[test]
fn functions_can_have_gradients_of_their_own() {
    let rounded = custom_vjp(
        |x: Tensor<f32>| x.round_even(),
        |x: Tensor<f32>| (x.round_even(), ()),
        |(), g: Tensor<f32>| g,
    );
    let x = tensor(&[0.4, 1.6], &[2]);
    assert_eq!(rounded(x.clone()).unwrap().to_vec().unwrap(), [0.0, 2.0]);
    let loss = |x: Tensor<f32>| {
        let y = rounded(x * 3.0)?;
        Ok::<_, Diagnostics>((&y * &y).sum(&[0]))
    };
    assert_eq!(grad(loss)(&x).unwrap().to_vec().unwrap(), [6.0, 30.0]);
    let compiled = jit(|x: Tensor<f32>| grad(loss)(&x)).call((x.clone(),)).unwrap();
    assert_eq!(compiled.to_vec().unwrap(), [6.0, 30.0]);
    // Its slope is not its gradient, and that is found.
    let wrong = check_gradient(loss, &x, &GradientCheck::default()).unwrap_err();
    assert_eq!(code(&wrong), "tensor::gradient_wrong");
    assert!(wrong.0[0].message.contains("element [0] of tensor 0 is 6"), "{wrong}");

    // With what is kept from the way forward, on several arguments, and through a loop.
    let product = custom_vjp(
        |(x, n, w): (Tensor<f32>, Tensor<i32>, Tensor<f32>)| &x * &w * n.cast::<f32>(),
        |(x, n, w): (Tensor<f32>, Tensor<i32>, Tensor<f32>)| {
            let n_float = n.cast::<f32>();
            (&x * &w * &n_float, (x, n, w))
        },
        |(x, n, w): (Tensor<f32>, Tensor<i32>, Tensor<f32>), g: Tensor<f32>| {
            let by = g * n.cast::<f32>();
            (&by * &w, n.zeros_like(), by * x)
        },
    );
    let loss = |(x, w): (Tensor<f32>, Tensor<f32>)| {
        let n = Tensor::<i32>::from_slice(&[2, 3], [2])?;
        let y = fori_loop(0..2, |_, y: Tensor<f32>| product((y, n.clone(), w.clone())), x)?;
        Ok::<_, Diagnostics>(y.sum(&[0]))
    };
    let w = tensor(&[0.5, -0.3], &[2]);
    check_gradient(loss, &(x.clone(), w), &GradientCheck::default()).unwrap();
}

#[test]
fn gradients_of_ones_own_are_checked() {
    let x = tensor(&[1.0, 2.0], &[2]);
    let other_types = custom_vjp(
        |x: Tensor<f32>| x * 2.0,
        |x: Tensor<f32>| (x * 2.0, ()),
        |(), g: Tensor<f32>| g.sum(&[0]),
    );
    let error = grad(|x: Tensor<f32>| Ok::<_, Diagnostics>(other_types(x)?.sum(&[0])))(&x);
    let error = error.unwrap_err();
    assert!(error.0[0].message.contains("f32[] as tensor 0, where f32[2]"), "{error}");
    let other_result = custom_vjp(
        |x: Tensor<f32>| x * 2.0,
        |x: Tensor<f32>| (x.sum(&[0]), ()),
        |(), g: Tensor<f32>| g,
    );
    let error = grad(|x: Tensor<f32>| Ok::<_, Diagnostics>(other_result(x)?.sum(&[0])))(&x);
    assert!(error.unwrap_err().0[0].message.contains("the forward function"));
    let captures = grad(|x: Tensor<f32>| {
        let (held, also, y) = (x.clone(), x.clone(), x.clone());
        let hidden = custom_vjp(
            move |y: Tensor<f32>| y * &held,
            move |y: Tensor<f32>| (y * &also, ()),
            |(), g: Tensor<f32>| g,
        );
        Ok::<_, Diagnostics>(hidden(y)?.sum(&[0]))
    })(&x);
    let error = captures.unwrap_err();
    assert_eq!(code(&error), "tensor::gradient");
    assert!(error.0[0].message.contains("captures the tensor f32[2]"), "{error}");
}

#[test]
fn a_gradient_check_takes_evenly_spread_elements_of_large_tensors() {
    let x = Tensor::<f32>::iota([64, 4], 0) * 0.01;
    let options = GradientCheck { max_elems: 10, ..GradientCheck::default() };
    let report = check_gradient(|x: Tensor<f32>| x.sin().mean(&[0, 1]), &x, &options).unwrap();
    assert_eq!(report.n_elems, 10);
    assert!(report.max_error < 1e-2);
}
