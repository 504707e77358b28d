//! Which agents there are, and what memory they share.

use super::super::plan::{MemoryIdx, Plan};
use super::super::window::is_reachable;
use crate::ir::ops::{DmaOp, Op, SparseOp};
use crate::ir::{Kernel, MemorySpace, Semantics, Value};
use smallvec::SmallVec;

/// One core that runs the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct AgentSpec {
    /// The device, by its logical number.
    pub(in super::super) device: usize,
    /// The core of the device.
    pub(in super::super) core: usize,
    /// The subcore of the core.
    pub(in super::super) subcore: usize,
    /// Grid axes of which it runs one index alone.
    pub(in super::super) pinned: SmallVec<[(usize, i64); 2]>,
}

/// Agents that meet at a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Group {
    /// The subcores of one core.
    Core,
    /// All cores of one device.
    Device,
}

/// The agents of a run, and what memory they share.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Layout {
    agents: Vec<AgentSpec>,
    n_devices: usize,
    n_cores: usize,
    n_subcores: usize,
    /// Per agent and memory: the agent that has it, the first of those that share it.
    owners: Vec<Vec<usize>>,
    /// Per memory: whether several agents reach it.
    tracked: Vec<bool>,
}

impl Layout {
    /// A single agent.
    pub(in super::super) fn single(n_memories: usize) -> Layout {
        let agent = AgentSpec { device: 0, core: 0, subcore: 0, pinned: SmallVec::new() };
        Layout {
            agents: vec![agent],
            n_devices: 1,
            n_cores: 1,
            n_subcores: 1,
            owners: vec![vec![0; n_memories]],
            tracked: vec![false; n_memories],
        }
    }

    /// The agents of a kernel: one for each device of its mesh and each step of the grid axes that
    /// run over cores; and over subcores, where these know of each other.
    pub(in super::super) fn of(plan: &Plan<'_>, extents: &[i64]) -> Layout {
        let kernel = plan.kernel;
        let (core_axes, subcore_axes) = unit_axes(kernel, extents);
        let (n_devices, n_cores, n_subcores) =
            (kernel.n_devices(), n_steps(&core_axes), n_steps(&subcore_axes));
        let mut agents = Vec::new();
        for device in 0..n_devices {
            for core in 0..n_cores {
                for subcore in 0..n_subcores {
                    let mut pinned = pins(&core_axes, core);
                    pinned.extend(pins(&subcore_axes, subcore));
                    agents.push(AgentSpec { device, core, subcore, pinned });
                }
            }
        }
        let mut layout = Layout { agents, n_devices, n_cores, n_subcores, ..Layout::default() };
        layout.share(plan);
        layout
    }

    /// The number of agents that [`Layout::of`] makes, without making them.
    pub(in super::super) fn count(kernel: &Kernel, extents: &[i64]) -> usize {
        let (core_axes, subcore_axes) = unit_axes(kernel, extents);
        let units = n_steps(&core_axes).saturating_mul(n_steps(&subcore_axes));
        units.saturating_mul(kernel.n_devices())
    }

    fn share(&mut self, plan: &Plan<'_>) {
        let kernel = plan.kernel;
        let targets = peer_targets(plan);
        let n_memories = kernel.params.len() + kernel.scratch.len() + plan.scoped.len();
        let group_of = |memory: MemoryIdx| match kernel.params.get(memory) {
            Some(param) if !is_reachable(param) => Some(Group::Device),
            Some(_) => None,
            None => {
                let scratch = kernel.scratch.get(memory - kernel.params.len());
                scratch.filter(|s| s.space == MemorySpace::Spmem).map(|_| Group::Core)
            }
        };
        let n_agents = self.agents.len();
        self.owners = (0..n_agents)
            .map(|agent| {
                let owner =
                    |memory| group_of(memory).map_or(agent, |group| self.first(agent, group));
                (0..n_memories).map(owner).collect()
            })
            .collect();
        let is_shared =
            |memory: usize| (0..n_agents).any(|agent| self.owners[agent][memory] != agent);
        self.tracked =
            (0..n_memories).map(|memory| targets.contains(&memory) || is_shared(memory)).collect();
    }

    /// The number of agents.
    pub(in super::super) fn n_agents(&self) -> usize {
        self.agents.len()
    }

    /// An agent.
    pub(in super::super) fn agent(&self, agent: usize) -> &AgentSpec {
        &self.agents[agent]
    }

    /// The number of devices.
    pub(in super::super) fn n_devices(&self) -> usize {
        self.n_devices
    }

    /// The first agent of a device.
    pub(in super::super) fn first_of_device(&self, device: usize) -> usize {
        device * self.n_cores * self.n_subcores
    }

