//! Lowers blocks of ops: values, the memory they change, branches and loops.

use super::Options;
use super::ops;
use super::text::{Tensor, Writer};
use super::unsupported;
use crate::diag::Diagnostic;
use crate::ir::kernel::{BlockId, OpData, Value};
use crate::ir::ops::{ControlOp, DebugOp, Literal};
use crate::ir::ty::Shape;
use crate::ir::{DType, Kernel, LocId, Op};
use std::collections::BTreeSet;

/// A value of the kernel: a tensor of the function, or one known constant everywhere.
///
/// Scalars that are known let branches be chosen here: an unrolled grid axis loses its
/// `if l == 0`.
#[derive(Clone, Debug)]
pub(super) enum Val {
    /// Known while lowering.
    Uniform(Literal, Shape),
    /// Computed by the function.
    Tensor(Tensor),
}

impl Val {
    /// A known `i32` scalar.
    pub(super) fn index(value: i64) -> Val {
        Val::Uniform(Literal::int(DType::I32, value), Shape::new())
    }

    /// The integer, if it is a known one.
    pub(super) fn as_int(&self) -> Option<i64> {
        match self {
            Val::Uniform(literal, _) => literal.as_int(),
            Val::Tensor(_) => None,
        }
    }

    /// The shape; empty for a scalar.
    pub(super) fn shape(&self) -> &[usize] {
        match self {
            Val::Uniform(_, shape) => shape,
            Val::Tensor(tensor) => &tensor.shape,
        }
    }
}

impl From<Tensor> for Val {
    fn from(tensor: Tensor) -> Val {
        Val::Tensor(tensor)
    }
}

/// Index of a piece of state: an array that is written, a block, or scratch.
pub(super) type Slot = usize;

/// What is known while a kernel is being lowered.
pub(super) struct Lowering<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) options: Options,
    pub(super) out: Writer,
    /// How many steps of parallel axes are computed at once, if there are such axes.
    pub(super) n_lanes: Option<usize>,
    /// Per grid axis: its number of steps.
    pub(super) extents: Vec<Val>,
    /// By value of the kernel.
    env: Vec<Option<Val>>,
    /// By value of the kernel: which memory a reference names.
    slot_of: Vec<Option<Slot>>,
    /// By slot: what the memory holds now.
    state: Vec<Option<Val>>,
    loc: LocId,
}

