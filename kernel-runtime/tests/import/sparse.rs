//! Modules for SparseCores: what they say that the IR cannot, and what contradicts itself.
//!
//! Those of Pallas are among the recorded ones.

use super::fixtures::module;
use systole::back::interp::{self, Options};
use systole::back::mosaic::import;
use systole::diag::{Code, Diagnostic, Diagnostics};
use systole::ir::{Array, Core, DType, Kernel, MemorySpace};
use systole::target::GENERIC;
use systole::valid;

const HBM: &str = "memref<16x128xf32, #tpu.memory_space<hbm>>";
const ROWS: &str = "memref<8x128xf32, #tpu.memory_space<vmem>>";
const LIST: &str = "memref<8xi32, #tpu.memory_space<vmem>>";
const SHARED: &str = "memref<8x128xf32, #tpu.memory_space<vmem_shared>>";
const DONE: &str = "memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>";
const START: &str = "affine_map<(d0, d1) -> (0, 0)>";

/// The attributes of a kernel's function.
fn attrs(n_cores: usize, map: &str) -> String {
    format!(
        "tpu.core_type = #tpu.core_type<sc_vector_subcore>, scratch_operands = 4 : i64, \
         iteration_bounds = array<i64: {n_cores}, 2>, dimension_semantics = \
         [#tpu.dimension_semantics<core_parallel>, #tpu.dimension_semantics<subcore_parallel>], \
         window_params = [{{transform_indices = {START}}}, {{transform_indices = {map}}}]"
    )
}

/// A module of a kernel whose subcores each copy eight rows of `%x`, do what `ops` say, scatter the
/// rows to `%o` turned around within the eight.
pub(crate) fn kernel(ops: &str) -> String {
    kernel_with(&attrs(1, START), HBM, ops)
}

fn kernel_with(attrs: &str, out: &str, ops: &str) -> String {
    let copy = "operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false";
    let part = ROWS.replace("vmem", "hbm");
    format!(
        "module attributes {{stable_mosaic.version = 11 : i64}} {{\n\
         \"stable_mosaic.func.func\"() ({{\n\
         ^bb0(%c: i32, %s: i32, %x: {HBM}, %o: {out}, %rows: {ROWS}, %list: {LIST}, %sums: {SHARED}, %done: {DONE}):\n\
         %zero = \"stable_mosaic.arith.constant\"() {{value = 0 : index}} : () -> index\n\
         %z = \"stable_mosaic.arith.constant\"() {{value = 0 : i32}} : () -> i32\n\
         %eight = \"stable_mosaic.arith.constant\"() {{value = 8 : i32}} : () -> i32\n\
         %first = \"stable_mosaic.arith.muli\"(%s, %eight) : (i32, i32) -> i32\n\
         %p = \"stable_mosaic.tpu.memref_slice\"(%x, %first, %z) {{operandSegmentSizes = array<i32: 1, 2, 0>}} : ({HBM}, i32, i32) -> {part}\n\
         \"stable_mosaic.tpu.enqueue_dma\"(%p, %rows, %done) {{{copy}}} : ({part}, {ROWS}, {DONE}) -> ()\n\
         \"stable_mosaic.tpu.wait_dma2\"(%done, %p, %rows) {{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false}} : ({DONE}, {part}, {ROWS}) -> ()\n\
         %lane = \"stable_mosaic.tpu.iota\"() {{dimensions = array<i32: 0>}} : () -> vector<8xi32>\n\
         %sevens = \"stable_mosaic.arith.constant\"() {{value = dense<7> : vector<8xi32>}} : () -> vector<8xi32>\n\
         {ops}\n\
         %turned = \"stable_mosaic.arith.xori\"(%lane, %sevens) : (vector<8xi32>, vector<8xi32>) -> vector<8xi32>\n\
         %own = \"stable_mosaic.vector.broadcast\"(%first) : (i32) -> vector<8xi32>\n\
         %to = \"stable_mosaic.arith.addi\"(%turned, %own) : (vector<8xi32>, vector<8xi32>) -> vector<8xi32>\n\
         \"stable_mosaic.tpu.enqueue_indirect_dma\"(%rows, %o, %to, %done) {{add = false}} : ({ROWS}, {out}, vector<8xi32>, {DONE}) -> ()\n\
         \"stable_mosaic.tpu.wait_indirect_dma\"(%done, %rows, %o) : ({DONE}, {ROWS}, {out}) -> ()\n\
         \"stable_mosaic.func.return\"() : () -> ()\n\
         }}) {{sym_name = \"k\", {attrs}}} : () -> ()\n\
         }}\n"
    )
}

