//! Lookups and updates on TensorCores: interpreted and on XLA against plain loops, and compiled.

use super::assert_refused;
use super::sparse_core::{close, ragged};
use systole::back::interp;
use systole::ir::array::ArrayData;
use systole::ir::{Array, DType, Kernel};
use systole::run::{DynTensor, KernelOp, Sampler};
use systole::target::{GENERIC, Target, V4, V5E};
use systole::valid;
use systole_kernels::embedding::sparse_core;
use systole_kernels::embedding::tensor_core::{
    self, BagForm, BagLookup, ROW_ACCUMULATOR_WIDTH, SMEM_WORDS, Step, StepShape, TableShape,
    UpdateRows,
};
use systole_kernels::embedding::{Bags, Combiner, Optimizer, OutOfRange, RawBags, reference};

/// The results in the interpreter, every hazard checked.
fn interpreted(kernel: &Kernel, inputs: &[Array]) -> Vec<Array> {
    let valid = valid::check(kernel.clone(), &GENERIC).unwrap_or_else(|e| panic!("{e}"));
    let outcome = interp::run(&valid, inputs, &interp::Options::default());
    outcome.unwrap_or_else(|e| panic!("{e}")).outputs
}

/// The results in the interpreter, which those of XLA equal up to rounding.
fn run(kernel: &Kernel, inputs: &[Array]) -> Vec<Array> {
    let found = interpreted(kernel, inputs);
    let tensors: Vec<DynTensor> =
        inputs.iter().map(|array| DynTensor::from_array(array.clone())).collect();
    let outputs = KernelOp::new(kernel.clone()).apply(&tensors.iter().collect::<Vec<_>>());
    for (output, found) in outputs.iter().zip(&found) {
        let output = output.to_array().unwrap_or_else(|e| panic!("{e}"));
        match found.dtype() {
            DType::F32 => near(&output, found),
            _ => close(&output, found, 1),
        }
    }
    found
}

fn integers(values: Vec<i32>) -> Array {
    Array::new(&[values.len()], ArrayData::I32(values)).unwrap()
}

/// Values in 1..2, of which sums do not cancel.
fn sample(table: TableShape, seed: u64) -> Array {
    Sampler::new(seed).uniform(table.dtype, &[table.rows, table.width], 1.0, 2.0)
}

/// Tables of every kind: of a few rows, of whole registers and not, of whole words and half ones.
fn tables() -> Vec<TableShape> {
    let table = |dtype, rows, width| TableShape { dtype, rows, width };
    vec![
        table(DType::F32, 100, 128),
        table(DType::F32, 3, 40),
        table(DType::BF16, 100, 128),
        table(DType::BF16, 2, 256),
    ]
}

#[test]
fn a_gather_gives_the_rows_of_its_ids() {
    for table in tables() {
        for target in [&V4, &V5E] {
            let n = table.padded(target, 130);
            let ids = integers((0..n).map(|at| (at * at * 7 % table.rows) as i32).collect());
            let kernel = tensor_core::gather(target, table, n).unwrap();
            let values = sample(table, 1);
            let found = run(&kernel, &[ids.clone(), values.clone()]);
            assert_eq!(found[0], reference::gather(&values, &ids), "{table:?} {target}");
        }
    }
}

/// Looks bags up in a table, on the lookup's number of bags.
fn combined(target: &Target, table: TableShape, bags: &Bags, combiner: Combiner) -> Array {
    let form = BagForm::of(bags, combiner);
    let n = BagLookup::padded(target, table, bags.n_bags(), form);
    let lookup = BagLookup::new(target, table, n, form).unwrap();
    let batch = lookup.batch(bags, combiner).unwrap();
    let inputs: Vec<Array> = batch.tables.into_iter().chain([sample(table, 2)]).collect();
    run(&lookup.kernel().unwrap(), &inputs).remove(0)
}

/// The first rows of an array, as `f32`.
fn first_rows(array: &Array, rows: usize) -> Array {
    let width = array.shape()[1];
    let values = &array.to_f64()[..rows * width];
    Array::from_f64(array.dtype(), &[rows, width], values).unwrap()
}

