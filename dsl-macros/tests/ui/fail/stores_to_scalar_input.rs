use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[block(one)] rate: SmemIn<f32>,
    #[block(m: 8 @ i, n)] o: InOut<f32>,
) {
    rate[0] = 1.0; //~ cannot store into `systole::prelude::SmemIn<f32>`: input blocks are read-only
    o[..] = o[..] * rate[0];
}

fn main() {}
