//! Functions of tensors compiled whole.

mod aot;
mod bounded;
mod tree;

pub use aot::Lowered;
pub use tree::{Outcome, Static, StaticVisitor, Tree};
pub(crate) use tree::{leaves, static_key, with_leaves};

use super::device::{Device, device_error};
use super::dispatch::{self, trace};
use super::graph::{At, KeyWriter, Ty};
use super::mesh::{self, Devices, MeshProgram, Shards};
use super::tensor::node::{Node, State};
use super::tensor::{DynTensor, Tensor};
use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use crate::pjrt::{Buffer, Executable, ExecuteOptions};
use bounded::{Ahead, Bound, BoundedCode};
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::{Arc, PoisonError, RwLock};

/// A function that [`jit`] can compile: it takes one to eight [`Tree`]s and gives one, or a
/// `Result` with one.
pub trait JitFn<Args> {
    /// What it gives.
    type Output: Tree;

    /// Calls it.
    ///
    /// # Errors
    /// What the function gives as one.
    fn apply(&self, args: Args) -> Result<Self::Output, Diagnostics>;
}

macro_rules! functions {
    ($($($name:ident $value:ident)+;)*) => {$(
        impl<Fun, Out: Outcome, $($name: Tree),+> JitFn<($($name,)+)> for Fun
        where
            Fun: Fn($($name),+) -> Out,
        {
            type Output = Out::Tree;

            fn apply(&self, ($($value,)+): ($($name,)+)) -> Result<Out::Tree, Diagnostics> {
                self($($value),+).outcome()
            }
        }
    )*};
}
functions! {
    A a;
    A a B b;
    A a B b C c;
    A a B b C c D d;
    A a B b C c D d E e;
    A a B b C c D d E e F f;
    A a B b C c D d E e F f G g;
    A a B b C c D d E e F f G g H h;
}

/// Makes a function that is traced once for arguments of given types, compiled to one program, and
/// from then on runs as that program.
///
/// What the function computes from anything but its arguments is fixed by the first call: a number
/// becomes a constant, and a tensor from outside a further argument of the program. Give what
/// changes as a tensor ([`Tensor::scalar`]), and what chooses between programs as [`Static`].
/// Called while another function is being traced, it becomes a part of that program.
///
/// ```no_run
/// use systole::run::{jit, Tensor};
///
/// # fn main() -> Result<(), systole::diag::Diagnostics> {
/// let layer = jit(|x: Tensor<f32>, w: Tensor<f32>| x.matmul(&w).tanh());
/// let x = Tensor::from_slice(&[1.0, 2.0], [1, 2])?;
/// let w = Tensor::from_slice(&[0.5, -0.5], [2, 1])?;
/// println!("{}", layer.call((x, w))?);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn jit<Args: Tree, F: JitFn<Args>>(f: F) -> Jit<Args, F> {
    Jit {
        f,
        at: Location::caller(),
        donated: Vec::new(),
        bounds: Vec::new(),
        programs: RwLock::default(),
        ahead: Ahead::default(),
        args: PhantomData,
    }
}

/// A function of tensors that runs compiled; see [`jit`].
pub struct Jit<Args: Tree, F: JitFn<Args>> {
    f: F,
    at: At,
    /// Positions of arguments whose leaves are donated.
    donated: Vec<usize>,
    bounds: Vec<Bound>,
    programs: RwLock<Programs<F::Output>>,
    ahead: Ahead,
    args: PhantomData<fn(Args)>,
}

/// By the types of the arguments, and what of them is static.
type Programs<Out> = HashMap<Box<[u8]>, Arc<Program<Out>>>;

