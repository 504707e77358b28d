//! Scalar arithmetic of a pipeline, at the user's line and folded where numbers are known.

use crate::ir::ops::{Binary, Compare, Literal};
use crate::ir::{DType, Int};
use crate::trace::context::{At, make, with};
use crate::trace::convert::{IntoScalar, Operand};
use crate::trace::handle::Scalar;

/// Scalar arithmetic at a line of the user's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Math {
    pub(super) at: At,
}

impl Math {
    pub(super) fn int(self, number: i64) -> Scalar<i32> {
        Scalar::new(make(|t| {
            let value = t.constant(Literal::int(DType::I32, number), self.at);
            t.handle(value)
        }))
    }

    pub(super) fn bool(self, truth: bool) -> Scalar<bool> {
        Scalar::new(make(|t| {
            let value = t.constant(Literal::int(DType::Bool, i64::from(truth)), self.at);
            t.handle(value)
        }))
    }

    /// The number, if it is known while tracing.
    pub(super) fn known<T>(self, scalar: Scalar<T>) -> Option<i64> {
        with(|t| {
            let value = t.operand(scalar.handle, self.at)?;
            t.known(value)?.as_int()
        })
        .flatten()
    }

    pub(super) fn truth(self, scalar: Scalar<bool>) -> Option<bool> {
        self.known(scalar).map(|bit| bit != 0)
    }

    fn binary<T: Int>(self, op: Binary, a: impl IntoScalar<T>, b: impl IntoScalar<T>) -> Scalar<T> {
        let operands = [a.operand(), b.operand()];
        Scalar::new(make(|t| t.binary(op, operands, T::DTYPE, self.at)))
    }

    pub(super) fn add(self, a: impl IntoScalar<i32>, b: impl IntoScalar<i32>) -> Scalar<i32> {
        self.binary(Binary::Add, a, b)
    }

    pub(super) fn mul(self, a: impl IntoScalar<i32>, b: impl IntoScalar<i32>) -> Scalar<i32> {
        self.binary(Binary::Mul, a, b)
    }

    pub(super) fn max(self, a: Scalar<i32>, b: impl IntoScalar<i32>) -> Scalar<i32> {
        self.binary(Binary::Max, a, b)
    }

    pub(super) fn min(self, a: Scalar<i32>, b: impl IntoScalar<i32>) -> Scalar<i32> {
        self.binary(Binary::Min, a, b)
    }

    fn compare(self, op: Compare, a: Scalar<i32>, b: impl IntoScalar<i32>) -> Scalar<bool> {
        let operands = [Operand::Handle(a.handle), b.operand()];
        Scalar::new(make(|t| t.compare(op, operands, DType::I32, self.at)))
    }

    pub(super) fn eq(self, a: Scalar<i32>, b: impl IntoScalar<i32>) -> Scalar<bool> {
        self.compare(Compare::Eq, a, b)
    }

    pub(super) fn ne(self, a: Scalar<i32>, b: impl IntoScalar<i32>) -> Scalar<bool> {
        self.compare(Compare::Ne, a, b)
    }

    pub(super) fn lt(self, a: Scalar<i32>, b: impl IntoScalar<i32>) -> Scalar<bool> {
        self.compare(Compare::Lt, a, b)
    }

    pub(super) fn ge(self, a: Scalar<i32>, b: impl IntoScalar<i32>) -> Scalar<bool> {
        self.compare(Compare::Ge, a, b)
    }

    fn logic(self, op: Binary, neutral: bool, a: Scalar<bool>, b: Scalar<bool>) -> Scalar<bool> {
        match (self.truth(a), self.truth(b)) {
            (Some(known), _) => {
                if known == neutral {
                    b
                } else {
                    a
                }
            }
            (_, Some(known)) => {
                if known == neutral {
                    a
                } else {
                    b
                }
            }
            (None, None) => {
                let operands = [Operand::Handle(a.handle), Operand::Handle(b.handle)];
                Scalar::new(make(|t| t.binary(op, operands, DType::Bool, self.at)))
            }
        }
    }

    pub(super) fn and(self, a: Scalar<bool>, b: Scalar<bool>) -> Scalar<bool> {
        self.logic(Binary::And, true, a, b)
    }

    pub(super) fn or(self, a: Scalar<bool>, b: Scalar<bool>) -> Scalar<bool> {
        self.logic(Binary::Or, false, a, b)
    }

    /// `a` if the condition holds, else `b`.
    pub(super) fn pick(
        self,
        condition: Scalar<bool>,
        a: Scalar<i32>,
        b: Scalar<i32>,
    ) -> Scalar<i32> {
        if a.handle == b.handle {
            return a;
        }
        match self.truth(condition) {
            Some(true) => a,
            Some(false) => b,
            None => {
                let [condition, a, b] = [condition.handle, a.handle, b.handle].map(Operand::Handle);
                Scalar::new(make(|t| t.select(condition, a, b, DType::I32, self.at)))
            }
        }
    }

    /// Whether two blocks are different ones.
    pub(super) fn differ(self, a: &[Scalar<i32>], b: &[Scalar<i32>]) -> Scalar<bool> {
        let pairs = a.iter().zip(b).filter(|(a, b)| a.handle != b.handle);
        pairs.fold(self.bool(false), |differ, (&a, &b)| self.or(differ, self.ne(a, b)))
    }

    /// The next of `n` slots of a ring.
    pub(super) fn next_slot(self, slot: Scalar<i32>, n: usize) -> Scalar<i32> {
        if n == 1 {
            return self.int(0);
        }
        let next = self.add(slot, 1_i32);
        self.pick(self.eq(next, n), self.int(0), next)
    }
}
