//! Attributes, types and locations as text.

use super::ast::{Attr, Dense, Place, Sign, Ty, Type};
use super::cursor::{Cursor, short};
use super::{Fault, MAX_ATTRS, MAX_DEPTH, MAX_RANK, Read, ast};
use half::{bf16, f16};
use std::collections::HashMap;
use std::rc::Rc;

/// What the short names of a text stand for: `#map`, `#loc3`, `!t`.
///
/// Definitions are read when they are first used and then shared, so that definitions made of each
/// other take no more work than their text is long.
#[derive(Debug, Default)]
pub(super) struct Aliases<'t> {
    /// Where the text of each definition begins.
    places: HashMap<&'t str, usize>,
    /// Values, and how deep they nest.
    known: HashMap<&'t str, (Attr, usize)>,
}

impl<'t> Aliases<'t> {
    /// Every line of the text that begins with a definition.
    pub(super) fn scan(text: &'t [u8]) -> Aliases<'t> {
        let mut aliases = Aliases::default();
        let mut start = 0;
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            if matches!(line.first(), Some(b'#' | b'!')) {
                let mut cursor = Cursor::new(text).at(start);
                cursor.advance(1);
                let name_start = start;
                cursor.name();
                if let Ok(name) = cursor.slice(name_start)
                    && cursor.eat("=")
                {
                    aliases.places.insert(name, cursor.pos());
                }
            }
            start += line.len();
        }
        aliases
    }
}

/// A number before its type is known.
#[derive(Clone, Copy, Debug)]
enum Number<'t> {
    Int { negative: bool, magnitude: u64, is_hex: bool },
    Float(&'t str),
    Bool(bool),
}

/// Reads values of a text.
pub(crate) struct ValueReader<'t> {
    pub(crate) cursor: Cursor<'t>,
    aliases: Aliases<'t>,
    /// How deep the values nest that were read for the one at hand.
    height: usize,
}

impl<'t> ValueReader<'t> {
    pub(crate) fn new(text: &'t [u8]) -> ValueReader<'t> {
        ValueReader { cursor: Cursor::new(text), aliases: Aliases::scan(text), height: 0 }
    }

    /// A reader of a text without definitions.
    fn alone(text: &'t [u8]) -> ValueReader<'t> {
        ValueReader { cursor: Cursor::new(text), aliases: Aliases::default(), height: 0 }
    }

    /// Reads one level deeper.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        self.cursor.enter()?;
        let outer = std::mem::take(&mut self.height);
        let value = read(self)?;
        self.height += 1;
        if self.height > MAX_DEPTH {
            return self.cursor.fault(format!("it nests more than {MAX_DEPTH} deep"));
        }
        self.height = self.height.max(outer);
        self.cursor.leave();
        Ok(value)
    }

    /// A list up to `close`, with commas between.
    pub(super) fn list<T>(
        &mut self,
        close: &str,
        mut read: impl FnMut(&mut Self) -> Read<T>,
    ) -> Read<Vec<T>> {
        let mut items = Vec::new();
        if self.cursor.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(read(self)?);
            if self.cursor.eat(close) {
                return Ok(items);
            }
            self.cursor.expect(",")?;
        }
    }

    /// The value of a short name, which begins here with `#` or `!`.
    fn alias(&mut self, name: &'t str, start: usize) -> Read<Attr> {
        if let Some((known, height)) = self.aliases.known.get(name) {
            self.height = self.height.max(*height);
            return Ok(known.clone());
        }
        let Some(&place) = self.aliases.places.get(name) else {
            return Err(Fault::new(start, format!("`{}` is not defined", short(name))));
        };
        let (back, outer) = (self.cursor, std::mem::take(&mut self.height));
        self.cursor = self.cursor.at(place);
        let value = if name.starts_with('!') { self.ty().map(Attr::Type)? } else { self.attr()? };
        self.cursor = back;
        self.aliases.known.insert(name, (value.clone(), self.height));
        self.height = self.height.max(outer);
        Ok(value)
    }

    /// A name behind `#` or `!`, with the sign: its text if a dialect owns it, else its meaning.
    fn marked(&mut self) -> Read<Result<Rc<str>, Attr>> {
        let start = self.cursor.pos();
        self.cursor.advance(1);
        let name = self.cursor.name();
        if !name.contains('.') && self.cursor.byte() != Some(b'<') {
            let name = self.cursor.slice(start)?;
            return Ok(Err(self.alias(name, start)?));
        }
        if self.cursor.byte() == Some(b'<') {
            self.cursor.balanced()?;
        }
        Ok(Ok(Rc::from(self.cursor.slice(start)?)))
    }

