//! Programs over several devices: Shardy's annotations, and collectives.

use super::control::{result_names, results};
use super::{Tensor, TensorType, Writer, names, types};
use crate::ir::{DType, Shape};
use std::collections::BTreeMap;

/// A region that runs on every device, being written.
#[derive(Debug)]
pub(crate) struct OpenManual {
    id: u32,
    /// The parts that a device has.
    pub(crate) args: Vec<Tensor>,
    /// What was written of the function around it: the region sees nothing of that, constants
    /// included.
    outer: (String, String, BTreeMap<String, u32>),
    arg_types: String,
}

/// How a region that runs on every device hangs together with the program around it.
#[derive(Debug)]
pub(crate) struct ManualText {
    /// The shardings of what it is given, as `<@mesh, [{"x"}]>`.
    pub(crate) inputs: Vec<String>,
    /// The shardings of what it gives.
    pub(crate) outputs: Vec<String>,
    /// Names of the axes of the mesh.
    pub(crate) axes: Vec<String>,
}

/// What a collective runs over: groups of devices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Groups<'a>(pub(crate) &'a [Vec<usize>]);

/// All collectives of a program share a channel: it says that devices are counted by partition.
const CHANNEL: &str = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>";

impl Groups<'_> {
    /// `replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>`.
    fn text(self) -> String {
        let n_members = self.0.first().map_or(0, Vec::len);
        format!("replica_groups = dense<{:?}> : tensor<{}x{n_members}xi64>", self.0, self.0.len())
    }
}

impl Writer {
    /// The value, split as said.
    pub(crate) fn sharding_constraint(&mut self, x: &Tensor, sharding: &str) -> Tensor {
        let result = self.fresh(x.dtype, &x.shape);
        self.line(format_args!("{result} = sdy.sharding_constraint {x} {sharding} : {}", x.ty()));
        result
    }

    /// Opens a region that runs on every device with its parts of `inputs`, which have the types
    /// `locals`.
    pub(crate) fn begin_manual(
        &mut self,
        inputs: &[Tensor],
        locals: &[(DType, Shape)],
        text: &ManualText,
    ) -> OpenManual {
        let id = self.next;
        self.next += 1;
        let args: Vec<Tensor> =
            locals.iter().map(|(dtype, shape)| self.fresh(*dtype, shape)).collect();
        let typed: Vec<String> = args.iter().map(|arg| format!("{arg}: {}", arg.ty())).collect();
        let axes: Vec<String> = text.axes.iter().map(|name| format!("\"{name}\"")).collect();
        self.bare_line(format_args!(
            "{}sdy.manual_computation({}) in_shardings=[{}] out_shardings=[{}] manual_axes={{{}}} \
             ({}) {{",
            result_names(id, text.outputs.len()),
            names(inputs),
            text.inputs.join(", "),
            text.outputs.join(", "),
            axes.join(", "),
            typed.join(", ")
        ));
        self.indent += 1;
        let outer = (
            std::mem::take(&mut self.body),
            std::mem::take(&mut self.constants),
            std::mem::take(&mut self.constant_ids),
        );
        OpenManual { id, args, outer, arg_types: types(inputs) }
    }

    /// Ends the region with what each device gives; the results have these types.
    pub(crate) fn end_manual(
        &mut self,
        open: OpenManual,
        values: &[Tensor],
        wholes: &[(DType, Shape)],
    ) -> Vec<Tensor> {
        match values {
            [] => self.line(format_args!("sdy.return")),
            _ => self.line(format_args!("sdy.return {} : {}", names(values), types(values))),
        }
        let region = std::mem::take(&mut self.constants) + &self.body;
        (self.body, self.constants, self.constant_ids) = open.outer;
        self.body.push_str(&region);
        self.indent -= 1;
        let whole = |(value, (dtype, shape)): (&Tensor, &(DType, Shape))| Tensor {
            dtype: *dtype,
            shape: shape.clone(),
            ..value.clone()
        };
        let wholes: Vec<Tensor> = values.iter().zip(wholes).map(whole).collect();
        self.line(format_args!("}} : ({}) -> ({})", open.arg_types, types(&wholes)));
        results(open.id, &wholes)
    }

