//! Mistakes in pipelines: those that tracing tells, at the line of the blocks and with the numbers,
//! and those that the interpreter finds.

use crate::dma::{counting, interpreted};
use systole::diag::{Code, Diagnostics};
use systole::ir::Kernel;
use systole::prelude::*;

/// Asserts that exactly one mistake is told, at this line and with all of these words.
#[track_caller]
fn told(result: Result<Kernel, Diagnostics>, line: u32, words: &[&str]) {
    let problems = result.expect_err("the mistake was not found");
    assert_eq!(problems.0.len(), 1, "{problems}");
    let problem = &problems.0[0];
    assert_eq!(problem.code, Code::TRACE_PIPELINE, "{problem}");
    assert_eq!(problem.labels[0].span.line, line, "{problem}");
    assert!(problem.help.is_some(), "{problem}");
    for word in words {
        assert!(problem.to_string().contains(word), "`{word}` is missing in\n{problem}");
    }
}

/// The line of `x.blocks` in [`reads`].
const READS: u32 = line!() + 14;

/// Reads blocks of an array, in a grid of two axes.
#[tpu_kernel]
fn reads(
    #[comptime] extents: [usize; 2],
    #[comptime] sizes: Vec<usize>,
    #[comptime] index: impl Fn([Scalar<i32>; 2]) -> Vec<Scalar<i32>> + Clone,
    #[comptime] n_buffers: usize,
    #[block(m, n)] x: Hbm<f32>,
    #[block(k, d)] y: Out<f32>,
    #[comptime] k: usize,
    #[comptime] d: usize,
) {
    let specs = (x.blocks(sizes.clone(), index.clone()).buffers(n_buffers),);
    y[..] = pipeline_fold(extents, specs, zeros([k, d]), |_, (_,), sum| sum);
}

fn traced(
    extents: [usize; 2],
    sizes: &[usize],
    index: impl Fn([Scalar<i32>; 2]) -> Vec<Scalar<i32>> + Clone,
    n_buffers: usize,
) -> Result<Kernel, Diagnostics> {
    let kernel = reads(extents, sizes.to_vec(), index, n_buffers, 8, 128);
    kernel.trace(&[ArgSpec::of::<f32>(&[40, 512])])
}

fn both([i, j]: [Scalar<i32>; 2]) -> Vec<Scalar<i32>> {
    vec![i, j]
}

#[test]
fn what_fits_is_fine() {
    assert!(traced([5, 4], &[8, 128], both, 2).is_ok());
    // The last block has 8 rows.
    assert!(traced([3, 4], &[16, 128], both, 2).is_ok());
}

#[test]
fn an_extent_that_leads_outside_is_told() {
    let words = [
        "axis 1 of this pipeline has 5 steps, but `x` has 4 blocks of 128 along axis 1, which has 512",
        "make the extent 4",
    ];
    told(traced([5, 5], &[8, 128], both, 2), READS, &words);
    let words = ["axis 0 of this pipeline has 4 steps, but `x` has 3 blocks of 16 along axis 0"];
    told(traced([4, 4], &[16, 128], both, 2), READS, &words);
}

#[test]
fn a_block_outside_is_told() {
    let index = |[i, _]: [Scalar<i32>; 2]| vec![i, scalar(4)];
    let words = ["block 4 of 128 along axis 1 of `x` lies outside of its 512", "from 0 to 3"];
    told(traced([5, 1], &[8, 128], index, 2), READS, &words);
}

#[test]
fn ranks_that_differ_are_told() {
    let words = ["the blocks have 3 sizes, but `x` has rank 2 [40, 512]", "`Squeezed`"];
    told(traced([5, 4], &[8, 8, 128], both, 2), READS, &words);
    let index = |[i, _]: [Scalar<i32>; 2]| vec![i];
    let words = ["the index of the blocks has 1 entries, but `x` has rank 2 [40, 512]"];
    told(traced([5, 4], &[8, 128], index, 2), READS, &words);
}

