//! Kernels as ops on tensors.

use super::{MODES, code};
use std::cell::Cell;
use systole::diag::Diagnostics;
use systole::prelude::*;
use systole::run::{
    DebugKernels, Device, DynTensor, GradientCheck, KernelOp, Mesh, Mode, Status, Tensor,
    check_gradient, custom_vjp, fori_loop, grad, jit, with_debug_kernels, with_device, with_mode,
};

#[tpu_kernel(grid(i: parallel))]
fn scaled<T: Float>(
    #[comptime] by: f32,
    #[block(m: 8 @ i, n)] x: In<T>,
    #[block(m: 8 @ i, n)] y: Out<T>,
) {
    y[..] = (x[..].cast::<f32>() * by).cast();
}

/// Rows doubled, and the position of the largest of each.
#[tpu_kernel(grid(i: parallel))]
fn doubled_and_largest(
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
    #[block(m: 8 @ i, one)] at: Out<i32>,
    #[comptime] one: usize,
) {
    y[..] = x[..] * 2.0;
    at[..] = x[..].row_argmax();
}

#[tpu_kernel(grid(i: parallel))]
fn add_into(#[block(m: 8 @ i, n)] x: In<f32>, #[block(m: 8 @ i, n)] sum: InOut<f32>) {
    sum[..] += x[..];
}

thread_local! {
    /// How often kernels of this thread were traced.
    static TRACES: Cell<usize> = const { Cell::new(0) };
}

fn count_trace() {
    TRACES.with(|traces| traces.set(traces.get() + 1));
}

/// What `f` gives, and how many traces it took.
fn traces_of<R>(f: impl FnOnce() -> R) -> (R, usize) {
    let before = TRACES.get();
    (f(), TRACES.get() - before)
}

/// A parameter that says nothing of whether two of it are equal.
#[derive(Clone, Copy)]
struct Opaque(f32);

/// One that says it.
#[derive(Clone, PartialEq, Eq)]
struct Tiles {
    rows: usize,
    n_turns: usize,
}

#[tpu_kernel(grid(i: parallel))]
fn mapped(
    #[comptime] f: impl Fn(Tile<f32>) -> Tile<f32> + Clone,
    #[comptime] bias: Opaque,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
) {
    count_trace();
    y[..] = f(x[..]) + bias.0;
}

#[tpu_kernel(grid(i: parallel))]
fn counted(
    #[comptime] f: impl Fn(Tile<f32>) -> Tile<f32> + Clone,
    #[comptime] by: f32,
    #[comptime] tiles: Tiles,
    #[block(m: tiles.rows @ i, n)] x: In<f32>,
    #[block(m: tiles.rows @ i, n)] y: Out<f32>,
) {
    count_trace();
    y[..] = f(x[..]) * by;
    for _ in 1..tiles.n_turns.max(1) {
        y[..] = y[..] * by;
    }
}

fn tiles(rows: usize) -> Tiles {
    Tiles { rows, n_turns: 1 }
}

fn ramp(m: usize) -> Tensor<f32> {
    Tensor::iota([m, 4], 0)
}

#[test]
fn results_have_the_element_types_of_the_outputs() {
    let x = ramp(16);
    let y: Tensor<f32> = scaled::<f32>(0.5).call(&x).unwrap();
    let z: Tensor<bf16> = scaled::<bf16>(2.0).call(&x.cast::<bf16>()).unwrap();
    let (doubled, at): (Tensor<f32>, Tensor<i32>) =
        doubled_and_largest(1).call(&x.transpose(&[1, 0]).transpose(&[1, 0])).unwrap();
    assert_eq!((y.shape(), z.dtype(), at.shape()), (&[16, 4][..], DType::BF16, &[16, 1][..]));
    assert_eq!(doubled.to_vec().unwrap()[8], 4.0);
    // On host arrays the results are arrays.
    let array: Array = scaled::<f32>(0.5).call(&x.to_array().unwrap()).unwrap();
    assert_eq!(array, y.to_array().unwrap());
    // A tensor whose type is known only while running is checked while tracing.
    let error = scaled::<f32>(0.5).call(&x.cast::<i32>().to_dyn()).unwrap_err();
    assert_eq!(code(&error), "trace::argument");
}

