//! Functions of tensors whose sizes differ from call to call: one program per bucket.

use super::{Jit, JitFn, Loaded, Program, Tree};
use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use crate::ir::DType;
use crate::pjrt::{Buffer, Executable};
use crate::run::bounded::corner::{self, Padded};
use crate::run::bounded::{
    Axis, BoundDim, BoundedGraph, Dim, DimIdx, Layout, Need, bound, compare,
};
use crate::run::device::{Device, device_error};
use crate::run::dispatch::{self, trace};
use crate::run::graph::{At, Graph, Ty, ValueId};
use crate::run::tensor::node::{Node, State};
use crate::run::tensor::{Any, DynTensor, Tensor};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

/// A bounded dim of a function: which axes have its size.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    dim: Dim,
    /// Argument and axis.
    places: Vec<(usize, i64)>,
}

/// The sizes of one call.
pub(super) struct Fit {
    /// By dim: the size of the arguments.
    sizes: Vec<usize>,
    /// By dim: the size of the program.
    buckets: Vec<usize>,
    /// By dim: its name.
    names: Vec<String>,
    /// By leaf of the arguments: its type in the program.
    pub(super) types: Vec<Ty>,
    /// The axes that are padded, as leaf, axis and dim.
    axes: Vec<(usize, usize, DimIdx)>,
}

/// A program for all sizes of some dims.
pub(super) struct BoundedCode {
    graph: Arc<Graph>,
    /// Empty while it is compiled in the background.
    executable: OnceLock<Executable>,
    /// By result: where its padding is.
    results: Vec<Layout>,
    /// By dim: what needs elements of it.
    needs: Vec<Option<Need>>,
}

impl BoundedCode {
    /// The executable; waits for the one that is compiled in the background.
    fn executable(&self, donated: &[usize], device: &Device) -> Result<&Executable, Diagnostics> {
        if let Some(executable) = self.executable.get() {
            return Ok(executable);
        }
        let executable = device.ready()?.program(&self.graph, donated)?;
        Ok(self.executable.get_or_init(|| executable))
    }
}

/// A function traced for a bucket.
pub(super) struct TracedBounded<Out> {
    bounded: BoundedGraph,
    captures: Vec<Arc<Node>>,
    output: Out,
}

impl<Out> TracedBounded<Out> {
    /// The program.
    pub(super) fn graph(self) -> Graph {
        self.bounded.graph
    }
}

/// Threads that compile in the background. Dropping it waits for them: the plugin must not be
/// unloaded under a compilation.
#[derive(Default)]
pub(super) struct Ahead(Mutex<Vec<JoinHandle<()>>>);

impl Ahead {
    fn wait(&self) {
        let threads = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // What went wrong there is told by the call that needs the program.
            let _ = thread.join();
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.wait();
    }
}

