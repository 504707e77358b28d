//! Finding kernels and specs by what the user typed.

use super::Failure;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::run::{KernelEntry, Spec};
use crate::target::Target;

/// A spec with the kernel it belongs to.
pub(crate) struct Selected<'a> {
    pub(crate) entry: &'a KernelEntry,
    pub(crate) spec: Spec,
}

impl Selected<'_> {
    /// `KERNEL/SPEC`, as it may be typed.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.entry.name, self.spec.name())
    }
}

/// The specs that the names select, in registry order: a name is `KERNEL` or `KERNEL/SPEC`, and
/// no names select all. With `spec`, only specs of that name.
pub(crate) fn select<'a>(
    registry: &'a [KernelEntry],
    names: &[String],
    spec: Option<&str>,
) -> Result<Vec<Selected<'a>>, Failure> {
    let mut mistakes = Diagnostics::default();
    let mut wanted: Vec<(&str, Option<&str>)> = Vec::new();
    for name in names {
        let (kernel, of_name) = match name.split_once('/') {
            Some((kernel, spec)) => (kernel, Some(spec)),
            None => (name.as_str(), None),
        };
        match registry.iter().find(|entry| entry.name == kernel) {
            None => mistakes.push(unknown_kernel(registry, kernel)),
            Some(entry) => {
                for spec in of_name.into_iter().chain(spec) {
                    if let Some(mistake) = unknown_spec(entry, spec) {
                        mistakes.push(mistake);
                    }
                }
                wanted.push((kernel, of_name));
            }
        }
    }
    if !mistakes.is_empty() {
        return Err(Failure::Usage(mistakes));
    }
    let is_wanted = |entry: &KernelEntry, of: &Spec| {
        let by_name = wanted.iter().any(|(kernel, of_name)| {
            *kernel == entry.name && of_name.is_none_or(|name| name == of.name())
        });
        (wanted.is_empty() || by_name) && spec.is_none_or(|name| name == of.name())
    };
    let selected: Vec<Selected<'a>> = registry
        .iter()
        .flat_map(|entry| (entry.specs)().into_iter().map(move |spec| Selected { entry, spec }))
        .filter(|selected| is_wanted(selected.entry, &selected.spec))
        .collect();
    match spec {
        Some(name) if selected.is_empty() => {
            Err(Failure::usage(unknown_spec_anywhere(registry, name)))
        }
        _ => Ok(selected),
    }
}

/// The one spec that `KERNEL [--spec S]` names: the first of the kernel if none is given.
pub(crate) fn select_one<'a>(
    registry: &'a [KernelEntry],
    name: &str,
    spec: Option<&str>,
) -> Result<Selected<'a>, Failure> {
    select(registry, &[name.to_owned()], spec)?
        .into_iter()
        .next()
        .ok_or_else(|| Failure::usage(unknown_kernel(registry, name)))
}

fn unknown_kernel(registry: &[KernelEntry], name: &str) -> Diagnostic {
    let names: Vec<&str> = registry.iter().map(|entry| entry.name).collect();
    Diagnostic::error(Code::CLI_UNKNOWN_KERNEL, format!("there is no kernel `{name}`"))
        .help(suggestion(name, &names, "kernels"))
}

fn unknown_spec(entry: &KernelEntry, name: &str) -> Option<Diagnostic> {
    let specs = (entry.specs)();
    let names: Vec<&str> = specs.iter().map(Spec::name).collect();
    if names.contains(&name) {
        return None;
    }
    let message = format!("kernel `{}` has no spec `{name}`", entry.name);
    Some(Diagnostic::error(Code::CLI_UNKNOWN_SPEC, message).help(suggestion(
        name,
        &names,
        "its specs",
    )))
}

fn unknown_spec_anywhere(registry: &[KernelEntry], name: &str) -> Diagnostic {
    let specs: Vec<Spec> = registry.iter().flat_map(|entry| (entry.specs)()).collect();
    let names: Vec<&str> = specs.iter().map(Spec::name).collect();
    Diagnostic::error(Code::CLI_UNKNOWN_SPEC, format!("no kernel has a spec `{name}`"))
        .help(suggestion(name, &names, "specs"))
}

/// The TPU generations of these names, oldest first; all of them if no name is given.
pub(crate) fn select_targets(names: &[String]) -> Result<Vec<&'static Target>, Failure> {
    if names.is_empty() {
        return Ok(Target::TPUS.to_vec());
    }
    let wanted = names.iter().map(|name| tpu(name)).collect::<Result<Vec<_>, _>>()?;
    Ok(Target::TPUS.iter().copied().filter(|target| wanted.contains(target)).collect())
}

/// The TPU generation of a name.
pub(crate) fn tpu(name: &str) -> Result<&'static Target, Failure> {
    let target = Target::parse(name).map_err(Failure::usage)?;
    if target.is_tpu() {
        return Ok(target);
    }
    let names: Vec<&str> = Target::TPUS.iter().map(|target| target.name).collect();
    let message = format!("`{name}` is no TPU, and libtpu compiles for nothing else");
    Err(Failure::usage(
        Diagnostic::error(Code::CLI_NO_TPU, message)
            .help(format!("targets are {}", names.join(", "))),
    ))
}

/// `did you mean ..?`, or the list of what there is.
pub(crate) fn suggestion(name: &str, candidates: &[&str], what: &str) -> String {
    let near = nearest(name, candidates);
    if near.is_empty() {
        let mut all: Vec<&str> = candidates.to_vec();
        all.dedup();
        let more = if all.len() > 12 { ", .. (see `list`)" } else { "" };
        all.truncate(12);
        return format!("{what}: {}{more}", all.join(", "));
    }
    format!(
        "did you mean {}?",
        near.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(" or ")
    )
}

/// Up to three candidates that look like the name, nearest first.
pub(crate) fn nearest<'a>(name: &str, candidates: &[&'a str]) -> Vec<&'a str> {
    let (name, limit) = (name.to_lowercase(), (name.chars().count() / 3).max(2));
    let mut near: Vec<(usize, &str)> = candidates
        .iter()
        .filter_map(|&candidate| {
            let distance = edit_distance(&name, &candidate.to_lowercase());
            let part = name.len() >= 3 && candidate.to_lowercase().contains(&name);
            (part || distance <= limit).then_some((distance, candidate))
        })
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().map(|(_, candidate)| candidate).take(3).collect()
}

/// Levenshtein's distance: insertions, deletions and replacements of characters.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_typos_and_parts() {
        let names = ["matmul", "softmax", "rms_norm", "layer_norm", "flash_attention"];
        assert_eq!(nearest("matmull", &names), ["matmul"]);
        assert_eq!(nearest("attention", &names), ["flash_attention"]);
        assert_eq!(nearest("norm", &names), ["rms_norm", "layer_norm"]);
        assert!(nearest("zebra", &names).is_empty());
    }

    #[test]
    fn edit_distance_counts_single_changes() {
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("same", "same"), 0);
    }
}