    /// A type.
    pub(super) fn ty(&mut self) -> Read<Ty> {
        self.nested(Self::ty_here)
    }

    fn ty_here(&mut self) -> Read<Ty> {
        match self.cursor.peek() {
            Some(b'(') => return Ok(Rc::new(self.function_type()?)),
            Some(b'!') => {
                let start = self.cursor.pos();
                return match self.marked()? {
                    Ok(text) => Ok(Rc::new(Type::Other(text))),
                    Err(Attr::Type(ty)) => Ok(ty),
                    Err(_) => Err(Fault::new(start, "this name stands for no type")),
                };
            }
            _ => {}
        }
        let start = self.cursor.pos();
        let Some(word) = self.cursor.word() else { return self.cursor.expected("a type") };
        let ty = match word {
            "index" => Type::Index,
            "vector" => {
                let (shape, elem) = self.shaped()?;
                self.cursor.expect(">")?;
                Type::Vector { shape, elem }
            }
            "tensor" => {
                let (shape, elem) = self.shaped()?;
                if self.cursor.eat(",") {
                    self.attr()?;
                }
                self.cursor.expect(">")?;
                Type::Tensor { shape, elem }
            }
            "memref" => self.memref()?,
            "none" => Type::Other(Rc::from("none")),
            "tuple" | "complex" => {
                self.cursor.skip_blank();
                self.cursor.balanced()?;
                Type::Other(Rc::from(self.cursor.slice(start)?))
            }
            _ => match number_type(word) {
                Some(ty) => ty,
                None => {
                    return Err(Fault::new(start, format!("`{}` is no type", short(word))));
                }
            },
        };
        Ok(Rc::new(ty))
    }

    /// `(..) -> ..`.
    pub(crate) fn function_type(&mut self) -> Read<Type> {
        self.cursor.expect("(")?;
        let inputs = self.list(")", Self::first_order)?;
        self.cursor.expect("->")?;
        let results = if self.cursor.peek() == Some(b'(') {
            self.cursor.expect("(")?;
            self.list(")", Self::first_order)?
        } else {
            vec![self.first_order()?]
        };
        Ok(Type::Function { inputs, results })
    }

    /// A type that is no function's. Types are compared, which takes no longer than their text if
    /// they have one part each.
    fn first_order(&mut self) -> Read<Ty> {
        let start = self.cursor.pos();
        let ty = self.ty()?;
        match *ty {
            Type::Function { .. } => {
                Err(Fault::new(start, "functions that take or give functions are not read"))
            }
            _ => Ok(ty),
        }
    }

    /// `<4x8xf32` of a vector, tensor or memref.
    fn shaped(&mut self) -> Read<(Vec<i64>, Ty)> {
        self.cursor.expect("<")?;
        let mut shape = Vec::new();
        loop {
            if shape.len() > MAX_RANK {
                return self.cursor.fault(format!("it has more than {MAX_RANK} axes"));
            }
            let size = match self.cursor.peek() {
                Some(b'?') => {
                    self.cursor.advance(1);
                    ast::DYNAMIC
                }
                Some(b'*' | b'[') => {
                    return self.cursor.fault("neither unranked nor scalable types are read");
                }
                _ => match self.cursor.digits()? {
                    Some(size) => i64::try_from(size).unwrap_or(i64::MAX),
                    None => return Ok((shape, self.ty()?)),
                },
            };
            if self.cursor.byte() != Some(b'x') {
                return self.cursor.expected("`x` behind a size");
            }
            self.cursor.advance(1);
            shape.push(size);
        }
    }

    fn memref(&mut self) -> Read<Type> {
        let (shape, elem) = self.shaped()?;
        let (mut layout, mut space) = (None, None);
        while self.cursor.eat(",") {
            let start = self.cursor.pos();
            let attr = self.attr()?;
            if !is_flat(&attr) {
                return Err(Fault::new(start, "this is neither a layout nor a memory space"));
            }
            if is_layout(&attr) {
                layout = Some(attr);
            } else {
                space = Some(attr);
            }
        }
        self.cursor.expect(">")?;
        Ok(Type::MemRef { shape, elem, layout, space })
    }

    /// An attribute.
    pub(crate) fn attr(&mut self) -> Read<Attr> {
        self.nested(Self::attr_here)
    }

