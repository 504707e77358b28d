//! Indices of references and tiles: `..`, `0..8`, `ds(start, size)`, `i`, and tuples of them.

use super::context::{At, Tracer};
use super::convert::{IntoScalar, Operand};
use super::handle::Scalar;
use crate::diag::Code;
use crate::ir::ops::{Access, AccessDim, MAX_MULTIPLE, Start};
use crate::ir::ty::Sizes;
use crate::ir::{DType, Value};
use smallvec::{SmallVec, smallvec};
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo};

/// `size` elements from a `start` that may be known only when the kernel runs.
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    start: Operand,
    size: usize,
    stride: usize,
    multiple_of: usize,
}

/// `size` elements from `start`, for an index: `x[(ds(i * 8, 8), ..)]`.
pub fn ds(start: impl IntoScalar<i32>, size: usize) -> Slice {
    Slice { start: start.operand(), size, stride: 1, multiple_of: 1 }
}

impl Slice {
    /// Takes every `stride`-th element.
    pub fn stride(self, stride: usize) -> Slice {
        Slice { stride, ..self }
    }

    /// Promises that the start is a multiple of `divisor`. Products with a constant, such as
    /// `ds(i * 8, 8)`, need no promise.
    pub fn multiple_of(self, divisor: usize) -> Slice {
        Slice { multiple_of: divisor, ..self }
    }
}

/// What an index says of one axis.
#[derive(Clone, Copy, Debug)]
pub enum PartSpec {
    /// From here to the end.
    From(usize),
    /// From here to before there.
    Between(usize, usize),
    /// One element, which drops the axis.
    One(Operand),
    /// As [`ds`] says.
    Slice(Slice),
}

/// An index: what it says of each axis.
#[derive(Clone, Debug)]
pub struct Parts {
    specs: SmallVec<[PartSpec; 4]>,
    /// Whether every axis must be named; otherwise those left out are taken whole.
    every_axis: bool,
}

/// What may stand in the brackets for one axis.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an index of an axis",
    note = "write `..`, `0..8`, `i` or `ds(start, size)`; a range of scalars has no static size"
)]
pub trait AxisIndex {
    /// What it says.
    #[doc(hidden)]
    fn spec(&self) -> PartSpec;
}

/// What may stand in the brackets of a reference.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an index of a reference",
    note = "write `x[..]`, or one entry per axis: `x[(0..8, ..)]`, `x[(ds(start, size), i)]`"
)]
pub trait RefIndex {
    /// What it says.
    #[doc(hidden)]
    fn parts(&self) -> Parts;
}

macro_rules! axis_index {
    ($($ty:ty, |$index:ident| $spec:expr;)*) => {$(
        impl AxisIndex for $ty {
            fn spec(&self) -> PartSpec {
                let $index = self;
                $spec
            }
        }

        impl RefIndex for $ty {
            fn parts(&self) -> Parts {
                Parts { specs: smallvec![self.spec()], every_axis: false }
            }
        }
    )*};
}

axis_index! {
    RangeFull, |_index| PartSpec::From(0);
    RangeFrom<usize>, |index| PartSpec::From(index.start);
    RangeTo<usize>, |index| PartSpec::Between(0, index.end);
    Range<usize>, |index| PartSpec::Between(index.start, index.end);
    RangeInclusive<usize>, |index| {
        PartSpec::Between(*index.start(), index.end().saturating_add(1))
    };
    usize, |index| PartSpec::One(IntoScalar::<i32>::operand(*index));
    Scalar<i32>, |index| PartSpec::One(IntoScalar::<i32>::operand(*index));
    Slice, |index| PartSpec::Slice(*index);
}

impl RefIndex for () {
    fn parts(&self) -> Parts {
        Parts { specs: smallvec![], every_axis: true }
    }
}

macro_rules! tuples {
    ($($($name:ident)+;)*) => {$(
        impl<$($name: AxisIndex),+> RefIndex for ($($name,)+) {
            fn parts(&self) -> Parts {
                #[expect(non_snake_case, reason = "the variables are named like their types")]
                let ($($name,)+) = self;
                Parts { specs: smallvec![$($name.spec()),+], every_axis: true }
            }
        }
    )*};
}
tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
}

/// What an index takes of one axis, once the axis is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) part: Part,
    pub(crate) keep: bool,
}

/// Where a taken part starts and how large it is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    Static { start: usize, size: usize, stride: usize },
    Dynamic { start: Value, size: usize, stride: usize, multiple_of: usize },
}

impl Taken {
    /// The element whose number is a value; the axis is dropped.
    pub(crate) fn index(value: Value) -> Taken {
        let part = Part::Dynamic { start: value, size: 1, stride: 1, multiple_of: 1 };
        Taken { part, keep: false }
    }