/// Traces a function of tensors of the types of these: the program, and what the function gave, as
/// traced.
pub(crate) fn trace_fn<R: Tree>(
    device: &Device,
    inputs: &[DynTensor],
    at: At,
    f: impl FnOnce(Vec<DynTensor>) -> Result<R, Diagnostics>,
) -> Result<(trace::Traced, R), Diagnostics> {
    let types: Vec<Ty> = inputs.iter().map(|leaf| leaf.node().ty.clone()).collect();
    let (traced, output) = trace::trace(device, types, at, |nodes| {
        let output = f(nodes.into_iter().map(Tensor::from_node).collect());
        let results = output.iter().flat_map(leaves).map(|leaf| leaf.node().clone()).collect();
        (results, output)
    })?;
    Ok((traced, output?))
}

/// The program for arguments of some types.
struct Program<Out> {
    code: Loaded,
    /// Which leaves of the arguments, and then which captures, are its arguments.
    kept: Vec<usize>,
    /// Positions among its arguments of those whose memory it may reuse.
    donated: Vec<usize>,
    captures: Vec<Arc<Node>>,
    /// The results as traced: their structure and types.
    output: Out,
}

/// A compiled program.
enum Loaded {
    OnOne(Executable),
    OnMesh(Arc<MeshProgram>),
    /// On one device, for all sizes of some dims; after the captures come the sizes.
    Bounded(BoundedCode),
}

impl<Args: Tree, F: JitFn<Args>> fmt::Debug for Jit<Args, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Jit({}, {} programs)", self.at, self.n_programs())
    }
}

impl<Args: Tree, F: JitFn<Args>> Jit<Args, F> {
    /// Lets the program reuse the memory of these arguments. A call takes its arguments by value,
    /// so nobody can use them afterwards; where a clone still holds a tensor, that tensor is kept.
    ///
    /// ```compile_fail,E0382
    /// # use systole::run::{Tensor, jit};
    /// # fn main() -> Result<(), systole::diag::Diagnostics> {
    /// let step = jit(|x: Tensor<f32>| x * 2.0).donate(&[0]);
    /// let x = Tensor::ones([4]);
    /// let y = step.call((x,))?;
    /// println!("{x}"); // moved
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn donate(mut self, args: &[usize]) -> Jit<Args, F> {
        self.donated = args.to_vec();
        self
    }

    /// How many programs it was compiled to.
    pub fn n_programs(&self) -> usize {
        self.programs.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Calls the function.
    ///
    /// # Errors
    /// Whatever goes wrong in it, with the line; errors of the running program appear when a result
    /// is read.
    #[track_caller]
    pub fn call(&self, args: Args) -> Result<F::Output, Diagnostics> {
        let at = Location::caller();
        if trace::is_active() {
            return self.f.apply(args);
        }
        let inputs = leaves(&args);
        let device = inputs.first().map_or_else(Device::current, |leaf| leaf.device().clone());
        check_arguments(&device, &inputs, at)?;
        let fit = match self.has_bounds() {
            true => Some(self.fit(&args, &inputs, &device, at)?),
            false => None,
        };
        let key = match &fit {
            Some(fit) => self.key(&args, &device, fit.types.iter()),
            None => {
                let mut key = self.key(&args, &device, inputs.iter().map(|leaf| &leaf.node().ty));
                if let Some(devices) = device.mesh() {
                    for leaf in &inputs {
                        mesh::execute::shards(devices, leaf.node(), at)?.split.hash(&mut key);
                    }
                }
                key
            }
        };
        let program = match (self.program(&key), &fit) {
            (Some(program), _) => program,
            (None, None) => self.keep(&key, self.compile(&args, &inputs, &device, at)?),
            (None, Some(fit)) => self.compile_bounded(&args, &inputs, fit, &device, at)?,
        };
        drop(args);
        match fit {
            Some(fit) => program.run_bounded(&inputs, &fit, &device, at),
            None => program.run(inputs, &device, at),
        }
    }

    /// What tells the programs of the function apart.
    fn key<'a>(
        &self,
        args: &Args,
        device: &Device,
        types: impl Iterator<Item = &'a Ty>,
    ) -> KeyWriter {
        let mut key = KeyWriter::default();
        device.serial().hash(&mut key);
        crate::run::precision().hash(&mut key);
        crate::run::op::is_interpreted().hash(&mut key);
        let numerics = device.ready().map(|ready| ready.compiler.numerics());
        numerics.unwrap_or_default().hash(&mut key);
        types.for_each(|ty| ty.hash(&mut key));
        args.visit_static(&mut StaticVisitor::new(&mut key));
        key
    }

