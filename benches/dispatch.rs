//! What the runtime adds to the plugin's own work: eager ops, deferred ops, calls of compiled
//! functions. `benches/dispatch_jax.py` measures JAX on the same questions.

use criterion::{BatchSize, Criterion};
use std::hint::black_box;
use systole::pjrt::{Client, CompileOptions, ElementType, Plugin};
use systole::prelude::*;
use systole::run::{Mode, Tensor, jit, with_mode};

/// The plugin alone: one add of four floats, its arguments on the device already.
fn plugin_alone(c: &mut Criterion) {
    let client: Client = Plugin::cpu()
        .and_then(|plugin| plugin.client_with(&[("cpu_device_count", 1.into())]))
        .unwrap_or_else(|error| fail(&error));
    let program = "func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
        %z = stablehlo.add %x, %y : tensor<4xf32>
        return %z : tensor<4xf32>
    }";
    let add = client
        .compile(program.as_bytes(), &CompileOptions::default())
        .unwrap_or_else(|error| fail(&error));
    let x = client.buffer(ElementType::F32, &[4], &[0; 16], None);
    let x = x.unwrap_or_else(|error| fail(&error));
    c.bench_function("plugin: execute add", |b| b.iter(|| black_box(add.execute(&[&x, &x]))));
}

fn small_ops(c: &mut Criterion) {
    let x = ready(&[4]);
    let y = ready(&[4]);
    c.bench_function("eager: add", |b| b.iter(|| black_box(&x + &y)));
    c.bench_function("eager: add a number", |b| b.iter(|| black_box(&x + 1.0)));
    let z = ready(&[8, 128]);
    c.bench_function("eager: add a number to 8x128", |b| b.iter(|| black_box(&z + 1.0)));
    c.bench_function("eager: a kernel on 8x128", |b| b.iter(|| black_box(half().call(&z))));
    let add = jit(|x: Tensor<f32>, y: Tensor<f32>| x + y);
    c.bench_function("jit: call of add", |b| {
        b.iter(|| black_box(add.call((x.clone(), y.clone()))));
    });
    with_mode(Mode::DeferAndFuse, || {
        c.bench_function("deferred: record and run 50 ops", |b| b.iter(|| chain(&x, 50).wait()));
    });
    c.bench_function("eager: 50 ops", |b| b.iter(|| chain(&x, 50).wait()));
}

#[tpu_kernel(grid(i: parallel))]
fn half(#[block(m: 8 @ i, n)] x: In<f32>, #[block(m: 8 @ i, n)] y: Out<f32>) {
    y[..] = x[..] * 0.5;
}

/// 150 element-wise ops on 512 x 512, to the last result.
fn long_chain(c: &mut Criterion) {
    let x = ready(&[512, 512]);
    c.bench_function("chain of 150 on 512x512: eager", |b| b.iter(|| chain(&x, 150).wait()));
    with_mode(Mode::DeferAndFuse, || {
        c.bench_function("chain of 150 on 512x512: deferred", |b| {
            b.iter(|| chain(&x, 150).wait());
        });
    });
    let compiled = jit(|x: Tensor<f32>| chain(&x, 150));
    c.bench_function("chain of 150 on 512x512: jit", |b| {
        b.iter_batched(
            || x.clone(),
            |x| compiled.call((x,)).and_then(|y| y.wait()),
            BatchSize::SmallInput,
        );
    });
}

/// `n` element-wise ops, three to a turn.
fn chain(x: &Tensor<f32>, n: usize) -> Tensor<f32> {
    let mut y = x.clone();
    for step in 0..n {
        y = match step % 3 {
            0 => &y * 1.5,
            1 => &y + x,
            _ => y.tanh(),
        };
    }
    y
}

fn ready(shape: &[usize]) -> Tensor<f32> {
    let x = Tensor::iota(shape, 0) * 0.001;
    x.wait().unwrap_or_else(|error| fail(&error));
    x
}

fn fail(error: &dyn std::fmt::Display) -> ! {
    eprintln!("{error}");
    std::process::exit(1)
}

fn main() {
    let mut c = Criterion::default().configure_from_args();
    plugin_alone(&mut c);
    small_ops(&mut c);
    long_chain(&mut c);
    c.final_summary();
}
