//! Kernels for TPUs written with Systole.
//!
//! Each kernel is a folder: `kernel.rs` (the `#[tpu_kernel]`), `reference.rs` (its meaning in
//! plain loops), `specs.rs` (named shapes with their tolerance and work) and `mod.rs` (the public
//! function and its doc). [`KERNELS`] is the registry that the tool, tests and benches use.

pub mod collectives;
pub mod embedding;
pub mod encoder_attention;
pub mod flash_attention;
mod lanes;
pub mod layer_norm;
pub mod matmul;
pub mod matmul_quantized;
pub mod paged_attention;
pub mod rms_norm;
pub mod scale_add;
pub mod softmax;
mod xla;

use systole::diag::{Code, Diagnostic, Diagnostics};
use systole::ir::{Array, DType, Kernel};
use systole::run::KernelEntry;
use systole::trace::{ArgSpec, KernelFn};

/// Every kernel of this crate.
pub static KERNELS: &[KernelEntry] = &[
    KernelEntry {
        name: "flash_attention",
        doc: "attention with any band, mask and score function, scores kept in VMEM",
        specs: flash_attention::specs::specs,
    },
    KernelEntry {
        name: "matmul",
        doc: "matrix product with a fused epilogue",
        specs: matmul::specs::specs,
    },
    KernelEntry {
        name: "matmul_quantized",
        doc: "matrix product with weights of 8 or 4 bits, scaled per channel or group",
        specs: matmul_quantized::specs::specs,
    },
    KernelEntry {
        name: "encoder_attention",
        doc: "attention of whole short sequences, heads side by side",
        specs: encoder_attention::specs::specs,
    },
    KernelEntry {
        name: "paged_attention",
        doc: "attention of the next tokens over keys and values in pages",
        specs: paged_attention::specs::specs,
    },
    KernelEntry {
        name: "scale_add",
        doc: "factor * x + y, rounded once",
        specs: scale_add::specs::specs,
    },
    KernelEntry { name: "softmax", doc: "softmax of each row", specs: softmax::specs::specs },
    KernelEntry {
        name: "rms_norm",
        doc: "root-mean-square norm of each row",
        specs: rms_norm::specs::specs,
    },
    KernelEntry {
        name: "layer_norm",
        doc: "layer norm of each row",
        specs: layer_norm::specs::specs,
    },
    KernelEntry {
        name: "embedding_gather",
        doc: "rows of a table by id, on TensorCores or SparseCores",
        specs: embedding::specs::gather,
    },
    KernelEntry {
        name: "embedding_bag",
        doc: "sums, means and weighted sums of rows of a table",
        specs: embedding::specs::bag,
    },
    KernelEntry {
        name: "embedding_update",
        doc: "one step of an optimizer on the rows that a batch names, in place",
        specs: embedding::specs::update,
    },
    KernelEntry {
        name: "embedding_dlrm",
        doc: "the sums of rows of DLRM v2's 26 tables, on SparseCores",
        specs: embedding::specs::dlrm,
    },
];

/// Runs an expression with `$t` naming the Rust type of a float [`DType`].
macro_rules! by_float {
    ($dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            systole::ir::DType::BF16 => {
                type $t = half::bf16;
                $body
            }
            systole::ir::DType::F32 => {
                type $t = f32;
                $body
            }
            other => Err(crate::refuse(
                format!("there is no kernel for elements of {other}"),
                "use f32 or bf16",
            )),
        }
    };
}
use by_float;

/// Traces a kernel for inputs of these types and shapes.
fn trace(kernel: &dyn KernelFn, inputs: &[(DType, &[usize])]) -> Result<Kernel, Diagnostics> {
    let args: Vec<ArgSpec> =
        inputs.iter().map(|(dtype, shape)| ArgSpec::new(*dtype, shape)).collect();
    kernel.trace(&args)
}

/// What a builder says of an argument that makes no kernel.
fn refuse(message: String, help: &str) -> Diagnostics {
    Diagnostic::error(Code::KERNEL_ARGUMENT, message).help(help).into()
}

/// The longest axis: indices are `i32`. Products of two such sizes cannot overflow.
const MAX_SIZE: usize = i32::MAX as usize;
/// The most heads, and elements of a head.
const MAX_HEADS: usize = 1 << 16;

/// Refuses the first of these numbers that is beyond what it may be: what is counted, how many
/// there are, and the most.
fn check_most(counts: &[(&str, usize, usize)]) -> Result<(), Diagnostics> {
    match counts.iter().find(|(_, n, most)| n > most) {
        None => Ok(()),
        Some((what, n, most)) => Err(refuse(
            format!("{n} {what} are more than {most}"),
            "share them out to several calls",
        )),
    }
}

/// An array from values that fill its shape by construction.
fn array(dtype: DType, shape: &[usize], values: &[f64]) -> Array {
    // A mismatch would be a mistake here; the empty array then fails every comparison.
    Array::from_f64(dtype, shape, values).unwrap_or_else(|_| Array::zeros(dtype, &[0]))
}

/// Rows per block of a kernel that streams `[m, n]` arrays by whole rows.
///
/// Blocks of about 2 MiB hide the latency of a DMA and leave room for two buffers of each operand
/// under the default VMEM limit. Where the vector unit is the limit, shorter blocks expose less of
/// the first load and the last store: `max_rows` bounds them.
fn block_rows(shape: &[usize], dtype: DType, max_rows: usize) -> usize {
    let [m, n] = [0, 1].map(|axis| shape.get(axis).copied().unwrap_or(1));
    // A power of two, so that it is a multiple of every tiling and splits the usual sizes.
    let fitting = (2 << 20) / n.saturating_mul(dtype.size_bytes()).max(1);
    let rows = if fitting == 0 { 8 } else { 1 << fitting.ilog2() };
    rows.clamp(16, max_rows).min(m.checked_next_multiple_of(16).unwrap_or(m))
}
