//! The kernel and its arenas.

use super::dtype::DType;
use super::loc::{Loc, LocId};
use super::ops::{ControlOp, Direction, DmaOp, Elementwise, Literal, MemoryOp, Op, SparseOp};
use super::ty::{MemorySpace, SemaphoreKind, Shape, Type};
use smallvec::SmallVec;
use std::sync::Arc;

/// Index of a value in its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);

/// Index of an op in its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpId(pub u32);

/// Index of a block in its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueDef {
    /// Result number `.1` of an op.
    Result(OpId, u32),
    /// Argument number `.1` of a block.
    Arg(BlockId, u32),
}

/// A value's type and origin.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueData {
    /// Its type.
    pub ty: Type,
    /// Its origin.
    pub def: ValueDef,
}

/// An op in the arena. Regions are single blocks that end in `yield`.
#[derive(Clone, Debug, PartialEq)]
pub struct OpData {
    /// What it does, with its attributes.
    pub op: Op,
    /// Its operands, in the order its definition says.
    pub operands: SmallVec<[Value; 4]>,
    /// Its results.
    pub results: SmallVec<[Value; 2]>,
    /// Its regions.
    pub regions: SmallVec<[BlockId; 2]>,
    /// Where the user wrote it.
    pub loc: LocId,
}

impl OpData {
    /// The reference that the op writes to, if there is one.
    pub fn written(&self) -> Option<Value> {
        match &self.op {
            Op::Memory(MemoryOp::Store { .. }) => self.operands.first().copied(),
            Op::Dma(DmaOp::Start(_)) => self.operands.get(1).copied(),
            Op::Sparse(SparseOp::Start(start)) => match start.copy.direction {
                Direction::Gather => self.operands.get(1).copied(),
                Direction::Scatter => self.operands.first().copied(),
            },
            Op::Sparse(SparseOp::StoreIdx { .. } | SparseOp::StoreCompressed { .. }) => {
                self.operands.first().copied()
            }
            Op::Memory(MemoryOp::Load { .. })
            | Op::Dma(DmaOp::Wait(_))
            | Op::Elementwise(_)
            | Op::Shape(_)
            | Op::Convert(_)
            | Op::Random(_)
            | Op::Mxu(_)
            | Op::Reduce(_)
            | Op::Dot(_)
            | Op::Sync(_)
            | Op::Sparse(
                SparseOp::Wait(_)
                | SparseOp::Barrier
                | SparseOp::LoadIdx { .. }
                | SparseOp::LoadExpanded { .. }
                | SparseOp::Scan { .. }
                | SparseOp::Sort { .. }
                | SparseOp::ScanCount { .. }
                | SparseOp::MaskCount
                | SparseOp::MaskFirst,
            )
            | Op::Control(_)
            | Op::Debug(_) => None,
        }
    }
}

/// A block: arguments, then ops in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockData {
    /// Arguments.
    pub args: Vec<Value>,
    /// Ops in program order; the last is `yield`, except in the kernel's body.
    pub ops: Vec<OpId>,
}

/// What runs a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Core {
    /// A TensorCore.
    #[default]
    Tensor,
    /// The vector subcores of SparseCores: the grid is their cores, then the subcores of a core.
    Sparse,
    /// The scalar subcore of each SparseCore: the grid is their cores.
    SparseScalar,
}

impl Core {
    /// Every kind.
    pub const ALL: &[Core] = &[Core::Tensor, Core::Sparse, Core::SparseScalar];

    /// The name in the text form and the macro.
    pub fn name(self) -> &'static str {
        match self {
            Core::Tensor => "tensor",
            Core::Sparse => "sparse",
            Core::SparseScalar => "sparse_scalar",
        }
    }

    /// Whether it is a part of a SparseCore.
    pub fn is_sparse(self) -> bool {
        self != Core::Tensor
    }
}

/// How the steps along a grid axis depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Semantics {
    /// Steps are independent: any order, any core.
    Parallel,
    /// Steps run in order and may carry state in scratch and output blocks.
    Arbitrary,
    /// Each step runs on a core of its own, all at the same time: the index is the core's number.
    CoreParallel,
    /// Each step is a subcore of a SparseCore, and all run at the same time.
    SubcoreParallel,
}

impl Semantics {
    /// Every kind.
    pub const ALL: &[Semantics] = &[
        Semantics::Parallel,
        Semantics::Arbitrary,
        Semantics::CoreParallel,
        Semantics::SubcoreParallel,
    ];

