//! Types of values.

use super::dtype::DType;
use smallvec::SmallVec;
use std::fmt;

/// The static shape of a tile or reference: sizes in elements, outermost first.
pub type Shape = SmallVec<[usize; 4]>;

/// Where a reference's memory lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemorySpace {
    /// Vector memory of the core: tiles are loaded from here.
    Vmem,
    /// Scalar memory of the core: scalars are loaded from here.
    Smem,
    /// The chip's main memory: reached by DMA alone.
    Hbm,
    /// Wherever the compiler left the array: reached by DMA alone.
    Any,
}

impl MemorySpace {
    /// Every space.
    pub const ALL: &[MemorySpace] =
        &[MemorySpace::Vmem, MemorySpace::Smem, MemorySpace::Hbm, MemorySpace::Any];

    /// The name in the text form and in Mosaic.
    pub fn name(self) -> &'static str {
        match self {
            MemorySpace::Vmem => "vmem",
            MemorySpace::Smem => "smem",
            MemorySpace::Hbm => "hbm",
            MemorySpace::Any => "any",
        }
    }
}

impl fmt::Display for MemorySpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// One element.
    Scalar(DType),
    /// An immutable array of static shape.
    Tile {
        /// Element type.
        dtype: DType,
        /// Sizes; rank 0 does not occur.
        shape: Shape,
    },
    /// Memory that `load` and `store` reach.
    Ref {
        /// Element type.
        dtype: DType,
        /// Sizes.
        shape: Shape,
        /// Where it lives.
        space: MemorySpace,
    },
}

impl Type {
    /// A tile type.
    pub fn tile(dtype: DType, shape: &[usize]) -> Type {
        Type::Tile { dtype, shape: Shape::from_slice(shape) }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        match self {
            Type::Scalar(dtype) | Type::Tile { dtype, .. } | Type::Ref { dtype, .. } => *dtype,
        }
    }

    /// The sizes: empty for a scalar.
    pub fn shape(&self) -> &[usize] {
        match self {
            Type::Scalar(_) => &[],
            Type::Tile { shape, .. } | Type::Ref { shape, .. } => shape,
        }
    }

    /// The number of elements: 1 for a scalar.
    pub fn n_elems(&self) -> usize {
        self.shape().iter().product()
    }

    /// Whether it is a tile.
    pub fn is_tile(&self) -> bool {
        matches!(self, Type::Tile { .. })
    }

    /// Whether it is a scalar.
    pub fn is_scalar(&self) -> bool {
        matches!(self, Type::Scalar(_))
    }

    /// Whether it is a reference.
    pub fn is_ref(&self) -> bool {
        matches!(self, Type::Ref { .. })
    }

    /// The same kind and shape with another element type.
    pub fn with_dtype(&self, dtype: DType) -> Type {
        match self {
            Type::Scalar(_) => Type::Scalar(dtype),
            Type::Tile { shape, .. } => Type::Tile { dtype, shape: shape.clone() },
            Type::Ref { shape, space, .. } => {
                Type::Ref { dtype, shape: shape.clone(), space: *space }
            }
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Scalar(dtype) => write!(f, "{dtype}"),
            Type::Tile { dtype, shape } => write!(f, "{dtype}{}", Sizes(shape)),
            Type::Ref { dtype, shape, space } => write!(f, "{space} {dtype}{}", Sizes(shape)),
        }
    }
}

/// Prints sizes as `[8, 128]`.
pub struct Sizes<'a>(pub &'a [usize]);

impl fmt::Display for Sizes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (idx, size) in self.0.iter().enumerate() {
            if idx > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{size}")?;
        }
        f.write_str("]")
    }
}
