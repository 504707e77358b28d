//! Damaged, hostile and foreign input: one clear diagnostic each, never a panic or a hang.

use super::fixtures::module;
use super::support::mutated;
use crate::generate::seeds;
use std::fmt::Write;
use std::time::{Duration, Instant};
use systole::back::interp::{self, Options};
use systole::back::mosaic::import;
use systole::diag::{Code, Diagnostics};
use systole::ir::{Array, DType, Extent, Kernel};
use systole::target::GENERIC;
use systole::valid;

/// A module around the ops of a kernel that takes `%x` and gives `%o`, both `f32[8, 128]`.
fn kernel(version: i64, ops: &str) -> String {
    kernel_with(version, "tpu.core_type = #tpu.core_type<tc>", ops)
}

fn kernel_with(version: i64, attrs: &str, ops: &str) -> String {
    let memref = "memref<8x128xf32, #tpu.memory_space<vmem>>";
    format!(
        "module attributes {{stable_mosaic.version = {version} : i64}} {{\n\
         \"stable_mosaic.func.func\"() ({{\n\
         ^bb0(%x: {memref}, %o: {memref}):\n\
         %zero = \"stable_mosaic.arith.constant\"() {{value = 0 : index}} : () -> index\n\
         %v = \"stable_mosaic.vector.load\"(%x, %zero, %zero) : ({memref}, index, index) -> vector<8x128xf32>\n\
         {ops}\n\
         \"stable_mosaic.tpu.vector_store\"(%v, %o, %zero, %zero) {{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>}} : (vector<8x128xf32>, {memref}, index, index) -> ()\n\
         \"stable_mosaic.func.return\"() : () -> ()\n\
         }}) {{sym_name = \"k\", {attrs}}} : () -> ()\n\
         }}\n"
    )
}

fn import(bytes: &[u8]) -> Result<Kernel, Diagnostics> {
    import::read("x.mlir", bytes)?.remove(0).import().map(|imported| imported.kernel)
}

/// The only diagnostic.
fn refused(text: &str) -> systole::diag::Diagnostic {
    let errors = import(text.as_bytes()).expect_err(text);
    assert_eq!(errors.0.len(), 1, "{errors}\n{text}");
    errors.0.into_iter().next().unwrap()
}

#[test]
fn the_module_that_others_are_made_from_is_good() {
    let imported = import(kernel(15, "").as_bytes()).unwrap_or_else(|errors| panic!("{errors}"));
    valid::check(imported, &GENERIC).unwrap();
}

#[test]
fn foreign_and_damaged_text_is_told_at_its_place() {
    let mut misplaced = Vec::new();
    let good = kernel(15, "");
    for (text, place, message) in [
        ("", "x.mlir:1:1", "`stable_mosaic.version`"),
        ("hello", "x.mlir:1:1", "expected an op in the generic form"),
        ("module {", "x.mlir:1:9", "found the end of the text"),
        (
            "module { arith.addf %a, %b }",
            "x.mlir:1:10",
            "`arith.addf` is written in a form of its own",
        ),
        ("module { \"a.b\"() : () -> i32x }", "x.mlir:1:26", "`i32x` is no type"),
        (
            "module { %a = \"a.b\"(%b) : (i32) -> i32 }",
            "x.mlir:1:21",
            "`%b` is not defined before its use",
        ),
        (
            "module { %a = \"a.b\"() : () -> i32\n%a = \"a.b\"() : () -> i32 }",
            "x.mlir:2:1",
            "`%a` is defined twice",
        ),
        (
            "module { %a:2 = \"a.b\"() : () -> i32 }",
            "x.mlir:1:10",
            "2 results are named, the type has 1",
        ),
        (
            "module { \"a.b\"() {x = 99999999999999999999} : () -> () }",
            "x.mlir:1:23",
            "the number 99999999999999999999 is too large",
        ),
        ("module { \"a.b\"() {x = #m} : () -> () }", "x.mlir:1:23", "`#m` is not defined"),
        (
            "module { \"a.b\"() {x = \"abc} : () -> () }",
            "x.mlir:1:24",
            "the string that begins here does not end",
        ),
        ("module { \"a.b\"() {x = #d.e<(]>} : () -> () }", "x.mlir:1:29", "`]` closes nothing"),
        (
            "module { \"a.b\"() {x = dense<[1, 2]> : vector<3xi32>} : () -> () }",
            "x.mlir:1:29",
            "2 elements are given, the type has 3",
        ),
        ("module { \"a.b\"()[^bb1] : () -> () }", "x.mlir:1:17", "jumps to other blocks"),
        (
            "module { \"a.b\"() ({ ^a: ^b: }) : () -> () }",
            "x.mlir:1:25",
            "a region has several blocks",
        ),
    ] {
        let errors = import(text.as_bytes()).expect_err(text);
        let error = &errors.0[0];
        assert!(errors.0.len() == 1 && error.message.contains(message), "{text}\n{errors}");
        if error.code == Code::IMPORT_SYNTAX && error.labels[0].span.to_string() != place {
            misplaced.push(format!("{text}, not {place}\n{errors}"));
        }
    }
    assert!(misplaced.is_empty(), "{}", misplaced.join("\n"));
    // The usual accident: the end is missing.
    for end in 0..good.trim_end().len() {
        let errors = import(&good.as_bytes()[..end]).expect_err(&good[..end]);
        assert_eq!(errors.0.len(), 1, "{errors}");
    }
    // Behind a call, what is missing of the module around it is not looked at.
    let call = module("add.mlir");
    for end in 0..call.len() {
        if let Err(errors) = import::read("add", &call[..end]) {
            assert_eq!(errors.0.len(), 1, "{end}: {errors}");
        }
    }
}

