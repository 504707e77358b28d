//! The kernel's function: grid, parameters, windows and their index maps, scratch.

use super::body::{Importer, Val};
use super::grid::{CORE_TYPE, core, grid, n_dynamic};
use super::read::ast::{self, Attr, Module, Op, Ty, Type, ValueId, find};
use super::{ArrayType, Call, Imported, array, extent, table};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::ops::ControlOp;
use crate::ir::{
    self, BlockDim, BlockId, Buffering, Core, GridAxis, Kernel, MemorySpace, Param, ParamAxis,
    ParamKind, Scratch, SemaphoreArray, SemaphoreKind, Shape, Window,
};
use std::collections::HashMap;

pub(super) fn wrong(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::IMPORT_MODULE, message)
}

/// The name of an op without the prefix of the stable form.
pub(super) fn short_name(op: &Op) -> &str {
    op.name.strip_prefix("stable_mosaic.").unwrap_or(&op.name)
}

/// The name of a function.
pub(super) fn name(function: &Op) -> &str {
    match find(&function.attrs, "sym_name") {
        Some(Attr::Str(name)) => name,
        _ => "kernel",
    }
}

fn functions(module: &Module) -> impl Iterator<Item = &Op> {
    module.ops.iter().filter(|op| short_name(op) == "func.func")
}

/// The kernel's function: the only one with a core type.
pub(super) fn entry(module: &Module) -> Result<&Op, Diagnostic> {
    let marked: Vec<&Op> =
        functions(module).filter(|op| find(&op.attrs, CORE_TYPE).is_some()).collect();
    match marked[..] {
        [entry] => Ok(entry),
        [] => Err(wrong(format!(
            "no function of the module has a `{CORE_TYPE}`: which is the kernel?"
        ))),
        _ => Err(Diagnostic::error(
            Code::IMPORT_UNSUPPORTED,
            format!("the module has {} kernels, each for its own core", marked.len()),
        )),
    }
}

/// An argument of the kernel's function that is no grid index.
struct Arg<'m> {
    value: ValueId,
    shape: &'m [i64],
    elem: &'m Ty,
    kind: ArgKind,
}

/// What an argument holds.
#[derive(Clone, Copy)]
enum ArgKind {
    Memory(MemorySpace),
    Semaphores(SemaphoreKind),
}

/// Makes a kernel of a module.
pub(super) fn import(call: &Call, module: &Module) -> Result<Imported, Diagnostics> {
    let function = entry(module)?;
    let name = name(function).to_owned();
    let mut importer = Importer::new(call, module, &name);
    let header = Header::new(call, module, function)?;
    let mut errors = Diagnostics::default();
    let (kernel, arrays) = match header.declare(&mut importer) {
        Ok(arrays) => {
            importer.body(&function.regions[0].ops);
            errors = importer.finish_errors();
            (importer.builder.finish(), arrays)
        }
        Err(error) => {
            errors.push(error);
            return Err(errors);
        }
    };
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut kernel = kernel;
    if knows_devices(&kernel) {
        kernel.mesh.clone_from(&call.mesh);
        if kernel.mesh.is_empty() {
            let message = format!(
                "`{name}` copies or signals to other devices, and the file does not say how many there are"
            );
            return Err(Diagnostic::error(Code::IMPORT_CALL, message)
                .help("give the program around it, lowered for a mesh of devices")
                .into());
        }
    }
    let Arrays { inputs, operands, results } = arrays;
    Ok(Imported { kernel, operands, results, inputs })
}

/// Whether a kernel asks for its device's number, or addresses another one.
fn knows_devices(kernel: &Kernel) -> bool {
    let mut knows = false;
    kernel.walk(kernel.body, &mut |_, op| {
        knows |= match &op.op {
            ir::Op::Control(ControlOp::DeviceId) => true,
            ir::Op::Dma(dma) => dma.peer().device,
            ir::Op::Sync(sync) => sync.peer().device,
            _ => false,
        };
    });
    knows
}

/// The arrays of a call.
struct Arrays {
    /// The operand of each input of the kernel.
    inputs: Vec<usize>,
    operands: Vec<ArrayType>,
    results: Vec<ArrayType>,
}

