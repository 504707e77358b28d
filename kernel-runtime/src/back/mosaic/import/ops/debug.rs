//! Messages, assertions and marks.

use super::super::body::{Importer, Outcome};
use super::super::read::ast::{Attr, Op, find};
use crate::ir;
use crate::ir::ops::{DebugOp, MemoryOp};

pub(super) fn import<'m>(
    importer: &mut Importer<'m>,
    name: &str,
    op: &'m Op,
) -> Option<Outcome<()>> {
    Some(match name {
        "tpu.log" => importer.log(op),
        "cf.assert" => importer.assertion(op),
        "tpu.log_buffer" => importer.log_buffer(op),
        "tpu.trace_start" => importer.scope_start(op),
        "tpu.trace_stop" => importer.mark(op, DebugOp::ScopeEnd, &[]),
        "tpu.delay" => importer.delay(op),
        // A number that profilers show, and no other trace.
        "tpu.trace_value" => importer.results(op, &[]),
        _ => return None,
    })
}

impl<'m> Importer<'m> {
    fn mark(&mut self, op: &Op, mark: DebugOp, operands: &[ir::Value]) -> Outcome<()> {
        self.push_all(op, ir::Op::Debug(mark), operands, &[])?;
        self.results(op, &[])
    }

    fn scope_start(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["message", "level"])?;
        let name = self.text(op, "message");
        self.mark(op, DebugOp::ScopeStart { name }, &[])
    }

    fn delay(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &[])?;
        let nanos = self.operand(op, 0)?;
        let nanos = self.value(nanos)?;
        self.mark(op, DebugOp::Delay, &[nanos])
    }

    fn text(&self, op: &Op, name: &str) -> String {
        match find(&op.attrs, name) {
            Some(Attr::Str(text)) => text.to_string(),
            _ => String::new(),
        }
    }

    fn log(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["tag", "formatted"])?;
        let operands = self.operand_values(op)?;
        let message = self.text(op, "tag");
        self.mark(op, DebugOp::Print { message }, &operands)
    }

    /// Prints the first elements of a buffer.
    fn log_buffer(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["tag", "shape"])?;
        let shape = self.sizes(op, "shape")?;
        let buffer = self.operand(op, 0)?;
        let view = self.view(buffer)?;
        let mut part = self.part(op, &view)?;
        if !view.layers.is_empty() || part.access.tile_shape().len() != shape.len() {
            return Err(self.unsupported(op, "a buffer seen under another shape"));
        }
        let kept = part.access.dims.iter_mut().filter(|dim| dim.keep);
        for (dim, &size) in kept.zip(&shape) {
            if size > dim.size {
                return Err(self.wrong("a message shows more than its buffer has").into());
            }
            dim.size = size;
        }
        let mut operands = vec![part.base];
        operands.append(&mut part.starts);
        let load = ir::Op::Memory(MemoryOp::Load { access: part.access, masked: false });
        let value = self.push(op, load, &operands)?;
        let message = self.text(op, "tag");
        self.mark(op, DebugOp::Print { message }, &[value])
    }

    fn assertion(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["msg"])?;
        let cond = self.operand(op, 0)?;
        let cond = self.value(cond)?;
        let message = self.text(op, "msg");
        self.mark(op, DebugOp::Assert { message }, &[cond])
    }
}
