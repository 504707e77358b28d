//! Kernels and ordinary ops on tensors: eager, deferred, compiled, differentiated.
//!
//! `cargo run --release -p systole-examples --example tensors`
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::error::Error;
use systole::prelude::*;
use systole::run::{Device, Mode, Tensor, grad, jit, with_mode};

/// `x * sigmoid(x)`, eight rows at a time.
#[tpu_kernel(grid(i: parallel))]
fn silu<T: Float>(#[block(m: 8 @ i, n)] x: In<T>, #[block(m: 8 @ i, n)] y: Out<T>) {
    y[..] = x[..] * x[..].logistic();
}

fn main() -> Result<(), Box<dyn Error>> {
    #[cfg(feature = "mlir")]
    systole::aot::init(); // This program is also the worker that loads libtpu.

    // 1. Eager: each op is handed to the device and not waited for; reading waits.
    let x = Tensor::from_slice(&[1.0, 2.0, 3.0, 4.0], [2, 2])?;
    let y = (&x.matmul(&x) + 1.0).tanh();
    println!("{y}");

    // 2. Deferred: three ops, one program.
    let z = with_mode(Mode::DeferAndFuse, || (&x * 2.0).exp().sum(&[1]));
    println!("{z}");

    // 3. Compiled whole, with a kernel inside; traced once per type of its arguments.
    let layer = jit(|x: Tensor<f32>, w: Tensor<f32>| silu::<f32>().call(&x.matmul(&w)));
    let (rows, w) = (Tensor::<f32>::iota([16, 2], 0) * 0.1, x.clone());
    let h = layer.call((rows.clone(), w.clone()))?;
    println!("{} rows of {}", h.shape()[0], h.shape()[1]);
    layer.call((rows.clone(), w.clone()))?;
    println!("compiled {} time", layer.n_programs());

    // 4. Gradients.
    let dx = grad(|x: Tensor<f32>| x.matmul(&x).sum(&[0, 1]))(&x)?;
    println!("{dx}");

    // 5. A mistake is told with its line and the shapes, when something reads the result.
    let wrong = (&x + &rows).exp();
    if let Err(error) = wrong.to_array() {
        println!("{error}");
    }
    println!("programs: {:?}", Device::current().compiler()?.stats());

    // 6. The same function for a TPU: the kernel as a Mosaic custom call between XLA's fusions.
    #[cfg(feature = "mlir")]
    {
        let report = layer.lower(&(rows, w))?.compile_for("layer", &systole::target::V5E)?;
        println!("v5e: {:?} cycles", report.cycles);
    }
    Ok(())
}
