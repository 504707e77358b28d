//! The folder of a cache: where entries, their size, unfinished writes and locks are.
//!
//! ```text
//! 3f/a0..9c   the entry of the key 3fa0..9c
//! size        the bytes of all entries, at least
//! lock        held while entries come or go
//! staged/     entries that are being written, each locked by its writer
//! keys/       locks of keys whose values are being made
//! ```
use super::entry;
use super::key::Key;
use super::lock::{self, KeyLock, Locking, Queue};
use std::fs::{DirBuilder, File, ReadDir};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

const SIZE: &str = "size";
const LOCK: &str = "lock";
const STAGED: &str = "staged";
const KEYS: &str = "keys";

/// How long to wait for others that add or remove an entry, which takes each of them milliseconds.
const QUEUE: Queue = Queue { patience: Duration::from_secs(10), limit: Duration::from_secs(120) };

#[derive(Debug)]
pub(super) struct Folder {
    dir: PathBuf,
    /// Threads of this process take turns here and not at the lock file, where waiting is dearer.
    turn: Mutex<()>,
}

/// Held while entries come or go.
pub(super) struct FolderLock<'a> {
    // Dropped first: the next thread then finds the file unlocked.
    _file: File,
    _turn: MutexGuard<'a, ()>,
}

/// An entry that was found.
#[derive(Debug)]
pub(super) struct Listed {
    /// When it was last used.
    pub(super) used: SystemTime,
    pub(super) key: Key,
    pub(super) bytes: u64,
}

/// An entry that is written but not yet in its place; removed unless it gets there.
pub(super) struct Staged {
    path: PathBuf,
    /// Its lock tells others that the writer lives.
    _file: File,
}

/// The same error with what was tried and where.
pub(super) fn explain(error: &Error, verb: &str, path: &Path) -> Error {
    Error::new(error.kind(), format!("cannot {verb} {}: {error}", path.display()))
}

impl Folder {
    pub(super) fn new(dir: PathBuf) -> Folder {
        Folder { dir, turn: Mutex::default() }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where the entry of this key is.
    pub(super) fn path(&self, key: &Key) -> PathBuf {
        self.dir.join(key.place())
    }

    /// Waits until no other thread or process adds or removes entries.
    pub(super) fn lock(&self) -> Result<FolderLock<'_>> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.dir.join(LOCK);
        let lock = |file: &File| QUEUE.lock(file);
        let (file, locking) = in_folder(&path, "lock", |path| lock::open_locked(path, lock))?;
        match locking {
            // Without locks entries are whole all the same, and the recorded size is a guess.
            Locking::Locked { .. } | Locking::Unsupported => {
                Ok(FolderLock { _file: file, _turn: turn })
            }
            Locking::Busy => Err(Error::new(
                ErrorKind::TimedOut,
                format!(
                    "another process held {} for {} s, or many of them for {} s; end what was \
                     stopped",
                    path.display(),
                    QUEUE.patience.as_secs(),
                    QUEUE.limit.as_secs()
                ),
            )),
        }
    }

    pub(super) fn lock_key(&self, key: &Key, patience: Duration) -> Result<Option<KeyLock>> {
        let path = self.dir.join(KEYS).join(key.to_string());
        in_folder(&path, "lock", |path| KeyLock::acquire(path, patience))
    }

