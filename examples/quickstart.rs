//! One kernel from its definition to its cycles on five TPU generations, without a TPU.
//!
//! `cargo run --release -p systole-examples --example quickstart`
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use half::bf16;
use std::error::Error;
use systole::prelude::*;
use systole::run::{Sampler, Tolerance, XlaDevice, compare, compile_for};
use systole::target::{GENERIC, Target};
use systole::trace::ArgSpec;
use systole::{aot, valid};

/// `c = gelu(a b)`, one `m x n` block of `c` at a time, `k` columns of `a` per step.
#[tpu_kernel(grid(i: parallel, j: parallel, l: arbitrary))]
fn matmul_gelu<T: Float>(
    #[comptime] t: [usize; 3],
    #[block(m: t[0] @ i, k: t[1] @ l)] a: In<T>,
    #[block(k: t[1] @ l, n: t[2] @ j)] b: In<T>,
    #[block(m: t[0] @ i, n: t[2] @ j)] c: Out<T>,
    #[scratch([t[0], t[2]])] acc: Vmem<f32>,
) {
    if l == 0 {
        acc[..] = 0.0;
    }
    acc[..] += dot(a[..], b[..]);
    if l == l.last() {
        let x = acc[..];
        c[..] = (x * 0.5 * ((x * 0.707_106_77).erf() + 1.0)).cast();
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    aot::init(); // This program is also the worker that loads libtpu.
    let kernel = matmul_gelu::<bf16>([256, 512, 512]);
    let mut sampler = Sampler::new(1);
    let (a, b) =
        (sampler.normal(DType::BF16, &[512, 1024]), sampler.normal(DType::BF16, &[1024, 512]));

    // 1. In the interpreter: out of bounds, uninitialised reads, races and more would be errors.
    let checked = kernel.call(&a, &b)?;

    // 2. Through XLA on the CPU.
    let args = [&a, &b].map(|x| ArgSpec::new(x.dtype(), x.shape()));
    let traced = kernel.trace(&args)?;
    let cpu = XlaDevice::xla_cpu()?;
    let outputs = cpu.run(&valid::check(traced.clone(), &GENERIC)?, &[a, b])?;
    let tolerance = Tolerance::ulp(1).floor(1e-4, "the tail of erf cancels");
    if !compare(&checked, &outputs[0], &tolerance).ok {
        return Err("interpreter and XLA disagree".into());
    }
    println!("every hazard checked; XLA agrees to one unit in the last place");

    // 3. By the TPU's own compiler.
    for target in Target::TPUS {
        let report = compile_for(&traced, target)?;
        let cycles =
            report.cycles.map_or("no estimate".into(), |cycles| format!("{cycles} cycles"));
        let vmem = report.vmem_bytes.unwrap_or(0) >> 10;
        println!("{:>6}: {cycles:>14}, {vmem:>6} KiB of VMEM", target.name);
    }
    Ok(())
}
