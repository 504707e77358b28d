//! `list`: the kernels and their specs.

use super::args::ListArgs;
use super::output::Output;
use super::select::{Selected, select};
use super::table::{Align, Table, bytes, count};
use super::{Failure, Verdict};
use crate::run::KernelEntry;
use serde::Serialize;

#[derive(Serialize)]
struct Row<'a> {
    kernel: &'a str,
    spec: &'a str,
    dtype: &'static str,
    flops: u64,
    bytes: u64,
    doc: &'a str,
    #[serde(skip)]
    tags: String,
}

pub(crate) fn run(
    registry: &[KernelEntry],
    args: &ListArgs,
    output: &mut Output<'_>,
) -> Result<Verdict, Failure> {
    let selected = select(registry, &args.names, None)?;
    let rows: Vec<Row<'_>> = selected.iter().map(row).collect();
    if output.json() {
        output.value(&rows);
        return Ok(Verdict::Good);
    }
    for of_kernel in rows.chunk_by(|a, b| a.kernel == b.kernel) {
        let mut table = Table::new(&[
            ("  spec", Align::Left),
            ("dtype", Align::Left),
            ("flops", Align::Right),
            ("bytes", Align::Right),
            ("tags", Align::Left),
        ]);
        for row in of_kernel {
            table.row(vec![
                format!("  {}", row.spec),
                row.dtype.into(),
                count(row.flops),
                bytes(row.bytes),
                row.tags.clone(),
            ]);
        }
        output.text(&format!("{}: {}", of_kernel[0].kernel, of_kernel[0].doc));
        output.table(&table);
        output.text("\n");
    }
    Ok(Verdict::Good)
}

fn row<'a>(selected: &'a Selected<'_>) -> Row<'a> {
    Row {
        kernel: selected.entry.name,
        spec: selected.spec.name(),
        dtype: selected.spec.dtype().name(),
        flops: selected.spec.flops(),
        bytes: selected.spec.bytes(),
        doc: selected.entry.doc,
        tags: selected.spec.tags().join(", "),
    }
}
