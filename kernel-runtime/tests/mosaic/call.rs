//! What the custom call says of side effects, cost, aliases and memories, and that libtpu takes it.

use super::aot;
use super::sketch::{Cut, Sketch};
use systole::back::mosaic;
use systole::ir::ops::{Binary, Literal};
use systole::ir::{DType, Extent, Kernel, MemorySpace, ParamKind, Semantics, SideEffects};
use systole::target::{Target, V5E};
use systole::valid;

fn text(kernel: &Kernel) -> String {
    let valid = valid::check(kernel.clone(), &V5E).unwrap_or_else(|errors| panic!("{errors}"));
    let text = mosaic::call(&valid, &mosaic::Options::default());
    text.unwrap_or_else(|errors| panic!("{errors}"))
}

/// Updates `x` in place by `y` and a table that it reads as a scalar, over a grid whose extent is
/// an argument; `z` is a second output.
fn kernel(name: &str) -> Kernel {
    let mut k = Sketch::new(name);
    k.axis("i", 1, Semantics::Arbitrary);
    k.b.kernel_mut().grid[0].extent = Extent::Dynamic { operand: 0 };
    let table = k.smem(ParamKind::Prefetch, "table", DType::I32, &[4]);
    let cuts = [Cut::By(8, 0), Cut::Whole];
    let y = k.param(ParamKind::In, "y", DType::F32, &[32, 128], &cuts);
    let x = k.param(ParamKind::InOut, "x", DType::F32, &[32, 128], &cuts);
    let z = k.param(ParamKind::Out, "z", DType::F32, &[32, 128], &cuts);
    for param in 1..4 {
        k.remap(param, table, |k, args| vec![args[0], k.int(0)]);
    }
    let (old, add) = (k.load(x), k.load(y));
    let sum = k.binary(Binary::Add, old, add);
    k.store(x, sum);
    let two = k.splat(Literal::from_f64(DType::F32, 2.0), &[8, 128]);
    let product = k.binary(Binary::Mul, old, two);
    k.store(z, product);
    k.finish()
}

#[test]
fn aliases_count_extents_and_tables() {
    let text = text(&kernel("aliased"));
    // Operands: the extent, the table, `y`, `x`; results: `x`, `z`.
    let alias = "output_tuple_indices = [0], operand_index = 3, operand_tuple_indices = []";
    assert!(text.contains(alias), "{text}");
    assert!(
        text.contains("(%bound0: tensor<i32>, %arg0: tensor<4xi32>, %arg1: tensor<32x128xf32>")
    );
    assert!(!text.contains("memory_space_colors"), "{text}");
}

#[test]
fn the_chips_checks_of_copies_can_be_left_out() {
    let mut kernel = kernel("unchecked");
    let key = "\\22disable_bounds_checks\\22: true";
    assert!(!text(&kernel).contains(key));
    kernel.compile.unchecked_bounds = true;
    assert!(text(&kernel).contains(key), "{}", text(&kernel));
    aot::check(&[kernel], &V5E, 1);
}

#[test]
fn side_effects_have_three_kinds() {
    let with = |effects| {
        let mut kernel = kernel("effects");
        kernel.compile.side_effects = effects;
        text(&kernel)
    };
    let none = with(SideEffects::None);
    assert!(!none.contains("has_side_effect") && !none.contains("xla_allow_dce"), "{none}");
    let always = with(SideEffects::Always);
    assert!(always.contains("has_side_effect = true") && !always.contains("xla_allow_dce"));
    let dataflow = with(SideEffects::Dataflow);
    assert!(dataflow.contains("has_side_effect = true"), "{dataflow}");
    assert!(dataflow.contains("{xla_allow_dce_side_effecting_op = \"true\"}"), "{dataflow}");
}

#[test]
fn a_stated_cost_replaces_the_count() {
    let mut kernel = kernel("cost");
    let counted = text(&kernel);
    // One step of an unknown number: an addition and a multiplication of each element.
    assert!(counted.contains("\\22flops\\22: 2048,"), "{counted}");
    kernel.compile.cost.flops = Some(77);
    assert!(text(&kernel).contains("\\22flops\\22: 77,"));
}

fn pinned(space: MemorySpace) -> Kernel {
    let mut kernel = kernel(&format!("pinned_{}", space.name()));
    for param in &mut kernel.params[1..] {
        param.pinned = Some(space);
    }
    kernel
}

#[test]
fn pinned_arrays_carry_the_color_of_their_memory() {
    let text = text(&pinned(MemorySpace::Vmem)).replace("\\22", "'");
    let inputs = "'input_memory_space_colors': [{'operand_index': 2, 'color': 1}, {'operand_index': 3, 'color': 1}]";
    assert!(text.contains(inputs), "{text}");
    let outputs = "'output_memory_space_colors': [{'color': 1, 'shape_index': [0]}, {'color': 1, 'shape_index': [1]}]";
    assert!(text.contains(outputs), "{text}");
}

#[test]
fn libtpu_takes_every_form_of_the_call() {
    let mut kernels = vec![pinned(MemorySpace::Hbm), pinned(MemorySpace::Vmem)];
    for effects in [SideEffects::None, SideEffects::Dataflow, SideEffects::Always] {
        let mut kernel = kernel(&format!("effects_{}", effects.name()));
        kernel.compile.side_effects = effects;
        kernels.push(kernel);
    }
    for &target in Target::TPUS {
        aot::check(&kernels, target, kernels.len());
    }
}
