//! The entries of a batch, row by sample, in the order of their rows.

use super::{Bags, Combiner, radix};
use std::ops::Range;
use systole::diag::Diagnostics;

/// A row that a sample has in its bag, and its factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Entry {
    /// The row, or what the caller made of it.
    pub(crate) key: u32,
    /// The sample, counted from the first bag.
    pub(crate) sample: u32,
    /// The factor.
    pub(crate) gain: f32,
}

/// The factors of a batch, without an array of them where all are equal.
pub(crate) enum Gains {
    All(f32),
    Each(Vec<f32>),
}

impl Gains {
    pub(crate) fn of(bags: &Bags, combiner: Combiner) -> Result<Gains, Diagnostics> {
        match (bags.weights(), bags.fixed_hot()) {
            (None, _) if combiner == Combiner::Sum => Ok(Gains::All(1.0)),
            (None, Some(hot)) => Ok(Gains::All(combiner.gain(hot))),
            (None, None) | (Some(_), _) => bags.gains(combiner).map(Gains::Each),
        }
    }
}

/// Entries sorted by key and then sample.
pub(crate) struct Entries<'a> {
    /// Keys, with samples or positions as payloads.
    items: Vec<u64>,
    gains: &'a Gains,
    /// Where the positions begin among all of the batch.
    start: u32,
    /// The sample of each position, if payloads are positions.
    samples: Vec<u32>,
}

impl<'a> Entries<'a> {
    /// The entries of some bags, `key` being made from each id; every key is below `n_keys`.
    pub(crate) fn sorted(
        bags: &Bags,
        range: Range<usize>,
        gains: &'a Gains,
        key: impl Fn(u32) -> u32,
        n_keys: u64,
    ) -> Entries<'a> {
        let offsets = &bags.offsets()[range.start..=range.end];
        let (start, end) = (offsets[0], offsets[range.len()]);
        let mut items = Vec::with_capacity((end - start) as usize);
        let mut samples = Vec::new();
        for (sample, pair) in (0..).zip(offsets.windows(2)) {
            let ids = &bags.ids()[pair[0] as usize..pair[1] as usize];
            // Sorting moves a payload of 32 bits: the sample if all gains are equal, otherwise the
            // position, by which both are found.
            match gains {
                Gains::All(_) => {
                    items.extend(ids.iter().map(|&id| radix::item(key(id as u32), sample)));
                }
                Gains::Each(_) => {
                    let first = pair[0] - start;
                    let positions = (first..).zip(ids);
                    items.extend(positions.map(|(at, &id)| radix::item(key(id as u32), at)));
                    samples.resize(items.len(), sample);
                }
            }
        }
        // Samples rise in `items`, so a stable sort by key leaves them rising within each key.
        Entries { items: radix::sort(items, n_keys), gains, start, samples }
    }

    /// Number of entries, repeated ones included.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// All entries; those of one key and sample stand together.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Entry> {
        self.items.iter().map(|&item| self.entry(item))
    }

    fn entry(&self, item: u64) -> Entry {
        let (key, payload) = (radix::key(item), radix::payload(item));
        match self.gains {
            Gains::All(gain) => Entry { key, sample: payload, gain: *gain },
            Gains::Each(gains) => Entry {
                key,
                sample: self.samples[payload as usize],
                gain: gains[(self.start + payload) as usize],
            },
        }
    }
}
