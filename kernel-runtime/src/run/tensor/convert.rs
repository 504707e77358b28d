//! Between tensors and data on the host.

use super::node::{Node, State};
use super::{DynTensor, Tensor};
use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use crate::ir::{Array, Element};
use crate::run::device::Device;
use crate::run::dispatch::trace::TraceId;
use crate::run::graph::{Ty, ValueId};
use std::panic::Location;

impl<T: Element> Tensor<T> {
    /// A tensor of this shape without elements: for [`lower`](crate::run::Jit::lower), which asks
    /// for types alone.
    #[track_caller]
    pub fn shaped(shape: impl AsRef<[usize]>) -> Tensor<T> {
        let ty = Ty::new(T::DTYPE, shape.as_ref());
        let state = State::Traced(TraceId::NONE, ValueId(0));
        Tensor::from_node(Node::new(ty, Location::caller(), Device::current(), state))
    }

    /// A tensor of these elements, row-major, on the current device.
    ///
    /// # Errors
    /// If there are more or fewer elements than the shape has.
    #[track_caller]
    pub fn from_slice(
        elements: &[T],
        shape: impl AsRef<[usize]>,
    ) -> Result<Tensor<T>, Diagnostics> {
        let (at, shape) = (Location::caller(), shape.as_ref());
        let n_elems: usize = shape.iter().product();
        if n_elems != elements.len() {
            let message = format!(
                "the shape {shape:?} has {n_elems} elements, but {} were given",
                elements.len()
            );
            let error = Diagnostic::error(Code::TENSOR_SHAPE, message);
            return Err(error.at(Span::from_location(at), "").into());
        }
        let values: Vec<f64> = elements.iter().map(|x| x.to_f64()).collect();
        let array = Array::from_f64(T::DTYPE, shape, &values).map_err(|error| {
            Diagnostic::error(Code::TENSOR_SHAPE, error.to_string()).at(Span::from_location(at), "")
        })?;
        Ok(Tensor::host(array, Device::current(), at))
    }

    /// Its elements, row-major.
    ///
    /// # Errors
    /// As [`Tensor::to_array`].
    #[track_caller]
    pub fn to_vec(&self) -> Result<Vec<T>, Diagnostics> {
        Ok(self.to_array()?.to_f64().into_iter().map(T::from_f64).collect())
    }
}

impl DynTensor {
    /// A tensor of an array's elements, on the current device.
    #[track_caller]
    pub fn from_array(array: Array) -> DynTensor {
        Tensor::host(array, Device::current(), Location::caller())
    }
}
