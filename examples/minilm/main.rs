//! all-MiniLM-L6-v2 whole: sentences in, embeddings out, with our kernels inside, in every mode of
//! the runtime.
//!
//! `cargo run --release -p systole-examples --example minilm -- [--json] [--standard] [--target v5e]`
//!
//! `--standard` leaves everything to XLA, for comparison. `--lengths` runs batches of many sizes
//! through one function with bounded dims, and compares with exact shapes; `--in-order` besides
//! lets nothing depend on shapes, so that the results must be equal to the bit (slow).
//! `--numerics tpu` computes products in bf16 passes as a TPU does, as many as `--precision
//! medium|high|highest` says, to see what the model loses to the matrix unit. minilm_jax.py is the
//! model in JAX.
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

mod kernels;
mod lengths;
mod model;

use model::{Batch, MiniLm, Parts};
use std::error::Error;
use std::time::Instant;
use systole::prelude::Precision;
use systole::run::{Device, Mode, Numerics, Tensor, Tree, jit, set_precision, with_mode};

const SENTENCES: &str = include_str!("sentences.txt");
/// What another implementation gives for the sentences; see minilm_jax.py.
const FIXTURE: &[u8] = include_bytes!("fixture.safetensors");
const N_TOKENS: usize = 128;
/// Sentences in the batch whose time is taken.
const N_TIMED: usize = 32;

/// What one mode did.
struct Row {
    mode: &'static str,
    max_cosine_error: f64,
    sentences_per_s: f64,
    compiles: u64,
    cache_hits: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    #[cfg(feature = "mlir")]
    systole::aot::init(); // This program is also the worker that loads libtpu.
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    let json = has("--json");
    let value = |flag: &str| {
        args.iter().position(|arg| arg == flag).and_then(|at| args.get(at + 1)).map(String::as_str)
    };
    let parts = if has("--standard") { Parts::Standard } else { Parts::Kernels };
    let model = MiniLm::load()?;
    match value("--precision") {
        None => {}
        Some("medium") => set_precision(Precision::Medium),
        Some("high") => set_precision(Precision::High),
        Some("highest") => set_precision(Precision::Highest),
        Some(other) => return Err(format!("{other} is none of medium, high, highest").into()),
    }
    if let Some(target) = value("--target") {
        return on_target(&model, target, json);
    }
    if let Some(name) = value("--numerics") {
        let numerics = Numerics::parse(name);
        let numerics =
            numerics.ok_or_else(|| format!("{name} is none of device, tpu, in-order"))?;
        Device::current().compiler()?.set_numerics(numerics);
    }
    if has("--lengths") {
        return lengths::run(&model, parts, has("--in-order"), json);
    }
    let modes = [
        ("strict", Some(Mode::Strict)),
        ("debug", Some(Mode::Debug)),
        ("defer", Some(Mode::DeferAndFuse)),
        ("jit", None),
    ];
    let mut rows = Vec::new();
    for (name, mode) in modes {
        rows.push(run(&model, parts, name, mode)?);
    }
    if json {
        let items: Vec<String> = rows.iter().map(Row::json).collect();
        println!("[{}]", items.join(", "));
        return Ok(());
    }
    println!("mode    max cosine error  sentences/s  compiles  cache hits");
    for row in &rows {
        println!(
            "{:<7} {:>16.1e} {:>12.1} {:>9} {:>11}",
            row.mode, row.max_cosine_error, row.sentences_per_s, row.compiles, row.cache_hits
        );
    }
    Ok(())
}

impl Row {
    fn json(&self) -> String {
        format!(
            "{{\"mode\": \"{}\", \"max_cosine_error\": {:e}, \"sentences_per_s\": {:.2}, \
             \"compiles\": {}, \"cache_hits\": {}}}",
            self.mode, self.max_cosine_error, self.sentences_per_s, self.compiles, self.cache_hits
        )
    }
}

impl Tree for Batch {
    fn map_leaves(
        &self,
        f: &mut dyn FnMut(&systole::run::DynTensor) -> systole::run::DynTensor,
    ) -> Batch {
        Batch { ids: self.ids.map_leaves(f), lengths: self.lengths.map_leaves(f) }
    }
}

/// Embeds the sentences in one mode (compiled whole, if in none), and takes the time of a batch.
fn run(
    model: &MiniLm,
    parts: Parts,
    name: &'static str,
    mode: Option<Mode>,
) -> Result<Row, Box<dyn Error>> {
    let device = Device::current();
    let before = device.compiler()?.stats();
    let compiled = jit(|batch: Batch| model.embed(&batch, parts));
    let embed = |batch: &Batch| -> Result<Tensor<f32>, Box<dyn Error>> {
        Ok(match mode {
            Some(mode) => with_mode(mode, || model.embed(batch, parts))?,
            None => compiled.call((batch.clone(),))?,
        })
    };
    let sentences: Vec<&str> = SENTENCES.lines().collect();
    let embeddings = embed(&model.batch(&sentences, N_TOKENS)?)?.to_vec()?;
    let max_cosine_error = cosine_error(&embeddings)?;

    let many: Vec<&str> = sentences.iter().copied().cycle().take(N_TIMED).collect();
    let batch = model.batch(&many, N_TOKENS)?;
    embed(&batch)?.wait()?;
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        embed(&batch)?.wait()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    let after = device.compiler()?.stats();
    Ok(Row {
        mode: name,
        max_cosine_error,
        sentences_per_s: N_TIMED as f64 / best,
        compiles: after.compiles - before.compiles,
        cache_hits: after.hits - before.hits,
    })
}

