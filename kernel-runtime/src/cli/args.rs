//! The command line.

use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Checks, runs, measures and shows the kernels of this crate.
///
/// Ends with 0 if all is well, 1 if a kernel failed, 2 if the command line is wrong. With `--json`,
/// standard output is one JSON value whatever happens: `{"diagnostics": [..]}` if the command could
/// not do what was asked.
#[derive(Debug, Parser)]
#[command(name = "kernels", version, propagate_version = true, subcommand_required = true)]
#[command(after_help = VARIABLES)]
pub(crate) struct Args {
    /// Print results as JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Shown below the help.
const VARIABLES: &str = "\
Environment variables:
  SYSTOLE_CACHE_DIR       Folder of plugins and caches [default: ~/.cache/systole]
  SYSTOLE_CACHE_LIMIT     Most that each cache may take, such as 500MB or 2GiB; 0 keeps nothing [default: 2GiB]
  SYSTOLE_PROGRAM_CACHE   Folder of programs compiled for devices, or off [default: programs in the above]
  SYSTOLE_REMOTE_CACHE    Where machines share them: a folder, or a URL of file://, s3:// or gs://
  SYSTOLE_REMOTE_CACHE_TIMEOUT
                          Seconds to wait for a shared program [default: 5]
  SYSTOLE_PJRT_CPU        The PJRT CPU plugin, instead of the one that `./x setup` installs
  TPU_LIBRARY_PATH        libtpu, likewise
  SYSTOLE_AOT_WORKER_BIN  The executable that runs libtpu, instead of this one
  TMPDIR                  Folder of temporary files [default: /tmp]";

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
    /// Read the kernels of another producer's module, such as JAX's, and run them under all checks.
    Import(ImportArgs),
    /// Explain a diagnostic code.
    Explain(ExplainArgs),
    /// Look after the results that are kept on disk.
    Cache(CacheArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Kernels, or single specs as KERNEL/SPEC; all if none is given.
    pub(crate) names: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// Kernels, or single specs as KERNEL/SPEC; all kernels if none is given, without their
    /// extra specs.
    pub(crate) names: Vec<String>,
    /// All kernels with all their specs.
    #[arg(long, conflicts_with_all = ["names", "spec"])]
    pub(crate) all: bool,
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

/// FILE is a StableHLO module in text with `tpu_custom_call`s, as `jax.jit(f).lower(..).as_text()`
/// gives for a TPU, or a single `stable_mosaic` module, as text in the generic form or bytecode.
#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// The module.
    pub(crate) file: PathBuf,
    /// Run each kernel in the interpreter, which checks every hazard.
    #[arg(long)]
    pub(crate) run: bool,
    /// Print the tile IR of each kernel.
    #[arg(long)]
    pub(crate) show: bool,
    /// Inputs from a safetensors file instead of sampled ones: `arg0`, `arg1`, .. for the operands
    /// of the call, or `KERNEL.arg0` if there are several kernels.
    #[arg(long, requires = "run")]
    pub(crate) input: Option<PathBuf>,
    /// Write the outputs to this safetensors file, as `out0`, `out1`, .. or `KERNEL.out0`.
    #[arg(long, requires = "run")]
    pub(crate) output: Option<PathBuf>,
    /// Seed of sampled inputs. Tables in scalar memory are then all zeros, since most numbers make
    /// no sense in them, and grid extents 1.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// A code, such as `valid::vmem_overflow`; with none, all codes are listed.
    pub(crate) code: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CacheArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) action: CacheAction,
}

/// What to do with the caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum CacheAction {
    /// Tell where they are, how much is in them and how much may be.
    Stats,
    /// Remove all results.
    Clear,
    /// Read all results, and remove those that are damaged.
    Verify,
}
