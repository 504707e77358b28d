//! Kernels with pipelines, each right on every back end.

use crate::dma::{array, check, counting, interpreted};
use systole::ir::Kernel;
use systole::prelude::*;

/// Small numbers whose products and sums are exact.
fn small(shape: &[usize]) -> Array {
    array(shape, |at| (at % 13) as f32 - 6.0)
}

fn ints(values: &[i32]) -> Array {
    let values: Vec<f64> = values.iter().map(|&x| f64::from(x)).collect();
    Array::from_f64(DType::I32, &[values.len()], &values).unwrap()
}

/// The elements of blocks of 8 rows of 128.
fn rows(array: &Array) -> Vec<Vec<f32>> {
    array.to_f32().chunks(1024).map(<[f32]>::to_vec).collect()
}

#[tpu_kernel]
fn product(
    #[comptime] t: [usize; 3],
    #[block(m, k)] x: Hbm<f32>,
    #[block(k, n)] w: Hbm<f32>,
    #[block(m, n)] y: HbmOut<f32>,
    #[scratch([t[0], t[2]])] acc: Vmem<f32>,
) {
    let steps = k / t[1];
    pipeline(
        [m / t[0], n / t[2], steps],
        (
            x.blocks([t[0], t[1]], |[i, _, l]| (i, l)).buffers(3).priority(1),
            w.blocks([t[1], t[2]], |[_, j, l]| (l, j)),
            y.blocks([t[0], t[2]], |[i, j, _]| (i, j)),
        ),
        |[_, _, l], (x, w, y)| {
            if l == 0 {
                acc[..] = 0.0;
            }
            acc[..] += dot(x[..], w[..]);
            if l == steps - 1 {
                y[..] = acc[..];
            }
        },
    );
}

#[test]
fn a_matrix_product_is_right() {
    let (m, k, n) = (256, 384, 256);
    let (x, w) = (small(&[m, k]), small(&[k, n]));
    let (a, b) = (x.to_f32(), w.to_f32());
    let expected = array(&[m, n], |at| {
        let (row, column) = (at / n, at % n);
        (0..k).map(|l| a[row * k + l] * b[l * n + column]).sum()
    });
    let args = [ArgSpec::of::<f32>(&[m, k]), ArgSpec::of::<f32>(&[k, n])];
    let kernel = product([64, 128, 128]).trace(&args).unwrap();
    let text = kernel.to_string();
    for part in ["x_blocks: f32[3, 64, 128]", "w_blocks: f32[2, 128, 128]", "y_sent: dma[2]"] {
        assert!(text.contains(part), "`{part}` is missing in\n{text}");
    }
    check(&kernel, &[x.clone(), w.clone()], std::slice::from_ref(&expected));
    // Grids of one step along some or all axes.
    for t in [[256, 128, 256], [128, 384, 256], [256, 384, 256]] {
        let kernel = product(t).trace(&args).unwrap();
        let found = interpreted(&kernel, &[x.clone(), w.clone()]).unwrap();
        assert_eq!(found, std::slice::from_ref(&expected), "{t:?}");
    }
}

#[tpu_kernel]
fn doubled(
    #[comptime] n_buffers: [usize; 2],
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: HbmOut<f32>,
) {
    pipeline(
        [m / 8],
        (
            x.blocks([8, n], |[i]| (i, 0)).buffers(n_buffers[0]),
            y.blocks([8, n], |[i]| (i, 0)).buffers(n_buffers[1]),
        ),
        |_, (x, y)| y[..] = x[..] * 2.0,
    );
}

#[test]
fn any_number_of_buffers_gives_the_same() {
    let x = counting(&[40, 128]);
    let expected = array(&[40, 128], |at| 2.0 * at as f32);
    for n_buffers in [[1, 1], [1, 3], [2, 2], [3, 1], [4, 4], [7, 6]] {
        let kernel = doubled(n_buffers).trace(&[ArgSpec::of::<f32>(&[40, 128])]).unwrap();
        let found = interpreted(&kernel, std::slice::from_ref(&x)).unwrap();
        assert_eq!(found, std::slice::from_ref(&expected), "{n_buffers:?}\n{kernel}");
    }
    let kernel = doubled([3, 1]).trace(&[ArgSpec::of::<f32>(&[40, 128])]).unwrap();
    check(&kernel, &[x], &[expected]);
}

#[tpu_kernel]
fn updated(#[comptime] n_buffers: usize, #[block(m, n)] x: HbmInOut<f32>, #[block(n)] b: In<f32>) {
    pipeline(
        (m / 8, 2),
        (x.blocks([8, n], |[i, _]| (i, 0)).buffers(n_buffers),),
        |[i, l], (x,)| {
            x[..] += b[..].reshape([1, n]) * (i * 2 + l).cast::<f32>();
        },
    );
}