#[test]
fn versions_that_are_not_known_are_refused() {
    for (text, message) in [
        (kernel(2, ""), "version 2 of the stable_mosaic form, 3 to 18 are read"),
        (kernel(19, ""), "version 19 of the stable_mosaic form, 3 to 18 are read"),
        (
            kernel(15, "").replace("stable_mosaic.version", "version"),
            "has no `stable_mosaic.version`",
        ),
        (kernel(15, "").replace("15 : i64", "\"15\""), "is no number"),
    ] {
        let error = refused(&text);
        assert!(error.code == Code::IMPORT_VERSION && error.message.contains(message), "{error}");
    }
    for version in import::VERSIONS {
        import(kernel(version, "").as_bytes()).unwrap_or_else(|errors| panic!("{errors}"));
    }
}

#[test]
fn old_forms_of_ops_are_read() {
    let iota = |version: i64, attr: &str| {
        let op = format!("%i = \"stable_mosaic.tpu.iota\"() {{{attr}}} : () -> vector<8x128xi32>");
        import(kernel(version, &op).as_bytes())
            .unwrap_or_else(|errors| panic!("{errors}"))
            .to_string()
    };
    let new = iota(15, "dimensions = array<i32: 1>");
    assert!(new.contains("axis 1"), "{new}");
    assert_eq!(iota(5, "dimension = 1 : i32"), new);
    let several = iota(15, "dimensions = array<i32: 1, 0>");
    assert!(several.contains("axis 0") && several.contains("mul"), "{several}");
}

