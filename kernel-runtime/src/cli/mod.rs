//! The command-line tool that every kernel crate gets: `main(&KERNELS)`.
//!
//! One file per subcommand. Human tables by default, JSON with `--json`; results go to standard
//! output, progress and diagnostics to standard error. The process ends with 0 if all is well, 1
//! if a kernel failed, 2 if the command line asks for something that does not exist.
//!
//! With `--json` standard output is one JSON value, whatever happens: the result, in which
//! diagnostics that belong to a kernel are in its row, or `{"diagnostics": [..]}` if the command
//! could not do what was asked.

mod args;
mod bench;
mod cache;
mod check;
mod compile;
mod explain;
mod import;
mod list;
mod output;
mod run;
mod select;
mod show;
mod table;

use crate::aot;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::run::{KernelEntry, registry};
use clap::Parser;
use output::Output;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

/// Runs the tool on the process's arguments and standard streams.
///
/// Call it first in `main`: started as a worker of [`crate::aot`], the process does its job in here.
///
/// ```no_run
/// use systole::run::KernelEntry;
///
/// static KERNELS: &[KernelEntry] = &[];
///
/// fn main() -> std::process::ExitCode {
///     systole::cli::main(KERNELS)
/// }
/// ```
pub fn main(registry: &[KernelEntry]) -> ExitCode {
    aot::init();
    let (mut out, mut err) = (std::io::stdout().lock(), std::io::stderr());
    let mut output = Output::new(&mut out, &mut err);
    output.set_color(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none());
    ExitCode::from(run_to(registry, std::env::args_os(), output))
}

/// Runs the tool on given arguments (the program's name first) and streams; gives the exit code.
pub fn run_with(
    registry: &[KernelEntry],
    args: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    run_to(registry, args, Output::new(out, err))
}

fn run_to(
    registry: &[KernelEntry],
    args: impl IntoIterator<Item = OsString>,
    mut output: Output<'_>,
) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    let verdict = match args::Args::try_parse_from(&args) {
        Ok(args) => {
            output.set_json(args.json);
            dispatch(registry, &args.command, &mut output)
        }
        // `--help` and `--version` are no mistakes: they go to standard output and end with 0.
        Err(error) if !error.use_stderr() => {
            output.text(&error.to_string());
            Ok(Verdict::Good)
        }
        Err(error) if asks_for_json(&args) => {
            output.set_json(true);
            Err(Failure::usage(usage_mistake(&error.to_string())))
        }
        Err(error) => {
            output.error_text(&error.to_string());
            return 2;
        }
    };
    let code = match verdict {
        Ok(Verdict::Good) => 0,
        Ok(Verdict::KernelFailed) => 1,
        Err(Failure::Failed(diagnostics)) => {
            output.failure(&diagnostics);
            1
        }
        Err(Failure::Usage(diagnostics)) => {
            output.failure(&diagnostics);
            2
        }
    };
    output.finish(code)
}

/// Whether a command line that cannot be read asks for JSON all the same.
fn asks_for_json(args: &[OsString]) -> bool {
    args.iter().skip(1).take_while(|arg| *arg != "--").any(|arg| arg == "--json")
}

/// The parser's text as a diagnostic: its first paragraph is the message, its tips are the help.
fn usage_mistake(text: &str) -> Diagnostic {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some(text) = text.strip_prefix("error: ") else {
        // Without a command the parser shows all of its help.
        return Diagnostic::error(Code::CLI_USAGE, "there is no command on the command line")
            .help("`--help` lists the commands");
    };
    let mut paragraphs = text.split("\n\n");
    let message = one_line(paragraphs.next().unwrap_or_default());
    let mut diagnostic = Diagnostic::error(Code::CLI_USAGE, message);
    let mut tips: Vec<String> = Vec::new();
    for paragraph in paragraphs.map(one_line) {
        if paragraph.starts_with("Usage: ") {
            diagnostic = diagnostic.note(paragraph);
        } else if let Some(tip) = paragraph.strip_prefix("tip: ") {
            tips.push(tip.into());
        }
    }
    tips.push("`--help` lists what there is".into());
    diagnostic.help(tips.join("; "))
}

fn dispatch(
    registry: &[KernelEntry],
    command: &args::Command,
    output: &mut Output<'_>,
) -> Result<Verdict, Failure> {
    registry::validate(registry).map_err(Failure::Failed)?;
    match command {
        args::Command::List(args) => list::run(registry, args, output),
        args::Command::Check(args) => check::run(registry, args, output),
        args::Command::Run(args) => run::run(registry, args, output),
        args::Command::Bench(args) => bench::run(registry, args, output),
        args::Command::Show(args) => show::run(registry, args, output),
        args::Command::Import(args) => import::run(args, output),
        args::Command::Explain(args) => explain::run(args, output),
        args::Command::Cache(args) => cache::run(args, output),
    }
}

/// How a command ended that did what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// All is well.
    Good,
    /// A kernel failed; the rows say which.
    KernelFailed,
}

impl Verdict {
    /// Good if `ok`.
    pub(crate) fn from_ok(ok: bool) -> Verdict {
        if ok { Verdict::Good } else { Verdict::KernelFailed }
    }
}

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line asks for what does not exist or does not fit.
    Usage(Diagnostics),
    /// The work could not be done.
    Failed(Diagnostics),
}

impl Failure {
    /// One mistake on the command line.
    pub(crate) fn usage(diagnostic: Diagnostic) -> Failure {
        Failure::Usage(diagnostic.into())
    }
}
