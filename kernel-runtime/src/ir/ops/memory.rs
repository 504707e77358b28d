//! Loads and stores.

use super::{InferError, Results};
use crate::ir::dtype::DType;
use crate::ir::ty::{MemorySpace, Shape, Sizes, Type};
use smallvec::{SmallVec, smallvec};

/// Where an access starts along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Start {
    /// At this element.
    Static(usize),
    /// At the value of the next dynamic operand (an `i32` scalar), which the user promises to be
    /// a multiple of `multiple_of`.
    Dynamic {
        /// A known divisor, from 1 to [`MAX_MULTIPLE`].
        multiple_of: usize,
    },
}

/// The largest number that a scalar can be promised to be a multiple of: it is an `i32`.
pub const MAX_MULTIPLE: usize = i32::MAX as usize;

/// Checks the promise that an `i32` scalar is a multiple of a number.
pub(super) fn check_promise(name: &str, multiple_of: usize) -> Result<(), InferError> {
    if (1..=MAX_MULTIPLE).contains(&multiple_of) {
        return Ok(());
    }
    Err(InferError::index(format!(
        "`{name}` is promised a multiple of {multiple_of}, and of `i32` that is 0 alone"
    ))
    .help(format!("promise a divisor from 1 to {MAX_MULTIPLE}")))
}

/// What an access touches along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AccessDim {
    /// First element.
    pub start: Start,
    /// Number of elements.
    pub size: usize,
    /// Distance of elements, at least 1.
    pub stride: usize,
    /// Whether the tile keeps the axis; a single index drops it.
    pub keep: bool,
}

impl AccessDim {
    /// The whole axis.
    pub fn full(size: usize) -> AccessDim {
        AccessDim { start: Start::Static(0), size, stride: 1, keep: true }
    }
}

/// A rectangular part of a reference: one entry per axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// Per axis of the reference.
    pub dims: SmallVec<[AccessDim; 4]>,
}

impl Access {
    /// The shape of the tile: kept axes only.
    pub fn tile_shape(&self) -> Shape {
        self.dims.iter().filter(|dim| dim.keep).map(|dim| dim.size).collect()
    }

    /// The number of dynamic starts, each an operand.
    pub fn n_dynamic(&self) -> usize {
        self.dims.iter().filter(|dim| matches!(dim.start, Start::Dynamic { .. })).count()
    }

    /// Whether it covers a reference of this shape whole.
    pub fn is_full(&self, shape: &[usize]) -> bool {
        self.dims.len() == shape.len()
            && self.dims.iter().zip(shape).all(|(dim, &size)| *dim == AccessDim::full(size))
    }

    /// Whether it is one element, every axis of which is dropped.
    pub fn is_element(&self) -> bool {
        self.dims.iter().all(|dim| !dim.keep)
    }

    /// Checks that it fits a reference, and the operands for its dynamic starts.
    pub(super) fn check(
        &self,
        name: &str,
        ref_ty: &Type,
        starts: &[&Type],
    ) -> Result<(), InferError> {
        let shape = ref_ty.shape();
        if self.dims.len() != shape.len() {
            return Err(InferError::index(format!(
                "index has {} entries but the reference has rank {} {}",
                self.dims.len(),
                shape.len(),
                Sizes(shape)
            )));
        }
        if starts.len() != self.n_dynamic() {
            return Err(InferError::index(format!(
                "`{name}` has {} dynamic starts but {} operands for them",
                self.n_dynamic(),
                starts.len()
            )));
        }
        if let Some(bad) = starts.iter().find(|ty| ***ty != Type::Scalar(DType::I32)) {
            return Err(InferError::index(format!("an index is an `i32` scalar, not `{bad}`")));
        }
        for (axis, (dim, &size)) in self.dims.iter().zip(shape).enumerate() {
            let start = match dim.start {
                Start::Static(start) => start,
                Start::Dynamic { multiple_of } => {
                    check_promise(name, multiple_of)?;
                    0
                }
            };
            let last = dim
                .size
                .checked_sub(1)
                .and_then(|n| n.checked_mul(dim.stride))
                .and_then(|n| n.checked_add(start));
            if dim.stride == 0 || last.is_none_or(|last| last >= size) {
                return Err(InferError::index(format!(
                    "axis {axis}: {} elements from {start} in steps of {} do not fit a reference of shape {}",
                    dim.size,
                    dim.stride,
                    Sizes(shape)
                )));
            }
            if !dim.keep && dim.size != 1 {
                return Err(InferError::index(format!(
                    "axis {axis} is dropped but has {} elements",
                    dim.size
                )));
            }
        }
        Ok(())
    }
}