/// What the function's attributes say.
struct Header<'m> {
    call: &'m Call,
    module: &'m Module,
    function: &'m Op,
    core: Core,
    grid: Vec<GridAxis>,
    n_prefetch: usize,
    n_inputs: usize,
    n_outputs: usize,
    args: Vec<Arg<'m>>,
    windows: Vec<Option<&'m ast::Attrs>>,
    /// The references that the kernel writes to.
    written: Vec<ValueId>,
}

impl<'m> Header<'m> {
    fn new(call: &'m Call, module: &'m Module, function: &'m Op) -> Result<Header<'m>, Diagnostic> {
        let core = core(call, function)?;
        let grid = grid(function)?;
        let Some(block) = function.regions.first() else {
            return Err(wrong("the kernel's function has no body"));
        };
        if block.args.len() < grid.len() {
            return Err(wrong(format!(
                "the kernel's function has {} arguments, but a grid of {} axes",
                block.args.len(),
                grid.len()
            )));
        }
        let args: Result<Vec<Arg<'m>>, Diagnostic> = block.args[grid.len()..]
            .iter()
            .enumerate()
            .map(|(idx, &value)| arg(module, idx, value))
            .collect();
        let args = args?;
        let n_prefetch = count(function, "scalar_prefetch")?;
        let n_scratch = count(function, "scratch_operands")?;
        let Some(n_arrays) = args.len().checked_sub(n_prefetch.saturating_add(n_scratch)) else {
            return Err(wrong(format!(
                "the kernel's function has {} references, but {n_prefetch} prefetched tables and \
                 {n_scratch} scratch buffers",
                args.len()
            )));
        };
        let mut written = Written::default();
        written.collect(&block.ops);
        let mut header = Header {
            call,
            module,
            function,
            core,
            grid,
            n_prefetch,
            n_inputs: 0,
            n_outputs: 0,
            windows: windows(function, n_arrays)?,
            written: written.targets,
            args,
        };
        header.n_outputs = header.n_outputs(n_arrays)?;
        header.n_inputs = n_arrays - header.n_outputs;
        Ok(header)
    }

    /// How many of the arrays are outputs: the call says it; of a bare module those at the end that
    /// the kernel writes to.
    fn n_outputs(&self, n_arrays: usize) -> Result<usize, Diagnostic> {
        if let (Some(operands), Some(results)) = (&self.call.operands, &self.call.results) {
            let n_dynamic = n_dynamic(&self.grid);
            if operands.len() + results.len() != n_dynamic + self.n_prefetch + n_arrays {
                return Err(wrong(format!(
                    "the call has {} operands and {} results, the kernel takes {n_dynamic} grid \
                     extents, {} prefetched tables and {n_arrays} arrays",
                    operands.len(),
                    results.len(),
                    self.n_prefetch
                )));
            }
            return match n_arrays
                .checked_sub(operands.len().saturating_sub(n_dynamic + self.n_prefetch))
            {
                Some(n) if n == results.len() => Ok(n),
                _ => Err(wrong("the call has fewer operands than the kernel has tables")),
            };
        }
        let arrays = &self.args[self.n_prefetch..self.n_prefetch + n_arrays];
        let n = arrays.iter().rev().take_while(|arg| self.written.contains(&arg.value)).count();
        if n == 0 {
            return Err(wrong("the kernel writes to none of its last arguments: it has no output"));
        }
        Ok(n)
    }

    /// Declares everything.
    fn declare(&self, importer: &mut Importer<'m>) -> Result<Arrays, Diagnostic> {
        importer.enter(self.function);
        importer.builder.kernel_mut().core = self.core;
        let n_dynamic = n_dynamic(&self.grid);
        let mut inputs: Vec<usize> = (0..n_dynamic).collect();
        let mut operands = vec![ArrayType { dtype: ir::DType::I32, shape: Vec::new() }; n_dynamic];
        if let Some(given) = &self.call.operands {
            operands = given[..n_dynamic].to_vec();
        }
        for axis in &self.grid {
            importer.builder.grid_axis(axis.clone());
        }
        let mut results = Vec::new();
        let n_arrays = self.n_inputs + self.n_outputs;
        for (idx, arg) in self.args[..self.n_prefetch + n_arrays].iter().enumerate() {
            let array = idx.checked_sub(self.n_prefetch);
            let output = array.and_then(|array| array.checked_sub(self.n_inputs));
            let ty = self.given_type(idx, output);
            let window = match array {
                Some(array) => self.window(importer, idx, arg, self.windows[array])?,
                None => None,
            };
            let shape = self.array_shape(importer, idx, arg, window.as_ref(), ty)?;
            let alias = output.and_then(|output| self.alias(output));
            let kind = match (array, output) {
                (None, _) => ParamKind::Prefetch,
                (Some(_), None) => ParamKind::In,
                (Some(_), Some(_)) if alias.is_some() => ParamKind::InOut,
                (Some(_), Some(_)) => ParamKind::Out,
            };
            let dtype = self.dtype(idx, arg)?;
            let ty = ty.cloned().unwrap_or(ArrayType { dtype, shape: shape.clone() });
            match (output, alias) {
                (None, _) => {
                    inputs.push(operands.len());
                    operands.push(ty);
                }
                (Some(_), Some(alias)) => {
                    inputs.push(alias);
                    results.push(ty);
                }
                (Some(_), None) => results.push(ty),
            }
            let name = match output {
                None => format!("arg{}", operands.len() - 1),
                Some(output) => format!("out{output}"),
            };
            let axes = shape.iter().map(|&size| ParamAxis { name: String::new(), size }).collect();
            let loc = importer.loc;
            let space = self.space(idx, arg)?;
            let param = Param { name, kind, dtype, axes, space, window, pinned: None, loc };
            let value = importer.builder.param(param);
            importer.bind_ref(arg.value, value);
        }
        self.check_aliases(&operands, &results)?;
        for (idx, arg) in self.args.iter().enumerate().skip(self.n_prefetch + n_arrays) {
            let name = format!("scratch{}", idx - self.n_prefetch - n_arrays);
            let (shape, loc) = (static_shape(idx, arg.shape)?, importer.loc);
            let value = match arg.kind {
                ArgKind::Semaphores(kind) => {
                    importer.builder.semaphores(SemaphoreArray { name, kind, shape, loc })
                }
                ArgKind::Memory(space) => {
                    let (dtype, shape) = (self.dtype(idx, arg)?, one_axis(shape));
                    importer.builder.scratch(Scratch { name, dtype, shape, space, loc })
                }
            };
            importer.bind_ref(arg.value, value);
        }
        self.bind_grid(importer)?;
        let kernel = importer.builder.kernel_mut();
        kernel.compile.vmem_limit_bytes = self.call.vmem_limit_bytes;
        kernel.compile.unchecked_bounds = self.call.unchecked_bounds;
        kernel.compile.side_effects = self.call.side_effects;
        Ok(Arrays { inputs, operands, results })
    }

    /// Binds the grid indices, and copies of the tables that the kernel writes to.
    fn bind_grid(&self, importer: &mut Importer<'m>) -> Result<(), Diagnostic> {
        for axis in 0..self.grid.len() {
            let value = importer.builder.kernel().grid_index(axis);
            let arg = self.function.regions[0].args[axis];
            importer.expect_index(arg)?;
            importer.bind(arg, Val::Ir { value, multiple: 1 });
        }
        for (idx, arg) in self.args[..self.n_prefetch].iter().enumerate() {
            if self.written.contains(&arg.value) {
                let table = importer.builder.kernel().param_ref(idx);
                let copy = table::own_copy(importer, table, format!("own{idx}"))?;
                importer.bind_ref(arg.value, copy);
            }
        }
        Ok(())
    }

    fn dtype(&self, idx: usize, arg: &Arg<'_>) -> Result<ir::DType, Diagnostic> {
        array::dtype_of(arg.elem).map(array::signed).ok_or_else(|| {
            let message =
                format!("argument {idx} of the kernel has elements of `{}`", type_text(arg.elem));
            Diagnostic::error(Code::IMPORT_UNSUPPORTED, message)
        })
    }

    /// The memory of an argument that is an array.
    fn space(&self, idx: usize, arg: &Arg<'_>) -> Result<MemorySpace, Diagnostic> {
        match arg.kind {
            ArgKind::Memory(space) => Ok(space),
            ArgKind::Semaphores(_) => {
                let message = format!("argument {idx} of the kernel is an array of semaphores");
                Err(Diagnostic::error(Code::IMPORT_UNSUPPORTED, message))
            }
        }
    }

    /// The type of an argument's array in the call.
    fn given_type(&self, idx: usize, output: Option<usize>) -> Option<&ArrayType> {
        match output {
            None => self.call.operands.as_ref()?.get(n_dynamic(&self.grid) + idx),
            Some(output) => self.call.results.as_ref()?.get(output),
        }
    }

    /// The operand that shares its memory with a result.
    fn alias(&self, output: usize) -> Option<usize> {
        let mut aliases = self.call.aliases.iter();
        aliases.find(|(result, _)| *result == output).map(|&(_, operand)| operand)
    }

    fn check_aliases(
        &self,
        operands: &[ArrayType],
        results: &[ArrayType],
    ) -> Result<(), Diagnostic> {
        for &(result, operand) in &self.call.aliases {
            match (results.get(result), operands.get(operand)) {
                (Some(a), Some(b)) if a == b => {}
                (Some(a), Some(b)) => {
                    let message = format!(
                        "result {result}, {a}, cannot share the memory of operand {operand}, {b}"
                    );
                    return Err(Diagnostic::error(Code::IMPORT_CALL, message));
                }
                _ => {
                    let message = format!(
                        "result {result} shares the memory of operand {operand}: one of them does not exist"
                    );
                    return Err(Diagnostic::error(Code::IMPORT_CALL, message));
                }
            }
        }
        Ok(())
    }

    /// The window of an argument; `None` if the kernel sees the array where it lies.
    fn window(
        &self,
        importer: &mut Importer<'m>,
        idx: usize,
        arg: &Arg<'_>,
        attrs: Option<&ast::Attrs>,
    ) -> Result<Option<Window>, Diagnostic> {
        if self.core.is_sparse() {
            self.check_whole(idx, arg, attrs)?;
            return Ok(None);
        }
        let block_shape = one_axis(static_shape(idx, arg.shape)?);
        let Some(attrs) = attrs.filter(|attrs| !attrs.is_empty()) else {
            if !matches!(self.space(idx, arg)?, MemorySpace::Vmem | MemorySpace::Smem) {
                return Ok(None);
            }
            // The whole array is in VMEM or SMEM from start to end.
            let index_map = self.open_map(importer);
            let zero =
                importer.builder.constant(ir::ops::Literal::int(ir::DType::I32, 0), importer.loc);
            importer.builder.close_block(&vec![zero; block_shape.len()], importer.loc);
            return Ok(Some(Window {
                block: block_shape.iter().map(|&size| BlockDim::Blocked(size)).collect(),
                index_map: index_map.0,
                buffering: Buffering::Single,
                streams: None,
            }));
        };
        let known =
            ["window_bounds", "transform_indices", "window_kind", "pipeline_mode", "revisit_mode"];
        if let Some((name, _)) = attrs.iter().find(|(name, _)| !known.contains(&&**name)) {
            let message = format!("the window of argument {idx} has `{name}`");
            return Err(Diagnostic::error(Code::IMPORT_UNSUPPORTED, message));
        }
        match find(attrs, "window_bounds") {
            Some(Attr::Ints(bounds)) if **bounds == *arg.shape => {}
            _ => {
                return Err(wrong(format!("the window of argument {idx} has other sizes than it")));
            }
        }
        let is_element = self.is_element(idx, attrs)?;
        let buffering = match find(attrs, "pipeline_mode") {
            None => Buffering::Double,
            Some(Attr::Other(text)) => match &**text {
                "#tpu.pipeline_mode<synchronous>" => Buffering::Single,
                "#tpu.pipeline_mode<double_buffered>" => Buffering::Double,
                _ => return Err(wrong(format!("the pipeline mode of argument {idx} is unknown"))),
            },
            Some(_) => return Err(wrong(format!("the pipeline mode of argument {idx} is none"))),
        };
        let index_map = self.index_map(importer, idx, attrs, block_shape.len())?;
        let dim = |&size: &usize| {
            if is_element { BlockDim::Element(size) } else { BlockDim::Blocked(size) }
        };
        let block = block_shape.iter().map(dim).collect();
        Ok(Some(Window { block, index_map, buffering, streams: None }))
    }

    /// Checks that a SparseCore kernel sees an array where it lies: the map, which must be given,
    /// names the beginning.
    fn check_whole(
        &self,
        idx: usize,
        arg: &Arg<'_>,
        attrs: Option<&ast::Attrs>,
    ) -> Result<(), Diagnostic> {
        let is_start = |attr: &Attr| {
            let results = match attr {
                Attr::Other(text) if text.starts_with("affine_map<") => text.rsplit_once("->"),
                _ => None,
            };
            results.is_some_and(|(_, to)| !to.contains(|c: char| !"(0, )>".contains(c)))
        };
        let is_whole = attrs.is_none_or(|attrs| {
            attrs.iter().all(|(name, attr)| &**name == "transform_indices" && is_start(attr))
        });
        let space = self.space(idx, arg)?;
        if is_whole && matches!(space, MemorySpace::Hbm | MemorySpace::Any) {
            return Ok(());
        }
        let message = format!(
            "argument {idx} of the kernel, in {space}, is no whole array: those of SparseCore \
             kernels are"
        );
        Err(Diagnostic::error(Code::IMPORT_UNSUPPORTED, message))
    }

    /// Whether the index map of a window gives elements, not blocks.
    fn is_element(&self, idx: usize, attrs: &ast::Attrs) -> Result<bool, Diagnostic> {
        let Some(kind) = find(attrs, "window_kind") else { return Ok(false) };
        let inner = match kind {
            Attr::Other(text) => text.strip_prefix("#tpu.element_window<"),
            _ => None,
        };
        let Some(inner) = inner else {
            return Err(wrong(format!("the window of argument {idx} is of an unknown kind")));
        };
        if inner.contains(|c: char| ('1'..='9').contains(&c)) {
            let message = format!("the window of argument {idx} reaches into padding");
            return Err(Diagnostic::error(Code::IMPORT_UNSUPPORTED, message));
        }
        Ok(true)
    }

    /// Opens an index map; gives its arguments, grid indices and then prefetched tables.
    fn open_map(&self, importer: &mut Importer<'m>) -> (BlockId, Vec<ir::Value>) {
        let kernel = importer.builder.kernel();
        let mut types = vec![ir::Type::Scalar(ir::DType::I32); self.grid.len()];
        let tables = kernel.params.iter().filter(|param| param.kind == ParamKind::Prefetch);
        types.extend(tables.map(Param::ref_type));
        importer.builder.open_block(&types)
    }

    /// Imports the function that gives the block of a window.
    fn index_map(
        &self,
        importer: &mut Importer<'m>,
        idx: usize,
        attrs: &ast::Attrs,
        rank: usize,
    ) -> Result<BlockId, Diagnostic> {
        let Some(Attr::Symbol(symbol)) = find(attrs, "transform_indices") else {
            return Err(wrong(format!("the window of argument {idx} has no index map")));
        };
        let Some(function) = functions(self.module).find(|op| name(op) == &**symbol) else {
            return Err(wrong(format!(
                "the index map `{symbol}` of argument {idx} does not exist"
            )));
        };
        let (index_map, args) = self.open_map(importer);
        let Some(block) = function.regions.first().filter(|block| block.args.len() == args.len())
        else {
            return Err(wrong(format!(
                "the index map `{symbol}` does not take the {} grid indices and {} tables",
                self.grid.len(),
                self.n_prefetch
            )));
        };
        for (axis, (&arg, &value)) in block.args.iter().zip(&args).enumerate() {
            if axis < self.grid.len() {
                importer.expect_index(arg)?;
                importer.bind(arg, Val::Ir { value, multiple: 1 });
            } else {
                let table = self.args[axis - self.grid.len()].value;
                importer.expect_memref(arg, table)?;
                let is_read = |op: &Op| op.operands.contains(&arg);
                if self.written.contains(&table) && block.ops.iter().any(is_read) {
                    let message =
                        format!("the index map `{symbol}` reads a table that the kernel writes to");
                    return Err(Diagnostic::error(Code::IMPORT_UNSUPPORTED, message));
                }
                importer.bind_ref(arg, value);
            }
        }
        let outer = importer.loc;
        let returned = importer.straight_line(&block.ops, "func.return")?;
        if returned.len() != rank {
            return Err(wrong(format!(
                "the index map `{symbol}` gives {} numbers for {rank} axes",
                returned.len()
            )));
        }
        importer.builder.close_block(&returned, outer);
        importer.loc = outer;
        Ok(index_map)
    }

    /// The sizes of an argument's array.
    fn array_shape(
        &self,
        importer: &Importer<'_>,
        idx: usize,
        arg: &Arg<'_>,
        window: Option<&Window>,
        given: Option<&ArrayType>,
    ) -> Result<Vec<usize>, Diagnostic> {
        let block = one_axis(static_shape(idx, arg.shape)?);
        if let Some(given) = given {
            let shape = one_axis(Shape::from_slice(&given.shape)).to_vec();
            let dtype = self.dtype(idx, arg)?;
            let fits = match window {
                None => *shape == *block,
                Some(window) => shape.len() == window.block.len(),
            };
            if !fits || array::signed(given.dtype) != dtype {
                let message = format!(
                    "argument {idx} of the kernel is {dtype}{:?}, its array in the call is {given}",
                    block.as_slice()
                );
                return Err(Diagnostic::error(Code::IMPORT_CALL, message));
            }
            return Ok(shape);
        }
        let Some(window) = window else { return Ok(block.to_vec()) };
        let kernel = importer.builder.kernel();
        extent::array_shape(kernel, &window.block, window.index_map).ok_or_else(|| {
            let message = format!(
                "the size of the array of argument {idx} is not known: its blocks depend on tables \
                 or on the extents of the grid"
            );
            wrong(message).help("give the StableHLO module around the kernel, which has its types")
        })
    }
}

fn count(function: &Op, attr: &str) -> Result<usize, Diagnostic> {
    match find(&function.attrs, attr) {
        None => Ok(0),
        Some(Attr::Int(n, _)) if *n >= 0 => Ok(usize::try_from(*n).unwrap_or(usize::MAX)),
        Some(_) => Err(wrong(format!("`{attr}` of the kernel is no number"))),
    }
}

fn windows(function: &Op, n_arrays: usize) -> Result<Vec<Option<&ast::Attrs>>, Diagnostic> {
    let list = match find(&function.attrs, "window_params") {
        None => return Ok(vec![None; n_arrays]),
        Some(Attr::Array(list)) => list,
        Some(_) => return Err(wrong("`window_params` of the kernel are no list")),
    };
    if list.len() != n_arrays {
        return Err(wrong(format!(
            "the kernel has {n_arrays} inputs and outputs, but {} windows",
            list.len()
        )));
    }
    list.iter()
        .map(|window| match window {
            Attr::Dict(attrs) => Ok(Some(&**attrs)),
            _ => Err(wrong("a window of the kernel cannot be read")),
        })
        .collect()
}

fn arg(module: &Module, idx: usize, value: ValueId) -> Result<Arg<'_>, Diagnostic> {
    let Type::MemRef { shape, elem, space, .. } = &**module.ty(value) else {
        return Err(wrong(format!("argument {idx} of the kernel is no reference")));
    };
    let kind = match semaphore_kind(elem) {
        Some(kind) => ArgKind::Semaphores(kind),
        None => ArgKind::Memory(memory_space(space.as_ref())?),
    };
    Ok(Arg { value, shape, elem, kind })
}

