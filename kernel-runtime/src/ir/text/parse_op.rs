//! Parses one op: first its parts, whatever the op, then the op itself from its parts.

use super::lex::{Token, TokenKind};
use super::parse::{Parsed, Parser};
use super::parse_dma::{DmaParts, dma_op, sync_op};
use super::parse_sparse::{SparseParts, sparse_op};
use crate::diag::{Code, Diagnostic};
use crate::ir::ops::{
    Access, AccessDim, Binary, Compare, ControlOp, ConvertOp, DebugOp, DotOp, Elementwise, Literal,
    MemoryOp, MxuOp, Op, Precision, RandomOp, ReduceKind, ReduceOp, RollStride, ShapeOp, Start,
    Unary,
};
use crate::ir::{BlockId, DType, Shape, Type, Value};
use smallvec::SmallVec;

/// An operand: `None` if its definition was wrong.
pub(super) type Operand = Option<Value>;

/// The parts of an op as written. Building the op takes those it has; one left over is a mistake.
#[derive(Default)]
pub(super) struct Parts<'t> {
    pub(super) operands: Vec<Operand>,
    pub(super) access: Option<Access>,
    pub(super) starts: Vec<Operand>,
    pub(super) mask: Option<Operand>,
    literal: Option<&'t str>,
    message: Option<String>,
    axis: Option<usize>,
    stride: Option<RollStride>,
    index: Option<usize>,
    part: Option<DType>,
    perm: Option<Vec<usize>>,
    unit: Option<usize>,
    register: Option<usize>,
    row: Option<usize>,
    load: Option<usize>,
    transpose_lhs: bool,
    transpose_rhs: bool,
    precision: Option<Precision>,
    pub(super) dma: DmaParts,
    pub(super) sparse: SparseParts,
    regions: Vec<BlockId>,
    types: Vec<Type>,
}

impl<'t> Parser<'t> {
    pub(super) fn op(&mut self, depth: usize) -> Parsed<()> {
        let start = self.token();
        let n_reported = self.n_reported();
        let results = self.results()?;
        let parsed = self.op_after_results(start, &results, depth, n_reported);
        if parsed.is_err() {
            // The values exist, though nothing is known of them.
            for &(token, name) in &results {
                self.define(token, name, None);
            }
        }
        parsed
    }

    fn results(&mut self) -> Parsed<Vec<(Token<'t>, &'t str)>> {
        let mut results = Vec::new();
        while let TokenKind::Value(name) = self.peek() {
            results.push((self.advance(), name));
            if !self.eat(',') {
                self.expect('=')?;
                break;
            }
        }
        Ok(results)
    }

    fn op_after_results(
        &mut self,
        start: Token<'t>,
        results: &[(Token<'t>, &'t str)],
        depth: usize,
        n_reported: usize,
    ) -> Parsed<()> {
        let name_token = self.token();
        let TokenKind::Word(name) = name_token.kind else {
            return Err(self.unexpected("an op"));
        };
        self.advance();
        // These have no operands: a value after one begins the next op.
        let is_bare = matches!(name, "barrier" | "scope_end");
        let mut parts = if is_bare { Parts::default() } else { self.parts(depth)? };
        let loc = self.loc_suffix(start)?;
        let untyped = results.len() > parts.types.len() && self.token().line == name_token.line;
        if matches!(self.peek(), TokenKind::Bad(_))
            || untyped && self.peek() != TokenKind::Punct('}')
        {
            return Err(self.unexpected("the end of the op"));
        }
        let error_at = |parser: &Self, code, message| {
            Diagnostic::error(code, message).at(parser.span_of(name_token), "")
        };
        if results.len() != parts.types.len() {
            let message = format!(
                "`{name}` has {} results but {} result types",
                results.len(),
                parts.types.len()
            );
            return Err(error_at(self, Code::IR_STATED_TYPE, message));
        }
        let op = build_op(name, &mut parts).map_err(|why| {
            let error = error_at(self, Code::IR_SYNTAX, why.message);
            why.help.map_or(error.clone(), |help| error.help(help))
        })?;
        let types = std::mem::take(&mut parts.types);
        let regions = std::mem::take(&mut parts.regions);
        let values = if !regions.is_empty() && self.n_reported() > n_reported {
            // What is wrong inside the regions would only be reported again.
            self.stray_values(&types)
        } else {
            self.append(op, parts, &regions, &types, name_token, loc)
        };
        for (idx, &(token, name)) in results.iter().enumerate() {
            self.define(token, name, values.get(idx).copied());
        }
        Ok(())
    }

