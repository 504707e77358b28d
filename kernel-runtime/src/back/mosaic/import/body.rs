//! What every op's import stands on: values, types, places and errors.

use super::header::{memory_space, short_name, type_text};
use super::read::ast::{self, Attr, Module, Op, Place, Ty, Type, ValueId, find};
use super::{Call, array, line_and_column, ops};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::ops::{Literal, ShapeOp};
use crate::ir::{self, Builder, DType, Loc, LocId, MemorySpace, Shape};
use smallvec::SmallVec;
use std::rc::Rc;
use std::sync::Arc;

/// So many different errors are told; more say nothing new.
const MAX_ERRORS: usize = 32;
/// Calls that a place was inlined through, at most.
const MAX_CALLERS: usize = 16;
/// One op may become so many of the IR's.
pub(super) const MAX_PIECES: usize = 1 << 10;
/// So many ops are imported; a loop's condition counts twice, and so on with each loop in it.
const MAX_OPS: usize = 1 << 20;
/// No tile has more elements: the validator's limit, which also keeps sizes countable.
const MAX_ELEMS: i64 = 1 << 31;

/// What a value of the module became.
#[derive(Clone, Debug)]
pub(super) enum Val {
    /// A tile or scalar, known to be a multiple of a number if it is an integer scalar.
    Ir { value: ir::Value, multiple: usize },
    /// A constant, everywhere on a tile of this shape if there is one; made where it is used.
    Literal { literal: Literal, shape: Option<Shape> },
    /// A part of a reference.
    View(Rc<View>),
    /// Nothing, since its op was refused.
    Refused,
}

/// A rectangular part of a reference, maybe under another shape or element type.
#[derive(Clone, Debug)]
pub(super) struct View {
    /// The IR's reference.
    pub(super) base: ir::Value,
    /// Per axis of the reference.
    pub(super) dims: Vec<ViewDim>,
    /// What the part is seen as, the last one outermost.
    pub(super) layers: Vec<Layer>,
}

/// How the elements of a view are seen.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub(super) dtype: DType,
    pub(super) shape: Shape,
}

/// What a view has of an axis.
#[derive(Clone, Debug)]
pub(super) struct ViewDim {
    /// The first element.
    pub(super) start: Index,
    /// The number of elements, or the most if it is known at run time alone.
    pub(super) size: usize,
    /// That number, if it is known at run time alone.
    pub(super) length: Option<Index>,
    /// Whether the view has the axis: squeezed ones it has not.
    pub(super) is_kept: bool,
}

/// A place along an axis.
#[derive(Clone, Debug)]
pub(super) enum Index {
    Static(i64),
    Dynamic { value: ir::Value, multiple: usize },
}

/// Why an op is not imported.
pub(super) enum Refusal {
    /// It is the op's own fault.
    Because(Diagnostic),
    /// An operand was refused before.
    Operand,
}

impl From<Diagnostic> for Refusal {
    fn from(diagnostic: Diagnostic) -> Refusal {
        Refusal::Because(diagnostic)
    }
}

/// What importing an op gives.
pub(super) type Outcome<T> = Result<T, Refusal>;

/// Imports the ops of one module.
pub(super) struct Importer<'m> {
    pub(super) call: &'m Call,
    pub(super) module: &'m Module,
    pub(super) builder: Builder,
    /// Where the op at hand was written.
    pub(super) loc: LocId,
    values: Vec<Option<Val>>,
    /// The semaphore for other devices, which a kernel has once.
    pub(super) barrier: Option<ir::Value>,
    n_ops: usize,
    /// Errors, and how often each op met them.
    errors: Vec<(Diagnostic, usize)>,
}

