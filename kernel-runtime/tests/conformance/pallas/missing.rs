//! What is not there yet: the word for it in the text form is refused, so that a case fails on the day it
//! works, and the table of features is brought up to date.

use super::{Case, case, parse, ramp, run};
use systole::diag::Code;
use systole::prelude::*;

pub(super) fn cases() -> Vec<Case> {
    vec![
        missing_type(
            "uint4_is_missing",
            "u4",
            "tpu_ops_test::OpsTest::test_unsigned_dtype_dot_raises",
        ),
        missing_type(
            "float8_with_a_larger_bias_is_missing",
            "f8e4m3b11fnuz",
            "pallas_test::PallasCallTest::test_float8_e4m3b11fnuz_dot",
        ),
        missing_op(
            "nextafter_is_missing",
            "%2 = nextafter %1, %1 : f32[8, 128]",
            "ops_test::OpsTest::test_nextafter",
        ),
        missing_op(
            "trace_values_are_missing",
            "trace_value %1",
            "tpu_trace_value_test::SparseCoreTraceValueTest::test_trace_value",
        ),
        missing_op(
            "running_sums_are_missing",
            "%2 = cumsum %1 axis 0 : f32[8, 128]",
            "ops_test::OpsTest::test_cumsum",
        ),
        missing_window(
            "padding_of_windows_is_missing",
            "element 8 padding 0 2",
            "pallas_test::PallasCallElementIndexingTest::test_block_spec_element_padding_is_nan",
        ),
        missing_window(
            "windows_of_any_length_are_missing",
            "bounded 8",
            "pallas_test::PallasCallBoundedSliceIndexingTest::test_block_spec_bounded_slice_static",
        ),
        missing_op(
            "core_maps_are_missing",
            "core_map %1",
            "tpu_pallas_async_test::PallasCallRemoteAsyncCopyTest::test_basic_remote_copy",
        ),
        missing_op(
            "sparse_words_are_missing",
            "fetch_and_add %1",
            "tpu_sparsecore_pallas_test::VectorSubcoreTest::test_fetch_and_add",
        ),
        case(
            "stride_of_zero",
            "indexing_test::IndexerOpsTest::test_load_and_broadcast_with_stride_0",
            || run(&stride_of_zero(), [ramp::<f32>(&[8, 128])]).told(Code::IR_INDEX),
        ),
        case(
            "product_of_batches",
            "ops_test::OpsTest::test_dot_dims_batched_simple_dot_general",
            || run(&batched(), [ramp::<f32>(&[2, 128, 128])]).told(Code::IR_SHAPE),
        ),
    ]
}

/// A kernel with one line of text in its body, and an element type.
fn kernel(dtype: &str, window: &str, line: &str) -> String {
    format!(
        "kernel k {{\n\
         in x: {dtype}[m: 8, n: 128] vmem block [{window}, 128] map() {{\n\
         \x20 %0 = const 0 : i32\n\
         \x20 yield %0, %0\n\
         }}\n\
         out y: {dtype}[m: 8, n: 128] vmem block [8, 128] map() {{\n\
         \x20 %0 = const 0 : i32\n\
         \x20 yield %0, %0\n\
         }}\n\
         body(%x: vmem {dtype}[8, 128], %y: vmem {dtype}[8, 128]) {{\n\
         \x20 %1 = load %x[:, :] : {dtype}[8, 128]\n\
         {line}\
         \x20 store %y[:, :], %1\n\
         }}\n\
         }}\n"
    )
}

fn missing_type(name: &'static str, dtype: &'static str, mirrors: &'static str) -> Case {
    case(name, mirrors, move || parse(&kernel(dtype, "8", "")).told(Code::IR_SYNTAX))
}

fn missing_op(name: &'static str, line: &'static str, mirrors: &'static str) -> Case {
    case(name, mirrors, move || {
        parse(&kernel("f32", "8", &format!("  {line}\n"))).told(Code::IR_SYNTAX)
    })
}

fn missing_window(name: &'static str, window: &'static str, mirrors: &'static str) -> Case {
    case(name, mirrors, move || parse(&kernel("f32", window, "")).told(Code::IR_SYNTAX))
}

/// The text itself is sound: without what is missing it is a kernel.
pub(super) fn text_is_sound() -> Result<(), String> {
    let text = kernel("f32", "8", "");
    systole::ir::Kernel::parse(&text).map(|_| ()).map_err(|errors| format!("{errors}\n{text}"))
}

#[tpu_kernel]
fn stride_of_zero(#[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    y[..] = x[(ds(3, 8).stride(0), ..)];
}

#[tpu_kernel]
fn batched(#[block(l, m, n)] x: In<f32>, #[block(l, m, n)] y: Out<f32>) {
    y[..] = dot(x[..], x[..]);
}
