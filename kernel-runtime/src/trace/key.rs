//! What tells one kernel from another, where that can be told.
//!
//! A kernel's compile-time parameters are of any `Clone` type. Macro output asks for the first of
//! these that a parameter's type has: bits, as numbers do; `Eq`, if nothing in it may change while
//! it is kept, which `Sync` says well enough; or no bits at all, as a closure that captures nothing.
//! Method resolution does the asking: it takes the trait that needs the fewest references removed.
//! Everything else cannot be told from others: what a closure captures may have changed since the
//! kernel was last called.

use super::kernel_fn::{ArgSpec, KernelFn};
use crate::diag::Diagnostics;
use crate::ir::Kernel;
use smallvec::SmallVec;
use std::any::{Any, type_name};
use std::fmt;
use std::hash::Hasher;

/// Which kernel this is, with its compile-time parameters: kernels of one key, traced for the same
/// arguments, are the same.
#[derive(Debug)]
pub struct KernelKey<'a> {
    function: Function,
    bits: SmallVec<[u64; 4]>,
    values: SmallVec<[&'a dyn KeyValue; 4]>,
}

/// A kernel function with its type parameters.
///
/// The address of `trace` alone tells functions of different code apart, and functions of the same
/// code trace the same; the name tells those apart whose parameters are compared differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Function {
    trace: usize,
    name: &'static str,
}

/// A [`KernelKey`] that owns its values.
#[derive(Debug)]
pub(crate) struct KeptKey {
    function: Function,
    bits: SmallVec<[u64; 4]>,
    values: Box<[Box<dyn KeyValue>]>,
}

impl<'a> KernelKey<'a> {
    /// The key of a kernel without compile-time parameters.
    pub fn of<K: KernelFn>() -> KernelKey<'a> {
        let trace: fn(&K, &[ArgSpec]) -> Result<Kernel, Diagnostics> = K::trace;
        let function = Function { trace: trace as usize, name: type_name::<K>() };
        KernelKey { function, bits: SmallVec::new(), values: SmallVec::new() }
    }

    /// Writes what can be written; the rest is compared by [`KernelKey::is`].
    pub(crate) fn write(&self, key: &mut dyn Hasher) {
        key.write_usize(self.function.trace);
        for bits in &self.bits {
            key.write_u64(*bits);
        }
    }

    pub(crate) fn is(&self, kept: &KeptKey) -> bool {
        self.function == kept.function
            && self.bits == kept.bits
            && self.values.len() == kept.values.len()
            && self.values.iter().zip(&kept.values).all(|(a, b)| a.equals(&**b))
    }

    pub(crate) fn keep(&self) -> KeptKey {
        let values = self.values.iter().map(|value| value.keep()).collect();
        KeptKey { function: self.function, bits: self.bits.clone(), values }
    }
}

/// A value that is compared by `==`.
trait KeyValue: Any {
    fn equals(&self, other: &dyn KeyValue) -> bool;
    fn keep(&self) -> Box<dyn KeyValue>;
}

impl<T: Eq + Clone + 'static> KeyValue for T {
    fn equals(&self, other: &dyn KeyValue) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<T>() == Some(self)
    }

    fn keep(&self) -> Box<dyn KeyValue> {
        Box::new(self.clone())
    }
}

impl fmt::Debug for dyn KeyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyValue")
    }
}

/// A compile-time parameter, to be added to a key.
#[derive(Debug)]
pub struct Comptime<'a, T>(pub &'a T);

/// Numbers.
pub trait KeyByBits<'a> {
    /// Adds it; whether that tells it from others.
    fn add_to(&self, key: &mut KernelKey<'a>) -> bool;
}

macro_rules! by_bits {
    ($($ty:ty: |$x:ident| $bits:expr;)*) => {$(
        impl<'a> KeyByBits<'a> for &&Comptime<'a, $ty> {
            fn add_to(&self, key: &mut KernelKey<'a>) -> bool {
                let $x = *self.0;
                key.bits.push($bits);
                true
            }
        }
    )*};
}
by_bits! {
    bool: |x| x.into();
    u8: |x| x.into();
    u16: |x| x.into();
    u32: |x| x.into();
    u64: |x| x;
    usize: |x| x as u64;
    i8: |x| x as u64;
    i16: |x| x as u64;
    i32: |x| x as u64;
    i64: |x| x as u64;
    isize: |x| x as u64;
    f32: |x| x.to_bits().into();
    f64: |x| x.to_bits();
    half::bf16: |x| x.to_bits().into();
    half::f16: |x| x.to_bits().into();
}

