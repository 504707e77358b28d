//! The cache: looking up, storing, healing, and staying below the cap.
use super::counters::counters;
use super::entry::{self, Content};
use super::folder::{Folder, FolderLock, Listed, explain};
use super::key::Key;
use super::lock::KeyLock;
use serde::Serialize;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A folder of values by key. Clones share it, with counters; so do other processes, without.
///
/// ```
/// use systole::cache::{DiskCache, Key};
///
/// # let folder = tempfile::tempdir()?;
/// let cache = DiskCache::open(folder.path(), 1 << 20);
/// let key = Key::of(&[b"an example", b"input"]);
/// assert_eq!(cache.get(&key), None);
/// cache.put(&key, b"value");
/// assert_eq!(cache.get(&key).as_deref(), Some(&b"value"[..]));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DiskCache {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    folder: Folder,
    cap_bytes: u64,
    counters: LiveCounters,
    problem: Mutex<Option<String>>,
}

/// Why a value is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absence {
    /// It was never stored, or had to make room for others.
    Missing,
    /// Its entry was damaged and has been removed.
    Damaged,
    /// Its entry could not be read; [`DiskCache::problem`] says why.
    Unreadable,
}

/// What [`DiskCache::lookup`] found.
#[derive(Debug)]
pub enum Lookup {
    /// The value.
    Found(Vec<u8>),
    /// Nothing: it is the caller's turn to make the value. Others that ask for it wait.
    Vacant(Vacant),
}

/// A value that is not there yet, and the right to make it. Dropped without [`Vacant::fill`], the
/// right goes to the next who waits.
#[derive(Debug)]
pub struct Vacant {
    cache: DiskCache,
    key: Key,
    absence: Absence,
    _lock: Option<KeyLock>,
}

impl Vacant {
    /// Why it is not there.
    pub fn absence(&self) -> Absence {
        self.absence
    }

    /// Stores the value as [`DiskCache::put`] does, and lets those go on that wait for it.
    pub fn fill(self, value: &[u8]) {
        self.cache.put(&self.key, value);
    }
}

counters! {
    /// What a cache did in this process so far.
    Counters;
    /// Values that were found.
    hits,
    /// Values that were not, for whatever reason.
    misses,
    /// Values that were stored.
    stored,
    /// Damaged entries that were removed.
    healed,
    /// Entries that were removed to make room.
    evicted,
    /// Values larger than the cap, which were not stored.
    oversized,
    /// Lookups that waited while another thread or process made the value.
    waits,
    /// Reads, writes and locks that failed.
    failures,
    /// Bytes of the values that were found.
    bytes_read,
    /// Bytes of the values that were stored.
    bytes_written,
}

/// What is in a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// Number of entries.
    pub n_entries: u64,
    /// Bytes of all entries.
    pub bytes: u64,
    /// The most that they may take.
    pub cap_bytes: u64,
}

/// What [`DiskCache::verify`] found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Verified {
    /// Entries that are as they were stored.
    pub n_good: u64,
    /// Damaged entries, which were removed.
    pub n_damaged: u64,
    /// Entries that could not be read or removed; [`DiskCache::problem`] says why.
    pub n_unreadable: u64,
}

/// What [`DiskCache::clear`] removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Removed {
    /// Number of entries.
    pub n_entries: u64,
    /// Bytes of these entries.
    pub bytes: u64,
}

impl DiskCache {
    /// The cache in `dir`, whose entries never take more than `cap_bytes`; with 0, nothing is
    /// stored. The folder is made when the first value is stored: this does nothing with the disk.
    /// Processes that share a folder should agree on the cap, or the smallest holds.
    pub fn open(dir: impl Into<PathBuf>, cap_bytes: u64) -> DiskCache {
        DiskCache {
            shared: Arc::new(Shared {
                folder: Folder::new(dir.into()),
                cap_bytes,
                counters: LiveCounters::default(),
                problem: Mutex::default(),
            }),
        }
    }

    /// As [`DiskCache::open`], with the cap that the variable [`super::LIMIT_VARIABLE`] sets. One
    /// that says no size is a [`DiskCache::problem`], and the default holds.
    pub fn open_limited(dir: impl Into<PathBuf>) -> DiskCache {
        match super::limit_bytes() {
            Ok(cap_bytes) => DiskCache::open(dir, cap_bytes),
            Err(text) => {
                let cache = DiskCache::open(dir, super::DEFAULT_LIMIT_BYTES);
                cache.fail(&Error::new(ErrorKind::InvalidInput, text));
                cache
            }
        }
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        self.shared.folder.dir()
    }

