//! Modules: verification, text and bytecode.

use super::build::Block;
use super::session::{Location, STABLE, Session, string_ref};
use melior::diagnostic::Diagnostic;
use melior::ir::BytecodeWriterConfig;
use melior::ir::Location as MeliorLocation;
use melior::ir::operation::{OperationLike, OperationRef};
use mlir_sys::{
    MlirLocation, MlirModule, mlirIdentifierStr, mlirLocationCallSiteGetCallee,
    mlirLocationFileLineColRangeGetFilename, mlirLocationFileLineColRangeGetStartColumn,
    mlirLocationFileLineColRangeGetStartLine, mlirLocationIsACallSite,
    mlirLocationIsAFileLineColRange, mlirModuleCreateEmpty, mlirModuleGetBody,
    mlirModuleGetOperation, mlirOperationSetAttributeByName,
};
use std::cell::RefCell;
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

    /// Names the version of the stable form, by which a reader upgrades the module.
    pub(crate) fn stamp(&self, session: &'s Session, version: i64) {
        let version = session.int_attr(session.elem(super::Elem::I64), version);
        let name = format!("{STABLE}.version");
        // SAFETY: the module is alive; the attribute belongs to its context.
        unsafe {
            mlirOperationSetAttributeByName(
                mlirModuleGetOperation(self.raw),
                string_ref(&name),
                version.raw,
            );
        }
    }
}

pub(super) fn identifier<'a>(identifier: mlir_sys::MlirIdentifier) -> &'a str {
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
    fn stable_ops_are_unregistered_and_carry_their_properties() {
        let session = Session::stable();
        let module = wrong_module(&session);
        module.stamp(&session, 13);
        let text = module.text();
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
