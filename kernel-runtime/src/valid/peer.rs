//! Other devices and cores: the mesh, which of them an op addresses, and what of theirs it may
//! touch.

use super::Context;
use crate::diag::{Code, Diagnostic};
use crate::ir::ops::{ControlOp, DmaOp, Elementwise, Op, Peer};
use crate::ir::{Extent, Kernel, LocId, OpData, Semantics, SemaphoreKind, Value};
use crate::target::{Chip, Target};
use std::collections::BTreeSet;

/// The most devices of a mesh.
const MAX_DEVICES: usize = 1 << 16;

/// On larger meshes ids are not worked out one by one.
const MAX_TRIED: usize = 1024;

pub(super) fn check(context: &mut Context<'_>) {
    let kernel = context.kernel;
    check_mesh(context);
    check_core_axes(context);
    if kernel.n_devices() == 0 || kernel.n_devices() > MAX_DEVICES {
        return;
    }
    // What is under a condition may be there for the devices that have a neighbour alone.
    let top: BTreeSet<_> = kernel.block(kernel.body).ops.iter().copied().collect();
    kernel.walk(kernel.body, &mut |id, op| {
        let (peer, ids) = match &op.op {
            Op::Control(ControlOp::DeviceId) => {
                if kernel.mesh.is_empty() {
                    report_no_mesh(context, "the number of the device", op.loc);
                }
                return;
            }
            Op::Dma(dma) => {
                let Some(parts) = dma.split(&op.operands) else { return };
                (dma.peer(), parts.scalars.peer.to_vec())
            }
            Op::Sync(sync) => {
                let first = sync.n_before_index() + sync.semaphore().n_dynamic();
                let ids = op.operands.get(first..).unwrap_or_default();
                (sync.peer(), ids.to_vec())
            }
            _ => return,
        };
        if peer.is_self() {
            return;
        }
        check_ids(context, peer, &ids, op, top.contains(&id));
        if let Op::Dma(DmaOp::Start(_)) = op.op {
            check_peer_target(context, op);
        }
    });
    check_barrier(context);
}

fn check_mesh(context: &mut Context<'_>) {
    let kernel = context.kernel;
    for (idx, axis) in kernel.mesh.iter().enumerate() {
        let wrong = if axis.size == 0 {
            Some("has no devices".to_owned())
        } else {
            let again = kernel.mesh[..idx].iter().any(|other| other.name == axis.name);
            again.then(|| "is there twice".to_owned())
        };
        if let Some(wrong) = wrong {
            let message = format!("the mesh axis `{}` {wrong}", axis.name);
            context.error(Code::VALID_PEER, LocId::UNKNOWN, message);
        }
    }
    if kernel.n_devices() > MAX_DEVICES {
        let message =
            format!("the mesh has {} devices, more than {MAX_DEVICES}", kernel.n_devices());
        context.error(Code::VALID_PEER, LocId::UNKNOWN, message);
    }
}

/// Axes over cores stand outermost and have as many steps as there are cores.
fn check_core_axes(context: &mut Context<'_>) {
    let kernel = context.kernel;
    let mut others = None;
    for axis in &kernel.grid {
        if axis.semantics != Semantics::CoreParallel {
            others = others.or(Some(axis));
            continue;
        }
        let (wrong, help) = match (axis.extent, others) {
            (Extent::Dynamic { .. }, _) => {
                ("its number of steps is known at run time alone".to_owned(), "give it a number")
            }
            (_, Some(outer)) => (
                format!("it stands inside of the axis `{}`", outer.name),
                "let the axis over cores be the first of the grid",
            ),
            (Extent::Static(_), None) => continue,
        };
        let message = format!("the axis `{}` runs over cores, but {wrong}", axis.name);
        let error = Diagnostic::error(Code::VALID_CORE_AXIS, message).help(help);
        context.report_at(LocId::UNKNOWN, error);
    }
}

fn report_no_mesh(context: &mut Context<'_>, what: &str, loc: LocId) {
    let message = format!("{what} is asked for, but the kernel has no mesh of devices");
    let error = Diagnostic::error(Code::VALID_PEER, message)
        .help("declare it: `#[tpu_kernel(mesh(ring = n))]`");
    context.report_at(loc, error);
}

