//! Ops that rearrange elements.

use super::{InferError, Results, expect_operands, expect_tile};
use crate::ir::dtype::DType;
use crate::ir::ty::{Shape, Sizes, Type};
use smallvec::{SmallVec, smallvec};

/// An op that makes or rearranges a tile.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ShapeOp {
    /// A tile of this shape with the scalar operand everywhere.
    Splat(Shape),
    /// Repeats axes of size 1 to this shape, of the same rank.
    Broadcast(Shape),
    /// The same elements in row-major order under another shape.
    Reshape(Shape),
    /// Result axis `i` is operand axis `perm[i]`.
    Transpose(SmallVec<[usize; 4]>),
    /// The operands one after the other along an axis.
    Concat {
        /// Along which axis.
        axis: usize,
    },
    /// A part: `sizes` elements from `starts`, each `strides` apart.
    Slice {
        /// First element per axis.
        starts: Shape,
        /// Number of elements per axis.
        sizes: Shape,
        /// Distance of elements per axis, at least 1.
        strides: Shape,
    },
    /// The index along an axis at each place. No operands.
    Iota {
        /// Integer element type.
        dtype: DType,
        /// Result shape.
        shape: Shape,
        /// The axis counted along.
        axis: usize,
    },
    /// Rotates along an axis by the scalar `i32` operand number 1: element `i` of the operand
    /// lands at `(i + shift) mod size`, as `tpu.dynamic_rotate` and `numpy.roll` do. With a stride,
    /// row `j` along the stride's axis is rotated by `shift + j * by`.
    Roll {
        /// Along which axis.
        axis: usize,
        /// How much further each row of another axis is rotated.
        stride: Option<RollStride>,
    },
    /// Operands: a tile and an `i32` tile of indices, whose sizes are equal but along the axis.
    /// Each element of the result, which has the shape of the indices, is the one whose place
    /// along the axis the index says, and otherwise its own. What an index outside of the axis
    /// gives is undefined.
    TakeAlongAxis {
        /// Along which axis.
        axis: usize,
    },
    /// The only element of a tile, as a scalar.
    Extract,
}

/// How much further a roll rotates each row than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RollStride {
    /// By how many elements.
    pub by: usize,
    /// Along which axis the rows are counted; not the one that is rolled.
    pub axis: usize,
}

