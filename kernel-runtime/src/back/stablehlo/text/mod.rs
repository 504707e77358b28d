//! Writes StableHLO text in its pretty form: one function of typed SSA values.
//!
//! This module knows the notation and result types of the ops that we use, and nothing of
//! kernels. Constants are pooled at the head of the function, so that equal ones are written once.
//! Here are values, their types, and functions; the ops stand by family in the files beside.

mod control;
mod elementwise;
mod in_order;
mod index;
mod literal;
mod mesh;
mod reduce;
mod shape;

pub(crate) use elementwise::Direction;
pub(crate) use index::{GatherDims, Scatter};
pub(crate) use mesh::{Groups, ManualText};
pub(crate) use reduce::DotDims;
pub(crate) use shape::padded_size;

use literal::LiteralText;

use super::Arithmetic;
use crate::ir::DType;
use crate::ir::ops::Literal;
use crate::ir::ty::Shape;
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// An SSA value with its type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tensor {
    name: Name,
    pub(crate) dtype: DType,
    pub(crate) shape: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Name {
    Plain(u32),
    Part(u32, u32),
    Constant(u32),
}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Name::Plain(id) => write!(f, "%{id}"),
            Name::Part(id, part) => write!(f, "%{id}#{part}"),
            Name::Constant(id) => write!(f, "%c{id}"),
        }
    }
}

impl Tensor {
    /// Its type, for printing.
    pub(crate) fn ty(&self) -> TensorType<'_> {
        TensorType { dtype: self.dtype, shape: &self.shape }
    }
}

/// A StableHLO tensor type; prints as `tensor<8x128xf32>`.
#[derive(Clone, Copy, Debug)]
pub struct TensorType<'a> {
    /// Element type; unsigned integers are spelled `ui8`, `bool` is `i1`.
    pub dtype: DType,
    /// Sizes, outermost first.
    pub shape: &'a [usize],
}

impl fmt::Display for TensorType<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tensor<")?;
        for size in self.shape {
            write!(f, "{size}x")?;
        }
        let element = match self.dtype {
            DType::Bool => "i1",
            DType::I4 => "i4",
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::U8 => "ui8",
            DType::U16 => "ui16",
            DType::U32 => "ui32",
            DType::F8E4M3FN => "f8E4M3FN",
            DType::F8E5M2 => "f8E5M2",
            DType::BF16 => "bf16",
            DType::F16 => "f16",
            DType::F32 => "f32",
        };
        write!(f, "{element}>")
    }
}

/// Prints items with `, ` between them.
struct List<I>(I);

impl<I: Iterator<Item: fmt::Display> + Clone> fmt::Display for List<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (idx, item) in self.0.clone().enumerate() {
            if idx > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{item}")?;
        }
        Ok(())
    }
}

fn names(values: &[Tensor]) -> List<std::slice::Iter<'_, Tensor>> {
    List(values.iter())
}

fn types(values: &[Tensor]) -> String {
    List(values.iter().map(Tensor::ty)).to_string()
}

fn sizes(values: &[usize]) -> List<std::slice::Iter<'_, usize>> {
    List(values.iter())
}

/// The function being written.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    args: Vec<Tensor>,
    body: String,
    indent: usize,
    next: u32,
    constants: String,
    constant_ids: BTreeMap<String, u32>,
    /// What follows each op: empty, or ` loc(..)`.
    loc: String,
    arithmetic: Arithmetic,
}

impl Writer {
    /// A function without arguments or ops.
    pub(crate) fn new() -> Writer {
        Writer { indent: 2, ..Writer::default() }
    }

    /// The location of the ops that follow: empty, or the text of an MLIR location.
    pub(crate) fn set_loc(&mut self, loc: &str) {
        self.loc.clear();
        if !loc.is_empty() {
            let _ = write!(self.loc, " loc({loc})");
        }
    }

    /// A module with this as its only function. `results` is what the function returns.
    pub(crate) fn finish(self, module: &str, results: &[Tensor]) -> String {
        let function = self.finish_function("public @main", &[], results);
        format!("module @{module} {{\n{function}}}\n")
    }

