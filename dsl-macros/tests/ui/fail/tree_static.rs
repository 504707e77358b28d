use systole::run::{Tensor, Tree};

#[derive(Clone)]
struct Activation;

#[derive(Tree)]
struct Layer {
    weight: Tensor<f32>,
    #[tree(static)]
    activation: Activation, //~ the trait bound `Activation: Hash` is not satisfied
}

fn main() {}
