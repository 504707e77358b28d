//! Sums of products over named axes.

use super::dot::DotGeneral;
use super::{Gradients, Op, OpError, Types, Value, Vjp, expect_same_dtype};
use crate::back::stablehlo::ops::reduce;
use crate::back::stablehlo::text::{Direction, DotDims};
use crate::diag::{Diagnostic, Diagnostics};
use crate::ir::ops::{Literal, Precision, ReduceKind, ReduceOp};
use crate::ir::{DType, Shape};
use crate::run::bounded::{Axis, Bounded, Bounds};
use crate::run::device::with_device;
use crate::run::dispatch::apply;
use crate::run::graph::Ty;
use crate::run::graph::emit::Emit;
use crate::run::numerics;
use crate::run::tensor::node::Node;
use crate::run::tensor::{DynTensor, NumKind, Tensor};
use smallvec::SmallVec;
use std::borrow::{Borrow, Cow};
use std::panic::Location;
use std::sync::Arc;

/// The names of the axes of a tensor.
type Labels = SmallVec<[char; 8]>;

/// The first of the names that stand for the axes of `...`; no user writes them.
const FIRST_OF_REST: char = '\u{e000}';

/// Products of the elements of tensors, summed over the axes that the result does not name.
#[derive(Clone, Debug, Hash)]
struct Einsum {
    subscripts: Subscripts,
    precision: Precision,
}

/// Which axes go together.
#[derive(Clone, Debug, Hash)]
enum Subscripts {
    /// As the user wrote them.
    Text(String),
    /// By operand, and of the result.
    Named(Named),
}

#[derive(Clone, Debug, Hash)]
struct Named {
    operands: Vec<Labels>,
    result: Labels,
}

impl Einsum {
    fn named(&self, ranks: &[usize]) -> Result<Cow<'_, Named>, OpError> {
        match &self.subscripts {
            Subscripts::Text(text) => Ok(Cow::Owned(Named::parse(text, ranks)?)),
            Subscripts::Named(named) => Ok(Cow::Borrowed(named)),
        }
    }
}

