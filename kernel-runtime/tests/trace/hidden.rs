//! State that changes where no loop or branch sees it: carried, or an error, but never a kernel
//! that keeps the value of the first turn.

use super::{assert_error, f32s, map, only, ramp};
use std::cell::{Cell, RefCell};
use std::mem::{replace, swap, take};
use std::rc::Rc;
use systole::diag::{Code, Diagnostic};
use systole::prelude::*;

/// Asserts that a kernel is refused for hidden state; gives the diagnostic.
#[track_caller]
fn refused(result: Result<systole::ir::Kernel, systole::diag::Diagnostics>) -> Diagnostic {
    let error = only(result);
    assert_error(&error, Code::TRACE_HIDDEN_STATE, "");
    assert!(error.message.ends_with("something changes that the kernel does not see"), "{error}");
    assert!(error.help.is_some(), "{error}");
    error
}

#[derive(Carried)]
struct Sum {
    tile: Tile<f32>,
    n: Scalar<i32>,
}

impl Sum {
    fn push(&mut self, x: Tile<f32>) {
        self.tile += x;
        self.n += 1;
    }

    fn itself(&mut self) -> &mut Sum {
        self
    }
}

fn add(sum: &mut Tile<f32>, x: Tile<f32>) {
    *sum += x;
}

/// What the macro sees: names that are declared with `mut` or bound to `&mut ..`.
#[tpu_kernel]
fn seen(#[comptime] way: usize, #[block(m, n)] x: In<f32>, #[block(m, n)] o: Out<f32>) {
    let mut state = Sum { tile: x[..], n: scalar(0) };
    let mut other = x[..] * 0.0;
    let mut option = Some(other);
    match way {
        0 => {
            for _ in 0..4 {
                state.push(x[..]);
            }
        }
        1 => {
            let s = &mut state;
            for _ in 0..4 {
                s.push(x[..]);
            }
        }
        2 => {
            let s: &mut Sum = state.itself();
            for _ in 0..4 {
                s.push(x[..]);
            }
        }
        3 => {
            for _ in 0..4 {
                add(&mut state.tile, x[..]);
            }
        }
        4 => {
            for _ in 0..5 {
                swap(&mut state.tile, &mut other);
                other += x[..];
            }
            state.tile = other + x[..];
        }
        5 => {
            for _ in 0..4 {
                let old = replace(&mut state.tile, other);
                state.tile = old + x[..];
            }
        }
        6 => {
            for _ in 0..4 {
                let mut add = |x: Tile<f32>| state.tile += x;
                add(x[..]);
            }
        }
        7 => {
            for _ in 0..4 {
                let inner = take(&mut option);
                option = inner.map(|tile| tile + x[..]);
            }
            state.tile += option.unwrap();
        }
        8 => {
            let Sum { ref mut tile, .. } = state;
            for _ in 0..4 {
                add(tile, x[..]);
            }
        }
        _ => {
            let mut n = scalar::<i32>(0);
            while n < 4 {
                add(&mut state.tile, x[..]);
                n += 1;
            }
        }
    }
    o[..] = state.tile;
}

#[test]
fn what_the_macro_sees_is_carried() {
    let x = ramp(&[8, 128]);
    for way in 0..10 {
        let o = seen(way).call(&x).unwrap_or_else(|error| panic!("way {way}: {error}"));
        assert!(o.to_f32() == map(&x, |x| 5.0 * x), "way {way}");
    }
}

/// References that the macro does not see as such, changed in every turn of a loop.
#[tpu_kernel]
fn references(#[comptime] way: usize, #[block(m, n)] x: In<f32>, #[block(m, n)] o: Out<f32>) {
    let mut state = Sum { tile: x[..], n: scalar(0) };
    let mut list = [x[..]; 2];
    match way {
        0 => {
            let (s, _) = (&mut state, 0);
            for j in 0..4 {
                s.push(x[..]);
                o[..] = s.tile + j.cast::<f32>();
            }
        }
        1 => {
            let s = state.itself();
            for j in 0..4 {
                s.push(x[..]);
                o[..] = s.tile + j.cast::<f32>();
            }
        }
        _ => {
            for tile in list.iter_mut() {
                for j in 0..4 {
                    add(tile, x[..]);
                    o[..] = *tile + j.cast::<f32>();
                }
            }
        }
    }
}