/// An op on memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MemoryOp {
    /// Operands: the reference, then one `i32` scalar per dynamic start, then the mask if
    /// `masked`: a `bool` tile of the loaded shape; where it is false the element is undefined.
    /// From SMEM it gives a scalar, if every axis is dropped.
    Load {
        /// What part.
        access: Access,
        /// Whether a mask is given.
        masked: bool,
    },
    /// Operands: the reference, the value, then one `i32` scalar per dynamic start, then the mask
    /// if `masked`; where it is false memory stays as it is.
    Store {
        /// What part.
        access: Access,
        /// Whether a mask is given.
        masked: bool,
    },
}

impl MemoryOp {
    /// The name in the text form.
    pub fn mnemonic(&self) -> &'static str {
        match self {
            MemoryOp::Load { .. } => "load",
            MemoryOp::Store { .. } => "store",
        }
    }

    /// The part of memory touched.
    pub fn access(&self) -> &Access {
        match self {
            MemoryOp::Load { access, .. } | MemoryOp::Store { access, .. } => access,
        }
    }

    /// Whether a mask is given.
    pub fn masked(&self) -> bool {
        match self {
            MemoryOp::Load { masked, .. } | MemoryOp::Store { masked, .. } => *masked,
        }
    }

    /// The type rule; see [`super::Op::infer`].
    pub(crate) fn infer(&self, operands: &[&Type]) -> Result<Results, InferError> {
        let name = self.mnemonic();
        let n_before_starts = match self {
            MemoryOp::Load { .. } => 1,
            MemoryOp::Store { .. } => 2,
        };
        let access = self.access();
        let expected = n_before_starts + access.n_dynamic() + usize::from(self.masked());
        super::expect_operands(name, operands, expected)?;
        let Type::Ref { dtype, space, .. } = operands[0] else {
            return Err(InferError::ty(format!(
                "`{name}` takes a reference, not `{}`",
                operands[0]
            )));
        };
        if matches!(space, MemorySpace::Hbm | MemorySpace::Any | MemorySpace::Spmem) {
            return Err(InferError::ty(format!("`{name}` cannot reach `{space}` memory"))
                .help("copy a part into VMEM first, or give the parameter a block"));
        }
        access.check(
            name,
            operands[0],
            &operands[n_before_starts..n_before_starts + access.n_dynamic()],
        )?;
        let element = self.element_type(*dtype, *space)?;
        if self.masked() {
            let mask = operands[expected - 1];
            if *mask != element.with_dtype(DType::Bool) || !mask.is_tile() {
                return Err(InferError::shape(format!(
                    "the mask of `{name}` is `{mask}`, the elements are `{element}`"
                )));
            }
        }
        match self {
            MemoryOp::Load { .. } => Ok(smallvec![element]),
            MemoryOp::Store { .. } => {
                let value = operands[1];
                if *value != element {
                    let error = if value.dtype() == element.dtype() {
                        InferError::shape(format!(
                            "cannot store `{value}` into a place of type `{element}`"
                        ))
                    } else {
                        InferError::ty(format!(
                            "cannot store `{value}` into a place of type `{element}`"
                        ))
                        .help("element types never convert silently: use `.cast()`")
                    };
                    return Err(error);
                }
                Ok(smallvec![])
            }
        }
    }

    fn element_type(&self, dtype: DType, space: MemorySpace) -> Result<Type, InferError> {
        let shape = self.access().tile_shape();
        match (space, shape.is_empty()) {
            (MemorySpace::Smem, true) if dtype.only_stores() => {
                Err(InferError::ty(format!("a scalar cannot be `{dtype}`"))
                    .help("keep it in VMEM, or as f32 or i32"))
            }
            (MemorySpace::Smem, true) => Ok(Type::Scalar(dtype)),
            (MemorySpace::Smem, false) => {
                Err(InferError::index("SMEM holds scalars: give one index per axis")
                    .help("write `table[i]`; tiles live in VMEM"))
            }
            (_, true) => Err(InferError::index("a single element of VMEM cannot be taken")
                .help("take a tile of one row, or keep scalars in SMEM")),
            (_, false) => Ok(Type::Tile { dtype, shape }),
        }
    }
}
