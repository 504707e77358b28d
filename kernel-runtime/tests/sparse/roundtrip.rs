//! Modules of SparseCore kernels, read back: the interpreter gives the same bits.

use super::kernels::{bag_sums, gather_rows, scalar_sums, scatter_rows, segment_sums};
use super::{floats, registers, scrambled};
use crate::import::roundtrip::comes_back_on;
use systole::ir::Kernel;
use systole::ir::array::ArrayData;
use systole::prelude::*;
use systole::target::{TPU7X, Target, V5P, V6E};

const TARGETS: [&Target; 3] = [&V5P, &V6E, &TPU7X];

fn check(kernel: impl Fn(&Target) -> Kernel, inputs: &[Array]) {
    for target in TARGETS {
        comes_back_on(target, &kernel(target), inputs);
    }
}

fn lanes(target: &Target) -> usize {
    target.sparse().unwrap().lanes
}

fn ids(shape: &[usize], values: Vec<i32>) -> Array {
    Array::new(shape, ArrayData::I32(values)).unwrap()
}

/// Fractions, of which sums are rounded.
fn thirds(shape: &[usize]) -> Array {
    let n = shape.iter().product();
    Array::from_f32(shape, floats(n).into_iter().map(|x| x / 3.0).collect()).unwrap()
}

#[test]
fn copies_by_ids_come_back() {
    let (table, n) = (thirds(&[50, 128]), 2 * 16 * 16 * 2);
    let args = [ArgSpec::of::<f32>(&[50, 128]), ArgSpec::of::<i32>(&[n])];
    let list = ids(&[n], scrambled(n, 50));
    check(|_| gather_rows(2, 16).trace(&args).unwrap(), &[table.clone(), list]);
    let args = [ArgSpec::of::<f32>(&[50, 128]), ArgSpec::of::<i32>(&[3, 256])];
    let list = ids(&[3, 256], scrambled(3 * 256, 51).into_iter().map(|id| id - 1).collect());
    check(|target| bag_sums(1, 16, lanes(target)).trace(&args).unwrap(), &[table, list]);
    let args = [ArgSpec::of::<f32>(&[256, 128]), ArgSpec::of::<i32>(&[256])];
    let list = ids(&[256], (0..256).map(|at| (at * 3 + 5) % 256).collect());
    let inputs = [thirds(&[256, 128]), list];
    check(|target| scatter_rows(lanes(target)).trace(&args).unwrap(), &inputs);
}

#[test]
fn barriers_and_shared_memory_come_back() {
    let args = [ArgSpec::of::<f32>(&[256, 128]), ArgSpec::of::<i32>(&[256])];
    // Sums of several subcores have no order: of these they are exact.
    let x = Array::from_f32(&[256, 128], floats(256 * 128)).unwrap();
    let inputs = [x, ids(&[256], scrambled(256, 64))];
    check(|target| segment_sums(64, lanes(target)).trace(&args).unwrap(), &inputs);
}

#[test]
fn ops_on_registers_come_back() {
    let list = ids(&[64], scrambled(64, 12));
    let x = thirds(&[2, 128]);
    check(|target| registers::traced::<f32>(lanes(target)), &[x, list.clone()]);
    let numbers: Vec<f64> = scrambled(256, 50).into_iter().map(|x| f64::from(x) - 20.0).collect();
    let x = Array::from_f64(DType::I32, &[2, 128], &numbers).unwrap();
    check(|target| registers::traced::<i32>(lanes(target)), &[x, list.clone()]);
    let numbers: Vec<f64> = numbers.iter().map(|x| x + 20.0).collect();
    let x = Array::from_f64(DType::U32, &[2, 128], &numbers).unwrap();
    check(|target| registers::traced::<u32>(lanes(target)), &[x, list]);
}

#[test]
fn scalar_subcores_come_back() {
    let x = ids(&[48], scrambled(48, 100));
    let args = [ArgSpec::of::<i32>(&[48])];
    check(|target| scalar_sums(target.sparse().unwrap().n_cores).trace(&args).unwrap(), &[x]);
}