#[test]
fn what_the_ir_cannot_say_is_named_with_its_place() {
    let vector = "vector<8x128xf32>";
    for (op, message) in [
        (format!("%a = \"stable_mosaic.tpu.sort\"(%v) : ({vector}) -> {vector}"), "`tpu.sort`: there is no such op"),
        (format!("%a = \"stable_mosaic.arith.negf\"(%v) {{fast = 1 : i32}} : ({vector}) -> {vector}"), "`arith.negf`: attribute `fast`"),
        (format!("%a = \"stable_mosaic.arith.cmpf\"(%v, %v) {{predicate = 7 : i64}} : ({vector}, {vector}) -> vector<8x128xi1>"), "`arith.cmpf`: predicate 7"),
        ("%a = \"stable_mosaic.arith.constant\"() {value = 1 : i64} : () -> i64".into(), "constants of type `i64`"),
        ("%a = \"stable_mosaic.arith.constant\"() {value = dense<[1, 2]> : vector<2xi32>} : () -> vector<2xi32>".into(), "constants of type `vector<2xi32>`"),
        (format!("%a = \"stable_mosaic.vector.multi_reduction\"(%v, %v) {{kind = #vector.kind<mul>, reduction_dims = array<i64: 1>}} : ({vector}, {vector}) -> vector<8xf32>"), "the combination `mul`"),
        ("%a = \"stable_mosaic.a.b\"() : () -> f8E4M3FN".into(), "`a.b`: there is no such op"),
        (format!("%a = \"stable_mosaic.tpu.dynamic_gather\"(%v, %v) {{dimensions = array<i32: 0, 1>}} : ({vector}, {vector}) -> {vector}"), "`tpu.dynamic_gather`: indices along several axes"),
        (format!("%a = \"stable_mosaic.tpu.pack_elementwise\"(%v, %v) {{target_type = f8E4M3FN}} : ({vector}, {vector}) -> vector<8x128xi32>"), "`pack` does not take parts of `f8e4m3fn`"),
    ] {
        let error = refused(&kernel(15, &op));
        assert_eq!(error.code, Code::IMPORT_UNSUPPORTED, "{error}");
        assert!(error.message.contains(message), "{error}");
        // Text without locations has its own lines.
        assert_eq!(error.labels[0].span.to_string(), "x.mlir:6:1", "{error}");
    }
    for (attrs, message) in [
        ("tpu.core_type = #tpu.core_type<sc_other>", "a core that is not known"),
        (
            "tpu.core_type = #tpu.core_type<tc>, iteration_bounds = array<i64>, dimension_semantics = [], window_params = [{transform_indices = @t, window_bounds = array<i64: 8, 128>, odd = 1 : i32}, {}]",
            "has `odd`",
        ),
    ] {
        let error = refused(&kernel_with(15, attrs, ""));
        assert!(
            error.code == Code::IMPORT_UNSUPPORTED && error.message.contains(message),
            "{error}"
        );
    }
}

/// A kernel that counts its steps in a table, whose index map for the array is `map`.
fn counting_table(n_entries: usize, map: &str) -> String {
    let table = format!("memref<{n_entries}xi32, #tpu.memory_space<smem>>");
    let array = "memref<8x128xf32, #tpu.memory_space<vmem>>";
    format!(
        "module attributes {{stable_mosaic.version = 15 : i64}} {{\n\
         \"stable_mosaic.func.func\"() ({{\n\
         ^bb0(%i: i32, %t: {table}, %o: {array}):\n\
         %zero = \"stable_mosaic.arith.constant\"() {{value = 0 : index}} : () -> index\n\
         %one = \"stable_mosaic.arith.constant\"() {{value = 1 : i32}} : () -> i32\n\
         %n = \"stable_mosaic.memref.load\"(%t, %zero) : ({table}, index) -> i32\n\
         %m = \"stable_mosaic.arith.addi\"(%n, %one) : (i32, i32) -> i32\n\
         \"stable_mosaic.memref.store\"(%m, %t, %zero) : (i32, {table}, index) -> ()\n\
         %f = \"stable_mosaic.arith.sitofp\"(%n) : (i32) -> f32\n\
         %v = \"stable_mosaic.vector.broadcast\"(%f) : (f32) -> vector<8x128xf32>\n\
         \"stable_mosaic.tpu.vector_store\"(%v, %o, %zero, %zero) {{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>}} : (vector<8x128xf32>, {array}, index, index) -> ()\n\
         \"stable_mosaic.func.return\"() : () -> ()\n\
         }}) {{sym_name = \"k\", tpu.core_type = #tpu.core_type<tc>, scalar_prefetch = 1 : i64, iteration_bounds = array<i64: 3>, dimension_semantics = [#tpu.dimension_semantics<arbitrary>], window_params = [{{transform_indices = @map, window_bounds = array<i64: 8, 128>}}]}} : () -> ()\n\
         \"stable_mosaic.func.func\"() ({{\n\
         ^bb0(%i: i32, %t: {table}):\n\
         %zero = \"stable_mosaic.arith.constant\"() {{value = 0 : index}} : () -> index\n\
         %z = \"stable_mosaic.arith.constant\"() {{value = 0 : i32}} : () -> i32\n\
         {map}\n\
         \"stable_mosaic.func.return\"(%at, %z) : (i32, i32) -> ()\n\
         }}) {{sym_name = \"map\"}} : () -> ()\n\
         }}\n"
    )
}

