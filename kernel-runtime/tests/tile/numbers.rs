//! Silly numbers: each number of each `.tile` file, replaced by one that no size, stride, promise
//! or count can be, gives a diagnostic or a kernel that runs. Nothing divides by it, overflows or
//! takes the memory that it asks for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use systole::back::interp::{self, Options};
use systole::ir::{Array, Extent, Kernel};
use systole::target::{GENERIC, TPU7X, V5E};
use systole::valid::{self, Valid};

/// Nothing, all that `i32` counts, a bit more, and the most that the text form takes.
const SILLY: &[&str] = &["0", "2147483647", "4294967296", "1099511627776"];
/// Longer grids are not run, nor larger arrays made.
const MAX_STEPS: u64 = 64;
const MAX_ELEMS: usize = 1 << 16;

#[test]
fn no_number_of_a_file_can_do_harm() {
    let (mut n_texts, mut n_ran) = (0, 0);
    for folder in ["roundtrip", "valid", "run"] {
        for (path, text) in super::files::files(folder) {
            for (start, end) in numbers(&text) {
                for number in SILLY {
                    let changed = [&text[..start], number, &text[end..]].concat();
                    let ran = catch_unwind(AssertUnwindSafe(|| try_all(&changed)));
                    n_ran += usize::from(ran.unwrap_or_else(|_| {
                        panic!("{}: {number} for {}\n{changed}", path.display(), &text[start..end])
                    }));
                    n_texts += 1;
                }
            }
        }
    }
    // So many of them are in the files, and most of them are refused.
    assert!(n_texts > 1500 && n_ran > 100 && n_ran < n_texts / 2, "{n_ran} of {n_texts} ran");
}

/// Where the numbers of a text are that are not parts of names, types or fractions.
fn numbers(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'%' | b'.');
    let mut found = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let end = (start..bytes.len()).find(|&at| !is_part(bytes[at])).unwrap_or(bytes.len());
        if end > start && bytes[start..end].iter().all(u8::is_ascii_digit) {
            found.push((start, end));
        }
        start = end + 1;
    }
    found
}

/// Whether it is valid and was run.
fn try_all(text: &str) -> bool {
    let Ok(kernel) = Kernel::parse(text) else { return false };
    for target in [&V5E, &TPU7X] {
        let _ = valid::check(kernel.clone(), target);
    }
    valid::check(kernel, &GENERIC).is_ok_and(|valid| run(&valid))
}

fn run(valid: &Valid) -> bool {
    let kernel = valid.kernel();
    let n_steps = kernel.grid.iter().fold(1u64, |n, axis| match axis.extent {
        Extent::Static(extent) => n.saturating_mul(extent as u64),
        Extent::Dynamic { .. } => n,
    });
    let shapes = kernel.params.iter().map(|param| param.array_shape());
    let n_elems = |shape: &[usize]| shape.iter().fold(1usize, |n, &size| n.saturating_mul(size));
    let largest = shapes.map(|shape| n_elems(&shape)).max().unwrap_or(0);
    if n_steps > MAX_STEPS || largest > MAX_ELEMS || kernel.n_devices() > 8 {
        return false;
    }
    let is_dynamic = |extent| matches!(extent, Extent::Dynamic { .. });
    let extents = kernel.grid.iter().filter(|axis| is_dynamic(axis.extent));
    let one = |_| Array::from_f64(systole::ir::DType::I32, &[1], &[1.0]).unwrap();
    let params = kernel.params.iter().filter(|param| param.kind.is_input());
    let zeros = params.map(|param| Array::zeros(param.dtype, &param.array_shape()));
    let inputs: Vec<Array> = extents.map(one).chain(zeros).collect();
    let (fuel, memory_bytes) = (1 << 12, 64 << 20);
    let options = Options { fuel, memory_bytes, threads: 1, schedules: 1, ..Options::default() };
    let _ = interp::run_devices(valid, &vec![inputs; kernel.n_devices()], &options);
    true
}