impl<Args: Tree, F: JitFn<Args>> Jit<Args, F> {
    /// Lets the size of some axes differ from call to call without compiling anew: `places` are
    /// pairs of an argument and an axis (negative ones count from the end), which all have the
    /// size that `dim` bounds; of an argument with several tensors, each has it.
    ///
    /// The function is traced with the size of the bucket, and must treat that size as one of many:
    /// it can make tensors with it, but a number computed from [`Tensor::shape`] is refused; as a
    /// tensor, the real size is [`Tensor::axis_size`]. What happens only for some sizes (`if
    /// x.shape()[0] > 8`) happens for all sizes of a bucket as for the bucket itself. Axes that are
    /// sums of sizes, as `concat` makes, are refused.
    ///
    /// Results have the real size, and no real element depends on padding. They are those of the
    /// program for the exact shapes, to the bit with
    /// [`Numerics::InOrder`](crate::run::Numerics::InOrder); without, but for what a compiler does
    /// differently for other shapes: the order in which it adds the elements of a float sum, and
    /// whether it computes a function like `exp` for several elements at once. On the CPU plugin
    /// float results then differ by a few units in the last place of the largest element (at most
    /// 1e-6 of it through a block of attention, in the tests); integers, and what only moves
    /// elements, are equal to the bit.
    ///
    /// An op that cannot be right for every size is refused, with its line: one that joins, cuts or
    /// reverses a bounded axis, that looks things up along it, or has a program inside (as `scan`)
    /// that is given a padded tensor. A kernel says what padding does to it
    /// ([`KernelOp::rowwise`](crate::run::KernelOp::rowwise),
    /// [`KernelOp::masked`](crate::run::KernelOp::masked)), and is given the real size as a tensor.
    ///
    /// When the program of a bucket is first used, a thread compiles that of the next; a call that
    /// needs it earlier waits for that compilation.
    ///
    /// Arguments are padded on the host, so give tensors that are there anyway, or the results of
    /// functions with the same buckets, which need no padding. A padded result that is read, or
    /// used by another op, is cut out on the host. Where this is called while another function is
    /// traced, sizes are those of that trace, and bounds do nothing.
    ///
    /// ```no_run
    /// use systole::run::{Dim, Tensor, jit};
    ///
    /// # fn main() -> Result<(), systole::diag::Diagnostics> {
    /// let seq = Dim::buckets([64, 128, 512]).named("seq");
    /// let pool = jit(|x: Tensor<f32>| x.mean(&[1])).bounded(seq, &[(0, 1)]);
    /// for n in [5, 60, 64] {
    ///     let y = pool.call((Tensor::ones([8, n, 32]),))?; // compiled once
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn bounded(mut self, dim: Dim, places: &[(usize, i64)]) -> Jit<Args, F> {
        self.bounds.push(Bound { dim, places: places.to_vec() });
        self
    }

    /// Waits until nothing is compiled in the background.
    pub fn wait_ahead(&self) {
        self.ahead.wait();
    }

    pub(super) fn has_bounds(&self) -> bool {
        !self.bounds.is_empty()
    }

    /// Finds the buckets for arguments.
    pub(super) fn fit(
        &self,
        args: &Args,
        inputs: &[DynTensor],
        device: &Device,
        at: At,
    ) -> Result<Fit, Diagnostics> {
        if device.mesh().is_some() {
            let message = format!("dims are bounded on one device, not on the mesh {device:?}");
            let error = Diagnostic::error(Code::TENSOR_BOUNDED, message);
            let error = error.at(Span::from_location(at), "called here");
            return Err(error.help("give tensors of exact shapes, or of one device").into());
        }
        if let Some(failure) = inputs.iter().find_map(|leaf| leaf.node().failure()) {
            return Err((*failure).clone());
        }
        let at_line = |error: Diagnostic| error.at(Span::from_location(at), "called here");
        let ends = args.leaf_ends();
        let n = self.bounds.len();
        let mut fit = Fit {
            sizes: Vec::with_capacity(n),
            buckets: Vec::with_capacity(n),
            names: self.bounds.iter().map(|bound| bound.dim.name().to_owned()).collect(),
            types: Vec::new(),
            axes: Vec::new(),
        };
        for (idx, bound) in self.bounds.iter().enumerate() {
            let size = fit.add(idx, bound, &ends, inputs).map_err(at_line)?;
            let bucket = bound.dim.bucket(size).ok_or_else(|| at_line(too_large(&bound.dim, size)));
            fit.sizes.push(size);
            fit.buckets.push(bucket?);
        }
        fit.types = fit.types_for(inputs, &fit.buckets);
        Ok(fit)
    }

    /// Compiles a program for buckets, and starts to compile those for the next ones.
    pub(super) fn compile_bounded(
        &self,
        args: &Args,
        inputs: &[DynTensor],
        fit: &Fit,
        device: &Device,
        at: At,
    ) -> Result<Arc<Program<F::Output>>, Diagnostics> {
        let program = self.pending(args, fit, device, at)?;
        if let Loaded::Bounded(code) = &program.code {
            code.executable(&program.donated, device)?;
        }
        let program = self.keep(&self.key(args, device, fit.types.iter()), program);
        self.compile_ahead(args, inputs, fit, device, at);
        Ok(program)
    }

