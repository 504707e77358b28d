//! The named specs of embedding lookups.
//!
//! `tc` specs run on TensorCores, `sc` specs on SparseCores, which v4 and v5e do not have. Ids are
//! the same whatever the seed, the table is not. A SparseCore kernel orders the ids of bags by its
//! chip; inputs are in the order of the two subcores that there are off chips.

use super::sparse_core::{self, BagLookup, BagShape, StepShape, UpdateLists};
use super::tensor_core::{self, BagForm, TableShape};
use super::{Bags, Combiner, Optimizer, OutOfRange, RawBags, Sharding, UpdateShape, dlrm};
use super::{TENSOR_LIMIT_BYTES, reference};
use crate::xla::Main;
use systole::diag::Diagnostics;
use systole::ir::{Array, DType};
use systole::run::{Sampler, Spec, Tolerance};
use systole::target::{GENERIC, SparseCores, Target, V6E};

/// Gathers of rows.
pub fn gather() -> Vec<Spec> {
    let table = |dtype, rows| TableShape { dtype, rows, width: 128 };
    let (f32, bf16) = (DType::F32, DType::BF16);
    // Every 24th row: a table of ids that libtpu's model can be told, so that it has an estimate.
    let every = |rows: usize, n: usize| (0..n).map(move |at| (at * 24 % rows) as i32).collect();
    let mixed = |rows: usize, n: usize| (0..n).map(move |at| (at * at * 7 % rows) as i32).collect();
    vec![
        tensor_gather(table(f32, 100_000), every(100_000, 4096)).tag(Spec::LARGE),
        tensor_gather(table(f32, 1000), mixed(1000, 512)),
        tensor_gather(table(bf16, 1000), mixed(1000, 512)),
        sparse_gather(1000, mixed(1000, 2048)),
    ]
}

fn name(core: &str, table: TableShape, rest: &str) -> String {
    format!("{core}_{}_v{}_d{}_{rest}", table.dtype, table.rows, table.width)
}

/// Ids read, rows read, rows written.
fn gather_bytes(table: TableShape, n: usize) -> u64 {
    (n * (4 + 2 * table.width * table.dtype.size_bytes())) as u64
}

fn tensor_gather(table: TableShape, ids: Vec<i32>) -> Spec {
    let n = ids.len();
    Spec::new(name("tc", table, &format!("n{n}")), table.dtype)
        .work(0, gather_bytes(table, n))
        .build(move |target| tensor_core::gather(target, table, n))
        .inputs(move |seed| vec![sparse_core::integers(ids.clone()), values(table, seed)])
        .reference(|inputs| vec![reference::gather(&inputs[1], &inputs[0])])
        .xla(move || {
            let mut main = Main::default();
            let ids = main.arg(DType::I32, &[n]);
            let values = main.arg(table.dtype, &[table.rows, table.width]);
            let rows = main.rows(&values, &ids);
            main.finish(&[rows])
        })
}

fn sparse_gather(rows: usize, ids: Vec<i32>) -> Spec {
    let (table, n) = (TableShape::f32(rows, dlrm::WIDTH), ids.len());
    Spec::new(name("sc", table, &format!("n{n}")), table.dtype)
        .work(0, gather_bytes(table, n))
        .build(move |target| sparse_core::gather(&cores(target)?, [rows, dlrm::WIDTH], n))
        .inputs(move |seed| vec![values(table, seed), sparse_core::integers(ids.clone())])
        .reference(|inputs| vec![reference::gather(&inputs[0], &inputs[1])])
}

/// The SparseCores of a chip. Of chips without them those of v6e, for which the validator says that
/// they have none; off chips two subcores.
fn cores(target: &Target) -> Result<SparseCores, Diagnostics> {
    let cores = sparse_core::cores(if target.sparse().is_some() { target } else { &V6E })?;
    let few = SparseCores { n_cores: 1, n_subcores: 2, ..cores };
    Ok(if target.is_tpu() { cores } else { few })
}

/// Values in 1..2, of which sums do not cancel.
fn values(table: TableShape, seed: u64) -> Array {
    Sampler::new(seed).uniform(table.dtype, &[table.rows, table.width], 1.0, 2.0)
}

