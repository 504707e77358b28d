//! Kernels run by XLA on the CPU against plain loops.

use super::kernels;
use systole::back::stablehlo::{Options, Padding};
use systole::ir::ops::Precision;
use systole::ir::{Array, DType};
use systole::pjrt::Plugin;
use systole::run::{Sampler, Tolerance, XlaDevice, compare};
use systole::valid::Valid;

/// XLA on the CPU, in both versions.
fn devices() -> Vec<XlaDevice> {
    [Plugin::cpu(), Plugin::cpu_second()]
        .into_iter()
        .map(|plugin| match plugin {
            Ok(plugin) => XlaDevice::new(plugin.client().unwrap()),
            Err(error) => panic!("{error}"),
        })
        .collect()
}

fn check(valid: &Valid, inputs: &[Array], expected: &[f64], tolerance: Tolerance) {
    for device in devices() {
        let options = Options { locations: true, padding: Padding::Poison };
        let got = device.run_with(valid, inputs, &options).unwrap();
        assert_eq!(got.len(), 1);
        let expected = Array::from_f64(got[0].dtype(), got[0].shape(), expected).unwrap();
        let result = compare(&expected, &got[0], &tolerance);
        assert!(result.ok, "{result:?}");
    }
}

fn naive_matmul(a: &Array, b: &Array) -> Vec<f64> {
    let ([m, k], n) = ([a.shape()[0], a.shape()[1]], b.shape()[1]);
    let (a, b) = (a.to_f64(), b.to_f64());
    let mut c = vec![0.0; m * n];
    for i in 0..m {
        for l in 0..k {
            for j in 0..n {
                c[i * n + j] += a[i * k + l] * b[l * n + j];
            }
        }
    }
    c
}

#[test]
fn matmul_equals_plain_loops() {
    let sizes = [100, 300, 260];
    let mut sampler = Sampler::new(1);
    for (dtype, blocks, ulp) in [
        (DType::BF16, [16, 128, 128], 1),
        (DType::BF16, [104, 384, 256], 1),
        (DType::F32, [16, 128, 128], 200),
    ] {
        // No padding along k: it would reach the result.
        let sizes = [sizes[0], sizes[1], 256];
        let a = sampler.normal(dtype, &[sizes[0], sizes[2]]);
        let b = sampler.normal(dtype, &[sizes[2], sizes[1]]);
        let expected = naive_matmul(&a, &b);
        let valid = kernels::matmul(dtype, sizes, blocks, Precision::Highest);
        let floor = Tolerance::ulp(ulp).floor(2e-5, "sums cancel");
        check(&valid, &[a, b], &expected, floor);
    }
}

#[test]
fn edge_blocks_drop_their_padding() {
    let x = Sampler::new(2).normal(DType::F32, &[100, 256]);
    let values = x.to_f64();
    let expected: Vec<f64> = values
        .chunks(256)
        .flat_map(|row| {
            let sum: f64 = row.iter().map(|x| x.exp()).sum();
            row.iter().map(move |x| x.exp() / sum)
        })
        .collect();
    let valid = kernels::softmax(DType::F32, [100, 256], 16);
    check(&valid, &[x], &expected, Tolerance::ulp(32));
}

#[test]
fn a_revisited_output_block_keeps_its_contents() {
    for n_steps in [3, 100] {
        // Whole numbers, so that sums are exact.
        let values = Sampler::new(3).small_ints(DType::I32, &[8 * n_steps, 128]).to_f64();
        let x = Array::from_f64(DType::F32, &[8 * n_steps, 128], &values).unwrap();
        let mut expected = vec![0.0; 8 * 128];
        for block in values.chunks(8 * 128) {
            expected.iter_mut().zip(block).for_each(|(sum, x)| *sum += x);
        }
        check(&kernels::revisit(n_steps), &[x], &expected, Tolerance::exact());
    }
}

#[test]
fn prefetched_tables_choose_blocks() {
    let x = Sampler::new(4).normal(DType::F32, &[50, 8, 128]);
    for n_steps in [4, 300] {
        let rows: Vec<f64> = (0..n_steps).map(|i| ((i * 7 + 3) % 50) as f64).collect();
        let values = x.to_f64();
        let expected: Vec<f64> =
            rows.iter().flat_map(|&row| values[row as usize * 1024..][..1024].to_vec()).collect();
        let table = Array::from_f64(DType::I32, &[n_steps], &rows).unwrap();
        check(&kernels::gather(50, n_steps), &[table, x.clone()], &expected, Tolerance::exact());
    }
}

#[test]
fn loops_carry_the_memory_they_write() {
    let x = Sampler::new(5).normal(DType::F32, &[64, 128]);
    let values = x.to_f64();
    let mut expected = vec![0.0; 1024];
    for block in values.chunks(1024).step_by(2) {
        expected.iter_mut().zip(block).for_each(|(sum, x)| *sum += x.exp() / 4.0);
    }
    check(&kernels::loops(), &[x], &expected, Tolerance::ulp(16));
}