    /// Types the op and appends it. On a clash it is reported and takes the stated types, so that
    /// what uses it can still be checked.
    fn append(
        &mut self,
        op: Op,
        parts: Parts<'t>,
        regions: &[BlockId],
        stated: &[Type],
        at: Token<'t>,
        loc: crate::ir::LocId,
    ) -> SmallVec<[Value; 2]> {
        let all = parts.all_operands(&op);
        let Some(operands) = all.into_iter().collect::<Option<Vec<Value>>>() else {
            // An operand is unknown, which is reported already: the kernel is not used.
            return self.stray_values(stated);
        };
        match self.builder.kernel().infer(&op, &operands, regions) {
            Err(why) => {
                let error = why.into_diagnostic(Some(self.span_of(at)));
                self.report(error);
            }
            Ok(inferred) if inferred[..] != *stated => {
                let list = |types: &[Type]| {
                    let types: Vec<String> = types.iter().map(|ty| format!("`{ty}`")).collect();
                    if types.is_empty() { "nothing".to_string() } else { types.join(", ") }
                };
                let message = format!(
                    "`{}` gives {}, but the text says {}",
                    op.mnemonic(),
                    list(&inferred),
                    list(stated)
                );
                let error = Diagnostic::error(Code::IR_STATED_TYPE, message);
                self.report(error.at(self.span_of(at), ""));
            }
            Ok(_) => {}
        }
        self.builder.append(op, &operands, regions, stated, loc)
    }

    /// Values of a kernel that will not be used.
    fn stray_values(&mut self, types: &[Type]) -> SmallVec<[Value; 2]> {
        types.iter().map(|ty| self.builder.add_stray_value(ty.clone())).collect()
    }

