//! Blocks of pipelines that reach over the end of their array.

use crate::dma::{array, check, counting, interpreted};
use systole::diag::Code;
use systole::prelude::*;
use systole::target::{Target, V5E};
use systole::valid;

#[tpu_kernel]
fn doubled<T: Num>(
    #[comptime] size: [usize; 2],
    #[comptime] n_buffers: [usize; 2],
    #[block(m, n)] x: Hbm<T>,
    #[block(m, n)] y: HbmOut<T>,
) {
    pipeline(
        [m.div_ceil(size[0]), n.div_ceil(size[1])],
        (
            x.blocks(size, |[i, j]| (i, j)).buffers(n_buffers[0]),
            y.blocks(size, |[i, j]| (i, j)).buffers(n_buffers[1]),
        ),
        |_, (x, y)| y[..] = x[..] + x[..],
    );
}

#[test]
fn what_is_there_of_the_last_blocks_is_fetched_and_sent() {
    // The last blocks have 8 rows; 8 and then 4; 4; 8 rows and 128 columns.
    for (shape, size) in [
        ([40, 128], [16, 128]),
        ([44, 256], [16, 128]),
        ([20, 256], [16, 256]),
        ([40, 384], [16, 256]),
    ] {
        let x = counting(&shape);
        let expected = array(&shape, |at| 2.0 * at as f32);
        let args = [ArgSpec::of::<f32>(&shape)];
        for n_buffers in [[1, 1], [1, 3], [2, 2], [3, 1], [4, 2]] {
            let kernel = doubled::<f32>(size, n_buffers).trace(&args).unwrap();
            let found = interpreted(&kernel, std::slice::from_ref(&x)).unwrap();
            assert_eq!(found, std::slice::from_ref(&expected), "{shape:?} {n_buffers:?}\n{kernel}");
        }
        if size[1] < shape[1] {
            check(&doubled::<f32>(size, [3, 2]).trace(&args).unwrap(), &[x], &[expected]);
        }
    }
}

#[test]
fn narrow_types_are_cut_too() {
    let all = |dtype, x: f64| Array::from_f64(dtype, &[80, 256], &[x; 80 * 256]).unwrap();
    let args = [ArgSpec::of::<bf16>(&[80, 256])];
    let kernel = doubled::<bf16>([64, 256], [2, 2]).trace(&args).unwrap();
    check(&kernel, &[all(DType::BF16, 1.0)], &[all(DType::BF16, 2.0)]);
    let args = [ArgSpec::of::<i8>(&[80, 256])];
    let kernel = doubled::<i8>([64, 256], [2, 2]).trace(&args).unwrap();
    check(&kernel, &[all(DType::I8, 1.0)], &[all(DType::I8, 2.0)]);
}

/// The sum of all rows, with a mask of those that are there or without.
#[tpu_kernel(dims(one = 1))]
fn summed(#[comptime] masked: bool, #[block(m, n)] x: Hbm<f32>, #[block(one, n)] y: Out<f32>) {
    let blocks = x.blocks([16, n], |[i]| (i, 0));
    y[..] = pipeline_fold([m.div_ceil(16)], (blocks,), zeros([1, n]), |[i], (x,), sum| {
        let mut rows = x[..];
        if comptime!(masked) {
            rows = select(iota([16, n], 0) + i * 16 < m, rows, 0.0);
        }
        sum + rows.reduce_sum(0).reshape([1, n])
    });
}

#[test]
fn the_rest_of_a_block_is_undefined() {
    let x = array(&[44, 128], |at| (at / 128) as f32);
    let args = [ArgSpec::of::<f32>(&[44, 128])];
    let expected = array(&[1, 128], |_| (44 * 43 / 2) as f32);
    check(&summed(true).trace(&args).unwrap(), std::slice::from_ref(&x), &[expected]);
    // Blocks before have filled the buffers, but what they left there does not count.
    let problems = interpreted(&summed(false).trace(&args).unwrap(), &[x]).unwrap_err();
    assert_eq!(problems.0[0].code, Code::INTERP_PADDING, "{problems}");
    assert!(problems.to_string().contains("padding beyond the end of `x_blocks`"), "{problems}");
}

#[tpu_kernel]
fn updated(#[comptime] n_buffers: usize, #[block(m, n)] x: HbmInOut<f32>) {
    let blocks = x.blocks([16, n], |[i, _]| (i, 0)).buffers(n_buffers);
    pipeline((m.div_ceil(16), 2), (blocks,), |[i, l], (x,)| {
        x[..] += (i * 2 + l).cast::<f32>();
    });
}

#[test]
fn an_array_is_updated_in_place_to_its_end() {
    let x = counting(&[44, 256]);
    // Step `(i, l)` adds `2 i + l` to block `i`.
    let expected = array(&[44, 256], |at| (at + 4 * (at / 4096) + 1) as f32);
    let args = [ArgSpec::of::<f32>(&[44, 256])];
    for n in 1..5 {
        let kernel = updated(n).trace(&args).unwrap();
        let found = interpreted(&kernel, std::slice::from_ref(&x)).unwrap();
        assert_eq!(found, std::slice::from_ref(&expected), "{n}\n{kernel}");
    }
    check(&updated(3).trace(&args).unwrap(), &[x], &[expected]);
}