/// State behind cells, changed in every turn of a loop.
#[tpu_kernel]
fn cells(#[comptime] way: usize, #[block(m, n)] x: In<f32>, #[block(m, n)] o: Out<f32>) {
    let (first, twice) = (x[..], x[..] * 2.0);
    let (cell, seen, n_turns) = (Cell::new(first), Cell::new(false), Cell::new(1));
    match way {
        0 => {
            for j in 0..4 {
                cell.set(cell.get() + 1.0);
                o[..] = cell.get() + j.cast::<f32>();
            }
        }
        1 => {
            let cell = Rc::new(RefCell::new(Some(first)));
            for j in 0..4 {
                if let Some(tile) = &mut *cell.borrow_mut() {
                    add(tile, x[..]);
                }
                o[..] = cell.borrow().unwrap() + j.cast::<f32>();
            }
        }
        2 => {
            let push = |x: Tile<f32>| cell.replace(cell.get() + x);
            for _ in 0..4 {
                o[..] = push(x[..]);
            }
        }
        3 => {
            // The value of the turn before, from outside of the loop.
            for _ in 0..4 {
                o[..] = cell.replace(twice);
            }
        }
        4 => {
            for _ in 0..4 {
                o[..] = if comptime!(seen.replace(true)) { twice } else { first };
            }
        }
        5 => {
            for _ in 0..4 {
                o[..] = x[..] * n_turns.replace(n_turns.get() + 1) as f32;
            }
        }
        6 => {
            // Only the inner loop of two changes it, only the outer one reads it.
            for _ in 0..4 {
                o[..] = cell.get();
                for _ in 0..2 {
                    cell.set(x[..]);
                }
            }
        }
        _ => {
            let n = Cell::new(scalar::<i32>(0));
            while n.get() < 4 {
                n.set(n.get() + 1);
            }
            o[..] = x[..];
        }
    }
}

#[test]
fn what_changes_unseen_in_a_loop_is_refused() {
    let args = [f32s(&[8, 128])];
    let kernels = (0..3).map(|way| references(way).trace(&args));
    for (way, kernel) in kernels.chain((0..8).map(|way| cells(way).trace(&args))).enumerate() {
        let error = refused(kernel);
        let words = "in the next turn of the loop at line ";
        assert!(error.message.starts_with(words), "way {way}: {error}");
    }
}

#[test]
fn hidden_state_names_the_lines_of_both_values() {
    let error = refused(cells(0).trace(&[f32s(&[8, 128])]));
    let texts: Vec<&str> = error.labels.iter().map(|label| label.text.as_str()).collect();
    assert_eq!(texts[0], "used here");
    assert_eq!(texts[1], "the kernel would always use this value");
    assert!(texts[2].starts_with("the value in the next turn of the loop at line"), "{error}");
    let lines: Vec<u32> = error.labels.iter().map(|label| label.span.line).collect();
    assert_eq!(lines[0], lines[2], "the addition takes what it made in the turn before: {error}");
    assert!(lines[1] < lines[0], "{error}");
}

/// State of the host that holds a value from outside of what changes it.
#[tpu_kernel(grid(i))]
fn under_conditions(
    #[comptime] way: usize,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    let (a, b) = (x[..], x[..] * 2.0);
    let kept = Cell::new(a);
    let limit = i * 2;
    match way {
        0 => {
            if i == 1 {
                kept.set(b);
            }
        }
        1 => {
            if i == 1 {
                o[..] = a;
            } else {
                kept.set(b);
            }
        }
        2 => {
            for _ in 0..limit {
                kept.set(b);
            }
        }
        3 => {
            let mut n = limit;
            while n > 0 {
                kept.set(b);
                n -= 1;
            }
        }
        4 => {
            if i == 0 {
                kept.set(b);
            } else {
                o[..] = kept.get();
            }
        }
        5 => {
            for _ in 0..4 {
                if i == 1 {
                    for _ in 0..limit {
                        kept.set(b);
                    }
                    o[..] = kept.get();
                }
            }
        }
        6 => {
            let set = |value: Tile<f32>| {
                kept.set(value);
                limit > 1
            };
            if i == 0 && set(b) {
                o[..] = a;
            }
        }
        _ => {
            let inner = [x[(0..4, ..)], x[(4..8, ..)]];
            let chosen = Cell::new(0);
            if i > 0 {
                chosen.set(1);
            }
            kept.set(concat(&[inner[chosen.get()]; 2], 0));
        }
    }
    o[..] = kept.get();
}

