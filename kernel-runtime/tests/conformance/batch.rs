//! Cases that share one kernel: compiling is what takes time, so a kernel has many outputs.

use crate::backend::{Backend, spoil};
use crate::sketch::{Sketch, access, dim};
use std::sync::{Arc, OnceLock};
use systole::ir::kernel::Value;
use systole::ir::ty::MemorySpace;
use systole::ir::{Array, DType};
use systole::run::{Tolerance, compare};
use systole::valid::Valid;

/// Writes the ops of a case; gives the tile that is its result.
type Emit = Box<dyn Fn(&mut Sketch, &Refs) -> Value + Send + Sync>;

/// The references that the ops of a case may use.
pub(crate) struct Refs {
    table: Option<Value>,
    /// By number of the input.
    pub(crate) inputs: Vec<Value>,
    /// By number of the scratch.
    pub(crate) scratch: Vec<Value>,
}

impl Refs {
    /// A scalar of the batch, which no back end knows before it runs.
    pub(crate) fn scalar(&self, s: &mut Sketch, idx: usize) -> Value {
        let idx = s.int(idx as i64);
        s.load_at(self.table.unwrap(), access(&[dim(None, 1, 1, false)]), &[idx])
    }
}

/// One case: a result and what it should be.
pub(crate) struct Member {
    /// `op::type`.
    pub(crate) name: String,
    expected: Array,
    /// How far a back end may be from `expected`; an exact one may not.
    tolerance: Tolerance,
    /// Whether `tolerance` also goes for exact back ends: the order of a sum is not defined.
    always: bool,
    emit: Option<Emit>,
}

impl Member {
    /// Compares a result with what it should be.
    pub(crate) fn check(&self, result: &Array, exact: bool) -> Result<(), String> {
        let tolerance = match exact && !self.always {
            true => Tolerance::exact(),
            false => self.tolerance,
        };
        let result = compare(&self.expected, result, &tolerance);
        if result.ok { Ok(()) } else { Err(format!("{result:?}")) }
    }

    /// What a back end would give that gets the last element wrong.
    pub(crate) fn wrong_result(&self) -> Array {
        let mut result = self.expected.clone();
        spoil(&mut result);
        result
    }
}

/// Cases that run as one kernel.
pub(crate) struct Batch {
    /// What the cases test, for the proof that the suite bites.
    pub(crate) family: &'static str,
    name: String,
    pub(crate) members: Vec<Member>,
    inputs: Vec<Array>,
    scalars: Vec<f64>,
    scratch: Vec<(MemorySpace, DType, Vec<usize>)>,
    /// A kernel written by hand, whose outputs are the members.
    kernel: Option<Valid>,
}

impl Batch {
    /// No cases yet.
    pub(crate) fn new(family: &'static str, name: impl Into<String>) -> Batch {
        Batch {
            family,
            name: name.into(),
            members: Vec::new(),
            inputs: Vec::new(),
            scalars: Vec::new(),
            scratch: Vec::new(),
            kernel: None,
        }
    }

    /// One case that is a whole kernel with one output.
    pub(crate) fn of_kernel(
        family: &'static str,
        name: &str,
        kernel: Valid,
        inputs: Vec<Array>,
        (expected, tolerance): (Array, Tolerance),
    ) -> Batch {
        let member = Member { name: name.into(), expected, tolerance, always: true, emit: None };
        Batch { members: vec![member], inputs, kernel: Some(kernel), ..Batch::new(family, name) }
    }

    /// Adds an input; gives its number.
    pub(crate) fn input(&mut self, array: Array) -> usize {
        self.inputs.push(array);
        self.inputs.len() - 1
    }

    /// Adds an `i32` scalar to the batch's table in SMEM; gives its number.
    pub(crate) fn scalar(&mut self, value: i64) -> usize {
        self.scalars.push(value as f64);
        self.scalars.len() - 1
    }

