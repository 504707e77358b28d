//! The named specs of `matmul`.

use super::{Layout, MatmulOptions, reference};
use crate::xla::Main;
use systole::ir::DType;
use systole::ir::ops::Precision;
use systole::run::{Sampler, Spec, Tolerance};

/// Every spec.
pub fn specs() -> Vec<Spec> {
    let cube = [1024; 3];
    let small = [256, 384, 128];
    let mut specs = vec![
        Case::new(DType::BF16, cube).spec().tag(Spec::LARGE),
        Case::new(DType::F32, cube).precision(Precision::Highest).spec().tag(Spec::LARGE),
        Case::new(DType::I8, cube).spec().tag(Spec::LARGE),
        Case::new(DType::BF16, [2048; 3]).spec().tag(Spec::LARGE).tag(Spec::EXTRA),
        Case::new(DType::BF16, small).spec(),
        Case::new(DType::I8, small).spec(),
        // Sizes that no block divides.
        Case::new(DType::BF16, [200, 300, 333]).spec().tag(Spec::EXTRA),
        Case::new(DType::F32, [77, 200, 130]).precision(Precision::Highest).spec().tag(Spec::EXTRA),
    ];
    for precision in Precision::ALL {
        specs.push(Case::new(DType::F32, small).precision(*precision).spec());
    }
    for (transpose_lhs, transpose_rhs) in [(false, true), (true, false), (true, true)] {
        let layout = Layout { transpose_lhs, transpose_rhs };
        let spec = Case::new(DType::BF16, small).layout(layout).spec();
        specs.push(if transpose_lhs { spec.tag(Spec::EXTRA) } else { spec });
        let highest = Case::new(DType::F32, small).layout(layout).precision(Precision::Highest);
        specs.push(highest.spec().tag(Spec::EXTRA));
    }
    specs
}

/// What a spec's name says.
#[derive(Clone, Copy)]
struct Case {
    dtype: DType,
    sizes: [usize; 3],
    layout: Layout,
    precision: Precision,
}

impl Case {
    fn new(dtype: DType, sizes: [usize; 3]) -> Case {
        Case { dtype, sizes, layout: Layout::default(), precision: Precision::Medium }
    }

    fn layout(self, layout: Layout) -> Case {
        Case { layout, ..self }
    }

    fn precision(self, precision: Precision) -> Case {
        Case { precision, ..self }
    }

    /// `bf16_1024x1024x1024` (m, k, n), then `_highest` for f32 and `_nt` if transposed.
    fn name(self) -> String {
        let [m, k, n] = self.sizes;
        let mut name = format!("{}_{m}x{k}x{n}", self.dtype);
        if self.dtype == DType::F32 {
            name = format!("{name}_{}", self.precision.name());
        }
        if self.layout != Layout::default() {
            name = format!("{name}_{}", self.layout.name());
        }
        name
    }

    fn out(self) -> DType {
        if self.dtype.is_int() { DType::I32 } else { self.dtype }
    }

    fn shapes(self) -> [[usize; 2]; 2] {
        let [m, k, n] = self.sizes;
        let lhs = if self.layout.transpose_lhs { [k, m] } else { [m, k] };
        let rhs = if self.layout.transpose_rhs { [n, k] } else { [k, n] };
        [lhs, rhs]
    }

    fn spec(self) -> Spec {
        let ([m, k, n], dtype) = (self.sizes, self.dtype);
        let bytes = (m * k + k * n) * dtype.size_bytes() + m * n * self.out().size_bytes();
        Spec::new(self.name(), dtype)
            .work(2 * (m * k * n) as u64, bytes as u64)
            .build(move |target| {
                let options = MatmulOptions { layout: self.layout, precision: self.precision };
                super::build(target, dtype, options, self.sizes)
            })
            .inputs(move |seed| {
                let mut sampler = Sampler::new(seed);
                let [lhs, rhs] = self.shapes();
                if dtype.is_int() {
                    vec![sampler.small_ints(dtype, &lhs), sampler.small_ints(dtype, &rhs)]
                } else {
                    vec![sampler.normal(dtype, &lhs), sampler.normal(dtype, &rhs)]
                }
            })
            .reference(move |inputs| {
                let [a, b] = [&inputs[0], &inputs[1]];
                vec![reference::matmul(a, b, self.layout, self.precision, self.out())]
            })
            .xla(move || self.xla())
            .tolerance(self.tolerance())
    }

    /// Sums of `k` products of normal values are about `sqrt(k)` large, and every one of the `k`
    /// additions in `f32` may round by half a unit of that.
    fn tolerance(self) -> Tolerance {
        const REASON: &str =
            "a sum near zero carries the rounding of its sqrt(k)-sized partial sums";
        let k = self.sizes[1] as f64;
        let floor = k.sqrt() * k.sqrt() * f64::from(f32::EPSILON);
        match self.dtype {
            DType::F32 => Tolerance::ulp(256).floor(floor, REASON),
            DType::BF16 => Tolerance::ulp(1).floor(floor, REASON),
            _ => Tolerance::exact(),
        }
    }

    fn xla(self) -> String {
        let mut main = Main::default();
        let [lhs, rhs] = self.shapes();
        let (a, b) = (main.arg(self.dtype, &lhs), main.arg(self.dtype, &rhs));
        // One bf16 pass, said so that every device does it: DEFAULT means f32 on a CPU.
        let [a, b] = match (self.dtype, self.precision) {
            (DType::F32, Precision::Medium) => [&a, &b].map(|x| main.convert(x, DType::BF16)),
            _ => [a, b],
        };
        let precision = match self.precision {
            Precision::Medium => "DEFAULT",
            Precision::High => "HIGH",
            Precision::Highest => "HIGHEST",
        };
        let lhs_axis = usize::from(!self.layout.transpose_lhs);
        let rhs_axis = usize::from(self.layout.transpose_rhs);
        let c = main.dot((&a, lhs_axis), (&b, rhs_axis), 0, self.out(), precision);
        main.finish(&[c])
    }
}
