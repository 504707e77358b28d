use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    for j in 0..4 {
        if j == 2 {
            break; //~ `break` leaves a device loop
        }
    }
    'outer: for _ in 0..4 {
        #[unroll]
        for k in 0..4 {
            if k == 1 {
                continue 'outer; //~ `continue` leaves a device loop
            }
        }
        let _ = Some(1)?; //~ `?` leaves a device loop
        return; //~ `return` leaves a device loop
    }
    o[..] = a[..];
}

fn main() {}