/// What the elements of a memref count, if they are semaphores.
pub(super) fn semaphore_kind(elem: &Type) -> Option<SemaphoreKind> {
    match elem {
        Type::Other(text) if &**text == "!tpu.dma_semaphore" => Some(SemaphoreKind::Dma),
        Type::Other(text) if &**text == "!tpu.semaphore" => Some(SemaphoreKind::Regular),
        _ => None,
    }
}

/// The memory space of a memref.
pub(super) fn memory_space(space: Option<&Attr>) -> Result<MemorySpace, Diagnostic> {
    let Some(space) = space else { return Ok(MemorySpace::Any) };
    let text = match space {
        Attr::Other(text) => &**text,
        _ => return Err(wrong("a memory space cannot be read")),
    };
    let name = text.strip_prefix("#tpu.memory_space<").and_then(|text| text.strip_suffix('>'));
    let found = match name {
        Some("vmem") => Some(MemorySpace::Vmem),
        Some("smem") => Some(MemorySpace::Smem),
        Some("hbm") => Some(MemorySpace::Hbm),
        Some("any") => Some(MemorySpace::Any),
        Some("vmem_shared") => Some(MemorySpace::Spmem),
        _ => None,
    };
    found.ok_or_else(|| {
        Diagnostic::error(Code::IMPORT_UNSUPPORTED, format!("memory space `{text}`"))
    })
}

