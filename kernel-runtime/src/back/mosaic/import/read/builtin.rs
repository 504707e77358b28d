//! Attributes and types of the builtin dialect as bytecode writes them, each on first use.

use super::ast::{Attr, Place, Sign, Ty, Type};
use super::bytecode::Bytes;
use super::value::{attr_of, dense_of_bytes, is_flat, is_layout, n_elems, type_of};
use super::{Fault, MAX_DEPTH, MAX_RANK, Read, ast};
use std::rc::Rc;

/// Where an attribute or type is encoded, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'b> {
    pub(super) bytes: Bytes<'b>,
    /// Whether it is the builtin dialect's own.
    pub(super) is_builtin: bool,
    /// Whether it is not text.
    pub(super) is_encoded: bool,
}

/// The attributes and types of a module.
#[derive(Debug, Default)]
pub(super) struct Table<'b> {
    pub(super) attrs: Vec<Slot<'b, Attr>>,
    pub(super) types: Vec<Slot<'b, Ty>>,
    pub(super) strings: Vec<Rc<str>>,
    depth: usize,
    /// How deep the values nest that were read for the one at hand.
    height: usize,
}

/// An entry and, once it was used, its value with how deep that nests.
#[derive(Debug)]
pub(super) struct Slot<'b, T> {
    entry: Entry<'b>,
    value: Option<(T, usize)>,
}

impl<'b, T> Slot<'b, T> {
    pub(super) fn new(entry: Entry<'b>) -> Slot<'b, T> {
        Slot { entry, value: None }
    }
}

impl<'b> Table<'b> {
    /// The attribute of a number.
    pub(super) fn attr(&mut self, bytes: &mut Bytes<'b>) -> Read<Attr> {
        let at = bytes.pos();
        let idx = bytes.index(self.attrs.len(), "attribute")?;
        if let Some((value, height)) = &self.attrs[idx].value {
            self.height = self.height.max(*height);
            return Ok(value.clone());
        }
        let entry = self.attrs[idx].entry;
        let (value, height) = self.nested(at, |table| table.read_attr(entry))?;
        self.attrs[idx].value = Some((value.clone(), height));
        Ok(value)
    }

    /// The type of a number.
    pub(super) fn ty(&mut self, bytes: &mut Bytes<'b>) -> Read<Ty> {
        let idx = bytes.index(self.types.len(), "type")?;
        self.ty_at(bytes.pos(), idx)
    }

    /// The type of a number that was read already.
    pub(super) fn ty_at(&mut self, at: usize, idx: usize) -> Read<Ty> {
        let Some(slot) = self.types.get(idx) else {
            return Err(Fault::new(at, format!("there is no type {idx}")));
        };
        if let Some((value, height)) = &slot.value {
            self.height = self.height.max(*height);
            return Ok(Rc::clone(value));
        }
        let entry = slot.entry;
        let (value, height) = self.nested(at, |table| table.read_type(entry))?;
        self.types[idx].value = Some((Rc::clone(&value), height));
        Ok(value)
    }

    /// The string of a number.
    pub(super) fn string(&self, bytes: &mut Bytes<'b>) -> Read<Rc<str>> {
        let idx = bytes.index(self.strings.len(), "string")?;
        Ok(Rc::clone(&self.strings[idx]))
    }

    /// An attribute that is a string.
    fn name(&mut self, bytes: &mut Bytes<'b>) -> Read<Rc<str>> {
        let at = bytes.pos();
        match self.attr(bytes)? {
            Attr::Str(text) | Attr::Symbol(text) => Ok(text),
            _ => Err(Fault::new(at, "an attribute that should be a string is none")),
        }
    }

    fn place(&mut self, bytes: &mut Bytes<'b>) -> Read<Place> {
        let at = bytes.pos();
        match self.attr(bytes)? {
            Attr::Loc(place) => Ok(place),
            _ => Err(Fault::new(at, "an attribute that should be a location is none")),
        }
    }

