//! Results kept on disk between runs and shared by processes, and by machines: the second and third
//! tier of every cache.
//!
//! What is kept is bytes, by the hash of what they were made from. [`DiskCache`] is a folder of such
//! entries that heals itself, stays below a size, and lets one of many threads and processes make
//! what all of them want. What an entry means is the business of its user: this module knows no
//! kernels, programs or reports. [`RemoteCache`] is the same among machines, in a folder that all of
//! them see or an object store, where nobody waits for anybody: two that want a value may both make
//! it.
//!
//! # Promises
//!
//! - A value that is returned is the value that was stored: each entry carries a checksum over key
//!   and value. One that does not fit is removed and counted.
//! - An entry appears whole or not at all: it is written under another name and renamed. A process
//!   may be killed at any time; what it leaves behind is removed later.
//! - Nothing that goes wrong with disk or store fails a run. What cannot be read is made anew, what cannot
//!   be written is lost; [`DiskCache::counters`] and [`DiskCache::problem`] tell.
//! - The entries on disk never take more than the cap, over all processes: the least recently used go
//!   first. What machines share has none.
//! - A store that does not answer costs each lookup its time limit at most
//!   ([`RemoteOptions::time_limit`], 5 s unless [`REMOTE_TIMEOUT_VARIABLE`] says otherwise), and after
//!   three failures in a row nothing for a minute. Storing is done in the background; at the end of a
//!   thread, and so of the program, it is waited for no longer than that limit.
//!
//! Locks are advisory ones of the operating system, which end with the process that holds them. On a
//! file system that has none, entries are still whole, but the cap is approximate and two processes
//! may make the same value.
//!
//! A cache is as trustworthy as its folder: whoever may write there can plant values. New folders
//! are for their owner alone.
mod counters;
mod disk;
mod entry;
mod folder;
mod key;
mod limit;
mod lock;
mod remote;

pub use disk::{Absence, Counters, DiskCache, Lookup, Removed, Stats, Vacant, Verified};
pub use key::Key;
pub use limit::{DEFAULT_LIMIT_BYTES, LIMIT_VARIABLE, limit_bytes, parse_bytes};
pub use lock::KeyLock;
pub use remote::{
    REMOTE_TIMEOUT_VARIABLE, REMOTE_VARIABLE, RemoteCache, RemoteCounters, RemoteOptions,
};
