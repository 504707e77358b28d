use systole::prelude::*;

#[tpu_kernel]
fn kernel(#[block(m, n)] a: In<f32>, #[block(m, n)] o: Out<f32>) {
    let mut sum = a[..];
    #[cfg(test)]
    let other = a[..];
    for _ in 0..3 {
        #[cfg(test)] //~ whether this `sum` hides the one before is not known
        let (sum, _) = (a[..], 0);
        sum += 1.0;
    }
    o[..] = sum;
}

fn main() {}
