//! What reports say about programs that compile.
use super::{DOT, KERNEL, call_kernel, fresh, ok};
use systole::aot::{Options, Report, compile, compile_many};
use systole::target::{Target, V4, V5E, V5P};

/// Cycles by line plus what belongs to no line.
fn shared_out(report: &Report) -> u64 {
    let overhead = report.overhead;
    report.lines.iter().map(|line| line.cycles).sum::<u64>()
        + overhead.dma_cycles
        + overhead.spill_cycles
        + overhead.other_cycles
}

#[test]
fn estimates_every_chip_that_libtpu_has_a_model_for() {
    let kernel = call_kernel(KERNEL);
    let requests: Vec<_> = Target::TPUS
        .iter()
        .flat_map(|target| [fresh(target, DOT), fresh(target, &kernel)])
        .collect();
    let done = std::sync::atomic::AtomicUsize::new(0);
    let reports = compile_many(&requests, 2, |_idx, _report| {
        done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!((reports.len(), done.into_inner()), (10, 10));
    for (request, report) in requests.iter().zip(reports) {
        let report = ok(report);
        assert_eq!(report.target, request.target.name);
        assert!(report.code_bytes().unwrap() > 1000);
        assert!(report.vmem_bytes.unwrap() > 100_000);
        assert!(report.libtpu.contains("Built on"), "{}", report.libtpu);
        if request.target.name == V4.name {
            assert_eq!(report.cycles, None);
            assert_eq!(report.cycles_note.unwrap(), "libtpu has no cycle model for v4");
            continue;
        }
        let cycles = report.cycles.unwrap_or_else(|| panic!("{:?}", report.cycles_note));
        assert_eq!(shared_out(&report), cycles);
        assert!(report.ops.vmatmul > 0);
        let busy = report.occupancy.unwrap();
        assert!(busy.mxu > 0.01 && busy.mxu <= 1.0, "{busy:?}");
        let times = [report.compute_us, report.hbm_us].map(Option::unwrap);
        assert_eq!(report.time_us.unwrap(), times[0].max(times[1]));
        assert!(report.bound().is_some());
    }
}

#[test]
fn counts_bytes_and_multiplications_of_a_kernel() {
    let report = ok(compile(&fresh(&V5E, &call_kernel(KERNEL))));
    // Per grid step a 128x256 block of a and a 256x256 block of b, and c once per row of blocks.
    let bytes = 4 * (128 * 256 + 256 * 256) * 2 + 2 * 128 * 256 * 4;
    assert_eq!(report.hbm_bytes, Some(bytes));
    assert_eq!(report.dma.n, 4 + 4 + 2);
    // 2 x 256 x 512 x 256 flops, 16 rows of a 128x128 unit at a time.
    assert_eq!(report.ops.vmatmul, 2 * 256 * 512 * 256 / (2 * 16 * 128 * 128));
    let [program] = &report.programs[..] else { panic!("{:?}", report.programs) };
    assert_eq!((program.opcode.as_str(), program.runs), ("custom-call", 1));
    assert_eq!(Some(program.cycles), report.cycles);
}

#[test]
fn tells_what_each_line_costs() {
    for target in [&V5E, &V5P] {
        let report = ok(compile(&fresh(target, &call_kernel(KERNEL))));
        let line = |place: &str| {
            let is_it = |line: &&systole::aot::LineCost| line.places[0].to_string() == place;
            report.lines.iter().find(is_it).unwrap_or_else(|| panic!("{place}: {:?}", report.lines))
        };
        let matmul = line("helper.rs:9:5");
        assert_eq!(matmul.places[1].to_string(), "kernel.rs:5:14");
        assert_eq!(matmul.ops.vmatmul, report.ops.vmatmul);
        assert!(matmul.cycles > 0);
        // 128x256 f32 in 8x128 registers, stored by each of 4 steps, which the cores share.
        let n_cores = target.chip.unwrap().n_cores as u64;
        assert_eq!(line("kernel.rs:5:5").ops.vst, 4 * 32 / n_cores);
        assert_eq!(line("kernel.rs:3:9").ops.vst, 2 * 32 / n_cores);
    }
}

#[test]
fn locations_do_not_change_the_estimate() {
    let program = call_kernel(KERNEL);
    let with = ok(compile(&fresh(&V5E, &program)));
    let mut request = fresh(&V5E, &program);
    request.options.init_flags = vec!["--xla_mosaic_enable_llo_source_annotations=false".into()];
    let without = ok(compile(&request));
    assert!(!with.lines.is_empty() && without.lines.is_empty());
    assert_eq!((with.cycles, with.ops, with.dma), (without.cycles, without.ops, without.dma));
    assert_eq!(with.memory, without.memory);
}

#[test]
fn is_deterministic() {
    let program = call_kernel(KERNEL);
    let [first, second] = [(); 2].map(|()| ok(compile(&fresh(&V5E, &program))));
    assert_eq!(Report { compile_ms: 0, ..first }, Report { compile_ms: 0, ..second });
}

#[test]
fn compiles_without_estimating() {
    let mut request = fresh(&V5E, DOT);
    request.options = Options { cycles: false, ..request.options };
    let report = ok(compile(&request));
    assert_eq!(report.cycles, None);
    assert!(report.vmem_bytes.unwrap() > 0);
    let executable = systole::aot::compile_to_executable(&request).unwrap();
    assert!(executable.len() > 10_000);
}

#[test]
fn multiplies_a_loop_of_xla_by_its_trips() {
    let program = "func.func public @main(%x: tensor<256x256xbf16>, %w: tensor<256x256xbf16>) -> tensor<256x256xbf16> {
  %i0 = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %i0, %y = %x) : tensor<i32>, tensor<256x256xbf16>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %z = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0]
      : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xbf16>
    %t = stablehlo.tanh %z : tensor<256x256xbf16>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %t : tensor<i32>, tensor<256x256xbf16>
  }
  return %r#1 : tensor<256x256xbf16>
}";
    let report = ok(compile(&fresh(&V5E, program)));
    let [most, ..] = &report.programs[..] else { panic!("{report:?}") };
    assert_eq!((most.opcode.as_str(), most.runs), ("fusion", 5));
    assert!(most.cycles > 0 && most.ops.eup > 0);
    assert_eq!(report.cycles, Some(shared_out(&report)), "{:?}", report.programs);
}