#[test]
fn an_array_is_updated_in_place() {
    let args = [ArgSpec::of::<f32>(&[48, 128]), ArgSpec::of::<f32>(&[128])];
    let inputs = [counting(&[48, 128]), array(&[128], |_| 1.0)];
    // Step `(i, l)` adds `2 i + l` to block `i`.
    let expected = array(&[48, 128], |at| (at + 4 * (at / 1024) + 1) as f32);
    for n in 1..5 {
        let kernel = updated(n).trace(&args).unwrap();
        let found = interpreted(&kernel, &inputs).unwrap();
        assert_eq!(found, std::slice::from_ref(&expected), "{n}\n{kernel}");
    }
    check(&updated(3).trace(&args).unwrap(), &inputs, &[expected]);
}

/// Adds up as many blocks as a table says.
#[tpu_kernel]
fn some_blocks(
    #[prefetch] count: Smem<i32>,
    #[block(m, n)] x: Hbm<f32>,
    #[block(k, n)] y: Out<f32>,
    #[comptime] k: usize,
) {
    y[..] = pipeline_fold(
        (count[0], count[1]),
        (x.blocks([k, n], |[i, _]| (i, 0)),),
        zeros([k, n]),
        |_, (x,), sum| sum + x[..],
    );
}

#[test]
fn extents_may_be_known_at_run_time_alone() {
    let args = [ArgSpec::of::<i32>(&[2]), ArgSpec::of::<f32>(&[32, 128])];
    let kernel = some_blocks(8).trace(&args).unwrap();
    let x = counting(&[32, 128]);
    let sum = |n: usize, times: usize| {
        array(&[8, 128], |at| (times * (0..n).map(|i| i * 1024 + at).sum::<usize>()) as f32)
    };
    for (counts, expected) in [
        ([0, 1], sum(0, 0)),
        ([1, 0], sum(0, 0)),
        ([-1, -3], sum(0, 0)),
        ([1, 1], sum(1, 1)),
        ([3, 1], sum(3, 1)),
        ([4, 3], sum(4, 3)),
    ] {
        let found = interpreted(&kernel, &[ints(&counts), x.clone()]).unwrap();
        assert_eq!(found, [expected], "{counts:?}");
    }
    check(&kernel, &[ints(&[4, 2]), x], &[sum(4, 2)]);
}

/// Blocks that a table names.
#[tpu_kernel]
fn gathered(
    #[comptime] n_buffers: usize,
    #[prefetch] ids: Smem<i32>,
    #[block(v, d)] table: Hbm<f32>,
    #[block(m, d)] y: HbmOut<f32>,
    #[comptime] m: usize,
) {
    pipeline(
        [m / 8],
        (
            table.blocks([8, d], |[i]| (ids[i], 0)).buffers(n_buffers),
            y.blocks([8, d], |[i]| (i, 0)),
        ),
        |_, (x, y)| y[..] = x[..],
    );
}

#[test]
fn a_table_names_the_blocks() {
    let table = counting(&[40, 128]);
    let args = [ArgSpec::of::<i32>(&[6]), ArgSpec::of::<f32>(&[40, 128])];
    let blocks = rows(&table);
    for ids in [[4, 0, 4, 1, 2, 3], [1, 1, 1, 0, 0, 1], [2; 6], [0, 1, 1, 2, 2, 2]] {
        let of = |at: usize| blocks[ids[at / 1024] as usize][at % 1024];
        let expected = array(&[48, 128], of);
        for n_buffers in 1..5 {
            let kernel = gathered(n_buffers, 48).trace(&args).unwrap();
            let found = interpreted(&kernel, &[ints(&ids), table.clone()]).unwrap();
            assert_eq!(found, std::slice::from_ref(&expected), "{ids:?} {n_buffers}");
        }
    }
    let ids = [1, 1, 1, 0, 0, 4];
    let expected = array(&[48, 128], |at| blocks[ids[at / 1024] as usize][at % 1024]);
    check(&gathered(3, 48).trace(&args).unwrap(), &[ints(&ids), table], &[expected]);
}

/// Adds up blocks in pairs: the block of `y` is computed, and stays for two steps.
#[tpu_kernel]
fn pairs(
    #[comptime] n_buffers: usize,
    #[block(m, n)] x: Hbm<f32>,
    #[block(h, n)] y: HbmOut<f32>,
    #[comptime] h: usize,
) {
    pipeline(
        [m / 8],
        (x.blocks([8, n], |[i]| (i, 0)), y.blocks([8, n], |[i]| (i / 2, 0)).buffers(n_buffers)),
        |[i], (x, y)| {
            if i % 2 == 0 {
                y[..] = x[..];
            } else {
                y[..] += x[..];
            }
        },
    );
}

#[test]
fn an_output_block_stays_while_its_computed_index_does() {
    let x = counting(&[64, 128]);
    let expected = array(&[32, 128], |at| {
        let first = at / 1024 * 2048 + at % 1024;
        (2 * first + 1024) as f32
    });
    for n_buffers in 1..4 {
        let kernel = pairs(n_buffers, 32).trace(&[ArgSpec::of::<f32>(&[64, 128])]).unwrap();
        let found = interpreted(&kernel, std::slice::from_ref(&x)).unwrap();
        assert_eq!(found, std::slice::from_ref(&expected), "{n_buffers}\n{kernel}");
    }
    let kernel = pairs(2, 32).trace(&[ArgSpec::of::<f32>(&[64, 128])]).unwrap();
    check(&kernel, &[x], &[expected]);
}

