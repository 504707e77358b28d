use super::registry::KERNELS;
use std::ffi::OsString;
use std::io::{Error, ErrorKind, Write};

/// A stream that fails after so many bytes.
struct Failing {
    left: usize,
    kind: ErrorKind,
}

impl Write for Failing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.left == 0 {
            return Err(Error::from(self.kind));
        }
        let n = bytes.len().min(self.left);
        self.left -= n;
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn list_to(kind: ErrorKind) -> (u8, String) {
    let args = ["kernels", "list"].map(OsString::from);
    let mut err = Vec::new();
    let code = systole::cli::run_with(KERNELS, args, &mut Failing { left: 10, kind }, &mut err);
    (code, String::from_utf8(err).unwrap())
}

#[test]
fn closed_pipe_is_no_error() {
    assert_eq!(list_to(ErrorKind::BrokenPipe), (0, String::new()));
}

#[test]
fn full_disk_is_reported() {
    let (code, err) = list_to(ErrorKind::StorageFull);
    assert_eq!(code, 1);
    assert!(err.contains("could not be written"), "{err}");
}