fn imported(text: &str) -> Result<Kernel, Diagnostics> {
    import::read("x.mlir", text.as_bytes())?.remove(0).import().map(|imported| imported.kernel)
}

/// The only diagnostic.
fn refused(text: &str) -> Diagnostic {
    let errors = imported(text).expect_err(text);
    assert_eq!(errors.0.len(), 1, "{errors}\n{text}");
    errors.0.into_iter().next().unwrap()
}

#[test]
fn a_bare_module_runs_on_the_cores_that_it_names() {
    let calls = import::read("x.mlir", kernel("").as_bytes()).unwrap();
    assert_eq!(calls[0].sparse_core, None);
    let imported = calls[0].import().unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(imported.kernel.core, Core::Sparse);
    assert_eq!(imported.kernel.scratch[2].space, MemorySpace::Spmem);
    // The scatter tells which argument is the result.
    assert_eq!((imported.operands.len(), imported.results.len()), (1, 1));
    let valid = valid::check(imported.kernel.clone(), &GENERIC).unwrap();
    let values: Vec<f64> = (0..16 * 128).map(f64::from).collect();
    let x = Array::from_f64(DType::F32, &[16, 128], &values).unwrap();
    let ran = imported.run(&valid, &[x], &Options::default());
    let found = ran.unwrap_or_else(|errors| panic!("{errors}")).results[0].to_f64();
    let turned = |place: usize| values[((place / 128) ^ 7) * 128 + place % 128];
    assert_eq!(found, (0..16 * 128).map(turned).collect::<Vec<f64>>());
}

#[test]
fn what_the_ir_cannot_say_of_sparse_cores_is_named_with_its_line() {
    let vector = "vector<8xi32>";
    let copy = "\"stable_mosaic.tpu.enqueue_indirect_dma\"";
    let slice = "operandSegmentSizes = array<i32: 1, 2, 0>";
    for (ops, message) in [
        (
            format!(
                "{copy}(%x, %o, %list, %done) {{add = false}} : ({HBM}, {HBM}, {LIST}, {DONE}) -> ()"
            ),
            "`tpu.enqueue_indirect_dma`: rows from hbm to hbm",
        ),
        (
            format!(
                "{copy}(%x, %rows, %list, %done) {{add = false, odd = 1 : i32}} : ({HBM}, {ROWS}, {LIST}, {DONE}) -> ()"
            ),
            "attribute `odd`",
        ),
        (
            format!(
                "%later = \"stable_mosaic.tpu.memref_slice\"(%x, %eight, %z) {{{slice}}} : ({HBM}, i32, i32) -> {HBM8}\n\
                     {copy}(%later, %rows, %list, %done) {{add = false}} : ({HBM8}, {ROWS}, {LIST}, {DONE}) -> ()",
                HBM8 = ROWS.replace("vmem", "hbm")
            ),
            "that axis is taken whole",
        ),
        (
            "%one = \"stable_mosaic.arith.constant\"() {value = 1 : index} : () -> index\n\
             \"stable_mosaic.tpu.barrier\"(%one) : (index) -> ()"
                .into(),
            "`tpu.barrier`: barrier 1, other than 0",
        ),
        (
            "%n = \"stable_mosaic.arith.index_cast\"(%s) : (i32) -> index\n\
             \"stable_mosaic.tpu.barrier\"(%n) : (index) -> ()"
                .into(),
            "a barrier that is known at run time alone",
        ),
        (
            format!(
                "%a = \"stable_mosaic.tpu.scan\"(%lane) {{kind = #tpu.reduction_kind<product>}} : ({vector}) -> {vector}"
            ),
            "`tpu.scan`: the combination `product`",
        ),
        (
            format!(
                "%m = \"stable_mosaic.arith.cmpi\"(%lane, %sevens) {{predicate = 2 : i64}} : ({vector}, {vector}) -> vector<8xi1>\n\
                     %a = \"stable_mosaic.tpu.all_reduce\"(%m) {{dim = 0 : i64, kind = #tpu.reduction_kind<max>}} : (vector<8xi1>) -> {vector}"
            ),
            "`tpu.all_reduce`: the combination `max`",
        ),
        (
            format!(
                "%a = \"stable_mosaic.tpu.unpack_subelements\"(%lane) : ({vector}) -> vector<8xf32>"
            ),
            "there is no such op",
        ),
    ] {
        let error = refused(&kernel(&ops));
        assert_eq!(error.code, Code::IMPORT_UNSUPPORTED, "{error}");
        assert!(error.message.contains(message), "{message} in {error}");
        let line = 12 + ops.lines().count();
        assert_eq!(error.labels[0].span.to_string(), format!("x.mlir:{line}:1"), "{error}");
    }
}

