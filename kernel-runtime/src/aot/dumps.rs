//! Finding and reading the small files that libtpu dumps.
use super::report::{Occupancy, OpCounts};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The folders of one compile.
#[derive(Debug, Clone)]
pub(crate) struct Dumps {
    /// Text dumps of the compiler.
    pub(crate) llo: PathBuf,
    /// What the static profiler writes.
    pub(crate) profile: PathBuf,
}

/// Label of the dump of the final schedule, before delays are converted.
pub(crate) const PACKED: &str = "packed-bundles-post-ra";
/// Label of the dump of which unit each bundle of that schedule uses.
pub(crate) const UTILIZATION: &str = "pre-delay_hlo-static-per-bundle-utilization";

impl Dumps {
    pub(crate) fn in_dir(dir: &Path) -> Self {
        Self { llo: dir.join("llo"), profile: dir.join("profile") }
    }

    /// Estimates by program, from `<program>_<device kind>_static_llo_profile.textproto`.
    pub(crate) fn estimates(&self) -> HashMap<String, u64> {
        let mut estimates = HashMap::new();
        for path in files(&self.profile) {
            let name = file_name(&path);
            let Some(stem) = name.strip_suffix("_static_llo_profile.textproto") else { continue };
            let program = stem.rfind("_TPU").map_or(stem, |at| &stem[..at]);
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let cycles = text
                .lines()
                .find_map(|line| line.trim().strip_prefix("estimated_cycles: ")?.parse().ok());
            // An empty file is what an abort in the middle leaves: no estimate.
            if let Some(cycles) = cycles {
                estimates.insert(program.to_owned(), cycles);
            }
        }
        estimates
    }

    pub(crate) fn bundles(&self, program: &str) -> PathBuf {
        self.profile.join(format!("{program}_bundles.txt"))
    }

    pub(crate) fn critical_path(&self, program: &str) -> PathBuf {
        self.profile.join(format!("{program}_critical_path.txt"))
    }

    /// The text of `<time>-<program>-<number>-<label>.txt`.
    fn llo_text(&self, program: &str, label: &str) -> Option<String> {
        let suffix = format!("-{label}.txt");
        let path = files(&self.llo).into_iter().find(|path| {
            let name = file_name(path);
            let middle = name
                .strip_suffix(&suffix)
                .and_then(|head| head.rsplit_once('-'))
                .and_then(|(head, _number)| head.split_once('-'))
                .map(|(_time, middle)| middle.to_owned());
            middle.as_deref() == Some(program)
        })?;
        std::fs::read_to_string(path).ok()
    }

    /// How busy the units are when a program of `cycles` executes `ops` in `n_bundles` bundles.
    pub(crate) fn occupancy(
        &self,
        program: &str,
        ops: &OpCounts,
        n_bundles: u64,
        cycles: u64,
    ) -> Option<Occupancy> {
        let units = Units::parse(&self.llo_text(program, UTILIZATION)?)?;
        let schedule = self.llo_text(program, PACKED)?;
        let n_static_matmuls = schedule.matches("= vmatmul").count();
        let over = |count: f64, unit: &str| match units.capacity(unit) * cycles as f64 {
            slots if slots > 0.0 => count / slots,
            _ => 0.0,
        };
        // A multiplication holds its unit for many cycles: as many as the schedule says on average.
        let per_matmul = match n_static_matmuls {
            0 => 0.0,
            n => units.used("MATMUL") / n as f64,
        };
        Some(Occupancy {
            mxu: over(per_matmul * ops.vmatmul as f64, "MATMUL"),
            valu: over(ops.valu as f64, "VALU"),
            eup: over(ops.eup as f64, "EUP"),
            xlu: over(ops.xlu as f64, "XLU"),
            vld: over(ops.vld as f64, "VLOAD"),
            vst: over(ops.vst as f64, "VSTORE"),
            issue: if cycles == 0 { 0.0 } else { n_bundles as f64 / cycles as f64 },
        })
    }
}

/// The utilisation dump: per unit, its slots per bundle and the slots that the schedule uses.
#[derive(Debug, Default)]
struct Units(HashMap<String, (f64, f64)>);

impl Units {
    fn parse(text: &str) -> Option<Self> {
        let mut names: Vec<&str> = Vec::new();
        let mut capacity: Vec<f64> = Vec::new();
        let mut used: Vec<f64> = Vec::new();
        let mut in_rows = false;
        for line in text.lines() {
            let numbers = || line.split_whitespace().map_while(|word| word.parse::<f64>().ok());
            if line.starts_with("==") {
                in_rows = line.contains("UTIL");
            } else if in_rows {
                used.resize(names.len(), 0.0);
                used.iter_mut().zip(numbers()).for_each(|(sum, slots)| *sum += slots);
            } else if names.is_empty() {
                names = line.split(',').map(str::trim).collect();
            } else if capacity.is_empty() {
                capacity = numbers().collect();
            }
        }
        let complete = !names.is_empty() && names.len() == capacity.len();
        complete.then(|| {
            used.resize(names.len(), 0.0);
            let slots = capacity.into_iter().zip(used);
            Units(names.into_iter().map(str::to_owned).zip(slots).collect())
        })
    }

    fn capacity(&self, unit: &str) -> f64 {
        self.0.get(unit).map_or(0.0, |(capacity, _)| *capacity)
    }

    fn used(&self, unit: &str) -> f64 {
        self.0.get(unit).map_or(0.0, |(_, used)| *used)
    }
}

/// The files of a folder in the order of their names; none if it cannot be read.
fn files(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    files
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_utilisation_of_units() {
        let text = "\n== CAPACTIY:\nMATMUL, VLOAD:FILL, VALU\n    4     3     4\n== UTILIZATION:\n16 0 1\n0 1 2\n";
        let units = Units::parse(text.trim_start()).unwrap();
        assert_eq!((units.capacity("MATMUL"), units.used("MATMUL")), (4.0, 16.0));
        assert_eq!((units.capacity("VLOAD:FILL"), units.used("VALU")), (3.0, 3.0));
        assert!(Units::parse("").is_none());
    }

    #[test]
    fn finds_estimates_and_skips_truncated_files() {
        let dir = tempfile::tempdir().unwrap();
        let dumps = Dumps::in_dir(dir.path());
        std::fs::create_dir_all(&dumps.profile).unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(dumps.profile.join(name), text).unwrap();
        write("a.1_TPU v5 lite_static_llo_profile.textproto", "x {\n  estimated_cycles: 42\n}\n");
        write("b_TPU7x_static_llo_profile.textproto", "");
        assert_eq!(dumps.estimates(), HashMap::from([("a.1".to_owned(), 42)]));
    }
}