#[test]
fn a_table_that_the_kernel_writes_to_is_copied_first() {
    let own = "%at = \"stable_mosaic.arith.addi\"(%i, %z) : (i32, i32) -> i32";
    let imported = import::read("x.mlir", counting_table(2, own).as_bytes())
        .and_then(|calls| calls[0].import())
        .unwrap_or_else(|errors| panic!("{errors}"));
    let valid = valid::check(imported.kernel.clone(), &GENERIC).unwrap();
    let table = Array::from_f64(DType::I32, &[2], &[40.0, 7.0]).unwrap();
    let inputs = imported.inputs(&[table]).unwrap();
    let outputs = interp::run(&valid, &inputs, &Options::default()).unwrap().outputs;
    let rows: Vec<f64> = outputs[0].to_f64().chunks(8 * 128).map(|block| block[0]).collect();
    assert_eq!(rows, [40.0, 41.0, 42.0]);

    let error = refused(&counting_table(100, own));
    assert!(error.message.contains("100 entries, more than 64"), "{error}");
    let reads = "%at = \"stable_mosaic.memref.load\"(%t, %zero) : (memref<2xi32, #tpu.memory_space<smem>>, index) -> i32";
    let error = refused(&counting_table(2, reads));
    assert!(error.message.contains("reads a table that the kernel writes to"), "{error}");
}

#[test]
fn equal_refusals_are_told_once_and_what_uses_them_not_at_all() {
    let vector = "vector<8x128xf32>";
    let mut ops = String::new();
    for idx in 0..5 {
        let _ = writeln!(ops, "%a{idx} = \"stable_mosaic.tpu.sort\"(%v) : ({vector}) -> {vector}");
        let _ = writeln!(
            ops,
            "%b{idx} = \"stable_mosaic.arith.negf\"(%a{idx}) : ({vector}) -> {vector}"
        );
    }
    let error = refused(&kernel(15, &ops));
    assert!(error.notes.iter().any(|note| note.starts_with("5 ops")), "{error}");
}

/// An op that promises a multiple of this.
fn promised(multiple: &str) -> String {
    format!(
        "%n = \"stable_mosaic.arith.constant\"() {{value = 8 : i32}} : () -> i32\n\
         %m = \"stable_mosaic.tpu.assume_multiple\"(%n) {{multiple = {multiple}}} : (i32) -> i32"
    )
}

#[test]
fn modules_that_contradict_themselves_are_refused() {
    let vector = "vector<8x128xf32>";
    for (op, message) in [
        (
            format!("%a = \"stable_mosaic.arith.negf\"() : () -> {vector}"),
            "`arith.negf` has no operand 0",
        ),
        (
            format!("%a = \"stable_mosaic.arith.negf\"(%v) : ({vector}) -> vector<8x64xf32>"),
            "`arith.negf` gives f32[8, 128], not f32[8, 64]",
        ),
        (
            format!(
                "%a, %b = \"stable_mosaic.arith.negf\"(%v) : ({vector}) -> ({vector}, {vector})"
            ),
            "`arith.negf` has 2 results",
        ),
        (
            "%a = \"stable_mosaic.arith.constant\"() {value = 1 : i32} : () -> f32".into(),
            "another type than its value",
        ),
        ("\"stable_mosaic.scf.if\"(%zero) : (index) -> ()".into(), "a branch has two regions"),
        (
            format!(
                "%a = \"stable_mosaic.vector.load\"(%x, %zero) : (memref<8x128xf32, #tpu.memory_space<vmem>>, index) -> {vector}"
            ),
            "does not have the axes",
        ),
        (
            format!(
                "%n = \"stable_mosaic.arith.constant\"() {{value = 1 : i32}} : () -> i32\n\
                 %a = \"stable_mosaic.tpu.dynamic_rotate\"(%v, %n) {{dimension = 1 : si32, stride = 1 : si32}} : ({vector}, i32) -> {vector}"
            ),
            "one of `stride` and `stride_dimension` alone",
        ),
        (
            format!(
                "%a = \"stable_mosaic.vector.load\"(%v, %zero) : ({vector}, index) -> {vector}"
            ),
            "a value in place of a reference",
        ),
        (promised("0 : i32"), "a promise of a multiple of 0"),
        (promised("-8 : i32"), "a promise of a multiple of -8"),
        (promised("9223372036854775807 : i64"), "a promise of a multiple of 9223372036854775807"),
        (
            format!(
                "%a = \"stable_mosaic.tpu.matmul_pop\"() {{mxu_index = 0 : i32, acc = 4611686018427387904 : i64}} : () -> {vector}"
            ),
            "`tpu.matmul_pop` has 4611686018427387904 for `acc`",
        ),
    ] {
        let error = refused(&kernel(15, &op));
        assert_eq!(error.code, Code::IMPORT_MODULE, "{error}");
        assert!(error.message.contains(message), "{error}");
    }
    for (attrs, message) in [
        ("a = 1 : i32", "which is the kernel?"),
        ("tpu.core_type = #tpu.core_type<tc>, scratch_operands = 3 : i64", "3 scratch buffers"),
        (
            "tpu.core_type = #tpu.core_type<tc>, iteration_bounds = array<i64: 2, 2, 2>, dimension_semantics = [1, 2, 3]",
            "the semantics of grid axis 0",
        ),
        (
            "tpu.core_type = #tpu.core_type<tc>, iteration_bounds = array<i64: -2>, dimension_semantics = [#tpu.dimension_semantics<parallel>]",
            "-2 steps",
        ),
        ("tpu.core_type = #tpu.core_type<tc>, window_params = [{}]", "1 windows"),
        (
            "tpu.core_type = #tpu.core_type<tc>, window_params = [{transform_indices = @t, window_bounds = array<i64: 8, 128>}, {}]",
            "`t` of argument 0 does not exist",
        ),
    ] {
        let error = refused(&kernel_with(15, attrs, ""));
        assert!(error.code == Code::IMPORT_MODULE && error.message.contains(message), "{error}");
    }
}

