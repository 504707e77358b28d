//! Builds a kernel op by op, each typed by its own rule.

use super::dtype::DType;
use super::kernel::{
    BlockData, BlockId, GridAxis, Kernel, OpData, OpId, Param, Scratch, SemaphoreArray, Value,
    ValueData, ValueDef,
};
use super::loc::{Loc, LocId};
use super::ops::{ControlOp, Elementwise, InferError, Literal, Op, RegionTypes, Results};
use super::ty::Type;
use crate::diag::Diagnostic;
use smallvec::SmallVec;

/// Builds a [`Kernel`]. Ops go to the innermost open block.
///
/// Declare grid axes and then parameters first: each adds an argument to the body. Scratch and
/// semaphores may be declared at any time. A window's index map is a block built with
/// [`Builder::open_block`] before its parameter is declared.
#[derive(Debug)]
pub struct Builder {
    kernel: Kernel,
    open: Vec<BlockId>,
}

impl Builder {
    /// A builder for an empty kernel, its body open.
    pub fn new(name: impl Into<String>) -> Builder {
        let kernel = Kernel::new(name);
        let open = vec![kernel.body];
        Builder { kernel, open }
    }

    /// Goes on with a kernel whose body is not finished.
    pub(crate) fn resume(kernel: Kernel) -> Builder {
        let open = vec![kernel.body];
        Builder { kernel, open }
    }

    /// The kernel as built so far.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The kernel as built so far, for its name and compile parameters.
    pub fn kernel_mut(&mut self) -> &mut Kernel {
        &mut self.kernel
    }

    /// The finished kernel.
    pub fn finish(self) -> Kernel {
        self.kernel
    }

    /// Adds a location.
    pub fn loc(&mut self, loc: Loc) -> LocId {
        self.kernel.add_loc(loc)
    }

    /// Adds a grid axis, inside those before it; gives its index in the body.
    pub fn grid_axis(&mut self, axis: GridAxis) -> Value {
        self.kernel.grid.push(axis);
        self.add_arg(self.kernel.body, Type::Scalar(DType::I32))
    }

    /// Adds a parameter; gives its reference in the body.
    pub fn param(&mut self, param: Param) -> Value {
        let ty = param.ref_type();
        self.kernel.params.push(param);
        self.add_arg(self.kernel.body, ty)
    }

    /// Adds scratch; gives its reference in the body.
    pub fn scratch(&mut self, scratch: Scratch) -> Value {
        let ty = scratch.ref_type();
        let kernel = &mut self.kernel;
        let place = kernel.grid.len() + kernel.params.len() + kernel.scratch.len();
        kernel.scratch.push(scratch);
        self.insert_arg(self.kernel.body, place, ty)
    }

    /// Adds an array of semaphores; gives its reference in the body.
    pub fn semaphores(&mut self, array: SemaphoreArray) -> Value {
        let ty = array.ref_type();
        self.kernel.semaphores.push(array);
        self.add_arg(self.kernel.body, ty)
    }

    /// Opens a block with arguments of these types; ops go there until it is closed.
    pub fn open_block(&mut self, args: &[Type]) -> (BlockId, Vec<Value>) {
        let block = BlockId(self.kernel.blocks.len() as u32);
        self.kernel.blocks.push(BlockData::default());
        let args = args.iter().map(|ty| self.add_arg(block, ty.clone())).collect();
        self.open.push(block);
        (block, args)
    }

    /// Closes the innermost block with a `yield` of these values.
    ///
    /// Closing the body is a mistake of the caller and leaves it open.
    pub fn close_block(&mut self, yields: &[Value], loc: LocId) {
        self.append(Op::Control(ControlOp::Yield), yields, &[], &[], loc);
        if self.open.len() > 1 {
            self.open.pop();
        }
    }

    /// Adds values to the `yield` of a closed block.
    ///
    /// What the arms of an `if` yield is known only once both are there.
    pub fn extend_yield(&mut self, block: BlockId, values: &[Value]) {
        if let Some(&end) = self.kernel.block(block).ops.last() {
            self.kernel.ops[end.0 as usize].operands.extend_from_slice(values);
        }
    }

    /// Closes the innermost block without a `yield` and moves its ops to the one around it.
    ///
    /// For a region that turned out not to be needed: nothing may have been declared as its
    /// argument. Does nothing if only the body is open.
    pub fn inline_block(&mut self) {
        if self.open.len() > 1
            && let Some(block) = self.open.pop()
        {
            let ops = std::mem::take(&mut self.kernel.blocks[block.0 as usize].ops);
            let parent = self.current_block();
            self.kernel.blocks[parent.0 as usize].ops.extend(ops);
        }
    }

    /// The innermost open block.
    pub fn current_block(&self) -> BlockId {
        self.open.last().copied().unwrap_or(self.kernel.body)
    }

    /// How many blocks are open; 1 when only the body is.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// Adds an op without regions.
    ///
    /// # Errors
    /// If the op does not take the operands; the diagnostic carries the location.
    pub fn push(
        &mut self,
        op: Op,
        operands: &[Value],
        loc: LocId,
    ) -> Result<SmallVec<[Value; 2]>, Diagnostic> {
        self.push_with_regions(op, operands, &[], loc)
    }

    /// Adds an op whose regions have been built and closed.
    ///
    /// # Errors
    /// If the op does not take the operands or regions.
    pub fn push_with_regions(
        &mut self,
        op: Op,
        operands: &[Value],
        regions: &[BlockId],
        loc: LocId,
    ) -> Result<SmallVec<[Value; 2]>, Diagnostic> {
        let results = self
            .kernel
            .infer(&op, operands, regions)
            .map_err(|why| why.into_diagnostic(self.kernel.span(loc)))?;
        Ok(self.append(op, operands, regions, &results, loc))
    }

