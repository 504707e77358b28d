//! Branches and loops. The memory that their regions write is carried along.

use crate::back::stablehlo::lower::{Lowering, Val};
use crate::back::stablehlo::text::{Direction, Tensor};
use crate::diag::Diagnostic;
use crate::ir::kernel::{BlockId, OpData, Value};
use crate::ir::ops::{ControlOp, Elementwise, Literal, MemoryOp, Unary};
use crate::ir::{DType, Kernel, Op, Type};

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
            Op::Elementwise(_) | Op::Shape(_) | Op::Convert(_) => true,
            Op::Memory(memory) => match memory {
                MemoryOp::Load { .. } => true,
                MemoryOp::Store { masked, .. } => !masked,
            },
            Op::Control(control) => {
                matches!(
                    control,
                    ControlOp::Yield | ControlOp::GridExtent { .. } | ControlOp::DeviceId
                )
            }
            Op::Reduce(_)
            | Op::Dot(_)
            | Op::Dma(_)
            | Op::Sync(_)
            | Op::Sparse(_)
            | Op::Random(_)
            | Op::Mxu(_)
            | Op::Debug(_) => false,
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
    let mut chosen = Vec::with_capacity(arms[0].len());
    for (idx, (then, other)) in arms[0].iter().zip(&arms[1]).enumerate() {
        let (then, other) = match op.results.get(idx) {
            Some(&result) => (cx.carried(result, then), cx.carried(result, other)),
            None => (cx.materialise(then), cx.materialise(other)),
        };
        chosen.push(cx.out.select(cond, &then, &other));
    }
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
    let mut values = cx.carried_yields(region)?;
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
///
/// XLA computes how often a counter that grows by a constant stays below a constant, and gets it
/// wrong where the step does not divide the way: `0, 2, ..` below 1 never runs. So a loop with
/// another step than 1 counts its turns. See `tests/stablehlo/xla.rs`.
pub(in crate::back::stablehlo) fn lower_for(
    cx: &mut Lowering<'_>,
    op: &OpData,
) -> Result<(), Diagnostic> {
    let body = op.regions[0];
    let slots = cx.written_slots(&op.regions);
    let operands: Vec<Val> = op.operands.iter().map(|&v| cx.val(v)).collect::<Result<_, _>>()?;
    let (bounds, carried) = operands.split_at(3);
    let counts_turns = bounds[2].as_int() != Some(1);
    let [lo, mut end, step] = [0, 1, 2].map(|idx| cx.materialise(&bounds[idx]));
    let (mut first, mut stride) = (lo.clone(), step.clone());
    if counts_turns {
        end = n_turns(cx, bounds);
        [first, stride] = [0, 1].map(|x| cx.out.constant(Literal::int(DType::U32, x), &[]));
    }
    let mut inits = vec![first];
    for (&value, val) in op.operands[3..].iter().zip(carried) {
        inits.push(cx.carried(value, val));
    }
    inits.extend(cx.read_tensors(&slots)?);
    let open = cx.out.begin_while(&inits);
    let (counter, args) = (&open.args[0], &open.args[1..]);
    let below = cx.out.compare(Direction::Lt, counter, &end);
    cx.out.while_body(&below);
    let mut index = counter.clone();
    if counts_turns {
        let turn = cx.out.bitcast(counter, DType::I32);
        let way = cx.out.binary("multiply", &turn, &step);
        index = cx.out.binary("add", &lo, &way);
    }
    let (args, state) = args.split_at(op.results.len());
    define_args(cx, body, &[&[index], args].concat());
    cx.write_all(&slots, state);
    let mut next = lower_arm(cx, body, &slots)?;
    cx.set_loc(op.loc);
    next.insert(0, cx.out.binary("add", counter, &stride));
    let results = cx.out.end_while(&open, &next);
    finish(cx, op, &slots, &results[1..]);
    Ok(())
}