    /// What an access whose starts are all known takes.
    pub(crate) fn of_access(access: &Access) -> impl Iterator<Item = Taken> + '_ {
        access.dims.iter().map(|dim| {
            let start = match dim.start {
                Start::Static(start) => start,
                Start::Dynamic { .. } => 0,
            };
            let part = Part::Static { start, size: dim.size, stride: dim.stride };
            Taken { part, keep: dim.keep }
        })
    }

    pub(crate) fn size(&self) -> usize {
        match self.part {
            Part::Static { size, .. } | Part::Dynamic { size, .. } => size,
        }
    }
}

impl Tracer {
    /// What an index takes of each axis; reports an index that does not fit.
    pub(crate) fn resolve(
        &mut self,
        parts: &Parts,
        shape: &[usize],
        at: At,
    ) -> Option<SmallVec<[Taken; 4]>> {
        let n = parts.specs.len();
        if n > shape.len() || (parts.every_axis && n != shape.len()) {
            self.error(
                Code::IR_INDEX,
                format!(
                    "index has {n} entries but the reference has rank {} {}",
                    shape.len(),
                    Sizes(shape)
                ),
                at,
            );
            return None;
        }
        let mut taken = SmallVec::new();
        for (axis, &size) in shape.iter().enumerate() {
            let spec = parts.specs.get(axis).copied().unwrap_or(PartSpec::From(0));
            taken.push(self.take(spec, axis, size, at)?);
        }
        Some(taken)
    }

    fn take(&mut self, spec: PartSpec, axis: usize, axis_size: usize, at: At) -> Option<Taken> {
        let (start, end) = match spec {
            PartSpec::From(start) => (start, axis_size),
            PartSpec::Between(start, end) => (start, end),
            PartSpec::One(start) => {
                let slice = Slice { start, size: 1, stride: 1, multiple_of: 1 };
                return Some(Taken { part: self.slice_part(slice, axis, at)?, keep: false });
            }
            PartSpec::Slice(slice) => {
                return Some(Taken { part: self.slice_part(slice, axis, at)?, keep: true });
            }
        };
        if start >= end || end > axis_size {
            let problem = if start >= end { "is empty" } else { "does not fit" };
            self.error(
                Code::IR_INDEX,
                format!("axis {axis}: the range {start}..{end} {problem}; the axis has {axis_size} elements"),
                at,
            );
            return None;
        }
        Some(Taken { part: Part::Static { start, size: end - start, stride: 1 }, keep: true })
    }

    fn slice_part(&mut self, slice: Slice, axis: usize, at: At) -> Option<Part> {
        let Slice { start, size, stride, multiple_of } = slice;
        if !self.expect_multiple(multiple_of, at) {
            return None;
        }
        let value = match start {
            Operand::Handle(handle) => self.operand(handle, at)?,
            Operand::Float(_) | Operand::Int(_) => {
                let literal = self.literal(start, DType::I32, at)?;
                let start = usize::try_from(literal.as_int()?).ok()?;
                return Some(Part::Static { start, size, stride });
            }
        };
        if let Some(known) = self.known(value).and_then(|literal| literal.as_int()) {
            let Ok(start) = usize::try_from(known) else {
                self.error(
                    Code::IR_INDEX,
                    format!("axis {axis}: the index {known} is negative"),
                    at,
                );
                return None;
            };
            return Some(Part::Static { start, size, stride });
        }
        // A promise and what the ops show both hold, so their least common multiple does.
        let shown = self.divisor(value);
        let both = multiple_of / super::context::gcd(multiple_of, shown) * shown;
        let multiple_of = if both <= MAX_MULTIPLE { both } else { multiple_of };
        Some(Part::Dynamic { start: value, size, stride, multiple_of })
    }

    /// As [`Tracer::access`], with starts that are known while tracing as numbers.
    pub(crate) fn known_access(&self, taken: &[Taken]) -> (Access, SmallVec<[Value; 4]>) {
        let taken: SmallVec<[Taken; 4]> =
            taken.iter().map(|taken| self.known_part(*taken)).collect();
        Tracer::access(&taken)
    }

    fn known_part(&self, taken: Taken) -> Taken {
        let Part::Dynamic { start, size, stride, .. } = taken.part else { return taken };
        let known = self.known(start).and_then(|literal| literal.as_int());
        match known.and_then(|start| usize::try_from(start).ok()) {
            Some(start) => Taken { part: Part::Static { start, size, stride }, ..taken },
            None => taken,
        }
    }

    /// The access of a resolved index, and its dynamic starts.
    pub(crate) fn access(taken: &[Taken]) -> (Access, SmallVec<[Value; 4]>) {
        let mut starts = SmallVec::new();
        let dims = taken
            .iter()
            .map(|taken| match taken.part {
                Part::Static { start, size, stride } => {
                    AccessDim { start: Start::Static(start), size, stride, keep: taken.keep }
                }
                Part::Dynamic { start, size, stride, multiple_of } => {
                    starts.push(start);
                    let start = Start::Dynamic { multiple_of };
                    AccessDim { start, size, stride, keep: taken.keep }
                }
            })
            .collect();
        (Access { dims }, starts)
    }
}
