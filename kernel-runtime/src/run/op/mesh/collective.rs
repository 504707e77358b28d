//! Collectives: what the devices of a mesh say to one another in a function given to
//! [`Mesh::shard_map`](crate::run::Mesh::shard_map).
//!
//! Each runs in groups: the devices that differ along the mesh axes named alone. `"x"` names one
//! axis, and `"x y"` both, of which the first counts in larger steps.

use super::shard_map::inside;
use crate::back::stablehlo::text::Groups;
use crate::diag::{Diagnostic, Diagnostics, Span};
use crate::ir::{DType, Shape};
use crate::run::device::Device;
use crate::run::dispatch::apply;
use crate::run::graph::emit::Emit;
use crate::run::graph::{At, Ty};
use crate::run::mesh::{Axes, mesh_error};
use crate::run::op::shape::axis_of;
use crate::run::op::{Gradients, Op, OpError, Types, Value, Vjp};
use crate::run::tensor::{DynTensor, Kind, NumKind, Tensor};
use smallvec::smallvec;
use std::panic::Location;

/// The groups that a collective runs in.
#[derive(Clone, Debug, Hash)]
struct Over {
    mesh: Axes,
    axes: Vec<usize>,
}

impl Over {
    /// Of the function that is being traced, if it runs on every device of a mesh.
    fn new(name: &str, axes: &str) -> Result<Over, OpError> {
        let mesh = inside(name)?;
        let names: Vec<String> = axes.split_whitespace().map(str::to_owned).collect();
        if names.is_empty() {
            let error = mesh_error(format!("`{name}` is given no mesh axis"));
            return Err(error.help(format!("name one of {mesh}")));
        }
        let axes = mesh.all_of(name, &names)?;
        Ok(Over { mesh, axes })
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.axes.iter().map(|&axis| self.mesh.name(axis)).collect();
        names.join(" ")
    }

    fn size(&self) -> usize {
        self.mesh.group_size(&self.axes)
    }

    /// The size of a piece, if an axis can be cut into one for each device.
    fn piece(&self, name: &str, x: &Ty, axis: usize) -> Result<usize, OpError> {
        let (size, n_devices) = (x.shape[axis], self.size());
        if size % n_devices == 0 {
            return Ok(size / n_devices);
        }
        Err(mesh_error(format!(
            "`{name}`: axis {axis} of {x} has {size} elements, which cannot be split evenly into \
             {n_devices}, the size of mesh axis `{}` of {}",
            self.names(),
            self.mesh
        ))
        .help(format!("pad it to {} elements", size.next_multiple_of(n_devices))))
    }

    fn groups(&self) -> Vec<Vec<usize>> {
        self.mesh.groups(&self.axes)
    }
}

/// Applies a collective, or gives what is wrong with its axes.
fn collective<T: Kind, O: Op>(
    x: &Tensor<T>,
    name: &str,
    axes: &str,
    at: At,
    op: impl FnOnce(Over) -> O,
) -> Tensor<T> {
    match Over::new(name, axes) {
        Ok(over) => apply(op(over), &[x.node()], at),
        Err(_) if x.node().failure().is_some() => x.clone(),
        Err(error) => failed(x.device(), error, at),
    }
}

fn failed<T: Kind>(device: &Device, error: OpError, at: At) -> Tensor<T> {
    Tensor::failed(device, Diagnostic::from(error).at(Span::from_location(at), ""), at)
}

fn same_with(x: &Ty, axis: usize, size: usize) -> Ty {
    let mut ty = x.clone();
    ty.shape[axis] = size;
    ty
}

/// How elements of different devices are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Combine {
    Sum,
    Max,
    Min,
}

#[derive(Clone, Debug, Hash)]
struct AllReduce {
    over: Over,
    with: Combine,
}

impl Op for AllReduce {
    fn name(&self) -> &'static str {
        match self.with {
            Combine::Sum => "all_reduce_sum",
            Combine::Max => "all_reduce_max",
            Combine::Min => "all_reduce_min",
        }
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        if inputs[0].dtype == DType::Bool {
            let message = format!("`{}` combines numbers, not {}", self.name(), inputs[0]);
            return Err(OpError::dtype(message).help("convert them: `.cast::<i32>()`"));
        }
        Ok(smallvec![inputs[0].clone()])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let with = match self.with {
            Combine::Sum => "add",
            Combine::Max => "maximum",
            Combine::Min => "minimum",
        };
        Ok(vec![cx.out.all_reduce(&inputs[0], Groups(&self.over.groups()), with)])
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        if self.with != Combine::Sum {
            return Err(OpError {
                code: crate::diag::Code::TENSOR_GRADIENT,
                message: format!("`{}` has no gradient", self.name()),
                help: None,
            });
        }
        let back = |g: &DynTensor| g.all_reduce_sum(&self.over.names());
        Ok(smallvec![vjp.cotangent().map(back)])
    }
}

