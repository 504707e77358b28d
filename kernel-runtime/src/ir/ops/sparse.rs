//! Ops of a SparseCore that no TensorCore has.
//!
//! A kernel of [`crate::ir::Core::Sparse`] runs on every subcore of the grid at once; each has its
//! own memory (`vmem`, called TileSpmem) and shares that of its core (`spmem`).

use super::indirect::{Indirect, IndirectRef, IndirectStart};
use super::memory::Access;
use super::{InferError, Results, expect_operands};
use crate::ir::dtype::DType;
use crate::ir::ty::{MemorySpace, Shape, Sizes, Type};
use smallvec::smallvec;

/// How a scan combines elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScanKind {
    /// Sum.
    Sum,
    /// Largest.
    Max,
    /// Smallest.
    Min,
}

impl ScanKind {
    /// Every kind.
    pub const ALL: &[ScanKind] = &[ScanKind::Sum, ScanKind::Max, ScanKind::Min];

    /// The name in the text form.
    pub fn name(self) -> &'static str {
        match self {
            ScanKind::Sum => "scan_sum",
            ScanKind::Max => "scan_max",
            ScanKind::Min => "scan_min",
        }
    }
}

/// An op of a SparseCore. Where an op takes a mask, it is the last operand: a `bool` tile of the
/// shape of the elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SparseOp {
    /// Starts an indirect copy. Operands: the table, the rows, the memory of the ids if they are
    /// no tile, the semaphores; then `i32` scalars: the dynamic starts of these and the index of
    /// the semaphore; then the tile of ids, and the id that is skipped.
    Start(Box<IndirectStart>),
    /// Waits until a semaphore has counted the bytes of an indirect copy like this one. Operands:
    /// as those of `Start`, without ids.
    Wait(Box<Indirect>),
    /// Waits until every subcore of the core has come to a barrier. No operands. What subcores have
    /// done before it is done, apart from copies that are not waited for.
    Barrier,
    /// Operands: a reference in TileSpmem, then per axis an `i32` tile of one axis, all of one
    /// size, then the mask. Element `n` is the one whose index is element `n` of each tile.
    /// Where the mask is false it is undefined.
    LoadIdx {
        /// Whether a mask is given.
        masked: bool,
    },
    /// Operands: the reference, the tile to store, then as `LoadIdx`. Where the mask is false
    /// nothing is stored. Indices differ from each other, unless the elements are added.
    StoreIdx {
        /// Whether the elements are added to what is there, each of them.
        add: bool,
        /// Whether a mask is given.
        masked: bool,
    },
    /// Operands: a reference in TileSpmem, its dynamic starts, the mask. As many elements as the
    /// mask has true ones, one after the other, each where the next true one is; the others are
    /// undefined.
    LoadExpanded {
        /// Where the first one is, and the most that there can be.
        access: Access,
    },
    /// Operands: a reference in TileSpmem, the tile to store, its dynamic starts, the mask. Stores
    /// the elements where the mask is true, one after the other.
    StoreCompressed {
        /// Where the first one goes, and the most that there can be.
        access: Access,
    },
    /// Operands: a tile of one axis, the mask. Element `n` combines the elements up to `n`
    /// where the mask is true; before the first one a sum is 0, and the others are the element.
    Scan {
        /// How.
        kind: ScanKind,
        /// Whether a mask is given.
        masked: bool,
    },
    /// Operands: a tile of keys, a tile of values, the mask. Both sorted by the keys, those of equal
    /// keys in their order. With a mask those where it is false go last, where they are undefined,
    /// and a third result says where the others are. NaN has no place among keys.
    Sort {
        /// Whether the largest goes first.
        descending: bool,
        /// Whether a mask is given.
        masked: bool,
    },
    /// Operands: a tile of one axis, the mask. First the how-manieth of its value each element is,
    /// beginning with 1; then whether it is the last one. Where the mask is false an element
    /// counts for nothing: its number is undefined, and it is not the last one.
    ScanCount {
        /// Whether a mask is given.
        masked: bool,
    },
    /// Operand: a mask. How many elements are true, an `i32` in every place.
    MaskCount,
    /// Operand: a mask. The place of the first true element, or the number of elements if there is
    /// none, an `i32` in every place.
    MaskFirst,
}

