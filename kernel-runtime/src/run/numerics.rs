//! How exactly products of `f32` are computed: levels of precision, and whose arithmetic.

use crate::ir::ops::Precision;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU8, Ordering};

/// Whose arithmetic a program follows off the TPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Numerics {
    /// The device's own: on a CPU a product of `f32` is a product of `f32`, at every level of
    /// precision. The default, and the fastest.
    #[default]
    Device,
    /// A TPU's: a product of `f32` is made of bf16 passes, as many as the level of precision says.
    /// Slower off the TPU; for finding out what a model loses to the matrix unit.
    Tpu,
    /// The device's own, but each float sum goes over its elements one after the other, and on a
    /// CPU nothing is computed for several elements at once. So the bits of an element depend on
    /// the numbers it is computed from, and not on the shape of the tensor that it is in (but for
    /// the sign of a sum of minus zeros): programs of different shapes, as those of
    /// [bounded](crate::run::Jit::bounded) dims, can be compared to the bit. Many times slower; for
    /// telling mistakes from rounding.
    InOrder,
}

impl Numerics {
    /// By its name on the command line: `device`, `tpu` or `in-order`.
    pub fn parse(name: &str) -> Option<Numerics> {
        match name {
            "device" => Some(Numerics::Device),
            "tpu" => Some(Numerics::Tpu),
            "in-order" => Some(Numerics::InOrder),
            _ => None,
        }
    }
}

impl Numerics {
    /// Every kind.
    pub(crate) const ALL: [Numerics; 3] = [Numerics::Device, Numerics::Tpu, Numerics::InOrder];

    /// Its place in [`Numerics::ALL`].
    pub(crate) fn number(self) -> u8 {
        self as u8
    }
}

/// The level of the whole process, by its place in [`Precision::ALL`].
static GLOBAL: AtomicU8 = AtomicU8::new(0);

thread_local! {
    /// Scopes that this thread is in, the innermost last.
    static SCOPES: RefCell<Vec<Precision>> = const { RefCell::new(Vec::new()) };
}

/// Sets the precision of products of `f32` that no scope and no op says otherwise for; `Medium`,
/// one bf16 pass on a TPU, until it is called.
pub fn set_precision(precision: Precision) {
    let place = Precision::ALL.iter().position(|known| *known == precision).unwrap_or(0);
    GLOBAL.store(place as u8, Ordering::Relaxed);
}

/// The precision that products recorded here and now get.
pub fn precision() -> Precision {
    let scoped = SCOPES.with_borrow(|scopes| scopes.last().copied());
    let global = || Precision::ALL.get(usize::from(GLOBAL.load(Ordering::Relaxed))).copied();
    scoped.or_else(global).unwrap_or_default()
}

/// Runs `f` with this precision for the products that this thread records in it.
pub fn with_precision<R>(precision: Precision, f: impl FnOnce() -> R) -> R {
    SCOPES.with_borrow_mut(|scopes| scopes.push(precision));
    let _leave = Leave;
    f()
}

/// Leaves the innermost scope, also when the scope's code panics.
struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        SCOPES.with_borrow_mut(|scopes| scopes.pop());
    }
}
