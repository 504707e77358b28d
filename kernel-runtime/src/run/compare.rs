//! Comparing results with their reference, in units in the last place (ULP).

use crate::ir::array::ArrayData;
use crate::ir::{Array, DType, f8e4m3fn, f8e5m2};
use half::{bf16, f16};

/// How far a result may be from its reference.
///
/// An element is good if it is equal, or within `ulp` units in the last place of the output's
/// element type, or within `floor` in absolute terms. NaN equals NaN and nothing else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Units in the last place of the output's element type.
    pub ulp: u64,
    /// An absolute error that is good whatever the ULP: 0 means none.
    pub floor: f64,
    /// Why there is a floor: cancellation makes the ULP of a small result meaningless, and the
    /// floor says from which size on.
    pub floor_reason: &'static str,
}

impl Tolerance {
    /// Equality (NaN equals NaN, and zeros of both signs are equal).
    pub const fn exact() -> Tolerance {
        Tolerance::ulp(0)
    }

    /// So many units in the last place.
    pub const fn ulp(ulp: u64) -> Tolerance {
        Tolerance { ulp, floor: 0.0, floor_reason: "" }
    }

    /// Adds an absolute floor and the reason for it.
    pub const fn floor(mut self, floor: f64, reason: &'static str) -> Tolerance {
        self.floor = floor;
        self.floor_reason = reason;
        self
    }
}

/// An element out of tolerance.
#[derive(Clone, Debug, PartialEq)]
pub struct BadElement {
    /// Its index.
    pub index: Vec<usize>,
    /// What the reference has.
    pub expected: f64,
    /// What was found.
    pub got: f64,
}

/// What [`compare`] found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// The largest absolute error; infinite if a NaN or an infinity met something else.
    pub max_abs_err: f64,
    /// The largest distance in ULP among elements that the absolute floor does not excuse;
    /// `u64::MAX` if a NaN met something else.
    pub max_ulp: u64,
    /// Whether every element is within the tolerance.
    pub ok: bool,
    /// How many elements are not.
    pub n_bad: usize,
    /// The first that is not, in row-major order.
    pub first_bad: Option<BadElement>,
    /// That the arrays could not be compared, since type or shape differ.
    pub mismatch: Option<String>,
}

impl Comparison {
    /// What is wrong, in a sentence; `None` if all is well.
    pub fn describe_bad(&self) -> Option<String> {
        if let Some(mismatch) = &self.mismatch {
            return Some(mismatch.clone());
        }
        let bad = self.first_bad.as_ref()?;
        Some(format!(
            "{} elements are out of tolerance; the first, at {:?}, is {:e} where the reference has {:e}",
            self.n_bad, bad.index, bad.got, bad.expected
        ))
    }

    /// The worse of two comparisons: of two outputs of one kernel.
    pub fn merge(self, other: Comparison) -> Comparison {
        Comparison {
            max_abs_err: self.max_abs_err.max(other.max_abs_err),
            max_ulp: self.max_ulp.max(other.max_ulp),
            ok: self.ok && other.ok,
            n_bad: self.n_bad + other.n_bad,
            first_bad: self.first_bad.or(other.first_bad),
            mismatch: self.mismatch.or(other.mismatch),
        }
    }
}

/// Compares the outputs of a kernel with their references, array by array.
pub fn compare_all(expected: &[Array], got: &[Array], tolerance: &Tolerance) -> Comparison {
    if expected.len() != got.len() {
        let mismatch =
            format!("the reference gives {} arrays, the kernel {}", expected.len(), got.len());
        return Comparison { mismatch: Some(mismatch), ..Comparison::default() };
    }
    let all = expected.iter().zip(got).map(|(expected, got)| compare(expected, got, tolerance));
    all.reduce(Comparison::merge).unwrap_or(Comparison { ok: true, ..Comparison::default() })
}

