//! Mistakes that the text form cannot say, since its parser would not let them through.

use super::*;
use crate::ir::ops::{ControlOp, Op};
use crate::ir::{DType, OpId, Type, Value};
use crate::target;

const LOOP: &str = "
kernel k {
body {
  %0 = const 0 : i32
  %1 = const 1 : i32
  %2 = for %0, %1, %1, %0 (%3: i32, %4: i32) {
    %5 = add %3, %4 : i32
    yield %5
  } : i32
  print \"x\", %2
}
}";

fn codes(change: impl FnOnce(&mut Kernel)) -> Vec<&'static str> {
    let mut kernel = Kernel::parse(LOOP).unwrap();
    change(&mut kernel);
    match check(kernel, &target::GENERIC) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(|d| d.code.as_str()).collect(),
    }
}

#[test]
fn accepts_what_is_not_changed() {
    assert_eq!(codes(|_| {}), [""; 0]);
}

#[test]
fn rejects_a_value_used_before_its_definition() {
    let swap = |kernel: &mut Kernel| kernel.blocks[0].ops.swap(1, 2);
    assert_eq!(codes(swap), ["valid::dominance"]);
}

#[test]
fn rejects_a_value_used_outside_its_region() {
    let inner = |kernel: &Kernel| kernel.block(kernel.op(OpId(4)).regions[0]).args[0];
    let leak = |kernel: &mut Kernel| {
        let value = inner(kernel);
        let print = kernel.block(kernel.body).ops[3];
        kernel.ops[print.0 as usize].operands[0] = value;
    };
    assert_eq!(codes(leak), ["valid::dominance"]);
}

#[test]
fn rejects_stored_types_that_are_not_inferred() {
    let retype = |kernel: &mut Kernel| {
        let add = kernel.ops.iter().find(|op| op.op.mnemonic() == "add").unwrap();
        kernel.values[add.results[0].0 as usize].ty = Type::Scalar(DType::F32);
    };
    let found = codes(retype);
    assert!(found.contains(&"valid::stale_type"), "{found:?}");
}

#[test]
fn rejects_a_block_in_two_places() {
    let twice = |kernel: &mut Kernel| {
        let body = kernel.body;
        let block = kernel.ops.iter().find(|op| !op.regions.is_empty()).unwrap().regions[0];
        let again = kernel.block(body).ops[2];
        kernel.blocks[body.0 as usize].ops.push(again);
        let _ = block;
    };
    assert!(codes(twice).contains(&"valid::structure"));
}

#[test]
fn rejects_ids_beyond_the_arenas() {
    let op = |kernel: &mut Kernel| kernel.blocks[0].ops.push(OpId(999));
    assert_eq!(codes(op), ["valid::structure"]);
    let value = |kernel: &mut Kernel| kernel.ops[0].operands.push(Value(999));
    assert!(codes(value).contains(&"valid::dominance"));
    let block = |kernel: &mut Kernel| {
        let with_region = kernel.ops.iter_mut().find(|op| !op.regions.is_empty()).unwrap();
        with_region.regions[0] = crate::ir::BlockId(999);
    };
    assert_eq!(codes(block), ["valid::structure"]);
}

#[test]
fn rejects_yield_in_the_middle() {
    let double = |kernel: &mut Kernel| {
        let region = kernel.ops.iter().find(|op| !op.regions.is_empty()).unwrap().regions[0];
        let end = *kernel.block(region).ops.last().unwrap();
        assert_eq!(kernel.op(end).op, Op::Control(ControlOp::Yield));
        kernel.blocks[region.0 as usize].ops.push(end);
    };
    assert!(codes(double).contains(&"valid::yield"));
}

#[test]
fn padding_follows_the_tiling() {
    let v5e = target::V5E.chip.unwrap();
    // Sizes that libtpu 0.0.51 reports, but for the last two. Lanes are padded to 128, rows to the smallest tiling that holds them.
    assert_eq!(padded_bytes(&v5e, DType::F32, &[8, 128]), 4096);
    assert_eq!(padded_bytes(&v5e, DType::F32, &[8, 64]), 4096);
    assert_eq!(padded_bytes(&v5e, DType::F32, &[1, 128]), 512);
    assert_eq!(padded_bytes(&v5e, DType::F32, &[2, 9, 130]), 2 * 16 * 256 * 4);
    assert_eq!(padded_bytes(&v5e, DType::BF16, &[24, 128]), 24 * 128 * 2);
    assert_eq!(padded_bytes(&v5e, DType::F32, &[256, 1]), 128 * 1024);
    assert_eq!(padded_bytes(&v5e, DType::F32, &[100]), 512);
    assert_eq!(padded_bytes(&v5e, DType::F32, &[1025]), 2048 * 4);
    assert_eq!(padded_bytes(&v5e, DType::F32, &[usize::MAX / 2, usize::MAX / 2]), u64::MAX);
}

#[test]
fn cost_of_a_matmul() {
    let text = include_str!("../../tests/tile/valid/matmul.tile");
    let valid = check(Kernel::parse(text).unwrap(), &target::V5E).unwrap();
    let cost = valid.cost();
    // 512 x 512 x 512 in blocks of 128: 64 steps.
    let elems = 128 * 128;
    // The sum into the accumulator runs at each step.
    assert_eq!(cost.flops, 2 * 512 * 512 * 512 + 64 * elems);
    assert_eq!(cost.transcendentals, 0);
    // `a` and `b` move at each step, `c` once per output block.
    assert_eq!(cost.bytes_accessed, 64 * 2 * elems * 2 + 16 * elems * 4);
    let vmem = valid.vmem_estimate();
    assert_eq!(vmem.total_bytes(), elems * (2 * 2 * 2 + 2 * 4 + 4));
    assert_eq!(vmem.table()[0], " 128.0 KiB  c    2 x f32[128, 128]");
}

#[test]
fn a_block_that_never_changes_has_one_buffer() {
    let text = "
kernel k {
grid i: 4 arbitrary
in moves: f32[m: 32, n: 128] vmem block [8, 128] map(%i: i32) {
  %0 = const 0 : i32
  yield %i, %0
}
in stays: f32[m: 32, n: 128] vmem block [8, 128] map(%i: i32) {
  %0 = const 0 : i32
  yield %0, %0
}
inout updated: f32[m: 32, n: 128] vmem block [8, 128] single map(%i: i32) {
  %0 = const 0 : i32
  yield %i, %0
}
body(%i: i32, %moves: vmem f32[8, 128], %stays: vmem f32[8, 128], %updated: vmem f32[8, 128]) {
}
}";
    let valid = check(Kernel::parse(text).unwrap(), &target::V5E).unwrap();
    let n: Vec<usize> = valid.vmem_estimate().entries.iter().map(|e| e.n_buffers).collect();
    assert_eq!(n, [2, 1, 2]);
}
