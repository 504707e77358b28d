//! Partitioned batches equal those of the library that feeds XLA's own SparseCore ops.
//!
//! `golden/partition.json` is what `peer.py` got from jax-tpu-embedding 0.1.0.

use super::Lists;
use serde_json::Value;
use systole_kernels::embedding::{Combiner, Limits, OutOfRange, OverLimit, Placement, RawBags};

fn ints(value: &Value) -> Vec<i32> {
    value.as_array().unwrap().iter().map(|n| n.as_i64().unwrap() as i32).collect()
}

fn count(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

fn lists(case: &Value) -> Lists {
    let bags = case["bags"].as_array().unwrap().iter().enumerate();
    let list = |(bag, ids): (usize, &Value)| {
        let weight = |at: usize| case["weights"][bag][at].as_f64().unwrap_or(1.0) as f32;
        let ids = ids.as_array().unwrap().iter().enumerate();
        ids.map(|(at, id)| (id.as_i64().unwrap(), weight(at))).collect()
    };
    Lists { rows: count(&case["rows"]), lists: bags.map(list).collect() }
}

#[test]
fn partitions_equal_those_of_jax_tpu_embedding() {
    let cases: Value = serde_json::from_str(include_str!("../golden/partition.json")).unwrap();
    let cases = cases.as_array().unwrap();
    assert_eq!(cases.len(), 7);
    for (idx, case) in cases.iter().enumerate() {
        let lists = lists(case);
        let (ids, offsets, weights) = (lists.ids(), lists.offsets(), lists.weights());
        let raw = RawBags::ragged(&ids, &offsets);
        let raw = if case["weights"].is_null() { raw } else { raw.weights(&weights) };
        let bags = raw.check(lists.rows, OutOfRange::Error).unwrap();
        let combiner = case["combiner"].as_str().unwrap();
        let combiner = Combiner::ALL.iter().find(|each| each.name() == combiner).unwrap();
        let most = |name: &str| case[name].as_u64().map_or(usize::MAX, |n| n as usize);
        let placement = Placement {
            limits: Some(Limits {
                ids: most("max_ids"),
                unique_ids: most("max_unique"),
                capacity: count(&case["capacity"]),
            }),
            over_limit: OverLimit::Drop,
            ..Placement::new(count(&case["n_shards"]), count(&case["n_cores"]))
        };
        let packed = bags.partition(*combiner, &placement).unwrap();
        assert_eq!(packed.ends, ints(&case["ends"]), "case {idx}");
        for core in 0..count(&case["n_cores"]) {
            let own = core * packed.capacity..;
            let at = format!("case {idx}, core {core}");
            let (ids, samples) = (ints(&case["ids"][core]), ints(&case["samples"][core]));
            assert_eq!(packed.ids[own.clone()][..ids.len()], ids, "{at}");
            assert_eq!(packed.samples[own.clone()][..ids.len()], samples, "{at}");
            let gains = case["gains"][core].as_array().unwrap();
            for (gain, peer) in packed.gains[own].iter().zip(gains) {
                match peer.as_f64() {
                    None => assert!(gain.is_nan(), "{at}: {gain}"),
                    // The library computes gains in f32 throughout.
                    Some(peer) => {
                        let error = (f64::from(*gain) - peer).abs();
                        assert!(error <= 3e-7 * peer.abs(), "{at}: {gain} {peer}");
                    }
                }
            }
        }
        let limited = case["max_ids"].is_u64();
        assert_eq!(packed.n_dropped > 0, limited, "case {idx}: {} dropped", packed.n_dropped);
    }
}
