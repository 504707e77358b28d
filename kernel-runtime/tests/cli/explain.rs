use super::kernels;
use systole::diag::CODES;

#[test]
fn every_code_is_explained() {
    for entry in CODES {
        let ran = kernels(&["explain", entry.code.as_str(), "--json"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert_eq!(ran.json()["code"], entry.code.as_str());
        assert_eq!(ran.json()["explanation"], entry.explanation);
    }
}

#[test]
fn takes_a_code_as_the_terminal_shows_it() {
    let ran = kernels(&["explain", "error[ir::shape]"]);
    assert!(ran.code == 0 && ran.out.starts_with("ir::shape\n"), "{}", ran.out);
}

#[test]
fn without_a_code_all_are_listed() {
    let ran = kernels(&["explain", "--json"]);
    assert_eq!(ran.json().as_array().map(Vec::len), Some(CODES.len()));
    assert!(kernels(&["explain"]).out.contains("cli::unknown_kernel"));
}
