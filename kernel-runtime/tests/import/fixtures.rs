//! Modules that Pallas made, committed with what they should give.
//!
//! `pallas.py` makes them; `*.stable_mosaic.mlir` are bodies as text, one with locations.

use super::support::{Case, loops_tolerance, tensors};
use std::path::{Path, PathBuf};
use systole::back::mosaic::import;
use systole::ir::ops::{MemoryOp, Op};
use systole::ir::{Array, DType, Extent};
use systole::run::{Sampler, Tolerance};

pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import/modules").join(name)
}

pub(crate) fn module(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap()
}

fn sample(case: &Case, seed: u64) -> Vec<Array> {
    let mut sampler = Sampler::new(seed);
    let types = case.imported.operands.iter();
    types.map(|ty| sampler.normal(ty.dtype, &ty.shape)).collect()
}

fn f32_array(shape: &[usize], value: impl Fn(usize, usize) -> f64) -> Array {
    let values: Vec<f64> =
        (0..shape[0] * shape[1]).map(|place| value(place / shape[1], place % shape[1])).collect();
    Array::from_f64(DType::F32, shape, &values).unwrap()
}

/// A function of row and column.
fn at(array: &Array) -> impl Fn(usize, usize) -> f64 + use<> {
    let (values, width) = (array.to_f64(), array.shape()[1]);
    move |row, column| values[row * width + column]
}

#[test]
fn add_shares_the_memory_of_an_input() {
    let case = Case::read(&module("add.mlir"));
    let inputs = sample(&case, 1);
    let (x, y) = (at(&inputs[0]), at(&inputs[1]));
    case.gives(&inputs, &[f32_array(&[256, 128], |i, j| x(i, j) + y(i, j))], &Tolerance::exact());
}

#[test]
fn matmul_accumulates_over_the_grid() {
    let case = Case::read(&module("matmul.mlir"));
    assert_eq!(case.imported.kernel.compile.vmem_limit_bytes, Some(64 << 20));
    let inputs = sample(&case, 2);
    let (x, y) = (at(&inputs[0]), at(&inputs[1]));
    let dot = |i: usize, j: usize| (0..384).map(|k| x(i, k) * y(k, j)).sum::<f64>();
    let values: Vec<f64> = (0..256 * 256).map(|place| dot(place / 256, place % 256)).collect();
    let expected = Array::from_f64(DType::BF16, &[256, 256], &values).unwrap();
    let tolerance = Tolerance::ulp(1).floor(1e-3, "sums of 384 products that cancel");
    case.gives(&inputs, &[expected], &tolerance);
}

#[test]
fn softmax_has_a_last_block_over_the_end() {
    // The call, and its body as text: the array's size is then that of whole blocks.
    for (name, rows) in [("softmax.mlir", 122), ("softmax.stable_mosaic.mlir", 128)] {
        let case = Case::read(&module(name));
        assert_eq!(case.imported.operands[0].shape, [rows, 256], "{name}");
        let inputs = sample(&case, 3);
        let x = at(&inputs[0]);
        let expected = f32_array(&[rows, 256], |i, j| {
            let total: f64 = (0..256).map(|k| (x(i, k) - x(i, j)).exp()).sum();
            1.0 / total
        });
        case.gives(&inputs, &[expected], &Tolerance::ulp(16));
    }
}

#[test]
fn gather_reads_a_table_in_its_index_map() {
    let case = Case::read(&module("gather_by_table.mlir"));
    let table: Vec<f64> = (0..16).map(|i| f64::from(i * 37 % 64)).collect();
    let x = Sampler::new(4).normal(DType::F32, &[512, 256]);
    let inputs = [Array::from_f64(DType::I32, &[16], &table).unwrap(), x];
    let x = at(&inputs[1]);
    let row = |i: usize| table[i / 8] as usize * 8 + i % 8;
    case.gives(&inputs, &[f32_array(&[128, 256], |i, j| x(row(i), j))], &Tolerance::exact());
}

#[test]
fn windows_count_in_blocks_and_in_elements() {
    let case = Case::read(&module("windows.mlir"));
    let inputs = sample(&case, 5);
    let (x, y) = (at(&inputs[0]), at(&inputs[1]));
    let other = |i: usize| i / 64 * 32 + i % 64;
    let expected = f32_array(&[256, 128], |i, j| x(i, j) + y(other(i), j));
    case.gives(&inputs, &[expected], &Tolerance::exact());
}

#[test]
fn text_gives_what_jax_gave() {
    let data = path("loops.safetensors");
    let case = Case::read(&module("loops.stable_mosaic.mlir"));
    case.gives(&tensors(&data, "arg"), &tensors(&data, "out"), &loops_tolerance());
}

#[test]
fn text_and_bytecode_give_one_kernel() {
    let from_text = Case::read(&module("loops.stable_mosaic.mlir")).imported.kernel;
    let from_call = Case::read(&module("loops.mlir")).imported.kernel;
    // The text is older, and names other lines of the source.
    assert_eq!(format!("{from_text:#}"), format!("{from_call:#}"));
}

#[test]
fn every_op_knows_its_line_in_the_producers_source() {
    let kernel = Case::read(&module("loops.mlir")).imported.kernel;
    let mut n = 0;
    kernel.walk(kernel.body, &mut |_, op| {
        if let Op::Memory(MemoryOp::Load { .. } | MemoryOp::Store { .. }) = op.op {
            let span = kernel.span(op.loc).unwrap();
            assert!(&*span.file == "pallas.py" && span.line > 1, "{span}");
            n += 1;
        }
    });
    assert!(n >= 3);
}

#[test]
fn bare_modules_know_their_outputs_by_the_stores() {
    let calls = import::read("loops", &module("loops.stable_mosaic.mlir")).unwrap();
    assert_eq!((calls[0].name.as_str(), &calls[0].operands), ("loops", &None));
    let imported = calls[0].import().unwrap();
    assert_eq!((imported.operands.len(), imported.results.len()), (1, 1));
    assert_eq!(imported.operands[0].to_string(), "f32[32, 128]");
    assert!(imported.kernel.grid.is_empty());
    let add = import::read("add", &module("add.mlir")).unwrap()[0].import().unwrap();
    assert_eq!(add.kernel.grid[0].extent, Extent::Static(4));
}
