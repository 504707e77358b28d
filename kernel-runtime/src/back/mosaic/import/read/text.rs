//! Modules as text: the generic form, `"dialect.op"(..) ({..}) {..} : (..) -> ..`.

use super::ast::{Attr, Block, Module, Op, Place, Type, ValueId};
use super::cursor::{Cursor, short};
use super::value::{ValueReader, lossy};
use super::{Fault, Read};
use std::collections::HashMap;
use std::rc::Rc;

/// Reads a module.
pub(super) fn module(text: &[u8]) -> Read<Module> {
    let mut reader = TextReader {
        values: ValueReader::new(text),
        scopes: vec![HashMap::new()],
        module: Module::default(),
    };
    reader.module()?;
    Ok(reader.module)
}

struct TextReader<'t> {
    values: ValueReader<'t>,
    /// The values of each region around the place, by name: several for an op of several results.
    scopes: Vec<HashMap<&'t str, Vec<ValueId>>>,
    module: Module,
}

impl<'t> TextReader<'t> {
    fn cursor(&mut self) -> &mut Cursor<'t> {
        &mut self.values.cursor
    }

    fn module(&mut self) -> Read<()> {
        self.skip_aliases()?;
        if self.cursor().eat_word("module") {
            if self.cursor().peek() == Some(b'@') {
                self.values.attr()?;
            }
            if self.cursor().eat_word("attributes") {
                self.module.attrs = Rc::new(self.values.op_attrs()?);
            }
            self.cursor().expect("{")?;
            self.module.ops = self.ops(Some("}"))?;
            self.trailing_loc()?;
        } else {
            let mut ops = self.ops(None)?;
            // The module itself may be written as an op.
            if ops.len() == 1 && &*ops[0].name == "builtin.module" {
                let module = ops.swap_remove(0);
                self.module.attrs = module.attrs;
                ops = module.regions.into_iter().next().unwrap_or_default().ops;
            }
            self.module.ops = ops;
        }
        self.skip_aliases()?;
        match self.cursor().peek() {
            None => Ok(()),
            Some(_) => self.cursor().expected("the end of the text"),
        }
    }

    /// Passes over definitions of short names, which are read where they are used.
    fn skip_aliases(&mut self) -> Read<()> {
        loop {
            match self.cursor().peek() {
                Some(b'#' | b'!') => {
                    let cursor = self.cursor();
                    cursor.advance(1);
                    cursor.name();
                    cursor.expect("=")?;
                    self.values.attr()?;
                }
                Some(b'{') if self.cursor().eat("{-#") => {
                    // Data for tools, to the end.
                    self.cursor().advance(usize::MAX / 2);
                }
                _ => return Ok(()),
            }
        }
    }

    /// Ops up to `close`, or to the end of the text or of definitions.
    fn ops(&mut self, close: Option<&str>) -> Read<Vec<Op>> {
        let mut ops = Vec::new();
        loop {
            match (self.cursor().peek(), close) {
                (_, Some(close)) if self.cursor().eat(close) => return Ok(ops),
                (None | Some(b'#' | b'!' | b'{'), None) => return Ok(ops),
                _ => {
                    let op = self.op()?;
                    ops.push(op);
                }
            }
        }
    }

    fn op(&mut self) -> Read<Op> {
        let mut names: Vec<(&'t str, usize)> = Vec::new();
        let start = self.cursor().pos();
        while self.cursor().peek() == Some(b'%') {
            let name = self.value_name()?;
            let n = if self.cursor().eat(":") { self.cursor().digits()? } else { Some(1) };
            names.push((name, usize::try_from(n.unwrap_or(0)).unwrap_or(usize::MAX)));
            if !self.cursor().eat(",") {
                self.cursor().expect("=")?;
                break;
            }
        }
        let name = self.op_name()?;
        self.cursor().expect("(")?;
        let operands = self.operands()?;
        if self.cursor().peek() == Some(b'[') {
            return self.cursor().fault(format!(
                "`{}` jumps to other blocks: only structured control flow is read",
                short(&name)
            ));
        }
        let mut attrs = if self.cursor().eat("<") { self.properties()? } else { Vec::new() };
        let mut regions = Vec::new();
        if self.cursor().eat("(") {
            loop {
                regions.push(self.region()?);
                if !self.cursor().eat(",") {
                    break;
                }
            }
            self.cursor().expect(")")?;
        }
        if self.cursor().peek() == Some(b'{') {
            attrs.extend(self.values.op_attrs()?);
        }
        self.cursor().expect(":")?;
        let results = self.results(&operands, &names, start)?;
        let place = match self.trailing_loc()? {
            Some(place) => place,
            None => Place::Offset(start),
        };
        Ok(Op { name, operands, results, attrs: Rc::new(attrs), regions, place })
    }

    fn op_name(&mut self) -> Read<Rc<str>> {
        match self.cursor().peek() {
            Some(b'"') => Ok(lossy(&self.cursor().string()?)),
            _ => {
                let here = *self.cursor();
                match self.cursor().word() {
                    Some(word) if word.contains('.') => here.fault(format!(
                        "`{}` is written in a form of its own: only the generic form, \
                         `\"{}\"(..)`, is read",
                        short(word),
                        short(word)
                    )),
                    _ => here.expected("an op in the generic form, `\"dialect.op\"(..)`"),
                }
            }
        }
    }

    /// `{..}>` of properties, which are attributes like others.
    fn properties(&mut self) -> Read<super::ast::Attrs> {
        let attrs = self.values.op_attrs()?;
        self.cursor().expect(">")?;
        Ok(attrs)
    }

    /// `%name`, without the sign.
    fn value_name(&mut self) -> Read<&'t str> {
        self.cursor().expect("%")?;
        let name = self.cursor().name();
        if name.is_empty() { self.cursor().expected("the name of a value") } else { Ok(name) }
    }

    fn operands(&mut self) -> Read<Vec<ValueId>> {
        let mut operands = Vec::new();
        if self.cursor().eat(")") {
            return Ok(operands);
        }
        loop {
            self.cursor().skip_blank();
            let start = self.cursor().pos();
            let name = self.value_name()?;
            let idx = match self.cursor().byte() {
                Some(b'#') => {
                    self.cursor().advance(1);
                    self.cursor().digits()?.unwrap_or(u64::MAX)
                }
                _ => 0,
            };
            let known = self.scopes.iter().rev().find_map(|scope| scope.get(name));
            let value = known.and_then(|values| values.get(usize::try_from(idx).ok()?));
            let Some(&value) = value else {
                let name = short(name);
                return Err(Fault::new(start, format!("`%{name}` is not defined before its use")));
            };
            operands.push(value);
            if self.cursor().eat(")") {
                return Ok(operands);
            }
            self.cursor().expect(",")?;
        }
    }

    /// The type behind an op: checked against its operands, and its results made.
    fn results(
        &mut self,
        operands: &[ValueId],
        names: &[(&'t str, usize)],
        start: usize,
    ) -> Read<Vec<ValueId>> {
        let Type::Function { inputs, results } = self.values.function_type()? else {
            return self.cursor().fault("an op has the type of a function");
        };
        let fits = inputs.len() == operands.len()
            && operands.iter().zip(&inputs).all(|(&value, ty)| self.module.ty(value) == ty);
        if !fits {
            return Err(Fault::new(
                start,
                "the types of operands differ from those of their values",
            ));
        }
        let n_named: usize = names.iter().fold(0, |n, (_, more)| n.saturating_add(*more));
        if n_named != results.len() && !names.is_empty() {
            let message = format!("{n_named} results are named, the type has {}", results.len());
            return Err(Fault::new(start, message));
        }
        let values: Vec<ValueId> = results.into_iter().map(|ty| self.module.value(ty)).collect();
        let mut rest = &values[..];
        for &(name, n) in names {
            let (mine, others) = rest.split_at(n);
            self.define(name, mine.to_vec(), start)?;
            rest = others;
        }
        Ok(values)
    }

    fn define(&mut self, name: &'t str, values: Vec<ValueId>, start: usize) -> Read<()> {
        let known = self.scopes.iter().any(|scope| scope.contains_key(name));
        if known {
            return Err(Fault::new(start, format!("`%{}` is defined twice", short(name))));
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, values);
        }
        Ok(())
    }

    fn region(&mut self) -> Read<Block> {
        self.cursor().expect("{")?;
        self.scopes.push(HashMap::new());
        self.cursor().enter()?;
        let block = self.block()?;
        self.cursor().leave();
        self.scopes.pop();
        Ok(block)
    }

    fn block(&mut self) -> Read<Block> {
        let mut args = Vec::new();
        if self.cursor().eat("^") {
            self.cursor().name();
            if self.cursor().eat("(") && !self.cursor().eat(")") {
                loop {
                    args.push(self.block_arg()?);
                    if self.cursor().eat(")") {
                        break;
                    }
                    self.cursor().expect(",")?;
                }
            }
            self.cursor().expect(":")?;
        }
        let mut ops = Vec::new();
        while !self.cursor().eat("}") {
            if self.cursor().peek() == Some(b'^') {
                return self
                    .cursor()
                    .fault("a region has several blocks: only structured control flow is read");
            }
            let op = self.op()?;
            ops.push(op);
        }
        Ok(Block { args, ops })
    }

    fn block_arg(&mut self) -> Read<ValueId> {
        self.cursor().skip_blank();
        let start = self.cursor().pos();
        let name = self.value_name()?;
        self.cursor().expect(":")?;
        let ty = self.values.ty()?;
        self.trailing_loc()?;
        let value = self.module.value(ty);
        self.define(name, vec![value], start)?;
        Ok(value)
    }

    fn trailing_loc(&mut self) -> Read<Option<Place>> {
        let mut probe = *self.cursor();
        let is_loc = probe.word() == Some("loc") && probe.byte() == Some(b'(');
        if !is_loc {
            return Ok(None);
        }
        match self.values.attr()? {
            Attr::Loc(place) => Ok(Some(place)),
            _ => self.cursor().expected("a location"),
        }
    }
}