    fn attr_here(&mut self) -> Read<Attr> {
        let start = match self.cursor.peek() {
            Some(b'[') => {
                self.cursor.advance(1);
                return Ok(Attr::Array(Rc::new(self.list("]", Self::attr)?)));
            }
            Some(b'{') => return Ok(Attr::Dict(Rc::new(self.dict()?))),
            Some(b'"') => {
                let text = lossy(&self.cursor.string()?);
                if self.cursor.eat(":") {
                    self.ty()?;
                }
                return Ok(Attr::Str(text));
            }
            Some(b'@') => return self.symbol(),
            Some(b'#') => {
                return Ok(match self.marked()? {
                    Ok(text) => Attr::Other(text),
                    Err(value) => value,
                });
            }
            Some(b'0'..=b'9' | b'-') => return self.number_attr(),
            Some(b'(' | b'!') => return Ok(Attr::Type(self.ty()?)),
            _ => self.cursor.pos(),
        };
        let mut probe = self.cursor;
        match probe.word() {
            Some("true" | "false") => self.number_attr(),
            Some("unit") => {
                self.cursor = probe;
                Ok(Attr::Unit)
            }
            Some("dense") => {
                self.cursor = probe;
                self.dense()
            }
            Some("array") => {
                self.cursor = probe;
                self.ints()
            }
            Some("loc") => Ok(Attr::Loc(self.loc()?)),
            Some(
                "affine_map" | "affine_set" | "strided" | "dense_resource" | "sparse" | "distinct",
            ) => {
                self.cursor = probe;
                self.cursor.skip_blank();
                self.cursor.balanced()?;
                if self.cursor.peek() == Some(b'<') {
                    self.cursor.balanced()?;
                }
                let text = Rc::from(self.cursor.slice(start)?);
                if self.cursor.eat(":") {
                    self.ty()?;
                }
                Ok(Attr::Other(text))
            }
            Some(_) => Ok(Attr::Type(self.ty()?)),
            None => self.cursor.expected("an attribute"),
        }
    }

    /// `{name = value, flag}`.
    fn dict(&mut self) -> Read<ast::Attrs> {
        self.cursor.expect("{")?;
        self.list("}", |reader| {
            let name: Rc<str> = match reader.cursor.peek() {
                Some(b'"') => lossy(&reader.cursor.string()?),
                _ => match reader.cursor.word() {
                    Some(word) => Rc::from(word),
                    None => return reader.cursor.expected("the name of an attribute"),
                },
            };
            let value = if reader.cursor.eat("=") { reader.attr()? } else { Attr::Unit };
            Ok((name, value))
        })
    }

    /// The attributes of an op.
    pub(crate) fn op_attrs(&mut self) -> Read<ast::Attrs> {
        self.height = 0;
        let start = self.cursor.pos();
        let attrs = self.dict()?;
        if attrs.len() > MAX_ATTRS {
            let message = format!("an op has more than {MAX_ATTRS} attributes");
            return Err(Fault::new(start, message));
        }
        Ok(attrs)
    }

    fn symbol(&mut self) -> Read<Attr> {
        self.cursor.expect("@")?;
        let name: Rc<str> = match self.cursor.byte() {
            Some(b'"') => lossy(&self.cursor.string()?),
            _ => Rc::from(self.cursor.name()),
        };
        while self.cursor.eat("::") {
            self.symbol()?;
        }
        Ok(Attr::Symbol(name))
    }

