#![deny(warnings)]
use systole::prelude::*;

#[derive(Clone, Copy)]
struct Tiles {
    m: usize,
    n: usize,
    k: usize,
}

#[tpu_kernel(grid(i: parallel, j: parallel, l: arbitrary))]
fn matmul<T: Float>(
    #[comptime] t: Tiles,
    #[comptime] epilogue: impl Fn(Tile<f32>) -> Tile<f32> + Clone,
    #[block(m: t.m @ i, k: t.k @ l)] a: In<T>,
    #[block(k: t.k @ l, n: t.n @ j)] b: In<T>,
    #[block(m: t.m @ i, n: t.n @ j)] c: Out<T>,
    #[scratch([t.m, t.n])] acc: Vmem<f32>,
) {
    if l == 0 {
        acc[..] = 0.0;
    }
    acc[..] += dot(a[..], b[..]);
    if l == l.last() {
        c[..] = epilogue(acc[..]).cast();
    }
}

#[derive(Carried)]
struct Softmax {
    m: Tile<f32>,
    l: Tile<f32>,
    acc: Tile<f32>,
}

impl Softmax {
    fn new(bq: usize, h: usize) -> Softmax {
        Softmax { m: full([bq, 1], f32::NEG_INFINITY), l: zeros([bq, 1]), acc: zeros([bq, h]) }
    }

    fn update<T: Float>(&mut self, s: Tile<f32>, v: Tile<T>) {
        let m_new = self.m.max(s.row_max());
        let (p, alpha) = ((s - m_new).exp(), (self.m - m_new).exp());
        self.l = self.l * alpha + p.row_sum();
        self.acc = self.acc * alpha + dot(p.cast::<T>(), v);
        self.m = m_new;
    }
}

trait Mask: Clone {
    fn apply(&self, s: Tile<f32>, q0: Scalar<i32>, k0: Scalar<i32>) -> Tile<f32>;
}

#[derive(Clone)]
struct Causal {
    bq: usize,
    bk: usize,
}

impl Mask for Causal {
    #[tpu_fn]
    fn apply(&self, s: Tile<f32>, q0: Scalar<i32>, k0: Scalar<i32>) -> Tile<f32> {
        let (rows, cols) = (iota([self.bq, self.bk], 0) + q0, iota([self.bq, self.bk], 1) + k0);
        if k0 + self.bk > q0 { select(rows >= cols, s, f32::NEG_INFINITY) } else { s }
    }
}

#[tpu_kernel(grid(i))]
fn flash<T: Float>(
    #[comptime] bq: usize,
    #[comptime] bk: usize,
    #[comptime] scale: f32,
    #[comptime] mask: impl Mask,
    #[block(s: bq @ i, h)] q: In<T>,
    #[block(s, h)] k: In<T>,
    #[block(s, h)] v: In<T>,
    #[block(s: bq @ i, h)] o: Out<T>,
) {
    let mut st = Softmax::new(bq, h);
    for j in 0..i + 1 {
        let at = ds(j * bk, bk);
        let p = mask.apply(dot_t(q[..], k[(at, ..)]) * scale, i * bq, j * bk);
        st.update(p, v[(at, ..)]);
    }
    o[..] = (st.acc / st.l).cast();
}

fn main() {
    let _ = matmul::<bf16, _>(Tiles { m: 128, n: 128, k: 128 }, |x| x);
    let _ = flash::<bf16, _>(128, 128, 0.125, Causal { bq: 128, bk: 128 });
}
