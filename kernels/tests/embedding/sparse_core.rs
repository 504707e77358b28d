//! Lookups and updates on SparseCores: interpreted against plain loops, and compiled.

use super::assert_refused;
use systole::back::interp;
use systole::ir::array::ArrayData;
use systole::ir::{Array, DType, Kernel};
use systole::run::{Sampler, Tolerance, compare};
use systole::target::{GENERIC, SparseCores, V5E, V6E};
#[cfg(feature = "mlir")]
use systole::target::{TPU7X, Target, V5P};
use systole::valid;
use systole_kernels::embedding::sparse_core::{
    self, BagForm, BagLookup, BagShape, ROW_ACCUMULATOR_WIDTH, StepShape, UpdateLists,
};
use systole_kernels::embedding::{
    Bags, Combiner, Optimizer, OutOfRange, RawBags, UpdateShape, reference,
};
#[cfg(feature = "mlir")]
use systole_kernels::embedding::{Sharding, TENSOR_LIMIT_BYTES, dlrm};

#[cfg(feature = "mlir")]
const TARGETS: [&Target; 3] = [&V5P, &V6E, &TPU7X];

/// Fewer subcores than a chip has, so that small batches fill them.
fn few(lanes: usize) -> SparseCores {
    SparseCores { n_cores: 1, n_subcores: 2, lanes, ..V6E.sparse().unwrap() }
}

/// The results in the interpreter; what comes back of the kernel's Mosaic module gives the same.
fn run(kernel: Kernel, inputs: &[Array]) -> Vec<Array> {
    #[cfg(feature = "mlir")]
    crate::roundtrip::sparse_comes_back(&kernel, inputs);
    let valid = valid::check(kernel, &GENERIC).unwrap_or_else(|e| panic!("{e}"));
    let outcome = interp::run(&valid, inputs, &interp::Options::default());
    outcome.unwrap_or_else(|e| panic!("{e}")).outputs
}

pub(super) fn close(found: &Array, expected: &Array, ulp: u64) {
    let comparison = compare(expected, found, &Tolerance::ulp(ulp));
    assert!(comparison.describe_bad().is_none(), "{:?}", comparison.describe_bad());
}

fn integers(values: &[i32]) -> Array {
    Array::new(&[values.len()], ArrayData::I32(values.to_vec())).unwrap()
}

#[test]
fn a_gather_gives_the_rows_of_its_ids() {
    for lanes in [8, 16] {
        let cores = few(lanes);
        let (rows, width, n) = (100, 32, sparse_core::padded(&cores, 150));
        let table = Sampler::new(1).normal(DType::F32, &[rows, width]);
        let ids: Vec<i32> = (0..n).map(|at| (at * at * 7 % rows) as i32).collect();
        let kernel = sparse_core::gather(&cores, [rows, width], n).unwrap();
        let ids = integers(&ids);
        let found = run(kernel, &[table.clone(), ids.clone()]);
        assert_eq!(found[0], reference::gather(&table, &ids));
    }
}

/// Bags of 0 to 4 ids, some of them repeated, and a weight for each.
pub(super) fn ragged(rows: usize, n_bags: usize, weighted: bool) -> Bags {
    let lengths: Vec<usize> = (0..n_bags).map(|bag| bag * 5 % 7 % 5).collect();
    let mut offsets = vec![0_u32];
    for length in &lengths {
        offsets.push(offsets[offsets.len() - 1] + *length as u32);
    }
    let n: usize = lengths.iter().sum();
    let ids: Vec<i32> = (0..n).map(|at| (at * 13 / 2 % rows) as i32).collect();
    let weights: Vec<f32> = (0..n).map(|at| (at % 5) as f32 * 0.5 + 0.5).collect();
    let bags = RawBags::ragged(&ids, &offsets);
    let bags = if weighted { bags.weights(&weights) } else { bags };
    bags.check(rows, OutOfRange::Error).unwrap()
}

