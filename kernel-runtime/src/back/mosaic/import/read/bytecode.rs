//! Modules as bytecode, versions 0 to 6 of MLIR's format.

use super::ast::{Attr, Attrs, Block, Module, Op, Place, ValueId};
use super::builtin::{Entry, Slot, Table};
use super::value::lossy;
use super::{Fault, MAGIC, MAX_ATTRS, MAX_DEPTH, Read};
use std::collections::HashMap;
use std::rc::Rc;

/// The newest version of the format that is read.
const MAX_VERSION: u64 = 6;
/// What fills the space before aligned sections.
const PADDING: u8 = 0xcb;

// From these versions of the format on:
/// dialects may have versions of their own,
const DIALECT_VERSIONS: u64 = 1;
/// regions of isolated ops are sections,
const LAZY_REGIONS: u64 = 2;
/// orders of uses are recorded,
const USE_ORDERS: u64 = 3;
/// the number of op names comes first, and unknown locations of arguments are left out,
const SHORT_ARGUMENTS: u64 = 4;
/// op names say whether the writer knew the op, whose properties are then apart.
const PROPERTIES: u64 = 5;

/// Bytes not read yet, which end where their section does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'b> {
    all: &'b [u8],
    pos: usize,
    end: usize,
}

impl<'b> Bytes<'b> {
    pub(super) fn pos(&self) -> usize {
        self.pos
    }

    fn is_empty(&self) -> bool {
        self.pos >= self.end
    }

    fn fault<T>(&self, message: impl Into<String>) -> Read<T> {
        Err(Fault::new(self.pos, message))
    }

    pub(super) fn byte(&mut self) -> Read<u8> {
        if self.is_empty() {
            return self.fault("the bytes end early: is the file cut short?");
        }
        self.pos += 1;
        Ok(self.all[self.pos - 1])
    }

    fn take(&mut self, n: u64) -> Read<Bytes<'b>> {
        let left = (self.end - self.pos) as u64;
        if n > left {
            return self.fault(format!(
                "{n} bytes are announced, {left} are left: is the file cut short?"
            ));
        }
        let part = Bytes { end: self.pos + n as usize, ..*self };
        self.pos = part.end;
        Ok(part)
    }

    /// Everything that is left.
    pub(super) fn rest(&mut self) -> &'b [u8] {
        let rest = &self.all[self.pos..self.end];
        self.pos = self.end;
        rest
    }

    pub(super) fn skip_all(&mut self) {
        self.pos = self.end;
    }

    /// Checks that nothing is left of what was read.
    pub(super) fn end(&self, what: &str) -> Read<()> {
        if self.is_empty() {
            return Ok(());
        }
        self.fault(format!("{} bytes are left behind the {what}", self.end - self.pos))
    }

    /// An unsigned number: zeros at the bottom of the first byte tell how many more bytes it has.
    pub(super) fn varint(&mut self) -> Read<u64> {
        let first = self.byte()?;
        let n_more = first.trailing_zeros();
        if n_more == 0 {
            return Ok(u64::from(first >> 1));
        }
        let mut raw = u128::from(first);
        for idx in 1..=n_more.min(8) {
            raw |= u128::from(self.byte()?) << (8 * idx);
        }
        Ok((raw >> (n_more + 1).min(9)) as u64)
    }

    /// A number with a flag in its lowest bit.
    fn flagged(&mut self) -> Read<(u64, bool)> {
        let raw = self.varint()?;
        Ok((raw >> 1, raw & 1 != 0))
    }

    /// A signed number: the lowest bit is the sign.
    pub(super) fn signed(&mut self) -> Read<i64> {
        let raw = self.varint()?;
        Ok((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }

    /// A number of items, each of which takes at least a byte.
    pub(super) fn count(&mut self) -> Read<u64> {
        let at = self.pos;
        let n = self.varint()?;
        let left = (self.end - self.pos) as u64;
        if n > left {
            let message = format!("{n} items are announced, but {left} bytes are left");
            return Err(Fault::new(at, message));
        }
        Ok(n)
    }

    /// A number below `n`.
    pub(super) fn index(&mut self, n: usize, what: &str) -> Read<usize> {
        let at = self.pos;
        let idx = self.varint()?;
        match usize::try_from(idx) {
            Ok(idx) if idx < n => Ok(idx),
            _ => Err(Fault::new(at, format!("there is no {what} {idx}: there are {n}"))),
        }
    }

    /// A line or column.
    pub(super) fn coordinate(&mut self) -> Read<u32> {
        Ok(u32::try_from(self.varint()?).unwrap_or(u32::MAX))
    }

    /// Bytes behind their number.
    pub(super) fn blob(&mut self) -> Read<&'b [u8]> {
        let n = self.varint()?;
        Ok(self.take(n)?.rest())
    }

    /// A section: its kind and its bytes.
    fn section(&mut self) -> Read<(u8, Bytes<'b>)> {
        let head = self.byte()?;
        let length = self.varint()?;
        if head & 0x80 != 0 {
            let at = self.pos;
            let alignment = self.varint()?;
            if !alignment.is_power_of_two() {
                return Err(Fault::new(at, format!("{alignment} is no alignment")));
            }
            while !(self.pos as u64).is_multiple_of(alignment) {
                let at = self.pos;
                if self.byte()? != PADDING {
                    return Err(Fault::new(at, "padding has another value"));
                }
            }
        }
        Ok((head & 0x7f, self.take(length)?))
    }
}

