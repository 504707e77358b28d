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
    VALID_SCOPE = "valid::scope": "A named scope is a mark around ops of one block: it ends in the block that it begins in, so that a profiler sees it closed whichever way branches go.";
    VALID_ARGUMENTS = "valid::arguments": "The arguments of the body are the grid indices, then a reference per parameter and per scratch; those of an index map are the grid indices, then the prefetched parameters.";
    VALID_PARAM_ORDER = "valid::param_order": "Prefetched parameters come first, since the call takes them before all others.";
    VALID_WINDOW = "valid::window": "A parameter's block does not fit it: number of axes, memory space, buffers, or parts. A parameter in VMEM has a block; one without a block stays in HBM or SMEM.";
    VALID_INDEX_MAP = "valid::index_map": "An index map gives one `i32` per axis of the array, from the grid indices and prefetched tables, by scalar arithmetic alone: it runs ahead of the step it serves.";
    VALID_PIN = "valid::pin": "An array that is pinned around the call lies in HBM or VMEM. Tables in SMEM are copied there before the first step, wherever they lay.";
    VALID_READ_ONLY = "valid::read_only": "Inputs and prefetched tables are only read: several steps, and the pipeline's copies, share them. Declare the parameter as `InOut<T>` to update an array in place.";
    VALID_RANK_ZERO = "valid::rank_zero": "Arrays, blocks and scratch have at least one axis. A single number is an array of shape `[1]`.";
    VALID_EMPTY = "valid::empty": "Arrays, blocks and scratch have at least one element. Handle the empty case before the kernel is called: there is nothing for it to do.";
    VALID_EMPTY_GRID = "valid::empty_grid": "A grid axis of zero steps means that the kernel never runs, and its outputs would stay undefined.";
    VALID_GRID_OVERFLOW = "valid::grid_overflow": "Grid steps are counted in 32 bits. Larger blocks make fewer steps, which is faster too.";
    VALID_DYNAMIC_GRID = "valid::dynamic_grid": "Extents known at run time are passed as leading operands of the call: each axis takes its own, and none is left out.";
    VALID_AXIS_SIZES = "valid::axis_sizes": "Dimensions of one name have one size in all arrays of a kernel.";
    VALID_INDEX_OVERFLOW = "valid::index_overflow": "Indices are 32-bit integers on the chip. An axis is too long, or an index grows beyond 2^31 - 1 at some step of the grid and would wrap.";
    VALID_TILE_SIZE = "valid::tile_size": "A tile is a value in registers and VMEM; one of more than 2^31 elements is a mistake.";
    VALID_LOOP_STEP = "valid::loop_step": "A loop counts upwards: its step is at least 1. Otherwise it would not end.";
    VALID_SEMAPHORES = "valid::semaphores": "An array of semaphores has no elements or too many, or a copy has the wrong ones: within a core a copy has one, to another device or core it has one on each side.";
    VALID_PEER = "valid::peer": "A copy or signal addresses a device or core that does not exist, or the kernel says nothing of other devices: they are declared as a mesh, and numbered in row-major order. What follows from the device's own number is worked out for each device of the mesh.";
    VALID_CORE_AXIS = "valid::core_axis": "A grid axis over cores runs each of its steps on a core of its own: it stands first in the grid, and has as many steps as a device of the target has cores (two on v4 and v5p, else one).";
    VALID_COPY_TARGET = "valid::copy_target": "A copy writes into an input of the kernel (what a kernel writes is an output, or updated in place), or into a block of another device, which may be another one there by then.";
    VALID_COPY_OVERLAP = "valid::copy_overlap": "The source and the target of a copy share elements. Copies move in no defined order, so what comes out is not defined.";
    // valid: what TPUs ask.
    VALID_COPY_ALIGNMENT = "valid::copy_alignment": "Arrays are stored in tiles along their last two axes. A copy takes whole tiles there: it starts at a multiple of the tile and takes a multiple of it, or all that is left. Cut along the other axes, or copy more and load a part.";
    VALID_BLOCK_SHAPE = "valid::block_shape": "Vector memory is tiled by 8 sublanes and 128 lanes. A block's last axis is a multiple of 128 or the array's whole axis, the one before a multiple of 8 or the whole axis. A block of one axis is the whole array, a multiple of 1024, or a power of two of at least 128 x (32 / bits); in scalar memory, the whole array or a multiple of 128. A window by elements in scalar memory starts at a tile.";
    VALID_BLOCK_INDEX = "valid::block_index": "An index map names a block that starts outside the array at some step of the grid.";
    VALID_PARALLEL_REVISIT = "valid::parallel_revisit": "Steps of a `parallel` axis run in any order and on several cores. If the block of an output does not change along the axis, they all write the same memory. Make the axis `arbitrary`, or give each step its own block.";
    VALID_OUTPUT_REVISIT = "valid::output_revisit": "A block of an output is left and visited again later. It is written back when it is left and not read again, so what the kernel accumulates there is lost. Axes that an output's block does not depend on go last in the grid; or keep the sum in scratch.";
    VALID_VMEM_OVERFLOW = "valid::vmem_overflow": "Blocks (times their buffers) and scratch do not fit the core's vector memory. Make blocks smaller, or give one that never changes a single buffer. The notes list what takes how much.";
    VALID_VMEM_LIMIT = "valid::vmem_limit": "The kernel asks for a VMEM limit that the chip does not have.";
    VALID_SMEM_OVERFLOW = "valid::smem_overflow": "Prefetched tables, blocks in scalar memory (times their buffers) and scratch do not fit the core's scalar memory of 1 MiB. Keep large tables in HBM.";
    VALID_SMEM_TYPE = "valid::smem_type": "Scalar memory holds 32-bit elements. Convert the table or array to `i32` or `f32` first.";
    VALID_UNSUPPORTED_MATMUL = "valid::unsupported_matmul": "The matrix unit of this TPU generation does not multiply these element types. The message says which it does; `int8`, for one, is there on v5e, v5p and v6e alone.";
    VALID_UNSUPPORTED_MXU = "valid::unsupported_mxu": "The matrix units of this TPU generation keep no sums of their own, so that a kernel cannot control them step by step. `dot` is there on all.";
    VALID_MXU = "valid::mxu": "Explicit control of a matrix unit breaks one of its rules: operands as wide as the unit, registers and rows that it has, 8-bit or bf16 floats, and no `dot` in the same kernel.";
    VALID_UNSUPPORTED_DTYPE = "valid::unsupported_dtype": "TPUs do not compute in `f16`. `bf16` has the same size and the range of `f32`.";
    VALID_UNSUPPORTED_BUFFERING = "valid::unsupported_buffering": "The pipeline that libtpu makes of a grid keeps one or two buffers per block.";
    VALID_SPARSE_KERNEL = "valid::sparse_kernel": "A SparseCore kernel has the cores and the subcores of a core as its two grid axes (one of the scalar subcores has the cores alone), of known extents; its arrays stay in HBM and have no blocks; a scalar subcore has no memory for tiles. Memory that subcores share, and axes of subcores, belong to SparseCore kernels alone.";
    VALID_SPARSE_OP = "valid::sparse_op": "The op does not exist on the core that the kernel runs on: scans, sorts, loads and stores by indices, indirect copies and barriers are of SparseCores; matrix products and the random number generator of TensorCores.";
    VALID_SPARSE_TRANSFER = "valid::sparse_transfer": "SparseCores do not make this copy. A vector subcore copies between HBM, Spmem and its own memory, the scalar subcore between HBM, Spmem and SMEM. An indirect copy moves whole rows, between a table in HBM or Spmem and a vector subcore's own memory, and adds to Spmem and to its own memory, never to HBM.";
    VALID_UNSUPPORTED_SPARSE_CORE = "valid::unsupported_sparse_core": "The chip has no SparseCore that libtpu compiles for: v5e has none, and those of v4 take no kernels. v5p, v6e and tpu7x do.";
    VALID_SPARSE_GRID = "valid::sparse_grid": "The grid asks for more SparseCores, or more subcores of one, than the chip has.";
    VALID_SPARSE_MEMORY = "valid::sparse_memory": "The scratch of a SparseCore kernel does not fit. TileSpmem is taken out of the core's Spmem: 16 times a subcore's scratch and the shared scratch fit together. SMEM is a few thousand words.";
    VALID_SPARSE_REGISTER = "valid::sparse_register": "A tile of a SparseCore kernel is a register: one axis of as many 32-bit elements as the chip has lanes (8 on v5p and v6e, 16 on tpu7x), or a single element.";
    VALID_SPARSE_ALIGNMENT = "valid::sparse_alignment": "SparseCores copy in pieces of 8 words (32 bytes). Along the last axis a copy starts at a multiple of that, known or promised, and takes a multiple of it or the whole axis. libtpu compiles others, with a trap.";
    VALID_SPARSE_WIDTH = "valid::sparse_width": "Rows that an indirect copy moves are a multiple of 4 words (16 bytes) wide. Pad the table.";
    VALID_SPARSE_TENSOR = "valid::sparse_tensor": "An array of a SparseCore kernel takes at most 16 GiB. Split the table by rows, and give each part its own parameter or call.";
    // valid: warnings.
    VALID_SPARSE_IDS = "valid::sparse_ids": "Lists of more than 128 ids compile to one stream instruction, but no list longer than that is documented to be safe.";
    VALID_SPARSE_RELAYOUT = "valid::sparse_relayout": "SparseCores read arrays in another layout than XLA keeps them in, unless rows are 128 elements of 32 bits. XLA then rewrites the whole array at every call, and what is written back as well. View the array as rows of 128 words: `[n / 128, 128]` of `i32` or `f32`.";
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
    TRACE_HIDDEN_STATE = "trace::hidden_state": "A value changes where no loop or branch sees it: behind a `Cell`, in a `static`, through a reference that a pattern binds. A body is traced once, so the kernel would use the value of the first turn, or of the arm that was traced last, for good. Keep it in a `let mut` variable, or one bound by `let x = &mut ..`, that the loop or `if` names: it is then carried. It is found by running the body again, so the body must also trace the same each time.";
    TRACE_MESH = "trace::mesh": "A kernel asks for its device, or for another one, but declares no mesh of devices: `#[tpu_kernel(mesh(ring = n))]`.";
    TRACE_COPY_LOST = "trace::copy_lost": "A copy is started, and the `Pending` that stands for it is dropped without a wait. Its buffer would belong to nobody. Wait for each copy once, at the latest at the end of the body.";
    TRACE_COPY_REGION = "trace::copy_region": "A copy is started outside of a branch or loop and waited for inside. Both arms of a branch are traced, so rustc sees a wait; on a chip the other arm would leave the copy in flight, and a loop would wait once a turn. Wait in the region where the copy was started, or start it with `start_if`.";
    TRACE_PIPELINE = "trace::pipeline": "A pipeline cannot walk over its arrays as it is told: its extents and the sizes and indices of its blocks do not fit an array, or a block of an output is left and visited again later. Blocks divide their arrays; steps that write one block are consecutive.";
    // target: chip tables.
    TARGET_UNKNOWN = "target::unknown": "No target has this name. A target is a TPU generation, or `generic` for the interpreter and StableHLO; the message lists the names.";
    // stablehlo: kernels as plain StableHLO.
    STABLEHLO_UNSUPPORTED = "stablehlo::unsupported": "StableHLO has no way to say this. SparseCore kernels run on the interpreter and on chips; `print` and `assert` need the interpreter; the condition of a `while` may not store to memory.";
    // run: the registry, and what kernels are run with.
    RUN_REGISTRY = "run::registry": "The table of kernels contradicts itself: two kernels or specs of one name, or a spec that does not say how to build, feed or check its kernel. It is a mistake in the crate that owns the table.";
    RUN_INPUT_FILE = "run::input_file": "A file of inputs cannot be read: it does not exist, may not be opened, is truncated, or is no safetensors file.";
    RUN_INPUT_MISMATCH = "run::input_mismatch": "A file of inputs does not fit the kernel. Every input parameter needs a tensor of its name, element type and shape; nothing is converted or reshaped silently.";
    RUN_INPUT = "run::input": "The arrays a kernel was called with do not fit it: their number, or the element type or shape of one. Nothing is converted or reshaped silently.";
    RUN_DEVICE = "run::device": "A PJRT plugin is missing, or refused to compile or run a program. The message is the plugin's own; `./x setup` gets the plugins for the CPU.";
    RUN_OUTPUT_FILE = "run::output_file": "The outputs could not be written to the file asked for.";
    RUN_WRONG_RESULT = "run::wrong_result": "A kernel's result differs from its reference by more than the spec tolerates. The message names the first such element; `run --on interp` and `run --on xla-cpu` tell whether the kernel or a back end is at fault.";
    // tensor: ops on tensors.
    TENSOR_SHAPE = "tensor::shape": "An op was given tensors whose shapes do not fit it, or an axis that a tensor does not have. Shapes broadcast as in NumPy: axes are paired from the last one, and sizes must be equal, or 1 to be repeated. The result of the op remembers the error, and whatever reads elements of it, or of what was computed from it, tells it.";
    TENSOR_DTYPE = "tensor::dtype": "An op was given elements of a type that it is not defined on, or of two types. Element types never convert silently: use `.cast::<T>()`.";
    TENSOR_ARGUMENT = "tensor::argument": "An op was given an attribute that makes no sense: an axis twice, an empty range, a permutation that is none.";
    TENSOR_INDEX = "tensor::index": "An index is outside of its axis. In debug mode the op is an error; elsewhere nobody looks at the indices, and the op does what its documentation says for such: `take` and `take_at` give NaN (for integers the smallest value, or the largest of an unsigned type), `put_at` and `add_at` leave the element out, `dynamic_slice` moves the slice so that it fits.";
    TENSOR_DEVICE = "tensor::device": "An op was given tensors on different devices. An op runs where its operands are; move one of them first.";
    TENSOR_DONATED = "tensor::donated": "A tensor was used after it had been given to an op that reused its memory. Clone the tensor before it is given away: clones share the elements, and an op does not reuse memory that a clone needs.";
    TENSOR_TRACED = "tensor::traced": "The elements of a tensor were asked for while the program that computes it is being traced, or one of its values outlived the tracing. A traced tensor stands for a value of the program, and has no elements: return it from the traced function.";
    TENSOR_PROGRAM = "tensor::program": "A program of tensor ops contradicts itself. It is a mistake in this library: please report it with the program.";
    TENSOR_MESH = "tensor::mesh": "A mesh, or a tensor on one, was asked for what it cannot give: a mesh whose size is not the number of its devices, an axis that it does not have, an axis of a tensor that cannot be split evenly, or a collective outside of `shard_map`, where no device is alone. The message names the axis and the numbers.";
    TENSOR_BOUNDED = "tensor::bounded": "A function with bounded dims was called with a size beyond its bound, with two sizes for one dim, or cannot be compiled for every size up to the bound: an op in it is not told what padding does to it, or it does something else for another size. Raise the bound, or do what the message says; a kernel is told by `KernelOp::rowwise` or `KernelOp::masked`.";
    TENSOR_GRADIENT = "tensor::gradient": "A gradient was asked for through an op that has none. Round what needs no gradient out of the differentiated function, or give the op one: `custom_vjp`.";
    TENSOR_GRADIENT_WRONG = "tensor::gradient_wrong": "`check_gradient` moved an element up and down, and the function did not change as its gradient says. If the two numbers are close, the function's own rounding may be the cause: take a larger step and tolerance, or arguments away from kinks. Else a `vjp` is wrong.";
    TENSOR_CONTROL = "tensor::control": "A branch or loop of tensors does not keep its types: the functions of `cond` give the same types, the body of a loop gives those of the state that it carries, and conditions are scalars of `bool`. The functions are traced once, so nothing in them may change what is no tensor.";
    // cache: results on disk.
    CACHE_DAMAGED = "cache::damaged": "Entries of a cache on disk were not what had been stored there: the disk, a copy or an editor changed them. They were removed, and their results are made anew. If it happens again, check the disk.";
    CACHE_UNUSABLE = "cache::unusable": "A cache on disk could not be read or written. Nothing is lost but time: what it would have held is made anew. The message names the path and the reason; the variable SYSTOLE_CACHE_DIR says where caches are, and SYSTOLE_CACHE_LIMIT how large each may grow.";
    // cli: what the command line asks for.
    CLI_USAGE = "cli::usage": "The command line cannot be read: an unknown command or option, or a value that is missing or none of those allowed. `--help` after any command lists what it takes.";
    CLI_SPEC_CONFLICT = "cli::spec_conflict": "A name as KERNEL/SPEC and the option `--spec` say different specs, and a kernel runs with one. Write one of them.";
    CLI_SAME_FILE = "cli::same_file": "The outputs would be written over the file of inputs, which may be the only copy. Both paths lead to one file, perhaps through a link. Give another `--output`.";
    CLI_UNKNOWN_KERNEL = "cli::unknown_kernel": "The registry has no kernel of this name. `list` shows all kernels and their specs.";
    CLI_UNKNOWN_SPEC = "cli::unknown_spec": "The kernel has no spec of this name. A spec's name says shape, element type and options, such as `bf16_1024x1024x1024`; `list KERNEL` shows all.";
    CLI_NO_TPU = "cli::no_tpu": "The command compiles with libtpu, so its targets are TPU generations. `generic` stands for the interpreter and for StableHLO on any device.";
    CLI_MISSING_FEATURE = "cli::missing_feature": "This build of the tool was made without the feature `mlir`, which the command needs. Build it with default features; `./x setup` installs LLVM 22.";
    CLI_UNKNOWN_CODE = "cli::unknown_code": "There is no diagnostic code of this name. `explain` without a code lists all.";
    // interp: what the interpreter finds while a kernel runs.
    INTERP_INPUT = "interp::input": "The call does not fit the kernel: too many or too few arrays, or one of another element type or shape than its parameter, or a grid extent that is not positive. Nothing is converted or reshaped silently.";
    INTERP_OUT_OF_BOUNDS = "interp::out_of_bounds": "A load or store with an index computed at run time touches elements outside its reference, or what `take_along_axis` takes from outside of its tile reaches a result. On a chip it would read or overwrite other memory, without a word. The message names the range and the size.";
    INTERP_BLOCK_OUT_OF_RANGE = "interp::block_out_of_range": "An index map names a block that starts before or after its array. A block may reach over the end (the rest is padding), but must start inside. Usually the grid has too many steps, or a block number was given where elements were meant.";
    INTERP_MISALIGNED = "interp::misaligned": "An index breaks the promise of `multiple_of`, by which the compiler chose aligned accesses: on a chip other elements would be touched.";
    INTERP_UNINITIALIZED = "interp::uninitialized": "Elements that nobody wrote (of scratch, of an output block, or left out by a load's mask) reach a result, a branch, an index, a print or an assertion. Scratch starts undefined and does not outlive a step of a `parallel` axis; an output block starts undefined at each visit.";
    INTERP_PADDING = "interp::padding": "Elements beyond the end of an array reach a result. A block that reaches over the end has undefined elements there: before a reduction or a product combines them with others, replace them with `select` and a mask made of `iota` and the array's size.";
    INTERP_RACE = "interp::race": "Two grid steps that differ in a `parallel` axis write the same output elements, or two devices or cores touch the same memory, one of them writing, and no signal or copy that one waits for puts them in an order. Such steps may run at the same time on different cores, so one of the results is lost. Let the block's index depend on every `parallel` axis, or declare the axis `arbitrary`.";
    INTERP_OUTPUT_REVISITED = "interp::output_revisited": "An output block was left, which wrote it back, and is visited again later. The second visit does not see what the first stored and overwrites it. All steps of one output block must follow each other: the grid axis that the block's index does not depend on goes last.";
    INTERP_OUTPUT_NEVER_WRITTEN = "interp::output_never_written": "Elements of an output array are stored by no grid step, so the caller would get garbage. Either the grid does not visit their block, or the visit does not store the whole block.";
    INTERP_OUT_OF_FUEL = "interp::out_of_fuel": "A loop did more work in one grid step than the interpreter's options allow: most likely its condition never becomes false. On a chip the kernel would hang. If the loop is only long, raise `Options::fuel`.";
    INTERP_MEMORY = "interp::memory": "The arrays, blocks and tiles of a kernel take more memory than the interpreter may: half of what the machine has free, or `Options::memory_bytes`. It is counted before the kernel runs. The notes list what takes how much; smaller blocks help, since a chip's VMEM would not hold such blocks either.";
    INTERP_LOOP_STEP = "interp::loop_step": "A `for` runs with a step that is zero or negative: on a chip it would never end.";
    INTERP_IN_FLIGHT = "interp::in_flight": "Memory is touched while a copy is in flight: its target is read or written, or its source is written. The copy may have moved all, a part or nothing by then. It is known to be done once waits have taken all bytes off its semaphore that copies on it bring; of two copies on one semaphore neither is, before both are waited for.";
    INTERP_NEVER_WAITED = "interp::never_waited": "A copy is still in flight when the kernel ends, or the step does and the next one differs in a `parallel` axis. Its buffers then belong to somebody else. Wait for each copy once.";
    INTERP_DEADLOCK = "interp::deadlock": "A wait that nothing can end: no copy in flight and no signal will bring the semaphore to what is waited for. A copy was waited for twice, or before it was started, or in another size; or a signal is missing. On a chip the kernel would hang.";
    INTERP_SEMAPHORE_LEFT = "interp::semaphore_left": "A semaphore is not zero when the kernel ends, or the step does and the next one differs in a `parallel` axis. Whatever runs next would find it signalled already. Wait for as much as is signalled.";
    INTERP_NOT_BEGUN = "interp::not_begun": "A copy or signal to another device that may not have begun the kernel yet: its memory and semaphores may still belong to what it ran before. Devices first meet at the barrier semaphore, which may be signalled at any time: call `barrier` with all devices that will be copied or signalled to.";
    INTERP_NO_PEER = "interp::no_peer": "A copy or signal addresses a device or core that does not exist: a number outside of the kernel's mesh. On a chip it would go to whatever is there, or hang.";
    INTERP_SCHEDULE = "interp::schedule": "Two schedules of the same devices gave different results, although no access races with another: something depends on the value of a semaphore at some time, or on the order in which several copies add to one place by more than its rounding.";
    INTERP_NEGATIVE_SIGNAL = "interp::negative_signal": "A signal or wait by a negative number.";
    INTERP_COPY_OVERLAP = "interp::copy_overlap": "The source and the target of a copy share elements. Copies move in no defined order, so what comes out is not defined.";
    INTERP_COPY_LENGTH = "interp::copy_length": "The length of a copy, computed at run time, is zero or negative, more than its buffer takes, or breaks the promise of `multiple_of`. Copies move at least one element.";
    INTERP_DUPLICATE_ROW = "interp::duplicate_row": "Elements that are stored at the same time go to one place: a scatter lists a row twice, or a store by indices has an index twice. Which of them stays is not defined. Combine them first, or add.";
    INTERP_BARRIER = "interp::barrier": "Subcores of a core come to different numbers of barriers: some wait at one while others have ended, or wait for something else. On a chip the core would hang. Every subcore passes every barrier: no barrier stands in a branch or loop that depends on the subcore.";
    INTERP_INDEX_OVERFLOW = "interp::index_overflow": "Index arithmetic left the range of 32 bits and wrapped around, and the result is used as an index, a bound or a block number. Divide before multiplying, or give the kernel a part of the array.";
    INTERP_UNSEEDED = "interp::unseeded": "Random bits were taken from the core's generator before it was seeded. What a chip gives then depends on what ran before; and steps of a `parallel` axis may run on cores of their own, so that each must seed for itself.";
    INTERP_MXU = "interp::mxu": "A matrix unit under explicit control was used out of turn: a register was staged twice or loaded while empty, sums were popped that are not there, or something was left in the unit at the end. libtpu compiles it all, and the chip gives wrong numbers or hangs.";
    INTERP_ASSERTION = "interp::assertion": "An assertion of the kernel failed.";
    INTERP_NON_FINITE = "interp::non_finite": "An op gave NaN or an infinity although its operands had none. Asked for by `Options::trap_non_finite`; the line named is where it began.";

    // pass: kernels made from kernels.
    PASS_PIN = "pass::pin": "A twin of the kernel with constant tables and extents was asked for, as cycle estimates need it, but the arrays do not fit: extents, tables and the other inputs of one call, in this order.";
    // mosaic: what the TPU compiler cannot do, found while a kernel is lowered.
    MOSAIC_UNSUPPORTED = "mosaic::unsupported": "The TPU compiler has no form of this op, element type or parameter on this target. The message names it and the help says what to write instead.";
    MOSAIC_INTERNAL = "mosaic::internal": "The MLIR module made for a valid kernel breaks a rule of MLIR. It is a mistake of the toolkit, not of the kernel: please report it with the output of `show --stage ir`.";
    // aot: what libtpu, or the worker process around it, did.
    AOT_REJECTED = "aot::rejected": "libtpu does not accept the program for this target. The message is libtpu's own; the lines are those of the operations that it names.";
    AOT_CRASHED = "aot::crashed": "libtpu aborted while it compiled the program. Nothing but its worker process is lost. It is a limit or a defect of libtpu: change the program, or try another version of libtpu.";
    AOT_TIMED_OUT = "aot::timed_out": "libtpu did not finish the program within the time limit and was killed. Compile a smaller size, or raise the limit.";
    AOT_UNAVAILABLE = "aot::unavailable": "The program was not compiled: libtpu is not installed (`./x setup` gets it), the worker process could not be started, or the target is no TPU. The message says which.";
    // import: Mosaic modules back to tile IR.
    IMPORT_FILE = "import::file": "The file to import cannot be read: it does not exist, or may not be opened.";
    IMPORT_SYNTAX = "import::syntax": "The file is damaged, or in a form that is not read. Mosaic modules are read in the generic text form, `\"stable_mosaic.arith.addf\"(%0, %1) ..`, and in bytecode; StableHLO modules in text, of which only the calls of kernels are looked at.";
    IMPORT_VERSION = "import::version": "The module is not in the stable form of Mosaic, or in a version of it that is not read. The stable form is what a `tpu_custom_call` carries; its ops are named `stable_mosaic.*` and its module has a `stable_mosaic.version`.";
    IMPORT_MODULE = "import::module": "The parts of the module do not fit together: its function, windows and index maps, or the operands and types of an op. The producer's own compiler would refuse it, too.";
    IMPORT_CALL = "import::call": "A `tpu_custom_call` does not hold a kernel that can be read, does not fit the kernel that it holds, or was given arrays that do not fit it.";
    IMPORT_UNSUPPORTED = "import::unsupported": "The module has an op, an attribute or a type that the tile IR cannot say. The message names it; nothing is left out in silence.";
    // kernel: arguments that a library of kernels refuses before anything is traced.
    KERNEL_ARGUMENT = "kernel::argument": "An argument of a kernel's builder makes no kernel: sizes that do not fit each other, an element type that the kernel does not have, or block sizes that cut nothing. The message names the numbers.";
    // embedding: ids and gradients of embedding lookups, prepared on the host.
    EMBEDDING_BAGS = "embedding::bags": "Bags of ids contradict themselves: offsets that fall, do not begin at 0 or do not end at the number of ids, a number of ids that is no multiple of the fixed bag length, or weights that are too few, not finite, or sum to nothing. The message names the bag.";
    EMBEDDING_ID_RANGE = "embedding::id_range": "An id names a row that the table does not have. Often ids begin at 1 instead of 0, or were hashed into another range. `OutOfRange::Clamp` takes the nearest row instead, `OutOfRange::Drop` leaves such ids out.";
    EMBEDDING_LIMIT = "embedding::limit": "A batch has more ids than the buffers or the limits that it is packed for, or a table has too few rows to pad with. The message has both numbers.";
}
