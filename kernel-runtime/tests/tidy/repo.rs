//! The repository's files, from git where there is one, else (an unpacked archive) from the disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::source::Source;

fn root() -> PathBuf {
    // The crate lies one level below; a path with `..` would do as well, but messages are nicer without.
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_dir.parent().unwrap_or(crate_dir).to_path_buf()
}

/// Every file with text in it: what git tracks, and what it would track after `git add`.
pub(crate) fn sources() -> &'static [Source] {
    // Every rule reads all of it, and splitting megabytes of goldens once is enough.
    static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(read_sources);
    &SOURCES
}

fn read_sources() -> Vec<Source> {
    let paths = git_files(&["--cached", "--others", "--exclude-standard"]).unwrap_or_else(walk);
    // A file deleted but not yet committed, or one that is not text, holds nothing to check.
    let read =
        |path: String| Some(Source::new(&path, &fs::read_to_string(root().join(&path)).ok()?));
    let sources: Vec<Source> = paths.into_iter().filter_map(read).collect();
    assert!(
        sources.len() > 20,
        "tidy found only {} files: it looks in the wrong place",
        sources.len()
    );
    sources
}

/// What belongs to the repository, without files that happen to lie about in somebody's checkout.
pub(crate) fn tracked_paths() -> Vec<String> {
    git_files(&["--cached"]).unwrap_or_else(walk)
}

fn git_files(args: &[&str]) -> Option<Vec<String>> {
    let output =
        Command::new("git").arg("ls-files").args(args).current_dir(root()).output().ok()?;
    let listing = String::from_utf8(output.stdout).ok()?;
    // An archive unpacked inside some other repository lists nothing of ours.
    (output.status.success() && !listing.is_empty())
        .then(|| listing.lines().map(str::to_owned).collect())
}

fn walk() -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if path.is_dir() {
                if name != ".git" && name != "target" {
                    folders.push(path);
                }
            } else if let Ok(relative) = path.strip_prefix(root()) {
                files.push(relative.to_string_lossy().into_owned());
            }
        }
    }
    files.sort();
    files
}
