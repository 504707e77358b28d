//! What an executable depends on besides its program.

use crate::cache::Key;
use crate::pjrt::{self, Client};
use std::path::Path;

/// Changes when the meaning of what is kept changes, so that older entries are not found.
const FORMAT: &str = "systole-program-1";

/// What plugins read from the environment when they compile: flags, and how many threads to divide
/// work among.
const VARIABLES: [&str; 4] = ["XLA_FLAGS", "LIBTPU_INIT_ARGS", "PJRT_NPROC", "NPROC"];

/// What all executables of a client depend on. Executables of another toolkit, plugin, kind of device
/// or, where code runs on it, host are of no use to this one, and loading them may end the process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Environment(Key);

impl Environment {
    /// That of a client; `None` where it cannot be told, so that nothing may be kept.
    pub(super) fn of(client: &Client) -> Option<Environment> {
        let described = describe(client).ok()?;
        let library = pjrt::library_identity(client.plugin().path()).ok()?;
        let platform = client.platform_name().ok()?;
        // Code for a TPU does not depend on the machine that it is in.
        let host = if platform == "tpu" { String::new() } else { host()? };
        let set = VARIABLES.map(|name| std::env::var_os(name).unwrap_or_default());
        let mut parts: Vec<&[u8]> = vec![FORMAT.as_bytes(), env!("SYSTOLE_SOURCES").as_bytes()];
        parts.extend([library.as_bytes(), described.as_bytes(), host.as_bytes()]);
        parts.extend(set.iter().map(|value| value.as_encoded_bytes()));
        Some(Environment(Key::of(&parts)))
    }

    /// The key of one program of the client: `options` and `program` are all that it was made from.
    pub(super) fn key(&self, options: &[u8], program: &[u8]) -> Key {
        Key::of(&[self.0.as_bytes(), options, program])
    }
}

/// The client in the plugin's own words.
fn describe(client: &Client) -> pjrt::Result<String> {
    let (name, version) = (client.platform_name()?, client.platform_version()?);
    let api = client.plugin().api_version();
    let kinds = client.devices()?.iter().map(pjrt::Device::kind).collect::<pjrt::Result<Vec<_>>>();
    // A CPU client has as many threads, and code for as many.
    let n_devices = client.n_global_devices()?;
    Ok(format!("{name:?} {version:?} {api:?} {n_devices} {:?}", kinds?))
}

/// The processor that XLA generates code for, and how many of its cores that code divides work
/// among; `None` where it cannot be told.
fn host() -> Option<String> {
    let n_cores = std::thread::available_parallelism().ok()?;
    let cpu = processor(&std::fs::read_to_string(Path::new("/proc/cpuinfo")).ok()?)?;
    Some(format!("{} {n_cores} {cpu}", std::env::consts::ARCH))
}

/// Model and features of the first processor in the text of `/proc/cpuinfo`, in one spelling.
fn processor(text: &str) -> Option<String> {
    /// On x86 and on Arm.
    const MODEL: [&str; 6] =
        ["vendor_id", "cpu family", "model", "CPU implementer", "CPU variant", "CPU part"];
    const FEATURES: [&str; 2] = ["flags", "Features"];
    let block = text.split("\n\n").find(|block| !block.trim().is_empty())?;
    let lines = || block.lines().filter_map(|line| line.split_once(':'));
    let value =
        |name: &str| lines().find(|(found, _)| found.trim() == name).map(|(_, value)| value.trim());
    let mut features: Vec<&str> =
        FEATURES.iter().find_map(|name| value(name))?.split_whitespace().collect();
    features.sort_unstable();
    let model: Vec<&str> = MODEL.iter().filter_map(|name| value(name)).collect();
    Some(format!("{} {}", model.join("/"), features.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_its_model_and_features() {
        let x86 = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n\
                   model name\t: EPYC\ncpu MHz\t\t: 2600.1\nflags\t\t: fpu avx2 adx\n\n\
                   processor\t: 1\nvendor_id\t: other\nflags\t\t: none\n";
        assert_eq!(processor(x86).as_deref(), Some("AuthenticAMD/25/17 adx avx2 fpu"));
        let arm = "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp sve asimd\n\
                   CPU implementer\t: 0x41\nCPU variant\t: 0x0\nCPU part\t: 0xd4f\n";
        assert_eq!(processor(arm).as_deref(), Some("0x41/0x0/0xd4f asimd fp sve"));
        for unknown in ["", "\n\n", "processor\t: 0\nmodel\t: 17\n"] {
            assert_eq!(processor(unknown), None);
        }
    }
}
