//! Deferred ops: recorded into a batch, and run as one program when the batch is flushed.
//!
//! Each thread records into a batch of its own. The ops of a batch refer to one another by number,
//! never to nodes of tensors, so a batch of any length is dropped without recursion, and a node
//! that is still alive when the batch is flushed is one that somebody holds: only those are
//! results, and ops that lead to none are not run.

use super::state_as_buffer;
use crate::diag::{Diagnostics, Span};
use crate::run::device::{Device, device_error};
use crate::run::graph::{At, Graph, KeyWriter, Ty, ValueId};
use crate::run::mesh;
use crate::run::op::{Op, Types};
use crate::run::tensor::node::{Node, State};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::Hasher;
use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// How much may be deferred before it is run all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeferLimits {
    /// Ops in a batch.
    pub max_ops: usize,
    /// Bytes of the results of a batch's ops, were all of them kept.
    pub max_bytes: usize,
}

static MAX_OPS: AtomicUsize = AtomicUsize::new(1024);
static MAX_BYTES: AtomicUsize = AtomicUsize::new(1 << 30);

impl DeferLimits {
    /// Those that hold now; 1,024 ops and 1 GiB until they are set.
    pub fn get() -> DeferLimits {
        DeferLimits {
            max_ops: MAX_OPS.load(Ordering::Relaxed),
            max_bytes: MAX_BYTES.load(Ordering::Relaxed),
        }
    }

    /// Makes them hold for the process.
    pub fn set(self) {
        MAX_OPS.store(self.max_ops.max(1), Ordering::Relaxed);
        MAX_BYTES.store(self.max_bytes, Ordering::Relaxed);
    }
}

/// Ops that are recorded and not run.
pub(crate) struct Batch {
    device: Device,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    graph: Graph,
    /// By argument of the graph.
    leaves: Vec<Arc<Node>>,
    /// By address of a leaf's node, which `leaves` keeps alive.
    leaf_ids: HashMap<usize, ValueId>,
    /// Arguments of the graph that were given away: their memory may become that of results.
    donors: Vec<ValueId>,
    /// The tensors of the results, if somebody still holds them.
    results: Vec<(ValueId, Weak<Node>)>,
    n_bytes: usize,
    /// Nothing more is recorded here.
    sealed: bool,
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Batch")
    }
}

/// What one thread records.
#[derive(Default)]
struct Recorder {
    batch: Option<Arc<Batch>>,
    /// Whether the batch is to run before the next op.
    is_due: bool,
    loops: LoopDetector,
}

thread_local! {
    static RECORDER: RefCell<Recorder> = RefCell::default();
}

/// Records an op. The batch before it is run if it got too large, or if the thread goes round in a
/// loop.
pub(super) fn record(
    device: &Device,
    op: Arc<dyn Op>,
    inputs: &[&Arc<Node>],
    types: Types,
    donors: &[usize],
    at: At,
) -> Result<SmallVec<[Arc<Node>; 1]>, Diagnostics> {
    let hash = call_hash(&*op, inputs);
    // A batch that is due runs before the next op and not after its last one, whose operands are
    // still held by the code that applies it and would all become results.
    if RECORDER.with_borrow_mut(|recorder| std::mem::take(&mut recorder.is_due)) {
        flush();
    }
    RECORDER.with_borrow_mut(|recorder| {
        let known = recorder.batch.take().filter(|batch| batch.device.same_as(device));
        let mut batch = known.unwrap_or_else(|| Batch::new(device));
        loop {
            if let Some(outputs) = batch.push(&op, inputs, &types, donors, at)? {
                recorder.is_due = recorder.loops.repeats(hash) || batch.is_full();
                recorder.batch = Some(batch);
                return Ok(outputs);
            }
            batch = Batch::new(device);
        }
    })
}

/// Runs what this thread has deferred.
pub fn flush() {
    let batch = RECORDER.with_borrow_mut(|recorder| recorder.batch.take());
    if let Some(batch) = batch {
        batch.flush();
    }
}

fn call_hash(op: &dyn Op, inputs: &[&Arc<Node>]) -> u64 {
    use std::hash::Hash;
    let mut key = KeyWriter::default();
    op.name().hash(&mut key);
    op.write_attrs(&mut key);
    for input in inputs {
        input.ty.hash(&mut key);
    }
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(key.bytes());
    hasher.finish()
}

impl Batch {
    fn new(device: &Device) -> Arc<Batch> {
        Arc::new(Batch { device: device.clone(), inner: Mutex::default() })
    }

    /// Adds a call; none if the batch has been run already.
    fn push(
        self: &Arc<Batch>,
        op: &Arc<dyn Op>,
        inputs: &[&Arc<Node>],
        types: &Types,
        donors: &[usize],
        at: At,
    ) -> Result<Option<SmallVec<[Arc<Node>; 1]>>, Diagnostics> {
        // What another batch has deferred is run first, before this one is locked.
        for input in inputs {
            let other = match &*input.state() {
                State::Deferred(batch, _) if !Arc::ptr_eq(batch, self) => Some(batch.clone()),
                _ => None,
            };
            if let Some(other) = other {
                other.flush();
            }
        }
        let mut guard = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let inner = &mut *guard;
        if inner.sealed {
            return Ok(None);
        }
        let mut ids: SmallVec<[ValueId; 4]> = SmallVec::new();
        for &input in inputs {
            ids.push(inner.value_of(self, input));
        }
        let donated = donors.iter().map(|&idx| ids[idx]);
        inner.donors.extend(donated.filter(|id| inner.graph.args().contains(id)));
        inner.n_bytes += types.iter().map(Ty::n_bytes).sum::<usize>();
        let first = inner.graph.call(op.clone(), &ids, types.iter().cloned(), at);
        let mut outputs = SmallVec::new();
        for (idx, ty) in types.iter().enumerate() {
            let id = ValueId(first.0 + idx as u32);
            let state = State::Deferred(self.clone(), id);
            let node = Node::new(ty.clone(), at, self.device.clone(), state);
            inner.results.push((id, Arc::downgrade(&node)));
            outputs.push(node);
        }
        Ok(Some(outputs))
    }