#[test]
fn bags_of_every_form_are_combined() {
    for (lanes, weighted) in [(8, false), (16, false), (8, true)] {
        for &combiner in Combiner::ALL {
            let cores = few(lanes);
            let (rows, width, n) = (40, 32, sparse_core::padded(&cores, 60));
            let bags = ragged(rows, 60, weighted);
            let form = BagForm::of(&bags, combiner);
            let shape = BagShape { table: [rows, width], hot: 4, n_bags: n };
            let lookup = BagLookup::new(&cores, shape, form).unwrap();
            let batch = lookup.batch(&bags, combiner).unwrap();
            // Nothing cancels.
            let table = Sampler::new(2).uniform(DType::F32, &[rows, width], 1.0, 2.0);
            let kernel = lookup.kernel().unwrap();
            let found = run(kernel, &[table.clone(), batch.ids, batch.factors]);
            let mut expected = reference::bag(&table, &bags, combiner).unwrap().to_f64();
            expected.resize(n * width, 0.0);
            let expected = Array::from_f64(DType::F32, &[n, width], &expected).unwrap();
            // The reference multiplies rows, a kernel may multiply their sum.
            close(&found[0], &expected, 64);
        }
    }
}

#[test]
fn a_step_changes_the_rows_of_the_batch_alone() {
    let (rate, eps) = (0.25, 1e-3);
    let optimizers = [
        Optimizer::Sgd { rate },
        Optimizer::Adagrad { rate, eps },
        Optimizer::RowAdagrad { rate, eps },
    ];
    for (lanes, optimizer) in [8, 16].into_iter().flat_map(|lanes| optimizers.map(|o| (lanes, o))) {
        let cores = few(lanes);
        let (rows, table_rows, width, n_bags) = (60, 200, 16, 50);
        let bags = ragged(rows, n_bags, true);
        let shape = UpdateShape {
            n_lists: 2,
            table_rows,
            rows_per_list: Some(32),
            entries_per_list: Some(96),
        };
        let plan = bags.plan_update(Combiner::Sum, &shape).unwrap();
        let lists = UpdateLists::new(&cores, &plan).unwrap();
        let table = Sampler::new(3).normal(DType::F32, &[table_rows, width]);
        let gradient = Sampler::new(4).normal(DType::F32, &[n_bags, width]);
        let by_row = matches!(optimizer, Optimizer::RowAdagrad { .. });
        let sums = match by_row {
            true => Sampler::new(5).uniform(DType::F32, &[table_rows, 1], 0.5, 2.0),
            false => Sampler::new(5).uniform(DType::F32, &[table_rows, width], 0.5, 2.0),
        };
        let repeat = |of: &Array| {
            let values: Vec<f64> =
                of.to_f64().iter().flat_map(|&x| [x; ROW_ACCUMULATOR_WIDTH]).collect();
            Array::from_f64(DType::F32, &[table_rows, ROW_ACCUMULATOR_WIDTH], &values).unwrap()
        };
        let accumulator = match optimizer {
            Optimizer::Sgd { .. } => None,
            Optimizer::Adagrad { .. } => Some(sums.clone()),
            Optimizer::RowAdagrad { .. } => Some(repeat(&sums)),
        };
        let step = StepShape {
            table: [table_rows, width],
            n_samples: n_bags,
            rows_per_list: 32,
            entries_per_list: 96,
        };
        let kernel = sparse_core::step(&cores, &step, optimizer).unwrap();
        let inputs: Vec<Array> = std::iter::once(table.clone())
            .chain(accumulator.clone())
            .chain([gradient.clone(), lists.rows, lists.samples, lists.places, lists.gains])
            .collect();
        let found = run(kernel, &inputs);
        let whole = reference::table_gradient(&bags, Combiner::Sum, &gradient).unwrap();
        let mut whole = whole.to_f64();
        whole.resize(table_rows * width, 0.0);
        let whole = Array::from_f64(DType::F32, &[table_rows, width], &whole).unwrap();
        let mut named = bags.ids().to_vec();
        named.sort_unstable();
        named.dedup();
        let of = accumulator.as_ref().map(|_| &sums);
        let (weights, sums) = reference::update(optimizer, (&table, of), &whole, &named);
        close(&found[0], &weights, 64);
        if let Some(sums) = sums {
            let sums = if by_row { repeat(&sums) } else { sums };
            close(&found[1], &sums, 64);
        }
    }
}