#[test]
fn bags_of_every_form_are_combined() {
    for table in tables() {
        // One table says of the combiners what there is to say.
        let combiners = if table.rows == 3 { Combiner::ALL } else { &[Combiner::Mean] };
        for &combiner in combiners {
            let n = 90;
            let ids: Vec<i32> = (0..3 * n).map(|at| (at * 13 / 2 % table.rows) as i32).collect();
            let fixed = RawBags::fixed(&ids, 3).check(table.rows, OutOfRange::Error).unwrap();
            // Ragged bags are empty every so often, and the last ones are.
            let bags = [fixed, ragged(table.rows, n, false), ragged(table.rows, n, true)];
            for bags in bags {
                let target = if combiner == Combiner::Sum { &V4 } else { &V5E };
                let found = combined(target, table, &bags, combiner);
                let expected = reference::bag(&sample(table, 2), &bags, combiner).unwrap();
                // Sums and gains are rounded to f32, and to bf16 once at the end.
                let ulp = if table.dtype == DType::F32 { 64 } else { 1 };
                close(&first_rows(&found, bags.n_bags()), &expected, ulp);
                if bags.fixed_hot().is_none() {
                    let rest = &found.to_f64()[bags.n_bags() * table.width..];
                    assert!(rest.iter().all(|&x| x == 0.0), "bags of no ids are zero");
                }
            }
        }
    }
}

#[test]
fn ids_out_of_range_are_clamped_or_left_out() {
    let table = TableShape::f32(10, 128);
    let (ids, offsets) = ([-1, 3, 3, 10, 2, 99], [0, 3, 4, 4, 6]);
    let raw = RawBags::ragged(&ids, &offsets);
    for out_of_range in [OutOfRange::Clamp, OutOfRange::Drop] {
        let bags = raw.check(10, out_of_range).unwrap();
        assert_eq!(bags.n_out_of_range(), 3);
        let found = combined(&V5E, table, &bags, Combiner::Mean);
        let expected = reference::bag(&sample(table, 2), &bags, Combiner::Mean).unwrap();
        close(&first_rows(&found, 4), &expected, 64);
    }
    assert_refused(raw.check(10, OutOfRange::Error), "embedding::id_range", &["id -1 of bag 0"]);
}

#[test]
fn rows_of_no_bag_are_not_read_into_one() {
    // Row 0 fills units up, and row 5 has a weight of 0.
    let table = TableShape::f32(8, 128);
    let ids = [5, 6, 7];
    let bags = RawBags::fixed(&ids, 3).weights(&[0.0, 1.0, 2.0]);
    let bags = bags.check(8, OutOfRange::Error).unwrap();
    let form = BagForm::of(&bags, Combiner::Sum);
    let lookup = BagLookup::new(&V5E, table, BagLookup::padded(&V5E, table, 1, form), form);
    let lookup = lookup.unwrap();
    let mut values = sample(table, 3).to_f32();
    values[..128].fill(f32::NAN);
    values[5 * 128..6 * 128].fill(f32::INFINITY);
    let table = Array::from_f32(&[8, 128], values).unwrap();
    let batch = lookup.batch(&bags, Combiner::Sum).unwrap();
    let inputs: Vec<Array> = batch.tables.into_iter().chain([table]).collect();
    let found = run(&lookup.kernel().unwrap(), &inputs);
    assert!(found[0].to_f32().iter().all(|x| x.is_finite()));
}

