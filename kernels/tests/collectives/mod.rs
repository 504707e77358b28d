//! Collectives: what they compute, on every number of devices and in many schedules, and that they
//! compile for real topologies.

use systole::back::interp::{self, Options};
use systole::ir::{Array, DType, Kernel};
use systole::run::Sampler;
use systole::target::GENERIC;
use systole::valid;
use systole_kernels::collectives::{self, reference};

type Build = fn(DType, usize, [usize; 2]) -> Result<Kernel, systole::diag::Diagnostics>;
type Meaning = fn(&[Array]) -> Vec<Array>;

/// Name, builder, meaning, and whether a device has a part for each.
const ALL: [(&str, Build, Meaning, bool); 3] = [
    ("all_gather", collectives::all_gather, reference::all_gather, false),
    ("reduce_scatter", collectives::reduce_scatter, reference::reduce_scatter, true),
    ("all_to_all", collectives::all_to_all, reference::all_to_all, true),
];

fn check(name: &str, dtype: DType, n_devices: usize, sizes: [usize; 2]) {
    let &(_, build, meaning, has_parts) = ALL.iter().find(|(known, ..)| *known == name).unwrap();
    let kernel = build(dtype, n_devices, sizes).unwrap_or_else(|e| panic!("{e}"));
    let shape: Vec<usize> = match has_parts {
        true => [n_devices].into_iter().chain(sizes).collect(),
        false => sizes.to_vec(),
    };
    let shards: Vec<Array> =
        (0..n_devices).map(|device| Sampler::new(device as u64).normal(dtype, &shape)).collect();
    let inputs: Vec<Vec<Array>> = shards.iter().map(|shard| vec![shard.clone()]).collect();
    let valid = valid::check(kernel, &GENERIC).unwrap_or_else(|e| panic!("{e}"));
    let options = Options { schedules: 32, ..Options::default() };
    let outcomes = interp::run_devices(&valid, &inputs, &options)
        .unwrap_or_else(|e| panic!("{name} on {n_devices}: {e}"));
    for (device, (outcome, expected)) in outcomes.iter().zip(meaning(&shards)).enumerate() {
        assert_eq!(outcome.outputs, [expected], "{name} on {n_devices}, device {device}");
    }
}

#[test]
fn every_number_of_devices_gathers() {
    for n_devices in 2..=8 {
        check("all_gather", DType::F32, n_devices, [16, 128]);
    }
    check("all_gather", DType::BF16, 4, [48, 256]);
    // Rows that cannot be cut in two travel one way.
    check("all_gather", DType::F32, 3, [8, 128]);
}

#[test]
fn every_number_of_devices_reduces() {
    for n_devices in 2..=8 {
        check("reduce_scatter", DType::F32, n_devices, [16, 128]);
    }
    check("reduce_scatter", DType::BF16, 4, [16, 256]);
    // Several blocks of rows, each of which goes around.
    check("reduce_scatter", DType::F32, 3, [48, 8192]);
}

#[test]
fn every_number_of_devices_exchanges() {
    for n_devices in 2..=8 {
        check("all_to_all", DType::F32, n_devices, [8, 128]);
    }
    check("all_to_all", DType::BF16, 5, [16, 256]);
}

#[test]
fn a_collective_of_one_is_refused() {
    for (name, build, ..) in ALL {
        let error = build(DType::F32, 1, [8, 128]).unwrap_err();
        assert!(error.to_string().contains("nobody to talk to"), "{name}: {error}");
    }
}

#[cfg(feature = "mlir")]
mod compiled {
    use super::*;
    use std::path::Path;
    use systole::aot::{self, Request};
    use systole::back::mosaic;
    use systole::target::{Target, V5E, V5P, V6E};

    /// Targets, topologies of theirs and the number of devices there.
    const TOPOLOGIES: [(&Target, &str, usize); 3] =
        [(&V5E, "v5e:2x4", 8), (&V5P, "v5p:2x2x2", 8), (&V6E, "v6e:2x4", 8)];

    #[test]
    fn libtpu_compiles_collectives_for_real_topologies() {
        for (name, build, ..) in ALL {
            for (target, topology, n_devices) in TOPOLOGIES {
                let kernel = build(DType::BF16, n_devices, [256, 512]).unwrap();
                let valid = valid::check(kernel, target).unwrap_or_else(|e| panic!("{name}: {e}"));
                let call = mosaic::call(&valid, &mosaic::Options::default());
                let call = call.unwrap_or_else(|e| panic!("{name}: {e}"));
                assert!(call.contains("\\22has_communication\\22: true"), "{name}");
                assert!(call.contains("\\22collective_id\\22: "), "{name}");
                let options = aot::Options {
                    cycles: false,
                    lines: false,
                    n_partitions: n_devices,
                    topology: Some(topology.to_owned()),
                    ..aot::Options::default()
                };
                let report = aot::compile(&Request::new(name, target, call).with(options));
                assert!(report.is_ok(), "{name} for {topology}: {:?}", report.messages);
            }
        }
    }

    /// The text form and the module of each, as files: `BLESS=1 cargo test golden` writes them.
    #[test]
    fn golden_collectives_are_as_they_were() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/collectives");
        for (name, build, ..) in ALL {
            let kernel = build(DType::F32, 4, [64, 128]).unwrap();
            let valid = valid::check(kernel, &V5E).unwrap_or_else(|e| panic!("{name}: {e}"));
            let module = mosaic::text(&valid, &mosaic::Options::default());
            let text = module.unwrap_or_else(|e| panic!("{name}: {e}"));
            let path = folder.join(format!("{name}.mlir"));
            if std::env::var_os("BLESS").is_some() {
                std::fs::create_dir_all(&folder).unwrap();
                std::fs::write(&path, &text).unwrap();
            }
            let golden = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(text == golden, "{name} has changed; if that is meant, `./x bless`:\n{text}");
        }
    }
}
