//! Partitioned batches, against a map from (core, shard, id, sample) to gains.

use super::{Lists, assert_refused, combiner, lists, rounding, valid_lists};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use systole::ir::{Array, DType};
use systole::run::Sampler;
use systole_kernels::embedding::{
    Bags, Combiner, Limits, OverLimit, PAD, Partitioned, Placement, Sharding, reference,
};

/// Gains by core, shard, row of the shard, sample of the core.
type Entries = BTreeMap<(usize, usize, i32, i32), f32>;

fn expected(bags: &Bags, combiner: Combiner, placement: &Placement) -> Entries {
    let gains = bags.gains(combiner).unwrap();
    let per_core = bags.n_bags() / placement.n_cores;
    let mut entries = Entries::new();
    for bag in 0..bags.n_bags() {
        for at in bags.range(bag) {
            let id = bags.ids()[at] as usize;
            let local = (id / placement.n_shards) as i32;
            let key = (bag / per_core, id % placement.n_shards, local, (bag % per_core) as i32);
            entries.entry(key).and_modify(|sum| *sum += gains[at]).or_insert(gains[at]);
        }
    }
    entries
}

/// What the buffers say, with their rules checked on the way.
fn found(packed: &Partitioned, placement: &Placement) -> Entries {
    let Partitioned { n_pointers, capacity, .. } = *packed;
    assert_eq!(n_pointers, placement.n_shards.max(8));
    assert_eq!(packed.ends.len(), placement.n_cores * n_pointers);
    let mut entries = Entries::new();
    for core in 0..placement.n_cores {
        let ends = &packed.ends[core * n_pointers..][..n_pointers];
        let buffer = core * capacity..(core + 1) * capacity;
        let (ids, samples) = (&packed.ids[buffer.clone()], &packed.samples[buffer.clone()]);
        let gains = &packed.gains[buffer];
        let mut begin = 0;
        for (shard, &end) in ends.iter().enumerate() {
            let end = end as usize;
            if shard >= placement.n_shards {
                assert_eq!(end, begin, "a pointer without a shard");
                continue;
            }
            let pairs: Vec<_> = (begin..end).map(|at| (ids[at], samples[at])).collect();
            assert!(pairs.is_sorted_by(|a, b| a < b), "core {core} shard {shard}: {pairs:?}");
            for at in begin..end {
                entries.insert((core, shard, ids[at], samples[at]), gains[at]);
            }
            begin = end.next_multiple_of(8);
            let pads = end..if shard + 1 < placement.n_shards { begin } else { capacity };
            for at in pads {
                assert!((ids[at], samples[at]) == (PAD, PAD) && gains[at].is_nan());
            }
        }
    }
    entries
}

