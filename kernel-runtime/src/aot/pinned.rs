//! Estimates of kernels that read tables or take their extents from the call.
//!
//! libtpu's model knows nothing of what stands in scalar memory: it takes unknown scalars as 0 and
//! branches on them as not taken, so that its figure for such a kernel is that of another one. The
//! estimate is therefore made of a twin whose tables and extents are the constants of one call
//! ([`crate::pass::pin`]), and believed only if the twin executes as many matrix multiplications as the
//! kernel does in the interpreter.

use super::cache::Found;
use super::compile::{Options, Request, compile, find_with};
use super::report::Report;
use crate::back::interp::{self, Product};
use crate::back::mosaic;
use crate::diag::{Diagnostic, Diagnostics};
use crate::ir::ops::{Access, AccessDim, MemoryOp, MxuOp, Op};
use crate::ir::{
    Array, BlockDim, Buffering, Builder, DType, Kernel, LocId, MemorySpace, Param, ParamAxis,
    ParamKind, Shape, Value, Window,
};
use crate::pass;
use crate::target::{GENERIC, Target};
use crate::valid;
use std::collections::BTreeMap;

/// Adds the estimate of a kernel's twin to the report of the kernel itself, which has none.
///
/// `inputs` are those of the call that the estimate stands for. The report keeps status, messages,
/// VMEM and code size of the kernel; cycles, ops, transfers and what lines cost are those of the
/// twin. If there is no estimate, the note says why.
pub fn estimate_pinned(
    report: Report,
    kernel: &Kernel,
    inputs: &[Array],
    target: &'static Target,
    options: &Options,
) -> Report {
    let has_model = target.chip.is_some_and(|chip| chip.has_cycle_model);
    if !report.is_ok() || !options.cycles || !has_model {
        return report;
    }
    match cached_twin(&report, kernel, inputs, target, options) {
        Ok(twin) => Report {
            name: report.name,
            vmem_bytes: report.vmem_bytes,
            memory: report.memory,
            compile_ms: report.compile_ms + twin.compile_ms,
            from_cache: report.from_cache && twin.from_cache,
            ..twin
        },
        Err(why) => Report { cycles_note: Some(why), ..report },
    }
}

/// The twin makes all choices at every read, three scalar ops each, where the kernel loads a word.
const MAX_CHOICES: usize = 64;

/// The report of the twin from the cache: to make and to check it takes a run of the interpreter.
fn cached_twin(
    report: &Report,
    kernel: &Kernel,
    inputs: &[Array],
    target: &'static Target,
    options: &Options,
) -> Result<Report, String> {
    let program = program(kernel.clone(), target).map_err(|errors| errors.to_string())?;
    let request = Request::new(&report.name, target, program).with(options.clone());
    let types = inputs.iter().map(|input| format!("{} {:?}", input.dtype(), input.shape()));
    let types = format!("pinned {:?}", types.collect::<Vec<_>>());
    let values = inputs.iter().map(Array::as_bytes);
    let parts: Vec<&[u8]> = std::iter::once(types.as_bytes()).chain(values).collect();
    let gap = match find_with(&request, &parts) {
        Found::Report(twin) => return Ok(*twin),
        Found::Nothing(gap) => gap,
    };
    let twin = twin(report, kernel, inputs, target, options)?;
    gap.fill(&twin);
    Ok(twin)
}

/// The report of the twin, checked; or why it says nothing of the kernel.
fn twin(
    report: &Report,
    kernel: &Kernel,
    inputs: &[Array],
    target: &'static Target,
    options: &Options,
) -> Result<Report, String> {
    let failed = |what: &str, diagnostics: Diagnostics| {
        let first = diagnostics.0.first().map(|diagnostic| diagnostic.message.clone());
        format!("no estimate: {what}: {}", first.unwrap_or_default())
    };
    let n_choices = pass::n_choices(kernel, inputs)
        .map_err(|error| failed("its tables cannot be pinned", error.into()))?;
    if n_choices > MAX_CHOICES {
        return Err(format!(
            "no estimate: a table has {n_choices} runs of entries, and a twin that chooses among \
             more than {MAX_CHOICES} at every read is another kernel"
        ));
    }
    let valid = valid::check(kernel.clone(), &GENERIC)
        .map_err(|errors| failed("the kernel is not valid", errors))?;
    let outcome = interp::run(&valid, inputs, &interp::Options::default())
        .map_err(|errors| failed("the call that it is for fails", errors))?;
    let pinned = pass::pin(kernel, inputs)
        .map_err(|error| failed("its tables cannot be pinned", error.into()))?;
    let program = program(pass::fold(&pinned), target)
        .map_err(|errors| failed("the twin with pinned tables is refused", errors))?;
    let request = Request::new(&report.name, target, program).with(options.clone());
    let mut twin = compile(&request);
    if !twin.is_ok() {
        let text = twin.messages.first().map(|message| message.text.as_str());
        return Err(format!(
            "no estimate: the twin with pinned tables does not compile: {}",
            text.unwrap_or_default().lines().next().unwrap_or_default()
        ));
    }
    if twin.cycles.is_none() {
        let note = twin.cycles_note.unwrap_or_default();
        return Err(format!("no estimate of the twin with pinned tables: {note}"));
    }
    let expected = expected_matmuls(&outcome.products, target, options)?;
    let n_cores = target.chip.map_or(1, |chip| chip.n_cores as u64);
    let executed = twin.ops.vmatmul;
    // Steps of a parallel axis are shared among the cores, and the figures are those of one.
    if executed != expected && executed * n_cores != expected {
        return Err(format!(
            "no estimate: the twin with pinned tables executes {executed} matrix multiplications, \
             but the kernel needs {expected}"
        ));
    }
    let check = match expected {
        0 => "it has no matrix multiplication to check that by".to_owned(),
        n => format!("all {n} matrix multiplications are executed"),
    };
    let note = format!("estimate of a twin with the tables of one call as constants; {check}");
    let rest = twin.cycles_note.take();
    twin.cycles_note = Some(rest.map_or(note.clone(), |rest| format!("{note}; {rest}")));
    Ok(twin)
}

