//! Parses ops of a SparseCore.

use super::lex::TokenKind;
use super::parse::{Parsed, Parser};
use super::parse_dma::End;
use super::parse_op::{Misfit, Operand, Parts, misfit};
use crate::ir::ops::{Direction, Indirect, IndirectRef, IndirectStart, ScanKind, SparseOp};

/// The parts of an op of a SparseCore that others do not have.
#[derive(Default)]
pub(super) struct SparseParts {
    ids: Option<End>,
    tile: Option<Operand>,
    skip: Option<Operand>,
    descending: bool,
    /// Whether the op has taken them.
    taken: bool,
}

impl SparseParts {
    /// Whether there are parts that the op has not taken.
    pub(super) fn is_left_over(&self) -> bool {
        let any = self.ids.is_some() || self.tile.is_some() || self.skip.is_some();
        !self.taken && (any || self.descending)
    }
}

impl<'t> Parser<'t> {
    /// Reads an attribute of these ops, if the word begins one.
    pub(super) fn sparse_attribute(&mut self, word: &str, parts: &mut SparseParts) -> Parsed<bool> {
        match word {
            "ids" => {
                self.advance();
                let of = self.value()?;
                if self.peek() == TokenKind::Punct('[') {
                    let (access, starts) = self.access(of)?;
                    parts.ids = Some(End { of, access, starts });
                } else {
                    parts.tile = Some(of);
                }
            }
            "skip" => {
                self.advance();
                parts.skip = Some(self.value()?);
            }
            "descending" => {
                self.advance();
                parts.descending = true;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The op of this name from its parts, if it is one of a SparseCore.
pub(super) fn sparse_op(name: &str, parts: &mut Parts<'_>) -> Result<Option<SparseOp>, Misfit> {
    if let Some(&kind) = ScanKind::ALL.iter().find(|kind| kind.name() == name) {
        return Ok(Some(SparseOp::Scan { kind, masked: parts.mask.is_some() }));
    }
    let masked = parts.mask.is_some();
    let op = match name {
        "gather_start" | "gather_wait" => indirect(name, Direction::Gather, parts)?,
        "scatter_start" | "scatter_wait" => indirect(name, Direction::Scatter, parts)?,
        "barrier" => SparseOp::Barrier,
        "load_idx" => SparseOp::LoadIdx { masked },
        "store_idx" => SparseOp::StoreIdx { add: parts.dma.take_add(), masked },
        "load_expanded" | "store_compressed" => {
            let (Some(access), true) = (parts.access.take(), masked) else {
                return misfit(format!("`{name}` is `{name} %x[..] mask %m`"));
            };
            match name {
                "load_expanded" => SparseOp::LoadExpanded { access },
                _ => SparseOp::StoreCompressed { access },
            }
        }
        "sort" => {
            let descending = std::mem::take(&mut parts.sparse.descending);
            SparseOp::Sort { descending, masked }
        }
        "scan_count" => SparseOp::ScanCount { masked },
        "mask_count" => SparseOp::MaskCount,
        "mask_first" => SparseOp::MaskFirst,
        _ => return Ok(None),
    };
    Ok(Some(op))
}

fn indirect(name: &str, direction: Direction, parts: &mut Parts<'_>) -> Result<SparseOp, Misfit> {
    let (Some(from), Some((to, semaphore))) = (parts.access.take(), parts.dma.indirect_ends())
    else {
        return misfit(format!("`{name}` is `{name} %x[..] to %y[..] semaphore %s[..]`, alone"));
    };
    let (table, rows) = match direction {
        Direction::Gather => (from, to),
        Direction::Scatter => (to, from),
    };
    let copy = Indirect { direction, table, rows, semaphore };
    let (add, sparse) = (parts.dma.take_add(), &mut parts.sparse);
    sparse.taken = true;
    if name.ends_with("_wait") {
        let has_ids = sparse.ids.is_some() || sparse.tile.is_some();
        if has_ids || sparse.skip.is_some() || add || sparse.descending {
            return misfit(format!("`{name}` takes both ends and a semaphore alone"));
        }
        return Ok(SparseOp::Wait(Box::new(copy)));
    }
    let ids = sparse.ids.as_ref().map(|end| end.access.clone());
    if ids.is_some() == sparse.tile.is_some() || sparse.descending {
        return misfit(format!("`{name}` takes `ids %i[..]`, or `ids %t` of a tile"));
    }
    let skip = sparse.skip.is_some();
    Ok(SparseOp::Start(Box::new(IndirectStart { copy, ids, add, skip })))
}

impl Parts<'_> {
    /// The operands of an op of a SparseCore in the order of its definition.
    pub(super) fn sparse_operands(&self, op: &SparseOp) -> Vec<Operand> {
        let mut operands = self.operands.clone();
        let Some(indirect) = op.indirect() else {
            operands.extend(self.starts.iter().copied());
            operands.extend(self.mask);
            return operands;
        };
        let Some((to, semaphore)) = self.dma.ends() else { return operands };
        let first = operands.clone();
        let (from, from_starts) = (first.first().copied().flatten(), &self.starts);
        let (table, rows) = match indirect.copy().direction {
            Direction::Gather => ((from, from_starts), (to.of, &to.starts)),
            Direction::Scatter => ((to.of, &to.starts), (from, from_starts)),
        };
        operands.clear();
        operands.extend([table.0, rows.0]);
        // What stands beside the first reference is a mistake, which the type rule finds.
        operands.extend(first.iter().skip(1));
        let ids = match indirect {
            IndirectRef::Start(_) => self.sparse.ids.as_ref(),
            IndirectRef::Wait(_) => None,
        };
        operands.extend(ids.iter().map(|end| end.of));
        operands.push(semaphore.of);
        operands.extend(table.1);
        operands.extend(rows.1);
        operands.extend(ids.iter().flat_map(|end| &end.starts));
        operands.extend(&semaphore.starts);
        operands.extend(self.sparse.tile);
        operands.extend(self.sparse.skip);
        operands
    }
}