impl Op for Einsum {
    fn name(&self) -> &'static str {
        "einsum"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        if inputs.is_empty() {
            return Err(OpError::argument("`einsum` was given no tensors"));
        }
        expect_same_dtype(self.name(), inputs)?;
        let ranks: SmallVec<[usize; 4]> = inputs.iter().map(|ty| ty.shape.len()).collect();
        let named = self.named(&ranks)?;
        let sizes = named.sizes(inputs)?;
        let size = |label: &char| {
            let known = sizes.iter().find(|(known, _)| known == label);
            known.map(|(_, size)| *size).ok_or_else(|| {
                OpError::argument(format!("`einsum`: no operand has axis `{label}` of the result"))
            })
        };
        let shape = named.result.iter().map(size).collect::<Result<Shape, _>>()?;
        let dtype = match inputs[0].dtype {
            DType::Bool => return Err(OpError::dtype("`einsum` is not defined on `bool`")),
            dtype if dtype.is_float() => dtype,
            _ => DType::I32,
        };
        Ok(smallvec::smallvec![Ty { dtype, shape }])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let ranks: SmallVec<[usize; 4]> = inputs.iter().map(|x| x.shape.len()).collect();
        let named = self.named(&ranks).map_err(Diagnostic::from)?;
        // Two operands of integers go to the product as they are; what is summed or multiplied
        // before, as `i32`.
        let as_given = inputs[0].dtype.is_float() || named.is_plain_product();
        let term = |(labels, x): (&Labels, &Value)| {
            let value = if as_given { x.clone() } else { cx.out.convert(x, DType::I32) };
            Term { labels: labels.clone(), value }
        };
        let terms: Vec<Term> = named.operands.iter().zip(inputs).map(term).collect();
        let mut terms = terms.into_iter();
        let Some(mut product) = terms.next() else { return Ok(Vec::new()) };
        product.keep_diagonals(cx);
        for (place, mut other) in terms.enumerate() {
            other.keep_diagonals(cx);
            let later = named.operands[place + 2..].iter().flatten();
            let later: Labels = named.result.iter().chain(later).copied().collect();
            product.sum_all_but(cx, &[&later, &other.labels]);
            other.sum_all_but(cx, &[&later, &product.labels]);
            product = product.times(cx, other, &later, self.precision)?;
        }
        product.sum_all_but(cx, &[&named.result]);
        Ok(vec![product.in_order(cx, &named.result)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let ranks: SmallVec<[usize; 4]> = bounds.inputs().iter().map(|x| x.axes.len()).collect();
        let named = self.named(&ranks)?;
        let mut known: Vec<(char, &Axis)> = Vec::new();
        for (labels, layout) in named.operands.iter().zip(bounds.inputs()) {
            for (&label, axis) in labels.iter().zip(&layout.axes) {
                match known.iter().find(|(known, _)| *known == label) {
                    Some((_, other)) if *other != axis => {
                        return Err(bounds.not_alike(self.name()));
                    }
                    Some(_) => {}
                    None => known.push((label, axis)),
                }
            }
        }
        let of = |label: &char| known.iter().find(|(known, _)| known == label);
        let result = named.result.iter().filter_map(of).map(|(_, axis)| (*axis).clone());
        let mut bounded = Bounded::new([result.collect()]);
        let is_summed =
            |(label, axis): &(char, &Axis)| !axis.is_fixed() && !named.result.contains(label);
        if known.iter().any(is_summed) {
            // All: what stands in the padding of one may be infinite, and times zero be NaN.
            let zero = |idx| Some(Literal::from_f64(bounds.dtype(idx), 0.0));
            bounded.fills = (0..bounds.inputs().len()).map(zero).collect();
        }
        Ok(bounded)
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let Some(g) = vjp.cotangent().filter(|g| g.dtype().is_float()) else {
            return Ok(smallvec::smallvec![None; vjp.inputs.len()]);
        };
        let ranks: SmallVec<[usize; 4]> = vjp.inputs.iter().map(Tensor::rank).collect();
        let named = self.named(&ranks)?;
        let gradient = |place| Some(self.gradient_of(&named, place, vjp, g));
        Ok((0..vjp.inputs.len()).map(gradient).collect())
    }
}

impl Einsum {
    /// The gradient of one operand: the product of the result's gradient with the other operands,
    /// repeated along the axes that only this operand has, and put on its diagonals.
    fn gradient_of(&self, named: &Named, place: usize, vjp: &Vjp<'_>, g: &DynTensor) -> DynTensor {
        let (x, labels) = (&vjp.inputs[place], &named.operands[place]);
        let mut operands = vec![named.result.clone()];
        let mut inputs: SmallVec<[&Arc<Node>; 4]> = smallvec::smallvec![g.node()];
        for other in (0..vjp.inputs.len()).filter(|&other| other != place) {
            operands.push(named.operands[other].clone());
            inputs.push(vjp.inputs[other].node());
        }
        let mut result = Labels::new();
        let mut kept = x.shape().to_vec();
        for (axis, label) in labels.iter().enumerate() {
            if operands.iter().any(|labels| labels.contains(label)) && !result.contains(label) {
                result.push(*label);
            } else {
                kept[axis] = 1;
            }
        }
        let subscripts = Subscripts::Named(Named { operands, result });
        let op = Einsum { subscripts, precision: self.precision };
        let gradient: DynTensor = apply(op, &inputs, Location::caller());
        let mut gradient = gradient.reshape(&kept).broadcast_to(x.shape());
        for (axis, label) in labels.iter().enumerate() {
            if let Some(first) = labels[..axis].iter().position(|known| known == label) {
                gradient = gradient.keep_diagonal(first, axis);
            }
        }
        gradient
    }
}

/// A part of the product, with the names of its axes.
struct Term {
    labels: Labels,
    value: Value,
}

impl Term {
    /// Takes the diagonal of axes of one name.
    fn keep_diagonals(&mut self, cx: &mut Emit) {
        for axis in (1..self.labels.len()).rev() {
            let label = self.labels[axis];
            let Some(first) = self.labels[..axis].iter().position(|known| *known == label) else {
                continue;
            };
            self.value = diagonal_of(cx, &self.value, first, axis);
            self.sum_axis(cx, axis);
        }
    }

