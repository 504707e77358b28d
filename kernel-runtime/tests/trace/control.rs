//! Branches and loops, by what they compute.

use super::{map, ramp};
use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn branches(
    #[comptime] fast: bool,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    let mut y = x[..];
    let scale = if i == 0 {
        2.0 * full([8, n], 1.0)
    } else if fast {
        full([8, n], 3.0)
    } else if i == 1 || i == 3 && i > 2 {
        full([8, n], 4.0)
    } else {
        full([8, n], 5.0)
    };
    if 2 == i {
        y = -y;
    }
    o[..] = y * scale;
}

#[test]
fn else_if_chains_mix_host_and_device_conditions() {
    let x = ramp(&[40, 128]);
    for fast in [false, true] {
        let o = branches(fast).call(&x).unwrap();
        let scales = if fast { [2.0, 3.0, -3.0, 3.0, 3.0] } else { [2.0, 4.0, -5.0, 4.0, 5.0] };
        let expected: Vec<f32> =
            x.to_f32().iter().enumerate().map(|(idx, x)| x * scales[idx / (8 * 128)]).collect();
        assert_eq!(o.to_f32(), expected);
    }
}

#[derive(Carried)]
struct State<T: Float> {
    sum: Tile<T>,
    parts: Vec<Tile<T>>,
    last: Option<Tile<T>>,
    n: usize,
}

#[derive(Carried)]
enum Either {
    Sum(Tile<f32>),
    #[expect(dead_code, reason = "a variant that the kernel does not take")]
    Nothing,
}

#[tpu_kernel]
fn carries(#[block(m, n)] x: In<f32>, #[block(p, n)] o: Out<f32>, #[comptime] p: usize) {
    let start = x[(0..8, ..)];
    let mut state = State { sum: start, parts: vec![start, start * 2.0], last: Some(start), n: 2 };
    let mut either = Either::Sum(start);
    let (mut a, mut b) = (start, start + 1.0);
    let mut pair = [a, b];
    let r = &mut pair[0];
    for j in (8..m).step_by(8) {
        let now = x[(ds(j, 8), ..)];
        state.sum += now;
        state.parts[1] = state.parts[0] + now;
        let n = state.n;
        state.last = state.last.map(|last| last.max(now * n as f32));
        (a, b) = (b, a + now);
        *r += now;
        if let Either::Sum(sum) = &mut either {
            *sum += 2.0 * now;
        }
        state.parts.swap(0, 1);
    }
    let Either::Sum(sum) = either else { return };
    let last = state.last.unwrap();
    let all = [state.sum, state.parts[0], last, a, b, pair[0], sum, pair[1]];
    for (k, part) in all.into_iter().enumerate() {
        o[(8 * k..8 * k + 8, ..)] = part;
    }
}

#[test]
fn loops_carry_structs_containers_and_references() {
    let x = ramp(&[32, 128]);
    let o = carries(64).call(&x).unwrap().to_f32();
    let rows: Vec<f32> = x.to_f32();
    let at = |block: usize, e: usize| rows[block * 1024 + e];
    for e in 0..1024 {
        let start = at(0, e);
        let (mut sum, mut parts, mut last) = (start, [start, start * 2.0], start);
        let (mut a, mut b, mut first, mut twice) = (start, start + 1.0, start, start);
        for block in 1..4 {
            let now = at(block, e);
            sum += now;
            parts[1] = parts[0] + now;
            last = last.max(now * 2.0);
            (a, b) = (b, a + now);
            first += now;
            twice += 2.0 * now;
            parts.swap(0, 1);
        }
        let expected = [sum, parts[0], last, a, b, first, twice, start + 1.0];
        let found: Vec<f32> = (0..8).map(|k| o[k * 1024 + e]).collect();
        assert_eq!(found, expected, "element {e}");
    }
}