/// The largest difference from 1 of the cosine with the fixture's embeddings.
fn cosine_error(embeddings: &[f32]) -> Result<f64, Box<dyn Error>> {
    let file = safetensors::SafeTensors::deserialize(FIXTURE)?;
    let bytes = file.tensor("embeddings")?.data().to_vec();
    let expected: Vec<f64> = bytes
        .chunks_exact(4)
        .map(|chunk| f64::from(f32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]])))
        .collect();
    let width = expected.len() / SENTENCES.lines().count();
    let mut worst: f64 = 0.0;
    for (x, y) in embeddings.chunks(width).zip(expected.chunks(width)) {
        let x: Vec<f64> = x.iter().map(|&v| f64::from(v)).collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let cosine = dot(&x, y) / (dot(&x, &x) * dot(y, y)).sqrt();
        worst = worst.max((1.0 - cosine).abs());
    }
    Ok(worst)
}

/// The compiler's flag that gives gathers to SparseCores.
#[cfg(feature = "mlir")]
const OFFLOAD: &str = "xla_tpu_offload_gather_to_sparsecore";

#[cfg(feature = "mlir")]
fn on_target(model: &MiniLm, name: &str, json: bool) -> Result<(), Box<dyn Error>> {
    use std::time::Duration;
    use systole::aot;
    use systole::target::Target;
    let target = Target::TPUS.iter().copied().find(|target| target.name == name);
    let target = target.ok_or_else(|| format!("{name} is none of v4, v5e, v5p, v6e, tpu7x"))?;
    let many: Vec<&str> = SENTENCES.lines().cycle().take(N_TIMED).collect();
    let batch = model.batch(&many, N_TOKENS)?;
    // A whole model with a profile takes libtpu minutes.
    let time_limit = Duration::from_secs(900);
    let compile = |parts: Parts, operands_in_hbm: bool| -> Result<aot::Report, Box<dyn Error>> {
        // libtpu has no model of what it gives to SparseCores: the gather of embeddings stays.
        let flags = match target.sparse() {
            Some(_) => vec![(OFFLOAD.to_owned(), "false".to_owned())],
            None => Vec::new(),
        };
        let lowered = jit(|batch: Batch| model.embed(&batch, parts)).lower(&(batch.clone(),))?;
        let options =
            aot::Options { time_limit, operands_in_hbm, flags, ..aot::Options::default() };
        Ok(lowered.compile_with("minilm", target, options)?)
    };
    // Minutes each: what is known is shown at once.
    let told = |what: &str, parts: Parts, in_hbm: bool| -> Result<aot::Report, Box<dyn Error>> {
        let place = if in_hbm { "operands in HBM" } else { "operands where XLA likes them" };
        eprintln!("{what}, {place}: compiling for {name} ..");
        let report = compile(parts, in_hbm)?;
        if !json {
            println!("{what}, {place}\n{report}");
        } else if let Some(note) = &report.cycles_note {
            eprintln!("{what}: {note}");
        }
        Ok(report)
    };
    let both = |in_hbm: bool| -> Result<_, Box<dyn Error>> {
        let kernels = told("with kernels", Parts::Kernels, in_hbm)?;
        Ok((kernels, told("XLA alone", Parts::Standard, in_hbm)?))
    };
    // As XLA would have it; and if libtpu's profiler ends at either, both with operands in HBM: what
    // has more estimates is shown.
    let n_known = |pair: &(aot::Report, aot::Report)| {
        usize::from(pair.0.cycles.is_some()) + usize::from(pair.1.cycles.is_some())
    };
    let mut best = both(false)?;
    if n_known(&best) < 2 {
        let in_hbm = both(true)?;
        if n_known(&in_hbm) > n_known(&best) {
            best = in_hbm;
        }
    }
    let (kernels, xla) = best;
    show(name, json, &kernels, &xla);
    Ok(())
}

/// The last lines: what the whole model takes, with kernels and without.
#[cfg(feature = "mlir")]
fn show(name: &str, json: bool, kernels: &systole::aot::Report, xla: &systole::aot::Report) {
    let number = |n: Option<u64>| n.map_or("null".to_owned(), |n| n.to_string());
    // Where the profiler knows nothing of some programs, the others are a lower bound.
    let known = |report: &systole::aot::Report| -> u64 {
        report.programs.iter().map(|program| program.cycles * program.runs).sum()
    };
    if json {
        println!(
            "{{\"target\": \"{name}\", \"kernels_cycles\": {}, \"xla_cycles\": {}, \
             \"xla_cycles_at_least\": {}, \"hbm_bytes\": {}, \"xla_hbm_bytes\": {}}}",
            number(kernels.cycles),
            number(xla.cycles),
            known(xla),
            number(kernels.hbm_bytes),
            number(xla.hbm_bytes),
        );
    } else {
        println!("minilm, {N_TIMED} x {N_TOKENS} tokens, compiled for {name}");
        for (what, report) in [("with kernels:", kernels), ("XLA alone:", xla)] {
            match report.cycles {
                Some(cycles) => println!("  {what:19} {cycles:>13} cycles"),
                None => println!("  {what:16} at least {:>7} cycles", known(report)),
            }
        }
        println!("  HBM, with kernels:  {:>13} bytes", number(kernels.hbm_bytes));
        println!("  HBM, XLA alone:     {:>13} bytes", number(xla.hbm_bytes));
    }
}

#[cfg(not(feature = "mlir"))]
fn on_target(_model: &MiniLm, name: &str, _json: bool) -> Result<(), Box<dyn Error>> {
    Err(format!("compiling for {name} needs the feature `mlir`").into())
}