const STRINGS: usize = 0;
const DIALECTS: usize = 1;
const ATTRS: usize = 2;
const ATTR_OFFSETS: usize = 3;
const OPS: usize = 4;
const N_SECTIONS: usize = 9;

/// Reads a module.
pub(super) fn module(bytes: &[u8]) -> Read<Module> {
    let mut bytes = Bytes { all: bytes, pos: 0, end: bytes.len() };
    bytes.take(MAGIC.len() as u64)?;
    let at = bytes.pos();
    let version = bytes.varint()?;
    if version > MAX_VERSION {
        let message = format!(
            "this is version {version} of MLIR's bytecode, versions up to {MAX_VERSION} are read"
        );
        return Err(Fault::new(at, message));
    }
    // The name of the writer.
    while bytes.byte()? != 0 {}
    let mut sections: [Option<Bytes<'_>>; N_SECTIONS] = Default::default();
    while !bytes.is_empty() {
        let at = bytes.pos();
        let (kind, section) = bytes.section()?;
        match sections.get_mut(usize::from(kind)) {
            Some(slot @ None) => *slot = Some(section),
            Some(Some(_)) => {
                return Err(Fault::new(at, format!("section {kind} is there twice")));
            }
            None => return Err(Fault::new(at, format!("there is no section {kind}"))),
        }
    }
    let end = bytes.pos();
    let section = |kind: usize, what: &str| {
        sections[kind].ok_or_else(|| Fault::new(end, format!("the section of {what} is missing")))
    };
    let mut reader = ModuleReader { version, ..ModuleReader::default() };
    reader.table.strings = strings(section(STRINGS, "strings")?)?;
    reader.dialects(section(DIALECTS, "dialects")?)?;
    reader.entries(section(ATTRS, "attributes")?, section(ATTR_OFFSETS, "their sizes")?)?;
    reader.top_level(section(OPS, "ops")?)
}

/// The strings: their lengths come last one first, then their bytes, each with a final zero.
fn strings(mut bytes: Bytes<'_>) -> Read<Vec<Rc<str>>> {
    let n = bytes.count()?;
    let mut lengths = Vec::new();
    for _ in 0..n {
        lengths.push(bytes.varint()?);
    }
    lengths
        .into_iter()
        .rev()
        .map(|length| match bytes.take(length)?.rest().split_last() {
            Some((0, text)) => Ok(lossy(text)),
            _ => bytes.fault("a string does not end in a zero"),
        })
        .collect()
}

#[derive(Default)]
struct ModuleReader<'b> {
    version: u64,
    table: Table<'b>,
    dialects: Vec<Rc<str>>,
    ops: Vec<OpName>,
    /// The values of each isolated op around the place.
    scopes: Vec<Scope>,
    module: Module,
    depth: usize,
}

