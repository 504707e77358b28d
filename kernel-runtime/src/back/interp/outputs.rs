//! Puts the output blocks together, and finds blocks that were written twice or never.

use super::exec::{Found, Run};
use super::memory::dense_strides;
use super::report::{Report, Reports, index_text, step_text};
use super::window::{Starts, WriteBack, block_copy, write_array};
use crate::diag::{Code, Diagnostic};
use crate::ir::{Array, LocId, ParamKind};
use std::collections::HashMap;

/// The output arrays, in the order of parameters.
///
/// `found` is in the order of segments. Reports go to `reports`.
pub(super) fn assemble(run: &Run<'_>, found: &[Found], reports: &mut Reports) -> Vec<Array> {
    let kernel = run.kernel();
    let complete = reports.is_empty();
    let mut arrays = Vec::new();
    for (idx, param) in kernel.params.iter().enumerate() {
        if !param.kind.is_output() {
            continue;
        }
        let blocks: Vec<&WriteBack> =
            found.iter().flat_map(|found| &found.written).filter(|w| w.param == idx).collect();
        let twice = if run.may_overlap(idx) {
            find_overlap(run, idx, &blocks)
        } else {
            find_repeat(run, &blocks)
        };
        for (first, second) in twice {
            reports.add(report_twice(run, first, second));
        }
        let shape = param.array_shape();
        let mut array = match (param.kind, run.arrays[idx]) {
            (ParamKind::InOut, Some(array)) => array.clone(),
            _ => Array::zeros(param.dtype, &shape),
        };
        for block in &blocks {
            let copy = block_copy(param, &block.starts, &block.sizes).reversed();
            write_array(&block.data, &mut array, &copy);
        }
        // After an error some blocks are missing for that reason alone.
        if complete && param.kind == ParamKind::Out {
            reports.extend(find_unwritten(run, idx, &blocks));
        }
        arrays.push(array);
    }
    arrays
}

/// Pairs of blocks at one place.
fn find_repeat<'b>(run: &Run<'_>, blocks: &[&'b WriteBack]) -> Vec<(&'b WriteBack, &'b WriteBack)> {
    let mut first_at: HashMap<&Starts, &'b WriteBack> = HashMap::with_capacity(blocks.len());
    let mut pairs = Vec::new();
    for &block in blocks {
        match first_at.get(&block.starts) {
            Some(first) => push_pair(run, &mut pairs, first, block),
            None => {
                first_at.insert(&block.starts, block);
            }
        }
    }
    pairs
}

/// Pairs of blocks that share an element.
fn find_overlap<'b>(
    run: &Run<'_>,
    param: usize,
    blocks: &[&'b WriteBack],
) -> Vec<(&'b WriteBack, &'b WriteBack)> {
    let param = &run.kernel().params[param];
    let mut owner = vec![0_u32; param.array_shape().iter().product()];
    let mut pairs = Vec::new();
    for (idx, &block) in blocks.iter().enumerate() {
        let mut other = None;
        block_copy(param, &block.starts, &block.sizes).rows(|at, _, n, stride, _| {
            for place in (0..n).map(|i| at + i * stride) {
                match owner[place] {
                    0 => owner[place] = idx as u32 + 1,
                    known => other = other.or(Some(known as usize - 1)),
                }
            }
        });
        if let Some(other) = other {
            push_pair(run, &mut pairs, blocks[other], block);
        }
    }
    pairs
}

/// Keeps the first race and the first revisit of a parameter: more of them say nothing new.
fn push_pair<'b>(
    run: &Run<'_>,
    pairs: &mut Vec<(&'b WriteBack, &'b WriteBack)>,
    first: &'b WriteBack,
    second: &'b WriteBack,
) {
    let is_race = |a: &WriteBack, b: &WriteBack| parallel_part(run, a) != parallel_part(run, b);
    let kind = is_race(first, second);
    if pairs.iter().all(|(a, b)| is_race(a, b) != kind) {
        pairs.push((first, second));
    }
}

