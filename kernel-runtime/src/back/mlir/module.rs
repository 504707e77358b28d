//! Modules: verification, the versioned form, text and bytecode.

use super::build::{Block, create_raw, region};
use super::session::{Location, Session, string_ref};
use melior::diagnostic::Diagnostic;
use melior::ir::BytecodeWriterConfig;
use melior::ir::Location as MeliorLocation;
use melior::ir::operation::{OperationLike, OperationRef};
use mlir_sys::{
    MlirBlock, MlirLocation, MlirModule, MlirNamedAttribute, MlirOperation, MlirType, MlirValue,
    mlirBlockAppendOwnedOperation, mlirBlockGetArgument, mlirBlockGetFirstOperation,
    mlirBlockGetNumArguments, mlirIdentifierStr, mlirLocationCallSiteGetCallee,
    mlirLocationFileLineColRangeGetFilename, mlirLocationFileLineColRangeGetStartColumn,
    mlirLocationFileLineColRangeGetStartLine, mlirLocationIsACallSite,
    mlirLocationIsAFileLineColRange, mlirModuleCreateEmpty, mlirModuleGetBody,
    mlirModuleGetOperation, mlirOperationGetAttribute, mlirOperationGetLocation,
    mlirOperationGetName, mlirOperationGetNextInBlock, mlirOperationGetNumAttributes,
    mlirOperationGetNumOperands, mlirOperationGetNumRegions, mlirOperationGetNumResults,
    mlirOperationGetOperand, mlirOperationGetRegion, mlirOperationGetResult,
    mlirOperationSetAttributeByName, mlirRegionGetFirstBlock, mlirValueGetType,
};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::rc::Rc;

/// A `builtin.module`.
#[derive(Clone, Copy)]
pub(crate) struct Module<'s> {
    raw: MlirModule,
    session: PhantomData<&'s Session>,
}

/// What the verifier has to say, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// File, line and column.
    pub(crate) place: Option<(String, u32, u32)>,
    /// The message.
    pub(crate) message: String,
}

impl Session {
    /// An empty module.
    pub(crate) fn module<'s>(&'s self, location: Location<'s>) -> Module<'s> {
        // SAFETY: the location belongs to the live context; the session owns the module.
        let raw = unsafe { mlirModuleCreateEmpty(location.raw) };
        self.own(raw);
        Module { raw, session: PhantomData }
    }
}

impl<'s> Module<'s> {
    /// Its only block.
    pub(crate) fn body(self) -> Block<'s> {
        // SAFETY: the module is alive as long as the session.
        Block::wrap(unsafe { mlirModuleGetBody(self.raw) })
    }

    fn operation(&self) -> OperationRef<'_, '_> {
        // SAFETY: the module is alive as long as the session, of which `self` is a borrow.
        unsafe { OperationRef::from_raw(mlirModuleGetOperation(self.raw)) }
    }

    /// Runs MLIR's verifier.
    ///
    /// # Errors
    /// Everything it complains about.
    pub(crate) fn verify(&self, session: &'s Session) -> Result<(), Vec<Complaint>> {
        let complaints: Rc<RefCell<Vec<Complaint>>> = Rc::default();
        let Some(context) = session.context() else { return Ok(()) };
        let sink = Rc::clone(&complaints);
        let handler = context.attach_diagnostic_handler(move |diagnostic: Diagnostic<'_>| {
            let place = place(diagnostic.location());
            sink.borrow_mut().push(Complaint { place, message: diagnostic.to_string() });
            true
        });
        let verified = self.operation().verify();
        context.detach_diagnostic_handler(handler);
        if verified { Ok(()) } else { Err(complaints.take()) }
    }

    /// The text, with memory spaces and without locations.
    pub(crate) fn text(&self) -> String {
        self.operation().to_string()
    }

    /// The bytecode in an old version of the format, `None` if MLIR cannot express it there.
    pub(crate) fn bytecode(&self, version: i64) -> Option<Vec<u8>> {
        let config = BytecodeWriterConfig::new();
        config.set_desired_emit_version(version);
        self.operation().write_bytecode_with_config(&config).ok()
    }

    /// A module with the same ops under the names `prefix.name`, all of them unregistered, so
    /// that properties become plain attributes and any reader can parse it. The attribute
    /// `prefix.version` names the rules by which a reader upgrades them.
    pub(crate) fn prefixed(&self, session: &'s Session, prefix: &str, version: i64) -> Module<'s> {
        let module = session.module(session.unknown_location());
        let version_attr = session.int_attr(session.elem(super::Elem::I64), version);
        let mut copier = Copier { prefix, values: HashMap::new(), name: String::new() };
        // SAFETY: both modules are alive; the attribute belongs to their context.
        unsafe {
            let name = format!("{prefix}.version");
            mlirOperationSetAttributeByName(
                mlirModuleGetOperation(module.raw),
                string_ref(&name),
                version_attr.raw,
            );
            copier.copy_block(mlirModuleGetBody(self.raw), mlirModuleGetBody(module.raw));
        }
        module
    }
}

