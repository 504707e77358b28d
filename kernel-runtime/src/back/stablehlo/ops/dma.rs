//! Copies, done where they start.

use super::elementwise;
use super::memory::Place;
use crate::back::stablehlo::lower::{Lowering, Val};
use crate::back::stablehlo::text::{Direction, Tensor};
use crate::diag::Diagnostic;
use crate::ir::DType;
use crate::ir::kernel::{OpData, Value};
use crate::ir::ops::{Access, Binary, DmaOp, Elementwise, Length, SyncOp};
use crate::ir::ty::Shape;

/// Lowers the start of a copy: the copy itself. The wait for it is nothing.
pub(in crate::back::stablehlo) fn lower(
    cx: &mut Lowering<'_>,
    dma: &DmaOp,
    op: &OpData,
) -> Result<(), Diagnostic> {
    let DmaOp::Start(start) = dma else { return Ok(()) };
    let (transfer, add) = (&start.transfer, start.add);
    let Some(parts) = dma.split(&op.operands) else {
        return Err(cx.error("a copy has operands that do not fit it"));
    };
    let (from, to) = (cx.slot(parts.from)?, cx.slot(parts.to)?);
    let source = cx.read(from)?;
    if let (Val::Uniform(literal, _), false) = (&source, add)
        && transfer.to.is_full(cx.read(to)?.shape())
        && transfer.n_lengths() == 0
    {
        let shape = Shape::from_slice(cx.read(to)?.shape());
        cx.write(to, Val::Uniform(*literal, shape));
        return Ok(());
    }
    let (source, target) = (cx.materialise(&source), cx.read_tensor(to)?);
    let copied = Copied {
        from: Place::new(cx, &transfer.from, parts.scalars.from)?,
        to: Place::new(cx, &transfer.to, parts.scalars.to)?,
        mask: mask(cx, &transfer.to, &transfer.lengths, parts.scalars.lengths)?,
        add,
    };
    let written = copied.emit(cx, &source, &target);
    cx.write(to, written);
    Ok(())
}

/// Lowers an op on semaphores: nothing is left to wait for.
pub(in crate::back::stablehlo) fn lower_sync(
    cx: &mut Lowering<'_>,
    sync: &SyncOp,
) -> Result<(), Diagnostic> {
    match sync {
        SyncOp::Signal { .. } | SyncOp::Wait { .. } => Ok(()),
        SyncOp::Read { .. } => Err(cx.error("`sem_read` cannot be expressed in StableHLO")),
    }
}

struct Copied {
    from: Place,
    to: Place,
    /// Where elements are copied, in the shape of the target's place; everywhere if there is none.
    mask: Option<Tensor>,
    add: bool,
}

impl Copied {
    /// What the target is afterwards.
    fn emit(&self, cx: &mut Lowering<'_>, source: &Tensor, target: &Tensor) -> Tensor {
        let sizes = self.to.sizes();
        let Some(mask) = &self.mask else {
            let part = self.from.read(cx, source);
            let mut part = cx.out.reshape(&part, sizes);
            if self.add {
                let old = self.to.read(cx, target);
                part = add(cx, &old, &part);
            }
            return self.to.write(cx, target, &part);
        };
        // A part of the place may lie beyond the end of either array.
        let (roomy_source, roomy) =
            (self.from.with_room(cx, source), self.to.with_room(cx, target));
        let part = self.from.read(cx, &roomy_source);
        let mut part = cx.out.reshape(&part, sizes);
        let old = self.to.read(cx, &roomy);
        if self.add {
            part = add(cx, &old, &part);
        }
        let part = cx.out.select(mask, &part, &old);
        let written = self.to.write(cx, &roomy, &part);
        let (zeros, ones) = (vec![0; target.shape.len()], vec![1; target.shape.len()]);
        cx.out.slice(&written, &zeros, &target.shape, &ones)
    }
}

fn add(cx: &mut Lowering<'_>, old: &Tensor, part: &Tensor) -> Tensor {
    let operands = [old.clone(), part.clone()];
    elementwise::emit(&mut cx.out, Elementwise::Binary(Binary::Add), &operands)
}

/// Where the dynamic lengths let elements be copied.
fn mask(
    cx: &mut Lowering<'_>,
    to: &Access,
    lengths: &[Length],
    values: &[Value],
) -> Result<Option<Tensor>, Diagnostic> {
    let sizes: Shape = to.dims.iter().map(|dim| dim.size).collect();
    let kept: Vec<usize> = (0..sizes.len()).filter(|&axis| to.dims[axis].keep).collect();
    let mut values = values.iter();
    let mut mask: Option<Tensor> = None;
    for (&axis, length) in kept.iter().zip(lengths) {
        let Length::Dynamic { .. } = length else { continue };
        let Some(&value) = values.next() else { continue };
        let length = cx.tensor(value)?;
        let length = cx.out.broadcast(&length, &[], &sizes);
        let index = cx.out.iota(DType::I32, &sizes, axis);
        let inside = cx.out.compare(Direction::Lt, &index, &length);
        mask = Some(match mask {
            Some(mask) => cx.out.binary("and", &mask, &inside),
            None => inside,
        });
    }
    Ok(mask)
}
