use systole::prelude::*;

#[tpu_kernel(core(sparse_scalar), grid(c: arbitrary = 2))] //~ all steps of `c` run at once
fn kernel(#[block(n)] a: Hbm<f32>, #[block(n)] o: HbmOut<f32>, #[scratch] p: Permits<1>) {
    let [permit] = p.slots();
    let _ = copy_into(a.rows(c * 8, 8), permit.to(o.rows(c * 8, 8))).wait();
}

fn main() {}
