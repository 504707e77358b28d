//! Proof that each rule finds what it is for, and leaves its neighbours alone.

use crate::rules::{self, Finding};
use crate::source::Source;

type Rule = fn(&[Source]) -> Vec<Finding>;

/// What the rule says about these files, one line per finding, without the cures.
fn findings(rule: Rule, files: &[(&str, &str)]) -> Vec<String> {
    let sources: Vec<Source> = files.iter().map(|(path, text)| Source::new(path, text)).collect();
    let first_line = |finding: Finding| finding.to_string().lines().next().unwrap_or("").to_owned();
    rule(&sources).into_iter().map(first_line).collect()
}

#[track_caller]
fn assert_finds(rule: Rule, path: &str, text: &str, expected: &[&str]) {
    let found = findings(rule, &[(path, text)]);
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(|(f, e)| f.contains(e)),
        "in\n{text}\nexpected {expected:#?}\nfound {found:#?}"
    );
}

const IR: &str = "kernel-runtime/src/ir/ty.rs";

#[test]
fn the_table_has_no_cycle() {
    for (idx, (module, allowed)) in rules::DEPENDENCIES.iter().enumerate() {
        let before: Vec<&str> = rules::DEPENDENCIES[..idx].iter().map(|(name, _)| *name).collect();
        assert!(
            allowed.iter().all(|name| before.contains(name)),
            "`{module}` uses a row below its own"
        );
    }
}

#[test]
fn layering_bites() {
    let rule = rules::layering;
    assert_finds(rule, IR, "use crate::diag::Span;\nuse crate::ir::Op;\nuse crate::ir;", &[]);
    assert_finds(rule, IR, "\nuse crate::back::interp;", &["ty.rs:2: [layering] `ir` uses `back`"]);
    assert_finds(rule, IR, "use crate::{diag, ir::{Op, valid}, run::{Tensor, jit}};", &["`run`"]);
    assert_finds(rule, IR, "fn f() { crate::cli::main() }", &["`cli`"]);
    assert_finds(rule, IR, "macro_rules! m { () => { $crate::valid::check() } }", &["`valid`"]);
    assert_finds(rule, IR, "use super::super::valid::check;\nuse super::valid;", &["ty.rs:1"]);
    assert_finds(rule, "kernel-runtime/src/ir/mod.rs", "use super::run;", &["`run`"]);
    assert_finds(
        rule,
        IR,
        "// crate::back\nconst S: &str = \"crate::back\";\npub(crate) fn back() {}",
        &[],
    );
    assert_finds(rule, "kernel-runtime/src/cli/check.rs", "use crate::{run, aot, back};", &[]);
    assert_finds(rule, "kernel-runtime/src/pjrt/mod.rs", "use crate::run;", &["`pjrt` uses `run`"]);
    assert_finds(rule, "kernel-runtime/src/lib.rs", "pub use crate::run::Tensor;", &[]);
    assert_finds(rule, "kernel-runtime/src/bin/worker.rs", "use systole::aot;", &[]);
    assert_finds(rule, "kernel-runtime/src/extra.rs", "", &["`extra` has no row"]);
    assert_finds(rule, "kernels/src/lib.rs", "use crate::back;", &[]);
}

#[test]
fn melior_placement_bites() {
    let rule = rules::melior_placement;
    let text = "use melior::Context;\n// melior\nlet x = mlir_sys::f();";
    assert_finds(rule, "kernel-runtime/src/back/mosaic/mod.rs", text, &["mod.rs:1", "mod.rs:3"]);
    assert_finds(rule, "examples/quickstart.rs", text, &[":1", ":3"]);
    assert_finds(rule, "kernel-runtime/src/back/mlir/mod.rs", text, &[]);
    assert_finds(rule, IR, "let meliorate = 1;", &[]);
}

