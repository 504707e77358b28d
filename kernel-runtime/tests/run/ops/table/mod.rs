//! The ops, each with a function and sample inputs.

mod elementwise;
mod index;
mod nn;
mod random;
mod shape;

use super::Case;
use systole::run::DynTensor;

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    elementwise::add(&mut cases);
    shape::add(&mut cases);
    index::add(&mut cases);
    nn::add(&mut cases);
    random::add(&mut cases);
    cases
}

/// A case whose function has one result or several.
fn case<R: Results>(
    name: &'static str,
    inputs: impl Into<Vec<DynTensor>>,
    f: impl Fn(&[DynTensor]) -> R + 'static,
) -> Case {
    Case { name, inputs: inputs.into(), f: Box::new(move |inputs| f(inputs).all()) }
}

/// What a case's function gives.
trait Results {
    fn all(self) -> Vec<DynTensor>;
}

impl<T: systole::run::Kind> Results for systole::run::Tensor<T> {
    fn all(self) -> Vec<DynTensor> {
        vec![self.to_dyn()]
    }
}

impl<T: systole::run::Kind> Results for Vec<systole::run::Tensor<T>> {
    fn all(self) -> Vec<DynTensor> {
        self.iter().map(|result| result.to_dyn()).collect()
    }
}

impl<A: Results, B: Results> Results for (A, B) {
    fn all(self) -> Vec<DynTensor> {
        self.0.all().into_iter().chain(self.1.all()).collect()
    }
}

/// The names of the cases of random tensors.
pub(super) fn random_names() -> Vec<&'static str> {
    let mut cases = Vec::new();
    random::add(&mut cases);
    cases.iter().map(|case| case.name).collect()
}
