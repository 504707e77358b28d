//! Host arrays: what kernels are called with and give back.

use super::dtype::{DType, Element};
use super::narrow::{f8e4m3fn, f8e5m2, i4};
use half::{bf16, f16};

/// The elements of an [`Array`], row-major.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrayData {
    /// Truth values, one byte each, 0 or 1.
    Bool(Vec<u8>),
    /// Signed 4-bit integers, one byte each.
    I4(Vec<i4>),
    /// Signed 8-bit integers.
    I8(Vec<i8>),
    /// Signed 16-bit integers.
    I16(Vec<i16>),
    /// Signed 32-bit integers.
    I32(Vec<i32>),
    /// Unsigned 8-bit integers.
    U8(Vec<u8>),
    /// Unsigned 16-bit integers.
    U16(Vec<u16>),
    /// Unsigned 32-bit integers.
    U32(Vec<u32>),
    /// Floats of 8 bits, 4 of them the exponent.
    F8E4M3FN(Vec<f8e4m3fn>),
    /// Floats of 8 bits, 5 of them the exponent.
    F8E5M2(Vec<f8e5m2>),
    /// bfloat16.
    BF16(Vec<bf16>),
    /// IEEE binary16.
    F16(Vec<f16>),
    /// IEEE binary32.
    F32(Vec<f32>),
}

/// Runs an expression with `$v` bound to the typed vector, whatever the element type.
macro_rules! each_data {
    ($data:expr, $v:ident => $body:expr) => {
        match $data {
            ArrayData::Bool($v) => $body,
            ArrayData::I4($v) => $body,
            ArrayData::I8($v) => $body,
            ArrayData::I16($v) => $body,
            ArrayData::I32($v) => $body,
            ArrayData::U8($v) => $body,
            ArrayData::U16($v) => $body,
            ArrayData::U32($v) => $body,
            ArrayData::F8E4M3FN($v) => $body,
            ArrayData::F8E5M2($v) => $body,
            ArrayData::BF16($v) => $body,
            ArrayData::F16($v) => $body,
            ArrayData::F32($v) => $body,
        }
    };
}

/// A dense row-major array in host memory, its element type known at run time.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    shape: Vec<usize>,
    data: ArrayData,
}

/// The bytes or elements given do not fill the shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LengthMismatch {
    /// The shape asked for.
    pub shape: Vec<usize>,
    /// What it needs, in elements (or bytes for [`Array::from_bytes`]); `usize::MAX` if that is
    /// more than a machine can count.
    pub expected: usize,
    /// What was given.
    pub found: usize,
}

impl std::fmt::Display for LengthMismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "shape {:?} needs {} but {} were given", self.shape, self.expected, self.found)
    }
}

impl std::error::Error for LengthMismatch {}

/// The number of elements of a shape; `usize::MAX` if it is larger, which no array has.
fn n_elems(shape: &[usize]) -> usize {
    // A size of 0 counts before the product of the others is too large.
    if shape.contains(&0) {
        return 0;
    }
    shape.iter().fold(1, |n, &size| n.saturating_mul(size))
}

impl Array {
    /// An array of zeros.
    ///
    /// It takes memory as `vec!` does: a shape that no memory holds ends the program.
    pub fn zeros(dtype: DType, shape: &[usize]) -> Array {
        let n = n_elems(shape);
        let data = match dtype {
            DType::Bool => ArrayData::Bool(vec![0; n]),
            DType::I4 => ArrayData::I4(vec![i4::default(); n]),
            DType::I8 => ArrayData::I8(vec![0; n]),
            DType::I16 => ArrayData::I16(vec![0; n]),
            DType::I32 => ArrayData::I32(vec![0; n]),
            DType::U8 => ArrayData::U8(vec![0; n]),
            DType::U16 => ArrayData::U16(vec![0; n]),
            DType::U32 => ArrayData::U32(vec![0; n]),
            DType::F8E4M3FN => ArrayData::F8E4M3FN(vec![f8e4m3fn::default(); n]),
            DType::F8E5M2 => ArrayData::F8E5M2(vec![f8e5m2::default(); n]),
            DType::BF16 => ArrayData::BF16(vec![bf16::ZERO; n]),
            DType::F16 => ArrayData::F16(vec![f16::ZERO; n]),
            DType::F32 => ArrayData::F32(vec![0.0; n]),
        };
        Array { shape: shape.to_vec(), data }
    }

    /// A single number: an array without axes.
    pub fn scalar<T: Element>(value: T) -> Array {
        // One element always fills a shape without axes.
        Array::from_f64(T::DTYPE, &[], &[value.to_f64()])
            .unwrap_or_else(|_| Array::zeros(T::DTYPE, &[]))
    }

    /// Wraps typed elements.
    ///
    /// # Errors
    /// If the number of elements is not the product of the shape.
    pub fn new(shape: &[usize], data: ArrayData) -> Result<Array, LengthMismatch> {
        let (expected, found) = (n_elems(shape), each_data!(&data, v => v.len()));
        if expected != found {
            return Err(LengthMismatch { shape: shape.to_vec(), expected, found });
        }
        Ok(Array { shape: shape.to_vec(), data })
    }

