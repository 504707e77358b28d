use systole::prelude::*;

#[tpu_kernel]
fn kernel(
    #[block(m, n)] h: Hbm<f32>,
    #[block(m, n)] o: HbmOut<f32>,
    #[block(k, n)] y: Out<f32>,
    #[comptime] k: usize,
    #[scratch([8, 128])] bufs: Buffers<f32, 2>,
) {
    let [a, _] = bufs.slots();
    let pending = copy_into(a, h.rows(0, 8)); //~ a copy cannot write to `View<f32, ReadOnly>`
    y[..] = pending.wait()[..];
    let _ = o;
}

fn main() {}
