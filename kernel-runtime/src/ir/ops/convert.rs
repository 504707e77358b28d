//! Conversions that are more than one element to one element: bits across rows, several elements
//! in a word, rounding by chance.

use super::{InferError, Results, expect_operands, expect_tile};
use crate::ir::dtype::DType;
use crate::ir::ty::{Shape, Sizes, Type};
use smallvec::smallvec;

/// A conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConvertOp {
    /// Reads the bits of each column as elements of another size; the axis before the last shrinks
    /// or grows accordingly.
    ///
    /// # Semantics
    /// An element of 32 bits in row `r` becomes two of 16 bits in rows `2 * r` (the low half) and
    /// `2 * r + 1`, or four of 8 bits in the same order; and the other way round. That is how
    /// narrow elements lie in the sublanes of a vector register, so that nothing moves.
    BitcastRows {
        /// The element type of the result.
        dtype: DType,
    },
    /// Operands: as many tiles as elements of `dtype` fit into 32 bits, of `f32` for a float type
    /// and of `i32` for an integer type. Each is converted to `dtype` (floats to nearest even,
    /// integers wrapped), the first to the lowest bits. The result is `u32`.
    Pack {
        /// The element type of the parts.
        dtype: DType,
    },
    /// Part number `index` of the words that [`ConvertOp::Pack`] makes, as `f32` or `i32`.
    /// Operand: a `u32` tile.
    Unpack {
        /// The element type of the parts.
        dtype: DType,
        /// Which part, the lowest first.
        index: usize,
    },
    /// Rounds `f32` up or down by chance. Operands: the values and random bits, a `u32` tile of
    /// the same shape.
    ///
    /// # Semantics
    /// The lower 16 random bits are added to the bits of the value, and the upper 16 bits of the
    /// sum are the `bf16`: the farther a value is from the `bf16` below it (in size), the more
    /// random numbers round it up. Infinities and NaN stay. A TPU may use other ones of the random
    /// bits, so that single results differ there, with the same chances.
    StochasticRound {
        /// The element type of the result: `bf16`.
        dtype: DType,
    },
}

/// The element types that [`ConvertOp::Pack`] packs.
const PACKED: &[DType] = &[DType::BF16, DType::I16, DType::U16, DType::I8, DType::U8];

impl ConvertOp {
    /// The name in the text form.
    pub fn mnemonic(self) -> &'static str {
        match self {
            ConvertOp::BitcastRows { .. } => "bitcast_rows",
            ConvertOp::Pack { .. } => "pack",
            ConvertOp::Unpack { .. } => "unpack",
            ConvertOp::StochasticRound { .. } => "stochastic_round",
        }
    }

    /// How many elements of a type share a word of 32 bits.
    pub fn n_parts(dtype: DType) -> usize {
        4 / dtype.size_bytes()
    }

    /// The type that parts of this type are packed from and unpacked to.
    pub fn wide(dtype: DType) -> DType {
        if dtype.is_float() { DType::F32 } else { DType::I32 }
    }

    /// The type rule; see [`super::Op::infer`].
    pub(crate) fn infer(self, operands: &[&Type]) -> Result<Results, InferError> {
        let name = self.mnemonic();
        let shape = match self {
            ConvertOp::BitcastRows { dtype } => infer_rows(dtype, operands)?,
            ConvertOp::Pack { dtype } => {
                expect_packed(name, dtype)?;
                expect_operands(name, operands, ConvertOp::n_parts(dtype))?;
                expect_all(name, operands, ConvertOp::wide(dtype))?
            }
            ConvertOp::Unpack { dtype, index } => {
                expect_packed(name, dtype)?;
                expect_operands(name, operands, 1)?;
                let n = ConvertOp::n_parts(dtype);
                if index >= n {
                    return Err(InferError::index(format!(
                        "`unpack`: part {index} of {n} does not exist: a word holds {n} of {dtype}"
                    )));
                }
                expect_all(name, operands, DType::U32)?
            }
            ConvertOp::StochasticRound { dtype } => {
                expect_operands(name, operands, 2)?;
                if dtype != DType::BF16 {
                    return Err(InferError::ty(format!("`{name}` gives `bf16`, not `{dtype}`")));
                }
                let shape = expect_all(name, &operands[..1], DType::F32)?;
                if expect_all(name, &operands[1..], DType::U32)? != shape {
                    return Err(InferError::shape(format!(
                        "`{name}`: `{}` needs random bits of its shape, not `{}`",
                        operands[0], operands[1]
                    )));
                }
                shape
            }
        };
        Ok(smallvec![Type::Tile { dtype: self.result(), shape }])
    }

    fn result(self) -> DType {
        match self {
            ConvertOp::BitcastRows { dtype } | ConvertOp::StochasticRound { dtype } => dtype,
            ConvertOp::Pack { .. } => DType::U32,
            ConvertOp::Unpack { dtype, .. } => ConvertOp::wide(dtype),
        }
    }
}

fn infer_rows(dtype: DType, operands: &[&Type]) -> Result<Shape, InferError> {
    expect_operands("bitcast_rows", operands, 1)?;
    let (from, shape) = expect_tile("bitcast_rows", operands[0])?;
    if from == DType::Bool || dtype == DType::Bool {
        return Err(InferError::ty("`bitcast_rows` is not defined on `bool`")
            .help("convert first with `.cast::<i32>()`"));
    }
    let mut shape = Shape::from_slice(shape);
    let Some(rows) = shape.len().checked_sub(2) else {
        return Err(InferError::shape(format!(
            "`bitcast_rows` takes a tile of two axes or more, not {}",
            Sizes(&shape)
        )));
    };
    let bytes = shape[rows] * from.size_bytes();
    if !bytes.is_multiple_of(dtype.size_bytes()) {
        let n = dtype.size_bytes() / from.size_bytes();
        return Err(InferError::shape(format!(
            "`bitcast_rows`: {} rows of {from} are not a multiple of {n}, which make one of {dtype}",
            shape[rows]
        )));
    }
    shape[rows] = bytes / dtype.size_bytes();
    Ok(shape)
}

fn expect_packed(name: &str, dtype: DType) -> Result<(), InferError> {
    if PACKED.contains(&dtype) {
        return Ok(());
    }
    let known: Vec<&str> = PACKED.iter().map(|dtype| dtype.name()).collect();
    Err(InferError::ty(format!("`{name}` does not take parts of `{dtype}`"))
        .help(format!("parts are {}", known.join(", "))))
}

/// The shape of operands that must all be tiles of one type.
fn expect_all(name: &str, operands: &[&Type], dtype: DType) -> Result<Shape, InferError> {
    let (_, shape) = expect_tile(name, operands[0])?;
    let wanted = Type::tile(dtype, shape);
    match operands.iter().find(|ty| ***ty != wanted) {
        Some(other) if other.dtype() == dtype => {
            Err(InferError::shape(format!("`{name}`: `{other}` does not fit `{}`", operands[0])))
        }
        Some(other) => Err(InferError::ty(format!("`{name}` takes `{wanted}`, not `{other}`"))
            .help("element types never convert silently: use `.cast::<T>()`")),
        None => Ok(Shape::from_slice(shape)),
    }
}