/// Ids that can be worked out are within the mesh and the cores.
fn check_ids(context: &mut Context<'_>, peer: Peer, ids: &[Value], op: &OpData, always: bool) {
    let kernel = context.kernel;
    if peer.device && kernel.mesh.is_empty() {
        return report_no_mesh(context, "another device", op.loc);
    }
    let n_cores = kernel.grid.iter().filter(|axis| axis.semantics == Semantics::CoreParallel);
    let n_cores = n_cores.map(|axis| match axis.extent {
        Extent::Static(n) => n,
        Extent::Dynamic { .. } => 1,
    });
    let given = [
        (peer.device, "device", kernel.n_devices()),
        (peer.core, "core", n_cores.fold(1usize, usize::saturating_mul).max(1)),
    ];
    let mut ids = ids.iter();
    for (is_given, what, n) in given {
        let Some(&id) = (if is_given { ids.next() } else { None }) else { continue };
        let n_tried = if always { kernel.n_devices().min(MAX_TRIED) } else { 1 };
        let constant = kernel.constant_int(id).map(|id| (0, id));
        let tried = (0..n_tried)
            .filter(|_| always)
            .map(|device| Some((device, value_on(kernel, id, device, 16)?)));
        let outside = |&(_, id): &(usize, i64)| id < 0 || id >= n as i64;
        let wrong = constant.into_iter().chain(tried.flatten()).find(outside);
        let Some((device, wrong)) = wrong else { continue };
        let message = match kernel.constant_int(id) {
            Some(_) => format!("there is no {what} {wrong}: they are numbered 0 to {}", n - 1),
            None => format!(
                "on device {device} this addresses {what} {wrong}: they are numbered 0 to {}",
                n - 1
            ),
        };
        let error = Diagnostic::error(Code::VALID_PEER, message)
            .help("wrap the number around, `(id + 1) % n`, or put it under a condition");
        context.report_at(op.loc, error);
    }
}

/// A scalar on a device, if it follows from the device's number alone.
fn value_on(kernel: &Kernel, value: Value, device: usize, depth: usize) -> Option<i64> {
    let op = kernel.defining_op(value)?;
    let depth = depth.checked_sub(1)?;
    let operand = |idx: usize| value_on(kernel, *op.operands.get(idx)?, device, depth);
    let found = match op.op {
        Op::Control(ControlOp::DeviceId) => device as i64,
        Op::Elementwise(Elementwise::Constant(literal)) => literal.as_int()?,
        Op::Elementwise(Elementwise::Unary(unary)) => unary.eval_int(operand(0)?),
        Op::Elementwise(Elementwise::Binary(binary)) => {
            let (x, y) = (operand(0)?, operand(1)?);
            // What division by zero gives is nobody's address.
            let divides = matches!(binary.name(), "div" | "rem");
            if divides && y == 0 {
                return None;
            }
            binary.eval_int(x, y)
        }
        Op::Elementwise(Elementwise::Compare(compare)) => {
            i64::from(compare.eval(operand(0)?, operand(1)?))
        }
        Op::Elementwise(Elementwise::Select) => {
            let chosen = if operand(0)? != 0 { 1 } else { 2 };
            operand(chosen)?
        }
        _ => return None,
    };
    i32::try_from(found).ok().map(i64::from)
}

/// A copy to another device goes to memory that stays where it is: an array in HBM, or scratch.
fn check_peer_target(context: &mut Context<'_>, op: &OpData) {
    let kernel = context.kernel;
    let target = op.operands.get(1).copied();
    let moving = kernel
        .params
        .iter()
        .enumerate()
        .find(|(idx, param)| Some(kernel.param_ref(*idx)) == target && param.window.is_some());
    let Some((_, param)) = moving else { return };
    let message = format!(
        "a copy to another device goes into the block of `{}`, which the pipeline there moves from step to step",
        param.name
    );
    let error = Diagnostic::error(Code::VALID_COPY_TARGET, message);
    context.report_at(op.loc, error.help("declare it `HbmOut<T>`, or copy into scratch"));
}

/// The barrier semaphore is for several devices.
fn check_barrier(context: &mut Context<'_>) {
    let kernel = context.kernel;
    if !kernel.mesh.is_empty() {
        return;
    }
    for array in &kernel.semaphores {
        if array.kind == SemaphoreKind::Barrier {
            report_no_mesh(context, &format!("the barrier semaphore `{}`", array.name), array.loc);
        }
    }
}

/// The rules of chips.
pub(super) fn check_chip(context: &mut Context<'_>, target: &Target, chip: &Chip) {
    for axis in &context.kernel.grid {
        let Extent::Static(n) = axis.extent else { continue };
        if axis.semantics != Semantics::CoreParallel || n == chip.n_cores {
            continue;
        }
        let message = format!(
            "the axis `{}` runs over {n} cores, but a device of {target} has {}",
            axis.name, chip.n_cores
        );
        let error = Diagnostic::error(Code::VALID_CORE_AXIS, message)
            .help("give it as many steps as the chip has cores, or declare it `parallel`");
        context.report_at(LocId::UNKNOWN, error);
    }
}
