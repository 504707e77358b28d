//! Kernels with tables and extents of the call, on tensors.

use super::{MODES, code};
use systole::prelude::*;
use systole::run::{
    DebugKernels, Device, Mode, Tensor, jit, with_debug_kernels, with_device, with_mode,
};

/// Adds the first `n` blocks that the table names to `o`.
#[tpu_kernel(grid(i: arbitrary = n))]
fn gather_sum(
    #[extent] n: Scalar<i32>,
    #[prefetch] ids: Smem<i32>,
    #[block(v: 8 @ ids[i], d)] x: In<f32>,
    #[block(r: 8 @ 0, d)] o: InOut<f32>,
) {
    o[..] += x[..] * n.cast::<f32>();
}

fn arguments(n: i32) -> (Tensor<i32>, Tensor<i32>, Tensor<f32>, Tensor<f32>) {
    let x: Vec<f32> = (0..32 * 128).map(|e| (e / 1024) as f32).collect();
    (
        Tensor::scalar(n),
        Tensor::from_slice(&[3, 1, 0, 2], [4]).unwrap(),
        Tensor::from_slice(&x, [32, 128]).unwrap(),
        Tensor::ones([8, 128]),
    )
}

fn call(n: i32) -> Tensor<f32> {
    let (n, ids, x, o) = arguments(n);
    gather_sum().call(&n, &ids, &x, &o).unwrap()
}

#[test]
fn tables_and_extents_are_tensors() {
    for mode in MODES {
        with_mode(mode, || {
            for (n, sum) in [(1, 3.0), (2, 4.0), (4, 6.0)] {
                let found = call(n).to_vec().unwrap();
                assert_eq!(found, vec![1.0 + sum * n as f32; 1024], "{mode:?}");
            }
        });
    }
}

#[test]
fn tables_and_extents_reach_the_interpreter() {
    let interpreted = |f: &dyn Fn()| {
        with_mode(Mode::Debug, || with_debug_kernels(DebugKernels::Interpreted, f));
    };
    interpreted(&|| {
        let (n, ids, x, o) = arguments(4);
        let sum = gather_sum().call(&n, &ids, &x, o).unwrap();
        assert_eq!(sum.to_vec().unwrap(), vec![25.0; 1024]);
        // An index made from a table is checked here, and nowhere else.
        let ids = Tensor::from_slice(&[3, 1, 4, 2], [4]).unwrap();
        let error = gather_sum().call(&n, &ids, &x, sum).unwrap_err();
        assert_eq!(code(&error), "interp::block_out_of_range");
    });
}

#[test]
fn another_extent_does_not_recompile() {
    let device = Device::cpus(17).remove(0);
    with_device(&device, || {
        let made = || {
            let stats = device.compiler().unwrap().stats();
            stats.compiles + stats.loads
        };
        call(1).wait().unwrap();
        let before = made();
        call(3).wait().unwrap();
        assert_eq!(made(), before);
    });
}

#[test]
fn kernels_with_tables_are_compiled_into_functions() {
    let function = jit(|n: Tensor<i32>, ids: Tensor<i32>, x: Tensor<f32>, o: Tensor<f32>| {
        gather_sum().call(&n, &ids, &x, &o).unwrap() * 2.0
    });
    let found = function.call(arguments(4)).unwrap().to_vec().unwrap();
    assert_eq!(found, vec![50.0; 1024]);
}

#[test]
fn an_extent_of_another_type_is_an_error() {
    let (_, ids, x, o) = arguments(1);
    let error = gather_sum().call(&Tensor::scalar(1.0_f32), &ids, &x, &o).unwrap_err();
    assert_eq!(code(&error), "trace::argument");
}