#[test]
fn sparse_core_modules_that_contradict_themselves_are_refused() {
    let copy = "\"stable_mosaic.tpu.enqueue_indirect_dma\"";
    for (ops, message) in [
        (
            format!("{copy}(%x, %rows, %list) {{add = false}} : ({HBM}, {ROWS}, {LIST}) -> ()"),
            "has four or five operands",
        ),
        (
            format!("\"stable_mosaic.tpu.wait_indirect_dma\"(%done, %x) : ({DONE}, {HBM}) -> ()"),
            "has three operands",
        ),
        (
            format!(
                "%a = \"stable_mosaic.tpu.vector_load_idx\"(%rows, %lane) {{operandSegmentSizes = array<i32: 1, 1, 0>}} : ({ROWS}, vector<8xi32>) -> vector<8xf32>"
            ),
            "1 indices of a reference of 2 axes",
        ),
        (
            format!(
                "%a = \"stable_mosaic.tpu.vector_load_idx\"(%rows, %lane, %lane) {{operandSegmentSizes = array<i32: 1, 2, 0>}} : ({ROWS}, vector<8xi32>, vector<8xi32>) -> vector<8xi32>"
            ),
            "gives f32[8], not i32[8]",
        ),
    ] {
        let error = refused(&kernel(&ops));
        assert_eq!(error.code, Code::IMPORT_MODULE, "{error}");
        assert!(error.message.contains(message), "{message} in {error}");
    }
}

#[test]
fn arrays_and_cores_of_another_kind_are_refused() {
    let elsewhere = "affine_map<(d0, d1) -> (d0, 0)>";
    let own = "memref<16x128xf32, #tpu.memory_space<vmem>>";
    let cores = attrs(1, START).replace("array<i64: 1, 2>", "array<i64: 1000, 2>");
    let runtime = attrs(1, START).replace("array<i64: 1,", "array<i64: -9223372036854775808,");
    for (text, message) in [
        (
            kernel_with(&attrs(1, elsewhere), HBM, ""),
            "argument 1 of the kernel, in hbm, is no whole",
        ),
        (kernel_with(&attrs(1, START), own, ""), "argument 1 of the kernel, in vmem, is no whole"),
        (kernel_with(&cores, HBM, ""), "asks for 2000 cores at once, more than 256"),
        (kernel_with(&runtime, HBM, ""), "a number of cores that is known at run time alone"),
        (kernel("").replace("vmem_shared", "spmem"), "memory space `#tpu.memory_space<spmem>`"),
    ] {
        let error = refused(&text);
        assert_eq!(error.code, Code::IMPORT_UNSUPPORTED, "{error}");
        assert!(error.message.contains(message), "{message} in {error}");
    }
}