    fn number(&mut self) -> Read<Number<'t>> {
        if self.cursor.eat_word("true") {
            return Ok(Number::Bool(true));
        }
        if self.cursor.eat_word("false") {
            return Ok(Number::Bool(false));
        }
        let negative = self.cursor.eat("-");
        let start = self.cursor.pos();
        let mut probe = self.cursor;
        let word = probe.name();
        if let Some(digits) = word.strip_prefix("0x") {
            let Ok(magnitude) = u64::from_str_radix(digits, 16) else {
                let text = short(word);
                return Err(Fault::new(
                    start,
                    format!("`{text}` is no hexadecimal number of 64 bits"),
                ));
            };
            self.cursor = probe;
            return Ok(Number::Int { negative, magnitude, is_hex: true });
        }
        if !word.starts_with(|c: char| c.is_ascii_digit()) {
            return self.cursor.expected("a number");
        }
        // The sign of an exponent is no letter of a name.
        if word.ends_with(['e', 'E']) && matches!(probe.byte(), Some(b'+' | b'-')) {
            probe.advance(1);
            probe.name();
        }
        let text = self.cursor.at(probe.pos()).slice(start)?;
        self.cursor = probe;
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            return match text.parse() {
                Ok(magnitude) => Ok(Number::Int { negative, magnitude, is_hex: false }),
                Err(_) => {
                    Err(Fault::new(start, format!("the number {} is too large", short(text))))
                }
            };
        }
        if text.parse::<f64>().is_err() {
            return Err(Fault::new(start, format!("`{}` is no number", short(text))));
        }
        // The sign stands right before the digits, or there was none.
        let start = if negative { start - 1 } else { start };
        Ok(Number::Float(self.cursor.slice(start)?))
    }

    fn number_attr(&mut self) -> Read<Attr> {
        let start = self.cursor.pos();
        let number = self.number()?;
        let ty = if self.cursor.eat(":") {
            self.ty()?
        } else {
            Rc::new(match number {
                Number::Int { .. } => Type::Int { width: 64, sign: Sign::Signless },
                Number::Bool(_) => Type::Int { width: 1, sign: Sign::Signless },
                Number::Float(_) => Type::Float(Rc::from("f64")),
            })
        };
        let bits = bits_of(number, &ty).map_err(|message| Fault::new(start, message))?;
        Ok(if let Type::Float(_) = *ty {
            Attr::Float(bits, ty)
        } else {
            Attr::Int(bits as i64, ty)
        })
    }

    /// `<..> : type` behind `dense`.
    fn dense(&mut self) -> Read<Attr> {
        self.cursor.expect("<")?;
        let start = self.cursor.pos();
        let (mut numbers, mut raw, mut is_list) = (Vec::new(), None, false);
        match self.cursor.peek() {
            Some(b'"') => raw = Some(self.cursor.string()?),
            Some(b'>') => is_list = true,
            _ => is_list = self.dense_elements(&mut numbers)?,
        }
        self.cursor.expect(">")?;
        self.cursor.expect(":")?;
        let ty = self.ty()?;
        let fault = |message: String| Fault::new(start, message);
        let Some((shape, elem)) = ty.shaped() else {
            return Err(fault("dense elements have the type of a vector or tensor".into()));
        };
        let n_elems = n_elems(shape);
        let dense = if let Some(raw) = raw {
            let digits = raw.strip_prefix(b"0x").and_then(hex_bytes);
            let Some(bytes) = digits else {
                return Err(fault(
                    "the string of dense elements is not `0x` and hexadecimal digits".into(),
                ));
            };
            dense_of_bytes(&bytes, elem, n_elems).map_err(fault)?
        } else {
            let bits: Result<Vec<u64>, String> =
                numbers.iter().map(|&number| bits_of(number, elem)).collect();
            let bits = bits.map_err(fault)?;
            match bits[..] {
                [one] if !is_list => Dense::Splat(one),
                _ if n_elems == Some(bits.len() as u64) => Dense::Each(bits),
                _ => {
                    let n = n_elems.map_or("too many".into(), |n| n.to_string());
                    return Err(fault(format!(
                        "{} elements are given, the type has {n}",
                        bits.len()
                    )));
                }
            }
        };
        Ok(Attr::Dense(Rc::clone(&ty), Rc::new(dense)))
    }

    /// A number, or lists of them; whether it was a list.
    fn dense_elements(&mut self, numbers: &mut Vec<Number<'t>>) -> Read<bool> {
        if !self.cursor.eat("[") {
            let number = self.number()?;
            numbers.push(number);
            return Ok(false);
        }
        self.nested(|reader| {
            reader.list("]", |reader| reader.dense_elements(numbers).map(|_| ()))?;
            Ok(true)
        })
    }

    /// `<i64: 1, 2>` behind `array`.
    fn ints(&mut self) -> Read<Attr> {
        self.cursor.expect("<")?;
        let ty = self.ty()?;
        if self.cursor.eat(">") {
            return Ok(Attr::Ints(Rc::default()));
        }
        self.cursor.expect(":")?;
        let ints = self.list(">", |reader| {
            let start = reader.cursor.pos();
            let number = reader.number()?;
            bits_of(number, &ty).map(|bits| bits as i64).map_err(|text| Fault::new(start, text))
        })?;
        Ok(Attr::Ints(Rc::new(ints)))
    }

    /// `loc(..)`.
    pub(super) fn loc(&mut self) -> Read<Place> {
        self.cursor.expect("loc")?;
        self.cursor.expect("(")?;
        let place = self.place()?;
        self.cursor.expect(")")?;
        Ok(place)
    }

    fn place(&mut self) -> Read<Place> {
        self.nested(Self::place_here)
    }

    fn place_here(&mut self) -> Read<Place> {
        match self.cursor.peek() {
            Some(b'"') => {
                let name = lossy(&self.cursor.string()?);
                if self.cursor.eat(":") {
                    return self.file_place(name);
                }
                if self.cursor.eat("(") {
                    let inner = self.place()?;
                    self.cursor.expect(")")?;
                    return Ok(Place::Name(name, Rc::new(inner)));
                }
                return Ok(Place::Name(name, Rc::default()));
            }
            Some(b'#') => {
                let start = self.cursor.pos();
                return match self.marked()? {
                    Err(Attr::Loc(place)) => Ok(place),
                    _ => Err(Fault::new(start, "this name stands for no location")),
                };
            }
            _ => {}
        }
        match self.cursor.word() {
            Some("unknown") => Ok(Place::Unknown),
            Some("callsite") => {
                self.cursor.expect("(")?;
                let callee = self.place()?;
                if !self.cursor.eat_word("at") {
                    return self.cursor.expected("`at`");
                }
                let caller = self.place()?;
                self.cursor.expect(")")?;
                Ok(Place::Call(Rc::new(callee), Rc::new(caller)))
            }
            Some("fused") => {
                if self.cursor.peek() == Some(b'<') {
                    self.cursor.balanced()?;
                }
                self.cursor.expect("[")?;
                Ok(Place::Fused(Rc::new(self.list("]", Self::place)?)))
            }
            Some("loc") => {
                self.cursor.expect("(")?;
                let place = self.place()?;
                self.cursor.expect(")")?;
                Ok(place)
            }
            _ => self.cursor.expected("a location"),
        }
    }

    /// `line:column`, or a range of which the start counts.
    fn file_place(&mut self, file: Rc<str>) -> Read<Place> {
        let line = self.coordinate()?;
        self.cursor.expect(":")?;
        let column = self.coordinate()?;
        if self.cursor.eat_word("to") {
            self.cursor.digits()?;
            self.cursor.expect(":")?;
            self.coordinate()?;
        }
        Ok(Place::File(file, line, column))
    }

    fn coordinate(&mut self) -> Read<u32> {
        match self.cursor.digits()? {
            Some(number) => Ok(u32::try_from(number).unwrap_or(u32::MAX)),
            None => self.cursor.expected("a number"),
        }
    }
}