/// Blocks of an array that is updated in place, where a table says.
#[tpu_kernel]
fn scattered(
    #[prefetch] ids: Smem<i32>,
    #[block(m, n)] x: HbmInOut<f32>,
    #[comptime] steps: usize,
) {
    pipeline([steps], (x.blocks([8, n], |[i]| (ids[i], 0)),), |[i], (x,)| {
        x[..] += (i + 1).cast::<f32>();
    });
}

#[test]
fn blocks_that_come_up_twice_are_updated_twice() {
    let args = [ArgSpec::of::<i32>(&[5]), ArgSpec::of::<f32>(&[32, 128])];
    let kernel = scattered(5).trace(&args).unwrap();
    let x = counting(&[32, 128]);
    for ids in [[0, 1, 0, 1, 2], [3, 3, 3, 0, 3], [0, 1, 2, 3, 0]] {
        let added = |block: usize| -> usize {
            (0..5).filter(|&step| ids[step] as usize == block).map(|step| step + 1).sum()
        };
        let expected = array(&[32, 128], |at| (at + added(at / 1024)) as f32);
        let found = interpreted(&kernel, &[ints(&ids), x.clone()]).unwrap();
        assert_eq!(found, [expected], "{ids:?}");
    }
}

/// A pipeline in the body of another one, its blocks chosen by the outer step; a block that no axis
/// moves; and squeezed axes.
#[tpu_kernel]
fn nested(
    #[block(b, m, n)] x: Hbm<f32>,
    #[block(m, k)] weight: Hbm<f32>,
    #[block(b, m, k)] y: HbmOut<f32>,
) {
    pipeline(
        [b],
        (weight.blocks([m, k], |[_]| (0, 0)), y.blocks((Squeezed, m, k), |[i]| (i, 0, 0))),
        |[i], (weight, y)| {
            let sum = pipeline_fold(
                [n / k],
                (x.blocks((Squeezed, m, k), |[j]| (i, 0, j)).buffers(3),),
                weight[..],
                |_, (x,), sum| sum + x[..],
            );
            y[..] = sum;
        },
    );
}

#[test]
fn pipelines_nest() {
    let args = [ArgSpec::of::<f32>(&[3, 8, 512]), ArgSpec::of::<f32>(&[8, 128])];
    let kernel = nested().trace(&args).unwrap();
    let x = counting(&[3, 8, 512]);
    let weight = array(&[8, 128], |at| at as f32);
    let expected = array(&[3, 8, 128], |at| {
        let (row, column) = (at / 128, at % 128);
        let sum: usize = (0..4).map(|j| row * 512 + j * 128 + column).sum();
        (at % 1024 + sum) as f32
    });
    check(&kernel, &[x, weight], &[expected]);
}

/// A pipeline in each step of a grid.
#[tpu_kernel(grid(g: parallel))]
fn in_a_grid(#[block(m, n)] x: Hbm<f32>, #[block(m: 16 @ g, n)] y: Out<f32>) {
    y[..] = 0.0;
    pipeline([n / 128], (x.blocks([16, 128], |[j]| (g, j)),), |[j], (x,)| {
        y[(.., ds(j * 128, 128))] += x[..] + 1.0;
    });
}

#[test]
fn each_step_of_a_grid_may_run_one() {
    let kernel = in_a_grid().trace(&[ArgSpec::of::<f32>(&[32, 384])]).unwrap();
    let expected = array(&[32, 384], |at| at as f32 + 1.0);
    check(&kernel, &[counting(&[32, 384])], &[expected]);
}

/// Two pipelines over the same array, one after the other.
#[tpu_kernel]
fn twice(#[block(m, n)] x: Hbm<f32>, #[block(k, n)] y: Out<f32>, #[comptime] k: usize) {
    let total = |start: Tile<f32>| {
        pipeline_fold([m / k], (x.blocks([k, n], |[i]| (i, 0)),), start, |_, (x,), sum| sum + x[..])
    };
    y[..] = total(total(zeros([k, n])));
}

#[test]
fn pipelines_have_buffers_of_their_own() {
    let kernel = twice(8).trace(&[ArgSpec::of::<f32>(&[24, 128])]).unwrap();
    let text = kernel.to_string();
    for part in ["scratch x_blocks:", "scratch x_blocks_2:", "semaphores x_fetched_2:"] {
        assert!(text.contains(part), "`{part}` is missing in\n{text}");
    }
    let expected = array(&[8, 128], |at| 2.0 * (3 * at + 3 * 1024) as f32);
    let found = interpreted(&kernel, &[counting(&[24, 128])]).unwrap();
    assert_eq!(found, [expected]);
    assert_eq!(Kernel::parse(&text).unwrap().to_string(), text);
}
