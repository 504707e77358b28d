//! Meshes: several devices that hold parts of tensors, and run one program together.
//!
//! A [`Mesh`] names the axes along which its devices are counted, and a [`Partition`] says over
//! which of them each axis of a tensor is split. A split tensor is a [`Tensor`] like any other: its
//! shape is that of the whole, it lives on the mesh as on a device, and ops, `jit` and `grad` take
//! it. XLA splits the programs and adds the communication; [`Tensor::partitioned`] tells it how a
//! value shall be split. Where that is to be said by hand, [`Mesh::shard_map`] runs a function on
//! every device with the parts alone, and collectives between them.
//!
//! ```no_run
//! use systole::run::{jit, Device, Mesh, Tensor};
//!
//! # fn main() -> Result<(), systole::diag::Diagnostics> {
//! let mesh = Mesh::new(&Device::cpus(8), [("data", 2), ("model", 4)])?;
//! let x = mesh.shard(&Tensor::<f32>::ones([16, 64]), ["data", ""]);
//! let w = mesh.shard(&Tensor::<f32>::ones([64, 32]), ["", "model"]);
//! let layer = jit(|x: Tensor<f32>, w: Tensor<f32>| x.matmul(&w).tanh());
//! let y = layer.call((x, w))?;
//! println!("{:?} is split as {:?}", y.shape(), y.partition());
//! # Ok(())
//! # }
//! ```

mod axes;
pub(crate) mod execute;
pub(crate) mod partition;
mod program;
mod sharding;
mod shards;

pub(crate) use axes::Axes;
pub use partition::Partition;
pub(crate) use partition::{Split, mesh_error};
pub(crate) use program::MeshProgram;
pub(crate) use shards::Shards;

use super::device::{Device, Ready, device_error};
use super::graph::{At, Ty};
use super::op::OpError;
use super::tensor::node::{Node, State};
use super::tensor::{Kind, Tensor};
use crate::diag::{Diagnostic, Diagnostics, Span};
use crate::ir::{Array, Element};
use crate::pjrt::{self, Buffer};
use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, RwLock};

/// Devices in an array whose axes have names. Clones are the same mesh.
#[derive(Clone, PartialEq)]
pub struct Mesh {
    device: Device,
}

/// What a mesh is made of.
pub(crate) struct Devices {
    pub(crate) axes: Axes,
    /// Row-major; empty for a mesh that has a shape alone.
    pub(crate) all: Vec<Device>,
    programs: RwLock<HashMap<Box<[u8]>, Arc<MeshProgram>>>,
}

impl Mesh {
    /// A mesh of these devices, which are counted row-major: the last axis is the one along which
    /// neighbours in the list differ.
    ///
    /// # Errors
    /// If there are more or fewer devices than the axes have, a device stands twice or in another
    /// client than the others, or the names are no names.
    #[track_caller]
    pub fn new<'a>(
        devices: &[Device],
        axes: impl IntoIterator<Item = (&'a str, usize)>,
    ) -> Result<Mesh, Diagnostics> {
        let at = Location::caller();
        let axes = checked(axes).map_err(|error| located(error, at))?;
        let n_devices = axes.n_devices();
        if n_devices != devices.len() {
            let message = format!(
                "the mesh {axes} has {n_devices} devices, but {} were given",
                devices.len()
            );
            let help = format!("the CPU gives as many as asked for: `Device::cpus({n_devices})`");
            return Err(located(mesh_error(message).help(help), at));
        }
        let first = devices[0].ready()?;
        for (idx, device) in devices.iter().enumerate() {
            let wrong = if device.mesh().is_some() {
                "is a mesh itself"
            } else if devices[..idx].contains(device) {
                "stands in it twice"
            } else if !device.ready()?.client.same_as(&first.client) {
                "belongs to another client than the first one"
            } else {
                continue;
            };
            let message = format!("the mesh {axes} cannot have device {idx}: {device:?} {wrong}");
            return Err(located(mesh_error(message), at));
        }
        let ready = Ready {
            client: first.client.clone(),
            device: first.device.clone(),
            id: first.id,
            compiler: first.compiler.clone(),
        };
        let all = devices.to_vec();
        let name = format!("the mesh {axes} on {:?} to {:?}", devices[0], devices[n_devices - 1]);
        Ok(Mesh::from_parts(name, Ok(ready), axes, all))
    }

