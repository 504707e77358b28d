//! The grid as a nest of loops, windows of arrays, and the function around them.

use super::lanes::{Lanes, with_lanes};
use super::lower::{Lowering, Slot, Val};
use super::text::{Direction, Tensor, Writer};
use super::{Options, Padding, n_dynamic_extents};
use crate::diag::Diagnostic;
use crate::ir::kernel::{BlockDim, Extent, Param, Window};
use crate::ir::ops::Literal;
use crate::ir::ty::{MemorySpace, Shape};
use crate::ir::{DType, Kernel, Op, ParamKind};

/// Grid axes are unrolled, innermost first, while the body's ops times the steps stay below this:
/// XLA compiles in time that grows with the program, and gains from seeing a few steps at once.
const UNROLL_LIMIT_OPS: usize = 256;

/// Lowers a kernel whose ops are all supported to a module.
pub(super) fn lower_kernel(kernel: &Kernel, options: Options) -> Result<String, Diagnostic> {
    let (out, results) = lower_body(kernel, options)?;
    Ok(out.finish(&module_name(&kernel.name), &results))
}

/// Lowers a kernel whose ops are all supported to a private function of this name.
pub(super) fn lower_function(
    kernel: &Kernel,
    name: &str,
    options: Options,
) -> Result<String, Diagnostic> {
    let (mut out, results) = lower_body(kernel, options)?;
    let results: Vec<Tensor> = results.iter().map(|x| out.optimization_barrier(x)).collect();
    Ok(out.finish_function(&format!("private @{name}"), &[], &results))
}

fn lower_body(kernel: &Kernel, options: Options) -> Result<(Writer, Vec<Tensor>), Diagnostic> {
    let plan = Plan::new(kernel);
    let mut cx = Lowering::new(kernel, options, plan.n_slots());
    cx.n_lanes = plan.lanes.as_ref().map(|lanes| lanes.n);
    let extents = plan.add_args(&mut cx)?;
    cx.extents = extents;
    let mut nest = Nest { plan: &plan, indices: Vec::new() };
    nest.lower_level(&mut cx)?;
    let mut results = Vec::new();
    for (idx, param) in kernel.params.iter().enumerate().filter(|(_, p)| p.kind.is_output()) {
        let array = cx.read_tensor(plan.array_slot(idx))?;
        let shape = param.array_shape();
        let (zeros, ones) = (vec![0; shape.len()], vec![1; shape.len()]);
        results.push(cx.out.slice(&array, &zeros, &shape, &ones));
    }
    Ok((cx.out, results))
}

fn module_name(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.$".contains(c));
    if plain {
        return name.to_string();
    }
    let quotable = |c: char| if c.is_control() || "\"\\".contains(c) { '_' } else { c };
    format!("\"{}\"", name.chars().map(quotable).collect::<String>())
}

/// What is decided before a line is written.
struct Plan<'a> {
    kernel: &'a Kernel,
    /// Per parameter: the number of outer grid axes that determine its window; 0 means that it is
    /// read once.
    levels: Vec<usize>,
    /// Per parameter: whether the body stores to it.
    written: Vec<bool>,
    /// Per grid axis: whether its steps are written out.
    unrolled: Vec<bool>,
    /// The axes whose steps are computed at once.
    lanes: Option<Lanes>,
}

/// The grid loops around the current place.
struct Nest<'a> {
    plan: &'a Plan<'a>,
    /// The indices of the loops entered so far.
    indices: Vec<Val>,
}

