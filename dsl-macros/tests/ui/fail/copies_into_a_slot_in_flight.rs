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
    let first = copy_into(h.rows(0, 8), a);
    let second = copy_into(h.rows(8, 8), a); //~ use of moved value: `a`
    y[..] = first.wait()[..] + second.wait()[..];
    let _ = o;
}

fn main() {}