#[test]
fn a_step_changes_the_rows_of_the_batch_alone() {
    let (rate, eps) = (0.25, 1e-3);
    let optimizers = [
        Optimizer::Sgd { rate },
        Optimizer::Adagrad { rate, eps },
        Optimizer::RowAdagrad { rate, eps },
    ];
    for optimizer in optimizers {
        let (rows, table_rows, width, n_bags) = (250, 700, 128, 400);
        let bags = ragged(rows, n_bags, true);
        let table = TableShape::f32(table_rows, width);
        let shape =
            StepShape { table, n_samples: n_bags, n_rows: rows, n_entries: bags.ids().len() };
        let step = Step::new(&V5E, shape, optimizer).unwrap();
        let plan = bags.plan_update(Combiner::Sum, &step.plan_shape()).unwrap();
        let lists = UpdateRows::new(&step, &plan).unwrap();
        let values = Sampler::new(3).normal(DType::F32, &[table_rows, width]);
        let gradient = Sampler::new(4).normal(DType::F32, &[n_bags, width]);
        let inputs: Vec<Array> =
            lists.gradient.tables.into_iter().chain([gradient.clone()]).collect();
        let by_row = run(&step.gradient().kernel().unwrap(), &inputs).remove(0);

        let is_by_row = matches!(optimizer, Optimizer::RowAdagrad { .. });
        let sum_width = if is_by_row { 1 } else { width };
        let sums = Sampler::new(5).uniform(DType::F32, &[table_rows, sum_width], 0.5, 2.0);
        let repeat = |of: &Array| {
            let values = of.to_f64();
            let values: Vec<f64> =
                values.iter().flat_map(|&x| [x; ROW_ACCUMULATOR_WIDTH]).collect();
            Array::from_f64(DType::F32, &[table_rows, ROW_ACCUMULATOR_WIDTH], &values).unwrap()
        };
        let accumulator = match optimizer {
            Optimizer::Sgd { .. } => None,
            Optimizer::Adagrad { .. } => Some(sums.clone()),
            Optimizer::RowAdagrad { .. } => Some(repeat(&sums)),
        };
        let inputs: Vec<Array> = [lists.rows, values.clone()]
            .into_iter()
            .chain(accumulator.clone())
            .chain([by_row])
            .collect();
        let found = run(&step.kernel().unwrap(), &inputs);

        let whole = reference::table_gradient(&bags, Combiner::Sum, &gradient).unwrap();
        let mut whole = whole.to_f64();
        whole.resize(table_rows * width, 0.0);
        let whole = Array::from_f64(DType::F32, &[table_rows, width], &whole).unwrap();
        let mut named = bags.ids().to_vec();
        named.sort_unstable();
        named.dedup();
        let of = accumulator.as_ref().map(|_| &sums);
        let (weights, sums) = reference::update(optimizer, (&values, of), &whole, &named);
        near(&found[0], &weights);
        if let Some(sums) = sums {
            near(&found[1], &if is_by_row { repeat(&sums) } else { sums });
        }
    }
}

/// Gradients cancel, so that it is the largest of their terms that rounding is measured by.
pub(super) fn near(found: &Array, expected: &Array) {
    assert_eq!(found.shape(), expected.shape());
    for (found, expected) in found.to_f64().iter().zip(expected.to_f64()) {
        assert!((found - expected).abs() <= 1e-4 * expected.abs().max(1.0), "{found} {expected}");
    }
}

#[test]
fn what_makes_no_kernel_is_refused() {
    let table = TableShape::f32(10, 128);
    let gather = |table, n| tensor_core::gather(&V5E, table, n);
    assert_refused(gather(table, 100), "kernel::argument", &["100 ids are no whole units"]);
    let odd = TableShape { dtype: DType::BF16, rows: 9, width: 128 };
    assert_refused(gather(odd, 128), "kernel::argument", &["9 rows of bf16 ends in half a pair"]);
    let whole = TableShape { dtype: DType::I32, ..table };
    assert_refused(gather(whole, 128), "kernel::argument", &["no lookup in a table of i32"]);
    let wide = TableShape::f32(10, 1 << 20);
    assert_refused(gather(wide, 128), "kernel::argument", &["too long to fetch 16 at a time"]);
    let none = TableShape::f32(0, 128);
    assert_refused(gather(none, 128), "kernel::argument", &["0 x 128 has no rows"]);
    let many = SMEM_WORDS + 128;
    assert_refused(gather(table, many), "embedding::limit", &["do not fit the 245760 of scalar"]);
    assert!(gather(table, table.most_per_call(&V5E, 1)).is_ok());

    let fixed = |hot| BagForm::Fixed { hot, combiner: Combiner::Sum };
    let bag = |n, form| BagLookup::new(&V5E, table, n, form);
    assert_refused(bag(60, fixed(2)), "kernel::argument", &["60 bags are no whole units"]);
    assert_refused(bag(128, fixed(0)), "kernel::argument", &["bags of no ids"]);
    let lookup = bag(128, fixed(2)).unwrap();
    let bags = ragged(10, 60, false);
    let batch = lookup.batch(&bags, Combiner::Sum);
    assert_refused(batch, "kernel::argument", &["Fixed", "cannot combine bags of form Ragged"]);
    let form = BagForm::Ragged { n_ids: 10, form: sparse_core::BagForm::Sum };
    let lookup = bag(64, form).unwrap();
    assert_refused(
        lookup.batch(&bags, Combiner::Sum),
        "embedding::limit",
        &["do not fit a lookup"],
    );
    let bags = ragged(10, 4, false);
    assert_refused(lookup.batch(&bags, Combiner::Mean), "kernel::argument", &["form: Scaled"]);
    let bags = ragged(10, 80, false);
    assert_refused(lookup.batch(&bags, Combiner::Sum), "embedding::limit", &["80 bags do not fit"]);
    let half = TableShape { dtype: DType::BF16, ..table };
    let shape = StepShape { table: half, n_samples: 8, n_rows: 8, n_entries: 8 };
    let step = Step::new(&V5E, shape, Optimizer::Sgd { rate: 0.1 });
    assert_refused(step, "kernel::argument", &["rows of bf16 cannot be updated in place"]);
}

