//! What the macro's launcher calls: arguments, dimensions, grid, windows, then the body.

use super::buffers::{Buffers, Permits};
use super::context::{At, Handle, RegionKind, Session, Tracer, make, with};
use super::convert::IntoScalar;
use super::handle::Scalar;
use super::kernel_fn::{ArgSpec, ParamSpec};
use super::mesh::MeshAxis;
use super::refs::{
    Hbm, HbmInOut, HbmOut, In, InOut, Out, Smem, SmemIn, SmemInOut, SmemOut, Spmem, Vmem,
};
use super::replay::Pass;
use super::semaphore::{DmaSemaphore, Semaphore};
use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use crate::ir;
use crate::ir::ops::ControlOp;
use crate::ir::ty::Sizes;
use crate::ir::{
    BlockDim, BlockId, Buffering, Core, DType, Element, Extent, GridAxis, Kernel, MemorySpace, Op,
    Param, ParamAxis, ParamKind, Scratch, Semantics, SemaphoreArray, SemaphoreKind, Shape,
    SideEffects, StatedCost, Streams, Type, Window,
};
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};

/// A kernel on its way from arguments to IR.
#[doc(hidden)]
#[derive(Debug)]
pub struct Launch {
    session: Session,
    params: &'static [ParamSpec],
    dims: Vec<Dim>,
    axes: Vec<Axis>,
    blocks: Vec<Vec<BlockDim>>,
    diagnostics: Diagnostics,
    at: At,
}

#[derive(Debug)]
struct Dim {
    name: &'static str,
    size: usize,
    /// Where the size comes from: `` `a` ``.
    origin: String,
}

#[derive(Debug)]
struct Axis {
    name: &'static str,
    semantics: Semantics,
    extent: Option<(usize, String)>,
    /// The number of the leading argument that gives the extent when the kernel is called.
    operand: Option<usize>,
}

/// How a block covers one axis of its array.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Cover {
    /// The whole axis.
    Whole,
    /// Blocks of this size.
    Blocked(usize),
    /// One index, without the axis.
    Squeezed,
    /// A window of this size, placed by elements.
    Element(usize),
}

/// How a parameter's block is fetched, and where its array lies.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Fetch {
    /// The number of buffers.
    pub buffering: Option<usize>,
    /// An axis of the array, and the number of parts along it.
    pub streams: Option<(usize, usize)>,
    /// The memory of the array.
    pub pinned: Option<MemorySpace>,
}

/// A reference that can be a parameter.
#[doc(hidden)]
pub trait ParamRef {
    /// Its elements.
    type Elem: Element;
    /// What the kernel does with the parameter.
    const KIND: ParamKind;
    /// Where its block is, or the array if it has none.
    const SPACE: MemorySpace;
    /// Its element type.
    const DTYPE: DType;
    /// The reference of a handle.
    fn of(handle: Handle) -> Self;
}

/// A reference that can be scratch.
#[doc(hidden)]
pub trait ScratchRef {
    /// What it names.
    const KIND: ScratchKind;
    /// The reference of the handles of its memory and of its semaphores.
    fn of(memory: Handle, semaphores: Handle) -> Self;
}

/// A reference that can be a prefetched table.
#[doc(hidden)]
pub trait TableRef {
    /// What the kernel does with the parameter.
    const KIND: ParamKind = ParamKind::Prefetch;
    /// Its element type.
    const DTYPE: DType;
    /// The reference of a handle.
    fn of(handle: Handle) -> Self;
}

impl<T: Element> TableRef for Smem<T> {
    const DTYPE: DType = T::DTYPE;

    fn of(handle: Handle) -> Smem<T> {
        Smem::new(handle)
    }
}

/// The number of steps along a grid axis, for the ops that follow.
#[doc(hidden)]
#[track_caller]
pub fn grid_extent(axis: usize) -> Scalar<i32> {
    let at = Location::caller();
    let op = Op::Control(ControlOp::GridExtent { axis });
    Scalar::new(make(|t| t.emit(op, &[], at)))
}

/// What scratch is made of.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum ScratchKind {
    /// Memory.
    Memory(DType, MemorySpace),
    /// So many buffers, with a semaphore for each.
    Ring(DType, usize),
    /// So many semaphores for copies.
    Permits(usize),
    /// Semaphores.
    Semaphores(SemaphoreKind),
}

