//! What a reader gives: ops, regions, types and attributes, shared and immutable.
//!
//! Attributes and types of a hostile module may share parts in every way, so they are behind `Rc`
//! and nothing here walks all of them: each getter looks at one level. They nest no deeper than
//! [`MAX_DEPTH`](super::MAX_DEPTH), also by way of names and numbers that stand for others, so that
//! dropping them needs little stack.

use std::rc::Rc;

/// The number of an SSA value in its module.
pub(crate) type ValueId = u32;

/// A shared type.
pub(crate) type Ty = Rc<Type>;

/// What stands for a size that is known at run time alone.
pub(crate) const DYNAMIC: i64 = i64::MIN;

/// A type.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// An integer of so many bits, with or without a sign of its own.
    Int { width: u32, sign: Sign },
    /// `index`.
    Index,
    /// A float by its name: `f32`, `bf16`, `f8E4M3FN`.
    Float(Rc<str>),
    /// `vector<..>`.
    Vector { shape: Vec<i64>, elem: Ty },
    /// `memref<..>`; layout and space are attributes of one level.
    MemRef { shape: Vec<i64>, elem: Ty, layout: Option<Attr>, space: Option<Attr> },
    /// `tensor<..>`.
    Tensor { shape: Vec<i64>, elem: Ty },
    /// `(..) -> ..`.
    Function { inputs: Vec<Ty>, results: Vec<Ty> },
    /// Any other, as text.
    Other(Rc<str>),
}

/// Whether an integer type has a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Signless,
    Signed,
    Unsigned,
}

impl Type {
    /// The bits of an element, if it is a number.
    pub(crate) fn bits(&self) -> Option<u32> {
        match self {
            Type::Int { width, .. } => Some(*width),
            Type::Index => Some(64),
            Type::Float(name) => float_bits(name),
            Type::Vector { .. }
            | Type::MemRef { .. }
            | Type::Tensor { .. }
            | Type::Function { .. }
            | Type::Other(_) => None,
        }
    }

    /// The sizes and the element type of a vector, memref or tensor.
    pub(crate) fn shaped(&self) -> Option<(&[i64], &Ty)> {
        match self {
            Type::Vector { shape, elem }
            | Type::MemRef { shape, elem, .. }
            | Type::Tensor { shape, elem } => Some((shape, elem)),
            Type::Int { .. }
            | Type::Index
            | Type::Float(_)
            | Type::Function { .. }
            | Type::Other(_) => None,
        }
    }
}

/// The bits of a float type: the digits behind its first letter or `bf`.
fn float_bits(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("bf").or_else(|| name.strip_prefix("tf"));
    let digits = digits.or_else(|| name.strip_prefix('f'))?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// An attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Attr {
    /// Its presence is its value.
    Unit,
    /// An integer or, of type `i1`, a truth value.
    Int(i64, Ty),
    /// A float's bits.
    Float(u64, Ty),
    /// A string; bytes that are no UTF-8 are replaced.
    Str(Rc<str>),
    /// `[..]`.
    Array(Rc<Vec<Attr>>),
    /// `{..}`.
    Dict(Rc<Vec<(Rc<str>, Attr)>>),
    /// `@name`.
    Symbol(Rc<str>),
    /// A type.
    Type(Ty),
    /// `array<i64: ..>`, of any integer type or `i1`.
    Ints(Rc<Vec<i64>>),
    /// `dense<..>`: the bits of each element, or of one that stands for all.
    Dense(Ty, Rc<Dense>),
    /// A location.
    Loc(Place),
    /// Any other, as text.
    Other(Rc<str>),
}

/// The elements of a dense attribute.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Dense {
    /// One value everywhere.
    Splat(u64),
    /// One value per element, row-major.
    Each(Vec<u64>),
}

/// Where an op was written.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) enum Place {
    /// Nobody knows.
    #[default]
    Unknown,
    /// At this byte of the module's own text.
    Offset(usize),
    /// A place in a file.
    File(Rc<str>, u32, u32),
    /// A name given by the producer, around another place.
    Name(Rc<str>, Rc<Place>),
    /// The first, inlined through a call at the second.
    Call(Rc<Place>, Rc<Place>),
    /// Several together.
    Fused(Rc<Vec<Place>>),
}

/// A list of named attributes.
pub(crate) type Attrs = Vec<(Rc<str>, Attr)>;

/// An op.
#[derive(Debug)]
pub(crate) struct Op {
    pub(crate) name: Rc<str>,
    pub(crate) operands: Vec<ValueId>,
    pub(crate) results: Vec<ValueId>,
    pub(crate) attrs: Rc<Attrs>,
    /// Each region's only block; an empty region has none.
    pub(crate) regions: Vec<Block>,
    pub(crate) place: Place,
}

/// The only block of a region.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) args: Vec<ValueId>,
    pub(crate) ops: Vec<Op>,
}

/// A module.
#[derive(Debug, Default)]
pub(crate) struct Module {
    pub(crate) attrs: Rc<Attrs>,
    pub(crate) ops: Vec<Op>,
    /// The type of each value.
    pub(crate) types: Vec<Ty>,
}

impl Module {
    /// Adds a value.
    pub(crate) fn value(&mut self, ty: Ty) -> ValueId {
        self.types.push(ty);
        (self.types.len() - 1) as ValueId
    }

    /// The type of a value.
    pub(crate) fn ty(&self, value: ValueId) -> &Ty {
        &self.types[value as usize]
    }
}

/// The attribute of a name.
pub(crate) fn find<'a>(attrs: &'a [(Rc<str>, Attr)], name: &str) -> Option<&'a Attr> {
    attrs.iter().find(|(key, _)| **key == *name).map(|(_, attr)| attr)
}