/// An attribute that stands alone in bytecode.
pub(super) fn attr_of(text: &[u8]) -> Read<Attr> {
    let mut reader = ValueReader::alone(text);
    let attr = reader.attr()?;
    end_of(reader, attr)
}

/// A type that stands alone in bytecode.
pub(super) fn type_of(text: &[u8]) -> Read<Ty> {
    let mut reader = ValueReader::alone(text);
    let ty = reader.ty()?;
    end_of(reader, ty)
}

fn end_of<T>(mut reader: ValueReader<'_>, value: T) -> Read<T> {
    if reader.cursor.peek().is_some() { reader.cursor.expected("the end") } else { Ok(value) }
}

/// Whether an attribute has no parts, as what a memref may have.
pub(super) fn is_flat(attr: &Attr) -> bool {
    match attr {
        Attr::Unit | Attr::Int(..) | Attr::Str(_) | Attr::Symbol(_) | Attr::Other(_) => true,
        Attr::Float(..)
        | Attr::Array(_)
        | Attr::Dict(_)
        | Attr::Type(_)
        | Attr::Ints(_)
        | Attr::Dense(..)
        | Attr::Loc(_) => false,
    }
}

/// Whether an attribute of a memref is its layout, not its space.
pub(super) fn is_layout(attr: &Attr) -> bool {
    let starts = ["affine_map", "strided", "#tpu.tiled"];
    matches!(attr, Attr::Other(text) if starts.iter().any(|start| text.starts_with(start)))
}

/// Text of bytes that should be UTF-8.
pub(super) fn lossy(bytes: &[u8]) -> Rc<str> {
    Rc::from(String::from_utf8_lossy(bytes))
}

/// The number of elements of a static shape, if a machine can count them.
pub(super) fn n_elems(shape: &[i64]) -> Option<u64> {
    shape.iter().try_fold(1u64, |n, &size| n.checked_mul(u64::try_from(size).ok()?))
}