macro_rules! params {
    ($($name:ident $kind:ident $space:ident,)*) => {$(
        impl<T: Element> ParamRef for $name<T> {
            type Elem = T;
            const KIND: ParamKind = ParamKind::$kind;
            const SPACE: MemorySpace = MemorySpace::$space;
            const DTYPE: DType = T::DTYPE;

            fn of(handle: Handle) -> $name<T> {
                $name::new(handle)
            }
        }
    )*};
}
params! {
    In In Vmem,
    Out Out Vmem,
    InOut InOut Vmem,
    Hbm In Hbm,
    HbmOut Out Hbm,
    HbmInOut InOut Hbm,
    SmemIn In Smem,
    SmemOut Out Smem,
    SmemInOut InOut Smem,
}

macro_rules! scratch {
    ($([$($generics:tt)*] $name:ty = $kind:expr, |$memory:pat_param, $semaphores:pat_param| $new:expr;)*) => {$(
        impl<$($generics)*> ScratchRef for $name {
            const KIND: ScratchKind = $kind;

            fn of($memory: Handle, $semaphores: Handle) -> $name {
                $new
            }
        }
    )*};
}
scratch! {
    [T: Element] Vmem<T> = ScratchKind::Memory(T::DTYPE, MemorySpace::Vmem), |x, _| Vmem::new(x);
    [T: Element] Smem<T> = ScratchKind::Memory(T::DTYPE, MemorySpace::Smem), |x, _| Smem::new(x);
    [T: Element] Spmem<T> = ScratchKind::Memory(T::DTYPE, MemorySpace::Spmem), |x, _| Spmem::new(x);
    [T: Element, const N: usize] Buffers<T, N> = ScratchKind::Ring(T::DTYPE, N),
        |x, done| Buffers::new(x, done);
    [const N: usize] Permits<N> = ScratchKind::Permits(N), |_, done| Permits::new(done);
    [] Semaphore = ScratchKind::Semaphores(SemaphoreKind::Regular), |_, x| Semaphore::new(x);
    [] DmaSemaphore = ScratchKind::Semaphores(SemaphoreKind::Dma), |_, x| DmaSemaphore::new(x);
}

impl Launch {
    /// Starts with the arguments: checks them, and infers the dimensions that they give.
    ///
    /// # Errors
    /// Every argument that does not fit its parameter.
    #[track_caller]
    pub fn begin(
        name: &str,
        extents: &[&str],
        params: &'static [ParamSpec],
        args: &[ArgSpec],
    ) -> Result<Launch, Diagnostics> {
        let mut launch = Launch {
            session: Session::begin(name),
            params,
            dims: Vec::new(),
            axes: Vec::new(),
            blocks: params.iter().map(|_| Vec::new()).collect(),
            diagnostics: Diagnostics::default(),
            at: Location::caller(),
        };
        with(|t| {
            let loc = t.loc(launch.at);
            t.builder.kernel_mut().loc = loc;
        });
        let inputs: Vec<&ParamSpec> = params.iter().filter(|p| p.kind.is_input()).collect();
        if extents.len() + inputs.len() != args.len() {
            let names = extents.iter().copied().chain(inputs.iter().map(|param| param.name));
            let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
            launch.error(
                Code::TRACE_ARGUMENT,
                format!(
                    "kernel `{name}` takes {} arrays ({}), but {} were given",
                    names.len(),
                    names.join(", "),
                    args.len()
                ),
            );
        } else {
            let (scalars, arrays) = args.split_at(extents.len());
            for (name, arg) in extents.iter().zip(scalars) {
                launch.extent_argument(name, arg);
            }
            for (param, arg) in inputs.into_iter().zip(arrays) {
                launch.argument(param, arg);
            }
        }
        launch.ready()
    }

    fn error(&mut self, code: Code, message: String) {
        let span = Span::from_location(self.at);
        self.diagnostics.push(Diagnostic::error(code, message).at(span, "in this kernel"));
    }

    fn error_at(&mut self, code: Code, message: String, at: At) {
        self.diagnostics.push(Diagnostic::error(code, message).at(Span::from_location(at), ""));
    }

    fn ready(self) -> Result<Launch, Diagnostics> {
        if self.diagnostics.has_errors() { Err(self.diagnostics) } else { Ok(self) }
    }

