//! The `kernels` tool: checks, runs, measures and shows the kernels of this crate.

fn main() -> std::process::ExitCode {
    systole::cli::main(systole_kernels::KERNELS)
}
