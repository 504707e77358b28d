//! Absurd sizes: each is told, and what is computed from it overflows nowhere.

use super::{HEADS, SIZES};
use systole::diag::Diagnostics;
use systole::prelude::*;
use systole::target::{GENERIC, SparseCores, V4, V5E, V6E};
use systole_kernels::embedding::sparse_core::{self, BagShape};
use systole_kernels::embedding::tensor_core::{self, BagForm, BagLookup, Step, StepShape};
use systole_kernels::embedding::{
    Bags, Combiner, Limits, Lookup, Optimizer, OutOfRange, Placement, RawBags, Stack, StackLimits,
    Table, TableShape, UpdateShape, dlrm,
};
use systole_kernels::flash_attention::{self, Attention, Heads};
use systole_kernels::paged_attention::{self, PagedAttention, Sizes};
use systole_kernels::{
    collectives, layer_norm, matmul, matmul_quantized, rms_norm, scale_add, softmax,
};

/// The first that an `i32` does not reach, multiples of all units, and the last of all.
const ABSURD: [usize; 5] = [1 << 31, 1 << 40, 1 << 62, usize::MAX - (1 << 20) + 1, usize::MAX];

/// Refused, with the code of some builder.
#[track_caller]
fn refused<T>(result: Result<T, Diagnostics>, what: &str, n: usize) {
    let Err(problems) = result else { panic!("{what} of {n} is taken") };
    let codes = ["kernel::argument", "embedding::limit", "trace::dim", "trace::grid"];
    assert!(problems.iter().all(|p| codes.contains(&p.code.as_str())), "{what}: {problems}");
    let told = problems.to_string();
    assert!(told.contains(|c: char| c.is_ascii_digit()), "{what} of {n}: no number: {told}");
}

#[test]
fn attention_of_absurd_sizes_is_refused() {
    for n in ABSURD {
        for heads in [
            Heads { b: n, ..HEADS },
            Heads { h: n, kv_h: 1, ..HEADS },
            Heads { kv_h: n, h: n, ..HEADS },
            Heads { sq: n, ..HEADS },
            Heads { sk: n, ..HEADS },
            Heads { d: n, ..HEADS },
        ] {
            let attention = Attention::new();
            for target in [&V4, &V5E, &V6E] {
                refused(attention.kernel(target, DType::F32, heads, true), "attention", n);
                flash_attention::Blocks::for_target(target, &attention, heads, DType::F32);
            }
            let blocks = flash_attention::Blocks::with_side(&V5E, &attention, heads, n);
            assert!(blocks.zq <= 1 << 20 && blocks.zk <= 1 << 20, "{blocks:?}");
        }
        for sizes in [
            Sizes { b: n, ..SIZES },
            Sizes { h: n, kv_h: 1, ..SIZES },
            Sizes { kv_h: n, h: n, ..SIZES },
            Sizes { d: n, ..SIZES },
            Sizes { page: n, ..SIZES },
            Sizes { pool: n, ..SIZES },
            Sizes { entries: n, ..SIZES },
        ] {
            for target in [&GENERIC, &V4, &V5E] {
                let kernel = PagedAttention::new().kernel(target, DType::BF16, sizes);
                refused(kernel, "paged attention", n);
                paged_attention::Blocks::for_target(target, DType::BF16, sizes);
            }
        }
        let own = paged_attention::Blocks {
            pages: 8,
            buffers: 2,
            sequences: n,
            vmem_limit_bytes: 16 << 20,
        };
        let attention = PagedAttention { blocks: Some(own), ..PagedAttention::new() };
        refused(attention.kernel(&V5E, DType::BF16, SIZES), "a grid step", n);
    }
}

#[test]
fn dense_kernels_of_absurd_sizes_are_refused() {
    for n in ABSURD {
        for sizes in [[n, 8, 128], [8, n, 128], [8, 128, n]] {
            let options = matmul::MatmulOptions::default();
            refused(matmul::build(&V5E, DType::BF16, options, sizes), "matmul", n);
            for group in [0, 128] {
                let product = matmul_quantized::build(&V5E, DType::I8, sizes, group);
                refused(product, "matmul_quantized", n);
            }
        }
        let product = matmul_quantized::build(&V5E, DType::I8, [8, 128, 128], n);
        refused(product, "groups", n);
        for shape in [[n, 128], [16, n]] {
            refused(softmax::build(&V5E, DType::F32, &shape), "softmax", n);
            refused(rms_norm::build(&V5E, DType::F32, &shape, 1e-6), "rms_norm", n);
            refused(layer_norm::build(&V5E, DType::F32, &shape, 1e-6), "layer_norm", n);
            refused(scale_add::build(DType::F32, 2.0, shape), "scale_add", n);
            for collective in
                [collectives::all_gather, collectives::reduce_scatter, collectives::all_to_all]
            {
                refused(collective(DType::F32, 2, shape), "collective", n);
                refused(collective(DType::F32, n, [8, 128]), "devices", n);
            }
        }
    }
    for shape in [[0, 128], [8, 0]] {
        for collective in
            [collectives::all_gather, collectives::reduce_scatter, collectives::all_to_all]
        {
            refused(collective(DType::F32, 2, shape), "nothing", 0);
        }
    }
}

