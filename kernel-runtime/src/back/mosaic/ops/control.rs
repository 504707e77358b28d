//! Branches and loops.

use super::dma::semaphores;
use crate::back::mlir::{Block, Elem, Type, Value};
use crate::back::mosaic::lower::{Form, Lowerer, Lowering, Reference, memory_space};
use crate::diag::Diagnostic;
use crate::ir::ops::ControlOp;
use crate::ir::{self, BlockId, DType, Extent, OpData};
use smallvec::{SmallVec, smallvec};

pub(super) fn lower<'s>(
    lowerer: &mut Lowerer<'_, 's>,
    control: ControlOp,
    op: &OpData,
) -> Lowering<'s> {
    let kernel = lowerer.kernel;
    let operands = match control {
        // The condition of a branch stays as it is.
        ControlOp::If => smallvec![lowerer.value(op.operands[0])?],
        ControlOp::GridExtent { axis } => return Ok(smallvec![lowerer.grid_extent(axis)]),
        ControlOp::DeviceId => {
            let i32_ty = lowerer.session.elem(Elem::I32);
            return Ok(smallvec![lowerer.op("tpu.device_id", &[], i32_ty, &[])]);
        }
        ControlOp::For | ControlOp::While | ControlOp::Scope | ControlOp::Yield => {
            lowerer.carried(&op.operands)?
        }
    };
    let results: Vec<Type<'s>> =
        op.results.iter().map(|&result| lowerer.carried_ty(kernel.ty(result))).collect();
    let emitted = match control {
        ControlOp::If => {
            let emitted = lowerer.emit("scf.if", &operands, &results, &[], &[&[], &[]]);
            for (idx, &region) in op.regions.iter().enumerate() {
                lowerer.region(region, emitted.block(idx), "scf.yield", op)?;
            }
            emitted
        }
        ControlOp::For => {
            let args = lowerer.arg_types(op.regions[0]);
            let emitted = lowerer.emit("scf.for", &operands, &results, &[], &[&args]);
            lowerer.region(op.regions[0], emitted.block(0), "scf.yield", op)?;
            emitted
        }
        ControlOp::While => {
            let args = lowerer.arg_types(op.regions[0]);
            let emitted = lowerer.emit("scf.while", &operands, &results, &[], &[&args, &args]);
            lowerer.region(op.regions[0], emitted.block(0), "scf.condition", op)?;
            lowerer.region(op.regions[1], emitted.block(1), "scf.yield", op)?;
            emitted
        }
        ControlOp::Scope => {
            let emitted = lowerer.emit("tpu.region", &[], &results, &[], &[&[]]);
            lowerer.scope(op.regions[0], emitted.block(0), op)?;
            emitted
        }
        // The enclosing op makes its terminators.
        ControlOp::Yield | ControlOp::GridExtent { .. } | ControlOp::DeviceId => {
            return Ok(SmallVec::new());
        }
    };
    let results = op.results.iter().enumerate();
    Ok(results.map(|(idx, &result)| lowerer.uncarried(emitted.result(idx), result)).collect())
}

impl<'s> Lowerer<'_, 's> {
    /// The number of steps along a grid axis.
    pub(in crate::back::mosaic) fn grid_extent(&mut self, axis: usize) -> Value<'s> {
        match self.kernel.grid[axis].extent {
            Extent::Static(extent) => self.int_constant(&Form::SCALAR, Elem::I32, extent as i64),
            Extent::Dynamic { .. } => {
                let i32_ty = self.session.elem(Elem::I32);
                let dim = self.session.int_attr(i32_ty, axis as i64);
                self.op("tpu.iteration_bound", &[], i32_ty, &[("dim", dim)])
            }
        }
    }

    /// Values as they cross the border of a region: libtpu carries no masks, so they are `i32`.
    fn carried(&mut self, values: &[ir::Value]) -> Result<SmallVec<[Value<'s>; 8]>, Diagnostic> {
        let values = values.iter().map(|&ir| {
            let value = self.value(ir)?;
            let form = self.form(ir);
            Ok(if self.is_mask(self.kernel.ty(ir)) {
                self.apply("arith.extui", &[value], &form, Elem::I32)
            } else {
                value
            })
        });
        values.collect()
    }

    fn carried_ty(&self, ty: &ir::Type) -> Type<'s> {
        if self.is_mask(ty) { self.ty(&self.form_of(ty), Elem::I32) } else { self.value_ty(ty) }
    }

    /// A value that has crossed the border of a region, in its own type.
    fn uncarried(&mut self, value: Value<'s>, ir: ir::Value) -> Value<'s> {
        if self.is_mask(self.kernel.ty(ir)) {
            let form = self.form(ir);
            return self.cast(value, DType::I32, DType::Bool, &form);
        }
        value
    }

    fn arg_types(&self, region: BlockId) -> Vec<Type<'s>> {
        let args = &self.kernel.block(region).args;
        args.iter().map(|&arg| self.carried_ty(self.kernel.ty(arg))).collect()
    }

    /// Lowers the region of a scope into its block, which begins with what it holds.
    fn scope(&mut self, region: BlockId, block: Block<'s>, op: &OpData) -> Result<(), Diagnostic> {
        let kernel = self.kernel;
        let outer = self.set_block(block);
        for &arg in &kernel.block(region).args {
            match kernel.ty(arg) {
                ir::Type::Semaphore { kind, shape } => {
                    let ty = semaphores(self.session, *kind, shape);
                    let value = self.op("tpu.sem_alloc", &[], ty, &[]);
                    self.bind(arg, value);
                }
                ty => {
                    let (dtype, shape) = (ty.dtype(), ir::Shape::from_slice(ty.shape()));
                    let space = memory_space(self.session, ty.space());
                    let memref = self.session.memref(&shape, Self::memory_elem(dtype), space);
                    let segments = self.session.i32_array_attr(&[0, 0]);
                    let attrs = [("operandSegmentSizes", segments)];
                    let value = self.op("memref.alloca", &[], memref, &attrs);
                    self.bind_ref(arg, Reference::whole(value, shape, dtype));
                }
            }
        }
        self.lower_ops(region);
        self.set_loc(op.loc);
        let yields = self.carried(kernel.yields(region));
        if let Ok(yields) = &yields {
            self.emit("tpu.yield", yields, &[], &[], &[]);
        }
        self.set_block(outer);
        yields.map(|_| ())
    }

    /// Lowers a region into its block, which ends in `terminator`.
    fn region(
        &mut self,
        region: BlockId,
        block: Block<'s>,
        terminator: &str,
        op: &OpData,
    ) -> Result<(), Diagnostic> {
        let kernel = self.kernel;
        let args = &kernel.block(region).args;
        let outer = self.set_block(block);
        for (idx, &arg) in args.iter().enumerate() {
            let value = self.uncarried(block.arg(idx), arg);
            self.bind(arg, value);
        }
        self.lower_ops(region);
        self.set_loc(op.loc);
        let yields = self.carried(kernel.yields(region));
        if let Ok(mut yields) = yields {
            if terminator == "scf.condition" {
                // The condition comes first, then what the body takes: the arguments unchanged.
                yields.extend((0..args.len()).map(|idx| block.arg(idx)));
            }
            self.emit(terminator, &yields, &[], &[], &[]);
            self.set_block(outer);
            return Ok(());
        }
        self.set_block(outer);
        yields.map(|_| ())
    }

    fn is_mask(&self, ty: &ir::Type) -> bool {
        self.form_of(ty).is_tile() && ty.dtype() == DType::Bool
    }
}