    /// A scalar constant.
    pub fn constant(&mut self, literal: Literal, loc: LocId) -> Value {
        let op = Op::Elementwise(Elementwise::Constant(literal));
        self.append(op, &[], &[], &[Type::Scalar(literal.dtype())], loc)[0]
    }

    /// Adds an op without typing it.
    pub(crate) fn append(
        &mut self,
        op: Op,
        operands: &[Value],
        regions: &[BlockId],
        results: &[Type],
        loc: LocId,
    ) -> SmallVec<[Value; 2]> {
        let id = OpId(self.kernel.ops.len() as u32);
        let results: SmallVec<[Value; 2]> = results
            .iter()
            .enumerate()
            .map(|(idx, ty)| {
                let value = Value(self.kernel.values.len() as u32);
                let def = ValueDef::Result(id, idx as u32);
                self.kernel.values.push(ValueData { ty: ty.clone(), def });
                value
            })
            .collect();
        self.kernel.ops.push(OpData {
            op,
            operands: SmallVec::from_slice(operands),
            results: results.clone(),
            regions: SmallVec::from_slice(regions),
            loc,
        });
        let block = self.current_block();
        self.kernel.blocks[block.0 as usize].ops.push(id);
        results
    }

    /// Adds an argument to a block.
    pub(crate) fn add_arg(&mut self, block: BlockId, ty: Type) -> Value {
        let place = self.kernel.block(block).args.len();
        self.insert_arg(block, place, ty)
    }

    /// Adds an argument to a block, before those from number `place` on.
    fn insert_arg(&mut self, block: BlockId, place: usize, ty: Type) -> Value {
        let value = Value(self.kernel.values.len() as u32);
        self.kernel.values.push(ValueData { ty, def: ValueDef::Arg(block, place as u32) });
        let args = &mut self.kernel.blocks[block.0 as usize].args;
        args.insert(place, value);
        for (idx, &later) in args.iter().enumerate().skip(place + 1) {
            self.kernel.values[later.0 as usize].def = ValueDef::Arg(block, idx as u32);
        }
        value
    }

    /// Closes the innermost block as it is: the parser has read its `yield`, if it has one.
    pub(crate) fn leave_block(&mut self) {
        if self.open.len() > 1 {
            self.open.pop();
        }
    }

    /// A value that belongs to no block, for the parser of a text that is known to be wrong.
    pub(crate) fn add_stray_value(&mut self, ty: Type) -> Value {
        let value = Value(self.kernel.values.len() as u32);
        let def = ValueDef::Arg(self.kernel.body, u32::MAX);
        self.kernel.values.push(ValueData { ty, def });
        value
    }

    /// Removes argument number `arg` of a closed block, and entry `arg - skip` of its `yield`
    /// where `skip` is not `None`; its uses become uses of `replacement`.
    ///
    /// Tracing carries every variable that a loop body mentions and drops those that come out
    /// unchanged, which it learns only once the body is there.
    pub fn drop_block_arg(
        &mut self,
        block: BlockId,
        arg: usize,
        yield_skip: Option<usize>,
        replacement: Value,
    ) {
        let old = self.kernel.blocks[block.0 as usize].args.remove(arg);
        for (idx, &value) in self.kernel.blocks[block.0 as usize].args.iter().enumerate().skip(arg)
        {
            self.kernel.values[value.0 as usize].def = ValueDef::Arg(block, idx as u32);
        }
        if let (Some(skip), Some(&end)) = (yield_skip, self.kernel.block(block).ops.last()) {
            self.kernel.ops[end.0 as usize].operands.remove(arg - skip);
        }
        self.kernel.replace_uses(block, old, replacement);
    }
}

impl Kernel {
    /// The result types of an op on these operands and closed regions.
    ///
    /// # Errors
    /// If the op does not take them.
    pub fn infer(
        &self,
        op: &Op,
        operands: &[Value],
        regions: &[BlockId],
    ) -> Result<Results, InferError> {
        let operand_types: SmallVec<[&Type; 4]> = operands.iter().map(|&v| self.ty(v)).collect();
        let region_types: SmallVec<[RegionTypes; 2]> =
            regions.iter().map(|&block| self.region_types(block)).collect();
        op.infer(&operand_types, &region_types)
    }

    /// The types of a closed block's arguments and of what it yields.
    pub fn region_types(&self, block: BlockId) -> RegionTypes {
        let data = self.block(block);
        let yields = match data.ops.last().map(|&op| self.op(op)) {
            Some(op) if op.op == Op::Control(ControlOp::Yield) => {
                op.operands.iter().map(|&v| self.ty(v).clone()).collect()
            }
            _ => Vec::new(),
        };
        RegionTypes { args: data.args.iter().map(|&v| self.ty(v).clone()).collect(), yields }
    }

    /// The values a closed block yields.
    pub fn yields(&self, block: BlockId) -> &[Value] {
        match self.block(block).ops.last().map(|&op| self.op(op)) {
            Some(op) if op.op == Op::Control(ControlOp::Yield) => &op.operands,
            _ => &[],
        }
    }

    /// Replaces every use of `from` in a block and the regions within by `to`.
    pub fn replace_uses(&mut self, block: BlockId, from: Value, to: Value) {
        let mut pending = vec![block];
        while let Some(block) = pending.pop() {
            for idx in 0..self.blocks[block.0 as usize].ops.len() {
                let id = self.blocks[block.0 as usize].ops[idx];
                let op = &mut self.ops[id.0 as usize];
                for operand in op.operands.iter_mut().filter(|operand| **operand == from) {
                    *operand = to;
                }
                pending.extend(op.regions.iter().copied());
            }
        }
    }
}