    /// A mesh without devices: for programs that are compiled ahead of time, by
    /// [`Jit::lower`](super::Jit::lower).
    ///
    /// # Errors
    /// If the names are no names, or a size is 0.
    #[track_caller]
    pub fn shape<'a>(
        axes: impl IntoIterator<Item = (&'a str, usize)>,
    ) -> Result<Mesh, Diagnostics> {
        let at = Location::caller();
        let axes = checked(axes).map_err(|error| located(error, at))?;
        let message = format!("the mesh {axes} has a shape, but no devices");
        let missing = mesh_error(message).help("its programs are compiled ahead of time: `lower`");
        let name = format!("the mesh {axes}");
        Ok(Mesh::from_parts(name, Err(located(missing, at)), axes, Vec::new()))
    }

    fn from_parts(
        name: String,
        ready: Result<Ready, Diagnostics>,
        axes: Axes,
        all: Vec<Device>,
    ) -> Mesh {
        let devices = Devices { axes, all, programs: RwLock::default() };
        Mesh { device: Device::of_mesh(name, ready, devices) }
    }

    /// The mesh that tensors of this device live on, if it is one.
    pub(crate) fn of(device: &Device) -> Option<Mesh> {
        device.mesh().map(|_| Mesh { device: device.clone() })
    }

    /// The mesh as a device: what is made on it from nothing is on every device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Names and sizes of its axes, outermost first.
    pub fn axes(&self) -> Vec<(&str, usize)> {
        self.device.mesh().map(|parts| parts.axes.iter().collect()).unwrap_or_default()
    }

    /// How many devices it has.
    pub fn n_devices(&self) -> usize {
        self.device.mesh().map_or(0, |parts| parts.axes.n_devices())
    }

    /// Splits a tensor over the mesh. One that is on the mesh already is split anew, without the
    /// host.
    #[track_caller]
    pub fn shard<T: Kind>(&self, x: &Tensor<T>, partition: impl Into<Partition>) -> Tensor<T> {
        let (at, partition) = (Location::caller(), partition.into());
        if x.device().same_as(&self.device) {
            return x.partitioned(partition);
        }
        self.try_shard(x, &partition, at)
            .unwrap_or_else(|error| Tensor::failed(&self.device, error, at))
    }

    /// Puts a whole tensor on every device.
    #[track_caller]
    pub fn replicate<T: Kind>(&self, x: &Tensor<T>) -> Tensor<T> {
        self.shard(x, Partition::replicated())
    }

    /// A tensor without elements that is split like this: for [`Jit::lower`](super::Jit::lower),
    /// which asks for types alone.
    #[track_caller]
    pub fn shaped<T: Element>(
        &self,
        shape: impl AsRef<[usize]>,
        partition: impl Into<Partition>,
    ) -> Tensor<T> {
        let at = Location::caller();
        let ty = Ty::new(T::DTYPE, shape.as_ref());
        match self.split("shaped", &partition.into(), &ty) {
            Ok(split) => {
                let shards = Arc::new(Shards { split, buffers: Vec::new() });
                Tensor::from_node(Node::new(ty, at, self.device.clone(), State::Sharded(shards)))
            }
            Err(error) => Tensor::failed(&self.device, located(error, at), at),
        }
    }

