//! What every op's lowering stands on: values, constants, locations and small emitters.

use super::Options;
use crate::back::mlir::{Attr, Block, Elem, Location, OpSpec, Operation, Session, Type, Value};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::ops::Literal;
use crate::ir::{self, BlockId, DType, Kernel, LocId, MemorySpace, OpId, Shape};
use crate::target::Chip;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::rc::Rc;

/// Whether a value is a scalar or a tile, and of which shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Form(pub(super) Option<Shape>);

impl Form {
    pub(super) const SCALAR: Form = Form(None);

    pub(super) fn tile(shape: &[usize]) -> Form {
        Form(Some(Shape::from_slice(shape)))
    }

    pub(super) fn is_tile(&self) -> bool {
        self.0.is_some()
    }
}

/// What an IR value became.
#[derive(Clone)]
enum Lowered<'s> {
    /// Nothing yet.
    Unset,
    /// A constant, made where it is used: a splat of it needs no scalar.
    Literal(Literal),
    Value(Value<'s>),
    Ref(Rc<Reference<'s>>),
}

/// The memory behind an IR reference.
pub(super) struct Reference<'s> {
    /// One memref, or several that follow each other along `stream_axis`.
    pub(super) parts: Vec<Value<'s>>,
    /// Sizes of one part, squeezed axes included.
    pub(super) part_shape: Shape,
    /// Per axis of a part: whether the IR reference has it.
    pub(super) kept: SmallVec<[bool; 4]>,
    /// Along which axis parts follow each other; 0 if there is one.
    pub(super) stream_axis: usize,
    pub(super) dtype: DType,
}

impl<'s> Reference<'s> {
    /// All of a memref.
    pub(super) fn whole(memref: Value<'s>, shape: Shape, dtype: DType) -> Reference<'s> {
        let kept = shape.iter().map(|_| true).collect();
        Reference { parts: vec![memref], part_shape: shape, kept, stream_axis: 0, dtype }
    }
}

/// Where constants of the function at hand go, each once: the start of its entry block.
struct Constants<'s> {
    entry: Block<'s>,
    last: Option<Operation<'s>>,
    known: HashMap<(Form, ConstElem, u64), Value<'s>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum ConstElem {
    Elem(Elem),
    Index,
}

/// Lowers the ops of one kernel.
pub(super) struct Lowerer<'a, 's> {
    pub(super) kernel: &'a Kernel,
    pub(super) chip: Chip,
    pub(super) target_name: &'static str,
    pub(super) options: Options,
    pub(super) session: &'s Session,
    pub(super) errors: Diagnostics,
    block: Block<'s>,
    constants: Constants<'s>,
    values: Vec<Lowered<'s>>,
    locations: Vec<Option<Location<'s>>>,
    loc: LocId,
}

/// What lowering an op gives: its results, or why the target cannot do it.
pub(super) type Lowering<'s> = Result<SmallVec<[Value<'s>; 2]>, Diagnostic>;

impl<'a, 's> Lowerer<'a, 's> {
    pub(super) fn new(
        session: &'s Session,
        kernel: &'a Kernel,
        chip: Chip,
        target_name: &'static str,
        options: Options,
        entry: Block<'s>,
    ) -> Lowerer<'a, 's> {
        Lowerer {
            kernel,
            chip,
            target_name,
            options,
            session,
            errors: Diagnostics::default(),
            block: entry,
            constants: Constants { entry, last: None, known: HashMap::new() },
            values: vec![Lowered::Unset; kernel.n_values()],
            locations: vec![None; kernel.locs.len()],
            loc: LocId::UNKNOWN,
        }
    }

    /// Starts another function.
    pub(super) fn enter(&mut self, entry: Block<'s>) {
        self.block = entry;
        self.constants = Constants { entry, last: None, known: HashMap::new() };
    }

    /// Sends ops to another block; gives the one before.
    pub(super) fn set_block(&mut self, block: Block<'s>) -> Block<'s> {
        std::mem::replace(&mut self.block, block)
    }

    /// Sets where the ops to come were written.
    pub(super) fn set_loc(&mut self, loc: LocId) {
        self.loc = loc;
    }

    pub(super) fn bind(&mut self, ir: ir::Value, value: Value<'s>) {
        self.values[ir.0 as usize] = Lowered::Value(value);
    }

    pub(super) fn bind_literal(&mut self, ir: ir::Value, literal: Literal) {
        self.values[ir.0 as usize] = Lowered::Literal(literal);
    }

    pub(super) fn bind_ref(&mut self, ir: ir::Value, reference: Reference<'s>) {
        self.values[ir.0 as usize] = Lowered::Ref(Rc::new(reference));
    }

    /// The constant behind a value, seen through `splat` and `broadcast`.
    pub(super) fn literal(&self, value: ir::Value) -> Option<Literal> {
        if let Lowered::Literal(literal) = self.values[value.0 as usize] {
            return Some(literal);
        }
        let def = self.kernel.defining_op(value)?;
        match def.op {
            ir::Op::Shape(ir::ops::ShapeOp::Splat(_) | ir::ops::ShapeOp::Broadcast(_)) => {
                self.literal(*def.operands.first()?)
            }
            _ => None,
        }
    }

    /// The memory behind a reference.
    pub(super) fn reference(&self, value: ir::Value) -> Result<Rc<Reference<'s>>, Diagnostic> {
        match &self.values[value.0 as usize] {
            Lowered::Ref(reference) => Ok(Rc::clone(reference)),
            Lowered::Unset | Lowered::Literal(_) | Lowered::Value(_) => {
                Err(self.internal("a reference has no memory"))
            }
        }
    }

