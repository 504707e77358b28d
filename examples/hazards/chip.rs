//! What a chip has: memory, tiles, element types.

use super::case::{Case, Family, Tried, checked, counting, on, on_v5e};
use systole::diag::Code;
use systole::prelude::*;
use systole::target::{TPU7X, V4, V5E, V6E};

pub(crate) fn family() -> Family {
    let case = |bug, code, run: fn(bool) -> Tried| Case { bug, code, run };
    let cases = vec![
        case("vmem_overflow_by_blocks", Code::VALID_VMEM_OVERFLOW, |bug| {
            let rows = if bug { 8192 } else { 1024 };
            checked(&V4, &doubled(rows), &[ArgSpec::of::<f32>(&[16384, 1024])])
        }),
        case("vmem_overflow_by_scratch", Code::VALID_VMEM_OVERFLOW, |bug| {
            let rows = if bug { 65536 } else { 1024 };
            checked(&V5E, &with_scratch(rows), &[ArgSpec::of::<f32>(&[8, 1024])])
        }),
        case("vmem_fits_another_chip", Code::VALID_VMEM_OVERFLOW, |bug| {
            // 80 MiB: too much for 64 MiB on 7x, within 128 MiB on v6e.
            let target = if bug { &TPU7X } else { &V6E };
            checked(target, &eighty_mib(), &[ArgSpec::of::<f32>(&[8, 1024])])
        }),
        case("own_vmem_limit", Code::VALID_VMEM_OVERFLOW, |bug| {
            let limit = if bug { 1 << 20 } else { 32 << 20 };
            checked(&V5E, &limited(limit), &[ArgSpec::of::<f32>(&[1024, 1024])])
        }),
        case("vmem_limit_of_no_chip", Code::VALID_VMEM_LIMIT, |bug| {
            let limit = if bug { 1 << 30 } else { 32 << 20 };
            checked(&V5E, &unlimited(limit), &[ArgSpec::of::<f32>(&[1024, 1024])])
        }),
        case("smem_overflow", Code::VALID_SMEM_OVERFLOW, |bug| {
            let n = if bug { 1 << 19 } else { 1 << 10 };
            let args = [ArgSpec::of::<i32>(&[n]), ArgSpec::of::<f32>(&[32, 128])];
            checked(&V5E, &reads_table(), &args)
        }),
        case("smem_of_16_bits", Code::VALID_SMEM_TYPE, |bug| match bug {
            true => on_v5e(&factors::<bf16>(), &x()),
            false => on_v5e(&factors::<f32>(), &x()),
        }),
        case("block_cuts_lanes", Code::VALID_BLOCK_SHAPE, |bug| {
            on_v5e(&lanes(if bug { 100 } else { 128 }), &[counting::<f32>(&[8, 256])])
        }),
        case("block_cuts_sublanes", Code::VALID_BLOCK_SHAPE, |bug| {
            on_v5e(&sublanes(if bug { 4 } else { 8 }), &x())
        }),
        case("block_of_one_axis", Code::VALID_BLOCK_SHAPE, |bug| {
            on_v5e(&one_axis(if bug { 96 } else { 128 }), &[counting::<f32>(&[384])])
        }),
        case("int8_product_on_7x", Code::VALID_UNSUPPORTED_MATMUL, |bug| {
            let target = if bug { &TPU7X } else { &V5E };
            on(target, &product_of::<i8>(), &[counting::<i8>(&[128, 128])])
        }),
        case("int8_product_on_v4", Code::VALID_UNSUPPORTED_MATMUL, |bug| {
            let target = if bug { &V4 } else { &V6E };
            on(target, &product_of_bytes::<i8>(), &[counting::<i8>(&[128, 128])])
        }),
        case("int32_product", Code::VALID_UNSUPPORTED_MATMUL, |bug| match bug {
            true => on_v5e(&product_of_words::<i32>(), &[counting::<i32>(&[128, 128])]),
            false => on_v5e(&product_of_words::<f32>(), &[counting::<f32>(&[128, 128])]),
        }),
        case("f16_on_a_tpu", Code::VALID_UNSUPPORTED_DTYPE, |bug| match bug {
            true => on_v5e(&halves::<f16>(), &[counting::<f16>(&[16, 128])]),
            false => on_v5e(&halves::<bf16>(), &[counting::<bf16>(&[16, 128])]),
        }),
        case("three_buffers", Code::VALID_UNSUPPORTED_BUFFERING, |bug| {
            on_v5e(&buffers(if bug { 3 } else { 2 }), &x())
        }),
    ];
    Family { name: "what a chip has", file: file!(), source: include_str!("chip.rs"), cases }
}