impl<'a> Plan<'a> {
    fn new(kernel: &'a Kernel) -> Plan<'a> {
        let levels = kernel.params.iter().map(|param| match &param.window {
            Some(window) => window_level(kernel, window),
            None => 0,
        });
        let mut written = vec![false; kernel.params.len()];
        let mut n_ops = 0;
        kernel.walk(kernel.body, &mut |_, op| {
            n_ops += 1;
            if let Some(reference) = op.written()
                && let Some(idx) =
                    (0..written.len()).find(|&idx| kernel.param_ref(idx) == reference)
            {
                written[idx] = true;
            }
        });
        let lanes = Lanes::choose(kernel, &written);
        let unrolled = unrolled_axes(kernel, lanes.as_ref(), n_ops);
        Plan { kernel, levels: levels.collect(), written, unrolled, lanes }
    }

    /// The lanes, if this parameter has any.
    fn lanes_of(&self, param: usize) -> Option<&Lanes> {
        self.lanes.as_ref().filter(|lanes| lanes.has_param(param))
    }

    fn n_slots(&self) -> usize {
        2 * self.kernel.params.len() + self.kernel.scratch.len()
    }

    fn array_slot(&self, param: usize) -> Slot {
        param
    }

    fn block_slot(&self, param: usize) -> Slot {
        self.kernel.params.len() + param
    }

    fn scratch_slot(&self, scratch: usize) -> Slot {
        2 * self.kernel.params.len() + scratch
    }

    /// Declares the function's arguments and sets up arrays, scratch and references. Gives the
    /// extents of the grid.
    fn add_args(&self, cx: &mut Lowering<'_>) -> Result<Vec<Val>, Diagnostic> {
        let kernel = self.kernel;
        let sizes: Vec<Tensor> =
            (0..n_dynamic_extents(kernel)).map(|_| cx.out.arg(DType::I32, &[])).collect();
        let extents = kernel.grid.iter().map(|axis| match axis.extent {
            Extent::Static(n) => Val::index(n as i64),
            Extent::Dynamic { operand } => sizes[operand].clone().into(),
        });
        let extents: Vec<Val> = extents.collect();
        let inputs: Vec<Option<Tensor>> = kernel
            .params
            .iter()
            .map(|param| {
                param.kind.is_input().then(|| cx.out.arg(param.dtype, &param.array_shape()))
            })
            .collect();
        for (idx, (param, input)) in kernel.params.iter().zip(inputs).enumerate() {
            cx.set_loc(param.loc);
            let array = match input {
                Some(input) => pad_to_blocks(cx, param, &input).into(),
                None => zeros(param.dtype, &padded_shape(kernel, param)),
            };
            cx.write(self.array_slot(idx), array);
            cx.define_ref(kernel.param_ref(idx), self.block_slot(idx));
        }
        self.define_prefetch_args(cx);
        for (idx, scratch) in kernel.scratch.iter().enumerate() {
            let shape = match &self.lanes {
                Some(lanes) => with_lanes(lanes.n, &scratch.shape),
                None => scratch.shape.clone(),
            };
            cx.write(self.scratch_slot(idx), zeros(scratch.dtype, &shape));
            cx.define_ref(kernel.scratch_ref(idx), self.scratch_slot(idx));
        }
        Ok(extents)
    }

    /// The arguments of index maps that stand for prefetched tables.
    fn define_prefetch_args(&self, cx: &mut Lowering<'_>) {
        let tables: Vec<usize> = (0..self.kernel.params.len())
            .filter(|&idx| self.kernel.params[idx].kind == ParamKind::Prefetch)
            .collect();
        for window in self.kernel.params.iter().filter_map(|param| param.window.as_ref()) {
            let args = self.kernel.block(window.index_map).args.iter();
            for (&arg, &table) in args.skip(self.kernel.grid.len()).zip(&tables) {
                cx.define_ref(arg, self.array_slot(table));
            }
        }
    }

    /// The state that the steps inside `depth` loops change.
    fn carried_slots(&self, cx: &Lowering<'_>, depth: usize) -> Vec<Slot> {
        let mut slots = Vec::new();
        for idx in (0..self.kernel.params.len()).filter(|&idx| self.written[idx]) {
            slots.push(match self.levels[idx] <= depth {
                true => self.block_slot(idx),
                false => self.array_slot(idx),
            });
        }
        let first_scratch = 2 * self.kernel.params.len();
        let stored = cx.written_slots(&[self.kernel.body]);
        slots.extend(stored.into_iter().filter(|&slot| slot >= first_scratch));
        slots.sort_unstable();
        slots
    }
}

impl Nest<'_> {
    /// Lowers what happens inside the loops entered so far: windows that are settled by now are
    /// read, inner loops or the body run, and written windows are put back.
    fn lower_level(&mut self, cx: &mut Lowering<'_>) -> Result<(), Diagnostic> {
        let (plan, depth) = (self.plan, self.indices.len());
        let mut places = Vec::new();
        for idx in (0..plan.levels.len()).filter(|&idx| plan.levels[idx] == depth) {
            places.push((idx, self.read_window(cx, idx)?));
        }
        if depth == plan.kernel.grid.len() {
            for (axis, index) in self.indices.iter().enumerate() {
                cx.define(plan.kernel.grid_index(axis), index.clone());
            }
            cx.lower_block(plan.kernel.body)?;
        } else {
            self.lower_axis(cx)?;
        }
        for (idx, place) in places {
            if plan.written[idx] && plan.kernel.params[idx].kind.is_output() {
                self.write_window(cx, idx, place)?;
            }
        }
        Ok(())
    }