    /// The value an operand became, in its own type (see [`Lowerer::storage`]).
    pub(super) fn value(&mut self, value: ir::Value) -> Result<Value<'s>, Diagnostic> {
        match &self.values[value.0 as usize] {
            Lowered::Value(value) => Ok(*value),
            Lowered::Literal(literal) => {
                let literal = *literal;
                Ok(self.constant(&Form::SCALAR, literal))
            }
            Lowered::Unset | Lowered::Ref(_) => Err(self.internal("an operand has no value")),
        }
    }

    /// An operand in the 32 bits in which it is computed.
    pub(super) fn wide_value(&mut self, value: ir::Value) -> Result<Value<'s>, Diagnostic> {
        let (dtype, form) = (self.dtype(value), self.form(value));
        if let Some(literal) = self.literal(value).filter(|_| dtype != DType::Bool) {
            let elem = Self::compute(dtype);
            return Ok(match literal.as_f32() {
                Some(float) => self.float_constant(&form, elem, float),
                None => self.int_constant(&form, elem, literal.as_int().unwrap_or(0)),
            });
        }
        let narrow = self.value(value)?;
        Ok(self.widen(narrow, dtype, &form))
    }

    pub(super) fn dtype(&self, value: ir::Value) -> DType {
        self.kernel.ty(value).dtype()
    }

    /// Whether the kernel runs on a SparseCore.
    pub(super) fn is_sparse(&self) -> bool {
        self.kernel.core.is_sparse()
    }

    /// Whether a value of a type is kept as a scalar or as a vector. SparseCores have no vectors
    /// of one element.
    pub(super) fn form_of(&self, ty: &ir::Type) -> Form {
        match ty {
            ir::Type::Tile { shape, .. } if self.is_sparse() && shape[..] == [1] => Form::SCALAR,
            ir::Type::Tile { shape, .. } => Form(Some(shape.clone())),
            ir::Type::Scalar(_) | ir::Type::Ref { .. } | ir::Type::Semaphore { .. } => Form::SCALAR,
        }
    }

    pub(super) fn form(&self, value: ir::Value) -> Form {
        self.form_of(self.kernel.ty(value))
    }

    /// The element type in which values of a form are kept: scalars are 32 bits wide.
    pub(super) fn storage(form: &Form, dtype: DType) -> Elem {
        match (dtype, form.is_tile()) {
            (DType::Bool, _) => Elem::I1,
            (DType::I4, true) => Elem::I4,
            (DType::I8 | DType::U8, true) => Elem::I8,
            (DType::I16 | DType::U16, true) => Elem::I16,
            (DType::BF16, true) => Elem::BF16,
            (DType::F16, true) => Elem::F16,
            (DType::F8E4M3FN, true) => Elem::F8E4M3FN,
            (DType::F8E5M2, true) => Elem::F8E5M2,
            _ if dtype.is_float() => Elem::F32,
            _ => Elem::I32,
        }
    }

    /// The 32-bit element type in which a type is computed.
    pub(super) fn compute(dtype: DType) -> Elem {
        match dtype {
            DType::Bool => Elem::I1,
            _ if dtype.is_float() => Elem::F32,
            _ => Elem::I32,
        }
    }

    pub(super) fn ty(&self, form: &Form, elem: Elem) -> Type<'s> {
        match &form.0 {
            Some(shape) => self.session.vector(shape, elem),
            None => self.session.elem(elem),
        }
    }

    /// The type of an IR value.
    pub(super) fn value_ty(&self, ty: &ir::Type) -> Type<'s> {
        let form = self.form_of(ty);
        self.ty(&form, Self::storage(&form, ty.dtype()))
    }

    /// The element type of memory of this type.
    pub(super) fn memory_elem(dtype: DType) -> Elem {
        match dtype {
            DType::Bool => Elem::I32,
            DType::I4 => Elem::I4,
            DType::I8 | DType::U8 => Elem::I8,
            DType::I16 | DType::U16 => Elem::I16,
            DType::I32 | DType::U32 => Elem::I32,
            DType::BF16 => Elem::BF16,
            DType::F16 => Elem::F16,
            DType::F8E4M3FN => Elem::F8E4M3FN,
            DType::F8E5M2 => Elem::F8E5M2,
            DType::F32 => Elem::F32,
        }
    }

    fn location(&mut self, id: LocId) -> Location<'s> {
        if let Some(location) = self.locations[id.0 as usize] {
            return location;
        }
        let loc = self.kernel.loc(id);
        let mut location = if loc.file.is_empty() {
            self.session.unknown_location()
        } else {
            self.session.location(&loc.file, loc.line, loc.column)
        };
        if let Some(caller) = loc.inlined_at.filter(|&caller| caller < id) {
            location = self.session.call_site(location, self.location(caller));
        }
        self.locations[id.0 as usize] = Some(location);
        location
    }

    /// Emits an op with regions.
    pub(super) fn emit(
        &mut self,
        name: &str,
        operands: &[Value<'s>],
        results: &[Type<'s>],
        attrs: &[(&str, Attr<'s>)],
        regions: &[&[Type<'s>]],
    ) -> Operation<'s> {
        let location = self.location(self.loc);
        let spec = OpSpec { name, operands, results, attrs, regions, location };
        self.block.append(self.session, &spec)
    }

    /// Emits an op of one result.
    pub(super) fn op(
        &mut self,
        name: &str,
        operands: &[Value<'s>],
        result: Type<'s>,
        attrs: &[(&str, Attr<'s>)],
    ) -> Value<'s> {
        self.emit(name, operands, &[result], attrs, &[]).result(0)
    }

    /// Emits an op whose result has this form and element type.
    pub(super) fn apply(
        &mut self,
        name: &str,
        operands: &[Value<'s>],
        form: &Form,
        elem: Elem,
    ) -> Value<'s> {
        self.op(name, operands, self.ty(form, elem), &[])
    }

    /// `cmpi`; `predicate` is MLIR's number.
    pub(super) fn cmpi(
        &mut self,
        predicate: i64,
        form: &Form,
        lhs: Value<'s>,
        rhs: Value<'s>,
    ) -> Value<'s> {
        let predicate = self.session.int_attr(self.session.elem(Elem::I64), predicate);
        let ty = self.ty(form, Elem::I1);
        self.op("arith.cmpi", &[lhs, rhs], ty, &[("predicate", predicate)])
    }

    /// `cmpf`; `predicate` is MLIR's number. libtpu knows the ordered ones alone.
    pub(super) fn cmpf(
        &mut self,
        predicate: i64,
        form: &Form,
        lhs: Value<'s>,
        rhs: Value<'s>,
    ) -> Value<'s> {
        let predicate = self.session.int_attr(self.session.elem(Elem::I64), predicate);
        let ty = self.ty(form, Elem::I1);
        self.op("arith.cmpf", &[lhs, rhs], ty, &[("predicate", predicate)])
    }

    pub(super) fn select(
        &mut self,
        cond: Value<'s>,
        then: Value<'s>,
        other: Value<'s>,
        form: &Form,
        elem: Elem,
    ) -> Value<'s> {
        self.apply("arith.select", &[cond, then, other], form, elem)
    }

    /// Logical negation of `i1`.
    pub(super) fn not(&mut self, value: Value<'s>, form: &Form) -> Value<'s> {
        let all = self.bool_constant(form, true);
        self.apply("arith.xori", &[value, all], form, Elem::I1)
    }

    /// A constant of a literal's type, as values of the form are kept.
    pub(super) fn constant(&mut self, form: &Form, literal: Literal) -> Value<'s> {
        let elem = Self::storage(form, literal.dtype());
        match (literal.as_f32(), literal.as_int()) {
            (Some(value), _) => self.float_constant(form, elem, value),
            (None, Some(value)) if elem == Elem::I1 => self.bool_constant(form, value != 0),
            (None, value) => self.int_constant(form, elem, value.unwrap_or(0)),
        }
    }

    pub(super) fn int_constant(&mut self, form: &Form, elem: Elem, value: i64) -> Value<'s> {
        let key = (form.clone(), ConstElem::Elem(elem), value as u64);
        if let Some(&known) = self.constants.known.get(&key) {
            return known;
        }
        let element = self.session.int_attr(self.session.elem(elem), value);
        self.add_constant(key, elem, element)
    }

    pub(super) fn float_constant(&mut self, form: &Form, elem: Elem, value: f32) -> Value<'s> {
        let key = (form.clone(), ConstElem::Elem(elem), u64::from(value.to_bits()));
        if let Some(&known) = self.constants.known.get(&key) {
            return known;
        }
        let element = self.session.float_attr(self.session.elem(elem), f64::from(value));
        self.add_constant(key, elem, element)
    }

    fn add_constant(
        &mut self,
        key: (Form, ConstElem, u64),
        elem: Elem,
        element: Attr<'s>,
    ) -> Value<'s> {
        let ty = self.ty(&key.0, elem);
        let attr = if key.0.is_tile() { self.session.splat_attr(ty, element) } else { element };
        let value = self.at_entry("arith.constant", &[], ty, &[("value", attr)]);
        self.constants.known.insert(key, value);
        value
    }

    /// A truth value. Tiles of it are a comparison of constants, because the bytecode of dense
    /// `i1` constants differs between MLIR releases.
    pub(super) fn bool_constant(&mut self, form: &Form, value: bool) -> Value<'s> {
        let key = (form.clone(), ConstElem::Elem(Elem::I1), u64::from(value));
        if let Some(&known) = self.constants.known.get(&key) {
            return known;
        }
        if !form.is_tile() {
            let element = self.session.bool_attr(value);
            return self.add_constant(key, Elem::I1, element);
        }
        let zero = self.int_constant(form, Elem::I32, 0);
        let predicate = self.session.int_attr(self.session.elem(Elem::I64), i64::from(!value));
        let ty = self.ty(form, Elem::I1);
        let value = self.at_entry("arith.cmpi", &[zero, zero], ty, &[("predicate", predicate)]);
        self.constants.known.insert(key, value);
        value
    }

    pub(super) fn index_constant(&mut self, value: i64) -> Value<'s> {
        let key = (Form::SCALAR, ConstElem::Index, value as u64);
        if let Some(&known) = self.constants.known.get(&key) {
            return known;
        }
        let ty = self.session.index();
        let attr = self.session.int_attr(ty, value);
        let value = self.at_entry("arith.constant", &[], ty, &[("value", attr)]);
        self.constants.known.insert(key, value);
        value
    }

    fn at_entry(
        &mut self,
        name: &str,
        operands: &[Value<'s>],
        ty: Type<'s>,
        attrs: &[(&str, Attr<'s>)],
    ) -> Value<'s> {
        let location = self.session.unknown_location();
        let spec = OpSpec { name, operands, results: &[ty], attrs, regions: &[], location };
        let Constants { entry, last, .. } = self.constants;
        let op = entry.insert_after(self.session, last, &spec);
        self.constants.last = Some(op);
        op.result(0)
    }

    /// Lowers the ops of a block in order, to the block at hand.
    pub(super) fn lower_ops(&mut self, block: BlockId) {
        let kernel = self.kernel;
        for &id in &kernel.block(block).ops {
            self.lower_op(id);
        }
    }

    fn lower_op(&mut self, id: OpId) {
        let op = self.kernel.op(id);
        self.set_loc(op.loc);
        let lowering = super::ops::lower(self, op);
        self.set_loc(op.loc);
        let results = match lowering {
            Ok(results) => results,
            Err(error) => {
                self.errors.push(error);
                // Lowering goes on, to find every error; what follows needs a value.
                op.results
                    .iter()
                    .map(|&result| {
                        let ty = self.value_ty(self.kernel.ty(result));
                        self.op("systole.unsupported", &[], ty, &[])
                    })
                    .collect()
            }
        };
        for (&ir, &value) in op.results.iter().zip(&results) {
            self.bind(ir, value);
        }
    }

    /// An error of the kernel: the target's compiler cannot do it.
    pub(super) fn unsupported(&self, message: impl Into<String>) -> Diagnostic {
        let message = format!("{} on {}", message.into(), self.target_name);
        Diagnostic::error(Code::MOSAIC_UNSUPPORTED, message).at_opt(self.kernel.span(self.loc), "")
    }

    /// An error of the toolkit.
    pub(super) fn internal(&self, message: &str) -> Diagnostic {
        Diagnostic::error(Code::MOSAIC_INTERNAL, format!("{}: {message}", self.kernel.name))
            .at_opt(self.kernel.span(self.loc), "lowered from here")
            .help("this is a mistake of the toolkit: please report it")
    }
}

/// The attribute that names a memory space.
pub(super) fn memory_space(session: &Session, space: MemorySpace) -> Attr<'_> {
    session.parsed_attr(match space {
        MemorySpace::Vmem => "#tpu.memory_space<vmem>",
        MemorySpace::Smem => "#tpu.memory_space<smem>",
        MemorySpace::Hbm => "#tpu.memory_space<hbm>",
        MemorySpace::Any => "#tpu.memory_space<any>",
        MemorySpace::Spmem => "#tpu.memory_space<vmem_shared>",
    })
}