#[tpu_kernel]
fn halves(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] o: Out<f32>,
    #[scratch([4])] counts: Smem<i32>,
) {
    let mut y = x[..];
    let mut steps = scalar::<i32>(0);
    let mut left = scalar::<i32>(100);
    while left > 1 && steps < 50 {
        left /= 2;
        steps += 1;
        if left % 2 == 1 {
            y += 1.0;
        }
    }
    counts[0] = steps;
    counts[1] = 0;
    for j in 0..=3 {
        counts[1] += j;
    }
    // Reads past the end must not happen: the right side is evaluated under the left one.
    let inside = left < 4 && counts[left] == 6;
    let outside = left + 7 < 4 && counts[left + 7] == 6;
    if inside && !outside || false {
        y *= 10.0;
    }
    o[..] = y + counts[0].cast::<f32>();
}

#[test]
fn device_while_and_lazy_conditions() {
    let x = ramp(&[8, 128]);
    // 100 -> 50, 25, 12, 6, 3, 1: six steps, three of them odd.
    let o = halves().call(&x).unwrap();
    assert_eq!(o.to_f32(), map(&x, |x| (x + 3.0) * 10.0 + 6.0));
}

#[tpu_kernel]
#[expect(clippy::needless_late_init, reason = "a native `if` may do it")]
fn host_control(
    #[comptime] depth: Option<usize>,
    #[comptime] names: Vec<&'static str>,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] o: Out<f32>,
) {
    let mut y = x[..];
    let Some(depth) = depth else {
        o[..] = y;
        return;
    };
    let w;
    if depth == 3 {
        w = 2.0;
    } else {
        w = if depth > 100 { 8.0 } else { 4.0 };
    }
    let mut k = 0;
    while k < depth {
        k += 1;
        if k == 2 {
            continue;
        }
        y += w;
    }
    'outer: for name in &names {
        for letter in name.chars() {
            if letter == 'z' {
                break 'outer;
            }
            if letter == 'a' && *name != "cat" {
                y += 100.0;
            }
        }
    }
    let label = match names.len() {
        0 => 0.5,
        n if n > 2 => 0.25,
        _ => 0.0,
    };
    if comptime!(names.is_empty()) {
        y = -y;
    }
    if let Some(first) = names.first()
        && first.len() == 3
    {
        y += label;
    }
    o[..] = y;
}

#[test]
fn host_control_runs_while_tracing() {
    let x = ramp(&[8, 128]);
    let run = |depth, names: &[&'static str]| {
        host_control(depth, names.to_vec()).call(&x).unwrap().to_f32()
    };
    assert_eq!(run(None, &[]), x.to_f32());
    assert_eq!(run(Some(3), &[]), map(&x, |x| -(x + 4.0)));
    assert_eq!(run(Some(4), &["cat", "aa", "az", "aaa"]), map(&x, |x| x + 12.0 + 300.25));
}

#[tpu_fn]
fn clamp_rows(x: &mut Tile<f32>, limit: &Vmem<f32>, #[comptime] twice: bool) -> Scalar<i32> {
    let mut changed = scalar::<i32>(0);
    for k in 0..2 {
        if k == 0 || twice {
            *x = x.min(limit[..]);
            changed += 1;
        }
    }
    limit[..] += 1.0;
    changed
}

#[tpu_kernel]
fn calls(#[block(m, n)] x: In<f32>, #[block(m, n)] o: Out<f32>, #[scratch([m, n])] l: Vmem<f32>) {
    l[..] = 2.0;
    let mut y = x[..];
    let mut n_changed = clamp_rows(&mut y, &l, true);
    for _ in 0..3 {
        n_changed += clamp_rows(&mut y, &l, false);
    }
    o[..] = y * n_changed.cast::<f32>() + l[..];
}

#[test]
fn functions_take_references_and_memory() {
    let x = ramp(&[8, 128]);
    let o = calls().call(&x).unwrap();
    assert_eq!(o.to_f32(), map(&x, |x| x.min(2.0) * 5.0 + 6.0));
}

#[tpu_kernel]
fn arms(#[comptime] device: bool, #[block(m, n)] x: In<f32>, #[block(m, n)] o: Out<f32>) {
    let flag = scalar::<i32>(3) + x.shape()[0] as i32;
    let mut i = flag.min(0);
    #[unroll]
    for step in 0..2 {
        i += 2 * step;
        i += 1;
    }
    let (lo, hi) = if i >= 4 { (x[..] - 1.0, [x[..]; 2]) } else { (x[..], [x[..] + 1.0; 2]) };
    let third = if device && i < 4 { lo } else { hi[1] };
    let mut block = {
        let mut inner = third;
        if i == 4 {
            inner += 1.0;
        }
        inner
    };
    if i != 4 {
        block = lo;
    } else if i > 100 {
        block = hi[0];
    }
    o[..] = block + lo;
}

