//! Branches and loops. The memory that their regions write is carried along.

use crate::back::stablehlo::lower::{Lowering, Val};
use crate::back::stablehlo::text::{Direction, Tensor};
use crate::diag::Diagnostic;
use crate::ir::kernel::{BlockId, OpData};
use crate::ir::ops::Elementwise;
use crate::ir::ops::{ControlOp, MemoryOp, Unary};
use crate::ir::{Kernel, Op};

/// Up to this many cheap ops, both arms run and a `select` chooses: XLA:CPU runs a conditional as
/// separate computations with copies in between.
const SELECT_LIMIT_OPS: usize = 8;

/// Lowers a branch: one arm if the condition is known, else a `select` or an `if`.
pub(in crate::back::stablehlo) fn lower_if(
    cx: &mut Lowering<'_>,
    op: &OpData,
) -> Result<(), Diagnostic> {
    let cond = cx.val(op.operands[0])?;
    if let Some(cond) = cond.as_int() {
        let arm = op.regions[if cond != 0 { 0 } else { 1 }];
        cx.lower_block(arm)?;
        let values = cx.yields(arm)?;
        for (&result, value) in op.results.iter().zip(values) {
            cx.define(result, value);
        }
        return Ok(());
    }
    let cond = cx.materialise(&cond);
    match op.regions.iter().all(|&region| is_cheap(cx.kernel, region)) {
        true => lower_select(cx, op, &cond),
        false => lower_branch(cx, op, &cond),
    }
}

/// Whether running a region in vain costs little: a few ops that all only move or compare data.
fn is_cheap(kernel: &Kernel, region: BlockId) -> bool {
    let ops = &kernel.block(region).ops;
    ops.len() <= SELECT_LIMIT_OPS
        && ops.iter().all(|&id| match &kernel.op(id).op {
            Op::Elementwise(Elementwise::Unary(unary)) => {
                matches!(unary, Unary::Neg | Unary::Abs | Unary::Not)
            }
            Op::Elementwise(_) | Op::Shape(_) => true,
            Op::Memory(memory) => match memory {
                MemoryOp::Load { .. } => true,
                MemoryOp::Store { masked, .. } => !masked,
            },
            Op::Control(control) => *control == ControlOp::Yield,
            Op::Reduce(_) | Op::Dot(_) | Op::Debug(_) => false,
        })
}

fn lower_select(cx: &mut Lowering<'_>, op: &OpData, cond: &Tensor) -> Result<(), Diagnostic> {
    let slots = cx.written_slots(&op.regions);
    let before = cx.save_state();
    let mut arms = Vec::with_capacity(2);
    for &region in &op.regions {
        cx.restore_state(before.clone());
        cx.lower_block(region)?;
        let mut values = cx.yields(region)?;
        for &slot in &slots {
            values.push(cx.read(slot)?);
        }
        arms.push(values);
    }
    cx.set_loc(op.loc);
    let chosen: Vec<Tensor> = arms[0]
        .iter()
        .zip(&arms[1])
        .map(|(then, other)| {
            let (then, other) = (cx.materialise(then), cx.materialise(other));
            cx.out.select(cond, &then, &other)
        })
        .collect();
    finish(cx, op, &slots, &chosen);
    Ok(())
}

fn lower_branch(cx: &mut Lowering<'_>, op: &OpData, cond: &Tensor) -> Result<(), Diagnostic> {
    let slots = cx.written_slots(&op.regions);
    let before = cx.save_state();
    let n_results = op.results.len() + slots.len();
    let open = cx.out.begin_if(cond, n_results);
    let then = lower_arm(cx, op.regions[0], &slots)?;
    cx.set_loc(op.loc);
    cx.out.if_else(&then);
    cx.restore_state(before);
    let other = lower_arm(cx, op.regions[1], &slots)?;
    cx.set_loc(op.loc);
    let results = cx.out.end_if(&open, cond, &other);
    finish(cx, op, &slots, &results);
    Ok(())
}

