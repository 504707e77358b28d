//! Embedding lookups.
//!
//! [`Lookup`] looks rows up, one per id or a bag of them summed, and [`Update`] does a step of an
//! optimizer: on the cores that [`Engine::of`] says, from the same arguments. The host prepares
//! batches: [`RawBags::check`] finds ids that are no rows, and does what the caller says of them.

mod bags;
mod combiner;
pub mod dlrm;
mod entries;
mod lookup;
mod partition;
mod radix;
pub mod reference;
mod sharding;
pub mod sparse_core;
pub mod specs;
mod stack;
pub mod tensor_core;
mod train;
mod unique;
mod update;

pub use bags::{Bags, Id, RawBags};
pub use combiner::Combiner;
pub use lookup::{Engine, Lookup};
pub use partition::{Limits, OverLimit, PAD, Partitioned, Placement};
pub use sharding::{Sharding, TENSOR_LIMIT_BYTES};
pub use stack::{Stack, StackLimits, StackedTable, Table};
pub use tensor_core::TableShape;
pub use train::{Update, Updated};
pub use unique::Unique;
pub use update::{Optimizer, UpdatePlan, UpdateShape};

use systole::diag::{Code, Diagnostic, Diagnostics};

/// What to do with an id that is no row of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OutOfRange {
    /// Refuse the batch.
    #[default]
    Error,
    /// Take the nearest row: the first for negative ids, the last for those too large.
    Clamp,
    /// Leave the id out, as if the caller had not given it: a mean divides by those that stay.
    Drop,
}

/// The least multiple of `unit` that is not below `n`, of which there is at least one;
/// `usize::MAX`, which no kernel takes, if that is beyond it.
fn rounded(n: usize, unit: usize) -> usize {
    n.max(1).checked_next_multiple_of(unit).unwrap_or(usize::MAX)
}

/// Bags are looked up in a table that has all the rows that their ids may name.
fn check_rows(bags: &Bags, rows: usize) -> Result<(), Diagnostics> {
    if bags.rows() <= rows {
        return Ok(());
    }
    Err(crate::refuse(
        format!("ids name {} rows of a table of {rows}", bags.rows()),
        "check the bags against the table that they are looked up in",
    ))
}

/// Bags that contradict themselves.
fn bad_bags(message: String, help: &str) -> Diagnostics {
    Diagnostic::error(Code::EMBEDDING_BAGS, message).help(help).into()
}

/// A batch too large for its buffers.
fn over_limit(message: String, help: &str) -> Diagnostics {
    Diagnostic::error(Code::EMBEDDING_LIMIT, message).help(help).into()
}