#[test]
fn arms_give_tuples_and_arrays() {
    let x = ramp(&[8, 128]);
    for device in [false, true] {
        assert_eq!(arms(device).call(&x).unwrap().to_f32(), map(&x, |x| x + 1.0 + x - 1.0));
    }
}

#[tpu_kernel]
fn written_through(#[block(m, n)] x: In<f32>, #[block(m, n)] o: Out<f32>) {
    let mut tiles = Vec::from([x[..], x[..] * 2.0]);
    for tile in tiles.iter_mut() {
        for j in 0..3 {
            *tile += 1.0;
            if j == 1 {
                *tile *= 2.0;
            }
        }
    }
    o[..] = tiles[0] + tiles[1];
}

#[test]
fn references_that_are_written_through_are_carried() {
    let x = ramp(&[8, 128]);
    let o = written_through().call(&x).unwrap();
    assert_eq!(o.to_f32(), map(&x, |x| (x + 2.0) * 2.0 + 1.0 + (2.0 * x + 2.0) * 2.0 + 1.0));
}

#[tpu_kernel]
fn long(#[comptime] n_ops: usize, #[block(m, n)] x: In<f32>, #[block(m, n)] o: Out<f32>) {
    let mut y = x[..];
    #[unroll]
    for k in 0..n_ops {
        y = y * 0.5 + x[(0..m, ..)] * k as f32;
    }
    o[..] = y;
}

#[test]
fn traces_thousands_of_unrolled_ops() {
    let kernel = long(1000).trace(&[super::f32s(&[8, 128])]).unwrap();
    assert!(kernel.n_ops() > 5000, "{}", kernel.n_ops());
}

/// `cfg(any())` is never, `cfg(test)` here.
#[tpu_kernel(grid(i))]
fn configured(#[block(m: 8 @ i, n)] x: In<f32>, #[block(m: 8 @ i, n)] o: Out<f32>) {
    o[..] = x[..];
    #[cfg(any())]
    o[..] = 100.0;
    #[cfg(any())]
    o[..] += 100.0;
    #[cfg(any())]
    if i == 0 {
        o[..] += 200.0;
    }
    #[cfg(any())]
    for _ in 0..3 {
        o[..] += 300.0;
    }
    let mut n = scalar::<i32>(0);
    #[cfg(any())]
    while n < 3 {
        n += 1;
    }
    #[cfg(any())]
    comptime!(panic!("not compiled"));
    #[cfg(test)]
    if i == 0 {
        n += 1;
    }
    #[cfg(test)]
    for _ in 0..3 {
        #[cfg(test)]
        o[..] += 1.0;
    }
    #[cfg(test)]
    o[..] += n.cast::<f32>();
}

#[test]
fn statements_that_are_configured_out_are_not_traced() {
    let x = ramp(&[16, 128]);
    let found = configured().call(&x).unwrap().to_f32();
    let expected = map(&x, |x| x + 3.0);
    let first = |at: usize| if at < 8 * 128 { 1.0 } else { 0.0 };
    assert!(found.iter().zip(&expected).enumerate().all(|(at, (f, e))| *f == e + first(at)));
}

#[tpu_kernel]
fn leaves_blocks(#[block(m, n)] x: In<f32>, #[block(m, n)] o: Out<f32>) {
    o[..] = x[..];
    for _ in 0..3 {
        let by = 'by: {
            if comptime!(m > 4) {
                break 'by 2.0;
            }
            3.0
        };
        #[unroll]
        'turns: for turn in 0..5 {
            'skipped: {
                if comptime!(turn == 1) {
                    break 'skipped;
                }
                if comptime!(turn == 3) {
                    break 'turns;
                }
                o[..] += by;
            }
        }
    }
}

#[test]
fn a_break_may_leave_a_block_in_a_device_loop() {
    let x = ramp(&[8, 128]);
    let o = leaves_blocks().call(&x).unwrap();
    assert_eq!(o.to_f32(), map(&x, |x| x + 12.0));
}
