//! No op without a case.

use super::Case;
use super::table::cases;
use std::collections::BTreeSet;
use std::path::Path;
use systole::ir::ops::{Binary, Compare, ReduceKind, Unary};
use systole::run::{DynTensor, jit};

/// Ops whose names are not written in their `name`, or that have tests of their own.
const ELSEWHERE: &[(&str, &str)] = &[
    ("Pointwise", "the names are those of the kernel language"),
    ("Reduce", "the names are those of the kernel language"),
    ("FillPadding", "tests/run/bounded.rs"),
    ("AxisSize", "tests/run/bounded.rs"),
    ("RealSize", "tests/run/bounded.rs"),
];

/// Folders of ops, with the tests that they have instead.
const FOLDERS: &[(&str, &str)] = &[
    ("control", "tests/run/control.rs"),
    ("kernel", "tests/run/kernel.rs"),
    ("mesh", "tests/run/mesh.rs"),
];

/// The ops that a case is made of.
pub(super) fn op_names(case: &Case) -> BTreeSet<String> {
    let program = jit(|inputs: Vec<DynTensor>| case.run(&inputs));
    program.lower(&(case.inputs.clone(),)).unwrap().op_names().map(str::to_owned).collect()
}

#[test]
fn every_op_has_a_case() {
    let mut wanted: BTreeSet<String> = BTreeSet::new();
    wanted.extend(Unary::ALL.iter().map(|op| op.name().to_owned()));
    wanted.extend(Binary::ALL.iter().map(|op| op.name().to_owned()));
    wanted.extend(Compare::ALL.iter().map(|op| op.name().to_owned()));
    wanted.extend(ReduceKind::ALL.iter().map(|op| op.name().to_owned()));
    wanted.extend(["select", "cast", "bitcast"].map(str::to_owned));
    let ops = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/run/op");
    for entry in std::fs::read_dir(ops).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let folder = path.file_name().unwrap();
            let known = FOLDERS.iter().any(|(name, _)| *name == folder);
            assert!(known, "ops of {folder:?}: say in FOLDERS where they are tested");
            continue;
        }
        let text = std::fs::read_to_string(path).unwrap();
        for part in text.split("\nimpl Op for ").skip(1) {
            let implementor = part.split([' ', '<']).next().unwrap();
            if ELSEWHERE.iter().any(|(name, _)| *name == implementor) {
                continue;
            }
            let names = part.split("fn name(&self)").nth(1).unwrap();
            let names = names.split("\n    }").next().unwrap();
            let literals: Vec<&str> = names.split('"').skip(1).step_by(2).collect();
            assert!(!literals.is_empty(), "`{implementor}` hides its names: list it in ELSEWHERE");
            wanted.extend(literals.into_iter().map(str::to_owned));
        }
    }

    let tested: BTreeSet<String> = cases().iter().flat_map(op_names).collect();
    let missing: Vec<&String> = wanted.difference(&tested).collect();
    assert!(missing.is_empty(), "add to tests/run/ops/table.rs a case for each of {missing:?}");
}
