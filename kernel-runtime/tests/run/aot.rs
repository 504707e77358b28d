//! Functions of tensors compiled for TPUs that are not here.

use systole::diag::Diagnostics;
use systole::prelude::*;
use systole::run::{Lowered, Tensor, jit};
#[cfg(feature = "mlir")]
use systole::target::{TPU7X, V5E, V6E};

#[tpu_kernel(grid(i: parallel, j: parallel))]
fn project(
    #[block(m: 128 @ i, k)] x: In<bf16>,
    #[block(k, n: 128 @ j)] w: In<bf16>,
    #[block(m: 128 @ i, n: 128 @ j)] y: Out<f32>,
) {
    y[..] = dot(x[..], w[..]);
}

#[tpu_kernel(grid(i: parallel))]
fn normalize(#[block(m: 64 @ i, n)] x: In<f32>, #[block(m: 64 @ i, n)] y: Out<f32>) {
    y[..] = x[..] * ((x[..] * x[..]).row_sum() + 1e-6).rsqrt();
}

/// Two kernels, with ops that XLA fuses before, between and after them.
fn layer(x: Tensor<f32>, w: Tensor<bf16>) -> Result<Tensor<f32>, Diagnostics> {
    let y = project().call(&x.tanh().cast::<bf16>(), &w)?;
    let shares = y.exp();
    let shares = &shares / shares.sum(&[1]).expand_dims(1);
    Ok(normalize().call(&shares)? + x.sum(&[1]).expand_dims(1))
}

fn lowered() -> Lowered {
    let (x, w) = (Tensor::shaped([256, 512]), Tensor::shaped([512, 256]));
    jit(layer).lower(&(x, w)).unwrap()
}

#[test]
fn a_module_for_a_tpu_calls_the_kernels() {
    let plain = lowered().stablehlo().unwrap();
    assert!(plain.contains("func.call @kernel_project"), "{plain}");
    assert!(!plain.contains("tpu_custom_call"));
}

#[cfg(feature = "mlir")]
#[test]
fn a_function_with_kernels_compiles_for_every_generation_with_cycles_apart() {
    let lowered = lowered();
    for target in [&V5E, &V6E, &TPU7X] {
        let report = lowered.compile_for("layer", target).unwrap_or_else(|error| panic!("{error}"));
        let kernels: Vec<&str> = report
            .programs
            .iter()
            .filter(|program| program.is_kernel)
            .map(|program| program.name.as_str())
            .collect();
        assert_eq!(kernels.len(), 2, "{report}");
        assert!(report.programs.len() > 2, "{report}");
        let (kernels, xla) = (report.kernels_cycles().unwrap(), report.xla_cycles().unwrap());
        assert!(kernels > 0 && xla > 0, "{report}");
        assert_eq!(report.cycles, Some(kernels + xla));
        // Arguments and result at least.
        let least = 256 * 512 * 4 + 512 * 256 * 2 + 256 * 256 * 4;
        assert!(report.hbm_bytes.unwrap() >= least, "{report}");
        let memory = report.memory.unwrap();
        assert!(memory.argument_bytes >= 256 * 512 * 4 + 512 * 256 * 2, "{report}");
        assert!(memory.output_bytes >= 256 * 256 * 4, "{report}");
        println!("{report}");
    }
}
