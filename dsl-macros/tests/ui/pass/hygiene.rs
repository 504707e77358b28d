//! Names of the user's meet no hidden name of the macro.
#![deny(warnings)]
use systole::prelude::*;

#[tpu_kernel(grid(launch))]
fn kernel(
    #[comptime] args: usize,
    #[block(entries: 8 @ launch, outputs)] control: In<f32>,
    #[block(entries: 8 @ launch, outputs)] result_0: Out<f32>,
) {
    let then = control[..];
    let mut otherwise = then * args as f32;
    let value = launch + 1;
    if value > 2 {
        let stored = otherwise + 1.0;
        otherwise = stored;
    } else {
        otherwise -= then;
    }
    for condition in 0..value {
        let logic = condition > 1 && value < 4;
        let right = select(logic, otherwise, 0.0);
        otherwise = right;
    }
    result_0[..] = otherwise;
}

/// Its name is that which the type of `f` would get.
enum F {
    Twice,
}

impl F {
    const N: f32 = 2.0;
}

#[tpu_kernel]
fn named(#[comptime] f: impl Fn(Tile<f32>) -> Tile<f32> + Clone, #[block(m)] o: InOut<f32>) {
    let factor = match F::Twice {
        F::Twice => F::N,
    };
    o[..] = f(o[..]) * factor;
}

fn main() {
    let _ = (kernel(8), named(|x| x));
}