    /// Adds scratch; gives its number.
    pub(crate) fn scratch(&mut self, dtype: DType, shape: &[usize]) -> usize {
        self.scratch_in(MemorySpace::Vmem, dtype, shape)
    }

    /// Adds scratch in a memory space; gives its number.
    pub(crate) fn scratch_in(
        &mut self,
        space: MemorySpace,
        dtype: DType,
        shape: &[usize],
    ) -> usize {
        self.scratch.push((space, dtype, shape.to_vec()));
        self.scratch.len() - 1
    }

    /// Adds a case. A `bool` result is compared as 0 and 1.
    pub(crate) fn case(
        &mut self,
        name: impl Into<String>,
        expected: Array,
        tolerance: Tolerance,
        emit: impl Fn(&mut Sketch, &Refs) -> Value + Send + Sync + 'static,
    ) {
        let expected = match expected.dtype() {
            DType::Bool => array(DType::I32, expected.shape(), &expected.to_f64()),
            _ => expected,
        };
        let (name, emit) = (name.into(), Some(Box::new(emit) as Emit));
        self.members.push(Member { name, expected, tolerance, always: false, emit });
    }

    /// Adds a case whose tolerance also goes for the interpreter.
    pub(crate) fn inexact_case(
        &mut self,
        name: impl Into<String>,
        expected: Array,
        tolerance: Tolerance,
        emit: impl Fn(&mut Sketch, &Refs) -> Value + Send + Sync + 'static,
    ) {
        self.case(name, expected, tolerance, emit);
        self.members.last_mut().unwrap().always = true;
    }

    fn arrays(&self) -> Vec<Array> {
        let table = (!self.scalars.is_empty())
            .then(|| array(DType::I32, &[self.scalars.len()], &self.scalars));
        table.into_iter().chain(self.inputs.iter().cloned()).collect()
    }

    fn kernel(&self) -> Valid {
        if let Some(kernel) = &self.kernel {
            return kernel.clone();
        }
        let mut s = Sketch::new(&self.name);
        let table =
            (!self.scalars.is_empty()).then(|| s.prefetch(DType::I32, &[self.scalars.len()]));
        let inputs = self.inputs.iter().map(|x| s.input(x.dtype(), x.shape())).collect();
        let outputs: Vec<Value> = self
            .members
            .iter()
            .map(|member| s.output(member.expected.dtype(), member.expected.shape()))
            .collect();
        let scratch = self
            .scratch
            .iter()
            .map(|(space, dtype, shape)| s.scratch_in(*space, *dtype, shape))
            .collect();
        let refs = Refs { table, inputs, scratch };
        for (member, output) in self.members.iter().zip(outputs) {
            let Some(emit) = &member.emit else { continue };
            let result = emit(&mut s, &refs);
            let result = match s.ty(result).dtype() {
                DType::Bool => s.cast(result, DType::I32),
                _ => result,
            };
            s.store(output, result);
        }
        s.valid()
    }
}

/// A batch on a back end: run once, by whichever case comes first.
pub(crate) struct Run {
    backend: Arc<Backend>,
    batch: Arc<Batch>,
    outputs: OnceLock<Result<Vec<Array>, String>>,
}

impl Run {
    /// Nothing run yet.
    pub(crate) fn new(backend: Arc<Backend>, batch: Arc<Batch>) -> Run {
        Run { backend, batch, outputs: OnceLock::new() }
    }

    /// Compares one case with what it should be.
    pub(crate) fn check(&self, idx: usize) -> Result<(), String> {
        let outputs = self.outputs.get_or_init(|| {
            let valid = self.batch.kernel();
            self.backend.run(&valid, &self.batch.arrays()).map_err(|errors| errors.to_string())
        });
        let outputs = outputs.as_ref().map_err(Clone::clone)?;
        self.batch.members[idx].check(&outputs[idx], self.backend.exact)
    }
}

/// An array of these values, converted by the rules of `cast`.
pub(crate) fn array(dtype: DType, shape: &[usize], values: &[f64]) -> Array {
    Array::from_f64(dtype, shape, values).unwrap()
}