#[test]
fn what_names_rows_that_are_not_there_is_refused() {
    let table = TableShape::f32(10, 128);
    let lookup = BagLookup::new(
        &V5E,
        table,
        64,
        BagForm::Ragged { n_ids: 200, form: sparse_core::BagForm::Sum },
    );
    let batch = lookup.unwrap().batch(&ragged(11, 20, false), Combiner::Sum);
    assert_refused(batch, "kernel::argument", &["ids name 11 rows of a table of 10"]);
    let fixed = BagForm::Fixed { hot: 1, combiner: Combiner::Sum };
    let lookup = BagLookup::new(&V5E, table, 128, fixed).unwrap();
    let bags = RawBags::fixed(&[10], 1).check(11, OutOfRange::Error).unwrap();
    let batch = lookup.batch(&bags, Combiner::Sum);
    assert_refused(batch, "kernel::argument", &["ids name 11 rows of a table of 10"]);

    let new = |rows, n_samples| {
        let table = TableShape::f32(rows, 128);
        let shape = StepShape { table, n_samples, n_rows: 10, n_entries: 100 };
        Step::new(&V5E, shape, Optimizer::Sgd { rate: 0.1 })
    };
    let told = ["a step of 10 rows works on 64 different ones, and the table has 63"];
    assert_refused(new(63, 20), "kernel::argument", &told);
    let step = new(100, 20).unwrap();
    let plan = ragged(10, 20, false).plan_update(Combiner::Sum, &step.plan_shape()).unwrap();
    assert!(UpdateRows::new(&step, &plan).is_ok());
    for other in [new(99, 20), new(100, 10)] {
        let rows = UpdateRows::new(&other.unwrap(), &plan);
        assert_refused(rows, "kernel::argument", &["the plan names rows or samples beyond"]);
    }
}

/// libtpu accepts every kernel on every chip, and so does the validator without a warning.
#[cfg(feature = "mlir")]
#[test]
fn every_kernel_compiles() {
    use super::sparse_core::compiles;
    for &target in Target::TPUS {
        for dtype in [DType::F32, DType::BF16] {
            for width in [128, 256] {
                let table = TableShape { dtype, rows: 100_000, width };
                let most = table.most_per_call(target, 1);
                compiles(tensor_core::gather(target, table, most).unwrap(), target);
            }
            let table = TableShape { dtype, rows: 100_000, width: 128 };
            let ragged = |form| BagForm::Ragged { n_ids: 40_000, form };
            for form in [
                BagForm::Fixed { hot: 20, combiner: Combiner::Mean },
                ragged(sparse_core::BagForm::Scaled),
                ragged(sparse_core::BagForm::Weighted),
            ] {
                let n = BagLookup::padded(target, table, 4096, form);
                let lookup = BagLookup::new(target, table, n, form).unwrap();
                compiles(lookup.kernel().unwrap(), target);
            }
        }
        let table = TableShape::f32(100_000, 128);
        let shape = StepShape { table, n_samples: 4096, n_rows: 4096, n_entries: 20_000 };
        let (rate, eps) = (0.1, 1e-8);
        for optimizer in [
            Optimizer::Sgd { rate },
            Optimizer::Adagrad { rate, eps },
            Optimizer::RowAdagrad { rate, eps },
        ] {
            compiles(Step::new(target, shape, optimizer).unwrap().kernel().unwrap(), target);
        }
    }
}
