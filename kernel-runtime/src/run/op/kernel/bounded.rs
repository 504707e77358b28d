//! What kernels do with the padding of dims that are bounded.

use super::super::OpError;
use super::KernelOp;
use crate::diag::{Diagnostic, Diagnostics};
use crate::ir::kernel::{Param, ParamAxis};
use crate::ir::ops::Literal;
use crate::run::bounded::{Axis, Bounded, Bounds, Layout};
use smallvec::SmallVec;

/// A dim of a kernel's parameters that may be padded.
#[derive(Clone, Debug)]
pub(super) struct PaddedDim {
    dim: String,
    /// The input that it masks by; none if its rows do not mix.
    by: Option<String>,
}

impl KernelOp {
    /// Says that the elements of the results at one place along this dim (by its name in the
    /// kernel's blocks) depend only on elements of the inputs at that place: so padding at its end
    /// reaches no real element, and the kernel can be called on tensors whose size along it is
    /// [bounded](crate::run::Jit::bounded). Nothing checks it.
    #[must_use]
    pub fn rowwise(mut self, dim: impl Into<String>) -> KernelOp {
        self.padded.push(PaddedDim { dim: dim.into(), by: None });
        self
    }

    /// Says that the kernel lets nothing beyond the real size of this dim (by its name in the
    /// kernel's blocks) reach a real element of its results, and has what it masks by in the input
    /// `by`: the real size ([`Tensor::axis_size`](crate::run::Tensor::axis_size)), lengths that are
    /// no larger, or a mask. So it can be called on tensors whose size along the dim is
    /// [bounded](crate::run::Jit::bounded). Their padding is zero, but for that of `by`, which is
    /// what the ops before gave. Nothing checks it.
    ///
    /// # Errors
    /// If there is no such input, or no such dim.
    pub fn masked(mut self, dim: impl Into<String>, by: &str) -> Result<KernelOp, Diagnostics> {
        let (params, dim) = (&self.inner.kernel.params, dim.into());
        let name = &self.inner.kernel.name;
        let message = if !params.iter().any(|param| param.name == by && param.kind.is_input()) {
            format!("kernel `{name}` has no input `{by}` to mask by")
        } else if !params.iter().any(|param| param.axes.iter().any(|axis| axis.name == dim)) {
            format!("no parameter of kernel `{name}` has a dim `{dim}`")
        } else {
            self.padded.push(PaddedDim { dim, by: Some(by.to_owned()) });
            return Ok(self);
        };
        Err(Diagnostic::from(OpError::bounded(message)).into())
    }

    /// What its padding needs, and where the padding of its results is.
    pub(super) fn padding(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let mut known: Vec<(&str, &Axis)> = Vec::new();
        let params = &self.inner.kernel.params;
        let arrays = params.iter().filter(|param| param.kind.is_input());
        // Before the arrays come the extents of the grid, which are scalars.
        let n_extents = self.inner.inputs.len() - arrays.clone().count();
        let mut fills: SmallVec<[Option<Literal>; 4]> = SmallVec::from_elem(None, n_extents);
        for (param, layout) in arrays.zip(bounds.inputs().iter().skip(n_extents)) {
            let mut fill = None;
            for (named, axis) in param.axes.iter().zip(&layout.axes) {
                let name = named.name.as_str();
                if !axis.is_fixed() {
                    let padded = self.padded.iter().find(|padded| padded.dim == name);
                    let padded = padded.ok_or_else(|| self.not_told(param, name))?;
                    if padded.by.as_ref().is_some_and(|by| *by != param.name) {
                        fill = Some(Literal::from_f64(param.dtype, 0.0));
                    }
                }
                match known.iter().find(|(known, _)| *known == name) {
                    Some((_, other)) if *other != axis => {
                        return Err(OpError::bounded(format!(
                            "kernel `{}` is given tensors whose dim `{name}` is not padded alike",
                            self.inner.kernel.name
                        )));
                    }
                    Some(_) => {}
                    None => known.push((name, axis)),
                }
            }
            fills.push(fill);
        }
        let layout = |param: &Param| -> Layout {
            let axis = |axis: &ParamAxis| {
                let same = known.iter().find(|(name, _)| *name == axis.name);
                same.map_or_else(|| Axis::fixed(axis.size), |(_, axis)| (*axis).clone())
            };
            param.axes.iter().map(axis).collect()
        };
        let outputs = params.iter().filter(|param| param.kind.is_output());
        Ok(Bounded { fills, ..Bounded::new(outputs.map(layout)) })
    }

    fn not_told(&self, param: &Param, dim: &str) -> OpError {
        let message = format!(
            "kernel `{}` is not told what padding does to the dim `{dim}` of `{}`",
            self.inner.kernel.name, param.name
        );
        OpError::bounded(message).help(
            "if its rows do not mix, say `KernelOp::rowwise`; if it masks, `KernelOp::masked`",
        )
    }
}
