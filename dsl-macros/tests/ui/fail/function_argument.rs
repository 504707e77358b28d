use systole::prelude::*;

#[tpu_fn(inline)] //~ `#[tpu_fn]` takes no arguments
fn double(x: Tile<f32>) -> Tile<f32> {
    x * 2.0
}

fn main() {}
