//! Ids grouped by the core that owns their rows.

use super::entries::{Entries, Entry, Gains};
use super::{Bags, Combiner, Sharding, over_limit};
use rayon::prelude::*;
use systole::diag::Diagnostics;

/// What stands where a buffer has no id or sample.
pub const PAD: i32 = i32::MAX;

/// Partitions begin at multiples of this many ids: 32 bytes, the granule of a DMA.
const ALIGN: usize = 8;

/// The most cores: those of the largest pod.
const MAX_CORES: usize = 1 << 16;

/// What to do with more ids than the buffers take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OverLimit {
    /// Refuse the batch.
    #[default]
    Error,
    /// Leave out the ids that come last in the order of a partition, and count them.
    Drop,
}

/// Sizes that a compiled program was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Ids of one core's samples in one shard.
    pub ids: usize,
    /// Distinct ids of one core's samples in one shard.
    pub unique_ids: usize,
    /// Length of a core's buffers, a multiple of 8: all its partitions, each rounded up to 8.
    pub capacity: usize,
}

/// How a batch is partitioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Cores that hold the table, over all devices of all hosts: row `r` is on core `r % n_shards`.
    pub n_shards: usize,
    /// Cores that this host's batch is for: each takes an equal run of samples.
    pub n_cores: usize,
    /// Limits; without them the buffers are as small as the batch allows.
    pub limits: Option<Limits>,
    /// What to do with more.
    pub over_limit: OverLimit,
}

impl Placement {
    /// Without limits.
    pub fn new(n_shards: usize, n_cores: usize) -> Placement {
        Placement { n_shards, n_cores, limits: None, over_limit: OverLimit::Error }
    }
}

/// A batch as the cores take it: for each core its ids by shard.
///
/// A core's part of the four arrays lies at `core * n_pointers` (of `ends`) and `core * capacity`.
/// Within it, partition `s` has the ids on shard `s`, sorted by id and then sample, no such pair
/// twice. It ends before `ends[s]`, and begins at the end of partition `s - 1` rounded up to a
/// multiple of 8. What lies between, and after the last, is [`PAD`] with a gain of NaN.
#[derive(Clone, Debug, PartialEq)]
pub struct Partitioned {
    /// Entries of `ends` per core: the number of shards, at least 8. Those without a shard repeat
    /// where the next partition would begin.
    pub n_pointers: usize,
    /// Length of a core's buffers.
    pub capacity: usize,
    /// Where each partition ends, counted from the core's own first id.
    pub ends: Vec<i32>,
    /// Rows within the shard.
    pub ids: Vec<i32>,
    /// Samples, counted from the core's own first one.
    pub samples: Vec<i32>,
    /// Factors of the rows.
    pub gains: Vec<f32>,
    /// What the batch needs at least to lose no id.
    pub needed: Limits,
    /// How many ids were left out.
    pub n_dropped: usize,
}

impl Bags {
    /// Groups the ids of each core's samples by the shard that has their rows.
    ///
    /// # Errors
    /// As [`Bags::gains`]; if the cores do not share the bags evenly; if a limit is exceeded and
    /// ids may not be dropped.
    pub fn partition(
        &self,
        combiner: Combiner,
        placement: &Placement,
    ) -> Result<Partitioned, Diagnostics> {
        let Placement { n_cores, limits, .. } = *placement;
        let sharding = Sharding::new(placement.n_shards)?;
        crate::check_most(&[("cores", n_cores, MAX_CORES)])?;
        if n_cores == 0 || !self.n_bags().is_multiple_of(n_cores) {
            return Err(crate::refuse(
                format!("{n_cores} cores cannot share {} bags evenly", self.n_bags()),
                "pad the batch to a multiple of the number of cores",
            ));
        }
        if let Some(Limits { capacity, .. }) = limits
            && !capacity.is_multiple_of(ALIGN)
        {
            return Err(crate::refuse(
                format!("a buffer for {capacity} ids does not end at a multiple of {ALIGN}"),
                "round the capacity up",
            ));
        }
        let n_places = limits.map_or(0, |limits| limits.capacity).saturating_mul(n_cores);
        crate::check_most(&[("ids of all buffers", n_places, crate::MAX_SIZE)])?;
        let gains = Gains::of(self, combiner)?;
        let n_bags = self.n_bags() / n_cores;
        let batch = Batch { bags: self, gains, sharding, limits: limits.unwrap_or(Limits::NONE) };
        let cores: Vec<Core> =
            (0..n_cores).into_par_iter().map(|core| batch.core(core * n_bags, n_bags)).collect();
        let needed = cores.iter().fold(Limits::default(), |most, core| Limits {
            ids: most.ids.max(core.needed.ids),
            unique_ids: most.unique_ids.max(core.needed.unique_ids),
            capacity: most.capacity.max(core.needed.capacity),
        });
        if let (Some(limits), OverLimit::Error) = (limits, placement.over_limit) {
            needed.check(&limits)?;
        }
        let capacity = limits.unwrap_or(needed).capacity.max(ALIGN);
        Ok(pack(&cores, sharding.n_shards().max(ALIGN), capacity, needed))
    }
}

impl Limits {
    const NONE: Limits = Limits { ids: usize::MAX, unique_ids: usize::MAX, capacity: usize::MAX };