/// As many blocks as the first entry says, by the numbers that follow, of each of two matrices.
#[tpu_kernel]
fn named(
    #[prefetch] ids: Smem<i32>,
    #[block(l, v, d)] table: Hbm<f32>,
    #[block(l, m, d)] y: HbmOut<f32>,
    #[comptime] m: usize,
) {
    let from = table.blocks((Squeezed, 16, d), |[b, i]| (b, ids[i + 1], 0));
    let to = y.blocks((Squeezed, 16, d), |[b, i]| (b, i, 0));
    pipeline((l, ids[0]), (from, to), |_, (x, y)| {
        y[..] = select(iota([16, 128], 0) < 8, x[..], 0.5);
    });
}

#[test]
fn blocks_that_a_table_names_may_be_the_last() {
    let ids = Array::from_f64(DType::I32, &[5], &[4.0, 2.0, 0.0, 2.0, 1.0]).unwrap();
    let args = [ArgSpec::of::<i32>(&[5]), ArgSpec::of::<f32>(&[2, 40, 128])];
    let kernel = named(56).trace(&args).unwrap();
    let expected = array(&[2, 56, 128], |at| {
        let (matrix, row) = (at / (56 * 128), at / 128 % 56);
        let from = [32, 0, 32, 16][row / 16] + row % 16;
        if row % 16 < 8 { (matrix * 40 * 128 + from * 128 + at % 128) as f32 } else { 0.5 }
    });
    check(&kernel, &[ids, counting(&[2, 40, 128])], &[expected]);
}

/// The last block of the rows, whatever the step.
#[tpu_kernel]
fn last_rows(#[block(m, n)] x: Hbm<f32>, #[block(k, n)] y: HbmOut<f32>, #[comptime] k: usize) {
    let from = x.blocks([16, 128], |[j]| (2, j));
    let to = y.blocks([8, 128], |[j]| (0, j));
    pipeline([n / 128], (from, to), |_, (x, y)| y[..] = x[(0..8, ..)]);
}

#[test]
fn a_block_that_is_always_cut_is_fetched() {
    let kernel = last_rows(8).trace(&[ArgSpec::of::<f32>(&[40, 256])]).unwrap();
    let expected = array(&[8, 256], |at| (32 * 256 + at) as f32);
    check(&kernel, &[counting(&[40, 256])], &[expected]);
}

#[test]
fn what_no_copy_takes_is_told_with_the_cure() {
    let args = [ArgSpec::of::<f32>(&[8, 300])];
    let kernel = doubled::<f32>([8, 128], [2, 2]).trace(&args).unwrap();
    let found = interpreted(&kernel, &[counting(&[8, 300])]).unwrap();
    assert_eq!(found, [array(&[8, 300], |at| 2.0 * at as f32)]);
    let problems = valid::check(kernel, &V5E).unwrap_err();
    let is_of_copies = |code| code == Code::VALID_COPY_ALIGNMENT;
    assert!(problems.iter().all(|problem| is_of_copies(problem.code)), "{problems}");
    let text = problems.to_string();
    for words in [
        "44 elements from 256 along axis 1 of `x` [8, 300]",
        "or take the whole axis",
        "ragged.rs:19",
    ] {
        assert!(text.contains(words), "`{words}` is missing in\n{text}");
    }
    // The whole axis in each block is fine.
    let kernel = doubled::<f32>([8, 300], [2, 2]).trace(&[ArgSpec::of::<f32>(&[12, 300])]).unwrap();
    for &target in Target::TPUS {
        assert!(valid::check(kernel.clone(), target).is_ok());
    }
}

/// Adds its number to each block of as many as `steps` says.
#[tpu_kernel]
fn numbered(
    #[comptime] n_buffers: usize,
    #[prefetch] steps: Smem<i32>,
    #[block(m, n)] x: HbmInOut<f32>,
) {
    let blocks = x.blocks([8, n], |[i]| (i, 0)).buffers(n_buffers);
    pipeline([steps[0]], (blocks,), |[i], (x,)| x[..] += (i + 1).cast::<f32>());
}

#[test]
fn fetches_ahead_of_arrays_of_few_blocks_are_left_to_the_number_of_steps() {
    for (rows, n_buffers) in [(8, 4), (8, 9), (16, 8), (12, 8)] {
        let args = [ArgSpec::of::<i32>(&[1]), ArgSpec::of::<f32>(&[rows, 128])];
        let kernel = numbered(n_buffers).trace(&args).unwrap();
        let x = counting(&[rows, 128]);
        let of = |n: usize| Array::from_f64(DType::I32, &[1], &[n as f64]).unwrap();
        let n_blocks = rows.div_ceil(8);
        for n in 0..=n_blocks {
            let number = |at: usize| if at / 1024 < n { at / 1024 + 1 } else { 0 };
            let expected = array(&[rows, 128], |at| (at + number(at)) as f32);
            let inputs = [of(n), x.clone()];
            match (n, n_buffers) {
                (1, 4) => check(&kernel, &inputs, &[expected]),
                _ => assert_eq!(interpreted(&kernel, &inputs).unwrap(), [expected], "{kernel}"),
            }
        }
        let problems = interpreted(&kernel, &[of(n_blocks + 1), x]).unwrap_err();
        assert_eq!(problems.0[0].code, Code::INTERP_OUT_OF_BOUNDS, "{problems}");
    }
}