/// Sums of rows.
pub fn bag() -> Vec<Spec> {
    let table = |dtype, rows| TableShape { dtype, rows, width: 128 };
    let (f32, bf16) = (DType::F32, DType::BF16);
    let (sum, mean) = (Combiner::Sum, Combiner::Mean);
    let large = || in_order(100_000, 1024, 8);
    vec![
        tensor_bag(table(f32, 100_000), large(), sum, "h8").map(|spec| spec.tag(Spec::LARGE)),
        tensor_bag(table(f32, 1000), fixed(1000, 256, 3, 7), mean, "h3_mean"),
        tensor_bag(table(f32, 1000), ragged(1000, 256, false), mean, "ragged_mean"),
        tensor_bag(table(bf16, 1000), ragged(1000, 256, true), sum, "ragged_weighted"),
        sparse_bag(1000, fixed(1000, 2048, 3, 7), sum, "h3"),
        sparse_bag(1000, ragged(1000, 2048, true), sum, "ragged_weighted"),
    ]
    .into_iter()
    // The bags above are good ones.
    .filter_map(Result::ok)
    .collect()
}

/// Bags of `hot` ids each, every twelfth row in the order in which they are fetched: as of `every`,
/// this has an estimate.
fn in_order(rows: usize, n_bags: usize, hot: usize) -> Result<Bags, Diagnostics> {
    const UNIT: usize = 128;
    let place = |bag: usize, j: usize| bag / UNIT * (hot * UNIT) + j * UNIT + bag % UNIT;
    let ids = (0..n_bags).flat_map(|bag| (0..hot).map(move |j| place(bag, j) * 12 % rows));
    let ids: Vec<usize> = ids.collect();
    RawBags::fixed(&ids, hot).check(rows, OutOfRange::Error)
}

/// Bags of `hot` ids each, `step` rows apart.
fn fixed(rows: usize, n_bags: usize, hot: usize, step: usize) -> Result<Bags, Diagnostics> {
    let ids: Vec<i32> = (0..n_bags * hot).map(|at| (at * step % rows) as i32).collect();
    RawBags::fixed(&ids, hot).check(rows, OutOfRange::Error)
}

/// Bags of 0 to 4 ids, some of them twice.
fn ragged(rows: usize, n_bags: usize, weighted: bool) -> Result<Bags, Diagnostics> {
    let mut offsets = vec![0_usize];
    for bag in 0..n_bags {
        offsets.push(offsets[bag] + bag * 5 % 7 % 5);
    }
    let n = offsets[n_bags];
    let ids: Vec<i32> = (0..n).map(|at| (at * 13 / 2 % rows) as i32).collect();
    let weights: Vec<f32> = (0..n).map(|at| (at % 5) as f32 * 0.5 + 0.5).collect();
    let bags = RawBags::ragged(&ids, &offsets);
    let bags = if weighted { bags.weights(&weights) } else { bags };
    bags.check(rows, OutOfRange::Error)
}

/// What is common to the lookups of bags.
fn bag_spec(core: &str, table: TableShape, bags: &Bags, rest: &str) -> Spec {
    let (n_ids, n_bags) = (bags.ids().len(), bags.n_bags());
    let row_bytes = table.width * table.dtype.size_bytes();
    let bytes = n_ids * (4 + row_bytes) + n_bags * row_bytes;
    Spec::new(name(core, table, &format!("b{n_bags}_{rest}")), table.dtype)
        .work((n_ids * table.width) as u64, bytes as u64)
        .tolerance(match table.dtype {
            DType::F32 => Tolerance::ulp(64),
            _ => Tolerance::ulp(1),
        })
}

/// What a reference that fails gives, which no result equals.
fn outputs(found: Result<Array, Diagnostics>) -> Vec<Array> {
    found.into_iter().collect()
}

fn tensor_bag(
    table: TableShape,
    bags: Result<Bags, Diagnostics>,
    combiner: Combiner,
    rest: &str,
) -> Result<Spec, Diagnostics> {
    let bags = bags?;
    let (form, n) = (BagForm::of(&bags, combiner), bags.n_bags());
    let lookup = move |target: &Target| tensor_core::BagLookup::new(target, table, n, form);
    let tables = lookup(&GENERIC)?.batch(&bags, combiner)?.tables;
    Ok(bag_spec("tc", table, &bags, rest)
        .build(move |target| lookup(target)?.kernel())
        .inputs(move |seed| tables.iter().cloned().chain([values(table, seed)]).collect())
        .reference(move |inputs| {
            let table = inputs.last().into_iter();
            table.flat_map(|table| outputs(reference::bag(table, &bags, combiner))).collect()
        }))
}

