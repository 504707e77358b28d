//! Planned updates, against the gradient of the whole table.

use super::{Lists, assert_refused, combiner, rounding, valid_lists};
use proptest::prelude::*;
use std::collections::BTreeSet;
use systole::ir::{Array, DType};
use systole::run::Sampler;
use systole_kernels::embedding::{Combiner, Optimizer, UpdatePlan, UpdateShape, reference};

const WIDTH: usize = 3;

/// The gradient of each row by following the plan's lists as a unit would.
fn by_plan(plan: &UpdatePlan, output_gradient: &[f64], rows: usize) -> Vec<f64> {
    let mut sums = vec![0.0; rows * WIDTH];
    for list in 0..plan.n_lists {
        let starts = &plan.starts[list * (plan.rows_per_list + 1)..][..plan.rows_per_list + 1];
        for k in 0..plan.rows_per_list {
            let row = plan.rows[list * plan.rows_per_list + k] as usize;
            for at in starts[k] as usize..starts[k + 1] as usize {
                let at = list * plan.entries_per_list + at;
                let from = plan.samples[at] as usize * WIDTH;
                for c in 0..WIDTH {
                    sums[row * WIDTH + c] += f64::from(plan.gains[at]) * output_gradient[from + c];
                }
            }
        }
    }
    sums
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_gives_every_row_its_gradient(
        lists in valid_lists(), combiner in combiner(), n_lists in 1..5_usize
    ) {
        let bags = lists.weighted();
        let table_rows = lists.rows + 400;
        let shape =
            UpdateShape { n_lists, table_rows, rows_per_list: None, entries_per_list: None };
        let plan = bags.plan_update(combiner, &shape).unwrap();
        prop_assert_eq!(plan.rows.len(), n_lists * plan.rows_per_list);
        prop_assert_eq!(plan.rows_per_list % 8, 0);
        prop_assert_eq!(plan.entries_per_list % 8, 0);
        let distinct: BTreeSet<i32> = plan.rows.iter().copied().collect();
        prop_assert_eq!(distinct.len(), plan.rows.len(), "a row twice");
        prop_assert!(plan.rows.iter().all(|&row| (0..table_rows as i32).contains(&row)));
        let named: BTreeSet<i32> = bags.ids().iter().copied().collect();
        for list in 0..n_lists {
            let rows = &plan.rows[list * plan.rows_per_list..][..plan.rows_per_list];
            let (own, pads) = rows.split_at(plan.n_rows[list]);
            prop_assert!(own.is_sorted() && own.iter().all(|row| named.contains(row)));
            prop_assert!(pads.iter().all(|row| !named.contains(row)));
        }
        prop_assert_eq!(plan.n_rows.iter().sum::<usize>(), named.len());
        let gradient = Sampler::new(5).small_ints(DType::F32, &[bags.n_bags().max(1), WIDTH]);
        let expected = if bags.n_bags() == 0 {
            vec![0.0; lists.rows * WIDTH]
        } else {
            reference::table_gradient(&bags, combiner, &gradient).unwrap().to_f64()
        };
        let found = by_plan(&plan, &gradient.to_f64(), table_rows);
        let pads = std::iter::repeat(&0.0);
        for (found, expected) in found.iter().zip(expected.iter().chain(pads)) {
            prop_assert!((found - expected).abs() <= rounding(&bags), "{found} {expected}");
        }
    }

    #[test]
    fn lists_of_given_length_hold_what_fits(
        lists in valid_lists(), n_lists in 1..4_usize, eights in 1..4_usize
    ) {
        let bags = lists.unweighted();
        let shape = UpdateShape {
            n_lists, table_rows: lists.rows + 100, rows_per_list: Some(8 * eights),
            entries_per_list: Some(256),
        };
        let n_rows = bags.unique().ids.len();
        match bags.plan_update(Combiner::Sum, &shape) {
            Ok(plan) => {
                prop_assert!(n_rows <= n_lists * 8 * eights);
                prop_assert_eq!((plan.rows_per_list, plan.entries_per_list), (8 * eights, 256));
                prop_assert!(plan.n_rows.iter().all(|&n| n <= 8 * eights));
            }
            Err(problems) => {
                prop_assert!(n_rows > n_lists * 8 * eights, "{}", problems);
                prop_assert_eq!(super::codes(&problems), ["embedding::limit"]);
            }
        }
    }
}