/// Compares an array with its reference.
pub fn compare(expected: &Array, got: &Array, tolerance: &Tolerance) -> Comparison {
    if expected.dtype() != got.dtype() || expected.shape() != got.shape() {
        return Comparison {
            max_abs_err: f64::INFINITY,
            max_ulp: u64::MAX,
            n_bad: expected.n_elems(),
            mismatch: Some(format!(
                "the reference is {}{:?}, the result is {}{:?}",
                expected.dtype(),
                expected.shape(),
                got.dtype(),
                got.shape()
            )),
            ..Comparison::default()
        };
    }
    let mut result = Comparison { ok: true, ..Comparison::default() };
    let (expected_keys, got_keys) = (order_keys(expected), order_keys(got));
    for (idx, (a, b)) in expected_keys.into_iter().zip(got_keys).enumerate() {
        let ulp = key_distance(a.key, b.key);
        if ulp == 0 {
            continue;
        }
        let abs_err = abs_error(a.value, b.value);
        result.max_abs_err = result.max_abs_err.max(abs_err);
        if abs_err <= tolerance.floor {
            continue;
        }
        result.max_ulp = result.max_ulp.max(ulp);
        if ulp > tolerance.ulp {
            result.ok = false;
            result.n_bad += 1;
            result.first_bad.get_or_insert_with(|| BadElement {
                index: unravel(idx, expected.shape()),
                expected: a.value,
                got: b.value,
            });
        }
    }
    result
}

/// The distance of two values in units in the last place of an element type: how many values of
/// the type lie between them, plus one. 0 for equal values, zeros of both signs and two NaNs;
/// `u64::MAX` if one is NaN. Integers count by ones.
pub fn ulp_distance(dtype: DType, a: f64, b: f64) -> u64 {
    let key = |value: f64| match dtype {
        DType::BF16 => float_key(u64::from(bf16::from_f64(value).to_bits()), 16, value.is_nan()),
        DType::F16 => float_key(u64::from(f16::from_f64(value).to_bits()), 16, value.is_nan()),
        DType::F32 => float_key(u64::from((value as f32).to_bits()), 32, value.is_nan()),
        DType::F8E4M3FN => {
            float_key(u64::from(f8e4m3fn::from_f64(value).to_bits()), 8, value.is_nan())
        }
        DType::F8E5M2 => float_key(u64::from(f8e5m2::from_f64(value).to_bits()), 8, value.is_nan()),
        DType::Bool
        | DType::I4
        | DType::I8
        | DType::I16
        | DType::I32
        | DType::U8
        | DType::U16
        | DType::U32 => Some(value as i64),
    };
    key_distance(key(a), key(b))
}

/// An element as a value and as its place in the order of its type; `None` for NaN.
struct Keyed {
    key: Option<i64>,
    value: f64,
}

fn order_keys(array: &Array) -> Box<dyn Iterator<Item = Keyed> + '_> {
    fn ints<'a, T: Copy + Into<i64>>(v: &'a [T]) -> Box<dyn Iterator<Item = Keyed> + 'a> {
        Box::new(v.iter().map(|&x| {
            let key: i64 = x.into();
            Keyed { key: Some(key), value: key as f64 }
        }))
    }
    match array.data() {
        ArrayData::Bool(v) | ArrayData::U8(v) => ints(v),
        ArrayData::I4(v) => ints(v),
        ArrayData::I8(v) => ints(v),
        ArrayData::I16(v) => ints(v),
        ArrayData::I32(v) => ints(v),
        ArrayData::U16(v) => ints(v),
        ArrayData::U32(v) => ints(v),
        ArrayData::BF16(v) => Box::new(v.iter().map(|x| Keyed {
            key: float_key(u64::from(x.to_bits()), 16, x.is_nan()),
            value: x.to_f64(),
        })),
        ArrayData::F16(v) => Box::new(v.iter().map(|x| Keyed {
            key: float_key(u64::from(x.to_bits()), 16, x.is_nan()),
            value: x.to_f64(),
        })),
        ArrayData::F8E4M3FN(v) => Box::new(v.iter().map(|x| Keyed {
            key: float_key(u64::from(x.to_bits()), 8, x.is_nan()),
            value: x.to_f64(),
        })),
        ArrayData::F8E5M2(v) => Box::new(v.iter().map(|x| Keyed {
            key: float_key(u64::from(x.to_bits()), 8, x.is_nan()),
            value: x.to_f64(),
        })),
        ArrayData::F32(v) => Box::new(v.iter().map(|&x| Keyed {
            key: float_key(u64::from(x.to_bits()), 32, x.is_nan()),
            value: f64::from(x),
        })),
    }
}