    /// Whether steps that differ in the axis have no order.
    pub fn is_parallel(self) -> bool {
        match self {
            Semantics::Parallel | Semantics::CoreParallel | Semantics::SubcoreParallel => true,
            Semantics::Arbitrary => false,
        }
    }

    /// The name in the text form and Mosaic.
    pub fn name(self) -> &'static str {
        match self {
            Semantics::Parallel => "parallel",
            Semantics::Arbitrary => "arbitrary",
            Semantics::CoreParallel => "core_parallel",
            Semantics::SubcoreParallel => "subcore_parallel",
        }
    }
}

/// The number of steps along a grid axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Known when the kernel is built.
    Static(usize),
    /// Given at run time as the leading scalar operand number `operand` of the call.
    Dynamic {
        /// Which of the leading scalar operands.
        operand: usize,
    },
}

/// One axis of the grid.
#[derive(Clone, Debug, PartialEq)]
pub struct GridAxis {
    /// Its name in the kernel's source.
    pub name: String,
    /// Its number of steps.
    pub extent: Extent,
    /// How its steps depend on each other.
    pub semantics: Semantics,
}

/// One axis of the mesh of devices that run the kernel together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshAxis {
    /// Its name in the kernel's source.
    pub name: String,
    /// The number of devices along it.
    pub size: usize,
}

/// What a kernel does with a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParamKind {
    /// A small table read into SMEM before the first step; index maps may read it.
    Prefetch,
    /// Read only.
    In,
    /// Written; its old contents are undefined.
    Out,
    /// Read and updated in place.
    InOut,
}

impl ParamKind {
    /// The name in the text form.
    pub fn name(self) -> &'static str {
        match self {
            ParamKind::Prefetch => "prefetch",
            ParamKind::In => "in",
            ParamKind::Out => "out",
            ParamKind::InOut => "inout",
        }
    }

    /// Whether the call takes an array for it.
    pub fn is_input(self) -> bool {
        self != ParamKind::Out
    }

    /// Whether the call gives an array back for it.
    pub fn is_output(self) -> bool {
        matches!(self, ParamKind::Out | ParamKind::InOut)
    }
}

/// One axis of a parameter's array.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamAxis {
    /// The dimension's name in the kernel's source; dimensions of one name have one size.
    pub name: String,
    /// Its size in elements.
    pub size: usize,
}

/// How a window covers one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockDim {
    /// Blocks of this size; the index map gives the block number.
    Blocked(usize),
    /// Blocks of size 1 whose axis the kernel's reference does not have.
    Squeezed,
    /// A window of this size; the index map gives the offset in elements.
    Element(usize),
}

impl BlockDim {
    /// The window's size along the axis.
    pub fn size(self) -> usize {
        match self {
            BlockDim::Blocked(size) | BlockDim::Element(size) => size,
            BlockDim::Squeezed => 1,
        }
    }
}

/// How many copies of a window's block the pipeline keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Buffering {
    /// One: the copy is not overlapped with compute.
    Single,
    /// Two, the default.
    Double,
    /// This many.
    Multiple(usize),
}

impl Buffering {
    /// The number of buffers.
    pub fn n_buffers(self) -> usize {
        match self {
            Buffering::Single => 1,
            Buffering::Double => 2,
            Buffering::Multiple(n) => n,
        }
    }
}

/// Which block of a parameter's array a grid step sees.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// One entry per axis of the array.
    pub block: Vec<BlockDim>,
    /// A block whose arguments are the grid indices (`i32`) and then the references of the
    /// prefetch parameters; it yields one `i32` per axis of the array (0 for a whole axis).
    pub index_map: BlockId,
    /// Number of buffers.
    pub buffering: Buffering,
    /// Whether the block is fetched by several copies at once.
    pub streams: Option<Streams>,
}

/// A block fetched as `n` equal parts along an axis, each by its own DMA at the same time.
///
/// It changes no result, only how long the first step waits for its data: several copies in
/// flight finish before one of their total size. Input blocks only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Streams {
    /// Axis of the array; its block size is a multiple of `n`.
    pub axis: usize,
    /// Number of parts, at least 1.
    pub n: usize,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name in the kernel's source.
    pub name: String,
    /// What the kernel does with it.
    pub kind: ParamKind,
    /// Element type.
    pub dtype: DType,
    /// The array's axes.
    pub axes: Vec<ParamAxis>,
    /// Where the kernel's reference lives.
    pub space: MemorySpace,
    /// The block a step sees; `None` means the whole array where it lies (HBM, SMEM).
    pub window: Option<Window>,
    /// Where the compiler must keep the array itself around the call: `Hbm` or `Vmem`; `None`
    /// leaves it the choice. It changes no result.
    pub pinned: Option<MemorySpace>,
    /// Where the user wrote it.
    pub loc: LocId,
}

