//! A graph to the text of a StableHLO module.

use super::{At, Call, Graph, ValueId};
use crate::back::stablehlo::Arithmetic;
use crate::back::stablehlo::text::{Tensor, Writer};
use crate::diag::{Diagnostic, Diagnostics};
use crate::run::mesh::{Axes, Split};
use crate::run::numerics::Numerics;
use crate::target::Target;
use std::collections::HashMap;
use std::fmt::Write;

/// What a module is written for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EmitOptions {
    /// The chip whose Mosaic kernels go into the module; none for any PJRT device, where kernels
    /// become functions of plain StableHLO.
    pub(crate) chip: Option<&'static Target>,
    /// How products of `f32` are computed off the TPU.
    pub(crate) numerics: Numerics,
}

impl EmitOptions {
    /// How far rounding may depend on shapes.
    pub(crate) fn arithmetic(&self) -> Arithmetic {
        match (self.chip, self.numerics) {
            (None, Numerics::InOrder) => Arithmetic::InOrder,
            (Some(_), _) | (None, Numerics::Device | Numerics::Tpu) => Arithmetic::Fast,
        }
    }
}

/// How arguments and results of a program are split over a mesh.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Layout<'a> {
    pub(crate) mesh: &'a Axes,
    pub(crate) args: &'a [&'a Split],
    /// By result; none to leave it to XLA.
    pub(crate) results: &'a [Option<Split>],
}

impl Layout<'_> {
    fn text(&self, split: &Split) -> String {
        format!("sdy.sharding = #sdy.sharding{}", split.text(self.mesh))
    }
}

/// A module being written: the main function, and those that kernels became.
pub(crate) struct Emit {
    /// The function being written.
    pub(crate) out: Writer,
    /// For what.
    pub(crate) options: EmitOptions,
    /// Further functions by their key, with name and text.
    functions: HashMap<Vec<u8>, (String, String)>,
    /// The keys of `functions` in the order in which they came.
    order: Vec<Vec<u8>>,
    /// The line of the op being written.
    at: Option<At>,
    /// The mesh that the program runs on.
    mesh: Option<Axes>,
}

impl Emit {
    fn new(options: EmitOptions) -> Emit {
        let mut out = Writer::new();
        out.set_arithmetic(options.arithmetic());
        Emit { out, options, functions: HashMap::new(), order: Vec::new(), at: None, mesh: None }
    }

    /// The name of the function with this key, which is written by `make` (given the name) when it
    /// is asked for first.
    pub(crate) fn function(
        &mut self,
        key: Vec<u8>,
        stem: &str,
        make: impl FnOnce(&str) -> Result<String, Diagnostics>,
    ) -> Result<String, Diagnostics> {
        if let Some((name, _)) = self.functions.get(&key) {
            return Ok(name.clone());
        }
        let stem: String =
            stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let name = format!("{stem}_{}", self.functions.len());
        let text = make(&name)?;
        self.functions.insert(key.clone(), (name.clone(), text));
        self.order.push(key);
        Ok(name)
    }

    /// Says that the program names the axes of a mesh. All of a program is on one.
    pub(crate) fn use_mesh(&mut self, mesh: &Axes) {
        self.mesh.get_or_insert_with(|| mesh.clone());
    }

    /// Writes the calls of a graph; gives its outputs.
    ///
    /// # Errors
    /// What an op cannot express for this target, at the line that recorded it.
    pub(crate) fn graph(
        &mut self,
        graph: &Graph,
        args: &[Tensor],
    ) -> Result<Vec<Tensor>, Diagnostics> {
        let mut values: Vec<Option<Tensor>> = vec![None; graph.n_values()];
        for (id, arg) in graph.args().iter().zip(args) {
            values[id.idx()] = Some(arg.clone());
        }
        let needed = graph.needed();
        let outer = self.at;
        for call in graph.calls() {
            if call.op.has_side_effects() || call.outputs().any(|output| needed[output.idx()]) {
                self.call(call, &mut values)?;
            }
        }
        if let Some(at) = outer {
            self.locate(at);
        }
        graph.outputs().iter().map(|id| read(&values, *id, None)).collect()
    }

