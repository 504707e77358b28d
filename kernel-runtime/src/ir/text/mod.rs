//! The text form of a kernel, `.tile`: printer and parser.
//!
//! Printing a kernel and parsing the text gives the same kernel again, but for the numbers of
//! values, ops and blocks, which follow the order of definition.
//!
//! ```text
//! kernel matmul vmem_limit 33554432 {
//! grid i: 4 parallel
//! grid l: 2 arbitrary
//! in a: bf16[m: 512, k: 256] vmem block [128, 128] map(%i: i32, %l: i32) {
//!   yield %i, %l
//! }
//! out c: f32[m: 512, k: 256] vmem block [128, 128] single map(%i: i32, %l: i32) {
//!   yield %i, %l
//! }
//! scratch acc: f32[128, 128] vmem
//! body(%i: i32, %l: i32, %a: vmem bf16[128, 128], %c: vmem f32[128, 128], %acc: vmem f32[128, 128]) {
//!   %0 = const 0 : i32
//!   %1 = eq %l, %0 : bool
//!   if %1 {
//!     %2 = load %a[ds(%0, 8), :] : bf16[8, 128] loc(1)
//!     yield
//!   } else {
//!     yield
//!   }
//! }
//! }
//! loc 1 = "src/matmul.rs":11:9
//! ```
//!
//! After the kernel's name come `core sparse` or `core sparse_scalar`, `vmem_limit n`, `side_effects dataflow` or `always`, `unchecked_bounds`, and the stated
//! cost, `flops n transcendentals n bytes n`; after a parameter's memory, `pinned` with the memory
//! of its array.
//!
//! Before the grid come the axes of a mesh of devices, `mesh ring: 4`, outermost first.
//!
//! A window is `block [..]` with one entry per axis (a block size, `squeezed`, or `element n` for
//! a window placed by elements), then `single` or `multiple n` buffers, `streams n axis a`, and its
//! index map, which sees the grid indices and the prefetch parameters.
//!
//! An op is `results = mnemonic operands attributes regions : result types loc(n)`, each part only
//! if it is there. An access has one entry per axis: `:` for the whole axis, `3` or `%i` for one
//! element whose axis is dropped, `ds(start, size)` or `ds(start, size, stride)` for a part, where
//! a start known to be a multiple is `multiple(%i, 128)`.
//!
//! A parameter without `block` is whole where it lies. Semaphores are declared after scratch, as
//! `semaphores done: dma[2]`. A copy names both ends and its semaphore, and then what is not as
//! usual: `dma_start %x[ds(%i, 8), :] to %buf[%slot, :, :] lengths [%n, :] semaphore %done[%slot]
//! priority 1`.
//!
//! An indirect copy names both ends, the ids (a reference with an index, or a tile), and its
//! semaphore: `gather_start %table[:, :] to %rows[:, :] ids %ids[:] semaphore %done[] skip %none`;
//! `scatter_start %rows[:, :] to %table[:, :] ids %ids[:] semaphore %done[] accumulate`. Other ops
//! of a SparseCore take `mask %m`, `accumulate` and `descending`.
//!
//! Comments start with `//`. Line ends mean
//! nothing, except that the parser goes on at the next line after a mistake.

mod lex;
mod parse;
mod parse_dma;
mod parse_op;
mod parse_sparse;
mod print;
mod print_dma;
mod print_sparse;

use super::Kernel;
use crate::diag::Diagnostics;
use std::fmt;

impl fmt::Display for Kernel {
    /// Prints the text form; the alternate form `{:#}` leaves the locations out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print::Printer::new(self, !f.alternate()).print(f)
    }
}

impl Kernel {
    /// Parses the text form. An op without a `loc` has no location.
    ///
    /// # Errors
    /// Everything that is wrong with the text, with places in a file called `<tile>`.
    pub fn parse(text: &str) -> Result<Kernel, Diagnostics> {
        parse::Parser::new(text, "<tile>", false).parse()
    }

    /// Parses the text form of a file. An op without a `loc` has its place in the file as its
    /// location, so that later diagnostics point there.
    ///
    /// # Errors
    /// Everything that is wrong with the text, with places in `file`.
    pub fn parse_file(file: &str, text: &str) -> Result<Kernel, Diagnostics> {
        parse::Parser::new(text, file, true).parse()
    }
}
