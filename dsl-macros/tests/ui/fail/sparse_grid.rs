use systole::prelude::*;

#[tpu_kernel(core(sparse), grid(c = 2))] //~ write `grid(c = cores, s = subcores)`
fn kernel(#[block(n)] a: Hbm<f32>, #[block(n)] o: HbmOut<f32>, #[scratch] p: Permits<1>) {
    let [permit] = p.slots();
    let _ = copy_into(a.rows(c * 8, 8), permit.to(o.rows(c * 8, 8))).wait();
}

fn main() {}
