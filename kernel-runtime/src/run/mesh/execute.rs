//! Running ops and programs on tensors that are split over a mesh.

use super::Devices;
use super::partition::Split;
use super::shards::Shards;
use crate::diag::Diagnostics;
use crate::run::device::{Device, device_error};
use crate::run::dispatch;
use crate::run::graph::{At, Graph};
use crate::run::tensor::node::{Node, State};
use std::sync::Arc;

/// The parts of a tensor on a mesh; runs what is deferred, and puts elements that are on the host
/// on every device.
pub(crate) fn shards(
    devices: &Devices,
    node: &Arc<Node>,
    at: At,
) -> Result<Arc<Shards>, Diagnostics> {
    dispatch::settle(node);
    let mut state = node.state();
    let spread = match &*state {
        State::Sharded(shards) if !shards.buffers.is_empty() => return Ok(shards.clone()),
        State::Host(array) => {
            devices.ready_at(at)?;
            let split = Split::replicated(array.shape().len());
            Arc::new(devices.spread(array, split).map_err(device_error)?)
        }
        other => {
            devices.ready_at(at)?;
            return Err(dispatch::unavailable(node, other, at));
        }
    };
    *state = State::Sharded(spread.clone());
    Ok(spread)
}

/// Runs a program on tensors; gives what there is of its results.
pub(crate) fn run(
    device: &Device,
    devices: &Devices,
    graph: &Graph,
    inputs: &[&Arc<Node>],
    at: At,
) -> Result<Vec<State>, Diagnostics> {
    device.ready()?;
    let args = inputs.iter().map(|node| shards(devices, node, at));
    let args = args.collect::<Result<Vec<_>, _>>()?;
    let borrowed: Vec<&Shards> = args.iter().map(AsRef::as_ref).collect();
    let program = devices.program(graph, &[], &borrowed)?;
    let outputs = program.run(&args, Vec::new()).map_err(device_error)?;
    Ok(outputs.into_iter().map(|shards| State::Sharded(Arc::new(shards))).collect())
}
