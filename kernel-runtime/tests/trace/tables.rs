//! Prefetched tables, windows by elements, extents that the call gives, and what the attributes
//! ask of the compiler.

use super::{assert_error, f32s, map, only, ramp};
use systole::diag::Code;
use systole::ir::{BlockDim, Extent, Kernel, MemorySpace, ParamKind, SideEffects, StatedCost};
use systole::prelude::*;
use systole::target::V5E;
use systole::valid;

fn ints(values: &[i32]) -> Array {
    let values: Vec<f64> = values.iter().map(|&x| f64::from(x)).collect();
    Array::from_f64(DType::I32, &[values.len()], &values).unwrap()
}

/// The rows of a matrix, flattened, in blocks of 8 rows.
fn blocks(array: &Array) -> Vec<Vec<f32>> {
    array.to_f32().chunks(8 * 128).map(<[f32]>::to_vec).collect()
}

#[tpu_kernel(grid(i))]
fn gather(
    #[prefetch] ids: Smem<i32>,
    #[block(v: 8 @ ids[i], d)] table: In<f32>,
    #[block(n: 8 @ i, d)] o: InOut<f32>,
) {
    o[..] = table[..] + ids[i].cast::<f32>();
}

#[test]
fn a_table_chooses_blocks_and_is_read_in_the_body() {
    let (table, o) = (ramp(&[40, 128]), ramp(&[24, 128]));
    let found = gather().call(&ints(&[4, 0, 4]), &table, &o).unwrap();
    let rows = blocks(&table);
    for (block, id) in blocks(&found).into_iter().zip([4, 0, 4]) {
        let expected: Vec<f32> = rows[id].iter().map(|x| x + id as f32).collect();
        assert_eq!(block, expected);
    }
}

#[test]
fn the_kernel_has_the_table_first() {
    let args = [ArgSpec::of::<i32>(&[3]), f32s(&[40, 128]), f32s(&[24, 128])];
    let kernel = gather().trace(&args).unwrap();
    let kinds: Vec<_> = kernel.params.iter().map(|param| param.kind).collect();
    assert_eq!(kinds, [ParamKind::Prefetch, ParamKind::In, ParamKind::InOut]);
    assert_eq!(kernel.params[0].space, MemorySpace::Smem);
    assert_eq!(kernel.params[0].axes[0].name, "ids");
    let text = format!("{kernel:#}");
    assert_eq!(format!("{:#}", Kernel::parse(&text).unwrap()), text);
    valid::check(kernel, &V5E).unwrap();
}

#[test]
fn a_table_entry_outside_the_array_is_told_with_its_number() {
    let (table, o) = (ramp(&[40, 128]), ramp(&[24, 128]));
    let errors = gather().call(&ints(&[4, 5, 0]), &table, &o).unwrap_err();
    let error = &errors.0[0];
    assert_eq!(error.code, Code::INTERP_BLOCK_OUT_OF_RANGE, "{error}");
    assert!(error.message.contains("block 5 of `table` along axis 0 (`v`)"), "{error}");
    assert!(error.message.contains("40 elements"), "{error}");
    assert!(error.notes.iter().any(|note| note.contains("`ids[1]` is 5")), "{error}");
    let errors = gather().call(&ints(&[4, -1, 0]), &table, &o).unwrap_err();
    assert!(errors.0[0].notes.iter().any(|note| note.contains("`ids[1]` is -1")), "{errors}");
}

#[test]
fn an_index_outside_the_table_is_told() {
    // Three entries for a grid of four steps.
    let (table, o) = (ramp(&[40, 128]), ramp(&[32, 128]));
    let errors = gather().call(&ints(&[4, 0, 1]), &table, &o).unwrap_err();
    let error = &errors.0[0];
    assert_eq!(error.code, Code::INTERP_OUT_OF_BOUNDS, "{error}");
    assert!(error.message.contains("element 3 of `ids` along axis 0, which has 3"), "{error}");
}

#[tpu_kernel(grid(b: parallel, p = pages))]
fn pages(
    #[prefetch(batch, pages)] table: Smem<i32>,
    #[block(n: squeezed @ table[(b, p)], s, d)] cache: In<f32>,
    #[block(batch: squeezed @ b, s, d)] o: Out<f32>,
) {
    if p == 0 {
        o[..] = cache[..];
    } else {
        o[..] += cache[..];
    }
}

#[test]
fn a_table_of_two_axes_gives_dimensions() {
    let cache = ramp(&[5, 8, 128]);
    let table = Array::from_f64(DType::I32, &[2, 3], &[4.0, 1.0, 1.0, 0.0, 2.0, 0.0]).unwrap();
    let found = pages().call(&table, &cache).unwrap();
    assert_eq!(found.shape(), [2, 8, 128]);
    let rows = blocks(&cache);
    for (block, ids) in blocks(&found).into_iter().zip([[4, 1, 1], [0, 2, 0]]) {
        let sum = |e: usize| ids.iter().map(|&id: &usize| rows[id][e]).sum::<f32>();
        assert!(block.iter().enumerate().all(|(e, &found)| found == sum(e)));
    }
}

#[tpu_kernel(grid(i: parallel))]
fn stencil(#[block(m: element(16) @ i * 8, d)] x: In<f32>, #[block(n: 8 @ i, d)] o: InOut<f32>) {
    o[..] = x[(0..8, ..)] + x[(1..9, ..)];
}

