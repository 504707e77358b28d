//! Mistakes in a kernel's body or call: each is one diagnostic at the user's line.

use super::{assert_error, f32s, only};
use systole::diag::Code;
use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn add(
    #[comptime] block: usize,
    #[block(m: block @ i, n)] a: In<f32>,
    #[block(m: block @ i, n)] b: In<f32>,
    #[block(m: block @ i, n)] o: Out<f32>,
) {
    o[..] = a[..] + b[..];
}

#[test]
fn names_the_parameters_when_the_number_of_arguments_differs() {
    let error = only(add(8).trace(&[f32s(&[8, 128])]));
    assert_error(
        &error,
        Code::TRACE_ARGUMENT,
        "kernel `add` takes 2 arrays (`a`, `b`), but 1 were given",
    );
}

#[test]
fn names_the_parameter_of_a_wrong_rank() {
    let error = only(add(8).trace(&[f32s(&[8, 128]), f32s(&[8])]));
    assert_error(&error, Code::TRACE_ARGUMENT, "`b` has rank 2 [m, n], but an array of rank 1 [8]");
}

#[test]
fn names_the_parameter_of_a_wrong_element_type() {
    let error = only(add(8).trace(&[f32s(&[8, 128]), ArgSpec::of::<bf16>(&[8, 128])]));
    assert_error(&error, Code::TRACE_ARGUMENT, "`b` has elements of `f32`, but `bf16` was given");
}

#[test]
fn names_both_origins_of_a_dimension() {
    let error = only(add(8).trace(&[f32s(&[8, 128]), f32s(&[16, 128])]));
    assert_error(&error, Code::TRACE_DIM, "dimension `m` is 8 from `a` but 16 in `b`");
}

#[test]
fn rejects_an_empty_dimension() {
    let error = add(8).trace(&[f32s(&[8, 0]), f32s(&[8, 0])]).unwrap_err();
    assert_eq!(error.0.len(), 2, "{error}");
    assert_error(&error.0[0], Code::TRACE_DIM, "dimension `n` of `a` is 0");
}

#[test]
fn rejects_a_dimension_beyond_an_i32_index() {
    let huge = f32s(&[1 << 31, 1]);
    let error = add(8).trace(&[huge.clone(), huge]).unwrap_err();
    assert_error(&error.0[0], Code::TRACE_DIM, "dimension `m` of `a` is 2147483648");
}

#[test]
fn rejects_a_block_of_size_zero() {
    let error = add(0).trace(&[f32s(&[8, 128]), f32s(&[8, 128])]).unwrap_err();
    assert_error(&error.0[0], Code::TRACE_GRID, "the block of `a` has size 0 along `m`");
}

#[tpu_kernel(grid(i))]
fn two_walks(#[block(m: 8 @ i, n)] a: In<f32>, #[block(m: 16 @ i, n)] o: Out<f32>) {
    o[(0..8, ..)] = a[..];
}

#[test]
fn names_both_origins_of_a_grid_extent() {
    let error = only(two_walks().trace(&[f32s(&[64, 128])]));
    assert_error(
        &error,
        Code::TRACE_GRID,
        "grid axis `i` would have 8 steps from `a` (64 in blocks of 8) but 4 from `o`",
    );
}

#[tpu_kernel]
fn last_of_a_loop(#[block(m, n)] a: In<f32>, #[block(m, n)] o: Out<f32>) {
    for j in 0..4 {
        if j == j.last() {
            o[..] = a[..];
        }
    }
}

#[test]
fn only_grid_indices_have_a_last_step() {
    let error = only(last_of_a_loop().trace(&[f32s(&[8, 128])]));
    assert_error(&error, Code::TRACE_GRID, "only a grid index has a last step");
}

#[tpu_kernel]
fn number_out_of_range(#[block(m, n)] a: In<i8>, #[block(m, n)] o: Out<i8>) {
    o[..] = a[..] + 200;
}

#[test]
fn rejects_a_number_that_does_not_fit_its_type() {
    let error = only(number_out_of_range().trace(&[ArgSpec::of::<i8>(&[32, 128])]));
    assert_error(&error, Code::TRACE_NUMBER, "the number 200 does not fit `i8`");
}

#[tpu_kernel]
fn smuggle(#[comptime] foreign: Tile<f32>, #[block(m, n)] a: In<f32>, #[block(m, n)] o: Out<f32>) {
    o[..] = a[..] + foreign;
}

#[test]
fn rejects_a_tile_of_no_kernel() {
    let error = only(smuggle(zeros([8, 128])).trace(&[f32s(&[8, 128])]));
    assert_error(&error, Code::TRACE_FOREIGN, "this value was not made in the kernel");
}

#[tpu_kernel(grid(i))]
fn escape(#[block(m: 8 @ i, n)] a: In<f32>, #[block(m: 8 @ i, n)] o: Out<f32>) {
    let kept = std::cell::Cell::new(a[..]);
    if i == 0 {
        kept.set(a[..] * 2.0);
    }
    o[..] = kept.get();
}

#[test]
fn rejects_a_value_that_leaves_its_region() {
    let error = only(escape().trace(&[f32s(&[16, 128])]));
    assert_error(
        &error,
        Code::TRACE_ESCAPE,
        "this value was made inside the first arm of the `if`",
    );
    assert_eq!(error.labels.len(), 2, "{error}");
}

#[tpu_kernel]
fn growing(#[block(m, n)] a: In<f32>, #[block(m, n)] o: Out<f32>) {
    let mut sum = a[..];
    for _ in 0..4 {
        sum = concat(&[sum, a[..]], 0);
    }
    o[..] = sum;
}

#[test]
fn rejects_a_carried_tile_that_changes_its_shape() {
    let error = only(growing().trace(&[f32s(&[8, 128])]));
    assert_error(
        &error,
        Code::TRACE_CARRIED_TYPE,
        "`sum` enters the loop as `f32[8, 128]` but leaves it as `f32[16, 128]`",
    );
}

#[tpu_kernel]
fn counting(#[block(m, n)] a: In<f32>, #[block(m, n)] o: Out<f32>) {
    let mut count = 0;
    for _ in 0..4 {
        count += 1;
    }
    o[..] = a[..] * count as f32;
}

#[test]
fn rejects_a_host_counter_in_a_device_loop() {
    let error = only(counting().trace(&[f32s(&[8, 128])]));
    assert_error(
        &error,
        Code::TRACE_HOST_CHANGE,
        "`count`: a host `i32` changes inside a device loop",
    );
}

#[tpu_kernel]
fn several(#[block(m, n)] a: In<f32>, #[block(m, n)] o: Out<f32>) {
    let x = dot(a[..], a[..]);
    let y = a[(0..4, .., ..)];
    let z = x + y;
    o[(0..m + 8, ..)] = z;
    o[..] = a[..].reshape([3, 5]);
}

#[test]
fn tracing_goes_on_after_a_mistake() {
    let errors = several().trace(&[f32s(&[8, 128])]).unwrap_err();
    let codes: Vec<Code> = errors.iter().map(|error| error.code).collect();
    assert_eq!(codes, [Code::IR_SHAPE, Code::IR_INDEX, Code::IR_INDEX, Code::IR_SHAPE], "{errors}");
}
