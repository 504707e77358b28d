//! Functions that run on every device of a mesh, each with its parts of the arguments.

use crate::back::stablehlo::text::ManualText;
use crate::diag::Diagnostics;
use crate::ir::{DType, Shape};
use crate::run::device::Device;
use crate::run::dispatch::trace::TraceId;
use crate::run::grad::Tape;
use crate::run::graph::emit::Emit;
use crate::run::graph::{At, Graph, Ty, ValueId};
use crate::run::jit::{JitFn, Outcome, Tree, leaves, with_leaves};
use crate::run::mesh::{Axes, Mesh, Partition, Split, located, mesh_error};
use crate::run::op::control::{check, failed_gradients, results, trace};
use crate::run::op::{Gradients, Op, OpError, Types, Value, Vjp};
use crate::run::tensor::node::{Node, State};
use crate::run::tensor::{DynTensor, Tensor};
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;

thread_local! {
    /// The meshes on whose devices the functions being traced run, the innermost last.
    static MANUAL: RefCell<Vec<Axes>> = const { RefCell::new(Vec::new()) };
}

/// The mesh on each of whose devices the code being traced runs.
pub(super) fn inside(name: &str) -> Result<Axes, OpError> {
    MANUAL.with_borrow(|meshes| meshes.last().cloned()).ok_or_else(|| {
        mesh_error(format!("`{name}` is used outside of `shard_map`: there is no mesh around it"))
            .help("call it in the function given to `mesh.shard_map(..)`")
    })
}

/// An error in code that runs on each device by itself.
pub(super) fn outside(name: &str) -> Result<(), OpError> {
    if MANUAL.with_borrow(Vec::is_empty) {
        return Ok(());
    }
    Err(mesh_error(format!(
        "`{name}` is used in a function given to `shard_map`, where each device has its own part"
    ))
    .help("move parts between devices with collectives, such as `all_gather`"))
}

fn with_manual<R>(mesh: &Axes, f: impl FnOnce() -> R) -> R {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            MANUAL.with_borrow_mut(|meshes| meshes.pop());
        }
    }
    MANUAL.with_borrow_mut(|meshes| meshes.push(mesh.clone()));
    let _leave = Leave;
    f()
}

impl Mesh {
    /// Makes a function that runs on every device by itself: it is given the parts of the arguments
    /// that the device has, and gives the device's parts of the results. `inputs` and `outputs` say
    /// how arguments and results are split: a partition for each argument, or for each tensor in
    /// them. Devices talk to one another by collectives alone, such as
    /// [`Tensor::all_reduce_sum`].
    ///
    /// A result that is not split over an axis of the mesh must be the same on all devices along
    /// that axis, as it is after an `all_reduce`; which device's is taken is not said.
    ///
    /// ```no_run
    /// use systole::run::{Device, Mesh, Partition, Tensor};
    ///
    /// # fn main() -> Result<(), systole::diag::Diagnostics> {
    /// let mesh = Mesh::new(&Device::cpus(4), [("x", 4)])?;
    /// // Each device multiplies its columns of `a` with its rows of `b`.
    /// let product = mesh.shard_map(
    ///     |a: Tensor<f32>, b: Tensor<f32>| a.matmul(&b).all_reduce_sum("x"),
    ///     [Partition::from(["", "x"]), ["x", ""].into()],
    ///     [Partition::replicated()],
    /// );
    /// let a = mesh.replicate(&Tensor::<f32>::ones([8, 16]));
    /// let b = mesh.replicate(&Tensor::<f32>::ones([16, 8]));
    /// println!("{}", product.call((a, b))?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn shard_map<Args: Tree, F: JitFn<Args>>(
        &self,
        f: F,
        inputs: impl IntoIterator<Item = impl Into<Partition>>,
        outputs: impl IntoIterator<Item = impl Into<Partition>>,
    ) -> ShardMap<Args, F> {
        ShardMap {
            mesh: self.clone(),
            f,
            inputs: inputs.into_iter().map(Into::into).collect(),
            outputs: outputs.into_iter().map(Into::into).collect(),
            args: PhantomData,
        }
    }
}

/// A function that runs on every device of a mesh; see [`Mesh::shard_map`].
pub struct ShardMap<Args: Tree, F: JitFn<Args>> {
    mesh: Mesh,
    f: F,
    inputs: Vec<Partition>,
    outputs: Vec<Partition>,
    args: PhantomData<fn(Args)>,
}

impl<Args: Tree, F: JitFn<Args>> fmt::Debug for ShardMap<Args, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ShardMap({:?})", self.mesh)
    }
}