    /// Everything between the mnemonic and the location.
    fn parts(&mut self, depth: usize) -> Parsed<Parts<'t>> {
        let mut parts = Parts::default();
        if let TokenKind::Number(text)
        | TokenKind::Word(text @ ("true" | "false" | "inf" | "nan")) = self.peek()
        {
            self.advance();
            parts.literal = Some(text);
        }
        if matches!(self.peek(), TokenKind::Str(_)) {
            parts.message = Some(self.string()?);
            if self.eat(',') {
                parts.operands.push(self.value()?);
            }
        } else if matches!(self.peek(), TokenKind::Value(_)) {
            let first = self.value()?;
            parts.operands.push(first);
            if self.peek() == TokenKind::Punct('[') {
                let (access, starts) = self.access(first)?;
                parts.access = Some(access);
                parts.starts = starts;
            }
        }
        while !parts.operands.is_empty() && self.eat(',') {
            parts.operands.push(self.value()?);
        }
        while self.attribute(&mut parts)? {}
        while matches!(self.peek(), TokenKind::Punct('(' | '{')) {
            parts.regions.push(self.region(depth + 1)?);
            // A region that follows another is set off by a word.
            if !self.eat_word("else") && !self.eat_word("do") {
                break;
            }
        }
        if self.eat(':') {
            parts.types.push(self.ty()?);
            while self.eat(',') {
                parts.types.push(self.ty()?);
            }
        }
        Ok(parts)
    }

    fn attribute(&mut self, parts: &mut Parts<'t>) -> Parsed<bool> {
        let TokenKind::Word(word) = self.peek() else {
            return Ok(false);
        };
        if let Some(&level) = Precision::ALL.iter().find(|level| level.name() == word) {
            self.advance();
            parts.precision = Some(level);
            return Ok(true);
        }
        if self.dma_attribute(word, &mut parts.dma)?
            || self.sparse_attribute(word, &mut parts.sparse)?
        {
            return Ok(true);
        }
        match word {
            "axis" | "stride" | "index" | "as" | "mask" | "perm" | "unit" | "register" | "row"
            | "load" | "transpose_lhs" | "transpose_rhs" => self.advance(),
            _ => return Ok(false),
        };
        match word {
            "axis" => parts.axis = Some(self.size()?),
            "stride" => {
                let by = self.size()?;
                self.expect_word("along")?;
                parts.stride = Some(RollStride { by, axis: self.size()? });
            }
            "index" => parts.index = Some(self.size()?),
            "as" => parts.part = Some(self.dtype()?),
            "mask" => parts.mask = Some(self.value()?),
            "perm" => parts.perm = Some(self.list(Self::size)?),
            "unit" => parts.unit = Some(self.size()?),
            "register" => parts.register = Some(self.size()?),
            "row" => parts.row = Some(self.size()?),
            "load" => parts.load = Some(self.size()?),
            "transpose_lhs" => parts.transpose_lhs = true,
            _ => parts.transpose_rhs = true,
        }
        Ok(true)
    }

    /// The part of `of` that an access touches, and its dynamic starts.
    pub(super) fn access(&mut self, of: Operand) -> Parsed<(Access, Vec<Operand>)> {
        let shape = of.map(|value| Shape::from_slice(self.builder.kernel().ty(value).shape()));
        let mut starts = Vec::new();
        let mut axis = 0;
        let dims = self.list(|p| {
            let full = shape.as_ref().and_then(|shape| shape.get(axis)).copied().unwrap_or(1);
            axis += 1;
            p.access_dim(full, &mut starts)
        })?;
        Ok((Access { dims: dims.into_iter().collect() }, starts))
    }

    fn access_dim(&mut self, full: usize, starts: &mut Vec<Operand>) -> Parsed<AccessDim> {
        if self.eat(':') {
            return Ok(AccessDim::full(full));
        }
        if self.eat_word("drop") {
            self.expect('(')?;
            let dim = self.access_dim(full, starts)?;
            self.expect(')')?;
            return Ok(AccessDim { keep: false, ..dim });
        }
        if !self.eat_word("ds") {
            let start = self.access_start(starts)?;
            return Ok(AccessDim { start, size: 1, stride: 1, keep: false });
        }
        self.expect('(')?;
        let start = self.access_start(starts)?;
        self.expect(',')?;
        let size = self.size()?;
        let stride = if self.eat(',') { self.size()? } else { 1 };
        self.expect(')')?;
        Ok(AccessDim { start, size, stride, keep: true })
    }

    pub(super) fn access_start(&mut self, starts: &mut Vec<Operand>) -> Parsed<Start> {
        if matches!(self.peek(), TokenKind::Value(_)) {
            starts.push(self.value()?);
            return Ok(Start::Dynamic { multiple_of: 1 });
        }
        if self.eat_word("multiple") {
            self.expect('(')?;
            starts.push(self.value()?);
            self.expect(',')?;
            let multiple_of = self.size()?;
            self.expect(')')?;
            return Ok(Start::Dynamic { multiple_of });
        }
        Ok(Start::Static(self.size()?))
    }
}

impl Parts<'_> {
    /// The operands in the order of the op's definition.
    fn all_operands(&self, op: &Op) -> Vec<Operand> {
        if let Op::Sparse(sparse) = op {
            return self.sparse_operands(sparse);
        }
        let mut operands = self.operands.clone();
        match op {
            Op::Memory(_) => {
                operands.extend(self.starts.iter().copied());
                operands.extend(self.mask);
            }
            Op::Dma(_) | Op::Sync(_) => self.dma.add_operands(&self.starts, &mut operands),
            Op::Elementwise(_)
            | Op::Shape(_)
            | Op::Convert(_)
            | Op::Random(_)
            | Op::Mxu(_)
            | Op::Reduce(_)
            | Op::Dot(_)
            | Op::Sparse(_)
            | Op::Control(_)
            | Op::Debug(_) => {}
        }
        operands
    }
}