impl Param {
    /// The array's shape.
    pub fn array_shape(&self) -> Shape {
        self.axes.iter().map(|axis| axis.size).collect()
    }

    /// The block's shape with squeezed axes as 1: what a window's buffer holds.
    pub fn window_shape(&self) -> Shape {
        match &self.window {
            Some(window) => window.block.iter().map(|dim| dim.size()).collect(),
            None => self.array_shape(),
        }
    }

    /// The type of the kernel's reference: squeezed axes left out.
    pub fn ref_type(&self) -> Type {
        let shape = match &self.window {
            Some(window) => window
                .block
                .iter()
                .filter(|dim| !matches!(dim, BlockDim::Squeezed))
                .map(|dim| dim.size())
                .collect(),
            None => self.array_shape(),
        };
        Type::Ref { dtype: self.dtype, shape, space: self.space }
    }
}

/// Memory that lives as long as the kernel runs on a core.
#[derive(Clone, Debug, PartialEq)]
pub struct Scratch {
    /// Its name in the kernel's source.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// Sizes.
    pub shape: Shape,
    /// Where it lives.
    pub space: MemorySpace,
    /// Where the user wrote it.
    pub loc: LocId,
}

/// What a call does beside giving its outputs, which decides whether a compiler may drop it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SideEffects {
    /// Nothing: the call may be dropped if nobody needs its outputs, and merged with an equal one.
    #[default]
    None,
    /// It must not be merged or moved over another, but may be dropped with its outputs.
    Dataflow,
    /// It must stay, even if nobody needs its outputs.
    Always,
}

impl SideEffects {
    /// The name in the text form and the macro; the default has none.
    pub fn name(self) -> &'static str {
        match self {
            SideEffects::None => "none",
            SideEffects::Dataflow => "dataflow",
            SideEffects::Always => "always",
        }
    }

    /// Whether the call stays although nobody needs its outputs.
    pub fn keeps_call(self) -> bool {
        self == SideEffects::Always
    }
}

/// What the author says a call costs, in place of what is counted from the IR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StatedCost {
    /// Additions and multiplications.
    pub flops: Option<u64>,
    /// Elements that exponentials, logarithms, roots and the like are taken of.
    pub transcendentals: Option<u64>,
    /// Bytes read from and written to HBM.
    pub bytes_accessed: Option<u64>,
}

impl Scratch {
    /// The type of its reference.
    pub fn ref_type(&self) -> Type {
        Type::Ref { dtype: self.dtype, shape: self.shape.clone(), space: self.space }
    }
}

/// Semaphores that live as long as the kernel runs on a core.
#[derive(Clone, Debug, PartialEq)]
pub struct SemaphoreArray {
    /// Its name in the kernel's source.
    pub name: String,
    /// What they count.
    pub kind: SemaphoreKind,
    /// Sizes; none for a single semaphore.
    pub shape: Shape,
    /// Where the user wrote it.
    pub loc: LocId,
}

impl SemaphoreArray {
    /// The type of its reference.
    pub fn ref_type(&self) -> Type {
        Type::Semaphore { kind: self.kind, shape: self.shape.clone() }
    }
}

/// Parameters of the compilation that the kernel asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompileParams {
    /// The scoped VMEM limit in bytes; `None` is the compiler's default for the chip.
    pub vmem_limit_bytes: Option<u64>,
    /// Whether the call may be removed or merged.
    pub side_effects: SideEffects,
    /// Whether the chip does not check that copies stay in their arrays. The interpreter does.
    pub unchecked_bounds: bool,
    /// What the call costs, where the author knows better than the count.
    pub cost: StatedCost,
}

