//! Source locations of ops.

use super::kernel::Kernel;
use crate::diag::Span;
use std::sync::Arc;

/// Index of a [`Loc`] in its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocId(pub u32);

impl LocId {
    /// The unknown location, present in every kernel.
    pub const UNKNOWN: LocId = LocId(0);
}

/// Where an op was written: file, line, column, and the call it was inlined through.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Loc {
    /// Path as rustc gives it; empty for the unknown location.
    pub file: Arc<str>,
    /// 1-based line.
    pub line: u32,
    /// 1-based column.
    pub column: u32,
    /// The call through which a helper function's op came here.
    pub inlined_at: Option<LocId>,
}

impl Kernel {
    /// The data of a location.
    pub fn loc(&self, id: LocId) -> &Loc {
        &self.locs[id.0 as usize]
    }

    /// The location as a diagnostic span; `None` if unknown.
    pub fn span(&self, id: LocId) -> Option<Span> {
        let loc = self.loc(id);
        (!loc.file.is_empty()).then(|| Span {
            file: loc.file.clone(),
            line: loc.line,
            column: loc.column,
        })
    }

    /// The calls that a location was inlined through, innermost first.
    pub fn callers(&self, id: LocId) -> impl Iterator<Item = LocId> + '_ {
        let mut next = self.loc(id).inlined_at;
        // A caller is added before what is inlined through it, so this ends.
        std::iter::from_fn(move || {
            let caller = next?;
            next = self.loc(caller).inlined_at.filter(|outer| *outer < caller);
            Some(caller)
        })
    }

    /// Adds a location, or finds it if it is there already.
    pub fn add_loc(&mut self, loc: Loc) -> LocId {
        // Ops of one line come one after the other, so the last few entries nearly always hit.
        let recent = self.locs.len().saturating_sub(8);
        if let Some(idx) = self.locs[recent..].iter().position(|known| *known == loc) {
            return LocId((recent + idx) as u32);
        }
        self.locs.push(loc);
        LocId((self.locs.len() - 1) as u32)
    }
}
