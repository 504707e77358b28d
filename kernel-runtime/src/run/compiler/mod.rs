//! Programs to executables, each once.
//!
//! The first tier of the cache is in this process: the whole key of a program, not its hash, finds
//! its executable, and threads that ask for one program wait for one compilation. The second is on
//! disk, and processes wait for one another as well; the third is shared by machines: see
//! [`ProgramCache`].

mod environment;
mod program_cache;

pub use program_cache::{PROGRAM_CACHE_VARIABLE, ProgramCache};

use super::device::device_error;
use super::graph::emit::{self, EmitOptions, Layout};
use super::graph::{Graph, KeyWriter};
use super::numerics::Numerics;
use crate::cache::{Counters, RemoteCounters};
use crate::diag::Diagnostics;
use crate::pjrt::{self, Client, CompileOptions, Executable};
use environment::Environment;
use program_cache::Found;
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Instant;

/// Compiles the programs of one PJRT client, and keeps them.
pub struct Compiler {
    client: Client,
    numerics: AtomicU8,
    programs: RwLock<HashMap<Box<[u8]>, Arc<Slot>>>,
    cache: RwLock<ProgramCache>,
    /// Known when the first program is looked for.
    environment: OnceLock<Option<Environment>>,
    hits: AtomicU64,
    loads: Meter,
    compiles: Meter,
}

/// The place of one program: empty while its first user compiles it.
#[derive(Default)]
struct Slot {
    /// For the fast path.
    done: OnceLock<Executable>,
    /// Held by the one that compiles.
    turn: Mutex<()>,
}

/// How often something was done, and how long it took.
#[derive(Default)]
struct Meter {
    n: AtomicU64,
    ns: AtomicU64,
}

impl Meter {
    fn note(&self, start: Instant) {
        self.n.fetch_add(1, Ordering::Relaxed);
        self.ns.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }

    fn read(&self) -> (u64, u64) {
        (self.n.load(Ordering::Relaxed), self.ns.load(Ordering::Relaxed))
    }
}

/// What a [`Compiler`] has done; see [`Compiler::stats`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CompilerStats {
    /// Programs kept in this process: each was loaded or compiled once.
    pub n_programs: usize,
    /// Uses of a program that found it in this process.
    pub hits: u64,
    /// Programs loaded: kept by an earlier run, or by another process.
    pub loads: u64,
    /// Time spent loading, in nanoseconds.
    pub load_ns: u64,
    /// Programs compiled.
    pub compiles: u64,
    /// Time spent compiling, in nanoseconds.
    pub compile_ns: u64,
    /// What the cache on disk did, for all compilers that share it; none if there is no such cache.
    pub disk: Option<Counters>,
    /// The same of the cache that machines share.
    pub remote: Option<RemoteCounters>,
}

impl Compiler {
    pub(crate) fn new(client: Client) -> pjrt::Result<Compiler> {
        Ok(Compiler {
            client,
            numerics: AtomicU8::new(0),
            programs: RwLock::default(),
            cache: RwLock::new(ProgramCache::from_env()),
            environment: OnceLock::new(),
            hits: AtomicU64::new(0),
            loads: Meter::default(),
            compiles: Meter::default(),
        })
    }

    /// Whose arithmetic the programs compiled from now on follow.
    pub fn set_numerics(&self, numerics: Numerics) {
        self.numerics.store(numerics.number(), Ordering::Relaxed);
    }

    /// Whose arithmetic programs follow.
    pub(crate) fn numerics(&self) -> Numerics {
        let number = usize::from(self.numerics.load(Ordering::Relaxed));
        Numerics::ALL.get(number).copied().unwrap_or_default()
    }

