//! Tensors and ops on the CPU plugin, in every mode.

use super::{MODES, error_of, tensor};
use systole::diag::Diagnostics;
use systole::prelude::*;
use systole::run::{
    Device, Mode, Status, Tensor, flush, grad, jit, value_and_grad, with_device, with_mode,
};

#[test]
fn ops_give_the_same_in_every_mode() {
    for mode in MODES {
        with_mode(mode, || {
            let x = tensor(&[1.0, 2.0, 3.0, 4.0], &[2, 2]);
            let row = tensor(&[10.0, 20.0], &[2]);
            let y = (&x + &row) * 2.0 - 1.0;
            assert_eq!(y.to_vec().unwrap(), [21.0, 43.0, 25.0, 47.0], "{mode:?}");
            let z = x.matmul(&x).sum(&[-1]);
            assert_eq!(z.to_vec().unwrap(), [17.0, 37.0]);
            assert_eq!(x.argmax(1).to_vec().unwrap(), [1, 1]);
            assert_eq!(x.transpose(&[1, 0]).to_vec().unwrap(), [1.0, 3.0, 2.0, 4.0]);
            let larger = x.gt(2.5);
            assert_eq!(larger.select(&x, 0.0).to_vec().unwrap(), [0.0, 0.0, 3.0, 4.0]);
        });
    }
}

#[test]
fn deferred_ops_run_when_they_are_read() {
    with_mode(Mode::DeferAndFuse, || {
        let x = tensor(&[1.0, 2.0], &[2]);
        let y = x.exp();
        let z = &y + 1.0;
        assert_eq!((y.status(), z.status()), (Status::Deferred, Status::Deferred));
        z.to_array().unwrap();
        // What is alive was computed in the same program.
        assert_ne!(y.status(), Status::Deferred);
        let dropped = x.log();
        drop(dropped);
        flush();
    });
}

#[test]
fn errors_name_shapes_and_the_callers_line_and_pass_through() {
    let x = tensor(&[1.0, 2.0], &[2]);
    let y = tensor(&[1.0, 2.0, 3.0], &[3]);
    let line = line!() + 1;
    let sum = &x + &y;
    let error = error_of(&(&sum * 2.0).exp());
    assert_eq!(error.0[0].code.as_str(), "tensor::shape");
    assert!(error.0[0].message.contains("[2] and [3]"), "{error}");
    assert_eq!(error.0[0].labels[0].span.line, line);
    assert!(error.0[0].labels[0].span.file.ends_with("tensor.rs"));
    // Functions tell it of their arguments, and are not traced.
    let (failed, ok) = (sum.clone(), tensor(&[1.0; 4], &[2, 2]));
    let product = jit(|x: Tensor<f32>, w: Tensor<f32>| x.matmul(&w));
    let args = (failed.clone(), ok);
    let slope = systole::run::grad(|x: Tensor<f32>| x.sum(&[0]));
    let told = [
        product.call(args.clone()).unwrap_err(),
        product.lower(&args).map(|_| ()).unwrap_err(),
        slope(&failed).unwrap_err(),
    ];
    for error in told {
        assert_eq!(error.0[0].labels[0].span.line, line, "{error}");
    }
}

#[test]
fn in_place_ops_reuse_memory_that_nobody_else_needs() {
    let mut x = tensor(&[1.0, 2.0], &[2]) + 0.0;
    x.wait().unwrap();
    x += 1.0;
    let kept = x.clone();
    x += 1.0;
    assert_eq!(x.to_vec().unwrap(), [3.0, 4.0]);
    assert_eq!(kept.to_vec().unwrap(), [2.0, 3.0]);
}

#[test]
fn jit_compiles_once_per_type() {
    let f = jit(|x: Tensor<f32>, y: Tensor<f32>| (x.matmul(&y), x.sum(&[0, 1])));
    let x = tensor(&[1.0, 2.0, 3.0, 4.0], &[2, 2]);
    for _ in 0..3 {
        let (product, sum) = f.call((x.clone(), x.clone())).unwrap();
        assert_eq!(product.to_vec().unwrap(), [7.0, 10.0, 15.0, 22.0]);
        assert_eq!(sum.item().unwrap(), 10.0);
    }
    assert_eq!(f.n_programs(), 1);
    let row = tensor(&[1.0, 1.0], &[1, 2]);
    f.call((row, x)).unwrap();
    assert_eq!(f.n_programs(), 2);
}

