//! The Python that has JAX: for tests, and for benches that compare with JAX.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

const CURE: &str = "`./x setup` gets JAX 0.10.2 for Python 3.11; or set SYSTOLE_JAX_PYTHON to a \
                    Python with `pip install jax==0.10.2 safetensors`";

/// An interpreter, and the value of `PYTHONPATH` for it.
pub(crate) struct Python {
    program: PathBuf,
    path: Option<OsString>,
}

/// Finds a Python with JAX 0.10.2; otherwise says how to get one.
pub(crate) fn with_jax() -> Result<Python, String> {
    if let Some(program) = var("SYSTOLE_JAX_PYTHON") {
        let python = Python { program: program.into(), path: None };
        return match python.check() {
            Ok(()) => Ok(python),
            Err(why) => {
                Err(format!("SYSTOLE_JAX_PYTHON={}: {why}\n{CURE}", python.program.display()))
            }
        };
    }
    let wheels = cache_dir().map(|dir| dir.join("python"));
    let folders = wheels.iter().flat_map(|dir| std::fs::read_dir(dir).into_iter().flatten());
    let folders: Vec<PathBuf> = folders.flatten().map(|entry| entry.path()).collect();
    let path = (!folders.is_empty()).then(|| std::env::join_paths(folders).ok()).flatten();
    let mut reasons = Vec::new();
    for name in ["python3.11", "python3"] {
        for path in [&path, &None] {
            let python = Python { program: name.into(), path: path.clone() };
            match python.check() {
                Ok(()) => return Ok(python),
                Err(why) => reasons.push(format!("{name}: {}", why.lines().last().unwrap_or(""))),
            }
        }
    }
    Err(format!("no Python with JAX was found: {CURE}\n{}", reasons.join("\n")))
}

impl Python {
    /// A command that runs it, arguments still to come.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env("JAX_PLATFORMS", "cpu");
        if let Some(path) = &self.path {
            command.env("PYTHONPATH", path);
        }
        command
    }

    fn check(&self) -> Result<(), String> {
        let code = "import jax, safetensors; assert jax.__version__ == '0.10.2', jax.__version__";
        match self.command().args(["-c", code]).output() {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

fn var(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Where `./x setup` puts downloads.
fn cache_dir() -> Option<PathBuf> {
    if let Some(dir) = var("SYSTOLE_CACHE_DIR") {
        return Some(dir.into());
    }
    let home = || Some(Path::new(&var("HOME")?).join(".cache"));
    Some(var("XDG_CACHE_HOME").map(PathBuf::from).or_else(home)?.join("systole"))
}