    fn is_full(&self) -> bool {
        let limits = DeferLimits::get();
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.graph.calls().len() >= limits.max_ops || inner.n_bytes >= limits.max_bytes
    }

    /// Runs the batch, if that has not been done; after it no node is deferred to it. Errors go to
    /// the nodes.
    pub(crate) fn flush(&self) {
        // Locked to the end: whoever comes meanwhile finds every node settled.
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut inner.sealed, true) {
            return;
        }
        let inner = std::mem::take(&mut *inner).seal_on(&mut inner);
        let live: Vec<(ValueId, Arc<Node>)> =
            inner.results.iter().filter_map(|(id, node)| Some((*id, node.upgrade()?))).collect();
        if live.is_empty() && !inner.graph.calls().iter().any(|call| call.op.has_side_effects()) {
            return;
        }
        let mut graph = inner.graph;
        graph.set_outputs(live.iter().map(|(id, _)| *id));
        match run(&self.device, &graph, &inner.leaves, &inner.donors) {
            Ok(states) => {
                for ((_, node), state) in live.iter().zip(states) {
                    node.set(state);
                }
            }
            Err(error) => {
                for (_, node) in &live {
                    let error = labelled(error.clone(), node.at);
                    node.set(State::Failed(Arc::new(error)));
                }
            }
        }
    }
}

/// Adds the line of a result to errors that name none.
fn labelled(mut error: Diagnostics, at: At) -> Diagnostics {
    for diagnostic in &mut error.0 {
        if diagnostic.labels.is_empty() {
            let span = Span::from_location(at);
            *diagnostic = diagnostic.clone().at(span, "this result was deferred here");
        }
    }
    error
}

fn run(
    device: &Device,
    graph: &Graph,
    leaves: &[Arc<Node>],
    donors: &[ValueId],
) -> Result<Vec<State>, Diagnostics> {
    // Of a donor that nobody holds any more, the batch has the only handle.
    let is_donor =
        |idx: &usize| donors.contains(&graph.args()[*idx]) && Arc::strong_count(&leaves[*idx]) == 1;
    let mut given: Vec<usize> = (0..leaves.len()).filter(is_donor).collect();
    let (graph, kept) = graph.pruned();
    if let Some(devices) = device.mesh() {
        let kept: Vec<&Arc<Node>> = kept.into_iter().filter_map(|idx| leaves.get(idx)).collect();
        return mesh::execute::run(device, devices, &graph, &kept, Location::caller());
    }
    given.retain(|&idx| graph.output_types().any(|ty| *ty == leaves[idx].ty));
    let donated: Vec<usize> = (0..kept.len()).filter(|&n| given.contains(&kept[n])).collect();
    let ready = device.ready()?;
    let mut buffers = Vec::with_capacity(kept.len());
    for idx in kept {
        if let Some(leaf) = leaves.get(idx) {
            buffers.push(state_as_buffer(leaf)?);
        }
    }
    let executable = ready.program(&graph, &donated)?;
    let args: Vec<&crate::pjrt::Buffer> = buffers.iter().collect();
    let outputs = executable.execute(&args).map_err(device_error)?;
    Ok(outputs.into_iter().map(State::Device).collect())
}

impl Inner {
    /// The contents, leaving behind a batch that takes no more.
    fn seal_on(self, place: &mut Inner) -> Inner {
        place.sealed = true;
        self
    }

    fn value_of(&mut self, batch: &Arc<Batch>, node: &Arc<Node>) -> ValueId {
        if let State::Deferred(owner, id) = &*node.state()
            && Arc::ptr_eq(owner, batch)
        {
            return *id;
        }
        let address = Arc::as_ptr(node).addr();
        if let Some(id) = self.leaf_ids.get(&address) {
            return *id;
        }
        let id = self.graph.arg(node.ty.clone());
        self.leaves.push(node.clone());
        self.leaf_ids.insert(address, id);
        id
    }
}

/// Finds that a thread records the same ops over and over, so that each turn becomes one program
/// and not a part of ever longer ones.
#[derive(Default)]
struct LoopDetector {
    history: VecDeque<u64>,
    /// The length of the last loop that was found, which is tried first.
    last: usize,
    /// Ops to let pass: the turn that was just found.
    skip: usize,
}

impl LoopDetector {
    /// Loops are looked for that have this many ops in a turn.
    const TURN: std::ops::RangeInclusive<usize> = 3..=128;

    /// Notes an op; whether it ends the second of two equal turns.
    fn repeats(&mut self, hash: u64) -> bool {
        self.history.push_back(hash);
        if self.history.len() > 2 * Self::TURN.end() {
            self.history.pop_front();
        }
        if self.skip > 0 {
            self.skip -= 1;
            // The next turns end one by one, without the search.
            return self.skip == 0 && self.turn_repeats(self.last) && {
                self.skip = self.last;
                true
            };
        }
        let found = std::iter::once(self.last)
            .chain(Self::TURN)
            .find(|&turn| Self::TURN.contains(&turn) && self.turn_repeats(turn));
        if let Some(turn) = found {
            self.last = turn;
            self.skip = turn;
        }
        found.is_some()
    }

    fn turn_repeats(&self, turn: usize) -> bool {
        let n = self.history.len();
        turn > 0
            && n >= 2 * turn
            && (1..=turn)
                .all(|back| self.history.get(n - back) == self.history.get(n - back - turn))
    }
}
