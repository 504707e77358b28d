//! Blocks, values and operations.

use super::attr::Attr;
use super::module::identifier;
use super::session::{Location, STABLE, Session, StableOp, string_ref};
use super::ty::Type;
use mlir_sys::{
    MlirBlock, MlirLocation, MlirNamedAttribute, MlirOperation, MlirRegion, MlirType, MlirValue,
    mlirBlockAppendOwnedOperation, mlirBlockCreate, mlirBlockGetArgument,
    mlirBlockInsertOwnedOperationAfter, mlirOperationCreate, mlirOperationDestroy,
    mlirOperationGetAttribute, mlirOperationGetNumAttributes, mlirOperationGetRegion,
    mlirOperationGetResult, mlirOperationStateAddAttributes, mlirOperationStateAddOperands,
    mlirOperationStateAddOwnedRegions, mlirOperationStateAddResults, mlirOperationStateGet,
    mlirRegionAppendOwnedBlock, mlirRegionCreate, mlirRegionGetFirstBlock,
};
use smallvec::SmallVec;
use std::marker::PhantomData;
use std::rc::Rc;

/// A result of an op or an argument of a block.
#[derive(Clone, Copy)]
pub(crate) struct Value<'s> {
    pub(super) raw: MlirValue,
    session: PhantomData<&'s Session>,
}

/// A block in a region of an op.
#[derive(Clone, Copy)]
pub(crate) struct Block<'s> {
    pub(super) raw: MlirBlock,
    session: PhantomData<&'s Session>,
}

/// An op in a block.
#[derive(Clone, Copy)]
pub(crate) struct Operation<'s> {
    pub(super) raw: MlirOperation,
    session: PhantomData<&'s Session>,
}

/// What an op is made of.
pub(crate) struct OpSpec<'a, 's> {
    /// The full name: `arith.addf`.
    pub(crate) name: &'a str,
    /// Operands.
    pub(crate) operands: &'a [Value<'s>],
    /// Result types.
    pub(crate) results: &'a [Type<'s>],
    /// Attributes; inherent ones of registered ops become properties.
    pub(crate) attrs: &'a [(&'a str, Attr<'s>)],
    /// One entry per region: the argument types of its only block.
    pub(crate) regions: &'a [&'a [Type<'s>]],
    /// Where it was written.
    pub(crate) location: Location<'s>,
}

impl Value<'_> {
    pub(super) fn wrap(raw: MlirValue) -> Self {
        Value { raw, session: PhantomData }
    }
}

impl<'s> Block<'s> {
    pub(super) fn wrap(raw: MlirBlock) -> Block<'s> {
        Block { raw, session: PhantomData }
    }

    /// Argument number `idx`, which must exist.
    pub(crate) fn arg(self, idx: usize) -> Value<'s> {
        // SAFETY: the block is alive; callers ask for arguments they declared.
        Value::wrap(unsafe { mlirBlockGetArgument(self.raw, idx as isize) })
    }

    /// Adds an op at the end.
    pub(crate) fn append(self, session: &'s Session, spec: &OpSpec<'_, 's>) -> Operation<'s> {
        let op = session.create(spec);
        // SAFETY: the op is new and owned by nobody else.
        unsafe { mlirBlockAppendOwnedOperation(self.raw, op.raw) };
        op
    }

    /// Adds an op after another of this block, or at the start.
    pub(crate) fn insert_after(
        self,
        session: &'s Session,
        reference: Option<Operation<'s>>,
        spec: &OpSpec<'_, 's>,
    ) -> Operation<'s> {
        let op = session.create(spec);
        let reference = match reference {
            Some(reference) => reference.raw,
            None => MlirOperation { ptr: std::ptr::null_mut() },
        };
        // SAFETY: the op is new; the reference is in this block or null, which prepends.
        unsafe { mlirBlockInsertOwnedOperationAfter(self.raw, reference, op.raw) };
        op
    }
}

impl<'s> Operation<'s> {
    pub(super) fn wrap(raw: MlirOperation) -> Operation<'s> {
        Operation { raw, session: PhantomData }
    }

    /// Result number `idx`, which must exist.
    pub(crate) fn result(self, idx: usize) -> Value<'s> {
        // SAFETY: the op is alive; callers ask for results they declared.
        Value::wrap(unsafe { mlirOperationGetResult(self.raw, idx as isize) })
    }

    /// The block of region number `idx`, which must exist.
    pub(crate) fn block(self, idx: usize) -> Block<'s> {
        // SAFETY: the op is alive; `create` gives every region one block.
        Block::wrap(unsafe {
            mlirRegionGetFirstBlock(mlirOperationGetRegion(self.raw, idx as isize))
        })
    }
}

