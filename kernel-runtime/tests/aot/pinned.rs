//! Estimates of kernels that read tables come from a twin with the tables of one call.

use super::ok;
use systole::aot::{Options, Report, Request, compile, estimate_pinned};
use systole::back::mosaic;
use systole::ir::Kernel;
use systole::prelude::*;
use systole::target::{TPU7X, Target, V5E, V6E};
use systole::valid;

/// A block-sparse product: step `(i, l)` multiplies block `cols[i, l]` of the row if `l` is below
/// the row's number of blocks.
#[tpu_kernel(grid(i: parallel, l = steps))]
fn block_sparse(
    #[comptime] steps: usize,
    #[prefetch] counts: Smem<i32>,
    #[prefetch(rows, entries)] cols: Smem<i32>,
    #[block(m: 128 @ i, k: 128 @ cols[(i, l)])] a: In<bf16>,
    #[block(k: 128 @ cols[(i, l)], n)] b: In<bf16>,
    #[block(m: 128 @ i, n)] c: Out<f32>,
    #[scratch([128, n])] acc: Vmem<f32>,
) {
    if l == 0 {
        acc[..] = 0.0;
    }
    if l < counts[i] {
        acc[..] += dot(a[..], b[..]);
    }
    if l == l.last() {
        c[..] = acc[..];
    }
}

const SHAPES: ([usize; 2], [usize; 2]) = ([512, 1024], [1024, 256]);

fn kernel() -> Kernel {
    let args = [
        ArgSpec::of::<i32>(&[4]),
        ArgSpec::of::<i32>(&[4, 8]),
        ArgSpec::of::<bf16>(&SHAPES.0),
        ArgSpec::of::<bf16>(&SHAPES.1),
    ];
    block_sparse(8).trace(&args).unwrap()
}

fn inputs(counts: [f64; 4], cols: [f64; 32]) -> Vec<Array> {
    vec![
        Array::from_f64(DType::I32, &[4], &counts).unwrap(),
        Array::from_f64(DType::I32, &[4, 8], &cols).unwrap(),
        Array::zeros(DType::BF16, &SHAPES.0),
        Array::zeros(DType::BF16, &SHAPES.1),
    ]
}

fn report(kernel: &Kernel, target: &'static Target) -> Report {
    let valid = valid::check(kernel.clone(), target).unwrap();
    let program = mosaic::call(&valid, &mosaic::Options::default()).unwrap();
    ok(compile(&Request::new("block_sparse", target, program)))
}

#[test]
fn a_kernel_that_reads_tables_has_no_estimate_of_its_own() {
    let report = report(&kernel(), &V5E);
    assert_eq!((report.cycles, report.time_us, report.hbm_bytes), (None, None, None));
    assert_eq!((report.ops.vmatmul, report.dma.n), (0, 0));
    assert!(report.cycles_note.unwrap().starts_with("no estimate: the kernel reads tables"));
    assert!(report.vmem_bytes.unwrap() > 0);
}

#[test]
fn the_twin_executes_the_products_that_the_tables_ask_for() {
    // Scattered columns, so that the table takes many choices.
    let cols: [f64; 32] = std::array::from_fn(|idx| ((idx * 5 + idx / 8 * 3) % 8) as f64);
    let kernel = kernel();
    for target in [&V5E, &V6E] {
        let own = report(&kernel, target);
        let estimate = |counts: [f64; 4]| {
            let inputs = inputs(counts, cols);
            estimate_pinned(own.clone(), &kernel, &inputs, target, &Options::default())
        };
        let (full, sparse) = (estimate([8.0; 4]), estimate([8.0, 1.0, 0.0, 3.0]));
        for report in [&full, &sparse] {
            assert!(report.cycles.is_some(), "{:?}", report.cycles_note);
            assert_eq!((report.memory, report.vmem_bytes), (own.memory, own.vmem_bytes));
        }
        // 32 products against 12 of them.
        assert_eq!(full.ops.vmatmul * 12, sparse.ops.vmatmul * 32);
        assert!(full.cycles > sparse.cycles);
        let note = sparse.cycles_note.unwrap();
        assert!(note.contains("matrix multiplications are executed"), "{note}");
    }
}

