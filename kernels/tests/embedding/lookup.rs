//! The lookup and the update that choose their core by target.

use super::assert_refused;
use super::sparse_core::{close, ragged};
use systole::ir::{Array, DType};
use systole::run::{DynTensor, Sampler};
use systole::target::{GENERIC, TPU7X, Target, V4, V5E, V5P, V6E};
use systole_kernels::embedding::{
    Bags, Combiner, Engine, Lookup, Optimizer, OutOfRange, RawBags, TableShape, Update, reference,
};

fn fixed(rows: usize, n_bags: usize, hot: usize) -> Bags {
    let ids: Vec<i32> = (0..n_bags * hot).map(|at| (at * 13 / 2 % rows) as i32).collect();
    RawBags::fixed(&ids, hot).check(rows, OutOfRange::Error).unwrap()
}

#[test]
fn the_target_and_the_table_choose_the_core() {
    let bags = fixed(100, 64, 2);
    let engine = |target: &'static Target, table: TableShape| {
        let lookup = Lookup::new(target, table, &bags, Combiner::Sum).unwrap();
        let kernel = lookup.kernel().unwrap();
        let is_sparse = matches!(lookup.engine(), Engine::SparseCore(_));
        assert_eq!(kernel.core.is_sparse(), is_sparse);
        is_sparse
    };
    let table = TableShape::f32(100, 128);
    for target in [&V5P, &V6E, &TPU7X] {
        assert!(engine(target, table), "{target}");
        assert!(!engine(target, TableShape { width: 256, ..table }), "{target}");
        assert!(!engine(target, TableShape { dtype: DType::BF16, ..table }), "{target}");
    }
    for target in [&V4, &V5E, &GENERIC] {
        assert!(!engine(target, table), "{target}");
    }
}

#[test]
fn bags_are_looked_up_where_there_is_no_tpu() {
    for dtype in [DType::F32, DType::BF16] {
        let table = TableShape { dtype, rows: 60, width: 128 };
        let values = Sampler::new(1).uniform(dtype, &[60, 128], 1.0, 2.0);
        let tensor = DynTensor::from_array(values.clone());
        // One id each, several, ragged ones, and weights.
        let all = [fixed(60, 40, 1), fixed(60, 40, 5), ragged(60, 40, false), ragged(60, 40, true)];
        for bags in all {
            for &combiner in Combiner::ALL {
                let lookup = Lookup::new(&GENERIC, table, &bags, combiner).unwrap();
                let found = lookup.call(&tensor, &bags).unwrap().to_array().unwrap();
                let expected = reference::bag(&values, &bags, combiner).unwrap();
                close(&found, &expected, if dtype == DType::F32 { 64 } else { 1 });
            }
        }
    }
}

#[test]
fn a_batch_that_is_too_much_for_one_call_takes_several() {
    let table = TableShape::f32(60, 128);
    let values = Sampler::new(1).uniform(DType::F32, &[60, 128], 1.0, 2.0);
    let tensor = DynTensor::from_array(values.clone());
    let few: [fn(usize) -> Bags; 3] =
        [|n| fixed(60, n, 1), |n| fixed(60, n, 3), |n| ragged(60, n, true)];
    for make in few {
        let lookup = Lookup::new(&GENERIC, table, &make(40), Combiner::Sum).unwrap();
        let bags = make(300);
        assert!(lookup.n_bags() < 300, "{}", lookup.n_bags());
        let found = lookup.call(&tensor, &bags).unwrap().to_array().unwrap();
        close(&found, &reference::bag(&values, &bags, Combiner::Sum).unwrap(), 64);
    }
    // Scalar memory holds 245,760 words.
    let big = |bags: Bags| {
        let lookup = Lookup::new(&V5E, table, &bags, Combiner::Sum).unwrap();
        assert!(lookup.n_bags() < bags.n_bags() && lookup.n_bags() > 10_000, "{lookup:?}");
        lookup.kernel().unwrap();
    };
    big(fixed(60, 300_000, 1));
    big(fixed(60, 150_000, 2));
    big(ragged(60, 100_000, true));
}

/// One unit of work takes up to 1,920 ids of each bag: longer bags go as ragged ones do.
#[test]
fn long_bags_of_one_length_are_looked_up() {
    let table = TableShape::f32(60, 128);
    let values = Sampler::new(1).uniform(DType::F32, &[60, 128], 1.0, 2.0);
    let tensor = DynTensor::from_array(values.clone());
    let bags = fixed(60, 3, 2000);
    for &combiner in Combiner::ALL {
        let lookup = Lookup::new(&GENERIC, table, &bags, combiner).unwrap();
        let found = lookup.call(&tensor, &bags).unwrap().to_array().unwrap();
        // Two thousand sums are rounded, each by half a unit at most.
        close(&found, &reference::bag(&values, &bags, combiner).unwrap(), 1000);
    }
    for (target, hot) in [(&V5E, 1921), (&V4, 961), (&V5E, 50_000)] {
        let lookup = Lookup::new(target, table, &fixed(60, 5, hot), Combiner::Mean).unwrap();
        assert_eq!(lookup.engine(), Engine::TensorCore);
        lookup.kernel().unwrap();
    }
}

