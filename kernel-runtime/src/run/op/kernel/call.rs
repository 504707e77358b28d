//! From a call of a `#[tpu_kernel]` on tensors to the op, which is made once.

use super::{KernelOp, VjpFn};
use crate::diag::Diagnostics;
use crate::ir::Element;
use crate::run::call::{CallArg, Caller, called_here};
use crate::run::dispatch::apply_all;
use crate::run::graph::KeyWriter;
use crate::run::jit::Outcome;
use crate::run::op::Op;
use crate::run::tensor::{DynTensor, Kind, Tensor};
use crate::trace::KernelFn;
use crate::trace::key::{KeptKey, KernelKey};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::panic::Location;
use std::sync::Arc;

/// How many ops each thread keeps.
const MAX_OPS: usize = 512;

/// Kernels whose keys differ in what cannot be written.
type Alike = Vec<(KeptKey, Arc<KernelOp>)>;

/// Ops of kernels that are called again and again.
#[derive(Default)]
struct Ops {
    /// By what can be written of the kernel's key, and the types of the arguments.
    known: HashMap<Box<[u8]>, Alike>,
    n_ops: usize,
}

thread_local! {
    /// Tracing a kernel takes a hundred times as long as calling it.
    static OPS: RefCell<Ops> = RefCell::default();
}

impl Ops {
    fn find(&self, bytes: &[u8], key: &KernelKey<'_>) -> Option<Arc<KernelOp>> {
        let (_, op) = self.known.get(bytes)?.iter().find(|(kept, _)| key.is(kept))?;
        Some(op.clone())
    }

    fn keep(&mut self, bytes: &[u8], key: &KernelKey<'_>, op: &Arc<KernelOp>) {
        if self.n_ops >= MAX_OPS {
            *self = Ops::default();
        }
        self.n_ops += 1;
        self.known.entry(bytes.into()).or_default().push((key.keep(), op.clone()));
    }
}

/// What a kernel has besides its compile-time parameters.
#[derive(Clone, Default)]
pub struct KernelState {
    vjp: Option<Arc<VjpFn>>,
}

impl fmt::Debug for KernelState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelState").field("has_vjp", &self.vjp.is_some()).finish()
    }
}

impl KernelState {
    /// Sets what gives the gradients by the inputs: from inputs, outputs, and the gradients by the
    /// outputs.
    pub fn set_vjp<R: Outcome<Tree = Vec<Option<DynTensor>>>>(
        &mut self,
        vjp: impl Fn(&[DynTensor], &[DynTensor], &[DynTensor]) -> R + Send + Sync + 'static,
    ) {
        self.vjp = Some(Arc::new(move |inputs, outputs, cotangents| {
            vjp(inputs, outputs, cotangents).outcome()
        }));
    }
}

/// Runs kernels on tensors.
///
/// An `InOut` argument is given by reference, and copied, or by value, and gone:
///
/// ```compile_fail,E0382
/// use systole::prelude::*;
/// use systole::run::Tensor;
///
/// #[tpu_kernel(grid(i))]
/// fn add_into(#[block(m: 8 @ i, n)] x: In<f32>, #[block(m: 8 @ i, n)] sum: InOut<f32>) {
///     sum[..] += x[..];
/// }
///
/// # fn main() -> Result<(), systole::diag::Diagnostics> {
/// let x = Tensor::<f32>::ones([8, 128]);
/// let sum = Tensor::<f32>::zeros([8, 128]);
/// let copied = add_into().call(&x, &sum)?;
/// let added = add_into().call(&x, sum)?;
/// println!("{sum}"); // moved
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TensorCaller;

impl Caller for TensorCaller {
    type Arg<'a> = DynTensor;
    type Raw = DynTensor;
    type Output<T: Element> = Tensor<T>;

    #[track_caller]
    fn call(
        kernel: &dyn KernelFn,
        state: &KernelState,
        args: &[DynTensor],
    ) -> Result<Vec<DynTensor>, Diagnostics> {
        let at = Location::caller();
        if let Some(failure) = args.iter().find_map(|arg| arg.node().failure()) {
            return Err((*failure).clone());
        }
        let op = op(kernel, args).map_err(|error| called_here(error, at))?;
        let donors: SmallVec<[usize; 2]> =
            (0..args.len()).filter(|&idx| op.inner.donates[idx]).collect();
        let nodes: SmallVec<[_; 4]> = args.iter().map(Tensor::node).collect();
        let is_plain = state.vjp.is_none() && !super::is_interpreted();
        let op: Arc<dyn Op> = match is_plain {
            true => op,
            false => {
                let op = KernelOp { vjp: state.vjp.clone(), ..(*op).clone() };
                Arc::new(op.debugged(nodes.first().map(|node| &node.device), at)?)
            }
        };
        let results = apply_all(op, &nodes, donors, at);
        results.into_iter().map(|node| Tensor::from_node(node).check()).collect()
    }

    fn typed<T: Element>(raw: DynTensor) -> Tensor<T> {
        Tensor::from_node(raw.into_node())
    }
}

/// The op that a kernel is for these arguments.
fn op(kernel: &dyn KernelFn, args: &[DynTensor]) -> Result<Arc<KernelOp>, Diagnostics> {
    let Some(key) = kernel.key() else {
        return KernelOp::traced(kernel, &args.iter().collect::<Vec<_>>()).map(Arc::new);
    };
    let mut written = KeyWriter::default();
    key.write(&mut written);
    for arg in args {
        arg.node().ty.hash(&mut written);
    }
    let bytes = written.bytes();
    if let Some(op) = OPS.with_borrow(|ops| ops.find(bytes, &key)) {
        return Ok(op);
    }
    let op = Arc::new(KernelOp::traced(kernel, &args.iter().collect::<Vec<_>>())?);
    OPS.with_borrow_mut(|ops| ops.keep(bytes, &key, &op));
    Ok(op)
}

impl<'a, T: Kind> CallArg<'a> for &'a Tensor<T> {
    type Caller = TensorCaller;

    fn into_arg(self) -> DynTensor {
        self.to_dyn()
    }
}

impl<T: Kind> CallArg<'_> for Tensor<T> {
    type Caller = TensorCaller;

    fn into_arg(self) -> DynTensor {
        Tensor::from_node(self.into_node())
    }
}
