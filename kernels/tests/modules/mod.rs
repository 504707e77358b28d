//! A hash of every module of every kernel, spec and chip: same bytes in every process and build.
//!
//! The manifest is made by another process and another build than the one that checks it, so it
//! shows determinism as well as change. `BLESS=1 cargo test golden` rewrites it.

use std::fmt::Write;
use std::path::Path;
use systole::back::{mosaic, stablehlo};
use systole::diag::Code;
use systole::run::Spec;
use systole::target::{GENERIC, Target};
use systole::valid;
use systole_kernels::KERNELS;

#[test]
fn golden_hashes_of_every_module() {
    let mut found = String::new();
    for entry in KERNELS {
        for spec in (entry.specs)() {
            let name = format!("{}/{}", entry.name, spec.name());
            writeln!(found, "{name} stablehlo {}", hash(&stablehlo_of(&spec))).unwrap();
            for target in Target::TPUS {
                writeln!(found, "{name} {} {}", target.name, hash(&mosaic_of(&spec, target)))
                    .unwrap();
            }
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/modules.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    let changed: Vec<&str> =
        found.lines().filter(|line| !golden.lines().any(|g| g == *line)).collect();
    let n_orphans = golden.lines().filter(|line| !found.lines().any(|f| f == *line)).count();
    assert!(
        changed.is_empty() && n_orphans == 0,
        "{} modules changed, {n_orphans} lines are out of date; if that is meant, `./x bless`:\n{}",
        changed.len(),
        changed.join("\n")
    );
}

fn stablehlo_of(spec: &Spec) -> String {
    let valid = spec.kernel(&GENERIC).and_then(|kernel| valid::check(kernel, &GENERIC));
    let text = valid.and_then(|valid| stablehlo::lower(&valid, &stablehlo::Options::default()));
    text.unwrap_or_else(|problems| {
        // SparseCore kernels have no StableHLO.
        let is_sparse = spec.kernel(&GENERIC).is_ok_and(|kernel| kernel.core.is_sparse());
        assert!(is_sparse, "{}: {problems}", spec.name());
        assert_eq!(problems.0[0].code, Code::STABLEHLO_UNSUPPORTED, "{problems}");
        "unsupported".into()
    })
}

/// The module's text, which unlike the bytecode does not name the version of MLIR that wrote it; a
/// combination that the chip does not have says so.
fn mosaic_of(spec: &Spec, target: &'static Target) -> String {
    let valid = spec.kernel(target).and_then(|kernel| valid::check(kernel, target));
    match valid.and_then(|valid| mosaic::text(&valid, &mosaic::Options::default())) {
        Ok(text) => text,
        Err(problems) if problems.is_unsupported() => "unsupported".into(),
        Err(problems) => panic!("{} on {}: {problems}", spec.name(), target.name),
    }
}

/// 64 bits of FNV-1a: enough to see a change.
fn hash(text: &str) -> String {
    if text == "unsupported" {
        return text.into();
    }
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}
