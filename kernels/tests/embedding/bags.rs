//! Bags: validation, policies, combiners, distinct ids.

use super::{Lists, assert_refused, combiner, lists, valid_lists};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use systole_kernels::embedding::{Bags, Combiner, OutOfRange, RawBags};

const ROWS: usize = 10;

fn bags_of(bags: &Bags) -> Vec<Vec<(i64, f32)>> {
    let weight = |at: usize| bags.weights().map_or(1.0, |weights| weights[at]);
    let bag = |bag| bags.range(bag).map(|at| (i64::from(bags.ids()[at]), weight(at))).collect();
    (0..bags.n_bags()).map(bag).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn checked_bags_are_the_callers(lists in valid_lists()) {
        let bags = lists.weighted();
        prop_assert_eq!(bags_of(&bags), lists.lists.clone());
        prop_assert_eq!(bags.n_out_of_range(), 0);
        prop_assert_eq!(bags.max_hot(), lists.lists.iter().map(Vec::len).max().unwrap_or(0));
        let samples = (0..).zip(&lists.lists).flat_map(|(bag, list)| vec![bag; list.len()]);
        prop_assert_eq!(bags.samples(), samples.collect::<Vec<u32>>());
        prop_assert_eq!(bags.fixed_hot(), None);
    }

    #[test]
    fn policies_do_what_they_say(lists in lists(-5..15_i64, ROWS)) {
        let is_row = |id: i64| (0..ROWS as i64).contains(&id);
        let n_bad = lists.ids().into_iter().filter(|&id| !is_row(id)).count();
        let clamped = lists.check(OutOfRange::Clamp).unwrap();
        let expected = lists.lists.iter().map(|list| {
            list.iter().map(|(id, weight)| ((*id).clamp(0, ROWS as i64 - 1), *weight)).collect()
        });
        prop_assert_eq!(bags_of(&clamped), expected.collect::<Vec<Vec<_>>>());
        let dropped = lists.check(OutOfRange::Drop).unwrap();
        let expected = lists.lists.iter().map(|list| {
            list.iter().copied().filter(|(id, _)| is_row(*id)).collect()
        });
        prop_assert_eq!(bags_of(&dropped), expected.collect::<Vec<Vec<_>>>());
        prop_assert_eq!((clamped.n_out_of_range(), dropped.n_out_of_range()), (n_bad, n_bad));
        match lists.check(OutOfRange::Error) {
            Ok(bags) => prop_assert!(n_bad == 0 && bags == clamped),
            Err(problems) => {
                let at = lists.lists.iter().position(|list| list.iter().any(|(id, _)| !is_row(*id)));
                let text = problems.to_string();
                prop_assert!(text.contains("embedding::id_range"), "{}", text);
                prop_assert!(text.contains(&format!("of bag {} ", at.unwrap())), "{}", text);
                prop_assert!(text.contains(&format!("{n_bad} are none")), "{}", text);
            }
        }
    }

    #[test]
    fn gains_follow_their_formula(lists in valid_lists(), combiner in combiner()) {
        for (bags, weighted) in [(lists.weighted(), true), (lists.unweighted(), false)] {
            let mut expected = Vec::new();
            for list in &lists.lists {
                let weights = list.iter().map(|(_, w)| if weighted { f64::from(*w) } else { 1.0 });
                let divisor = match combiner {
                    Combiner::Sum => 1.0,
                    Combiner::Mean => weights.clone().sum(),
                    Combiner::Sqrtn => weights.clone().map(|w| w * w).sum::<f64>().sqrt(),
                };
                expected.extend(weights.map(|weight| (weight / divisor) as f32));
            }
            prop_assert_eq!(bags.gains(combiner).unwrap(), expected);
        }
    }

    #[test]
    fn fixed_bags_are_ragged_ones_of_equal_length(
        hot in 1..5_usize, n_bags in 0..20_usize, combiner in combiner()
    ) {
        let ids: Vec<u32> = (0..(hot * n_bags) as u32).map(|at| at % 7).collect();
        let offsets: Vec<u32> = (0..=n_bags as u32).map(|bag| bag * hot as u32).collect();
        let fixed = RawBags::fixed(&ids, hot).check(7, OutOfRange::Error).unwrap();
        let ragged = RawBags::ragged(&ids, &offsets).check(7, OutOfRange::Error).unwrap();
        prop_assert_eq!(fixed.fixed_hot(), Some(hot));
        prop_assert_eq!(fixed.offsets(), ragged.offsets());
        prop_assert_eq!(fixed.gains(combiner), ragged.gains(combiner));
    }

    #[test]
    fn merged_bags_have_each_id_once_with_the_sum_of_its_gains(
        lists in valid_lists(), combiner in combiner()
    ) {
        let bags = lists.weighted();
        let gains = bags.gains(combiner).unwrap();
        let merged = bags.merge_repeats(combiner).unwrap();
        prop_assert_eq!(merged.n_bags(), bags.n_bags());
        for bag in 0..bags.n_bags() {
            let mut sums = BTreeMap::new();
            for at in bags.range(bag) {
                let sum = sums.entry(bags.ids()[at]).or_insert(None);
                // In the order given, beginning with the first itself: f32 sums are exact copies.
                *sum = Some(sum.map_or(gains[at], |sum| sum + gains[at]));
            }
            let range = merged.range(bag);
            let found = merged.ids()[range.clone()].iter().zip(&merged.weights().unwrap()[range]);
            let found: Vec<(i32, Option<f32>)> = found.map(|(id, gain)| (*id, Some(*gain))).collect();
            prop_assert_eq!(found, sums.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn unique_ids_rise_and_are_found_again(lists in valid_lists()) {
        let bags = lists.unweighted();
        let unique = bags.unique();
        let expected: BTreeSet<i32> = bags.ids().iter().copied().collect();
        prop_assert_eq!(&unique.ids, &expected.into_iter().collect::<Vec<_>>());
        prop_assert_eq!(unique.inverse.len(), bags.ids().len());
        for (id, at) in bags.ids().iter().zip(&unique.inverse) {
            prop_assert_eq!(unique.ids[*at as usize], *id);
        }
        for (id, count) in unique.ids.iter().zip(unique.counts()) {
            prop_assert_eq!(bags.ids().iter().filter(|other| *other == id).count(), count as usize);
        }
    }

    #[test]
    fn sorted_positions_are_a_stable_sort(lists in valid_lists()) {
        let bags = lists.unweighted();
        let mut expected: Vec<u32> = (0..bags.ids().len() as u32).collect();
        expected.sort_by_key(|&at| bags.ids()[at as usize]);
        prop_assert_eq!(bags.sorted_positions(), expected);
    }
}

#[test]
fn many_ids_sort_by_several_digits() {
    // More ids than the short path takes, and keys of one, two and three digits of 11 bits.
    for rows in [1, 2, 2048, 2049, 5_000_000, i32::MAX as usize] {
        let ids: Vec<u64> = (0..3000).map(|at: u64| at * at * 104_729 % rows as u64).collect();
        let bags = RawBags::fixed(&ids, 3).check(rows, OutOfRange::Error).unwrap();
        let mut expected: Vec<u32> = (0..3000).collect();
        expected.sort_by_key(|&at| ids[at as usize]);
        assert_eq!(bags.sorted_positions(), expected, "{rows} rows");
        let unique = bags.unique();
        assert!(unique.ids.is_sorted_by(|a, b| a < b));
        assert!((0..3000).all(|at| unique.ids[unique.inverse[at] as usize] as u64 == ids[at]));
    }
}

#[test]
fn large_batches_take_the_parallel_path() {
    let n = 300_000;
    let ids: Vec<i64> = (0..n).map(|at| if at == n - 1 { -1 } else { at * 7919 % 1000 }).collect();
    let raw = RawBags::fixed(&ids, 1);
    let message = format!("id -1 of bag {} is no row of a table of 1000 rows", n - 1);
    assert_refused(raw.check(1000, OutOfRange::Error), "embedding::id_range", &[&message]);
    let dropped = raw.check(1000, OutOfRange::Drop).unwrap();
    assert_eq!((dropped.ids().len(), dropped.bag(n as usize - 1).len()), (n as usize - 1, 0));
    // A bag out of which an id was dropped is shorter than the others.
    assert_eq!((dropped.fixed_hot(), dropped.max_hot()), (None, 1));
    let merged = dropped.merge_repeats(Combiner::Sum).unwrap();
    assert_eq!(merged.ids(), dropped.ids());
}

#[test]
fn refuses_offsets_that_are_none() {
    let check =
        |ids: &[i32], offsets: &[i64]| RawBags::ragged(ids, offsets).check(ROWS, OutOfRange::Error);
    let code = "embedding::bags";
    assert_refused(check(&[], &[]), code, &["no offsets"]);
    assert_refused(check(&[1, 2], &[0, 1]), code, &["from 0 to 1", "from 0 to 2"]);
    assert_refused(check(&[1, 2], &[1, 2]), code, &["from 1 to 2"]);
    assert_refused(check(&[1, 2], &[0, 3]), code, &["from 0 to 3"]);
    assert_refused(check(&[1, 2], &[0, 2, 1, 2]), code, &["bag 1 begins at 2 and ends at 1"]);
    assert_refused(check(&[1, 2], &[0, -1, 2]), code, &["bag 0 begins at 0 and ends at -1"]);
    assert_refused(
        check(&[1, 2], &[0, i64::MAX, 2]),
        code,
        &["bag 1 begins at 9223372036854775807"],
    );
    assert_eq!(check(&[], &[0]).unwrap().n_bags(), 0);
    let fixed = |hot| RawBags::fixed(&[1, 2, 3], hot).check(ROWS, OutOfRange::Error);
    assert_refused(fixed(0), code, &["3 ids make no bags of 0 ids"]);
    assert_refused(fixed(2), code, &["3 ids make no bags of 2 ids"]);
}

#[test]
fn refuses_weights_without_meaning() {
    let check = |weights: &[f32]| {
        RawBags::fixed(&[1, 2], 2).weights(weights).check(ROWS, OutOfRange::Error)
    };
    let code = "embedding::bags";
    assert_refused(check(&[1.0]), code, &["1 weights for 2 ids"]);
    assert_refused(check(&[1.0, f32::NAN]), code, &["weight 1 is NaN"]);
    assert_refused(check(&[f32::INFINITY, 1.0]), code, &["weight 0 is inf"]);
    let cancelling = check(&[1.0, -1.0]).unwrap();
    assert_refused(cancelling.gains(Combiner::Mean), code, &["bag 0 sum to 0"]);
    assert_eq!(cancelling.gains(Combiner::Sum).unwrap(), [1.0, -1.0]);
    // All zero is as good as empty.
    assert_eq!(check(&[0.0, 0.0]).unwrap().gains(Combiner::Mean).unwrap(), [0.0, 0.0]);
    let plain = RawBags::fixed(&[1, 2], 2).check(ROWS, OutOfRange::Error).unwrap();
    assert_refused(plain.clone().with_weights(vec![1.0]), code, &["1 weights for 2 ids"]);
    assert_eq!(plain.with_weights(vec![1.0, -1.0]).unwrap(), cancelling);
}

#[test]
fn refuses_tables_that_ids_cannot_name() {
    for rows in [0, 1 << 31] {
        let bags = RawBags::fixed(&[0], 1).check(rows, OutOfRange::Drop);
        assert_refused(bags, "kernel::argument", &[&format!("{rows} rows")]);
    }
    let last = i32::MAX as u64 - 1;
    let bags = RawBags::fixed(&[last, u64::MAX], 1).check(last as usize + 1, OutOfRange::Clamp);
    assert_eq!(bags.unwrap().ids(), [last as i32; 2]);
}

#[test]
fn lists_of_the_tests_are_what_they_say() {
    let lists = Lists { rows: 3, lists: vec![vec![(2, 0.5)], vec![], vec![(0, 1.0), (2, 2.0)]] };
    assert_eq!(lists.offsets(), [0, 1, 1, 3]);
    assert_eq!(lists.weighted().bag(2), [0, 2]);
}
