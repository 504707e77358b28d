//! Messages, assertions and marks: for the person who debugs a kernel.

use super::context::{self, At, Handle};
use super::convert::{IntoScalar, Operand};
use super::handle::{Scalar, Tile};
use crate::ir::ops::DebugOp;
use crate::ir::{DType, Element, Op};
use std::panic::Location;

/// Prints a message and a tile or scalar while the kernel runs.
#[track_caller]
pub fn device_print(message: &str, value: impl Printed) {
    let at = Location::caller();
    let handle = value.printed();
    context::with(|t| {
        if let Some(value) = t.operand(handle, at) {
            let op = DebugOp::Print { message: message.to_owned() };
            t.push_all(Op::Debug(op), &[value], &[], at);
        }
    });
}

/// Stops the kernel with a message if the condition is false while it runs.
#[track_caller]
pub fn device_assert(condition: Scalar<bool>, message: &str) {
    let at = Location::caller();
    context::with(|t| {
        if let Some(value) = t.value(Operand::Handle(condition.handle), DType::Bool, at) {
            let op = DebugOp::Assert { message: message.to_owned() };
            t.push_all(Op::Debug(op), &[value], &[], at);
        }
    });
}

/// What [`device_print`] prints: a tile or a scalar.
pub trait Printed {
    /// Its value.
    #[doc(hidden)]
    fn printed(self) -> Handle;
}

impl<T: Element> Printed for Tile<T> {
    fn printed(self) -> Handle {
        self.handle
    }
}

impl<T: Element> Printed for Scalar<T> {
    fn printed(self) -> Handle {
        self.handle
    }
}

/// A named scope, which ends when this is dropped.
#[must_use = "a scope ends when it is dropped: keep it in a variable, `let _scope = ..`"]
#[derive(Debug)]
pub struct Scope {
    at: At,
}

/// Opens a named scope around the ops up to the end of the block that it is kept in; a profiler
/// shows it.
///
/// ```text
/// let _scope = named_scope("softmax");
/// ```
#[track_caller]
pub fn named_scope(name: &str) -> Scope {
    let at = Location::caller();
    let op = DebugOp::ScopeStart { name: name.to_owned() };
    context::with(|t| t.push_all(Op::Debug(op), &[], &[], at));
    Scope { at }
}

impl Drop for Scope {
    fn drop(&mut self) {
        context::with(|t| t.push_all(Op::Debug(DebugOp::ScopeEnd), &[], &[], self.at));
    }
}

/// Does nothing for at least so many nanoseconds, to provoke races on a chip; the interpreter and
/// other devices go on at once.
#[track_caller]
pub fn delay(nanos: impl IntoScalar<i32>) {
    let at = Location::caller();
    let nanos = nanos.operand();
    context::with(|t| {
        if let Some(value) = t.value(nanos, DType::I32, at) {
            t.push_all(Op::Debug(DebugOp::Delay), &[value], &[], at);
        }
    });
}
