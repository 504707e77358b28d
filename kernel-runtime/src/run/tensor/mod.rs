//! Tensors: arrays on a device, used like values.
//!
//! A [`Tensor`] is a handle. What stands behind it may be elements on the host, an op that is
//! recorded and not run yet, a running program, elements on the device, or a value of a program
//! being traced by [`jit`](super::jit); code that uses tensors need not know which. Clones share
//! the elements.
//!
//! # What compiles anew
//!
//! Programs are kept by what they compute, not by where they are written. `stats()` of
//! [`Compiler`](super::Compiler) counts them.
//!
//! | what differs from a program made before | new program |
//! |---|---|
//! | elements of tensors | no |
//! | a number beside a tensor: `x + 1.0`, `x + 2.0` | no in eager and deferred code; yes in [`jit`](super::jit), where it is a constant: give a [`Tensor::scalar`] |
//! | the line it is written on | no |
//! | shapes, element types, attributes such as axes | yes |
//! | a size that is [bounded](super::Jit::bounded) | no, up to its bucket |
//! | the device of the client | yes |
//! | whether an argument's memory is reused: `x += y` against `x + y` | yes |
//! | [precision](super::precision) | of products of `f32`, yes; else no |
//! | [numerics](super::Numerics) | yes |
//! | in deferred code, which results are still held when it runs | yes |
//! | compile-time parameters of a kernel | if the kernel computes something else with them |
//! | kernels [interpreted](super::DebugKernels), and the line that calls them | yes |
//! | a [`Static`](super::Static) argument of a compiled function | yes |
//! | a tensor captured by a compiled function | fixed by its first call |
//!
//! A kernel is traced anew for other compile-time parameters and types of arguments, and by every
//! call if a parameter cannot be compared: a closure that captures something, or a type without
//! `Eq`. That takes no compilation if it gives a kernel that is known.
//!
//! # Errors
//! An op never fails where it is written: its result remembers what went wrong, with the line, and
//! passes it on to whatever is computed from it. [`Tensor::check`] and everything that reads
//! elements give the error.

pub(crate) mod node;

mod convert;
mod display;
mod file;
#[cfg(feature = "ndarray")]
mod ndarray;
mod number;
mod place;

pub(crate) use number::scalar_array;
pub use number::{FloatKind, IntKind, Kind, NumKind, Operand};

use super::device::Device;
use super::dispatch;
use super::graph::{At, Ty};
use super::mesh;
use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use crate::ir::{Array, DType, Element, Shape};
use crate::pjrt::Buffer;
use node::{Node, State};
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

/// The element type of a [`DynTensor`]: one that is known only while running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Any {}

/// A tensor whose element type is known only while running.
pub type DynTensor = Tensor<Any>;

/// An array of elements of `T` on a device.
pub struct Tensor<T: Kind> {
    node: Arc<Node>,
    kind: PhantomData<fn() -> T>,
}

/// What there is of a tensor; see [`Tensor::status`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Elements on the host, not on the device yet.
    Host,
    /// Recorded, to be run with what else is deferred.
    Deferred,
    /// Being computed or copied.
    Executing,
    /// Elements on the device.
    Materialized,
    /// A value of a program that is being traced.
    Traced,
    /// Given away to an op that reused its memory.
    Donated,
    /// Could not be made.
    Failed,
}

impl Status {
    fn of(buffer: &Buffer) -> Status {
        let ready = buffer.ready().and_then(|event| event.is_ready());
        if ready.unwrap_or(true) { Status::Materialized } else { Status::Executing }
    }
}

impl<T: Kind> Clone for Tensor<T> {
    fn clone(&self) -> Tensor<T> {
        Tensor::from_node(self.node.clone())
    }
}

impl<T: Kind> Tensor<T> {
    pub(crate) fn from_node(node: Arc<Node>) -> Tensor<T> {
        Tensor { node, kind: PhantomData }
    }

    pub(crate) fn node(&self) -> &Arc<Node> {
        &self.node
    }

    pub(crate) fn into_node(self) -> Arc<Node> {
        self.node
    }

    /// A tensor that could not be made.
    pub(crate) fn failed(device: &Device, error: impl Into<Diagnostics>, at: At) -> Tensor<T> {
        let ty = Ty::new(T::DTYPE.unwrap_or(DType::F32), &[]);
        let state = State::Failed(Arc::new(error.into()));
        Tensor::from_node(Node::new(ty, at, device.clone(), state))
    }

    /// A tensor that could not be made, on the current device: for a function that gives a tensor
    /// to [`jit`](super::jit) and has met an error.
    #[track_caller]
    pub fn from_error(error: Diagnostics) -> Tensor<T> {
        Tensor::failed(&Device::current(), error, Location::caller())
    }

    /// The sizes, outermost first; empty for a scalar, and for a tensor that could not be made.
    pub fn shape(&self) -> &[usize] {
        &self.node.ty.shape
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.shape().len()
    }

    /// The number of elements.
    pub fn n_elems(&self) -> usize {
        self.node.ty.n_elems()
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.node.ty.dtype
    }

    /// Where it lives.
    pub fn device(&self) -> &Device {
        &self.node.device
    }

