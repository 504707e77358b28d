//! Memory and semaphores that live for a part of the body: Pallas' `run_scoped`.

use super::carried::{self, Carried, Leaf};
use super::context::{At, Handle, RegionKind, Tracer, with};
use super::launch::{ScratchKind, ScratchRef};
use super::replay::{RegionLog, Stage};
use crate::diag::Code;
use crate::ir::ops::ControlOp;
use crate::ir::ty::Sizes;
use crate::ir::{BlockId, MemorySpace, Op, SemaphoreKind, Shape, Type, Value};
use std::marker::PhantomData;
use std::panic::Location;

/// Scratch that a [`run_scoped`] holds; see [`scratch`].
#[derive(Clone, Debug)]
pub struct Scoped<R> {
    shape: Shape,
    kind: PhantomData<fn() -> R>,
}

/// Scratch of a kind and shape, for [`run_scoped`]: `scratch::<Vmem<f32>>([8, 128])`,
/// `scratch::<Buffers<f32, 2>>([8, 128])`, `scratch::<Semaphore>([])`.
pub fn scratch<R: ScratchRef>(shape: impl AsRef<[usize]>) -> Scoped<R> {
    Scoped { shape: Shape::from_slice(shape.as_ref()), kind: PhantomData }
}

/// What a [`run_scoped`] can hold: one [`scratch`], or several in a tuple.
pub trait ScopedScratch {
    /// The references to it.
    type Refs;
    #[doc(hidden)]
    fn types(&self, types: &mut Vec<Type>);
    #[doc(hidden)]
    fn refs(handles: &mut dyn Iterator<Item = Handle>) -> Self::Refs;
}

impl<R: ScratchRef> ScopedScratch for Scoped<R> {
    type Refs = R;

    fn types(&self, types: &mut Vec<Type>) {
        let shape = || self.shape.clone();
        let semaphores = |kind, shape| Type::Semaphore { kind, shape };
        match R::KIND {
            ScratchKind::Memory(dtype, space) => {
                types.push(Type::Ref { dtype, shape: shape(), space });
            }
            ScratchKind::Ring(dtype, n) => {
                let ring = std::iter::once(n).chain(shape()).collect();
                types.push(Type::Ref { dtype, shape: ring, space: MemorySpace::Vmem });
                types.push(semaphores(SemaphoreKind::Dma, Shape::from_slice(&[n])));
            }
            ScratchKind::Permits(n) => {
                types.push(semaphores(SemaphoreKind::Dma, Shape::from_slice(&[n])));
            }
            ScratchKind::Semaphores(kind) => types.push(semaphores(kind, shape())),
        }
    }

    fn refs(handles: &mut dyn Iterator<Item = Handle>) -> R {
        let mut next = || handles.next().unwrap_or(Handle::POISON);
        match R::KIND {
            ScratchKind::Memory(..) => R::of(next(), Handle::POISON),
            ScratchKind::Ring(..) => {
                let memory = next();
                R::of(memory, next())
            }
            ScratchKind::Permits(_) | ScratchKind::Semaphores(_) => R::of(Handle::POISON, next()),
        }
    }
}

macro_rules! tuples {
    ($(($($name:ident $idx:tt),*);)*) => {$(
        impl<$($name: ScopedScratch),*> ScopedScratch for ($($name,)*) {
            type Refs = ($($name::Refs,)*);

            fn types(&self, types: &mut Vec<Type>) {
                $(self.$idx.types(types);)*
            }

            fn refs(handles: &mut dyn Iterator<Item = Handle>) -> Self::Refs {
                ($($name::refs(handles),)*)
            }
        }
    )*};
}
tuples! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
}

/// Runs a part of the body with memory and semaphores of its own: Pallas' `run_scoped`. Parts that
/// follow each other share what they take.
///
/// Memory is undefined at first, semaphores are zero at first and at the end, and no copy of the
/// memory is in flight at the end. What the part computes is what it gives back: a tile, a scalar,
/// or several.
///
/// ```text
/// let total = run_scoped(scratch::<Vmem<f32>>([8, 128]), |acc| {
///     acc[..] = 0.0;
///     for j in 0..n { acc[..] += x[ds(j * 8, 8)]; }
///     acc[..]
/// });
/// ```
#[track_caller]
pub fn run_scoped<S: ScopedScratch, R: Carried>(held: S, body: impl FnOnce(S::Refs) -> R) -> R {
    let at = Location::caller();
    let mut types = Vec::new();
    held.types(&mut types);
    let (stage, block, args) = match with(|t| t.begin_scope(&types, at)) {
        Some((stage, block, args)) => (stage, block, args),
        None => (Stage::Lost, None, Vec::new()),
    };
    let mut result = body(S::refs(&mut args.iter().copied()));
    let leaves = carried::read(&mut result).into_iter();
    let values: Vec<Handle> = leaves
        .filter_map(|leaf| match leaf {
            Leaf::Value(handle) => Some(handle),
            Leaf::Host(..) | Leaf::Form(..) => None,
        })
        .collect();
    let outside = with(|t| t.end_scope(stage, block, &args, &values, at)).unwrap_or_default();
    carried::write(&mut result, &outside);
    result
}

impl Tracer {
    fn begin_scope(&mut self, types: &[Type], at: At) -> (Stage, Option<BlockId>, Vec<Handle>) {
        let empty = types.iter().find(|ty| {
            ty.shape().contains(&0) || matches!(ty, Type::Ref { shape, .. } if shape.is_empty())
        });
        if let Some(ty) = empty {
            let message = format!(
                "the scratch of this scope has shape {}, which is empty",
                Sizes(ty.shape())
            );
            self.error(Code::TRACE_GRID, message, at);
        }
        let stage = self.begin(RegionKind::Scope, at);
        match stage {
            Stage::First(_) => {
                let (block, args) = self.open(RegionKind::Scope, types, at);
                let args = args.into_iter().map(|arg| self.handle(arg)).collect();
                (stage, Some(block), args)
            }
            Stage::Again(id) => (stage, None, self.enter_again(id, 0)),
            Stage::Lost => (stage, None, Vec::new()),
        }
    }

    fn end_scope(
        &mut self,
        stage: Stage,
        block: Option<BlockId>,
        args: &[Handle],
        values: &[Handle],
        at: At,
    ) -> Vec<Handle> {
        let lost = || vec![Handle::POISON; values.len()];
        match (stage, block) {
            (Stage::First(id), Some(block)) => {
                let yields: Vec<Value> =
                    values.iter().filter_map(|&value| self.operand(value, at)).collect();
                let is_whole = yields.len() == values.len();
                self.close(&yields, at);
                let made = is_whole
                    .then(|| self.push_all(Op::Control(ControlOp::Scope), &[], &[block], at))
                    .flatten();
                let Some(results) = made else { return lost() };
                let results: Vec<Handle> =
                    results.into_iter().map(|value| self.handle(value)).collect();
                let (enter, leave) = (args.to_vec(), values.to_vec());
                self.done(id, [RegionLog { block, enter, leave }], results.clone());
                results
            }
            (Stage::Again(id), _) => {
                self.leave_again(id, 0, values);
                self.end_again(id)
            }
            _ => lost(),
        }
    }
}
