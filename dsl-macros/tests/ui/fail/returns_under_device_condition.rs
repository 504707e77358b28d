use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    if i == 3 { //~ `return`, `break`, `continue` and `?` cannot run under a device condition
        return;
    }
    o[..] = a[..];
}

fn main() {}