#[test]
fn kernels_are_traced_once_for_parameters_that_can_be_told_apart() {
    let x = ramp(8);
    let call = |by: f32, rows: usize| counted(|t| t + 1.0, by, tiles(rows)).call(&x).unwrap();
    let (first, n) = traces_of(|| call(1.0, 8));
    assert_eq!(n, 1);
    assert_eq!(traces_of(|| call(1.0, 8)).1, 0);
    let (other, n) = traces_of(|| call(2.0, 8));
    assert_eq!(n, 1);
    assert_eq!(first.to_vec().unwrap()[7 * 4], 8.0);
    assert_eq!(other.to_vec().unwrap()[7 * 4], 16.0);
    assert_eq!(traces_of(|| call(2.0, 4)).1, 1);
    assert_eq!(traces_of(|| (call(1.0, 8), call(2.0, 8), call(2.0, 4))).1, 0);
    // Every part of a parameter counts.
    let turns = || counted(|t| t + 1.0, 2.0, Tiles { rows: 8, n_turns: 2 }).call(&x).unwrap();
    let (turned, n) = traces_of(turns);
    assert_eq!((n, turned.to_vec().unwrap()[7 * 4]), (1, 32.0));
    // Another closure that captures nothing is another kernel, on whatever line.
    let minus = || counted(|t| t - 1.0, 1.0, tiles(8)).call(&x).unwrap();
    let plus = || counted(|t| t + 2.0, 1.0, tiles(8)).call(&x).unwrap();
    let ((minus, plus), n) = traces_of(|| (minus(), plus()));
    let last = |y: Tensor<f32>| y.to_vec().unwrap()[7 * 4];
    assert_eq!((n, last(minus), last(plus)), (2, 6.0, 9.0));
    // Another type of the arguments too.
    assert_eq!(traces_of(|| counted(|t| t - 1.0, 1.0, tiles(8)).call(&ramp(24))).1, 1);
    // A call in another mode is the same op.
    let deferred = || with_mode(Mode::DeferAndFuse, || call(1.0, 8).to_vec().unwrap());
    assert_eq!(traces_of(deferred).1, 0);
}

#[test]
fn more_kernels_than_are_kept_are_traced_again() {
    let x = ramp(8);
    // Lowered and not run: nothing is compiled.
    let lower = |n_turns: usize| {
        let call =
            move |x: Tensor<f32>| counted(|t| t * 3.0, 2.0, Tiles { rows: 8, n_turns }).call(&x);
        let (n_ops, n_runs) = traces_of(|| jit(call).lower(&(x.clone(),)).unwrap().n_ops());
        assert_eq!(n_ops, 1);
        // A body with loops runs several times while it is traced.
        n_runs > 0
    };
    assert!((1..=600).all(&lower));
    assert!(!lower(600) && lower(1));
}

#[test]
fn parameters_that_cannot_be_told_apart_are_traced_each_time() {
    let x = ramp(8);
    let first = |y: Tensor<f32>| y.to_vec().unwrap()[0];
    let call =
        |shift: f32, bias: f32| first(mapped(move |t| t + shift, Opaque(bias)).call(&x).unwrap());
    assert_eq!((call(1.0, 0.0), call(2.0, 0.0), call(2.0, 5.0)), (1.0, 2.0, 7.0));
    // What is captured may change under the same value.
    let shift = Cell::new(1.0_f32);
    let kernel = mapped(|t| t + shift.get(), Opaque(0.0));
    let call = || first(kernel.call(&x).unwrap());
    assert_eq!(call(), 1.0);
    shift.set(2.0);
    let (shifted, n) = traces_of(call);
    assert_eq!((shifted, n), (2.0, 1));
    assert_eq!(traces_of(call).1, 1);
    // A closure that captures nothing does not help a parameter that says nothing.
    assert_eq!(first(mapped(|t| t, Opaque(3.0)).call(&x).unwrap()), 3.0);
    assert_eq!(first(mapped(|t| t, Opaque(4.0)).call(&x).unwrap()), 4.0);
}

