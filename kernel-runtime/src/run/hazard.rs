//! What the interpreter found while a program ran.
//!
//! A function that a program calls can tell no more than a text, so the diagnostics wait here under
//! a number, and the text has the number.

use crate::diag::Diagnostics;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// How many failed calls are remembered: several tensors may tell of the same one, at any time.
const MAX_CALLS: usize = 256;
const MARK: &str = "systole-hazard-";

#[derive(Debug)]
struct Calls {
    next: u64,
    found: VecDeque<(u64, Diagnostics)>,
}

static CALLS: Mutex<Calls> = Mutex::new(Calls { next: 0, found: VecDeque::new() });

/// Keeps what a call found; gives the text for the plugin.
pub(super) fn keep(hazards: Diagnostics) -> String {
    let first = hazards.0.first().map_or("the kernel failed", |hazard| &hazard.message).to_owned();
    let mut calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    let number = calls.next;
    calls.next += 1;
    if calls.found.len() >= MAX_CALLS {
        calls.found.pop_front();
    }
    calls.found.push_back((number, hazards));
    format!("{MARK}{number}: {first}")
}

/// What the call found that a text of the plugin tells of.
pub(super) fn find(text: &str) -> Option<Diagnostics> {
    let (_, rest) = text.split_once(MARK)?;
    let number: u64 = rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
    let calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    calls.found.iter().find(|(known, _)| *known == number).map(|(_, hazards)| hazards.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::{Code, Diagnostic};

    #[test]
    fn a_text_of_the_plugin_leads_to_what_was_found() {
        let found = |n: u32| Diagnostics::from(Diagnostic::error(Code::INTERP_RACE, n.to_string()));
        let texts: Vec<String> = (0..3).map(|n| keep(found(n))).collect();
        let told = format!("INTERNAL: custom call failed: {} [type.googleapis.com/..]", texts[1]);
        assert_eq!(find(&told).map(|found| found.0), Some(found(1).0));
        assert_eq!(find("INTERNAL: out of memory"), None);
        for n in 0..MAX_CALLS as u32 {
            keep(found(n));
        }
        assert_eq!(find(&texts[0]), None);
    }
}