/// The values of an isolated op: every region has numbers of its own, behind those of the regions
/// around it.
#[derive(Default)]
struct Scope {
    values: HashMap<u64, ValueId>,
    /// Of each region around the place, the innermost last.
    regions: Vec<RegionNumbers>,
}

struct RegionNumbers {
    first: u64,
    next: u64,
    end: u64,
}

struct OpName {
    name: Rc<str>,
    /// Whether the writer knew the op.
    is_registered: bool,
}

impl<'b> ModuleReader<'b> {
    fn dialects(&mut self, mut bytes: Bytes<'b>) -> Read<()> {
        let n = bytes.count()?;
        for _ in 0..n {
            let name = if self.version >= DIALECT_VERSIONS {
                let at = bytes.pos();
                let (idx, has_version) = bytes.flagged()?;
                if has_version {
                    bytes.section()?;
                }
                self.string_at(at, idx)?
            } else {
                self.table.string(&mut bytes)?
            };
            self.dialects.push(name);
        }
        if self.version >= SHORT_ARGUMENTS {
            bytes.varint()?;
        }
        while !bytes.is_empty() {
            let dialect = bytes.index(self.dialects.len(), "dialect")?;
            let n = bytes.count()?;
            for _ in 0..n {
                let at = bytes.pos();
                let (idx, is_registered) = if self.version >= PROPERTIES {
                    bytes.flagged()?
                } else {
                    (bytes.varint()?, false)
                };
                let op = self.string_at(at, idx)?;
                let name = Rc::from(format!("{}.{op}", self.dialects[dialect]));
                self.ops.push(OpName { name, is_registered });
            }
        }
        Ok(())
    }

    fn string_at(&self, at: usize, idx: u64) -> Read<Rc<str>> {
        let string = usize::try_from(idx).ok().and_then(|idx| self.table.strings.get(idx));
        match string {
            Some(string) => Ok(Rc::clone(string)),
            None => Err(Fault::new(at, format!("there is no string {idx}"))),
        }
    }

    /// Finds where each attribute and type is.
    fn entries(&mut self, mut bytes: Bytes<'b>, mut sizes: Bytes<'b>) -> Read<()> {
        let (n_attrs, n_types) = (sizes.count()?, sizes.count()?);
        for (n, is_attr) in [(n_attrs, true), (n_types, false)] {
            let mut n_found = 0;
            while n_found < n {
                let dialect = sizes.index(self.dialects.len(), "dialect")?;
                let is_builtin = &*self.dialects[dialect] == "builtin";
                let n_here = sizes.count()?;
                if n_here == 0 || n_here > n - n_found {
                    return sizes.fault("a group of attributes or types has a wrong size");
                }
                for _ in 0..n_here {
                    let (size, is_encoded) = sizes.flagged()?;
                    let entry = Entry { bytes: bytes.take(size)?, is_builtin, is_encoded };
                    if is_attr {
                        self.table.attrs.push(Slot::new(entry));
                    } else {
                        self.table.types.push(Slot::new(entry));
                    }
                }
                n_found += n_here;
            }
        }
        Ok(())
    }

    /// The ops of the file: one `builtin.module`.
    fn top_level(mut self, mut bytes: Bytes<'b>) -> Read<Module> {
        let at = bytes.pos();
        self.scopes.push(Scope::default());
        let block = self.block(&mut bytes)?;
        bytes.end("module")?;
        let mut ops = block.ops;
        let (Some(module), true) = (ops.pop(), ops.is_empty()) else {
            return Err(Fault::new(at, "the file does not hold one module"));
        };
        if &*module.name != "builtin.module" {
            return Err(Fault::new(at, format!("the file holds a `{}`, no module", module.name)));
        }
        self.module.attrs = module.attrs;
        self.module.ops = module.regions.into_iter().next().unwrap_or_default().ops;
        Ok(self.module)
    }

