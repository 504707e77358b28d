//! The `#[tpu_kernel]`, `#[tpu_fn]`, `#[derive(Carried)]` and `#[derive(Tree)]` macros of Systole.
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
///   Steps along a `core_parallel` axis run on a core each, all at the same time.
/// * `mesh(ring = n)`: the devices that run the kernel together, by axes of a mesh, outermost first.
///   In the body `ring.index()` is where this device is, `ring.next()` a neighbour to copy to.
/// * `core(sparse)`: the kernel runs on the vector subcores of SparseCores, `core(sparse_scalar)` on
///   their scalar subcores. The grid is then `grid(c = cores, s = subcores)`, or the cores alone: all
///   steps run at once. Arrays stay in HBM, `Vmem` and `Buffers` are a subcore's own memory, `Spmem`
///   is shared by the subcores of a core.
/// * `dims(n = expression)`: sizes of dimensions that no input has.
/// * `vmem_limit(bytes)`: the scoped VMEM limit.
/// * `side_effects(dataflow)`: the call may be dropped with its outputs, but neither merged with
///   another nor moved; `side_effects(always)`: it stays even if nobody needs its outputs.
/// * `bounds_checks(off)`: the chip does not check that copies whose place is computed stay in their
///   arrays, some 10 cycles each. The interpreter checks all the same; on a chip such a copy then
///   reads or writes whatever lies there, so check ids before the call.
/// * `cost(flops = n, transcendentals = n, bytes = n)`: what a call costs, as the compiler that
///   schedules around it is told; what is left out is counted from the kernel.
/// * `name = ".."`: the kernel's name, if not that of the function.
///
/// # Parameters
/// * `#[comptime] x: T`: a host value of any `Clone` type; the body gets a clone. Values that are
///   equal, by `Eq` or as numbers by their bits, and closures of one type that capture nothing, must
///   make the same kernel: it is traced once for them.
/// * `#[extent] n: Scalar<i32>`: a grid extent that the call gives, as `grid(i = n)` says; an `i32`
///   array without axes, at least 1.
/// * `#[prefetch] ids: Smem<T>`, `#[prefetch(rows, columns)] ids: Smem<T>`: a table that is read
///   into scalar memory before the first step. The indices of blocks may read it, and the body.
/// * `#[block(size: tile @ index, ..)] x: In<T>`, `Out<T>` or `InOut<T>`: an array, and the block of
///   it that a grid step sees. One entry per axis: `size: tile @ index` in blocks, `size: squeezed @
///   index` one index without the axis, `size: element(n) @ offset` a window of `n` elements from
///   any element (then every other axis is whole, squeezed or such a window), `size` the whole
///   axis. An index computes with the indices of the grid, `i.last()`, `i.extent()`, tables and
///   extents. `#[buffered(n)]` and `#[streams(axis: n)]` say how the block is fetched,
///   `#[pinned(hbm)]` and `#[pinned(vmem)]` where the array lies around the call.
/// * `#[block(..)] x: SmemIn<T>`, `SmemOut<T>` or `SmemInOut<T>`: the same with the block in scalar
///   memory, of 32-bit elements: `x[i]` is a scalar. For rates and scales that a kernel reads, and
///   sums and counts that it gives.
/// * `#[block(size, ..)] x: Hbm<T>`, `HbmOut<T>` or `HbmInOut<T>`: an array that stays in HBM, where
///   copies reach it.
/// * `#[scratch(shape)] x: Vmem<T>`, `Smem<T>` or `Spmem<T>`: scratch. `Buffers<T, N>` is a ring of `N` buffers of
///   this shape, for copies.
/// * `#[scratch] x: Permits<N>`: counts copies between arrays in HBM. `#[scratch] x: Semaphore` and
///   `DmaSemaphore` are semaphores by hand, one, or as many as a shape says.
///
/// The call takes extents first, then tables, then arrays; they are declared in this order.
///
/// # Body
/// * `if` on a `Scalar<bool>` is a branch of the kernel, on a `bool` one that is decided while
///   tracing; so is `if comptime!(..)`.
/// * `for i in a..b` and `(a..b).step_by(k)` are loops of the kernel. `#[unroll] for` and every
///   other iterator run while tracing.
/// * `while` is a loop of the kernel if its condition is a `Scalar<bool>`.
/// * A body with branches or loops of the kernel is run a few times, to find state of the host that
///   changes where none of them sees it. It must trace the same each time.
///
/// # What it makes
/// `matmul::<bf16, _>(tiles, |x| x)` makes the kernel, a value with these methods:
/// * `call(a, b)` runs it: on host arrays in the interpreter, on tensors as an op. It gives one
///   result per `Out` and `InOut` parameter, of that parameter's element type.
/// * `with_vjp(f)` gives calls on tensors a gradient.
/// * `trace(&args)` gives the kernel's program for arguments of these types.
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

/// Lets `jit`, gradients and control flow take and give a struct or enum made of tensors.
///
/// Each field is a `Tree` itself; `#[tree(static)]` marks one that belongs to the program instead:
/// any `Clone + Hash` value, for another of which functions are compiled anew.
///
/// ```text
/// #[derive(Tree)]
/// struct Layer {
///     weight: Tensor<f32>,
///     bias: Option<Tensor<f32>>,
///     #[tree(static)]
///     activation: Activation,
/// }
/// ```
#[proc_macro_derive(Tree, attributes(tree))]
pub fn tree(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand::expand_tree(item.into()).into()
}
