//! Ops against what NumPy makes of edge cases: `fixtures/ops.json`, written by `fixtures/ops.py`.

use super::table::cases;
use super::tensor;
use serde_json::Value;
use std::collections::BTreeSet;
use systole::prelude::*;
use systole::run::{DynTensor, Mode, with_mode};

/// An array as it stands in the file.
struct Stored {
    dtype: DType,
    shape: Vec<usize>,
    values: Vec<f64>,
}

impl Stored {
    fn read(value: &Value) -> Stored {
        let number = |value: &Value| match value.as_str() {
            Some(word) => word.parse().unwrap(),
            None => value.as_f64().unwrap(),
        };
        let list = |key: &str| value[key].as_array().unwrap();
        Stored {
            dtype: DType::parse(value["dtype"].as_str().unwrap()).unwrap(),
            shape: list("shape").iter().map(|size| size.as_u64().unwrap() as usize).collect(),
            values: list("data").iter().map(number).collect(),
        }
    }

    fn list(value: &Value) -> Vec<Stored> {
        value.as_array().unwrap().iter().map(Stored::read).collect()
    }

    fn tensor(&self) -> DynTensor {
        tensor(self.dtype, &self.shape, &self.values)
    }

    /// What is wrong with a result that should be this.
    fn differs(&self, result: &DynTensor, rtol: f64, atol: f64) -> Option<String> {
        let array = match result.to_array() {
            Ok(array) => array,
            Err(error) => return Some(error.to_string()),
        };
        if (array.dtype(), array.shape()) != (self.dtype, self.shape.as_slice()) {
            return Some(format!(
                "{}{:?} instead of {}{:?}",
                array.dtype(),
                array.shape(),
                self.dtype,
                self.shape
            ));
        }
        let near = |(x, wanted): (&f64, &f64)| {
            let same_zero = rtol > 0.0 || *wanted != 0.0 || x.signum() == wanted.signum();
            let same = x == wanted && same_zero || x.is_nan() && wanted.is_nan();
            same || (x - wanted).abs() <= atol + rtol * wanted.abs()
        };
        let values = array.to_f64();
        let far = values.iter().zip(&self.values).position(|pair| !near(pair))?;
        Some(format!("element {far} is {}, NumPy has {}", values[far], self.values[far]))
    }
}

#[test]
fn ops_give_what_numpy_gives() {
    let rows: Vec<Value> = serde_json::from_str(include_str!("../fixtures/ops.json")).unwrap();
    let cases = cases();
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    // Deferred, so that one program serves many rows.
    let run = |row: &Value| {
        let name = row["case"].as_str().unwrap();
        let case = cases.iter().find(|case| case.name == name);
        let case = case.unwrap_or_else(|| panic!("there is no case `{name}`"));
        let inputs: Vec<DynTensor> =
            Stored::list(&row["inputs"]).iter().map(Stored::tensor).collect();
        with_mode(Mode::DeferAndFuse, || case.run(&inputs))
    };
    let results: Vec<Vec<DynTensor>> = rows.iter().map(run).collect();
    for (number, (row, results)) in rows.iter().zip(results).enumerate() {
        let name = row["case"].as_str().unwrap();
        seen.insert(name);
        let expected = Stored::list(&row["outputs"]);
        assert_eq!(results.len(), expected.len(), "{name}");
        let (rtol, atol) = (row["rtol"].as_f64().unwrap(), row["atol"].as_f64().unwrap());
        for (result, expected) in results.iter().zip(&expected) {
            if let Some(what) = expected.differs(result, rtol, atol) {
                wrong.push(format!("row {number}, {name}: {what}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    let unseen: Vec<&str> =
        cases.iter().map(|case| case.name).filter(|name| !seen.contains(name)).collect();
    // Random tensors are checked against JAX, and `erf` is NumPy's no more than ours.
    let known = ["erf", "cast_i32_f32"];
    let random = super::table::random_names();
    let unseen: Vec<&&str> =
        unseen.iter().filter(|name| !known.contains(name) && !random.contains(name)).collect();
    assert!(unseen.is_empty(), "no rows in ops.py for {unseen:?}");
}