    /// A program that is not compiled yet.
    fn pending(
        &self,
        args: &Args,
        fit: &Fit,
        device: &Device,
        at: At,
    ) -> Result<Program<F::Output>, Diagnostics> {
        let TracedBounded { bounded, captures, output } =
            self.bounded_graph(args, fit, device, at)?;
        let (graph, kept) = bounded.graph.pruned();
        // A padded argument is a copy of what the caller gave.
        let is_padded = |leaf: usize| fit.axes.iter().any(|axis| axis.0 == leaf);
        let donated = self.donated_leaves(args);
        let is_donated = |&place: &usize| donated.contains(&kept[place]) && !is_padded(kept[place]);
        let donated = (0..kept.len()).filter(is_donated).collect();
        let code = Loaded::Bounded(BoundedCode {
            graph: Arc::new(graph),
            executable: OnceLock::new(),
            results: bounded.outputs,
            needs: bounded.needs,
        });
        Ok(Program { code, kept, donated, captures, output })
    }

    /// Traces the function at the buckets, and makes the program right for all sizes up to them.
    pub(super) fn bounded_graph(
        &self,
        args: &Args,
        fit: &Fit,
        device: &Device,
        at: At,
    ) -> Result<TracedBounded<F::Output>, Diagnostics> {
        let trace_as = |types: &[Ty]| self.trace(args, &shaped(types, device, at), device, at);
        let (base, output) = trace_as(&fit.types)?;
        let mut dims = Vec::new();
        let mut checks = Vec::new();
        for (idx, bound) in self.bounds.iter().enumerate() {
            let mut buckets = fit.buckets.clone();
            let mut failure = None;
            let other = bound.dim.checks(fit.buckets[idx]).find_map(|check| {
                buckets[idx] = check;
                match trace_as(&fit.with(&buckets)) {
                    Ok((traced, _)) => Some((check, traced)),
                    Err(error) => {
                        failure.get_or_insert(error);
                        None
                    }
                }
            });
            let (name, bucket) = (bound.dim.name().to_owned(), fit.buckets[idx]);
            let Some((check, traced)) = other else { return Err(one_size(&name, bucket, failure)) };
            let dim = BoundDim { name, bucket, check };
            compare::check_ops(&base, &traced, &dim)?;
            dims.push(dim);
            checks.push(traced.graph);
        }
        let checks: Vec<&Graph> = checks.iter().collect();
        // Ops that cannot be bounded come first: those with programs inside have their types there.
        let bounded = bound(&base.graph, &fit.layouts(), &dims, &checks)?;
        for (dim, check) in dims.iter().zip(&checks) {
            compare::check_attrs(&base.graph, check, dim)?;
        }
        Ok(TracedBounded { bounded, captures: base.captures, output })
    }

    /// Starts to compile, in the background, the programs of the buckets after these.
    fn compile_ahead(&self, args: &Args, inputs: &[DynTensor], fit: &Fit, device: &Device, at: At) {
        for (idx, bound) in self.bounds.iter().enumerate() {
            let Some(next) = bound.dim.next(fit.buckets[idx]) else { continue };
            let mut buckets = fit.buckets.clone();
            buckets[idx] = next;
            let ahead = Fit {
                sizes: fit.sizes.clone(),
                names: fit.names.clone(),
                types: fit.types_for(inputs, &buckets),
                axes: fit.axes.clone(),
                buckets,
            };
            let key = self.key(args, device, ahead.types.iter());
            if self.program(&key).is_some() {
                continue;
            }
            // If it cannot be made, the call that needs it says why.
            let Ok(program) = self.pending(args, &ahead, device, at) else { continue };
            let program = self.keep(&key, program);
            let Loaded::Bounded(code) = &program.code else { continue };
            let graph = code.graph.clone();
            let (donated, device) = (program.donated.clone(), device.clone());
            let compile = move || {
                let _ = device.ready().and_then(|ready| ready.program(&graph, &donated));
            };
            let thread = std::thread::Builder::new().name("systole-ahead".to_owned());
            if let Ok(thread) = thread.spawn(compile) {
                self.ahead.0.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
            }
        }
    }
}