impl SparseOp {
    /// The name in the text form.
    pub fn mnemonic(&self) -> &'static str {
        match self {
            SparseOp::Start(start) => IndirectRef::Start(start).mnemonic(),
            SparseOp::Wait(copy) => IndirectRef::Wait(copy).mnemonic(),
            SparseOp::Barrier => "barrier",
            SparseOp::LoadIdx { .. } => "load_idx",
            SparseOp::StoreIdx { .. } => "store_idx",
            SparseOp::LoadExpanded { .. } => "load_expanded",
            SparseOp::StoreCompressed { .. } => "store_compressed",
            SparseOp::Scan { kind, .. } => kind.name(),
            SparseOp::Sort { .. } => "sort",
            SparseOp::ScanCount { .. } => "scan_count",
            SparseOp::MaskCount => "mask_count",
            SparseOp::MaskFirst => "mask_first",
        }
    }

    /// The indirect copy that it starts or waits for.
    pub fn indirect(&self) -> Option<IndirectRef<'_>> {
        match self {
            SparseOp::Start(start) => Some(IndirectRef::Start(start)),
            SparseOp::Wait(copy) => Some(IndirectRef::Wait(copy)),
            SparseOp::Barrier
            | SparseOp::LoadIdx { .. }
            | SparseOp::StoreIdx { .. }
            | SparseOp::LoadExpanded { .. }
            | SparseOp::StoreCompressed { .. }
            | SparseOp::Scan { .. }
            | SparseOp::Sort { .. }
            | SparseOp::ScanCount { .. }
            | SparseOp::MaskCount
            | SparseOp::MaskFirst => None,
        }
    }

    /// The part of memory that follows the reference in the text form.
    pub fn access(&self) -> Option<&Access> {
        match self {
            SparseOp::LoadExpanded { access } | SparseOp::StoreCompressed { access } => {
                Some(access)
            }
            SparseOp::Start(_)
            | SparseOp::Wait(_)
            | SparseOp::Barrier
            | SparseOp::LoadIdx { .. }
            | SparseOp::StoreIdx { .. }
            | SparseOp::Scan { .. }
            | SparseOp::Sort { .. }
            | SparseOp::ScanCount { .. }
            | SparseOp::MaskCount
            | SparseOp::MaskFirst => None,
        }
    }

    /// Whether the last operand is a mask.
    pub fn masked(&self) -> bool {
        match self {
            SparseOp::LoadIdx { masked }
            | SparseOp::StoreIdx { masked, .. }
            | SparseOp::Scan { masked, .. }
            | SparseOp::Sort { masked, .. }
            | SparseOp::ScanCount { masked } => *masked,
            SparseOp::LoadExpanded { .. } | SparseOp::StoreCompressed { .. } => true,
            SparseOp::Start(_)
            | SparseOp::Wait(_)
            | SparseOp::Barrier
            | SparseOp::MaskCount
            | SparseOp::MaskFirst => false,
        }
    }

    /// Whether the op does more than make its results.
    pub fn has_effect(&self) -> bool {
        match self {
            SparseOp::Start(_)
            | SparseOp::Wait(_)
            | SparseOp::Barrier
            | SparseOp::StoreIdx { .. }
            | SparseOp::StoreCompressed { .. } => true,
            SparseOp::LoadIdx { .. }
            | SparseOp::LoadExpanded { .. }
            | SparseOp::Scan { .. }
            | SparseOp::Sort { .. }
            | SparseOp::ScanCount { .. }
            | SparseOp::MaskCount
            | SparseOp::MaskFirst => false,
        }
    }

    /// Whether it is a function of its operands alone.
    pub fn is_pure(&self) -> bool {
        match self {
            SparseOp::Scan { .. }
            | SparseOp::Sort { .. }
            | SparseOp::ScanCount { .. }
            | SparseOp::MaskCount
            | SparseOp::MaskFirst => true,
            SparseOp::Start(_)
            | SparseOp::Wait(_)
            | SparseOp::Barrier
            | SparseOp::LoadIdx { .. }
            | SparseOp::StoreIdx { .. }
            | SparseOp::LoadExpanded { .. }
            | SparseOp::StoreCompressed { .. } => false,
        }
    }

    /// The type rule; see [`super::Op::infer`].
    pub(crate) fn infer(&self, operands: &[&Type]) -> Result<Results, InferError> {
        let name = self.mnemonic();
        if let Some(indirect) = self.indirect() {
            return indirect.infer(operands);
        }
        let n_mask = usize::from(self.masked());
        match self {
            SparseOp::Start(_) | SparseOp::Wait(_) => Ok(Results::new()),
            SparseOp::Barrier => {
                expect_operands(name, operands, 0)?;
                Ok(Results::new())
            }
            SparseOp::LoadIdx { .. } => {
                let (dtype, shape) = self.indexed(operands, 1)?;
                Ok(smallvec![Type::Tile { dtype, shape }])
            }
            SparseOp::StoreIdx { add, .. } => {
                let (dtype, shape) = self.indexed(operands, 2)?;
                self.check_stored(operands[1], &Type::Tile { dtype, shape })?;
                if *add && dtype == DType::Bool {
                    return Err(InferError::ty("`bool` cannot be added"));
                }
                Ok(Results::new())
            }
            SparseOp::LoadExpanded { access } => {
                let ty = self.packed(operands, access, 1)?;
                Ok(smallvec![ty])
            }
            SparseOp::StoreCompressed { access } => {
                let ty = self.packed(operands, access, 2)?;
                self.check_stored(operands[1], &ty)?;
                Ok(Results::new())
            }
            SparseOp::Scan { .. } => {
                expect_operands(name, operands, 1 + n_mask)?;
                self.register(operands[0])?;
                self.check_mask(operands, operands[0].shape())?;
                Ok(smallvec![operands[0].clone()])
            }
            SparseOp::Sort { .. } => {
                expect_operands(name, operands, 2 + n_mask)?;
                self.register(operands[0])?;
                self.register(operands[1])?;
                if operands[0].shape() != operands[1].shape() {
                    return Err(InferError::shape(format!(
                        "`sort` takes one value per key, but there are `{}` and `{}`",
                        operands[0], operands[1]
                    )));
                }
                self.check_mask(operands, operands[0].shape())?;
                let mut results: Results = smallvec![operands[0].clone(), operands[1].clone()];
                if self.masked() {
                    results.push(operands[0].with_dtype(DType::Bool));
                }
                Ok(results)
            }
            SparseOp::ScanCount { .. } => {
                expect_operands(name, operands, 1 + n_mask)?;
                self.register(operands[0])?;
                self.check_mask(operands, operands[0].shape())?;
                let of = |dtype| operands[0].with_dtype(dtype);
                Ok(smallvec![of(DType::I32), of(DType::Bool)])
            }
            SparseOp::MaskCount | SparseOp::MaskFirst => {
                expect_operands(name, operands, 1)?;
                match operands[0] {
                    Type::Tile { dtype: DType::Bool, shape } if shape.len() == 1 => {
                        Ok(smallvec![operands[0].with_dtype(DType::I32)])
                    }
                    other => Err(InferError::ty(format!(
                        "`{name}` takes a `bool` tile of one axis, not `{other}`"
                    ))),
                }
            }
        }
    }

    /// A tile of one axis of 32-bit elements.
    fn register(&self, ty: &Type) -> Result<(), InferError> {
        let name = self.mnemonic();
        match ty {
            Type::Tile { dtype, shape } if shape.len() == 1 => match dtype {
                DType::I32 | DType::U32 | DType::F32 => Ok(()),
                _ => Err(InferError::ty(format!("`{name}` is not defined on `{dtype}`"))
                    .help("convert first with `.cast::<T>()` to i32, u32 or f32")),
            },
            other => {
                Err(InferError::ty(format!("`{name}` takes a tile of one axis, not `{other}`")))
            }
        }
    }

    fn own_memory(&self, ty: &Type) -> Result<DType, InferError> {
        match ty {
            Type::Ref { dtype, space: MemorySpace::Vmem, .. } => Ok(*dtype),
            other => Err(InferError::ty(format!(
                "`{}` reaches the subcore's own memory alone, not `{other}`",
                self.mnemonic()
            ))
            .help("copy a part into `Buffers` or `Vmem` first")),
        }
    }

    fn check_mask(&self, operands: &[&Type], shape: &[usize]) -> Result<(), InferError> {
        if !self.masked() {
            return Ok(());
        }
        match operands.last() {
            Some(Type::Tile { dtype: DType::Bool, shape: mask }) if mask[..] == *shape => Ok(()),
            Some(mask) => Err(InferError::shape(format!(
                "the mask of `{}` is `{mask}`, the elements are {}",
                self.mnemonic(),
                Sizes(shape)
            ))),
            None => Ok(()),
        }
    }

    fn check_stored(&self, value: &Type, place: &Type) -> Result<(), InferError> {
        if value == place {
            return Ok(());
        }
        Err(InferError::ty(format!(
            "`{}` cannot store `{value}` into places of type `{place}`",
            self.mnemonic()
        )))
    }

    /// Element type and shape of what indices choose.
    fn indexed(&self, operands: &[&Type], first: usize) -> Result<(DType, Shape), InferError> {
        let name = self.mnemonic();
        let Some(reference) = operands.first() else {
            return Err(InferError::ty(format!("`{name}` takes a reference")));
        };
        let dtype = self.own_memory(reference)?;
        let n_axes = reference.shape().len();
        let n_mask = usize::from(self.masked());
        if operands.len() != first + n_axes + n_mask || n_axes == 0 {
            return Err(InferError::index(format!(
                "`{name}` takes one index per axis of {}, but there are {}",
                Sizes(reference.shape()),
                operands.len().saturating_sub(first + n_mask)
            )));
        }
        let indices = &operands[first..first + n_axes];
        let size = indices[0].shape().first().copied().unwrap_or(0);
        let wanted = Type::tile(DType::I32, &[size]);
        if let Some(bad) = indices.iter().find(|ty| ***ty != wanted) {
            return Err(InferError::ty(format!(
                "the indices of `{name}` are `i32` tiles of one axis and size, not `{bad}`"
            )));
        }
        let shape = Shape::from_slice(&[size]);
        self.check_mask(operands, &shape)?;
        Ok((dtype, shape))
    }

    /// The type of what an expanded load gives or a compressed store takes.
    fn packed(
        &self,
        operands: &[&Type],
        access: &Access,
        first: usize,
    ) -> Result<Type, InferError> {
        let name = self.mnemonic();
        expect_operands(name, operands, first + access.n_dynamic() + 1)?;
        let dtype = self.own_memory(operands[0])?;
        access.check(name, operands[0], &operands[first..first + access.n_dynamic()])?;
        let shape = access.tile_shape();
        if shape.len() != 1 {
            return Err(InferError::index(format!(
                "`{name}` takes elements of one axis, but the index names {}",
                Sizes(&shape)
            )));
        }
        self.check_mask(operands, &shape)?;
        Ok(Type::Tile { dtype, shape })
    }
}