impl<Args: Tree, F: JitFn<Args>> ShardMap<Args, F> {
    /// Calls the function: on its own, or as a part of the program being traced.
    ///
    /// # Errors
    /// Arguments that are not on the mesh or cannot be split as said, and whatever goes wrong in
    /// the function.
    #[track_caller]
    pub fn call(&self, args: Args) -> Result<F::Output, Diagnostics> {
        let at = Location::caller();
        let device = self.mesh.device();
        let Some(axes) = device.mesh().map(|devices| &devices.axes) else {
            return Err(Diagnostics::default());
        };
        let whole = leaves(&args);
        check(&whole)?;
        outside("shard_map").map_err(|error| located(error, at))?;
        let elsewhere = whole.iter().enumerate().find(|(_, x)| !x.device().same_as(device));
        if let Some((idx, x)) = elsewhere {
            let message = format!("`shard_map` on {device:?}: tensor {idx} is on {:?}", x.device());
            let error = mesh_error(message).help("put it on the mesh: `mesh.shard(&x, [..])`");
            return Err(located(error, at));
        }
        let types: Vec<Ty> = whole.iter().map(|x| x.node().ty.clone()).collect();
        let mut ins = self.splits(axes, "argument", &self.inputs, &types, &args.leaf_ends(), at)?;
        let local = types.iter().zip(&ins).map(|(ty, split)| shaped(ty, split, axes, device, at));
        let local: Vec<DynTensor> = local.collect();
        let traced = with_manual(axes, || {
            trace(device, &local, at, |nodes| self.f.apply(with_leaves(&args, nodes)).outcome())
        })?;
        // A tensor from outside is on every device.
        ins.extend(traced.captures.iter().map(|x| Split::replicated(x.rank())));
        let parts: Vec<Ty> = traced.graph.output_types().cloned().collect();
        let ends = traced.output.leaf_ends();
        let outs = self.out_splits(axes, &parts, &ends, at)?;
        let op = ManualRegion { mesh: axes.clone(), ins, outs, body: traced.graph };
        let given = [whole, traced.captures].concat();
        Ok(with_leaves(&traced.output, results(op, &given, at)?))
    }

    /// By tensor, how it is split.
    fn splits(
        &self,
        mesh: &Axes,
        what: &str,
        partitions: &[Partition],
        types: &[Ty],
        ends: &[usize],
        at: At,
    ) -> Result<Vec<Split>, Diagnostics> {
        let by_leaf = partitions.len() == types.len();
        if !by_leaf && partitions.len() != ends.len() {
            let message = format!(
                "`shard_map` was given {} partitions for {} {what}s of {} tensors",
                partitions.len(),
                ends.len(),
                types.len()
            );
            let help = format!("give one for each {what}, or one for each tensor in them");
            return Err(located(mesh_error(message).help(help), at));
        }
        let place = |leaf| if by_leaf { leaf } else { ends.partition_point(|&end| end <= leaf) };
        let split = |(leaf, ty): (usize, &Ty)| match partitions.get(place(leaf)) {
            Some(partition) => partition.resolve("shard_map", mesh, ty),
            None => Ok(Split::replicated(ty.shape.len())),
        };
        let splits = types.iter().enumerate().map(split).collect::<Result<_, _>>();
        splits.map_err(|error| located(error, at))
    }

    /// How the results are split, of which each device gives parts of these types.
    fn out_splits(
        &self,
        mesh: &Axes,
        parts: &[Ty],
        ends: &[usize],
        at: At,
    ) -> Result<Vec<Split>, Diagnostics> {
        // A part is never too small to be one: the whole is made of as many as there are devices.
        let whole = |ty: &Ty| {
            let n_devices = mesh.n_devices();
            Ty { dtype: ty.dtype, shape: ty.shape.iter().map(|size| size * n_devices).collect() }
        };
        let wholes: Vec<Ty> = parts.iter().map(whole).collect();
        self.splits(mesh, "result", &self.outputs, &wholes, ends, at)
    }
}

/// A device's part of a tensor, without elements, for tracing.
fn shaped(ty: &Ty, split: &Split, mesh: &Axes, device: &Device, at: At) -> DynTensor {
    let ty = Ty { dtype: ty.dtype, shape: split.local(mesh, &ty.shape) };
    let state = State::Traced(TraceId::NONE, ValueId(0));
    Tensor::from_node(Node::new(ty, at, device.clone(), state))
}

/// A program that runs on every device of a mesh.
#[derive(Clone, Debug, Hash)]
struct ManualRegion {
    mesh: Axes,
    /// How the inputs are split.
    ins: Vec<Split>,
    /// How the results are split.
    outs: Vec<Split>,
    body: Graph,
}