#[test]
fn windows_by_elements_overlap() {
    let (x, o) = (ramp(&[40, 128]), ramp(&[32, 128]));
    let found = stencil().call(&x, &o).unwrap().to_f32();
    let x = x.to_f32();
    assert!(found.iter().enumerate().all(|(e, &y)| y == x[e] + x[e + 128]));
    let kernel = stencil().trace(&[f32s(&[40, 128]), f32s(&[32, 128])]).unwrap();
    let window = kernel.params[0].window.as_ref().unwrap();
    // A whole axis beside one by elements is by elements too: Mosaic wants all or none.
    assert_eq!(window.block, [BlockDim::Element(16), BlockDim::Element(128)]);
    valid::check(kernel, &V5E).unwrap();
}

#[tpu_kernel(grid(i: arbitrary = n))]
fn sum_of_first(
    #[extent] n: Scalar<i32>,
    #[block(m: 8 @ i, d)] x: In<f32>,
    #[block(r: 8 @ 0, d)] o: InOut<f32>,
) {
    o[..] += x[..];
    if i == i.last() {
        o[..] = o[..] * n.cast::<f32>() + i.extent().cast::<f32>();
    }
}

#[test]
fn the_call_gives_an_extent() {
    let (x, o) = (ramp(&[40, 128]), ramp(&[8, 128]));
    let rows = blocks(&x);
    for n in [1, 3, 5] {
        let found = sum_of_first().call(&Array::scalar(n), &x, &o).unwrap().to_f32();
        for (e, (found, start)) in found.iter().zip(o.to_f32()).enumerate() {
            let sum = start + rows[..n as usize].iter().map(|row| row[e]).sum::<f32>();
            assert_eq!(*found, sum * n as f32 + n as f32, "element {e} of {n}");
        }
    }
    let args = [ArgSpec::of::<i32>(&[]), f32s(&[40, 128]), f32s(&[8, 128])];
    let kernel = sum_of_first().trace(&args).unwrap();
    assert_eq!(kernel.grid[0].extent, Extent::Dynamic { operand: 0 });
    let text = format!("{kernel:#}");
    assert_eq!(format!("{:#}", Kernel::parse(&text).unwrap()), text);
    valid::check(kernel, &V5E).unwrap();
}

#[test]
fn an_extent_is_a_scalar_and_at_least_one() {
    let args = [ArgSpec::of::<i32>(&[1]), f32s(&[40, 128]), f32s(&[8, 128])];
    let error = only(sum_of_first().trace(&args));
    let message = "`n` is the extent of a grid axis, an i32 scalar, but i32[1] was given";
    assert_error(&error, Code::TRACE_ARGUMENT, message);
    let (x, o) = (ramp(&[40, 128]), ramp(&[8, 128]));
    let errors = sum_of_first().call(&Array::scalar(0), &x, &o).unwrap_err();
    assert!(errors.0[0].message.contains("grid axis `i` has 0 steps"), "{errors}");
    // One step more than there are blocks.
    let errors = sum_of_first().call(&Array::scalar(6), &x, &o).unwrap_err();
    assert_eq!(errors.0[0].code, Code::INTERP_BLOCK_OUT_OF_RANGE, "{errors}");
    let error = only(sum_of_first().trace(&args[1..]));
    assert_error(&error, Code::TRACE_ARGUMENT, "kernel `sum_of_first` takes 3 arrays (`n`, `x`,");
}

#[tpu_kernel(grid(i))]
fn writes_its_table(#[prefetch] ids: Smem<i32>, #[block(n: 8 @ i, d)] o: InOut<f32>) {
    ids[i] = 3;
    o[..] = ids[i].cast::<f32>();
}

#[test]
fn a_table_is_read_only() {
    let errors = writes_its_table().call(&ints(&[1, 2]), &ramp(&[16, 128])).unwrap_err();
    assert_error(&errors.0[0], Code::VALID_READ_ONLY, "a store into `ids`, which is a prefetched");
}

#[tpu_kernel(
    grid(i: parallel),
    side_effects(dataflow),
    bounds_checks(off),
    cost(flops = 12, bytes = 1 << 40)
)]
fn stated(
    #[pinned(vmem)]
    #[block(m: 8 @ i, n)]
    x: InOut<f32>,
    #[pinned(hbm)]
    #[block(m: 8 @ i, n)]
    y: In<f32>,
) {
    x[..] = x[..] + y[..].exp();
}

#[test]
fn attributes_say_what_the_compiler_should_know() {
    let kernel = stated().trace(&[f32s(&[16, 128]), f32s(&[16, 128])]).unwrap();
    assert_eq!(kernel.compile.side_effects, SideEffects::Dataflow);
    let cost = StatedCost { flops: Some(12), transcendentals: None, bytes_accessed: Some(1 << 40) };
    assert_eq!(kernel.compile.cost, cost);
    assert_eq!(kernel.params[0].pinned, Some(MemorySpace::Vmem));
    assert_eq!(kernel.params[1].pinned, Some(MemorySpace::Hbm));
    let text = format!("{kernel:#}");
    let head =
        "kernel stated side_effects dataflow unchecked_bounds flops 12 bytes 1099511627776 {";
    assert!(text.starts_with(head), "{text}");
    assert_eq!(format!("{:#}", Kernel::parse(&text).unwrap()), text);
    let valid = valid::check(kernel, &V5E).unwrap();
    let found = valid.cost();
    // What is not stated is counted.
    let counts = (found.flops, found.transcendentals, found.bytes_accessed);
    assert_eq!(counts, (12, 16 * 128, 1 << 40));
    let (x, y) = (ramp(&[16, 128]), ramp(&[16, 128]));
    let y_found = stated().call(&x, &y).unwrap();
    let expected = map(&x, |x| x + x.exp());
    assert!(y_found.to_f32().iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-4));
}