    /// A value one level deeper, and how deep it nests itself.
    fn nested<T>(
        &mut self,
        at: usize,
        read: impl FnOnce(&mut Self) -> Read<T>,
    ) -> Read<(T, usize)> {
        self.depth += 1;
        let outer = std::mem::take(&mut self.height);
        let too_deep = || Fault::new(at, format!("a value nests more than {MAX_DEPTH} deep"));
        if self.depth > MAX_DEPTH {
            return Err(too_deep());
        }
        let value = read(self)?;
        let height = self.height + 1;
        if height > MAX_DEPTH {
            return Err(too_deep());
        }
        self.height = height.max(outer);
        self.depth -= 1;
        Ok((value, height))
    }

    fn read_attr(&mut self, entry: Entry<'b>) -> Read<Attr> {
        let mut bytes = entry.bytes;
        let at = bytes.pos();
        if !entry.is_encoded {
            return attr_of(text_of(&mut bytes)?)
                .map_err(|fault| Fault { at: at + fault.at, ..fault });
        }
        if !entry.is_builtin {
            return Ok(Attr::Other(Rc::from("an attribute in the private form of its dialect")));
        }
        let attr = self.encoded_attr(&mut bytes)?;
        bytes.end("attribute")?;
        Ok(attr)
    }

    fn encoded_attr(&mut self, bytes: &mut Bytes<'b>) -> Read<Attr> {
        let at = bytes.pos();
        Ok(match bytes.varint()? {
            0 => Attr::Array(Rc::new(self.list(bytes, Self::attr)?)),
            1 => Attr::Dict(Rc::new(
                self.list(bytes, |table, bytes| Ok((table.name(bytes)?, table.attr(bytes)?)))?,
            )),
            2 => Attr::Str(self.string(bytes)?),
            3 => {
                let text = self.string(bytes)?;
                self.ty(bytes)?;
                Attr::Str(text)
            }
            4 => Attr::Symbol(self.name(bytes)?),
            5 => {
                let root = self.name(bytes)?;
                self.list(bytes, Self::attr)?;
                Attr::Symbol(root)
            }
            6 => Attr::Type(self.ty(bytes)?),
            7 => Attr::Unit,
            8 => {
                let ty = self.ty(bytes)?;
                match self.number(bytes, &ty)? {
                    Some(bits) => Attr::Int(bits as i64, ty),
                    None => Attr::Other(Rc::from("a number of more than 64 bits")),
                }
            }
            9 => {
                let ty = self.ty(bytes)?;
                match (self.number(bytes, &ty)?, ty.bits()) {
                    (Some(bits), Some(width)) => {
                        // Shorter floats come sign-extended.
                        let mask = u64::MAX >> (64 - width.clamp(1, 64));
                        Attr::Float(bits & mask, ty)
                    }
                    _ => Attr::Other(Rc::from("a float of more than 64 bits")),
                }
            }
            10 => {
                let (callee, caller) = (self.place(bytes)?, self.place(bytes)?);
                Attr::Loc(Place::Call(Rc::new(callee), Rc::new(caller)))
            }
            11 => {
                let file = self.name(bytes)?;
                Attr::Loc(Place::File(file, bytes.coordinate()?, bytes.coordinate()?))
            }
            12 => Attr::Loc(Place::Fused(Rc::new(self.list(bytes, Self::place)?))),
            13 => {
                let places = self.list(bytes, Self::place)?;
                self.attr(bytes)?;
                Attr::Loc(Place::Fused(Rc::new(places)))
            }
            14 => {
                let name = self.name(bytes)?;
                Attr::Loc(Place::Name(name, Rc::new(self.place(bytes)?)))
            }
            15 => Attr::Loc(Place::Unknown),
            17 => self.ints(bytes)?,
            18 => self.dense(bytes)?,
            22 => {
                let file = self.name(bytes)?;
                // One to four numbers: line and column of the start come first.
                let numbers = self.list(bytes, |_, bytes| bytes.coordinate())?;
                let number = |idx: usize| numbers.get(idx).copied().unwrap_or(0);
                Attr::Loc(Place::File(file, number(0), number(1)))
            }
            code @ (16 | 19..=21) => {
                bytes.skip_all();
                Attr::Other(Rc::from(format!("a builtin attribute of kind {code}")))
            }
            code => {
                return Err(Fault::new(
                    at,
                    format!("there is no builtin attribute of kind {code}"),
                ));
            }
        })
    }