/// `i32`, `ui8`, `bf16`.
fn number_type(word: &str) -> Option<Type> {
    let float = Type::Float(Rc::from(word));
    if float.bits().is_some_and(|bits| bits > 0) {
        return Some(float);
    }
    let (sign, digits) = match word.strip_prefix("si") {
        Some(digits) => (Sign::Signed, digits),
        None => match word.strip_prefix("ui") {
            Some(digits) => (Sign::Unsigned, digits),
            None => (Sign::Signless, word.strip_prefix('i')?),
        },
    };
    let width = digits.parse().ok().filter(|&width| width > 0)?;
    Some(Type::Int { width, sign })
}

/// The bits of a number as an element of a type, sign-extended.
fn bits_of(number: Number<'_>, ty: &Type) -> Result<u64, String> {
    match (ty, number) {
        (Type::Float(name), number) => float_bits_of(number, name),
        (Type::Int { .. } | Type::Index, Number::Bool(value)) => Ok(u64::from(value)),
        (Type::Int { .. } | Type::Index, Number::Int { negative, magnitude, .. }) => {
            Ok(if negative { magnitude.wrapping_neg() } else { magnitude })
        }
        (Type::Int { .. } | Type::Index, Number::Float(text)) => {
            Err(format!("{} is no integer", short(text)))
        }
        _ => Err("the type of a number is that of an integer or float".into()),
    }
}

fn float_bits_of(number: Number<'_>, name: &str) -> Result<u64, String> {
    let text = match number {
        // Hexadecimal digits are the bits themselves.
        Number::Int { magnitude, is_hex: true, negative: false } => return Ok(magnitude),
        Number::Int { negative, magnitude, .. } => {
            format!("{}{magnitude}", if negative { "-" } else { "" })
        }
        Number::Float(text) => text.to_owned(),
        Number::Bool(_) => return Err("a truth value is no float".into()),
    };
    let value: f64 = text.parse().map_err(|_| format!("`{}` is no number", short(&text)))?;
    match name {
        "f64" => Ok(value.to_bits()),
        // Not by way of f64, which would round twice.
        "f32" => Ok(u64::from(text.parse::<f32>().unwrap_or(f32::NAN).to_bits())),
        "bf16" => Ok(u64::from(bf16::from_f64(value).to_bits())),
        "f16" => Ok(u64::from(f16::from_f64(value).to_bits())),
        _ => Err(format!("numbers of type {name} are not read")),
    }
}

/// The elements in the bytes of a dense attribute, little-endian.
pub(super) fn dense_of_bytes(
    bytes: &[u8],
    elem: &Type,
    n_elems: Option<u64>,
) -> Result<Dense, String> {
    let Some(bits) = elem.bits() else {
        return Err("dense elements are integers or floats".into());
    };
    let n = n_elems.ok_or("the type has more elements than a machine can count")?;
    let n_bytes = bytes.len() as u64;
    if bits == 1 {
        // A splat is one byte with one bit set, or all of them: the form has changed. Other values
        // are a byte each, or packed.
        return match *bytes {
            [byte] if matches!(byte, 0 | 1 | 0xff) => Ok(Dense::Splat(u64::from(byte != 0))),
            _ if n_bytes == n => {
                Ok(Dense::Each(bytes.iter().map(|&byte| u64::from(byte != 0)).collect()))
            }
            _ if n_bytes == n.div_ceil(8) => {
                let bit = |idx: u64| u64::from(bytes[(idx / 8) as usize] >> (idx % 8) & 1);
                Ok(Dense::Each((0..n).map(bit).collect()))
            }
            _ => Err(format!("{n_bytes} bytes are given for {n} truth values")),
        };
    }
    let size = u64::from(bits.div_ceil(8));
    let element = |chunk: &[u8]| {
        let raw = chunk.iter().rev().take(8).fold(0u64, |raw, &byte| raw << 8 | u64::from(byte));
        match elem {
            Type::Int { .. } | Type::Index if (1..64).contains(&bits) => {
                ((raw << (64 - bits)) as i64 >> (64 - bits)) as u64
            }
            _ => raw,
        }
    };
    if n_bytes == size && size <= 8 {
        return Ok(Dense::Splat(element(bytes)));
    }
    if n.checked_mul(size) != Some(n_bytes) || size > 8 {
        return Err(format!("{n_bytes} bytes are given for {n} elements of {bits} bits"));
    }
    Ok(Dense::Each(bytes.chunks_exact(size as usize).map(element).collect()))
}

fn hex_bytes(digits: &[u8]) -> Option<Vec<u8>> {
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|value| value as u8);
    digits.chunks_exact(2).map(|pair| Some(digit(pair[0])? * 16 + digit(pair[1])?)).collect()
}