#[test]
fn what_cannot_be_looked_up_is_refused() {
    let table = TableShape::f32(60, 128);
    let new = |table, bags: &Bags| Lookup::new(&GENERIC, table, bags, Combiner::Sum);
    assert_refused(
        new(TableShape::f32(50, 128), &fixed(60, 4, 2)),
        "kernel::argument",
        &["ids name 60 rows of a table of 50"],
    );
    let none = RawBags::<i32, u32>::ragged(&[], &[0]).check(60, OutOfRange::Error).unwrap();
    assert_refused(new(table, &none), "kernel::argument", &["no bags to look up"]);
    let large = TableShape::f32(40_000_000, 128);
    assert_refused(new(large, &fixed(60, 4, 2)), "kernel::argument", &["20480000000 bytes"]);
    let long = fixed(60, 1, 300_000);
    assert_refused(new(table, &long), "embedding::limit", &["of scalar memory"]);
    let lookup = new(table, &fixed(60, 8, 1)).unwrap();
    let tensor = DynTensor::from_array(Array::zeros(DType::F32, &[60, 128]));
    let found = lookup.call(&tensor, &fixed(60, 8, 2));
    assert_refused(found, "kernel::argument", &["one id per bag"]);
}

#[test]
fn a_table_is_updated_where_there_is_no_tpu() {
    // The smaller ones have fewer rows than are worked on at a time.
    for (rows, named) in [(300, 60), (20, 20), (70, 65), (1, 1)] {
        check_update(rows, named);
    }
}

fn check_update(rows: usize, named: usize) {
    let (width, n_bags) = (128, 80);
    let table = TableShape::f32(rows, width);
    let bags = ragged(named, n_bags, true);
    let values = Sampler::new(3).normal(DType::F32, &[rows, width]);
    let gradient = Sampler::new(4).normal(DType::F32, &[n_bags, width]);
    let sums = Sampler::new(5).uniform(DType::F32, &[rows, width], 0.5, 2.0);
    let (rate, eps) = (0.25, 1e-3);
    for optimizer in [Optimizer::Sgd { rate }, Optimizer::Adagrad { rate, eps }] {
        let update = Update::new(&GENERIC, table, &bags, Combiner::Mean, optimizer, 2).unwrap();
        assert_eq!(update.engine(), Engine::TensorCore);
        let sums = update.accumulator_width(width).map(|_| sums.clone());
        let tensor = |array: &Array| DynTensor::from_array(array.clone());
        let accumulator = sums.as_ref().map(tensor);
        let updated =
            update.call(&tensor(&values), accumulator.as_ref(), &tensor(&gradient), &bags);
        let updated = updated.unwrap();

        let whole = reference::table_gradient(&bags, Combiner::Mean, &gradient).unwrap();
        let mut whole = whole.to_f64();
        whole.resize(rows * width, 0.0);
        let whole = Array::from_f64(DType::F32, &[rows, width], &whole).unwrap();
        let named = bags.unique().ids;
        let (weights, sums) =
            reference::update(optimizer, (&values, sums.as_ref()), &whole, &named);
        super::tensor_core::near(&updated.table.to_array().unwrap(), &weights);
        let found = updated.accumulator.map(|found| found.to_array().unwrap());
        assert_eq!(found.is_some(), sums.is_some());
        for (found, expected) in found.iter().zip(&sums) {
            super::tensor_core::near(found, expected);
        }
    }
}

#[test]
fn updates_choose_their_core_by_room_too() {
    let table = TableShape::f32(100_000, 128);
    let optimizer = Optimizer::RowAdagrad { rate: 0.1, eps: 1e-8 };
    let new = |target, n_bags: usize| {
        let ids: Vec<i32> = (0..n_bags).map(|at| (at * 3) as i32).collect();
        let bags = RawBags::fixed(&ids, 1).check(100_000, OutOfRange::Error).unwrap();
        Update::new(target, table, &bags, Combiner::Sum, optimizer, 1).unwrap()
    };
    let few = new(&V6E, 1000);
    assert!(matches!(few.engine(), Engine::SparseCore(_)));
    assert_eq!((few.kernels().unwrap().len(), few.accumulator_width(128)), (1, Some(16)));
    // The sums of 30,000 rows are 15 MB, and Spmem has 4 MiB on each of two cores.
    let many = new(&V6E, 30_000);
    assert_eq!(many.engine(), Engine::TensorCore);
    assert_eq!((many.kernels().unwrap().len(), many.accumulator_width(128)), (2, Some(128)));
}

/// The lists of 32 subcores name at least 256 rows, and no row twice.
#[test]
fn tables_too_small_for_subcores_are_updated_by_the_tensor_core() {
    let optimizer = Optimizer::Sgd { rate: 0.1 };
    for (rows, spare, is_sparse) in
        [(10, 1, false), (300, 1, false), (600, 1, true), (600, 3, false)]
    {
        let bags = fixed(10, 40, 1);
        let table = TableShape::f32(rows, 128);
        let update = Update::new(&V6E, table, &bags, Combiner::Sum, optimizer, spare).unwrap();
        let found = matches!(update.engine(), Engine::SparseCore(_));
        assert_eq!(found, is_sparse, "{rows} rows, {spare} times the room");
        update.kernels().unwrap();
    }
}

#[test]
fn updates_that_no_call_could_do_are_refused_at_once() {
    let bags = fixed(60, 8, 2);
    let new = |rows, spare| {
        let (table, optimizer) = (TableShape::f32(rows, 128), Optimizer::Sgd { rate: 0.1 });
        Update::new(&GENERIC, table, &bags, Combiner::Sum, optimizer, spare)
    };
    assert!(new(60, 1).is_ok());
    assert_refused(new(50, 1), "kernel::argument", &["ids name 60 rows of a table of 50"]);
    for spare in [0, 1 << 30, usize::MAX] {
        let told = format!("room for {spare} times the 16 entries");
        assert_refused(new(60, spare), "kernel::argument", &[&told]);
    }
}