    /// An integer of a type's width, sign-extended; `None` if it has more than 64 bits.
    fn number(&mut self, bytes: &mut Bytes<'b>, ty: &Type) -> Read<Option<u64>> {
        let at = bytes.pos();
        match ty.bits() {
            Some(width @ 1..=8) => {
                let raw = u64::from(bytes.byte()?);
                let unused = 64 - width;
                // Truth values are 0 and 1, not 0 and -1.
                Ok(Some(if width == 1 {
                    raw & 1
                } else {
                    ((raw << unused) as i64 >> unused) as u64
                }))
            }
            Some(9..=64) => Ok(Some(bytes.signed()? as u64)),
            Some(_) => {
                self.list(bytes, |_, bytes| bytes.signed())?;
                Ok(None)
            }
            None => Err(Fault::new(at, "a number has no type of numbers")),
        }
    }

    fn ints(&mut self, bytes: &mut Bytes<'b>) -> Read<Attr> {
        let ty = self.ty(bytes)?;
        let at = bytes.pos();
        let n = bytes.varint()?;
        let raw = bytes.blob()?;
        let size = u64::from(ty.bits().unwrap_or(0).div_ceil(8));
        if !(1..=8).contains(&size) || n.checked_mul(size) != Some(raw.len() as u64) {
            return Err(Fault::new(at, "an array's bytes do not fit its type"));
        }
        if !matches!(*ty, Type::Int { .. }) {
            return Ok(Attr::Other(Rc::from("an array of floats")));
        }
        let int = |chunk: &[u8]| {
            let raw = chunk.iter().rev().fold(0u64, |raw, &byte| raw << 8 | u64::from(byte));
            let unused = 64 - 8 * size as u32;
            (raw << unused) as i64 >> unused
        };
        Ok(Attr::Ints(Rc::new(raw.chunks_exact(size as usize).map(int).collect())))
    }

    fn dense(&mut self, bytes: &mut Bytes<'b>) -> Read<Attr> {
        let ty = self.ty(bytes)?;
        let at = bytes.pos();
        let raw = bytes.blob()?;
        let Some((shape, elem)) = ty.shaped() else {
            return Err(Fault::new(at, "dense elements have the type of a vector or tensor"));
        };
        let dense =
            dense_of_bytes(raw, elem, n_elems(shape)).map_err(|text| Fault::new(at, text))?;
        Ok(Attr::Dense(Rc::clone(&ty), Rc::new(dense)))
    }

