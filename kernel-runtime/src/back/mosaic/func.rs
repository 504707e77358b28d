//! The kernel's function, its windows and their index maps.

use super::Options;
use super::lower::{Form, Lowerer, Reference, memory_space};
use super::ops;
use crate::back::mlir::{Attr, Elem, Module, OpSpec, Operation, Session, Type, Value};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{
    self, BlockDim, Core, DType, Extent, Kernel, LocId, MemorySpace, Param, ParamKind, Semantics,
    SemaphoreKind, Shape, ValueDef,
};
use crate::target::Chip;
use crate::valid::{Valid, n_buffers};
use smallvec::SmallVec;

/// What stands for a size that is known at run time alone.
const DYNAMIC: i64 = i64::MIN;

/// A function argument that is no grid index.
struct Arg {
    /// Which parameter, and which part of its block; `None` for scratch and semaphores.
    param: Option<(usize, usize)>,
    shape: Shape,
    kind: ArgKind,
}

/// What an argument holds.
enum ArgKind {
    Memory(DType, MemorySpace),
    Semaphores(SemaphoreKind),
}

/// Builds the module: the kernel's function and one function per window.
///
/// # Errors
/// Every op or parameter that the target's compiler cannot do.
pub(super) fn build<'s>(
    session: &'s Session,
    valid: &Valid,
    options: &Options,
) -> Result<Module<'s>, Diagnostics> {
    let (kernel, target) = (valid.kernel(), valid.target());
    let Some(chip) = target.chip else {
        let message = format!("target {} is no TPU", target.name);
        return Err(Diagnostic::error(Code::MOSAIC_UNSUPPORTED, message)
            .help("validate the kernel for one of v4, v5e, v5p, v6e, tpu7x")
            .into());
    };
    let module = session.module(session.unknown_location());
    let mut builder = FuncBuilder { session, kernel, chip, module, options: *options };
    builder.kernel_function(target.name)
}

struct FuncBuilder<'a, 's> {
    session: &'s Session,
    kernel: &'a Kernel,
    chip: Chip,
    module: Module<'s>,
    options: Options,
}

impl<'a, 's> FuncBuilder<'a, 's> {
    fn kernel_function(&mut self, target_name: &'static str) -> Result<Module<'s>, Diagnostics> {
        let kernel = self.kernel;
        let args = arguments(kernel);
        let n_grid = kernel.grid.len().max(1);
        let i32_ty = self.session.elem(Elem::I32);
        let mut types = vec![i32_ty; n_grid];
        types.extend(args.iter().map(|arg| self.memref(arg)));
        let function_ty = self.session.function(&types, &[]);
        let windows = self.windows(&args);
        let attrs = self.function_attrs(&args, &windows);
        let op = self.function(&kernel.name, function_ty, &types, &attrs);
        let entry = op.block(0);

        let mut lowerer =
            Lowerer::new(self.session, kernel, self.chip, target_name, self.options, entry);
        for axis in 0..kernel.grid.len() {
            lowerer.bind(kernel.grid_index(axis), entry.arg(axis));
        }
        self.bind_params(&mut lowerer, &args, |idx| entry.arg(n_grid + idx));
        self.bind_scratch(&mut lowerer, &args, |idx| entry.arg(n_grid + idx));
        self.bind_semaphores(&mut lowerer, &args, |idx| entry.arg(n_grid + idx));
        for param in 0..kernel.params.len() {
            self.copy_in(&mut lowerer, param, &args, |idx| entry.arg(n_grid + idx));
        }
        lowerer.lower_ops(kernel.body);
        lowerer.set_loc(LocId::UNKNOWN);
        lowerer.emit("func.return", &[], &[], &[], &[]);
        for (name, param, part) in &windows {
            self.transform(&mut lowerer, name, *param, *part);
        }
        if lowerer.errors.is_empty() { Ok(self.module) } else { Err(lowerer.errors) }
    }

    fn memref(&self, arg: &Arg) -> Type<'s> {
        match arg.kind {
            ArgKind::Memory(dtype, space) => {
                let space = memory_space(self.session, space);
                self.session.memref(&arg.shape, Lowerer::memory_elem(dtype), space)
            }
            ArgKind::Semaphores(kind) => ops::semaphores(self.session, kind, &arg.shape),
        }
    }

