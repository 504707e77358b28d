//! Loops that run a known number of times.

use super::{check, check_same, failed_gradients, places, results, trace};
use crate::back::stablehlo::text::Direction;
use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use crate::ir::ops::Literal;
use crate::ir::{DType, Shape};
use crate::run::device::Device;
use crate::run::grad::Tape;
use crate::run::graph::emit::Emit;
use crate::run::graph::{At, Graph, Ty};
use crate::run::jit::{Outcome, Tree, leaves, with_leaves};
use crate::run::op::{Forward, Gradients, Op, OpError, Types, Value, Vjp};
use crate::run::tensor::{DynTensor, Tensor};
use std::ops::Range;
use std::panic::Location;

/// Runs `f` over the leading axis of `xs`: given what is carried and a slice of each tensor of `xs`,
/// it gives what is carried on and a result. Gives what is carried at the end, and the results
/// stacked along a new leading axis.
///
/// `f` is traced once. What is carried keeps its types, and what `f` uses from outside does not
/// change while the loop runs. The gradient keeps what each turn is given and runs the turns
/// backwards.
///
/// ```no_run
/// use systole::run::{scan, Tensor};
///
/// # fn main() -> Result<(), systole::diag::Diagnostics> {
/// let xs = Tensor::from_slice(&[1.0, 2.0, 3.0], [3])?;
/// let sum = Tensor::scalar(0.0_f32);
/// // 6, and [1, 3, 6]
/// let (sum, sums) = scan(|sum, x: Tensor<f32>| (&sum + &x, sum + x), sum, xs)?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// `xs` without tensors, or with leading axes of several sizes; an `f` that gives other types than
/// those that are carried; and whatever goes wrong in it.
#[track_caller]
pub fn scan<C: Tree, X: Tree, Y: Tree, O: Outcome<Tree = (C, Y)>>(
    f: impl FnOnce(C, X) -> O,
    carry: C,
    xs: X,
) -> Result<(C, Y), Diagnostics> {
    let at = Location::caller();
    let inputs = leaves(&xs);
    check(&inputs)?;
    let length = common_length(&inputs, at)?;
    let step =
        |_index: DynTensor, carry: C, slices: Vec<DynTensor>| f(carry, with_leaves(&xs, slices));
    repeat("scan", step, carry, inputs.clone(), length, at)
}

/// Replaces the state by `body` of the index and it, for each index of a range; gives the last
/// state.
///
/// `body` is traced once. The gradient keeps the state of each turn and runs the turns backwards.
///
/// ```no_run
/// use systole::run::{fori_loop, Tensor};
///
/// # fn main() -> Result<(), systole::diag::Diagnostics> {
/// let factorial = fori_loop(1..6, |i, product| product * i, Tensor::scalar(1_i32))?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// A body that gives other types than those of the state, and whatever goes wrong in it.
#[track_caller]
pub fn fori_loop<S: Tree, B: Outcome<Tree = S>>(
    indices: Range<i32>,
    body: impl FnOnce(Tensor<i32>, S) -> B,
    state: S,
) -> Result<S, Diagnostics> {
    let at = Location::caller();
    let length = (i64::from(indices.end) - i64::from(indices.start)).max(0) as usize;
    let step = |index: DynTensor, state: S, _slices: Vec<DynTensor>| {
        let index = Tensor::<i32>::from_node(index.node().clone());
        let index = if indices.start == 0 { index } else { index + indices.start };
        Ok::<_, Diagnostics>((body(index, state).outcome()?, ()))
    };
    Ok(repeat("fori_loop", step, state, Vec::new(), length, at)?.0)
}

/// The size of the leading axis that all have.
fn common_length(xs: &[DynTensor], at: At) -> Result<usize, Diagnostics> {
    let lengths: Vec<Option<usize>> = xs.iter().map(|x| x.shape().first().copied()).collect();
    match lengths.split_first() {
        Some((Some(length), others)) if others.iter().all(|other| other == &Some(*length)) => {
            return Ok(*length);
        }
        _ => {}
    }
    let shapes: Vec<String> = xs.iter().map(|x| format!("{:?}", x.shape())).collect();
    let (message, help) = match xs {
        [] => (
            "`scan` was given no tensor to run over".to_owned(),
            "loop a number of times with `fori_loop`",
        ),
        _ => (
            format!("`scan` runs over one leading axis, but was given {}", shapes.join(" and ")),
            "the first sizes must be equal",
        ),
    };
    let error = Diagnostic::error(Code::TENSOR_CONTROL, message);
    Err(error.at(Span::from_location(at), "").help(help).into())
}

