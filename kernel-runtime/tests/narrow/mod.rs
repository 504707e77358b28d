//! Conversions of the element types that only store, against the numbers that `ml_dtypes` gives.

use systole::ir::{Array, DType, f8e4m3fn, f8e5m2, i4};

/// A line of the table that `numbers.py` writes: the code, and the bits of the `f32`.
fn rows(section: &str) -> Vec<(u32, u32)> {
    let table = include_str!("numbers.txt");
    let start = table.split("\n\n").find_map(|part| part.strip_prefix(section));
    let start = start.unwrap_or_else(|| panic!("no section {section}"));
    let rows = start.lines().filter(|line| !line.is_empty());
    rows.map(|line| {
        let (from, to) = line.split_once(' ').expect("two numbers");
        let number = |text| u32::from_str_radix(text, 16).expect("hexadecimal");
        (number(from), number(to))
    })
    .collect()
}

#[test]
fn all_codes_are_the_numbers_of_ml_dtypes() {
    let check = |section, to_f32: fn(u8) -> f32, from_f32: fn(f32) -> u8| {
        let rows = rows(section);
        assert_eq!(rows.len(), 256);
        for (code, bits) in rows {
            let expected = f32::from_bits(bits);
            let value = to_f32(code as u8);
            if expected.is_nan() {
                assert!(value.is_nan(), "{section}{code:02x}");
                assert!(to_f32(from_f32(expected)).is_nan(), "{section}{code:02x}");
            } else {
                assert_eq!(value.to_bits(), bits, "{section}{code:02x}");
                assert_eq!(from_f32(value), code as u8, "{section}{code:02x}");
            }
        }
    };
    check(
        "f8e4m3fn codes\n",
        |x| f8e4m3fn::from_bits(x).to_f32(),
        |x| f8e4m3fn::from_f32(x).to_bits(),
    );
    check("f8e5m2 codes\n", |x| f8e5m2::from_bits(x).to_f32(), |x| f8e5m2::from_f32(x).to_bits());
}

#[test]
fn numbers_are_rounded_as_by_ml_dtypes() {
    let check = |section, encode: fn(f32) -> u8, is_nan: fn(u8) -> bool| {
        let rows = rows(section);
        assert!(rows.len() > 1000);
        for (bits, code) in rows {
            let got = encode(f32::from_bits(bits));
            let same = got == code as u8 || is_nan(got) && is_nan(code as u8);
            assert!(same, "{section}{bits:08x}: {got:02x}, not {code:02x}");
        }
    };
    check(
        "f8e4m3fn rounding\n",
        |x| f8e4m3fn::from_f32(x).to_bits(),
        |x| f8e4m3fn::from_bits(x).is_nan(),
    );
    check(
        "f8e5m2 rounding\n",
        |x| f8e5m2::from_f32(x).to_bits(),
        |x| f8e5m2::from_bits(x).is_nan(),
    );
}

#[test]
fn doubles_are_rounded_once() {
    // Just above the middle of 1 and the number after it, by less than an `f32` tells.
    assert_eq!(f8e4m3fn::from_f64(1.0625 + 1e-12).to_f32(), 1.125);
    assert_eq!(f8e4m3fn::from_f64(1.0625).to_f32(), 1.0);
    assert_eq!(f8e5m2::from_f64(1e300).to_f32(), f32::INFINITY);
    assert_eq!(f8e5m2::from_f64(-1e-300).to_bits(), 0x80);
}

#[test]
fn integers_of_4_bits_ignore_the_rest_of_their_byte() {
    for value in -8_i8..8 {
        assert_eq!(i4::new(value).map(i4::get), Some(value));
        for upper in 0..16 {
            let byte = (upper << 4) | (value.cast_unsigned() & 15);
            assert_eq!(i4::from_low_bits(byte.into()).get(), value);
            let array = Array::from_bytes(DType::I4, &[1], &[byte]).unwrap();
            assert_eq!(array.to_f64(), [f64::from(value)]);
            assert_eq!(array, Array::from_f64(DType::I4, &[1], &[value.into()]).unwrap());
        }
    }
    assert_eq!((i4::new(8), i4::new(-9)), (None, None));
}
