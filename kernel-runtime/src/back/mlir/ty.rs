//! Types.

use super::attr::Attr;
use super::session::{Session, string_ref};
use mlir_sys::{
    MlirType, mlirBF16TypeGet, mlirF16TypeGet, mlirF32TypeGet, mlirFloat8E4M3FNTypeGet,
    mlirFloat8E5M2TypeGet, mlirFunctionTypeGet, mlirIndexTypeGet, mlirIntegerTypeGet,
    mlirMemRefTypeGet, mlirTypeParseGet, mlirVectorTypeGet,
};
use smallvec::SmallVec;
use std::marker::PhantomData;

/// The element types that the back ends use. Integers carry no sign in MLIR: ops do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Elem {
    I1,
    I4,
    I8,
    I16,
    I32,
    I64,
    F8E4M3FN,
    F8E5M2,
    BF16,
    F16,
    F32,
}

/// An MLIR type.
#[derive(Clone, Copy)]
pub(crate) struct Type<'s> {
    pub(super) raw: MlirType,
    session: PhantomData<&'s Session>,
}

impl Type<'_> {
    pub(super) fn wrap(raw: MlirType) -> Self {
        Type { raw, session: PhantomData }
    }
}

impl Session {
    /// A scalar type.
    pub(crate) fn elem(&self, elem: Elem) -> Type<'_> {
        let context = self.raw();
        // SAFETY: the context is alive as long as `self`.
        Type::wrap(unsafe {
            match elem {
                Elem::I1 => mlirIntegerTypeGet(context, 1),
                Elem::I4 => mlirIntegerTypeGet(context, 4),
                Elem::I8 => mlirIntegerTypeGet(context, 8),
                Elem::I16 => mlirIntegerTypeGet(context, 16),
                Elem::I32 => mlirIntegerTypeGet(context, 32),
                Elem::I64 => mlirIntegerTypeGet(context, 64),
                Elem::F8E4M3FN => mlirFloat8E4M3FNTypeGet(context),
                Elem::F8E5M2 => mlirFloat8E5M2TypeGet(context),
                Elem::BF16 => mlirBF16TypeGet(context),
                Elem::F16 => mlirF16TypeGet(context),
                Elem::F32 => mlirF32TypeGet(context),
            }
        })
    }

    /// `index`.
    pub(crate) fn index(&self) -> Type<'_> {
        // SAFETY: the context is alive as long as `self`.
        Type::wrap(unsafe { mlirIndexTypeGet(self.raw()) })
    }

    /// `vector<..>` of at least rank 1.
    pub(crate) fn vector(&self, shape: &[usize], elem: Elem) -> Type<'_> {
        let dims = dims(shape);
        // SAFETY: sizes are positive by the rules of the IR, the element type is scalar.
        Type::wrap(unsafe {
            mlirVectorTypeGet(dims.len() as isize, dims.as_ptr(), self.elem(elem).raw)
        })
    }

    /// `memref<.., space>` with the identity layout.
    pub(crate) fn memref<'s>(&'s self, shape: &[usize], elem: Elem, space: Attr<'s>) -> Type<'s> {
        let dims = dims(shape);
        // SAFETY: the unchecked getter takes the memory space of a dialect that is not
        // registered; a null layout is the identity.
        Type::wrap(unsafe {
            mlirMemRefTypeGet(
                self.elem(elem).raw,
                dims.len() as isize,
                dims.as_ptr(),
                mlir_sys::mlirAttributeGetNull(),
                space.raw,
            )
        })
    }

    /// `memref<.., space>` of elements of any type; a size of `i64::MIN` is known at run time alone.
    pub(crate) fn memref_of<'s>(
        &'s self,
        sizes: &[i64],
        elem: Type<'s>,
        space: Attr<'s>,
    ) -> Type<'s> {
        // SAFETY: as `memref`; element types of a dialect that is not registered are opaque, which
        // the unchecked getter takes as well.
        Type::wrap(unsafe {
            mlirMemRefTypeGet(
                elem.raw,
                sizes.len() as isize,
                sizes.as_ptr(),
                mlir_sys::mlirAttributeGetNull(),
                space.raw,
            )
        })
    }

    /// A type of a dialect, given as text: `!tpu.dma_semaphore`.
    ///
    /// Only fixed texts of the back ends come here; a text that MLIR cannot read gives `index`,
    /// which the verifier or libtpu then rejects.
    pub(crate) fn parsed_type(&self, text: &str) -> Type<'_> {
        // SAFETY: the context is alive as long as `self`; MLIR copies the text.
        let raw = unsafe { mlirTypeParseGet(self.raw(), string_ref(text)) };
        if raw.ptr.is_null() { self.index() } else { Type::wrap(raw) }
    }

    /// `(inputs) -> (results)`.
    pub(crate) fn function<'s>(&'s self, inputs: &[Type<'s>], results: &[Type<'s>]) -> Type<'s> {
        let inputs: Vec<MlirType> = inputs.iter().map(|ty| ty.raw).collect();
        let results: Vec<MlirType> = results.iter().map(|ty| ty.raw).collect();
        // SAFETY: all types belong to the context, which copies the lists.
        Type::wrap(unsafe {
            mlirFunctionTypeGet(
                self.raw(),
                inputs.len() as isize,
                inputs.as_ptr(),
                results.len() as isize,
                results.as_ptr(),
            )
        })
    }
}

fn dims(shape: &[usize]) -> SmallVec<[i64; 6]> {
    shape.iter().map(|&size| size as i64).collect()
}
