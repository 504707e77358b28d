//! What the macro's launcher calls: arguments, dimensions, grid, windows, then the body.

use super::context::{At, Handle, RegionKind, Session, with};
use super::convert::IntoScalar;
use super::handle::Scalar;
use super::kernel_fn::{ArgSpec, ParamSpec};
use super::refs::{In, InOut, Out, Smem, Vmem};
use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use crate::ir::ty::Sizes;
use crate::ir::{
    BlockDim, BlockId, Buffering, DType, Element, Extent, GridAxis, Kernel, MemorySpace, Param,
    ParamAxis, ParamKind, Scratch, Semantics, Shape, Streams, Type, Window,
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
}

/// A reference that can be a parameter.
#[doc(hidden)]
pub trait ParamRef {
    /// What the kernel does with the parameter.
    const KIND: ParamKind;
    /// Its element type.
    const DTYPE: DType;
    /// The reference of a handle.
    fn of(handle: Handle) -> Self;
}

/// A reference that can be scratch.
#[doc(hidden)]
pub trait ScratchRef {
    /// Where it lives.
    const SPACE: MemorySpace;
    /// Its element type.
    const DTYPE: DType;
    /// The reference of a handle.
    fn of(handle: Handle) -> Self;
}

macro_rules! roles {
    ($($trait:ident $name:ident $constant:ident $ty:ident $value:ident,)*) => {$(
        impl<T: Element> $trait for $name<T> {
            const $constant: $ty = $ty::$value;
            const DTYPE: DType = T::DTYPE;

            fn of(handle: Handle) -> $name<T> {
                $name::new(handle)
            }
        }
    )*};
}
roles! {
    ParamRef In KIND ParamKind In,
    ParamRef Out KIND ParamKind Out,
    ParamRef InOut KIND ParamKind InOut,
    ScratchRef Vmem SPACE MemorySpace Vmem,
    ScratchRef Smem SPACE MemorySpace Smem,
}

impl Launch {
    /// Starts with the arguments: checks them, and infers the dimensions that they give.
    ///
    /// # Errors
    /// Every argument that does not fit its parameter.
    #[track_caller]
    pub fn begin(
        name: &str,
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
        let inputs: Vec<&ParamSpec> = params.iter().filter(|p| p.kind.is_input()).collect();
        if inputs.len() != args.len() {
            let names: Vec<String> = inputs.iter().map(|p| format!("`{}`", p.name)).collect();
            launch.error(
                Code::TRACE_ARGUMENT,
                format!(
                    "kernel `{name}` takes {} arrays ({}), but {} were given",
                    inputs.len(),
                    names.join(", "),
                    args.len()
                ),
            );
        } else {
            for (param, arg) in inputs.into_iter().zip(args) {
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

    /// Declares a grid axis.
    pub fn axis(&mut self, name: &'static str, semantics: Semantics) {
        self.axes.push(Axis { name, semantics, extent: None });
    }

    /// Gives a grid axis its extent.
    #[track_caller]
    pub fn extent(&mut self, axis: usize, extent: usize) {
        self.set_extent(axis, extent, "the `grid(..)` clause".to_owned(), Location::caller());
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
        for (&cover, &dim) in covers.iter().zip(spec.dims) {
            block.push(match cover {
                Cover::Whole => BlockDim::Blocked(self.dim(dim)),
                Cover::Squeezed => BlockDim::Squeezed,
                Cover::Blocked(0) => {
                    let message = format!("the block of `{}` has size 0 along `{dim}`", spec.name);
                    self.error_at(Code::TRACE_GRID, message, at);
                    BlockDim::Blocked(1)
                }
                Cover::Blocked(size) => BlockDim::Blocked(size),
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
                        extent: Extent::Static(extent),
                        semantics: axis.semantics,
                    });
                    t.handle(value)
                })
            });
            Scalar::new(handle.unwrap_or(Handle::POISON))
        });
        Ok((launch, indices))
    }

    /// Opens the index map of a window; gives the grid indices in it.
    #[track_caller]
    pub fn open_window<const N: usize>(&self) -> [Scalar<i32>; N] {
        let at = Location::caller();
        let types = [const { Type::Scalar(DType::I32) }; N];
        let args = with(|t| {
            let (_, args) = t.open(RegionKind::IndexMap, &types, at);
            args.into_iter().map(|arg| t.handle(arg)).collect::<Vec<_>>()
        });
        let mut args = args.unwrap_or_default().into_iter();
        std::array::from_fn(|_| Scalar::new(args.next().unwrap_or(Handle::POISON)))
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

    /// Closes the index map and declares the parameter.
    #[track_caller]
    pub fn param<R: ParamRef>(
        &self,
        idx: usize,
        indices: &[Handle],
        buffering: Option<usize>,
        streams: Option<(usize, usize)>,
    ) -> R {
        let at = Location::caller();
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
                space: MemorySpace::Vmem,
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
    pub fn scratch<R: ScratchRef>(&self, name: &str, shape: impl AsRef<[usize]>) -> R {
        let at = Location::caller();
        let shape = shape.as_ref();
        let handle = with(|t| {
            if shape.contains(&0) || shape.is_empty() {
                let message =
                    format!("the scratch `{name}` has shape {}, which is empty", Sizes(shape));
                t.error(Code::TRACE_GRID, message, at);
            }
            let loc = t.loc(at);
            let value = t.builder.scratch(Scratch {
                name: name.to_owned(),
                dtype: R::DTYPE,
                shape: Shape::from_slice(shape),
                space: R::SPACE,
                loc,
            });
            t.handle(value)
        });
        R::of(handle.unwrap_or(Handle::POISON))
    }

    /// Sets the scoped VMEM limit.
    pub fn vmem_limit(&self, bytes: u64) {
        with(|t| t.builder.kernel_mut().compile.vmem_limit_bytes = Some(bytes));
    }

    /// Traces the body; gives the kernel.
    ///
    /// # Errors
    /// Everything that went wrong while tracing.
    pub fn run(self, body: impl FnOnce()) -> Result<Kernel, Diagnostics> {
        // After a mistake shapes are unknown, and host code of the user that computes with them
        // may panic. The mistake is then the thing to report, not the panic.
        match catch_unwind(AssertUnwindSafe(body)) {
            Ok(()) => self.session.finish(),
            Err(panic) if with(|t| t.has_errors()) == Some(true) => {
                drop(panic);
                self.session.finish()
            }
            Err(panic) => {
                drop(self.session);
                resume_unwind(panic)
            }
        }
    }
}
