//! Loops, branches, and calls of functions.

use super::{List, Name, Tensor, Writer, names, types};
use crate::ir::{DType, Shape};

/// A loop whose regions are being written.
#[derive(Debug)]
pub(crate) struct OpenWhile {
    id: u32,
    /// The carried values, in condition and body.
    pub(crate) args: Vec<Tensor>,
}

/// A branch whose regions are being written.
#[derive(Debug)]
pub(crate) struct OpenIf {
    id: u32,
}

impl Writer {
    /// A call of another function of the module.
    pub(crate) fn call(
        &mut self,
        function: &str,
        args: &[Tensor],
        results_of: &[(DType, Shape)],
    ) -> Vec<Tensor> {
        let id = self.next;
        self.next += 1;
        let of_type = |(dtype, shape): &(DType, Shape)| Tensor {
            name: Name::Plain(id),
            dtype: *dtype,
            shape: shape.clone(),
        };
        let typed: Vec<Tensor> = results_of.iter().map(of_type).collect();
        let (arg_types, result_types) = (types(args), types(&typed));
        let result = result_names(id, typed.len());
        self.line(format_args!(
            "{result}func.call @{function}({}) : ({arg_types}) -> ({result_types})",
            names(args)
        ));
        results(id, &typed)
    }

    /// A call of a function of the host, through XLA's FFI; `config` is its dictionary.
    pub(crate) fn host_call(
        &mut self,
        target: &str,
        config: &str,
        args: &[Tensor],
        results_of: &[(DType, Shape)],
    ) -> Vec<Tensor> {
        let id = self.next;
        self.next += 1;
        let of_type = |(dtype, shape): &(DType, Shape)| Tensor {
            name: Name::Plain(id),
            dtype: *dtype,
            shape: shape.clone(),
        };
        let typed: Vec<Tensor> = results_of.iter().map(of_type).collect();
        // XLA is free to choose other layouts where none are given.
        let layouts = |values: &[Tensor]| List(values.iter().map(row_major)).to_string();
        let (arg_layouts, result_layouts) = (layouts(args), layouts(&typed));
        let (arg_types, result_types) = (types(args), types(&typed));
        let result = result_names(id, typed.len());
        self.line(format_args!(
            "{result}stablehlo.custom_call @{target}({}) {{api_version = 4 : i32, \
             backend_config = {config}, operand_layouts = [{arg_layouts}], \
             result_layouts = [{result_layouts}]}} : ({arg_types}) -> ({result_types})",
            names(args)
        ));
        results(id, &typed)
    }

    /// Opens a loop over `inits`; gives the carried values. First comes the condition region.
    pub(crate) fn begin_while(&mut self, inits: &[Tensor]) -> OpenWhile {
        let id = self.next;
        self.next += 1;
        let args: Vec<Tensor> =
            inits.iter().map(|init| self.fresh(init.dtype, &init.shape)).collect();
        let pairs = List(args.iter().zip(inits).map(|(arg, init)| format!("{arg} = {init}")));
        let result = result_names(id, inits.len());
        self.bare_line(format_args!("{result}stablehlo.while({pairs}) : {} cond {{", types(inits)));
        self.indent += 1;
        OpenWhile { id, args }
    }

    /// Ends the condition and opens the body.
    pub(crate) fn while_body(&mut self, cond: &Tensor) {
        self.give(std::slice::from_ref(cond));
        self.indent -= 1;
        self.bare_line(format_args!("}} do {{"));
        self.indent += 1;
    }

    /// Ends the body with the next carried values; gives the loop's results.
    pub(crate) fn end_while(&mut self, open: &OpenWhile, next: &[Tensor]) -> Vec<Tensor> {
        self.give(next);
        self.indent -= 1;
        self.line(format_args!("}}"));
        results(open.id, next)
    }

    /// Opens a branch; first comes the `then` region.
    pub(crate) fn begin_if(&mut self, cond: &Tensor, n_results: usize) -> OpenIf {
        let id = self.next;
        self.next += 1;
        let result = result_names(id, n_results);
        self.bare_line(format_args!("{result}\"stablehlo.if\"({cond}) ({{"));
        self.indent += 1;
        OpenIf { id }
    }

    /// Ends the `then` region and opens the other.
    pub(crate) fn if_else(&mut self, values: &[Tensor]) {
        self.give(values);
        self.indent -= 1;
        self.bare_line(format_args!("}}, {{"));
        self.indent += 1;
    }

    /// Ends the `else` region; gives the results.
    pub(crate) fn end_if(
        &mut self,
        open: &OpenIf,
        cond: &Tensor,
        values: &[Tensor],
    ) -> Vec<Tensor> {
        self.give(values);
        self.indent -= 1;
        let (cond, types) = (cond.ty(), types(values));
        self.line(format_args!("}}) : ({cond}) -> ({types})"));
        results(open.id, values)
    }
}

/// The layout of a dense row-major array, as an attribute.
fn row_major(value: &Tensor) -> String {
    let rank = value.shape.len();
    let axes = List((0..rank).rev());
    match rank {
        0 => "dense<> : tensor<0xindex>".to_owned(),
        rank => format!("dense<[{axes}]> : tensor<{rank}xindex>"),
    }
}

pub(super) fn result_names(id: u32, n: usize) -> String {
    match n {
        0 => String::new(),
        1 => format!("%{id} = "),
        n => format!("%{id}:{n} = "),
    }
}

pub(super) fn results(id: u32, values: &[Tensor]) -> Vec<Tensor> {
    let name = |idx| match values.len() {
        1 => Name::Plain(id),
        _ => Name::Part(id, idx),
    };
    let with_name =
        |(idx, value): (usize, &Tensor)| Tensor { name: name(idx as u32), ..value.clone() };
    values.iter().enumerate().map(with_name).collect()
}