/// The sizes of an argument, all of which must be known.
fn static_shape(idx: usize, shape: &[i64]) -> Result<Shape, Diagnostic> {
    let sizes: Result<Shape, _> = shape.iter().map(|&size| usize::try_from(size)).collect();
    sizes.map_err(|_| wrong(format!("argument {idx} of the kernel has no static shape")))
}

/// A shape of at least one axis: the IR has no references without.
pub(super) fn one_axis(mut shape: Shape) -> Shape {
    if shape.is_empty() {
        shape.push(1);
    }
    shape
}

/// A type for a message.
pub(super) fn type_text(ty: &Type) -> String {
    match ty {
        Type::Int { width, sign } => {
            let sign = match sign {
                ast::Sign::Signless => "i",
                ast::Sign::Signed => "si",
                ast::Sign::Unsigned => "ui",
            };
            format!("{sign}{width}")
        }
        Type::Index => "index".into(),
        Type::Float(name) | Type::Other(name) => name.to_string(),
        Type::Vector { shape, elem } => shaped_text("vector", shape, elem),
        Type::MemRef { shape, elem, .. } => shaped_text("memref", shape, elem),
        Type::Tensor { shape, elem } => shaped_text("tensor", shape, elem),
        Type::Function { .. } => "function".into(),
    }
}

