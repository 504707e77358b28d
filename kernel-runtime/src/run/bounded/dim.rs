//! Bounded dims as users write them.

use crate::diag::{Code, Diagnostic};

/// A size that differs from call to call, up to a bound: see
/// [`Jit::bounded`](crate::run::Jit::bounded).
///
/// Each of its buckets is a size that programs are made for; a call runs the program of the
/// smallest bucket that its size fits in. While the program of one bucket is first used, that of
/// the next is compiled in the background.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dim {
    name: String,
    /// Ascending.
    buckets: Vec<usize>,
    compile_ahead: bool,
}

impl Dim {
    /// Sizes from 0 to `max`, in one program.
    #[must_use]
    pub fn bounded(max: usize) -> Dim {
        Dim::buckets([max])
    }

    /// Sizes from 0 to the largest of these, with a program for each of them.
    #[must_use]
    pub fn buckets(sizes: impl IntoIterator<Item = usize>) -> Dim {
        let mut buckets: Vec<usize> = sizes.into_iter().collect();
        buckets.sort_unstable();
        buckets.dedup();
        Dim { name: "dim".to_owned(), buckets, compile_ahead: true }
    }

    /// Its name in messages.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Dim {
        Dim { name: name.into(), ..self }
    }

    /// Whether the next bucket is compiled in the background while the one before it is first
    /// used; it is unless this says otherwise.
    #[must_use]
    pub fn compile_ahead(self, compile_ahead: bool) -> Dim {
        Dim { compile_ahead, ..self }
    }

    /// Its name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The largest size.
    pub fn max(&self) -> usize {
        self.buckets.last().copied().unwrap_or(0)
    }

    /// The bucket for a size.
    pub(crate) fn bucket(&self, size: usize) -> Option<usize> {
        self.buckets.iter().copied().find(|&bucket| size <= bucket)
    }

    /// The bucket after this one, if it shall be compiled ahead.
    pub(crate) fn next(&self, bucket: usize) -> Option<usize> {
        self.buckets.iter().copied().find(|&next| self.compile_ahead && bucket < next)
    }

    /// Other sizes at which a function may be traced, to see what depends on the size: those that
    /// the function has to do with first.
    pub(crate) fn checks(&self, bucket: usize) -> impl Iterator<Item = usize> {
        let others: Vec<usize> = self.buckets.iter().copied().filter(|&b| b != bucket).collect();
        let halves = (bucket >= 4 && bucket.is_multiple_of(2)).then_some(bucket / 2);
        others.into_iter().rev().chain(bucket.checked_mul(2)).chain(halves).chain([bucket - 1])
    }

    /// What is wrong with it.
    pub(crate) fn mistake(&self) -> Option<Diagnostic> {
        let smallest = self.buckets.first().copied();
        let message = match smallest {
            None => format!("`{}` has no buckets", self.name),
            // An axis of size 1 is repeated to fit others.
            Some(0 | 1) => format!("`{}` has a bucket of fewer than 2", self.name),
            Some(_) => return None,
        };
        Some(Diagnostic::error(Code::TENSOR_BOUNDED, message).help("give buckets of 2 or more"))
    }
}
