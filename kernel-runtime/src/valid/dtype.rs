//! Element types and matrix products that the chip's generation has.

use super::Context;
use crate::diag::{Code, Diagnostic};
use crate::ir::ops::Op;
use crate::ir::{DType, LocId, MemorySpace};
use crate::target::{Chip, Target};

pub(super) fn check(context: &mut Context<'_>, target: &Target, chip: &Chip) {
    let kernel = context.kernel;
    let refs = kernel.params.iter().map(|p| (&p.name, p.dtype, p.space, p.loc));
    let refs = refs.chain(kernel.scratch.iter().map(|s| (&s.name, s.dtype, s.space, s.loc)));
    for (name, dtype, space, loc) in refs {
        check_dtype(context, target, dtype, loc);
        if space == MemorySpace::Smem && dtype.size_bytes() != 4 {
            let message = format!("`{name}` keeps `{dtype}` in SMEM, which holds 32-bit elements");
            context.report_at(
                loc,
                Diagnostic::error(Code::VALID_SMEM_TYPE, message).help(if dtype.is_float() {
                    "use f32"
                } else {
                    "use i32"
                }),
            );
        }
    }
    kernel.walk(kernel.body, &mut |_, op| {
        for &result in &op.results {
            check_dtype(context, target, kernel.ty(result).dtype(), op.loc);
        }
        if let (Op::Dot(_), [lhs, rhs]) = (&op.op, &op.operands[..]) {
            let (lhs, rhs) = (kernel.ty(*lhs).dtype(), kernel.ty(*rhs).dtype());
            // What `f16` is told of above already.
            if !chip.multiplies(lhs, rhs) && lhs != DType::F16 && rhs != DType::F16 {
                report_matmul(context, target, chip, (lhs, rhs), op.loc);
            }
        }
    });
}

fn check_dtype(context: &mut Context<'_>, target: &Target, dtype: DType, loc: LocId) {
    if dtype == DType::F16 {
        let message = format!("`f16` is not supported on {target}");
        context.report_at(
            loc,
            Diagnostic::error(Code::VALID_UNSUPPORTED_DTYPE, message).help("use bf16 or f32"),
        );
    }
}

fn report_matmul(
    context: &mut Context<'_>,
    target: &Target,
    chip: &Chip,
    (lhs, rhs): (DType, DType),
    loc: LocId,
) {
    let pairs: Vec<String> = chip.matmul.iter().map(|(l, r)| format!("{l} x {r}")).collect();
    let error = Diagnostic::error(
        Code::VALID_UNSUPPORTED_MATMUL,
        format!("the matrix unit of {target} does not multiply `{lhs}` by `{rhs}`"),
    )
    .note(format!("it multiplies {}", pairs.join(", ")));
    let others: Vec<&str> = Target::TPUS
        .iter()
        .filter(|other| other.chip.is_some_and(|chip| chip.multiplies(lhs, rhs)))
        .map(|other| other.name)
        .collect();
    let error = if others.is_empty() {
        error.note("no generation of TPU does")
    } else {
        error.note(format!("{} do", others.join(", ")))
    };
    context.report_at(loc, error.help("convert the operands with `.cast::<bf16>()`"));
}
