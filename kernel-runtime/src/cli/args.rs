//! The command line.

use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Checks, runs, measures and shows the kernels of this crate.
///
/// Ends with 0 if all is well, 1 if a kernel failed, 2 if the command line is wrong.
#[derive(Debug, Parser)]
#[command(name = "kernels", version, propagate_version = true, subcommand_required = true)]
pub(crate) struct Args {
    /// Print results as JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the kernels and their specs.
    List(ListArgs),
    /// Compile kernels with the real TPU compiler: status, estimated cycles, what limits them.
    Check(CheckArgs),
    /// Run a kernel on the CPU and compare it with its reference.
    Run(RunArgs),
    /// Compare the estimated cycles of kernels with XLA's for the same math.
    Bench(BenchArgs),
    /// Show a kernel in one of its forms.
    Show(ShowArgs),
    /// Explain a diagnostic code.
    Explain(ExplainArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Kernels, or single specs as KERNEL/SPEC; all if none is given.
    pub(crate) names: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// Kernels, or single specs as KERNEL/SPEC; all if none is given.
    pub(crate) names: Vec<String>,
    /// Only specs of this name.
    #[arg(long)]
    pub(crate) spec: Option<String>,
    /// TPU generations, with commas between; all if none is given.
    #[arg(long, value_delimiter = ',')]
    pub(crate) target: Vec<String>,
    /// Also print warnings, and what each Rust line costs.
    #[arg(long, visible_alias = "lines")]
    pub(crate) verbose: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// A kernel, or a single spec as KERNEL/SPEC.
    pub(crate) name: String,
    /// Which spec; the kernel's first if none is given.
    #[arg(long)]
    pub(crate) spec: Option<String>,
    /// What runs it.
    #[arg(long, value_enum, default_value_t = Backend::Interp)]
    pub(crate) on: Backend,
    /// Inputs from a safetensors file, one tensor per input parameter, instead of sampled ones.
    #[arg(long)]
    pub(crate) input: Option<PathBuf>,
    /// Write the outputs to this safetensors file.
    #[arg(long)]
    pub(crate) output: Option<PathBuf>,
    /// Seed of sampled inputs.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}

/// What runs a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Backend {
    /// The interpreter, which checks every hazard.
    Interp,
    /// XLA on the CPU, through PJRT.
    XlaCpu,
}

impl Backend {
    /// The name on the command line and in results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Backend::Interp => "interp",
            Backend::XlaCpu => "xla-cpu",
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchArgs {
    /// Kernels, or single specs as KERNEL/SPEC; all if none is given.
    pub(crate) names: Vec<String>,
    /// Only specs of this name.
    #[arg(long)]
    pub(crate) spec: Option<String>,
    /// What to compare with.
    #[arg(long, value_enum, default_value_t = Against::Xla)]
    pub(crate) against: Against,
    /// TPU generations, with commas between.
    #[arg(long, value_delimiter = ',', default_value = "v5e")]
    pub(crate) target: Vec<String>,
}

/// What kernels are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Against {
    /// XLA's own fusion of the reference math.
    Xla,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// A kernel, or a single spec as KERNEL/SPEC.
    pub(crate) name: String,
    /// Which form.
    #[arg(long, value_enum)]
    pub(crate) stage: Stage,
    /// Which spec; the kernel's first if none is given.
    #[arg(long)]
    pub(crate) spec: Option<String>,
    /// For which TPU generation; `ir` and `stablehlo` are for any device if none is given, the
    /// others for v5e.
    #[arg(long)]
    pub(crate) target: Option<String>,
}

/// A form of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stage {
    /// The tile IR as text.
    Ir,
    /// The Mosaic module as text.
    Mosaic,
    /// Plain StableHLO that runs on any PJRT device.
    Stablehlo,
    /// The StableHLO module that calls the Mosaic kernel: what a TPU is given.
    Call,
}

impl Stage {
    /// The name on the command line and in results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Stage::Ir => "ir",
            Stage::Mosaic => "mosaic",
            Stage::Stablehlo => "stablehlo",
            Stage::Call => "call",
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// A code, such as `valid::vmem_overflow`; with none, all codes are listed.
    pub(crate) code: Option<String>,
}
