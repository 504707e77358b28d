//! How long a kernel takes from its Rust function to a Mosaic module: trace, validate, lower.

use criterion::Criterion;
use std::hint::black_box;
use systole::back::mosaic;
use systole::target::V5E;
use systole::valid;
use systole_kernels::KERNELS;

/// One spec per kernel, and attention once small and once with its whole head unrolled.
const SPECS: [&str; 7] = [
    "scale_add/f32_4096x2048",
    "matmul/bf16_1024x1024x1024",
    "softmax/bf16_4096x2048",
    "rms_norm/bf16_4096x2048",
    "layer_norm/bf16_4096x2048",
    "flash_attention/bf16_b1_h1_s512_d128_causal",
    "flash_attention/bf16_b1_h8_s2048_d128_causal",
];

fn main() {
    let mut c = Criterion::default().configure_from_args();
    for entry in KERNELS {
        for spec in (entry.specs)() {
            let name = format!("{}/{}", entry.name, spec.name());
            if !SPECS.contains(&name.as_str()) {
                continue;
            }
            let trace = || spec.kernel(&V5E).and_then(|kernel| valid::check(kernel, &V5E));
            c.bench_function(&format!("trace and validate {name}"), |b| {
                b.iter(|| black_box(trace()))
            });
            c.bench_function(&format!("trace, validate and lower {name}"), |b| {
                b.iter(|| {
                    let lowered = trace()
                        .and_then(|valid| mosaic::lower(&valid, &mosaic::Options::default()));
                    assert!(lowered.is_ok(), "{name} must lower");
                    black_box(lowered)
                });
            });
        }
    }
    c.final_summary();
}