/// Why the parts make no op.
pub(super) struct Misfit {
    message: String,
    help: Option<String>,
}

pub(super) fn misfit<T>(message: String) -> Result<T, Misfit> {
    Err(Misfit { message, help: None })
}

/// The op of this name from its parts.
fn build_op(name: &str, parts: &mut Parts<'_>) -> Result<Op, Misfit> {
    let op = match elementwise_op(name, parts)? {
        Some(op) => Op::Elementwise(op),
        None => structural_op(name, parts)?,
    };
    let left_over = [
        (parts.literal.is_some(), "a literal"),
        (parts.message.is_some(), "a message"),
        (parts.access.is_some(), "an index"),
        (parts.mask.is_some() && !takes_mask(&op), "`mask`"),
        (parts.axis.is_some(), "`axis`"),
        (parts.stride.is_some(), "`stride`"),
        (parts.index.is_some(), "`index`"),
        (parts.part.is_some(), "`as`"),
        (parts.perm.is_some(), "`perm`"),
        (parts.unit.is_some(), "`unit`"),
        (parts.register.is_some(), "`register`"),
        (parts.row.is_some(), "`row`"),
        (parts.load.is_some(), "`load`"),
        (parts.transpose_lhs, "`transpose_lhs`"),
        (parts.transpose_rhs, "`transpose_rhs`"),
        (parts.precision.is_some(), "a precision"),
        (parts.dma.is_left_over(), "the parts of a copy"),
        (parts.sparse.is_left_over(), "the parts of an indirect copy or a sort"),
    ];
    match left_over.iter().find(|(present, _)| *present) {
        Some((_, what)) => misfit(format!("`{name}` does not take {what}")),
        None => Ok(op),
    }
}

fn takes_mask(op: &Op) -> bool {
    match op {
        Op::Memory(_) => true,
        Op::Sparse(sparse) => sparse.masked(),
        Op::Elementwise(_)
        | Op::Shape(_)
        | Op::Convert(_)
        | Op::Random(_)
        | Op::Mxu(_)
        | Op::Reduce(_)
        | Op::Dot(_)
        | Op::Dma(_)
        | Op::Sync(_)
        | Op::Control(_)
        | Op::Debug(_) => false,
    }
}

fn elementwise_op(name: &str, parts: &mut Parts<'_>) -> Result<Option<Elementwise>, Misfit> {
    if let Some(&op) = Unary::ALL.iter().find(|op| op.name() == name) {
        return Ok(Some(Elementwise::Unary(op)));
    }
    if let Some(&op) = Binary::ALL.iter().find(|op| op.name() == name) {
        return Ok(Some(Elementwise::Binary(op)));
    }
    if let Some(&op) = Compare::ALL.iter().find(|op| op.name() == name) {
        return Ok(Some(Elementwise::Compare(op)));
    }
    Ok(Some(match name {
        "const" => {
            let dtype = result_dtype(name, parts)?;
            let text = parts.literal.take().unwrap_or_default();
            match parse_literal(text, dtype) {
                Some(literal) => Elementwise::Constant(literal),
                None => return misfit(format!("`{text}` is no constant of type `{dtype}`")),
            }
        }
        "select" => Elementwise::Select,
        "cast" => Elementwise::Cast(result_dtype(name, parts)?),
        "bitcast" => Elementwise::Bitcast(result_dtype(name, parts)?),
        _ => return Ok(None),
    }))
}

