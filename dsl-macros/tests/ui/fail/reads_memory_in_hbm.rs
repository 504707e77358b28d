use systole::prelude::*;

#[tpu_kernel]
fn kernel(
    #[block(m, n)] h: Hbm<f32>,
    #[block(m, n)] o: HbmOut<f32>,
    #[block(k, n)] y: Out<f32>,
    #[comptime] k: usize,
    #[scratch([8, 128])] bufs: Buffers<f32, 2>,
) {
    y[..] = h[..] + 1.0; //~ cannot add `{float}` to `View<f32, ReadOnly>`
    let _ = (bufs, o);
}

fn main() {}