#[test]
fn unsafe_placement_bites() {
    let rule = rules::unsafe_placement;
    let reasoned =
        "// SAFETY: the plugin keeps it alive\n// until the client goes.\nunsafe { f() }";
    assert_finds(rule, IR, reasoned, &["ty.rs:3: [unsafe_placement] `unsafe` outside"]);
    assert_finds(rule, "kernels/src/lib.rs", "unsafe impl Send for X {}", &["outside"]);
    let pjrt = "kernel-runtime/src/pjrt/client.rs";
    assert_finds(rule, pjrt, reasoned, &[]);
    assert_finds(
        rule,
        pjrt,
        "let x = 1;\nunsafe { f() }",
        &["client.rs:2: [unsafe_placement] `unsafe` without"],
    );
    assert_finds(rule, pjrt, "// Quick.\nunsafe impl Send for X {}", &["without a reason"]);
    assert_finds(rule, pjrt, "// SAFETY: far away\n\n\n\n\nunsafe { f() }", &["without a reason"]);
    assert_finds(
        rule,
        pjrt,
        "type F = unsafe extern \"C\" fn();\nunsafe fn g() {}\n#![deny(unsafe_code)]",
        &[],
    );
    assert_finds(rule, IR, "let s = \"unsafe\"; // unsafe", &[]);
}

#[test]
fn file_length_bites() {
    assert_finds(rules::file_length, IR, &"\n".repeat(800), &[]);
    assert_finds(rules::file_length, IR, &"\n".repeat(801), &["801 lines"]);
    assert_finds(rules::file_length, "kernel-runtime/tests/golden/x.mlir", &"\n".repeat(900), &[]);
}

#[test]
fn function_length_bites() {
    let rule = rules::function_length;
    let function = |n_lines: usize| {
        format!("fn long<T>(x: [T; 2]) -> T\nwhere T: Copy {{\n{}}}\n", "f();\n".repeat(n_lines))
    };
    assert_finds(rule, IR, &function(80), &[]);
    assert_finds(
        rule,
        IR,
        &format!("struct S;\n{}", function(81)),
        &["ty.rs:2: [function_length] `long` has 81"],
    );
    let excused = format!(
        "#[expect(\n    clippy::too_many_lines,\n    reason = \"one arm per op; {{\"\n)]\n{}",
        function(90)
    );
    assert_finds(rule, IR, &excused, &[]);
    assert_finds(rule, IR, &format!("{excused}{}", function(90)), &["`long`"]);
    let comments = format!("fn short() {{\n{}}}\n", "// Why.\n\n".repeat(90));
    assert_finds(rule, IR, &comments, &[]);
}

#[test]
fn function_length_is_not_fooled_by_text_with_braces() {
    let filler = "f();\n".repeat(50);
    let tricks = [
        "let s = \"}\";",
        "let s = r#\"\"}\"#;",
        "let s = b\"\\\"}\";",
        "let c = '}';",
        "let c = '\\'';",
        "let c = '\"';",
        "// }",
        "/* } /* } */ } */",
        "let r#fn: &'static str = \"{\";",
        "let f: fn(i32) -> i32 = g;",
    ];
    for trick in tricks {
        let text = format!("fn long() {{\n{filler}{trick}\n{filler}}}\nfn short() {{}}\n");
        let n_lines = if trick.starts_with('/') { 100 } else { 101 };
        assert_finds(rules::function_length, IR, &text, &[&format!("`long` has {n_lines}")]);
    }
}

#[test]
fn tested_codes_bites() {
    let table = (
        "kernel-runtime/src/diag/codes.rs",
        "codes! {\n    VMEM = \"valid::vmem\": \"Needs more.\";\n    RANK = \"trace::rank\": \"..\";\n}",
    );
    let tile = ("kernel-runtime/tests/tile/invalid/vmem.tile", "//~ error[valid::vmem]: ..");
    let unit = |name: &str| format!("fn f() {{}}\n#[cfg(test)]\nmod tests {{ const C: {name}; }}");
    for name in ["Code = Code::RANK", "&str = \"trace::rank\""] {
        assert_eq!(findings(rules::tested_codes, &[table, tile, (IR, &unit(name))]), [""; 0]);
    }
    let code = (IR, "fn f() { report(\"trace::rank\", Code::RANK) }");
    let found = findings(rules::tested_codes, &[table, tile, code]);
    assert!(found.len() == 1, "{found:?}");
    assert!(found[0].contains("codes.rs:3: [tested_codes]") && found[0].contains("`trace::rank`"));
    assert_eq!(findings(rules::tested_codes, &[tile]).len(), 1);
}

