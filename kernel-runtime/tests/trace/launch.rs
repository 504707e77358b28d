//! What the launcher makes of blocks, dimensions, grid and attributes.

use super::{f32s, map, ramp};
use systole::ir::{BlockDim, Buffering, Extent, ParamKind, Semantics, Streams};
use systole::prelude::*;

#[tpu_kernel(
    name = "grouped",
    grid(b: parallel, h: parallel, i: arbitrary = s.div_ceil(bq)),
    vmem_limit(32 << 20),
    dims(r = heads * 2)
)]
fn heads_kernel(
    #[comptime] bq: usize,
    #[comptime] group: usize,
    #[block(batch: squeezed @ b, heads: squeezed @ h, s: bq @ i, d)] q: In<f32>,
    #[block(batch: squeezed @ b, kv: squeezed @ h / group, s: bq @ i, d: ..)]
    #[buffered(3)]
    #[streams(s: 2)]
    k: In<f32>,
    #[block(batch: squeezed @ b, r: 2 @ h, s: bq @ i, d)]
    #[buffered(1)]
    o: Out<f32>,
) {
    o[(0, .., ..)] = q[..] + k[..];
    o[(1, .., ..)] = q[..] - k[..];
}

#[test]
fn the_kernel_says_what_the_attributes_say() {
    let args = [f32s(&[2, 4, 32, 128]), f32s(&[2, 2, 32, 128])];
    let kernel = heads_kernel(16, 2).trace(&args).unwrap();
    assert_eq!(kernel.name, "grouped");
    assert_eq!(kernel.compile.vmem_limit_bytes, Some(32 << 20));
    let grid: Vec<_> =
        kernel.grid.iter().map(|axis| (axis.name.as_str(), axis.extent, axis.semantics)).collect();
    assert_eq!(
        grid,
        [
            ("b", Extent::Static(2), Semantics::Parallel),
            ("h", Extent::Static(4), Semantics::Parallel),
            ("i", Extent::Static(2), Semantics::Arbitrary),
        ]
    );
    let window = |param: usize| kernel.params[param].window.clone().unwrap();
    let block =
        [BlockDim::Squeezed, BlockDim::Squeezed, BlockDim::Blocked(16), BlockDim::Blocked(128)];
    assert_eq!(window(1).block, block);
    assert_eq!(window(1).buffering, Buffering::Multiple(3));
    assert_eq!(window(1).streams, Some(Streams { axis: 2, n: 2 }));
    assert_eq!(window(2).buffering, Buffering::Single);
    assert_eq!(kernel.params[2].axes[1].size, 8);
    assert_eq!(KernelFn::name(&heads_kernel(16, 2)), "grouped");
    let specs = KernelFn::params(&heads_kernel(16, 2));
    assert_eq!(specs[1].dims, ["batch", "kv", "s", "d"]);
    assert_eq!(specs[2].kind, ParamKind::Out);
}

#[test]
fn index_expressions_choose_blocks() {
    let (q, k) = (ramp(&[2, 4, 32, 128]), ramp(&[2, 2, 32, 128]));
    let o = heads_kernel(16, 2).call(&q, &k).unwrap();
    assert_eq!(o.shape(), [2, 8, 32, 128]);
    let (q, k, o) = (q.to_f32(), k.to_f32(), o.to_f32());
    let head = 32 * 128;
    for (idx, found) in o.into_iter().enumerate() {
        let (b, r, e) = (idx / (8 * head), idx / head % 8, idx % head);
        let (x, y) = (q[(b * 4 + r / 2) * head + e], k[(b * 2 + r / 4) * head + e]);
        assert_eq!(found, if r % 2 == 0 { x + y } else { x - y }, "element {idx}");
    }
}

#[tpu_kernel(grid(i: parallel))]
fn update(
    #[block(m: 8 @ i, n)] x: InOut<f32>,
    #[block(m: 8 @ i, n)] y: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = x[..];
    x[..] += y[..];
}

#[test]
fn several_results_come_as_a_tuple() {
    let (x, y) = (ramp(&[16, 128]), ramp(&[16, 128]));
    let (new, old) = update().call(&x, &y).unwrap();
    assert_eq!(old, x);
    assert_eq!(new.to_f32(), map(&x, |x| 2.0 * x));
}

#[tpu_kernel(grid(i))]
fn counting(#[comptime] m: usize, #[comptime] n: usize, #[block(m: 8 @ i, n)] o: Out<i32>) {
    o[..] = iota([8, n], 1) + i * 1000;
}

#[test]
fn a_kernel_needs_no_input() {
    let o = counting(16, 128).call().unwrap();
    assert_eq!(o.shape(), [16, 128]);
    let expected: Vec<f32> = (0..16 * 128).map(|e| (e % 128 + e / 1024 * 1000) as f32).collect();
    assert_eq!(o.to_f32(), expected);
}

#[tpu_kernel(grid(i))]
fn agreeing(
    #[comptime] n: usize,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    let mut y = x[..];
    if n == 128 {
        y = -y;
    }
    o[..] = y;
}

#[test]
fn a_compile_time_dimension_must_agree_with_the_arguments() {
    assert!(agreeing(128).trace(&[f32s(&[8, 128])]).is_ok());
    let error = super::only(agreeing(256).trace(&[f32s(&[8, 128])]));
    assert_eq!(error.message, "dimension `n` is 128 from `x` but 256 in the parameter `n`");
}
