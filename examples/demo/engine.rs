//! What runs a kernel: the interpreter, XLA on the CPU, or the reference in plain loops.

use std::error::Error;
use systole::back::interp;
use systole::diag::Diagnostics;
use systole::ir::ops::Precision;
use systole::ir::{Array, DType, Kernel};
use systole::run::XlaDevice;
use systole::target::GENERIC;
use systole::valid;
use systole_kernels::flash_attention::{Attention, Heads};
use systole_kernels::matmul::{Layout, MatmulOptions};
use systole_kernels::{flash_attention, layer_norm, matmul};

const OPTIONS: MatmulOptions = MatmulOptions {
    // Weights are stored as [out, in].
    layout: Layout { transpose_lhs: false, transpose_rhs: true },
    precision: Precision::Highest,
};

/// An engine.
pub(crate) enum Engine {
    Interpreter,
    XlaCpu(XlaDevice),
    Reference,
}

impl Engine {
    pub(crate) fn interpreter() -> Engine {
        Engine::Interpreter
    }

    pub(crate) fn xla_cpu() -> Result<Engine, Diagnostics> {
        Ok(Engine::XlaCpu(XlaDevice::xla_cpu()?))
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Engine::Interpreter => "interpreter",
            Engine::XlaCpu(_) => "xla-cpu",
            Engine::Reference => "reference",
        }
    }

    /// `x w^T` for `x` `[n, in]` and `w` `[out, in]`.
    pub(crate) fn matmul(&self, x: &Array, w: &Array) -> Result<Array, Box<dyn Error>> {
        if let Engine::Reference = self {
            return Ok(matmul::reference::matmul(
                x,
                w,
                OPTIONS.layout,
                OPTIONS.precision,
                DType::F32,
            ));
        }
        let sizes = [x.shape()[0], x.shape()[1], w.shape()[0]];
        let kernel = matmul::build(&GENERIC, DType::F32, OPTIONS, sizes)?;
        self.run(kernel, &[x.clone(), w.clone()])
    }

    /// Attention over `[1, h, s, d]`.
    pub(crate) fn attention(&self, qkv: [Array; 3]) -> Result<Array, Box<dyn Error>> {
        let attention = Attention::new();
        if let Engine::Reference = self {
            let [q, k, v] = &qkv;
            let (o, _) = flash_attention::reference::flash_attention(
                &attention,
                [q, k, v],
                |_| true,
                |s, _| s,
            );
            return Ok(o);
        }
        let heads = Heads::of_shapes(qkv[0].shape(), qkv[1].shape());
        let kernel = attention.kernel(&GENERIC, DType::F32, heads, false)?;
        self.run(kernel, &qkv)
    }

    /// Layer norm of each row with BERT's epsilon.
    pub(crate) fn layer_norm(
        &self,
        x: &Array,
        weight: &Array,
        bias: &Array,
    ) -> Result<Array, Box<dyn Error>> {
        const EPS: f32 = 1e-12;
        if let Engine::Reference = self {
            return Ok(layer_norm::reference::layer_norm(x, weight, bias, f64::from(EPS)));
        }
        let kernel = layer_norm::build(&GENERIC, DType::F32, x.shape(), EPS)?;
        self.run(kernel, &[x.clone(), weight.clone(), bias.clone()])
    }

    fn run(&self, kernel: Kernel, inputs: &[Array]) -> Result<Array, Box<dyn Error>> {
        let valid = valid::check(kernel, &GENERIC)?;
        let outputs = match self {
            Engine::XlaCpu(device) => device.run(&valid, inputs)?,
            Engine::Interpreter | Engine::Reference => {
                interp::run(&valid, inputs, &interp::Options::default())?.outputs
            }
        };
        outputs.into_iter().next().ok_or_else(|| "the kernel has no output".into())
    }
}
