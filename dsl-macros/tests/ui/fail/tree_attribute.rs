use systole::run::{Tensor, Tree};

#[derive(Tree)]
#[tree(static)] //~ `#[tree(static)]` stands on a field that is no tensor
struct Layer {
    #[tree(skip)] //~ there is no other `#[tree(..)]`
    weight: Tensor<f32>,
}

fn main() {}
