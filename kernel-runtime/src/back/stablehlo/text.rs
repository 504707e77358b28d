//! Writes StableHLO text in its pretty form: one function of typed SSA values.
//!
//! This module knows the notation and result types of the ops that we use, and nothing of
//! kernels. Constants are pooled at the head of the function, so that equal ones are written once.

use crate::ir::DType;
use crate::ir::ops::Literal;
use crate::ir::ty::Shape;
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// An SSA value with its type.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tensor {
    name: Name,
    pub(super) dtype: DType,
    pub(super) shape: Shape,
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
    fn ty(&self) -> TensorType<'_> {
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
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::U8 => "ui8",
            DType::U16 => "ui16",
            DType::U32 => "ui32",
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

/// Comparison directions of StableHLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Eq,
    Ne,
    Ge,
    Gt,
    Le,
    Lt,
}

/// The function being written.
#[derive(Debug, Default)]
pub(super) struct Writer {
    args: Vec<Tensor>,
    body: String,
    indent: usize,
    next: u32,
    constants: String,
    constant_ids: BTreeMap<String, u32>,
    /// What follows each op: empty, or ` loc(..)`.
    loc: String,
}

impl Writer {
    /// A function without arguments or ops.
    pub(super) fn new() -> Writer {
        Writer { indent: 2, ..Writer::default() }
    }

    /// The location of the ops that follow: empty, or the text of an MLIR location.
    pub(super) fn set_loc(&mut self, loc: &str) {
        self.loc.clear();
        if !loc.is_empty() {
            let _ = write!(self.loc, " loc({loc})");
        }
    }

    /// The whole module. `results` is what the function returns.
    pub(super) fn finish(self, module: &str, results: &[Tensor]) -> String {
        let args = List(self.args.iter().map(|arg| format!("{arg}: {}", arg.ty())));
        let mut out = String::with_capacity(self.body.len() + self.constants.len() + 512);
        let _ = writeln!(out, "module @{module} {{");
        let _ = writeln!(out, "  func.func public @main({args}) -> ({}) {{", types(results));
        out.push_str(&self.constants);
        out.push_str(&self.body);
        let _ = match results {
            [] => writeln!(out, "    return"),
            _ => writeln!(out, "    return {} : {}", names(results), types(results)),
        };
        out.push_str("  }\n}\n");
        out
    }

    /// Adds an argument of the function.
    pub(super) fn arg(&mut self, dtype: DType, shape: &[usize]) -> Tensor {
        let arg = self.fresh(dtype, shape);
        self.args.push(arg.clone());
        arg
    }