#[test]
fn mistakes_of_a_kernel_are_told_every_time_with_the_line_of_the_call() {
    let x = ramp(8);
    for _ in 0..2 {
        let (line, result) = (line!(), counted(|t| t, 1.0, tiles(0)).call(&x));
        let error = result.unwrap_err();
        assert_eq!(code(&error), "trace::grid");
        assert!(error.0[0].labels.iter().any(|label| label.span.line == line), "{error}");
    }
    let broken = x.reshape([5]);
    let error = scaled::<f32>(1.0).call(&broken).unwrap_err();
    assert_eq!(code(&error), "tensor::shape");
}

#[test]
fn in_out_arguments_lend_their_memory_when_they_are_given_away() {
    for mode in MODES {
        with_mode(mode, || {
            let x = ramp(16) + 0.0;
            let sum = x.zeros_like() + 1.0;
            sum.wait().unwrap();
            // By reference: the argument stays.
            let copied = add_into().call(&x, &sum).unwrap();
            assert_eq!(copied.to_vec().unwrap()[15 * 4], 16.0, "{mode:?}");
            assert_eq!(sum.to_vec().unwrap()[15 * 4], 1.0);
            // By value while a clone needs it: it stays too.
            let kept = sum.clone();
            let added = add_into().call(&x, sum).unwrap();
            assert_eq!(kept.to_vec().unwrap()[0], 1.0);
            assert_eq!(kept.status(), Status::Materialized);
            // By value and held by nobody else: its memory is the result's.
            let twice = add_into().call(&x, added).unwrap();
            assert_eq!(twice.to_vec().unwrap()[15 * 4], 31.0);
            assert_eq!(x.to_vec().unwrap()[15 * 4], 15.0);
        });
    }
}

#[test]
fn a_program_that_reuses_memory_is_another_one() {
    // A client that no other test uses: counters are the client's.
    let device = Device::cpus(22).remove(0);
    with_device(&device, || {
        let x = ramp(16) + 0.0;
        let n_programs = || device.compiler().unwrap().stats().n_programs;
        let sum = add_into().call(&x, &x).unwrap();
        let sum = add_into().call(&x, &sum).unwrap();
        let before = n_programs();
        let sum = add_into().call(&x, sum).unwrap();
        assert_eq!(n_programs(), before + 1);
        assert_eq!(sum.to_vec().unwrap()[15 * 4], 60.0);
    });
}

#[test]
fn deferred_ops_reuse_memory_that_was_given_away() {
    let device = Device::cpus(23).remove(0);
    let run = |f: &dyn Fn()| with_device(&device, || with_mode(Mode::DeferAndFuse, f));
    run(&|| {
        let n_programs = || device.compiler().unwrap().stats().n_programs;
        let ready = |x: Tensor<f32>| {
            x.wait().unwrap();
            x
        };
        let (x, sum) = (ready(ramp(16) + 0.0), ready(ramp(16) + 1.0));
        let sum = ready((add_into().call(&x, &sum).unwrap() * 2.0).exp().log());
        let before = n_programs();
        // The same ops, but the argument is given away: another program.
        let kept = sum.clone();
        let other = ready((add_into().call(&x, sum).unwrap() * 2.0).exp().log());
        assert_eq!(n_programs(), before, "a clone holds it");
        assert_eq!(kept.to_vec().unwrap()[0], 2.0);
        let third = ready((add_into().call(&x, other).unwrap() * 2.0).exp().log());
        assert_eq!(n_programs(), before + 1);
        assert!((third.to_vec().unwrap()[0] - 8.0).abs() < 1e-5);
        assert_eq!(x.to_vec().unwrap()[4], 1.0);
    });
}

