//! Mistakes in a kernel's body or call: each is one diagnostic at the user's line.

use super::{assert_error, f32s, only};
use systole::back::interp;
use systole::diag::Code;
use systole::prelude::*;
use systole::run::{DynTensor, KernelOp};
use systole::target::GENERIC;
use systole::valid;

/// The line of the kernel `add`.
const ADD_LINE: u32 = line!() + 3;

#[tpu_kernel(grid(i))]
fn add(
    #[comptime] block: usize,
    #[block(m: block @ i, n)] a: In<f32>,
    #[block(m: block @ i, n)] b: In<f32>,
    #[block(m: block @ i, n)] o: Out<f32>,
) {
    o[..] = a[..] + b[..];
}

#[tpu_kernel]
fn add_bias(#[block(m, n)] x: In<f32>, #[block(n)] bias: In<f32>, #[block(m, n)] y: Out<f32>) {
    y[..] = x[..] + bias[..];
}

#[test]
fn tells_how_a_tile_of_fewer_axes_is_reshaped() {
    let error = only(add_bias().trace(&[f32s(&[8, 128]), f32s(&[128])]));
    assert_error(&error, Code::IR_SHAPE, "`add`: `f32[8, 128]` does not fit `f32[128]`");
    let help = "axes are not added: give `f32[128]` as many, as by `.reshape([1, 128])`";
    assert_eq!(error.help.as_deref(), Some(help));
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

/// A mistake in the arguments is the caller's: both lines are named, the kernel's and the call's.
#[test]
fn mistakes_of_a_call_name_its_line_too() {
    let (a, b) = (super::ramp(&[8, 128]), super::ramp(&[16, 128]));
    let arrays = (add(8).call(&a, &b).unwrap_err(), line!());
    let by_name = (systole::run::call(&add(8), &[&a, &b]).unwrap_err(), line!());
    let (a, b) = (DynTensor::from_array(a), DynTensor::from_array(b));
    let on_tensors = (add(8).call(&a, &b).unwrap_err(), line!());
    let as_op = (KernelOp::of(&add(8), &[&a, &b]).unwrap_err(), line!());
    for (errors, line) in [arrays, by_name, on_tensors, as_op] {
        let error = only(Err(errors));
        assert_error(&error, Code::TRACE_DIM, "dimension `m` is 8 from `a` but 16 in `b`");
        let places: Vec<_> = error.labels.iter().map(|l| (l.span.line, l.text.as_str())).collect();
        let kernel = (ADD_LINE, "in this kernel");
        assert_eq!(places, [kernel, (line, "the kernel is called here")], "{error}");
    }
}

#[tpu_kernel(grid(i))]
fn promises(
    #[comptime] divisor: usize,
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[scratch([16, 128])] s: Vmem<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    s[..] = zeros([16, 128]);
    let at = i.multiple_of(divisor);
    o[..] = a[..] + s[(ds(at, 8).multiple_of(divisor), ..)];
}

#[test]
fn a_promise_names_a_divisor() {
    for n in [0, 1 << 31, usize::MAX] {
        let errors = promises(n).trace(&[f32s(&[8, 128])]).unwrap_err();
        let message = format!("nothing but 0 is a multiple of {n}");
        assert_eq!(errors.0.len(), 2, "{errors}");
        errors.iter().for_each(|error| assert_error(error, Code::TRACE_NUMBER, &message));
    }
    promises(8).trace(&[f32s(&[8, 128])]).unwrap();
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

#[tpu_kernel]
fn follow_ups(#[block(m, n)] a: In<f32>, #[block(m, n)] o: Out<f32>) {
    let x = a[(0..4, .., ..)];
    let y = x.slice((0..2, ..)).transpose() + x.row_sum();
    // Sizes that host code computes from what is not there.
    let (rows, columns) = (y.size(0) - 1, y.shape().len() * 8);
    let mut z = zeros([rows, columns]) + iota([8, 64], 0).cast::<f32>();
    for j in (0..8).step_by(rows) {
        z = concat(&[z, z], 0) + j.cast::<f32>();
    }
    o[(ds(rows, columns), ..)] = z;
    if a.shape()[0] > 4 {
        o[..] = y.slice((0..1, 0..columns + 1)) * 1.0;
    }
}

#[test]
fn what_follows_from_a_mistake_is_not_told() {
    let error = only(follow_ups().trace(&[f32s(&[8, 128])]));
    assert_error(&error, Code::IR_INDEX, "index has 3 entries but the reference has rank 2");
}

#[tpu_kernel]
fn by_zero(
    #[comptime] divisor: usize,
    #[block(m, n)] a: In<i32>,
    #[block(m, n)] o: Out<i32>,
    #[block(m, n)] f: Out<f32>,
) {
    let zero = scalar::<i32>(divisor);
    let mut x = a[..] / divisor;
    x %= zero;
    x += a[..] / full([m, n], zero);
    x += scalar::<i32>(7) / zero + scalar::<i32>(7).rem(divisor);
    o[..] = x;
    f[..] = a[..].cast::<f32>() / divisor as f32;
}

#[test]
fn rejects_integer_division_by_zero() {
    let args = [ArgSpec::of::<i32>(&[8, 128])];
    let errors = by_zero(0).trace(&args).unwrap_err();
    let found: Vec<(u32, &str)> =
        errors.iter().map(|e| (e.labels[0].span.line, e.message.as_str())).collect();
    let line = found[0].0;
    let expected = [
        (line, "`div` of `i32` by 0"),
        (line + 1, "`rem` of `i32` by 0"),
        (line + 2, "`div` of `i32` by 0"),
        (line + 3, "`div` of `i32` by 0"),
        (line + 3, "`rem` of `i32` by 0"),
    ];
    assert_eq!(found, expected, "{errors}");
    assert!(errors.iter().all(|e| e.code == Code::TRACE_NUMBER && e.help.is_some()));
    by_zero(2).trace(&args).unwrap();
}

#[tpu_kernel]
fn overflowing(#[block(m, n)] a: In<f32>, #[block(m, n)] o: Out<f32>) {
    let start = scalar::<i32>(1 << 20) * (1 << 12);
    o[..] = a[(ds(start, 8), ..)];
}

#[test]
fn arithmetic_on_constants_that_overflows_is_called_so() {
    let error = overflowing().call(&super::ramp(&[8, 128])).unwrap_err().0.remove(0);
    let message = "the index of `a` along axis 0 comes from 4294967296, which does not fit 32 bits";
    assert_error(&error, Code::INTERP_INDEX_OVERFLOW, message);
    assert_eq!(error.labels.len(), 3, "where it wraps, is used, and is called: {error}");
    let kernel = overflowing().trace(&[f32s(&[8, 128])]).unwrap();
    let error = systole::valid::check(kernel, &systole::target::V5E).unwrap_err().0.remove(0);
    assert_error(&error, Code::VALID_INDEX_OVERFLOW, "an index of `load` reaches 4294967296");
}

#[tpu_kernel(grid(i = steps, j = steps))]
fn so_many_steps(#[comptime] steps: usize, #[block(m, n)] a: In<f32>, #[block(m, n)] o: Out<f32>) {
    if i + j == 0 {
        o[..] = a[..];
    }
}

/// What no parameter and no op is to blame for is told at the kernel's own line.
#[test]
fn mistakes_of_a_whole_kernel_name_its_line() {
    let kernel = so_many_steps(1 << 16).trace(&[f32s(&[8, 128])]).unwrap();
    let errors = valid::check(kernel, &GENERIC).unwrap_err();
    assert_error(&errors.0[0], Code::VALID_GRID_OVERFLOW, "the grid 65536 x 65536 has more than");
    let name = line!() - 12;
    assert_eq!(errors.0[0].labels[0].span.line, name, "{errors}");
    let kernel = so_many_steps(2).trace(&[f32s(&[8, 128])]).unwrap();
    let valid = valid::check(kernel, &GENERIC).unwrap();
    let errors = interp::run(&valid, &[], &interp::Options::default()).unwrap_err();
    assert_error(&errors.0[0], Code::INTERP_INPUT, "`so_many_steps` takes 1 arrays");
    assert_eq!(errors.0[0].labels[0].span.line, name, "{errors}");
}