impl ManualRegion {
    fn gradients(&self, vjp: &Vjp<'_>) -> Result<Gradients, Diagnostics> {
        let (mesh, n_inputs) = (&self.mesh, self.ins.len());
        let at = vjp.outputs[0].node().at;
        let device = vjp.outputs[0].device();
        let given: Vec<usize> =
            (0..self.outs.len()).filter(|&idx| vjp.cotangents[idx].is_some()).collect();
        let wanted: Vec<usize> = (0..n_inputs).filter(|&idx| vjp.wanted[idx]).collect();
        let outs_of_given = given.iter().map(|&idx| self.outs[idx].clone());
        let ins: Vec<Split> = self.ins.iter().cloned().chain(outs_of_given).collect();
        let mut args = vjp.inputs.to_vec();
        args.extend(vjp.cotangents.iter().flatten().cloned());
        let local = args.iter().zip(&ins);
        let local = local.map(|(x, split)| shaped(&x.node().ty, split, mesh, device, at));
        let local: Vec<DynTensor> = local.collect();
        let turn = |nodes: Vec<DynTensor>| {
            let (inputs, cotangents) = nodes.split_at(n_inputs);
            let mut of_outputs = vec![None; self.outs.len()];
            for (&idx, cotangent) in given.iter().zip(cotangents) {
                // A result that several devices have is theirs together.
                let n_copies = mesh.group_size(&self.outs[idx].unused(mesh));
                of_outputs[idx] = Some(cotangent * (1.0 / n_copies as f64));
            }
            let tape = Tape::record(&self.body, inputs, |idx| vjp.wanted[idx])?;
            let of_inputs = tape.pull_back(of_outputs)?;
            let gradient = |&idx: &usize| {
                let own = of_inputs[idx].clone().unwrap_or_else(|| inputs[idx].zeros_like());
                // An input that several devices have adds up what it does on each.
                let unused = self.ins[idx].unused(mesh);
                let names: Vec<&str> = unused.iter().map(|&axis| mesh.name(axis)).collect();
                if names.is_empty() { own } else { own.all_reduce_sum(&names.join(" ")) }
            };
            Ok::<Vec<DynTensor>, Diagnostics>(wanted.iter().map(gradient).collect())
        };
        let traced = with_manual(mesh, || trace(device, &local, at, turn))?;
        let mut ins = ins;
        ins.extend(traced.captures.iter().map(|x| Split::replicated(x.rank())));
        let outs = wanted.iter().map(|&idx| self.ins[idx].clone()).collect();
        let op = ManualRegion { mesh: mesh.clone(), ins, outs, body: traced.graph };
        let found = results(op, &[args, traced.captures].concat(), at)?;
        let mut gradients: Gradients = smallvec::smallvec![None; n_inputs];
        for (place, gradient) in wanted.into_iter().zip(found) {
            gradients[place] = Some(gradient);
        }
        Ok(gradients)
    }
}

impl Op for ManualRegion {
    fn name(&self) -> &'static str {
        "shard_map"
    }

    fn n_outputs(&self) -> usize {
        self.outs.len()
    }

    fn infer(&self, _inputs: &[&Ty]) -> Result<Types, OpError> {
        let whole = |(ty, split): (&Ty, &Split)| Ty {
            dtype: ty.dtype,
            shape: split.global(&self.mesh, &ty.shape),
        };
        Ok(self.body.output_types().zip(&self.outs).map(whole).collect())
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let mesh = &self.mesh;
        cx.use_mesh(mesh);
        let locals: Vec<(DType, Shape)> = inputs
            .iter()
            .zip(&self.ins)
            .map(|(x, split)| (x.dtype, split.local(mesh, &x.shape)))
            .collect();
        let wholes: Vec<(DType, Shape)> = self
            .body
            .output_types()
            .zip(&self.outs)
            .map(|(ty, split)| (ty.dtype, split.global(mesh, &ty.shape)))
            .collect();
        let text = ManualText {
            inputs: self.ins.iter().map(|split| split.text(mesh)).collect(),
            outputs: self.outs.iter().map(|split| split.text(mesh)).collect(),
            axes: mesh.iter().map(|(name, _)| name.to_owned()).collect(),
        };
        let open = cx.out.begin_manual(inputs, &locals, &text);
        let args = open.args.clone();
        let values = cx.graph(&self.body, &args)?;
        Ok(cx.out.end_manual(open, &values, &wholes))
    }

    fn has_side_effects(&self) -> bool {
        self.body.has_side_effects()
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        Ok(self.gradients(vjp).unwrap_or_else(|error| failed_gradients(error, vjp.inputs)))
    }
}
