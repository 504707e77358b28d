//! One schedule of all agents.

use super::super::exec::{Executor, Found, Run};
use super::super::memory::Memory;
use super::super::report::Reports;
use super::super::shuffled;
use super::finish::Last;
use super::layout::Layout;
use super::schedule::Link;
use super::world::{Doing, World};
use crate::diag::{Code, Diagnostic};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

/// What a schedule gave.
#[derive(Debug, Default)]
pub(in super::super) struct Scheduled {
    /// Per device: what its agents found.
    pub(in super::super) found: Vec<Vec<Found>>,
    /// What is found when all have come to their end.
    pub(in super::super) reports: Reports,
}

/// Runs all agents once; `runs` has one run per device.
///
/// # Errors
/// If the system gives no thread for an agent.
pub(in super::super) fn run(
    runs: &[Run<'_>],
    layout: &Arc<Layout>,
    seed: u64,
) -> Result<Scheduled, Diagnostic> {
    let n_agents = layout.n_agents();
    let (outs, inboxes): (Vec<_>, Vec<_>) = (0..n_agents).map(|_| channel()).unzip();
    let outs = Arc::new(outs);
    let finished = std::thread::scope(|scope| {
        let mut threads = Vec::with_capacity(n_agents);
        for (me, inbox) in inboxes.into_iter().enumerate() {
            let run = &runs[layout.agent(me).device];
            let link = Link { outs: outs.clone(), inbox };
            let name = format!("interp {}", layout.name(me));
            let work = move || run_agent(run, layout.clone(), me, link, seed);
            match std::thread::Builder::new().name(name).spawn_scoped(scope, work) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    stop(&outs[..me]);
                    return Err(no_thread(n_agents, &error));
                }
            }
        }
        let mut world = World::new(layout.clone(), &runs[0].plan, seed);
        for agent in &mut world.agents {
            agent.parked = Memory::all_of(&runs[0].plan);
        }
        // The threads live until they have had it.
        let _ = outs[0].send(Box::new(world));
        let finished = threads.into_iter().map(|thread| match thread.join() {
            Ok(finished) => finished,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        Ok(finished.collect::<Vec<_>>())
    })?;
    let mut scheduled = Scheduled::default();
    scheduled.found.resize_with(layout.n_devices(), Vec::new);
    for (agent, (found, last)) in finished.into_iter().enumerate() {
        scheduled.found[layout.agent(agent).device].extend(found);
        if let Some(last) = last {
            scheduled.reports = last.reports;
            for (device, whole) in last.whole.into_iter().enumerate() {
                scheduled.found[device].push(whole);
            }
        }
    }
    Ok(scheduled)
}

fn run_agent(
    run: &Run<'_>,
    layout: Arc<Layout>,
    me: usize,
    link: Link,
    seed: u64,
) -> (Vec<Found>, Option<Last>) {
    let mut executor = Executor::for_agent(run, layout.clone(), me, link);
    let mut all = Vec::new();
    executor.receive();
    executor.prepare();
    let mut position = 0;
    for segment in shuffled(run.n_segments(), seed) {
        let step = run.step(segment * run.n_inner());
        let pinned = &layout.agent(me).pinned;
        if pinned.iter().any(|&(axis, index)| step[axis] != index) {
            continue;
        }
        if !executor.can_begin() {
            break;
        }
        let found = executor.segment(segment, position);
        position += 1;
        let stopped = found.stopped;
        all.push(found);
        if stopped {
            executor.stop_all();
            break;
        }
    }
    let last = executor.finish();
    (all, last)
}

impl Executor<'_> {
    /// Makes the memory that other agents may reach be there, before anything runs.
    fn prepare(&mut self) {
        if self.world.is_over {
            return;
        }
        self.place_reachable();
        let me = self.me;
        self.world.agents[me].doing = Doing::Running;
        // One after the other, then whoever the seed chooses.
        if me + 1 < self.world.agents.len() {
            self.hand_to(me + 1);
        }
    }

    /// Whether the agent may begin another part of the grid.
    fn can_begin(&mut self) -> bool {
        self.yield_point().is_ok() && !self.world.is_over
    }
}

/// Tells agents that there is nothing to do.
fn stop(outs: &[Sender<Box<World>>]) {
    for out in outs {
        // Nobody waits who is gone.
        let _ = out.send(Box::new(World::over()));
    }
}

fn no_thread(n_agents: usize, error: &std::io::Error) -> Diagnostic {
    let message = format!(
        "the kernel runs on {n_agents} cores at once, and the system gives no thread for one: {error}"
    );
    Diagnostic::error(Code::INTERP_MEMORY, message)
        .help("run it on fewer devices, or allow the process more threads")
}
