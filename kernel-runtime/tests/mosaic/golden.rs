//! Recorded modules: `BLESS=1 cargo test golden` rewrites them.

use super::cases;
use crate::golden;
use systole::back::mosaic::{self, Options};
use systole::ir::Kernel;
use systole::target::V5E;
use systole::valid;

fn text(kernel: &Kernel) -> String {
    let valid = valid::check(kernel.clone(), &V5E).unwrap_or_else(|errors| panic!("{errors}"));
    mosaic::text(&valid, &Options::default()).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn golden_modules_are_as_blessed() {
    golden::assert_as_blessed(
        "mosaic",
        cases::all().iter().map(|kernel| (kernel.name.clone(), text(kernel))),
    );
}

#[test]
fn golden_directory_has_no_orphans() {
    golden::assert_no_orphans("mosaic", cases::all().into_iter().map(|kernel| kernel.name));
}