/// Lowers a region; gives what it yields and then what the slots hold.
fn lower_arm(
    cx: &mut Lowering<'_>,
    region: BlockId,
    slots: &[usize],
) -> Result<Vec<Tensor>, Diagnostic> {
    cx.lower_block(region)?;
    let yields = cx.yields(region)?;
    let mut values: Vec<Tensor> = yields.iter().map(|value| cx.materialise(value)).collect();
    values.extend(cx.read_tensors(slots)?);
    Ok(values)
}

/// Defines an op's results and the slots it wrote.
fn finish(cx: &mut Lowering<'_>, op: &OpData, slots: &[usize], values: &[Tensor]) {
    let (results, state) = values.split_at(op.results.len());
    for (&result, value) in op.results.iter().zip(results) {
        cx.define(result, value.clone());
    }
    cx.write_all(slots, state);
}

/// Lowers a counted loop.
pub(in crate::back::stablehlo) fn lower_for(
    cx: &mut Lowering<'_>,
    op: &OpData,
) -> Result<(), Diagnostic> {
    let body = op.regions[0];
    let slots = cx.written_slots(&op.regions);
    let mut operands = Vec::with_capacity(op.operands.len());
    for &operand in &op.operands {
        operands.push(cx.tensor(operand)?);
    }
    let (hi, step) = (operands[1].clone(), operands[2].clone());
    let mut inits = vec![operands[0].clone()];
    inits.extend_from_slice(&operands[3..]);
    inits.extend(cx.read_tensors(&slots)?);
    let open = cx.out.begin_while(&inits);
    let below = cx.out.compare(Direction::Lt, &open.args[0], &hi);
    cx.out.while_body(&below);
    let n_args = 1 + op.results.len();
    define_args(cx, body, &open.args[..n_args]);
    cx.write_all(&slots, &open.args[n_args..]);
    let mut next = lower_arm(cx, body, &slots)?;
    cx.set_loc(op.loc);
    next.insert(0, cx.out.binary("add", &open.args[0], &step));
    let results = cx.out.end_while(&open, &next);
    finish(cx, op, &slots, &results[1..]);
    Ok(())
}

/// Lowers a loop with a condition.
pub(in crate::back::stablehlo) fn lower_while(
    cx: &mut Lowering<'_>,
    op: &OpData,
) -> Result<(), Diagnostic> {
    let (cond, body) = (op.regions[0], op.regions[1]);
    let slots = cx.written_slots(&op.regions);
    // StableHLO's condition region gives back nothing but the condition.
    if !cx.written_slots(&[cond]).is_empty() {
        return Err(cx.error("the condition of a `while` stores to memory"));
    }
    let mut inits = Vec::with_capacity(op.operands.len() + slots.len());
    for &operand in &op.operands {
        inits.push(cx.tensor(operand)?);
    }
    inits.extend(cx.read_tensors(&slots)?);
    let open = cx.out.begin_while(&inits);
    let (args, state) = open.args.split_at(op.results.len());
    define_args(cx, cond, args);
    cx.write_all(&slots, state);
    cx.lower_block(cond)?;
    let proceed = cx.yields(cond)?;
    let proceed = match proceed.first() {
        Some(proceed) => cx.materialise(proceed),
        None => return Err(cx.error("the condition of a `while` yields nothing")),
    };
    cx.set_loc(op.loc);
    cx.out.while_body(&proceed);
    define_args(cx, body, args);
    cx.write_all(&slots, state);
    let next = lower_arm(cx, body, &slots)?;
    cx.set_loc(op.loc);
    let results = cx.out.end_while(&open, &next);
    finish(cx, op, &slots, &results);
    Ok(())
}

fn define_args(cx: &mut Lowering<'_>, block: BlockId, args: &[Tensor]) {
    let kernel = cx.kernel;
    for (&arg, tensor) in kernel.block(block).args.iter().zip(args) {
        cx.define(arg, Val::from(tensor.clone()));
    }
}