/// Attributes of newer MLIR releases that readers of the versioned form do not know. Their
/// defaults are what older releases do.
const NEW_ATTRS: [&str; 3] = ["nontemporal", "alignment", "unsignedCmp"];

struct Copier<'a> {
    prefix: &'a str,
    values: HashMap<usize, MlirValue>,
    name: String,
}

impl Copier<'_> {
    /// # Safety
    /// Both blocks are alive and of one context.
    unsafe fn copy_block(&mut self, from: MlirBlock, to: MlirBlock) {
        // SAFETY: by the contract; the copied block was made with as many arguments.
        unsafe {
            for idx in 0..mlirBlockGetNumArguments(from) {
                self.map(mlirBlockGetArgument(from, idx), mlirBlockGetArgument(to, idx));
            }
            let mut op = mlirBlockGetFirstOperation(from);
            while !op.ptr.is_null() {
                self.copy_op(op, to);
                op = mlirOperationGetNextInBlock(op);
            }
        }
    }

    /// # Safety
    /// The op and the block are alive and of one context; operands have been copied before.
    unsafe fn copy_op(&mut self, op: MlirOperation, to: MlirBlock) {
        // SAFETY: by the contract, and every index is below the count that MLIR gives.
        unsafe {
            let operands: SmallVec<[MlirValue; 8]> = (0..mlirOperationGetNumOperands(op))
                .map(|idx| {
                    let operand = mlirOperationGetOperand(op, idx);
                    self.values.get(&(operand.ptr as usize)).copied().unwrap_or(operand)
                })
                .collect();
            let results: SmallVec<[MlirType; 4]> = (0..mlirOperationGetNumResults(op))
                .map(|idx| mlirValueGetType(mlirOperationGetResult(op, idx)))
                .collect();
            let attrs: SmallVec<[MlirNamedAttribute; 8]> = (0..mlirOperationGetNumAttributes(op))
                .map(|idx| mlirOperationGetAttribute(op, idx))
                .filter(|named| !NEW_ATTRS.contains(&identifier(named.name)))
                .collect();
            let location = mlirOperationGetLocation(op);
            let sources: SmallVec<[MlirBlock; 2]> = (0..mlirOperationGetNumRegions(op))
                .map(|idx| mlirRegionGetFirstBlock(mlirOperationGetRegion(op, idx)))
                .collect();
            let regions: SmallVec<[_; 2]> = sources
                .iter()
                .map(|&block| {
                    let args: SmallVec<[MlirType; 8]> = (0..mlirBlockGetNumArguments(block))
                        .map(|idx| mlirValueGetType(mlirBlockGetArgument(block, idx)))
                        .collect();
                    region(&args, location)
                })
                .collect();
            self.name.clear();
            self.name.push_str(self.prefix);
            self.name.push('.');
            self.name.push_str(identifier(mlirOperationGetName(op)));
            let copy = create_raw(&self.name, &operands, &results, &attrs, &regions, location);
            mlirBlockAppendOwnedOperation(to, copy.raw);
            for idx in 0..results.len() as isize {
                self.map(mlirOperationGetResult(op, idx), mlirOperationGetResult(copy.raw, idx));
            }
            for (idx, &source) in sources.iter().enumerate() {
                let region = mlirOperationGetRegion(copy.raw, idx as isize);
                self.copy_block(source, mlirRegionGetFirstBlock(region));
            }
        }
    }

    fn map(&mut self, from: MlirValue, to: MlirValue) {
        self.values.insert(from.ptr as usize, to);
    }
}