    fn extent_argument(&mut self, name: &str, arg: &ArgSpec) {
        if arg.dtype != DType::I32 || !arg.shape.is_empty() {
            let message = format!(
                "`{name}` is the extent of a grid axis, an i32 scalar, but {}{} was given",
                arg.dtype,
                Sizes(&arg.shape)
            );
            let span = Span::from_location(self.at);
            self.diagnostics.push(
                Diagnostic::error(Code::TRACE_ARGUMENT, message)
                    .at(span, "in this kernel")
                    .help("give it a scalar: `Array::scalar(5_i32)`"),
            );
        }
    }

    fn argument(&mut self, param: &ParamSpec, arg: &ArgSpec) {
        let name = param.name;
        if arg.dtype != param.dtype {
            self.error(
                Code::TRACE_ARGUMENT,
                format!(
                    "`{name}` has elements of `{}`, but `{}` was given",
                    param.dtype, arg.dtype
                ),
            );
        }
        if arg.shape.len() != param.dims.len() {
            self.error(
                Code::TRACE_ARGUMENT,
                format!(
                    "`{name}` has rank {} [{}], but an array of rank {} {} was given",
                    param.dims.len(),
                    param.dims.join(", "),
                    arg.shape.len(),
                    Sizes(&arg.shape)
                ),
            );
            return;
        }
        for (&dim, &size) in param.dims.iter().zip(&arg.shape) {
            self.set_dim(dim, size, format!("`{name}`"));
        }
    }

    fn set_dim(&mut self, name: &'static str, size: usize, origin: String) {
        if size == 0 {
            self.error(
                Code::TRACE_DIM,
                format!("dimension `{name}` of {origin} is 0: an empty array has no blocks"),
            );
        } else if size > i32::MAX as usize {
            self.error(
                Code::TRACE_DIM,
                format!(
                    "dimension `{name}` of {origin} is {size}, which does not fit an `i32` index"
                ),
            );
        }
        match self.dims.iter().find(|dim| dim.name == name) {
            Some(known) if known.size != size => {
                let message = format!(
                    "dimension `{name}` is {} from {} but {size} in {origin}",
                    known.size, known.origin
                );
                self.error(Code::TRACE_DIM, message);
            }
            Some(_) => {}
            None => self.dims.push(Dim { name, size, origin }),
        }
    }

    /// The size of a dimension.
    pub fn dim(&self, name: &str) -> usize {
        self.dims.iter().find(|dim| dim.name == name).map_or(1, |dim| dim.size)
    }

    /// A dimension given by a `#[comptime]` parameter or a `dims(..)` clause.
    pub fn given(&mut self, name: &'static str, size: usize, origin: &str) -> usize {
        self.set_dim(name, size, origin.to_owned());
        size
    }

    /// Declares an axis of the mesh of devices, inside those before it.
    #[track_caller]
    pub fn mesh_axis(&mut self, name: &str, size: usize) -> MeshAxis {
        if size == 0 {
            let message = format!("mesh axis `{name}` has no devices");
            self.error_at(Code::TRACE_GRID, message, Location::caller());
        }
        let axis = with(|t| {
            let mesh = &mut t.builder.kernel_mut().mesh;
            mesh.push(ir::MeshAxis { name: name.to_owned(), size });
            mesh.len() - 1
        });
        MeshAxis::new(axis.unwrap_or_default())
    }

    /// Declares a grid axis.
    pub fn axis(&mut self, name: &'static str, semantics: Semantics) {
        self.axes.push(Axis { name, semantics, extent: None, operand: None });
    }

    /// Says what runs the kernel. The grid of a SparseCore kernel is its cores, then their subcores.
    pub fn core(&mut self, core: Core) {
        with(|t| t.builder.kernel_mut().core = core);
        if core.is_sparse() {
            let kinds = [Semantics::CoreParallel, Semantics::SubcoreParallel];
            for (axis, kind) in self.axes.iter_mut().zip(kinds) {
                axis.semantics = kind;
            }
        }
    }

    /// Gives a grid axis its extent.
    #[track_caller]
    pub fn extent(&mut self, axis: usize, extent: usize) {
        self.set_extent(axis, extent, "the `grid(..)` clause".to_owned(), Location::caller());
    }