fn program(kernel: Kernel, target: &'static Target) -> Result<String, Diagnostics> {
    let valid = valid::check(kernel, target)?;
    mosaic::call(&valid, &mosaic::Options::default())
}

/// How many instructions of the matrix unit these products take: each kind is compiled alone, once.
fn expected_matmuls(
    products: &BTreeMap<Product, u64>,
    target: &'static Target,
    options: &Options,
) -> Result<u64, String> {
    let mut total = 0;
    for (product, &n) in products {
        let why = |text: String| format!("no estimate: its matrix product alone: {text}");
        let kernel = one_product(product).map_err(|error| why(error.message))?;
        let program = program(kernel, target).map_err(|errors| why(errors.to_string()))?;
        let options = Options { lines: false, ..options.clone() };
        let report = compile(&Request::new("product", target, program).with(options));
        if report.ops.vmatmul == 0 {
            let note = report.cycles_note.unwrap_or_default();
            return Err(why(format!("libtpu counts no multiplications {note}")));
        }
        total += n * report.ops.vmatmul;
    }
    Ok(total)
}

/// A kernel of one step that is this product and nothing else.
fn one_product(product: &Product) -> Result<Kernel, Diagnostic> {
    let Product { op, sizes: [m, k, n], lhs, rhs, on_unit } = *product;
    let mut b = Builder::new("product");
    let lhs_shape = if op.transpose_lhs { [k, m] } else { [m, k] };
    let rhs_shape = if op.transpose_rhs { [n, k] } else { [k, n] };
    let result = if lhs.is_int() { DType::I32 } else { DType::F32 };
    let lhs = whole(&mut b, "lhs", ParamKind::In, lhs, lhs_shape);
    let rhs = whole(&mut b, "rhs", ParamKind::In, rhs, rhs_shape);
    let out = whole(&mut b, "out", ParamKind::Out, result, [m, n]);
    let mut operands = Vec::new();
    for (reference, shape) in [(lhs, lhs_shape), (rhs, rhs_shape)] {
        let load = MemoryOp::Load { access: full(shape), masked: false };
        operands.extend(b.push(Op::Memory(load), &[reference], LocId::UNKNOWN)?);
    }
    let product = match on_unit {
        true => on_unit_alone(&mut b, &operands, op.transpose_rhs, [m, n])?,
        false => b.push(Op::Dot(op), &operands, LocId::UNKNOWN)?[0],
    };
    let store = MemoryOp::Store { access: full([m, n]), masked: false };
    b.push(Op::Memory(store), &[out, product], LocId::UNKNOWN)?;
    Ok(b.finish())
}

/// The product of two operands on the first unit: the right one is staged and loaded, and the sums
/// are popped.
fn on_unit_alone(
    b: &mut Builder,
    operands: &[Value],
    transpose: bool,
    shape: [usize; 2],
) -> Result<Value, Diagnostic> {
    let (unit, row) = (0, 0);
    let push = MxuOp::PushRhs { unit, register: 0, transpose };
    let multiply = MxuOp::AccLhs { unit, row, load: Some(0) };
    let pop = MxuOp::Pop { unit, row, shape: Shape::from_slice(&shape) };
    b.push(Op::Mxu(push), &operands[1..], LocId::UNKNOWN)?;
    b.push(Op::Mxu(multiply), &operands[..1], LocId::UNKNOWN)?;
    Ok(b.push(Op::Mxu(pop), &[], LocId::UNKNOWN)?[0])
}

fn full(shape: [usize; 2]) -> Access {
    Access { dims: shape.iter().map(|&size| AccessDim::full(size)).collect() }
}

/// A parameter whose one block is the whole array.
fn whole(b: &mut Builder, name: &str, kind: ParamKind, dtype: DType, shape: [usize; 2]) -> Value {
    let (index_map, _) = b.open_block(&[]);
    let zero = b.constant(crate::ir::ops::Literal::int(DType::I32, 0), LocId::UNKNOWN);
    b.close_block(&[zero, zero], LocId::UNKNOWN);
    let axis = |(idx, &size): (usize, &usize)| ParamAxis { name: format!("{name}_{idx}"), size };
    b.param(Param {
        name: name.to_owned(),
        kind,
        dtype,
        axes: shape.iter().enumerate().map(axis).collect(),
        space: MemorySpace::Vmem,
        window: Some(Window {
            block: shape.iter().map(|&size| BlockDim::Blocked(size)).collect(),
            index_map,
            buffering: Buffering::Double,
            streams: None,
        }),
        pinned: None,
        loc: LocId::UNKNOWN,
    })
}