/// Traces the step of a loop and applies the loop.
fn repeat<C: Tree, Y: Tree, O: Outcome<Tree = (C, Y)>>(
    name: &'static str,
    step: impl FnOnce(DynTensor, C, Vec<DynTensor>) -> O,
    carry: C,
    xs: Vec<DynTensor>,
    length: usize,
    at: At,
) -> Result<(C, Y), Diagnostics> {
    let carried = leaves(&carry);
    check(&carried)?;
    let first = carried.first().or(xs.first());
    let device = first.map_or_else(Device::current, |leaf| leaf.device().clone());
    let n_carry = carried.len();
    let mut shown = vec![shaped(&Ty::new(DType::I32, &[]), &device, at)];
    shown.extend(carried.iter().cloned());
    shown.extend(xs.iter().map(|x| shaped(&slice_ty(&x.node().ty), &device, at)));
    let traced = trace(&device, &shown, at, |mut nodes| {
        let slices = nodes.split_off(1 + n_carry);
        let carried = nodes.split_off(1);
        step(nodes.swap_remove(0), with_leaves(&carry, carried), slices)
    })?;
    let (next, results_of_turn) = &traced.output;
    check_same(
        (&format!("`{name}` carries"), &carry),
        ("its body gives", next),
        "the body gives the types of what is carried: convert, reshape or broadcast what it gives",
        at,
    )?;
    let op = Scan {
        name,
        body: traced.graph,
        n_carry,
        n_xs: xs.len(),
        length,
        reverse: false,
        keeps_carry: false,
    };
    let given = [carried, xs, traced.captures].concat();
    let mut outputs = results(op, &given, at)?;
    let stacked = outputs.split_off(n_carry);
    Ok((with_leaves(&carry, outputs), with_leaves(results_of_turn, stacked)))
}

/// A tensor of this type without elements, for tracing.
fn shaped(ty: &Ty, device: &Device, at: At) -> DynTensor {
    use crate::run::dispatch::trace::TraceId;
    use crate::run::graph::ValueId;
    use crate::run::tensor::node::{Node, State};
    let state = State::Traced(TraceId::NONE, ValueId(0));
    Tensor::from_node(Node::new(ty.clone(), at, device.clone(), state))
}

/// The type of a slice along the leading axis.
fn slice_ty(ty: &Ty) -> Ty {
    Ty::new(ty.dtype, ty.shape.get(1..).unwrap_or_default())
}

/// The type of this many of a type along a new leading axis.
fn stacked_ty(ty: &Ty, length: usize) -> Ty {
    let mut shape: Shape = smallvec::smallvec![length];
    shape.extend_from_slice(&ty.shape);
    Ty { dtype: ty.dtype, shape }
}

/// Runs a program a number of times. The inputs are what is carried, what is run over, and what the
/// body captures. The body takes the index, what is carried, slices, and captures; it gives what is
/// carried on and the results of the turn. The op gives the last carried and the stacked results.
#[derive(Clone, Debug, Hash)]
struct Scan {
    /// What the user calls it.
    name: &'static str,
    body: Graph,
    n_carry: usize,
    n_xs: usize,
    length: usize,
    /// Whether the last index comes first.
    reverse: bool,
    /// Whether what each turn is given as carried is stacked too, as further results.
    keeps_carry: bool,
}

impl Scan {
    /// The types of the results of one turn.
    fn turn_types(&self) -> impl Iterator<Item = &Ty> {
        self.body.output_types().skip(self.n_carry)
    }

    /// The types of what each turn is given as carried, if that is kept.
    fn kept_types<'a>(&'a self, carried: &'a [Ty]) -> impl Iterator<Item = &'a Ty> {
        carried.iter().filter(|_| self.keeps_carry)
    }