#[test]
fn calls_that_hold_no_kernel_are_refused() {
    let good = String::from_utf8(module("add.mlir")).unwrap();
    let body = |text: &str| {
        let start = text.find("body\\22: \\22").unwrap() + 12;
        start..start + text[start..].find('\\').unwrap()
    };
    let range = body(&good);
    let mut short = good.clone();
    short.replace_range(range.start + 400..range.end, "");
    for (text, code, message) in [
        ("module { stablehlo.add }".into(), Code::IMPORT_CALL, "has no `tpu_custom_call`"),
        (good.replace("backend_config", "other"), Code::IMPORT_CALL, "has no `backend_config`"),
        (
            good.replace("custom_call_config", "config"),
            Code::IMPORT_CALL,
            "no `custom_call_config.body`",
        ),
        (good.replace("{\\22custom", "(\\22custom"), Code::IMPORT_CALL, "is no JSON"),
        (
            good.replace("serialization_format", "format"),
            Code::IMPORT_CALL,
            "`serialization_format` is not 1",
        ),
        (good.replace("body\\22: \\22", "body\\22: \\22?"), Code::IMPORT_CALL, "no base64"),
        (short, Code::IMPORT_SYNTAX, "kernel add`, byte"),
        (
            good.replace("operand_index = 0", "operand_index = 7"),
            Code::IMPORT_CALL,
            "operand 7: one of them does not exist",
        ),
        (
            good.replace(
                ": (tensor<256x128xf32>, tensor<256x128xf32>) -> t",
                ": (tensor<256x128xf32>, tensor<256x128xi32>) -> t",
            ),
            Code::IMPORT_CALL,
            "argument 1 of the kernel is f32",
        ),
        (
            good.replace(
                ": (tensor<256x128xf32>, tensor<256x128xf32>) -> t",
                ": (tensor<256x128xf32>) -> t",
            ),
            Code::IMPORT_MODULE,
            "the call has 1 operands and 1 results",
        ),
        (
            good.replace("-> tensor<256x128xf32>\n    return", "-> tensor<?x128xf32>\n    return"),
            Code::IMPORT_CALL,
            "no static shape",
        ),
        (
            good.replace(
                "-> tensor<256x128xf32>\n    return",
                "-> tensor<256x128xf64>\n    return",
            ),
            Code::IMPORT_UNSUPPORTED,
            "a type that is not read",
        ),
    ] {
        let errors = import(text.as_bytes()).expect_err(message);
        assert_eq!(errors.0.len(), 1, "{errors}");
        assert!(
            errors.0[0].code == code && errors.0[0].message.contains(message),
            "{message}: {errors}"
        );
    }
    let wrong = import::read("add", good.as_bytes()).unwrap()[0].import().unwrap();
    let array = Array::zeros(DType::F32, &[2, 2]);
    for (arrays, message) in [
        (vec![array.clone()], "the call takes 2 arrays, 1 were given"),
        (
            vec![array.clone(), array],
            "operand 0 of the call is f32[256, 128], but f32[2, 2] was given",
        ),
    ] {
        let errors = wrong.inputs(&arrays).unwrap_err();
        assert!(errors.0[0].message.contains(message), "{errors}");
    }
}

