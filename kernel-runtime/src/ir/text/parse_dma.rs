//! Parses copies and semaphores.

use super::lex::TokenKind;
use super::parse::{Parsed, Parser};
use super::parse_op::{Misfit, Operand, Parts, misfit};
use crate::ir::ops::{Access, DmaOp, DmaStart, DmaWait, Length, Peer, Start, SyncOp, Transfer};

/// A reference with an index.
pub(super) struct End {
    pub(super) of: Operand,
    pub(super) access: Access,
    pub(super) starts: Vec<Operand>,
}

/// The parts of a copy or of an op on a semaphore, beside its first reference.
#[derive(Default)]
pub(super) struct DmaParts {
    to: Option<End>,
    lengths: Option<(Vec<Length>, Vec<Operand>)>,
    semaphore: Option<End>,
    source_semaphore: Option<End>,
    device: Option<Operand>,
    core: Option<Operand>,
    subcore: Option<Operand>,
    priority: Option<usize>,
    add: bool,
    fresh: bool,
    strict: bool,
    /// Whether the op has taken them.
    taken: bool,
}

impl<'t> Parser<'t> {
    /// Reads an attribute of copies and semaphores, if the word begins one.
    pub(super) fn dma_attribute(&mut self, word: &str, parts: &mut DmaParts) -> Parsed<bool> {
        let words = [
            "to",
            "lengths",
            "semaphore",
            "source_semaphore",
            "device",
            "core",
            "subcore",
            "priority",
            "accumulate",
            "fresh",
            "strict",
        ];
        if !words.contains(&word) {
            return Ok(false);
        }
        self.advance();
        match word {
            "to" => parts.to = Some(self.end()?),
            "lengths" => parts.lengths = Some(self.lengths()?),
            "semaphore" => parts.semaphore = Some(self.end()?),
            "source_semaphore" => parts.source_semaphore = Some(self.end()?),
            "device" => parts.device = Some(self.value()?),
            "core" => parts.core = Some(self.value()?),
            "subcore" => parts.subcore = Some(self.value()?),
            "priority" => parts.priority = Some(self.size()?),
            "accumulate" => parts.add = true,
            "fresh" => parts.fresh = true,
            _ => parts.strict = true,
        }
        Ok(true)
    }

    fn end(&mut self) -> Parsed<End> {
        let of = self.value()?;
        let (access, starts) = self.access(of)?;
        Ok(End { of, access, starts })
    }

    fn lengths(&mut self) -> Parsed<(Vec<Length>, Vec<Operand>)> {
        let mut values = Vec::new();
        let lengths = self.list(|p| {
            if p.eat(':') {
                return Ok(Length::Full);
            }
            if matches!(p.peek(), TokenKind::Number(_)) {
                return Err(p.unexpected("`:`, a value or `multiple(value, n)`"));
            }
            match p.access_start(&mut values)? {
                Start::Dynamic { multiple_of } => Ok(Length::Dynamic { multiple_of }),
                Start::Static(_) => Ok(Length::Full),
            }
        })?;
        Ok((lengths, values))
    }
}

impl DmaParts {
    /// Whether there are parts that the op has not taken.
    pub(super) fn is_left_over(&self) -> bool {
        let peer = self.device.is_some() || self.core.is_some() || self.subcore.is_some();
        let ends = self.to.is_some() || self.semaphore.is_some() || self.source_semaphore.is_some();
        let flags = self.add || self.fresh || self.strict;
        let others = self.lengths.is_some() || self.priority.is_some() || flags || peer;
        !self.taken && (ends || others)
    }

    /// Takes `accumulate`.
    pub(super) fn take_add(&mut self) -> bool {
        std::mem::take(&mut self.add)
    }

    /// Target and semaphore.
    pub(super) fn ends(&self) -> Option<(&End, &End)> {
        Some((self.to.as_ref()?, self.semaphore.as_ref()?))
    }

