//! Several cores that run one kernel at the same time: those of one device, or of many, and the
//! subcores of a SparseCore that share memory.
//!
//! Each is an *agent*: an executor on a thread of its own. One runs at a time, the one that has the
//! [`World`]: whoever gives the world away waits until it comes back. So nothing is locked, and
//! what happens depends on the seed alone. An agent gives the world away where it waits, and
//! sometimes where it signals or copies; the seed decides to whom, and when copies move.
//!
//! Whether two accesses race does not depend on that: vector clocks ([`clock`]) tell what is ordered
//! by signals, copies and waits, and memory that several agents reach remembers who touched it
//! ([`history`]). Other schedules show what depends on values: other branches, other waits.
//!
//! A run with a single agent has a world of its own that never goes anywhere.

pub(super) mod clock;
mod deadlock;
mod finish;
pub(super) mod history;
mod layout;
mod run;
mod schedule;
mod world;

pub(super) use layout::{Group, Layout, subcores_meet};
pub(super) use run::run;
pub(super) use schedule::Link;
pub(super) use world::{Counter, SemaphoreId, World};
