//! Work that must be alone in a process: this test binary once more, told by a variable to do a job.

use std::process::{Child, Command, Stdio};

/// This test binary, to run one test that does a job if the variable says so.
pub(crate) fn command(test: &str, variable: &str, job: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(variable, job);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Waits for processes, which all succeed.
pub(crate) fn finish(children: impl IntoIterator<Item = Child>) {
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