fn x() -> [Array; 1] {
    [counting::<f32>(&[32, 128])]
}

/// Blocks of so many rows of 4 KiB.
#[tpu_kernel(grid(i: parallel))]
fn doubled(
    #[comptime] rows: usize,
    #[block(m: rows @ i, n)] x: In<f32>,
    #[block(m: rows @ i, n)] y: Out<f32>, //~ vmem_overflow_by_blocks
) {
    y[..] = x[..] * 2.0;
}

/// Scratch of so many rows of 4 KiB.
#[tpu_kernel]
fn with_scratch(
    #[comptime] rows: usize,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([rows, n])] buf: Vmem<f32>, //~ vmem_overflow_by_scratch
) {
    buf[(0..8, ..)] = x[..];
    y[..] = buf[(0..8, ..)];
}

/// Scratch of 80 MiB.
#[tpu_kernel]
fn eighty_mib(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([20480, n])] buf: Vmem<f32>, //~ vmem_fits_another_chip
) {
    buf[(0..8, ..)] = x[..];
    y[..] = buf[(0..8, ..)];
}

/// Blocks of 4 MiB under a limit of the kernel's own.
#[tpu_kernel(vmem_limit(limit))]
fn limited(
    #[comptime] limit: u64,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>, //~ own_vmem_limit
) {
    y[..] = x[..] * 2.0;
}

/// The same under one that may be more than a chip has.
#[tpu_kernel(vmem_limit(limit))]
//~v vmem_limit_of_no_chip
fn unlimited(#[comptime] limit: u64, #[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    y[..] = x[..] * 2.0;
}

/// Keeps a whole table in scalar memory.
#[tpu_kernel]
fn reads_table(
    #[prefetch] ids: Smem<i32>, //~ smem_overflow
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
) {
    y[..] = x[..] * ids[0].cast::<f32>();
}

/// Keeps factors in scalar memory, which has words of 32 bits.
#[tpu_kernel]
fn factors<T: Float>(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([2])] factors: Smem<T>, //~ smem_of_16_bits
) {
    factors[0] = 2.0;
    y[..] = x[..] * factors[0].cast::<f32>();
}

/// Blocks of so many columns.
#[tpu_kernel(grid(j: parallel))]
fn lanes(
    #[comptime] columns: usize,
    #[block(m, n: columns @ j)] x: In<f32>, //~ block_cuts_lanes
    #[block(m, n: columns @ j)] y: Out<f32>,
) {
    y[..] = x[..];
}

/// Blocks of so many rows.
#[tpu_kernel(grid(i: parallel))]
fn sublanes(
    #[comptime] rows: usize,
    #[block(m: rows @ i, n)] x: In<f32>, //~ block_cuts_sublanes
    #[block(m: rows @ i, n)] y: Out<f32>,
) {
    y[..] = x[..];
}

/// Blocks of so many elements of an array with one axis.
#[tpu_kernel(grid(i: parallel))]
fn one_axis(
    #[comptime] elements: usize,
    #[block(n: elements @ i)] x: In<f32>, //~ block_of_one_axis
    #[block(n: elements @ i)] y: Out<f32>,
) {
    y[..] = x[..];
}

/// A product of bytes, which v5e, v5p and v6e have.
#[tpu_kernel]
fn product_of<T: Num>(#[block(m, m)] x: In<T>, #[block(m, m)] y: Out<T::Acc>) {
    y[..] = dot(x[..], x[..]); //~ int8_product_on_7x
}

/// The same.
#[tpu_kernel]
fn product_of_bytes<T: Num>(#[block(m, m)] x: In<T>, #[block(m, m)] y: Out<T::Acc>) {
    y[..] = dot(x[..], x[..]); //~ int8_product_on_v4
}

/// A product of words, which no chip has for integers.
#[tpu_kernel]
fn product_of_words<T: Num>(#[block(m, m)] x: In<T>, #[block(m, m)] y: Out<T::Acc>) {
    y[..] = dot(x[..], x[..]); //~ int32_product
}

/// Arithmetic on 16 bits.
#[tpu_kernel]
fn halves<T: Float>(
    #[block(m, n)] x: In<T>, //~ f16_on_a_tpu
    #[block(m, n)] y: Out<T>,
) {
    y[..] = x[..] * 0.5;
}

/// A block with more buffers than a pipeline of libtpu keeps.
#[tpu_kernel(grid(i: parallel))]
fn buffers(
    #[comptime] k: usize,
    #[buffered(k)]
    #[block(m: 8 @ i, n)]
    x: In<f32>, //~ three_buffers
    #[block(m: 8 @ i, n)] y: Out<f32>,
) {
    y[..] = x[..];
}
