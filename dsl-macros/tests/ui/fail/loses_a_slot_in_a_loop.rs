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
    for j in 0..2 {
        let full = copy_into(h.rows(j * 8, 8), a).wait(); //~ use of moved value: `a`
        y[..] = full[..];
    }
    let _ = o;
}

fn main() {}