    /// Says that the call gives a grid axis its extent, as leading argument number `operand`.
    pub fn dynamic_extent(&mut self, axis: usize, operand: usize) {
        if let Some(entry) = self.axes.get_mut(axis) {
            entry.operand = Some(operand);
        }
    }

    fn set_extent(&mut self, axis: usize, extent: usize, origin: String, at: At) {
        let Some(entry) = self.axes.get_mut(axis) else { return };
        let name = entry.name;
        match &entry.extent {
            Some((known, known_origin)) if *known != extent => {
                let message = format!(
                    "grid axis `{name}` would have {known} steps from {known_origin} but {extent} from {origin}"
                );
                self.error_at(Code::TRACE_GRID, message, at);
            }
            Some(_) => {}
            None => entry.extent = Some((extent, origin)),
        }
        if extent == 0 || extent > i32::MAX as usize {
            let message = format!("grid axis `{name}` has {extent} steps; it needs 1 to 2^31 - 1");
            self.error_at(Code::TRACE_GRID, message, at);
        }
    }

    /// Says how a parameter's block covers its axes.
    #[track_caller]
    pub fn block(&mut self, param: usize, covers: &[Cover]) {
        let at = Location::caller();
        let spec = &self.params[param];
        let mut block = Vec::with_capacity(covers.len());
        // A window placed by elements is so along all of its axes.
        let by_elements = covers.iter().any(|cover| matches!(cover, Cover::Element(_)));
        for (&cover, &dim) in covers.iter().zip(spec.dims) {
            block.push(match cover {
                Cover::Whole if by_elements => BlockDim::Element(self.dim(dim)),
                Cover::Whole => BlockDim::Blocked(self.dim(dim)),
                Cover::Squeezed => BlockDim::Squeezed,
                Cover::Blocked(0) | Cover::Element(0) => {
                    let message = format!("the block of `{}` has size 0 along `{dim}`", spec.name);
                    self.error_at(Code::TRACE_GRID, message, at);
                    BlockDim::Blocked(1)
                }
                Cover::Blocked(size) => BlockDim::Blocked(size),
                Cover::Element(size) => BlockDim::Element(size),
            });
        }
        self.blocks[param] = block;
    }

    /// Infers the extent of a grid axis that walks over an axis of a parameter block by block.
    #[track_caller]
    pub fn walk(&mut self, grid_axis: usize, param: usize, param_axis: usize) {
        let spec = &self.params[param];
        let size = self.dim(spec.dims[param_axis]);
        let block = self.blocks[param].get(param_axis).map_or(1, |block| block.size());
        let origin = format!("`{}` ({size} in blocks of {block})", spec.name);
        self.set_extent(grid_axis, size.div_ceil(block.max(1)), origin, Location::caller());
    }

    /// Declares the grid; gives the indices that the body sees.
    ///
    /// # Errors
    /// Everything that is wrong with dimensions, blocks and grid.
    pub fn grid<const N: usize>(self) -> Result<(Launch, [Scalar<i32>; N]), Diagnostics> {
        let launch = self.ready()?;
        let mut axes = launch.axes.iter();
        let indices = std::array::from_fn(|_| {
            let axis = axes.next();
            let handle = axis.and_then(|axis| {
                with(|t| {
                    let extent = axis.extent.as_ref().map_or(1, |(extent, _)| *extent);
                    let value = t.builder.grid_axis(GridAxis {
                        name: axis.name.to_owned(),
                        extent: match axis.operand {
                            Some(operand) => Extent::Dynamic { operand },
                            None => Extent::Static(extent),
                        },
                        semantics: axis.semantics,
                    });
                    t.handle(value)
                })
            });
            Scalar::new(handle.unwrap_or(Handle::POISON))
        });
        Ok((launch, indices))
    }

    fn tables(&self) -> impl Iterator<Item = &ParamSpec> {
        self.params.iter().filter(|spec| spec.kind == ParamKind::Prefetch)
    }