#[test]
fn sizes_that_are_none_are_told() {
    let words = ["a block has 0 elements along axis 0 of `x`, which has 40"];
    told(traced([5, 4], &[0, 128], both, 2), READS, &words);
    let words = ["a block has 48 elements along axis 0 of `x`", "a size from 1 to 40"];
    told(traced([1, 4], &[48, 128], both, 2), READS, &words);
    told(traced([5, 4], &[8, 128], both, 0), READS, &["at least one buffer"]);
}

#[test]
fn extents_that_are_none_are_told() {
    let words = ["axis 1 of this pipeline has 0 steps; it needs 1 or more"];
    told(traced([5, 0], &[8, 128], both, 2), READS + 1, &words);
    let words = ["this pipeline has 4294967296 steps, which are counted in 32 bits"];
    told(traced([1 << 16, 1 << 16], &[8, 128], both, 2), READS + 1, &words);
}

const REVISITS: u32 = line!() + 6;

/// Sums over the outer axis, which leaves each block and comes back.
#[tpu_kernel]
fn revisits(#[block(m, n)] x: Hbm<f32>, #[block(k, n)] y: HbmOut<f32>, #[comptime] k: usize) {
    let x = x.blocks([8, 128], |[l, j]| (l, j));
    let y = y.blocks([8, 128], |[_, j]| (0, j));
    pipeline([m / 8, n / 128], (x, y), |[l, _], (x, y)| {
        if l == 0 {
            y[..] = 0.0;
        }
        y[..] += x[..];
    });
}

#[test]
fn a_block_that_is_left_and_visited_again_is_told() {
    let words = [
        "each block of `y` is left and visited again: it moves with axis 1 of this pipeline, but not with axis 0",
        "let axis 0 come after axis 1",
    ];
    told(revisits(8).trace(&[ArgSpec::of::<f32>(&[40, 512])]), REVISITS, &words);
    // One step along the outer axis visits each block once.
    assert!(revisits(8).trace(&[ArgSpec::of::<f32>(&[8, 512])]).is_ok());
}

const UPDATES: u32 = line!() + 5;

/// Updates blocks that are computed, with buffers for several of them.
#[tpu_kernel]
fn updates(#[block(m, n)] x: HbmInOut<f32>) {
    let blocks = x.blocks([8, 128], |[i]| (i / 2, 0)).buffers(3);
    pipeline([m / 8], (blocks,), |_, (x,)| x[..] += 1.0);
}

#[test]
fn computed_blocks_in_place_take_one_buffer() {
    let words = ["where they lie is computed; they take one buffer, not 3"];
    told(updates().trace(&[ArgSpec::of::<f32>(&[40, 128])]), UPDATES, &words);
}

/// Keeps a sum where no loop sees it.
#[tpu_kernel]
fn hides(#[block(m, n)] x: Hbm<f32>, #[block(k, n)] y: Out<f32>, #[comptime] k: usize) {
    let mut sum = zeros([k, n]);
    pipeline([m / k], (x.blocks([k, n], |[i]| (i, 0)),), |_, (x,)| {
        sum += x[..];
    });
    y[..] = sum;
}

#[test]
fn a_sum_that_the_pipeline_does_not_carry_is_told() {
    let problems = hides(8).trace(&[ArgSpec::of::<f32>(&[40, 128])]).unwrap_err();
    let codes: Vec<Code> = problems.0.iter().map(|problem| problem.code).collect();
    let known = [Code::TRACE_HIDDEN_STATE, Code::TRACE_ESCAPE];
    assert!(codes.iter().all(|code| known.contains(code)), "{problems}");
}

/// Asserts that the interpreter finds one mistake, with all of these words.
#[track_caller]
fn caught(kernel: &Kernel, inputs: &[Array], code: Code, words: &[&str]) {
    let problems = interpreted(kernel, inputs).expect_err("the mistake was not caught");
    assert_eq!(problems.0[0].code, code, "{problems}");
    for word in words {
        assert!(problems.to_string().contains(word), "`{word}` is missing in\n{problems}");
    }
}