    /// Takes what an indirect copy has of these parts, target and semaphore, if there is no other
    /// beside `accumulate`.
    pub(super) fn indirect_ends(&mut self) -> Option<(Access, Access)> {
        let DmaParts {
            lengths: None,
            source_semaphore: None,
            device: None,
            core: None,
            subcore: None,
            priority: None,
            fresh: false,
            strict: false,
            ..
        } = self
        else {
            return None;
        };
        let (to, semaphore) = self.ends()?;
        let ends = (to.access.clone(), semaphore.access.clone());
        self.taken = true;
        Some(ends)
    }

    fn peer(&self) -> Peer {
        Peer {
            device: self.device.is_some(),
            core: self.core.is_some(),
            subcore: self.subcore.is_some(),
        }
    }

    /// Adds the operands to those of the first reference, whose dynamic starts are given.
    pub(super) fn add_operands(&self, starts: &[Operand], operands: &mut Vec<Operand>) {
        let ends = [&self.to, &self.semaphore, &self.source_semaphore].map(Option::as_ref);
        operands.extend(ends.iter().flatten().map(|end| end.of));
        operands.extend(starts);
        operands.extend(ends[0].iter().flat_map(|end| &end.starts));
        operands.extend(self.lengths.iter().flat_map(|(_, values)| values));
        operands.extend(ends[1..].iter().flatten().flat_map(|end| &end.starts));
        operands.extend([self.device, self.core, self.subcore].into_iter().flatten());
    }
}

/// The copy of this name from its parts.
pub(super) fn dma_op(name: &str, parts: &mut Parts<'_>) -> Result<DmaOp, Misfit> {
    let dma = &mut parts.dma;
    dma.taken = true;
    let (Some(from), Some(to), Some(semaphore)) =
        (parts.access.take(), dma.to.as_ref(), dma.semaphore.as_ref())
    else {
        return misfit(format!("`{name}` is `{name} %x[..] to %y[..] semaphore %s[..]`"));
    };
    let mut transfer = Transfer::new(from, to.access.clone());
    if let Some((lengths, _)) = &dma.lengths {
        transfer.lengths = lengths.iter().copied().collect();
    }
    let semaphore = semaphore.access.clone();
    let source_semaphore = dma.source_semaphore.as_ref().map(|end| end.access.clone());
    let (peer, strict) = (dma.peer(), dma.strict);
    if name == "dma_wait" {
        if source_semaphore.is_some() || dma.priority.is_some() || dma.add || dma.fresh {
            return misfit(
                "`dma_wait` takes one semaphore, and no `priority`, `accumulate` or `fresh`".into(),
            );
        }
        return Ok(DmaOp::Wait(Box::new(DmaWait { transfer, semaphore, peer, strict })));
    }
    let Ok(priority) = u32::try_from(dma.priority.unwrap_or(0)) else {
        return misfit("a priority has at most 32 bits".into());
    };
    let (add, fresh) = (dma.add, dma.fresh);
    let start =
        DmaStart { transfer, semaphore, source_semaphore, peer, priority, add, strict, fresh };
    Ok(DmaOp::Start(Box::new(start)))
}

/// The op on a semaphore of this name from its parts.
pub(super) fn sync_op(name: &str, parts: &mut Parts<'_>) -> Result<SyncOp, Misfit> {
    let Some(semaphore) = parts.access.take() else {
        return misfit(format!("`{name}` takes semaphores with an index: `%s[0]`"));
    };
    let peer = parts.dma.peer();
    let DmaParts {
        to: None,
        lengths: None,
        semaphore: None,
        source_semaphore: None,
        priority: None,
        add: false,
        fresh: false,
        strict: false,
        ..
    } = &parts.dma
    else {
        return misfit(format!("`{name}` does not take the parts of a copy"));
    };
    parts.dma.taken = true;
    match name {
        "sem_signal" => Ok(SyncOp::Signal { semaphore, peer }),
        _ if !peer.is_self() => misfit(format!("`{name}` reaches its own semaphores alone")),
        "sem_wait" => Ok(SyncOp::Wait { semaphore }),
        _ => Ok(SyncOp::Read { semaphore }),
    }
}
