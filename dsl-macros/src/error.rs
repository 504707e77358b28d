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
        "unknown key `{key}`: expected `grid(..)`, `dims(..)`, `vmem_limit(..)` or `name = \"..\"`";
    later_key(key)
        "`{key}` is not supported yet: a kernel runs on one TensorCore";
    repeated_key(key)
        "`{key}` is given twice: write it once";
    unknown_semantics(name)
        "unknown semantics `{name}`: a grid axis is `parallel` or `arbitrary`";
    repeated_axis(name)
        "grid axis `{name}` is declared twice: give each axis its own name";
    expected_grid_axis()
        "expected a grid axis: `i`, `i: parallel` or `i: parallel = extent`";
    expected_dim()
        "expected a dimension: `n = expression`";
    expected_name()
        "expected `name = \"..\"`";
    expected_vmem_limit()
        "expected the limit in bytes: `vmem_limit(64 << 20)`";

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
        "what is `{name}`? Give it `#[block(..)]`, `#[scratch([..])]` or `#[comptime]`";
    parameter_with_two_roles(name)
        "`{name}` has two of `#[block]`, `#[scratch]` and `#[comptime]`: keep one";
    reference_without_block(name, ty)
        "`{name}: {ty}` needs `#[block(size: tile @ index, ..)]`, one entry per axis of the array";
    scratch_without_shape(name, ty)
        "`{name}: {ty}` needs its shape: `#[scratch([rows, columns])]`";
    block_type(name)
        "`#[block]` goes with `In<T>`, `Out<T>` or `InOut<T>`; `{name}` is none of them";
    scratch_type(name)
        "`#[scratch]` goes with `Vmem<T>` or `Smem<T>`; `{name}` is neither";
    comptime_type(name, ty)
        "`{name}: {ty}` is memory of the kernel, not a `#[comptime]` value: give it `#[block(..)]` or `#[scratch([..])]`";
    later_type(ty)
        "`{ty}` is not supported yet: use `In`, `Out`, `InOut`, `Vmem` or `Smem`";
    later_attribute(name)
        "`#[{name}]` is not supported yet";
    unknown_attribute(name)
        "unknown attribute `#[{name}]`: a parameter takes `#[block]`, `#[scratch]`, `#[comptime]`, `#[buffered]` and `#[streams]`";
    attribute_needs_block(name)
        "`#[{name}]` goes with `#[block]`: it says how the block is fetched";
    comptime_lifetime()
        "a `#[comptime]` reference needs a lifetime: write `&'static` or a lifetime parameter";
    name_taken(name)
        "the name `{name}` is used twice: parameters, dimensions and grid axes need different names";
    axis_is_dimension(name)
        "grid axis `{name}` has the same name as a dimension: rename one of them";

    // Blocks.
    empty_block()
        "an array has at least one axis: `#[block(size: tile @ index, ..)]`";
    expected_block_axis()
        "expected an axis: `size: tile @ index`, `size: squeezed @ index` or `size`";
    block_without_index(dim)
        "which block of `{dim}`? Write `{dim}: tile @ index`, or `{dim}` alone for the whole axis";
    block_without_size(dim)
        "how large is a block of `{dim}`? Write `{dim}: tile @ index` or `{dim}: squeezed @ index`";
    whole_with_index(dim)
        "`{dim}: ..` is the whole axis and takes no index: drop the `@`";
    element_block()
        "`element` offsets are not supported yet: use blocks, `size: tile @ index`, or slice in the body";
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
    unroll_argument()
        "`#[unroll]` takes no arguments";
    comptime_argument()
        "`comptime!(..)` takes one expression";

    // Derive.
    carried_union()
        "`Carried` cannot be derived for a union";
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