    fn function(
        &self,
        name: &str,
        ty: Type<'s>,
        args: &[Type<'s>],
        extra: &[(&str, Attr<'s>)],
    ) -> Operation<'s> {
        let mut attrs = vec![
            ("function_type", self.session.type_attr(ty)),
            ("sym_name", self.session.string_attr(name)),
        ];
        attrs.extend_from_slice(extra);
        let location = self.session.unknown_location();
        let spec = OpSpec {
            name: "func.func",
            operands: &[],
            results: &[],
            attrs: &attrs,
            regions: &[args],
            location,
        };
        self.module.body().append(self.session, &spec)
    }

    /// Name, parameter and part of every window, in argument order: inputs, then outputs.
    fn windows(&self, args: &[Arg]) -> Vec<(String, usize, usize)> {
        let windows = args.iter().filter_map(|arg| arg.param);
        let windows =
            windows.filter(|&(param, _)| self.kernel.params[param].kind != ParamKind::Prefetch);
        windows
            .enumerate()
            .map(|(idx, (param, part))| {
                (format!("{}__window_{idx}", self.kernel.name), param, part)
            })
            .collect()
    }

    fn function_attrs(
        &self,
        args: &[Arg],
        windows: &[(String, usize, usize)],
    ) -> Vec<(&'static str, Attr<'s>)> {
        let session = self.session;
        let i64_ty = session.elem(Elem::I64);
        let count = |n: usize| session.int_attr(i64_ty, n as i64);
        let grid = &self.kernel.grid;
        let semantics = |semantics: Semantics| {
            session.parsed_attr(&format!("#tpu.dimension_semantics<{}>", semantics.name()))
        };
        let mut axes: Vec<Attr<'s>> = grid.iter().map(|axis| semantics(axis.semantics)).collect();
        let mut bounds: Vec<i64> = grid
            .iter()
            .map(|axis| match axis.extent {
                Extent::Static(extent) => extent as i64,
                Extent::Dynamic { .. } => DYNAMIC,
            })
            .collect();
        if grid.is_empty() {
            // One step, so that windows and their index maps work as in any other kernel.
            axes.push(semantics(Semantics::Arbitrary));
            bounds.push(1);
        }
        let n_prefetch =
            self.kernel.params.iter().filter(|param| param.kind == ParamKind::Prefetch).count();
        let params: Vec<Attr<'s>> = windows
            .iter()
            .map(|(name, param, part)| self.window_attr(name, *param, *part))
            .collect();
        vec![
            ("dimension_semantics", session.array_attr(&axes)),
            ("iteration_bounds", session.i64_array_attr(&bounds)),
            ("scalar_prefetch", count(n_prefetch)),
            ("scratch_operands", count(args.iter().filter(|arg| arg.param.is_none()).count())),
            (
                "tpu.core_type",
                session.parsed_attr(match self.kernel.core {
                    Core::Tensor => "#tpu.core_type<tc>",
                    Core::Sparse => "#tpu.core_type<sc_vector_subcore>",
                    Core::SparseScalar => "#tpu.core_type<sc_scalar_subcore>",
                }),
            ),
            ("window_params", session.array_attr(&params)),
        ]
    }

    fn window_attr(&self, name: &str, param: usize, part: usize) -> Attr<'s> {
        let session = self.session;
        let param = &self.kernel.params[param];
        if self.kernel.core.is_sparse() {
            // An array is there as a whole; the map must be given, and is not used.
            let dims: Vec<String> =
                (0..self.kernel.grid.len()).map(|axis| format!("d{axis}")).collect();
            let zeros = vec!["0"; param.axes.len()].join(", ");
            let map = format!("affine_map<({}) -> ({zeros})>", dims.join(", "));
            return session.dict_attr(&[("transform_indices", session.parsed_attr(&map))]);
        }
        if param.window.is_none() && matches!(param.space, MemorySpace::Hbm | MemorySpace::Any) {
            return session.dict_attr(&[]);
        }
        let bounds: Vec<i64> = part_shape(param, part).iter().map(|&size| size as i64).collect();
        let mut entries = vec![
            ("transform_indices", session.symbol_attr(name)),
            ("window_bounds", session.i64_array_attr(&bounds)),
        ];
        if let Some(window) = &param.window {
            if n_buffers(param) == 1 {
                let mode = session.parsed_attr("#tpu.pipeline_mode<synchronous>");
                entries.push(("pipeline_mode", mode));
            }
            if is_element_window(param) {
                let zeros = vec!["0"; window.block.len()].join(", ");
                let kind = format!("#tpu.element_window<[{zeros}], [{zeros}]>");
                entries.push(("window_kind", session.parsed_attr(&kind)));
            }
        }
        session.dict_attr(&entries)
    }

    /// Binds the body's references of parameters: of an `InOut`, the output window.
    fn bind_params(
        &self,
        lowerer: &mut Lowerer<'a, 's>,
        args: &[Arg],
        value: impl Fn(usize) -> Value<'s>,
    ) {
        for (idx, param) in self.kernel.params.iter().enumerate() {
            let parts: Vec<usize> = (0..args.len())
                .filter(|&arg| args[arg].param.is_some_and(|(of, _)| of == idx))
                .collect();
            let parts = match param.kind {
                ParamKind::InOut => &parts[parts.len() - 1..],
                ParamKind::Prefetch | ParamKind::In | ParamKind::Out => &parts[..],
            };
            let parts = parts.iter().map(|&arg| value(arg)).collect();
            let reference = reference(param, parts);
            lowerer.bind_ref(self.kernel.param_ref(idx), reference);
        }
    }

    fn bind_scratch(
        &self,
        lowerer: &mut Lowerer<'a, 's>,
        args: &[Arg],
        value: impl Fn(usize) -> Value<'s>,
    ) {
        let first = args.iter().rposition(|arg| arg.param.is_some()).map_or(0, |last| last + 1);
        for (idx, scratch) in self.kernel.scratch.iter().enumerate() {
            let (shape, dtype) = (scratch.shape.clone(), scratch.dtype);
            let reference = Reference::whole(value(first + idx), shape, dtype);
            lowerer.bind_ref(self.kernel.scratch_ref(idx), reference);
        }
    }

    /// Binds semaphores; the barrier is no argument.
    fn bind_semaphores(
        &self,
        lowerer: &mut Lowerer<'a, 's>,
        args: &[Arg],
        value: impl Fn(usize) -> Value<'s>,
    ) {
        let is_semaphore = |arg: &Arg| matches!(arg.kind, ArgKind::Semaphores(_));
        let mut given = (0..args.len()).filter(|&idx| is_semaphore(&args[idx]));
        for (idx, array) in self.kernel.semaphores.iter().enumerate() {
            let bound = if array.kind == SemaphoreKind::Barrier {
                let ty = ops::semaphores(self.session, array.kind, &[]);
                Some(lowerer.op("tpu.sem_barrier", &[], ty, &[]))
            } else {
                given.next().map(&value)
            };
            if let Some(bound) = bound {
                lowerer.bind(self.kernel.semaphore_ref(idx), bound);
            }
        }
    }

    /// Copies the input window of an `InOut` to its output window at the first step that sees a
    /// block: there the output window is undefined.
    fn copy_in(
        &self,
        lowerer: &mut Lowerer<'a, 's>,
        idx: usize,
        args: &[Arg],
        value: impl Fn(usize) -> Value<'s>,
    ) {
        let param = &self.kernel.params[idx];
        if param.kind != ParamKind::InOut || param.window.is_none() {
            return;
        }
        lowerer.set_loc(param.loc);
        let windows: Vec<usize> = (0..args.len())
            .filter(|&arg| args[arg].param.is_some_and(|(of, _)| of == idx))
            .collect();
        let (Some(&input), Some(&output)) = (windows.first(), windows.last()) else { return };
        let (input, output) = (value(input), value(output));
        let Some(first_visit) = self.first_visit(lowerer, param) else {
            return ops::copy_block(lowerer, input, output, param);
        };
        let branch = lowerer.emit("scf.if", &[first_visit], &[], &[], &[&[], &[]]);
        let outer = lowerer.set_block(branch.block(0));
        ops::copy_block(lowerer, input, output, param);
        lowerer.emit("scf.yield", &[], &[], &[], &[]);
        lowerer.set_block(branch.block(1));
        lowerer.emit("scf.yield", &[], &[], &[], &[]);
        lowerer.set_block(outer);
    }

    /// Whether the step at hand is the first that sees its block; `None` if every step is.
    ///
    /// Steps that differ in a `parallel` axis see different blocks. Along the others, the block
    /// is a new one if the axis is an entry of the index map; if the map computes with indices,
    /// its value is compared with that of the step before.
    fn first_visit(&self, lowerer: &mut Lowerer<'a, 's>, param: &Param) -> Option<Value<'s>> {
        let kernel = self.kernel;
        let window = param.window.as_ref()?;
        let map_args = &kernel.block(window.index_map).args;
        let mut injective = vec![false; kernel.grid.len()];
        let mut is_simple = true;
        for &entry in kernel.yields(window.index_map) {
            match kernel.def(entry) {
                ValueDef::Arg(block, idx) if block == window.index_map => {
                    if let Some(axis) = injective.get_mut(idx as usize) {
                        *axis = true;
                    }
                }
                ValueDef::Arg(..) => is_simple = false,
                ValueDef::Result(op, _) => {
                    let op = &kernel.op(op).op;
                    is_simple &=
                        matches!(op, ir::Op::Elementwise(ir::ops::Elementwise::Constant(_)));
                }
            }
        }
        let steps: Vec<usize> = (0..kernel.grid.len())
            .filter(|&axis| {
                let axis = &kernel.grid[axis];
                axis.semantics == Semantics::Arbitrary && axis.extent != Extent::Static(1)
            })
            .collect();
        let zero = lowerer.int_constant(&Form::SCALAR, Elem::I32, 0);
        let scalar = &Form::SCALAR;
        let mut conds: Vec<Value<'s>> = Vec::new();
        if is_simple {
            for &axis in steps.iter().filter(|&&axis| !injective[axis]) {
                let index = lowerer.value(kernel.grid_index(axis)).ok()?;
                conds.push(lowerer.cmpi(0, scalar, index, zero));
            }
            let all = conds
                .into_iter()
                .reduce(|a, b| lowerer.apply("arith.andi", &[a, b], scalar, Elem::I1));
            return all;
        }
        let mut indices: Vec<Value<'s>> = Vec::new();
        for axis in 0..kernel.grid.len() {
            indices.push(lowerer.value(kernel.grid_index(axis)).ok()?);
        }
        let (before, is_first) = self.step_before(lowerer, &indices, &steps);
        let prefetch: Vec<ir::Value> = map_args[kernel.grid.len()..].to_vec();
        for (idx, &arg) in prefetch.iter().enumerate() {
            if let Ok(table) = lowerer.reference(kernel.param_ref(idx)) {
                lowerer.bind_ref(
                    arg,
                    Reference {
                        parts: table.parts.clone(),
                        part_shape: table.part_shape.clone(),
                        kept: table.kept.clone(),
                        stream_axis: 0,
                        dtype: table.dtype,
                    },
                );
            }
        }
        let here = self.inline_map(lowerer, window.index_map, &indices)?;
        let there = self.inline_map(lowerer, window.index_map, &before)?;
        let mut changed = is_first;
        for (&a, &b) in here.iter().zip(&there) {
            let differs = lowerer.cmpi(1, scalar, a, b);
            changed = lowerer.apply("arith.ori", &[changed, differs], scalar, Elem::I1);
        }
        Some(changed)
    }

