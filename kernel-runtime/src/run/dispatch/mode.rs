//! When ops run: the three modes of eager code.

use std::cell::RefCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

/// When the ops of eager code run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Each op is handed to the device at once, and not waited for.
    #[default]
    Strict,
    /// Each op is waited for, so that an error appears at the op that made it.
    Debug,
    /// Ops are recorded, and run as one fused program when a result is needed.
    DeferAndFuse,
}

const MODES: [Mode; 3] = [Mode::Strict, Mode::Debug, Mode::DeferAndFuse];
/// No call of [`set_mode`] yet.
const UNSET: u8 = u8::MAX;

static GLOBAL: AtomicU8 = AtomicU8::new(UNSET);

thread_local! {
    static SCOPES: RefCell<Vec<Mode>> = const { RefCell::new(Vec::new()) };
}

/// Sets the mode of the whole process.
///
/// Until it is called, `SYSTOLE_LAUNCH_BLOCKING=1` means [`Mode::Debug`], else
/// `SYSTOLE_DEFER_AND_FUSE=1` means [`Mode::DeferAndFuse`], else it is [`Mode::Strict`]. Only the
/// value `1` counts, and the variables are read once.
pub fn set_mode(mode: Mode) {
    let place = MODES.iter().position(|known| *known == mode).unwrap_or(0);
    GLOBAL.store(place as u8, Ordering::Relaxed);
}

/// The mode that holds here: of the innermost [`with_mode`] of this thread, or of the process.
pub fn mode() -> Mode {
    if let Some(scoped) = SCOPES.with_borrow(|scopes| scopes.last().copied()) {
        return scoped;
    }
    match GLOBAL.load(Ordering::Relaxed) {
        UNSET => from_environment(),
        place => MODES.get(usize::from(place)).copied().unwrap_or_default(),
    }
}

fn from_environment() -> Mode {
    static READ: OnceLock<Mode> = OnceLock::new();
    *READ.get_or_init(|| {
        let is_on = |name| std::env::var_os(name).is_some_and(|value| value == "1");
        if is_on("SYSTOLE_LAUNCH_BLOCKING") {
            Mode::Debug
        } else if is_on("SYSTOLE_DEFER_AND_FUSE") {
            Mode::DeferAndFuse
        } else {
            Mode::Strict
        }
    })
}

/// Runs `f` in this mode. What it leaves deferred stays deferred when the scope ends.
pub fn with_mode<R>(mode: Mode, f: impl FnOnce() -> R) -> R {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            SCOPES.with_borrow_mut(|scopes| scopes.pop());
        }
    }
    SCOPES.with_borrow_mut(|scopes| scopes.push(mode));
    let _leave = Leave;
    f()
}