#[test]
fn jit_captures_tensors_and_tells_what_escapes() {
    let w = tensor(&[2.0, 3.0], &[2]);
    let f = jit(move |x: Tensor<f32>| x * &w + 1.0);
    assert_eq!(f.call((tensor(&[1.0, 1.0], &[2]),)).unwrap().to_vec().unwrap(), [3.0, 4.0]);

    let read_inside = jit(|x: Tensor<f32>| {
        let error = x.to_array().unwrap_err();
        assert_eq!(error.0[0].code.as_str(), "tensor::traced");
        x
    });
    read_inside.call((tensor(&[1.0], &[1]),)).unwrap();
}

#[test]
fn donated_arguments_are_gone() {
    let f = jit(|x: Tensor<f32>| x + 1.0).donate(&[0]);
    let x = tensor(&[1.0], &[1]) + 0.0;
    let kept = x.clone();
    // A clone holds it: it stays.
    assert_eq!(f.call((x,)).unwrap().to_vec().unwrap(), [2.0]);
    assert_eq!(kept.to_vec().unwrap(), [1.0]);
    assert_eq!(f.call((kept,)).unwrap().to_vec().unwrap(), [2.0]);
}

#[test]
fn gradients_equal_finite_differences() {
    let f = |(x, w): (Tensor<f32>, Tensor<f32>)| {
        let y = x.matmul(&w).tanh();
        (y.exp() / (y.exp().sum(&[1]).expand_dims(1))).log().mean(&[0, 1])
    };
    let x = tensor(&[0.1, -0.2, 0.3, 0.4, 0.5, -0.6], &[2, 3]);
    let w = tensor(&[0.3, 0.1, -0.5, 0.2, 0.7, -0.4], &[3, 2]);
    let (value, (dx, _)) = value_and_grad(f)(&(x.clone(), w.clone())).unwrap();
    assert!(value.item().unwrap().is_finite());
    let values = x.to_vec().unwrap();
    let dx = dx.to_vec().unwrap();
    for idx in 0..values.len() {
        let at = |delta: f32| {
            let mut moved = values.clone();
            moved[idx] += delta;
            f((tensor(&moved, &[2, 3]), w.clone())).item().unwrap()
        };
        let slope = (at(1e-2) - at(-1e-2)) / 2e-2;
        assert!((slope - f64::from(dx[idx])).abs() < 1e-3, "{idx}: {slope} {}", dx[idx]);
    }
    let no_scalar = grad(|x: Tensor<f32>| x * 2.0)(&x).unwrap_err();
    assert_eq!(no_scalar.0[0].code.as_str(), "tensor::gradient");
}

#[tpu_kernel(grid(i: parallel))]
fn double<T: Float>(#[block(m: 8 @ i, n)] x: In<T>, #[block(m: 8 @ i, n)] y: Out<T>) {
    y[..] = x[..] * 2.0;
}

#[test]
fn kernels_are_ops_in_every_mode_and_in_jit() {
    let x = Tensor::<f32>::iota([16, 4], 0);
    let expected: Vec<f32> = (0..64).map(|idx| (idx / 4) as f32 * 2.0 + 1.0).collect();
    for mode in MODES {
        with_mode(mode, || {
            let y = double::<f32>().call(&x).unwrap() + 1.0;
            assert_eq!(y.to_vec().unwrap(), expected, "{mode:?}");
        });
    }
    let f = jit(|x: Tensor<f32>| double::<f32>().call(&x).unwrap() + 1.0);
    assert_eq!(f.call((x,)).unwrap().to_vec().unwrap(), expected);
}

#[test]
fn tensors_print_like_numpy() {
    let x = tensor(&[1.0, 2.5, -3.0, 4.0], &[2, 2]);
    assert_eq!(x.to_string(), "[[ 1. 2.5]\n [-3.  4.]]");
    assert_eq!(Tensor::<i32>::arange(3).to_string(), "[0 1 2]");
}

#[test]
fn misuse_has_a_code_and_a_cure() {
    let code = |error: Diagnostics| error.0[0].code.as_str();
    let x = tensor(&[1.0, 2.0], &[2]);
    let ints = Tensor::<i32>::arange(2);
    assert_eq!(code(error_of(&(x.to_dyn() + ints.to_dyn()))), "tensor::dtype");
    assert_eq!(code(x.typed::<i32>().unwrap_err()), "tensor::dtype");
    assert_eq!(code(error_of(&ints.exp())), "tensor::dtype");
    assert_eq!(code(error_of(&x.transpose(&[0, 0]))), "tensor::argument");
    assert_eq!(code(error_of(&x.sum(&[1]))), "tensor::shape");
    assert_eq!(code(error_of(&x.reshape([3]))), "tensor::shape");

    let devices = Device::cpus(2);
    let far = with_device(&devices[1], || Tensor::<f32>::zeros([2]));
    assert_eq!(code(error_of(&(&x + &far))), "tensor::device");
}