/// How often a `for` runs, as `u32`: the way between any two `i32` fits it.
fn n_turns(cx: &mut Lowering<'_>, bounds: &[Val]) -> Tensor {
    let mut number = |x| cx.out.constant(Literal::int(DType::U32, x), &[]);
    if let [Some(lo), Some(hi), Some(step)] = [0, 1, 2].map(|idx| bounds[idx].as_int()) {
        return number(ControlOp::n_trips(lo, hi, step).unwrap_or(0));
    }
    let [zero, one] = [0, 1].map(&mut number);
    let [lo, hi, step] = [0, 1, 2].map(|idx| cx.materialise(&bounds[idx]));
    let way = cx.out.binary("subtract", &hi, &lo);
    let [way, step] = [way, step].map(|x| cx.out.bitcast(&x, DType::U32));
    // A step of 0 is the user's mistake; no division by it here.
    let step = cx.out.binary("maximum", &step, &one);
    // The way rounded up to whole steps, which the sum of both might not fit.
    let before_last = cx.out.binary("subtract", &way, &one);
    let n_before_last = cx.out.binary("divide", &before_last, &step);
    let n = cx.out.binary("add", &n_before_last, &one);
    let runs = cx.out.compare(Direction::Lt, &lo, &hi);
    cx.out.select(&runs, &n, &zero)
}

/// Lowers a loop with a condition. What the condition gives is carried, and so is the memory that
/// it writes: XLA sees no counter whose turns it could miscount, as [`lower_for`] has it.
pub(in crate::back::stablehlo) fn lower_while(
    cx: &mut Lowering<'_>,
    op: &OpData,
) -> Result<(), Diagnostic> {
    let body = op.regions[1];
    let slots = cx.written_slots(&op.regions);
    let operands: Vec<Val> = op.operands.iter().map(|&v| cx.val(v)).collect::<Result<_, _>>()?;
    let mut inits = vec![lower_cond(cx, op, &operands)?];
    for (&value, val) in op.operands.iter().zip(&operands) {
        inits.push(cx.carried(value, val));
    }
    inits.extend(cx.read_tensors(&slots)?);
    let open = cx.out.begin_while(&inits);
    cx.out.while_body(&open.args[0]);
    let (args, state) = open.args[1..].split_at(op.results.len());
    define_args(cx, body, args);
    cx.write_all(&slots, state);
    cx.lower_block(body)?;
    let yields = cx.yields(body)?;
    let mut next = vec![lower_cond(cx, op, &yields)?];
    for (&result, val) in op.results.iter().zip(&yields) {
        next.push(cx.carried(result, val));
    }
    next.extend(cx.read_tensors(&slots)?);
    let results = cx.out.end_while(&open, &next);
    finish(cx, op, &slots, &results[1..]);
    Ok(())
}

/// Lowers a scope: its memory is more state while it runs.
pub(in crate::back::stablehlo) fn lower_scope(
    cx: &mut Lowering<'_>,
    op: &OpData,
) -> Result<(), Diagnostic> {
    let kernel = cx.kernel;
    let body = op.regions[0];
    let args = &kernel.block(body).args;
    let memories = args.iter().filter(|&&arg| matches!(kernel.ty(arg), Type::Ref { .. }));
    let memories: Vec<Value> = memories.copied().collect();
    memories.iter().for_each(|&arg| cx.add_slot(arg));
    cx.lower_block(body)?;
    let yields = cx.yields(body)?;
    memories.iter().for_each(|&arg| cx.drop_slot(arg));
    for (&result, value) in op.results.iter().zip(yields) {
        cx.define(result, value);
    }
    Ok(())
}

/// Lowers the condition of a `while` for these carried values.
fn lower_cond(cx: &mut Lowering<'_>, op: &OpData, args: &[Val]) -> Result<Tensor, Diagnostic> {
    let (kernel, cond) = (cx.kernel, op.regions[0]);
    for (&arg, val) in kernel.block(cond).args.iter().zip(args) {
        cx.define(arg, val.clone());
    }
    cx.lower_block(cond)?;
    let goes_on = cx.yields(cond)?;
    cx.set_loc(op.loc);
    match goes_on.first() {
        Some(goes_on) => Ok(cx.materialise(goes_on)),
        None => Err(cx.error("the condition of a `while` yields nothing")),
    }
}

fn define_args(cx: &mut Lowering<'_>, block: BlockId, args: &[Tensor]) {
    let kernel = cx.kernel;
    for (&arg, tensor) in kernel.block(block).args.iter().zip(args) {
        cx.define(arg, Val::from(tensor.clone()));
    }
}
