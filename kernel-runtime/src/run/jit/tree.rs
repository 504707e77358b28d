//! Structures of tensors: what functions given to `jit` take and give.

use crate::diag::Diagnostics;
use crate::run::graph::KeyWriter;
use crate::run::tensor::{DynTensor, Kind, Tensor};
use std::hash::Hash;

/// A structure whose leaves are tensors: a tensor, a tuple, a list or an option of such, or a
/// struct or enum with `#[derive(Tree)]`.
///
/// Fields of a struct are trees themselves, or belong to the program with `#[tree(static)]`: for
/// another value of theirs, [`jit`](crate::run::jit) compiles another program.
///
/// ```no_run
/// use systole::run::{Tensor, Tree, jit};
///
/// #[derive(Tree)]
/// struct Layer {
///     weight: Tensor<f32>,
///     bias: Option<Tensor<f32>>,
///     #[tree(static)]
///     is_last: bool,
/// }
///
/// let forward = jit(|layer: Layer, x: Tensor<f32>| {
///     let y = x.matmul(&layer.weight);
///     let y = if let Some(bias) = &layer.bias { y + bias } else { y };
///     if layer.is_last { y } else { y.relu() }
/// });
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tensor, and no structure of tensors",
    note = "a struct gets there by `#[derive(Tree)]`, a number by `Tensor::scalar`; what belongs to the program is `Static(..)` as an argument, and `#[tree(static)]` as a field"
)]
pub trait Tree: Sized {
    /// The structure with each leaf replaced, in order.
    #[must_use]
    fn map_leaves(&self, f: &mut dyn FnMut(&DynTensor) -> DynTensor) -> Self;

    /// By entry of a tuple, the number of leaves up to its end; for anything else, of all leaves.
    fn leaf_ends(&self) -> Vec<usize> {
        vec![leaves(self).len()]
    }

    /// Tells what of it is no tensor but belongs to the program: other values compile other
    /// programs.
    fn visit_static(&self, visitor: &mut StaticVisitor<'_>) {
        let _ = visitor;
    }
}

/// What a function of tensors may give: a [`Tree`], or a `Result` with one, so that it can use `?`.
#[diagnostic::on_unimplemented(
    message = "a function of tensors cannot give a `{Self}`",
    note = "it gives a tensor, a structure of tensors, or `Result<_, Diagnostics>` with one"
)]
pub trait Outcome {
    /// What it gives if nothing goes wrong.
    type Tree: Tree;

    /// What it gave.
    ///
    /// # Errors
    /// What went wrong in the function.
    fn outcome(self) -> Result<Self::Tree, Diagnostics>;
}

impl<T: Tree> Outcome for T {
    type Tree = T;

    fn outcome(self) -> Result<T, Diagnostics> {
        Ok(self)
    }
}

impl<T: Tree> Outcome for Result<T, Diagnostics> {
    type Tree = T;

    fn outcome(self) -> Result<T, Diagnostics> {
        self
    }
}

/// Takes what of a [`Tree`] is no tensor.
pub struct StaticVisitor<'a> {
    key: &'a mut KeyWriter,
}

impl<'a> StaticVisitor<'a> {
    pub(crate) fn new(key: &'a mut KeyWriter) -> StaticVisitor<'a> {
        StaticVisitor { key }
    }

    /// Notes a value.
    pub fn value<T: Hash + ?Sized>(&mut self, value: &T) {
        value.hash(self.key);
    }
}

/// A value that belongs to the program: `jit` compiles anew for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Static<T>(pub T);

impl<T: Hash + Clone> Tree for Static<T> {
    fn map_leaves(&self, _f: &mut dyn FnMut(&DynTensor) -> DynTensor) -> Static<T> {
        self.clone()
    }

    fn visit_static(&self, visitor: &mut StaticVisitor<'_>) {
        visitor.value(&self.0);
    }
}

impl<T: Kind> Tree for Tensor<T> {
    fn map_leaves(&self, f: &mut dyn FnMut(&DynTensor) -> DynTensor) -> Tensor<T> {
        Tensor::from_node(f(&self.to_dyn()).node().clone())
    }
}

impl<T: Tree> Tree for Vec<T> {
    fn map_leaves(&self, f: &mut dyn FnMut(&DynTensor) -> DynTensor) -> Vec<T> {
        self.iter().map(|item| item.map_leaves(f)).collect()
    }

    fn visit_static(&self, visitor: &mut StaticVisitor<'_>) {
        visitor.value(&self.len());
        self.iter().for_each(|item| item.visit_static(visitor));
    }
}

impl<T: Tree> Tree for Option<T> {
    fn map_leaves(&self, f: &mut dyn FnMut(&DynTensor) -> DynTensor) -> Option<T> {
        self.as_ref().map(|item| item.map_leaves(f))
    }

    fn visit_static(&self, visitor: &mut StaticVisitor<'_>) {
        visitor.value(&self.is_some());
        self.iter().for_each(|item| item.visit_static(visitor));
    }
}

impl<T: Tree, const N: usize> Tree for [T; N] {
    fn map_leaves(&self, f: &mut dyn FnMut(&DynTensor) -> DynTensor) -> [T; N] {
        std::array::from_fn(|idx| self[idx].map_leaves(f))
    }

    fn visit_static(&self, visitor: &mut StaticVisitor<'_>) {
        self.iter().for_each(|item| item.visit_static(visitor));
    }
}

/// Nothing.
impl Tree for () {
    fn map_leaves(&self, _f: &mut dyn FnMut(&DynTensor) -> DynTensor) {}
}

macro_rules! tuples {
    ($($($name:ident $idx:tt)*;)*) => {$(
        impl<$($name: Tree),*> Tree for ($($name,)*) {
            fn map_leaves(&self, f: &mut dyn FnMut(&DynTensor) -> DynTensor) -> Self {
                ($(self.$idx.map_leaves(f),)*)
            }

            fn leaf_ends(&self) -> Vec<usize> {
                let counts: Vec<usize> = vec![$(leaves(&self.$idx).len()),*];
                let sum = |end: &mut usize, n: usize| {
                    *end += n;
                    Some(*end)
                };
                counts.into_iter().scan(0, sum).collect()
            }

            fn visit_static(&self, visitor: &mut StaticVisitor<'_>) {
                $(self.$idx.visit_static(visitor);)*
            }
        }
    )*};
}
tuples! {
    A 0;
    A 0 B 1;
    A 0 B 1 C 2;
    A 0 B 1 C 2 D 3;
    A 0 B 1 C 2 D 3 E 4;
    A 0 B 1 C 2 D 3 E 4 F 5;
    A 0 B 1 C 2 D 3 E 4 F 5 G 6;
    A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7;
}

/// The leaves of a structure, in order.
pub(crate) fn leaves(tree: &impl Tree) -> Vec<DynTensor> {
    let mut found = Vec::new();
    let _same = tree.map_leaves(&mut |leaf| {
        found.push(leaf.clone());
        leaf.clone()
    });
    found
}

/// The structure with these leaves, in order; it keeps those of its own that are missing.
pub(crate) fn with_leaves<T: Tree>(tree: &T, leaves: impl IntoIterator<Item = DynTensor>) -> T {
    let mut leaves = leaves.into_iter();
    tree.map_leaves(&mut |leaf| leaves.next().unwrap_or_else(|| leaf.clone()))
}

/// What of a structure is no tensor, as bytes of a key.
pub(crate) fn static_key(tree: &impl Tree) -> KeyWriter {
    let mut key = KeyWriter::default();
    tree.visit_static(&mut StaticVisitor::new(&mut key));
    key
}