impl ShapeOp {
    /// The name in the text form.
    pub fn mnemonic(&self) -> &'static str {
        match self {
            ShapeOp::Splat(_) => "splat",
            ShapeOp::Broadcast(_) => "broadcast",
            ShapeOp::Reshape(_) => "reshape",
            ShapeOp::Transpose(_) => "transpose",
            ShapeOp::Concat { .. } => "concat",
            ShapeOp::Slice { .. } => "slice",
            ShapeOp::Iota { .. } => "iota",
            ShapeOp::Roll { .. } => "roll",
            ShapeOp::TakeAlongAxis { .. } => "take_along_axis",
            ShapeOp::Extract => "extract",
        }
    }

    /// The type rule; see [`super::Op::infer`].
    pub(crate) fn infer(&self, operands: &[&Type]) -> Result<Results, InferError> {
        let name = self.mnemonic();
        let shape = match self {
            ShapeOp::Iota { dtype, shape, axis } => {
                expect_operands(name, operands, 0)?;
                expect_axis(name, *axis, shape)?;
                if !dtype.is_int() {
                    return Err(InferError::ty(format!(
                        "`iota` counts in integers, not `{dtype}`"
                    )));
                }
                expect_nonzero(name, shape)?;
                return Ok(smallvec![Type::Tile { dtype: *dtype, shape: shape.clone() }]);
            }
            ShapeOp::Splat(shape) => {
                expect_operands(name, operands, 1)?;
                if !operands[0].is_scalar() {
                    return Err(InferError::ty(format!(
                        "`splat` takes a scalar, not `{}`",
                        operands[0]
                    )));
                }
                shape.clone()
            }
            ShapeOp::Broadcast(shape) => {
                expect_operands(name, operands, 1)?;
                infer_broadcast(expect_tile(name, operands[0])?.1, shape)?
            }
            ShapeOp::Reshape(shape) => {
                expect_operands(name, operands, 1)?;
                let (_, from) = expect_tile(name, operands[0])?;
                let (n_from, n_to) = (n_elems(from), n_elems(shape));
                if n_from.is_none() || n_to != n_from {
                    let told =
                        |n: Option<usize>| n.map_or("too many".to_string(), |n| n.to_string());
                    return Err(InferError::shape(format!(
                        "`reshape`: {} has {} elements, {} has {}",
                        Sizes(from),
                        told(n_from),
                        Sizes(shape),
                        told(n_to)
                    )));
                }
                shape.clone()
            }
            ShapeOp::Transpose(perm) => {
                expect_operands(name, operands, 1)?;
                infer_transpose(expect_tile(name, operands[0])?.1, perm)?
            }
            ShapeOp::Concat { axis } => infer_concat(*axis, operands)?,
            ShapeOp::Slice { starts, sizes, strides } => {
                expect_operands(name, operands, 1)?;
                infer_slice(expect_tile(name, operands[0])?.1, starts, sizes, strides)?
            }
            ShapeOp::TakeAlongAxis { axis } => infer_take(*axis, operands)?,
            ShapeOp::Extract => {
                expect_operands(name, operands, 1)?;
                let (dtype, shape) = expect_tile(name, operands[0])?;
                if n_elems(shape) != Some(1) {
                    return Err(InferError::shape(format!(
                        "`extract` takes a tile of one element, not {}",
                        Sizes(shape)
                    ))
                    .help("reduce it first: `x.reduce_sum(0).reduce_sum(1)`"));
                }
                return Ok(smallvec![Type::Scalar(dtype)]);
            }
            ShapeOp::Roll { axis, stride } => infer_roll(*axis, *stride, operands)?,
        };
        expect_nonzero(name, &shape)?;
        Ok(smallvec![Type::Tile { dtype: operands[0].dtype(), shape }])
    }
}

/// The number of elements; `None` if it is beyond what a `usize` counts.
fn n_elems(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1usize, |n, &size| n.checked_mul(size))
}

fn expect_axis(name: &str, axis: usize, shape: &[usize]) -> Result<(), InferError> {
    if axis < shape.len() {
        return Ok(());
    }
    Err(InferError::shape(format!(
        "`{name}`: axis {axis} is not one of the {} axes of {}",
        shape.len(),
        Sizes(shape)
    )))
}

fn expect_nonzero(name: &str, shape: &[usize]) -> Result<(), InferError> {
    if shape.is_empty() {
        return Err(InferError::shape(format!("`{name}` would give a tile of rank 0"))
            .help("a single element is a scalar, or a tile of shape [1, 1]"));
    }
    if shape.contains(&0) {
        return Err(InferError::shape(format!(
            "`{name}` would give an empty tile, {}",
            Sizes(shape)
        )));
    }
    Ok(())
}

fn infer_broadcast(from: &[usize], to: &Shape) -> Result<Shape, InferError> {
    let fits = from.len() == to.len() && from.iter().zip(to).all(|(a, b)| a == b || *a == 1);
    if fits {
        return Ok(to.clone());
    }
    Err(InferError::shape(format!("`broadcast`: {} does not repeat to {}", Sizes(from), Sizes(to)))
        .help("ranks must be equal, and sizes equal or 1"))
}

fn infer_transpose(from: &[usize], perm: &[usize]) -> Result<Shape, InferError> {
    let mut seen: Vec<usize> = perm.to_vec();
    seen.sort_unstable();
    if !seen.iter().copied().eq(0..from.len()) {
        return Err(InferError::shape(format!(
            "`transpose`: {} is not an order of the {} axes of {}",
            Sizes(perm),
            from.len(),
            Sizes(from)
        )));
    }
    Ok(perm.iter().map(|&axis| from[axis]).collect())
}

