//! Attributes.

use super::session::{Session, string_ref};
use super::ty::Type;
use melior::ir::attribute::{Attribute, AttributeLike};
use mlir_sys::{
    MlirAttribute, MlirNamedAttribute, mlirArrayAttrGet, mlirBoolAttrGet,
    mlirDenseElementsAttrSplatGet, mlirDenseI32ArrayGet, mlirDenseI64ArrayGet,
    mlirDictionaryAttrGet, mlirFlatSymbolRefAttrGet, mlirFloatAttrDoubleGet, mlirIdentifierGet,
    mlirIntegerAttrGet, mlirStringAttrGet, mlirTypeAttrGet, mlirUnitAttrGet,
};
use std::marker::PhantomData;

/// An MLIR attribute.
#[derive(Clone, Copy)]
pub(crate) struct Attr<'s> {
    pub(super) raw: MlirAttribute,
    session: PhantomData<&'s Session>,
}

impl Attr<'_> {
    pub(super) fn wrap(raw: MlirAttribute) -> Self {
        Attr { raw, session: PhantomData }
    }
}

// SAFETY, for every block below: the context is alive as long as `self`, operands belong to it by
// their lifetime, and MLIR copies what the pointers name before the call returns.
impl Session {
    /// An integer of an integer or `index` type.
    pub(crate) fn int_attr<'s>(&'s self, ty: Type<'s>, value: i64) -> Attr<'s> {
        // SAFETY: see above.
        Attr::wrap(unsafe { mlirIntegerAttrGet(ty.raw, value) })
    }

    /// A float of a float type, rounded to it.
    pub(crate) fn float_attr<'s>(&'s self, ty: Type<'s>, value: f64) -> Attr<'s> {
        // SAFETY: see above.
        Attr::wrap(unsafe { mlirFloatAttrDoubleGet(self.raw(), ty.raw, value) })
    }

    /// `true` or `false`.
    pub(crate) fn bool_attr(&self, value: bool) -> Attr<'_> {
        // SAFETY: see above.
        Attr::wrap(unsafe { mlirBoolAttrGet(self.raw(), i32::from(value)) })
    }

    /// An attribute whose presence is its value.
    pub(crate) fn unit_attr(&self) -> Attr<'_> {
        // SAFETY: see above.
        Attr::wrap(unsafe { mlirUnitAttrGet(self.raw()) })
    }

    /// A string.
    pub(crate) fn string_attr(&self, text: &str) -> Attr<'_> {
        // SAFETY: see above.
        Attr::wrap(unsafe { mlirStringAttrGet(self.raw(), string_ref(text)) })
    }

    /// A reference to a function of the module: `@name`.
    pub(crate) fn symbol_attr(&self, name: &str) -> Attr<'_> {
        // SAFETY: see above.
        Attr::wrap(unsafe { mlirFlatSymbolRefAttrGet(self.raw(), string_ref(name)) })
    }

    /// A type.
    pub(crate) fn type_attr<'s>(&'s self, ty: Type<'s>) -> Attr<'s> {
        // SAFETY: see above.
        Attr::wrap(unsafe { mlirTypeAttrGet(ty.raw) })
    }

    /// `array<i32: ..>`.
    pub(crate) fn i32_array_attr(&self, values: &[i32]) -> Attr<'_> {
        // SAFETY: see above.
        Attr::wrap(unsafe {
            mlirDenseI32ArrayGet(self.raw(), values.len() as isize, values.as_ptr())
        })
    }

    /// `array<i64: ..>`.
    pub(crate) fn i64_array_attr(&self, values: &[i64]) -> Attr<'_> {
        // SAFETY: see above.
        Attr::wrap(unsafe {
            mlirDenseI64ArrayGet(self.raw(), values.len() as isize, values.as_ptr())
        })
    }

    /// `[..]`.
    pub(crate) fn array_attr<'s>(&'s self, values: &[Attr<'s>]) -> Attr<'s> {
        let values: Vec<MlirAttribute> = values.iter().map(|attr| attr.raw).collect();
        // SAFETY: see above.
        Attr::wrap(unsafe { mlirArrayAttrGet(self.raw(), values.len() as isize, values.as_ptr()) })
    }

    /// `{name = value, ..}`.
    pub(crate) fn dict_attr<'s>(&'s self, entries: &[(&str, Attr<'s>)]) -> Attr<'s> {
        let entries: Vec<MlirNamedAttribute> =
            entries.iter().map(|(name, attr)| self.named(name, *attr)).collect();
        // SAFETY: see above.
        Attr::wrap(unsafe {
            mlirDictionaryAttrGet(self.raw(), entries.len() as isize, entries.as_ptr())
        })
    }

    /// `dense<value>` of a vector type: one element, everywhere.
    pub(crate) fn splat_attr<'s>(&'s self, vector: Type<'s>, element: Attr<'s>) -> Attr<'s> {
        // SAFETY: see above; callers give an element of the vector's element type.
        Attr::wrap(unsafe { mlirDenseElementsAttrSplatGet(vector.raw, element.raw) })
    }

    /// An attribute of a dialect, given as text: `#tpu.memory_space<vmem>`.
    ///
    /// Only fixed texts of the back ends come here; a text that MLIR cannot read gives the unit
    /// attribute, which the verifier or libtpu then rejects.
    pub(crate) fn parsed_attr(&self, text: &str) -> Attr<'_> {
        let cache = self.pooled().map(|pooled| &pooled.parsed);
        if let Some(raw) = cache.and_then(|cache| cache.borrow().get(text).copied()) {
            return Attr::wrap(raw);
        }
        let parsed = self.context().and_then(|context| Attribute::parse(context, text));
        let Some(raw) = parsed.map(|attr| attr.to_raw()) else {
            return self.unit_attr();
        };
        if let Some(cache) = cache {
            cache.borrow_mut().insert(text.to_owned(), raw);
        }
        Attr::wrap(raw)
    }

    pub(super) fn named(&self, name: &str, attr: Attr<'_>) -> MlirNamedAttribute {
        // SAFETY: see above.
        let name = unsafe { mlirIdentifierGet(self.raw(), string_ref(name)) };
        MlirNamedAttribute { name, attribute: attr.raw }
    }
}
