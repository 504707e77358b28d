use systole::run::{Tensor, Tree};

#[derive(Tree)]
struct Layer {
    weight: Tensor<f32>,
    scale: f32, //~ `f32` is no tensor, and no structure of tensors
}

fn main() {}
