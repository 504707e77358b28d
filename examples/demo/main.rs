//! Real sentences through a real model's first layer, by kernels written in Rust.
//!
//! all-MiniLM-L6-v2's weights and tokenizer: token embeddings, then layer 0's Q, K and V by
//! `matmul`, 12 heads of attention by `flash_attention`, `layer_norm` after it. Three engines do the
//! same: the interpreter with every hazard checked, XLA on the CPU, and plain loops in `f64`.
//!
//! `cargo run --release -p systole-examples --example demo`
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

mod engine;
mod minilm;

use engine::Engine;
use minilm::{Layer, MiniLm};
use std::error::Error;
use std::time::Instant;
use systole::ir::Array;

const SENTENCES: [&str; 4] = [
    "The heart fills with blood in diastole and ejects it in systole.",
    "A systolic array pumps data through a grid of multipliers, as the heart pumps blood.",
    "Kernels for tensor processing units are scarce, and so are the machines to try them on.",
    "Attention weighs every token of a sentence against every other one. The scores are \
     exponentiated, normalised and used to average the values; on an accelerator the trick is to \
     keep the scores in fast memory, block by block, and never to write them out. What the \
     matrix unit then waits for is not the memory but the exponentials, and a good kernel \
     overlaps the one with the other.",
];

fn main() -> Result<(), Box<dyn Error>> {
    let model = MiniLm::load()?;
    let engines = [Engine::interpreter(), Engine::xla_cpu()?];
    println!("all-MiniLM-L6-v2, layer 0; largest difference from plain loops in f64\n");
    println!(
        "{:>7}  {:<12} {:>10} {:>10} {:>10} {:>10} {:>9}",
        "tokens", "engine", "Q", "attention", "layer norm", "cosine", "ms"
    );
    for sentence in SENTENCES {
        let embeddings = model.embed(sentence)?;
        let expected = model.attention_block(&Engine::Reference, &embeddings)?;
        for engine in &engines {
            let start = Instant::now();
            let found = model.attention_block(engine, &embeddings)?;
            let elapsed_ms = start.elapsed().as_secs_f64() * 1e3;
            let [q, attention, output] = differences(&expected, &found);
            let cosine = cosine(&expected.output, &found.output);
            if output > 1e-4 {
                return Err(format!("{}: the layer is off by {output:.1e}", engine.name()).into());
            }
            println!(
                "{:>7}  {:<12} {q:>10.1e} {attention:>10.1e} {output:>10.1e} {cosine:>10.7} {elapsed_ms:>9.1}",
                embeddings.shape()[0],
                engine.name()
            );
        }
    }
    Ok(())
}

fn differences(expected: &Layer, found: &Layer) -> [f64; 3] {
    let pairs = [
        (&expected.q, &found.q),
        (&expected.attention, &found.attention),
        (&expected.output, &found.output),
    ];
    pairs.map(|(x, y)| {
        let elements = x.to_f64().into_iter().zip(y.to_f64());
        // `max` would drop a NaN; a NaN must show.
        elements
            .map(|(x, y)| (x - y).abs())
            .fold(0.0, |worst, d| if d > worst || d.is_nan() { d } else { worst })
    })
}

fn cosine(x: &Array, y: &Array) -> f64 {
    let (x, y) = (x.to_f64(), y.to_f64());
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    dot(&x, &y) / (dot(&x, &x) * dot(&y, &y)).sqrt()
}