    fn list<T>(
        &mut self,
        bytes: &mut Bytes<'b>,
        mut read: impl FnMut(&mut Self, &mut Bytes<'b>) -> Read<T>,
    ) -> Read<Vec<T>> {
        let n = bytes.count()?;
        (0..n).map(|_| read(self, bytes)).collect()
    }

    fn read_type(&mut self, entry: Entry<'b>) -> Read<Ty> {
        let mut bytes = entry.bytes;
        let at = bytes.pos();
        if !entry.is_encoded {
            return type_of(text_of(&mut bytes)?)
                .map_err(|fault| Fault { at: at + fault.at, ..fault });
        }
        if !entry.is_builtin {
            return Ok(Rc::new(Type::Other(Rc::from("a type in the private form of its dialect"))));
        }
        let ty = self.encoded_type(&mut bytes)?;
        bytes.end("type")?;
        Ok(Rc::new(ty))
    }

    fn encoded_type(&mut self, bytes: &mut Bytes<'b>) -> Read<Type> {
        let at = bytes.pos();
        let float = |name: &str| Type::Float(Rc::from(name));
        Ok(match bytes.varint()? {
            0 => {
                let code = bytes.varint()?;
                let sign = match code & 3 {
                    1 => Sign::Signed,
                    2 => Sign::Unsigned,
                    _ => Sign::Signless,
                };
                match u32::try_from(code >> 2) {
                    Ok(width) if width > 0 => Type::Int { width, sign },
                    _ => return Err(Fault::new(at, "an integer type has no width, or a huge one")),
                }
            }
            1 => Type::Index,
            2 => Type::Function {
                inputs: self.list(bytes, Self::ty)?,
                results: self.list(bytes, Self::ty)?,
            },
            3 => float("bf16"),
            4 => float("f16"),
            5 => float("f32"),
            6 => float("f64"),
            7 => float("f80"),
            8 => float("f128"),
            10 => self.memref(bytes, false)?,
            11 => self.memref(bytes, true)?,
            12 => Type::Other(Rc::from("none")),
            13 => Type::Tensor { shape: self.shape(bytes)?, elem: self.ty(bytes)? },
            14 => {
                self.attr(bytes)?;
                Type::Tensor { shape: self.shape(bytes)?, elem: self.ty(bytes)? }
            }
            19 => Type::Vector { shape: self.shape(bytes)?, elem: self.ty(bytes)? },
            code @ (9 | 15..=18 | 20) => {
                bytes.skip_all();
                Type::Other(Rc::from(format!("a builtin type of kind {code}")))
            }
            code => return Err(Fault::new(at, format!("there is no builtin type of kind {code}"))),
        })
    }

    fn shape(&mut self, bytes: &mut Bytes<'b>) -> Read<Vec<i64>> {
        let at = bytes.pos();
        let shape = self.list(bytes, |_, bytes| bytes.signed())?;
        if shape.len() > MAX_RANK {
            return Err(Fault::new(at, format!("a type has more than {MAX_RANK} axes")));
        }
        if shape.iter().any(|&size| size < 0 && size != ast::DYNAMIC) {
            return Err(Fault::new(at, "a type has an axis of negative size"));
        }
        Ok(shape)
    }

    fn memref(&mut self, bytes: &mut Bytes<'b>, has_space: bool) -> Read<Type> {
        let space = if has_space { Some(self.attr(bytes)?) } else { None };
        let shape = self.shape(bytes)?;
        let elem = self.ty(bytes)?;
        let layout = self.attr(bytes)?;
        if !is_flat(&layout) || !space.iter().all(is_flat) {
            return Err(Fault::new(bytes.pos(), "a memref has no layout, or no memory space"));
        }
        // The identity is written as a map like any other.
        let is_identity = matches!(&layout, Attr::Other(text) if is_identity(text));
        let is_plain = is_identity || !is_layout(&layout);
        Ok(Type::MemRef { shape, elem, layout: (!is_plain).then_some(layout), space })
    }
}

/// `affine_map<(d0, d1) -> (d0, d1)>`.
fn is_identity(text: &str) -> bool {
    let inner = text.strip_prefix("affine_map<").and_then(|text| text.strip_suffix('>'));
    inner.and_then(|text| text.split_once(" -> ")).is_some_and(|(from, to)| from == to)
}

/// Text up to its final zero.
fn text_of<'b>(bytes: &mut Bytes<'b>) -> Read<&'b [u8]> {
    let at = bytes.pos();
    let all = bytes.rest();
    match all.split_last() {
        Some((0, text)) => Ok(text),
        _ => Err(Fault::new(at, "the text of an attribute or type does not end")),
    }
}
