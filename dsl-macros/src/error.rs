//! The table of messages, and the list that gathers errors.
//!
//! Each message says what is wrong and what to write instead. Each row has a case of its name in
//! `tests/ui/fail`, which a test checks. What rustc reports better is not reported here.

use proc_macro2::TokenStream;
use quote::ToTokens;

macro_rules! messages {
    ($($name:ident($($arg:ident),*) $text:literal;)*) => {
        $(pub(crate) fn $name($($arg: &dyn std::fmt::Display),*) -> String {
            format!($text)
        })*

        /// The name of every message.
        #[cfg(test)]
        #[allow(dead_code, reason = "the test of the table reads it")]
        pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

messages! {
    // The attribute of the kernel.
    unknown_key(key)
        "unknown key `{key}`: expected `grid(..)`, `core(..)`, `mesh(..)`, `dims(..)`, `vmem_limit(..)`, `side_effects(..)`, `bounds_checks(..)`, `cost(..)` or `name = \"..\"`";
    expected_core()
        "expected what runs the kernel: `core(sparse)`, the vector subcores of SparseCores, or `core(sparse_scalar)`, their scalar subcores; a kernel without `core(..)` runs on a TensorCore";
    sparse_grid(form)
        "the grid of this kernel is the hardware that runs it: write `{form}`, with loops in the body";
    sparse_semantics(name)
        "all steps of `{name}` run at once, each on hardware of its own: drop what stands after the colon";
    repeated_key(key)
        "`{key}` is given twice: write it once";
    unknown_semantics(name)
        "unknown semantics `{name}`: a grid axis is `parallel`, `arbitrary` or `core_parallel`";
    repeated_axis(name)
        "grid axis `{name}` is declared twice: give each axis its own name";
    expected_grid_axis()
        "expected a grid axis: `i`, `i: parallel` or `i: parallel = extent`";
    expected_mesh_axis()
        "expected an axis of the mesh of devices and its size: `mesh(ring = n)`";
    repeated_mesh_axis(name)
        "mesh axis `{name}` is declared twice: give each axis its own name";
    expected_dim()
        "expected a dimension: `n = expression`";
    expected_name()
        "expected `name = \"..\"`";
    expected_vmem_limit()
        "expected the limit in bytes: `vmem_limit(64 << 20)`";

    expected_side_effects()
        "expected `side_effects(dataflow)`, which keeps the order of calls, or `side_effects(always)`, which keeps the call itself";
    expected_bounds_checks()
        "expected `bounds_checks(off)`: the chip then does not check where copies go";
    expected_cost()
        "expected what a call costs: `cost(flops = n, transcendentals = n, bytes = n)`, each at most once";

    // The function.
    kernel_qualifier(what)
        "a kernel cannot be `{what}`: write a plain `fn`";
    kernel_method()
        "a kernel cannot be a method: write a free `fn` and take `self`'s parts as `#[comptime]` parameters";
    kernel_result()
        "a kernel returns nothing: write results to an `Out<T>` parameter";
    kernel_without_output()
        "a kernel needs an output: declare a parameter `#[block(..)] x: Out<T>` or `InOut<T>`";
    not_a_function()
        "expected a function: `#[tpu_kernel]` and `#[tpu_fn]` stand before `fn`";
    function_argument()
        "`#[tpu_fn]` takes no arguments";

    // Parameters.
    parameter_pattern()
        "a parameter of a kernel is a plain name: take it apart in the body";
    parameter_without_role(name)
        "what is `{name}`? Give it `#[block(..)]`, `#[prefetch]`, `#[scratch([..])]`, `#[extent]` or `#[comptime]`";
    parameter_with_two_roles(name)
        "`{name}` has two of `#[block]`, `#[prefetch]`, `#[scratch]`, `#[extent]` and `#[comptime]`: keep one";
    reference_without_block(name, ty)
        "`{name}: {ty}` needs `#[block(size: tile @ index, ..)]`, one entry per axis of the array";
    scratch_without_shape(name, ty)
        "`{name}: {ty}` needs its shape, `#[scratch([rows, columns])]`, or `#[prefetch]` if it is a table that the call gives";
    block_type(name)
        "`#[block]` goes with `In<T>`, `Out<T>` or `InOut<T>`, in scalar memory `SmemIn<T>`, `SmemOut<T>` or `SmemInOut<T>`, or one of `Hbm<T>`, `HbmOut<T>` and `HbmInOut<T>`; `{name}` is none of them";
    scratch_type(name)
        "`#[scratch]` goes with `Vmem<T>`, `Smem<T>`, `Spmem<T>`, `Buffers<T, N>`, `Permits<N>`, `Semaphore` or `DmaSemaphore`; `{name}` is none of them";
    comptime_type(name, ty)
        "`{name}: {ty}` is memory of the kernel, not a `#[comptime]` value: give it `#[block(..)]` or `#[scratch([..])]`";
    unknown_attribute(name)
        "unknown attribute `#[{name}]`: a parameter takes `#[block]`, `#[prefetch]`, `#[scratch]`, `#[extent]`, `#[comptime]`, `#[buffered]`, `#[streams]` and `#[pinned]`";
    attribute_needs_block(name)
        "`#[{name}]` goes with `#[block]`: it says where the array lies or how the block is fetched";
    prefetch_type(name)
        "`#[prefetch]` goes with `Smem<T>`: `{name}` is a small table that is read into SMEM before the first step";
    expected_table_axis()
        "expected the names of the table's axes: `#[prefetch(batch, pages)]`, or `#[prefetch]` for one axis; a table is there as a whole";
    expected_pin()
        "expected where the array lies around the call: `#[pinned(hbm)]` or `#[pinned(vmem)]`";
    extent_type(name)
        "`#[extent]` goes with `Scalar<i32>`: `{name}` is known only when the kernel is called";
    extent_argument()
        "`#[extent]` takes no arguments: the axis is named in the grid, `grid(i = n)`";
    extent_unused(name)
        "no grid axis has the extent `{name}`: write `grid(i = {name})`, or pass the number in a `#[prefetch]` table";
    extent_twice(name)
        "two grid axes have the extent `{name}`: give each its own `#[extent]` parameter";
    extent_expression(name)
        "the extent of this axis computes with `{name}`, which is known only when the kernel is called: write `= {name}` and let the caller compute";
    leading_parameter(name, kind, other)
        "`{name}` stands after `{other}`: {kind} come first, in the call as well; extents before tables, tables before arrays";
    comptime_lifetime()
        "a `#[comptime]` reference needs a lifetime: write `&'static` or a lifetime parameter";
    name_taken(name)
        "the name `{name}` is used twice: parameters, dimensions and grid axes need different names";
    axis_is_mesh_axis(name)
        "mesh axis `{name}` has the same name as a parameter, dimension or grid axis: rename one of them";
    axis_is_dimension(name)
        "grid axis `{name}` has the same name as a dimension: rename one of them";

    // Blocks.
    far_block(dim)
        "an array in HBM has no blocks: write `{dim}` alone, and copy the part you need in the body";
    far_attribute()
        "an array in HBM has no blocks: how parts of it are fetched is written in the body";
    scalar_streams()
        "a block in scalar memory is fetched by one copy: drop `#[streams]`";
    empty_block()
        "an array has at least one axis: `#[block(size: tile @ index, ..)]`";
    expected_block_axis()
        "expected an axis: `size: tile @ index`, `size: squeezed @ index`, `size: element(n) @ offset` or `size`";
    block_without_index(dim)
        "which block of `{dim}`? Write `{dim}: tile @ index`, or `{dim}` alone for the whole axis";
    block_without_size(dim)
        "how large is a block of `{dim}`? Write `{dim}: tile @ index` or `{dim}: squeezed @ index`";
    whole_with_index(dim)
        "`{dim}: ..` is the whole axis and takes no index: drop the `@`";
    element_block()
        "expected a window placed by elements: `size: element(n) @ offset`";
    unknown_dimension(name)
        "nothing gives dimension `{name}` its size: no input has it; add a `#[comptime] {name}: usize` parameter or `dims({name} = expression)`";
    repeated_dims_entry(name)
        "dimension `{name}` already has its size from an input: drop it from `dims(..)`";
    axis_without_extent(name)
        "nothing gives grid axis `{name}` its extent: use it as `size: tile @ {name}` in a block, or write `grid({name} = expression)`";
    expected_scratch_shape()
        "expected the shape of the scratch: `#[scratch([rows, columns])]`";
    expected_buffers()
        "expected the number of buffers: `#[buffered(2)]`";
    expected_streams()
        "expected the axis and the number of copies: `#[streams(k: 4)]`";
    streams_axis(name)
        "`{name}` is not an axis of this block";

    // Bodies.
    leaves_device_loop(what)
        "`{what}` leaves a device loop, which is traced once: write `#[unroll] for ..` to run the loop while tracing";
    deferred_init(name)
        "`{name}` gets its first value inside an `if`, both arms of which may be traced: write `let {name} = if ..`";
    conditional_variable(name)
        "whether this `{name}` hides the one before is not known when control flow is lowered: give it another name, or write `if cfg!(..)`";
    unroll_argument()
        "`#[unroll]` takes no arguments";
    comptime_argument()
        "`comptime!(..)` takes one expression";

    // Derive.
    carried_union()
        "`Carried` cannot be derived for a union";
    tree_union()
        "`Tree` cannot be derived for a union";
    tree_attribute()
        "`#[tree(static)]` stands on a field that is no tensor; there is no other `#[tree(..)]`";
}

/// Errors, gathered so that the user sees all of them.
#[derive(Default)]
pub(crate) struct Errors {
    errors: Vec<syn::Error>,
}

impl Errors {
    /// Adds an error on tokens.
    pub(crate) fn push(&mut self, tokens: &dyn ToTokens, message: String) {
        // An empty stream has no span of its own.
        self.errors.push(syn::Error::new_spanned(tokens.to_token_stream(), message));
    }

    /// Adds an error that syn found.
    pub(crate) fn push_syn(&mut self, error: syn::Error) {
        self.errors.push(error);
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// `compile_error!` for each.
    pub(crate) fn into_tokens(self) -> TokenStream {
        self.errors.iter().map(syn::Error::to_compile_error).collect()
    }
}