    /// From the little-endian bytes of the elements.
    ///
    /// # Errors
    /// If the number of bytes does not fit the shape.
    pub fn from_bytes(
        dtype: DType,
        shape: &[usize],
        bytes: &[u8],
    ) -> Result<Array, LengthMismatch> {
        // Before memory is taken for it: the shape may come from a damaged file.
        let expected = n_elems(shape).saturating_mul(dtype.size_bytes());
        if expected != bytes.len() {
            return Err(LengthMismatch { shape: shape.to_vec(), expected, found: bytes.len() });
        }
        let mut array = Array::zeros(dtype, shape);
        array.as_bytes_mut().copy_from_slice(bytes);
        Ok(array)
    }

    /// From `f64` values converted by the rules of `cast`.
    ///
    /// # Errors
    /// If the number of values is not the product of the shape.
    pub fn from_f64(
        dtype: DType,
        shape: &[usize],
        values: &[f64],
    ) -> Result<Array, LengthMismatch> {
        fn all<T: Element>(values: &[f64]) -> Vec<T> {
            values.iter().map(|&v| T::from_f64(v)).collect()
        }
        let data = match dtype {
            DType::Bool => ArrayData::Bool(values.iter().map(|&v| u8::from(v != 0.0)).collect()),
            DType::I4 => ArrayData::I4(all(values)),
            DType::I8 => ArrayData::I8(all(values)),
            DType::I16 => ArrayData::I16(all(values)),
            DType::I32 => ArrayData::I32(all(values)),
            DType::U8 => ArrayData::U8(all(values)),
            DType::U16 => ArrayData::U16(all(values)),
            DType::U32 => ArrayData::U32(all(values)),
            DType::F8E4M3FN => ArrayData::F8E4M3FN(all(values)),
            DType::F8E5M2 => ArrayData::F8E5M2(all(values)),
            DType::BF16 => ArrayData::BF16(all(values)),
            DType::F16 => ArrayData::F16(all(values)),
            DType::F32 => ArrayData::F32(all(values)),
        };
        Array::new(shape, data)
    }

    /// An `f32` array.
    ///
    /// # Errors
    /// If the number of values is not the product of the shape.
    pub fn from_f32(shape: &[usize], values: Vec<f32>) -> Result<Array, LengthMismatch> {
        Array::new(shape, ArrayData::F32(values))
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        match self.data {
            ArrayData::Bool(_) => DType::Bool,
            ArrayData::I4(_) => DType::I4,
            ArrayData::I8(_) => DType::I8,
            ArrayData::I16(_) => DType::I16,
            ArrayData::I32(_) => DType::I32,
            ArrayData::U8(_) => DType::U8,
            ArrayData::U16(_) => DType::U16,
            ArrayData::U32(_) => DType::U32,
            ArrayData::F8E4M3FN(_) => DType::F8E4M3FN,
            ArrayData::F8E5M2(_) => DType::F8E5M2,
            ArrayData::BF16(_) => DType::BF16,
            ArrayData::F16(_) => DType::F16,
            ArrayData::F32(_) => DType::F32,
        }
    }

    /// The sizes, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The typed elements, row-major.
    pub fn data(&self) -> &ArrayData {
        &self.data
    }

    /// The typed elements, row-major.
    pub fn data_mut(&mut self) -> &mut ArrayData {
        &mut self.data
    }

    /// The number of elements.
    pub fn n_elems(&self) -> usize {
        each_data!(&self.data, v => v.len())
    }

    /// The elements as bytes in host order.
    pub fn as_bytes(&self) -> &[u8] {
        each_data!(&self.data, v => bytemuck::cast_slice(v))
    }

    /// The elements as bytes in host order.
    pub fn as_bytes_mut(&mut self) -> &mut [u8] {
        each_data!(&mut self.data, v => bytemuck::cast_slice_mut(v))
    }

    /// Every element as `f64` (exact for every element type).
    pub fn to_f64(&self) -> Vec<f64> {
        fn all<T: Element>(v: &[T]) -> Vec<f64> {
            v.iter().map(|x| x.to_f64()).collect()
        }
        each_data!(&self.data, v => all(v))
    }

    /// Every element as `f32`.
    pub fn to_f32(&self) -> Vec<f32> {
        match &self.data {
            ArrayData::F32(v) => v.clone(),
            ArrayData::BF16(v) => v.iter().map(|x| x.to_f32()).collect(),
            _ => self.to_f64().into_iter().map(|x| x as f32).collect(),
        }
    }

    /// The same elements under another shape.
    ///
    /// # Errors
    /// If the number of elements differs.
    pub fn reshape(self, shape: &[usize]) -> Result<Array, LengthMismatch> {
        Array::new(shape, self.data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2^64 elements, which wrapped to none; and 2^60, which no machine holds.
    #[test]
    fn shapes_beyond_memory_fit_no_elements() {
        for shape in [&[1 << 32, 1 << 32][..], &[1 << 30, 1 << 30]] {
            assert!(Array::from_f32(shape, Vec::new()).is_err());
            assert!(Array::from_bytes(DType::F32, shape, &[]).is_err());
            let few = Array::from_f32(&[2], vec![1.0, 2.0]).unwrap();
            assert!(few.reshape(shape).is_err());
        }
        let none = Array::from_f32(&[1 << 40, 0, 1 << 40], Vec::new()).unwrap();
        assert_eq!(none.n_elems(), 0);
    }
}