/// A kernel.
///
/// The body's block arguments are the grid indices (`i32`), then one reference per parameter in
/// order, then one per scratch, then one per array of semaphores.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Where it is declared; unknown if it was read from text.
    pub loc: LocId,
    /// What runs it.
    pub core: Core,
    /// The devices that run the kernel together, outermost axis first; empty if it knows of none
    /// but its own. Devices are numbered in row-major order.
    pub mesh: Vec<MeshAxis>,
    /// The grid, outermost axis first; empty means one step.
    pub grid: Vec<GridAxis>,
    /// Parameters: prefetch first, otherwise in source order.
    pub params: Vec<Param>,
    /// Scratch.
    pub scratch: Vec<Scratch>,
    /// Semaphores.
    pub semaphores: Vec<SemaphoreArray>,
    /// Compilation parameters.
    pub compile: CompileParams,
    /// The body.
    pub body: BlockId,
    pub(crate) ops: Vec<OpData>,
    pub(crate) values: Vec<ValueData>,
    pub(crate) blocks: Vec<BlockData>,
    pub(crate) locs: Vec<Loc>,
}

impl Kernel {
    /// A kernel with an empty body and no parameters.
    pub fn new(name: impl Into<String>) -> Kernel {
        let unknown = Loc { file: Arc::from(""), line: 0, column: 0, inlined_at: None };
        Kernel {
            name: name.into(),
            loc: LocId::UNKNOWN,
            core: Core::default(),
            mesh: Vec::new(),
            grid: Vec::new(),
            params: Vec::new(),
            scratch: Vec::new(),
            semaphores: Vec::new(),
            compile: CompileParams::default(),
            body: BlockId(0),
            ops: Vec::new(),
            values: Vec::new(),
            blocks: vec![BlockData::default()],
            locs: vec![unknown],
        }
    }

    /// The number of devices that run the kernel together, at least 1.
    pub fn n_devices(&self) -> usize {
        self.mesh.iter().fold(1, |n, axis| n.saturating_mul(axis.size))
    }

    /// The data of an op.
    pub fn op(&self, id: OpId) -> &OpData {
        &self.ops[id.0 as usize]
    }

    /// The data of a block.
    pub fn block(&self, id: BlockId) -> &BlockData {
        &self.blocks[id.0 as usize]
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> &Type {
        &self.values[value.0 as usize].ty
    }

    /// The origin of a value.
    pub fn def(&self, value: Value) -> ValueDef {
        self.values[value.0 as usize].def
    }

    /// The op that makes a value; `None` for a block argument.
    pub fn defining_op(&self, value: Value) -> Option<&OpData> {
        match self.def(value) {
            ValueDef::Result(op, _) => Some(self.op(op)),
            ValueDef::Arg(..) => None,
        }
    }

    /// The constant that a value is, if its op is one.
    pub fn constant(&self, value: Value) -> Option<Literal> {
        match self.defining_op(value)?.op {
            Op::Elementwise(Elementwise::Constant(literal)) => Some(literal),
            _ => None,
        }
    }

    /// The integer or `bool` constant that a value is, if its op is one.
    pub fn constant_int(&self, value: Value) -> Option<i64> {
        self.constant(value)?.as_int()
    }

    /// The number of values; indices are below it.
    pub fn n_values(&self) -> usize {
        self.values.len()
    }

    /// The number of ops in the arena, erased ones included.
    pub fn n_ops(&self) -> usize {
        self.ops.len()
    }

    /// The body argument of grid axis `axis`.
    pub fn grid_index(&self, axis: usize) -> Value {
        self.block(self.body).args[axis]
    }

    /// The body argument of parameter `param`.
    pub fn param_ref(&self, param: usize) -> Value {
        self.block(self.body).args[self.grid.len() + param]
    }

    /// The body argument of scratch `scratch`.
    pub fn scratch_ref(&self, scratch: usize) -> Value {
        self.block(self.body).args[self.grid.len() + self.params.len() + scratch]
    }

    /// The body argument of array of semaphores `array`.
    pub fn semaphore_ref(&self, array: usize) -> Value {
        let before = self.grid.len() + self.params.len() + self.scratch.len();
        self.block(self.body).args[before + array]
    }

    /// The references of every `scope` of the body, in program order, with its place.
    pub fn scoped(&self) -> Vec<(Value, LocId)> {
        let mut scoped = Vec::new();
        self.walk(self.body, &mut |_, op| {
            if let (Op::Control(ControlOp::Scope), &[region]) = (&op.op, &op.regions[..]) {
                scoped.extend(self.block(region).args.iter().map(|&arg| (arg, op.loc)));
            }
        });
        scoped
    }

    /// Calls `visit` on every op of a block and of the regions within, in program order.
    pub fn walk(&self, block: BlockId, visit: &mut dyn FnMut(OpId, &OpData)) {
        for &id in &self.block(block).ops {
            let op = self.op(id);
            visit(id, op);
            for &region in &op.regions {
                self.walk(region, visit);
            }
        }
    }
}