    /// The first agent of an agent's group.
    pub(in super::super) fn first(&self, agent: usize, group: Group) -> usize {
        self.members(agent, group).next().unwrap_or(agent)
    }

    /// The agents of an agent's group.
    pub(in super::super) fn members(
        &self,
        agent: usize,
        group: Group,
    ) -> impl Iterator<Item = usize> + use<> {
        let n = match group {
            Group::Core => self.n_subcores,
            Group::Device => self.n_subcores * self.n_cores,
        };
        let first = agent - agent % n.max(1);
        first..first + n
    }

    /// Who has a memory that the agent reaches.
    pub(in super::super) fn owner(&self, agent: usize, memory: MemoryIdx) -> usize {
        self.owners[agent][memory]
    }

    /// Whether several agents reach a memory.
    pub(in super::super) fn is_tracked(&self, memory: MemoryIdx) -> bool {
        self.tracked[memory]
    }

    /// The agent with these numbers; a number that is not given is the agent's own.
    ///
    /// # Errors
    /// The kind of number that is out of range, the number, and how many there are.
    pub(in super::super) fn find(
        &self,
        me: usize,
        [device, core, subcore]: [Option<i64>; 3],
    ) -> Result<usize, (&'static str, i64, usize)> {
        let own = &self.agents[me];
        let check = |what, id: Option<i64>, own: usize, n: usize| match id {
            None => Ok(own),
            Some(id) => usize::try_from(id).ok().filter(|&id| id < n).ok_or((what, id, n)),
        };
        let device = check("device", device, own.device, self.n_devices)?;
        let core = check("core", core, own.core, self.n_cores)?;
        let subcore = check("subcore", subcore, own.subcore, self.n_subcores)?;
        Ok((device * self.n_cores + core) * self.n_subcores + subcore)
    }

    /// What an agent is called: `device 3`, `core 1 of device 0`.
    pub(in super::super) fn name(&self, agent: usize) -> String {
        let spec = &self.agents[agent];
        let mut parts = Vec::new();
        if self.n_subcores > 1 {
            parts.push(format!("subcore {}", spec.subcore));
        }
        if self.n_cores > 1 {
            parts.push(format!("core {}", spec.core));
        }
        if self.n_devices > 1 || parts.is_empty() {
            parts.push(format!("device {}", spec.device));
        }
        parts.join(" of ")
    }
}

/// The grid axes that run over cores and over subcores, with their extents.
type UnitAxes = Vec<(usize, i64)>;

fn unit_axes(kernel: &Kernel, extents: &[i64]) -> (UnitAxes, UnitAxes) {
    let steps = |semantics: Semantics| -> UnitAxes {
        let axes = kernel.grid.iter().enumerate();
        let axes = axes.filter(|(_, axis)| axis.semantics == semantics);
        axes.map(|(axis, _)| (axis, extents[axis])).collect()
    };
    let subcore_axes = match subcores_meet(kernel) {
        true => steps(Semantics::SubcoreParallel),
        false => Vec::new(),
    };
    (steps(Semantics::CoreParallel), subcore_axes)
}

fn n_steps(axes: &[(usize, i64)]) -> usize {
    axes.iter().fold(1, |n, &(_, extent)| n.saturating_mul(usize::try_from(extent).unwrap_or(0)))
}

/// Whether subcores of one core share memory or wait for each other: then they run at the same
/// time, each as an agent of its own. Others need not, and many threads would only be slower.
pub(in super::super) fn subcores_meet(kernel: &Kernel) -> bool {
    let mut meet = kernel.scratch.iter().any(|scratch| scratch.space == MemorySpace::Spmem);
    kernel.walk(kernel.body, &mut |_, op| meet |= op.op == Op::Sparse(SparseOp::Barrier));
    meet && kernel.grid.iter().any(|axis| axis.semantics == Semantics::SubcoreParallel)
}

/// The indices of axes for a number in row-major order.
fn pins(axes: &[(usize, i64)], mut number: usize) -> SmallVec<[(usize, i64); 2]> {
    let mut pins = SmallVec::new();
    for &(axis, extent) in axes.iter().rev() {
        let extent = extent.max(1) as usize;
        pins.push((axis, (number % extent) as i64));
        number /= extent;
    }
    pins
}

/// The memories that copies of other agents write.
fn peer_targets(plan: &Plan<'_>) -> Vec<MemoryIdx> {
    let kernel: &Kernel = plan.kernel;
    let mut values: Vec<Value> = Vec::new();
    kernel.walk(kernel.body, &mut |_, op| {
        if let Op::Dma(dma @ DmaOp::Start(_)) = &op.op
            && !dma.peer().is_self()
        {
            values.extend(op.operands.get(1));
        }
    });
    values.into_iter().map(|value| plan.memory_of(value)).collect()
}