    /// The indices of the step before along the axes that run in order, and whether there is none.
    fn step_before(
        &self,
        lowerer: &mut Lowerer<'a, 's>,
        indices: &[Value<'s>],
        steps: &[usize],
    ) -> (Vec<Value<'s>>, Value<'s>) {
        let scalar = &Form::SCALAR;
        let zero = lowerer.int_constant(scalar, Elem::I32, 0);
        let one = lowerer.int_constant(scalar, Elem::I32, 1);
        let mut before = indices.to_vec();
        let mut borrows = lowerer.bool_constant(scalar, true);
        for &axis in steps.iter().rev() {
            let last = match self.kernel.grid[axis].extent {
                Extent::Static(extent) => {
                    lowerer.int_constant(scalar, Elem::I32, extent as i64 - 1)
                }
                Extent::Dynamic { .. } => {
                    let bound = lowerer.grid_extent(axis);
                    lowerer.apply("arith.subi", &[bound, one], scalar, Elem::I32)
                }
            };
            let less = lowerer.apply("arith.subi", &[indices[axis], one], scalar, Elem::I32);
            let is_zero = lowerer.cmpi(0, scalar, indices[axis], zero);
            let wrapped = lowerer.select(is_zero, last, less, scalar, Elem::I32);
            before[axis] = lowerer.select(borrows, wrapped, indices[axis], scalar, Elem::I32);
            borrows = lowerer.apply("arith.andi", &[borrows, is_zero], scalar, Elem::I1);
        }
        (before, borrows)
    }

    /// Lowers an index map in place for these grid indices.
    fn inline_map(
        &self,
        lowerer: &mut Lowerer<'a, 's>,
        map: ir::BlockId,
        indices: &[Value<'s>],
    ) -> Option<Vec<Value<'s>>> {
        for (&arg, &index) in self.kernel.block(map).args.iter().zip(indices) {
            lowerer.bind(arg, index);
        }
        lowerer.lower_ops(map);
        self.kernel.yields(map).iter().map(|&entry| lowerer.value(entry).ok()).collect()
    }

    /// The function that gives the block a window shows at a grid step.
    fn transform(&self, lowerer: &mut Lowerer<'a, 's>, name: &str, idx: usize, part: usize) {
        let kernel = self.kernel;
        let param = &kernel.params[idx];
        if param.window.is_none() && matches!(param.space, MemorySpace::Hbm | MemorySpace::Any) {
            return;
        }
        let i32_ty = self.session.elem(Elem::I32);
        let n_grid = kernel.grid.len().max(1);
        let mut types = vec![i32_ty; n_grid];
        let tables: Vec<usize> = (0..kernel.params.len())
            .filter(|&param| kernel.params[param].kind == ParamKind::Prefetch)
            .collect();
        for &table in &tables {
            types.push(self.memref(&argument(&kernel.params[table], table, 0)));
        }
        let results = vec![i32_ty; param.axes.len()];
        let ty = self.session.function(&types, &results);
        let function = self.function(name, ty, &types, &[]);
        let entry = function.block(0);
        lowerer.enter(entry);
        let entries = match &param.window {
            None => {
                let zero = lowerer.int_constant(&Form::SCALAR, Elem::I32, 0);
                vec![zero; param.axes.len()]
            }
            Some(window) => {
                let args = &kernel.block(window.index_map).args;
                for (idx, &arg) in args.iter().enumerate() {
                    match tables.get(idx.wrapping_sub(kernel.grid.len())) {
                        Some(&table) => {
                            let parts = vec![entry.arg(n_grid + idx - kernel.grid.len())];
                            lowerer.bind_ref(arg, reference(&kernel.params[table], parts));
                        }
                        None => lowerer.bind(arg, entry.arg(idx)),
                    }
                }
                lowerer.lower_ops(window.index_map);
                self.window_entries(lowerer, param, window, part)
            }
        };
        lowerer.set_loc(LocId::UNKNOWN);
        lowerer.emit("func.return", &entries, &[], &[], &[]);
    }

    /// What the index map yields, as a part of the window counts it.
    fn window_entries(
        &self,
        lowerer: &mut Lowerer<'a, 's>,
        param: &Param,
        window: &ir::Window,
        part: usize,
    ) -> Vec<Value<'s>> {
        lowerer.set_loc(param.loc);
        let scalar = &Form::SCALAR;
        let mut entries = Vec::new();
        for (axis, (&entry, dim)) in
            self.kernel.yields(window.index_map).iter().zip(&window.block).enumerate()
        {
            let mut value = match lowerer.value(entry) {
                Ok(value) => value,
                Err(error) => {
                    lowerer.errors.push(error);
                    return entries;
                }
            };
            let streams = window.streams.filter(|streams| streams.axis == axis && streams.n > 1);
            let (mut scale, mut offset) = (1, 0);
            if let Some(streams) = streams {
                let counts_elements = matches!(dim, BlockDim::Element(_));
                scale = if counts_elements { 1 } else { streams.n };
                offset = if counts_elements { part * (dim.size() / streams.n) } else { part };
            }
            if scale != 1 {
                let by = lowerer.int_constant(scalar, Elem::I32, scale as i64);
                value = lowerer.apply("arith.muli", &[value, by], scalar, Elem::I32);
            }
            if offset != 0 {
                let by = lowerer.int_constant(scalar, Elem::I32, offset as i64);
                value = lowerer.apply("arith.addi", &[value, by], scalar, Elem::I32);
            }
            entries.push(value);
        }
        entries
    }
}

