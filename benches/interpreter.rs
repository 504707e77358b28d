//! How long the interpreter takes, with all checks on: matrix product and flash attention.

use criterion::Criterion;
use half::bf16;
use std::hint::black_box;
use std::time::{Duration, Instant};
use systole::back::interp::{self, Options};
use systole::diag::Diagnostics;
use systole::ir::ops::Precision;
use systole::ir::{Array, DType, Kernel};
use systole::target::{GENERIC, V5E};
use systole::trace::ArgSpec;
use systole::valid::{self, Valid};
use systole_kernels::flash_attention::{Attention, Heads};
use systole_kernels::matmul::{Tiles, matmul};

/// Causal, one head of 512 x 128 bf16, query and key blocks of 128; key and value stay in VMEM.
const FLASH: &str = "
kernel flash {
grid i: 4 parallel
in q: bf16[s: 512, d: 128] vmem block [128, 128] map(%i: i32) {
  %0 = const 0 : i32
  yield %i, %0
}
in k: bf16[s: 512, d: 128] vmem block [512, 128] map(%i: i32) {
  %0 = const 0 : i32
  yield %0, %0
}
in v: bf16[s: 512, d: 128] vmem block [512, 128] map(%i: i32) {
  %0 = const 0 : i32
  yield %0, %0
}
out o: bf16[s: 512, d: 128] vmem block [128, 128] map(%i: i32) {
  %0 = const 0 : i32
  yield %i, %0
}
body(%i: i32, %q: vmem bf16[128, 128], %k: vmem bf16[512, 128], %v: vmem bf16[512, 128], %o: vmem bf16[128, 128]) {
  %zero = const 0 : i32
  %one = const 1 : i32
  %size = const 128 : i32
  %q0 = mul %i, %size : i32
  %end = add %i, %one : i32
  %low = const -1e30 : f32
  %fzero = const 0.0 : f32
  %scale = const 0.08838835 : f32
  %m0 = splat %low : f32[128, 1]
  %l0 = splat %fzero : f32[128, 1]
  %acc0 = splat %fzero : f32[128, 128]
  %m9, %l9, %acc9 = for %zero, %end, %one, %m0, %l0, %acc0 (%j: i32, %m: f32[128, 1], %l: f32[128, 1], %acc: f32[128, 128]) {
    %k0 = mul %j, %size : i32
    %qt = load %q[:, :] : bf16[128, 128]
    %kt = load %k[ds(multiple(%k0, 128), 128), :] : bf16[128, 128]
    %s0 = dot %qt, %kt transpose_rhs : f32[128, 128]
    %st = splat %scale : f32[128, 128]
    %s1 = mul %s0, %st : f32[128, 128]
    %diagonal = eq %i, %j : bool
    %s2 = if %diagonal {
      %r0 = iota axis 0 : i32[128, 128]
      %rb = splat %q0 : i32[128, 128]
      %r1 = add %r0, %rb : i32[128, 128]
      %c0 = iota axis 1 : i32[128, 128]
      %cb = splat %k0 : i32[128, 128]
      %c1 = add %c0, %cb : i32[128, 128]
      %seen = ge %r1, %c1 : bool[128, 128]
      %lows = splat %low : f32[128, 128]
      %masked = select %seen, %s1, %lows : f32[128, 128]
      yield %masked
    } else {
      yield %s1
    } : f32[128, 128]
    %row = reduce_max %s2 axis 1 : f32[128, 1]
    %m1 = max %m, %row : f32[128, 1]
    %mb = broadcast %m1 : f32[128, 128]
    %d = sub %s2, %mb : f32[128, 128]
    %p = exp %d : f32[128, 128]
    %dm = sub %m, %m1 : f32[128, 1]
    %alpha = exp %dm : f32[128, 1]
    %sum = reduce_sum %p axis 1 : f32[128, 1]
    %l1 = mul %l, %alpha : f32[128, 1]
    %l2 = add %l1, %sum : f32[128, 1]
    %ab = broadcast %alpha : f32[128, 128]
    %acc1 = mul %acc, %ab : f32[128, 128]
    %pb = cast %p : bf16[128, 128]
    %vt = load %v[ds(multiple(%k0, 128), 128), :] : bf16[128, 128]
    %pv = dot %pb, %vt : f32[128, 128]
    %acc2 = add %acc1, %pv : f32[128, 128]
    yield %m1, %l2, %acc2
  } : f32[128, 1], f32[128, 1], f32[128, 128]
  %lb = broadcast %l9 : f32[128, 128]
  %r = div %acc9, %lb : f32[128, 128]
  %rb = cast %r : bf16[128, 128]
  store %o[:, :], %rb
}
}
";

