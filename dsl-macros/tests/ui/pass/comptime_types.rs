//! Parameters of every kind: what borrows and what is generic cannot be a part of a key that is
//! kept, even where it has `Eq`.
use std::rc::Rc;
use systole::prelude::*;
use systole::run::Tensor;

#[tpu_kernel(grid(i))]
fn kernel<'a, M: Eq + Clone, const N: usize>(
    #[comptime] sizes: &'a [usize],
    #[comptime] generic: M,
    #[comptime] array: [usize; N],
    #[comptime] floats: &'static [f32],
    #[comptime] name: &'static str,
    #[comptime] shared: Rc<Vec<usize>>,
    #[comptime] function: fn(Tile<f32>) -> Tile<f32>,
    #[comptime] closure: Option<impl Fn(Tile<f32>) -> Tile<f32> + Clone>,
    #[block(m: sizes[0] @ i, n)] a: In<f32>,
    #[block(m: sizes[0] @ i, n)] o: Out<f32>,
) {
    let _used = (generic, array, name, shared);
    let tile = function(a[..]) * floats[0];
    o[..] = match closure {
        Some(closure) => closure(tile),
        None => tile,
    };
}

fn main() {
    let (sizes, word) = (vec![8], String::from("generic"));
    let shared = Rc::new(vec![1]);
    let add = |t: Tile<f32>| t + 1.0;
    let kernel = kernel(&sizes, word.as_str(), [1, 2], &[0.5], "name", shared, |t| t, Some(add));
    let _result = kernel.call(&Tensor::<f32>::ones([8, 128]));
}
