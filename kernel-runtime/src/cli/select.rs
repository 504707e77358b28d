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
        let Some(entry) = registry.iter().find(|entry| entry.name == kernel) else {
            mistakes.push(unknown_kernel(registry, kernel));
            continue;
        };
        let n_before = mistakes.0.len();
        let asked = of_name.into_iter().chain(spec);
        mistakes.0.extend(asked.filter_map(|spec| unknown_spec(registry, entry, spec)));
        if let (Some(of_name), Some(spec)) = (of_name, spec)
            && of_name != spec
            && mistakes.0.len() == n_before
        {
            mistakes.push(spec_conflict(kernel, of_name, spec));
        }
        wanted.push((kernel, of_name));
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
    let mistake =
        Diagnostic::error(Code::CLI_UNKNOWN_KERNEL, format!("there is no kernel `{name}`"));
    // A spec alone does not say the kernel.
    if let [kernel, ..] = with_spec(registry, name)[..] {
        return mistake.help(format!("`{name}` is a spec of `{kernel}`: write `{kernel}/{name}`"));
    }
    let names: Vec<&str> = registry.iter().map(|entry| entry.name).collect();
    mistake.help(suggestion(name, &names, "kernels", "`list` shows all kernels and specs"))
}

/// The kernels that have a spec of this name.
fn with_spec(registry: &[KernelEntry], spec: &str) -> Vec<&'static str> {
    let has = |entry: &&KernelEntry| (entry.specs)().iter().any(|other| other.name() == spec);
    registry.iter().filter(has).map(|entry| entry.name).collect()
}

fn unknown_spec(registry: &[KernelEntry], entry: &KernelEntry, name: &str) -> Option<Diagnostic> {
    let specs = (entry.specs)();
    let names: Vec<&str> = specs.iter().map(Spec::name).collect();
    if names.contains(&name) {
        return None;
    }
    let kernel = entry.name;
    let more = format!("`list {kernel}` shows all its specs");
    let mistake = Diagnostic::error(
        Code::CLI_UNKNOWN_SPEC,
        format!("kernel `{kernel}` has no spec `{name}`"),
    )
    .help(suggestion(name, &names, "its specs", &more));
    Some(match &with_spec(registry, name)[..] {
        [] => mistake,
        others => mistake.note(format!("`{name}` is a spec of {}", others.join(", "))),
    })
}

fn unknown_spec_anywhere(registry: &[KernelEntry], name: &str) -> Diagnostic {
    let specs: Vec<Spec> = registry.iter().flat_map(|entry| (entry.specs)()).collect();
    let names: Vec<&str> = specs.iter().map(Spec::name).collect();
    Diagnostic::error(Code::CLI_UNKNOWN_SPEC, format!("no kernel has a spec `{name}`"))
        .help(suggestion(name, &names, "specs", "`list` shows all kernels and specs"))
}

fn spec_conflict(kernel: &str, of_name: &str, spec: &str) -> Diagnostic {
    let message =
        format!("`{kernel}/{of_name}` names the spec `{of_name}`, but `--spec` names `{spec}`");
    Diagnostic::error(Code::CLI_SPEC_CONFLICT, message)
        .help(format!("write `{kernel}/{of_name}` without `--spec`, or `{kernel} --spec {spec}`"))
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
    let target = any_target(name)?;
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

/// The target of a name, a TPU generation or not.
pub(crate) fn any_target(name: &str) -> Result<&'static Target, Failure> {
    Target::parse(name).map_err(|mistake| {
        let names: Vec<&str> = Target::ALL.iter().map(|target| target.name).collect();
        let all = mistake.help.clone().unwrap_or_default();
        Failure::usage(mistake.help(suggestion(name, &names, "targets", &all)))
    })
}

/// `did you mean ..?` or some of what there is, and where to find all of it.
pub(crate) fn suggestion(name: &str, candidates: &[&str], what: &str, more: &str) -> String {
    let near = nearest(name, candidates);
    if !near.is_empty() {
        let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
        return format!("did you mean {}? {more}", near.join(" or "));
    }
    const N_SHOWN: usize = 12;
    let mut all: Vec<&str> = Vec::new();
    for candidate in candidates {
        if !all.contains(candidate) {
            all.push(candidate);
        }
    }
    match all.len() {
        0..=N_SHOWN => format!("{what}: {}", all.join(", ")),
        n => format!("{what}: {}, and {} more; {more}", all[..N_SHOWN].join(", "), n - N_SHOWN),
    }
}

/// Up to three candidates that look like the name, or like a part of it, nearest first.
pub(crate) fn nearest<'a>(name: &str, candidates: &[&'a str]) -> Vec<&'a str> {
    const N_NEAR: usize = 3;
    /// A shorter part says nothing.
    const SHORTEST_PART: usize = 3;
    let name = name.to_lowercase();
    // A third of a name may be wrong.
    let limit = (name.chars().count() / 3).max(1);
    let is_part = |part: &str, whole: &str| part.len() >= SHORTEST_PART && whole.contains(part);
    let mut near: Vec<(usize, &str)> = candidates
        .iter()
        .filter_map(|&candidate| {
            let full = candidate.to_lowercase();
            // The last segment of a path is often all that one remembers.
            let last = full.rsplit("::").next().unwrap_or(&full);
            let distance = edit_distance(&name, &full).min(edit_distance(&name, last));
            let is_near = distance <= limit || is_part(&name, &full) || is_part(&full, &name);
            is_near.then_some((distance, candidate))
        })
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().map(|(_, candidate)| candidate).take(N_NEAR).collect()
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
        assert_eq!(nearest("matmul_bf16", &names), ["matmul"]);
        assert_eq!(nearest("MATMUL", &names), ["matmul"]);
        assert!(nearest("zebra", &names).is_empty());
        assert_eq!(nearest("shap", &["ir::shape", "ir::type"]), ["ir::shape"]);
    }

    #[test]
    fn edit_distance_counts_single_changes() {
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("same", "same"), 0);
    }
}
