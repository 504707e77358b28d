use super::kernels;
use serde_json::Value;

#[test]
fn json_has_the_fields_and_types_promised() {
    let rows = kernels(&["list", "--json"]).json();
    let rows = rows.as_array().expect("an array");
    assert!(rows.len() >= 2);
    for row in rows {
        let row = row.as_object().unwrap();
        let mut names: Vec<&str> = row.keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["bytes", "doc", "dtype", "flops", "kernel", "spec"]);
        assert!(["kernel", "spec", "dtype", "doc"].iter().all(|name| row[*name].is_string()));
        assert!(["flops", "bytes"].iter().all(|name| row[*name].is_u64()));
    }
}

#[test]
fn names_select_kernels_and_single_specs() {
    let count = |args: &[&str]| {
        let ran = kernels(args);
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.json().as_array().map(Vec::len)
    };
    assert_eq!(count(&["list", "--json", "scale/f32_16x128"]), Some(1));
    assert_eq!(count(&["list", "scale", "scale", "--json"]), count(&["list", "scale", "--json"]));
}

#[test]
fn table_names_every_spec_and_aligns_numbers() {
    let table = kernels(&["list"]).out;
    let all = kernels(&["list", "--json"]).json();
    for row in all.as_array().unwrap() {
        assert!(table.contains(row["spec"].as_str().unwrap()), "{table}");
        assert!(matches!(row["doc"], Value::String(ref doc) if table.contains(doc)), "{table}");
    }
}
