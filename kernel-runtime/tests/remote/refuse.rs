//! What is refused before anything runs.

use super::shards;
use systole::back::{interp, stablehlo};
use systole::diag::Code;
use systole::ir::Kernel;
use systole::prelude::*;
use systole::target::{GENERIC, V5E, V5P};
use systole::valid;

fn args() -> [ArgSpec; 1] {
    [ArgSpec::of::<f32>(&[8, 128])]
}

#[tpu_kernel(mesh(ring = 4))]
fn off_the_end(#[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>, #[scratch] ready: Semaphore) {
    ready.signal_to(device(ring.index() + 1), 1);
    ready.wait(1);
    y[..] = x[..];
}

#[test]
fn a_number_outside_the_mesh_is_proven() {
    let kernel = off_the_end().trace(&args()).unwrap();
    let problems = valid::check(kernel, &GENERIC).unwrap_err();
    assert_eq!(problems.0[0].code, Code::VALID_PEER, "{problems}");
    assert!(problems.to_string().contains("on device 3 this addresses device 4"), "{problems}");
    let file = problems.0[0].labels[0].span.file.to_string();
    assert!(file.ends_with("refuse.rs"), "{problems}");
}

#[tpu_kernel]
fn without_mesh(#[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    y[..] = x[..] + device_id().cast();
}

#[test]
fn a_kernel_without_a_mesh_has_no_device() {
    let problems = without_mesh().trace(&args()).unwrap_err();
    assert_eq!(problems.0[0].code, Code::TRACE_MESH, "{problems}");
    assert!(problems.to_string().contains("mesh(ring = n)"), "{problems}");
}

#[tpu_kernel(mesh(ring = 2))]
fn into_a_block(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] mine: Vmem<f32>,
    #[scratch] sent: DmaSemaphore,
    #[scratch] received: DmaSemaphore,
) {
    mine[..] = x[..];
    start_remote_copy(mine.at(..), y.at(..), sent, received, ring.next());
    wait_copy(mine.at(..), y.at(..), sent);
    wait_copy(mine.at(..), y.at(..), received);
}

#[test]
fn a_copy_into_the_block_of_a_peer_is_refused() {
    let kernel = into_a_block().trace(&args()).unwrap();
    let problems = valid::check(kernel, &GENERIC).unwrap_err();
    assert_eq!(problems.0[0].code, Code::VALID_COPY_TARGET, "{problems}");
    assert!(problems.to_string().contains("the block of `y`"), "{problems}");
}

#[tpu_kernel(mesh(ring = 2))]
fn signals_next(#[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    barrier([ring.next()]);
    y[..] = x[..];
}

#[test]
fn stablehlo_says_that_it_has_no_other_devices() {
    let kernel = signals_next().trace(&args()).unwrap();
    let valid = valid::check(kernel, &GENERIC).unwrap();
    let problems = stablehlo::lower(&valid, &stablehlo::Options::default()).unwrap_err();
    assert!(problems.iter().all(|problem| problem.code == Code::STABLEHLO_UNSUPPORTED));
    assert!(problems.to_string().contains("to another device or core"), "{problems}");
    assert!(problems.to_string().contains("`device_id`"), "{problems}");
}

#[test]
fn arrays_are_given_per_device() {
    let kernel = signals_next().trace(&args()).unwrap();
    let valid = valid::check(kernel, &GENERIC).unwrap();
    let options = interp::Options::default();
    let one = interp::run(&valid, &shards(1, &[8, 128])[0], &options).unwrap_err();
    assert_eq!(one.0[0].code, Code::INTERP_INPUT);
    assert!(one.to_string().contains("runs on 2 devices at once"), "{one}");
    let three = interp::run_devices(&valid, &shards(3, &[8, 128]), &options).unwrap_err();
    assert!(three.to_string().contains("the arrays of 3 were given"), "{three}");
    let mut wrong = shards(2, &[8, 128]);
    wrong[1] = shards(1, &[8, 256]).remove(0);
    let wrong = interp::run_devices(&valid, &wrong, &options).unwrap_err();
    assert!(wrong.to_string().contains("device 1"), "{wrong}");
}

#[tpu_kernel(grid(c: core_parallel = 2))]
fn on_two_cores(#[block(m: 8 @ c, n)] x: In<f32>, #[block(m: 8 @ c, n)] y: Out<f32>) {
    y[..] = x[..];
}

#[tpu_kernel(grid(i, c: core_parallel = 2))]
fn cores_inside(
    #[block(m: 8 @ i, n: 128 @ c)] x: In<f32>,
    #[block(m: 8 @ i, n: 128 @ c)] y: Out<f32>,
) {
    y[..] = x[..];
}

#[test]
fn axes_over_cores_fit_the_chip() {
    let kernel = on_two_cores().trace(&[ArgSpec::of::<f32>(&[16, 128])]).unwrap();
    assert!(valid::check(kernel.clone(), &V5P).is_ok());
    let problems = valid::check(kernel, &V5E).unwrap_err();
    assert_eq!(problems.0[0].code, Code::VALID_CORE_AXIS, "{problems}");
    assert!(problems.to_string().contains("runs over 2 cores, but a device of v5e has 1"));
    let kernel = cores_inside().trace(&[ArgSpec::of::<f32>(&[16, 256])]).unwrap();
    let problems = valid::check(kernel, &GENERIC).unwrap_err();
    assert!(problems.to_string().contains("stands inside of the axis `i`"), "{problems}");
}

/// A kernel of two devices around these ops.
fn tile(body: &str) -> String {
    format!(
        "kernel k {{
mesh ring: 2
in x: f32[m: 8, n: 128] hbm
scratch buf: f32[8, 128] vmem
semaphores d: dma[]
semaphores r: regular[]
semaphores b: barrier[]
body(%x: hbm f32[8, 128], %buf: vmem f32[8, 128], %d: semaphores dma[], %r: semaphores regular[], %b: semaphores barrier[]) {{
  %zero = const 0 : i32
  %one = const 1 : i32
{body}
}}
}}
"
    )
}

#[test]
fn semaphores_of_the_wrong_kind_are_refused() {
    let cases = [
        ("  sem_signal %d[], %one device %zero", "takes a regular semaphore, not one for copies"),
        (
            "  dma_start %x[:, :] to %buf[:, :] semaphore %b[] source_semaphore %d[] device %one",
            "counts in a DMA semaphore, not `semaphores barrier[]`",
        ),
    ];
    for (body, words) in cases {
        let problems = Kernel::parse(&tile(body)).unwrap_err();
        assert!(problems.to_string().contains(words), "{problems}");
    }
    let one_sided = "  dma_start %x[:, :] to %buf[:, :] semaphore %d[] device %one";
    let kernel = Kernel::parse(&tile(one_sided)).unwrap_or_else(|e| panic!("{e}"));
    let problems = valid::check(kernel, &GENERIC).unwrap_err();
    assert_eq!(problems.0[0].code, Code::VALID_SEMAPHORES, "{problems}");
}