    /// A constant with one value everywhere.
    pub(super) fn constant(&mut self, literal: Literal, shape: &[usize]) -> Tensor {
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
    pub(super) fn index(&mut self, value: i64) -> Tensor {
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

    /// An op whose operands and result have one type, or whose type is written as if.
    fn op(&mut self, dtype: DType, shape: &[usize], text: fmt::Arguments<'_>) -> Tensor {
        let result = self.fresh(dtype, shape);
        self.line(format_args!("{result} = stablehlo.{text}"));
        result
    }

    /// An element-wise op of one operand that keeps the type.
    pub(super) fn unary(&mut self, name: &str, x: &Tensor) -> Tensor {
        self.op(x.dtype, &x.shape, format_args!("{name} {x} : {}", x.ty()))
    }

    /// An element-wise op of two operands that keeps the type.
    pub(super) fn binary(&mut self, name: &str, x: &Tensor, y: &Tensor) -> Tensor {
        self.op(x.dtype, &x.shape, format_args!("{name} {x}, {y} : {}", x.ty()))
    }

    /// A comparison.
    pub(super) fn compare(&mut self, direction: Direction, x: &Tensor, y: &Tensor) -> Tensor {
        let direction = match direction {
            Direction::Eq => "EQ",
            Direction::Ne => "NE",
            Direction::Ge => "GE",
            Direction::Gt => "GT",
            Direction::Le => "LE",
            Direction::Lt => "LT",
        };
        let kind = if x.dtype.is_float() {
            "FLOAT"
        } else if x.dtype.is_signed_int() {
            "SIGNED"
        } else {
            "UNSIGNED"
        };
        let result = self.fresh(DType::Bool, &x.shape);
        self.line(format_args!(
            "{result} = stablehlo.compare {direction}, {x}, {y}, {kind} : ({}, {}) -> {}",
            x.ty(),
            y.ty(),
            result.ty()
        ));
        result
    }

    /// Whether each element is neither infinite nor NaN.
    pub(super) fn is_finite(&mut self, x: &Tensor) -> Tensor {
        self.mapped("is_finite", x, DType::Bool, &x.shape.clone())
    }

    /// `then` where `cond`, else `other`; a scalar condition chooses whole tensors.
    pub(super) fn select(&mut self, cond: &Tensor, then: &Tensor, other: &Tensor) -> Tensor {
        let text = format_args!("select {cond}, {then}, {other} : {}, {}", cond.ty(), then.ty());
        self.op(then.dtype, &then.shape, text)
    }

    /// `x` limited to `lo..=hi`, both scalars.
    pub(super) fn clamp(&mut self, lo: &Tensor, x: &Tensor, hi: &Tensor) -> Tensor {
        let result = self.fresh(x.dtype, &x.shape);
        self.line(format_args!(
            "{result} = stablehlo.clamp {lo}, {x}, {hi} : ({}, {}, {}) -> {}",
            lo.ty(),
            x.ty(),
            hi.ty(),
            result.ty()
        ));
        result
    }

    /// Conversion of the value.
    pub(super) fn convert(&mut self, x: &Tensor, dtype: DType) -> Tensor {
        if x.dtype == dtype {
            return x.clone();
        }
        self.mapped("convert", x, dtype, &x.shape.clone())
    }

    /// Reads the bits as another type of the same size.
    pub(super) fn bitcast(&mut self, x: &Tensor, dtype: DType) -> Tensor {
        if x.dtype == dtype {
            return x.clone();
        }
        self.mapped("bitcast_convert", x, dtype, &x.shape.clone())
    }

    fn mapped(&mut self, name: &str, x: &Tensor, dtype: DType, shape: &[usize]) -> Tensor {
        let result = self.fresh(dtype, shape);
        self.line(format_args!(
            "{result} = stablehlo.{name} {x} : ({}) -> {}",
            x.ty(),
            result.ty()
        ));
        result
    }

    /// Rounds `f32` to this many exponent and mantissa bits.
    pub(super) fn reduce_precision(&mut self, x: &Tensor, format: &str) -> Tensor {
        let text = format_args!("reduce_precision {x}, format = {format} : {}", x.ty());
        self.op(x.dtype, &x.shape, text)
    }

    /// Operand axis `i` becomes result axis `dims[i]`, repeated where it was 1 or missing.
    pub(super) fn broadcast(&mut self, x: &Tensor, dims: &[usize], shape: &[usize]) -> Tensor {
        let result = self.fresh(x.dtype, shape);
        self.line(format_args!(
            "{result} = stablehlo.broadcast_in_dim {x}, dims = [{}] : ({}) -> {}",
            sizes(dims),
            x.ty(),
            result.ty()
        ));
        result
    }

    /// The same elements under another shape.
    pub(super) fn reshape(&mut self, x: &Tensor, shape: &[usize]) -> Tensor {
        if x.shape.as_slice() == shape {
            return x.clone();
        }
        self.mapped("reshape", x, x.dtype, shape)
    }

    /// Result axis `i` is operand axis `perm[i]`.
    pub(super) fn transpose(&mut self, x: &Tensor, perm: &[usize]) -> Tensor {
        let shape: Shape = perm.iter().map(|&axis| x.shape[axis]).collect();
        let result = self.fresh(x.dtype, &shape);
        self.line(format_args!(
            "{result} = stablehlo.transpose {x}, dims = [{}] : ({}) -> {}",
            sizes(perm),
            x.ty(),
            result.ty()
        ));
        result
    }

    /// The operands one after the other along an axis; there is at least one.
    pub(super) fn concatenate(&mut self, parts: &[Tensor], axis: usize) -> Tensor {
        let mut shape = parts[0].shape.clone();
        shape[axis] = parts.iter().map(|part| part.shape[axis]).sum();
        let result = self.fresh(parts[0].dtype, &shape);
        self.line(format_args!(
            "{result} = stablehlo.concatenate {}, dim = {axis} : ({}) -> {}",
            names(parts),
            types(parts),
            result.ty()
        ));
        result
    }

    /// `n` elements from `starts`, each `strides` apart.
    pub(super) fn slice(
        &mut self,
        x: &Tensor,
        starts: &[usize],
        n: &[usize],
        strides: &[usize],
    ) -> Tensor {
        let whole = (0..n.len()).all(|i| starts[i] == 0 && strides[i] == 1 && n[i] == x.shape[i]);
        if whole {
            return x.clone();
        }
        let ranges = List((0..n.len()).map(|axis| {
            let limit = starts[axis] + (n[axis] - 1) * strides[axis] + 1;
            match strides[axis] {
                1 => format!("{}:{limit}", starts[axis]),
                stride => format!("{}:{limit}:{stride}", starts[axis]),
            }
        }));
        let result = self.fresh(x.dtype, n);
        self.line(format_args!(
            "{result} = stablehlo.slice {x} [{ranges}] : ({}) -> {}",
            x.ty(),
            result.ty()
        ));
        result
    }

    /// `n` elements from `starts`, one `i32` scalar per axis; clamped so that they fit.
    pub(super) fn dynamic_slice(&mut self, x: &Tensor, starts: &[Tensor], n: &[usize]) -> Tensor {
        let result = self.fresh(x.dtype, n);
        self.line(format_args!(
            "{result} = stablehlo.dynamic_slice {x}, {}, sizes = [{}] : ({}, {}) -> {}",
            names(starts),
            sizes(n),
            x.ty(),
            types(starts),
            result.ty()
        ));
        result
    }

    /// `x` with `update` at `starts`; clamped so that it fits.
    pub(super) fn dynamic_update_slice(
        &mut self,
        x: &Tensor,
        update: &Tensor,
        starts: &[Tensor],
    ) -> Tensor {
        let result = self.fresh(x.dtype, &x.shape);
        self.line(format_args!(
            "{result} = stablehlo.dynamic_update_slice {x}, {update}, {} : ({}, {}, {}) -> {}",
            names(starts),
            x.ty(),
            update.ty(),
            types(starts),
            result.ty()
        ));
        result
    }

    /// `x` with `fill` (a scalar) before, after and between its elements, per axis.
    pub(super) fn pad(
        &mut self,
        x: &Tensor,
        fill: &Tensor,
        low: &[usize],
        high: &[usize],
        interior: &[usize],
    ) -> Tensor {
        let shape: Shape = (0..x.shape.len())
            .map(|i| low[i] + high[i] + x.shape[i] + interior[i] * (x.shape[i] - 1))
            .collect();
        if shape == x.shape {
            return x.clone();
        }
        let result = self.fresh(x.dtype, &shape);
        self.line(format_args!(
            "{result} = stablehlo.pad {x}, {fill}, low = [{}], high = [{}], interior = [{}] : ({}, {}) -> {}",
            sizes(low),
            sizes(high),
            sizes(interior),
            x.ty(),
            fill.ty(),
            result.ty()
        ));
        result
    }

    /// The index along an axis.
    pub(super) fn iota(&mut self, dtype: DType, shape: &[usize], axis: usize) -> Tensor {
        let result = self.fresh(dtype, shape);
        self.line(format_args!("{result} = stablehlo.iota dim = {axis} : {}", result.ty()));
        result
    }

    /// Combines along an axis, which the result does not have, by the op of this name, whose
    /// neutral scalar is `init`.
    pub(super) fn reduce(
        &mut self,
        x: &Tensor,
        init: &Tensor,
        combine: &str,
        axis: usize,
    ) -> Tensor {
        let mut shape = x.shape.clone();
        shape.remove(axis);
        let result = self.fresh(x.dtype, &shape);
        self.line(format_args!(
            "{result} = stablehlo.reduce({x} init: {init}) applies stablehlo.{combine} across dimensions = [{axis}] : ({}, {}) -> {}",
            x.ty(),
            init.ty(),
            result.ty()
        ));
        result
    }

    /// As [`Writer::reduce`], combining by the ops written before [`Writer::end_reduce`].
    pub(super) fn begin_reduce(&mut self, x: &Tensor, init: &Tensor, axis: usize) -> OpenReduce {
        let mut shape = x.shape.clone();
        shape.remove(axis);
        let result = self.fresh(x.dtype, &shape);
        let args = [self.fresh(x.dtype, &[]), self.fresh(x.dtype, &[])];
        self.bare_line(format_args!(
            "{result} = stablehlo.reduce({x} init: {init}) across dimensions = [{axis}] : ({}, {}) -> {}",
            x.ty(),
            init.ty(),
            result.ty()
        ));
        self.indent += 1;
        let [lhs, rhs] = &args;
        self.bare_line(format_args!("reducer({lhs}: {}, {rhs}: {}) {{", lhs.ty(), rhs.ty()));
        self.indent += 1;
        OpenReduce { result, args }
    }

    /// Ends a reduction with the two elements combined.
    pub(super) fn end_reduce(&mut self, open: OpenReduce, combined: &Tensor) -> Tensor {
        self.give(std::slice::from_ref(combined));
        self.indent -= 1;
        self.line(format_args!("}}"));
        self.indent -= 1;
        open.result
    }

    /// A matrix product, contracting these axes.
    pub(super) fn dot(
        &mut self,
        lhs: &Tensor,
        rhs: &Tensor,
        contract: (usize, usize),
        result: DType,
    ) -> Tensor {
        let shape = [lhs.shape[1 - contract.0], rhs.shape[1 - contract.1]];
        // A device with a bf16 matrix unit would round `f32` operands by default.
        let precision =
            if lhs.dtype == DType::F32 { ", precision = [HIGHEST, HIGHEST]" } else { "" };
        let result = self.fresh(result, &shape);
        self.line(format_args!(
            "{result} = stablehlo.dot_general {lhs}, {rhs}, contracting_dims = [{}] x [{}]{precision} : ({}, {}) -> {}",
            contract.0,
            contract.1,
            lhs.ty(),
            rhs.ty(),
            result.ty()
        ));
        result
    }

    /// Opens a loop over `inits`; gives the carried values. First comes the condition region.
    pub(super) fn begin_while(&mut self, inits: &[Tensor]) -> OpenWhile {
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
    pub(super) fn while_body(&mut self, cond: &Tensor) {
        self.give(std::slice::from_ref(cond));
        self.indent -= 1;
        self.bare_line(format_args!("}} do {{"));
        self.indent += 1;
    }

    /// Ends the body with the next carried values; gives the loop's results.
    pub(super) fn end_while(&mut self, open: &OpenWhile, next: &[Tensor]) -> Vec<Tensor> {
        self.give(next);
        self.indent -= 1;
        self.line(format_args!("}}"));
        results(open.id, next)
    }

    /// Opens a branch; first comes the `then` region.
    pub(super) fn begin_if(&mut self, cond: &Tensor, n_results: usize) -> OpenIf {
        let id = self.next;
        self.next += 1;
        let result = result_names(id, n_results);
        self.bare_line(format_args!("{result}\"stablehlo.if\"({cond}) ({{"));
        self.indent += 1;
        OpenIf { id }
    }

    /// Ends the `then` region and opens the other.
    pub(super) fn if_else(&mut self, values: &[Tensor]) {
        self.give(values);
        self.indent -= 1;
        self.bare_line(format_args!("}}, {{"));
        self.indent += 1;
    }

    /// Ends the `else` region; gives the results.
    pub(super) fn end_if(
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

    fn give(&mut self, values: &[Tensor]) {
        match values {
            [] => self.line(format_args!("stablehlo.return")),
            _ => self.line(format_args!("stablehlo.return {} : {}", names(values), types(values))),
        }
    }
}

/// A loop whose regions are being written.
#[derive(Debug)]
pub(super) struct OpenWhile {
    id: u32,
    /// The carried values, in condition and body.
    pub(super) args: Vec<Tensor>,
}

/// A reduction whose combining region is being written.
#[derive(Debug)]
pub(super) struct OpenReduce {
    result: Tensor,
    /// The two elements to combine.
    pub(super) args: [Tensor; 2],
}

/// A branch whose regions are being written.
#[derive(Debug)]
pub(super) struct OpenIf {
    id: u32,
}

fn result_names(id: u32, n: usize) -> String {
    match n {
        0 => String::new(),
        1 => format!("%{id} = "),
        n => format!("%{id}:{n} = "),
    }
}

fn results(id: u32, values: &[Tensor]) -> Vec<Tensor> {
    let name = |idx| match values.len() {
        1 => Name::Plain(id),
        _ => Name::Part(id, idx),
    };
    let with_name =
        |(idx, value): (usize, &Tensor)| Tensor { name: name(idx as u32), ..value.clone() };
    values.iter().enumerate().map(with_name).collect()
}

/// Prints a literal as MLIR reads it, exactly.
struct LiteralText(Literal);

impl fmt::Display for LiteralText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(value) = self.0.as_int() {
            return match self.0.dtype() {
                DType::Bool => f.write_str(if value != 0 { "true" } else { "false" }),
                _ => write!(f, "{value}"),
            };
        }
        let value = self.0.as_f32().unwrap_or(f32::NAN);
        if value.is_finite() {
            // The shortest decimal that reads back as this `f32`; MLIR wants a point in it.
            let text = format!("{value:e}");
            return match text.split_once('e') {
                Some((digits, exponent)) if digits.contains('.') => {
                    write!(f, "{digits}e{exponent}")
                }
                Some((digits, exponent)) => write!(f, "{digits}.0e{exponent}"),
                None => f.write_str(&text),
            };
        }
        match self.0.dtype() {
            DType::BF16 => write!(f, "0x{:04X}", half::bf16::from_f32(value).to_bits()),
            DType::F16 => write!(f, "0x{:04X}", half::f16::from_f32(value).to_bits()),
            _ => write!(f, "0x{:08X}", value.to_bits()),
        }
    }
}
