//! Where tensors live: moving them between devices, and splitting them over meshes.

use super::node::{Node, State};
use super::{Kind, Tensor};
use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use crate::ir::Shape;
use crate::run::device::{Device, device_error};
use crate::run::dispatch;
use crate::run::graph::{At, Ty};
use crate::run::mesh::{self, Mesh, Partition, Shards, Split};
use crate::run::op::Constrain;
use std::panic::Location;
use std::sync::Arc;

impl<T: Kind> Tensor<T> {
    /// The tensor on another device: copied by the plugin between devices of one client, and else
    /// through the host. On a mesh it is on every device; from a mesh its parts are put together.
    ///
    /// In a program that is being traced nothing moves: only the program's own device will do.
    #[track_caller]
    pub fn to(&self, device: &Device) -> Tensor<T> {
        let at = Location::caller();
        self.try_to(device, at).unwrap_or_else(|error| Tensor::failed(device, error, at))
    }

    fn try_to(&self, device: &Device, at: At) -> Result<Tensor<T>, Diagnostics> {
        let node = self.node();
        if let Some(failure) = node.failure() {
            return Err((*failure).clone());
        }
        if node.device.same_as(device) {
            return Ok(self.clone());
        }
        dispatch::settle(node);
        let state = node.state().clone();
        let moved = match (&state, device.mesh()) {
            (State::Host(array), _) => State::Host(array.clone()),
            (State::Device(buffer), None) => {
                let ready = device.ready()?;
                if node.device.ready()?.client.same_as(&ready.client) {
                    State::Device(buffer.copy_to(&ready.device).map_err(device_error)?)
                } else {
                    State::Host(Arc::new(self.to_array_at(at)?))
                }
            }
            (State::Device(buffer), Some(devices))
                if node.device.ready()?.client.same_as(&devices.first()?.client) =>
            {
                let copy = |to: &Device| {
                    if to.same_as(&node.device) {
                        return Ok(buffer.clone());
                    }
                    buffer.copy_to(&to.ready()?.device).map_err(device_error)
                };
                let buffers = devices.all.iter().map(copy).collect::<Result<_, Diagnostics>>()?;
                let split = Split::replicated(self.rank());
                State::Sharded(Arc::new(Shards { split, buffers }))
            }
            (State::Device(_) | State::Sharded(_) | State::Padded(_), _) => {
                device.ready()?;
                State::Host(Arc::new(self.to_array_at(at)?))
            }
            (State::Traced(..), _) => {
                let message = format!(
                    "the program being traced runs on {:?}: its values cannot be put on {device:?}",
                    node.device
                );
                let error = Diagnostic::error(Code::TENSOR_DEVICE, message);
                let error = error.at(Span::from_location(at), "");
                return Err(error.help("move arguments or results of the function").into());
            }
            (other, _) => return Err(dispatch::unavailable(node, other, at)),
        };
        Ok(Tensor::from_node(Node::new(node.ty.clone(), at, device.clone(), moved)))
    }

    /// The tensor split over its mesh as said: in a program, what XLA is to do with this value; on
    /// its own, the parts are exchanged at once.
    #[track_caller]
    pub fn partitioned(&self, partition: impl Into<Partition>) -> Tensor<T> {
        let (at, node) = (Location::caller(), self.node());
        let Some(devices) = node.device.mesh() else {
            if node.failure().is_some() {
                return self.clone();
            }
            let message =
                format!("`partitioned`: the tensor is on {:?}, not on a mesh", node.device);
            let error = mesh::mesh_error(message).help("put it on one: `mesh.shard(&x, [..])`");
            return Tensor::failed(&node.device, mesh::located(error, at), at);
        };
        match partition.into().resolve("partitioned", &devices.axes, &node.ty) {
            Ok(split) => {
                dispatch::apply(Constrain { mesh: devices.axes.clone(), split }, &[node], at)
            }
            Err(error) => Tensor::failed(&node.device, mesh::located(error, at), at),
        }
    }

    /// How it is split over its mesh, once it has elements; none if it is not on a mesh.
    #[track_caller]
    pub fn partition(&self) -> Option<Partition> {
        let devices = self.device().mesh()?;
        let shards = mesh::execute::shards(devices, self.node(), Location::caller()).ok()?;
        Some(shards.split.partition(&devices.axes))
    }

    /// The whole tensor on the first device of its mesh.
    #[track_caller]
    pub fn gather(&self) -> Tensor<T> {
        match self.device().mesh().and_then(|devices| devices.all.first()) {
            Some(first) => self.to(first),
            None => self.clone(),
        }
    }

    /// The part that each device of its mesh has, in the order of the mesh; a tensor that is on no
    /// mesh is its own only part.
    ///
    /// # Errors
    /// Whatever went wrong on the way, with the line that recorded it.
    #[track_caller]
    pub fn shards(&self) -> Result<Vec<Tensor<T>>, Diagnostics> {
        let at = Location::caller();
        let Some(devices) = self.device().mesh() else { return Ok(vec![self.clone().check()?]) };
        let shards = mesh::execute::shards(devices, self.node(), at)?;
        let shape: Shape = shards.split.local(&devices.axes, self.shape());
        let ty = Ty { dtype: self.dtype(), shape };
        let part = |(device, buffer): (&Device, &crate::pjrt::Buffer)| {
            let state = State::Device(buffer.clone());
            Tensor::from_node(Node::new(ty.clone(), at, device.clone(), state))
        };
        Ok(devices.all.iter().zip(&shards.buffers).map(part).collect())
    }

    /// The mesh that it lives on.
    pub fn mesh(&self) -> Option<Mesh> {
        Mesh::of(self.device())
    }
}