/// Blocks that a table names.
#[tpu_kernel]
fn named(
    #[prefetch] ids: Smem<i32>,
    #[block(v, d)] table: Hbm<f32>,
    #[block(m, d)] y: HbmOut<f32>,
    #[comptime] m: usize,
) {
    let rows = table.blocks([8, d], |[i]| (ids[i], 0));
    pipeline([m / 8], (rows, y.blocks([8, d], |[i]| (i, 0))), |_, (x, y)| y[..] = x[..]);
}

#[test]
fn a_block_outside_is_caught_with_its_number() {
    let args = [ArgSpec::of::<i32>(&[2]), ArgSpec::of::<f32>(&[40, 128])];
    let kernel = named(16).trace(&args).unwrap();
    let ids = Array::from_f64(DType::I32, &[2], &[1.0, 5.0]).unwrap();
    let words = ["this copy touches elements 40 to 47 of `table` along axis 0, which has 40"];
    caught(&kernel, &[ids, counting(&[40, 128])], Code::INTERP_OUT_OF_BOUNDS, &words);
}

/// Writes some of the blocks of its output alone.
#[tpu_kernel]
fn leaves_a_block(#[block(m, n)] x: Hbm<f32>, #[block(m, n)] y: HbmOut<f32>) {
    let blocks = (x.blocks([8, n], |[i]| (i, 0)), y.blocks([8, n], |[i]| (i, 0)));
    pipeline([m / 8], blocks, |[i], (x, y)| {
        if i > 0 {
            y[..] = x[..];
        }
    });
}

#[test]
fn a_block_that_no_step_writes_is_caught() {
    let kernel = leaves_a_block().trace(&[ArgSpec::of::<f32>(&[40, 128])]).unwrap();
    let words = ["`y_blocks"];
    caught(&kernel, &[counting(&[40, 128])], Code::INTERP_UNINITIALIZED, &words);
}

/// Copies out of the array that the pipeline sends to, without waiting for what it sends.
#[tpu_kernel]
fn reads_back(
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] array: HbmInOut<f32>,
    #[scratch([8, n])] own: Vmem<f32>,
    #[scratch] done: DmaSemaphore,
) {
    let blocks = (x.blocks([8, n], |[i]| (i, 0)), array.blocks([8, n], |[i]| (i, 0)));
    pipeline([m / 8], blocks, |[i], (x, y)| {
        y[..] += x[..];
        if i > 0 {
            start_copy(array.rows((i - 1) * 8, 8), own.at(..), done);
            wait_copy(array.rows((i - 1) * 8, 8), own.at(..), done);
        }
    });
}

#[test]
fn reading_what_is_being_sent_is_caught() {
    let args = [ArgSpec::of::<f32>(&[40, 128]), ArgSpec::of::<f32>(&[40, 128])];
    let kernel = reads_back().trace(&args).unwrap();
    let inputs = [counting(&[40, 128]), counting(&[40, 128])];
    let words = ["`array[0, 0]` is read while the copy into `array[0..8, 0..128]` is in flight"];
    caught(&kernel, &inputs, Code::INTERP_IN_FLIGHT, &words);
}

/// Walks over one array twice, to read its blocks and to update them.
#[tpu_kernel]
fn overlaps(#[block(m, n)] array: HbmInOut<f32>) {
    let one = array.blocks([8, n], |[i]| (i, 0));
    let other = array.blocks([8, n], |[i]| ((i + 1) % 5, 0));
    pipeline([m / 8], (one, other), |_, (one, other)| one[..] += other[..]);
}

#[test]
fn two_walks_over_one_array_are_caught() {
    let kernel = overlaps().trace(&[ArgSpec::of::<f32>(&[40, 128])]).unwrap();
    caught(&kernel, &[counting(&[40, 128])], Code::INTERP_IN_FLIGHT, &["`array["]);
}
