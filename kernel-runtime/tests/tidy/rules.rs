//! The rules. Each takes all sources and returns what breaks it.

use std::fmt;

use crate::source::{Source, is_ident};

/// A broken rule, where, and what to do.
pub(crate) struct Finding {
    rule: &'static str,
    path: String,
    line: usize,
    message: String,
    help: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { rule, path, line, message, help } = self;
        write!(f, "{path}:{line}: [{rule}] {message}\n    help: {help}")
    }
}

/// What each module of kernel-runtime may name. Left out is whatever would point backwards along
/// `diag <- ir <- {trace, valid, pass} <- back <- run <- cli`, so that the IR never learns of its consumers, a back
/// end can be added or left out, and the parts that need no LLVM and no plugin build without them.
/// A module may use the ones before it only: see `bites::the_table_has_no_cycle`.
pub(crate) const DEPENDENCIES: &[(&str, &[&str])] = &[
    ("diag", &[]),
    // Bytes on disk by hash, whatever they mean.
    ("cache", &[]),
    ("ir", &["diag"]),
    // Chip tables: data, in terms of the IR's element types.
    ("target", &["diag", "ir"]),
    ("trace", &["diag", "ir"]),
    ("valid", &["diag", "ir", "target"]),
    ("pass", &["diag", "ir", "target"]),
    ("back", &["diag", "ir", "target", "trace", "valid", "pass"]),
    // Speaks to plugins in bytes and programs; knows element types, and nothing of kernels.
    ("pjrt", &["diag", "ir"]),
    // Compiles finished modules for a chip, through libtpu.
    ("aot", &["diag", "cache", "ir", "target", "valid", "pass", "back", "pjrt"]),
    ("run", &["diag", "cache", "ir", "target", "trace", "valid", "pass", "back", "pjrt", "aot"]),
    // Documentation alone.
    ("pallas", &[]),
    // What a kernel's author imports: re-exports, like lib.rs.
    (
        "prelude",
        &["diag", "cache", "ir", "target", "trace", "valid", "pass", "back", "pjrt", "aot", "run"],
    ),
    (
        "cli",
        &["diag", "cache", "ir", "target", "trace", "valid", "pass", "back", "pjrt", "aot", "run"],
    ),
];

const RUNTIME: &str = "kernel-runtime/src/";
/// The code that speaks to C: the plugins' function tables, and MLIR.
const UNSAFE_HOMES: [&str; 2] = ["kernel-runtime/src/pjrt/", MELIOR_HOME];
const MELIOR_HOME: &str = "kernel-runtime/src/back/mlir/";
const CODES: &str = "kernel-runtime/src/diag/codes.rs";
const README_BLOCKS: &str = "kernel-runtime/tests/readme/blocks.rs";
const MAX_FILE_LINES: usize = 800;
const MAX_FUNCTION_LINES: usize = 80;

pub(crate) fn layering(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        let Some(module) = runtime_module(&source.path) else { continue };
        let Some((_, allowed)) = DEPENDENCIES.iter().find(|(name, _)| *name == module) else {
            findings.push(Finding {
                rule: "layering",
                path: source.path.clone(),
                line: 1,
                message: format!("module `{module}` has no row in the dependency table"),
                help: "add one in kernel-runtime/tests/tidy/rules.rs, or move the file into a module there is".into(),
            });
            continue;
        };
        for (offset, used) in named_modules(source) {
            if used != module && !allowed.contains(&used) {
                findings.push(Finding {
                    rule: "layering",
                    path: source.path.clone(),
                    line: source.line_of(offset),
                    message: format!("`{module}` uses `{used}`, but may use only {allowed:?}"),
                    help: format!("move what both need down into a module that `{module}` may use, or pass it in"),
                });
            }
        }
    }
    findings
}

/// `ir` for kernel-runtime/src/ir/ty.rs; none for lib.rs, which names all of them, and for binaries, which see
/// of the library what any user sees.
fn runtime_module(path: &str) -> Option<&str> {
    let path = path.strip_prefix(RUNTIME)?;
    let module = path.split('/').next()?.trim_end_matches(".rs");
    (module != "lib" && module != "bin").then_some(module)
}

