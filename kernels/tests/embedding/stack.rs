//! Stacked tables.

use super::{Lists, assert_refused, combiner};
use proptest::prelude::*;
use std::collections::BTreeSet;
use systole::ir::{Array, DType};
use systole::run::Sampler;
use systole_kernels::embedding::{Bags, Combiner, Stack, StackLimits, Table, reference};

const NO_LIMITS: StackLimits =
    StackLimits { shard_bytes: u64::MAX, activation_bytes: u64::MAX, samples_per_core: 1 };

fn tables(sizes: &[(usize, usize)]) -> Vec<Table> {
    let table = |(idx, &(rows, width))| Table { name: format!("t{idx}"), rows, width };
    sizes.iter().enumerate().map(table).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_row_has_one_place(
        rows in prop::collection::vec(1..100_usize, 1..6), log_shards in 0..5_u32
    ) {
        let n_shards = 1 << log_shards;
        let sizes: Vec<_> = rows.iter().map(|&rows| (rows, 5)).collect();
        let stacks = Stack::plan(&tables(&sizes), n_shards, &NO_LIMITS).unwrap();
        prop_assert_eq!(stacks.len(), 1);
        let stack = &stacks[0];
        prop_assert_eq!((stack.width, stack.rows % (8 * n_shards)), (8, 0));
        let mut seen = BTreeSet::new();
        for (at, &rows) in rows.iter().enumerate() {
            for id in 0..rows as u32 {
                let row = stack.row(at, id);
                prop_assert!((row as usize) < stack.rows && seen.insert(row));
                prop_assert_eq!(stack.origin(row), Some((at, id)));
            }
        }
        for row in (0..stack.rows as u32).filter(|row| !seen.contains(row)) {
            prop_assert_eq!(stack.origin(row), None);
        }
        // Turning keeps the shards within one row per table of each other.
        let per_shard = |shard| seen.iter().filter(|&&row| row as usize % n_shards == shard).count();
        let counts: Vec<usize> = (0..n_shards).map(per_shard).collect();
        let (least, most) = (counts.iter().min(), counts.iter().max());
        prop_assert!(most.unwrap() - least.unwrap() <= 1, "{:?}", counts);
    }

    #[test]
    fn a_stack_looks_up_what_its_tables_do(
        ids in prop::collection::vec(prop::collection::vec(0..1000_i64, 12), 3),
        combiner in combiner(), n_cores in prop::sample::select(vec![1_usize, 2, 3, 6]),
    ) {
        let rows = [3_usize, 17, 40];
        let all: Vec<Table> = tables(&rows.map(|rows| (rows, 3)));
        let stack = &Stack::plan(&all, 4, &NO_LIMITS).unwrap()[0];
        // Six bags per table, of 0 to 4 ids.
        let bags: Vec<Bags> = ids.iter().zip(rows).map(|(ids, rows)| {
            let list = |range: std::ops::Range<usize>| {
                ids[range].iter().map(|id| (id % rows as i64, 0.25)).collect()
            };
            let lists = [0..4, 4..4, 4..5, 5..8, 8..9, 9..12].map(list).to_vec();
            Lists { rows, lists }.weighted()
        }).collect();
        let mut sampler = Sampler::new(3);
        let arrays = rows.map(|rows| sampler.small_ints(DType::F32, &[rows, 3]));
        let references: Vec<&Array> = arrays.iter().collect();
        let stacked = stack.assemble(&references).unwrap();
        prop_assert_eq!(&stack.take_apart(&stacked).unwrap()[..], &arrays[..]);
        let batches: Vec<_> = bags.iter().map(|bags| (bags, combiner)).collect();
        let one = stack.bags(&batches, n_cores).unwrap();
        let out = reference::bag(&stacked, &one, Combiner::Sum).unwrap().to_f32();
        let per_core = 6 / n_cores;
        for (t, (array, bags)) in arrays.iter().zip(&bags).enumerate() {
            let expected = reference::bag(array, bags, combiner).unwrap().to_f32();
            for sample in 0..6 {
                let bag = (sample / per_core * 3 + t) * per_core + sample % per_core;
                prop_assert_eq!(&out[bag * 8..][..3], &expected[sample * 3..][..3]);
            }
        }
    }
}