/// The step's place along the parallel axes.
fn parallel_part(run: &Run<'_>, block: &WriteBack) -> Vec<i64> {
    let step = run.step(block.step);
    let axes = run.kernel().grid.iter().zip(step);
    axes.filter(|(axis, _)| axis.semantics.is_parallel()).map(|(_, idx)| idx).collect()
}

fn report_twice(run: &Run<'_>, first: &WriteBack, second: &WriteBack) -> Report {
    let kernel = run.kernel();
    let param = &kernel.params[first.param];
    let name = &param.name;
    let [one, two] = [first, second].map(|block| step_text(kernel, &run.step(block.step)));
    let line = |block: &WriteBack| block.stored_at.unwrap_or(param.loc);
    let place = if first.starts == second.starts {
        format!("the block of `{name}` at element {}", index_text(&first.starts))
    } else {
        format!(
            "the blocks of `{name}` at elements {} and {}",
            index_text(&first.starts),
            index_text(&second.starts)
        )
    };
    let diagnostic = if parallel_part(run, first) != parallel_part(run, second) {
        Diagnostic::error(
            Code::INTERP_RACE,
            format!("{one} and {two} both write {place}, and steps along a `parallel` axis may run at the same time"),
        )
        .at_opt(kernel.span(line(first)), format!("stored here in {one}"))
        .at_opt(kernel.span(line(second)), format!("and here in {two}"))
        .help("make the index of the block depend on every `parallel` axis, or declare the axis `arbitrary`")
    } else {
        Diagnostic::error(
            Code::INTERP_OUTPUT_REVISITED,
            format!("{two} comes back to {place}, which was left after {one}: what was stored there first is lost"),
        )
        .at_opt(kernel.span(line(first)), format!("stored here up to {one}"))
        .at_opt(kernel.span(line(second)), format!("and again here in {two}"))
        .help("order the grid axes so that all steps of one output block follow each other: the axis that the block does not depend on goes last")
    };
    Report { diagnostic, loc: line(first), step: first.step.min(second.step), n_steps: 1 }
}

/// Reports elements of an `Out` array that no step stored.
fn find_unwritten(run: &Run<'_>, idx: usize, blocks: &[&WriteBack]) -> Reports {
    let mut reports = Reports::default();
    let kernel = run.kernel();
    let param = &kernel.params[idx];
    let shape = param.array_shape();
    let n_elems: usize = shape.iter().product();
    let n_written: usize = blocks.iter().map(|block| block.sizes.iter().product::<usize>()).sum();
    if blocks.iter().all(|block| block.unwritten.is_none()) && n_written >= n_elems {
        return reports;
    }
    let mut written = vec![0_u8; n_elems];
    for block in blocks {
        let copy = block_copy(param, &block.starts, &block.sizes).reversed();
        copy.rows(|block_at, array_at, n, block_stride, array_stride| {
            for i in 0..n {
                let missing =
                    block.unwritten.as_ref().map_or(0, |map| map[block_at + i * block_stride]);
                written[array_at + i * array_stride] |= 1 - missing;
            }
        });
    }
    let n_missing = written.iter().filter(|&&done| done == 0).count();
    let Some(first) = written.iter().position(|&done| done == 0) else { return reports };
    let at: Starts = dense_strides(&shape)
        .iter()
        .zip(&shape)
        .map(|(stride, size)| first / stride % size)
        .collect();
    let name = &param.name;
    let last_store = blocks.iter().filter_map(|block| block.stored_at).next_back();
    let mut diagnostic = Diagnostic::error(
        Code::INTERP_OUTPUT_NEVER_WRITTEN,
        format!("{n_missing} of the {n_elems} elements of `{name}` are never stored, the first is `{name}{}`", index_text(&at)),
    )
    .at_opt(kernel.span(param.loc), format!("`{name}` is declared here"));
    if let Some(loc) = last_store {
        diagnostic = diagnostic.at_opt(kernel.span(loc), "stores to it are here");
    }
    let diagnostic = diagnostic.help(
        "let the grid visit every block, and every visit store the whole block before it ends",
    );
    let loc: LocId = param.loc;
    reports.add(Report { diagnostic, loc, step: u64::MAX, n_steps: 1 });
    reports
}
