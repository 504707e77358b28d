//! What makes a new program and what does not: the table in the docs of `systole::run::tensor`.

use systole::ir::ops::Precision;
use systole::run::{
    Device, Mode, Numerics, Static, Tensor, jit, with_device, with_mode, with_precision,
};

/// How many programs the second piece of code makes that the first did not, on a client of its own.
fn new_programs(n_devices: usize, first: impl Fn(), second: impl Fn()) -> u64 {
    // A client with a number of devices that no other test uses: counters are the client's.
    let device = Device::cpus(n_devices).remove(0);
    with_device(&device, || {
        let made = || {
            let stats = device.compiler().unwrap().stats();
            stats.compiles + stats.loads
        };
        first();
        let before = made();
        second();
        made() - before
    })
}

fn x(shape: [usize; 2]) -> Tensor<f32> {
    Tensor::from_slice(&vec![0.5; shape[0] * shape[1]], shape).unwrap()
}

#[test]
fn other_elements_and_other_numbers_do_not_recompile() {
    let add = |number: f32| (x([2, 3]) + number).wait().unwrap();
    assert_eq!(new_programs(11, || add(1.0), || add(2.0)), 0);
    let deferred = |number: f32| {
        with_mode(Mode::DeferAndFuse, || ((x([2, 3]) + number).exp() * number).wait().unwrap());
    };
    assert_eq!(new_programs(11, || deferred(1.0), || deferred(2.0)), 0);
}

#[test]
fn other_shapes_types_attributes_and_donations_recompile() {
    let sum = |shape| x(shape).sum(&[0]).wait().unwrap();
    assert_eq!(new_programs(12, || sum([2, 3]), || sum([3, 3])), 1);
    assert_eq!(new_programs(12, || sum([2, 3]), || x([2, 3]).sum(&[1]).wait().unwrap()), 1);
    let ints = || Tensor::<i32>::from_slice(&[1; 6], [2, 3]).unwrap().sum(&[0]).wait().unwrap();
    assert_eq!(new_programs(12, || sum([2, 3]), ints), 1);
    let plain = || (x([2, 3]) + 1.0).wait().unwrap();
    let in_place = || {
        let mut y = x([2, 3]);
        y += 1.0;
        y.wait().unwrap();
    };
    assert_eq!(new_programs(12, plain, in_place), 1);
}

#[test]
fn precision_recompiles_products_alone() {
    let product = || x([2, 2]).matmul(&x([2, 2])).wait().unwrap();
    let exact = || with_precision(Precision::Highest, product);
    assert_eq!(new_programs(13, product, exact), 1);
    let sum = || (x([2, 2]) + 1.0).wait().unwrap();
    let scoped = || with_precision(Precision::Highest, sum);
    assert_eq!(new_programs(13, sum, scoped), 0);
}

#[test]
fn numerics_recompile() {
    let product = || x([4, 4]).matmul(&x([4, 4])).wait().unwrap();
    let as_on_tpu = || {
        let compiler = Device::current().compiler().unwrap().clone();
        compiler.set_numerics(Numerics::Tpu);
        product();
        compiler.set_numerics(Numerics::Device);
    };
    assert_eq!(new_programs(14, product, as_on_tpu), 1);
}

#[test]
fn jit_recompiles_for_types_and_static_values() {
    let scaled =
        jit(|x: Tensor<f32>, by: Tensor<f32>, n: Static<usize>| (0..n.0).fold(x, |x, _| x * &by));
    let call = |shape, by: f32, n: usize| {
        scaled.call((x(shape), Tensor::scalar(by), Static(n))).unwrap().wait().unwrap();
    };
    assert_eq!(new_programs(15, || call([2, 2], 2.0, 3), || call([2, 2], 5.0, 3)), 0);
    assert_eq!(new_programs(15, || call([2, 2], 2.0, 3), || call([2, 2], 2.0, 4)), 1);
    assert_eq!(new_programs(15, || call([2, 2], 2.0, 3), || call([1, 2], 2.0, 3)), 1);
}

#[test]
fn the_emulated_matrix_unit_rounds_as_precision_says() {
    let device = Device::cpus(16).remove(0);
    with_device(&device, || {
        device.compiler().unwrap().set_numerics(Numerics::Tpu);
        // 1 + 2^-10 needs more bits than bf16 has.
        let exact = 1.0 + f32::powi(2.0, -10);
        let x = Tensor::from_slice(&[exact], [1, 1]).unwrap();
        let one = Tensor::ones([1, 1]);
        let by = |precision| x.matmul_with(&one, precision).item().unwrap();
        assert_eq!(by(Precision::Medium), 1.0);
        assert_eq!(by(Precision::High), f64::from(exact));
        assert_eq!(by(Precision::Highest), f64::from(exact));
    });
}