    fn try_shard<T: Kind>(
        &self,
        x: &Tensor<T>,
        partition: &Partition,
        at: At,
    ) -> Result<Tensor<T>, Diagnostics> {
        if let Some(failure) = x.node().failure() {
            return Err((*failure).clone());
        }
        let ty = x.node().ty.clone();
        let split = self.split("shard", partition, &ty).map_err(|error| located(error, at))?;
        self.device.ready()?;
        let Some(devices) = self.device.mesh() else { return Err(Diagnostics::default()) };
        let array = x.to_array_at(at)?;
        let shards = devices.spread(&array, split).map_err(device_error)?;
        let state = State::Sharded(Arc::new(shards));
        Ok(Tensor::from_node(Node::new(ty, at, self.device.clone(), state)))
    }

    fn split(&self, name: &str, partition: &Partition, ty: &Ty) -> Result<Split, OpError> {
        match self.device.mesh() {
            Some(devices) => partition.resolve(name, &devices.axes, ty),
            None => Ok(Split::replicated(ty.shape.len())),
        }
    }
}

impl Devices {
    /// What the first device is made of.
    pub(crate) fn first(&self) -> Result<&Ready, Diagnostics> {
        match self.all.first() {
            Some(device) => device.ready(),
            None => {
                let message = format!("the mesh {} has a shape, but no devices", self.axes);
                Err(Diagnostic::from(mesh_error(message)).into())
            }
        }
    }

    /// Whether there are devices: the error names this line.
    pub(crate) fn ready_at(&self, at: At) -> Result<(), Diagnostics> {
        let label = |mut error: Diagnostics| {
            for diagnostic in error.0.iter_mut().filter(|diagnostic| diagnostic.labels.is_empty()) {
                *diagnostic = diagnostic.clone().at(Span::from_location(at), "");
            }
            error
        };
        self.first().map(|_| ()).map_err(label)
    }

    /// Copies the parts of an array to the devices.
    pub(crate) fn spread(&self, array: &Array, split: Split) -> pjrt::Result<Shards> {
        let parts = shards::parts(array, &self.axes, &split);
        let local = split.local(&self.axes, array.shape());
        let dims: Vec<i64> = local.iter().map(|&size| size as i64).collect();
        let ty = super::device::element_type(array.dtype());
        let unused = split.unused(&self.axes);
        let mut buffers: Vec<Buffer> = Vec::with_capacity(self.all.len());
        for (place, device) in self.all.iter().enumerate() {
            let Ok(ready) = device.ready() else { continue };
            let past = unused
                .iter()
                .map(|&axis| self.axes.coordinate(place, axis) * self.axes.stride(axis));
            // Another device may have the same part, and has it first.
            let first = place - past.sum::<usize>();
            buffers.push(ready.client.buffer(ty, &dims, &parts[first], Some(&ready.device))?);
        }
        Ok(Shards { split, buffers })
    }
}

/// The axes of a mesh, if they make one.
fn checked<'a>(axes: impl IntoIterator<Item = (&'a str, usize)>) -> Result<Axes, OpError> {
    let axes: Vec<(String, usize)> =
        axes.into_iter().map(|(name, size)| (name.to_owned(), size)).collect();
    if axes.is_empty() {
        return Err(mesh_error("a mesh has at least one axis".into()));
    }
    for (idx, (name, size)) in axes.iter().enumerate() {
        let is_name = !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name {
            let message = format!("a mesh axis cannot have the name {name:?}");
            return Err(mesh_error(message).help("names are letters, digits and `_`"));
        }
        if axes[..idx].iter().any(|(other, _)| other == name) {
            return Err(mesh_error(format!("two axes of a mesh have the name `{name}`")));
        }
        if *size == 0 {
            return Err(mesh_error(format!("axis `{name}` of a mesh has no devices")));
        }
    }
    Ok(Axes::new(axes))
}

/// The error at the line of whoever asked.
pub(crate) fn located(error: OpError, at: At) -> Diagnostics {
    Diagnostic::from(error).at(Span::from_location(at), "").into()
}

/// `Mesh(x=2, y=4)`.
impl fmt::Debug for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.device.mesh() {
            Some(devices) => write!(f, "Mesh({})", devices.axes),
            None => f.write_str("Mesh"),
        }
    }
}
