//! Batches of many sizes through one function with bounded dims.

use crate::SENTENCES;
use crate::model::{Batch, MiniLm, Parts};
use std::error::Error;
use systole::run::{Device, Dim, Numerics, Tensor, jit};

/// Tokens per sentence that programs are made for.
const BUCKETS: [usize; 3] = [16, 32, 64];
/// Sentences in a batch, at most.
const MAX_BATCH: usize = 4;
/// Tokens of the longest sentence of each batch.
const LENGTHS: [usize; 24] =
    [1, 3, 5, 7, 8, 9, 11, 13, 15, 16, 17, 19, 22, 25, 28, 31, 32, 33, 38, 43, 49, 54, 61, 64];
/// What XLA's order of additions for other shapes may change of an embedding of length 1.
const TOLERANCE: f32 = 1e-6;

/// Embeds a batch per length, of one to four sentences that are cut to it, with bounded dims and
/// with exact shapes.
pub(crate) fn run(
    model: &MiniLm,
    parts: Parts,
    in_order: bool,
    json: bool,
) -> Result<(), Box<dyn Error>> {
    let device = Device::current();
    let compiler = device.compiler()?;
    compiler.set_numerics(if in_order { Numerics::InOrder } else { Numerics::Device });
    let embed =
        |ids: Tensor<i32>, lengths: Tensor<i32>| model.embed(&Batch { ids, lengths }, parts);
    let bounded = jit(embed)
        .bounded(Dim::buckets(BUCKETS).named("tokens"), &[(0, 1)])
        .bounded(Dim::bounded(MAX_BATCH).named("sentences"), &[(0, 0), (1, 0)]);
    let exact = jit(embed);
    let n_made = || {
        let stats = compiler.stats();
        stats.compiles + stats.loads
    };
    let mut sentences: Vec<&str> = SENTENCES.lines().collect();
    sentences.sort_by_key(|sentence| std::cmp::Reverse(sentence.len()));
    // Long enough to be cut in every batch; the others are padded in most.
    let longest = [sentences[0]; 2].join(" ");
    let (mut n_bounded, mut n_exact, mut largest) = (0, 0, 0.0_f32);
    for (idx, &n_tokens) in LENGTHS.iter().enumerate() {
        let mut text = vec![longest.as_str()];
        text.extend(&sentences[1..idx % MAX_BATCH + 1]);
        let Batch { ids, lengths } = model.batch(&text, n_tokens)?;
        let before = n_made();
        let found = bounded.call((ids.clone(), lengths.clone()))?.to_vec()?;
        bounded.wait_ahead();
        let between = n_made();
        let expected = exact.call((ids, lengths))?.to_vec()?;
        n_bounded += between - before;
        n_exact += n_made() - between;
        let differences = found.iter().zip(&expected).map(|(a, b)| (a - b).abs());
        largest = differences.fold(largest, f32::max);
    }
    compiler.set_numerics(Numerics::Device);
    if json {
        println!(
            "{{\"lengths\": {}, \"buckets\": {}, \"programs\": {n_bounded}, \
             \"exact_programs\": {n_exact}, \"max_difference\": {largest:e}}}",
            LENGTHS.len(),
            BUCKETS.len()
        );
    } else {
        println!(
            "{} lengths in {} buckets: {n_bounded} programs, {n_exact} for exact shapes; \
             largest difference of an element {largest:.1e}",
            LENGTHS.len(),
            BUCKETS.len()
        );
    }
    let limit = if in_order { 0.0 } else { TOLERANCE };
    if n_bounded != BUCKETS.len() as u64 || largest > limit || largest.is_nan() {
        return Err(format!("{n_bounded} programs, and a difference of {largest:e}").into());
    }
    Ok(())
}