impl<Out: Tree> Program<Out> {
    /// Runs a program for all sizes of some dims.
    pub(super) fn run_bounded(
        &self,
        inputs: &[DynTensor],
        fit: &Fit,
        device: &Device,
        at: At,
    ) -> Result<Out, Diagnostics> {
        let Loaded::Bounded(code) = &self.code else {
            let message = "a program for bounded dims is none";
            return Err(Diagnostic::error(Code::TENSOR_PROGRAM, message).into());
        };
        fit.check_needs(code, at)?;
        let executable = code.executable(&self.donated, device)?;
        let mut buffers: Vec<Buffer> = Vec::with_capacity(self.kept.len());
        for &idx in &self.kept {
            buffers.push(match idx.checked_sub(inputs.len() + self.captures.len()) {
                Some(dim) => size(fit.sizes[dim], device, at)?,
                None => match inputs.get(idx) {
                    Some(leaf) => fit.buffer(leaf, idx, at)?,
                    None => dispatch::materialize(self.input(inputs, idx), at)?,
                },
            });
        }
        let refs: Vec<&Buffer> = buffers.iter().collect();
        let mut outputs = self.execute(executable, inputs, &refs, at)?.into_iter().enumerate();
        Ok(self.output.map_leaves(&mut |leaf| match outputs.next() {
            Some((idx, buffer)) => {
                let (ty, state) = fit.result(code, idx, leaf, buffer);
                Tensor::from_node(Node::new(ty, at, device.clone(), state))
            }
            None => leaf.clone(),
        }))
    }
}

impl Fit {
    /// Notes the axes of a dim; gives their size.
    fn add(
        &mut self,
        idx: DimIdx,
        bound: &Bound,
        ends: &[usize],
        inputs: &[DynTensor],
    ) -> Result<usize, Diagnostic> {
        if let Some(mistake) = bound.dim.mistake() {
            return Err(mistake);
        }
        let name = bound.dim.name();
        let mut first: Option<(usize, usize, usize)> = None;
        for &(arg, axis) in &bound.places {
            let Some(&end) = ends.get(arg) else {
                let message = format!("`{name}`: there is no argument {arg} of {}", ends.len());
                return Err(Diagnostic::error(Code::TENSOR_BOUNDED, message));
            };
            let start = arg.checked_sub(1).and_then(|before| ends.get(before)).copied();
            let leaves = inputs.iter().enumerate().take(end).skip(start.unwrap_or(0));
            for (leaf, input) in leaves {
                let shape = input.shape();
                let place = if axis < 0 { axis + shape.len() as i64 } else { axis };
                let place = usize::try_from(place).ok().filter(|&place| place < shape.len());
                let Some(place) = place else {
                    let message = format!("`{name}`: argument {arg} {shape:?} has no axis {axis}");
                    return Err(Diagnostic::error(Code::TENSOR_BOUNDED, message));
                };
                if self.axes.iter().any(|known| (known.0, known.1) == (leaf, place)) {
                    let message = format!("axis {axis} of argument {arg} is bounded twice");
                    return Err(Diagnostic::error(Code::TENSOR_BOUNDED, message));
                }
                let size = shape[place];
                match first {
                    Some((other, arg_axis, known)) if known != size => {
                        let message = format!(
                            "`{name}` is {known} (axis {arg_axis} of argument {other}) and {size} (axis {place} of argument {arg})"
                        );
                        return Err(Diagnostic::error(Code::TENSOR_BOUNDED, message)
                            .help("axes of one bounded dim have one size in a call"));
                    }
                    Some(_) => {}
                    None => first = Some((arg, place, size)),
                }
                self.axes.push((leaf, place, idx));
            }
        }
        let nowhere = || {
            let message = format!("`{name}` bounds no axis of any argument");
            Diagnostic::error(Code::TENSOR_BOUNDED, message).help("name one: `&[(0, 1)]`")
        };
        first.map(|(_, _, size)| size).ok_or_else(nowhere)
    }

    fn types_for(&self, inputs: &[DynTensor], buckets: &[usize]) -> Vec<Ty> {
        let types = inputs.iter().map(|leaf| leaf.node().ty.clone()).collect();
        self.resized(types, buckets)
    }

    fn with(&self, buckets: &[usize]) -> Vec<Ty> {
        self.resized(self.types.clone(), buckets)
    }