/// Top-level modules that the code names: `crate::ir::..`, `crate::{ir::.., diag}`, and `super::super::ir`.
fn named_modules(source: &Source) -> Vec<(usize, &'static str)> {
    let mut named = Vec::new();
    for start in source.words("crate") {
        let rest = &source.code[start + "crate".len()..];
        // `pub(crate)` and `$crate` in a macro of ours: the latter names the same modules.
        let Some(path) = rest.trim_start().strip_prefix("::") else { continue };
        let group = path.trim_start().strip_prefix('{');
        let heads = group.map_or_else(|| vec![ident(path)], group_heads);
        named.extend(heads.into_iter().filter_map(known_module).map(|module| (start, module)));
    }
    for start in source.words("super") {
        let path = &source.code[start..];
        let segments = path.split("::").map(str::trim).take_while(|s| *s == "super").count();
        // Shorter chains stay inside the module; the inner `super`s of a chain are shorter ones.
        if segments >= module_depth(&source.path) {
            let head = path.split("::").nth(segments).unwrap_or("");
            named.extend(known_module(ident(head)).map(|module| (start, module)));
        }
    }
    named
}

/// 1 for src/ir/mod.rs, 2 for src/ir/ty.rs: how many `super`s lead to the crate's root.
fn module_depth(path: &str) -> usize {
    let path = path.strip_prefix(RUNTIME).unwrap_or(path);
    path.matches('/').count() + usize::from(!path.ends_with("/mod.rs"))
}

fn known_module(name: &str) -> Option<&'static str> {
    DEPENDENCIES.iter().map(|(module, _)| *module).find(|module| *module == name)
}

fn ident(text: &str) -> &str {
    let text = text.trim_start();
    &text[..text.find(|c| !is_ident(c)).unwrap_or(text.len())]
}

/// The first segments inside `{a::b, c::{d, e}}`, given the text after its brace.
fn group_heads(group: &str) -> Vec<&str> {
    let mut heads = vec![ident(group)];
    let mut depth = 0;
    for (offset, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => heads.push(ident(&group[offset + 1..])),
            _ => {}
        }
    }
    heads
}

pub(crate) fn melior_placement(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| !source.path.starts_with(MELIOR_HOME)) {
        for name in ["melior", "mlir_sys"] {
            for start in source.words(name) {
                findings.push(Finding {
                    rule: "melior_placement",
                    path: source.path.clone(),
                    line: source.line_of(start),
                    message: format!("`{name}` is named outside of {MELIOR_HOME}"),
                    help: "put what you need of MLIR into back/mlir and use that, so that one place knows its API".into(),
                });
            }
        }
    }
    findings
}

pub(crate) fn unsafe_placement(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        let fenced = UNSAFE_HOMES.iter().any(|home| source.path.starts_with(home));
        for start in source.words("unsafe") {
            let line = source.line_of(start);
            let (message, help) = if !fenced {
                (
                    "`unsafe` outside of pjrt/ and back/mlir/",
                    "find a safe way, or give those modules a safe function for it",
                )
            } else if takes_on_a_duty(&source.code[start..]) && !has_safety_comment(source, line) {
                (
                    "`unsafe` without a reason",
                    "write `// SAFETY: ..` right above: why what the callee asks for holds here",
                )
            } else {
                continue;
            };
            findings.push(Finding {
                rule: "unsafe_placement",
                path: source.path.clone(),
                line,
                message: message.into(),
                help: help.into(),
            });
        }
    }
    findings
}

/// A block or an impl, where the writer vouches for something; not `unsafe fn`, which asks its callers to.
fn takes_on_a_duty(code: &str) -> bool {
    let next = code["unsafe".len()..].trim_start();
    next.starts_with('{') || ident(next) == "impl"
}

/// Whether a comment that says SAFETY ends on this line or on one of the three above.
fn has_safety_comment(source: &Source, line: usize) -> bool {
    let comments: Vec<&str> = source.comments.lines().collect();
    let code: Vec<&str> = source.code.lines().collect();
    let is_comment = |idx: usize| !comments[idx].trim().is_empty();
    let last = line - 1;
    let Some(mut idx) = (last.saturating_sub(3)..=last).rev().find(|&idx| is_comment(idx)) else {
        return false;
    };
    loop {
        if comments[idx].contains("SAFETY:") {
            return true;
        }
        // Up through the lines of the same comment.
        if idx == 0 || !is_comment(idx - 1) || !code[idx - 1].trim().is_empty() {
            return false;
        }
        idx -= 1;
    }
}

pub(crate) fn file_length(sources: &[Source]) -> Vec<Finding> {
    let rust = sources.iter().filter(|source| source.is_rust());
    let too_long = rust.filter(|source| source.text.lines().count() > MAX_FILE_LINES);
    too_long
        .map(|source| Finding {
            rule: "file_length",
            path: source.path.clone(),
            line: MAX_FILE_LINES + 1,
            message: format!(
                "{} lines, at most {MAX_FILE_LINES} are allowed",
                source.text.lines().count()
            ),
            help: "split it by topic: 300 lines are the aim".into(),
        })
        .collect()
}