    fn block(&mut self, bytes: &mut Bytes<'b>) -> Read<Block> {
        let (n_ops, has_args) = bytes.flagged()?;
        let mut block = Block::default();
        let at = bytes.pos();
        if has_args {
            let n = bytes.count()?;
            for _ in 0..n {
                let at = bytes.pos();
                let ty = if self.version >= SHORT_ARGUMENTS {
                    let (idx, has_place) = bytes.flagged()?;
                    if has_place {
                        self.table.attr(bytes)?;
                    }
                    self.table.ty_at(at, usize::try_from(idx).unwrap_or(usize::MAX))?
                } else {
                    let ty = self.table.ty(bytes)?;
                    self.table.attr(bytes)?;
                    ty
                };
                let value = self.module.value(ty);
                block.args.push(value);
            }
            if self.version >= USE_ORDERS && bytes.byte()? != 0 {
                skip_use_orders(bytes, n)?;
            }
        }
        self.define(at, &block.args)?;
        for _ in 0..n_ops {
            let op = self.op(bytes)?;
            block.ops.push(op);
        }
        Ok(block)
    }

    /// Gives values the next numbers of the region at hand.
    fn define(&mut self, at: usize, values: &[ValueId]) -> Read<()> {
        for &value in values {
            let scope = self.scopes.last_mut();
            let found = scope.and_then(|scope| {
                let region = scope.regions.last_mut().filter(|region| region.next < region.end)?;
                scope.values.insert(region.next, value);
                region.next += 1;
                Some(())
            });
            if found.is_none() {
                return Err(Fault::new(at, "a region defines more values than it announces"));
            }
        }
        Ok(())
    }

    fn op(&mut self, bytes: &mut Bytes<'b>) -> Read<Op> {
        let at = bytes.pos();
        let idx = bytes.index(self.ops.len(), "op name")?;
        let (name, is_registered) = (Rc::clone(&self.ops[idx].name), self.ops[idx].is_registered);
        let mask = bytes.byte()?;
        let has = |bit: u8| mask & 1 << bit != 0;
        let place = match self.table.attr(bytes)? {
            Attr::Loc(place) => place,
            _ => Place::Unknown,
        };
        let mut attrs = if has(0) { self.dict(bytes)? } else { Rc::default() };
        if has(6) {
            self.properties(bytes, &name, is_registered, &mut attrs)?;
        }
        let mut types = Vec::new();
        if has(1) {
            for _ in 0..bytes.count()? {
                types.push(self.table.ty(bytes)?);
            }
        }
        let mut operands = Vec::new();
        if has(2) {
            for _ in 0..bytes.count()? {
                operands.push(self.operand(bytes)?);
            }
        }
        if has(3) {
            let message =
                format!("`{name}` jumps to other blocks: only structured control flow is read");
            return Err(Fault::new(at, message));
        }
        if has(5) && self.version >= USE_ORDERS {
            skip_use_orders(bytes, types.len() as u64)?;
        }
        let results: Vec<ValueId> = types.into_iter().map(|ty| self.module.value(ty)).collect();
        self.define(at, &results)?;
        let regions = if has(4) { self.regions(bytes)? } else { Vec::new() };
        Ok(Op { name, operands, results, attrs, regions, place })
    }

    fn dict(&mut self, bytes: &mut Bytes<'b>) -> Read<Rc<Attrs>> {
        let at = bytes.pos();
        match self.table.attr(bytes)? {
            Attr::Dict(entries) if entries.len() <= MAX_ATTRS => Ok(entries),
            Attr::Dict(_) => {
                Err(Fault::new(at, format!("an op has more than {MAX_ATTRS} attributes")))
            }
            _ => Err(Fault::new(at, "the attributes of an op are no dictionary")),
        }
    }