    fn resized(&self, mut types: Vec<Ty>, buckets: &[usize]) -> Vec<Ty> {
        for &(leaf, axis, dim) in &self.axes {
            types[leaf].shape[axis] = buckets[dim];
        }
        types
    }

    /// By leaf.
    fn layouts(&self) -> Vec<Layout> {
        let mut layouts: Vec<Layout> =
            self.types.iter().map(|ty| Layout::fixed(&ty.shape)).collect();
        for &(leaf, axis, dim) in &self.axes {
            layouts[leaf].axes[axis] = Axis::bounded(self.buckets[dim], dim);
        }
        layouts
    }

    /// The buffer for a leaf, padded to its bucket.
    fn buffer(&self, leaf: &DynTensor, idx: usize, at: At) -> Result<Buffer, Diagnostics> {
        let shape = &self.types[idx].shape;
        if leaf.node().ty.shape == *shape {
            return dispatch::materialize(leaf.node(), at);
        }
        if let State::Padded(padded) = &*leaf.node().state()
            && padded.is_corner_of(shape)
        {
            return Ok(padded.buffer.clone());
        }
        let array = Arc::new(corner::pad(&leaf.to_array()?, shape));
        leaf.device().ready()?.upload(&array).map_err(device_error)
    }

    /// Refuses sizes that are too small for an op, as they are without padding.
    fn check_needs(&self, code: &BoundedCode, at: At) -> Result<(), Diagnostics> {
        for (dim, need) in code.needs.iter().enumerate() {
            let Some(Need { op, least, at: recorded }) = *need else { continue };
            let (name, size) = (&self.names[dim], self.sizes[dim]);
            if size < least {
                let message =
                    format!("`{op}` needs `{name}` to be at least {least}, but it is {size}");
                let error = Diagnostic::error(Code::TENSOR_SHAPE, message);
                let error = error.at(Span::from_location(at), "called here");
                return Err(error.at(Span::from_location(recorded), "recorded here").into());
            }
        }
        Ok(())
    }

    /// The type and state of a result.
    fn result(
        &self,
        code: &BoundedCode,
        idx: usize,
        leaf: &DynTensor,
        buffer: Buffer,
    ) -> (Ty, State) {
        let mut ty = leaf.node().ty.clone();
        let Some(layout) = code.results.get(idx) else { return (ty, State::Device(buffer)) };
        let real = layout.shape_with(|dim| self.sizes[dim]);
        let state = match real == ty.shape {
            true => State::Device(buffer),
            false => {
                let (layout, sizes) = (layout.clone(), self.sizes.clone());
                State::Padded(Arc::new(Padded { buffer, layout, sizes }))
            }
        };
        ty.shape = real;
        (ty, state)
    }
}

/// The buffer of a dim's real size.
fn size(size: usize, device: &Device, at: At) -> Result<Buffer, Diagnostics> {
    let size: Tensor<i32> = dispatch::scalar(DType::I32, size as f64, device, at);
    dispatch::materialize(size.node(), at)
}

/// Tensors of these types without elements.
fn shaped(types: &[Ty], device: &Device, at: At) -> Vec<DynTensor> {
    let tensor = |ty: &Ty| -> Tensor<Any> {
        let state = State::Traced(trace::TraceId::NONE, ValueId(0));
        Tensor::from_node(Node::new(ty.clone(), at, device.clone(), state))
    };
    types.iter().map(tensor).collect()
}

fn too_large(dim: &Dim, size: usize) -> Diagnostic {
    let message = format!("`{}` is {size}, more than its bound of {}", dim.name(), dim.max());
    Diagnostic::error(Code::TENSOR_BOUNDED, message)
        .help("raise the bound, add a bucket, or split the argument")
}

/// A function that can be traced for no other size than the bucket.
fn one_size(name: &str, bucket: usize, failure: Option<Diagnostics>) -> Diagnostics {
    let message = format!(
        "the function can be traced for `{name}` = {bucket}, but for no other size, so that nobody can tell what depends on it"
    );
    let mut errors = vec![Diagnostic::error(Code::TENSOR_BOUNDED, message)];
    errors.extend(failure.into_iter().flat_map(|failure| failure.0));
    Diagnostics(errors)
}