fn shaped_text(name: &str, shape: &[i64], elem: &Type) -> String {
    let sizes: String = shape
        .iter()
        .map(|&size| if size == ast::DYNAMIC { "?x".into() } else { format!("{size}x") })
        .collect();
    format!("{name}<{sizes}{}>", type_text(elem))
}

/// The references that ops write to.
#[derive(Default)]
struct Written {
    targets: Vec<ValueId>,
    /// What each view is a view of.
    bases: HashMap<ValueId, ValueId>,
}

impl Written {
    fn collect(&mut self, ops: &[Op]) {
        for op in ops {
            let name = short_name(op);
            if let (true, Some(&of), Some(&view)) =
                (name.starts_with("tpu.memref_"), op.operands.first(), op.results.first())
            {
                let base = self.bases.get(&of).copied().unwrap_or(of);
                self.bases.insert(view, base);
            }
            let target = match name {
                "tpu.vector_store"
                | "tpu.strided_store"
                | "memref.store"
                | "vector.store"
                | "tpu.vector_store_idx"
                | "tpu.enqueue_indirect_dma" => 1,
                // Behind the source and, of a copy to a peer, its semaphore.
                "tpu.enqueue_dma" => match find(&op.attrs, "operandSegmentSizes") {
                    Some(Attr::Ints(sizes)) if sizes.get(1) == Some(&1) => 2,
                    _ => 1,
                },
                _ => usize::MAX,
            };
            if let Some(target) = op.operands.get(target) {
                self.targets.push(self.bases.get(target).copied().unwrap_or(*target));
            }
            for region in &op.regions {
                self.collect(&region.ops);
            }
        }
    }
}