#[test]
fn file_names_bites() {
    for bad in [
        "kernels/src/utils.rs",
        "kernel-runtime/src/common/mod.rs",
        "benches/matmul_v2.rs",
        "examples/helpers.rs",
    ] {
        assert_finds(rules::file_names, bad, "", &["[file_names]"]);
    }
    for good in
        ["kernel-runtime/src/target/v5e.rs", "kernels/src/softmax/mod.rs", "benches/tpu_v5e.rs"]
    {
        assert_finds(rules::file_names, good, "", &[]);
    }
}

#[test]
fn linked_todos_bites() {
    let mark = concat!("TO", "DO");
    assert_finds(rules::linked_todos, "README.md", &format!("a\n{mark}: more"), &["README.md:2"]);
    assert_finds(rules::linked_todos, IR, &format!("// {mark}(someone)"), &["[linked_todos]"]);
    assert_finds(rules::linked_todos, IR, &format!("// {mark}: DMA, #12\n// {mark}S"), &[]);
}

#[test]
fn machine_paths_bites() {
    let rule = rules::machine_paths;
    let home = concat!("/ro", "ot/x");
    assert_finds(rule, "x", &format!("cp a {home}"), &["x:1"]);
    assert_finds(rule, IR, concat!("let p = \"/wo", "rk\";"), &["[machine_paths]"]);
    assert_finds(rule, IR, concat!("a/wo", "rk/b.rs ./ro", "ot /wo", "rks"), &[]);
}

#[test]
fn tests_run_bites() {
    let ignored = format!("#[test]\n#[{} = \"slow\"]\nfn f() {{}}", "ignore");
    assert_finds(rules::tests_run, IR, &ignored, &["ty.rs:2"]);
    assert_finds(
        rules::tests_run,
        IR,
        &format!("#[{}(expected = \"x\")]", "should_panic"),
        &["should_panic"],
    );
    assert_finds(rules::tests_run, IR, "fn ignore() {}\n// #[ignore]", &[]);
}

#[test]
fn inherited_lints_bites() {
    let rule = rules::inherited_lints;
    assert_finds(rule, "kernels/Cargo.toml", "[package]\n", &["kernels/Cargo.toml:1"]);
    assert_finds(
        rule,
        "kernels/Cargo.toml",
        "[lints]\nworkspace = false\n",
        &["[inherited_lints]"],
    );
    assert_finds(rule, "kernels/Cargo.toml", "[package]\n\n[lints]\nworkspace = true\n", &[]);
    assert_finds(rule, "Cargo.toml", "[workspace]\n", &[]);
}

#[test]
fn top_level_bites() {
    let designed = [
        ".x/setup.sh",
        "Cargo.lock",
        "Cargo.toml",
        "LICENSE-MIT",
        "README.md",
        "benches/a.rs",
        "dsl-macros/src/lib.rs",
        "examples/a.rs",
        "kernel-runtime/Cargo.toml",
        "kernels/Cargo.toml",
        "x",
    ];
    let report = |paths: &[&str]| -> Vec<String> {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        rules::top_level(&paths).iter().map(ToString::to_string).collect()
    };
    assert_eq!(report(&designed), [""; 0]);
    assert!(
        report(&[&designed[..], &["scripts/a.sh"]].concat())[0]
            .starts_with("scripts:1: [top_level] does not belong")
    );
    assert!(report(&designed[..10])[0].starts_with("x:1: [top_level] is missing"));
}

#[test]
fn readme_blocks_bite() {
    let rule = rules::readme_blocks;
    let readme = "Text\n```rust\nlet x = 1;\n\nuse_it(x); // now\n```\n```\nno rust\n```\n";
    let compiled = "kernel-runtime/tests/readme/blocks.rs";
    let with = |code: &str| findings(rule, &[("README.md", readme), (compiled, code)]);
    let as_it_stands = "fn f() {\n    let x = 1;\n\n    use_it(x); // now\n}\n";
    assert!(with(as_it_stands).is_empty());
    for other in [
        as_it_stands.replace("x = 1", "x = 2"),
        as_it_stands.replace("; // now", ";"),
        as_it_stands.replace("\n\n", "\n    let y = 2;\n"),
        String::new(),
    ] {
        let found = with(&other);
        assert_eq!(found, ["README.md:2: [readme] no test compiles this block of 3 lines"]);
    }
}