    /// Sums over the axes that none of the lists has.
    fn sum_all_but(&mut self, cx: &mut Emit, lists: &[&Labels]) {
        for axis in (0..self.labels.len()).rev() {
            if !lists.iter().any(|labels| labels.contains(&self.labels[axis])) {
                self.sum_axis(cx, axis);
            }
        }
    }

    fn sum_axis(&mut self, cx: &mut Emit, axis: usize) {
        let sum = ReduceOp { kind: ReduceKind::Sum, axis };
        let sum = reduce::emit(&mut cx.out, sum, &self.value);
        self.labels.remove(axis);
        let mut shape = sum.shape.clone();
        shape.remove(axis);
        self.value = cx.out.reshape(&sum, &shape);
    }

    /// The product with another term, summed over the axes that both have and nobody needs later.
    fn times(
        self,
        cx: &mut Emit,
        other: Term,
        later: &Labels,
        precision: Precision,
    ) -> Result<Term, Diagnostics> {
        let mut dims = DotDims::default();
        let (mut labels, mut free) = (Labels::new(), Labels::new());
        for (axis, label) in self.labels.iter().enumerate() {
            match other.labels.iter().position(|known| known == label) {
                None => free.push(*label),
                Some(partner) if later.contains(label) => {
                    labels.push(*label);
                    dims.lhs_batch.push(axis);
                    dims.rhs_batch.push(partner);
                }
                Some(partner) => {
                    dims.lhs_contract.push(axis);
                    dims.rhs_contract.push(partner);
                }
            }
        }
        labels.extend(free);
        labels.extend(other.labels.iter().copied().filter(|label| !self.labels.contains(label)));
        let mut product = DotGeneral { dims, precision }.emit(cx, &[self.value, other.value])?;
        Ok(Term { labels, value: product.remove(0) })
    }

    /// The axes in the order of these names.
    fn in_order(self, cx: &mut Emit, result: &Labels) -> Value {
        let place = |label: &char| self.labels.iter().position(|known| known == label);
        let perm: Shape = result.iter().filter_map(place).collect();
        match perm.iter().enumerate().all(|(place, &axis)| place == axis) {
            true => self.value,
            false => cx.out.transpose(&self.value, &perm),
        }
    }
}

/// Zero but where the indices along two axes are equal.
fn diagonal_of(cx: &mut Emit, x: &Value, first: usize, second: usize) -> Value {
    let (i, j) =
        (cx.out.iota(DType::I32, &x.shape, first), cx.out.iota(DType::I32, &x.shape, second));
    let hit = cx.out.compare(Direction::Eq, &i, &j);
    let zero = cx.out.constant(Literal::from_f64(x.dtype, 0.0), &x.shape);
    cx.out.select(&hit, x, &zero)
}

impl DynTensor {
    /// Zero but where the indices along two axes are equal.
    fn keep_diagonal(&self, first: usize, second: usize) -> DynTensor {
        let index = |axis| Tensor::<i32>::iota(self.shape(), axis);
        let hit = with_device(self.device(), || index(first).eq(index(second)));
        hit.select(self, self.zeros_like())
    }
}

impl Named {
    /// Reads `"ij,jk->ik"` for operands with so many axes. Without an arrow the result has, in
    /// alphabetic order, the names that come once.
    fn parse(text: &str, ranks: &[usize]) -> Result<Named, OpError> {
        let wrong = |why: String| OpError::argument(format!("`einsum(\"{text}\")`: {why}"));
        let (operands, result) = match text.split_once("->") {
            Some((operands, result)) => (operands, Some(result)),
            None => (text, None),
        };
        let operands: Vec<&str> = operands.split(',').map(str::trim).collect();
        if operands.len() != ranks.len() {
            let why = format!("{} operands are named, {} given", operands.len(), ranks.len());
            return Err(wrong(why));
        }
        let mut n_rest = 0;
        let mut named = Vec::new();
        for (subscript, &rank) in operands.iter().zip(ranks) {
            let n_named = subscript.chars().filter(|c| c.is_alphabetic()).count();
            let rest = rank.saturating_sub(n_named);
            let labels = expand(subscript, rest).map_err(&wrong)?;
            if labels.len() != rank {
                let why = format!("`{subscript}` names {n_named} axes of a tensor of {rank}");
                return Err(wrong(why));
            }
            if subscript.contains("...") {
                n_rest = n_rest.max(rest);
            }
            named.push(labels);
        }
        let result = match result {
            Some(result) => expand(result, n_rest).map_err(&wrong)?,
            None => {
                let all: Labels = named.iter().flatten().copied().collect();
                let once = |label: &&char| all.iter().filter(|known| known == label).count() == 1;
                let mut once: Labels = all.iter().filter(once).copied().collect();
                once.sort_unstable();
                let written = once.into_iter().filter(|&label| label < FIRST_OF_REST);
                rest_labels(n_rest).chain(written).collect()
            }
        };
        if (0..result.len()).any(|place| result[..place].contains(&result[place])) {
            return Err(wrong("the result names an axis twice".to_owned()));
        }
        Ok(Named { operands: named, result })
    }