/// Every argument after the grid indices: prefetch, inputs, outputs, scratch.
fn arguments(kernel: &Kernel) -> Vec<Arg> {
    let mut args = Vec::new();
    let params = || kernel.params.iter().enumerate();
    for (idx, param) in params().filter(|(_, param)| param.kind == ParamKind::Prefetch) {
        args.push(argument(param, idx, 0));
    }
    let inputs = params().filter(|(_, p)| matches!(p.kind, ParamKind::In | ParamKind::InOut));
    for (idx, param) in inputs {
        for part in 0..n_parts(param) {
            args.push(argument(param, idx, part));
        }
    }
    for (idx, param) in params().filter(|(_, param)| param.kind.is_output()) {
        args.push(argument(param, idx, 0));
    }
    for scratch in &kernel.scratch {
        args.push(Arg {
            param: None,
            shape: scratch.shape.clone(),
            kind: ArgKind::Memory(scratch.dtype, scratch.space),
        });
    }
    for array in kernel.semaphores.iter().filter(|array| array.kind != SemaphoreKind::Barrier) {
        let kind = ArgKind::Semaphores(array.kind);
        args.push(Arg { param: None, shape: array.shape.clone(), kind });
    }
    args
}

fn argument(param: &Param, idx: usize, part: usize) -> Arg {
    Arg {
        param: Some((idx, part)),
        shape: part_shape(param, part),
        kind: ArgKind::Memory(param.dtype, param.space),
    }
}