    /// Opens the index map of a window; gives the grid indices and the tables in it.
    #[track_caller]
    pub fn open_window<const N: usize>(&self) -> ([Scalar<i32>; N], Vec<Handle>) {
        let at = Location::caller();
        let mut types = vec![Type::Scalar(DType::I32); N];
        types.extend(self.tables().map(|spec| Type::Ref {
            dtype: spec.dtype,
            shape: spec.dims.iter().map(|dim| self.dim(dim)).collect(),
            space: MemorySpace::Smem,
        }));
        let args = with(|t| {
            let (_, args) = t.open(RegionKind::IndexMap, &types, at);
            args.into_iter().map(|arg| t.handle(arg)).collect::<Vec<_>>()
        });
        let mut args = args.unwrap_or_default();
        args.resize(types.len(), Handle::POISON);
        let tables = args.split_off(N);
        let mut args = args.into_iter();
        (std::array::from_fn(|_| Scalar::new(args.next().unwrap_or(Handle::POISON))), tables)
    }

    /// Declares a prefetched table.
    #[track_caller]
    pub fn table<R: TableRef>(&self, idx: usize) -> R {
        let at = Location::caller();
        let spec = &self.params[idx];
        let handle = with(|t| {
            let loc = t.loc(at);
            let value = t.builder.param(Param {
                name: spec.name.to_owned(),
                kind: spec.kind,
                dtype: spec.dtype,
                axes: self.array_axes(spec),
                space: MemorySpace::Smem,
                window: None,
                pinned: None,
                loc,
            });
            t.handle(value)
        });
        R::of(handle.unwrap_or(Handle::POISON))
    }

    /// An entry of an index map.
    #[track_caller]
    pub fn index(&self, index: impl IntoScalar<i32>) -> Handle {
        let at = Location::caller();
        let operand = index.operand();
        with(|t| t.value(operand, DType::I32, at).map(|value| t.handle(value)))
            .flatten()
            .unwrap_or(Handle::POISON)
    }

    /// Declares a parameter that stays in HBM, where copies reach it.
    #[track_caller]
    pub fn far<R: ParamRef>(&self, idx: usize) -> R {
        let at = Location::caller();
        let spec = &self.params[idx];
        let handle = with(|t| {
            let loc = t.loc(at);
            let value = t.builder.param(Param {
                name: spec.name.to_owned(),
                kind: spec.kind,
                dtype: spec.dtype,
                axes: self.array_axes(spec),
                space: R::SPACE,
                window: None,
                pinned: None,
                loc,
            });
            t.handle(value)
        });
        R::of(handle.unwrap_or(Handle::POISON))
    }

    /// Closes the index map and declares the parameter.
    #[track_caller]
    pub fn param<R: ParamRef>(&self, idx: usize, indices: &[Handle], fetch: Fetch) -> R {
        let at = Location::caller();
        let Fetch { buffering, streams, pinned } = fetch;
        let spec = &self.params[idx];
        let handle = with(|t| {
            let values: Vec<_> = indices.iter().filter_map(|&index| t.operand(index, at)).collect();
            let index_map: BlockId = t.builder.current_block();
            t.close(&values, at);
            if buffering == Some(0) || streams.is_some_and(|(_, n)| n == 0) {
                let message = format!("`{}` needs at least one buffer and stream", spec.name);
                t.error(Code::TRACE_GRID, message, at);
            }
            let loc = t.loc(at);
            let value = t.builder.param(Param {
                name: spec.name.to_owned(),
                kind: spec.kind,
                dtype: spec.dtype,
                axes: self.array_axes(spec),
                space: R::SPACE,
                window: Some(Window {
                    block: self.blocks[idx].clone(),
                    index_map,
                    buffering: match buffering {
                        Some(1) => Buffering::Single,
                        None | Some(2) => Buffering::Double,
                        Some(n) => Buffering::Multiple(n),
                    },
                    streams: streams.map(|(axis, n)| Streams { axis, n }),
                }),
                pinned,
                loc,
            });
            t.handle(value)
        });
        R::of(handle.unwrap_or(Handle::POISON))
    }

    fn array_axes(&self, spec: &ParamSpec) -> Vec<ParamAxis> {
        let axis = |&name: &&str| ParamAxis { name: name.to_owned(), size: self.dim(name) };
        spec.dims.iter().map(axis).collect()
    }