    /// Whether it is one product, of which nothing is summed beforehand.
    fn is_plain_product(&self) -> bool {
        let [a, b] = self.operands.as_slice() else { return false };
        let used = |labels: &Labels, other: &Labels| {
            labels.iter().all(|label| {
                let once = labels.iter().filter(|known| *known == label).count() == 1;
                once && (other.contains(label) || self.result.contains(label))
            })
        };
        used(a, b) && used(b, a)
    }

    /// The size of each name, in the order in which they come.
    fn sizes(&self, inputs: &[&Ty]) -> Result<Vec<(char, usize)>, OpError> {
        let mut sizes: Vec<(char, usize)> = Vec::new();
        for (labels, ty) in self.operands.iter().zip(inputs) {
            for (&label, &size) in labels.iter().zip(&ty.shape) {
                match sizes.iter().find(|(known, _)| *known == label) {
                    Some(&(_, known)) if known != size => {
                        let inputs: Vec<String> = inputs.iter().map(ToString::to_string).collect();
                        let name =
                            if label < FIRST_OF_REST { label.to_string() } else { "..".into() };
                        return Err(OpError::shape(format!(
                            "`einsum` of {}: axis `{name}` is {known} and {size}",
                            inputs.join(" and ")
                        )));
                    }
                    Some(_) => {}
                    None => sizes.push((label, size)),
                }
            }
        }
        Ok(sizes)
    }
}

/// The names of the axes that `...` stands for, numbered from the last one, so that operands of
/// different ranks are paired as they broadcast.
fn rest_labels(n: usize) -> impl Iterator<Item = char> {
    (0..n as u32).rev().filter_map(|idx| char::from_u32(u32::from(FIRST_OF_REST) + idx))
}

/// The names in a subscript, with those of `...`.
fn expand(subscript: &str, n_rest: usize) -> Result<Labels, String> {
    let mut labels = Labels::new();
    for (part_idx, part) in subscript.splitn(2, "...").enumerate() {
        if part_idx == 1 {
            labels.extend(rest_labels(n_rest));
        }
        for label in part.chars().filter(|c| !c.is_whitespace()) {
            if !label.is_alphabetic() {
                return Err(format!("`{label}` is no name of an axis"));
            }
            labels.push(label);
        }
    }
    Ok(labels)
}

impl<T: NumKind> Tensor<T> {
    /// Sums of products over named axes, as NumPy's `einsum`: `Tensor::einsum("bhqd,bhkd->bhqk",
    /// &[&q, &k])`.
    ///
    /// A letter names an axis; axes of one name go together, and those that the result does not
    /// have are summed. `...` stands for the axes that have no name. A name that comes twice in one
    /// operand takes its diagonal. Without `->` the result has the names that come once, in
    /// alphabetic order. More than two operands are multiplied from the left to the right. Sums,
    /// and the element type of the result, are those of [`Tensor::dot_general`].
    #[track_caller]
    pub fn einsum(subscripts: &str, operands: &[impl Borrow<Tensor<T>>]) -> Tensor<T::Product> {
        let inputs: SmallVec<[&Arc<Node>; 4]> =
            operands.iter().map(|operand| operand.borrow().node()).collect();
        let op = Einsum {
            subscripts: Subscripts::Text(subscripts.to_owned()),
            precision: numerics::precision(),
        };
        apply(op, &inputs, Location::caller())
    }
}