/// Into how many windows a parameter's block is cut.
pub(super) fn n_parts(param: &Param) -> usize {
    let streams = param.window.as_ref().and_then(|window| window.streams);
    match (param.kind, streams) {
        (ParamKind::In, Some(streams)) => streams.n.max(1),
        _ => 1,
    }
}

fn part_shape(param: &Param, _part: usize) -> Shape {
    let mut shape = param.window_shape();
    let n = n_parts(param);
    if let Some(streams) = param.window.as_ref().and_then(|window| window.streams)
        && n > 1
    {
        shape[streams.axis] /= n;
    }
    shape
}

fn reference<'s>(param: &Param, parts: Vec<Value<'s>>) -> Reference<'s> {
    let kept: SmallVec<[bool; 4]> = match &param.window {
        Some(window) => window.block.iter().map(|dim| !matches!(dim, BlockDim::Squeezed)).collect(),
        None => param.axes.iter().map(|_| true).collect(),
    };
    let streams = param.window.as_ref().and_then(|window| window.streams);
    Reference {
        parts,
        part_shape: part_shape(param, 0),
        kept,
        stream_axis: streams.map_or(0, |streams| streams.axis),
        dtype: param.dtype,
    }
}

fn is_element_window(param: &Param) -> bool {
    let window = param.window.as_ref();
    window.is_some_and(|window| window.block.iter().any(|dim| matches!(dim, BlockDim::Element(_))))
}
