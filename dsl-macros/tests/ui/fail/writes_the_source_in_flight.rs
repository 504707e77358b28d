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
    let pending = copy_into(a, o.rows(0, 8));
    a[..] = 1.0; //~ borrow of moved value: `a`
    y[..] = pending.wait()[..];
    let _ = h;
}

fn main() {}