#[test]
fn what_changes_unseen_under_a_condition_is_refused() {
    let whens = [
        "if a first arm of an `if` does not run",
        "if a second arm of an `if` does not run",
        "if a loop makes no turn",
        "if a loop makes no turn",
        "if a first arm of an `if` does not run",
        "if a first arm of an `if` does not run",
        "if a first arm of an `if` does not run",
        "if a first arm of an `if` does not run",
    ];
    for (way, when) in whens.into_iter().enumerate() {
        let error = refused(under_conditions(way).trace(&[f32s(&[32, 128])]));
        assert!(error.message.starts_with(when), "way {way}: {error}");
    }
}

/// State of the host that changes, but makes no difference to the kernel.
#[tpu_kernel(grid(i))]
fn harmless(
    #[comptime] calls: Rc<Cell<usize>>,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    let (kept, log) = (Cell::new(x[..]), RefCell::new(Vec::new()));
    let mut y = x[..];
    let mut n = scalar::<i32>(0);
    for j in 0..4 {
        calls.set(calls.get() + 1);
        log.borrow_mut().push(j);
        // Both arms leave the same there, and the loop surely makes a turn.
        if j == i {
            kept.set(x[..] * 2.0);
        }
        kept.set(y);
        if i > 1 && n < 10 || j == 2 {
            y += kept.get();
            n += 1;
        } else {
            #[unroll]
            for k in 0..3 {
                kept.set(kept.get() + k as f32);
                y += kept.get();
            }
        }
        while n < 10 {
            n += 7;
            if n > 8 {
                y += 1.0;
            }
        }
    }
    o[..] = y + n.cast::<f32>();
}

#[test]
fn state_that_makes_no_difference_is_no_error() {
    let calls = Rc::new(Cell::new(0));
    let x = ramp(&[32, 128]);
    let o = harmless(calls.clone()).call(&x).unwrap().to_f32();
    assert!(calls.get() > 1, "the body ran once");
    let values = x.to_f32();
    for (idx, x) in values.into_iter().enumerate() {
        let i = idx / (8 * 128);
        let (mut y, mut n) = (x, 0);
        for j in 0..4 {
            if i > 1 && n < 10 || j == 2 {
                y += y;
                n += 1;
            } else {
                let mut kept = y;
                for k in 0..3 {
                    kept += k as f32;
                    y += kept;
                }
            }
            while n < 10 {
                n += 7;
                if n > 8 {
                    y += 1.0;
                }
            }
        }
        assert_eq!(o[idx], y + n as f32, "element {idx}");
    }
}

#[tpu_kernel(grid(i))]
fn random(
    #[comptime] calls: Rc<Cell<usize>>,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    calls.set(calls.get() + 1);
    o[..] = x[..];
    if i == 0 {
        o[..] = x[..] * calls.get() as f32;
    }
}

#[test]
fn a_body_that_differs_each_time_is_refused_for_that() {
    let error = refused(random(Rc::default()).trace(&[f32s(&[16, 128])]));
    assert!(error.message.starts_with("when the body is traced again"), "{error}");
    assert!(error.help.unwrap().starts_with("a body must trace the same each time"));
}

#[tpu_kernel(grid(i))]
fn unwrapping(#[block(m: 8 @ i, n)] x: In<f32>, #[block(m: 8 @ i, n)] o: Out<f32>) {
    let (a, kept) = (x[..], Cell::new(None));
    if i == 0 {
        kept.set(Some(a));
    }
    o[..] = kept.get().unwrap();
}

#[test]
fn a_body_that_panics_without_its_arm_is_refused() {
    refused(unwrapping().trace(&[f32s(&[16, 128])]));
}
