use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[streams(g: 4)] //~ a block in scalar memory is fetched by one copy: drop `#[streams]`
    #[block(g: 128 @ i)]
    scales: SmemIn<f32>,
    #[block(m: 8 @ i, n)] o: InOut<f32>,
) {
    o[..] = o[..] * scales[0];
}

fn main() {}
