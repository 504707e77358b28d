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
    /// Memory that the subcores of a SparseCore share: reached by DMA alone.
    Spmem,
}

impl MemorySpace {
    /// Every space.
    pub const ALL: &[MemorySpace] = &[
        MemorySpace::Vmem,
        MemorySpace::Smem,
        MemorySpace::Hbm,
        MemorySpace::Any,
        MemorySpace::Spmem,
    ];

    /// The name in the text form.
    pub fn name(self) -> &'static str {
        match self {
            MemorySpace::Vmem => "vmem",
            MemorySpace::Smem => "smem",
            MemorySpace::Hbm => "hbm",
            MemorySpace::Any => "any",
            MemorySpace::Spmem => "spmem",
        }
    }
}

impl fmt::Display for MemorySpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a semaphore counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SemaphoreKind {
    /// Whatever `sem_signal` and `sem_wait` mean by it.
    Regular,
    /// Bytes that copies have moved.
    Dma,
    /// The one semaphore of a kernel that the same kernel on other devices may signal before this
    /// one has started.
    Barrier,
}

impl SemaphoreKind {
    /// Every kind.
    pub const ALL: &[SemaphoreKind] =
        &[SemaphoreKind::Regular, SemaphoreKind::Dma, SemaphoreKind::Barrier];

    /// The name in the text form.
    pub fn name(self) -> &'static str {
        match self {
            SemaphoreKind::Regular => "regular",
            SemaphoreKind::Dma => "dma",
            SemaphoreKind::Barrier => "barrier",
        }
    }
}

impl fmt::Display for SemaphoreKind {
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
    /// An array of semaphores, which copies and the ops of [`super::ops::sync`] reach.
    Semaphore {
        /// What they count.
        kind: SemaphoreKind,
        /// Sizes; none for a single semaphore.
        shape: Shape,
    },
}

impl Type {
    /// A tile type.
    pub fn tile(dtype: DType, shape: &[usize]) -> Type {
        Type::Tile { dtype, shape: Shape::from_slice(shape) }
    }

    /// The element type: of a semaphore that of its count.
    pub fn dtype(&self) -> DType {
        match self {
            Type::Scalar(dtype) | Type::Tile { dtype, .. } | Type::Ref { dtype, .. } => *dtype,
            Type::Semaphore { .. } => DType::I32,
        }
    }

    /// The sizes: empty for a scalar.
    pub fn shape(&self) -> &[usize] {
        match self {
            Type::Scalar(_) => &[],
            Type::Tile { shape, .. } | Type::Ref { shape, .. } | Type::Semaphore { shape, .. } => {
                shape
            }
        }
    }

    /// Where the memory of a reference lives; VMEM for what is none.
    pub fn space(&self) -> MemorySpace {
        match self {
            Type::Ref { space, .. } => *space,
            Type::Scalar(_) | Type::Tile { .. } | Type::Semaphore { .. } => MemorySpace::Vmem,
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

    /// Whether it names memory or semaphores rather than being a value.
    pub fn is_ref(&self) -> bool {
        matches!(self, Type::Ref { .. } | Type::Semaphore { .. })
    }

    /// The same kind and shape with another element type; a semaphore as it is.
    pub fn with_dtype(&self, dtype: DType) -> Type {
        match self {
            Type::Scalar(_) => Type::Scalar(dtype),
            Type::Tile { shape, .. } => Type::Tile { dtype, shape: shape.clone() },
            Type::Ref { shape, space, .. } => {
                Type::Ref { dtype, shape: shape.clone(), space: *space }
            }
            Type::Semaphore { .. } => self.clone(),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Scalar(dtype) => write!(f, "{dtype}"),
            Type::Tile { dtype, shape } => write!(f, "{dtype}{}", Sizes(shape)),
            Type::Ref { dtype, shape, space } => write!(f, "{space} {dtype}{}", Sizes(shape)),
            Type::Semaphore { kind, shape } => write!(f, "semaphores {kind}{}", Sizes(shape)),
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
