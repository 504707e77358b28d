//! A kernel may be called like anything of the DSL, Rust's prelude or the macro: it hides no type.
#![deny(warnings)]
use systole::prelude::*;

#[tpu_kernel]
fn vmem(#[block(m)] a: In<f32>, #[block(m)] o: Out<f32>, #[scratch([m])] s: Vmem<f32>) {
    s[..] = a[..];
    o[..] = s[..];
}

#[tpu_kernel]
fn tile(#[comptime] f: impl Fn(Tile<f32>) -> Tile<f32> + Clone, #[block(m)] o: InOut<f32>) {
    o[..] = f(o[..]);
}

#[tpu_kernel(grid(i))]
fn scalar<T: Float>(#[block(m: 8 @ i)] a: In<T>, #[block(m: 8 @ i)] o: Out<T>) {
    let n: Scalar<i32> = i + 1;
    o[..] = a[..] * n.cast::<T>();
}

#[tpu_kernel]
fn r#in(#[comptime] n: Option<usize>, #[block(m)] a: In<f32>, #[block(m)] o: Out<f32>) {
    let clone = || vec![a[..]];
    o[..] = clone().pop().unwrap_or(a[..]) * n.unwrap_or(2) as f32;
}

macro_rules! named {
    ($($name:ident)*) => {$(
        #[tpu_kernel]
        fn $name(#[comptime] x: Option<String>, #[block(m)] a: In<f32>, #[block(m)] o: Out<f32>) {
            let first: Tile<f32> = a[..];
            let mut y = first;
            for _ in 0..x.map_or(1, |x: String| x.len()) {
                y = y + 1.0;
            }
            o[..] = y;
        }
    )*};
}
named!(out in_out smem float int element arg_spec carried option string result vec r#box clone);
named!(copy iterator into_iterator phantom_data launch kernel kernel_fn _0);

fn main() {
    let specs = [ArgSpec::of::<f32>(&[128])];
    let _ = (vmem().trace(&specs), tile(|x| x).trace(&specs), scalar::<f32>().trace(&specs));
    let _ = (r#in(None).trace(&specs), r#box(None).trace(&specs));
    let _ = (out(None), in_out(None), smem(None), float(None), int(None), element(None));
    let _ = (arg_spec(None), carried(None), option(None), string(None), result(None), vec(None));
    let _ = (clone(None), copy(None), iterator(None), into_iterator(None), phantom_data(None));
    let _ = (launch(None), kernel(None), kernel_fn(None), _0(None));
}
