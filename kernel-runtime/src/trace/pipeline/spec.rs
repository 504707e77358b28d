//! What the user says of a pipeline: the extents of its grid and the blocks of its arrays.

use super::block::{Access, Block};
use crate::ir::Element;
use crate::trace::context::{At, Handle};
use crate::trace::convert::{IntoScalar, Operand};
use crate::trace::handle::Scalar;
use crate::trace::refs::{Hbm, HbmInOut, HbmOut};
use smallvec::{SmallVec, smallvec};
use std::marker::PhantomData;
use std::panic::Location;

/// The extents of the grid of a pipeline: an array or a tuple of numbers and `Scalar<i32>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the grid of a pipeline with {N} axes",
    note = "write its extents, numbers or `Scalar<i32>`: `[m / 8, n / 128]`, `(count, 4)`"
)]
pub trait PipelineGrid<const N: usize> {
    /// The extents, outermost first.
    #[doc(hidden)]
    fn extents(self) -> [Operand; N];
}

impl<E: IntoScalar<i32>, const N: usize> PipelineGrid<N> for [E; N] {
    fn extents(self) -> [Operand; N] {
        self.map(IntoScalar::operand)
    }
}

/// Which block a step works on: a number or `Scalar<i32>` per axis of the array.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say which block a step works on",
    note = "give a number or `Scalar<i32>` per axis of the array: `|[i, j]| (i, j)`, `|[i]| (i, 0)`"
)]
pub trait BlockIndex {
    /// The entries, outermost first.
    #[doc(hidden)]
    fn entries(self) -> SmallVec<[Operand; 4]>;
}

impl<E: IntoScalar<i32>, const R: usize> BlockIndex for [E; R] {
    fn entries(self) -> SmallVec<[Operand; 4]> {
        self.into_iter().map(IntoScalar::operand).collect()
    }
}

impl<E: IntoScalar<i32>> BlockIndex for Vec<E> {
    fn entries(self) -> SmallVec<[Operand; 4]> {
        self.into_iter().map(IntoScalar::operand).collect()
    }
}

/// An axis whose blocks have size 1 and are given to the body without it.
#[derive(Clone, Copy, Debug)]
pub struct Squeezed;

/// The size of a block along an axis: a number, or [`Squeezed`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the size of a block along an axis",
    note = "write a number, or `Squeezed` for single elements without the axis"
)]
pub trait BlockSize {
    /// The number; `None` if the axis is squeezed.
    #[doc(hidden)]
    fn size(self) -> Option<usize>;
}

impl BlockSize for usize {
    fn size(self) -> Option<usize> {
        Some(self)
    }
}

impl BlockSize for Squeezed {
    fn size(self) -> Option<usize> {
        None
    }
}

/// The sizes of a block, one per axis of the array.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the sizes of a block",
    note = "write one per axis of the array: `[8, 128]`, `(Squeezed, 8, 128)`"
)]
pub trait BlockSizes {
    /// The sizes, outermost first.
    #[doc(hidden)]
    fn sizes(self) -> SmallVec<[Option<usize>; 4]>;
}

impl<S: BlockSize, const R: usize> BlockSizes for [S; R] {
    fn sizes(self) -> SmallVec<[Option<usize>; 4]> {
        self.into_iter().map(BlockSize::size).collect()
    }
}

impl<S: BlockSize> BlockSizes for Vec<S> {
    fn sizes(self) -> SmallVec<[Option<usize>; 4]> {
        self.into_iter().map(BlockSize::size).collect()
    }
}

macro_rules! singles {
    ($($ty:ty),*) => {$(
        impl BlockIndex for $ty {
            fn entries(self) -> SmallVec<[Operand; 4]> {
                smallvec![IntoScalar::<i32>::operand(self)]
            }
        }
    )*};
}
singles!(Scalar<i32>, usize, i32);