/// What has `Eq`: values that it does not tell apart make the same kernel.
pub trait KeyByEq<'a> {
    /// Adds it; whether that tells it from others.
    fn add_to(&self, key: &mut KernelKey<'a>) -> bool;
}

impl<'a, T: Eq + Clone + Sync + 'static> KeyByEq<'a> for &Comptime<'a, T> {
    fn add_to(&self, key: &mut KernelKey<'a>) -> bool {
        key.values.push(self.0);
        true
    }
}

/// Everything else, and what may borrow: a type of size zero has one value.
pub trait KeyBySize<'a> {
    /// Adds it; whether that tells it from others.
    fn add_to(&self, key: &mut KernelKey<'a>) -> bool;
}

impl<'a, T> KeyBySize<'a> for Comptime<'a, T> {
    fn add_to(&self, _key: &mut KernelKey<'a>) -> bool {
        size_of::<T>() == 0
    }
}

#[cfg(test)]
#[allow(clippy::needless_borrow, reason = "macro output cannot know how many are needed")]
mod tests {
    use super::*;

    struct Named;

    impl KernelFn for Named {
        fn name(&self) -> &str {
            "named"
        }

        fn params(&self) -> &'static [crate::trace::ParamSpec] {
            &[]
        }

        fn trace(&self, _args: &[ArgSpec]) -> Result<Kernel, Diagnostics> {
            Err(Diagnostics::default())
        }
    }

    /// Whether `add` tells the same value from itself, and whether it tells it from another.
    fn tells<T>(
        a: &T,
        b: &T,
        add: for<'a> fn(&'a T, &mut KernelKey<'a>) -> bool,
    ) -> Option<(bool, bool)> {
        let key = |value| {
            let mut key = KernelKey::of::<Named>();
            add(value, &mut key).then_some(key)
        };
        let kept = key(a)?.keep();
        Some((key(a)?.is(&kept), key(b)?.is(&kept)))
    }

    #[test]
    fn a_parameter_is_told_by_the_first_way_that_it_has() {
        let found = Some((true, false));
        assert_eq!(tells(&1_usize, &2, |x, key| (&&&Comptime(x)).add_to(key)), found);
        assert_eq!(tells(&0.0_f32, &-0.0, |x, key| (&&&Comptime(x)).add_to(key)), found);
        let nan = tells(&f64::NAN, &1.0, |x, key| (&&&Comptime(x)).add_to(key));
        assert_eq!(nan, found, "the same bits are the same kernel, whatever `==` says");
        let sizes = tells(&[1, 2, 3], &[1, 2, 4], |x, key| (&&&Comptime(x)).add_to(key));
        assert_eq!(sizes, found);

        #[derive(Clone, PartialEq, Eq)]
        struct Tiles {
            m: usize,
            names: Vec<String>,
        }
        let tiles = |m: usize, name: &str| Tiles { m, names: vec![name.to_owned()] };
        let add: for<'a> fn(&'a Tiles, &mut KernelKey<'a>) -> bool =
            |x, key| (&&&Comptime(x)).add_to(key);
        assert_eq!(tells(&tiles(1, "a"), &tiles(2, "a"), add), found);
        assert_eq!(tells(&tiles(1, "a"), &tiles(1, "b"), add), found);

        struct Opaque(#[expect(dead_code, reason = "it has a size")] u8);
        let opaque = tells(&Opaque(1), &Opaque(1), |x, key| (&&&Comptime(x)).add_to(key));
        assert_eq!(opaque, None);
        // What is shared may change, and would change in the kept key too.
        let shared = std::rc::Rc::new(std::cell::Cell::new(1));
        assert_eq!(tells(&shared, &shared, |x, key| (&&&Comptime(x)).add_to(key)), None);
    }

    /// A closure whose type says nothing but that it is one.
    fn by_size<F: Fn(u8) -> u8>(f: F) -> bool {
        (&&&Comptime(&f)).add_to(&mut KernelKey::of::<Named>())
    }

    #[test]
    fn closures_are_told_if_they_capture_nothing() {
        assert!(by_size(|x| x + 1));
        let n = 1_u8;
        assert!(!by_size(move |x| x + n));
        let double: fn(u8) -> u8 = |x| x * 2;
        assert!(!by_size(double));
    }
}
