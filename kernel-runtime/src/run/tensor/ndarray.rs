//! Between tensors and the arrays of the crate `ndarray`.

use super::Tensor;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::Element;
use ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn};

impl<T: Element> Tensor<T> {
    /// A tensor of an array's elements, on the current device; the array may have any strides.
    ///
    /// # Errors
    /// None today: an array has as many elements as its shape says.
    #[track_caller]
    pub fn from_ndarray<S: Data<Elem = T>, D: Dimension>(
        array: &ArrayBase<S, D>,
    ) -> Result<Tensor<T>, Diagnostics> {
        match array.as_slice() {
            Some(elements) => Tensor::from_slice(elements, array.shape()),
            None => {
                let elements: Vec<T> = array.iter().copied().collect();
                Tensor::from_slice(&elements, array.shape())
            }
        }
    }

    /// Its elements as an array.
    ///
    /// # Errors
    /// As [`Tensor::to_array`].
    #[track_caller]
    pub fn to_ndarray(&self) -> Result<ArrayD<T>, Diagnostics> {
        let elements = self.to_vec()?;
        ArrayD::from_shape_vec(IxDyn(self.shape()), elements).map_err(|error| {
            let message = format!("{:?} is no shape of an array: {error}", self.shape());
            Diagnostic::error(Code::TENSOR_SHAPE, message).into()
        })
    }
}