pub(crate) fn function_length(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        for function in source.functions() {
            let head: String = function.head.split_whitespace().collect();
            let excused = head.contains("#[expect(clippy::too_many_lines,");
            if function.n_lines > MAX_FUNCTION_LINES && !excused {
                findings.push(Finding {
                    rule: "function_length",
                    path: source.path.clone(),
                    line: function.line,
                    message: format!(
                        "`{}` has {} lines of code, at most {MAX_FUNCTION_LINES} are allowed",
                        function.name, function.n_lines
                    ),
                    help:
                        "split it: 30 lines are the aim. Only exhaustive dispatch over ops may say \
                           `#[expect(clippy::too_many_lines, reason = \"..\")]`"
                            .into(),
                });
            }
        }
    }
    findings
}

pub(crate) fn tested_codes(sources: &[Source]) -> Vec<Finding> {
    let Some(table) = sources.iter().find(|source| source.path == CODES) else {
        return vec![Finding {
            rule: "tested_codes",
            path: CODES.into(),
            line: 1,
            message: "the table of diagnostic codes is not here".into(),
            help: "if it moved, say so in kernel-runtime/tests/tidy/rules.rs".into(),
        }];
    };
    let tests: Vec<&str> = sources.iter().filter_map(test_text).collect();
    let mut findings = Vec::new();
    for (idx, line) in table.text.lines().enumerate() {
        let Some((name, code)) = code_row(line) else {
            continue;
        };
        let constant = format!("Code::{name}");
        if !tests.iter().any(|text| text.contains(code) || text.contains(&constant)) {
            findings.push(Finding {
                rule: "tested_codes",
                path: table.path.clone(),
                line: idx + 1,
                message: format!("no test provokes the diagnostic `{code}`"),
                help: "add the smallest case that gives it, such as \
                       kernel-runtime/tests/tile/invalid/<mistake>.tile"
                    .into(),
            });
        }
    }
    findings
}

/// The part of a file that is test: all of it below a `tests` folder or in tests.rs, else from `#[cfg(test)]` on.
fn test_text(source: &Source) -> Option<&str> {
    if source.path.starts_with("kernel-runtime/tests/tidy/") {
        return None;
    }
    if source.path.contains("/tests/") || source.path.ends_with("/tests.rs") {
        return Some(&source.text);
    }
    source.code.find("#[cfg(test)]").map(|start| &source.text[start..])
}

/// Name and code of a row of the table: `VALID_GRID = "valid::grid": ..`.
fn code_row(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once(" = \"")?;
    let (code, _) = rest.split_once("\":")?;
    code.contains("::").then_some((name.trim(), code))
}

pub(crate) fn file_names(sources: &[Source]) -> Vec<Finding> {
    let is_vague = |segment: &str| {
        let stem = segment.split('.').next().unwrap_or(segment);
        let is_version = |tail: &str| !tail.is_empty() && tail.chars().all(|c| c.is_ascii_digit());
        ["util", "utils", "helper", "helpers", "common", "misc"].contains(&stem)
            || stem.rsplit_once("_v").is_some_and(|(_, tail)| is_version(tail))
    };
    let vague = |source: &&Source| source.path.split('/').any(is_vague);
    sources
        .iter()
        .filter(vague)
        .map(|source| Finding {
            rule: "file_names",
            path: source.path.clone(),
            line: 1,
            message: "the name does not say what is inside".into(),
            help: "name it by the one thing that it holds; a new version replaces the old one under its name".into(),
        })
        .collect()
}

pub(crate) fn linked_todos(sources: &[Source]) -> Vec<Finding> {
    // Put together here, so that this file does not find itself.
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
    let links_issue = |line: &str| {
        let digit_after = |mark: &str| {
            line.match_indices(mark)
                .any(|(at, _)| line[at + mark.len()..].starts_with(|c: char| c.is_ascii_digit()))
        };
        digit_after("#") || digit_after("issues/") || digit_after("issue ")
    };
    let broken = |line: &str| {
        marks.iter().any(|mark| line.split(|c| !is_ident(c)).any(|word| word == *mark))
            && !links_issue(line)
    };
    by_line(
        sources,
        "linked_todos",
        broken,
        "an open end without an issue",
        "do it now, or file an issue and write its number here: `#12`",
    )
}

