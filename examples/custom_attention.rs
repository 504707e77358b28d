//! Attention with a mask and a score function of one's own, where FlexAttention would be used.
//!
//! `cargo run --release -p systole-examples --example custom_attention`
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::error::Error;
use systole::back::interp;
use systole::prelude::*;
use systole::run::{Sampler, Tolerance, XlaDevice, compare, compile_for};
use systole::target::{GENERIC, Target};
use systole::{aot, valid};
use systole_kernels::flash_attention::{Attention, Heads};

/// Documents of 100 tokens packed into one sequence: a token sees its own document alone.
const DOCUMENT: i32 = 100;

fn main() -> Result<(), Box<dyn Error>> {
    aot::init(); // This program is also the worker that loads libtpu.
    let heads = Heads { b: 1, h: 4, kv_h: 2, sq: 400, sk: 400, d: 64 };
    let attention = Attention::new()
        .causal()
        .mask(|at| (at.q / DOCUMENT).eq(at.k / DOCUMENT))
        .score(|s, at| {
            // A logit falls with the distance, at a slope of the head's own (ALiBi).
            let slope = (at.head.cast::<f32>() + 1.0) * 0.125;
            s - (at.q - at.k).cast::<f32>() * slope
        });

    let mut sampler = Sampler::new(1);
    let q = sampler.normal(DType::BF16, &[1, 4, 400, 64]);
    let [k, v] = [(); 2].map(|()| sampler.normal(DType::BF16, &[1, 2, 400, 64]));
    let inputs = [q, k, v];

    let kernel = attention.kernel(&GENERIC, DType::BF16, heads, false)?;
    let checked = valid::check(kernel, &GENERIC)?;
    let by_interpreter = interp::run(&checked, &inputs, &interp::Options::default())?.outputs;
    let by_xla = XlaDevice::xla_cpu()?.run(&checked, &inputs)?;
    let comparison = compare(&by_interpreter[0], &by_xla[0], &Tolerance::ulp(2));
    println!("every hazard checked; XLA differs by {:.1e} at most", comparison.max_abs_err);

    for target in Target::TPUS {
        let kernel = attention.kernel(target, DType::BF16, heads, false)?;
        let report = compile_for(&kernel, target)?;
        let cycles =
            report.cycles.map_or("no estimate".into(), |cycles| format!("{cycles} cycles"));
        println!("{:>6}: {cycles:>14}", target.name);
    }
    Ok(())
}
