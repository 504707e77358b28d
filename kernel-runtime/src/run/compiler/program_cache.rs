//! Programs kept between runs: on disk, and shared by machines.

use crate::cache::{DiskCache, Key, Lookup, RemoteCache, Vacant};
use crate::pjrt::{self, Executable};
use std::sync::LazyLock;
use std::time::Duration;

/// The variable that says where compiled programs are kept between runs: a folder, or `off` for
/// nowhere, not even where machines share them. `programs` in the [cache folder](pjrt::cache_dir)
/// where it is not set.
pub const PROGRAM_CACHE_VARIABLE: &str = "SYSTOLE_PROGRAM_CACHE";

/// How long to wait for another process that is compiling a program. It may have been stopped, so
/// there is an end to it; then this process compiles the program too.
const PATIENCE: Duration = Duration::from_secs(300);

/// Where a [`Compiler`](super::Compiler) keeps programs between runs.
///
/// A program is found by what it was made from: the graph of its ops, the toolkit, the plugin, the
/// kind of device, the options of the compilation, and for code that runs on the host, its processor.
/// What cannot be found, read or loaded is compiled, and what cannot be kept is not: nothing here
/// fails a run. Executables are code. Only who may run code as you should be able to write where
/// they are kept.
#[derive(Clone, Debug, Default)]
pub struct ProgramCache {
    disk: Option<DiskCache>,
    remote: Option<RemoteCache>,
}

impl ProgramCache {
    /// Keeps programs in this process alone.
    pub fn off() -> ProgramCache {
        ProgramCache::default()
    }

    /// Keeps programs in this cache.
    pub fn on_disk(disk: DiskCache) -> ProgramCache {
        ProgramCache { disk: Some(disk), remote: None }
    }

    /// Shares them with other machines as well: what is not on disk is looked for in this cache, and
    /// what is compiled is stored there in the background.
    #[must_use]
    pub fn shared(self, remote: RemoteCache) -> ProgramCache {
        ProgramCache { remote: Some(remote), ..self }
    }

    /// What the environment says ([`PROGRAM_CACHE_VARIABLE`],
    /// [`LIMIT_VARIABLE`](crate::cache::LIMIT_VARIABLE),
    /// [`REMOTE_VARIABLE`](crate::cache::REMOTE_VARIABLE)), as it was at the first use. Compilers use
    /// this until they are told otherwise; they count together.
    pub fn from_env() -> ProgramCache {
        static SET: LazyLock<ProgramCache> = LazyLock::new(read_env);
        SET.clone()
    }

    pub(super) fn is_off(&self) -> bool {
        self.disk.is_none() && self.remote.is_none()
    }

    /// The cache on disk, if there is one.
    pub fn disk(&self) -> Option<&DiskCache> {
        self.disk.as_ref()
    }

    /// The cache that other machines share, if there is one.
    pub fn remote(&self) -> Option<&RemoteCache> {
        self.remote.as_ref()
    }

    /// Looks for a program. `load` makes an executable of bytes that were kept.
    pub(super) fn find(&self, key: Key, load: impl Fn(&[u8]) -> Option<Executable>) -> Found {
        let place = match self.disk.as_ref().map(|disk| find_on_disk(disk, &key, &load)) {
            Some(Ok(executable)) => return Found::Program(executable),
            Some(Err(place)) => place,
            None => None,
        };
        let Some(remote) = &self.remote else {
            return Found::Nothing(Gap { key, place, remote: None });
        };
        // Others on this machine wait at `place` for what this one gets or compiles.
        if let Some(bytes) = remote.get(&key) {
            if let Some(executable) = load(&bytes) {
                if let Some(place) = place {
                    place.fill(&bytes);
                }
                return Found::Program(executable);
            }
            remote.note_damaged();
        }
        Found::Nothing(Gap { key, place, remote: Some(remote.clone()) })
    }
}

/// The program, or the right to keep it on disk if there is a place for it.
fn find_on_disk(
    disk: &DiskCache,
    key: &Key,
    load: impl Fn(&[u8]) -> Option<Executable>,
) -> Result<Executable, Option<Vacant>> {
    // Twice: what is whole but cannot be loaded is removed, and may be back already.
    for _attempt in 0..2 {
        match disk.lookup(key, PATIENCE) {
            Lookup::Vacant(place) => return Err(Some(place)),
            Lookup::Found(bytes) => match load(&bytes) {
                Some(executable) => return Ok(executable),
                None => disk.discard(key),
            },
        }
    }
    Err(None)
}

/// What was found.
pub(super) enum Found {
    Program(Executable),
    /// The program is to be compiled; others that want it wait.
    Nothing(Gap),
}

/// A program that is to be compiled.
pub(super) struct Gap {
    key: Key,
    place: Option<Vacant>,
    remote: Option<RemoteCache>,
}

impl Gap {
    /// Keeps the program, and lets those go on that wait for it.
    pub(super) fn fill(self, executable: &Executable) {
        // A plugin that cannot serialise has programs for this process alone.
        let Ok(bytes) = executable.serialize() else { return };
        if let Some(place) = self.place {
            place.fill(&bytes);
        }
        if let Some(remote) = self.remote {
            remote.put(&self.key, &bytes);
        }
    }
}

fn read_env() -> ProgramCache {
    let set = std::env::var_os(PROGRAM_CACHE_VARIABLE).filter(|value| !value.is_empty());
    let disk = match set {
        Some(value) if value == "off" => return ProgramCache::off(),
        Some(dir) => DiskCache::open_limited(dir),
        None => DiskCache::open_limited(pjrt::cache_dir().join("programs")),
    };
    ProgramCache { disk: Some(disk), remote: RemoteCache::from_env() }
}
