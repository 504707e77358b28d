//! Parses the header, parameters, blocks and locations; ops are in `parse_op`.
//!
//! The parser never stops at the first mistake: it goes on at the next line, and a value whose
//! definition was wrong is known without a type, so that its uses are not reported again.

use super::lex::{Token, TokenKind, tokens, unescape};
use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use crate::ir::{
    BlockDim, BlockId, Buffering, Builder, CompileParams, Core, DType, Extent, GridAxis, Kernel,
    Loc, LocId, MemorySpace, MeshAxis, Param, ParamAxis, ParamKind, Scratch, Semantics,
    SemaphoreArray, SemaphoreKind, Shape, SideEffects, Streams, Type, Value, Window,
};
use std::collections::HashMap;
use std::sync::Arc;

/// What a rule of the grammar gives, or why it does not apply.
pub(super) type Parsed<T> = Result<T, Diagnostic>;

/// Regions nest no deeper than this: the parser and those who walk the kernel recurse.
const MAX_DEPTH: usize = 64;
/// After this many mistakes the rest is noise.
const MAX_DIAGNOSTICS: usize = 50;
/// No axis is longer, so that sums of a few sizes cannot overflow.
const MAX_SIZE: usize = 1 << 40;

/// Parses one text.
pub(super) struct Parser<'t> {
    tokens: Vec<Token<'t>>,
    pos: usize,
    file: Arc<str>,
    /// Whether an op without a location gets its place in the text.
    places_as_locs: bool,
    pub(super) builder: Builder,
    /// Names by block, innermost last. `None` is a value whose definition was wrong.
    scopes: Vec<HashMap<&'t str, Option<Value>>>,
    /// Locations by their number in the text.
    locs: HashMap<usize, LocId>,
    diagnostics: Diagnostics,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str, file: &str, places_as_locs: bool) -> Parser<'t> {
        Parser {
            tokens: tokens(text),
            pos: 0,
            file: Arc::from(file),
            places_as_locs,
            builder: Builder::new(""),
            scopes: Vec::new(),
            locs: HashMap::new(),
            diagnostics: Diagnostics::default(),
        }
    }

    pub(super) fn parse(mut self) -> Result<Kernel, Diagnostics> {
        if let Err(error) = self.loc_table().and_then(|()| self.kernel()) {
            self.report(error);
        }
        if self.diagnostics.is_empty() { Ok(self.builder.finish()) } else { Err(self.diagnostics) }
    }

    // Tokens.

    pub(super) fn peek(&self) -> TokenKind<'t> {
        self.token().kind
    }

    /// The next token; at the end it is the end, however often it is taken.
    pub(super) fn token(&self) -> Token<'t> {
        let end = Token { kind: TokenKind::End, line: 1, column: 1 };
        self.tokens.get(self.pos).or(self.tokens.last()).copied().unwrap_or(end)
    }

    pub(super) fn advance(&mut self) -> Token<'t> {
        let token = self.token();
        self.pos = (self.pos + 1).min(self.tokens.len());
        token
    }

    pub(super) fn eat(&mut self, punct: char) -> bool {
        let found = self.peek() == TokenKind::Punct(punct);
        self.pos += usize::from(found);
        found
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek() == TokenKind::Word(word);
        self.pos += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, punct: char) -> Parsed<()> {
        if self.eat(punct) { Ok(()) } else { Err(self.unexpected(&format!("`{punct}`"))) }
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.eat_word(word) { Ok(()) } else { Err(self.unexpected(&format!("`{word}`"))) }
    }

    pub(super) fn span_of(&self, token: Token<'t>) -> Span {
        Span { file: self.file.clone(), line: token.line, column: token.column }
    }

    /// The error that something else is expected here.
    pub(super) fn unexpected(&self, expected: &str) -> Diagnostic {
        let token = self.token();
        let found = match token.kind {
            TokenKind::Value(name) => format!("`%{name}`"),
            TokenKind::Word(text) | TokenKind::Number(text) => format!("`{text}`"),
            TokenKind::Str(_) => "a string".to_string(),
            TokenKind::Punct(c) => format!("`{c}`"),
            TokenKind::Bad(text) if text.starts_with('"') => "a string without an end".to_string(),
            TokenKind::Bad(text) => format!("{text:?}"),
            TokenKind::End => "the end of the text".to_string(),
        };
        let message = format!("expected {expected}, found {found}");
        Diagnostic::error(Code::IR_SYNTAX, message).at(self.span_of(token), "")
    }

    pub(super) fn report(&mut self, error: Diagnostic) {
        if self.diagnostics.0.len() < MAX_DIAGNOSTICS {
            self.diagnostics.push(error);
        }
    }

    pub(super) fn n_reported(&self) -> usize {
        self.diagnostics.0.len()
    }

    pub(super) fn size(&mut self) -> Parsed<usize> {
        let TokenKind::Number(text) = self.peek() else {
            return Err(self.unexpected("a number"));
        };
        match text.parse::<usize>() {
            Ok(size) if size <= MAX_SIZE => {
                self.advance();
                Ok(size)
            }
            _ => Err(self.unexpected(&format!("a number from 0 to {MAX_SIZE}"))),
        }
    }

    /// A number of any size.
    fn count(&mut self) -> Parsed<u64> {
        let TokenKind::Number(text) = self.peek() else {
            return Err(self.unexpected("a number"));
        };
        let count = text.parse().map_err(|_| self.unexpected("a number below 2^64"))?;
        self.advance();
        Ok(count)
    }

    pub(super) fn string(&mut self) -> Parsed<String> {
        let text = match self.peek() {
            TokenKind::Str(raw) => unescape(raw),
            _ => None,
        };
        match text {
            Some(text) => {
                self.advance();
                Ok(text)
            }
            None => Err(self.unexpected("a string")),
        }
    }

    fn name(&mut self) -> Parsed<String> {
        if let TokenKind::Word(word) = self.peek() {
            self.advance();
            return Ok(word.to_string());
        }
        self.string().map_err(|_| self.unexpected("a name"))
    }

    pub(super) fn dtype(&mut self) -> Parsed<DType> {
        if let TokenKind::Word(word) = self.peek()
            && let Some(dtype) = DType::parse(word)
        {
            self.advance();
            return Ok(dtype);
        }
        Err(self.unexpected("an element type"))
    }

    fn space(&mut self) -> Parsed<MemorySpace> {
        match self.eat_space() {
            Some(space) => Ok(space),
            None => Err(self.unexpected("a memory space")),
        }
    }

    fn eat_space(&mut self) -> Option<MemorySpace> {
        let TokenKind::Word(word) = self.peek() else {
            return None;
        };
        let space = MemorySpace::ALL.iter().copied().find(|space| space.name() == word)?;
        self.advance();
        Some(space)
    }

    /// A list in brackets.
    pub(super) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        self.expect('[')?;
        let mut items = Vec::new();
        while !self.eat(']') {
            if !items.is_empty() {
                self.expect(',')?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    pub(super) fn ty(&mut self) -> Parsed<Type> {
        let start = self.token();
        if self.eat_word("semaphores") {
            let kind = self.semaphore_kind()?;
            return Ok(Type::Semaphore { kind, shape: self.shape_of_semaphores(start)? });
        }
        let space = self.eat_space();
        let dtype = self.dtype()?;
        if space.is_none() && self.peek() != TokenKind::Punct('[') {
            return Ok(Type::Scalar(dtype));
        }
        let shape: Shape = self.list(Self::size)?.into_iter().collect();
        let n_elems = shape.iter().try_fold(1usize, |n, &size| n.checked_mul(size));
        if n_elems.is_none_or(|n| n > MAX_SIZE) {
            return Err(Diagnostic::error(Code::IR_SHAPE, "a type with too many elements")
                .at(self.span_of(start), ""));
        }
        match space {
            Some(space) => Ok(Type::Ref { dtype, shape, space }),
            None if shape.is_empty() => {
                Err(Diagnostic::error(Code::IR_SHAPE, "a tile has at least one axis")
                    .at(self.span_of(start), "")
                    .help(format!("a single element is a scalar, `{dtype}`")))
            }
            None => Ok(Type::Tile { dtype, shape }),
        }
    }

    fn semaphore_kind(&mut self) -> Parsed<SemaphoreKind> {
        match SemaphoreKind::ALL.iter().copied().find(|kind| self.eat_word(kind.name())) {
            Some(kind) => Ok(kind),
            None => Err(self.unexpected("`regular`, `dma` or `barrier`")),
        }
    }

    fn shape_of_semaphores(&mut self, start: Token<'t>) -> Parsed<Shape> {
        let shape: Shape = self.list(Self::size)?.into_iter().collect();
        let n = shape.iter().try_fold(1usize, |n, &size| n.checked_mul(size));
        if n.is_some_and(|n| n <= MAX_SIZE) {
            return Ok(shape);
        }
        Err(Diagnostic::error(Code::IR_SHAPE, "a type with too many elements")
            .at(self.span_of(start), ""))
    }

    // Names of values.

    /// Makes a name known in the innermost block.
    pub(super) fn define(&mut self, token: Token<'t>, name: &'t str, value: Option<Value>) {
        if self.scopes.iter().any(|scope| scope.contains_key(name)) {
            let error = Diagnostic::error(Code::IR_NAME, format!("`%{name}` is defined already"));
            self.report(error.at(self.span_of(token), ""));
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, value);
        }
    }

    /// Reads the use of a value: `None` if its definition was wrong or is missing.
    pub(super) fn value(&mut self) -> Parsed<Option<Value>> {
        let TokenKind::Value(name) = self.peek() else {
            return Err(self.unexpected("a value"));
        };
        let token = self.advance();
        if let Some(&value) = self.scopes.iter().rev().find_map(|scope| scope.get(name)) {
            return Ok(value);
        }
        let error = Diagnostic::error(Code::IR_NAME, format!("`%{name}` is not defined here"));
        self.report(error.at(self.span_of(token), ""));
        // Further uses in this block are the same mistake.
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, None);
        }
        Ok(None)
    }

    // Locations.

    /// Reads the table after the kernel and cuts it off.
    fn loc_table(&mut self) -> Parsed<()> {
        let is_entry = |pair: &[Token<'_>]| {
            pair[0].kind == TokenKind::Word("loc") && matches!(pair[1].kind, TokenKind::Number(_))
        };
        let Some(start) = self.tokens.windows(2).position(is_entry) else {
            return Ok(());
        };
        self.pos = start;
        while self.eat_word("loc") {
            let number = self.size()?;
            self.expect('=')?;
            let file: Arc<str> = Arc::from(self.string()?);
            self.expect(':')?;
            let line = self.size()? as u32;
            self.expect(':')?;
            let column = self.size()? as u32;
            let inlined_at = if self.eat_word("in") { Some(self.loc_number()?) } else { None };
            // Not `add_loc`, which merges equal entries: the table comes out as it went in.
            let locs = &mut self.builder.kernel_mut().locs;
            self.locs.insert(number, LocId(locs.len() as u32));
            locs.push(Loc { file, line, column, inlined_at });
        }
        if self.peek() != TokenKind::End {
            return Err(self.unexpected("`loc` or the end of the text"));
        }
        let end = Token { kind: TokenKind::End, ..self.tokens[start] };
        self.tokens.truncate(start);
        self.tokens.push(end);
        self.pos = 0;
        Ok(())
    }

    fn loc_number(&mut self) -> Parsed<LocId> {
        let token = self.token();
        let number = self.size()?;
        match self.locs.get(&number) {
            Some(&loc) => Ok(loc),
            None => Err(Diagnostic::error(Code::IR_NAME, format!("there is no location {number}"))
                .at(self.span_of(token), "")),
        }
    }

    /// An optional location suffix of what began at `start`.
    pub(super) fn loc_suffix(&mut self, start: Token<'t>) -> Parsed<LocId> {
        if self.eat_word("loc") {
            self.expect('(')?;
            let loc = self.loc_number()?;
            self.expect(')')?;
            return Ok(loc);
        }
        if !self.places_as_locs {
            return Ok(LocId::UNKNOWN);
        }
        let (file, line, column) = (self.file.clone(), start.line, start.column);
        Ok(self.builder.loc(Loc { file, line, column, inlined_at: None }))
    }

    // The kernel.

    fn kernel(&mut self) -> Parsed<()> {
        self.expect_word("kernel")?;
        let name = self.name()?;
        let mut core = Core::default();
        if self.eat_word("core") {
            core = match Core::ALL.iter().find(|core| self.eat_word(core.name())) {
                Some(&core) => core,
                None => return Err(self.unexpected("`sparse` or `sparse_scalar`")),
            };
        }
        let mut compile = CompileParams::default();
        if self.eat_word("vmem_limit") {
            compile.vmem_limit_bytes = Some(self.size()? as u64);
        }
        if self.eat_word("side_effects") {
            let kinds = [SideEffects::Dataflow, SideEffects::Always];
            compile.side_effects = match kinds.into_iter().find(|kind| self.eat_word(kind.name())) {
                Some(kind) => kind,
                None => return Err(self.unexpected("`dataflow` or `always`")),
            };
        }
        compile.unchecked_bounds = self.eat_word("unchecked_bounds");
        let cost = &mut compile.cost;
        for (word, stated) in [
            ("flops", &mut cost.flops),
            ("transcendentals", &mut cost.transcendentals),
            ("bytes", &mut cost.bytes_accessed),
        ] {
            if self.eat_word(word) {
                *stated = Some(self.count()?);
            }
        }
        self.expect('{')?;
        let kernel = self.builder.kernel_mut();
        kernel.name = name;
        kernel.core = core;
        kernel.compile = compile;
        while !self.eat_word("body") {
            let start = self.token();
            if matches!(start.kind, TokenKind::End | TokenKind::Punct('}')) {
                return Err(self.unexpected("`body`"));
            }
            if let Err(error) = self.declaration() {
                self.report(error);
                self.skip_declaration(start);
            }
        }
        let body = self.builder.kernel().body;
        self.scopes.push(HashMap::new());
        self.block_args(body)?;
        self.block_ops(1)?;
        self.expect('}')?;
        if self.peek() == TokenKind::End { Ok(()) } else { Err(self.unexpected("the end")) }
    }

    /// Goes to the next declaration or the body.
    fn skip_declaration(&mut self, start: Token<'t>) {
        self.scopes.clear();
        loop {
            let token = self.token();
            let is_word = matches!(token.kind, TokenKind::Word(word)
                if declaration_kind(word).is_some()
                    || matches!(word, "mesh" | "grid" | "scratch" | "semaphores" | "body"));
            let is_start = (token.line, token.column) == (start.line, start.column);
            if token.kind == TokenKind::End || is_word && !is_start {
                return;
            }
            self.advance();
        }
    }

    fn declaration(&mut self) -> Parsed<()> {
        let start = self.token();
        let TokenKind::Word(word) = start.kind else {
            return Err(self.unexpected("a declaration or `body`"));
        };
        match (word, declaration_kind(word)) {
            ("mesh", _) => self.mesh_axis(),
            ("grid", _) => self.grid_axis(),
            ("scratch", _) => self.scratch(start),
            ("semaphores", _) => self.semaphores(start),
            (_, Some(kind)) => self.param(start, kind),
            (_, None) => Err(self.unexpected("a declaration or `body`")),
        }
    }

    fn mesh_axis(&mut self) -> Parsed<()> {
        self.advance();
        let name = self.name()?;
        self.expect(':')?;
        let size = self.size()?;
        self.builder.kernel_mut().mesh.push(MeshAxis { name, size });
        Ok(())
    }

    fn grid_axis(&mut self) -> Parsed<()> {
        self.advance();
        let name = self.name()?;
        self.expect(':')?;
        let extent = if self.eat_word("dynamic") {
            Extent::Dynamic { operand: self.size()? }
        } else {
            Extent::Static(self.size()?)
        };
        let Some(&semantics) = Semantics::ALL.iter().find(|s| self.eat_word(s.name())) else {
            return Err(self.unexpected("`parallel`, `arbitrary` or `core_parallel`"));
        };
        self.builder.kernel_mut().grid.push(GridAxis { name, extent, semantics });
        Ok(())
    }

    fn scratch(&mut self, start: Token<'t>) -> Parsed<()> {
        self.advance();
        let name = self.name()?;
        self.expect(':')?;
        let dtype = self.dtype()?;
        let shape = self.list(Self::size)?.into_iter().collect();
        let space = self.space()?;
        let loc = self.loc_suffix(start)?;
        self.builder.kernel_mut().scratch.push(Scratch { name, dtype, shape, space, loc });
        Ok(())
    }

    fn semaphores(&mut self, start: Token<'t>) -> Parsed<()> {
        self.advance();
        let name = self.name()?;
        self.expect(':')?;
        let kind = self.semaphore_kind()?;
        let shape = self.shape_of_semaphores(start)?;
        let loc = self.loc_suffix(start)?;
        self.builder.kernel_mut().semaphores.push(SemaphoreArray { name, kind, shape, loc });
        Ok(())
    }

    fn param(&mut self, start: Token<'t>, kind: ParamKind) -> Parsed<()> {
        self.advance();
        let name = self.name()?;
        self.expect(':')?;
        let dtype = self.dtype()?;
        let axes = self.list(|p| {
            let name = p.name()?;
            p.expect(':')?;
            Ok(ParamAxis { name, size: p.size()? })
        })?;
        let space = self.space()?;
        let pinned = if self.eat_word("pinned") { Some(self.space()?) } else { None };
        let window = if self.eat_word("block") { Some(self.window()?) } else { None };
        let loc = self.loc_suffix(start)?;
        let param = Param { name, kind, dtype, axes, space, window, pinned, loc };
        self.builder.kernel_mut().params.push(param);
        Ok(())
    }

    fn window(&mut self) -> Parsed<Window> {
        let block = self.list(|p| {
            if p.eat_word("squeezed") {
                Ok(BlockDim::Squeezed)
            } else if p.eat_word("element") {
                Ok(BlockDim::Element(p.size()?))
            } else {
                Ok(BlockDim::Blocked(p.size()?))
            }
        })?;
        let buffering = if self.eat_word("single") {
            Buffering::Single
        } else if self.eat_word("multiple") {
            Buffering::Multiple(self.size()?)
        } else {
            Buffering::Double
        };
        let streams = if self.eat_word("streams") {
            let n = self.size()?;
            self.expect_word("axis")?;
            Some(Streams { axis: self.size()?, n })
        } else {
            None
        };
        self.expect_word("map")?;
        let index_map = self.region(1)?;
        Ok(Window { block, index_map, buffering, streams })
    }

    // Blocks.

    /// A block with its arguments and ops, in braces.
    pub(super) fn region(&mut self, depth: usize) -> Parsed<BlockId> {
        if depth > MAX_DEPTH {
            let error = Diagnostic::error(
                Code::IR_SYNTAX,
                format!("regions nest deeper than {MAX_DEPTH} levels"),
            );
            return Err(error.at(self.span_of(self.token()), ""));
        }
        let (block, _) = self.builder.open_block(&[]);
        self.scopes.push(HashMap::new());
        let parsed = self.block_args(block).and_then(|()| self.block_ops(depth));
        self.scopes.pop();
        self.builder.leave_block();
        parsed.map(|()| block)
    }

    fn block_args(&mut self, block: BlockId) -> Parsed<()> {
        if !self.eat('(') {
            return Ok(());
        }
        let mut n_args = 0;
        while !self.eat(')') {
            if n_args > 0 {
                self.expect(',')?;
            }
            n_args += 1;
            let TokenKind::Value(name) = self.peek() else {
                return Err(self.unexpected("an argument"));
            };
            let token = self.advance();
            self.expect(':')?;
            let ty = self.ty()?;
            let value = self.builder.add_arg(block, ty);
            self.define(token, name, Some(value));
        }
        Ok(())
    }

    /// Ops up to the closing brace. After a mistake it goes on at the next line.
    fn block_ops(&mut self, depth: usize) -> Parsed<()> {
        self.expect('{')?;
        while !self.eat('}') {
            if self.peek() == TokenKind::End {
                return Err(self.unexpected("`}`"));
            }
            let start = self.pos;
            if let Err(error) = self.op(depth) {
                self.report(error);
                self.skip_op(start);
            }
        }
        Ok(())
    }

    /// Goes to the next line, or past the regions that begin on this one.
    fn skip_op(&mut self, start: usize) {
        // A mistake in the first token must not be met again.
        self.pos = self.pos.max((start + 1).min(self.tokens.len()));
        let line = self.tokens.get(self.pos - 1).map_or(0, |token| token.line);
        let opened = |token: &&Token<'_>| token.kind == TokenKind::Punct('{');
        let mut depth = self.tokens[start..self.pos].iter().filter(opened).count();
        let closed = |token: &&Token<'_>| token.kind == TokenKind::Punct('}');
        depth -= self.tokens[start..self.pos].iter().filter(closed).count().min(depth);
        loop {
            let token = self.token();
            match token.kind {
                TokenKind::End => return,
                TokenKind::Punct('}') if depth == 0 => return,
                _ if depth == 0 && token.line != line => return,
                TokenKind::Punct('{') => depth += 1,
                TokenKind::Punct('}') => depth -= 1,
                _ => {}
            }
            self.advance();
        }
    }
}

fn declaration_kind(word: &str) -> Option<ParamKind> {
    let kinds = [ParamKind::Prefetch, ParamKind::In, ParamKind::Out, ParamKind::InOut];
    kinds.into_iter().find(|kind| kind.name() == word)
}