#[derive(Clone, Debug, Hash)]
struct AllGather {
    over: Over,
    axis: i64,
}

impl Op for AllGather {
    fn name(&self) -> &'static str {
        "all_gather"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let axis = axis_of(self.name(), self.axis, inputs[0].shape.len())?;
        let size = inputs[0].shape[axis] * self.over.size();
        Ok(smallvec![same_with(inputs[0], axis, size)])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let x = &inputs[0];
        let axis = axis_of(self.name(), self.axis, x.shape.len()).map_err(Diagnostic::from)?;
        let mut shape = x.shape.clone();
        shape[axis] *= self.over.size();
        Ok(vec![cx.out.all_gather(x, Groups(&self.over.groups()), axis, &shape)])
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let back = |g: &DynTensor| g.reduce_scatter_sum(&self.over.names(), self.axis);
        Ok(smallvec![vjp.cotangent().map(back)])
    }
}

#[derive(Clone, Debug, Hash)]
struct ReduceScatter {
    over: Over,
    axis: i64,
}

impl Op for ReduceScatter {
    fn name(&self) -> &'static str {
        "reduce_scatter_sum"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let x = inputs[0];
        if x.dtype == DType::Bool {
            return Err(OpError::dtype(format!("`{}` adds numbers, not {x}", self.name())));
        }
        let axis = axis_of(self.name(), self.axis, x.shape.len())?;
        Ok(smallvec![same_with(x, axis, self.over.piece(self.name(), x, axis)?)])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let x = &inputs[0];
        let axis = axis_of(self.name(), self.axis, x.shape.len()).map_err(Diagnostic::from)?;
        let mut shape = x.shape.clone();
        shape[axis] /= self.over.size();
        Ok(vec![cx.out.reduce_scatter(x, Groups(&self.over.groups()), axis, &shape)])
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let back = |g: &DynTensor| g.all_gather(&self.over.names(), self.axis);
        Ok(smallvec![vjp.cotangent().map(back)])
    }
}

#[derive(Clone, Debug, Hash)]
struct AllToAll {
    over: Over,
    split: i64,
    concat: i64,
}

impl AllToAll {
    fn axes(&self, rank: usize) -> Result<[usize; 2], OpError> {
        Ok([axis_of(self.name(), self.split, rank)?, axis_of(self.name(), self.concat, rank)?])
    }

    fn shape(&self, [split, concat]: [usize; 2], shape: &Shape) -> Shape {
        let mut shape = shape.clone();
        shape[split] /= self.over.size();
        shape[concat] *= self.over.size();
        shape
    }
}

impl Op for AllToAll {
    fn name(&self) -> &'static str {
        "all_to_all"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let x = inputs[0];
        let axes = self.axes(x.shape.len())?;
        self.over.piece(self.name(), x, axes[0])?;
        Ok(smallvec![Ty { dtype: x.dtype, shape: self.shape(axes, &x.shape) }])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let x = &inputs[0];
        let axes = self.axes(x.shape.len()).map_err(Diagnostic::from)?;
        let shape = self.shape(axes, &x.shape);
        Ok(vec![cx.out.all_to_all(x, Groups(&self.over.groups()), axes, &shape)])
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let back = |g: &DynTensor| g.all_to_all(&self.over.names(), self.concat, self.split);
        Ok(smallvec![vjp.cotangent().map(back)])
    }
}

#[derive(Clone, Debug, Hash)]
struct CollectivePermute {
    over: Over,
    pairs: Vec<(usize, usize)>,
}

impl Op for CollectivePermute {
    fn name(&self) -> &'static str {
        "collective_permute"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let size = self.over.size();
        for (idx, &(from, to)) in self.pairs.iter().enumerate() {
            let before = &self.pairs[..idx];
            let wrong = if from >= size || to >= size {
                format!("mesh axis `{}` has {size} devices", self.over.names())
            } else if before.iter().any(|pair| pair.0 == from) {
                format!("device {from} sends twice")
            } else if before.iter().any(|pair| pair.1 == to) {
                format!("device {to} receives twice")
            } else {
                continue;
            };
            return Err(mesh_error(format!(
                "`collective_permute` cannot send from {from} to {to}: {wrong}"
            )));
        }
        Ok(smallvec![inputs[0].clone()])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let groups = self.over.groups();
        let pairs: Vec<[usize; 2]> = groups
            .iter()
            .flat_map(|group| self.pairs.iter().map(|&(from, to)| [group[from], group[to]]))
            .collect();
        Ok(vec![cx.out.collective_permute(&inputs[0], &pairs)])
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let back: Vec<(usize, usize)> = self.pairs.iter().map(|&(from, to)| (to, from)).collect();
        let back = |g: &DynTensor| g.collective_permute(&self.over.names(), &back);
        Ok(smallvec![vjp.cotangent().map(back)])
    }
}