/// As [`block_sparse`], with a matrix unit under the kernel's own control.
#[tpu_kernel(grid(i: parallel))]
fn sparse_on_unit(
    #[prefetch] counts: Smem<i32>,
    #[block(m: 32 @ i, k)] a: In<bf16>,
    #[block(k, n)] b: In<bf16>,
    #[block(m: 32 @ i, n)] c: Out<f32>,
) {
    let unit = MatrixUnit::new(0);
    c[..] = zeros([32, n]);
    #[unroll]
    for l in 0..k / 256 {
        if counts[i] > l {
            unit.push_rhs(b[(ds(l * 256, 256), ..)], 0);
            unit.acc_lhs(0, a[(.., ds(l * 256, 256))], Some(0));
            c[..] += unit.pop(0, [32, n]);
        }
    }
}

#[test]
fn products_of_a_unit_under_control_are_counted() {
    let args = [
        ArgSpec::of::<i32>(&[4]),
        ArgSpec::of::<bf16>(&[128, 512]),
        ArgSpec::of::<bf16>(&[512, 256]),
    ];
    let kernel = sparse_on_unit().trace(&args).unwrap();
    let own = report(&kernel, &TPU7X);
    let estimate = |counts: [f64; 4]| {
        let inputs = [
            Array::from_f64(DType::I32, &[4], &counts).unwrap(),
            Array::zeros(DType::BF16, &[128, 512]),
            Array::zeros(DType::BF16, &[512, 256]),
        ];
        estimate_pinned(own.clone(), &kernel, &inputs, &TPU7X, &Options::default())
    };
    let (full, sparse) = (estimate([2.0; 4]), estimate([2.0, 1.0, 0.0, 0.0]));
    for report in [&full, &sparse] {
        let note = report.cycles_note.clone().unwrap();
        assert!(report.cycles.is_some(), "{note}");
        assert!(note.contains("matrix multiplications are executed"), "{note}");
    }
    // 8 products against 3 of them.
    assert_eq!(full.ops.vmatmul * 3, sparse.ops.vmatmul * 8);
}

#[test]
fn a_table_of_many_choices_has_no_estimate() {
    let args = [
        ArgSpec::of::<i32>(&[4]),
        ArgSpec::of::<i32>(&[4, 32]),
        ArgSpec::of::<bf16>(&[512, 4096]),
        ArgSpec::of::<bf16>(&[4096, 256]),
    ];
    let kernel = block_sparse(32).trace(&args).unwrap();
    let own = report(&kernel, &V5E);
    let estimate = |cols: [f64; 128]| {
        let inputs = [
            Array::from_f64(DType::I32, &[4], &[2.0; 4]).unwrap(),
            Array::from_f64(DType::I32, &[4, 32], &cols).unwrap(),
            Array::zeros(DType::BF16, &[512, 4096]),
            Array::zeros(DType::BF16, &[4096, 256]),
        ];
        estimate_pinned(own.clone(), &kernel, &inputs, &V5E, &Options::default())
    };
    // Each row of the table in order is one run.
    let in_order = || estimate(std::array::from_fn(|idx| (idx % 32) as f64));
    let estimated = in_order();
    assert!(estimated.cycles.is_some());
    // The twin's report is kept for these tables, and for no others.
    assert_eq!(in_order(), Report { from_cache: true, ..estimated });
    let scattered = estimate(std::array::from_fn(|idx| (idx * idx % 32) as f64));
    assert_eq!(scattered.cycles, None);
    let note = scattered.cycles_note.unwrap();
    assert!(note.contains("runs of entries, and a twin that chooses among more than 64"), "{note}");
}

#[test]
fn a_call_that_fails_has_no_estimate() {
    let kernel = kernel();
    let mut cols = [0.0; 32];
    cols[9] = 8.0;
    let inputs = inputs([8.0; 4], cols);
    let own = report(&kernel, &V5E);
    let report = estimate_pinned(own, &kernel, &inputs, &V5E, &Options::default());
    assert_eq!(report.cycles, None);
    let note = report.cycles_note.unwrap();
    assert!(note.starts_with("no estimate: the call that it is for fails: block 8 of"), "{note}");
}
