//! Mosaic modules back to the tile IR: those that [`super`] writes, and those of other producers
//! such as Pallas. An imported kernel runs in the interpreter under all its checks.
//!
//! [`read`] finds the kernels of a file: a `stable_mosaic` module in the generic text form or in
//! bytecode, or a StableHLO module in text with `tpu_custom_call`s. [`Call::import`] makes a
//! [`Kernel`] of one, with what it takes to call it on the operands of the custom call.
//!
//! # How Mosaic maps
//!
//! The mirror image of the lowering, op by op: `ops` has one file per family, named as there.
//!
//! * Integers of MLIR have no sign, so they are signed here; unsigned ops view their operands as
//!   unsigned and their result as signed again. `index` is `i32`.
//! * A custom call's input and output that share memory (an alias) become an `In` and an `InOut`
//!   parameter with the same array: steps that write their block before others read theirs see the
//!   old elements.
//! * Views of references (`memref_slice` and the like) are folded into the accesses; a load through
//!   a view of another shape or element type loads all of the part, and then chooses.
//! * Memory and semaphores of a scope live as long as the kernel.
//! * A prefetched table that the kernel writes to is copied into scratch first.
//! * A bare module does not say how large its arrays are: they are taken to end with the last block
//!   that a step sees.
//! * Registers of a SparseCore are tiles of one axis. Its scans and sorts compare integers without
//!   a sign, so they view theirs as unsigned; what a producer flips before and after stays. A mask
//!   on a load or store means elements that lie one after the other.
//! * A kernel that knows of other devices runs on all of the mesh of the program around it
//!   (`sdy.mesh`, or the number of partitions).
//!
//! What the IR cannot say is [`Code::IMPORT_UNSUPPORTED`], with the op and its place; nothing is
//! left out in silence, but numbers that profilers show and hints that change no result.

mod array;
mod body;
mod extent;
mod grid;
mod header;
mod ops;
mod read;
mod stablehlo;
mod table;

#[cfg(feature = "mlir")]
pub(super) use ops::ROWS_PER_ADDRESS;

pub use array::ArrayType;

use crate::back::interp;
use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use crate::ir::{Array, Kernel, MemorySpace, MeshAxis, SideEffects};
use crate::valid::Valid;
use read::Fault;
use std::sync::Arc;

/// The versions of the `stable_mosaic` form that are read. What changed after 15 is not public; ops
/// and attributes that are new there are refused by name.
pub const VERSIONS: std::ops::RangeInclusive<i64> = 3..=18;

/// A kernel in a file: the module, and how it is called if that is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The kernel's name.
    pub name: String,
    /// The module, as text or bytecode.
    pub module: Vec<u8>,
    /// Types of the operands, the dynamic grid extents first; `None` for a bare module.
    pub operands: Option<Vec<ArrayType>>,
    /// Types of the results; `None` for a bare module.
    pub results: Option<Vec<ArrayType>>,
    /// Results that share the memory of an operand: result, operand.
    pub aliases: Vec<(usize, usize)>,
    /// The devices that run the program around the call, if the file names several.
    pub mesh: Vec<MeshAxis>,
    /// Whether the call is for a SparseCore; `None` for a bare module, which says it itself.
    pub sparse_core: Option<bool>,
    /// The VMEM that the call asks for.
    pub vmem_limit_bytes: Option<u64>,
    /// Whether the chip does not check the bounds of copies.
    pub unchecked_bounds: bool,
    /// Whether the call may be removed or merged.
    pub side_effects: SideEffects,
    /// What diagnostics call the module's text.
    file: Arc<str>,
}

/// A kernel with the arrays of its custom call.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The kernel.
    pub kernel: Kernel,
    /// Types of the call's operands.
    pub operands: Vec<ArrayType>,
    /// Types of the call's results.
    pub results: Vec<ArrayType>,
    /// Which operand each input of the kernel is: the extents first, then the parameters that take
    /// an array.
    inputs: Vec<usize>,
}

