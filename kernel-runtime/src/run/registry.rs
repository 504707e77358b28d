//! The registry: kernels by name, each with its named specialisations.
//!
//! A kernel crate lists its kernels in one `static` slice and hands it to [`crate::cli::main`]. No
//! code runs before `main`, and nothing registers itself.

use super::compare::Tolerance;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{Array, DType, Kernel};
use crate::target::Target;
use std::collections::BTreeSet;
use std::fmt;

/// A kernel that the command line, the tests and the benches know by name.
#[derive(Clone, Copy, Debug)]
pub struct KernelEntry {
    /// Its name: `matmul`.
    pub name: &'static str,
    /// What it computes, in one line.
    pub doc: &'static str,
    /// Its specialisations.
    pub specs: fn() -> Vec<Spec>,
}

type Build = Box<dyn Fn(&'static Target) -> Result<Kernel, Diagnostics> + Send + Sync>;
type Inputs = Box<dyn Fn(u64) -> Vec<Array> + Send + Sync>;
type Reference = Box<dyn Fn(&[Array]) -> Vec<Array> + Send + Sync>;
type Xla = Box<dyn Fn() -> String + Send + Sync>;

/// One specialisation of a kernel: a shape, an element type and options, with all that is needed
/// to run, check and measure it.
///
/// ```
/// use systole::diag::Diagnostics;
/// use systole::ir::{DType, Kernel};
/// use systole::run::{Sampler, Spec, Tolerance};
///
/// let (m, n) = (256, 512);
/// let spec = Spec::new(format!("f32_{m}x{n}"), DType::F32)
///     .work(2 * m * n, 3 * 4 * m * n)
///     .build(|_target| Ok::<_, Diagnostics>(Kernel::new("scale_add")))
///     .inputs(move |seed| {
///         let mut sampler = Sampler::new(seed);
///         vec![sampler.normal(DType::F32, &[m as usize, n as usize])]
///     })
///     .reference(|inputs| vec![inputs[0].clone()])
///     .xla(|| String::from("module { .. }"))
///     .tolerance(Tolerance::ulp(1));
/// assert_eq!(spec.name(), "f32_256x512");
/// ```
pub struct Spec {
    name: String,
    dtype: DType,
    flops: u64,
    bytes: u64,
    build: Option<Build>,
    inputs: Option<Inputs>,
    reference: Option<Reference>,
    xla: Option<Xla>,
    tolerance: Tolerance,
    tags: Vec<&'static str>,
}

impl Spec {
    /// The tag of specs that take long on a CPU: tests run them in release builds alone.
    pub const LARGE: &'static str = "large";

    /// The tag of specs that `check` without names leaves out: corner cases, as a length that blocks
    /// do not divide, and those of which a neighbour tells as much.
    pub const EXTRA: &'static str = "extra";

    /// A spec whose name says shape, element type and options: `bf16_1024x1024x1024`.
    ///
    /// [`Spec::build`], [`Spec::inputs`], [`Spec::reference`] and [`Spec::work`] must follow;
    /// [`validate`] reports a spec without them.
    pub fn new(name: impl Into<String>, dtype: DType) -> Spec {
        Spec {
            name: name.into(),
            dtype,
            flops: 0,
            bytes: 0,
            build: None,
            inputs: None,
            reference: None,
            xla: None,
            tolerance: Tolerance::exact(),
            tags: Vec::new(),
        }
    }

    /// What the math needs at least: floating-point (or integer) operations, and bytes of every
    /// input read once and every output written once.
    pub fn work(mut self, flops: u64, bytes: u64) -> Spec {
        (self.flops, self.bytes) = (flops, bytes);
        self
    }

    /// How the kernel is traced. Block sizes may depend on the chip.
    pub fn build(
        mut self,
        build: impl Fn(&'static Target) -> Result<Kernel, Diagnostics> + Send + Sync + 'static,
    ) -> Spec {
        self.build = Some(Box::new(build));
        self
    }

    /// How inputs are made from a seed, in the order of the kernel's input parameters.
    pub fn inputs(mut self, inputs: impl Fn(u64) -> Vec<Array> + Send + Sync + 'static) -> Spec {
        self.inputs = Some(Box::new(inputs));
        self
    }

    /// The meaning of the kernel in plain loops: outputs from inputs, in the order of its
    /// parameters.
    pub fn reference(
        mut self,
        reference: impl Fn(&[Array]) -> Vec<Array> + Send + Sync + 'static,
    ) -> Spec {
        self.reference = Some(Box::new(reference));
        self
    }

    /// The same math as StableHLO text, a module whose `main` takes the inputs and gives the
    /// outputs: what `bench --against xla` compiles. [`Lowered::stablehlo`](super::Lowered::stablehlo)
    /// gives it for a function of tensors.
    pub fn xla(mut self, xla: impl Fn() -> String + Send + Sync + 'static) -> Spec {
        self.xla = Some(Box::new(xla));
        self
    }

    /// How far results may be from the reference.
    pub fn tolerance(mut self, tolerance: Tolerance) -> Spec {
        self.tolerance = tolerance;
        self
    }

    /// Adds a tag, such as [`Spec::LARGE`] or the name of a model with this shape.
    pub fn tag(mut self, tag: &'static str) -> Spec {
        self.tags.push(tag);
        self
    }

    /// With [`Spec::EXTRA`], unless its name is one of these.
    pub fn extra_unless(self, typical: &[&str]) -> Spec {
        if typical.contains(&self.name.as_str()) { self } else { self.tag(Spec::EXTRA) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The element type that its name leads with.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Operations that the math needs.
    pub fn flops(&self) -> u64 {
        self.flops
    }

    /// Bytes that the math must move.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How far results may be from the reference.
    pub fn tolerated(&self) -> &Tolerance {
        &self.tolerance
    }

    /// Its tags.
    pub fn tags(&self) -> &[&'static str] {
        &self.tags
    }

    /// Whether it has a tag.
    pub fn has_tag(&self, tag: &str) -> bool {
        self.tags.contains(&tag)
    }

    /// Traces the kernel for a target.
    ///
    /// # Errors
    /// What tracing reports, or that the spec has no way to build.
    pub fn kernel(&self, target: &'static Target) -> Result<Kernel, Diagnostics> {
        match &self.build {
            Some(build) => build(target),
            None => Err(self.incomplete("build").into()),
        }
    }

    /// Inputs made from a seed.
    ///
    /// # Errors
    /// If the spec has no way to make them.
    pub fn sample_inputs(&self, seed: u64) -> Result<Vec<Array>, Diagnostics> {
        match &self.inputs {
            Some(inputs) => Ok(inputs(seed)),
            None => Err(self.incomplete("inputs").into()),
        }
    }

    /// The outputs that the reference gives for these inputs.
    ///
    /// # Errors
    /// If the spec has no reference.
    pub fn expected(&self, inputs: &[Array]) -> Result<Vec<Array>, Diagnostics> {
        match &self.reference {
            Some(reference) => Ok(reference(inputs)),
            None => Err(self.incomplete("reference").into()),
        }
    }

    /// The reference math as StableHLO text, if the spec has it.
    pub fn stablehlo(&self) -> Option<String> {
        self.xla.as_ref().map(|xla| xla())
    }

    fn incomplete(&self, method: &str) -> Diagnostic {
        Diagnostic::error(
            Code::RUN_REGISTRY,
            format!("spec `{}` was made without `.{method}(..)`", self.name),
        )
        .help(format!("add `.{method}(..)` where the spec is made"))
    }
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spec")
            .field("name", &self.name)
            .field("dtype", &self.dtype)
            .field("flops", &self.flops)
            .field("bytes", &self.bytes)
            .field("tolerance", &self.tolerance)
            .field("tags", &self.tags)
            .finish_non_exhaustive()
    }
}

/// Checks a registry: unique names, and specs that are complete.
///
/// # Errors
/// Every mistake found.
pub fn validate(registry: &[KernelEntry]) -> Result<(), Diagnostics> {
    let mut mistakes = Diagnostics::default();
    let mut push = |message: String, help: &str| {
        mistakes.push(Diagnostic::error(Code::RUN_REGISTRY, message).help(help));
    };
    let mut kernel_names = BTreeSet::new();
    for entry in registry {
        if !kernel_names.insert(entry.name) {
            push(format!("two kernels are named `{}`", entry.name), "names must be unique");
        }
        let specs = (entry.specs)();
        if specs.is_empty() {
            push(format!("kernel `{}` has no spec", entry.name), "give it at least one");
        }
        let mut spec_names = BTreeSet::new();
        for spec in &specs {
            let name = format!("{}/{}", entry.name, spec.name);
            if !spec_names.insert(spec.name.as_str()) {
                push(format!("two specs are named `{name}`"), "names must be unique");
            }
            for (method, missing) in [
                ("build", spec.build.is_none()),
                ("inputs", spec.inputs.is_none()),
                ("reference", spec.reference.is_none()),
                ("work", spec.bytes == 0),
            ] {
                if missing {
                    push(
                        format!("spec `{name}` was made without `.{method}(..)`"),
                        "every spec says how to build, feed and check its kernel, and its work",
                    );
                }
            }
        }
    }
    if mistakes.is_empty() { Ok(()) } else { Err(mistakes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn incomplete() -> Vec<Spec> {
        vec![Spec::new("f32_1", DType::F32), Spec::new("f32_1", DType::F32)]
    }

    #[test]
    fn validate_names_every_mistake() {
        let twice = KernelEntry { name: "twice", doc: "", specs: incomplete };
        let empty = KernelEntry { name: "empty", doc: "", specs: Vec::new };
        let found = validate(&[twice, twice, empty]).unwrap_err();
        assert!(found.iter().all(|d| d.code == Code::RUN_REGISTRY));
        let text = found.to_string();
        for expected in [
            "two kernels are named `twice`",
            "kernel `empty` has no spec",
            "two specs are named `twice/f32_1`",
            "`twice/f32_1` was made without `.reference(..)`",
        ] {
            assert!(text.contains(expected), "{text}");
        }
    }
}