impl Session {
    fn create<'s>(&'s self, spec: &OpSpec<'_, 's>) -> Operation<'s> {
        let operands: SmallVec<[MlirValue; 8]> = spec.operands.iter().map(|v| v.raw).collect();
        let results: SmallVec<[MlirType; 4]> = spec.results.iter().map(|ty| ty.raw).collect();
        let attrs: SmallVec<[MlirNamedAttribute; 6]> =
            spec.attrs.iter().map(|(name, attr)| self.named(name, *attr)).collect();
        let regions: SmallVec<[MlirRegion; 2]> = spec
            .regions
            .iter()
            .map(|args| {
                let args: SmallVec<[MlirType; 8]> = args.iter().map(|ty| ty.raw).collect();
                region(&args, spec.location.raw)
            })
            .collect();
        let location = spec.location.raw;
        let Some(stable) = self.stable_op(spec.name, &operands, &results, location) else {
            return create_raw(spec.name, &operands, &results, &attrs, &regions, location);
        };
        let mut attrs = attrs;
        for default in &stable.defaults {
            // Identifiers are unique in their context.
            if !attrs.iter().any(|given| given.name.ptr == default.name.ptr) {
                attrs.push(*default);
            }
        }
        create_raw(&stable.name, &operands, &results, &attrs, &regions, location)
    }

    /// What an op is in the stable form; `None` if ops are not made in it.
    fn stable_op(
        &self,
        name: &str,
        operands: &[MlirValue],
        results: &[MlirType],
        location: MlirLocation,
    ) -> Option<Rc<StableOp>> {
        let known = &self.pooled().filter(|_| self.is_stable())?.stable_ops;
        if let Some(op) = known.borrow().get(name) {
            return Some(Rc::clone(op));
        }
        let op = create_raw(name, operands, results, &[], &[], location);
        // SAFETY: the op is in no block, and used by nobody; every index is below the count.
        let defaults = unsafe {
            let attrs = (0..mlirOperationGetNumAttributes(op.raw))
                .map(|idx| mlirOperationGetAttribute(op.raw, idx))
                .filter(|named| !NEW_ATTRS.contains(&identifier(named.name)))
                .collect();
            mlirOperationDestroy(op.raw);
            attrs
        };
        let op = Rc::new(StableOp { name: format!("{STABLE}.{name}"), defaults });
        known.borrow_mut().insert(name.to_owned(), Rc::clone(&op));
        Some(op)
    }
}

/// Attributes of newer MLIR releases that readers of the stable form do not know. Their defaults
/// are what older releases do.
const NEW_ATTRS: [&str; 3] = ["nontemporal", "alignment", "unsignedCmp"];

/// A region with one block of these argument types.
fn region(args: &[MlirType], location: MlirLocation) -> MlirRegion {
    let locations: SmallVec<[MlirLocation; 8]> = args.iter().map(|_| location).collect();
    // SAFETY: types and location belong to one live context; the region takes the block over.
    unsafe {
        let region = mlirRegionCreate();
        let block = mlirBlockCreate(args.len() as isize, args.as_ptr(), locations.as_ptr());
        mlirRegionAppendOwnedBlock(region, block);
        region
    }
}

fn create_raw<'s>(
    name: &str,
    operands: &[MlirValue],
    results: &[MlirType],
    attrs: &[MlirNamedAttribute],
    regions: &[MlirRegion],
    location: MlirLocation,
) -> Operation<'s> {
    // SAFETY: everything belongs to one live context, MLIR copies the lists and takes the regions
    // over. Types are given, so creation cannot fail.
    Operation::wrap(unsafe {
        let mut state = mlirOperationStateGet(string_ref(name), location);
        mlirOperationStateAddOperands(&mut state, operands.len() as isize, operands.as_ptr());
        mlirOperationStateAddResults(&mut state, results.len() as isize, results.as_ptr());
        mlirOperationStateAddAttributes(&mut state, attrs.len() as isize, attrs.as_ptr());
        mlirOperationStateAddOwnedRegions(&mut state, regions.len() as isize, regions.as_ptr());
        mlirOperationCreate(&mut state)
    })
}
