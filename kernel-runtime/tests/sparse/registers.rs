//! Ops on registers, against plain loops.

use super::{floats, interpreted, scrambled};
use systole::ir::Kernel;
use systole::prelude::*;

/// What each row of the result is.
pub(super) const N_ROWS: usize = 32;

/// Writes what each op gives of the first two registers of `x`, one row after the other.
#[tpu_kernel(core(sparse), grid(c = 1, s = 1), dims(r = N_ROWS))]
pub(super) fn registers<T: Num>(
    #[comptime] lanes: usize,
    #[block(m, n)] x: Hbm<T>,
    #[block(k)] ids: Hbm<i32>,
    #[block(r, n)] out: HbmOut<T>,
    #[scratch([m, n])] input: Vmem<T>,
    #[scratch([k])] list: Vmem<i32>,
    #[scratch([r, n])] results: Vmem<T>,
    #[scratch] done: DmaSemaphore,
) {
    start_copy(x.whole(), input.at(..), done);
    wait_copy(x.whole(), input.at(..), done);
    start_copy(ids.whole(), list.at(..), done);
    wait_copy(ids.whole(), list.at(..), done);
    for i in 0..r {
        for j in 0..n / lanes {
            results[(i, ds(j * lanes, lanes))] = zeros([lanes]);
        }
    }
    let (a, b) = (input[(0, 0..lanes)], input[(1, 0..lanes)]);
    let indices = list[0..lanes];
    let mask = (indices & 1) == 1;
    let zero = zeros::<T>([lanes]);
    let none = zeros::<i32>([lanes]);
    let put = |row: usize, value: Tile<T>| results[(row, 0..lanes)] = value;
    let put_int = |row: usize, value: Tile<i32>| results[(row, 0..lanes)] = value.cast();
    let put_mask = |row: usize, value: Tile<bool>| put_int(row, value.cast());
    put(0, a.scan_sum());
    put(1, a.scan_sum_masked(mask));
    put(2, a.scan_max());
    put(3, a.scan_max_masked(mask));
    put(4, a.scan_min());
    put(5, a.scan_min_masked(mask));
    let (keys, values) = sort(a, b);
    put(6, keys);
    put(7, values);
    let (keys, values) = sort_descending(a, b);
    put(8, keys);
    put(9, values);
    let (keys, values, sorted) = sort_masked(a, b, mask);
    put(10, select(sorted, keys, zero));
    put(11, select(sorted, values, zero));
    put_mask(12, sorted);
    let (counts, last) = indices.scan_count();
    put_int(13, counts);
    put_mask(14, last);
    let (counts, last) = indices.scan_count_masked(mask);
    put_int(15, select(mask, counts, none));
    put_mask(16, last);
    put_int(17, mask.count());
    put_int(18, mask.first_true());
    put_int(19, (none > 1).first_true());
    // Column `indices` of row `indices & 1`.
    put(20, input.load_idx(&[indices & 1, indices]));
    let loaded = input.load_idx_masked(&[indices & 1, indices], mask);
    put(21, select(mask, loaded, zero));
    let lane = iota([lanes], 0);
    results.store_idx(&[none + 22, lane * 2], a);
    results.store_idx_masked(&[none + 23, lane * 2], a, mask);
    results.add_idx(&[none + 24, indices], a);
    results.add_idx_masked(&[none + 25, indices], b, mask);
    let expanded = input.load_expanded((1, 1..lanes + 1), mask);
    put(26, select(mask, expanded, zero));
    results.store_compressed((27, 3..lanes + 3), a, mask);
    put(28, a.take_along_axis(indices & (lanes as i32 - 1), 0));
    let total = a.sum_all() + a.max_all() - a.reduce_min(0).item();
    put(29, total.splat([lanes]));
    put_int(30, a.reduce_argmax(0).broadcast_to([lanes]) * 100 + a.reduce_argmin(0).item());
    put(31, a + a.slice(2..3));
    results.store_masked((31, 0..lanes), b, mask);
    start_copy(results.at(..), out.whole(), done);
    wait_copy(results.at(..), out.whole(), done);
}

/// The kernel for arrays of 128 columns.
pub(super) fn traced<T: Num>(lanes: usize) -> Kernel {
    let args = [ArgSpec::of::<T>(&[2, 128]), ArgSpec::of::<i32>(&[64])];
    registers::<T>(lanes).trace(&args).unwrap_or_else(|e| panic!("{e}"))
}

