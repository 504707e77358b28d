//! Every kernel × spec: the interpreter and both CPU plugins agree with the reference.

use systole::back::interp;
use systole::diag::{Code, Diagnostics};
use systole::ir::Array;
use systole::pjrt::Plugin;
use systole::run::device::XlaDevice;
use systole::run::{KernelEntry, Spec, Tolerance, compare_all};
use systole::target::{GENERIC, Target};
use systole::valid::{self, Valid};
use systole_kernels::KERNELS;

/// What runs in this build: large specs take minutes without optimisation.
fn for_each_spec(mut check: impl FnMut(&KernelEntry, &Spec)) {
    let (mut n_run, mut n_left_out) = (0, 0);
    for entry in KERNELS {
        for spec in (entry.specs)() {
            if cfg!(debug_assertions) && spec.has_tag(Spec::LARGE) {
                n_left_out += 1;
                continue;
            }
            n_run += 1;
            check(entry, &spec);
        }
    }
    println!("{n_run} specs, {n_left_out} large ones left to release builds");
    // Every kernel keeps specs that are small enough for every build.
    assert!(n_run >= 2 * KERNELS.len(), "only {n_run} specs of {} kernels ran", KERNELS.len());
}

fn valid_on(spec: &Spec, target: &'static Target) -> Result<Valid, Diagnostics> {
    valid::check(spec.kernel(target)?, target)
}

/// Compares what `run` gives with the reference, and collects what is wrong.
fn agrees(
    mistakes: &mut Vec<String>,
    label: &str,
    spec: &Spec,
    tolerance: &Tolerance,
    run: impl FnOnce(&Valid, &[Array]) -> Result<Vec<Array>, Diagnostics>,
) {
    let inputs = spec.sample_inputs(1).unwrap();
    let outputs = match valid_on(spec, &GENERIC).and_then(|valid| run(&valid, &inputs)) {
        Ok(outputs) => outputs,
        Err(diagnostics) => return mistakes.push(format!("{label}: {diagnostics}")),
    };
    let found = compare_all(&spec.expected(&inputs).unwrap(), &outputs, tolerance);
    println!("{label}: max abs err {:.2e}, max ULP {}", found.max_abs_err, found.max_ulp);
    if !found.ok {
        let reason = found.describe_bad().unwrap_or_default();
        mistakes.push(format!("{label}: {} ULP: {reason}", found.max_ulp));
    }
}

#[test]
fn interpreter_agrees_with_every_reference() {
    let mut mistakes = Vec::new();
    for_each_spec(|entry, spec| {
        let label = format!("{}/{} on the interpreter", entry.name, spec.name());
        agrees(&mut mistakes, &label, spec, spec.tolerated(), |valid, inputs| {
            Ok(interp::run(valid, inputs, &interp::Options::default())?.outputs)
        });
    });
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}

#[test]
fn the_first_cpu_plugin_agrees_with_every_reference() {
    agrees_on("the first", Plugin::cpu());
}

#[test]
fn the_second_cpu_plugin_agrees_with_every_reference() {
    agrees_on("the second", Plugin::cpu_second());
}

/// Compares what a CPU plugin gives with every reference. Each has a test, so that they run side by
/// side: compiling takes most of the time.
fn agrees_on(name: &str, plugin: Result<Plugin, impl std::fmt::Display>) {
    let mut mistakes = Vec::new();
    let plugin = plugin.unwrap_or_else(|error| panic!("{error}"));
    let client = plugin.client_with(&[("cpu_device_count", 1.into())]).expect("a client");
    let device = XlaDevice::new(client);
    for_each_spec(|entry, spec| {
        let label = format!("{}/{} on {name} CPU plugin", entry.name, spec.name());
        if spec.kernel(&GENERIC).is_ok_and(|kernel| kernel.core.is_sparse()) {
            let inputs = spec.sample_inputs(1).unwrap();
            let refused = device.run(&valid_on(spec, &GENERIC).unwrap(), &inputs);
            assert_eq!(refused.unwrap_err().0[0].code, Code::STABLEHLO_UNSUPPORTED, "{label}");
            return;
        }
        agrees(&mut mistakes, &label, spec, spec.tolerated(), |valid, inputs| {
            device.run(valid, inputs)
        });
    });
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}

#[test]
fn xla_baselines_compute_the_reference() {
    let device = XlaDevice::xla_cpu().unwrap_or_else(|error| panic!("{error}"));
    let mut mistakes = Vec::new();
    for_each_spec(|entry, spec| {
        let Some(program) = spec.stablehlo() else { return };
        let label = format!("the StableHLO baseline of {}/{}", entry.name, spec.name());
        // XLA may round and order sums otherwise than the kernel, so it gets some slack: what is
        // tested is that the baseline is the same math.
        let tolerance = Tolerance {
            ulp: 8 * spec.tolerated().ulp.max(1),
            floor: 8.0 * spec.tolerated().floor,
            ..*spec.tolerated()
        };
        agrees(&mut mistakes, &label, spec, &tolerance, |_, inputs| {
            let executable = device.compile(&program)?;
            device.execute(&executable, inputs)
        });
    });
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}

#[test]
fn every_spec_is_valid_or_unsupported_on_every_chip() {
    let mut mistakes = Vec::new();
    for entry in KERNELS {
        for spec in (entry.specs)() {
            for &target in Target::TPUS {
                if let Err(diagnostics) = valid_on(&spec, target)
                    && !diagnostics.is_unsupported()
                {
                    let name = format!("{}/{} on {target}", entry.name, spec.name());
                    mistakes.push(format!("{name}: {diagnostics}"));
                }
            }
        }
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}

#[test]
fn building_twice_gives_equal_kernels() {
    for entry in KERNELS {
        for spec in (entry.specs)() {
            for &target in Target::ALL {
                let text = || spec.kernel(target).map(|kernel| kernel.to_string());
                assert_eq!(text(), text(), "{}/{} on {target}", entry.name, spec.name());
            }
        }
    }
}
