//! The Rust of the README, compiled and run as it stands. `tidy` checks that each block of the README
//! is in `blocks`, line for line.

#[rustfmt::skip]
#[allow(clippy::print_stdout, reason = "the README prints what it computes")]
mod blocks;

use systole::prelude::*;
use systole::run::Tensor;

fn values(tensor: &Tensor<f32>) -> Vec<f32> {
    tensor.to_vec().unwrap()
}

#[test]
fn the_kernel_of_the_readme_runs() {
    let ones = |shape: &[usize]| Array::from_f32(shape, vec![1.0; shape.iter().product()]).unwrap();
    let c = blocks::kernel(&ones(&[16, 256]), &ones(&[256, 128])).unwrap();
    assert_eq!((c.shape(), c.to_f32()[5]), (&[16, 128][..], 256.0));
}

#[test]
fn the_tensors_of_the_readme_compute() {
    let [y, z, h, dx] = blocks::tensors().unwrap();
    let x = [1.0_f32, 2.0, 3.0, 4.0];
    let product = [7.0_f32, 10.0, 15.0, 22.0];
    let near = |found: &Tensor<f32>, expected: &[f32]| {
        for (found, expected) in values(found).iter().zip(expected) {
            assert!((found - expected).abs() <= 1e-5 * expected.abs(), "{found} {expected}");
        }
    };
    near(&y, &product.map(|x| (x + 1.0).tanh()));
    near(&z, &[x[0], x[2]].map(|at| (at * 2.0).exp() + ((at + 1.0) * 2.0).exp()));
    near(&h, &product.map(f32::tanh));
    near(&dx, &[7.0, 11.0, 9.0, 13.0]);
}

#[test]
fn the_gradients_of_the_readme_are_right() {
    let x = Tensor::<f32>::ones([8, 128]);
    let sum = blocks::gradients(x, Tensor::ones([8, 128])).unwrap();
    assert!(values(&sum).iter().all(|&x| x == 3.0));
}

#[test]
fn one_program_serves_all_sizes_of_the_readme() {
    assert!(values(&blocks::bounded().unwrap()).iter().all(|&x| x == 1.0));
}

#[test]
fn the_mesh_of_the_readme_splits_its_tensors() {
    blocks::meshes().unwrap();
}