    /// Combines what the devices of each group have, element by element: `add`, `maximum`.
    pub(crate) fn all_reduce(&mut self, x: &Tensor, groups: Groups<'_>, with: &str) -> Tensor {
        let groups = groups.text();
        let attrs = format!("{CHANNEL}, {groups}, use_global_device_ids");
        self.combine("all_reduce", x, &attrs, with, &x.shape)
    }

    /// As [`Writer::all_reduce`]; each device keeps its part along `axis`.
    pub(crate) fn reduce_scatter(
        &mut self,
        x: &Tensor,
        groups: Groups<'_>,
        axis: usize,
        shape: &[usize],
    ) -> Tensor {
        let groups = groups.text();
        let attrs =
            format!("{CHANNEL}, {groups}, scatter_dimension = {axis} : i64, use_global_device_ids");
        self.combine("reduce_scatter", x, &attrs, "add", shape)
    }

    fn combine(
        &mut self,
        name: &str,
        x: &Tensor,
        attrs: &str,
        with: &str,
        shape: &[usize],
    ) -> Tensor {
        let result = self.fresh(x.dtype, shape);
        let [a, b, c] = [0; 3].map(|_| self.fresh(x.dtype, &[]));
        let ty = a.ty();
        self.bare_line(format_args!("{result} = \"stablehlo.{name}\"({x}) <{{{attrs}}}> ({{"));
        self.bare_line(format_args!("^bb0({a}: {ty}, {b}: {ty}):"));
        self.line(format_args!("  {c} = stablehlo.{with} {a}, {b} : {ty}"));
        self.line(format_args!("  stablehlo.return {c} : {ty}"));
        self.line(format_args!("}}) : ({}) -> {}", x.ty(), result.ty()));
        result
    }

    /// Puts what the devices of each group have one behind the other along `axis`.
    pub(crate) fn all_gather(
        &mut self,
        x: &Tensor,
        groups: Groups<'_>,
        axis: usize,
        shape: &[usize],
    ) -> Tensor {
        let groups = groups.text();
        let attrs =
            format!("all_gather_dim = {axis} : i64, {CHANNEL}, {groups}, use_global_device_ids");
        self.exchange("all_gather", x, &attrs, shape)
    }

    /// Cuts what each device has along the first axis, gives every device of the group one piece,
    /// and puts those that it gets one behind the other along the second axis.
    pub(crate) fn all_to_all(
        &mut self,
        x: &Tensor,
        groups: Groups<'_>,
        [split, concat]: [usize; 2],
        shape: &[usize],
    ) -> Tensor {
        let n_pieces = groups.0.first().map_or(1, Vec::len);
        let attrs = format!(
            "{CHANNEL}, concat_dimension = {concat} : i64, {}, split_count = {n_pieces} : i64, \
             split_dimension = {split} : i64",
            groups.text()
        );
        self.exchange("all_to_all", x, &attrs, shape)
    }

    /// Sends what the first device of each pair has to the second; a device that gets nothing has
    /// zeros.
    pub(crate) fn collective_permute(&mut self, x: &Tensor, pairs: &[[usize; 2]]) -> Tensor {
        let attrs = match pairs {
            [] => format!("{CHANNEL}, source_target_pairs = dense<> : tensor<0x2xi64>"),
            _ => format!(
                "{CHANNEL}, source_target_pairs = dense<{pairs:?}> : tensor<{}x2xi64>",
                pairs.len()
            ),
        };
        self.exchange("collective_permute", x, &attrs, &x.shape)
    }

    fn exchange(&mut self, name: &str, x: &Tensor, attrs: &str, shape: &[usize]) -> Tensor {
        let result = TensorType { dtype: x.dtype, shape };
        let text = format!("\"stablehlo.{name}\"({x}) <{{{attrs}}}> : ({}) -> {result}", x.ty());
        let result = self.fresh(x.dtype, shape);
        self.line(format_args!("{result} = {text}"));
        result
    }

    /// The number of the device, of `u32`.
    pub(crate) fn partition_id(&mut self) -> Tensor {
        let result = self.fresh(DType::U32, &[]);
        self.line(format_args!("{result} = stablehlo.partition_id : {}", result.ty()));
        result
    }
}