fn sparse_bag(
    rows: usize,
    bags: Result<Bags, Diagnostics>,
    combiner: Combiner,
    rest: &str,
) -> Result<Spec, Diagnostics> {
    let (table, bags) = (TableShape::f32(rows, dlrm::WIDTH), bags?);
    let shape = BagShape { table: [rows, dlrm::WIDTH], hot: bags.max_hot(), n_bags: bags.n_bags() };
    let form = sparse_core::BagForm::of(&bags, combiner);
    let lookup = move |target: &Target| BagLookup::new(&cores(target)?, shape, form);
    let batch = lookup(&GENERIC)?.batch(&bags, combiner)?;
    Ok(bag_spec("sc", table, &bags, rest)
        .build(move |target| lookup(target)?.kernel())
        .inputs(move |seed| vec![values(table, seed), batch.ids.clone(), batch.factors.clone()])
        .reference(move |inputs| outputs(reference::bag(&inputs[0], &bags, combiner))))
}

/// The tables of DLRM v2 on SparseCores, 16,384 samples at a time, one shard of those that are more
/// than 16 GiB. Off chips they have at most 2,000 rows, and there are 64 samples.
pub fn dlrm() -> Vec<Spec> {
    // Of the tables that fit one array: one small, one large, one with many ids per bag.
    const TYPICAL: [usize; 3] = [5, 10, 14];
    let spec = |feature| {
        let (spec, is_split) = dlrm_table(feature);
        let is_extra = !is_split && !TYPICAL.contains(&feature);
        if is_extra { spec.tag(Spec::EXTRA) } else { spec }
    };
    (0..dlrm::TABLES.len()).map(spec).collect()
}

/// The lookup of one table, and whether the table is too large for one array.
fn dlrm_table(feature: usize) -> (Spec, bool) {
    const N_BAGS: usize = 16_384;
    let ((rows, hot), width) = (dlrm::TABLES[feature], dlrm::WIDTH);
    let n_shards =
        Sharding::fitting(rows, 4 * width, TENSOR_LIMIT_BYTES).map_or(1, Sharding::n_shards);
    let (small, rows) = (rows.min(2000), rows.div_ceil(n_shards));
    let shape = move |target: &Target| match target.is_tpu() {
        true => BagShape { table: [rows, width], hot, n_bags: N_BAGS },
        false => BagShape { table: [small, width], hot, n_bags: 64 },
    };
    let lookup = move |target: &'static Target| {
        BagLookup::new(&cores(target)?, shape(target), sparse_core::BagForm::Sum)
    };
    let bags = move || {
        let ids = dlrm::ids(feature, small, 64, 1);
        RawBags::fixed(&ids, hot).check(small, OutOfRange::Error)
    };
    let batch = move || lookup(&GENERIC)?.batch(&bags()?, Combiner::Sum);
    let shards = if n_shards > 1 { format!("x{n_shards}") } else { String::new() };
    let n_ids = N_BAGS * hot;
    let spec = Spec::new(format!("t{feature}_v{rows}{shards}_h{hot}_b{N_BAGS}"), DType::F32)
        .work((n_ids * width) as u64, (n_ids * (4 + 4 * width) + N_BAGS * 4 * width) as u64)
        .tolerance(Tolerance::ulp(64))
        .tag("dlrm-v2")
        .build(move |target| lookup(target)?.kernel())
        .inputs(move |seed| {
            let table = values(TableShape::f32(small, width), seed);
            let batch = batch().into_iter().flat_map(|batch| [batch.ids, batch.factors]);
            std::iter::once(table).chain(batch).collect()
        })
        .reference(move |inputs| {
            outputs(bags().and_then(|bags| reference::bag(&inputs[0], &bags, Combiner::Sum)))
        });
    (spec, n_shards > 1)
}

/// Updates of the rows that a batch names.
pub fn update() -> Vec<Spec> {
    let optimizer = Optimizer::Adagrad { rate: 0.25, eps: 1e-3 };
    let specs = [tensor_update(optimizer), sparse_update(optimizer)];
    specs.into_iter().filter_map(Result::ok).collect()
}

const UPDATED: TableShape = TableShape { dtype: DType::F32, rows: 1000, width: 128 };
const N_SAMPLES: usize = 256;

fn update_spec(core: &str, optimizer: Optimizer, n_rows: usize) -> Spec {
    let TableShape { rows, width, .. } = UPDATED;
    let n_arrays = if matches!(optimizer, Optimizer::Sgd { .. }) { 3 } else { 5 };
    let name = format!("{core}_f32_v{rows}_d{width}_n{n_rows}_{}", optimizer.name());
    let work = (n_rows * width) as u64;
    Spec::new(name, DType::F32)
        .work(work * (n_arrays - 1), work * 4 * n_arrays)
        .tolerance(Tolerance::ulp(64).floor(1e-6, "a gradient may take a weight to almost 0"))
}

/// The accumulator of Adagrad; no other optimizer is among the specs that has one.
fn accumulator(optimizer: Optimizer, seed: u64) -> Option<Array> {
    let is_sgd = matches!(optimizer, Optimizer::Sgd { .. });
    (!is_sgd).then(|| values(UPDATED, seed + 1))
}

