//! The `#[tpu_kernel]`, `#[tpu_fn]` and `#[derive(Carried)]` macros of Systole.
//!
//! A kernel is traced: its body is ordinary Rust that runs once, with handles instead of data.
//! The macros rewrite only what Rust has no hook for (control flow, comparisons, stores), and write
//! the launcher. Names, types, traits, closures and borrows are left to rustc.
//!
//! Stages: `parse` (what was written), `check` (what its parts must agree on), `expand`. Errors
//! gather in `error::Errors` and are all shown, on the user's tokens.

mod check;
mod error;
mod expand;
mod free;
mod parse;

#[cfg(test)]
mod tests;

/// Makes a function a TPU kernel.
///
/// ```text
/// #[tpu_kernel(grid(i: parallel, j: parallel, l: arbitrary))]
/// pub fn matmul<T: Float>(
///     #[comptime] t: Tiles,
///     #[comptime] epilogue: impl Fn(Tile<f32>) -> Tile<f32> + Clone,
///     #[block(m: t.m @ i, k: t.k @ l)] a: In<T>,
///     #[block(k: t.k @ l, n: t.n @ j)] b: In<T>,
///     #[block(m: t.m @ i, n: t.n @ j)] c: Out<T>,
///     #[scratch([t.m, t.n])] acc: Vmem<f32>,
/// ) {
///     if l == 0 { acc[..] = 0.0; }
///     acc[..] += dot(a[..], b[..]);
///     if l == l.last() { c[..] = epilogue(acc[..]).cast(); }
/// }
/// ```
///
/// # Arguments
/// * `grid(i: parallel, j: arbitrary = extent)`: the grid axes, outermost first. An extent that
///   is not given follows from the blocks that move along the axis. Axes are `arbitrary` (in order)
///   if not said otherwise.
/// * `dims(n = expression)`: sizes of dimensions that no input has.
/// * `vmem_limit(bytes)`: the scoped VMEM limit.
/// * `name = ".."`: the kernel's name, if not that of the function.
///
/// # Parameters
/// * `#[comptime] x: T`: a host value of any `Clone` type.
/// * `#[block(size: tile @ index, ..)] x: In<T>`, `Out<T>` or `InOut<T>`: an array, and the block of
///   it that a grid step sees. One entry per axis: `size: tile @ index` in blocks, `size: squeezed @
///   index` one index without the axis, `size` the whole axis. `#[buffered(n)]` and
///   `#[streams(axis: n)]` say how the block is fetched.
/// * `#[scratch(shape)] x: Vmem<T>` or `Smem<T>`: scratch.
///
/// # Body
/// * `if` on a `Scalar<bool>` is a branch of the kernel, on a `bool` one that is decided while
///   tracing; so is `if comptime!(..)`.
/// * `for i in a..b` and `(a..b).step_by(k)` are loops of the kernel. `#[unroll] for` and every
///   other iterator run while tracing.
/// * `while` is a loop of the kernel if its condition is a `Scalar<bool>`.
#[proc_macro_attribute]
pub fn tpu_kernel(
    attr: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    expand::expand_kernel(attr.into(), item.into()).into()
}

/// Lets a function that kernels call use `if`, `for`, `while`, comparisons and stores as a kernel's
/// body does. Without it, a function can still use operators, methods and reads.
#[proc_macro_attribute]
pub fn tpu_fn(
    attr: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    expand::expand_fn(attr.into(), item.into()).into()
}

/// Lets device loops and branches carry values of a struct or enum made of tiles and scalars.
#[proc_macro_derive(Carried)]
pub fn carried(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand::expand_carried(item.into()).into()
}
