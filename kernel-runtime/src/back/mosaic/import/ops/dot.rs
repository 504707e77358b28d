//! Matrix products.

use super::super::body::{Importer, MAX_PIECES, Outcome};
use super::super::read::ast::{Attr, Op, find};
use crate::ir::ops::{Binary, DotOp, Elementwise, Precision, ShapeOp};
use crate::ir::{self, Shape};

pub(super) fn import<'m>(
    importer: &mut Importer<'m>,
    name: &str,
    op: &'m Op,
) -> Option<Outcome<()>> {
    (name == "tpu.matmul").then(|| importer.matmul(op))
}

/// `#tpu.dot_dimension_numbers<..>`.
#[derive(Debug, PartialEq, Eq)]
struct Numbers {
    lhs_contract: usize,
    rhs_contract: usize,
    /// Pairs of side (0 is the left one) and axis, per axis of the result.
    order: Vec<(usize, usize)>,
    lhs_batch: Vec<usize>,
    rhs_batch: Vec<usize>,
}

impl Numbers {
    /// A product of matrices as they are.
    const PLAIN: [&'static str; 7] = ["1", "0", "0", "1", "0, 0, 1, 1", "", ""];

    fn new(lists: &[Vec<usize>]) -> Option<Numbers> {
        let [lhs_contract, rhs_contract, _, _, order, lhs_batch, rhs_batch] = lists else {
            return None;
        };
        let ([lhs_contract], [rhs_contract]) = (&lhs_contract[..], &rhs_contract[..]) else {
            return None;
        };
        let pairs = order.chunks_exact(2);
        if !pairs.remainder().is_empty() {
            return None;
        }
        Some(Numbers {
            lhs_contract: *lhs_contract,
            rhs_contract: *rhs_contract,
            order: pairs.map(|pair| (pair[0], pair[1])).collect(),
            lhs_batch: lhs_batch.clone(),
            rhs_batch: rhs_batch.clone(),
        })
    }

    fn parse(text: &str) -> Option<Numbers> {
        let mut lists = Vec::new();
        let mut rest = text;
        while let Some((_, inner)) = rest.split_once('[') {
            let (list, after) = inner.split_once(']')?;
            lists.push(list_of(list)?);
            rest = after;
        }
        Numbers::new(&lists)
    }
}

fn list_of(text: &str) -> Option<Vec<usize>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| part.parse().ok()).collect()
}

impl<'m> Importer<'m> {
    fn matmul(&mut self, op: &'m Op) -> Outcome<()> {
        // Where to put the transpose is a hint.
        self.only(
            op,
            &[
                "dimension_numbers",
                "transpose_lhs",
                "transpose_rhs",
                "transpose_lhs_hint",
                "precision",
            ],
        )?;
        let numbers = match find(&op.attrs, "dimension_numbers") {
            Some(Attr::Other(text)) => Numbers::parse(text),
            Some(_) => None,
            None => Numbers::new(&Numbers::PLAIN.map(|list| list_of(list).unwrap_or_default())),
        };
        let Some(numbers) = numbers else {
            return Err(self.unsupported(op, "these `dimension_numbers`"));
        };
        // Old flags, which count only without dimension numbers.
        if find(&op.attrs, "dimension_numbers").is_none()
            && (self.flag(op, "transpose_lhs")? || self.flag(op, "transpose_rhs")?)
        {
            return Err(self.unsupported(op, "transposed operands without `dimension_numbers`"));
        }
        let precision = match find(&op.attrs, "precision") {
            None => Precision::Medium,
            Some(_) => match self.keyword(op, "precision")? {
                "fp32" => Precision::Highest,
                "bf16" => Precision::Medium,
                other => return Err(self.unsupported(op, format!("precision `{other}`"))),
            },
        };
        let [lhs, rhs, acc] = [self.operand(op, 0)?, self.operand(op, 1)?, self.operand(op, 2)?];
        let is_zero = self
            .literal(acc)
            .is_some_and(|literal| literal.as_f32() == Some(0.0) || literal.as_int() == Some(0));
        let [lhs, rhs] = [self.value(lhs)?, self.value(rhs)?];
        let mut value = self.product(op, &numbers, precision, lhs, rhs)?;
        if !is_zero {
            let acc = self.value(acc)?;
            let add = ir::Op::Elementwise(Elementwise::Binary(Binary::Add));
            value = self.push(op, add, &[acc, value])?;
        }
        self.result(op, value)
    }