fn checked(kernel: Result<Kernel, Diagnostics>) -> Valid {
    match kernel.and_then(|kernel| valid::check(kernel, &GENERIC)) {
        Ok(valid) => valid,
        Err(problems) => {
            eprintln!("{problems}");
            std::process::exit(1)
        }
    }
}

/// Values of about unit size, the same in every run.
fn values(shape: &[usize], seed: u32) -> Array {
    let mut array = Array::zeros(DType::BF16, shape);
    let n = array.n_elems() as u32;
    if let systole::ir::array::ArrayData::BF16(data) = array.data_mut() {
        for (idx, value) in (0..n).zip(data) {
            let mixed = (idx ^ seed).wrapping_mul(2_654_435_761) >> 8;
            *value = bf16::from_f32(mixed as f32 / (1 << 23) as f32 - 1.0);
        }
    }
    array
}

/// Measures a kernel, and says the best of many runs: on a busy machine the mean says little.
fn measure(c: &mut Criterion, name: &str, kernel: &Valid, inputs: &[Array]) {
    for threads in [0, 1] {
        let options = Options { threads, ..Options::default() };
        let name = match threads {
            0 => format!("{name}, all threads"),
            _ => format!("{name}, one thread"),
        };
        let mut best = Duration::MAX;
        c.bench_function(&name, |b| {
            b.iter_custom(|n| {
                (0..n)
                    .map(|_| {
                        let start = Instant::now();
                        let outcome = black_box(interp::run(kernel, inputs, &options));
                        let elapsed = start.elapsed();
                        assert!(outcome.is_ok(), "{name} must run");
                        best = best.min(elapsed);
                        elapsed
                    })
                    .sum()
            });
        });
        // Not if a filter left it out.
        if best < Duration::MAX {
            eprintln!("{name}: best {best:?}");
        }
    }
}

/// The library's matrix product in blocks of 128, whatever the sizes: 64 grid steps for 512³.
fn matmul_in_128_blocks(inputs: &[Array]) -> Valid {
    let tiles = Tiles { m: 128, k: 128, n: 128, k_streams: 1 };
    let kernel = matmul::<bf16, bf16, _>(tiles, Precision::Medium, |x| x.cast());
    let args: Vec<ArgSpec> = inputs.iter().map(ArgSpec::from).collect();
    checked(kernel.trace(&args))
}

/// The library's flash attention in the form for heads that fit in VMEM.
fn library_flash() -> Valid {
    let heads = Heads { b: 1, h: 1, kv_h: 1, sq: 512, sk: 512, d: 128 };
    checked(Attention::new().causal().kernel(&V5E, DType::BF16, heads, false))
}

fn main() {
    let mut c = Criterion::default().configure_from_args();
    let inputs = [1, 2].map(|seed| values(&[512, 512], seed));
    let kernel = matmul_in_128_blocks(&inputs);
    measure(&mut c, "matmul bf16 512^3 in 128-blocks", &kernel, &inputs);
    let inputs = [1, 2, 3].map(|seed| values(&[512, 128], seed));
    measure(&mut c, "flash bf16 s512 d128 causal", &checked(Kernel::parse(FLASH)), &inputs);
    let inputs = [1, 2, 3].map(|seed| values(&[1, 1, 512, 128], seed));
    measure(&mut c, "library flash bf16 s512 d128 causal", &library_flash(), &inputs);
    c.final_summary();
}