    fn program(&self, key: &KeyWriter) -> Option<Arc<Program<F::Output>>> {
        let programs = self.programs.read().unwrap_or_else(PoisonError::into_inner);
        programs.get(key.bytes()).cloned()
    }

    /// Keeps a program, unless another thread was faster; gives the one that is kept.
    fn keep(&self, key: &KeyWriter, program: Program<F::Output>) -> Arc<Program<F::Output>> {
        let mut programs = self.programs.write().unwrap_or_else(PoisonError::into_inner);
        programs.entry(key.bytes().into()).or_insert_with(|| Arc::new(program)).clone()
    }

    fn compile(
        &self,
        args: &Args,
        inputs: &[DynTensor],
        device: &Device,
        at: At,
    ) -> Result<Program<F::Output>, Diagnostics> {
        let (traced, output) = self.trace(args, inputs, device, at)?;
        let (graph, kept) = traced.graph.pruned();
        let donated = self.donated_leaves(args);
        let donated: Vec<usize> =
            (0..kept.len()).filter(|&place| donated.contains(&kept[place])).collect();
        let ready = device.ready()?;
        let code = match device.mesh() {
            None => Loaded::OnOne(ready.program(&graph, &donated)?),
            Some(devices) => {
                let node = |&idx: &usize| match inputs.get(idx) {
                    Some(leaf) => leaf.node(),
                    None => &traced.captures[idx - inputs.len()],
                };
                let args = kept.iter().map(|idx| mesh::execute::shards(devices, node(idx), at));
                let args = args.collect::<Result<Vec<_>, _>>()?;
                let args: Vec<&Shards> = args.iter().map(AsRef::as_ref).collect();
                Loaded::OnMesh(devices.program(&graph, &donated, &args)?)
            }
        };
        Ok(Program { code, kept, donated, captures: traced.captures, output })
    }

    fn trace(
        &self,
        args: &Args,
        inputs: &[DynTensor],
        device: &Device,
        at: At,
    ) -> Result<(trace::Traced, F::Output), Diagnostics> {
        trace_fn(device, inputs, at, |nodes| self.f.apply(with_leaves(args, nodes)))
    }

    /// Positions among the leaves of the arguments of those that are donated.
    fn donated_leaves(&self, args: &Args) -> Vec<usize> {
        // Arguments are a tuple: leaves are counted per entry by walking it with one entry marked.
        let ends = args.leaf_ends();
        let mut found = Vec::new();
        for &arg in &self.donated {
            let start = arg.checked_sub(1).and_then(|before| ends.get(before)).copied();
            if let Some(&end) = ends.get(arg) {
                found.extend(start.unwrap_or(0)..end);
            }
        }
        found
    }
}

impl<Out: Tree> Program<Out> {
    fn run(&self, inputs: Vec<DynTensor>, device: &Device, at: At) -> Result<Out, Diagnostics> {
        let outputs = match (&self.code, device.mesh()) {
            (Loaded::OnMesh(program), Some(devices)) => {
                self.run_on_mesh(program, devices, &inputs, at)?
            }
            (Loaded::OnOne(executable), _) => self.run_on_one(executable, &inputs, at)?,
            (Loaded::OnMesh(_), None) | (Loaded::Bounded(_), _) => Vec::new(),
        };
        let mut outputs = outputs.into_iter();
        Ok(self.output.map_leaves(&mut |leaf| match outputs.next() {
            Some(state) => {
                let ty = leaf.node().ty.clone();
                Tensor::from_node(Node::new(ty, at, device.clone(), state))
            }
            None => leaf.clone(),
        }))
    }

