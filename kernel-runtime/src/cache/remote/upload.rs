//! Storing values in the background.
use super::{Shared, add};
use crate::cache::key::Key;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// The most that may wait to be stored; what comes on top is lost.
const MAX_WAITING_BYTES: usize = 256 << 20;

/// What waits to be stored.
#[derive(Debug, Default)]
pub(super) struct Uploads {
    state: Mutex<State>,
    /// Told when there is nothing left to do.
    idle: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<(Key, Vec<u8>)>,
    waiting_bytes: usize,
    /// Whether a thread is storing. It ends when nothing waits.
    is_running: bool,
}

impl Uploads {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nothing is left to do; whether that was so in time.
    pub(super) fn wait(&self, time_limit: Duration) -> bool {
        let busy = |state: &mut State| state.is_running;
        let waited = self.idle.wait_timeout_while(self.state(), time_limit, busy);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

/// Has an encoded entry stored by a thread of the cache.
pub(super) fn enqueue(shared: &Arc<Shared>, key: &Key, object: Vec<u8>) {
    let mut state = shared.uploads.state();
    if state.waiting_bytes.saturating_add(object.len()) > MAX_WAITING_BYTES {
        add(&shared.counters.skipped, 1);
        return;
    }
    state.waiting_bytes += object.len();
    state.waiting.push_back((*key, object));
    if !state.is_running {
        let worker = shared.clone();
        let thread = std::thread::Builder::new().name("systole-upload".into());
        state.is_running = thread.spawn(move || store_all(&worker)).is_ok();
        if !state.is_running {
            add(&shared.counters.skipped, state.waiting.len());
            *state = State::default();
            return;
        }
    }
    drop(state);
    // Refused by a thread that is ending already.
    let _at_its_end = AT_END.try_with(|at_end| at_end.note(shared));
}

fn store_all(shared: &Shared) {
    loop {
        let mut state = shared.uploads.state();
        let Some((key, object)) = state.waiting.pop_front() else {
            state.is_running = false;
            shared.uploads.idle.notify_all();
            return;
        };
        state.waiting_bytes -= object.len();
        drop(state);
        shared.put(&key, object);
    }
}

thread_local! {
    /// The main thread's is dropped when the program ends.
    static AT_END: AtEnd = const { AtEnd(RefCell::new(Vec::new())) };
}

/// Caches that this thread gave values to; when it ends, it waits for them.
struct AtEnd(RefCell<Vec<Weak<Shared>>>);

impl AtEnd {
    fn note(&self, shared: &Arc<Shared>) {
        let mut caches = self.0.borrow_mut();
        caches.retain(|cache| cache.strong_count() > 0);
        if !caches.iter().any(|cache| cache.as_ptr() == Arc::as_ptr(shared)) {
            caches.push(Arc::downgrade(shared));
        }
    }
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        for shared in self.0.borrow().iter().filter_map(Weak::upgrade) {
            shared.uploads.wait(shared.options.time_limit);
        }
    }
}