/// The rows by plain loops, as `f64`, which holds every element exactly.
fn expected(lanes: usize, x: &[f64], ids: &[i32]) -> Vec<[f64; 128]> {
    let (a, b) = (&x[..lanes], &x[128..128 + lanes]);
    let ids = &ids[..lanes];
    let mask: Vec<bool> = ids.iter().map(|id| id & 1 == 1).collect();
    let mut rows = vec![[0.0; 128]; N_ROWS];
    let mut put = |row: usize, values: Vec<f64>| rows[row][..values.len()].copy_from_slice(&values);
    let bits = |bits: &[bool]| bits.iter().map(|&bit| f64::from(u8::from(bit))).collect::<Vec<_>>();
    let scan = |masked: bool, sum: bool, better: fn(f64, f64) -> f64| {
        (0..lanes)
            .map(|to| {
                let chosen = (0..=to).filter(|&from| !masked || mask[from]).map(|from| a[from]);
                chosen.reduce(better).unwrap_or(if sum { 0.0 } else { a[to] })
            })
            .collect::<Vec<f64>>()
    };
    for (row, masked) in [(0, false), (1, true)] {
        put(row, scan(masked, true, |x, y| x + y));
        put(row + 2, scan(masked, false, f64::max));
        put(row + 4, scan(masked, false, f64::min));
    }
    for (row, descending) in [(6, false), (8, true)] {
        let mut order: Vec<usize> = (0..lanes).collect();
        order.sort_by(
            |&i, &j| if descending { a[j].total_cmp(&a[i]) } else { a[i].total_cmp(&a[j]) },
        );
        put(row, order.iter().map(|&at| a[at]).collect());
        put(row + 1, order.iter().map(|&at| b[at]).collect());
    }
    let mut order: Vec<usize> = (0..lanes).filter(|&at| mask[at]).collect();
    order.sort_by(|&i, &j| a[i].total_cmp(&a[j]));
    put(10, order.iter().map(|&at| a[at]).collect());
    put(11, order.iter().map(|&at| b[at]).collect());
    put(12, vec![1.0; order.len()]);
    for (row, masked) in [(13, false), (15, true)] {
        let counts = |at: usize| (!masked || mask[at]).then_some(ids[at]);
        let same = |at: usize, range: std::ops::Range<usize>| {
            range.filter(|&other| counts(other) == counts(at)).count()
        };
        let number = |at| counts(at).map_or(0.0, |_| same(at, 0..at + 1) as f64);
        put(row, (0..lanes).map(number).collect());
        let is_last = |at: usize| counts(at).is_some() && same(at, at + 1..lanes) == 0;
        put(row + 1, bits(&(0..lanes).map(is_last).collect::<Vec<_>>()));
    }
    let n_true = order.len() as f64;
    put(17, vec![n_true; lanes]);
    let first = mask.iter().position(|&bit| bit).unwrap_or(lanes) as f64;
    put(18, vec![first; lanes]);
    put(19, vec![lanes as f64; lanes]);
    let element = |at: usize| x[(ids[at] as usize & 1) * 128 + ids[at] as usize];
    put(20, (0..lanes).map(element).collect());
    put(21, (0..lanes).map(|at| if mask[at] { element(at) } else { 0.0 }).collect());
    let (mut spread, mut some, mut added, mut added_some) =
        ([0.0; 128], [0.0; 128], [0.0; 128], [0.0; 128]);
    for at in 0..lanes {
        spread[2 * at] = a[at];
        added[ids[at] as usize] += a[at];
        if mask[at] {
            some[2 * at] = a[at];
            added_some[ids[at] as usize] += b[at];
        }
    }
    for (row, values) in [(22, spread), (23, some), (24, added), (25, added_some)] {
        put(row, values.to_vec());
    }
    let mut next = x[129..].iter();
    let expanded = mask.iter().map(|&bit| if bit { *next.next().unwrap() } else { 0.0 });
    put(26, expanded.collect());
    let packed = [0.0; 3].into_iter().chain((0..lanes).filter(|&at| mask[at]).map(|at| a[at]));
    put(27, packed.collect());
    put(28, ids.iter().map(|&id| a[id as usize % lanes]).collect());
    let (largest, smallest) =
        (a.iter().copied().fold(f64::MIN, f64::max), a.iter().copied().fold(f64::MAX, f64::min));
    put(29, vec![a.iter().sum::<f64>() + largest - smallest; lanes]);
    let place = |wanted: f64| a.iter().position(|&x| x == wanted).unwrap() as f64;
    put(30, vec![place(largest) * 100.0 + place(smallest); lanes]);
    put(31, (0..lanes).map(|at| if mask[at] { b[at] } else { a[at] + a[2] }).collect());
    rows
}

fn check<T: Num>(lanes: usize, x: &[f64]) {
    let ids = scrambled(64, 12);
    let list: Vec<f64> = ids.iter().map(|&id| f64::from(id)).collect();
    let inputs = [
        Array::from_f64(T::DTYPE, &[2, 128], x).unwrap(),
        Array::from_f64(DType::I32, &[64], &list).unwrap(),
    ];
    let outputs = interpreted(&traced::<T>(lanes), &inputs).unwrap_or_else(|e| panic!("{e}"));
    let found = outputs[0].to_f64();
    for (row, wanted) in expected(lanes, x, &ids).iter().enumerate() {
        assert_eq!(found[row * 128..][..128], wanted[..], "row {row}, {lanes} lanes");
    }
}

#[test]
fn ops_on_registers_are_plain_loops() {
    let integers: Vec<f64> = scrambled(256, 50).into_iter().map(f64::from).collect();
    let signed: Vec<f64> = integers.iter().map(|x| x - 20.0).collect();
    let floats: Vec<f64> = floats(256).into_iter().map(f64::from).collect();
    for lanes in [8, 16] {
        check::<f32>(lanes, &floats);
        check::<i32>(lanes, &signed);
        check::<u32>(lanes, &integers);
    }
}