#[test]
fn truncated_bytecode_is_one_error() {
    let calls = import::read("loops", &module("loops.mlir")).unwrap();
    let bytes = &calls[0].module;
    assert!(bytes.starts_with(b"ML\xefR"));
    for end in 0..bytes.len() {
        let errors = import(&bytes[..end]).expect_err("a prefix is no module");
        assert_eq!(errors.0.len(), 1, "{end}: {errors}");
        assert_eq!(errors.0[0].code, if end < 4 { errors.0[0].code } else { Code::IMPORT_SYNTAX });
    }
}

#[test]
fn flipped_bytes_are_told_or_make_no_difference_to_safety() {
    let bytes = &import::read("loops", &module("loops.mlir")).unwrap()[0].module;
    let mut n_refused = 0;
    for at in 0..bytes.len() {
        let mut bytes = bytes.clone();
        // One bit, and another one at each byte.
        bytes[at] ^= 1 << (at % 8);
        n_refused += usize::from(import(&bytes).is_err());
        try_all(&bytes);
    }
    assert!(n_refused > bytes.len() / 4, "{n_refused} of {}", bytes.len());
}

/// Text that would take time or stack out of all proportion.
#[test]
fn deep_and_doubling_input_is_refused_at_once() {
    let start = Instant::now();
    let deep = |open: &str, close: &str, n: usize| {
        format!("module {{ \"a.b\"() {{x = {}1{}}} : () -> () }}", open.repeat(n), close.repeat(n))
    };
    let regions =
        format!("module {{ {} {} }}", "\"a.b\"() ({".repeat(5000), "}) : () -> ()".repeat(5000));
    // Each name is made of two of the one before.
    let mut doubling = String::from("#a0 = [1]\n");
    for idx in 1..200 {
        let _ = writeln!(doubling, "#a{idx} = [#a{0}, #a{0}]", idx - 1);
    }
    let doubling = format!("{doubling}module {{ \"a.b\"() {{x = #a199}} : () -> () }}");
    let cyclic = "#a = [#b, #b]\n#b = [#a, #a]\nmodule { \"a.b\"() {x = #a} : () -> () }";
    // Used one by one, each is only one deeper than what is known.
    let mut chain = String::new();
    for idx in 1..100_000 {
        let _ = writeln!(chain, "#c{idx} = [#c{}]", idx - 1);
    }
    let uses: Vec<String> = (0..100_000).map(|idx| format!("x{idx} = #c{idx}")).collect();
    let chain =
        format!("#c0 = [1]\n{chain}module {{ \"a.b\"() {{{}}} : () -> () }}", uses.join(", "));
    for text in [
        deep("[", "]", 100_000),
        deep("{a = ", "}", 100_000),
        deep("dense<", ">", 50_000),
        regions,
        doubling,
        cyclic.to_owned(),
        chain,
    ] {
        let errors = import(text.as_bytes()).expect_err("nothing of it is a kernel");
        assert_eq!(errors.0.len(), 1, "{errors}");
        assert!(errors.0[0].message.len() < 400, "{errors}");
    }
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// What can be imported is run if that is short: whatever it does, it ends.
fn try_all(bytes: &[u8]) {
    let Ok(calls) = import::read("fuzz", bytes) else { return };
    for call in calls {
        let Ok(imported) = call.import() else { continue };
        let Ok(valid) = valid::check(imported.kernel.clone(), &GENERIC) else { continue };
        let extent = |extent: Extent| match extent {
            Extent::Static(n) => n,
            Extent::Dynamic { .. } => 1,
        };
        let n_steps = valid.kernel().grid.iter().map(|axis| extent(axis.extent));
        let n_steps = n_steps.fold(1usize, usize::saturating_mul);
        let n_elems =
            |shape: &[usize]| shape.iter().fold(1usize, |n, &size| n.saturating_mul(size));
        let all = imported.operands.iter().chain(&imported.results);
        if n_steps > 256 || all.map(|ty| n_elems(&ty.shape)).any(|n| n > 1 << 20) {
            continue;
        }
        let operands: Vec<Array> =
            imported.operands.iter().map(|ty| Array::zeros(ty.dtype, &ty.shape)).collect();
        let Ok(inputs) = imported.inputs(&operands) else { continue };
        let options =
            Options { fuel: 1 << 12, memory_bytes: 64 << 20, threads: 1, ..Options::default() };
        if let Ok(outcome) = interp::run(&valid, &inputs, &options) {
            assert_eq!(imported.results(&outcome.outputs).len(), imported.results.len());
        }
    }
}

#[test]
fn fuzz_mutated_modules_neither_panic_nor_hang() {
    let texts: Vec<Vec<u8>> = [
        "add.mlir",
        "softmax.stable_mosaic.mlir",
        "loops.stable_mosaic.mlir",
        "elementwise.mlir",
        "gather_by_table.mlir",
    ]
    .map(module)
    .into();
    let names = [
        "loops.mlir",
        "matmul.mlir",
        "windows.mlir",
        "gather_by_table.mlir",
        "sparse_registers.mlir",
        "sparse_segments.mlir",
    ];
    let bytecode = names.map(|name| import::read(name, &module(name)).unwrap().remove(0).module);
    let sparse = super::sparse::kernel("").into_bytes();
    let corpus: Vec<Vec<u8>> = texts.into_iter().chain(bytecode).chain([sparse]).collect();
    for seed in seeds(4000) {
        let original = &corpus[seed as usize % corpus.len()];
        let bytes = mutated(original, seed);
        let start = Instant::now();
        try_all(&bytes);
        let time = start.elapsed();
        assert!(time < Duration::from_secs(20), "seed {seed} took {time:?}");
    }
}

/// `remote.mlir`, with a piece of it replaced.
fn remote_with(piece: &str, other: &str) -> Result<Vec<Kernel>, Diagnostics> {
    let text = String::from_utf8(module("remote.mlir")).unwrap();
    assert!(text.contains(piece), "{piece}");
    let calls = import::read("x.mlir", text.replace(piece, other).as_bytes())?;
    calls.iter().map(|call| call.import().map(|imported| imported.kernel)).collect()
}

#[test]
fn how_many_devices_there_are_is_read_or_missing() {
    const MESH: &str = "<[\"x\"=4]>";
    let sizes = |kernels: &[Kernel]| -> Vec<usize> {
        kernels[0].mesh.iter().map(|axis| axis.size).collect()
    };
    assert_eq!(sizes(&remote_with(MESH, MESH).unwrap()), [4]);
    assert_eq!(sizes(&remote_with(MESH, "<[\"x\"=2, \"y\"=3]>").unwrap()), [2, 3]);
    let partitions = "mhlo.num_partitions = 1";
    let text = String::from_utf8(module("remote.mlir")).unwrap();
    let text = text.replace(MESH, "<[]>").replace(partitions, "mhlo.num_partitions = 8");
    let call = import::read("x.mlir", text.as_bytes()).unwrap().remove(0);
    assert_eq!(sizes(&[call.import().unwrap().kernel]), [8]);
    for (mesh, message) in [
        ("<[]>", "does not say how many there are"),
        ("<[\"x\"=4], device_ids=[3, 2, 1, 0]>", "devices are in another order"),
        ("<[\"x\"=4]>\n  sdy.mesh @other = <[\"x\"=2]>", "two different meshes"),
        ("<[\"x\"=99999999999999999999]>", "is too large"),
        ("<[\"x\"]>", "expected `=`"),
    ] {
        let errors = remote_with(MESH, mesh).expect_err(mesh);
        assert_eq!(errors.0.len(), 1, "{errors}");
        assert!(errors.to_string().contains(message), "{mesh}: {errors}");
    }
    for size in [0, 1 << 20] {
        let kernels = remote_with(MESH, &format!("<[\"x\"={size}]>")).unwrap();
        let errors = valid::check(kernels[0].clone(), &GENERIC).unwrap_err();
        assert_eq!(errors.0[0].code, Code::VALID_PEER, "{errors}");
    }
}