    /// Where programs are kept between runs.
    pub fn cache(&self) -> ProgramCache {
        self.cache.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says where programs are looked for and kept between runs, from now on.
    pub fn set_cache(&self, cache: ProgramCache) {
        *self.cache.write().unwrap_or_else(PoisonError::into_inner) = cache;
    }

    /// What it has done.
    pub fn stats(&self) -> CompilerStats {
        let programs = self.programs.read().unwrap_or_else(PoisonError::into_inner);
        let n_programs = programs.values().filter(|slot| slot.done.get().is_some()).count();
        drop(programs);
        let ((loads, load_ns), (compiles, compile_ns)) = (self.loads.read(), self.compiles.read());
        let cache = self.cache();
        CompilerStats {
            n_programs,
            hits: self.hits.load(Ordering::Relaxed),
            loads,
            load_ns,
            compiles,
            compile_ns,
            disk: cache.disk().map(|disk| disk.counters()),
            remote: cache.remote().map(|remote| remote.counters()),
        }
    }

    /// The executable of a program on the device of this id. `donated` are positions of arguments
    /// whose memory it may reuse.
    pub(crate) fn program(
        &self,
        graph: &Graph,
        donated: &[usize],
        device_id: i64,
    ) -> Result<Executable, Diagnostics> {
        let numerics = self.numerics();
        let mut key = KeyWriter::default();
        key.write_u8(numerics.number());
        device_id.hash(&mut key);
        donated.hash(&mut key);
        graph.write_key(&mut key);
        let slot = self.slot(key.bytes());
        if let Some(executable) = slot.done.get() {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(executable.clone());
        }
        let _turn = slot.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(executable) = slot.done.get() {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(executable.clone());
        }
        let options = self.options(numerics).devices(&[device_id]);
        let text = || emit::module(graph, donated, EmitOptions { chip: None, numerics });
        let kept = !graph.is_bound_to_process();
        let executable = self.make(kept.then(|| key.bytes()), &options, text)?;
        // A failure is not kept: what is missing may come.
        let _set_once = slot.done.set(executable.clone());
        Ok(executable)
    }

    /// The executable of a program on all devices of a mesh, which have these ids. The caller keeps
    /// it.
    pub(crate) fn program_on(
        &self,
        graph: &Graph,
        donated: &[usize],
        layout: &Layout<'_>,
        device_ids: &[i64],
    ) -> Result<Executable, Diagnostics> {
        let numerics = self.numerics();
        let mut key = KeyWriter::default();
        key.write_u8(numerics.number());
        layout.hash(&mut key);
        (device_ids, donated).hash(&mut key);
        graph.write_key(&mut key);
        let options = self.options(numerics).partitions(device_ids.len()).devices(device_ids);
        let emit_options = EmitOptions { chip: None, numerics };
        let text = || emit::module_on(graph, donated, emit_options, Some(layout));
        let kept = !graph.is_bound_to_process();
        self.make(kept.then(|| key.bytes()), &options, text)
    }

    /// How programs of these numerics are compiled.
    fn options(&self, numerics: Numerics) -> CompileOptions {
        let is_cpu = || self.client.platform_name().is_ok_and(|name| name == "cpu");
        match numerics {
            // What is left over when several elements are computed at once, XLA:CPU computes in
            // another way: see tests/run/bounded.rs.
            Numerics::InOrder if is_cpu() => {
                CompileOptions::default().flag("xla_backend_optimization_level", 0)
            }
            Numerics::Device | Numerics::Tpu | Numerics::InOrder => CompileOptions::default(),
        }
    }

    fn slot(&self, key: &[u8]) -> Arc<Slot> {
        if let Some(slot) = self.programs.read().unwrap_or_else(PoisonError::into_inner).get(key) {
            return slot.clone();
        }
        let mut programs = self.programs.write().unwrap_or_else(PoisonError::into_inner);
        programs.entry(key.into()).or_default().clone()
    }

    /// Loads or compiles a program. `key` is all that `text` is made from; none if the program is
    /// not to be kept.
    fn make(
        &self,
        key: Option<&[u8]>,
        options: &CompileOptions,
        text: impl FnOnce() -> Result<String, Diagnostics>,
    ) -> Result<Executable, Diagnostics> {
        let cache = self.cache();
        let environment = || *self.environment.get_or_init(|| Environment::of(&self.client));
        let key = key.filter(|_| !cache.is_off()).and_then(|program| {
            environment().map(|environment| environment.key(&options.encode(), program))
        });
        let Some(key) = key else { return self.compile(options, text) };
        let load = |bytes: &[u8]| {
            let loaded = self.client.deserialize(bytes).ok();
            loaded.filter(|executable| executable.n_devices() == options.n_devices())
        };
        let start = Instant::now();
        match cache.find(key, load) {
            Found::Program(executable) => {
                self.loads.note(start);
                Ok(executable)
            }
            Found::Nothing(gap) => {
                let executable = self.compile(options, text)?;
                gap.fill(&executable);
                Ok(executable)
            }
        }
    }

    fn compile(
        &self,
        options: &CompileOptions,
        text: impl FnOnce() -> Result<String, Diagnostics>,
    ) -> Result<Executable, Diagnostics> {
        let text = text()?;
        let start = Instant::now();
        let executable = self.client.compile(text.as_bytes(), options);
        let executable = executable.map_err(device_error)?;
        self.compiles.note(start);
        Ok(executable)
    }
}

impl fmt::Debug for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Compiler({:?})", self.stats())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::back::stablehlo::text::Tensor as Value;
    use crate::cache::DiskCache;
    use crate::diag::Code;
    use crate::ir::DType;
    use crate::run::graph::Ty;
    use crate::run::graph::emit::Emit;
    use crate::run::op::{Op, OpError, Types};
    use std::panic::Location;

