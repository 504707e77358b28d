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
    let pending = copy_into(h.rows(0, 8), a);
    let full = pending.wait();
    let again = pending.wait(); //~ use of moved value: `pending`
    y[..] = full[..] + again[..];
    let _ = o;
}

fn main() {}
