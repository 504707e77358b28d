//! How long the host takes to prepare a batch of DLRM v2: 65,536 samples, 26 tables, 14 million ids.

#![allow(clippy::expect_used, reason = "a bench that cannot set itself up has nothing to measure")]

use criterion::{BatchSize, Criterion, Throughput};
use std::hint::black_box;
use systole_kernels::embedding::{
    Bags, Combiner, OutOfRange, Placement, RawBags, Stack, StackLimits, UpdateShape, dlrm,
};

fn main() {
    let mut c = Criterion::default().configure_from_args();
    let ids: Vec<Vec<i32>> = (0..26)
        .map(|feature| dlrm::ids(feature, dlrm::TABLES[feature].0, dlrm::BATCH, 1))
        .collect();
    let batch = dlrm::batch(dlrm::BATCH, usize::MAX, 1).expect("ids in range");
    let n_ids: usize = ids.iter().map(Vec::len).sum();
    let mut group = c.benchmark_group(format!("embedding, {n_ids} ids"));
    group.throughput(Throughput::Elements(n_ids as u64)).sample_size(10);
    group.bench_function("check", |b| {
        b.iter(|| {
            for (ids, (rows, hot)) in ids.iter().zip(dlrm::TABLES) {
                let bags = RawBags::fixed(black_box(ids), hot).check(rows, OutOfRange::Error);
                black_box(bags).expect("ids in range");
            }
        });
    });
    let each = |f: &dyn Fn(&Bags)| batch.iter().for_each(f);
    group.bench_function("unique ids and their positions", |b| {
        b.iter(|| each(&|bags| drop(black_box(bags.unique()))));
    });
    group.bench_function("merge repeats", |b| {
        b.iter(|| each(&|bags| drop(black_box(bags.merge_repeats(Combiner::Sum)))));
    });
    for (n_shards, n_cores) in [(16, 16), (256, 8)] {
        let placement = Placement::new(n_shards, n_cores);
        let name = format!("partition over {n_shards} SparseCores for {n_cores}");
        group.bench_function(name, |b| {
            b.iter(|| each(&|bags| drop(black_box(bags.partition(Combiner::Sum, &placement)))));
        });
    }
    group.bench_function("plan of the update by 32 subcores", |b| {
        b.iter(|| {
            each(&|bags| {
                let shape = UpdateShape {
                    n_lists: 32,
                    table_rows: bags.rows() + (1 << 20),
                    rows_per_list: None,
                    entries_per_list: None,
                };
                drop(black_box(bags.plan_update(Combiner::Sum, &shape)));
            });
        });
    });
    let limits = StackLimits {
        shard_bytes: 16 << 30,
        activation_bytes: u64::MAX,
        samples_per_core: dlrm::BATCH / 16,
    };
    let stacks = Stack::plan(&dlrm::tables(usize::MAX), 16, &limits).expect("tables that fit");
    group.bench_function("stack", |b| {
        b.iter_batched(
            || (),
            |()| {
                for stack in &stacks {
                    let of = |table: usize| (&batch[table], Combiner::Sum);
                    let batches: Vec<_> = stack.tables.iter().map(|t| of(t.table)).collect();
                    drop(black_box(stack.bags(&batches, 16)));
                }
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
    c.final_summary();
}