impl<'m> Importer<'m> {
    pub(super) fn new(call: &'m Call, module: &'m Module, name: &str) -> Importer<'m> {
        Importer {
            call,
            module,
            builder: Builder::new(name),
            loc: LocId::UNKNOWN,
            values: vec![None; module.types.len()],
            barrier: None,
            n_ops: 0,
            errors: Vec::new(),
        }
    }

    /// Goes to an op: what follows was written there.
    pub(super) fn enter(&mut self, op: &Op) {
        let mut chain: Vec<(Arc<str>, u32, u32)> = Vec::new();
        self.chain(&op.place, &mut chain);
        let mut loc = None;
        for (file, line, column) in chain.into_iter().rev() {
            loc = Some(self.builder.loc(Loc { file, line, column, inlined_at: loc }));
        }
        self.loc = loc.unwrap_or(LocId::UNKNOWN);
    }

    /// The files of a place, the innermost first.
    fn chain(&self, place: &Place, chain: &mut Vec<(Arc<str>, u32, u32)>) {
        if chain.len() >= MAX_CALLERS {
            return;
        }
        match place {
            Place::Unknown => {}
            Place::Offset(at) => {
                let (line, column) = line_and_column(&self.call.module, *at);
                chain.push((self.call.file.clone(), line, column));
            }
            Place::File(file, line, column) => {
                chain.push((Arc::from(&**file), *line, *column));
            }
            Place::Name(_, inner) => self.chain(inner, chain),
            Place::Call(callee, caller) => {
                self.chain(callee, chain);
                self.chain(caller, chain);
            }
            Place::Fused(places) => {
                let n = chain.len();
                for place in places.iter().take(MAX_CALLERS) {
                    if chain.len() == n {
                        self.chain(place, chain);
                    }
                }
            }
        }
    }

    /// Imports the kernel's body.
    pub(super) fn body(&mut self, ops: &'m [Op]) {
        self.ops(ops);
    }

    /// Imports ops in order, up to the terminator, which it gives.
    pub(super) fn ops(&mut self, ops: &'m [Op]) -> Option<&'m Op> {
        for op in ops {
            self.enter(op);
            if ops::is_terminator(op) {
                return Some(op);
            }
            self.n_ops += 1;
            let outcome = if self.n_ops > MAX_OPS {
                Err(self.wrong(format!("the kernel has more than {MAX_OPS} ops")).into())
            } else {
                ops::import(self, op)
            };
            if let Err(refusal) = outcome {
                if let Refusal::Because(error) = refusal {
                    self.report(error);
                }
                for &result in &op.results {
                    self.values[result as usize] = Some(Val::Refused);
                }
            }
        }
        None
    }

    /// Imports ops that must all be there, up to a terminator; gives its operands.
    pub(super) fn straight_line(
        &mut self,
        ops: &'m [Op],
        terminator: &str,
    ) -> Result<Vec<ir::Value>, Diagnostic> {
        let n_errors = self.errors.len();
        let end = self.ops(ops);
        if let Some((error, _)) = self.errors.get(n_errors) {
            let error = error.clone();
            self.errors.truncate(n_errors);
            return Err(error);
        }
        match end {
            Some(end) if short_name(end) == terminator => {
                let values: Outcome<Vec<ir::Value>> =
                    end.operands.iter().map(|&operand| self.value(operand)).collect();
                values.map_err(|refusal| self.diagnostic(refusal))
            }
            _ => Err(self.wrong(format!("a function does not end in `{terminator}`"))),
        }
    }

    fn diagnostic(&self, refusal: Refusal) -> Diagnostic {
        match refusal {
            Refusal::Because(diagnostic) => diagnostic,
            Refusal::Operand => self.wrong("an operand was refused"),
        }
    }

    fn report(&mut self, error: Diagnostic) {
        match self.errors.iter().position(|(known, _)| known.message == error.message) {
            Some(idx) => self.errors[idx].1 += 1,
            None if self.errors.len() < MAX_ERRORS => self.errors.push((error, 1)),
            None => {}
        }
    }

    /// Everything that was refused.
    pub(super) fn finish_errors(&mut self) -> Diagnostics {
        let errors = std::mem::take(&mut self.errors).into_iter();
        let told = errors.map(|(error, n)| match n {
            1 => error,
            _ => error.note(format!("{n} ops of the kernel say the same")),
        });
        Diagnostics(told.collect())
    }

    /// An error of the module, at the op at hand.
    pub(super) fn wrong(&self, message: impl Into<String>) -> Diagnostic {
        self.located(Diagnostic::error(Code::IMPORT_MODULE, message))
    }

    /// What the IR cannot say, at the op at hand.
    pub(super) fn unsupported(&self, op: &Op, why: impl Into<String>) -> Refusal {
        let message = format!("`{}`: {}", short_name(op), why.into());
        Refusal::Because(self.located(Diagnostic::error(Code::IMPORT_UNSUPPORTED, message)))
    }

    fn located(&self, diagnostic: Diagnostic) -> Diagnostic {
        let kernel = self.builder.kernel();
        let mut diagnostic = diagnostic.at_opt(kernel.span(self.loc), "");
        for caller in kernel.callers(self.loc) {
            diagnostic = diagnostic.at_opt(kernel.span(caller), "called here");
        }
        if diagnostic.labels.is_empty() {
            diagnostic = diagnostic.note(format!("in kernel `{}`", kernel.name));
        }
        diagnostic
    }

    /// Says what a value of the module became.
    pub(super) fn bind(&mut self, value: ValueId, val: Val) {
        self.values[value as usize] = Some(val);
    }

    /// Binds a whole reference.
    pub(super) fn bind_ref(&mut self, value: ValueId, base: ir::Value) {
        let shape = self.builder.kernel().ty(base).shape();
        let dim =
            |&size: &usize| ViewDim { start: Index::Static(0), size, length: None, is_kept: true };
        let view = View { base, dims: shape.iter().map(dim).collect(), layers: Vec::new() };
        self.bind(value, Val::View(Rc::new(view)));
    }

    /// Checks that a value is an integer of 32 bits or an index.
    pub(super) fn expect_index(&self, value: ValueId) -> Result<(), Diagnostic> {
        match &**self.module.ty(value) {
            Type::Index | Type::Int { width: 32, .. } => Ok(()),
            other => Err(self.wrong(format!("an index is `{}`, no i32", type_text(other)))),
        }
    }

    /// Checks that a reference has the type of another.
    pub(super) fn expect_memref(&self, value: ValueId, other: ValueId) -> Result<(), Diagnostic> {
        if self.module.ty(value) == self.module.ty(other) {
            return Ok(());
        }
        Err(self.wrong("an index map takes other tables than the kernel"))
    }

    /// Operand number `idx`.
    pub(super) fn operand(&self, op: &Op, idx: usize) -> Outcome<ValueId> {
        op.operands
            .get(idx)
            .copied()
            .ok_or_else(|| self.wrong(format!("`{}` has no operand {idx}", short_name(op))).into())
    }

    /// The values of all operands.
    pub(super) fn operand_values(&mut self, op: &Op) -> Outcome<Vec<ir::Value>> {
        op.operands.iter().map(|&operand| self.value(operand)).collect()
    }

    /// What an operand became.
    pub(super) fn val(&self, value: ValueId) -> Outcome<&Val> {
        match &self.values[value as usize] {
            Some(Val::Refused) => Err(Refusal::Operand),
            Some(val) => Ok(val),
            None => Err(self.wrong("an op uses a value that is not defined before it").into()),
        }
    }

    /// The tile or scalar that an operand became.
    pub(super) fn value(&mut self, value: ValueId) -> Outcome<ir::Value> {
        let (literal, shape) = match self.val(value)? {
            Val::Ir { value, .. } => return Ok(*value),
            Val::Literal { literal, shape } => (*literal, shape.clone()),
            Val::View(_) | Val::Refused => {
                return Err(self.wrong("an op takes a reference in place of a value").into());
            }
        };
        self.constant(literal, shape)
    }

    /// The constant that an operand is.
    pub(super) fn literal(&self, value: ValueId) -> Option<Literal> {
        match self.values.get(value as usize)? {
            Some(Val::Literal { literal, .. }) => Some(*literal),
            _ => None,
        }
    }

    /// The part of a reference that an operand is.
    pub(super) fn view(&self, value: ValueId) -> Outcome<Rc<View>> {
        match self.val(value)? {
            Val::View(view) => Ok(Rc::clone(view)),
            Val::Ir { .. } | Val::Literal { .. } | Val::Refused => {
                Err(self.wrong("an op takes a value in place of a reference").into())
            }
        }
    }

    /// The place along an axis that an operand is.
    pub(super) fn index(&mut self, value: ValueId) -> Outcome<Index> {
        self.expect_index(value)?;
        if let Some(literal) = self.literal(value) {
            return Ok(Index::Static(literal.as_int().unwrap_or(0)));
        }
        let multiple = match self.val(value)? {
            Val::Ir { multiple, .. } => *multiple,
            Val::Literal { .. } | Val::View(_) | Val::Refused => 1,
        };
        Ok(Index::Dynamic { value: self.value(value)?, multiple })
    }

    /// The IR's type of a value of the module that is no reference.
    pub(super) fn ty(&self, op: &Op, ty: &Type) -> Outcome<ir::Type> {
        let refuse =
            |ty: &Type| self.unsupported(op, format!("values of type `{}`", type_text(ty)));
        match ty {
            Type::Vector { shape, elem } => {
                let dtype = array::dtype_of(elem).ok_or_else(|| refuse(ty))?;
                let n = shape.iter().try_fold(1i64, |n, &size| n.checked_mul(size));
                if n.is_none_or(|n| !(1..=MAX_ELEMS).contains(&n)) || shape.is_empty() {
                    return Err(refuse(ty));
                }
                let shape = shape.iter().map(|&size| size as usize).collect();
                Ok(ir::Type::Tile { dtype, shape })
            }
            _ => Ok(ir::Type::Scalar(array::dtype_of(ty).ok_or_else(|| refuse(ty))?)),
        }
    }

    /// The IR's type of an operand.
    pub(super) fn operand_ty(&self, op: &Op, idx: usize) -> Outcome<ir::Type> {
        self.ty(op, self.module.ty(self.operand(op, idx)?))
    }

    /// The IR's type of the op's only result.
    pub(super) fn result_ty(&self, op: &Op) -> Outcome<ir::Type> {
        match op.results[..] {
            [result] => self.ty(op, self.module.ty(result)),
            _ => Err(self
                .wrong(format!("`{}` has {} results", short_name(op), op.results.len()))
                .into()),
        }
    }

    /// Adds an op of one result.
    pub(super) fn push(
        &mut self,
        op: &Op,
        what: ir::Op,
        operands: &[ir::Value],
    ) -> Outcome<ir::Value> {
        let results = self.push_all(op, what, operands, &[])?;
        results.first().copied().ok_or_else(|| self.wrong("an op gives nothing").into())
    }

    /// Adds an op.
    pub(super) fn push_all(
        &mut self,
        op: &Op,
        what: ir::Op,
        operands: &[ir::Value],
        regions: &[ir::BlockId],
    ) -> Outcome<SmallVec<[ir::Value; 2]>> {
        let pushed = self.builder.push_with_regions(what, operands, regions, self.loc);
        pushed.map_err(|error| self.unsupported(op, error.message))
    }

    /// A constant, on a tile if a shape is given.
    pub(super) fn constant(
        &mut self,
        literal: Literal,
        shape: Option<Shape>,
    ) -> Outcome<ir::Value> {
        let scalar = self.builder.constant(literal, self.loc);
        let Some(shape) = shape else { return Ok(scalar) };
        let splat = ir::Op::Shape(ShapeOp::Splat(shape));
        match self.builder.push(splat, &[scalar], self.loc) {
            Ok(values) => Ok(values[0]),
            Err(error) => Err(Refusal::Because(error)),
        }
    }

    /// A constant of a number, of the type and form of another value.
    pub(super) fn like(&mut self, ty: &ir::Type, number: f64) -> Outcome<ir::Value> {
        let shape = ty.is_tile().then(|| Shape::from_slice(ty.shape()));
        self.constant(Literal::from_f64(ty.dtype(), number), shape)
    }

    /// Binds the op's only result, whose type must be what the module says.
    pub(super) fn result(&mut self, op: &Op, value: ir::Value) -> Outcome<()> {
        self.results(op, &[value])
    }

    /// Binds the op's results, whose types must be what the module says.
    pub(super) fn results(&mut self, op: &Op, values: &[ir::Value]) -> Outcome<()> {
        if values.len() != op.results.len() {
            let message = format!(
                "`{}` has {} results, not {}",
                short_name(op),
                op.results.len(),
                values.len()
            );
            return Err(self.wrong(message).into());
        }
        for (&result, &value) in op.results.iter().zip(values) {
            let stated = self.ty(op, self.module.ty(result))?;
            let found = self.builder.kernel().ty(value);
            if *found != stated {
                let message = format!("`{}` gives {found}, not {stated}", short_name(op));
                return Err(self.wrong(message).into());
            }
        }
        for (&result, &value) in op.results.iter().zip(values) {
            self.bind(result, Val::Ir { value, multiple: 1 });
        }
        Ok(())
    }

    /// Refuses attributes that the import of an op does not look at.
    pub(super) fn only(&self, op: &Op, known: &[&str]) -> Outcome<()> {
        match op.attrs.iter().find(|(name, _)| !known.contains(&&**name)) {
            None => Ok(()),
            Some((name, _)) => Err(self.unsupported(op, format!("attribute `{name}`"))),
        }
    }

    /// An integer attribute.
    pub(super) fn int_attr(&self, op: &Op, name: &str) -> Outcome<i64> {
        match find(&op.attrs, name) {
            Some(Attr::Int(value, _)) => Ok(*value),
            _ => Err(self.wrong(format!("`{}` has no number `{name}`", short_name(op))).into()),
        }
    }

    /// A truth value; false if it is not there.
    pub(super) fn flag(&self, op: &Op, name: &str) -> Outcome<bool> {
        match find(&op.attrs, name) {
            None => Ok(false),
            Some(Attr::Int(value, _)) => Ok(*value != 0),
            Some(Attr::Unit) => Ok(true),
            Some(_) => {
                Err(self.wrong(format!("`{name}` of `{}` is no flag", short_name(op))).into())
            }
        }
    }

    /// A list of sizes or axes.
    pub(super) fn sizes(&self, op: &Op, name: &str) -> Outcome<Shape> {
        let ints = self.ints(op, name)?;
        let sizes: Result<Shape, _> = ints.iter().map(|&size| usize::try_from(size)).collect();
        sizes.map_err(|_| {
            self.wrong(format!("`{name}` of `{}` has a negative number", short_name(op))).into()
        })
    }

    /// A list of integers, as an array of either kind.
    pub(super) fn ints(&self, op: &Op, name: &str) -> Outcome<Vec<i64>> {
        let int = |attr: &Attr| match attr {
            Attr::Int(value, _) => Some(*value),
            _ => None,
        };
        let ints = match find(&op.attrs, name) {
            Some(Attr::Ints(ints)) => Some(ints.to_vec()),
            Some(Attr::Array(list)) => list.iter().map(int).collect(),
            _ => None,
        };
        ints.ok_or_else(|| self.wrong(format!("`{}` has no list `{name}`", short_name(op))).into())
    }

    /// The text of an attribute of a dialect, between its brackets: `add` of `#vector.kind<add>`.
    pub(super) fn keyword<'a>(&self, op: &'a Op, name: &str) -> Outcome<&'a str> {
        let inner = match find(&op.attrs, name) {
            Some(Attr::Other(text)) => text.split_once('<').map(|(_, rest)| rest),
            _ => None,
        };
        inner.and_then(|text| text.strip_suffix('>')).ok_or_else(|| {
            self.wrong(format!("`{}` has no `{name}` that can be read", short_name(op))).into()
        })
    }

    /// The number of operands of each kind, for ops that have lists of them.
    pub(super) fn segments(&self, op: &Op, n: usize) -> Outcome<Vec<std::ops::Range<usize>>> {
        let sizes = self.sizes(op, "operandSegmentSizes")?;
        let mut ranges = Vec::new();
        let mut start = 0usize;
        for &size in &sizes {
            let end = start.saturating_add(size);
            ranges.push(start..end);
            start = end;
        }
        if start != op.operands.len() || ranges.len() != n {
            let message = format!("`operandSegmentSizes` of `{}` do not fit it", short_name(op));
            return Err(self.wrong(message).into());
        }
        Ok(ranges)
    }

    /// Whether two types of the module are the same.
    pub(super) fn same_type(&self, a: ValueId, b: ValueId) -> bool {
        let (a, b): (&Ty, &Ty) = (self.module.ty(a), self.module.ty(b));
        a == b
    }

    /// The memory of a memref type: element type, sizes and space.
    pub(super) fn memref(&self, op: &Op, value: ValueId) -> Outcome<(DType, Shape, MemorySpace)> {
        let ty = self.module.ty(value);
        let Type::MemRef { shape, elem, space, .. } = &**ty else {
            return Err(self.wrong(format!("`{}` takes no reference", short_name(op))).into());
        };
        let space = memory_space(space.as_ref())?;
        let dtype = array::dtype_of(elem);
        let sizes: Result<Shape, _> = shape.iter().map(|&size| usize::try_from(size)).collect();
        match (dtype, sizes) {
            (Some(dtype), Ok(shape)) => Ok((array::signed(dtype), shape, space)),
            _ => Err(self.unsupported(op, format!("references of type `{}`", type_text(ty)))),
        }
    }

    /// A type attribute or value type for a message.
    pub(super) fn text_of(&self, value: ValueId) -> String {
        type_text(self.module.ty(value))
    }
}

