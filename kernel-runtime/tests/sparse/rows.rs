//! SparseCore kernels in the interpreter, against plain loops.

use super::kernels::{bag_sums, gather_rows, scalar_sums, scatter_rows};
use super::{floats, interpreted, scrambled};
use systole::ir::array::ArrayData;
use systole::prelude::*;

fn array(shape: &[usize], values: Vec<f32>) -> Array {
    Array::from_f32(shape, values).unwrap()
}

fn list(shape: &[usize], values: &[i32]) -> Array {
    Array::new(shape, ArrayData::I32(values.to_vec())).unwrap()
}

#[test]
fn a_gather_takes_the_rows_that_ids_name() {
    let (v, d, n) = (50, 16, 2 * 16 * 8 * 3);
    let (table, ids) = (floats(v * d), scrambled(n, v as u64));
    let args = [ArgSpec::of::<f32>(&[v, d]), ArgSpec::of::<i32>(&[n])];
    let kernel = gather_rows(2, 8).trace(&args).unwrap_or_else(|e| panic!("{e}"));
    let inputs = [array(&[v, d], table.clone()), list(&[n], &ids)];
    let found = interpreted(&kernel, &inputs).unwrap_or_else(|e| panic!("{e}"));
    let row = |&id: &i32| table[id as usize * d..][..d].to_vec();
    assert_eq!(found[0], array(&[n, d], ids.iter().flat_map(row).collect()));
}

#[test]
fn gathers_add_rows_and_leave_out_what_is_skipped() {
    let (v, d, p, n) = (40, 16, 5, 16 * 8);
    let table = floats(v * d);
    let ids: Vec<i32> = scrambled(p * n, v as u64 + 1).into_iter().map(|id| id - 1).collect();
    let args = [ArgSpec::of::<f32>(&[v, d]), ArgSpec::of::<i32>(&[p, n])];
    let kernel = bag_sums(1, 8, 8).trace(&args).unwrap_or_else(|e| panic!("{e}"));
    let inputs = [array(&[v, d], table.clone()), list(&[p, n], &ids)];
    let found = interpreted(&kernel, &inputs).unwrap_or_else(|e| panic!("{e}"));
    let mut sums = vec![0.0; n * d];
    for (place, &id) in ids.iter().enumerate().filter(|&(_, &id)| id >= 0) {
        for k in 0..d {
            sums[place % n * d + k] += table[id as usize * d + k];
        }
    }
    assert_eq!(found[0], array(&[n, d], sums));
}

#[test]
fn a_scatter_puts_rows_where_ids_say() {
    let (n, d) = (16 * 8 * 2, 16);
    let x = floats(n * d);
    // A permutation: 3 and 256 share no factor.
    let ids: Vec<i32> = (0..n as i32).map(|at| (at * 3 + 5) % n as i32).collect();
    let args = [ArgSpec::of::<f32>(&[n, d]), ArgSpec::of::<i32>(&[n])];
    let kernel = scatter_rows(8).trace(&args).unwrap_or_else(|e| panic!("{e}"));
    let inputs = [array(&[n, d], x.clone()), list(&[n], &ids)];
    let found = interpreted(&kernel, &inputs).unwrap_or_else(|e| panic!("{e}"));
    let mut rows = vec![0.0; n * d];
    for (from, &to) in ids.iter().enumerate() {
        rows[to as usize * d..][..d].copy_from_slice(&x[from * d..][..d]);
    }
    assert_eq!(found[0], array(&[n, d], rows));
}

#[test]
fn scalar_subcores_compute_with_scalars() {
    let x = scrambled(48, 100);
    let kernel = scalar_sums(2).trace(&[ArgSpec::of::<i32>(&[48])]).unwrap();
    let found = interpreted(&kernel, &[list(&[48], &x)]).unwrap_or_else(|e| panic!("{e}"));
    let sum: i32 = x.iter().sum();
    let rows = (0..16).map(|at| sum * (at / 8 + 1) + at % 8).collect::<Vec<i32>>();
    assert_eq!(found[0], list(&[2, 8], &rows));
}
