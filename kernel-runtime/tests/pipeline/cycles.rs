//! A matrix product through a pipeline costs about as much as one by the grid.

use systole::aot::{Options, Report, Request, compile};
use systole::back::mosaic;
use systole::ir::Kernel;
use systole::prelude::*;
use systole::target::{Target, V5E, V5P, V6E};
use systole::valid;

#[tpu_kernel(grid(i, j, l))]
fn by_the_grid(
    #[comptime] t: [usize; 3],
    #[block(m: t[0] @ i, k: t[1] @ l)] x: In<bf16>,
    #[block(k: t[1] @ l, n: t[2] @ j)] w: In<bf16>,
    #[block(m: t[0] @ i, n: t[2] @ j)] y: Out<bf16>,
    #[scratch([t[0], t[2]])] acc: Vmem<f32>,
) {
    if l == 0 {
        acc[..] = 0.0;
    }
    acc[..] += dot(x[..], w[..]);
    if l == l.last() {
        y[..] = acc[..].cast();
    }
}

#[tpu_kernel]
fn by_a_pipeline(
    #[comptime] t: [usize; 3],
    #[block(m, k)] x: Hbm<bf16>,
    #[block(k, n)] w: Hbm<bf16>,
    #[block(m, n)] y: HbmOut<bf16>,
    #[scratch([t[0], t[2]])] acc: Vmem<f32>,
) {
    let steps = k / t[1];
    pipeline(
        [m / t[0], n / t[2], steps],
        (
            x.blocks([t[0], t[1]], |[i, _, l]| (i, l)),
            w.blocks([t[1], t[2]], |[_, j, l]| (l, j)),
            y.blocks([t[0], t[2]], |[i, j, _]| (i, j)),
        ),
        |[_, _, l], (x, w, y)| {
            if l == 0 {
                acc[..] = 0.0;
            }
            acc[..] += dot(x[..], w[..]);
            if l == steps - 1 {
                y[..] = acc[..].cast();
            }
        },
    );
}

fn report(kernel: &Kernel, target: &'static Target) -> Report {
    let valid = valid::check(kernel.clone(), target).unwrap();
    let program = mosaic::call(&valid, &mosaic::Options::default()).unwrap();
    let request = Request::new(&kernel.name, target, program);
    let report = compile(&request.with(Options { lines: false, ..Options::default() }));
    assert!(report.is_ok(), "{:?}", report.messages);
    report
}

#[test]
fn a_product_by_a_pipeline_costs_about_as_much_as_by_the_grid() {
    let args = [(); 2].map(|()| ArgSpec::of::<bf16>(&[1024, 1024]));
    let cases = [
        ([256, 512, 512], &V5E),
        ([512, 512, 512], &V5E),
        ([256, 512, 512], &V5P),
        ([256, 512, 512], &V6E),
    ];
    for (t, target) in cases {
        let grid = report(&by_the_grid(t).trace(&args).unwrap(), target);
        let pipeline = report(&by_a_pipeline(t).trace(&args).unwrap(), target);
        assert_eq!(grid.ops.vmatmul, pipeline.ops.vmatmul, "{t:?} on {target}");
        let (grid, pipeline) = (grid.cycles.unwrap(), pipeline.cycles.unwrap());
        let ratio = pipeline as f64 / grid as f64;
        println!("{t:?} {target}: {grid} by the grid, {pipeline} by a pipeline, {ratio:.3}");
        assert!(ratio < 1.1, "{t:?} on {target}: {pipeline} cycles, {grid} by the grid");
    }
}
