use super::kernels;
use std::path::Path;
use systole::run::tensor_file;

fn module(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import/modules");
    folder.join(name).to_str().unwrap().to_owned()
}

#[test]
fn kernels_of_pallas_run_on_sampled_inputs() {
    for name in ["add.mlir", "matmul.mlir", "gather_by_table.mlir", "loops.stable_mosaic.mlir"] {
        let ran = kernels(&["import", &module(name), "--run", "--json"]);
        assert_eq!(ran.code, 0, "{name}: {}", ran.err);
        let rows = ran.json();
        assert!(rows[0]["ok"] == true && rows[0]["n_steps"].as_u64() > Some(0), "{rows}");
        assert_eq!(rows.as_array().map(Vec::len), Some(1));
    }
    // On four devices, each with its part of the array.
    let ran = kernels(&["import", &module("remote.mlir"), "--run", "--json"]);
    let rows = ran.json();
    assert!(rows[0]["ok"] == true && rows[0]["n_steps"] == 4, "{rows}");
    assert_eq!(rows[0]["operands"][0], "f32[32, 128]");
    let ran = kernels(&["import", &module("add.mlir"), "--run"]);
    assert!(ran.out.contains("f32[256, 128] f32[256, 128]"), "{}", ran.out);
}

#[test]
fn show_prints_the_tile_ir_and_runs_nothing() {
    let ran = kernels(&["import", &module("softmax.mlir"), "--show"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("reduce_max") && !ran.out.contains("steps"), "{}", ran.out);
}

#[test]
fn inputs_and_outputs_are_files() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.safetensors");
    let out_text = out.to_str().unwrap();
    // A call knows the types of its operands; of a bare module they are those of the file.
    for name in ["loops.mlir", "loops.stable_mosaic.mlir"] {
        let args = [
            "import",
            &module(name),
            "--run",
            "--input",
            &module("loops.safetensors"),
            "--output",
            out_text,
        ];
        let ran = kernels(&args);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let contents = tensor_file::contents(&out).unwrap();
        assert!(contents.len() == 1 && contents[0].name == "out0", "{contents:?}");
        assert_eq!(contents[0].shape, [8, 128]);
    }
}

#[test]
fn several_kernels_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let add = std::fs::read_to_string(module("add.mlir")).unwrap();
    let call = add.lines().find(|line| line.contains("stablehlo.custom_call")).unwrap();
    let twice = add.replace(call, &format!("{call}\n{}", call.replace("%0 =", "%1 =")));
    std::fs::write(path("twice.mlir"), twice).unwrap();
    let (file, out) = (path("twice.mlir"), path("out.safetensors"));
    let ran = kernels(&["import", &file, "--run", "--output", &out, "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.json()[0]["kernel"] == "add" && ran.json()[1]["kernel"] == "add.2", "{}", ran.out);
    let names: Vec<String> =
        tensor_file::contents(Path::new(&out)).unwrap().into_iter().map(|t| t.name).collect();
    assert_eq!(names, ["add.2.out0", "add.out0"]);
}

/// Arrays of 819 GB, by the grid of the module.
#[test]
fn operands_that_fit_no_memory_are_not_sampled() {
    let memref = "memref<8x128xf32, #tpu.memory_space<vmem>>";
    let window = "{transform_indices = @map, window_bounds = array<i64: 8, 128>}";
    let module = format!(
        "module attributes {{stable_mosaic.version = 15 : i64}} {{\n\
         \"stable_mosaic.func.func\"() ({{\n\
         ^bb0(%i: i32, %x: {memref}, %o: {memref}):\n\
         %zero = \"stable_mosaic.arith.constant\"() {{value = 0 : index}} : () -> index\n\
         %v = \"stable_mosaic.vector.load\"(%x, %zero, %zero) : ({memref}, index, index) -> vector<8x128xf32>\n\
         \"stable_mosaic.tpu.vector_store\"(%v, %o, %zero, %zero) {{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>}} : (vector<8x128xf32>, {memref}, index, index) -> ()\n\
         \"stable_mosaic.func.return\"() : () -> ()\n\
         }}) {{sym_name = \"k\", tpu.core_type = #tpu.core_type<tc>, iteration_bounds = array<i64: 200000000>, dimension_semantics = [#tpu.dimension_semantics<arbitrary>], window_params = [{window}, {window}]}} : () -> ()\n\
         \"stable_mosaic.func.func\"() ({{\n\
         ^bb0(%i: i32):\n\
         %z = \"stable_mosaic.arith.constant\"() {{value = 0 : i32}} : () -> i32\n\
         \"stable_mosaic.func.return\"(%i, %z) : (i32, i32) -> ()\n\
         }}) {{sym_name = \"map\"}} : () -> ()\n\
         }}\n"
    );
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("huge.mlir");
    std::fs::write(&path, module).unwrap();
    let ran = kernels(&["import", path.to_str().unwrap(), "--run", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let row = &ran.json()[0];
    assert_eq!(row["operands"][0], "f32[1600000000, 128]", "{row}");
    let error = &row["diagnostics"][0];
    assert_eq!(error["code"], "interp::memory", "{row}");
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("the operands take 2343750.0 MiB of memory"), "{message}");
}

#[test]
fn mistakes_have_codes() {
    let dir = tempfile::tempdir().unwrap();
    let broken = dir.path().join("broken.mlir");
    std::fs::write(&broken, "module { \"a.b\"( }").unwrap();
    let broken = broken.to_str().unwrap();
    for (args, code, expected) in [
        (vec!["import", "/no/such/file"], 2, "import::file"),
        (vec!["import", broken], 1, "import::syntax"),
        (vec!["import", broken, "--input", "x"], 2, "cli::usage"),
        (vec!["import"], 2, "cli::usage"),
    ] {
        let ran = kernels(&[&["--json"], &args[..]].concat());
        assert_eq!(ran.code, code, "{args:?}: {}", ran.err);
        assert_eq!(ran.json()["diagnostics"][0]["code"], expected, "{args:?}: {}", ran.out);
    }
    // A table of zeros where the kernel expects tokens is told with the line of its source.
    let add = module("add.mlir");
    let missing =
        kernels(&["import", &add, "--run", "--input", &module("loops.safetensors"), "--json"]);
    assert_eq!(missing.code, 2, "{}", missing.err);
    assert_eq!(missing.json()["diagnostics"][0]["code"], "run::input_mismatch");
}