macro_rules! tuples {
    ($($n:literal: $($name:ident)+;)*) => {$(
        impl<$($name: IntoScalar<i32>),+> PipelineGrid<$n> for ($($name,)+) {
            #[expect(non_snake_case, reason = "the variables are named like their types")]
            fn extents(self) -> [Operand; $n] {
                let ($($name,)+) = self;
                [$($name.operand()),+]
            }
        }

        impl<$($name: IntoScalar<i32>),+> BlockIndex for ($($name,)+) {
            #[expect(non_snake_case, reason = "the variables are named like their types")]
            fn entries(self) -> SmallVec<[Operand; 4]> {
                let ($($name,)+) = self;
                smallvec![$($name.operand()),+]
            }
        }

        impl<$($name: BlockSize),+> BlockSizes for ($($name,)+) {
            #[expect(non_snake_case, reason = "the variables are named like their types")]
            fn sizes(self) -> SmallVec<[Option<usize>; 4]> {
                let ($($name,)+) = self;
                smallvec![$($name.size()),+]
            }
        }
    )*};
}
tuples! {
    1: A;
    2: A B;
    3: A B C;
    4: A B C D;
    5: A B C D E;
    6: A B C D E F;
}

/// Marks the blocks of an input: fetched.
#[derive(Clone, Copy, Debug)]
pub enum Fetched {}

/// Marks the blocks of an output: sent.
#[derive(Clone, Copy, Debug)]
pub enum Sent {}

/// Marks the blocks of an array that is updated in place: fetched and sent.
#[derive(Clone, Copy, Debug)]
pub enum Updated {}

/// Which way the blocks of an array go.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From HBM.
    In,
    /// To HBM.
    Out,
    /// There and back.
    Both,
}

/// The way that a marker stands for.
#[doc(hidden)]
pub trait Direction: Access {
    /// It.
    const WAY: Way;
}

impl Direction for Fetched {
    const WAY: Way = Way::In;
}

impl Direction for Sent {
    const WAY: Way = Way::Out;
}

impl Direction for Updated {
    const WAY: Way = Way::Both;
}

/// How a pipeline walks over an array in HBM: see [`Hbm::blocks`].
#[must_use = "give it to `pipeline`, which walks over the blocks"]
pub struct BlockSpec<T, D, F> {
    about: About,
    index: F,
    kind: PhantomData<fn() -> (T, D)>,
}

impl<T, D, F> std::fmt::Debug for BlockSpec<T, D, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("BlockSpec").field(&self.about).finish()
    }
}

/// What is said of the blocks of an array, but for their index.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct About {
    pub(super) memory: Handle,
    pub(super) way: Way,
    pub(super) sizes: SmallVec<[Option<usize>; 4]>,
    pub(super) n_buffers: Option<usize>,
    pub(super) priority: u32,
    pub(super) at: At,
}

impl<T, D, F> BlockSpec<T, D, F> {
    /// Takes `n` buffers, at least 1. Without it inputs and outputs have two, and arrays that are
    /// updated in place three: one block is fetched while one is worked on and one sent back. A
    /// block that never changes has one, whatever is said.
    pub fn buffers(mut self, n: usize) -> BlockSpec<T, D, F> {
        self.about.n_buffers = Some(n);
        self
    }

    /// The priority of its copies: 0 is the most urgent, and the default.
    pub fn priority(mut self, priority: u32) -> BlockSpec<T, D, F> {
        self.about.priority = priority;
        self
    }
}

macro_rules! blocks {
    ($($name:ident $direction:ident: $doc:literal;)*) => {$(
        impl<T: Element> $name<T> {
            #[doc = $doc]
            ///
            /// `sizes` has an entry per axis of the array. `index` gives the number of a step's
            /// block along each axis, from the indices of the step: `|[i, j]| (j, i)`. It is
            /// traced several times, and may read tables and values of the kernel.
            #[track_caller]
            pub fn blocks<const N: usize, R, F>(
                self,
                sizes: impl BlockSizes,
                index: F,
            ) -> BlockSpec<T, $direction, F>
            where
                R: BlockIndex,
                F: Fn([Scalar<i32>; N]) -> R,
            {
                let about = About {
                    memory: self.handle(),
                    way: $direction::WAY,
                    sizes: sizes.sizes(),
                    n_buffers: None,
                    priority: 0,
                    at: Location::caller(),
                };
                BlockSpec { about, index, kind: PhantomData }
            }
        }
    )*};
}
blocks! {
    Hbm Fetched: "The blocks of this input for a [`pipeline`](crate::trace::pipeline): each is fetched before the steps that read it.";
    HbmOut Sent: "The blocks of this output for a [`pipeline`](crate::trace::pipeline): each is sent after the steps that write it, which are consecutive.";
    HbmInOut Updated: "The blocks of this array for a [`pipeline`](crate::trace::pipeline): each is fetched before the steps that update it, which are consecutive, and sent back after them.";
}