    fn check(&self, limits: &Limits) -> Result<(), Diagnostics> {
        for (what, needed, limit) in [
            ("ids in a partition", self.ids, limits.ids),
            ("distinct ids in a partition", self.unique_ids, limits.unique_ids),
            ("ids in a core's buffer", self.capacity, limits.capacity),
        ] {
            if needed > limit {
                return Err(over_limit(
                    format!("the batch has {needed} {what}, the limit is {limit}"),
                    "raise the limit and compile again, or say `OverLimit::Drop`",
                ));
            }
        }
        Ok(())
    }
}

struct Batch<'a> {
    bags: &'a Bags,
    gains: Gains,
    sharding: Sharding,
    limits: Limits,
}

impl Batch<'_> {
    /// The part of a core whose samples are `n_bags` bags from `first_bag` on.
    fn core(&self, first_bag: usize, n_bags: usize) -> Core {
        let Batch { bags, gains, sharding, limits } = self;
        let rows_per_shard = sharding.rows_per_shard(bags.rows()) as u32;
        let n_shards = sharding.n_shards() as u32;
        let key = |id| {
            let (shard, local) = sharding.locate(id);
            shard * rows_per_shard + local
        };
        let n_keys = u64::from(n_shards) * u64::from(rows_per_shard);
        let entries = Entries::sorted(bags, first_bag..first_bag + n_bags, gains, key, n_keys);
        let mut core = Core::with_capacity(entries.len() + ALIGN * sharding.n_shards());
        let mut first_key = 0;
        for entry in entries.iter() {
            while entry.key - first_key >= rows_per_shard {
                core.close_partition();
                first_key += rows_per_shard;
            }
            core.push(Entry { key: entry.key - first_key, ..entry }, limits);
        }
        while core.ends.len() < sharding.n_shards() {
            core.close_partition();
        }
        core
    }
}

/// What one core gets.
#[derive(Default)]
struct Core {
    ends: Vec<i32>,
    ids: Vec<i32>,
    samples: Vec<i32>,
    gains: Vec<f32>,
    needed: Limits,
    n_dropped: usize,
    open: OpenPartition,
}

/// The partition that entries are added to.
#[derive(Default)]
struct OpenPartition {
    n_ids: usize,
    n_unique_ids: usize,
    /// Row and sample of the last entry, and whether it was kept.
    last: Option<(u32, u32, bool)>,
}

impl Core {
    fn with_capacity(n_ids: usize) -> Core {
        Core {
            ids: Vec::with_capacity(n_ids),
            samples: Vec::with_capacity(n_ids),
            gains: Vec::with_capacity(n_ids),
            ..Core::default()
        }
    }

    fn push(&mut self, Entry { key, sample, gain }: Entry, limits: &Limits) {
        let open = &mut self.open;
        match open.last {
            Some((row, of, kept)) if (row, of) == (key, sample) => {
                if let (true, Some(sum)) = (kept, self.gains.last_mut()) {
                    *sum += gain;
                }
                return;
            }
            Some((row, ..)) => open.n_unique_ids += usize::from(row != key),
            None => open.n_unique_ids += 1,
        }
        open.n_ids += 1;
        let keep = open.n_ids <= limits.ids
            && open.n_unique_ids <= limits.unique_ids
            && self.ids.len() < limits.capacity;
        open.last = Some((key, sample, keep));
        if keep {
            self.ids.push(key as i32);
            self.samples.push(sample as i32);
            self.gains.push(gain);
        } else {
            self.n_dropped += 1;
        }
    }

    fn close_partition(&mut self) {
        let OpenPartition { n_ids, n_unique_ids, .. } = std::mem::take(&mut self.open);
        self.ends.push(self.ids.len() as i32);
        let padded = self.ids.len().next_multiple_of(ALIGN);
        self.ids.resize(padded, PAD);
        self.samples.resize(padded, PAD);
        self.gains.resize(padded, f32::NAN);
        let Limits { ids, unique_ids, capacity } = self.needed;
        self.needed = Limits {
            ids: ids.max(n_ids),
            unique_ids: unique_ids.max(n_unique_ids),
            capacity: capacity + n_ids.next_multiple_of(ALIGN),
        };
    }
}

fn pack(cores: &[Core], n_pointers: usize, capacity: usize, needed: Limits) -> Partitioned {
    let n_entries = cores.len() * capacity;
    let mut packed = Partitioned {
        n_pointers,
        capacity,
        ends: Vec::with_capacity(cores.len() * n_pointers),
        ids: Vec::with_capacity(n_entries),
        samples: Vec::with_capacity(n_entries),
        gains: Vec::with_capacity(n_entries),
        needed,
        n_dropped: cores.iter().map(|core| core.n_dropped).sum(),
    };
    for (idx, core) in (1..).zip(cores) {
        packed.ends.extend(&core.ends);
        packed.ends.resize(idx * n_pointers, core.ids.len() as i32);
        packed.ids.extend(&core.ids);
        packed.ids.resize(idx * capacity, PAD);
        packed.samples.extend(&core.samples);
        packed.samples.resize(idx * capacity, PAD);
        packed.gains.extend(&core.gains);
        packed.gains.resize(idx * capacity, f32::NAN);
    }
    packed
}
