use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    let mut n = scalar::<i32>(0);
    while n < 4 { //~ `return`, `break`, `continue` and `?` cannot run under a device condition
        n += 1;
        break;
    }
    o[..] = a[..] * n.cast::<f32>();
}

fn main() {}