    /// The text of the function: `name` with its visibility (`public @main`), and attributes per
    /// argument (`{jax.buffer_donor = true}`), empty or missing for none.
    pub(crate) fn finish_function(
        self,
        name: &str,
        arg_attrs: &[&str],
        results: &[Tensor],
    ) -> String {
        let arg_attrs: Vec<String> = arg_attrs.iter().map(|&attrs| attrs.to_owned()).collect();
        self.finish_annotated(name, [&arg_attrs, &[]], results)
    }

    /// As [`Writer::finish_function`], with attributes per argument and per result.
    pub(crate) fn finish_annotated(
        self,
        name: &str,
        [arg_attrs, result_attrs]: [&[String]; 2],
        results: &[Tensor],
    ) -> String {
        let with = |text: String, attrs: Option<&String>| match attrs {
            Some(attrs) if !attrs.is_empty() => format!("{text} {attrs}"),
            _ => text,
        };
        let args = self.args.iter().enumerate();
        let args =
            List(args.map(|(idx, arg)| with(format!("{arg}: {}", arg.ty()), arg_attrs.get(idx))));
        let result_types = results.iter().enumerate();
        let result_types = List(
            result_types.map(|(idx, result)| with(result.ty().to_string(), result_attrs.get(idx))),
        );
        let mut out = String::with_capacity(self.body.len() + self.constants.len() + 512);
        let _ = writeln!(out, "  func.func {name}({args}) -> ({result_types}) {{");
        out.push_str(&self.constants);
        out.push_str(&self.body);
        let _ = match results {
            [] => writeln!(out, "    return"),
            _ => writeln!(out, "    return {} : {}", names(results), types(results)),
        };
        out.push_str("  }\n");
        out
    }

    /// Adds an argument of the function.
    pub(crate) fn arg(&mut self, dtype: DType, shape: &[usize]) -> Tensor {
        let arg = self.fresh(dtype, shape);
        self.args.push(arg.clone());
        arg
    }

    /// A constant with one value everywhere.
    pub(crate) fn constant(&mut self, literal: Literal, shape: &[usize]) -> Tensor {
        let dtype = literal.dtype();
        let ty = TensorType { dtype, shape };
        let text = format!("dense<{}> : {ty}", LiteralText(literal));
        let id = match self.constant_ids.get(&text) {
            Some(&id) => id,
            None => {
                let id = self.constant_ids.len() as u32;
                let _ = writeln!(self.constants, "    %c{id} = stablehlo.constant {text}");
                self.constant_ids.insert(text, id);
                id
            }
        };
        Tensor { name: Name::Constant(id), dtype, shape: Shape::from_slice(shape) }
    }

    /// An `i32` scalar constant.
    pub(crate) fn index(&mut self, value: i64) -> Tensor {
        self.constant(Literal::int(DType::I32, value), &[])
    }

    fn fresh(&mut self, dtype: DType, shape: &[usize]) -> Tensor {
        let name = Name::Plain(self.next);
        self.next += 1;
        Tensor { name, dtype, shape: Shape::from_slice(shape) }
    }

    fn line(&mut self, text: fmt::Arguments<'_>) {
        let indent = 2 * self.indent;
        let _ = writeln!(self.body, "{:indent$}{text}{}", "", self.loc);
    }

    /// A line without a location: part of an op with regions.
    fn bare_line(&mut self, text: fmt::Arguments<'_>) {
        let indent = 2 * self.indent;
        let _ = writeln!(self.body, "{:indent$}{text}", "");
    }

    /// `%r = stablehlo.TEXT`, where the text has the operands and their types, and the result has
    /// this type.
    pub(crate) fn op(&mut self, dtype: DType, shape: &[usize], text: fmt::Arguments<'_>) -> Tensor {
        let result = self.fresh(dtype, shape);
        self.line(format_args!("{result} = stablehlo.{text}"));
        result
    }

    fn give(&mut self, values: &[Tensor]) {
        match values {
            [] => self.line(format_args!("stablehlo.return")),
            _ => self.line(format_args!("stablehlo.return {} : {}", names(values), types(values))),
        }
    }
}