fn structural_op(name: &str, parts: &mut Parts<'_>) -> Result<Op, Misfit> {
    if let Some(&kind) = ReduceKind::ALL.iter().find(|kind| kind.name() == name) {
        return Ok(Op::Reduce(ReduceOp { kind, axis: axis(name, parts)? }));
    }
    if let Some(op) = shape_op(name, parts)? {
        return Ok(Op::Shape(op));
    }
    if let Some(op) = sparse_op(name, parts)? {
        return Ok(Op::Sparse(op));
    }
    Ok(match name {
        "bitcast_rows" => Op::Convert(ConvertOp::BitcastRows { dtype: result_dtype(name, parts)? }),
        "stochastic_round" => {
            Op::Convert(ConvertOp::StochasticRound { dtype: result_dtype(name, parts)? })
        }
        "pack" => Op::Convert(ConvertOp::Pack { dtype: part(name, parts)? }),
        "unpack" => {
            let dtype = part(name, parts)?;
            let Some(index) = parts.index.take() else {
                return misfit("`unpack` takes `index n`".to_string());
            };
            Op::Convert(ConvertOp::Unpack { dtype, index })
        }
        "prng_seed" => Op::Random(RandomOp::Seed),
        "prng_bits" => Op::Random(RandomOp::Bits(result_shape(name, parts)?)),
        "matmul_push_rhs" | "matmul_acc_lhs" | "matmul_pop" => Op::Mxu(mxu_op(name, parts)?),
        "scope_end" => Op::Debug(DebugOp::ScopeEnd),
        "delay" => Op::Debug(DebugOp::Delay),
        "dot" => Op::Dot(DotOp {
            transpose_lhs: std::mem::take(&mut parts.transpose_lhs),
            transpose_rhs: std::mem::take(&mut parts.transpose_rhs),
            precision: parts.precision.take().unwrap_or_default(),
        }),
        "load" | "store" => {
            let Some(access) = parts.access.take() else {
                return misfit(format!("`{name}` takes a reference with an index: `%x[:]`"));
            };
            let masked = parts.mask.is_some();
            Op::Memory(match name {
                "load" => MemoryOp::Load { access, masked },
                _ => MemoryOp::Store { access, masked },
            })
        }
        "dma_start" | "dma_wait" => Op::Dma(dma_op(name, parts)?),
        "sem_signal" | "sem_wait" | "sem_read" => Op::Sync(sync_op(name, parts)?),
        "if" => Op::Control(ControlOp::If),
        "scope" => Op::Control(ControlOp::Scope),
        "for" => Op::Control(ControlOp::For),
        "while" => Op::Control(ControlOp::While),
        "yield" => Op::Control(ControlOp::Yield),
        "device_id" => Op::Control(ControlOp::DeviceId),
        "grid_extent" => {
            let axis = parts.literal.take().and_then(|text| text.parse().ok());
            match axis {
                Some(axis) => Op::Control(ControlOp::GridExtent { axis }),
                None => return misfit("`grid_extent` takes the number of a grid axis".to_string()),
            }
        }
        "print" | "assert" | "scope_start" => {
            let Some(message) = parts.message.take() else {
                return misfit(format!("`{name}` takes a message in quotes"));
            };
            Op::Debug(match name {
                "print" => DebugOp::Print { message },
                "scope_start" => DebugOp::ScopeStart { name: message },
                _ => DebugOp::Assert { message },
            })
        }
        _ => {
            return Err(Misfit {
                message: format!("there is no op `{name}`"),
                help: Some("ops are listed in `systole::ir::ops`".to_string()),
            });
        }
    })
}

fn mxu_op(name: &str, parts: &mut Parts<'_>) -> Result<MxuOp, Misfit> {
    let Some(unit) = parts.unit.take() else {
        return misfit(format!("`{name}` takes `unit n`"));
    };
    if name == "matmul_push_rhs" {
        let Some(register) = parts.register.take() else {
            return misfit(format!("`{name}` takes `register n`"));
        };
        let transpose = std::mem::take(&mut parts.transpose_rhs);
        return Ok(MxuOp::PushRhs { unit, register, transpose });
    }
    let Some(row) = parts.row.take() else {
        return misfit(format!("`{name}` takes `row n`"));
    };
    Ok(match name {
        "matmul_acc_lhs" => MxuOp::AccLhs { unit, row, load: parts.load.take() },
        _ => MxuOp::Pop { unit, row, shape: result_shape(name, parts)? },
    })
}