#[test]
fn memory_of_the_host_is_not_written() {
    // Large enough that the device uses the memory of the array.
    let array = Array::from_f32(&[1024, 64], vec![1.0; 1024 * 64]).unwrap();
    let x = Tensor::<f32>::ones([1024, 64]);
    for mode in MODES {
        with_mode(mode, || {
            let sum = DynTensor::from_array(array.clone()).typed::<f32>().unwrap();
            let on_host = sum.to_array().unwrap();
            let added = add_into().call(&x, sum).unwrap();
            let again = add_into().call(&x, added).unwrap();
            assert!(again.to_vec().unwrap().iter().all(|&v| v == 3.0), "{mode:?}");
            assert_eq!(on_host, array);
        });
    }
}

#[test]
fn one_tensor_as_both_arguments_is_not_donated() {
    let x = ramp(8) + 1.0;
    let doubled = add_into().call(&x, x.clone()).unwrap();
    assert_eq!(doubled.to_vec().unwrap()[0], 2.0);
    assert_eq!(x.to_vec().unwrap()[0], 1.0);
}

/// Reads beyond the blocks of `x` where `n` says so.
#[tpu_kernel(grid(i: arbitrary))]
fn shifted(#[block(m: 8 @ i, n)] x: In<f32>, #[block(m: 8 @ i, n)] y: Out<f32>) {
    let start = i * 4;
    y[..] = zeros([8, 4]);
    y[(ds(start, 4), ..)] = x[(0..4, ..)];
}
const SHIFTED_LINE: u32 = line!() - 2;

#[test]
fn debugged_kernels_tell_hazards_at_the_kernels_line_and_the_calls() {
    let interpreted = |f: &dyn Fn()| {
        with_mode(Mode::Debug, || with_debug_kernels(DebugKernels::Interpreted, f));
    };
    // Right kernels give what they give elsewhere.
    let x = ramp(16);
    let compiled = scaled::<f32>(0.5).call(&x).unwrap().to_vec().unwrap();
    interpreted(&|| {
        let (y, at) = doubled_and_largest(1).call(&x).unwrap();
        assert_eq!((y.to_vec().unwrap()[4], at.to_vec().unwrap()[3]), (2.0, 0));
        assert_eq!(scaled::<f32>(0.5).call(&x).unwrap().to_vec().unwrap(), compiled);
        let sum = add_into().call(&x, &x + 1.0).unwrap();
        assert_eq!(sum.to_vec().unwrap()[0], 1.0);
    });
    interpreted(&|| {
        for _ in 0..2 {
            let (line, result) = (line!(), shifted().call(&ramp(24)));
            let error = result.unwrap_err();
            assert_eq!(code(&error), "interp::out_of_bounds");
            let labels: Vec<(bool, u32)> = error.0[0]
                .labels
                .iter()
                .map(|label| (label.span.file.ends_with("run/kernel.rs"), label.span.line))
                .collect();
            assert_eq!(labels, [(true, SHIFTED_LINE), (true, line)], "{error}");
        }
    });
    // Not in other modes, and not without being asked for.
    with_mode(Mode::Debug, || shifted().call(&ramp(24)).unwrap().wait().unwrap());
    with_debug_kernels(DebugKernels::Interpreted, || {
        shifted().call(&ramp(24)).unwrap().wait().unwrap();
    });
}

#[test]
fn debugged_kernels_run_on_meshes() {
    let mesh = Mesh::new(&Device::cpus(4), [("x", 4)]).unwrap();
    let x = ramp(32);
    let expected = scaled::<f32>(0.5).call(&x).unwrap().to_vec().unwrap();
    with_mode(Mode::Debug, || {
        with_debug_kernels(DebugKernels::Interpreted, || {
            let y = scaled::<f32>(0.5).call(&mesh.shard(&x, ["x", ""])).unwrap();
            assert_eq!(y.to_vec().unwrap(), expected);
            let error = shifted().call(&mesh.replicate(&ramp(24))).unwrap_err();
            assert_eq!(code(&error), "interp::out_of_bounds");
        });
    });
}

/// Set in the process that `the_environment_asks_for_debugged_kernels` starts.
const CHILD: &str = "SYSTOLE_TEST_DEBUGGED_CHILD";

