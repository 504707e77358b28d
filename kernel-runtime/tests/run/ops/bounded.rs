//! Every op with bounded dims: it gives what exact shapes give, to the bit, or is refused.

use super::coverage::op_names;
use super::table::cases;
use super::{Case, tensor};
use std::collections::{BTreeMap, BTreeSet};
use systole::diag::Diagnostics;
use systole::ir::Array;
use systole::pjrt::Plugin;
use systole::run::{
    Device, Dim, DynTensor, Numerics, Pick, ProgramCache, Tensor, jit, with_device,
};

/// Ops that are refused in all cases of the table, and why.
const REFUSED: &[(&str, &str)] = &[
    ("bernoulli", KEYS),
    ("dynamic_slice", SHAPES),
    ("dynamic_update_slice", SHAPES),
    ("fold_in", KEYS),
    ("normal", KEYS),
    ("pad", SHAPES),
    ("randint", KEYS),
    ("random_bits", KEYS),
    ("reshape", SHAPES),
    ("split_key", KEYS),
    ("uniform", KEYS),
];
const KEYS: &str =
    "the words of a key cannot be bounded; tests/run/bounded.rs bounds what it makes";
const SHAPES: &str = "the cases name sizes of all axes; tests/run/bounded.rs has others";

type Call<'a> = Box<dyn Fn(&[DynTensor]) -> Result<Vec<DynTensor>, Diagnostics> + 'a>;

/// A case as a function of as many arguments as it has inputs; one dim, if there is one, bounds
/// these axes of these arguments.
fn compiled<'a>(case: &'a Case, bounds: Option<(usize, &[(usize, i64)])>) -> Option<Call<'a>> {
    macro_rules! function {
        ($($arg:ident $idx:tt)*) => {{
            let mut f = jit(|$($arg: DynTensor),*| case.run(&[$($arg),*]));
            if let Some((max, places)) = bounds {
                f = f.bounded(Dim::bounded(max).named("n"), places);
            }
            Box::new(move |inputs: &[DynTensor]| f.call(($(inputs[$idx].clone(),)*)))
        }};
    }
    Some(match case.inputs.len() {
        1 => function!(a 0),
        2 => function!(a 0 b 1),
        3 => function!(a 0 b 1 c 2),
        4 => function!(a 0 b 1 c 2 d 3),
        _ => return None,
    })
}

/// The elements at the lowest `n` indices of the axes of this size.
fn cut(x: &DynTensor, size: usize, n: usize) -> DynTensor {
    let picks: Vec<Pick> = x
        .shape()
        .iter()
        .map(|&axis| if axis == size { Pick::from(0..n) } else { Pick::from(..) })
        .collect();
    let part = x.slice(picks.as_slice());
    // On the host, so that nothing hangs on how it was made.
    tensor(part.dtype(), part.shape(), &part.to_array().unwrap().to_f64())
}

/// Whether two arrays have the same numbers; NaN is NaN.
fn same(a: &Array, b: &Array) -> bool {
    let bits = |x: &Array| -> Vec<u64> {
        let bits = |x: f64| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() };
        x.to_f64().into_iter().map(bits).collect()
    };
    a.dtype() == b.dtype() && a.shape() == b.shape() && bits(a) == bits(b)
}

fn arrays(results: Result<Vec<DynTensor>, Diagnostics>) -> Result<Vec<Array>, Diagnostics> {
    results?.iter().map(Tensor::to_array).collect()
}

#[test]
fn bounded_ops_give_what_exact_shapes_give_or_are_refused() {
    let client = Plugin::cpu_client(&[("cpu_device_count", 1.into())]).unwrap();
    let device = Device::all_of(&client).unwrap().remove(0);
    let compiler = device.compiler().unwrap();
    compiler.set_cache(ProgramCache::off());
    compiler.set_numerics(Numerics::InOrder);
    let mut accepted: BTreeMap<String, usize> = BTreeMap::new();
    let mut met: BTreeSet<String> = BTreeSet::new();
    let mut wrong: Vec<String> = Vec::new();
    with_device(&device, || {
        for case in cases() {
            let sizes: BTreeSet<usize> =
                case.inputs.iter().flat_map(|x| x.shape().to_vec()).filter(|&n| n > 1).collect();
            let Some(exact) = compiled(&case, None) else { continue };
            let names = op_names(&case);
            met.extend(names.iter().cloned());
            for size in sizes {
                if check(&case, size, &exact, &mut wrong) {
                    for name in &names {
                        *accepted.entry(name.clone()).or_default() += 1;
                    }
                }
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let refused: Vec<&String> = met.iter().filter(|name| !accepted.contains_key(*name)).collect();
    let expected: Vec<&str> = REFUSED.iter().map(|(name, _)| *name).collect();
    assert_eq!(refused, expected, "accepted: {accepted:?}");
}

/// Runs a case with the axes of this size bounded by it; whether that can be done. Notes what is
/// wrong.
fn check(case: &Case, size: usize, exact: &Call<'_>, wrong: &mut Vec<String>) -> bool {
    let mut places = Vec::new();
    for (arg, x) in case.inputs.iter().enumerate() {
        let axes = (0..x.rank()).filter(|&axis| x.shape()[axis] == size);
        places.extend(axes.map(|axis| (arg, axis as i64)));
    }
    let Some(bounded) = compiled(case, Some((size, &places))) else { return false };
    for n in [size, 1, size - 1] {
        let inputs: Vec<DynTensor> = case.inputs.iter().map(|x| cut(x, size, n)).collect();
        let found = arrays(bounded(&inputs));
        if n == size
            && let Err(error) = &found
        {
            let code = error.0[0].code.as_str();
            if code != "tensor::bounded" {
                wrong.push(format!("{} by {size}: {error}", case.name));
            }
            return false;
        }
        match (found, arrays(exact(&inputs))) {
            (Err(_), Err(_)) => {}
            (Ok(found), Ok(expected)) => {
                let alike = found.iter().zip(&expected).all(|(a, b)| same(a, b));
                if !alike || found.len() != expected.len() {
                    let name = case.name;
                    wrong.push(format!("{name}: {n} of {size}: {found:?} for {expected:?}"));
                }
            }
            (found, expected) => {
                let name = case.name;
                wrong.push(format!("{name}: {n} of {size}: {found:?} for {expected:?}"));
            }
        }
    }
    true
}