fn infer_roll(
    axis: usize,
    stride: Option<RollStride>,
    operands: &[&Type],
) -> Result<Shape, InferError> {
    expect_operands("roll", operands, 2)?;
    let (_, shape) = expect_tile("roll", operands[0])?;
    expect_axis("roll", axis, shape)?;
    if let Some(stride) = stride {
        expect_axis("roll", stride.axis, shape)?;
        if stride.axis == axis {
            return Err(InferError::shape(format!(
                "`roll` along axis {axis} cannot count its rows along the same axis"
            )));
        }
        if stride.by > i32::MAX as usize {
            return Err(InferError::shape(format!(
                "`roll` turns each row {} elements further, and shifts are `i32`",
                stride.by
            ))
            .help(format!("take it modulo the {} elements of the axis", shape[axis])));
        }
    }
    if *operands[1] != Type::Scalar(DType::I32) {
        return Err(InferError::ty(format!(
            "`roll` shifts by an i32 scalar, not `{}`",
            operands[1]
        )));
    }
    Ok(Shape::from_slice(shape))
}

fn infer_take(axis: usize, operands: &[&Type]) -> Result<Shape, InferError> {
    let name = "take_along_axis";
    expect_operands(name, operands, 2)?;
    let (_, from) = expect_tile(name, operands[0])?;
    let (dtype, shape) = expect_tile(name, operands[1])?;
    expect_axis(name, axis, from)?;
    if dtype != DType::I32 {
        return Err(InferError::ty(format!("`{name}` takes `i32` indices, not `{dtype}`")));
    }
    let fits = from.len() == shape.len()
        && (0..from.len()).all(|other| other == axis || from[other] == shape[other]);
    if !fits {
        return Err(InferError::shape(format!(
            "`{name}` along axis {axis}: indices of {} do not fit the tile {}",
            Sizes(shape),
            Sizes(from)
        ))
        .help("sizes must be equal but along the axis"));
    }
    Ok(Shape::from_slice(shape))
}

fn infer_concat(axis: usize, operands: &[&Type]) -> Result<Shape, InferError> {
    let Some(first) = operands.first() else {
        return Err(InferError::ty("`concat` takes at least one tile"));
    };
    let (dtype, first) = expect_tile("concat", first)?;
    expect_axis("concat", axis, first)?;
    let mut shape = Shape::from_slice(first);
    for operand in &operands[1..] {
        let (other_dtype, other) = expect_tile("concat", operand)?;
        let fits = other.len() == first.len()
            && (0..first.len()).all(|i| i == axis || other[i] == first[i]);
        if other_dtype != dtype || !fits {
            return Err(InferError::shape(format!(
                "`concat` along axis {axis}: `{}` does not fit `{operand}`",
                operands[0]
            )));
        }
        shape[axis] = shape[axis].saturating_add(other[axis]);
    }
    Ok(shape)
}

fn infer_slice(
    from: &[usize],
    starts: &[usize],
    sizes: &Shape,
    strides: &[usize],
) -> Result<Shape, InferError> {
    if [starts.len(), sizes.len(), strides.len()].iter().any(|&n| n != from.len()) {
        return Err(InferError::index(format!(
            "`slice` has {} entries but the tile has rank {} {}",
            sizes.len(),
            from.len(),
            Sizes(from)
        )));
    }
    for axis in 0..from.len() {
        let last = sizes[axis]
            .checked_sub(1)
            .and_then(|n| n.checked_mul(strides[axis]))
            .and_then(|n| n.checked_add(starts[axis]));
        if strides[axis] == 0 || last.is_none_or(|last| last >= from[axis]) {
            return Err(InferError::index(format!(
                "`slice`: {} elements from {} in steps of {} do not fit axis {axis} of {}",
                sizes[axis],
                starts[axis],
                strides[axis],
                Sizes(from)
            )));
        }
    }
    Ok(sizes.clone())
}