    /// Writes an entry beside its place.
    pub(super) fn stage(&self, key: &Key, value: &[u8]) -> Result<Staged> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut staged = loop {
            let n = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = self.dir.join(STAGED).join(format!("{key}.{}-{n}", std::process::id()));
            match in_folder(&path, "write", |path| File::create_new(path)) {
                Ok(file) => break Staged { _file: file, path },
                // Of a process of the same number, killed or in another container.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        };
        lock::lock(&staged._file, Duration::ZERO);
        let written = entry::write(&mut staged._file, key, value);
        written.map_err(|error| explain(&error, "write", &staged.path))?;
        Ok(staged)
    }

    /// Every entry, in no order.
    pub(super) fn entries(&self) -> Result<Vec<Listed>> {
        let mut found = Vec::new();
        for (shard, path) in self.shards()? {
            let Some(files) = read_dir(&path)? else { continue };
            for file in files.flatten() {
                let name = file.file_name();
                let key = name.to_str().and_then(|name| Key::parse(&format!("{shard}{name}")));
                // What was removed meanwhile is no entry any more.
                if let (Some(key), Ok(data)) = (key, file.metadata())
                    && data.is_file()
                {
                    let used = data.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                    found.push(Listed { used, key, bytes: data.len() });
                }
            }
        }
        Ok(found)
    }

    /// The folders that entries are in, with the first two digits of their keys.
    fn shards(&self) -> Result<Vec<(String, PathBuf)>> {
        let is_digit = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
        let mut shards = Vec::new();
        for file in read_dir(&self.dir)?.into_iter().flatten().flatten() {
            let Ok(name) = file.file_name().into_string() else { continue };
            if name.len() == 2 && name.bytes().all(is_digit) {
                shards.push((name, file.path()));
            }
        }
        Ok(shards)
    }

    /// Removes the entry of this key, if there is one.
    pub(super) fn remove(&self, _lock: &FolderLock<'_>, key: &Key) -> Result<()> {
        let path = self.path(key);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(explain(&error, "remove", &path))
            }
            _ => Ok(()),
        }
    }

    /// Removes all entries, and whatever else stands in their place.
    pub(super) fn remove_all(&self, lock: &FolderLock<'_>) -> Result<()> {
        for (_, path) in self.shards()? {
            std::fs::remove_dir_all(&path).map_err(|error| explain(&error, "remove", &path))?;
        }
        self.record_bytes(lock, 0)
    }

    /// The recorded size of all entries. It is never too small unless somebody else put files here.
    /// `None` if there is no record or it is damaged.
    pub(super) fn recorded_bytes(&self, _lock: &FolderLock<'_>) -> Option<u64> {
        let text = std::fs::read_to_string(self.dir.join(SIZE)).ok()?;
        let (bytes, _) = text.split_once(' ')?;
        let bytes = bytes.parse().ok()?;
        (text == record(bytes)).then_some(bytes)
    }

    pub(super) fn record_bytes(&self, _lock: &FolderLock<'_>, bytes: u64) -> Result<()> {
        // A record cut short by a kill is damaged, and the next one comes from counting.
        let path = self.dir.join(SIZE);
        in_folder(&path, "write", |path| std::fs::write(path, record(bytes)))
    }

    /// Removes what killed processes left: unfinished writes and locks of keys.
    pub(super) fn sweep(&self, _lock: &FolderLock<'_>) {
        /// A writer locks its file right after it made it.
        const OLD: Duration = Duration::from_secs(60);
        /// A file system without locks does not tell whether a writer lives.
        const VERY_OLD: Duration = Duration::from_secs(24 * 3600);
        let left = |folder: &str| {
            let files = read_dir(&self.dir.join(folder)).ok().flatten();
            files.into_iter().flatten().flatten().map(|file| file.path())
        };
        let age = |file: &File| file.metadata().ok()?.modified().ok()?.elapsed().ok();
        for path in left(STAGED) {
            let Ok(file) = File::open(&path) else { continue };
            let Some(age) = age(&file).filter(|age| *age > OLD) else { continue };
            if match lock::lock(&file, Duration::ZERO) {
                Locking::Locked { .. } => true,
                Locking::Busy => false,
                Locking::Unsupported => age > VERY_OLD,
            } {
                let _left_behind = std::fs::remove_file(&path);
            }
        }
        for path in left(KEYS) {
            // Taking and dropping a lock removes its file.
            drop(KeyLock::acquire(&path, Duration::ZERO));
        }
    }
}

impl Staged {
    /// Puts the entry into its place, over an older one.
    pub(super) fn place(self, _lock: &FolderLock<'_>, path: &Path) -> Result<()> {
        in_folder(path, "write", |path| std::fs::rename(&self.path, path))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // Gone already if it was placed.
        let _gone = std::fs::remove_file(&self.path);
    }
}

/// The text of a record, which shows if it was damaged.
fn record(bytes: u64) -> String {
    let check = blake3::hash(bytes.to_string().as_bytes()).to_hex();
    format!("{bytes} {}\n", &check[..16])
}

/// Does something that makes a file at `path`, and makes the folder for it if that is missing.
fn in_folder<T>(path: &Path, verb: &str, make: impl Fn(&Path) -> Result<T>) -> Result<T> {
    let made = match (make(path), path.parent()) {
        (Err(error), Some(folder)) if error.kind() == ErrorKind::NotFound => {
            // For the owner alone: who may write here can plant values.
            DirBuilder::new().recursive(true).mode(0o700).create(folder).and_then(|()| make(path))
        }
        (made, _) => made,
    };
    made.map_err(|error| explain(&error, verb, path))
}

/// The files of a folder; `None` if it does not exist.
fn read_dir(path: &Path) -> Result<Option<ReadDir>> {
    match std::fs::read_dir(path) {
        Ok(files) => Ok(Some(files)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(explain(&error, "read", path)),
    }
}
