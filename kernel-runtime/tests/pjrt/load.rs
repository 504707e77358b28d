//! Finding and loading plugins, the good and the bad ones.
use super::plugins;
use std::io::{Read, Write};
use systole::pjrt::{Code, Plugin};

#[test]
fn speaks_two_versions_of_the_abi() {
    let [first, second] = plugins();
    assert_ne!(first.api_version(), second.api_version());
    for plugin in [first, second] {
        let attributes = plugin.attributes().unwrap();
        assert!(attributes.iter().any(|(name, _)| name == "stablehlo_current_version"));
        let client = plugin.client().unwrap();
        assert_eq!(client.platform_name().unwrap(), "cpu");
        let device = client.first_device().unwrap();
        assert_eq!(device.kind().unwrap(), "cpu");
        assert!(!device.describe().unwrap().is_empty());
    }
}

#[test]
fn loads_a_plugin_once() {
    let path = plugins()[0].path().to_path_buf();
    let again = Plugin::load(&path).unwrap();
    assert_eq!(again.path(), path.canonicalize().unwrap());
}

#[test]
fn rejects_a_missing_file() {
    let error = Plugin::load("/no/such/plugin.so").unwrap_err();
    assert_eq!(error.code, Code::NotFound);
    assert!(error.message.contains("/no/such/plugin.so"), "{error}");
}

#[test]
fn rejects_a_text_file() {
    let mut file = tempfile::Builder::new().suffix(".so").tempfile().unwrap();
    file.write_all(b"not a library").unwrap();
    let error = Plugin::load(file.path()).unwrap_err();
    assert!(error.message.contains("cannot load"), "{error}");
}

#[test]
fn rejects_a_library_that_is_no_plugin() {
    let libm = ["/lib/x86_64-linux-gnu/libm.so.6", "/lib64/libm.so.6", "/usr/lib/libm.so.6"]
        .into_iter()
        .find(|path| std::path::Path::new(path).exists())
        .expect("a system library");
    let error = Plugin::load(libm).unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument);
    assert!(error.message.contains("no symbol GetPjrtApi"), "{error}");
}

/// Runs another test of this binary with other environment variables and returns what it printed.
fn run_with(variables: &[(&str, &str)], test: &str) -> (bool, String) {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn says_how_to_get_a_missing_plugin() {
    let empty = tempfile::tempdir().unwrap();
    let dir = empty.path().to_str().unwrap();
    let nowhere = [("SYSTOLE_CACHE_DIR", dir), ("HOME", dir), ("PATH", ""), ("VIRTUAL_ENV", "")];
    let (ok, text) =
        run_with(&[&nowhere[..], &[("SYSTOLE_PJRT_CPU", "")]].concat(), "pjrt::execute::adds");
    let what = "the PJRT CPU plugin is not installed: run `./x setup`, or set SYSTOLE_PJRT_CPU";
    assert!(!ok && text.contains(what), "{text}");
    assert!(text.contains("SYSTOLE_PJRT_CPU is not set") && text.contains(dir), "{text}");
}

/// Run by the test below with a variable that names something else.
#[test]
fn probe() {
    match Plugin::cpu_client(&[("cpu_device_count", 1.into())]) {
        Ok(client) => println!("PROBE {}", client.platform_name().unwrap()),
        Err(error) => println!("PROBE {error}"),
    }
}

#[test]
fn names_the_variable_of_a_library_that_is_no_cpu_plugin() {
    let text = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(text.path(), "no library").unwrap();
    // Loading a library that is cut short would end the process by a signal.
    let cut = tempfile::NamedTempFile::new().unwrap();
    let mut head = vec![0; 4096];
    std::fs::File::open(plugins()[0].path()).unwrap().read_exact(&mut head).unwrap();
    std::fs::write(cut.path(), head).unwrap();
    // Loaded, it would ask a metadata server for minutes.
    let libtpu = Plugin::tpu_path().unwrap();
    let cure = "set SYSTOLE_PJRT_CPU to the PJRT CPU plugin, or unset it to use what `./x setup`";
    for (path, what) in [
        (std::path::Path::new("/no/such/plugin.so"), "there is no such file"),
        (std::path::Path::new("/tmp"), "it is a folder"),
        (text.path(), "it is no shared library"),
        (cut.path(), "it is a shared library cut short"),
        (&libtpu, "it is libtpu, which drives TPUs alone"),
    ] {
        let path = path.to_str().unwrap();
        let (ok, printed) = run_with(&[("SYSTOLE_PJRT_CPU", path)], "pjrt::load::probe");
        assert!(ok, "{printed}");
        let named = format!("SYSTOLE_PJRT_CPU={path}: {what}");
        assert!(printed.contains(&named) && printed.contains(cure), "{printed}");
    }
    assert!(run_with(&[], "pjrt::load::probe").1.contains("PROBE cpu"));
}
