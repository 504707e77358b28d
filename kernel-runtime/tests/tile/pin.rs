//! The twin with pinned tables computes what the kernel computes.

use systole::back::interp::{self, Options};
use systole::diag::Code;
use systole::ir::{Array, Extent, Kernel, ParamKind};
use systole::pass;
use systole::prelude::*;
use systole::target::{GENERIC, V5E};
use systole::valid;

#[tpu_kernel(grid(b: arbitrary = n, p = pages))]
fn weighted_pages(
    #[extent] n: Scalar<i32>,
    #[prefetch] lengths: Smem<i32>,
    #[prefetch] weights: Smem<f32>,
    #[prefetch(batch, pages)] table: Smem<i32>,
    #[block(slots: squeezed @ table[(b, p)], s, d)] cache: In<f32>,
    #[block(r: 8 @ 0, d)] o: InOut<f32>,
) {
    if p < lengths[b] {
        o[..] += cache[..] * weights[b] + lengths[0].cast::<f32>() + n.cast::<f32>();
    }
}

fn ints(shape: &[usize], values: &[i32]) -> Array {
    let values: Vec<f64> = values.iter().map(|&x| f64::from(x)).collect();
    Array::from_f64(DType::I32, shape, &values).unwrap()
}

fn inputs(table: &[i32]) -> Vec<Array> {
    let cache = (0..16 * 8 * 128).map(|e| (e % 23) as f32 - 7.0).collect();
    vec![
        Array::scalar(3),
        ints(&[4], &[2, 5, 0, 1]),
        Array::from_f32(&[4], vec![1.0, 0.5, 0.5, 2.0]).unwrap(),
        ints(&[4, 5], table),
        Array::from_f32(&[16, 8, 128], cache).unwrap(),
        Array::from_f32(&[8, 128], vec![1.0; 1024]).unwrap(),
    ]
}

fn kernel() -> Kernel {
    let args: Vec<ArgSpec> = inputs(&[0; 20]).iter().map(ArgSpec::from).collect();
    weighted_pages().trace(&args).unwrap()
}

fn run(kernel: Kernel, inputs: &[Array]) -> Vec<Array> {
    let valid = valid::check(kernel, &GENERIC).unwrap_or_else(|errors| panic!("{errors}"));
    let outcome = interp::run(&valid, inputs, &Options::default());
    outcome.unwrap_or_else(|errors| panic!("{errors}")).outputs
}

#[test]
fn the_twin_gives_the_same_results_without_tables() {
    // In order, scattered, constant, with steps of two, and with a jump at the end.
    let in_order: Vec<i32> = (0..20).map(|e| e % 16).collect();
    let scattered: Vec<i32> = (0..20).map(|e| (e * 7 + e / 3) % 16).collect();
    let steps: Vec<i32> = (0..20).map(|e| (e % 5) * 2 + e / 5).collect();
    let mut jump = vec![3; 20];
    jump[19] = 15;
    for table in [in_order, scattered, vec![4; 20], steps, jump] {
        let inputs = inputs(&table);
        let kernel = kernel();
        let twin = pass::pin(&kernel, &inputs).unwrap();
        assert!(twin.params.iter().all(|param| param.kind != ParamKind::Prefetch));
        assert_eq!(twin.grid[0].extent, Extent::Static(3));
        assert!(pass::is_pinnable(&kernel) && !pass::is_pinnable(&twin));
        valid::check(twin.clone(), &V5E).unwrap();
        let expected = run(kernel, &inputs);
        assert_eq!(run(twin.clone(), &inputs[4..]), expected, "{table:?}");
        assert_eq!(run(pass::fold(&twin), &inputs[4..]), expected, "{table:?}");
    }
}

#[test]
fn a_table_in_order_takes_one_choice() {
    let table: Vec<i32> = (0..20).map(|e| e % 16).collect();
    let twin = pass::fold(&pass::pin(&kernel(), &inputs(&table)).unwrap());
    let map = twin.params[0].window.as_ref().unwrap().index_map;
    let mut n_selects = 0;
    twin.walk(map, &mut |_, op| n_selects += usize::from(op.op.mnemonic() == "select"));
    assert_eq!(n_selects, 1, "{twin}");
}

#[test]
fn tables_that_do_not_fit_are_refused() {
    let mut few = inputs(&[0; 20]);
    few.truncate(3);
    let error = pass::pin(&kernel(), &few).unwrap_err();
    assert_eq!(error.code, Code::PASS_PIN);
    assert_eq!(error.message, "the table `table` is not given");
    let mut other = inputs(&[0; 20]);
    other[1] = Array::zeros(DType::I32, &[5]);
    let error = pass::pin(&kernel(), &other).unwrap_err();
    assert_eq!(error.message, "the table `lengths` is i32[4], but i32[5] was given");
    other[0] = Array::scalar(0);
    let error = pass::pin(&kernel(), &other).unwrap_err();
    assert_eq!(error.message, "grid axis `b` would have 0 steps");
    let error = pass::pin(&kernel(), &[]).unwrap_err();
    assert_eq!(error.message, "grid axis `b` is given no extent, an i32 scalar");
}

/// Numbers of the input pass through scratch and a loop; with `steered`, one decides.
#[tpu_kernel(grid(i))]
fn scaled(
    #[comptime] steered: bool,
    #[block(k)] numbers: SmemIn<f32>,
    #[block(m: 8 @ i, n)] x: InOut<f32>,
    #[scratch([1])] last: Smem<f32>,
) {
    last[0] = numbers[0];
    let mut factor = scalar::<f32>(1.0);
    for j in 0..k {
        factor = factor * last[0] + numbers[j];
    }
    x[..] *= factor;
    if comptime!(steered) {
        if factor > 2.0 {
            x[..] += 1.0;
        }
    }
}

#[test]
fn inputs_in_scalar_memory_steer_a_kernel_if_they_decide_what_runs() {
    let args = [ArgSpec::of::<f32>(&[4]), ArgSpec::of::<f32>(&[16, 128])];
    for steered in [false, true] {
        let kernel = scaled(steered).trace(&args).unwrap();
        assert_eq!(pass::is_steered(&kernel), steered, "{kernel}");
        assert!(!pass::is_pinnable(&kernel));
    }
    // Tables are pinned instead.
    assert!(!pass::is_steered(&kernel()));
}