    /// The loop that runs backwards. It carries the gradients of what was carried and the sums of
    /// those of captures, and runs over what each turn was given and the gradients of its results.
    fn gradients(&self, vjp: &Vjp<'_>) -> Result<Gradients, Diagnostics> {
        let back = Backward::new(self, vjp);
        let (inputs, captures) = vjp.inputs.split_at(self.n_carry + self.n_xs);
        let (carried, xs) = inputs.split_at(self.n_carry);
        let at = vjp.outputs[0].node().at;
        let device = vjp.outputs[0].device();
        let of_carried =
            |&idx: &usize| vjp.cotangents[idx].clone().unwrap_or_else(|| carried[idx].zeros_like());
        let mut carry: Vec<DynTensor> = back.carry.iter().map(of_carried).collect();
        carry.extend(back.captures.iter().map(|&idx| captures[idx].zeros_like()));
        let mut over = [vjp.residuals, xs].concat();
        over.extend(vjp.cotangents[self.n_carry..].iter().flatten().cloned());
        let mut shown = vec![shaped(&Ty::new(DType::I32, &[]), device, at)];
        shown.extend(carry.iter().cloned());
        shown.extend(over.iter().map(|x| shaped(&slice_ty(&x.node().ty), device, at)));
        shown.extend(captures.iter().cloned());
        let traced = trace(device, &shown, at, |nodes| back.turn(nodes))?;
        let op = Scan {
            name: self.name,
            body: traced.graph,
            n_carry: carry.len(),
            n_xs: over.len(),
            length: self.length,
            reverse: !self.reverse,
            keeps_carry: false,
        };
        let outputs = results(op, &[&carry, &over, captures, &traced.captures].concat(), at)?;
        let mut gradients: Gradients = smallvec::smallvec![None; vjp.inputs.len()];
        for (place, gradient) in back.places().zip(outputs) {
            gradients[place] = Some(gradient).filter(|_| vjp.wanted[place]);
        }
        Ok(gradients)
    }
}

/// A turn of a loop that runs backwards.
struct Backward<'a> {
    scan: &'a Scan,
    /// Positions among what is carried of what has gradients.
    carry: Vec<usize>,
    /// Positions among what is run over of what needs its gradient.
    xs: Vec<usize>,
    /// Positions among the captures of what needs its gradient.
    captures: Vec<usize>,
    /// Positions among the results of a turn of those whose gradient is given.
    results: Vec<usize>,
}

impl<'a> Backward<'a> {
    fn new(scan: &'a Scan, vjp: &Vjp<'_>) -> Backward<'a> {
        let (of_inputs, captures) = vjp.wanted.split_at(scan.n_carry + scan.n_xs);
        // What starts as a constant may depend on something after a turn.
        let carried = vjp.inputs[..scan.n_carry].iter().map(|x| x.dtype().is_float());
        let given = vjp.cotangents[scan.n_carry..].iter().map(Option::is_some);
        Backward {
            scan,
            carry: places(&carried.collect::<Vec<_>>()),
            xs: places(&of_inputs[scan.n_carry..]),
            captures: places(captures),
            results: places(&given.collect::<Vec<_>>()),
        }
    }

    /// Where the results of the backward loop stand among the inputs of the forward one.
    fn places(&self) -> impl Iterator<Item = usize> + '_ {
        let (n_carry, n_xs) = (self.scan.n_carry, self.scan.n_xs);
        let captures = self.captures.iter().map(move |idx| n_carry + n_xs + idx);
        let xs = self.xs.iter().map(move |idx| n_carry + idx);
        self.carry.iter().copied().chain(captures).chain(xs)
    }

    /// From the index, what the loop carries, slices of what it runs over, and captures, to what it
    /// carries on and its results.
    fn turn(&self, nodes: Vec<DynTensor>) -> Result<Vec<DynTensor>, Diagnostics> {
        let Backward { scan, carry, captures, results, .. } = self;
        let mut nodes = nodes.into_iter();
        let mut take = |n: usize| nodes.by_ref().take(n).collect::<Vec<DynTensor>>();
        let index = take(1);
        let (of_next, sums) = (take(carry.len()), take(captures.len()));
        let (given, of_results) = (take(scan.n_carry + scan.n_xs), take(results.len()));
        let args = [index, given, nodes.collect()].concat();
        let mut of_outputs: Vec<Option<DynTensor>> = vec![None; scan.body.outputs().len()];
        for (&idx, gradient) in carry.iter().zip(of_next) {
            of_outputs[idx] = Some(gradient);
        }
        // Those of what the loop keeps of what it carries, by argument.
        let mut of_kept: Vec<Option<DynTensor>> = vec![None; args.len()];
        for (&idx, gradient) in results.iter().zip(of_results) {
            let output = scan.n_carry + idx;
            match output.checked_sub(of_outputs.len()) {
                None => of_outputs[output] = Some(gradient),
                Some(kept) => of_kept[1 + kept] = Some(gradient),
            }
        }
        let places: Vec<usize> = self.places().map(|place| 1 + place).collect();
        let tape = Tape::record(&scan.body, &args, |arg| places.contains(&arg))?;
        let of_args = tape.pull_back(of_outputs)?;
        let mut sums = sums.into_iter();
        let first_capture = 1 + scan.n_carry + scan.n_xs;
        let gradient = |&place: &usize| {
            let found = match (&of_args[place], &of_kept[place]) {
                (Some(gradient), Some(kept)) => Some(gradient + kept),
                (gradient, kept) => gradient.clone().or_else(|| kept.clone()),
            };
            match (place >= first_capture).then(|| sums.next()).flatten() {
                Some(sum) => found.map_or_else(|| sum.clone(), |gradient| &sum + gradient),
                None => found.unwrap_or_else(|| args[place].zeros_like()),
            }
        };
        Ok(places.iter().map(gradient).collect())
    }
}