    fn product(
        &mut self,
        op: &Op,
        numbers: &Numbers,
        precision: Precision,
        lhs: ir::Value,
        rhs: ir::Value,
    ) -> Outcome<ir::Value> {
        let kernel = self.builder.kernel();
        let shapes = [lhs, rhs].map(|side| Shape::from_slice(kernel.ty(side).shape()));
        let is_plain = numbers.lhs_batch.is_empty() && numbers.rhs_batch.is_empty();
        if is_plain && shapes.iter().all(|shape| shape.len() == 2) {
            return self.matrix_product(op, numbers, precision, [lhs, rhs]);
        }
        // One batch axis, the outermost of both operands and of the result.
        let is_batch = numbers.lhs_batch == [0]
            && numbers.rhs_batch == [0]
            && numbers.order.first() == Some(&(0, 0))
            && shapes.iter().all(|shape| shape.len() == 3)
            && shapes[0][0] == shapes[1][0]
            && numbers.lhs_contract > 0
            && numbers.rhs_contract > 0
            && numbers.order.iter().skip(1).all(|&(_, axis)| axis > 0);
        if !is_batch {
            return Err(self.unsupported(op, "these `dimension_numbers`"));
        }
        if shapes[0][0] > MAX_PIECES {
            return Err(self.unsupported(op, format!("a batch of {}", shapes[0][0])));
        }
        let inner = Numbers {
            lhs_contract: numbers.lhs_contract - 1,
            rhs_contract: numbers.rhs_contract - 1,
            order: numbers.order[1..].iter().map(|&(side, axis)| (side, axis - 1)).collect(),
            lhs_batch: Vec::new(),
            rhs_batch: Vec::new(),
        };
        let mut products = Vec::new();
        for batch in 0..shapes[0][0] {
            let mut sides = [lhs, rhs];
            for (side, shape) in sides.iter_mut().zip(&shapes) {
                let mut starts = Shape::from_elem(0, 3);
                starts[0] = batch;
                let sizes = Shape::from_slice(&[1, shape[1], shape[2]]);
                let strides = Shape::from_elem(1, 3);
                let slice = ir::Op::Shape(ShapeOp::Slice { starts, sizes, strides });
                let part = self.push(op, slice, &[*side])?;
                *side = self.reshape(op, part, &shape[1..])?;
            }
            let product = self.matrix_product(op, &inner, precision, sides)?;
            let mut shape = Shape::from_slice(&[1]);
            shape.extend_from_slice(self.builder.kernel().ty(product).shape());
            products.push(self.reshape(op, product, &shape)?);
        }
        match products[..] {
            [product] => Ok(product),
            _ => self.push(op, ir::Op::Shape(ShapeOp::Concat { axis: 0 }), &products),
        }
    }

    fn matrix_product(
        &mut self,
        op: &Op,
        numbers: &Numbers,
        precision: Precision,
        [lhs, rhs]: [ir::Value; 2],
    ) -> Outcome<ir::Value> {
        let (transpose_lhs, transpose_rhs) = match (numbers.lhs_contract, numbers.rhs_contract) {
            (lhs @ 0..=1, rhs @ 0..=1) => (lhs == 0, rhs == 1),
            _ => return Err(self.unsupported(op, "these `dimension_numbers`")),
        };
        let [lhs_free, rhs_free] = [1 - numbers.lhs_contract, 1 - numbers.rhs_contract];
        let dot = ir::Op::Dot(DotOp { transpose_lhs, transpose_rhs, precision });
        let value = self.push(op, dot, &[lhs, rhs])?;
        if numbers.order == [(0, lhs_free), (1, rhs_free)] {
            return Ok(value);
        }
        if numbers.order == [(1, rhs_free), (0, lhs_free)] {
            let transpose = ShapeOp::Transpose(Shape::from_slice(&[1, 0]));
            return self.push(op, ir::Op::Shape(transpose), &[value]);
        }
        Err(self.unsupported(op, "these `dimension_numbers`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_dimension_numbers() {
        let text = "#tpu.dot_dimension_numbers<[2], [1], [1], [2], [0, 0, 0, 1, 1, 2], [0], [0]>";
        let numbers = Numbers::parse(text).unwrap();
        assert_eq!((numbers.lhs_contract, numbers.rhs_contract), (2, 1));
        assert_eq!(numbers.order, [(0, 0), (0, 1), (1, 2)]);
        assert_eq!((numbers.lhs_batch, numbers.rhs_batch), (vec![0], vec![0]));
        assert_eq!(Numbers::parse("<[1], [0]>"), None);
        assert_eq!(Numbers::parse("<[1, 2], [0], [], [], [], [], []>"), None);
    }
}
