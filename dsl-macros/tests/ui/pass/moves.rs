//! Moves, early returns and borrows mean what they mean in Rust.
#![deny(warnings)]
use systole::prelude::*;

fn pick(x: Option<usize>) -> Result<usize, String> {
    x.ok_or_else(|| "nothing".to_owned())
}

#[tpu_fn]
fn checked(x: Tile<f32>, #[comptime] n: Option<usize>) -> Result<Tile<f32>, String> {
    let n = pick(n)?;
    if n == 0 {
        return Err("zero".to_owned());
    }
    let mut x = x;
    for j in 0..n {
        x += j.cast::<f32>();
    }
    Ok(x)
}

#[tpu_kernel]
fn kernel(
    #[comptime] names: Vec<String>,
    #[comptime] sizes: Vec<usize>,
    #[comptime] f: impl FnOnce(Tile<f32>) -> Tile<f32> + Clone,
    #[block(m, n)] a: In<f32>,
    #[block(m, n)] o: Out<f32>,
    #[scratch(sizes)] first: Vmem<f32>,
    #[scratch(sizes[..])] second: Vmem<f32>,
) {
    let sizes: Vec<usize> = sizes;
    first[..] = 1.0;
    second[..] = first[..] * sizes[0] as f32;
    let owned = names;
    if comptime!(owned.is_empty()) {
        drop(owned);
    } else {
        let _ = owned.into_iter().count();
    }
    let mut tiles = vec![a[..]];
    for tile in tiles.iter_mut() {
        *tile = -*tile;
    }
    let shadow = tiles.pop();
    let Some(shadow) = shadow else { return };
    let shadow = match checked(shadow, Some(3)) {
        Ok(tile) if m > 4 => tile,
        Ok(_) | Err(_) => shadow,
    };
    o[..] = f(shadow);
}

fn main() {
    let _ = kernel(Vec::new(), vec![8, 128], |x| x);
}
