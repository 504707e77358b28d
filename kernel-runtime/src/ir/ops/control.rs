//! Branches and loops. Regions are single blocks that end in `yield`.

use super::{InferError, RegionTypes, Results};
use crate::ir::dtype::DType;
use crate::ir::ty::{MemorySpace, SemaphoreKind, Type};
use smallvec::smallvec;

/// A control-flow op.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ControlOp {
    /// Operand: a `bool` scalar. Regions `then` and `else`, without arguments, yield the results.
    If,
    /// Operands: `i32` scalars `lo`, `hi`, `step`, then the initial carried values. The region
    /// takes the index and the carried values and yields the next ones; it runs for
    /// `lo, lo + step, ..` below `hi`. `step` is positive.
    For,
    /// Operands: the initial carried values. Region `cond` takes them and yields a `bool`
    /// scalar; region `body` takes them and yields the next ones.
    While,
    /// No operands. The region takes references, each to memory or semaphores that live while it
    /// runs: memory undefined, semaphores zero at the start and at the end. It yields the results.
    Scope,
    /// Ends a region and gives its values.
    Yield,
    /// The number of steps along a grid axis, an `i32` scalar. No operands. It serves axes whose
    /// extent is known at run time alone.
    GridExtent {
        /// Which grid axis, outermost 0.
        axis: usize,
    },
    /// The number of the device that runs the op, an `i32` scalar. No operands. The devices of the
    /// kernel's mesh are numbered in row-major order.
    DeviceId,
}

impl ControlOp {
    /// The name in the text form.
    pub fn mnemonic(self) -> &'static str {
        match self {
            ControlOp::If => "if",
            ControlOp::For => "for",
            ControlOp::While => "while",
            ControlOp::Scope => "scope",
            ControlOp::Yield => "yield",
            ControlOp::GridExtent { .. } => "grid_extent",
            ControlOp::DeviceId => "device_id",
        }
    }

    /// The number of regions.
    pub fn n_regions(self) -> usize {
        match self {
            ControlOp::If | ControlOp::While => 2,
            ControlOp::For | ControlOp::Scope => 1,
            ControlOp::Yield | ControlOp::GridExtent { .. } | ControlOp::DeviceId => 0,
        }
    }

    /// How often a `for` with these bounds runs; `None` if the step is not positive, which is an
    /// error where the loop runs.
    pub(crate) fn n_trips(lo: i64, hi: i64, step: i64) -> Option<i64> {
        (step > 0).then(|| ((hi - lo).max(0) + step - 1) / step)
    }

    /// The type rule; see [`super::Op::infer`].
    pub(crate) fn infer(
        self,
        operands: &[&Type],
        regions: &[RegionTypes],
    ) -> Result<Results, InferError> {
        let name = self.mnemonic();
        if regions.len() != self.n_regions() {
            return Err(InferError::region(format!(
                "`{name}` has {} regions, but {} were given",
                self.n_regions(),
                regions.len()
            )));
        }
        if let Some(bad) = operands.iter().find(|ty| ty.is_ref()) {
            return Err(InferError::region(format!("`{name}` cannot carry the reference `{bad}`")));
        }
        match self {
            ControlOp::If => infer_if(operands, &regions[0], &regions[1]),
            ControlOp::For => infer_for(operands, &regions[0]),
            ControlOp::While => infer_while(operands, &regions[0], &regions[1]),
            ControlOp::Scope => infer_scope(operands, &regions[0]),
            ControlOp::Yield => Ok(Results::new()),
            ControlOp::GridExtent { .. } | ControlOp::DeviceId => {
                super::expect_operands(name, operands, 0)?;
                Ok(smallvec![Type::Scalar(DType::I32)])
            }
        }
    }
}