    /// The tensor that is the argument `idx`, before what is not needed was left out.
    fn input<'a>(&'a self, inputs: &'a [DynTensor], idx: usize) -> &'a Arc<Node> {
        match inputs.get(idx) {
            Some(leaf) => leaf.node(),
            None => &self.captures[idx - inputs.len()],
        }
    }

    fn run_on_one(
        &self,
        executable: &Executable,
        inputs: &[DynTensor],
        at: At,
    ) -> Result<Vec<State>, Diagnostics> {
        let mut buffers: Vec<Buffer> = Vec::with_capacity(self.kept.len());
        for &idx in &self.kept {
            buffers.push(dispatch::materialize(self.input(inputs, idx), at)?);
        }
        let refs: Vec<&Buffer> = buffers.iter().collect();
        let outputs = self.execute(executable, inputs, &refs, at)?;
        Ok(outputs.into_iter().map(State::Device).collect())
    }

    fn execute(
        &self,
        executable: &Executable,
        inputs: &[DynTensor],
        buffers: &[&Buffer],
        at: At,
    ) -> Result<Vec<Buffer>, Diagnostics> {
        if self.donated.is_empty() {
            return executable.execute(buffers).map_err(device_error);
        }
        let keep_arguments = self.borrowed(inputs);
        let options = ExecuteOptions { keep_arguments, ..ExecuteOptions::default() };
        let execution = executable.execute_on_all(&[buffers], &options).map_err(device_error)?;
        self.mark_donated(inputs, &options.keep_arguments, at);
        Ok(execution.outputs.into_iter().next().unwrap_or_default())
    }

    fn run_on_mesh(
        &self,
        program: &MeshProgram,
        devices: &Devices,
        inputs: &[DynTensor],
        at: At,
    ) -> Result<Vec<State>, Diagnostics> {
        let shards = |&idx: &usize| mesh::execute::shards(devices, self.input(inputs, idx), at);
        let args = self.kept.iter().map(shards).collect::<Result<Vec<_>, _>>()?;
        let borrowed = self.borrowed(inputs);
        let outputs = program.run(&args, borrowed.clone()).map_err(device_error)?;
        self.mark_donated(inputs, &borrowed, at);
        Ok(outputs.into_iter().map(|shards| State::Sharded(Arc::new(shards))).collect())
    }

    /// Positions of donated arguments that others hold too, so that they must survive.
    fn borrowed(&self, inputs: &[DynTensor]) -> Vec<usize> {
        let is_owned = |&place: &usize| {
            inputs.get(self.kept[place]).is_some_and(|leaf| Arc::strong_count(leaf.node()) == 1)
        };
        self.donated.iter().copied().filter(|place| !is_owned(place)).collect()
    }

    fn mark_donated(&self, inputs: &[DynTensor], borrowed: &[usize], at: At) {
        let gone = self.donated.iter().filter(|place| !borrowed.contains(place));
        for leaf in gone.filter_map(|&place| inputs.get(self.kept[place])) {
            leaf.node().set(State::Donated(at));
        }
    }
}

/// Why an argument has no elements, if one has none.
pub(crate) fn check_failures(inputs: &[DynTensor]) -> Result<(), Diagnostics> {
    match inputs.iter().find_map(|leaf| leaf.node().failure()) {
        Some(failure) => Err((*failure).clone()),
        None => Ok(()),
    }
}

/// Arguments of a program are there, on its device.
fn check_arguments(device: &Device, inputs: &[DynTensor], at: At) -> Result<(), Diagnostics> {
    check_failures(inputs)?;
    let Some(idx) = inputs.iter().position(|leaf| !leaf.device().same_as(device)) else {
        return Ok(());
    };
    let found = &inputs[idx];
    let message = format!(
        "the function is given tensor 0 on {device:?} and tensor {idx} on {:?}",
        found.device()
    );
    let error = Diagnostic::error(Code::TENSOR_DEVICE, message).at(Span::from_location(at), "");
    Err(error.help(dispatch::move_help(device, found.device())).into())
}