#[test]
fn lists_share_the_entries_evenly() {
    // Row 0 is in every bag, rows 1 to 96 in one each.
    let lists = (1..97).map(|id| vec![(0, 1.0), (id, 1.0)]).collect();
    let bags = Lists { rows: 1000, lists }.unweighted();
    let shape =
        UpdateShape { n_lists: 4, table_rows: 1000, rows_per_list: None, entries_per_list: None };
    let plan = bags.plan_update(Combiner::Sum, &shape).unwrap();
    // 192 entries make 48 per list; row 0 has 96 and stands alone for two lists.
    assert_eq!(plan.n_rows, [1, 0, 48, 48]);
    assert_eq!((plan.rows_per_list, plan.entries_per_list), (48, 96));
    assert_eq!(plan.starts[..3], [0, 96, 96]);
    // With short lists the rows go where there is room.
    let short = UpdateShape { rows_per_list: Some(32), ..shape };
    let plan = bags.plan_update(Combiner::Sum, &short).unwrap();
    assert_eq!(plan.n_rows.iter().sum::<usize>(), 97);
    assert!(plan.n_rows.iter().all(|&n| n <= 32), "{:?}", plan.n_rows);
}

#[test]
fn refuses_plans_without_room() {
    let bags = Lists { rows: 8, lists: vec![(0..8).map(|id| (id, 1.0)).collect()] }.unweighted();
    let shape =
        UpdateShape { n_lists: 2, table_rows: 8, rows_per_list: None, entries_per_list: None };
    let plan = |shape: UpdateShape| bags.plan_update(Combiner::Sum, &shape);
    let code = "kernel::argument";
    assert_refused(plan(UpdateShape { n_lists: 0, ..shape }), code, &["0 lists"]);
    assert_refused(plan(UpdateShape { table_rows: 7, ..shape }), code, &["7 rows"]);
    assert_refused(plan(UpdateShape { rows_per_list: Some(12), ..shape }), code, &["list of 12"]);
    assert_refused(plan(UpdateShape { entries_per_list: Some(0), ..shape }), code, &["list of 0"]);
    let code = "embedding::limit";
    assert_refused(plan(shape), code, &["8 rows are needed to pad 2 lists of 8", "leaves 0 of 8"]);
    assert!(plan(UpdateShape { table_rows: 16, ..shape }).is_ok());
    assert!(plan(UpdateShape { n_lists: 1, ..shape }).is_ok());
    let nine = (0..9).map(|id| (id, 1.0)).collect();
    let bags = Lists { rows: 40, lists: vec![nine] }.unweighted();
    let short = UpdateShape { n_lists: 1, table_rows: 40, rows_per_list: Some(8), ..shape };
    let refused = bags.plan_update(Combiner::Sum, &short);
    assert_refused(refused, code, &["9 rows, 1 lists of 8"]);
    let few = UpdateShape { rows_per_list: None, entries_per_list: Some(8), ..short };
    assert_refused(bags.plan_update(Combiner::Sum, &few), code, &["16 entries", "has 8"]);
}

#[test]
fn optimizers_by_hand() {
    let f32s = |shape: &[usize], values: &[f32]| Array::from_f32(shape, values.to_vec()).unwrap();
    let table = f32s(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let gradient = f32s(&[2, 2], &[9.0, 9.0, 3.0, 4.0]);
    let step = |optimizer, accumulator: Option<&Array>| {
        let (table, sums) = reference::update(optimizer, (&table, accumulator), &gradient, &[1]);
        (table.to_f32(), sums.map(|sums| sums.to_f32()))
    };
    let sgd = Optimizer::Sgd { rate: 0.5 };
    assert_eq!(step(sgd, None), (vec![1.0, 2.0, 1.5, 2.0], None));
    let adagrad = Optimizer::Adagrad { rate: 0.5, eps: 0.0 };
    let sums = f32s(&[2, 2], &[1.0, 1.0, 16.0, 9.0]);
    let (table_after, sums_after) = step(adagrad, Some(&sums));
    assert_eq!(sums_after, Some(vec![1.0, 1.0, 25.0, 25.0]));
    assert_eq!(table_after, [1.0, 2.0, 3.0 - 0.5 * 3.0 / 5.0, 4.0 - 0.5 * 4.0 / 5.0]);
    let by_row = Optimizer::RowAdagrad { rate: 0.5, eps: 1.0 };
    let (table_after, sums_after) = step(by_row, Some(&f32s(&[2, 1], &[0.0, 3.5])));
    assert_eq!(sums_after, Some(vec![0.0, 16.0]));
    assert_eq!(table_after, [1.0, 2.0, 3.0 - 0.5 * 3.0 / 5.0, 4.0 - 0.5 * 4.0 / 5.0]);
    assert_eq!([sgd, adagrad, by_row].map(Optimizer::name), ["sgd", "adagrad", "row_adagrad"]);
}