    /// The value of this key, if it is there and whole.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        match self.read(key) {
            Ok(value) => Some(self.hit(value)),
            Err(_absence) => {
                self.count(|live| &live.misses);
                None
            }
        }
    }

    /// The value of this key, or the right to make it. If another thread or process is making it,
    /// this waits for it, at most for `patience`; then the caller makes it too.
    pub fn lookup(&self, key: &Key, patience: Duration) -> Lookup {
        let absence = match self.read(key) {
            Ok(value) => return Lookup::Found(self.hit(value)),
            Err(absence) => absence,
        };
        let lock = self.lock(key, patience);
        // Between our look and our lock another may have stored it.
        if let (Some(_), Absence::Missing | Absence::Damaged) = (&lock, absence)
            && let Ok(value) = self.read(key)
        {
            return Lookup::Found(self.hit(value));
        }
        self.count(|live| &live.misses);
        Lookup::Vacant(Vacant { cache: self.clone(), key: *key, absence, _lock: lock })
    }

    /// Waits until no other thread or process holds the lock of this key, at most for `patience`.
    /// `None` if that was too short, or locks do not work here. [`DiskCache::lookup`] is this and
    /// [`DiskCache::get`] in the right order.
    pub fn lock(&self, key: &Key, patience: Duration) -> Option<KeyLock> {
        let lock = self.failing(self.shared.folder.lock_key(key, patience))?;
        if lock.as_ref().is_none_or(KeyLock::waited) {
            self.count(|live| &live.waits);
        }
        lock
    }

    /// Stores a value, over an older one. What cannot be stored is lost, and counted.
    pub fn put(&self, key: &Key, value: &[u8]) {
        if entry::file_bytes(value.len()) > self.shared.cap_bytes {
            self.count(|live| &live.oversized);
        } else if self.failing(self.try_put(key, value)).is_some() {
            self.count(|live| &live.stored);
            self.add(|live| &live.bytes_written, value.len());
        }
    }

    /// Removes a value that is whole but of no use to its reader, such as one of an older format;
    /// it counts as healed.
    pub fn discard(&self, key: &Key) {
        let folder = &self.shared.folder;
        let removed = folder.lock().and_then(|lock| folder.remove(&lock, key));
        if self.failing(removed).is_some() {
            self.count(|live| &live.healed);
        }
    }

    /// What this process did with this cache so far.
    pub fn counters(&self) -> Counters {
        self.shared.counters.read()
    }

    /// What failed last, with path and reason.
    pub fn problem(&self) -> Option<String> {
        self.shared.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts what is there at one moment. In a folder that cannot be locked, because it is read-only
    /// or a stopped process holds its lock, what comes and goes meanwhile may be counted or not.
    ///
    /// # Errors
    /// When the folder cannot be read. One that does not exist is empty.
    pub fn stats(&self) -> Result<Stats> {
        let folder = &self.shared.folder;
        // Otherwise an entry that had to make room would be counted beside the one that has it now,
        // and the sum could be above the cap. A folder that does not exist stays so.
        let _lock = folder.dir().exists().then(|| folder.lock().ok());
        let entries = folder.entries()?;
        Ok(Stats {
            n_entries: entries.len() as u64,
            bytes: entries.iter().map(|entry| entry.bytes).sum(),
            cap_bytes: self.shared.cap_bytes,
        })
    }

    /// Reads every entry, and removes those that are damaged and what killed processes left. The
    /// order in which entries make room stays.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn verify(&self) -> Result<Verified> {
        let folder = &self.shared.folder;
        let mut verified = Verified::default();
        for listed in folder.entries()? {
            match entry::read(&folder.path(&listed.key), &listed.key) {
                Ok(Content::Value(..)) => verified.n_good += 1,
                Ok(Content::Missing) => {}
                Ok(Content::Damaged) => match self.failing(self.heal(&listed.key)) {
                    Some(Content::Value(..)) => verified.n_good += 1,
                    Some(Content::Damaged) => verified.n_damaged += 1,
                    Some(Content::Missing) => {}
                    None => verified.n_unreadable += 1,
                },
                Err(error) => {
                    self.fail(&explain(&error, "read", &folder.path(&listed.key)));
                    verified.n_unreadable += 1;
                }
            }
        }
        // A folder that does not exist stays so.
        if self.dir().exists() {
            self.failing(self.settle());
        }
        Ok(verified)
    }

    /// Removes all entries.
    ///
    /// # Errors
    /// When the folder cannot be read or an entry not be removed.
    pub fn clear(&self) -> Result<Removed> {
        let folder = &self.shared.folder;
        if !folder.dir().exists() {
            return Ok(Removed::default());
        }
        let lock = folder.lock()?;
        let entries = folder.entries()?;
        folder.remove_all(&lock)?;
        folder.sweep(&lock);
        let bytes = entries.iter().map(|entry| entry.bytes).sum();
        Ok(Removed { n_entries: entries.len() as u64, bytes })
    }

    /// Reads and heals, but counts neither hit nor miss.
    fn read(&self, key: &Key) -> std::result::Result<Vec<u8>, Absence> {
        let path = self.shared.folder.path(key);
        let content = match entry::read(&path, key) {
            Ok(Content::Damaged) => {
                // What cannot be removed now is found damaged again.
                self.failing(self.heal(key)).unwrap_or(Content::Damaged)
            }
            Ok(content) => content,
            Err(error) => {
                self.fail(&explain(&error, "read", &path));
                return Err(Absence::Unreadable);
            }
        };
        match content {
            Content::Value(value, file) => {
                entry::mark_used(&file);
                Ok(value)
            }
            Content::Damaged => Err(Absence::Damaged),
            Content::Missing => Err(Absence::Missing),
        }
    }

    /// Removes an entry that was found damaged, unless another process has done so since.
    fn heal(&self, key: &Key) -> Result<Content> {
        let folder = &self.shared.folder;
        let lock = folder.lock()?;
        let path = folder.path(key);
        let content = entry::read(&path, key).map_err(|error| explain(&error, "read", &path))?;
        if matches!(content, Content::Damaged) {
            folder.remove(&lock, key)?;
            self.count(|live| &live.healed);
        }
        Ok(content)
    }

    fn try_put(&self, key: &Key, value: &[u8]) -> Result<()> {
        let folder = &self.shared.folder;
        let bytes = entry::file_bytes(value.len());
        // Written before the lock is taken, so that others wait for the renaming alone.
        let staged = match folder.stage(key, value) {
            Err(error) if error.kind() == ErrorKind::StorageFull => {
                // The disk is smaller than the cap: what is old makes room for what is new.
                self.give_back(bytes)?;
                folder.stage(key, value)?
            }
            staged => staged?,
        };
        let path = folder.path(key);
        let lock = folder.lock()?;
        let total = self.make_room(&lock, bytes)?;
        // First the record, then the entry: after a kill between them the record is too large, which
        // a count puts right, and never too small.
        folder.record_bytes(&lock, total + bytes)?;
        let replaced = std::fs::metadata(&path).map_or(0, |data| data.len());
        staged.place(&lock, &path)?;
        if replaced > 0 {
            folder.record_bytes(&lock, (total + bytes).saturating_sub(replaced))?;
        }
        Ok(())
    }

    /// Removes the least recently used entries until `incoming` bytes fit; gives the size of the
    /// rest.
    fn make_room(&self, lock: &FolderLock<'_>, incoming: u64) -> Result<u64> {
        let (folder, cap) = (&self.shared.folder, self.shared.cap_bytes);
        if let Some(total) = folder.recorded_bytes(lock)
            && total.saturating_add(incoming) <= cap
        {
            return Ok(total);
        }
        folder.sweep(lock);
        let entries = folder.entries()?;
        let total: u64 = entries.iter().map(|entry| entry.bytes).sum();
        if total.saturating_add(incoming) <= cap {
            return Ok(total);
        }
        // A tenth more than needed, so that not every further value must count them all again.
        let goal = (cap - cap / 10).saturating_sub(incoming);
        let total = self.evict(lock, entries, goal);
        if total.saturating_add(incoming) > cap {
            let text = format!("cannot make room for {incoming} bytes in {}", self.dir().display());
            return Err(Error::other(text));
        }
        Ok(total)
    }

    /// Removes the least recently used entries, for a value of so many bytes and the next one.
    fn give_back(&self, bytes: u64) -> Result<()> {
        let folder = &self.shared.folder;
        let lock = folder.lock()?;
        folder.sweep(&lock);
        let entries = folder.entries()?;
        let total: u64 = entries.iter().map(|entry| entry.bytes).sum();
        if total < bytes {
            // All of them would be too few.
            return Ok(());
        }
        let total = self.evict(&lock, entries, total.saturating_sub(2 * bytes));
        folder.record_bytes(&lock, total)
    }

    /// Removes the least recently used entries until the rest takes no more than `goal` bytes; gives
    /// the size of the rest.
    fn evict(&self, lock: &FolderLock<'_>, mut entries: Vec<Listed>, goal: u64) -> u64 {
        let mut total: u64 = entries.iter().map(|entry| entry.bytes).sum();
        entries.sort_unstable_by_key(|entry| (entry.used, entry.key));
        for entry in entries {
            if total <= goal {
                break;
            }
            if self.failing(self.shared.folder.remove(lock, &entry.key)).is_some() {
                total -= entry.bytes;
                self.count(|live| &live.evicted);
            }
        }
        total
    }

    /// Brings the record of the size up to date, makes room if the cap has shrunk, and sweeps.
    fn settle(&self) -> Result<()> {
        let folder = &self.shared.folder;
        let lock = folder.lock()?;
        folder.sweep(&lock);
        let counted = folder.entries()?.iter().map(|entry| entry.bytes).sum();
        folder.record_bytes(&lock, counted)?;
        let total = self.make_room(&lock, 0)?;
        folder.record_bytes(&lock, total)
    }

    /// The value of a result; an error is counted and kept for [`DiskCache::problem`].
    fn failing<T>(&self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.fail(&error)).ok()
    }

    fn fail(&self, error: &Error) {
        self.count(|live| &live.failures);
        *self.shared.problem.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(error.to_string());
    }

    fn hit(&self, value: Vec<u8>) -> Vec<u8> {
        self.count(|live| &live.hits);
        self.add(|live| &live.bytes_read, value.len());
        value
    }

    fn count(&self, counter: impl Fn(&LiveCounters) -> &AtomicU64) {
        self.add(counter, 1);
    }

    fn add(&self, counter: impl Fn(&LiveCounters) -> &AtomicU64, n: usize) {
        counter(&self.shared.counters).fetch_add(n as u64, Ordering::Relaxed);
    }
}
