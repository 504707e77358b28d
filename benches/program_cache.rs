//! What each tier of the cache of programs costs: for a program of one op, and, in processes that
//! have just begun, for the whole of all-MiniLM-L6-v2.
//!
//! `cargo bench -p systole-benches --bench program_cache [-- one|minilm]`

#[path = "../examples/minilm/kernels.rs"]
mod kernels;
#[path = "../examples/minilm/model.rs"]
mod model;

use criterion::{BatchSize, Criterion};
use model::{Batch, MiniLm, Parts};
use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use systole::cache::{DiskCache, RemoteCache, RemoteOptions};
use systole::pjrt::{Client, Plugin};
use systole::run::{Device, DynTensor, ProgramCache, Tensor, Tree, jit, with_device};

/// Set in the processes that load the model: the folders of the second and the third tier.
const DISK: &str = "PROGRAM_CACHE_BENCH_DISK";
const SHARED: &str = "PROGRAM_CACHE_BENCH_SHARED";
/// Set in those that leave everything to XLA, without kernels.
const STANDARD: &str = "PROGRAM_CACHE_BENCH_STANDARD";
const AMPLE: u64 = 1 << 32;
const N_SENTENCES: usize = 8;
const N_TOKENS: usize = 128;
/// How often the model is loaded; the best counts.
const N_LOADS: usize = 3;

fn main() -> Result<(), Box<dyn Error>> {
    if let (Some(disk), Some(shared)) = (std::env::var_os(DISK), std::env::var_os(SHARED)) {
        return be_a_process(disk.as_ref(), shared.as_ref());
    }
    let mut c = Criterion::default().configure_from_args();
    let dir = tempfile::tempdir()?;
    one_op(&mut c, dir.path())?;
    c.final_summary();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let filter = args.iter().find(|arg| !arg.starts_with('-'));
    // Otherwise this is `cargo test`, to see that it works.
    let is_bench = args.iter().any(|arg| arg == "--bench");
    if is_bench && filter.is_none_or(|filter| "minilm".contains(filter.as_str())) {
        whole_model(Parts::Kernels)?;
        whole_model(Parts::Standard)?;
    }
    Ok(())
}

fn on_disk(dir: &Path) -> ProgramCache {
    ProgramCache::on_disk(DiskCache::open(dir, AMPLE))
}

fn shared(dir: &Path) -> RemoteCache {
    RemoteCache::open(&dir.to_string_lossy(), RemoteOptions::default())
}

/// A program of one op, until its result is there.
fn one_op(c: &mut Criterion, dir: &Path) -> Result<(), Box<dyn Error>> {
    let client = Plugin::cpu()?.client_with(&[("cpu_device_count", 1.into())])?;
    let remote = shared(&dir.join("shared"));
    let tiers = [
        ("compiled", ProgramCache::off()),
        ("from disk", on_disk(&dir.join("disk"))),
        ("from a shared folder", ProgramCache::off().shared(remote.clone())),
    ];
    let first_sum = |device: &Device| {
        with_device(device, || {
            let x = Tensor::<f32>::full([4], 1.0);
            black_box((&x + &x).to_vec())
        })
    };
    for (name, cache) in &tiers {
        first_sum(&fresh(&client, cache)?)?;
        remote.flush();
        c.bench_function(&format!("one op: {name}"), |b| {
            // A compiler that knows nothing, as in another process.
            let device = || fresh(&client, cache).unwrap_or_else(|error| fail(&*error));
            b.iter_batched(device, |device| first_sum(&device), BatchSize::PerIteration);
        });
    }
    let device = fresh(&client, &ProgramCache::off())?;
    c.bench_function("one op: in this process", |b| b.iter(|| first_sum(&device)));
    Ok(())
}

fn fresh(client: &Client, cache: &ProgramCache) -> Result<Device, Box<dyn Error>> {
    let device = Device::all_of(client)?.remove(0);
    device.compiler()?.set_cache(cache.clone());
    Ok(device)
}