#[test]
fn what_makes_no_kernel_is_refused() {
    let cores = few(8);
    let shape = |hot, n_bags, width| BagShape { table: [10, width], hot, n_bags };
    let bag = |shape| BagLookup::new(&cores, shape, BagForm::Sum);
    assert_refused(bag(shape(1, 60, 32)), "kernel::argument", &["cannot share 60 bags"]);
    assert_refused(bag(shape(1, 64, 20)), "kernel::argument", &["no whole registers of 8"]);
    assert_refused(bag(shape(0, 64, 32)), "kernel::argument", &["bags of no ids"]);
    assert_refused(bag(shape(5000, 64, 32)), "kernel::argument", &["16 rows at a time take"]);
    let gather = sparse_core::gather(&cores, [10, 32], 100);
    assert_refused(gather, "kernel::argument", &["cannot share 100 ids"]);
    let lookup = bag(shape(3, 64, 32)).unwrap();
    let batch = lookup.batch(&ragged(11, 60, false), Combiner::Sum);
    assert_refused(batch, "kernel::argument", &["ids name 11 rows of a table of 10"]);
    let batch = lookup.batch(&ragged(10, 60, false), Combiner::Sum);
    assert_refused(batch, "embedding::limit", &["up to 4 ids do not fit 64 bags of 3"]);
    let lookup = bag(shape(4, 64, 32)).unwrap();
    let batch = lookup.batch(&ragged(10, 60, false), Combiner::Mean);
    assert_refused(batch, "kernel::argument", &["form Sum cannot combine bags of form Scaled"]);
    let cores = sparse_core::cores(&V5E);
    assert_refused(cores, "kernel::argument", &["v5e has no SparseCore"]);
}

/// libtpu accepts a kernel, and so does the validator without a warning.
#[cfg(feature = "mlir")]
pub(super) fn compiles(kernel: Kernel, target: &'static Target) {
    use systole::aot::{self, Options, Request};
    let name = kernel.name.clone();
    let valid = valid::check(kernel, target).unwrap_or_else(|e| panic!("{name} on {target}: {e}"));
    assert!(valid.warnings().is_empty(), "{name} on {target}: {}", valid.warnings());
    let program = systole::back::mosaic::call(&valid, &Default::default());
    let program = program.unwrap_or_else(|e| panic!("{name} on {target}: {e}"));
    let options = Options { cycles: false, lines: false, ..Options::default() };
    let report = aot::compile(&Request::new(&name, target, program).with(options));
    assert!(report.is_ok(), "{name} on {target}: {:?}", report.messages);
}

/// The tables of DLRM v2, those beyond 16 GiB as the shards that they are cut into.
#[cfg(feature = "mlir")]
#[test]
fn every_table_of_dlrm_compiles() {
    for target in TARGETS {
        let cores = sparse_core::cores(target).unwrap();
        let n_bags = sparse_core::padded(&cores, 16_384);
        let mut seen = std::collections::BTreeSet::new();
        for (rows, hot) in dlrm::TABLES {
            let sharding = Sharding::fitting(rows, 4 * dlrm::WIDTH, TENSOR_LIMIT_BYTES).unwrap();
            let rows = sharding.rows_per_shard(rows);
            // Tables of about one size compile alike; on other chips the longest bags are enough.
            let is_asked = target.name == V6E.name || hot == 100;
            if !is_asked || !seen.insert((rows.ilog2(), hot)) {
                continue;
            }
            let shape = BagShape { table: [rows, dlrm::WIDTH], hot, n_bags };
            let lookup = BagLookup::new(&cores, shape, BagForm::Sum).unwrap();
            compiles(lookup.kernel().unwrap(), target);
        }
    }
}

#[cfg(feature = "mlir")]
#[test]
fn every_kernel_compiles() {
    for target in TARGETS {
        let cores = sparse_core::cores(target).unwrap();
        let n = sparse_core::padded(&cores, 8192);
        let table = [100_000, 128];
        compiles(sparse_core::gather(&cores, table, n).unwrap(), target);
        let shape = BagShape { table, hot: 20, n_bags: n };
        for form in [BagForm::Scaled, BagForm::Weighted] {
            let lookup = BagLookup::new(&cores, shape, form).unwrap();
            compiles(lookup.kernel().unwrap(), target);
        }
        let shape = StepShape { table, n_samples: 4096, rows_per_list: 64, entries_per_list: 1024 };
        let (rate, eps) = (0.1, 1e-8);
        for optimizer in [Optimizer::Sgd { rate }, Optimizer::Adagrad { rate, eps }] {
            compiles(sparse_core::step(&cores, &shape, optimizer).unwrap(), target);
        }
    }
}