fn bags(rows: usize) -> Bags {
    RawBags::fixed(&[0, 1, 2, 3], 2).check(rows, OutOfRange::Error).unwrap()
}

#[test]
fn lookups_of_absurd_sizes_are_refused() {
    let (table, sum) = (TableShape::f32(100, 128), Combiner::Sum);
    for n in ABSURD {
        for target in [&GENERIC, &V4, &V6E] {
            for odd in [TableShape { rows: n, ..table }, TableShape { width: n, ..table }] {
                refused(Lookup::new(target, odd, &bags(100), sum), "a table", n);
                refused(tensor_core::gather(target, odd, 128), "a table", n);
                assert!(odd.padded(target, n) >= n);
                odd.most_per_call(target, n);
            }
            refused(tensor_core::gather(target, table, n), "ids", n);
            let fixed = BagForm::Fixed { hot: n, combiner: sum };
            let ragged = |n_ids| BagForm::Ragged { n_ids, form: sparse_core::BagForm::Weighted };
            for (n_bags, form) in [(128, fixed), (n, ragged(8)), (128, ragged(n))] {
                refused(BagLookup::new(target, table, n_bags, form), "bags", n);
            }
            let shape = StepShape { table, n_samples: 8, n_rows: 8, n_entries: 8 };
            for shape in [
                StepShape { n_samples: n, ..shape },
                StepShape { n_rows: n, ..shape },
                StepShape { n_entries: n, ..shape },
            ] {
                refused(Step::new(target, shape, Optimizer::Sgd { rate: 0.1 }), "a step", n);
            }
        }
        refused(dlrm::batch(n, 100, 0), "samples", n);
    }
}

#[test]
fn subcores_are_not_given_absurd_sizes() {
    let cores: SparseCores = V6E.sparse().unwrap();
    for n in ABSURD {
        assert!(sparse_core::padded(&cores, n) >= n);
        for (table, n_ids) in [([n, 128], 1024), ([100, n], 1024), ([100, 128], n)] {
            refused(sparse_core::gather(&cores, table, n_ids), "a gather", n);
        }
        let shape = BagShape { table: [100, 128], hot: 2, n_bags: 1024 };
        for shape in [
            BagShape { table: [100, n], ..shape },
            BagShape { hot: n, ..shape },
            BagShape { n_bags: n, ..shape },
        ] {
            let form = sparse_core::BagForm::Sum;
            refused(sparse_core::BagLookup::new(&cores, shape, form), "bags", n);
        }
        let shape = sparse_core::StepShape {
            table: [10_000, 128],
            n_samples: 100,
            rows_per_list: 16,
            entries_per_list: 16,
        };
        for shape in [
            sparse_core::StepShape { table: [n, 128], ..shape },
            sparse_core::StepShape { table: [10_000, n], ..shape },
            sparse_core::StepShape { n_samples: n, ..shape },
            sparse_core::StepShape { rows_per_list: n, ..shape },
            sparse_core::StepShape { entries_per_list: n, ..shape },
        ] {
            let step = sparse_core::step(&cores, &shape, Optimizer::Sgd { rate: 0.1 });
            refused(step, "a step", n);
        }
    }
}

#[test]
fn batches_are_not_laid_out_for_absurd_sizes() {
    let bags = bags(100);
    for n in ABSURD {
        let shape = UpdateShape {
            n_lists: 2,
            table_rows: 100,
            rows_per_list: None,
            entries_per_list: None,
        };
        for shape in [
            UpdateShape { n_lists: n, ..shape },
            UpdateShape { table_rows: n, ..shape },
            UpdateShape { rows_per_list: Some(n), ..shape },
            UpdateShape { entries_per_list: Some(n), ..shape },
        ] {
            refused(bags.plan_update(Combiner::Sum, &shape), "lists", n);
        }
        let limits = Limits { ids: 8, unique_ids: 8, capacity: n };
        for placement in [
            Placement { n_shards: n, ..Placement::new(2, 2) },
            Placement { n_cores: n, ..Placement::new(2, 2) },
            Placement { limits: Some(limits), ..Placement::new(2, 2) },
        ] {
            refused(bags.partition(Combiner::Sum, &placement), "a placement", n);
        }
        let limits = StackLimits { shard_bytes: 1 << 30, activation_bytes: 1, samples_per_core: 1 };
        let many = StackLimits { samples_per_core: n, activation_bytes: 1 << 30, ..limits };
        for (rows, width, limits) in [(n, 8, limits), (8, n, limits), (8, 8, many)] {
            let table = Table { name: "t".to_owned(), rows, width };
            refused(Stack::plan(&[table], 2, &limits), "a stack", n);
        }
    }
}