pub(crate) fn machine_paths(sources: &[Source]) -> Vec<Finding> {
    let folders = [concat!("/wo", "rk"), concat!("/ro", "ot")];
    let broken = |line: &str| {
        folders.iter().any(|folder| {
            line.match_indices(folder).any(|(start, _)| {
                let before = line[..start].chars().next_back();
                let after = line[start + folder.len()..].chars().next();
                let begins = !before.is_some_and(|c| is_ident(c) || "./-$}<".contains(c));
                begins && !after.is_some_and(|c| is_ident(c) || c == '-')
            })
        })
    };
    by_line(
        sources,
        "machine_paths",
        broken,
        "a path of one machine",
        "take it from the environment, the cache folder, CARGO_MANIFEST_DIR, or a temporary folder",
    )
}

pub(crate) fn tests_run(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        for mark in ["ignore", "should_panic"] {
            let is_attribute = |start: &usize| source.code[..*start].trim_end().ends_with("#[");
            for start in source.words(mark).into_iter().filter(is_attribute) {
                findings.push(Finding {
                    rule: "tests_run",
                    path: source.path.clone(),
                    line: source.line_of(start),
                    message: format!("`#[{mark}]`"),
                    help:
                        "run every test; assert on the error that comes back instead of on a panic"
                            .into(),
                });
            }
        }
    }
    findings
}

fn by_line(
    sources: &[Source],
    rule: &'static str,
    broken: impl Fn(&str) -> bool,
    message: &str,
    help: &str,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        for (idx, _) in source.text.lines().enumerate().filter(|(_, line)| broken(line)) {
            findings.push(Finding {
                rule,
                path: source.path.clone(),
                line: idx + 1,
                message: message.into(),
                help: help.into(),
            });
        }
    }
    findings
}

pub(crate) fn inherited_lints(sources: &[Source]) -> Vec<Finding> {
    let is_member = |source: &&Source| {
        source.path.ends_with("/Cargo.toml") && source.path.matches('/').count() == 1
    };
    let inherits = |source: &&Source| {
        let section = source.text.split("[lints]").nth(1).unwrap_or("");
        section.trim_start().starts_with("workspace = true")
    };
    sources
        .iter()
        .filter(is_member)
        .filter(|source| !inherits(source))
        .map(|source| Finding {
            rule: "inherited_lints",
            path: source.path.clone(),
            line: 1,
            message: "the workspace's lints do not hold here".into(),
            help: "add the two lines `[lints]` and `workspace = true`".into(),
        })
        .collect()
}

pub(crate) fn top_level(paths: &[String]) -> Vec<Finding> {
    const DESIGNED: [&str; 9] = [
        "Cargo.toml",
        "Cargo.lock",
        "README.md",
        "x",
        "dsl-macros",
        "kernel-runtime",
        "kernels",
        "examples",
        "benches",
    ];
    let mut names: Vec<&str> = paths.iter().filter_map(|path| path.split('/').next()).collect();
    names.dedup();
    let finding = |name: &str, message: &str, help: &str| Finding {
        rule: "top_level",
        path: name.to_owned(),
        line: 1,
        message: message.into(),
        help: help.into(),
    };
    let belongs = |name: &str| {
        name.starts_with('.') || name.starts_with("LICENSE-") || DESIGNED.contains(&name)
    };
    let surplus = names.iter().filter(|name| !belongs(name)).map(|name| {
        finding(
            name,
            "does not belong at the top level",
            "move it into one of the crates, or into a dot-folder if it configures a tool",
        )
    });
    let missing = DESIGNED
        .iter()
        .filter(|name| !names.contains(name))
        .map(|name| finding(name, "is missing", "put it back"));
    surplus.chain(missing).collect()
}

/// Every block of Rust in the README stands, line for line, in the file of tests that compiles it.
pub(crate) fn readme_blocks(sources: &[Source]) -> Vec<Finding> {
    let lines = |path: &str| -> Vec<&str> {
        let source = sources.iter().find(|source| source.path == path);
        source.map(|source| source.text.lines().map(str::trim).collect()).unwrap_or_default()
    };
    let compiled = lines(README_BLOCKS);
    let mut findings = Vec::new();
    let mut rest = lines("README.md").into_iter().zip(1..);
    while let Some((_, start)) = rest.find(|(line, _)| *line == "```rust") {
        let block: Vec<&str> =
            rest.by_ref().map(|(line, _)| line).take_while(|line| *line != "```").collect();
        if !compiled.windows(block.len().max(1)).any(|lines| lines == block) {
            findings.push(Finding {
                rule: "readme",
                path: "README.md".to_owned(),
                line: start,
                message: format!("no test compiles this block of {} lines", block.len()),
                help: format!("put it into {README_BLOCKS} as it stands, and see that it compiles"),
            });
        }
    }
    findings
}
