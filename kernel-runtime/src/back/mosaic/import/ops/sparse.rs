//! Ops of SparseCores. A kernel of a TensorCore has none of them.

use super::super::body::{Importer, Index, Outcome, Val};
use super::super::read::ast::{Op, ValueId};
use super::view::Part;
use crate::ir::ops::{
    Binary, Direction, Elementwise, Indirect, IndirectStart, Literal, ScanKind, ShapeOp, SparseOp,
};
use crate::ir::{self, DType, MemorySpace, Shape};
use std::ops::Range;

pub(super) fn import<'m>(
    importer: &mut Importer<'m>,
    name: &str,
    op: &'m Op,
) -> Option<Outcome<()>> {
    if !importer.is_sparse() {
        return None;
    }
    Some(match name {
        "tpu.enqueue_indirect_dma" => importer.start_indirect(op),
        "tpu.wait_indirect_dma" => importer.wait_indirect(op),
        "tpu.barrier" => importer.meet(op),
        "tpu.vector_load_idx" => importer.load_idx(op),
        "tpu.vector_store_idx" => importer.store_idx(op),
        "tpu.scan" => importer.scan(op),
        "tpu.sort" => importer.sort(op),
        "tpu.scan_count" => importer.scan_count(op),
        "tpu.all_reduce" => importer.reduce_mask(op),
        _ => return None,
    })
}

/// Both ends of an indirect copy, and its semaphore.
struct Moved {
    copy: Indirect,
    table: Part,
    rows: Part,
    semaphore: Part,
}

impl<'m> Importer<'m> {
    /// Whether the kernel runs on a SparseCore.
    pub(super) fn is_sparse(&self) -> bool {
        self.builder.kernel().core.is_sparse()
    }

    /// The only memory of one subcore alone is where the rows are; the other end is the table.
    fn moved(&mut self, op: &'m Op, ends: [ValueId; 2], semaphore: ValueId) -> Outcome<Moved> {
        let spaces = [self.memref(op, ends[0])?.2, self.memref(op, ends[1])?.2];
        let (direction, table, rows) = match spaces.map(|space| space == MemorySpace::Vmem) {
            [false, true] => (Direction::Gather, ends[0], ends[1]),
            [true, false] => (Direction::Scatter, ends[1], ends[0]),
            [true, true] | [false, false] => {
                let [from, to] = spaces;
                return Err(self.unsupported(op, format!("rows from {from} to {to}")));
            }
        };
        let (table, rows) = (self.whole(op, table)?, self.whole(op, rows)?);
        let semaphore = self.whole(op, semaphore)?;
        if table.lengths.iter().chain(&rows.lengths).any(Option::is_some) {
            return Err(self.unsupported(op, "a number of rows that is known at run time alone"));
        }
        let copy = Indirect {
            direction,
            table: table.access.clone(),
            rows: rows.access.clone(),
            semaphore: semaphore.access.clone(),
        };
        Ok(Moved { copy, table, rows, semaphore })
    }