fn shape_op(name: &str, parts: &mut Parts<'_>) -> Result<Option<ShapeOp>, Misfit> {
    Ok(Some(match name {
        "splat" => ShapeOp::Splat(result_shape(name, parts)?),
        "broadcast" => ShapeOp::Broadcast(result_shape(name, parts)?),
        "reshape" => ShapeOp::Reshape(result_shape(name, parts)?),
        "transpose" => match parts.perm.take() {
            Some(perm) => ShapeOp::Transpose(perm.into_iter().collect()),
            None => return misfit("`transpose` takes `perm [..]`".to_string()),
        },
        "concat" => ShapeOp::Concat { axis: axis(name, parts)? },
        "slice" => slice_op(parts)?,
        "iota" => ShapeOp::Iota {
            dtype: result_dtype(name, parts)?,
            shape: result_shape(name, parts)?,
            axis: axis(name, parts)?,
        },
        "roll" => {
            let stride = parts.stride.take();
            ShapeOp::Roll { axis: axis(name, parts)?, stride }
        }
        "take_along_axis" => ShapeOp::TakeAlongAxis { axis: axis(name, parts)? },
        "extract" => ShapeOp::Extract,
        _ => return Ok(None),
    }))
}

fn slice_op(parts: &mut Parts<'_>) -> Result<ShapeOp, Misfit> {
    let Some(access) = parts.access.take() else {
        return misfit("`slice` takes a tile with an index: `%x[ds(0, 8), :]`".to_string());
    };
    let mut starts = Shape::new();
    for dim in &access.dims {
        match dim.start {
            Start::Static(start) if dim.keep => starts.push(start),
            _ => return misfit("`slice` takes `:` and `ds(start, size)` alone".to_string()),
        }
    }
    Ok(ShapeOp::Slice {
        starts,
        sizes: access.dims.iter().map(|dim| dim.size).collect(),
        strides: access.dims.iter().map(|dim| dim.stride).collect(),
    })
}

fn axis(name: &str, parts: &mut Parts<'_>) -> Result<usize, Misfit> {
    match parts.axis.take() {
        Some(axis) => Ok(axis),
        None => misfit(format!("`{name}` takes `axis n`")),
    }
}

fn part(name: &str, parts: &mut Parts<'_>) -> Result<DType, Misfit> {
    match parts.part.take() {
        Some(dtype) => Ok(dtype),
        None => misfit(format!("`{name}` takes `as` and an element type")),
    }
}

fn result_dtype(name: &str, parts: &Parts<'_>) -> Result<DType, Misfit> {
    match parts.types.first() {
        Some(ty) => Ok(ty.dtype()),
        None => misfit(format!("`{name}` takes its element type from its result")),
    }
}

fn result_shape(name: &str, parts: &Parts<'_>) -> Result<Shape, Misfit> {
    match parts.types.first() {
        Some(Type::Tile { shape, .. }) => Ok(shape.clone()),
        _ => misfit(format!("`{name}` takes its shape from its result, a tile")),
    }
}

fn parse_literal(text: &str, dtype: DType) -> Option<Literal> {
    if dtype.is_float() {
        if let Some(digits) = text.strip_prefix("0x") {
            let bits = u32::from_str_radix(digits, 16).ok()?;
            return Some(Literal::float(dtype, f32::from_bits(bits)));
        }
        return text.parse::<f32>().ok().map(|value| Literal::float(dtype, value));
    }
    let value = match (dtype, text) {
        (DType::Bool, "true") => 1,
        (DType::Bool, "false") => 0,
        (DType::Bool, _) => return None,
        (_, text) => text.parse::<i64>().ok()?,
    };
    let (lo, hi) = dtype.int_range().unwrap_or((0, 1));
    (lo..=hi).contains(&value).then(|| Literal::int(dtype, value))
}
