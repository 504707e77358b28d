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

    /// Whether it says that the target cannot do what another target can.
    pub fn is_unsupported(self) -> bool {
        self.0.contains("::unsupported_")
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
    // valid: what every target asks of a kernel.
    VALID_STRUCTURE = "valid::structure": "The kernel's arenas contradict each other: a block stands in two places, something is used that does not exist, or regions nest too deep. It is a mistake in the code that built or changed the kernel.";
    VALID_DOMINANCE = "valid::dominance": "An op uses a value that is not defined before it, in its block or one around it. It is a mistake in the code that built or changed the kernel.";
    VALID_STALE_TYPE = "valid::stale_type": "An op is stored with other result types than its type rule gives. It is a mistake in the code that built or changed the kernel.";
    VALID_YIELD = "valid::yield": "A region ends in one `yield`, which gives its values; the body of a kernel has none.";
    VALID_ARGUMENTS = "valid::arguments": "The arguments of the body are the grid indices, then a reference per parameter and per scratch; those of an index map are the grid indices, then the prefetched parameters.";
    VALID_PARAM_ORDER = "valid::param_order": "Prefetched parameters come first, since the call takes them before all others.";
    VALID_WINDOW = "valid::window": "A parameter's block does not fit it: number of axes, memory space, buffers, or parts. A parameter in VMEM has a block; one without a block stays in HBM or SMEM.";
    VALID_INDEX_MAP = "valid::index_map": "An index map gives one `i32` per axis of the array, from the grid indices and prefetched tables, by scalar arithmetic alone: it runs ahead of the step it serves.";
    VALID_RANK_ZERO = "valid::rank_zero": "Arrays, blocks and scratch have at least one axis. A single number is an array of shape `[1]`.";
    VALID_EMPTY = "valid::empty": "Arrays, blocks and scratch have at least one element. Handle the empty case before the kernel is called: there is nothing for it to do.";
    VALID_EMPTY_GRID = "valid::empty_grid": "A grid axis of zero steps means that the kernel never runs, and its outputs would stay undefined.";
    VALID_GRID_OVERFLOW = "valid::grid_overflow": "Grid steps are counted in 32 bits. Larger blocks make fewer steps, which is faster too.";
    VALID_DYNAMIC_GRID = "valid::dynamic_grid": "Extents known at run time are passed as leading operands of the call: each axis takes its own, and none is left out.";
    VALID_AXIS_SIZES = "valid::axis_sizes": "Dimensions of one name have one size in all arrays of a kernel.";
    VALID_INDEX_OVERFLOW = "valid::index_overflow": "Indices are 32-bit integers on the chip. An axis is too long, or an index grows beyond 2^31 - 1 at some step of the grid and would wrap.";
    VALID_TILE_SIZE = "valid::tile_size": "A tile is a value in registers and VMEM; one of more than 2^31 elements is a mistake.";
    VALID_LOOP_STEP = "valid::loop_step": "A loop counts upwards: its step is at least 1. Otherwise it would not end.";
    // valid: what TPUs ask.
    VALID_BLOCK_SHAPE = "valid::block_shape": "Vector memory is tiled by 8 sublanes and 128 lanes. A block's last axis is a multiple of 128 or the array's whole axis, the one before a multiple of 8 or the whole axis. A block of one axis is the whole array, a multiple of 1024, or a power of two of at least 128 x (32 / bits).";
    VALID_BLOCK_INDEX = "valid::block_index": "An index map names a block that starts outside the array at some step of the grid.";
    VALID_PARALLEL_REVISIT = "valid::parallel_revisit": "Steps of a `parallel` axis run in any order and on several cores. If the block of an output does not change along the axis, they all write the same memory. Make the axis `arbitrary`, or give each step its own block.";
    VALID_OUTPUT_REVISIT = "valid::output_revisit": "A block of an output is left and visited again later. It is written back when it is left and not read again, so what the kernel accumulates there is lost. Axes that an output's block does not depend on go last in the grid; or keep the sum in scratch.";
    VALID_VMEM_OVERFLOW = "valid::vmem_overflow": "Blocks (times their buffers) and scratch do not fit the core's vector memory. Make blocks smaller, or give one that never changes a single buffer. The notes list what takes how much.";
    VALID_VMEM_LIMIT = "valid::vmem_limit": "The kernel asks for a VMEM limit that the chip does not have.";
    VALID_SMEM_OVERFLOW = "valid::smem_overflow": "Prefetched tables and scratch do not fit the core's scalar memory of 1 MiB. Keep large tables in HBM.";
    VALID_SMEM_TYPE = "valid::smem_type": "Scalar memory holds 32-bit elements. Convert the table to `i32` or `f32` first.";
    VALID_UNSUPPORTED_MATMUL = "valid::unsupported_matmul": "The matrix unit of this TPU generation does not multiply these element types. The message says which it does; `int8`, for one, is there on v5e, v5p and v6e alone.";
    VALID_UNSUPPORTED_DTYPE = "valid::unsupported_dtype": "TPUs do not compute in `f16`. `bf16` has the same size and the range of `f32`.";
    VALID_UNSUPPORTED_BUFFERING = "valid::unsupported_buffering": "The pipeline that libtpu makes of a grid keeps one or two buffers per block.";
    // valid: warnings.
    VALID_MXU_PADDING = "valid::mxu_padding": "The matrix unit works on square pieces of 128 or 256. A product whose sizes are not multiples of that leaves part of it idle.";
    VALID_LANE_PADDING = "valid::lane_padding": "Vector memory and registers have 128 lanes. A block whose last axis is not a multiple of 128 is padded to one: it takes more VMEM, and each vector op works on padding.";
    VALID_BLOCK_PADDING = "valid::block_padding": "The blocks reach far over the end of the array, so that much of the work is on padding. Take a block size that divides the array's size, or nearly.";
    VALID_RELAYOUT = "valid::relayout": "The op moves elements between lanes and sublanes, which costs many shuffles, and libtpu refuses some shapes of it.";
    // trace: mistakes in a kernel's body or call, found while it is traced.
    TRACE_ARGUMENT = "trace::argument": "An argument does not fit the parameter of the kernel: its number, rank or element type. The message names the parameter.";
    TRACE_DIM = "trace::dim": "Dimensions of one name must have one size in all arguments, at least 1, and fit an `i32` index.";
    TRACE_GRID = "trace::grid": "The grid, a block or scratch has no sensible size, or two parameters walk over one grid axis in a different number of steps. Give the axis its extent with `grid(i = ..)` if the two are meant to differ.";
    TRACE_NUMBER = "trace::number": "A number of the host does not fit the element type it is used with, or is not allowed where it stands.";
    TRACE_FOREIGN = "trace::foreign": "A tile or scalar was used outside of the kernel that made it. Handles live only while their kernel is traced.";
    TRACE_ESCAPE = "trace::escape": "A value made inside an arm of an `if` or a loop was used outside of it, where it does not exist. Both arms and the body are traced, whether or not they run. Keep the value in a `let mut` variable from before: it is then carried out of the region.";
    TRACE_CARRIED_TYPE = "trace::carried_type": "A variable that a device loop or branch carries must keep its element type and shape; the message says what it was and what it became.";
    TRACE_HOST_CHANGE = "trace::host_change": "A host value (a number, the length of a `Vec`, the variant of an `Option`) changes inside a device loop or branch. The body is traced once, so the change would happen once. Make it a `Scalar`, or run the construct while tracing: `#[unroll] for`, `if comptime!(..)`.";
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
    CLI_NO_TPU = "cli::no_tpu": "The command compiles with libtpu, so its targets are TPU generations. `generic` stands for the interpreter and for StableHLO on any device.";
    CLI_MISSING_FEATURE = "cli::missing_feature": "This build of the tool was made without the feature `mlir`, which the command needs. Build it with default features; `./x setup` installs LLVM 22.";
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
    // kernel: arguments that a library of kernels refuses before anything is traced.
    KERNEL_ARGUMENT = "kernel::argument": "An argument of a kernel's builder makes no kernel: sizes that do not fit each other, an element type that the kernel does not have, or block sizes that cut nothing. The message names the numbers.";
}