    /// A copy of the rows that a list names; the list is memory or a register.
    fn start_indirect(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["add"])?;
        let (from, to, ids, semaphore, skip) = match op.operands[..] {
            [from, to, ids, semaphore] => (from, to, ids, semaphore, None),
            [from, to, ids, semaphore, skip] => (from, to, ids, semaphore, Some(skip)),
            _ => return Err(self.wrong("a copy of rows has four or five operands").into()),
        };
        let moved = self.moved(op, [from, to], semaphore)?;
        let is_memory = matches!(self.val(ids)?, Val::View(_));
        let (listed, tile) = match is_memory {
            true => (Some(self.whole(op, ids)?), None),
            false => (None, Some(self.value(ids)?)),
        };
        if listed.as_ref().is_some_and(|part| part.lengths.iter().any(Option::is_some)) {
            return Err(self.unsupported(op, "a number of ids that is known at run time alone"));
        }
        let start = IndirectStart {
            copy: moved.copy,
            ids: listed.as_ref().map(|part| part.access.clone()),
            add: self.flag(op, "add")?,
            skip: skip.is_some(),
        };
        let mut operands = vec![moved.table.base, moved.rows.base];
        operands.extend(listed.as_ref().map(|part| part.base));
        operands.push(moved.semaphore.base);
        operands.extend(moved.table.starts);
        operands.extend(moved.rows.starts);
        operands.extend(listed.into_iter().flat_map(|part| part.starts));
        operands.extend(moved.semaphore.starts);
        operands.extend(tile);
        if let Some(skip) = skip {
            operands.push(self.value(skip)?);
        }
        self.push_sparse(op, SparseOp::Start(Box::new(start)), &operands)
    }

    fn wait_indirect(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &[])?;
        let [semaphore, from, to] = op.operands[..] else {
            return Err(self.wrong("a wait for rows has three operands").into());
        };
        let moved = self.moved(op, [from, to], semaphore)?;
        let mut operands = vec![moved.table.base, moved.rows.base, moved.semaphore.base];
        operands.extend(moved.table.starts);
        operands.extend(moved.rows.starts);
        operands.extend(moved.semaphore.starts);
        self.push_sparse(op, SparseOp::Wait(Box::new(moved.copy)), &operands)
    }

    /// Adds an op without results.
    fn push_sparse(&mut self, op: &Op, what: SparseOp, operands: &[ir::Value]) -> Outcome<()> {
        self.push_all(op, ir::Op::Sparse(what), operands, &[])?;
        self.results(op, &[])
    }

    /// The barrier of all subcores of a core, of which the IR has one.
    fn meet(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &[])?;
        let number = self.operand(op, 0)?;
        match self.literal(number).and_then(Literal::as_int) {
            Some(0) => self.push_sparse(op, SparseOp::Barrier, &[]),
            Some(number) => Err(self.unsupported(op, format!("barrier {number}, other than 0"))),
            None => Err(self.unsupported(op, "a barrier that is known at run time alone")),
        }
    }

    /// The reference behind a view, and the tiles of indices of its elements; then the mask, unless
    /// it is true everywhere.
    fn indexed(
        &mut self,
        op: &'m Op,
        base: ValueId,
        [indices, mask]: [Range<usize>; 2],
    ) -> Outcome<(Vec<ir::Value>, bool)> {
        let view = self.view(base)?;
        if !view.layers.is_empty() || view.dims.iter().any(|dim| dim.length.is_some()) {
            let why =
                "a reference seen under another shape or type, or of a size known at run time";
            return Err(self.unsupported(op, why));
        }
        let mut given = Vec::new();
        for &index in &op.operands[indices] {
            given.push(self.value(index)?);
        }
        let n_kept = view.dims.iter().filter(|dim| dim.is_kept).count();
        let Some(&first) = given.first().filter(|_| given.len() == n_kept) else {
            let message = format!("{} indices of a reference of {n_kept} axes", given.len());
            return Err(self.wrong(message).into());
        };
        let shape = Shape::from_slice(self.builder.kernel().ty(first).shape());
        let mut given = given.into_iter();
        let mut operands = vec![view.base];
        for dim in &view.dims {
            let start = match &dim.start {
                Index::Static(0) => None,
                start => Some(self.everywhere(op, start, &shape)?),
            };
            let index = if dim.is_kept { given.next() } else { None };
            operands.push(match (start, index) {
                (Some(start), Some(index)) => {
                    let add = ir::Op::Elementwise(Elementwise::Binary(Binary::Add));
                    self.push(op, add, &[start, index])?
                }
                (Some(only), None) | (None, Some(only)) => only,
                (None, None) => self.everywhere(op, &Index::Static(0), &shape)?,
            });
        }
        let mask = match op.operands.get(mask) {
            Some(&[mask]) => self.mask(mask)?,
            _ => None,
        };
        operands.extend(mask);
        Ok((operands, mask.is_some()))
    }

    /// A place in every element of a tile.
    fn everywhere(&mut self, op: &Op, index: &Index, shape: &[usize]) -> Outcome<ir::Value> {
        let shape = Shape::from_slice(shape);
        match *index {
            Index::Static(start) if i32::try_from(start).is_ok() => {
                self.constant(Literal::int(DType::I32, start), Some(shape))
            }
            Index::Static(start) => Err(self.unsupported(op, format!("a start of {start}"))),
            Index::Dynamic { value, .. } => {
                self.push(op, ir::Op::Shape(ShapeOp::Splat(shape)), &[value])
            }
        }
    }

    /// A mask; `None` if it is true everywhere.
    fn mask(&mut self, mask: ValueId) -> Outcome<Option<ir::Value>> {
        match self.literal(mask) {
            Some(literal) if literal.dtype() == DType::Bool && literal.as_int() == Some(1) => {
                Ok(None)
            }
            _ => Ok(Some(self.value(mask)?)),
        }
    }

    fn load_idx(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["operandSegmentSizes"])?;
        let segments = self.segments(op, 3)?;
        let base = self.operand(op, segments[0].start)?;
        let (operands, masked) =
            self.indexed(op, base, [segments[1].clone(), segments[2].clone()])?;
        let load = ir::Op::Sparse(SparseOp::LoadIdx { masked });
        let value = self.push(op, load, &operands)?;
        self.result(op, value)
    }

    fn store_idx(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["operandSegmentSizes", "add"])?;
        let segments = self.segments(op, 4)?;
        let stored = self.operand(op, segments[0].start)?;
        let stored = self.value(stored)?;
        let base = self.operand(op, segments[1].start)?;
        let (mut operands, masked) =
            self.indexed(op, base, [segments[2].clone(), segments[3].clone()])?;
        operands.insert(1, stored);
        let add = self.flag(op, "add")?;
        self.push_sparse(op, SparseOp::StoreIdx { add, masked }, &operands)
    }

    /// An operand whose integers are compared: the chip compares them without a sign.
    fn compared(&mut self, op: &Op, value: ValueId) -> Outcome<ir::Value> {
        let value = self.value(value)?;
        self.as_unsigned(op, value)
    }

    /// The mask of an op on registers, its operand number `idx`, which may be missing.
    fn register_mask(&mut self, op: &Op, idx: usize) -> Outcome<Option<ir::Value>> {
        match op.operands.get(idx) {
            Some(&mask) => self.mask(mask),
            None => Ok(None),
        }
    }

    fn scan(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["kind"])?;
        let kind = match self.keyword(op, "kind")? {
            "sum" => ScanKind::Sum,
            "max" => ScanKind::Max,
            "min" => ScanKind::Min,
            other => return Err(self.unsupported(op, format!("the combination `{other}`"))),
        };
        let source = self.operand(op, 0)?;
        let dtype = self.operand_ty(op, 0)?.dtype();
        let x = match kind {
            ScanKind::Sum => self.value(source)?,
            ScanKind::Max | ScanKind::Min => self.compared(op, source)?,
        };
        let mask = self.register_mask(op, 1)?;
        let mut operands = vec![x];
        operands.extend(mask);
        let scan = ir::Op::Sparse(SparseOp::Scan { kind, masked: mask.is_some() });
        let value = self.push(op, scan, &operands)?;
        let value = self.bitcast(op, value, dtype)?;
        self.result(op, value)
    }

    /// Results: where there is an element, the keys, the values.
    fn sort(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["descending"])?;
        let [keys, values] = [self.operand(op, 0)?, self.operand(op, 1)?];
        let (key_ty, values) = (self.operand_ty(op, 0)?, self.value(values)?);
        let keys = self.compared(op, keys)?;
        let mask = self.register_mask(op, 2)?;
        let mut operands = vec![keys, values];
        operands.extend(mask);
        let descending = self.flag(op, "descending")?;
        let sort = ir::Op::Sparse(SparseOp::Sort { descending, masked: mask.is_some() });
        let sorted = self.push_all(op, sort, &operands, &[])?;
        let keys = self.bitcast(op, sorted[0], key_ty.dtype())?;
        let kept = match sorted.get(2) {
            Some(&kept) => kept,
            None => self.like(&key_ty.with_dtype(DType::Bool), 1.0)?,
        };
        self.results(op, &[kept, keys, sorted[1]])
    }

    /// Results: whether an element is the last of its value, the how-manieth it is.
    fn scan_count(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &[])?;
        let [mask, x] = [self.operand(op, 0)?, self.operand(op, 1)?];
        let mask = self.mask(mask)?;
        let mut operands = vec![self.value(x)?];
        operands.extend(mask);
        let count = ir::Op::Sparse(SparseOp::ScanCount { masked: mask.is_some() });
        let counted = self.push_all(op, count, &operands, &[])?;
        self.results(op, &[counted[1], counted[0]])
    }

    fn reduce_mask(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["dim", "kind"])?;
        let what = match self.keyword(op, "kind")? {
            "sum" => SparseOp::MaskCount,
            "find_first_set" => SparseOp::MaskFirst,
            other => return Err(self.unsupported(op, format!("the combination `{other}`"))),
        };
        if self.int_attr(op, "dim")? != 0 {
            return Err(self.unsupported(op, "an axis other than the first"));
        }
        let mask = self.operand(op, 0)?;
        let mask = self.value(mask)?;
        let value = self.push(op, ir::Op::Sparse(what), &[mask])?;
        self.result(op, value)
    }
}
