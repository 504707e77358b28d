//! Kernels of JAX's own library and others, as committed modules: they give what JAX gave when
//! `pallas.py` recorded them. Needs no JAX.

use super::fixtures::{module, path};
use super::support::check_case;
use serde_json::Value;
use std::collections::BTreeMap;
use systole::back::mosaic::import::ArrayType;
use systole::ir::{Array, DType};
use systole::run::tensor_file;

/// All that is recorded.
struct Recorded {
    cases: serde_json::Map<String, Value>,
    arrays: BTreeMap<String, Array>,
}

impl Recorded {
    fn read() -> Recorded {
        let file = path("cases.safetensors");
        let wanted = tensor_file::contents(&file).unwrap();
        let arrays = tensor_file::read_tensors(&wanted, &file).unwrap();
        let names = wanted.into_iter().map(|tensor| tensor.name);
        let Value::Object(cases) = serde_json::from_slice(&module("cases.json")).unwrap() else {
            panic!("cases.json is no table")
        };
        Recorded { cases, arrays: names.zip(arrays).collect() }
    }

    fn operands(&self, name: &str, types: &[ArrayType]) -> Vec<Array> {
        let recipes = self.cases[name]["operands"].as_array().unwrap();
        assert_eq!(recipes.len(), types.len(), "{name}");
        let made = recipes.iter().zip(types).enumerate();
        made.map(|(idx, (recipe, ty))| match recipe.as_array() {
            None => repeated(&self.arrays[&format!("{name}.arg{idx}")], ty),
            Some(recipe) => normal(recipe[0].as_u64().unwrap(), recipe[1].as_f64().unwrap(), ty),
        })
        .collect()
    }

    /// The elements of a result that are recorded, and what they were.
    fn expected(&self, name: &str, idx: usize, found: &Array) -> (Array, Array) {
        let sizes = &self.cases[name]["results"][idx];
        let [n, step] = [0, 1].map(|at| sizes[at].as_u64().unwrap() as usize);
        let size = found.dtype().size_bytes();
        // Where the reference has the tokens in use alone, they come first.
        let all = &found.as_bytes()[..n * size];
        let sample: Vec<u8> =
            all.chunks(size).step_by(step).flat_map(|element| element.iter().copied()).collect();
        let found = Array::from_bytes(found.dtype(), &[n.div_ceil(step)], &sample).unwrap();
        (found, self.arrays[&format!("{name}.out{idx}")].clone())
    }
}

/// An array of which axes of size 1 are repeated.
fn repeated(array: &Array, ty: &ArrayType) -> Array {
    assert_eq!((array.dtype(), array.shape().len()), (ty.dtype, ty.shape.len()), "{ty}");
    let size = ty.dtype.size_bytes();
    let n_elems: usize = ty.shape.iter().product();
    let mut bytes = Vec::with_capacity(n_elems * size);
    for place in 0..n_elems {
        let (mut rest, mut at, mut stride) = (place, 0, 1);
        for (&n, &stored) in ty.shape.iter().zip(array.shape()).rev() {
            at += if stored == 1 { 0 } else { rest % n * stride };
            rest /= n;
            stride *= stored;
        }
        bytes.extend_from_slice(&array.as_bytes()[at * size..(at + 1) * size]);
    }
    Array::from_bytes(ty.dtype, &ty.shape, &bytes).unwrap()
}

/// The numbers of `normal` in `pallas.py`.
fn normal(seed: u64, scale: f64, ty: &ArrayType) -> Array {
    let n = ty.shape.iter().product::<usize>() as u64;
    let number = |idx: u64| {
        let mut x = idx.wrapping_add(seed << 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^= x >> 31;
        let parts: u64 = (0..4).map(|part| x >> (16 * part) & 0xFFFF).sum();
        let number = ((parts as f64 - 131_070.0) / 37_837.0 * scale) as f32;
        // Integers are truncated.
        if ty.dtype.is_float() { f64::from(number) } else { f64::from(number.trunc()) }
    };
    let values: Vec<f64> = (0..n).map(number).collect();
    Array::from_f64(ty.dtype, &ty.shape, &values).unwrap()
}

#[test]
fn recorded_numbers_are_made_as_in_python() {
    let ty = ArrayType { dtype: DType::F32, shape: vec![4] };
    // `numbers(5, 4)`, before they are scaled.
    let sums = [130_286.0, 132_844.0, 207_061.0, 149_184.0];
    let expected = sums.map(|sum: f64| f64::from(((sum - 131_070.0) / 37_837.0) as f32));
    assert_eq!(normal(5, 1.0, &ty).to_f64(), expected);
}

#[test]
fn recorded_kernels_of_jax_give_what_jax_gave() {
    let recorded = Recorded::read();
    let mut mistakes = Vec::new();
    for name in recorded.cases.keys() {
        let module = module(&format!("{name}.mlir"));
        let outcome =
            check_case(name, &module, &|types| recorded.operands(name, types), &|idx, found| {
                recorded.expected(name, idx, found)
            });
        match outcome {
            Ok(line) => println!("{line}"),
            Err(how) => mistakes.push(format!("{name}: {how}")),
        }
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    let n = recorded.cases.len();
    assert!(n >= 30, "{n}");
}