/// The blocks of an array, whatever its element type.
#[doc(hidden)]
pub trait AnySpec<const N: usize> {
    /// What is said of them.
    fn about(&self) -> &About;
    /// Which block a step works on.
    fn entries(&self, index: [Scalar<i32>; N]) -> SmallVec<[Operand; 4]>;
}

/// How a pipeline of `N` axes walks over an array: a [`BlockSpec`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say how a pipeline of {N} axes walks over an array",
    note = "write `x.blocks([8, 128], |[i]| (i, 0))`, its closure with as many indices as the grid has extents"
)]
pub trait Spec<const N: usize>: AnySpec<N> {
    /// What the body gets.
    type Block;
    /// The block in a slot of a ring.
    #[doc(hidden)]
    fn block(ring: Handle, slot: Handle) -> Self::Block;
}

impl<T, D, F, R, const N: usize> AnySpec<N> for BlockSpec<T, D, F>
where
    R: BlockIndex,
    F: Fn([Scalar<i32>; N]) -> R,
{
    fn about(&self) -> &About {
        &self.about
    }

    fn entries(&self, index: [Scalar<i32>; N]) -> SmallVec<[Operand; 4]> {
        (self.index)(index).entries()
    }
}

impl<T, D, F, R, const N: usize> Spec<N> for BlockSpec<T, D, F>
where
    D: Direction,
    R: BlockIndex,
    F: Fn([Scalar<i32>; N]) -> R,
{
    type Block = Block<T, D::Kind>;

    fn block(ring: Handle, slot: Handle) -> Block<T, D::Kind> {
        Block::new(ring, slot)
    }
}

/// The arrays that a pipeline walks over: a tuple of [`BlockSpec`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say which arrays a pipeline of {N} axes walks over",
    note = "write a tuple, one entry per array: `(x.blocks(..), y.blocks(..))`, each closure with as many indices as the grid has extents"
)]
pub trait Specs<const N: usize> {
    /// What the body gets: a tuple of [`Block`].
    type Blocks;
    /// Each of them.
    #[doc(hidden)]
    fn each(&self) -> Vec<&dyn AnySpec<N>>;
    /// The blocks in slots of rings, of which there is one per array.
    #[doc(hidden)]
    fn blocks(&self, places: &[(Handle, Handle)]) -> Self::Blocks;
}

macro_rules! specs {
    ($($($name:ident $idx:tt)+;)*) => {$(
        impl<const N: usize, $($name: Spec<N>),+> Specs<N> for ($($name,)+) {
            type Blocks = ($($name::Block,)+);

            fn each(&self) -> Vec<&dyn AnySpec<N>> {
                vec![$(&self.$idx),+]
            }

            fn blocks(&self, places: &[(Handle, Handle)]) -> Self::Blocks {
                let place = |idx: usize| {
                    places.get(idx).copied().unwrap_or((Handle::POISON, Handle::POISON))
                };
                ($({
                    let (ring, slot) = place($idx);
                    $name::block(ring, slot)
                },)+)
            }
        }
    )*};
}
specs! {
    A 0;
    A 0 B 1;
    A 0 B 1 C 2;
    A 0 B 1 C 2 D 3;
    A 0 B 1 C 2 D 3 E 4;
    A 0 B 1 C 2 D 3 E 4 F 5;
    A 0 B 1 C 2 D 3 E 4 F 5 G 6;
    A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7;
}
