//! Runs imported kernels, and says what those of JAX should give.

use std::path::Path;
use systole::back::interp;
use systole::back::mosaic::import::{self, ArrayType, Imported};
use systole::diag::{Code, Diagnostics};
use systole::ir::{Array, Semantics};
use systole::run::{Comparison, Tolerance, compare_all, tensor_file};
use systole::target::GENERIC;
use systole::valid;

/// A module with one call.
pub(crate) struct Case {
    pub(crate) imported: Imported,
}

impl Case {
    pub(crate) fn read(bytes: &[u8]) -> Case {
        Case::import(bytes).unwrap_or_else(|errors| panic!("{errors}"))
    }

    pub(crate) fn import(bytes: &[u8]) -> Result<Case, Diagnostics> {
        let calls = import::read("module", bytes)?;
        assert_eq!(calls.len(), 1);
        Ok(Case { imported: calls[0].import()? })
    }

    /// Runs it under all checks.
    pub(crate) fn run(&self, operands: &[Array]) -> Result<Vec<Array>, Diagnostics> {
        let valid = valid::check(self.imported.kernel.clone(), &GENERIC)?;
        Ok(self.imported.run(&valid, operands, &interp::Options::default())?.results)
    }

    pub(crate) fn compare(
        &self,
        operands: &[Array],
        expected: &[Array],
        tolerance: &Tolerance,
    ) -> Result<Comparison, Diagnostics> {
        Ok(compare_all(expected, &self.run(operands)?, tolerance))
    }

    pub(crate) fn gives(&self, operands: &[Array], expected: &[Array], tolerance: &Tolerance) {
        let found = self.compare(operands, expected, tolerance);
        let found = found.unwrap_or_else(|errors| panic!("{errors}\n{}", self.imported.kernel));
        assert_eq!(found.describe_bad(), None, "{} ULP", found.max_ulp);
    }
}

/// Kernels whose results nobody can foretell.
const RANDOM: &[&str] = &["prng"];

/// By how much a kernel may differ from JAX's interpreter, which computes on whole arrays in its own
/// order and, of products, in f32.
fn tolerance(name: &str) -> Tolerance {
    let products =
        "sums of products of bf16 values, in another order and rounded to bf16 in between";
    match name.split('.').next().unwrap_or(name) {
        "add" | "gather_by_table" | "gather_by_dma" | "windows" | "int8_matmul"
        | "dynamic_grid" | "roll" | "pipeline" | "core_map" | "threefry" | "remote"
        | "sparse_gather" | "sparse_segments" | "sparse_registers" | "sparse_scalar"
        | "sparse_pipeline" | "sparse_lanes" => Tolerance::exact(),
        "loops" => loops_tolerance(),
        "softmax" => Tolerance::ulp(8),
        "elementwise" => Tolerance::ulp(8).floor(1e-6, "a sum of terms of size 1 that cancel"),
        "matmul" | "grouped_matmul" => Tolerance::ulp(1).floor(1e-3, products),
        "flash" | "splash" => Tolerance::ulp(2).floor(4e-3, products),
        "flash_backward" => Tolerance::ulp(16).floor(4e-3, products),
        "paged_attention" | "ragged_paged_attention" => Tolerance::ulp(4).floor(1e-2, products),
        other => panic!("there is no tolerance for {other}"),
    }
}

/// Of sums of five products of size 3, which XLA rounds once where the kernel rounds twice.
pub(crate) fn loops_tolerance() -> Tolerance {
    Tolerance::ulp(2).floor(4e-6, "products and sums that cancel are rounded together")
}

/// Splash keeps running maxima and sums in outputs that all heads share, although heads are steps of
/// a `parallel` axis: a race, of outputs that nobody reads.
fn in_order(mut case: Case, operands: &[Array]) -> Case {
    let errors = case.run(operands).expect_err("two heads write one block");
    assert!(errors.iter().all(|error| error.code == Code::INTERP_RACE), "{errors}");
    for axis in &mut case.imported.kernel.grid {
        axis.semantics = Semantics::Arbitrary;
    }
    case
}

