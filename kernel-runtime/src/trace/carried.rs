//! Values that loops and branches carry.

use super::context::Handle;
use super::handle::{Scalar, Tile};
use crate::ir::Element;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What a variable is made of, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// A tile or scalar.
    Value(Handle),
    /// A host value, by its hash. It may not change in a device loop or branch.
    Host(&'static str, u64),
    /// The length of a container or the variant of an enum. It may not change either.
    Form(&'static str, usize),
}

/// Visits the leaves of a variable.
#[derive(Debug)]
pub struct Leaves<'a> {
    mode: Mode<'a>,
}

#[derive(Debug)]
enum Mode<'a> {
    Read(&'a mut Vec<Leaf>),
    /// Writes the next of these handles to each value.
    Write(std::slice::Iter<'a, Handle>),
}

impl Leaves<'_> {
    pub(super) fn value(&mut self, handle: &mut Handle) {
        match &mut self.mode {
            Mode::Read(leaves) => leaves.push(Leaf::Value(*handle)),
            Mode::Write(handles) => {
                if let Some(new) = handles.next() {
                    *handle = *new;
                }
            }
        }
    }

    /// Whether new handles are being written to the values.
    pub(super) fn is_writing(&self) -> bool {
        matches!(self.mode, Mode::Write(_))
    }

    pub(super) fn host(&mut self, what: &'static str, value: impl Hash) {
        if let Mode::Read(leaves) = &mut self.mode {
            let mut hasher = DefaultHasher::new();
            value.hash(&mut hasher);
            leaves.push(Leaf::Host(what, hasher.finish()));
        }
    }

    /// A length or a variant number, which may not change.
    #[doc(hidden)]
    pub fn form(&mut self, what: &'static str, n: usize) {
        if let Mode::Read(leaves) = &mut self.mode {
            leaves.push(Leaf::Form(what, n));
        }
    }
}

/// The leaves of a variable.
pub(crate) fn read(carried: &mut dyn Carried) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    carried.visit(&mut Leaves { mode: Mode::Read(&mut leaves) });
    leaves
}

/// Writes handles to the values of a variable, in the order of [`read`].
pub(crate) fn write(carried: &mut dyn Carried, handles: &[Handle]) {
    carried.visit(&mut Leaves { mode: Mode::Write(handles.iter()) });
}

/// A variable that device loops and branches may change: a tile, a scalar, or something made of
/// them. Plain host values may be part of it but not change.
///
/// Derive it for your own structs: `#[derive(Carried)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be carried through a device loop or branch",
    label = "used in a device loop or branch, which may change it",
    note = "if it holds tiles, derive `Carried` for it: `#[derive(Carried)]`",
    note = "if it is of the host alone, use it outside, or in `#[unroll] for` and `if comptime!(..)`"
)]
pub trait Carried {
    /// Visits every leaf, always in the same order.
    #[doc(hidden)]
    fn visit(&mut self, leaves: &mut Leaves<'_>);
}

/// What the arms of a device `if` may give: tiles, scalars, and what is made of them.
#[diagnostic::on_unimplemented(
    message = "the arms of an `if` on a device condition cannot produce a `{Self}`",
    label = "chosen while the kernel runs, so it must be a tile or scalar",
    note = "for a constant write `scalar::<T>(x)` or `full(shape, x)`, or `select(..)` instead of `if`"
)]
pub trait Value: Carried {}

macro_rules! leaf {
    ($handle:ident) => {
        impl<T: Element> Carried for $handle<T> {
            fn visit(&mut self, leaves: &mut Leaves<'_>) {
                leaves.value(&mut self.handle);
            }
        }

        impl<T: Element> Value for $handle<T> {}
    };
}
leaf!(Tile);
leaf!(Scalar);

macro_rules! host {
    ($($ty:ty, |$x:ident| $hashed:expr;)*) => {$(
        impl Carried for $ty {
            fn visit(&mut self, leaves: &mut Leaves<'_>) {
                let $x = &*self;
                leaves.host(stringify!($ty), $hashed);
            }
        }
    )*};
}
host! {
    bool, |x| x;
    char, |x| x;
    i8, |x| x;
    i16, |x| x;
    i32, |x| x;
    i64, |x| x;
    isize, |x| x;
    u8, |x| x;
    u16, |x| x;
    u32, |x| x;
    u64, |x| x;
    usize, |x| x;
    f32, |x| x.to_bits();
    f64, |x| x.to_bits();
    &str, |x| x;
    String, |x| x;
}

impl<C: Carried + ?Sized> Carried for &mut C {
    fn visit(&mut self, leaves: &mut Leaves<'_>) {
        (**self).visit(leaves);
    }
}

impl<C: Carried + ?Sized> Carried for Box<C> {
    fn visit(&mut self, leaves: &mut Leaves<'_>) {
        (**self).visit(leaves);
    }
}

impl<C: Carried> Carried for [C] {
    fn visit(&mut self, leaves: &mut Leaves<'_>) {
        leaves.form("the length of a slice", self.len());
        self.iter_mut().for_each(|item| item.visit(leaves));
    }
}

impl<C: Carried, const N: usize> Carried for [C; N] {
    fn visit(&mut self, leaves: &mut Leaves<'_>) {
        self.iter_mut().for_each(|item| item.visit(leaves));
    }
}

impl<C: Value, const N: usize> Value for [C; N] {}

impl<C: Carried> Carried for Vec<C> {
    fn visit(&mut self, leaves: &mut Leaves<'_>) {
        leaves.form("the length of a `Vec`", self.len());
        self.iter_mut().for_each(|item| item.visit(leaves));
    }
}

impl<C: Value> Value for Vec<C> {}

impl<C: Carried> Carried for Option<C> {
    fn visit(&mut self, leaves: &mut Leaves<'_>) {
        leaves.form("the variant of an `Option`", usize::from(self.is_some()));
        self.iter_mut().for_each(|item| item.visit(leaves));
    }
}

impl<C: Value> Value for Option<C> {}

impl<T> Carried for std::marker::PhantomData<T> {
    fn visit(&mut self, _leaves: &mut Leaves<'_>) {}
}

impl<T> Value for std::marker::PhantomData<T> {}

macro_rules! tuples {
    ($($($name:ident)*;)*) => {$(
        impl<$($name: Carried),*> Carried for ($($name,)*) {
            #[allow(non_snake_case, reason = "the variables are named like their types")]
            fn visit(&mut self, leaves: &mut Leaves<'_>) {
                let _ = &leaves;
                let ($($name,)*) = self;
                $($name.visit(leaves);)*
            }
        }

        impl<$($name: Value),*> Value for ($($name,)*) {}
    )*};
}
tuples! {
    ;
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
}