/// What a call gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    /// Its results.
    pub results: Vec<Array>,
    /// The number of grid steps, on all devices.
    pub n_steps: u64,
    /// What was printed, device by device.
    pub prints: Vec<interp::Print>,
}

/// Finds the kernels in a file; `file` is what diagnostics call it.
///
/// # Errors
/// If it is neither form, is damaged, or has no kernel.
pub fn read(file: &str, bytes: &[u8]) -> Result<Vec<Call>, Diagnostics> {
    if !read::is_bytecode(bytes) && stablehlo::is_stablehlo(bytes) {
        return stablehlo::calls(file, bytes);
    }
    let call = Call {
        name: String::new(),
        module: bytes.to_vec(),
        operands: None,
        results: None,
        aliases: Vec::new(),
        mesh: Vec::new(),
        sparse_core: None,
        vmem_limit_bytes: None,
        unchecked_bounds: false,
        side_effects: SideEffects::None,
        file: Arc::from(file),
    };
    let module = call.parse()?;
    let name = header::entry(&module).map(|entry| header::name(entry).to_owned());
    Ok(vec![Call { name: name.unwrap_or_default(), ..call }])
}

impl Call {
    /// Makes a kernel of the module.
    ///
    /// # Errors
    /// If the module is damaged, or holds what the IR cannot say: every such op, at its place.
    pub fn import(&self) -> Result<Imported, Diagnostics> {
        let module = self.parse()?;
        header::import(self, &module)
    }

    fn parse(&self) -> Result<read::ast::Module, Diagnostic> {
        let module = read::module(&self.module).map_err(|fault| self.fault(&fault))?;
        check_version(&module)?;
        Ok(module)
    }

    /// A fault of the module's text or bytecode.
    fn fault(&self, fault: &Fault) -> Diagnostic {
        syntax_error(&self.file, &self.module, fault)
    }
}

/// A fault of an input as a diagnostic: at its line, or at its byte if it is no text.
fn syntax_error(file: &Arc<str>, bytes: &[u8], fault: &Fault) -> Diagnostic {
    let error = |message: String| Diagnostic::error(Code::IMPORT_SYNTAX, message);
    if read::is_bytecode(bytes) {
        return error(format!("`{file}`, byte {}: {}", fault.at, fault.message));
    }
    let (line, column) = line_and_column(bytes, fault.at);
    error(fault.message.clone()).at(Span { file: file.clone(), line, column }, "")
}

/// 1-based line and column of a byte.
fn line_and_column(bytes: &[u8], at: usize) -> (u32, u32) {
    let before = &bytes[..at.min(bytes.len())];
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    (number(line), number(before.len() - start + 1))
}

fn check_version(module: &read::ast::Module) -> Result<(), Diagnostic> {
    let error = |message: String| Diagnostic::error(Code::IMPORT_VERSION, message);
    match read::ast::find(&module.attrs, "stable_mosaic.version") {
        Some(read::ast::Attr::Int(version, _)) if VERSIONS.contains(version) => Ok(()),
        Some(read::ast::Attr::Int(version, _)) => Err(error(format!(
            "the module is in version {version} of the stable_mosaic form, {} to {} are read",
            VERSIONS.start(),
            VERSIONS.end()
        ))),
        Some(_) => Err(error("`stable_mosaic.version` of the module is no number".into())),
        None => Err(error("the module has no `stable_mosaic.version`".into())
            .help("give a module in the stable form, or the StableHLO module around it")),
    }
}