fn infer_scope(operands: &[&Type], body: &RegionTypes) -> Result<Results, InferError> {
    super::expect_operands("scope", operands, 0)?;
    let is_local = |ty: &&Type| match ty {
        Type::Ref { space, shape, .. } => {
            matches!(space, MemorySpace::Vmem | MemorySpace::Smem)
                && !shape.is_empty()
                && !shape.contains(&0)
        }
        Type::Semaphore { kind, shape } => *kind != SemaphoreKind::Barrier && !shape.contains(&0),
        Type::Scalar(_) | Type::Tile { .. } => false,
    };
    if let Some(bad) = body.args.iter().find(|ty| !is_local(ty)) {
        return Err(InferError::region(format!("`scope` cannot hold `{bad}`"))
            .help("it holds memory in VMEM and SMEM, and semaphores that are no barrier"));
    }
    Ok(body.yields.iter().cloned().collect())
}

fn infer_if(
    operands: &[&Type],
    then: &RegionTypes,
    other: &RegionTypes,
) -> Result<Results, InferError> {
    super::expect_operands("if", operands, 1)?;
    if *operands[0] != Type::Scalar(DType::Bool) {
        return Err(InferError::ty(format!(
            "the condition of `if` is `{}`, not a `bool` scalar",
            operands[0]
        ))
        .help("for a tile of `bool` use `select(mask, a, b)`"));
    }
    if !then.args.is_empty() || !other.args.is_empty() {
        return Err(InferError::region("the regions of `if` take no arguments"));
    }
    expect_types("if", "the arms yield different types", &then.yields, &other.yields)?;
    Ok(then.yields.iter().cloned().collect())
}

fn infer_for(operands: &[&Type], body: &RegionTypes) -> Result<Results, InferError> {
    if operands.len() < 3 {
        return Err(InferError::ty("`for` takes `lo`, `hi` and `step`"));
    }
    let (bounds, inits) = operands.split_at(3);
    if let Some(bad) = bounds.iter().find(|ty| ***ty != Type::Scalar(DType::I32)) {
        return Err(InferError::ty(format!("the bounds of `for` are `i32` scalars, not `{bad}`")));
    }
    let inits: Vec<Type> = inits.iter().map(|ty| (*ty).clone()).collect();
    let Some((index, carried)) = body.args.split_first() else {
        return Err(InferError::region("the body of `for` takes the index"));
    };
    if *index != Type::Scalar(DType::I32) {
        return Err(InferError::region(format!(
            "the index of `for` is an `i32` scalar, not `{index}`"
        )));
    }
    expect_types(
        "for",
        "a carried value enters and is used with different types",
        &inits,
        carried,
    )?;
    expect_types(
        "for",
        "a carried value enters the loop and leaves its body with different types",
        &inits,
        &body.yields,
    )?;
    Ok(inits.into_iter().collect())
}

fn infer_while(
    operands: &[&Type],
    cond: &RegionTypes,
    body: &RegionTypes,
) -> Result<Results, InferError> {
    let inits: Vec<Type> = operands.iter().map(|ty| (*ty).clone()).collect();
    if cond.yields != [Type::Scalar(DType::Bool)] {
        return Err(InferError::region("the condition of `while` yields one `bool` scalar"));
    }
    expect_types(
        "while",
        "a carried value enters and is used with different types",
        &inits,
        &cond.args,
    )?;
    expect_types(
        "while",
        "a carried value enters and is used with different types",
        &inits,
        &body.args,
    )?;
    expect_types(
        "while",
        "a carried value enters the loop and leaves its body with different types",
        &inits,
        &body.yields,
    )?;
    Ok(inits.into_iter().collect())
}

fn expect_types(name: &str, what: &str, lhs: &[Type], rhs: &[Type]) -> Result<(), InferError> {
    if lhs == rhs {
        return Ok(());
    }
    if lhs.len() != rhs.len() {
        return Err(InferError::region(format!(
            "`{name}`: {} values on one side, {} on the other",
            lhs.len(),
            rhs.len()
        )));
    }
    let differing = lhs.iter().zip(rhs).find(|(a, b)| a != b);
    let detail = differing.map(|(a, b)| format!(": `{a}` and `{b}`")).unwrap_or_default();
    Err(InferError::region(format!("`{name}`: {what}{detail}")))
}