    /// What there is of it now. Does not wait, and starts nothing.
    pub fn status(&self) -> Status {
        match &*self.node.state() {
            State::Host(_) => Status::Host,
            State::Deferred(..) => Status::Deferred,
            State::Traced(..) => Status::Traced,
            State::Donated(_) => Status::Donated,
            State::Failed(_) => Status::Failed,
            State::Sharded(shards) if shards.buffers.is_empty() => Status::Traced,
            State::Sharded(shards) if shards.is_ready() => Status::Materialized,
            State::Sharded(_) => Status::Executing,
            State::Device(buffer) => Status::of(buffer),
            State::Padded(padded) => Status::of(&padded.buffer),
        }
    }

    /// The tensor with its element type checked only while running.
    pub fn to_dyn(&self) -> DynTensor {
        Tensor::from_node(self.node.clone())
    }

    /// The tensor with its element type known while compiling.
    ///
    /// # Errors
    /// If it has another one.
    #[track_caller]
    pub fn typed<U: Element>(&self) -> Result<Tensor<U>, Diagnostics> {
        if self.dtype() == U::DTYPE || self.node.failure().is_some() {
            return Ok(Tensor::from_node(self.node.clone()));
        }
        let message =
            format!("the tensor has elements of `{}`, not of `{}`", self.dtype(), U::DTYPE);
        let at = Span::from_location(Location::caller());
        let error = Diagnostic::error(Code::TENSOR_DTYPE, message).at(at, "");
        Err(error.help(format!("convert them: `.cast::<{}>()`", U::DTYPE)).into())
    }

    /// Itself, if nothing is known to be wrong with it. Does not wait for running programs.
    ///
    /// # Errors
    /// Whatever kept it from being made.
    pub fn check(self) -> Result<Tensor<T>, Diagnostics> {
        match self.node.failure() {
            Some(failure) => Err((*failure).clone()),
            None => Ok(self),
        }
    }

    /// Starts computing it if it is deferred, and waits until it is there.
    ///
    /// # Errors
    /// Whatever went wrong on the way, with the line that recorded it.
    #[track_caller]
    pub fn wait(&self) -> Result<(), Diagnostics> {
        dispatch::wait(&self.node, Location::caller())
    }

    /// Its elements, on the host.
    ///
    /// # Errors
    /// Whatever went wrong on the way, with the line that recorded it.
    #[track_caller]
    pub fn to_array(&self) -> Result<Array, Diagnostics> {
        self.to_array_at(Location::caller())
    }

    pub(crate) fn to_array_at(&self, at: At) -> Result<Array, Diagnostics> {
        let node = &self.node;
        let padded = match &*node.state() {
            State::Host(array) => return Ok((**array).clone()),
            State::Padded(padded) => Some(padded.clone()),
            _ => None,
        };
        if let Some(padded) = padded {
            let array = padded.cut(&node.ty);
            return array.map_err(|error| dispatch::execution_error(node, &error));
        }
        if let Some(devices) = node.device.mesh() {
            let shards = mesh::execute::shards(devices, node, at)?;
            let array = shards.to_array(&devices.axes, &node.ty);
            return array.map_err(|error| dispatch::execution_error(node, &error));
        }
        let buffer = self.buffer(at)?;
        let bytes = buffer.to_host().map_err(|error| dispatch::execution_error(node, &error))?;
        Array::from_bytes(self.dtype(), self.shape(), &bytes).map_err(|error| {
            Diagnostic::error(Code::RUN_DEVICE, format!("the device gave {error}")).into()
        })
    }

    /// The buffer that has, or will have, its elements.
    pub(crate) fn buffer(&self, at: At) -> Result<Buffer, Diagnostics> {
        dispatch::materialize(&self.node, at)
    }

    /// Its only element, as `f64`.
    ///
    /// # Errors
    /// If it has more or fewer, and as [`Tensor::to_array`].
    #[track_caller]
    pub fn item(&self) -> Result<f64, Diagnostics> {
        let at = Location::caller();
        let array = self.to_array()?;
        if array.n_elems() != 1 {
            let message = format!(
                "`item` reads the only element, but the tensor is {} and has {}",
                self.node.ty,
                array.n_elems()
            );
            let error = Diagnostic::error(Code::TENSOR_SHAPE, message);
            return Err(error.at(Span::from_location(at), "").into());
        }
        Ok(array.to_f64().first().copied().unwrap_or(f64::NAN))
    }
}

impl<T: Kind> Tensor<T> {
    /// Makes a tensor of elements on the host. They are copied to the device when an op needs
    /// them.
    pub(crate) fn host(array: Array, device: Device, at: At) -> Tensor<T> {
        let ty = Ty { dtype: array.dtype(), shape: Shape::from_slice(array.shape()) };
        Tensor::from_node(Node::new(ty, at, device, State::Host(Arc::new(array))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_donated_tensor_says_where_it_went() {
        let x = Tensor::from_slice(&[1.0_f32], [1]).unwrap();
        x.node().set(State::Donated(Location::caller()));
        assert_eq!(x.status(), Status::Donated);
        for error in [x.to_array().unwrap_err(), (&x + 1.0).to_array().unwrap_err()] {
            assert_eq!(error.0[0].code.as_str(), "tensor::donated");
            assert_eq!(error.0[0].labels.len(), 2);
        }
    }
}