impl<'a> Lowering<'a> {
    /// Nothing lowered yet, with this many slots of state.
    pub(super) fn new(kernel: &'a Kernel, options: Options, n_slots: usize) -> Lowering<'a> {
        let mut out = Writer::new();
        out.set_arithmetic(options.arithmetic);
        Lowering {
            kernel,
            options,
            out,
            n_lanes: None,
            extents: Vec::new(),
            env: vec![None; kernel.n_values()],
            slot_of: vec![None; kernel.n_values()],
            state: vec![None; n_slots],
            loc: LocId::UNKNOWN,
        }
    }

    /// Says what a value is.
    pub(super) fn define(&mut self, value: Value, val: impl Into<Val>) {
        self.env[value.0 as usize] = Some(val.into());
    }

    /// Says which memory a reference names.
    pub(super) fn define_ref(&mut self, value: Value, slot: Slot) {
        self.slot_of[value.0 as usize] = Some(slot);
    }

    /// What a value is.
    pub(super) fn val(&self, value: Value) -> Result<Val, Diagnostic> {
        self.env[value.0 as usize].clone().ok_or_else(|| self.missing())
    }

    /// A value as a tensor of the function.
    pub(super) fn tensor(&mut self, value: Value) -> Result<Tensor, Diagnostic> {
        let val = self.val(value)?;
        Ok(self.materialise(&val))
    }

    /// Gives a reference memory of its own, which holds zeros.
    pub(super) fn add_slot(&mut self, value: Value) {
        let ty = self.kernel.ty(value);
        let zero = Literal::from_f64(ty.dtype(), 0.0);
        self.state.push(Some(Val::Uniform(zero, Shape::from_slice(ty.shape()))));
        self.slot_of[value.0 as usize] = Some(self.state.len() - 1);
    }

    /// Forgets the memory of a reference: nothing outside of its scope carries it.
    pub(super) fn drop_slot(&mut self, value: Value) {
        self.slot_of[value.0 as usize] = None;
    }

    /// The memory that a reference names.
    pub(super) fn slot(&self, value: Value) -> Result<Slot, Diagnostic> {
        self.slot_of[value.0 as usize].ok_or_else(|| self.missing())
    }

    /// What memory holds.
    pub(super) fn read(&self, slot: Slot) -> Result<Val, Diagnostic> {
        self.state[slot].clone().ok_or_else(|| self.missing())
    }

    /// What memory holds, as a tensor of the function.
    pub(super) fn read_tensor(&mut self, slot: Slot) -> Result<Tensor, Diagnostic> {
        let val = self.read(slot)?;
        Ok(self.materialise(&val))
    }

    /// Changes what memory holds.
    pub(super) fn write(&mut self, slot: Slot, val: impl Into<Val>) {
        self.state[slot] = Some(val.into());
    }

    /// A value as a tensor: a known one becomes a pooled constant.
    pub(super) fn materialise(&mut self, val: &Val) -> Tensor {
        match val {
            Val::Tensor(tensor) => tensor.clone(),
            Val::Uniform(literal, shape) => self.out.constant(*literal, shape),
        }
    }

    /// Says where the ops that follow come from.
    pub(super) fn set_loc(&mut self, loc: LocId) {
        if self.loc != loc {
            self.loc = loc;
            if self.options.locations {
                let text = self.loc_text(loc);
                self.out.set_loc(&text);
            }
        }
    }

    fn loc_text(&self, loc: LocId) -> String {
        let data = self.kernel.loc(loc);
        if data.file.is_empty() {
            return "unknown".to_string();
        }
        let file = data.file.replace('\\', "\\\\").replace('"', "\\\"");
        let place = format!("\"{file}\":{}:{}", data.line, data.column);
        match data.inlined_at {
            Some(caller) => format!("callsite({place} at {})", self.loc_text(caller)),
            None => place,
        }
    }

    /// An error at the op being lowered.
    pub(super) fn error(&self, message: impl Into<String>) -> Diagnostic {
        unsupported(self.kernel, self.loc, message)
    }

    fn missing(&self) -> Diagnostic {
        self.error("an op uses a value or reference that nothing defines before it")
    }

    /// Lowers the ops of a block, without its `yield`.
    pub(super) fn lower_block(&mut self, block: BlockId) -> Result<(), Diagnostic> {
        let kernel = self.kernel;
        for &id in &kernel.block(block).ops {
            self.lower_op(kernel.op(id))?;
        }
        Ok(())
    }

    /// The values that a lowered block yields.
    pub(super) fn yields(&self, block: BlockId) -> Result<Vec<Val>, Diagnostic> {
        self.kernel.yields(block).iter().map(|&value| self.val(value)).collect()
    }

    fn lower_op(&mut self, op: &OpData) -> Result<(), Diagnostic> {
        self.set_loc(op.loc);
        let result = match &op.op {
            Op::Elementwise(elementwise) => ops::elementwise::lower(self, *elementwise, op)?,
            Op::Shape(shape) => ops::shape::lower(self, shape, op)?,
            Op::Convert(convert) => ops::convert::lower(self, *convert, op)?.into(),
            Op::Reduce(reduce) => ops::reduce::lower(self, *reduce, op)?.into(),
            Op::Dot(dot) => ops::dot::lower(self, *dot, op)?.into(),
            Op::Memory(memory) => {
                if let Some(loaded) = ops::memory::lower(self, memory, op)? {
                    self.define(op.results[0], loaded);
                }
                return Ok(());
            }
            Op::Dma(dma) => return ops::dma::lower(self, dma, op),
            Op::Sync(sync) => return ops::dma::lower_sync(self, sync),
            Op::Control(control) => return self.lower_control(*control, op),
            Op::Debug(DebugOp::ScopeStart { .. } | DebugOp::ScopeEnd | DebugOp::Delay) => {
                return Ok(());
            }
            Op::Random(_)
            | Op::Mxu(_)
            | Op::Sparse(_)
            | Op::Debug(DebugOp::Print { .. } | DebugOp::Assert { .. }) => {
                let name = op.op.mnemonic();
                return Err(self.error(format!("`{name}` cannot be expressed in StableHLO")));
            }
        };
        self.define(op.results[0], result);
        Ok(())
    }

    fn lower_control(&mut self, control: ControlOp, op: &OpData) -> Result<(), Diagnostic> {
        match control {
            ControlOp::If => ops::control::lower_if(self, op),
            ControlOp::For => ops::control::lower_for(self, op),
            ControlOp::While => ops::control::lower_while(self, op),
            ControlOp::Scope => ops::control::lower_scope(self, op),
            ControlOp::Yield => Ok(()),
            ControlOp::DeviceId => {
                Err(self.error("`device_id` cannot be expressed in a program of one device"))
            }
            ControlOp::GridExtent { axis } => {
                let extent = self.extents.get(axis).cloned().ok_or_else(|| self.missing())?;
                self.define(op.results[0], extent);
                Ok(())
            }
        }
    }

    /// The memory that a block and the regions within write, in slot order.
    pub(super) fn written_slots(&self, blocks: &[BlockId]) -> Vec<Slot> {
        let mut slots = BTreeSet::new();
        for &block in blocks {
            self.kernel.walk(block, &mut |_, op| {
                if let Some(reference) = op.written()
                    && let Some(slot) = self.slot_of[reference.0 as usize]
                {
                    slots.insert(slot);
                }
            });
        }
        slots.into_iter().collect()
    }

    /// What these slots hold, as tensors.
    pub(super) fn read_tensors(&mut self, slots: &[Slot]) -> Result<Vec<Tensor>, Diagnostic> {
        slots.iter().map(|&slot| self.read_tensor(slot)).collect()
    }

    /// Sets what these slots hold.
    pub(super) fn write_all(&mut self, slots: &[Slot], values: &[Tensor]) {
        for (&slot, value) in slots.iter().zip(values) {
            self.write(slot, value.clone());
        }
    }

    /// The state as it is now, to come back to after one arm of a branch.
    pub(super) fn save_state(&self) -> Vec<Option<Val>> {
        self.state.clone()
    }

    /// Comes back to a saved state.
    pub(super) fn restore_state(&mut self, saved: Vec<Option<Val>>) {
        self.state = saved;
    }
}
