//! Embedding lookups: what the host prepares, and the kernels.

mod bags;
mod lookup;
mod partition;
mod peer;
mod sparse_core;
mod stack;
mod tensor_core;
mod update;

use proptest::prelude::*;
use systole::diag::Diagnostics;
use systole_kernels::embedding::{Bags, Combiner, OutOfRange, RawBags};

/// Bags as lists of (id, weight), for a table of `rows` rows.
#[derive(Clone, Debug)]
struct Lists {
    rows: usize,
    lists: Vec<Vec<(i64, f32)>>,
}

impl Lists {
    fn ids(&self) -> Vec<i64> {
        self.lists.iter().flatten().map(|(id, _)| *id).collect()
    }

    fn weights(&self) -> Vec<f32> {
        self.lists.iter().flatten().map(|(_, weight)| *weight).collect()
    }

    fn offsets(&self) -> Vec<usize> {
        let lengths = self.lists.iter().map(Vec::len);
        std::iter::once(0)
            .chain(lengths.scan(0, |end, n| {
                *end += n;
                Some(*end)
            }))
            .collect()
    }

    fn check(&self, out_of_range: OutOfRange) -> Result<Bags, Diagnostics> {
        let (ids, offsets, weights) = (self.ids(), self.offsets(), self.weights());
        RawBags::ragged(&ids, &offsets).weights(&weights).check(self.rows, out_of_range)
    }

    fn unweighted(&self) -> Bags {
        RawBags::ragged(&self.ids(), &self.offsets()).check(self.rows, OutOfRange::Error).unwrap()
    }

    fn weighted(&self) -> Bags {
        self.check(OutOfRange::Error).unwrap()
    }
}

/// Ragged bags, some empty, many ids twice; weights are eighths, so that sums of some are exact.
fn lists(ids: impl Strategy<Value = i64> + Clone, rows: usize) -> impl Strategy<Value = Lists> {
    let weight = (1..32_u8).prop_map(|eighths| f32::from(eighths) / 8.0);
    let list = prop::collection::vec((ids, weight), 0..9);
    prop::collection::vec(list, 0..24).prop_map(move |lists| Lists { rows, lists })
}

/// Bags whose ids are all rows of their table.
fn valid_lists() -> impl Strategy<Value = Lists> {
    prop_oneof![Just(1_usize), 2..12_usize, Just(5000)]
        .prop_flat_map(|rows| lists(0..rows as i64, rows))
}

fn combiner() -> impl Strategy<Value = Combiner> {
    prop::sample::select(Combiner::ALL)
}

/// How far sums of values up to 128 with the strategies' weights may be apart by rounding to `f32`.
fn rounding(bags: &Bags) -> f64 {
    const LARGEST_TERM: f64 = 4.0 * 128.0;
    f64::from(f32::EPSILON) * LARGEST_TERM * (1 + bags.ids().len()) as f64
}

fn codes(problems: &Diagnostics) -> Vec<&'static str> {
    problems.iter().map(|problem| problem.code.as_str()).collect()
}

/// That a result is an error of this code whose message has all these parts.
#[track_caller]
fn assert_refused<T: std::fmt::Debug>(result: Result<T, Diagnostics>, code: &str, parts: &[&str]) {
    let problems = result.unwrap_err();
    assert_eq!(codes(&problems), [code], "{problems}");
    assert!(problems.0[0].help.is_some(), "{problems}");
    for part in parts {
        assert!(problems.0[0].message.contains(part), "no `{part}` in {problems}");
    }
}