impl Op for Scan {
    fn name(&self) -> &'static str {
        self.name
    }

    fn n_outputs(&self) -> usize {
        let n_kept = if self.keeps_carry { self.n_carry } else { 0 };
        self.body.outputs().len() + n_kept
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let carried: Vec<Ty> = inputs[..self.n_carry].iter().map(|&ty| ty.clone()).collect();
        let kept = self.kept_types(&carried);
        let stacked = self.turn_types().chain(kept).map(|ty| stacked_ty(ty, self.length));
        let stacked: Vec<Ty> = stacked.collect();
        Ok(carried.into_iter().chain(stacked).collect())
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let (carried, rest) = inputs.split_at(self.n_carry);
        let (xs, captures) = rest.split_at(self.n_xs);
        let tys: Vec<Ty> =
            carried.iter().map(|x| Ty { dtype: x.dtype, shape: x.shape.clone() }).collect();
        let mut inits = vec![cx.out.index(0)];
        inits.extend_from_slice(carried);
        for ty in self.turn_types().chain(self.kept_types(&tys)) {
            let zero = cx.out.constant(Literal::from_f64(ty.dtype, 0.0), &[]);
            inits.push(cx.out.broadcast(&zero, &[], &stacked_ty(ty, self.length).shape));
        }
        if self.length == 0 {
            return Ok(inits.split_off(1));
        }
        let (end, one) = (cx.out.index(self.length as i64), cx.out.index(1));
        let open = cx.out.begin_while(&inits);
        let turn = &open.args[0];
        let below = cx.out.compare(Direction::Lt, turn, &end);
        cx.out.while_body(&below);
        let index = match self.reverse {
            false => turn.clone(),
            true => {
                let last = cx.out.index(self.length as i64 - 1);
                cx.out.binary("subtract", &last, turn)
            }
        };
        let (carried, stacks) = open.args[1..].split_at(self.n_carry);
        let mut args = vec![index.clone()];
        args.extend_from_slice(carried);
        args.extend(xs.iter().map(|x| take(cx, x, &index)));
        args.extend_from_slice(captures);
        let mut given = cx.graph(&self.body, &args)?;
        let kept = carried.iter().filter(|_| self.keeps_carry);
        let stacked: Vec<Value> =
            given.split_off(self.n_carry).into_iter().chain(kept.cloned()).collect();
        let mut next = vec![cx.out.binary("add", turn, &one)];
        next.append(&mut given);
        for (stack, x) in stacks.iter().zip(&stacked) {
            next.push(put(cx, stack, x, &index));
        }
        Ok(cx.out.end_while(&open, &next).split_off(1))
    }

    fn has_side_effects(&self) -> bool {
        self.body.has_side_effects()
    }

    fn is_bound_to_process(&self) -> bool {
        self.body.is_bound_to_process()
    }

    fn forward(&self, inputs: &[DynTensor], at: At) -> Option<Result<Forward, Diagnostics>> {
        let op = Scan { keeps_carry: true, ..self.clone() };
        Some(results(op, inputs, at).map(|outputs| {
            let residuals = outputs[self.body.outputs().len()..].to_vec();
            Forward { outputs, residuals }
        }))
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        Ok(self.gradients(vjp).unwrap_or_else(|error| failed_gradients(error, vjp.inputs)))
    }
}

/// `x[index]`.
fn take(cx: &mut Emit, x: &Value, index: &Value) -> Value {
    let starts = starts(cx, index, x.shape.len());
    let mut sizes = x.shape.clone();
    sizes[0] = 1;
    let slice = cx.out.dynamic_slice(x, &starts, &sizes);
    let shape = Shape::from_slice(&x.shape[1..]);
    cx.out.reshape(&slice, &shape)
}

/// `stack` with `x` at `index`.
fn put(cx: &mut Emit, stack: &Value, x: &Value, index: &Value) -> Value {
    let starts = starts(cx, index, stack.shape.len());
    let mut shape = stack.shape.clone();
    shape[0] = 1;
    let slice = cx.out.reshape(x, &shape);
    cx.out.dynamic_update_slice(stack, &slice, &starts)
}

fn starts(cx: &mut Emit, index: &Value, rank: usize) -> Vec<Value> {
    let zero = cx.out.index(0);
    let mut starts = vec![zero; rank];
    starts[0] = index.clone();
    starts
}