#[test]
fn the_environment_asks_for_debugged_kernels() {
    if std::env::var_os(CHILD).is_some() {
        let error = shifted().call(&ramp(24)).unwrap_err();
        assert_eq!(code(&error), "interp::out_of_bounds");
        return;
    }
    let run = |variables: &[(&str, &str)]| {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "run::kernel::the_environment_asks_for_debugged_kernels"]);
        command.env(CHILD, "1").envs(variables.iter().copied()).output().unwrap()
    };
    let blocking = ("SYSTOLE_LAUNCH_BLOCKING", "1");
    let output = run(&[blocking, ("SYSTOLE_DEBUG_KERNELS", "interp")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    // In the child there is no error, and so it fails.
    assert!(!run(&[blocking, ("SYSTOLE_DEBUG_KERNELS", "compiled")]).status.success());
    assert!(!run(&[("SYSTOLE_DEBUG_KERNELS", "interp")]).status.success());
}

#[test]
fn debugged_kernels_are_found_inside_of_compiled_programs() {
    let f = jit(|x: Tensor<f32>| {
        let y = fori_loop(0..2, |_, x: Tensor<f32>| shifted().call(&(x + 1.0)), x)?;
        Ok::<_, Diagnostics>(y * 2.0)
    });
    let line = line!() - 3;
    // Compiled first, so that the program that is debugged is another one.
    f.call((ramp(24),)).unwrap().wait().unwrap();
    with_mode(Mode::Debug, || {
        with_debug_kernels(DebugKernels::Interpreted, || {
            let error = f.call((ramp(24),)).and_then(|y| y.to_array()).unwrap_err();
            assert_eq!(code(&error), "interp::out_of_bounds");
            assert!(error.0[0].labels.iter().any(|label| label.span.line == line), "{error}");
        });
    });
    assert_eq!(f.n_programs(), 2);
}

fn squared() -> impl Fn(&Tensor<f32>) -> Result<Tensor<f32>, Diagnostics> {
    #[tpu_kernel(grid(i: parallel))]
    fn square(#[block(m: 8 @ i, n)] x: In<f32>, #[block(m: 8 @ i, n)] y: Out<f32>) {
        y[..] = x[..] * x[..];
    }
    #[tpu_kernel(grid(i: parallel))]
    fn square_gradient(
        #[block(m: 8 @ i, n)] x: In<f32>,
        #[block(m: 8 @ i, n)] dy: In<f32>,
        #[block(m: 8 @ i, n)] dx: Out<f32>,
    ) {
        dx[..] = x[..] * dy[..] * 2.0;
    }
    let kernel = square().with_vjp(|inputs, _outputs, gradients| {
        let dx = square_gradient().call(&inputs[0], &gradients[0])?;
        Ok::<_, Diagnostics>(vec![Some(dx.to_dyn())])
    });
    move |x| kernel.call(x)
}

#[test]
fn kernels_with_a_vjp_have_gradients() {
    let square = squared();
    let x = (ramp(8) + 1.0) * 0.25;
    let loss = |x: Tensor<f32>| Ok::<_, Diagnostics>(square(&x)?.sin().sum(&[0, 1]));
    let report = check_gradient(loss, &x, &GradientCheck::default()).unwrap();
    assert_eq!(report.n_elems, 32);
    // In a loop, and in a compiled gradient.
    let loss = |x: Tensor<f32>| {
        let y = fori_loop(0..2, |_, y: Tensor<f32>| Ok::<_, Diagnostics>(square(&y)? * 0.5), x)?;
        Ok::<_, Diagnostics>(y.sum(&[0, 1]))
    };
    check_gradient(loss, &x, &GradientCheck::default()).unwrap();
    let eager = grad(loss)(&x).unwrap().to_vec().unwrap();
    let compiled = jit(|x: Tensor<f32>| grad(loss)(&x)).call((x.clone(),)).unwrap();
    assert_eq!(compiled.to_vec().unwrap(), eager);
    // One of another type than its input is refused.
    let sums = scaled::<f32>(2.0).with_vjp(|_, _, gradients| vec![Some(gradients[0].sum(&[0]))]);
    let loss = |x: Tensor<f32>| Ok::<_, Diagnostics>(sums.call(&x)?.sum(&[0, 1]));
    let error = grad(loss)(&x).unwrap_err();
    assert_eq!(code(&error), "tensor::gradient");
    assert!(error.0[0].message.contains("f32[4] for `x`, which is f32[8, 4]"), "{error}");
    let none = scaled::<f32>(2.0).with_vjp(|_, _, _| Vec::new());
    let error =
        grad(|x: Tensor<f32>| Ok::<_, Diagnostics>(none.call(&x)?.sum(&[0, 1])))(&x).unwrap_err();
    assert!(error.0[0].message.contains("0 tensors for 1 inputs"), "{error}");
    // A kernel without one says how to give it one.
    let error =
        grad(|x: Tensor<f32>| Ok::<_, Diagnostics>(scaled::<f32>(2.0).call(&x)?.sum(&[0, 1])))(&x);
    let error = error.unwrap_err();
    assert_eq!(code(&error), "tensor::gradient");
    assert!(error.0[0].help.as_ref().unwrap().contains("with_vjp"), "{error}");
}

#[test]
fn functions_of_kernels_have_gradients_made_of_kernels() {
    // The softmax of each row, with what its gradient needs kept from the way forward.
    #[tpu_kernel(grid(i: parallel))]
    fn softmax(#[block(m: 8 @ i, n)] x: In<f32>, #[block(m: 8 @ i, n)] y: Out<f32>) {
        let e = (x[..] - x[..].row_max()).exp();
        y[..] = e / e.row_sum();
    }
    #[tpu_kernel(grid(i: parallel))]
    fn softmax_gradient(#[block(m: 8 @ i, n)] y: In<f32>, #[block(m: 8 @ i, n)] dy: InOut<f32>) {
        dy[..] = y[..] * (dy[..] - (y[..] * dy[..]).row_sum());
    }
    let softmax_of = custom_vjp(
        |x: Tensor<f32>| softmax().call(&x),
        |x: Tensor<f32>| softmax().call(&x).map(|y| (y.clone(), y)),
        |y: Tensor<f32>, dy: Tensor<f32>| softmax_gradient().call(&y, dy),
    );
    let x = (ramp(16) * 0.1).sin();
    let loss = |(x, w): (Tensor<f32>, Tensor<f32>)| {
        let h = softmax_of(x.matmul(&w))?;
        Ok::<_, Diagnostics>((&h * &h).mean(&[0, 1]))
    };
    let w = Tensor::<f32>::iota([4, 8], 1).cos();
    for mode in MODES {
        with_mode(mode, || {
            let options = GradientCheck { max_elems: 12, ..GradientCheck::default() };
            let report = check_gradient(loss, &(x.clone(), w.clone()), &options).unwrap();
            assert_eq!((report.n_elems, report.max_error < 1e-3), (24, true), "{report:?}");
        });
    }
    let of_ops = |(x, w): (Tensor<f32>, Tensor<f32>)| {
        let h = x.matmul(&w).softmax(1);
        (&h * &h).mean(&[0, 1])
    };
    let by_kernels = grad(loss)(&(x.clone(), w.clone())).unwrap().1.to_vec().unwrap();
    let by_ops = grad(of_ops)(&(x, w)).unwrap().1.to_vec().unwrap();
    assert!(by_kernels.iter().zip(&by_ops).all(|(a, b)| (a - b).abs() < 1e-6));
}

#[test]
fn kernel_ops_have_gradients_too() {
    let x = ramp(8) + 1.0;
    let traced = scaled::<f32>(3.0).trace(&[ArgSpec::of::<f32>(&[8, 4])]).unwrap();
    let op = KernelOp::new(traced)
        .with_vjp(|_, _, gradients: &[DynTensor]| vec![Some(&gradients[0] * 3.0)]);
    let loss = move |x: Tensor<f32>| {
        let y = op.clone().apply(&[&x.to_dyn()]).remove(0).typed::<f32>()?;
        Ok::<_, Diagnostics>((&y * &y).sum(&[0, 1]))
    };
    let options = GradientCheck { tolerance: 3e-2, ..GradientCheck::default() };
    check_gradient(loss, &x, &options).unwrap();
}
