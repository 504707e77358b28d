//! Values shared by machines: in a folder that all of them see, or in an object store.
//!
//! A value is stored as on disk, with a checksum over key and value, under the same name, so that a
//! folder filled by one can be copied to the other. What takes too long, cannot be reached or is
//! damaged is a value that is not there.
mod folder;
#[cfg(feature = "remote-cache")]
mod object;
mod upload;

use super::counters::counters;
use super::entry;
use super::key::Key;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use upload::Uploads;

/// The variable that says where values are shared: a folder, or a URL that begins with `file://`,
/// `s3://` or `gs://`.
pub const REMOTE_VARIABLE: &str = "SYSTOLE_REMOTE_CACHE";
/// The variable that says how many seconds to wait for a shared value: `2.5`; 5 where it is not set.
pub const REMOTE_TIMEOUT_VARIABLE: &str = "SYSTOLE_REMOTE_CACHE_TIMEOUT";

const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(5);
/// A value may be large, and nobody waits for it to be stored.
const UPLOAD_TIME_LIMIT: Duration = Duration::from_secs(60);
/// After so many failures in a row, a place is left alone for a while: each costs a time limit.
const N_FAILURES: u32 = 3;
const REST: Duration = Duration::from_secs(60);

/// Values shared by machines, by key. Clones share it, with counters.
#[derive(Debug, Clone)]
pub struct RemoteCache {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    url: String,
    options: RemoteOptions,
    /// Made at the first use: reading the machine's certificates takes a while.
    store: OnceLock<Arc<dyn Store>>,
    counters: LiveCounters,
    health: Mutex<Health>,
    uploads: Uploads,
}

/// How a [`RemoteCache`] is reached.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RemoteOptions {
    /// How long to wait for a value.
    pub time_limit: Duration,
    /// Settings of an object store, such as `("aws_endpoint", "http://localhost:9000")`, besides
    /// those from the environment (`AWS_ENDPOINT`): see the crate `object_store` for all of them.
    pub settings: Vec<(String, String)>,
}

impl Default for RemoteOptions {
    fn default() -> RemoteOptions {
        RemoteOptions { time_limit: DEFAULT_TIME_LIMIT, settings: Vec::new() }
    }
}

counters! {
    /// What a [`RemoteCache`] did in this process so far.
    RemoteCounters;
    /// Values that were found.
    hits,
    /// Values that were not, for whatever reason.
    misses,
    /// Values that were stored.
    stored,
    /// Values that were found damaged; whoever makes one anew stores it over the damaged one.
    damaged,
    /// Reads and writes that took too long.
    timeouts,
    /// Reads and writes that failed, those that took too long included.
    failures,
    /// Reads and writes that were not tried: after several failures, or because too much waits to be
    /// stored.
    skipped,
    /// Bytes of the values that were found.
    bytes_read,
    /// Bytes of the values that were stored.
    bytes_written,
}

#[derive(Debug, Default)]
struct Health {
    n_failures: u32,
    rest_until: Option<Instant>,
    problem: Option<String>,
}

/// Where objects are, by name.
trait Store: std::fmt::Debug + Send + Sync {
    /// The object, or `None` if there is none.
    fn read(&self, name: &str, time_limit: Duration) -> Result<Option<Vec<u8>>, Failure>;

    /// Makes or replaces the object: readers see all of it, or the one before.
    fn write(&self, name: &str, object: Vec<u8>, time_limit: Duration) -> Result<(), Failure>;
}

/// Why a store did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Failure {
    TimedOut(Duration),
    Failed(String),
}

/// A place that cannot be.
#[derive(Debug)]
struct Nowhere(String);

impl Store for Nowhere {
    fn read(&self, _name: &str, _time_limit: Duration) -> Result<Option<Vec<u8>>, Failure> {
        Err(Failure::Failed(self.0.clone()))
    }

    fn write(&self, _: &str, _object: Vec<u8>, _time_limit: Duration) -> Result<(), Failure> {
        Err(Failure::Failed(self.0.clone()))
    }
}

impl RemoteCache {
    /// The cache at this place: a folder, or a URL that begins with `file://`, `s3://` or `gs://`;
    /// the latter two need the feature `remote-cache`. This reaches for nothing; a place that cannot
    /// be is a [`RemoteCache::problem`] at the first use.
    pub fn open(url: &str, options: RemoteOptions) -> RemoteCache {
        RemoteCache {
            shared: Arc::new(Shared {
                url: url.to_owned(),
                options,
                store: OnceLock::new(),
                counters: LiveCounters::default(),
                health: Mutex::default(),
                uploads: Uploads::default(),
            }),
        }
    }