impl Imported {
    /// Runs the kernel under all checks on the operands of the call: on the devices of its mesh, if
    /// it knows of others. An operand is then either what every device gets, or as many times as
    /// long along its first axis as there are devices, and split among them; results are put
    /// together likewise. `valid` is the kernel.
    ///
    /// # Errors
    /// If the operands do not fit the call, or for each problem found while running.
    pub fn run(
        &self,
        valid: &Valid,
        operands: &[Array],
        options: &interp::Options,
    ) -> Result<Ran, Diagnostics> {
        let n_devices = self.kernel.n_devices();
        if n_devices == 1 {
            let outcome = interp::run(valid, &self.inputs(operands)?, options)?;
            let (n_steps, prints) = (outcome.n_steps, outcome.prints);
            return Ok(Ran { results: self.results(&outcome.outputs), n_steps, prints });
        }
        let inputs: Result<Vec<Vec<Array>>, Diagnostics> = (0..n_devices)
            .map(|device| {
                // One too many has no type, and is told of by `inputs`.
                let own =
                    operands.iter().enumerate().map(|(idx, array)| match self.operands.get(idx) {
                        Some(ty) => array::shard(array, ty, device, n_devices),
                        None => array.clone(),
                    });
                self.inputs(&own.collect::<Vec<Array>>())
            })
            .collect();
        let outcomes = interp::run_devices(valid, &inputs?, options)?;
        let n_steps = outcomes.iter().map(|outcome| outcome.n_steps).sum();
        let prints = outcomes.iter().flat_map(|outcome| outcome.prints.clone()).collect();
        let shards: Vec<Vec<Array>> =
            outcomes.iter().map(|outcome| self.results(&outcome.outputs)).collect();
        let results = (0..self.results.len())
            .map(|idx| array::joined(shards.iter().map(|results| &results[idx])))
            .collect();
        Ok(Ran { results, n_steps, prints })
    }

    /// The types of operands that are split among the devices of the kernel's mesh; those of the
    /// call, if there is one.
    pub fn split_operands(&self) -> Vec<ArrayType> {
        let n_devices = self.kernel.n_devices();
        let whole = |ty: &ArrayType| {
            let mut ty = ty.clone();
            if let Some(first) = ty.shape.first_mut() {
                *first = first.saturating_mul(n_devices);
            }
            ty
        };
        self.operands.iter().map(whole).collect()
    }

    /// The kernel's inputs, in the order in which [`crate::back::interp::run`] takes them, from the
    /// arrays of the call's operands.
    ///
    /// # Errors
    /// If they do not fit the call.
    pub fn inputs(&self, operands: &[Array]) -> Result<Vec<Array>, Diagnostics> {
        let mut mistakes = Diagnostics::default();
        if operands.len() != self.operands.len() {
            mistakes.push(Diagnostic::error(
                Code::IMPORT_CALL,
                format!(
                    "the call takes {} arrays, {} were given",
                    self.operands.len(),
                    operands.len()
                ),
            ));
            return Err(mistakes);
        }
        for (idx, (array, ty)) in operands.iter().zip(&self.operands).enumerate() {
            if array.dtype() != ty.dtype || array.shape() != ty.shape {
                let found = ArrayType { dtype: array.dtype(), shape: array.shape().to_vec() };
                let message = format!("operand {idx} of the call is {ty}, but {found} was given");
                mistakes.push(Diagnostic::error(Code::IMPORT_CALL, message));
            }
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        Ok(self.inputs.iter().map(|&operand| array::signless(&operands[operand])).collect())
    }

    /// Where the kernel sees each operand of the call; `None` for the extent of a grid axis.
    pub fn operand_spaces(&self) -> Vec<Option<MemorySpace>> {
        let mut spaces = vec![None; self.operands.len()];
        let params = self.kernel.params.iter().filter(|param| param.kind.is_input());
        let n_extents = self.inputs.len() - params.clone().count();
        for (param, &operand) in params.zip(&self.inputs[n_extents..]) {
            // The first is the input; a later one is an output that shares its memory.
            spaces[operand].get_or_insert(param.space);
        }
        spaces
    }

    /// The results of the call, from what the interpreter gave.
    pub fn results(&self, outputs: &[Array]) -> Vec<Array> {
        outputs.iter().zip(&self.results).map(|(array, ty)| array::with_type(array, ty)).collect()
    }
}