    fn call(&mut self, call: &Call, values: &mut [Option<Tensor>]) -> Result<(), Diagnostics> {
        let inputs = call.inputs.iter().map(|id| read(values, *id, Some(call.at)));
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        self.locate(call.at);
        let results = call.op.emit(self, &inputs).map_err(|mut diagnostics| {
            for diagnostic in &mut diagnostics.0 {
                if diagnostic.labels.is_empty() {
                    *diagnostic = diagnostic.clone().at(call.span(), "recorded here");
                }
            }
            diagnostics
        })?;
        for (id, result) in call.outputs().zip(results) {
            values[id.idx()] = Some(result);
        }
        Ok(())
    }

    /// Says which line the ops that follow come from.
    fn locate(&mut self, at: At) {
        self.at = Some(at);
        let file = at.file().replace('\\', "\\\\").replace('"', "\\\"");
        self.out.set_loc(&format!("\"{file}\":{}:{}", at.line(), at.column()));
    }
}

fn read(values: &[Option<Tensor>], id: ValueId, at: Option<At>) -> Result<Tensor, Diagnostics> {
    values.get(id.idx()).cloned().flatten().ok_or_else(|| {
        use crate::diag::{Code, Span};
        let message = format!("value {} of a program is used before it is made", id.0);
        let diagnostic = Diagnostic::error(Code::TENSOR_PROGRAM, message);
        diagnostic.at_opt(at.map(Span::from_location), "recorded here").into()
    })
}

/// The text of a module whose `main` is the graph. `donated` are positions of arguments whose
/// memory the program may reuse.
///
/// # Errors
/// As [`Emit::graph`].
pub(crate) fn module(
    graph: &Graph,
    donated: &[usize],
    options: EmitOptions,
) -> Result<String, Diagnostics> {
    module_on(graph, donated, options, None)
}

/// As [`module`], for all devices of a mesh.
///
/// # Errors
/// As [`Emit::graph`].
pub(crate) fn module_on(
    graph: &Graph,
    donated: &[usize],
    options: EmitOptions,
    layout: Option<&Layout<'_>>,
) -> Result<String, Diagnostics> {
    let mut cx = Emit::new(options);
    if let Some(layout) = layout {
        cx.use_mesh(layout.mesh);
    }
    let args: Vec<Tensor> = graph
        .args()
        .iter()
        .map(|id| {
            let ty = graph.ty(*id);
            cx.out.arg(ty.dtype, &ty.shape)
        })
        .collect();
    let results = cx.graph(graph, &args)?;
    let of_arg = |idx: usize| {
        let split = layout.and_then(|layout| layout.args.get(idx).map(|split| layout.text(split)));
        let donated = donated.contains(&idx).then(|| "jax.buffer_donor = true".to_owned());
        attributes(donated.into_iter().chain(split))
    };
    let of_result = |idx: usize| {
        attributes(layout.and_then(|layout| Some(layout.text(layout.results.get(idx)?.as_ref()?))))
    };
    let arg_attrs: Vec<String> = (0..args.len()).map(of_arg).collect();
    let result_attrs: Vec<String> = (0..results.len()).map(of_result).collect();
    let Emit { out, functions, order, mesh, .. } = cx;
    let mut text = String::from("module @program {\n");
    if let Some(mesh) = mesh {
        let axes: Vec<String> =
            mesh.iter().map(|(name, size)| format!("\"{name}\"={size}")).collect();
        let _ = writeln!(text, "  sdy.mesh @mesh = <[{}]>", axes.join(", "));
    }
    text.push_str(&out.finish_annotated("public @main", [&arg_attrs, &result_attrs], &results));
    for key in order {
        if let Some((_, function)) = functions.get(&key) {
            text.push_str(function);
        }
    }
    text.push_str("}\n");
    Ok(text)
}

/// `{a, b}`, or nothing if there are none.
fn attributes(attributes: impl IntoIterator<Item = String>) -> String {
    let attributes: Vec<String> = attributes.into_iter().collect();
    if attributes.is_empty() { String::new() } else { format!("{{{}}}", attributes.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::DType;
    use crate::run::graph::Ty;

    #[test]
    fn a_value_that_nothing_makes_is_an_error() {
        let mut graph = Graph::default();
        let x = graph.arg(Ty::new(DType::F32, &[2]));
        graph.set_outputs([x]);
        assert!(module(&graph, &[], EmitOptions::default()).is_ok());
        graph.set_outputs([x]);
        let mut cx = Emit::new(EmitOptions::default());
        let error = cx.graph(&graph, &[]).unwrap_err();
        assert_eq!(error.0[0].code.as_str(), "tensor::program");
    }
}