/// The rows that ids name, and the gradient of the whole table.
fn updated(
    optimizer: Optimizer,
    table: &Array,
    accumulator: Option<&Array>,
    gradient: Result<Array, Diagnostics>,
    named: &[i32],
) -> Vec<Array> {
    let Ok(gradient) = gradient else { return Vec::new() };
    let (table, sums) = reference::update(optimizer, (table, accumulator), &gradient, named);
    std::iter::once(table).chain(sums).collect()
}

fn tensor_update(optimizer: Optimizer) -> Result<Spec, Diagnostics> {
    let (n_rows, width) = (256, UPDATED.width);
    let shape = tensor_core::StepShape {
        table: UPDATED,
        n_samples: N_SAMPLES,
        n_rows,
        n_entries: 4 * n_rows,
    };
    let ids: Vec<i32> = (0..n_rows).map(|at| (at * 7 % UPDATED.rows) as i32).collect();
    let named = ids.clone();
    let gradient = move |inputs: &[Array]| {
        let rows = inputs.last().map(Array::to_f64).unwrap_or_default();
        let mut whole = vec![0.0; UPDATED.rows * width];
        for (&id, row) in named.iter().zip(rows.chunks(width)) {
            whole[id as usize * width..][..width].copy_from_slice(row);
        }
        (crate::array(DType::F32, &[UPDATED.rows, width], &whole), named.clone())
    };
    Ok(update_spec("tc", optimizer, n_rows)
        .build(move |target| tensor_core::Step::new(target, shape, optimizer)?.kernel())
        .inputs(move |seed| {
            let gradient = Sampler::new(seed + 2).normal(DType::F32, &[n_rows, width]);
            let ids = sparse_core::integers(ids.clone());
            let state = std::iter::once(values(UPDATED, seed)).chain(accumulator(optimizer, seed));
            std::iter::once(ids).chain(state).chain([gradient]).collect()
        })
        .reference(move |inputs| {
            let (whole, named) = gradient(inputs);
            let sums = inputs.get(2).filter(|_| inputs.len() > 3);
            updated(optimizer, &inputs[1], sums, Ok(whole), &named)
        }))
}

fn sparse_update(optimizer: Optimizer) -> Result<Spec, Diagnostics> {
    let bags = ragged(500, N_SAMPLES, true)?;
    let width = UPDATED.width;
    let lists = move |target: &Target| {
        let cores = cores(target)?;
        let (rows, entries) = (cores.n_cores * cores.n_subcores, 1 << 15);
        // As many rows and entries in all, whatever the number of lists.
        let rows_per_list = (512 / rows).next_multiple_of(16).max(16);
        let entries_per_list = (entries / rows / 16).next_multiple_of(16);
        Ok::<_, Diagnostics>((cores, rows_per_list, entries_per_list))
    };
    let kernel = move |target: &'static Target| {
        let (cores, rows_per_list, entries_per_list) = lists(target)?;
        let table = [UPDATED.rows, width];
        let shape = StepShape { table, n_samples: N_SAMPLES, rows_per_list, entries_per_list };
        sparse_core::step(&cores, &shape, optimizer)
    };
    let (cores, rows_per_list, entries_per_list) = lists(&GENERIC)?;
    let shape = UpdateShape {
        n_lists: cores.n_cores * cores.n_subcores,
        table_rows: UPDATED.rows,
        rows_per_list: Some(rows_per_list),
        entries_per_list: Some(entries_per_list),
    };
    let plan = bags.plan_update(Combiner::Sum, &shape)?;
    let arrays = UpdateLists::new(&cores, &plan)?;
    let arrays = [arrays.rows, arrays.samples, arrays.places, arrays.gains];
    Ok(update_spec("sc", optimizer, 512)
        .build(kernel)
        .inputs(move |seed| {
            let gradient = Sampler::new(seed + 2).normal(DType::F32, &[N_SAMPLES, width]);
            let state = std::iter::once(values(UPDATED, seed)).chain(accumulator(optimizer, seed));
            state.chain([gradient]).chain(arrays.clone()).collect()
        })
        .reference(move |inputs| {
            let gradient = reference::table_gradient(&bags, Combiner::Sum, &inputs[2]);
            let whole = gradient.map(|of_named| {
                let mut values = of_named.to_f64();
                values.resize(UPDATED.rows * width, 0.0);
                crate::array(DType::F32, &[UPDATED.rows, width], &values)
            });
            updated(optimizer, &inputs[0], inputs.get(1), whole, &bags.unique().ids)
        }))
}