    /// Properties of an op that the writer did not know are attributes.
    fn properties(
        &mut self,
        bytes: &mut Bytes<'b>,
        name: &str,
        is_registered: bool,
        attrs: &mut Rc<Attrs>,
    ) -> Read<()> {
        let at = bytes.pos();
        if !is_registered {
            let properties = self.dict(bytes)?;
            *attrs = Rc::new(attrs.iter().chain(properties.iter()).cloned().collect());
            return Ok(());
        }
        bytes.varint()?;
        // A module's own are its name and visibility.
        if name == "builtin.module" {
            return Ok(());
        }
        let message = format!(
            "`{name}` has properties in the private form of its dialect, which only the stable \
             form of Mosaic avoids"
        );
        Err(Fault::new(at, message))
    }

    fn operand(&mut self, bytes: &mut Bytes<'b>) -> Read<ValueId> {
        let at = bytes.pos();
        let idx = bytes.varint()?;
        let value = self.scopes.last().and_then(|scope| scope.values.get(&idx).copied());
        value.ok_or_else(|| Fault::new(at, format!("value {idx} is not defined before its use")))
    }

    fn regions(&mut self, bytes: &mut Bytes<'b>) -> Read<Vec<Block>> {
        let (n, is_isolated) = bytes.flagged()?;
        if self.depth >= MAX_DEPTH {
            return bytes.fault(format!("regions nest more than {MAX_DEPTH} deep"));
        }
        self.depth += 1;
        let mut inner = *bytes;
        let is_section = is_isolated && self.version >= LAZY_REGIONS;
        if is_section {
            let (kind, section) = bytes.section()?;
            if usize::from(kind) != OPS {
                return bytes.fault("the regions of an op are no section of ops");
            }
            inner = section;
        }
        if n > (inner.end - inner.pos) as u64 {
            return inner.fault(format!("{n} regions are announced, but the bytes end"));
        }
        if is_isolated {
            self.scopes.push(Scope::default());
        }
        let mut regions = Vec::new();
        for _ in 0..n {
            regions.push(self.region(&mut inner)?);
        }
        if is_isolated {
            self.scopes.pop();
        }
        if is_section {
            inner.end("regions")?;
        } else {
            *bytes = inner;
        }
        self.depth -= 1;
        Ok(regions)
    }

    fn region(&mut self, bytes: &mut Bytes<'b>) -> Read<Block> {
        let at = bytes.pos();
        let n_blocks = bytes.varint()?;
        if n_blocks == 0 {
            return Ok(Block::default());
        }
        if n_blocks > 1 {
            let message = "a region has several blocks: only structured control flow is read";
            return Err(Fault::new(at, message));
        }
        let n_values = bytes.count()?;
        let Some(scope) = self.scopes.last_mut() else {
            return bytes.fault("a region stands in no op");
        };
        let first = scope.regions.last().map_or(0, |outer| outer.end);
        scope.regions.push(RegionNumbers {
            first,
            next: first,
            end: first.saturating_add(n_values),
        });
        let block = self.block(bytes)?;
        if let Some(scope) = self.scopes.last_mut()
            && let Some(region) = scope.regions.pop()
        {
            for number in region.first..region.next {
                scope.values.remove(&number);
            }
        }
        Ok(block)
    }
}

/// Passes over the orders of uses of `n` values.
fn skip_use_orders(bytes: &mut Bytes<'_>, n: u64) -> Read<()> {
    let n_lists = if n > 1 { bytes.count()? } else { 1 };
    for _ in 0..n_lists {
        if n > 1 {
            bytes.varint()?;
        }
        let (n_indices, _) = bytes.flagged()?;
        for _ in 0..n_indices {
            bytes.varint()?;
        }
    }
    Ok(())
}