    /// Gives what it is given, or an error.
    #[derive(Debug, Hash)]
    struct Pass {
        is_bound: bool,
        fails: bool,
    }

    impl Op for Pass {
        fn name(&self) -> &'static str {
            "pass"
        }

        fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
            Ok(inputs.iter().map(|&ty| ty.clone()).collect())
        }

        fn emit(&self, _cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
            let error = || OpError::argument("it fails").into();
            if self.fails { Err(Diagnostics(vec![error()])) } else { Ok(inputs.to_vec()) }
        }

        fn is_bound_to_process(&self) -> bool {
            self.is_bound
        }
    }

    fn graph(op: Pass) -> Graph {
        let mut graph = Graph::default();
        let ty = Ty::new(DType::F32, &[2]);
        let x = graph.arg(ty.clone());
        let y = graph.call(Arc::new(op), &[x], [ty], Location::caller());
        graph.set_outputs([y]);
        graph
    }

    fn compiler(cache: &ProgramCache) -> Compiler {
        let client = pjrt::Plugin::cpu().and_then(|plugin| plugin.client()).unwrap();
        let compiler = Compiler::new(client).unwrap();
        compiler.set_cache(cache.clone());
        compiler
    }

    #[test]
    fn a_program_of_this_process_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let cache = ProgramCache::on_disk(DiskCache::open(dir.path(), 1 << 20));
        for (is_bound, n_kept) in [(true, 0), (false, 1)] {
            let compiler = compiler(&cache);
            for _again in 0..2 {
                compiler.program(&graph(Pass { is_bound, fails: false }), &[], 0).unwrap();
            }
            let stats = compiler.stats();
            assert_eq!((stats.compiles, stats.hits, stats.n_programs), (1, 1, 1));
            assert_eq!(cache.disk().unwrap().stats().unwrap().n_entries, n_kept);
        }
    }

    #[test]
    fn an_error_is_told_every_time_and_keeps_nobody_waiting() {
        let dir = tempfile::tempdir().unwrap();
        let cache = ProgramCache::on_disk(DiskCache::open(dir.path(), 1 << 20));
        for _again in 0..2 {
            let compiler = compiler(&cache);
            let failing = graph(Pass { is_bound: false, fails: true });
            let error = compiler.program(&failing, &[], 0).unwrap_err();
            assert_eq!(error.0[0].code, Code::TENSOR_ARGUMENT);
            assert_eq!(compiler.stats().n_programs, 0);
        }
        assert_eq!(cache.disk().unwrap().counters().waits, 0);
    }
}