/// The place of a device along axes of the mesh.
#[derive(Clone, Debug, Hash)]
struct AxisIndex {
    over: Over,
}

impl Op for AxisIndex {
    fn name(&self) -> &'static str {
        "axis_index"
    }

    fn infer(&self, _inputs: &[&Ty]) -> Result<Types, OpError> {
        Ok(smallvec![Ty::new(DType::I32, &[])])
    }

    fn emit(&self, cx: &mut Emit, _inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let id = cx.out.partition_id();
        let id = cx.out.convert(&id, DType::I32);
        let mut index = cx.out.index(0);
        for &axis in &self.over.axes {
            let (stride, size) = (self.over.mesh.stride(axis), self.over.mesh.size(axis));
            let [stride, size] = [stride, size].map(|n| cx.out.index(n as i64));
            let place = cx.out.binary("divide", &id, &stride);
            let place = cx.out.binary("remainder", &place, &size);
            let major = cx.out.binary("multiply", &index, &size);
            index = cx.out.binary("add", &major, &place);
        }
        Ok(vec![index])
    }

    fn vjp(&self, _vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        Ok(smallvec![])
    }
}

/// Where this device stands along an axis of the mesh, in a function given to
/// [`Mesh::shard_map`](crate::run::Mesh::shard_map).
#[track_caller]
pub fn axis_index(axes: &str) -> Tensor<i32> {
    let at = Location::caller();
    match Over::new("axis_index", axes) {
        Ok(over) => apply(AxisIndex { over }, &[], at),
        Err(error) => failed(&Device::current(), error, at),
    }
}

impl<T: NumKind> Tensor<T> {
    /// The sum over the devices of each group, on all of them. In
    /// [`Mesh::shard_map`](crate::run::Mesh::shard_map).
    #[track_caller]
    pub fn all_reduce_sum(&self, axes: &str) -> Tensor<T> {
        self.all_reduce(Combine::Sum, "all_reduce_sum", axes, Location::caller())
    }

    /// The largest of the devices of each group, element by element, on all of them. In
    /// [`Mesh::shard_map`](crate::run::Mesh::shard_map).
    #[track_caller]
    pub fn all_reduce_max(&self, axes: &str) -> Tensor<T> {
        self.all_reduce(Combine::Max, "all_reduce_max", axes, Location::caller())
    }

    /// The smallest of the devices of each group, element by element, on all of them. In
    /// [`Mesh::shard_map`](crate::run::Mesh::shard_map).
    #[track_caller]
    pub fn all_reduce_min(&self, axes: &str) -> Tensor<T> {
        self.all_reduce(Combine::Min, "all_reduce_min", axes, Location::caller())
    }

    fn all_reduce(&self, with: Combine, name: &str, axes: &str, at: At) -> Tensor<T> {
        collective(self, name, axes, at, |over| AllReduce { over, with })
    }

    /// As [`Tensor::all_reduce_sum`], of which each device keeps its piece along `axis`. In
    /// [`Mesh::shard_map`](crate::run::Mesh::shard_map).
    #[track_caller]
    pub fn reduce_scatter_sum(&self, axes: &str, axis: i64) -> Tensor<T> {
        let at = Location::caller();
        collective(self, "reduce_scatter_sum", axes, at, |over| ReduceScatter { over, axis })
    }
}

impl<T: Kind> Tensor<T> {
    /// What the devices of each group have, one behind the other along `axis`, on all of them. In
    /// [`Mesh::shard_map`](crate::run::Mesh::shard_map).
    #[track_caller]
    pub fn all_gather(&self, axes: &str, axis: i64) -> Tensor<T> {
        let at = Location::caller();
        collective(self, "all_gather", axes, at, |over| AllGather { over, axis })
    }

    /// Cuts what each device has along the axis `split`, one piece for each device of the group, and
    /// puts the pieces that a device gets one behind the other along the axis `concat`. In
    /// [`Mesh::shard_map`](crate::run::Mesh::shard_map).
    #[track_caller]
    pub fn all_to_all(&self, axes: &str, split: i64, concat: i64) -> Tensor<T> {
        let at = Location::caller();
        collective(self, "all_to_all", axes, at, |over| AllToAll { over, split, concat })
    }

    /// Sends what the first device of each pair has to the second; devices are counted within
    /// their group. Who gets nothing has zeros. In
    /// [`Mesh::shard_map`](crate::run::Mesh::shard_map).
    #[track_caller]
    pub fn collective_permute(&self, axes: &str, pairs: &[(usize, usize)]) -> Tensor<T> {
        let at = Location::caller();
        let pairs = pairs.to_vec();
        collective(self, "collective_permute", axes, at, |over| CollectivePermute { over, pairs })
    }
}
