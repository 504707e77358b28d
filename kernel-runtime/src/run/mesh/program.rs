//! Programs on a mesh: compiled for all its devices at once, partitioned by XLA.

use super::Devices;
use super::partition::Split;
use super::sharding;
use super::shards::Shards;
use crate::diag::Diagnostics;
use crate::pjrt::{self, Buffer, Executable, ExecuteOptions};
use crate::run::device::device_error;
use crate::run::graph::emit::Layout;
use crate::run::graph::{Graph, KeyWriter};
use std::hash::Hash;
use std::sync::{Arc, PoisonError};

/// A program loaded on the devices of a mesh.
#[derive(Debug)]
pub(crate) struct MeshProgram {
    executable: Executable,
    /// By argument list of the executable, the place in the mesh of its device.
    order: Vec<usize>,
    /// How its results are split.
    splits: Vec<Split>,
}

impl Devices {
    /// The program for arguments that are split like this. How results are split that the graph
    /// says nothing about is XLA's choice.
    pub(crate) fn program(
        &self,
        graph: &Graph,
        donated: &[usize],
        args: &[&Shards],
    ) -> Result<Arc<MeshProgram>, Diagnostics> {
        let args: Vec<&Split> = args.iter().map(|shards| &shards.split).collect();
        let mut key = KeyWriter::default();
        self.first()?.compiler.numerics().hash(&mut key);
        (donated, &args).hash(&mut key);
        graph.write_key(&mut key);
        let programs = self.programs.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = programs.get(key.bytes()) {
            return Ok(program.clone());
        }
        drop(programs);
        let program = Arc::new(self.compile(graph, donated, &args)?);
        let mut programs = self.programs.write().unwrap_or_else(PoisonError::into_inner);
        programs.insert(key.bytes().into(), program.clone());
        Ok(program)
    }

    fn compile(
        &self,
        graph: &Graph,
        donated: &[usize],
        args: &[&Split],
    ) -> Result<MeshProgram, Diagnostics> {
        let ranks: Vec<usize> = graph.output_types().map(|ty| ty.shape.len()).collect();
        let free = vec![None; ranks.len()];
        let layout = Layout { mesh: &self.axes, args, results: &free };
        let executable = self.executable(graph, donated, &layout)?;
        let (format, optimized) = executable.optimized().map_err(device_error)?;
        let chosen = sharding::of_results((&format, &optimized), &self.axes, &ranks);
        if let Some(splits) = chosen.iter().cloned().collect() {
            return self.describe(executable, splits).map_err(device_error);
        }
        // XLA split a result in a way that has no name here (after a reshape, over a part of a mesh
        // axis): say what it shall be.
        let fixed = chosen.into_iter().zip(ranks);
        let fixed: Vec<Split> =
            fixed.map(|(split, rank)| split.unwrap_or_else(|| Split::replicated(rank))).collect();
        let results: Vec<Option<Split>> = fixed.iter().cloned().map(Some).collect();
        let layout = Layout { mesh: &self.axes, args, results: &results };
        let executable = self.executable(graph, donated, &layout)?;
        self.describe(executable, fixed).map_err(device_error)
    }

    fn executable(
        &self,
        graph: &Graph,
        donated: &[usize],
        layout: &Layout<'_>,
    ) -> Result<Executable, Diagnostics> {
        let ids = self.all.iter().map(|device| Ok(device.ready()?.id));
        let ids = ids.collect::<Result<Vec<i64>, Diagnostics>>()?;
        self.first()?.compiler.program_on(graph, donated, layout, &ids)
    }

    fn describe(&self, executable: Executable, splits: Vec<Split>) -> pjrt::Result<MeshProgram> {
        let mut order = Vec::with_capacity(self.all.len());
        for device in executable.devices()? {
            let id = device.id()?;
            let is_it = |known: &crate::run::Device| known.ready().is_ok_and(|r| r.id == id);
            order.extend(self.all.iter().position(is_it));
        }
        Ok(MeshProgram { executable, order, splits })
    }
}

impl MeshProgram {
    /// Runs it. `kept` are positions of donated arguments that must survive.
    pub(crate) fn run(&self, args: &[Arc<Shards>], kept: Vec<usize>) -> pjrt::Result<Vec<Shards>> {
        let lists: Vec<Vec<&Buffer>> = self
            .order
            .iter()
            .map(|&place| args.iter().filter_map(|arg| arg.buffers.get(place)).collect())
            .collect();
        let lists: Vec<&[&Buffer]> = lists.iter().map(Vec::as_slice).collect();
        let options = ExecuteOptions { keep_arguments: kept, ..ExecuteOptions::default() };
        let outputs = self.executable.execute_on_all(&lists, &options)?.outputs;
        // From lists by device, in the order of the executable, to lists by result.
        let mut by_place: Vec<(usize, std::vec::IntoIter<Buffer>)> =
            self.order.iter().copied().zip(outputs.into_iter().map(Vec::into_iter)).collect();
        by_place.sort_by_key(|(place, _)| *place);
        let result = |split: &Split| Shards {
            split: split.clone(),
            buffers: by_place.iter_mut().filter_map(|(_, outputs)| outputs.next()).collect(),
        };
        Ok(self.splits.iter().map(result).collect())
    }
}
