//! Every form of a structure of tensors.
#![allow(dead_code, reason = "types are made for their implementations")]

use std::marker::PhantomData;
use systole::run::{DynTensor, Kind, Tensor, Tree, jit};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Activation {
    Relu,
    Tanh,
}

/// Named fields, some of them no tensors.
#[derive(Clone, Tree)]
struct Layer<T: Kind> {
    weight: Tensor<T>,
    bias: Option<Tensor<T>>,
    #[tree(static)]
    activation: Activation,
    #[tree(static)]
    names: Vec<String>,
}

/// A tuple struct, generic over its parts.
#[derive(Tree)]
struct Pair<A, B: Clone>(A, [B; 2])
where
    A: Clone;

/// Types of the program that are generic, and constants.
#[derive(Tree)]
struct Tagged<M, const N: usize> {
    layers: [Layer<f32>; N],
    #[tree(static)]
    r#type: M,
    #[tree(static)]
    marker: PhantomData<M>,
}

#[derive(Clone, Tree)]
struct Nothing;

#[derive(Tree)]
struct Empty {}

/// The variant belongs to the program.
#[derive(Tree)]
enum Cache {
    Empty,
    Full { keys: DynTensor, values: DynTensor },
    One(Tensor<i32>, #[tree(static)] usize),
}

#[derive(Tree)]
enum Never {}

fn tree<T: Tree>() {}

fn main() {
    tree::<Layer<f32>>();
    tree::<Pair<Nothing, Layer<f32>>>();
    tree::<Tagged<u8, 3>>();
    tree::<(Nothing, Empty, Cache, Never)>();
    let _forward = jit(|layer: Layer<f32>, x: Tensor<f32>| match layer.activation {
        Activation::Relu => x.matmul(&layer.weight).relu(),
        Activation::Tanh => x.matmul(&layer.weight).tanh(),
    });
}
