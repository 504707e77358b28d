//! Where plugins are looked for: an environment variable, then the cache folder that `./x setup`
//! fills, then an installed Python package.
use super::elf::{self, Kind};
use super::error::{Code, Error, Result};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Folder of the pinned CPU plugin inside the cache folder.
const CPU: &str = "pjrt/lammps-jax-pjrt-cpu-0.11.2";
/// Folder of the CPU plugin with an older ABI, which tests use besides.
const CPU_SECOND: &str = "pjrt/fastatomstruct-xla-cpu-2026.6.23";
/// Folder of the pinned libtpu.
const TPU: &str = "libtpu/libtpu-0.0.51";

/// The folder that holds plugins and results between runs: `$SYSTOLE_CACHE_DIR`, else
/// `$XDG_CACHE_HOME/systole`, else `$HOME/.cache/systole`, else `systole-cache` in the folder for
/// temporary files.
pub fn cache_dir() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(dir) = set("SYSTOLE_CACHE_DIR") {
        return PathBuf::from(dir);
    }
    if let Some(dir) = set("XDG_CACHE_HOME") {
        return PathBuf::from(dir).join("systole");
    }
    match set("HOME") {
        Some(home) => PathBuf::from(home).join(".cache/systole"),
        None => std::env::temp_dir().join("systole-cache"),
    }
}

/// What to look for.
pub(crate) struct Wanted {
    /// For messages.
    title: &'static str,
    /// The variable that overrides the search.
    variable: &'static str,
    /// Folder below the cache folder.
    folder: &'static str,
    /// Package folder inside `site-packages`.
    package: &'static str,
    /// Exact file name, where a package holds several libraries.
    file: Option<&'static str>,
    /// What it must not be.
    wrong: Kind,
}

pub(crate) const WANTED_CPU: Wanted = Wanted {
    title: "the PJRT CPU plugin",
    variable: "SYSTOLE_PJRT_CPU",
    folder: CPU,
    package: "lammps_jax_pjrt_cpu",
    file: None,
    wrong: Kind::Tpu,
};

pub(crate) const WANTED_CPU_SECOND: Wanted = Wanted {
    title: "the second PJRT CPU plugin",
    variable: "SYSTOLE_PJRT_CPU_SECOND",
    folder: CPU_SECOND,
    package: "fastatomstruct_xla_cpu",
    file: None,
    wrong: Kind::Tpu,
};

pub(crate) const WANTED_TPU: Wanted = Wanted {
    title: "libtpu",
    variable: "TPU_LIBRARY_PATH",
    folder: TPU,
    package: "libtpu",
    file: Some("libtpu.so"),
    wrong: Kind::Other,
};

impl Wanted {
    /// The path of the library, or an error that says what is wrong and how to mend it.
    pub(crate) fn find(&self) -> Result<PathBuf> {
        let path = match self.named() {
            Some(path) => path,
            None => self.search()?,
        };
        match self.wrong_with(&path) {
            None => Ok(path),
            Some(what) => {
                let what = if self.named().is_some() { what } else { shown(&path, &what) };
                Err(self.blame(Error::new(Code::InvalidArgument, "Plugin::find", what)))
            }
        }
    }

    /// The path that the variable gives.
    fn named(&self) -> Option<PathBuf> {
        std::env::var_os(self.variable).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// Says of an error about the library where its path came from, and what to do.
    pub(crate) fn blame(&self, error: Error) -> Error {
        let Wanted { title, variable, .. } = self;
        let message = match self.named() {
            Some(path) => format!(
                "{variable}={}: {}; set {variable} to {title}, or unset it to use what `./x setup` \
                 installs",
                path.display(),
                error.message.trim_end()
            ),
            None => format!(
                "{}; run `./x setup` to install {title}, or set {variable} to it",
                error.message.trim_end()
            ),
        };
        Error { message, ..error }
    }

    /// What keeps a file from being the library. Of doubtful ones the loader may say more.
    fn wrong_with(&self, path: &Path) -> Option<String> {
        if path.is_dir() {
            return Some("it is a folder, not a library".into());
        }
        let kind = match elf::kind(path) {
            Ok(kind) => kind,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Some("there is no such file".into());
            }
            Err(error) => return Some(format!("it cannot be read: {error}")),
        };
        if let Some(refusal) = kind.refusal() {
            return Some(refusal.into());
        }
        let what = match kind {
            Kind::Tpu if self.wrong == Kind::Tpu => "it is libtpu, which drives TPUs alone",
            // A libtpu to come may export less; one that is called so may try.
            Kind::Other if self.wrong == Kind::Other && !names_tpu(path) => {
                "it is a PJRT plugin, but not libtpu"
            }
            _ => return None,
        };
        Some(what.into())
    }

    /// Looks where `./x setup` and `pip` put it.
    fn search(&self) -> Result<PathBuf> {
        let mut looked = Vec::new();
        let folders = std::iter::once(cache_dir().join(self.folder))
            .chain(site_packages().into_iter().map(|dir| dir.join(self.package)));
        for folder in folders {
            if let Some(found) = self.library_below(&folder, 4) {
                return Ok(found);
            }
            looked.push(folder.display().to_string());
        }
        let Wanted { title, variable, .. } = self;
        let message = format!(
            "{title} is not installed: run `./x setup`, or set {variable} to it. {variable} is not \
             set, and there is none in {}",
            looked.join(", ")
        );
        Err(Error::new(Code::NotFound, "Plugin::find", message))
    }

    /// The first library at most `depth` folders below `folder`, in the order of names.
    fn library_below(&self, folder: &Path, depth: usize) -> Option<PathBuf> {
        let mut entries: Vec<PathBuf> =
            std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
        entries.sort();
        let wanted = |path: &&PathBuf| match self.file {
            Some(name) => path.file_name().is_some_and(|file| file == name),
            None => path.extension().is_some_and(|extension| extension == "so"),
        };
        let here = entries.iter().find(|path| wanted(path) && path.is_file()).cloned();
        if here.is_some() || depth == 0 {
            return here;
        }
        entries
            .iter()
            .filter(|path| path.is_dir())
            .find_map(|dir| self.library_below(dir, depth - 1))
    }
}

fn shown(path: &Path, what: &str) -> String {
    format!("{}: {what}", path.display())
}

fn names_tpu(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains("tpu"))
}

/// The `site-packages` folders of the active virtual environment, of the interpreters on `PATH` and
/// of the user. No interpreter is run: that would cost more than everything else here.
fn site_packages() -> Vec<PathBuf> {
    let mut prefixes: Vec<PathBuf> = Vec::new();
    prefixes.extend(std::env::var_os("VIRTUAL_ENV").map(PathBuf::from));
    prefixes.extend(std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local")));
    for dir in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        if dir.join("python3").exists() {
            prefixes.extend(dir.parent().map(Path::to_path_buf));
        }
    }
    let mut found = Vec::new();
    for lib in prefixes.into_iter().flat_map(|prefix| [prefix.join("lib"), prefix.join("lib64")]) {
        let Ok(entries) = std::fs::read_dir(&lib) else { continue };
        let mut pythons: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| {
                path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3"))
            })
            .collect();
        pythons.sort();
        for python in pythons {
            for kind in ["site-packages", "dist-packages"] {
                let dir = python.join(kind);
                if dir.is_dir() && !found.contains(&dir) {
                    found.push(dir);
                }
            }
        }
    }
    found
}
