//! The table of diagnostic codes, each with the long text of the `explain` subcommand.
//!
//! Codes are paths: the stage that speaks, then what it found. A code without a test fails `tidy`.

use serde::Serialize;
use std::fmt;

/// A diagnostic code, such as `valid::vmem_overflow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Code(&'static str);

impl Code {
    /// The code as text.
    pub fn as_str(self) -> &'static str {
        self.0
    }

    /// The table entry of this code.
    pub fn entry(self) -> Option<&'static CodeEntry> {
        CODES.iter().find(|entry| entry.code == self)
    }

    /// Finds a code by its text.
    pub fn parse(text: &str) -> Option<Code> {
        CODES.iter().map(|entry| entry.code).find(|code| code.0 == text)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct CodeEntry {
    /// The code.
    pub code: Code,
    /// What it means, why the rule exists and how to mend it.
    pub explanation: &'static str,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal: $explanation:literal;)*) => {
        impl Code {
            $($(#[$doc])* #[doc = $explanation] pub const $name: Code = Code($text);)*
        }

        /// Every code there is.
        pub const CODES: &[CodeEntry] =
            &[$(CodeEntry { code: Code::$name, explanation: $explanation },)*];
    };
}

codes! {
    // ir: type rules of the ops, found while a kernel is traced, parsed or validated.
    IR_TYPE = "ir::type": "An operand has a type that the op does not take. Element types never convert silently: write `.cast::<T>()`.";
    IR_SHAPE = "ir::shape": "Two shapes do not fit each other, or a shape does not fit the op. The message names both.";
    IR_INDEX = "ir::index": "An index does not fit its reference: too many or too few entries, or a static range that ends outside it.";
    IR_REGION = "ir::region": "The blocks of a control-flow op do not fit it: their arguments or what they yield differ from what the op carries.";
    IR_SYNTAX = "ir::syntax": "The `.tile` text does not follow the grammar, which stands in the documentation of `systole::ir`. The message says what was expected.";
    IR_NAME = "ir::name": "A name in the `.tile` text is not known where it is used, or is defined twice. Values are visible in their block and the regions within; an index map sees its own arguments alone.";
    IR_STATED_TYPE = "ir::stated_type": "The `.tile` text states other result types than the op's own type rule gives.";
    // target: chip tables.
    TARGET_UNKNOWN = "target::unknown": "No target has this name. A target is a TPU generation, or `generic` for the interpreter and StableHLO; the message lists the names.";
    // stablehlo: kernels as plain StableHLO.
    STABLEHLO_UNSUPPORTED = "stablehlo::unsupported": "StableHLO has no way to say this. `print` and `assert` need the interpreter; the condition of a `while` may not store to memory.";
    // run: the registry, and what kernels are run with.
    RUN_REGISTRY = "run::registry": "The table of kernels contradicts itself: two kernels or specs of one name, or a spec that does not say how to build, feed or check its kernel. It is a mistake in the crate that owns the table.";
    RUN_INPUT_FILE = "run::input_file": "A file of inputs cannot be read: it does not exist, may not be opened, is truncated, or is no safetensors file.";
    RUN_INPUT_MISMATCH = "run::input_mismatch": "A file of inputs does not fit the kernel. Every input parameter needs a tensor of its name, element type and shape; nothing is converted or reshaped silently.";
    RUN_INPUT = "run::input": "The arrays a kernel was called with do not fit it: their number, or the element type or shape of one. Nothing is converted or reshaped silently.";
    RUN_DEVICE = "run::device": "A PJRT plugin is missing, or refused to compile or run a program. The message is the plugin's own; `./x setup` gets the plugins for the CPU.";
    RUN_OUTPUT_FILE = "run::output_file": "The outputs could not be written to the file asked for.";
    // cli: what the command line asks for.
    CLI_UNKNOWN_KERNEL = "cli::unknown_kernel": "The registry has no kernel of this name. `list` shows all kernels and their specs.";
    CLI_UNKNOWN_SPEC = "cli::unknown_spec": "The kernel has no spec of this name. A spec's name says shape, element type and options, such as `bf16_1024x1024x1024`; `list KERNEL` shows all.";
    CLI_UNKNOWN_CODE = "cli::unknown_code": "There is no diagnostic code of this name. `explain` without a code lists all.";
    // interp: what the interpreter finds while a kernel runs.
    INTERP_INPUT = "interp::input": "The call does not fit the kernel: too many or too few arrays, or one of another element type or shape than its parameter, or a grid extent that is not positive. Nothing is converted or reshaped silently.";
    INTERP_OUT_OF_BOUNDS = "interp::out_of_bounds": "A load or store with an index computed at run time touches elements outside its reference. On a chip it would read or overwrite other memory, without a word. The message names the range and the size.";
    INTERP_BLOCK_OUT_OF_RANGE = "interp::block_out_of_range": "An index map names a block that starts before or after its array. A block may reach over the end (the rest is padding), but must start inside. Usually the grid has too many steps, or a block number was given where elements were meant.";
    INTERP_MISALIGNED = "interp::misaligned": "An index breaks the promise of `multiple_of`, by which the compiler chose aligned accesses: on a chip other elements would be touched.";
    INTERP_UNINITIALIZED = "interp::uninitialized": "Elements that nobody wrote (of scratch, of an output block, or left out by a load's mask) reach a result, a branch, an index, a print or an assertion. Scratch starts undefined and does not outlive a step of a `parallel` axis; an output block starts undefined at each visit.";
    INTERP_PADDING = "interp::padding": "Elements beyond the end of an array reach a result. A block that reaches over the end has undefined elements there: before a reduction or a product combines them with others, replace them with `select` and a mask made of `iota` and the array's size.";
    INTERP_RACE = "interp::race": "Two grid steps that differ in a `parallel` axis write the same output elements. Such steps may run at the same time on different cores, so one of the results is lost. Let the block's index depend on every `parallel` axis, or declare the axis `arbitrary`.";
    INTERP_OUTPUT_REVISITED = "interp::output_revisited": "An output block was left, which wrote it back, and is visited again later. The second visit does not see what the first stored and overwrites it. All steps of one output block must follow each other: the grid axis that the block's index does not depend on goes last.";
    INTERP_OUTPUT_NEVER_WRITTEN = "interp::output_never_written": "Elements of an output array are stored by no grid step, so the caller would get garbage. Either the grid does not visit their block, or the visit does not store the whole block.";
    INTERP_OUT_OF_FUEL = "interp::out_of_fuel": "A loop did more work in one grid step than the interpreter's options allow: most likely its condition never becomes false. On a chip the kernel would hang. If the loop is only long, raise `Options::fuel`.";
    INTERP_LOOP_STEP = "interp::loop_step": "A `for` runs with a step that is zero or negative: on a chip it would never end.";
    INTERP_INDEX_OVERFLOW = "interp::index_overflow": "Index arithmetic left the range of 32 bits and wrapped around, and the result is used as an index, a bound or a block number. Divide before multiplying, or give the kernel a part of the array.";
    INTERP_ASSERTION = "interp::assertion": "An assertion of the kernel failed.";
    INTERP_NON_FINITE = "interp::non_finite": "An op gave NaN or an infinity although its operands had none. Asked for by `Options::trap_non_finite`; the line named is where it began.";

    // mosaic: what the TPU compiler cannot do, found while a kernel is lowered.
    MOSAIC_UNSUPPORTED = "mosaic::unsupported": "The TPU compiler has no form of this op, element type or parameter on this target. The message names it and the help says what to write instead.";
    MOSAIC_INTERNAL = "mosaic::internal": "The MLIR module made for a valid kernel breaks a rule of MLIR. It is a mistake of the toolkit, not of the kernel: please report it with the output of `show --stage ir`.";
    // aot: what libtpu, or the worker process around it, did.
    AOT_REJECTED = "aot::rejected": "libtpu does not accept the program for this target. The message is libtpu's own; the lines are those of the operations that it names.";
    AOT_CRASHED = "aot::crashed": "libtpu aborted while it compiled the program. Nothing but its worker process is lost. It is a limit or a defect of libtpu: change the program, or try another version of libtpu.";
    AOT_TIMED_OUT = "aot::timed_out": "libtpu did not finish the program within the time limit and was killed. Compile a smaller size, or raise the limit.";
    AOT_UNAVAILABLE = "aot::unavailable": "The program was not compiled: libtpu is not installed (`./x setup` gets it), the worker process could not be started, or the target is no TPU. The message says which.";
}
