//! libtpu compiles SparseCore kernels, to the instructions that they are written for.

use super::kernels::{bag_sums, gather_rows, scalar_sums, scatter_rows, segment_sums};
use super::registers;
use std::path::Path;
use systole::aot::{self, Options, Request};
use systole::back::mosaic;
use systole::ir::Kernel;
use systole::prelude::*;
use systole::target::{TPU7X, Target, V5P, V6E};
use systole::valid;

const TARGETS: [&Target; 3] = [&V5P, &V6E, &TPU7X];

/// Compiles a kernel; gives libtpu's schedule of its subcores.
fn bundles(kernel: &Kernel, target: &'static Target) -> String {
    let valid = valid::check(kernel.clone(), target).unwrap_or_else(|e| panic!("{target}: {e}"));
    let program = mosaic::call(&valid, &mosaic::Options::default());
    let program = program.unwrap_or_else(|e| panic!("{target}: {e}"));
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        cycles: false,
        lines: false,
        // What is taken from a cache dumps nothing.
        cache: None,
        init_flags: vec![format!("--xla_sc_dump_bundles_to={}", folder.path().display())],
        ..Options::default()
    };
    let report = aot::compile(&Request::new(&kernel.name, target, program).with(options));
    assert!(report.is_ok(), "{} on {target}: {:?}", kernel.name, report.messages);
    texts(folder.path())
}

fn texts(folder: &Path) -> String {
    let mut all = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all.push_str(&texts(&path)),
            false => all.push_str(&std::fs::read_to_string(path).unwrap_or_default()),
        }
    }
    all
}

fn lanes(target: &Target) -> usize {
    target.sparse().unwrap().lanes
}

fn check(kernel: impl Fn(&Target) -> Kernel, instructions: &[&str]) {
    for target in TARGETS {
        let kernel = kernel(target);
        let text = bundles(&kernel, target);
        for instruction in instructions {
            let name = &kernel.name;
            assert!(text.contains(instruction), "{name} on {target}: no {instruction}\n{text}");
        }
    }
}

#[test]
fn gathers_become_streams() {
    let args = [ArgSpec::of::<f32>(&[4096, 128]), ArgSpec::of::<i32>(&[8192])];
    check(|_| gather_rows(2, 64).trace(&args).unwrap(), &["stream.indirect.gather"]);
}

#[test]
fn gathers_that_add_become_streams_that_add() {
    let args = [ArgSpec::of::<f32>(&[4096, 128]), ArgSpec::of::<i32>(&[6, 2048])];
    check(
        |target| bag_sums(2, 64, lanes(target)).trace(&args).unwrap(),
        &["stream.indirect.gather.add.f32"],
    );
}

#[test]
fn scatters_that_add_become_streams_that_add() {
    let args = [ArgSpec::of::<f32>(&[1024, 128]), ArgSpec::of::<i32>(&[1024])];
    check(
        |target| segment_sums(256, lanes(target)).trace(&args).unwrap(),
        &["stream.indirect.scatter.add.f32"],
    );
}

#[test]
fn ids_in_a_register_become_streams() {
    let args = [ArgSpec::of::<f32>(&[1024, 128]), ArgSpec::of::<i32>(&[1024])];
    check(
        |target| scatter_rows(lanes(target)).trace(&args).unwrap(),
        &["stream.indirect_vreg.scatter"],
    );
}

#[test]
fn every_op_on_registers_compiles() {
    check(|target| registers::traced::<f32>(lanes(target)), &[]);
    check(|target| registers::traced::<i32>(lanes(target)), &[]);
    check(|target| registers::traced::<u32>(lanes(target)), &[]);
}

#[test]
fn scalar_subcores_compile() {
    let traced = |cores| scalar_sums(cores).trace(&[ArgSpec::of::<i32>(&[1024])]).unwrap();
    check(|target| traced(target.sparse().unwrap().n_cores), &[]);
    check(|_| traced(1), &[]);
    // libtpu refuses this one.
    let errors = valid::check(traced(2), &V5P).unwrap_err().to_string();
    assert!(errors.contains("make `c` 1 or 4"), "{errors}");
}