    fn lower_axis(&mut self, cx: &mut Lowering<'_>) -> Result<(), Diagnostic> {
        let axis = self.indices.len();
        let extent = cx.extents[axis].clone();
        if let Some(lanes) = self.plan.lanes.as_ref().filter(|lanes| lanes.contains(axis)) {
            let index = lanes.index(cx, axis);
            return self.enter(cx, index.into());
        }
        if self.plan.unrolled[axis]
            && let Some(n) = extent.as_int()
        {
            for step in 0..n {
                self.enter(cx, Val::index(step))?;
            }
            return Ok(());
        }
        let slots = self.plan.carried_slots(cx, axis);
        cx.set_loc(crate::ir::LocId::UNKNOWN);
        let mut inits = vec![cx.out.index(0)];
        inits.extend(cx.read_tensors(&slots)?);
        let (limit, one) = (cx.materialise(&extent), cx.out.index(1));
        let open = cx.out.begin_while(&inits);
        let below = cx.out.compare(Direction::Lt, &open.args[0], &limit);
        cx.out.while_body(&below);
        cx.write_all(&slots, &open.args[1..]);
        self.enter(cx, open.args[0].clone().into())?;
        cx.set_loc(crate::ir::LocId::UNKNOWN);
        let mut next = vec![cx.out.binary("add", &open.args[0], &one)];
        next.extend(cx.read_tensors(&slots)?);
        let results = cx.out.end_while(&open, &next);
        cx.write_all(&slots, &results[1..]);
        Ok(())
    }

    fn enter(&mut self, cx: &mut Lowering<'_>, index: Val) -> Result<(), Diagnostic> {
        self.indices.push(index);
        let done = self.lower_level(cx);
        self.indices.pop();
        done
    }

    /// Reads a parameter's block into its slot; gives where the block starts, or `None` if it is
    /// the whole array.
    fn read_window(
        &self,
        cx: &mut Lowering<'_>,
        idx: usize,
    ) -> Result<Option<Vec<Val>>, Diagnostic> {
        let kernel = self.plan.kernel;
        let param = &kernel.params[idx];
        cx.set_loc(param.loc);
        let array = cx.read(self.plan.array_slot(idx))?;
        let Some(window) = &param.window else {
            cx.write(self.plan.block_slot(idx), array);
            return Ok(None);
        };
        let ref_ty = param.ref_type();
        let starts = self.window_starts(cx, window)?;
        let lanes = self.plan.lanes_of(idx);
        let shape = match lanes {
            Some(lanes) => lanes.window(idx, &param.window_shape()),
            None => param.window_shape(),
        };
        let whole = array.shape() == shape.as_slice();
        let block = match (array, lanes) {
            (Val::Uniform(literal, _), None) => {
                Val::Uniform(literal, Shape::from_slice(ref_ty.shape()))
            }
            (Val::Uniform(literal, _), Some(lanes)) => {
                Val::Uniform(literal, with_lanes(lanes.n, ref_ty.shape()))
            }
            (Val::Tensor(array), lanes) => {
                let block = match whole {
                    true => array,
                    false => slice_at(cx, &array, &starts, &shape),
                };
                match lanes {
                    Some(lanes) => lanes.split(cx, &block, idx, ref_ty.shape()).into(),
                    None => cx.out.reshape(&block, ref_ty.shape()).into(),
                }
            }
        };
        cx.write(self.plan.block_slot(idx), block);
        Ok((!whole).then_some(starts))
    }

    fn write_window(
        &self,
        cx: &mut Lowering<'_>,
        idx: usize,
        starts: Option<Vec<Val>>,
    ) -> Result<(), Diagnostic> {
        let param = &self.plan.kernel.params[idx];
        cx.set_loc(param.loc);
        let block = cx.read_tensor(self.plan.block_slot(idx))?;
        let block = match self.plan.lanes_of(idx) {
            Some(lanes) => lanes.join(cx, &block, idx, &param.window_shape()),
            None => cx.out.reshape(&block, &param.window_shape()),
        };
        let Some(starts) = starts else {
            cx.write(self.plan.array_slot(idx), block);
            return Ok(());
        };
        let array = cx.read_tensor(self.plan.array_slot(idx))?;
        let starts: Vec<Tensor> = starts.iter().map(|start| cx.materialise(start)).collect();
        let updated = cx.out.dynamic_update_slice(&array, &block, &starts);
        cx.write(self.plan.array_slot(idx), updated);
        Ok(())
    }

    /// The first element of the window along each axis of the array.
    fn window_starts(
        &self,
        cx: &mut Lowering<'_>,
        window: &Window,
    ) -> Result<Vec<Val>, Diagnostic> {
        let args = &self.plan.kernel.block(window.index_map).args;
        for (&arg, index) in args.iter().zip(&self.indices) {
            cx.define(arg, index.clone());
        }
        cx.lower_block(window.index_map)?;
        let numbers = cx.yields(window.index_map)?;
        let mut starts = Vec::with_capacity(numbers.len());
        for (number, dim) in numbers.into_iter().zip(&window.block) {
            let scale = match dim {
                BlockDim::Blocked(size) => *size as i64,
                BlockDim::Squeezed | BlockDim::Element(_) => 1,
            };
            if !number.shape().is_empty() {
                // The index of the lanes: together their blocks are the whole axis.
                starts.push(Val::index(0));
                continue;
            }
            starts.push(match number.as_int() {
                Some(number) => Val::index(number.wrapping_mul(scale)),
                None if scale == 1 => number,
                None => {
                    let (number, scale) = (cx.materialise(&number), cx.out.index(scale));
                    cx.out.binary("multiply", &number, &scale).into()
                }
            });
        }
        Ok(starts)
    }
}

