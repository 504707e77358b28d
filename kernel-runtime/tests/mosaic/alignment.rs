//! What a copy may take along the rows of an array: the validator says what libtpu does.

use super::aot;
use systole::diag::{Code, Diagnostic};
use systole::ir::Kernel;
use systole::target::Target;
use systole::valid;

/// Rows of `array`, an output in HBM or a scratch in VMEM, to a buffer of their own, and back.
fn copies(space: &str, array: &str, rows: &str, buffer: &str) -> Kernel {
    let (scratch, arg) = match space {
        "hbm" => (String::new(), String::new()),
        _ => (format!("scratch v: {array} vmem\n"), format!(", %v: vmem {array}")),
    };
    let (dtype, sizes) = array.trim_end_matches(']').split_once('[').unwrap();
    let (m, n) = sizes.split_once(", ").unwrap();
    let name = if space == "hbm" { "y" } else { "v" };
    let text = format!(
        "kernel copies {{
prefetch table: i32[one: 1] smem
out y: {dtype}[m: {m}, n: {n}] hbm
{scratch}scratch buf: {buffer} vmem
semaphores s: dma[1]
body(%table: smem i32[1], %y: hbm {array}{arg}, %buf: vmem {buffer}, %s: semaphores dma[1]) {{
  %zero = const 0 : i32
  %row = load %table[%zero] : i32
  dma_start %{name}[{rows}, :] to %buf[:, :] semaphore %s[0]
  dma_wait %{name}[{rows}, :] to %buf[:, :] semaphore %s[0]
  dma_start %buf[:, :] to %{name}[{rows}, :] semaphore %s[0]
  dma_wait %buf[:, :] to %{name}[{rows}, :] semaphore %s[0]
}}
}}"
    );
    Kernel::parse(&text).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// Array, first row, how many: the borders of what can be copied.
const ACCEPTED: &[(&str, &str, usize)] = &[
    // Half before and half behind a border of tiles, if the half divides the tile.
    ("f32[64, 256]", "4", 8),
    ("f32[64, 256]", "7", 2),
    ("bf16[64, 256]", "6", 4),
    ("i8[64, 256]", "24", 16),
    ("i8[64, 256]", "16", 32),
    // Within a tile; from a border on.
    ("f32[64, 256]", "3", 5),
    ("i8[64, 256]", "4", 12),
    ("i8[64, 256]", "32", 24),
    // In an array of one tile's width, and within its only tile, rows are neighbours.
    ("f32[64, 128]", "3", 13),
    ("bf16[64, 100]", "2", 12),
    ("i8[64, 128]", "4", 56),
    ("f32[4, 256]", "1", 3),
    ("f32[64, 128]", "multiple(%row, 1)", 9),
    ("f32[8, 256]", "multiple(%row, 1)", 3),
    // From a row that a table gives.
    ("f32[64, 256]", "multiple(%row, 4)", 4),
    ("bf16[64, 256]", "multiple(%row, 16)", 16),
    ("i8[64, 256]", "multiple(%row, 32)", 8),
];
const REFUSED: &[(&str, &str, usize)] = &[
    ("f32[64, 256]", "2", 8),
    ("f32[64, 256]", "5", 6),
    ("f32[64, 256]", "4", 16),
    ("f32[64, 256]", "0", 12),
    ("bf16[64, 256]", "4", 16),
    ("bf16[64, 128]", "3", 4),
    ("i8[64, 256]", "20", 24),
    // Its tiles have 8 rows, since 40 is no multiple of 32.
    ("i8[40, 256]", "4", 12),
    ("i8[64, 128]", "2", 4),
    ("f32[64, 256]", "multiple(%row, 8)", 6),
    ("f32[64, 256]", "multiple(%row, 4)", 8),
    ("bf16[64, 128]", "multiple(%row, 1)", 2),
];

fn kernels(cases: &[(&str, &str, usize)], spaces: &[&str]) -> Vec<Kernel> {
    let each = cases.iter().flat_map(|&(array, start, n)| {
        let (dtype, sizes) = array.split_once('[').unwrap();
        let buffer = format!("{dtype}[{n}, {}", sizes.split_once(", ").unwrap().1);
        let rows = format!("ds({start}, {n})");
        spaces.iter().map(move |space| copies(space, array, &rows, &buffer))
    });
    each.collect()
}

#[test]
fn what_may_be_copied_compiles_on_every_chip() {
    let kernels = kernels(ACCEPTED, &["hbm", "vmem"]);
    for &target in Target::TPUS {
        aot::check(&kernels, target, 2 * ACCEPTED.len());
    }
}

/// libtpu's verdict on each of these, from modules that Pallas made, is that offsets or slice sizes
/// "along tiled dimensions must be aligned to tiles". Our back end lowers only what is valid.
#[test]
fn what_libtpu_refuses_is_refused_on_every_chip() {
    for &target in Target::TPUS {
        let mut refused = kernels(REFUSED, &["hbm", "vmem"]);
        if target.name == "tpu7x" {
            // There, tiles of 16-bit elements have 16 rows in VMEM.
            refused.extend(kernels(&[("bf16[64, 256]", "8", 24)], &["vmem"]));
        }
        for kernel in refused {
            let text = kernel.to_string();
            let Err(errors) = valid::check(kernel, target) else {
                panic!("valid for {target}: {text}");
            };
            let is_of_tiles = |error: &Diagnostic| error.code == Code::VALID_COPY_ALIGNMENT;
            assert!(errors.iter().all(is_of_tiles), "{errors}");
        }
    }
}