    /// The cache at the place that [`REMOTE_VARIABLE`] sets, with the time limit of
    /// [`REMOTE_TIMEOUT_VARIABLE`]; none where no place is set.
    pub fn from_env() -> Option<RemoteCache> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let url = set(REMOTE_VARIABLE)?.to_string_lossy().into_owned();
        let mut options = RemoteOptions::default();
        let mut problem = None;
        if let Some(value) = set(REMOTE_TIMEOUT_VARIABLE) {
            let value = value.to_string_lossy();
            match value.trim().parse().map(Duration::try_from_secs_f64) {
                Ok(Ok(limit)) => options.time_limit = limit,
                _ => {
                    let text = "is no number of seconds: write one such as 2.5";
                    problem = Some(format!("{REMOTE_TIMEOUT_VARIABLE}={value} {text}"));
                }
            }
        }
        let cache = RemoteCache::open(&url, options);
        cache.shared.health().problem = problem;
        Some(cache)
    }

    /// The place, as it was given.
    pub fn url(&self) -> &str {
        &self.shared.url
    }

    /// The value of this key, if it comes whole and within the time limit.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let value = self.shared.get(key);
        let counters = &self.shared.counters;
        match &value {
            Some(value) => {
                add(&counters.hits, 1);
                add(&counters.bytes_read, value.len());
            }
            None => add(&counters.misses, 1),
        }
        value
    }

    /// Stores a value, over an older one, in the background. The thread that asked for it waits at
    /// its end until it is done, at most for the time limit, and so does the program if that is its
    /// main thread. What cannot be stored is lost, and counted.
    pub fn put(&self, key: &Key, value: &[u8]) {
        upload::enqueue(&self.shared, key, entry::encode(key, value));
    }

    /// Counts a value that is whole but of no use to its reader.
    pub fn note_damaged(&self) {
        add(&self.shared.counters.damaged, 1);
    }

    /// Waits until what was given to [`RemoteCache::put`] is stored or lost, at most for the time
    /// limit; whether all of it is done.
    pub fn flush(&self) -> bool {
        self.shared.uploads.wait(self.shared.options.time_limit)
    }

    /// What this process did with this cache so far.
    pub fn counters(&self) -> RemoteCounters {
        self.shared.counters.read()
    }

    /// What failed last, with place and reason.
    pub fn problem(&self) -> Option<String> {
        self.shared.health().problem.clone()
    }
}

impl Shared {
    fn store(&self) -> &Arc<dyn Store> {
        self.store.get_or_init(|| open_store(&self.url, &self.options))
    }

    fn get(&self, key: &Key) -> Option<Vec<u8>> {
        if self.rests() {
            add(&self.counters.skipped, 1);
            return None;
        }
        let object = self.store().read(&key.place(), self.options.time_limit);
        let object = self.outcome("read", key, object)??;
        let value = entry::decode(key, object);
        if value.is_none() {
            add(&self.counters.damaged, 1);
        }
        value
    }

    /// Stores an encoded entry and waits for it.
    fn put(&self, key: &Key, object: Vec<u8>) {
        if self.rests() {
            add(&self.counters.skipped, 1);
            return;
        }
        let n_bytes = object.len() - entry::file_bytes(0) as usize;
        let limit = UPLOAD_TIME_LIMIT.max(self.options.time_limit);
        let written = self.store().write(&key.place(), object, limit);
        if self.outcome("write", key, written).is_some() {
            add(&self.counters.stored, 1);
            add(&self.counters.bytes_written, n_bytes);
        }
    }

    /// Notes how the store answered.
    fn outcome<T>(&self, verb: &str, key: &Key, result: Result<T, Failure>) -> Option<T> {
        let mut health = self.health();
        let why = match result {
            Ok(value) => {
                health.n_failures = 0;
                return Some(value);
            }
            Err(Failure::TimedOut(limit)) => {
                add(&self.counters.timeouts, 1);
                format!("no answer within {} s", limit.as_secs_f64())
            }
            Err(Failure::Failed(why)) => why,
        };
        add(&self.counters.failures, 1);
        health.problem = Some(format!("cannot {verb} {} in {}: {why}", key.place(), self.url));
        health.n_failures += 1;
        if health.n_failures >= N_FAILURES {
            health.n_failures = 0;
            health.rest_until = Some(Instant::now() + REST);
        }
        None
    }

    fn rests(&self) -> bool {
        self.health().rest_until.is_some_and(|until| Instant::now() < until)
    }

    fn health(&self) -> std::sync::MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn add(counter: &AtomicU64, n: usize) {
    counter.fetch_add(n as u64, Ordering::Relaxed);
}

fn open_store(url: &str, options: &RemoteOptions) -> Arc<dyn Store> {
    let opened: Result<Arc<dyn Store>, String> = match url.split_once("://") {
        None => Ok(Arc::new(folder::Folder::new(url.into()))),
        Some(("file", _)) => folder::Folder::from_url(url).map(|folder| Arc::new(folder) as _),
        Some(("s3" | "s3a" | "gs", _)) => open_object_store(url, options),
        Some((scheme, _)) => Err(format!(
            "no shared cache is kept at `{scheme}://`: set {REMOTE_VARIABLE} to a folder, or to a URL \
             that begins with file://, s3:// or gs://"
        )),
    };
    opened.unwrap_or_else(|why| Arc::new(Nowhere(why)))
}

#[cfg(feature = "remote-cache")]
fn open_object_store(url: &str, options: &RemoteOptions) -> Result<Arc<dyn Store>, String> {
    object::Objects::open(url, options).map(|objects| Arc::new(objects) as _)
}

#[cfg(not(feature = "remote-cache"))]
fn open_object_store(_url: &str, _options: &RemoteOptions) -> Result<Arc<dyn Store>, String> {
    Err("this build reaches no object stores: build with the feature `remote-cache`".to_owned())
}