/// Runs a kernel of JAX and compares with what JAX gave: a line about it, or how it differs.
///
/// `expected` makes of each result, by its number, the elements to look at and what they should be.
pub(crate) fn check_case(
    name: &str,
    module: &[u8],
    operands: &dyn Fn(&[ArrayType]) -> Vec<Array>,
    expected: &dyn Fn(usize, &Array) -> (Array, Array),
) -> Result<String, String> {
    let case = Case::import(module).map_err(|errors| format!("is not imported: {errors}"))?;
    let operands = operands(&case.imported.split_operands());
    let case = if name == "splash" { in_order(case, &operands) } else { case };
    let found = case.run(&operands).map_err(|errors| errors.to_string())?;
    if RANDOM.contains(&name) {
        let again = case.run(&operands).map_err(|errors| errors.to_string())?;
        assert_eq!(found, again, "the seed of the kernel decides its random bits");
        return check_random(&found[0]).map(|line| format!("{name}: {line}"));
    }
    // Of splash the last output is the result.
    let first = if name == "splash" { found.len() - 1 } else { 0 };
    let pairs = (first..found.len()).map(|idx| expected(idx, &found[idx]));
    let (found, expected): (Vec<Array>, Vec<Array>) = pairs.unzip();
    let compared = compare_all(&expected, &found, &tolerance(name));
    match compared.describe_bad() {
        None => Ok(format!(
            "{name}: {} elements, max abs err {:.1e}, max ULP {}",
            expected.iter().map(|array| array.shape().iter().product::<usize>()).sum::<usize>(),
            compared.max_abs_err,
            compared.max_ulp
        )),
        Some(how) => Err(format!("{how} ({} ULP)", compared.max_ulp)),
    }
}

/// The lower halves of random words, as numbers, from four seeds: JAX's interpreters make zeros.
fn check_random(bits: &Array) -> Result<String, String> {
    let values = bits.to_f64();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    // Of 32,768 numbers the mean is within 1% in all but one of 10^20 cases.
    let is_uniform = (mean / 32767.5 - 1.0).abs() < 0.03
        && values.iter().all(|&value| (0.0..65536.0).contains(&value) && value.fract() == 0.0);
    let steps: Vec<&[f64]> = values.chunks(values.len() / 4).collect();
    let differ = (0..4).all(|i| (0..i).all(|j| steps[i] != steps[j]));
    match is_uniform && differ {
        true => Ok(format!("random bits of mean {mean:.0}")),
        false => Err(format!("random bits of mean {mean}, steps differ: {differ}")),
    }
}

/// The tensors `arg0`, `arg1`, .. of a file.
pub(crate) fn tensors(path: &Path, prefix: &str) -> Vec<Array> {
    let contents = tensor_file::contents(path).unwrap_or_else(|errors| panic!("{errors}"));
    let named = |idx: usize| {
        let name = format!("{prefix}{idx}");
        contents.iter().find(|tensor| tensor.name == name).cloned()
    };
    let wanted: Vec<tensor_file::Wanted> = (0..).map_while(named).collect();
    tensor_file::read_tensors(&wanted, path).unwrap()
}

/// Random bytes at random places of an input, and pieces left out or doubled.
pub(crate) fn mutated(bytes: &[u8], seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = |n: usize| {
        // Xorshift: any mix will do.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n.max(1) as u64) as usize
    };
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + below(6) {
        if bytes.is_empty() {
            break;
        }
        let at = below(bytes.len());
        let end = (at + 1 + below(24)).min(bytes.len());
        match below(6) {
            0 => bytes[at] = below(256) as u8,
            1 => bytes[at] ^= 1 << below(8),
            2 => {
                bytes.drain(at..end);
            }
            3 => {
                let piece = bytes[at..end].to_vec();
                let to = below(bytes.len());
                bytes.splice(to..to, piece);
            }
            4 => {
                let piece = bytes[at..end].to_vec();
                let to = below(bytes.len() - piece.len() + 1);
                bytes[to..to + piece.len()].copy_from_slice(&piece);
            }
            _ => bytes.truncate(at),
        }
    }
    bytes
}
