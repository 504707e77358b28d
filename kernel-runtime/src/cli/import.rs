//! `import`: kernels of another producer's module, run under all checks.

use super::args::ImportArgs;
use super::output::Output;
use super::run::refuse_overwriting;
use super::table::{Align, Table, grouped, or_dash};
use super::{Failure, Verdict};
use crate::back::interp;
use crate::back::mosaic::import::{self, ArrayType, Call, Imported};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{Array, DType, MemorySpace};
use crate::run::{Sampler, tensor_file};
use crate::target::GENERIC;
use crate::valid;
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

#[derive(Serialize)]
struct Row {
    /// Unique among the rows.
    kernel: String,
    operands: Vec<String>,
    results: Vec<String>,
    n_ops: usize,
    /// Whether it was imported and, if asked for, ran without a complaint.
    ok: bool,
    n_steps: Option<u64>,
    wall_ms: Option<f64>,
    /// The tile IR, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    ir: Option<String>,
    prints: Vec<String>,
    diagnostics: Diagnostics,
}

pub(crate) fn run(args: &ImportArgs, output: &mut Output<'_>) -> Result<Verdict, Failure> {
    refuse_overwriting(args.input.as_deref(), args.output.as_deref())?;
    let file = args.file.display().to_string();
    let bytes = std::fs::read(&args.file).map_err(|error| {
        let message = format!("`{file}` cannot be read: {error}");
        Failure::usage(Diagnostic::error(Code::IMPORT_FILE, message))
    })?;
    let mut calls = import::read(&file, &bytes).map_err(Failure::Failed)?;
    let names = unique_names(&calls);
    let one = calls.len() == 1;
    let mut rows = Vec::new();
    let mut results: Vec<(String, Array)> = Vec::new();
    for (call, name) in calls.iter_mut().zip(names) {
        let prefix = if one { String::new() } else { format!("{name}.") };
        let mut row = Row::new(name);
        let outcome = row.import(call, args, &prefix);
        match outcome? {
            Ok(arrays) => {
                row.ok = true;
                let named = arrays.into_iter().enumerate();
                results.extend(named.map(|(idx, array)| (format!("{prefix}out{idx}"), array)));
            }
            Err(diagnostics) => {
                output.diagnostics(&diagnostics);
                row.diagnostics.0.extend(diagnostics.0);
            }
        }
        rows.push(row);
    }
    if let Some(path) = &args.output {
        let named: Vec<(&str, &Array)> =
            results.iter().map(|(name, array)| (name.as_str(), array)).collect();
        tensor_file::write_tensors(&named, path).map_err(Failure::Failed)?;
    }
    if output.json() {
        output.value(&rows);
    } else {
        for row in &rows {
            for text in row.ir.iter().chain(&row.prints) {
                output.text(text);
            }
        }
        output.table(&table(&rows, args.run));
    }
    Ok(Verdict::from_ok(rows.iter().all(|row| row.ok)))
}

/// The kernels' names, numbered where two are equal.
fn unique_names(calls: &[Call]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for call in calls {
        let base = if call.name.is_empty() { "kernel" } else { &call.name };
        let numbered = (2..).map(|n| format!("{base}.{n}"));
        let name = std::iter::once(base.to_owned()).chain(numbered).find(|n| !names.contains(n));
        names.extend(name);
    }
    names
}

impl Row {
    fn new(kernel: String) -> Row {
        Row {
            kernel,
            operands: Vec::new(),
            results: Vec::new(),
            n_ops: 0,
            ok: false,
            n_steps: None,
            wall_ms: None,
            ir: None,
            prints: Vec::new(),
            diagnostics: Diagnostics::default(),
        }
    }