/// A part of an array: a static slice where the place is known.
pub(super) fn slice_at(
    cx: &mut Lowering<'_>,
    array: &Tensor,
    starts: &[Val],
    sizes: &[usize],
) -> Tensor {
    let known: Option<Vec<usize>> = starts
        .iter()
        .zip(sizes)
        .zip(&array.shape)
        .map(|((start, &size), &limit)| {
            let start = usize::try_from(start.as_int()?).unwrap_or(0);
            Some(start.min(limit.saturating_sub(size)))
        })
        .collect();
    match known {
        Some(starts) => cx.out.slice(array, &starts, sizes, &vec![1; sizes.len()]),
        None => {
            let starts: Vec<Tensor> = starts.iter().map(|start| cx.materialise(start)).collect();
            cx.out.dynamic_slice(array, &starts, sizes)
        }
    }
}

fn zeros(dtype: DType, shape: &[usize]) -> Val {
    Val::Uniform(Literal::from_f64(dtype, 0.0), Shape::from_slice(shape))
}

/// How many outer grid axes a window depends on.
fn window_level(kernel: &Kernel, window: &Window) -> usize {
    let n_axes = kernel.grid.len();
    let args = &kernel.block(window.index_map).args;
    let mut level = 0;
    kernel.walk(window.index_map, &mut |_, op| {
        for operand in &op.operands {
            if let Some(axis) = args.iter().take(n_axes).position(|arg| arg == operand) {
                level = level.max(axis + 1);
            }
        }
    });
    level
}

/// Which axes to unroll: from the innermost outwards, as long as the program stays small.
fn unrolled_axes(kernel: &Kernel, lanes: Option<&Lanes>, n_ops: usize) -> Vec<bool> {
    let mut unrolled = vec![false; kernel.grid.len()];
    let mut total = n_ops.max(1);
    for (idx, (axis, unroll)) in kernel.grid.iter().zip(&mut unrolled).enumerate().rev() {
        if lanes.is_some_and(|lanes| lanes.contains(idx)) {
            continue;
        }
        let Extent::Static(n) = axis.extent else { break };
        total = total.saturating_mul(n);
        if n > 1 && total > UNROLL_LIMIT_OPS {
            break;
        }
        *unroll = true;
    }
    unrolled
}

/// The array's shape, large enough for every window.
fn padded_shape(kernel: &Kernel, param: &Param) -> Shape {
    let mut shape = param.array_shape();
    let Some(window) = &param.window else { return shape };
    for (axis, size) in shape.iter_mut().enumerate() {
        match window.block[axis] {
            BlockDim::Blocked(block) => *size = size.next_multiple_of(block.max(1)),
            BlockDim::Squeezed => {}
            // The last window may start at the last element.
            BlockDim::Element(block) if !starts_at_zero(kernel, window, axis) => {
                *size += block.saturating_sub(1);
            }
            BlockDim::Element(block) => *size = (*size).max(block),
        }
    }
    shape
}

fn starts_at_zero(kernel: &Kernel, window: &Window, axis: usize) -> bool {
    let start = kernel.yields(window.index_map).get(axis);
    let op = start.and_then(|&start| kernel.defining_op(start));
    match op.map(|op| &op.op) {
        Some(Op::Elementwise(crate::ir::ops::Elementwise::Constant(literal))) => {
            literal.as_int() == Some(0)
        }
        _ => false,
    }
}

fn pad_to_blocks(cx: &mut Lowering<'_>, param: &Param, array: &Tensor) -> Tensor {
    let shape = padded_shape(cx.kernel, param);
    if shape == array.shape {
        return array.clone();
    }
    let fill = match (cx.options.padding, param.dtype.int_range()) {
        (Padding::Poison, Some((_, most))) if param.space != MemorySpace::Smem => {
            Literal::int(param.dtype, most)
        }
        (Padding::Poison, None) if param.dtype.is_float() => Literal::float(param.dtype, f32::NAN),
        _ => Literal::from_f64(param.dtype, 0.0),
    };
    let fill = cx.out.constant(fill, &[]);
    let zeros = vec![0; shape.len()];
    let missing = |(&to, &from): (&usize, &usize)| to as i64 - from as i64;
    let high: Vec<i64> = shape.iter().zip(&array.shape).map(missing).collect();
    cx.out.pad(array, &fill, &zeros, &high, &zeros)
}