#[test]
fn plain_sums_stay_without_weights() {
    let stack = &Stack::plan(&tables(&[(4, 8), (5, 8)]), 2, &NO_LIMITS).unwrap()[0];
    let bags = [4, 5].map(|rows| Lists { rows, lists: vec![vec![(3, 1.0)]] }.unweighted());
    let sum = stack.bags(&[(&bags[0], Combiner::Sum), (&bags[1], Combiner::Sum)], 1).unwrap();
    assert_eq!(sum.weights(), None);
    let mean = stack.bags(&[(&bags[0], Combiner::Mean), (&bags[1], Combiner::Sum)], 1).unwrap();
    assert_eq!(mean.weights(), Some(&[1.0, 1.0][..]));
}

#[test]
fn tables_of_other_widths_and_beyond_limits_go_elsewhere() {
    let all = tables(&[(16, 8), (16, 12), (16, 5), (16, 16), (16, 8)]);
    let places = |stacks: &[Stack]| -> Vec<Vec<usize>> {
        stacks.iter().map(|stack| stack.tables.iter().map(|table| table.table).collect()).collect()
    };
    let plan = |limits: &StackLimits| Stack::plan(&all, 2, limits);
    assert_eq!(places(&plan(&NO_LIMITS).unwrap()), [vec![0, 2, 4], vec![1, 3]]);
    // A shard of two tables of width 8 has 2 x 8 rows of 32 bytes.
    let two = StackLimits { shard_bytes: 512, ..NO_LIMITS };
    assert_eq!(places(&plan(&two).unwrap()), [vec![0, 2], vec![1], vec![3], vec![4]]);
    let activations = StackLimits { activation_bytes: 1024, samples_per_core: 16, ..NO_LIMITS };
    assert_eq!(places(&plan(&activations).unwrap()), [vec![0, 2], vec![1], vec![3], vec![4]]);
    let none = StackLimits { shard_bytes: 511, ..NO_LIMITS };
    assert_refused(plan(&none), "embedding::limit", &["`t1` of 16 rows of 12", "512", "511"]);
}

#[test]
fn refuses_what_does_not_stack() {
    let code = "kernel::argument";
    let sizes = tables(&[(4, 8)]);
    for n_shards in [0, 3, 1 << 17] {
        let refused = Stack::plan(&sizes, n_shards, &NO_LIMITS);
        assert_refused(refused, code, &[&format!("{n_shards} shards")]);
    }
    assert_refused(Stack::plan(&tables(&[(0, 8)]), 2, &NO_LIMITS), code, &["`t0` has 0 rows"]);
    let stack = &Stack::plan(&sizes, 2, &NO_LIMITS).unwrap()[0];
    let wrong = Array::zeros(DType::F32, &[5, 8]);
    assert_refused(stack.assemble(&[&wrong]), code, &["[5, 8]", "[4, 8]"]);
    assert_refused(stack.assemble(&[]), code, &["[4, 8]"]);
    assert_refused(stack.take_apart(&wrong), code, &["f32[16, 8], not f32[5, 8]"]);
    let bags = Lists { rows: 5, lists: vec![vec![]] }.unweighted();
    let refused = stack.bags(&[(&bags, Combiner::Sum)], 1);
    assert_refused(refused, "embedding::bags", &["[(5, 1)]", "[(4, 1)]"]);
    let bags = Lists { rows: 4, lists: vec![vec![]] }.unweighted();
    assert_refused(stack.bags(&[(&bags, Combiner::Sum)], 2), "embedding::bags", &["2 cores"]);
}