fn identifier<'a>(identifier: mlir_sys::MlirIdentifier) -> &'a str {
    // SAFETY: identifiers live as long as their context, and hold the UTF-8 they were made from.
    unsafe {
        let text = mlirIdentifierStr(identifier);
        std::str::from_utf8(std::slice::from_raw_parts(text.data.cast(), text.length))
            .unwrap_or_default()
    }
}

fn place(location: MeliorLocation<'_>) -> Option<(String, u32, u32)> {
    let mut raw: MlirLocation = location.to_raw();
    // SAFETY: locations live as long as their context, and each getter is guarded by its test.
    unsafe {
        while mlirLocationIsACallSite(raw) {
            raw = mlirLocationCallSiteGetCallee(raw);
        }
        if !mlirLocationIsAFileLineColRange(raw) {
            return None;
        }
        let file = identifier(mlirLocationFileLineColRangeGetFilename(raw)).to_owned();
        let line = mlirLocationFileLineColRangeGetStartLine(raw);
        let column = mlirLocationFileLineColRangeGetStartColumn(raw);
        Some((file, line as u32, column as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::back::mlir::{Elem, OpSpec};

    /// A function that adds a vector to one of another type at `kernel.rs:7:9`, called from
    /// `kernel.rs:20:1`.
    fn wrong_module(session: &Session) -> Module<'_> {
        let module = session.module(session.unknown_location());
        let (narrow, wide) = (session.vector(&[8], Elem::F32), session.vector(&[16], Elem::F32));
        let args = [narrow, wide];
        let ty = session.function(&args, &[]);
        let attrs =
            [("function_type", session.type_attr(ty)), ("sym_name", session.string_attr("f"))];
        let function = module.body().append(
            session,
            &OpSpec {
                name: "func.func",
                operands: &[],
                results: &[],
                attrs: &attrs,
                regions: &[&args],
                location: session.unknown_location(),
            },
        );
        let entry = function.block(0);
        let here = session.location("kernel.rs", 7, 9);
        let location = session.call_site(here, session.location("kernel.rs", 20, 1));
        let spec = OpSpec {
            name: "arith.addf",
            operands: &[entry.arg(0), entry.arg(1)],
            results: &[narrow],
            attrs: &[],
            regions: &[],
            location,
        };
        entry.append(session, &spec);
        let end = OpSpec { name: "func.return", operands: &[], results: &[], ..spec };
        entry.append(session, &end);
        module
    }

    #[test]
    fn verifier_names_the_line_of_the_callee() {
        let session = Session::new();
        let complaints = wrong_module(&session).verify(&session).expect_err("types differ");
        assert_eq!(complaints[0].place, Some(("kernel.rs".to_owned(), 7, 9)));
        assert!(complaints[0].message.contains("same type"), "{complaints:?}");
    }

    #[test]
    fn prefixed_ops_are_unregistered_and_carry_their_properties() {
        let session = Session::new();
        let text = wrong_module(&session).prefixed(&session, "stable_mosaic", 13).text();
        assert!(text.contains("stable_mosaic.version = 13 : i64"), "{text}");
        assert!(
            text.contains(
                "\"stable_mosaic.arith.addf\"(%arg0, %arg1) {fastmath = #arith.fastmath<none>}"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_pooled_context_serves_many_sessions() {
        for _ in 0..200 {
            let session = Session::new();
            assert!(wrong_module(&session).verify(&session).is_err());
        }
    }
}
