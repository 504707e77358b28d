//! Memory and semaphores that live for a part of the body.

use super::{array, check, counting, interpreted};
use systole::prelude::*;

/// Sums blocks of rows, each by way of a buffer that lives for its turn of the loop.
#[tpu_kernel]
fn sum_by_scoped_buffers(
    #[comptime] k: usize,
    #[block(m, n)] h: Hbm<f32>,
    #[block(k, n)] y: Out<f32>,
) {
    let mut acc = zeros([k, n]);
    for j in 0..m / k {
        acc += run_scoped(scratch::<Buffers<f32, 1>>([k, n]), |bufs| {
            let [buf] = bufs.slots();
            let full = copy_into(h.rows(j * k, k), buf).wait();
            full[..]
        });
    }
    y[..] = acc;
}

#[test]
fn a_scope_holds_a_buffer_and_gives_what_it_computes() {
    let kernel = sum_by_scoped_buffers(8).trace(&[ArgSpec::of::<f32>(&[40, 128])]).unwrap();
    let text = kernel.to_string();
    assert_eq!(text.matches("scope (").count(), 1, "{text}");
    let place = |at: usize| (0..5).map(|block| (block * 1024 + at) as f32).sum();
    check(&kernel, &[counting(&[40, 128])], &[array(&[8, 128], place)]);
}

/// Two scopes after each other, the second with semaphores alone, within a branch.
#[tpu_kernel(grid(i))]
fn scopes_in_a_branch(#[block(m: 8 @ i, n)] x: In<f32>, #[block(m: 8 @ i, n)] y: Out<f32>) {
    if i == 0 {
        run_scoped(
            (
                scratch::<Vmem<f32>>([8, n]),
                scratch::<Vmem<f32>>([8, n]),
                scratch::<DmaSemaphore>([]),
            ),
            |(from, to, done)| {
                from[..] = x[..] * 2.0;
                start_copy(from.at(..), to.at(..), done);
                wait_copy(from.at(..), to.at(..), done);
                y[..] = to[..];
            },
        );
    } else {
        let (seen, n_signals) = run_scoped(scratch::<Semaphore>([]), |ready| {
            ready.signal(3);
            let seen = ready.read();
            ready.wait(3);
            (x[..], seen)
        });
        y[..] = seen;
        device_assert(n_signals.eq(3), "what was signalled is there");
    }
}

#[test]
fn scopes_in_branches_are_memory_of_their_own() {
    let kernel = scopes_in_a_branch().trace(&[ArgSpec::of::<f32>(&[16, 128])]).unwrap();
    let expected = array(&[16, 128], |at| if at < 1024 { 2.0 * at as f32 } else { at as f32 });
    assert_eq!(interpreted(&kernel, &[counting(&[16, 128])]).unwrap(), [expected]);
    let again = systole::ir::Kernel::parse(&kernel.to_string()).unwrap();
    assert_eq!(again.to_string(), kernel.to_string());
    super::compiles(&kernel);
}

/// What two scopes hold takes VMEM once.
#[tpu_kernel]
fn dear_scopes(#[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    y[..] = x[..];
    for _ in 0..2 {
        run_scoped(scratch::<Vmem<f32>>([1024, 1024]), |a| {
            a[..] = 1.0;
            y[..] = a[(ds(0, m), ds(0, n))];
        });
        run_scoped(scratch::<Vmem<f32>>([1024, 1024]), |a| {
            a[..] = 2.0;
            y[..] = a[(ds(0, m), ds(0, n))];
        });
    }
}

#[test]
fn scopes_after_each_other_share_vmem() {
    let kernel = dear_scopes().trace(&[ArgSpec::of::<f32>(&[8, 128])]).unwrap();
    let valid = systole::valid::check(kernel, &systole::target::V5E).unwrap();
    let total = valid.vmem_estimate().total_bytes();
    assert!((4 << 20..5 << 20).contains(&total), "{total}");
}

/// Memory of a scope is undefined again the next time.
#[tpu_kernel]
fn stale_scope(#[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    for j in 0..2 {
        run_scoped(scratch::<Vmem<f32>>([m, n]), |a| {
            if j == 0 {
                a[..] = x[..];
            }
            y[..] = a[..];
        });
    }
}

/// A copy that outlives its scope.
#[tpu_kernel]
fn outlives_scope(#[block(m, n)] h: Hbm<f32>, #[block(m, n)] y: Out<f32>) {
    run_scoped((scratch::<Vmem<f32>>([m, n]), scratch::<DmaSemaphore>([])), |(a, done)| {
        start_copy(h.at(..), a.at(..), done);
    });
    y[..] = 0.0;
}

/// A semaphore that is left at one.
#[tpu_kernel]
fn signalled_scope(#[block(m, n)] y: Out<f32>, #[block(m, n)] x: In<f32>) {
    run_scoped(scratch::<Semaphore>([]), |ready| ready.signal(1));
    y[..] = x[..];
}

#[test]
fn what_a_scope_leaves_behind_is_told() {
    let args = [ArgSpec::of::<f32>(&[8, 128])];
    let input = [counting(&[8, 128])];
    let cases = [
        (stale_scope().trace(&args).unwrap(), "interp::uninitialized", "was written"),
        (
            outlives_scope().trace(&args).unwrap(),
            "interp::never_waited",
            "before the scope of its memory ends",
        ),
        (
            signalled_scope().trace(&args).unwrap(),
            "interp::semaphore_left",
            "is 1 when its scope ends",
        ),
    ];
    for (kernel, code, text) in cases {
        let errors = interpreted(&kernel, &input).unwrap_err();
        assert_eq!(errors.0[0].code.as_str(), code, "{errors}");
        assert!(errors.to_string().contains(text), "{errors}");
        let label = errors.0[0].labels.first().map(|label| label.span.file.to_string());
        assert!(label.is_some_and(|file| file.ends_with("scoped.rs")), "{errors}");
    }
}

/// A tile that leaves its scope another way than as its value.
#[tpu_kernel]
fn escapes_scope(#[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    let mut kept = x[..];
    run_scoped(scratch::<Vmem<f32>>([m, n]), |a| {
        a[..] = x[..];
        kept = a[..];
    });
    y[..] = kept;
}

#[test]
fn what_leaves_a_scope_is_its_value() {
    let errors = escapes_scope().trace(&[ArgSpec::of::<f32>(&[8, 128])]).unwrap_err();
    assert_eq!(errors.0[0].code.as_str(), "trace::escape", "{errors}");
    assert!(errors.to_string().contains("inside the `run_scoped`"), "{errors}");
}