/// The elements of an attribute as one constant.
pub(super) fn literal_of(attr: &Attr) -> Option<(Literal, Option<&[i64]>)> {
    let scalar = |bits: u64, ty: &Type| {
        let dtype = array::dtype_of(ty)?;
        Some(match dtype {
            DType::F32 => Literal::float(dtype, f32::from_bits(bits as u32)),
            DType::BF16 => Literal::float(dtype, half::bf16::from_bits(bits as u16).to_f32()),
            DType::F16 => Literal::float(dtype, half::f16::from_bits(bits as u16).to_f32()),
            // No op takes a constant of these.
            DType::F8E4M3FN | DType::F8E5M2 | DType::I4 => return None,
            _ => Literal::int(dtype, bits as i64),
        })
    };
    match attr {
        Attr::Int(value, ty) => {
            // An index beyond 32 bits would not be the same number here.
            let fits = **ty != Type::Index || i32::try_from(*value).is_ok();
            if fits { Some((scalar(*value as u64, ty)?, None)) } else { None }
        }
        Attr::Float(bits, ty) => Some((scalar(*bits, ty)?, None)),
        Attr::Dense(ty, dense) => {
            let (shape, elem) = ty.shaped()?;
            let bits = match &**dense {
                ast::Dense::Splat(bits) => *bits,
                ast::Dense::Each(all) => {
                    let (&first, rest) = all.split_first()?;
                    if rest.iter().any(|&bits| bits != first) {
                        return None;
                    }
                    first
                }
            };
            Some((scalar(bits, elem)?, Some(shape)))
        }
        _ => None,
    }
}