    /// Declares scratch.
    #[track_caller]
    pub fn scratch<R: ScratchRef>(&self, name: &str, shape: &(impl AsRef<[usize]> + ?Sized)) -> R {
        let at = Location::caller();
        let shape = shape.as_ref();
        let [mut memory, mut semaphores] = [Handle::POISON; 2];
        with(|t| match R::KIND {
            ScratchKind::Memory(dtype, space) => {
                memory = t.add_scratch(name, (dtype, space), shape, at);
            }
            ScratchKind::Ring(dtype, n) => {
                let sizes: Shape = std::iter::once(n).chain(shape.iter().copied()).collect();
                memory = t.add_scratch(name, (dtype, MemorySpace::Vmem), &sizes, at);
                let done = format!("{name}_done");
                semaphores = t.add_semaphores(&done, SemaphoreKind::Dma, &[n], at);
            }
            ScratchKind::Permits(n) => {
                semaphores = t.add_semaphores(name, SemaphoreKind::Dma, &[n], at);
            }
            ScratchKind::Semaphores(kind) => {
                semaphores = t.add_semaphores(name, kind, shape, at);
            }
        });
        R::of(memory, semaphores)
    }

    /// Sets the scoped VMEM limit.
    pub fn vmem_limit(&self, bytes: u64) {
        with(|t| t.builder.kernel_mut().compile.vmem_limit_bytes = Some(bytes));
    }

    /// Says what a call does beside giving its outputs.
    pub fn side_effects(&self, effects: SideEffects) {
        with(|t| t.builder.kernel_mut().compile.side_effects = effects);
    }

    /// Leaves out the chip's checks of where copies go.
    pub fn unchecked_bounds(&self) {
        with(|t| t.builder.kernel_mut().compile.unchecked_bounds = true);
    }

    /// Says what a call costs: flops, transcendentals, bytes.
    pub fn cost(&self, [flops, transcendentals, bytes_accessed]: [Option<u64>; 3]) {
        let cost = StatedCost { flops, transcendentals, bytes_accessed };
        with(|t| t.builder.kernel_mut().compile.cost = cost);
    }

    /// Traces the body; gives the kernel. The body runs several times, to find state of the host
    /// that changes unseen: see [`super::replay`].
    ///
    /// # Errors
    /// Everything that went wrong while tracing.
    pub fn run(self, body: impl Fn()) -> Result<Kernel, Diagnostics> {
        with(|t| t.begin_body(self.at));
        // After a mistake shapes are unknown, and host code of the user that computes with them
        // may panic. The mistake is then the thing to report, not the panic.
        match catch_unwind(AssertUnwindSafe(&body)) {
            Err(panic) if with(|t| t.has_errors()) != Some(true) => {
                drop(self.session);
                resume_unwind(panic)
            }
            Ok(()) | Err(_) => {}
        }
        if with(|t| t.has_errors()) == Some(false) {
            self.check_again(&body);
        }
        self.session.finish()
    }

    /// Runs a body that was traced without a mistake again, and reports the first pass that differs.
    fn check_again(&self, body: &impl Fn()) {
        let differs = |pass: Pass| {
            with(|t| t.begin_pass(pass));
            let panicked = catch_unwind(AssertUnwindSafe(body)).is_err();
            with(|t| {
                if panicked {
                    t.differ(self.at, None, None);
                }
                t.end_pass()
            })
            .flatten()
        };
        let passes = with(|t| t.end_body()).unwrap_or_default();
        if let Some(difference) = passes.into_iter().find_map(differs) {
            // If it differs each time, no path through it is to blame.
            let difference = differs(Pass::Same).unwrap_or(difference);
            with(|t| t.report(difference));
        }
    }
}

impl Tracer {
    /// Adds scratch.
    pub(super) fn add_scratch(
        &mut self,
        name: &str,
        (dtype, space): (DType, MemorySpace),
        shape: &[usize],
        at: At,
    ) -> Handle {
        if shape.contains(&0) || shape.is_empty() {
            let message =
                format!("the scratch `{name}` has shape {}, which is empty", Sizes(shape));
            self.error(Code::TRACE_GRID, message, at);
        }
        let (name, shape, loc) = (name.to_owned(), Shape::from_slice(shape), self.loc(at));
        let value = self.builder.scratch(Scratch { name, dtype, shape, space, loc });
        self.handle(value)
    }

    /// Adds semaphores.
    pub(super) fn add_semaphores(
        &mut self,
        name: &str,
        kind: SemaphoreKind,
        shape: &[usize],
        at: At,
    ) -> Handle {
        let (name, shape, loc) = (name.to_owned(), Shape::from_slice(shape), self.loc(at));
        let value = self.builder.semaphores(SemaphoreArray { name, kind, shape, loc });
        self.handle(value)
    }
}