/// Sign and magnitude as one ordered integer: neighbours differ by one, and both zeros are 0.
fn float_key(bits: u64, width: u32, is_nan: bool) -> Option<i64> {
    if is_nan {
        return None;
    }
    let sign = 1u64 << (width - 1);
    let magnitude = (bits & (sign - 1)) as i64;
    Some(if bits & sign == 0 { magnitude } else { -magnitude })
}

fn key_distance(a: Option<i64>, b: Option<i64>) -> u64 {
    match (a, b) {
        (Some(a), Some(b)) => a.abs_diff(b),
        (None, None) => 0,
        (Some(_), None) | (None, Some(_)) => u64::MAX,
    }
}

fn abs_error(a: f64, b: f64) -> f64 {
    let error = (a - b).abs();
    if error.is_nan() { f64::INFINITY } else { error }
}

fn unravel(mut idx: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (axis, &size) in shape.iter().enumerate().rev() {
        index[axis] = idx % size.max(1);
        idx /= size.max(1);
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f32s(values: &[f32]) -> Array {
        Array::from_f32(&[values.len()], values.to_vec()).unwrap()
    }

    #[test]
    fn neighbours_are_one_ulp_apart() {
        assert_eq!(ulp_distance(DType::F32, 1.0, f64::from(1.0f32.next_up())), 1);
        assert_eq!(ulp_distance(DType::BF16, 1.0, 1.0 + 1.0 / 128.0), 1);
        assert_eq!(ulp_distance(DType::F16, 1.0, 1.0 + 1.0 / 1024.0), 1);
        assert_eq!(ulp_distance(DType::F32, 0.0, -0.0), 0);
        let tiny = f64::from(f32::from_bits(1));
        assert_eq!(ulp_distance(DType::F32, tiny, -tiny), 2);
        assert_eq!(ulp_distance(DType::I32, -3.0, 4.0), 7);
    }

    #[test]
    fn nan_fails_on_either_side_and_equals_nan() {
        let tolerance = Tolerance::ulp(u64::MAX - 1).floor(1e30, "everything passes but NaN");
        for (a, b, ok) in [
            (f32::NAN, 1.0, false),
            (1.0, f32::NAN, false),
            (f32::NAN, f32::NAN, true),
            (f32::INFINITY, f32::INFINITY, true),
        ] {
            let found = compare(&f32s(&[0.0, a]), &f32s(&[0.0, b]), &tolerance);
            assert_eq!(found.ok, ok, "{a} {b}");
            assert_eq!(found.first_bad.is_none(), ok);
        }
    }

    #[test]
    fn floor_excuses_small_errors_and_keeps_them_out_of_max_ulp() {
        let (a, b) = (f32s(&[1e-9, 1.0]), f32s(&[-1e-9, 1.0]));
        assert!(!compare(&a, &b, &Tolerance::ulp(1)).ok);
        let found = compare(&a, &b, &Tolerance::ulp(1).floor(1e-8, "near zero"));
        assert!(found.ok && found.max_ulp == 0 && found.max_abs_err > 1e-9);
    }

    #[test]
    fn names_the_first_bad_element() {
        let expected = Array::zeros(DType::F32, &[2, 3]);
        let got = Array::from_f64(DType::F32, &[2, 3], &[0.0, 0.0, 0.0, 0.0, 5.0, 6.0]).unwrap();
        let found = compare(&expected, &got, &Tolerance::exact());
        assert_eq!(found.n_bad, 2);
        assert_eq!(found.first_bad.map(|bad| bad.index), Some(vec![1, 1]));
    }

    #[test]
    fn different_shapes_do_not_compare() {
        let found = compare(
            &Array::zeros(DType::F32, &[2]),
            &Array::zeros(DType::F32, &[3]),
            &Tolerance::exact(),
        );
        assert!(!found.ok && found.mismatch.is_some());
    }
}
