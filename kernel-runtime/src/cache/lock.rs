//! Locks between processes, with an end to waiting.
use std::fs::{File, OpenOptions, TryLockError};
use std::io::Result;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// What became of an attempt to lock a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Locking {
    /// It is ours, after a wait or at once.
    Locked { waited: bool },
    /// Another process or thread held it all the time.
    Busy,
    /// This file system has no locks.
    Unsupported,
}

/// Locks the file, waiting at most `patience`. The lock ends when the file is closed, also by the
/// end of the process.
pub(super) fn lock(file: &File, patience: Duration) -> Locking {
    let start = Instant::now();
    lock_while(file, || start.elapsed() < patience)
}

/// How long to wait while others get a lock one after the other: on a busy machine a queue may take
/// far longer than any one who stands in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Queue {
    /// For one of them.
    pub(super) patience: Duration,
    /// For all.
    pub(super) limit: Duration,
}

impl Queue {
    /// Locks the file as [`lock`] does, waiting as this says.
    pub(super) fn lock(self, file: &File) -> Locking {
        let start = Instant::now();
        let mut seen = Seen { holder: None, since: start };
        let locking = lock_while(file, || {
            let holder = file.metadata().and_then(|data| data.modified()).ok();
            self.may_wait(&mut seen, holder, start, Instant::now())
        });
        if matches!(locking, Locking::Locked { .. }) {
            // Tells the others that there is another holder. Where that fails they are less patient.
            let _told = file.set_modified(SystemTime::now());
        }
        locking
    }

    fn may_wait(
        self,
        seen: &mut Seen,
        holder: Option<SystemTime>,
        start: Instant,
        now: Instant,
    ) -> bool {
        if holder != seen.holder {
            *seen = Seen { holder, since: now };
        }
        now - seen.since < self.patience && now - start < self.limit
    }
}

/// Who holds a lock, by the time that it noted, and since when it was seen to.
struct Seen {
    holder: Option<SystemTime>,
    since: Instant,
}

/// Locks the file, or waits while `may_wait`.
fn lock_while(file: &File, mut may_wait: impl FnMut() -> bool) -> Locking {
    // A holder that was stopped would block `File::lock` for ever, so this asks again and again.
    const FIRST_PAUSE: Duration = Duration::from_micros(50);
    const LONGEST_PAUSE: Duration = Duration::from_millis(10);
    let (mut waited, mut pause) = (false, FIRST_PAUSE);
    loop {
        match file.try_lock() {
            Ok(()) => return Locking::Locked { waited },
            Err(TryLockError::Error(_)) => return Locking::Unsupported,
            Err(TryLockError::WouldBlock) if !may_wait() => return Locking::Busy,
            Err(TryLockError::WouldBlock) => {
                waited = true;
                std::thread::sleep(pause);
                pause = (2 * pause).min(LONGEST_PAUSE);
            }
        }
    }
}

/// Exclusive right to make the value of one key, among all threads and processes. It ends when it is
/// dropped, and with the process.
#[derive(Debug)]
#[must_use = "the lock ends when it is dropped"]
pub struct KeyLock {
    path: PathBuf,
    // Closed after `drop` has removed the file.
    _file: File,
    waited: bool,
}

impl KeyLock {
    /// Takes the lock whose file is `path`, waiting at most `patience`; `None` if others hold it for
    /// so long or locks do not work here.
    pub(super) fn acquire(path: &Path, patience: Duration) -> Result<Option<KeyLock>> {
        let start = Instant::now();
        let (file, locking) =
            open_locked(path, |file| lock(file, patience.saturating_sub(start.elapsed())))?;
        Ok(match locking {
            Locking::Locked { waited } => {
                Some(KeyLock { path: path.to_owned(), _file: file, waited })
            }
            Locking::Busy | Locking::Unsupported => None,
        })
    }

    /// Whether another held it at first, and may have stored the value since.
    pub fn waited(&self) -> bool {
        self.waited
    }
}

impl Drop for KeyLock {
    fn drop(&mut self) {
        // Still under the lock, so nobody else's file is removed. One that stays costs a few bytes.
        let _left_behind = std::fs::remove_file(&self.path);
    }
}

/// Opens the file at `path`, which is made if need be, and locks it by `lock`. Whoever has the lock
/// may remove the file: those that waited for it then lock the next one of that name.
pub(super) fn open_locked(path: &Path, lock: impl Fn(&File) -> Locking) -> Result<(File, Locking)> {
    let mut waited = false;
    loop {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
        match lock(&file) {
            Locking::Locked { waited: again } => waited |= again,
            unlocked => return Ok((file, unlocked)),
        }
        if is_at(&file, path) {
            return Ok((file, Locking::Locked { waited }));
        }
        waited = true;
    }
}

/// Whether the open file is the one that has this path now.
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(open), Ok(named)) => (open.dev(), open.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_waited_for_longer_than_one_who_stands_in_it() {
        let [patience, limit] = [10, 120].map(Duration::from_secs);
        let (queue, start) = (Queue { patience, limit }, Instant::now());
        let mut seen = Seen { holder: None, since: start };
        // For one that was stopped.
        let mut may_wait = |holder: u64, seconds: u64| {
            let holder = SystemTime::UNIX_EPOCH + Duration::from_secs(holder);
            queue.may_wait(&mut seen, Some(holder), start, start + Duration::from_secs(seconds))
        };
        assert!(may_wait(1, 1) && may_wait(1, 10) && !may_wait(1, 11));
        // For one after the other.
        assert!((2..120).all(|n| may_wait(n, n)) && !may_wait(120, 120));
    }

    #[test]
    fn who_gets_the_lock_says_so() {
        let file = tempfile::tempfile().unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        let queue = Queue { patience: Duration::ZERO, limit: Duration::ZERO };
        assert_eq!(queue.lock(&file), Locking::Locked { waited: false });
        assert_ne!(file.metadata().unwrap().modified().unwrap(), SystemTime::UNIX_EPOCH);
    }
}
