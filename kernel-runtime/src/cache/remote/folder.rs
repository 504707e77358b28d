//! A folder that several machines see, such as one on a file server.
use super::{Failure, Store};
use crate::cache::folder::explain;
use std::fs;
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

/// Files that are being written, each renamed into its place when it is whole.
const STAGED: &str = "staged";
/// What is there for so long was left by a process that was killed.
const OLD: Duration = Duration::from_secs(24 * 3600);

/// No locks: those of file servers are not to be relied on, and a value that two store is the same
/// value. No limit either: that is the business of whoever owns the folder.
#[derive(Debug)]
pub(super) struct Folder {
    dir: PathBuf,
    /// Whether this process has looked for what killed ones left.
    swept: AtomicBool,
}

impl Folder {
    pub(super) fn new(dir: PathBuf) -> Folder {
        Folder { dir, swept: AtomicBool::new(false) }
    }

    /// From `file:///some/folder`.
    pub(super) fn from_url(url: &str) -> std::result::Result<Folder, String> {
        let path = url.strip_prefix("file://").filter(|path| path.starts_with('/'));
        let path = path.and_then(percent_decoded).ok_or_else(|| {
            format!("{url} names no folder of this machine: write file:///some/folder")
        })?;
        Ok(Folder::new(path.into()))
    }
}

impl Store for Folder {
    fn read(
        &self,
        name: &str,
        time_limit: Duration,
    ) -> std::result::Result<Option<Vec<u8>>, Failure> {
        let path = self.dir.join(name);
        within(time_limit, move || match fs::read(&path) {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(explain(&error, "read", &path)),
        })
    }

    fn write(
        &self,
        name: &str,
        object: Vec<u8>,
        time_limit: Duration,
    ) -> std::result::Result<(), Failure> {
        let (staged, path) = (self.dir.join(STAGED), self.dir.join(name));
        let sweeps = !self.swept.swap(true, Ordering::Relaxed);
        within(time_limit, move || {
            if sweeps {
                sweep(&staged);
            }
            write(&staged, &path, &object)
        })
    }
}

fn write(staged: &Path, path: &Path, object: &[u8]) -> Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    for folder in [Some(staged), path.parent()].into_iter().flatten() {
        fs::create_dir_all(folder).map_err(|error| explain(&error, "make", folder))?;
    }
    // Process numbers repeat on other machines, and the hash of a value does not name its writer.
    let writer = format!("{:?}{:?}", std::time::SystemTime::now(), std::thread::current().id());
    let writer = &blake3::hash(writer.as_bytes()).to_hex()[..16];
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let temporary = staged.join(format!("{writer}.{}-{n}", std::process::id()));
    let written = fs::write(&temporary, object)
        .map_err(|error| explain(&error, "write", &temporary))
        .and_then(|()| {
            fs::rename(&temporary, path).map_err(|error| explain(&error, "write", path))
        });
    written.inspect_err(|_error| {
        let _left_behind = fs::remove_file(&temporary);
    })
}

fn sweep(staged: &Path) {
    for file in fs::read_dir(staged).into_iter().flatten().flatten() {
        let modified = file.metadata().and_then(|data| data.modified());
        if modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > OLD)) {
            let _left_behind = fs::remove_file(file.path());
        }
    }
}

/// Does something in a thread of its own, which may hang as long as a file server does.
fn within<T: Send + 'static>(
    time_limit: Duration,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> std::result::Result<T, Failure> {
    let (give, take) = sync_channel(1);
    let thread = std::thread::Builder::new().name("systole-remote-folder".into());
    let spawned = thread.spawn(move || {
        // Nobody waits any more if that fails.
        let _too_late = give.send(work());
    });
    spawned.map_err(|error| Failure::Failed(format!("no thread for it: {error}")))?;
    match take.recv_timeout(time_limit) {
        Ok(result) => result.map_err(|error| Failure::Failed(error.to_string())),
        Err(_silence) => Err(Failure::TimedOut(time_limit)),
    }
}

/// The path with each `%41` made `A`; `None` if that is no text or the digits are wrong.
fn percent_decoded(path: &str) -> Option<String> {
    let mut parts = path.split('%');
    let mut decoded = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        decoded.push(u8::from_str_radix(digits, 16).ok()?);
        decoded.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_folders_are_decoded() {
        let dir = |url: &str| Folder::from_url(url).map(|folder| folder.dir);
        assert_eq!(dir("file:///some/folder"), Ok("/some/folder".into()));
        assert_eq!(dir("file:///a%20%C3%BC%2525"), Ok("/a ü%25".into()));
        for wrong in ["file://host/folder", "file://", "file:///%", "file:///%zz", "file:///%ff"] {
            assert!(dir(wrong).unwrap_err().contains(wrong), "{wrong}");
        }
    }

    #[test]
    fn what_hangs_is_given_up() {
        let (give, take) = sync_channel::<()>(1);
        let limit = Duration::from_millis(5);
        let hung = within(limit, move || {
            let _woken = take.recv();
            Ok(())
        });
        assert_eq!(hung, Err(Failure::TimedOut(limit)));
        drop(give);
        assert_eq!(within(Duration::from_secs(60), || Ok(7)), Ok(7));
    }
}