fn fail(error: &dyn std::fmt::Display) -> ! {
    eprintln!("{error}");
    std::process::exit(1)
}

/// What a process says of itself, in seconds.
#[derive(Clone, Copy)]
struct Told {
    /// From the call of the function to its first result, less the time of the next call.
    ready: f64,
    compile: f64,
    load: f64,
}

/// Compiles the model in one process, and loads it in others from each tier.
fn whole_model(parts: Parts) -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let (disk, shared) = (dir.path().join("disk"), dir.path().join("shared"));
    let best = |wipe: Option<&Path>, n: usize| -> Result<Told, Box<dyn Error>> {
        let mut best: Option<Told> = None;
        for _ in 0..n {
            if let Some(dir) = wipe {
                std::fs::remove_dir_all(dir)?;
            }
            let told = ask(parts, &disk, &shared)?;
            best = best.filter(|best| best.ready <= told.ready).or(Some(told));
        }
        best.ok_or_else(|| "no process was started".into())
    };
    let cold = best(None, 1)?;
    let warm = best(None, N_LOADS)?;
    let other = best(Some(&disk), N_LOADS)?;
    eprintln!("all-MiniLM-L6-v2 ({parts:?}), {N_SENTENCES} x {N_TOKENS} tokens, in a new process");
    eprintln!("                         ready s  compile s  load s  of cold");
    let rows = [("compiled", cold), ("from disk", warm), ("disk wiped, shared folder", other)];
    for (name, told) in rows {
        eprintln!(
            "{name:<25} {:>6.3} {:>10.3} {:>7.3} {:>7.1}%",
            told.ready,
            told.compile,
            told.load,
            100.0 * told.ready / cold.ready
        );
    }
    if cold.compile == 0.0 || warm.compile + other.compile > 0.0 {
        return Err("the model was to be compiled by the first process and by no other".into());
    }
    Ok(())
}

fn ask(parts: Parts, disk: &Path, shared: &Path) -> Result<Told, Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.env(DISK, disk).env(SHARED, shared).stderr(Stdio::inherit());
    if parts == Parts::Standard {
        command.env(STANDARD, "1");
    }
    let output = command.output()?;
    let text = String::from_utf8(output.stdout)?;
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match numbers[..] {
        [ready, compile, load] if output.status.success() => Ok(Told { ready, compile, load }),
        _ => Err(format!("a process ended with {}", output.status).into()),
    }
}

impl Tree for Batch {
    fn map_leaves(&self, f: &mut dyn FnMut(&DynTensor) -> DynTensor) -> Batch {
        Batch { ids: self.ids.map_leaves(f), lengths: self.lengths.map_leaves(f) }
    }
}

#[expect(clippy::print_stdout, reason = "the parent reads it")]
fn be_a_process(disk: &Path, shared_dir: &Path) -> Result<(), Box<dyn Error>> {
    let remote = shared(shared_dir);
    let parts = if std::env::var_os(STANDARD).is_some() { Parts::Standard } else { Parts::Kernels };
    let device = Device::cpu();
    device.compiler()?.set_cache(on_disk(disk).shared(remote.clone()));
    with_device(&device, || {
        let model = MiniLm::load()?;
        let sentences = ["The fast compiler starts where the slow one ends."; N_SENTENCES];
        let batch = model.batch(&sentences, N_TOKENS)?;
        let embed = jit(|batch: Batch| model.embed(&batch, parts));
        let mut seconds = [0.0; 2];
        for seconds in &mut seconds {
            let start = Instant::now();
            black_box(embed.call((batch.clone(),))?.to_vec()?);
            *seconds = start.elapsed().as_secs_f64();
        }
        let stats = device.compiler()?.stats();
        let of_ns = |ns: u64| ns as f64 * 1e-9;
        let ready = seconds[0] - seconds[1];
        println!("{ready} {} {}", of_ns(stats.compile_ns), of_ns(stats.load_ns));
        if !remote.flush() {
            return Err("the shared folder took too long".into());
        }
        Ok(())
    })
}
