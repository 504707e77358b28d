//! The command line.

use clap::{Parser, Subcommand};

/// Checks, runs, measures and shows the kernels of this crate.
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
    /// Explain a diagnostic code.
    Explain(ExplainArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Kernels, or single specs as KERNEL/SPEC; all if none is given.
    pub(crate) names: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// A code, such as `valid::vmem_overflow`; with none, all codes are listed.
    pub(crate) code: Option<String>,
}