#[test]
fn a_call_for_one_core_does_not_hold_a_kernel_for_another() {
    for (name, device, message) in [
        (
            "sparse_gather.mlir",
            "DEVICE_TYPE_OTHER",
            "for a TensorCore, the kernel in it for a SparseCore",
        ),
        (
            "add.mlir",
            "DEVICE_TYPE_SPARSECORE",
            "for a SparseCore, the kernel in it for a TensorCore",
        ),
    ] {
        let text = String::from_utf8(module(name)).unwrap();
        let text = match name {
            "add.mlir" => text.replacen(
                "{\\22custom_call_config",
                &format!("{{\\22device_type\\22: \\22{device}\\22, \\22custom_call_config"),
                1,
            ),
            _ => text.replace("DEVICE_TYPE_SPARSECORE", device),
        };
        let error = refused(&text);
        assert!(error.code == Code::IMPORT_CALL && error.message.contains(message), "{error}");
    }
}

#[test]
fn ops_of_registers_mean_what_the_chip_does() {
    // Signed numbers are compared as if they had no sign, unless their top bit is flipped.
    let (vector, mask) = ("vector<8xi32>", "vector<8xi1>");
    let ops = format!(
        "%four = \"stable_mosaic.arith.constant\"() {{value = dense<4> : {vector}}} : () -> {vector}\n\
         %all = \"stable_mosaic.arith.constant\"() {{value = dense<true> : {mask}}} : () -> {mask}\n\
         %i = \"stable_mosaic.arith.subi\"(%lane, %four) : ({vector}, {vector}) -> {vector}\n\
         %m = \"stable_mosaic.tpu.scan\"(%i, %all) {{kind = #tpu.reduction_kind<max>}} : ({vector}, {mask}) -> {vector}\n\
         %f = \"stable_mosaic.arith.sitofp\"(%m) : ({vector}) -> vector<8xf32>\n\
         %k, %keys, %values = \"stable_mosaic.tpu.sort\"(%i, %f, %all) {{descending = false}} : ({vector}, vector<8xf32>, {mask}) -> ({mask}, {vector}, vector<8xf32>)\n\
         %g = \"stable_mosaic.arith.sitofp\"(%keys) : ({vector}) -> vector<8xf32>\n\
         %n = \"stable_mosaic.arith.select\"(%k, %g, %f) : ({mask}, vector<8xf32>, vector<8xf32>) -> vector<8xf32>\n\
         \"stable_mosaic.tpu.vector_store\"(%f, %rows, %zero, %zero) {{add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>}} : (vector<8xf32>, {ROWS}, index, index) -> ()\n\
         %one = \"stable_mosaic.arith.constant\"() {{value = 1 : index}} : () -> index\n\
         \"stable_mosaic.tpu.vector_store\"(%n, %rows, %one, %zero) {{add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>}} : (vector<8xf32>, {ROWS}, index, index) -> ()"
    );
    let kernel = imported(&kernel(&ops)).unwrap_or_else(|errors| panic!("{errors}"));
    let valid = valid::check(kernel, &GENERIC).unwrap();
    let outcome = interp::run(&valid, &[Array::zeros(DType::F32, &[16, 128])], &Options::default());
    let found = outcome.unwrap_or_else(|errors| panic!("{errors}")).outputs[0].to_f64();
    // Row 0 went to row 7, row 1 to row 6.
    assert_eq!(found[7 * 128..][..8], [-4.0, -3.0, -2.0, -1.0, -1.0, -1.0, -1.0, -1.0]);
    assert_eq!(found[6 * 128..][..8], [0.0, 1.0, 2.0, 3.0, -4.0, -3.0, -2.0, -1.0]);
}
