//! Functions of tensors compiled ahead of time, for devices that are not here.

use super::{Jit, JitFn, Tree, check_arguments, leaves};
use crate::diag::Diagnostics;
use crate::run::device::Device;
use crate::run::graph::Graph;
use crate::run::graph::emit::{self, EmitOptions, Layout};
use crate::run::mesh::{Axes, Split};
use crate::run::numerics::Numerics;
use crate::run::tensor::Tensor;
use crate::run::tensor::node::{Node, State};
use crate::target::Target;
use std::panic::Location;

/// A function traced for arguments of given types: a program that is not compiled.
#[derive(Clone, Debug)]
pub struct Lowered {
    graph: Graph,
    /// The mesh that it runs on, and how its arguments are split over it.
    layout: Option<(Axes, Vec<Split>)>,
}

impl<Args: Tree, F: JitFn<Args>> Jit<Args, F> {
    /// Traces the function for arguments of the types of these, whose elements do not matter:
    /// [`Tensor::shaped`](crate::run::Tensor::shaped) makes tensors that have none. What it uses
    /// from outside become further arguments of the program, and so do the real sizes of
    /// [bounded](Jit::bounded) dims, whose arguments get the size of the bucket.
    ///
    /// # Errors
    /// Whatever goes wrong in the function.
    #[track_caller]
    pub fn lower(&self, args: &Args) -> Result<Lowered, Diagnostics> {
        let inputs = leaves(args);
        let device = inputs.first().map_or_else(Device::current, |leaf| leaf.device().clone());
        let at = Location::caller();
        check_arguments(&device, &inputs, at)?;
        if self.has_bounds() {
            let fit = self.fit(args, &inputs, &device, at)?;
            let graph = self.bounded_graph(args, &fit, &device, at)?.graph();
            return Ok(Lowered { graph, layout: None });
        }
        let (traced, _) = self.trace(args, &inputs, &device, at)?;
        let layout = device.mesh().map(|devices| {
            let given = inputs.iter().map(Tensor::node).chain(&traced.captures);
            (devices.axes.clone(), given.map(|node| split_of(node)).collect())
        });
        Ok(Lowered { graph: traced.graph, layout })
    }
}

impl Lowered {
    /// The program as the text of a StableHLO module for any PJRT device.
    ///
    /// # Errors
    /// What a kernel in it cannot express in StableHLO.
    pub fn stablehlo(&self) -> Result<String, Diagnostics> {
        self.emit(EmitOptions { chip: None, numerics: Numerics::Device })
    }

    /// The program as the text of a StableHLO module for a TPU, with kernels as Mosaic custom
    /// calls.
    ///
    /// # Errors
    /// What a kernel in it cannot do on that chip.
    pub fn stablehlo_for(&self, target: &'static Target) -> Result<String, Diagnostics> {
        self.emit(EmitOptions { chip: Some(target), numerics: Numerics::Device })
    }

    fn emit(&self, options: EmitOptions) -> Result<String, Diagnostics> {
        let Some((mesh, args)) = &self.layout else {
            return emit::module(&self.graph, &[], options);
        };
        let args: Vec<&Split> = args.iter().collect();
        let layout = Layout { mesh, args: &args, results: &[] };
        emit::module_on(&self.graph, &[], options, Some(&layout))
    }

    /// How many devices the program is split over: those of its mesh, or one.
    pub fn n_partitions(&self) -> usize {
        self.layout.as_ref().map_or(1, |(mesh, _)| mesh.n_devices())
    }

    /// Compiles the program for the chips of a topology, as `v5e:16x16`, with libtpu in a worker
    /// process: for each chip a part, as XLA splits it. Memory and cycles are those of one chip.
    /// The program must begin its `main` with [`crate::aot::init`].
    ///
    /// # Errors
    /// As [`Lowered::stablehlo_for`], and libtpu's own messages.
    pub fn compile_on(
        &self,
        name: &str,
        topology: &str,
    ) -> Result<crate::aot::Report, Diagnostics> {
        use crate::aot;
        let chip = topology.split(':').next().unwrap_or_default();
        let target = Target::parse(chip).map_err(Diagnostics::from)?;
        let options = aot::Options {
            n_partitions: self.n_partitions(),
            topology: topology.contains(':').then(|| topology.to_owned()),
            ..aot::Options::default()
        };
        let program = self.stablehlo_for(target)?;
        let report = aot::compile(&aot::Request::new(name, target, program).with(options));
        if report.is_ok() { Ok(report) } else { Err(Diagnostics(report.diagnostics())) }
    }

    /// The number of ops.
    pub fn n_ops(&self) -> usize {
        self.graph.calls().len()
    }

    /// The names of the ops, in order.
    pub fn op_names(&self) -> impl Iterator<Item = &'static str> {
        self.graph.calls().iter().map(|call| call.op.name())
    }

    /// Compiles the program for a TPU with libtpu, in a worker process, and tells its cycles, its
    /// memory and what it moves. The program must begin its `main` with [`crate::aot::init`].
    ///
    /// # Errors
    /// As [`Lowered::stablehlo_for`], and libtpu's own messages.
    #[cfg(feature = "mlir")]
    pub fn compile_for(
        &self,
        name: &str,
        target: &'static Target,
    ) -> Result<crate::aot::Report, Diagnostics> {
        self.compile_with(name, target, crate::aot::Options::default())
    }

    /// As [`Lowered::compile_for`], with options: a whole model may need a longer time limit.
    ///
    /// # Errors
    /// As [`Lowered::compile_for`].
    #[cfg(feature = "mlir")]
    pub fn compile_with(
        &self,
        name: &str,
        target: &'static Target,
        options: crate::aot::Options,
    ) -> Result<crate::aot::Report, Diagnostics> {
        use crate::aot;
        let program = self.stablehlo_for(target)?;
        let report = aot::compile(&aot::Request::new(name, target, program).with(options));
        if report.is_ok() { Ok(report) } else { Err(Diagnostics(report.diagnostics())) }
    }
}

/// How a tensor is split over its mesh.
fn split_of(node: &Node) -> Split {
    match &*node.state() {
        State::Sharded(shards) => shards.split.clone(),
        _ => Split::replicated(node.ty.shape.len()),
    }
}