/// As many bags as the cores share evenly.
fn even(lists: &Lists, n_cores: usize) -> Lists {
    let n = lists.lists.len() / n_cores * n_cores;
    Lists { lists: lists.lists[..n].to_vec(), ..lists.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn partitions_hold_every_id_once(
        lists in valid_lists(), combiner in combiner(), n_shards in 1..11_usize,
        n_cores in 1..5_usize, weighted in any::<bool>(),
    ) {
        let lists = even(&lists, n_cores);
        let bags = if weighted { lists.weighted() } else { lists.unweighted() };
        let placement = Placement::new(n_shards, n_cores);
        let packed = bags.partition(combiner, &placement).unwrap();
        prop_assert_eq!(found(&packed, &placement), expected(&bags, combiner, &placement));
        prop_assert_eq!(packed.n_dropped, 0);
        prop_assert_eq!(packed.capacity, packed.needed.capacity.max(8));
        // The needed limits are enough, and the batch the same with them.
        let limits = Some(packed.needed);
        let limited = bags.partition(combiner, &Placement { limits, ..placement }).unwrap();
        // Not `==`: padding is NaN.
        prop_assert_eq!((&limited.ids, &limited.ends), (&packed.ids, &packed.ends));
    }

    #[test]
    fn limits_hold_and_what_is_over_is_counted(
        lists in valid_lists(), n_shards in 1..4_usize,
        ids in 0..6_usize, unique_ids in 0..4_usize, capacity in 0..4_usize,
    ) {
        let bags = even(&lists, 2).weighted();
        let limits = Limits { ids, unique_ids, capacity: 8 * capacity };
        let placement = Placement {
            limits: Some(limits), over_limit: OverLimit::Drop, ..Placement::new(n_shards, 2)
        };
        let packed = bags.partition(Combiner::Sum, &placement).unwrap();
        let all = expected(&bags, Combiner::Sum, &placement);
        let kept = found(&packed, &Placement { limits: None, ..placement });
        prop_assert!(kept.iter().all(|(key, gain)| all.get(key) == Some(gain)));
        prop_assert_eq!(kept.len() + packed.n_dropped, all.len());
        for (core, shard) in kept.keys().map(|key| (key.0, key.1)) {
            let of = kept.keys().filter(|key| (key.0, key.1) == (core, shard));
            prop_assert!(of.clone().count() <= ids);
            prop_assert!(of.map(|key| key.2).collect::<BTreeSet<_>>().len() <= unique_ids);
        }
        let strict = Placement { over_limit: OverLimit::Error, ..placement };
        let refused = bags.partition(Combiner::Sum, &strict);
        prop_assert_eq!(refused.is_err(), packed.n_dropped > 0 || {
            // What is only just kept may still be within the buffer by leaving pads out.
            packed.needed.capacity > limits.capacity
        });
    }

    #[test]
    fn sharded_tables_give_the_same_rows(n_shards in 1..9_u32, row in 0..1_000_000_u32) {
        let sharding = Sharding::new(n_shards as usize).unwrap();
        let (shard, local) = sharding.locate(row);
        prop_assert_eq!((shard, local), (row % n_shards, row / n_shards));
        prop_assert_eq!(sharding.row(shard, local), row);
    }

    #[test]
    fn bags_by_shard_sum_to_the_whole(
        lists in lists(0..30_i64, 30), combiner in combiner(), n_shards in 1..5_usize
    ) {
        let bags = lists.weighted();
        let sharding = Sharding::new(n_shards).unwrap();
        let table = Sampler::new(1).small_ints(DType::F32, &[lists.rows, 4]);
        let shards = sharding.cut(&table).unwrap();
        prop_assert_eq!(&sharding.join(&shards, lists.rows).unwrap(), &table);
        let whole = reference::bag(&table, &bags, combiner).unwrap().to_f64();
        let mut sums = vec![0.0; whole.len()];
        for (shard, part) in shards.iter().zip(bags.by_shard(combiner, sharding).unwrap()) {
            prop_assert_eq!(part.rows(), shard.shape()[0]);
            let part = reference::bag(shard, &part, Combiner::Sum).unwrap().to_f64();
            for (sum, part) in sums.iter_mut().zip(part) {
                *sum += part;
            }
        }
        for (sum, whole) in sums.iter().zip(&whole) {
            prop_assert!((sum - whole).abs() <= rounding(&bags), "{sum} {whole}");
        }
    }
}

#[test]
fn partition_by_hand() {
    // Two cores of two samples, three shards. Row 5 is row 1 of shard 2, and sample 0 has it twice.
    let lists = vec![vec![(5, 1.0), (0, 2.0), (5, 0.5)], vec![(3, 1.0)], vec![], vec![(5, 4.0)]];
    let bags = Lists { rows: 6, lists }.weighted();
    let packed = bags.partition(Combiner::Sum, &Placement::new(3, 2)).unwrap();
    assert_eq!((packed.n_pointers, packed.capacity), (8, 16));
    assert_eq!(packed.ends[..8], [2, 8, 9, 16, 16, 16, 16, 16]);
    assert_eq!((packed.ids[0], packed.ids[1], packed.ids[8]), (0, 1, 1));
    assert_eq!((packed.samples[0], packed.samples[1], packed.samples[8]), (0, 1, 0));
    assert_eq!((packed.gains[0], packed.gains[1], packed.gains[8]), (2.0, 1.0, 1.5));
    assert_eq!(packed.ends[8..12], [0, 0, 1, 8]);
    assert_eq!((packed.ids[16], packed.samples[16], packed.gains[16]), (1, 1, 4.0));
    assert_eq!(packed.needed, Limits { ids: 2, unique_ids: 2, capacity: 16 });
}

#[test]
fn refuses_batches_that_do_not_fit() {
    let bags = Lists { rows: 6, lists: vec![vec![(5, 1.0)], vec![(2, 1.0)]] }.unweighted();
    let partition = |placement: Placement| bags.partition(Combiner::Sum, &placement);
    let code = "kernel::argument";
    assert_refused(partition(Placement::new(0, 1)), code, &["0 shards"]);
    assert_refused(partition(Placement::new(1 << 17, 1)), code, &["131072 shards"]);
    assert_refused(partition(Placement::new(1, 0)), code, &["0 cores"]);
    assert_refused(partition(Placement::new(1, 3)), code, &["3 cores", "2 bags"]);
    let limited = |ids, unique_ids, capacity| {
        let limits = Some(Limits { ids, unique_ids, capacity });
        partition(Placement { limits, ..Placement::new(3, 1) })
    };
    assert_refused(limited(2, 2, 12), code, &["12 ids"]);
    let code = "embedding::limit";
    assert_refused(limited(1, 2, 8), code, &["2 ids in a partition", "the limit is 1"]);
    assert_refused(limited(2, 1, 8), code, &["2 distinct ids"]);
    assert_refused(limited(2, 2, 0), code, &["8 ids in a core's buffer"]);
    assert!(limited(2, 2, 8).is_ok());
}

#[test]
fn tables_over_the_limit_are_cut() {
    let sharding = |rows, row_bytes| Sharding::fitting(rows, row_bytes, 16 << 30);
    assert_eq!(sharding(40_000_000, 512).unwrap().n_shards(), 2);
    assert_eq!(sharding(33_554_432, 512).unwrap().n_shards(), 1);
    assert_eq!(sharding(33_554_433, 512).unwrap().n_shards(), 2);
    assert_eq!(sharding(0, 512).unwrap().n_shards(), 1);
    assert_refused(sharding(1, 1 << 40), "kernel::argument", &["a row of 1099511627776 bytes"]);
    let three = Sharding::new(3).unwrap();
    let table = Array::zeros(DType::BF16, &[7, 4]);
    let shards = three.cut(&table).unwrap();
    assert_eq!(shards.iter().map(Array::shape).collect::<Vec<_>>(), [[3, 4]; 3]);
    assert_refused(three.join(&shards, 10), "kernel::argument", &["10 rows make 3 shards of 4"]);
    assert_refused(three.join(&shards[..2], 7), "kernel::argument", &["[[3, 4], [3, 4]]"]);
    assert_refused(three.cut(&Array::zeros(DType::F32, &[7])), "kernel::argument", &["[7]"]);
}