    /// Imports a kernel and, if asked for, runs it; gives the results. The outer error is a mistake
    /// on the command line, the inner one the kernel's.
    fn import(
        &mut self,
        call: &mut Call,
        args: &ImportArgs,
        prefix: &str,
    ) -> Result<Result<Vec<Array>, Diagnostics>, Failure> {
        if let (None, Some(path)) = (&call.operands, &args.input) {
            call.operands = Some(operand_types(prefix, path)?);
        }
        let imported = match call.import() {
            Ok(imported) => imported,
            Err(diagnostics) => return Ok(Err(diagnostics)),
        };
        self.operands = imported.split_operands().iter().map(ArrayType::to_string).collect();
        self.results = imported.results.iter().map(ArrayType::to_string).collect();
        self.n_ops = imported.kernel.n_ops();
        self.ir = args.show.then(|| imported.kernel.to_string());
        let valid = match valid::check(imported.kernel.clone(), &GENERIC) {
            Ok(valid) => valid,
            Err(diagnostics) => return Ok(Err(diagnostics)),
        };
        self.diagnostics = valid.warnings().clone();
        if !args.run {
            return Ok(Ok(Vec::new()));
        }
        let options = interp::Options::default();
        // A file has what it is long; sampled arrays are made of the module's numbers.
        if args.input.is_none()
            && let Err(error) = interp::check_arrays(sampled_bytes(&imported), &options)
        {
            return Ok(Err(error.into()));
        }
        let operands = operands(&imported, args, prefix)?;
        let start = Instant::now();
        let ran = imported.run(&valid, &operands, &options);
        self.wall_ms = Some(start.elapsed().as_secs_f64() * 1e3);
        Ok(ran.map(|ran| {
            self.n_steps = Some(ran.n_steps);
            self.prints = ran.prints.into_iter().map(|print| print.text).collect();
            ran.results
        }))
    }
}

/// The types of the operands of a bare module, as a file has them: `arg0`, `arg1`, ..
fn operand_types(prefix: &str, path: &Path) -> Result<Vec<ArrayType>, Failure> {
    let contents = tensor_file::contents(path).map_err(Failure::Usage)?;
    let named = |idx: usize| {
        let name = format!("{prefix}arg{idx}");
        contents.iter().find(|tensor| tensor.name == name)
    };
    let types = (0..).map_while(named);
    Ok(types.map(|tensor| ArrayType { dtype: tensor.dtype, shape: tensor.shape.clone() }).collect())
}

/// The bytes that sampling the operands takes: each is made of numbers of 64 bits.
fn sampled_bytes(imported: &Imported) -> u64 {
    let bytes = |ty: ArrayType| {
        let element = (size_of::<f64>() + ty.dtype.size_bytes()) as u64;
        ty.shape.iter().fold(element, |n, &size| n.saturating_mul(size as u64))
    };
    imported.split_operands().into_iter().map(bytes).fold(0, u64::saturating_add)
}

/// The operands of the call: from a file, or sampled.
fn operands(imported: &Imported, args: &ImportArgs, prefix: &str) -> Result<Vec<Array>, Failure> {
    if let Some(path) = &args.input {
        let wanted: Vec<tensor_file::Wanted> = imported
            .split_operands()
            .into_iter()
            .enumerate()
            .map(|(idx, ty)| tensor_file::Wanted {
                name: format!("{prefix}arg{idx}"),
                dtype: ty.dtype,
                shape: ty.shape,
            })
            .collect();
        return tensor_file::read_tensors(&wanted, path).map_err(Failure::Usage);
    }
    let mut sampler = Sampler::new(args.seed);
    let spaces = imported.operand_spaces();
    let types = imported.split_operands();
    let sampled = types.iter().zip(spaces).map(|(ty, space)| match space {
        // The extent of a grid axis: it is at least 1.
        None => sampler.uniform(ty.dtype, &ty.shape, 1.0, 2.0),
        Some(MemorySpace::Smem) if ty.dtype.is_int() => Array::zeros(ty.dtype, &ty.shape),
        Some(_) if ty.dtype.is_float() => sampler.normal(ty.dtype, &ty.shape),
        Some(_) if ty.dtype == DType::Bool => sampler.uniform(ty.dtype, &ty.shape, -1.0, 1.0),
        Some(_) => sampler.small_ints(ty.dtype, &ty.shape),
    });
    Ok(sampled.collect())
}

fn table(rows: &[Row], ran: bool) -> Table {
    let mut columns =
        vec![("kernel", Align::Left), ("operands", Align::Left), ("results", Align::Left)];
    columns.extend([("ops", Align::Right), ("result", Align::Left)]);
    if ran {
        columns.extend([("steps", Align::Right), ("wall ms", Align::Right)]);
    }
    let mut table = Table::new(&columns);
    for row in rows {
        table.row(vec![
            row.kernel.clone(),
            row.operands.join(" "),
            row.results.join(" "),
            grouped(row.n_ops as u64),
            if row.ok { "ok" } else { "failed" }.into(),
            or_dash(row.n_steps, grouped),
            or_dash(row.wall_ms, |ms| format!("{ms:.2}")),
        ]);
    }
    table
}
