//! Embedding lookups and updates on SparseCores: v5p, v6e, tpu7x.
//!
//! Rows move by indirect copies, each of up to 128 ids, into the memory of 16 subcores per core;
//! what is added, copies add where they can. Batches are prepared on the host: [`BagLookup`] and
//! [`UpdateLists`] make the arrays that the kernels take.
//!
//! Tables are `f32[rows, width]`. With a width of 128 they are read where they lie; with another,
//! XLA first rewrites the whole table at every call, which [`systole::valid`] warns of. A table of
//! more than 16 GiB is cut by [`Sharding`](super::Sharding), and looked up shard by shard.

mod lookup;
mod step;

use super::{Bags, Combiner, Optimizer, UpdatePlan};
use step::Lists;
use systole::diag::Diagnostics;
use systole::ir::array::ArrayData;
use systole::ir::{Array, DType, Kernel};
use systole::target::{SparseCores, Target};
use systole::trace::KernelFn;

/// The longest list of ids of one copy.
const MAX_CHUNK: usize = 128;
/// What copies take is a multiple of this many ids, and registers have at most as many elements.
const ALIGN: usize = 16;
/// Elements of a row of row-wise Adagrad's accumulator, all of which have its value: a copy takes
/// no less than 64 bytes well.
pub const ROW_ACCUMULATOR_WIDTH: usize = 16;

/// The SparseCores of a target.
///
/// # Errors
/// If it has none that kernels can be compiled for.
pub fn cores(target: &Target) -> Result<SparseCores, Diagnostics> {
    target.sparse().ok_or_else(|| {
        let able: Vec<&str> =
            Target::TPUS.iter().filter(|t| t.sparse().is_some()).map(|t| t.name).collect();
        crate::refuse(
            format!("{target} has no SparseCore that kernels run on"),
            &format!("take the TensorCore kernel, or one of {}", able.join(", ")),
        )
    })
}

fn n_units(cores: &SparseCores) -> usize {
    cores.n_cores * cores.n_subcores
}

/// The bytes of memory that each subcore may use if all do.
fn tile_bytes(cores: &SparseCores) -> usize {
    let share = cores.shared_bytes / cores.n_subcores as u64;
    cores.tile_bytes.min(share) as usize
}

/// The largest chunk of a subcore's `n` items that divides them evenly, where an item takes
/// `item_bytes`, and `taken_bytes` are in use.
fn chunk_of(
    cores: &SparseCores,
    n: usize,
    item_bytes: usize,
    taken_bytes: usize,
) -> Result<usize, Diagnostics> {
    let room = tile_bytes(cores).saturating_sub(taken_bytes.saturating_add(4096));
    let fits = |chunk: &usize| n.is_multiple_of(*chunk) && chunk.saturating_mul(item_bytes) <= room;
    (1..=MAX_CHUNK / ALIGN).rev().map(|k| k * ALIGN).find(fits).ok_or_else(|| {
        crate::refuse(
            format!(
                "{ALIGN} rows at a time take {} bytes, and a subcore has {room}",
                item_bytes.saturating_mul(ALIGN)
            ),
            "cut the table by columns, or look up shorter bags",
        )
    })
}

fn check_width(cores: &SparseCores, width: usize) -> Result<(), Diagnostics> {
    crate::check_most(&[("elements of a row", width, crate::MAX_SIZE)])?;
    if width > 0 && width.is_multiple_of(cores.lanes) {
        return Ok(());
    }
    Err(crate::refuse(
        format!("rows of {width} elements are no whole registers of {}", cores.lanes),
        "pad rows with zeros, to 128 elements if you can",
    ))
}

/// The number of ids, or bags, that a kernel takes for `n`: so many that each subcore has an equal
/// run of whole chunks.
pub fn padded(cores: &SparseCores, n: usize) -> usize {
    super::rounded(n, n_units(cores) * 2 * ALIGN)
}

fn check_padded(cores: &SparseCores, n: usize, what: &str) -> Result<usize, Diagnostics> {
    crate::check_most(&[(what, n, crate::MAX_SIZE)])?;
    if n > 0 && n == padded(cores, n) {
        return Ok(n / n_units(cores));
    }
    Err(crate::refuse(
        format!("{} subcores cannot share {n} {what} in whole chunks", n_units(cores)),
        &format!("pad them to {}", padded(cores, n)),
    ))
}

/// Traces the lookup of `n_ids` rows: it takes the table and `i32[n_ids]`, and gives
/// `f32[n_ids, width]`. Ids are rows of the table: check them with [`super::RawBags::check`].
///
/// # Errors
/// If the number of ids is not [`padded`], or rows are too long.
pub fn gather(
    cores: &SparseCores,
    [rows, width]: [usize; 2],
    n_ids: usize,
) -> Result<Kernel, Diagnostics> {
    crate::check_most(&[("elements of a row", width, crate::MAX_SIZE)])?;
    let n = check_padded(cores, n_ids, "ids")?;
    let chunk = chunk_of(cores, n, 2 * (4 * width + 4), 0)?;
    let kernel = lookup::gather_rows(*cores, chunk);
    crate::trace(&kernel, &[(DType::F32, &[rows, width]), (DType::I32, &[n_ids])])
}

/// What a lookup of bags is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BagShape {
    /// Rows and columns of the table.
    pub table: [usize; 2],
    /// Length of the longest bag.
    pub hot: usize,
    /// Number of bags, [`padded`].
    pub n_bags: usize,
}

/// How the rows of bags are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BagForm {
    /// Summed, by the copies themselves.
    Sum,
    /// Summed, and each sum multiplied by a factor of its bag: means, and roots.
    Scaled,
    /// Each row multiplied by a factor of its own.
    Weighted,
}

/// A lookup of bags: its kernel, and the batches that it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BagLookup {
    cores: SparseCores,
    shape: BagShape,
    form: BagForm,
    /// Bags at a time.
    chunk: usize,
}

impl BagLookup {
    /// A lookup of this shape and form.
    ///
    /// # Errors
    /// If the number of bags is not [`padded`], the rows are no whole registers, or what is needed
    /// at a time is too much for a subcore.
    pub fn new(
        cores: &SparseCores,
        shape: BagShape,
        form: BagForm,
    ) -> Result<BagLookup, Diagnostics> {
        let BagShape { table: [_, width], hot, n_bags } = shape;
        check_width(cores, width)?;
        if hot == 0 {
            return Err(crate::refuse(
                "bags of no ids need no lookup".to_owned(),
                "give zeros, or a length of at least 1",
            ));
        }
        let n = check_padded(cores, n_bags, "bags")?;
        let n_ids = hot.saturating_mul(n_bags);
        if n_ids > crate::MAX_SIZE {
            return Err(super::over_limit(
                format!("{n_bags} bags of {hot} ids have {n_ids} ids, more than 2^31 - 1"),
                "look them up in several batches",
            ));
        }
        // Chunks of sums go in pairs.
        let n = if form == BagForm::Weighted { n } else { n / 2 };
        let chunk = chunk_of(cores, n, 8 * width + 8 * hot + 4, 0)?;
        Ok(BagLookup { cores: *cores, shape, form, chunk })
    }

    /// Traces the kernel. It takes the table; the ids, `i32[hot * n_bags]`; then factors,
    /// `f32[n_bags]` (which plain sums do not read) or `f32[hot * n_bags]` of the form `Weighted`: a
    /// [`BagBatch`] has these arrays. It gives `f32[n_bags, width]`.
    ///
    /// # Errors
    /// If the shape makes no kernel.
    pub fn kernel(&self) -> Result<Kernel, Diagnostics> {
        let BagLookup { cores, form, chunk, .. } = *self;
        let BagShape { table, hot, n_bags } = self.shape;
        let (ids, factors) = (hot * n_bags, [self.n_factors()]);
        let inputs =
            [(DType::F32, &table[..]), (DType::I32, &[ids][..]), (DType::F32, &factors[..])];
        match form {
            BagForm::Weighted => crate::trace(&lookup::weighted_bags(cores, hot, chunk), &inputs),
            BagForm::Sum | BagForm::Scaled => {
                let scaled = form == BagForm::Scaled;
                crate::trace(&lookup::sum_bags(cores, hot, chunk, scaled), &inputs)
            }
        }
    }

    fn n_factors(&self) -> usize {
        let BagShape { hot, n_bags, .. } = self.shape;
        if self.form == BagForm::Weighted { hot * n_bags } else { n_bags }
    }

    /// Lays bags out for the kernel, the rest of its bags empty; empty bags give zeros.
    ///
    /// # Errors
    /// As [`Bags::gains`]; if there are more bags, or longer ones, or ids of another table; if the
    /// form has no place for their factors.
    pub fn batch(&self, bags: &Bags, combiner: Combiner) -> Result<BagBatch, Diagnostics> {
        let BagShape { table: [rows, _], hot, n_bags } = self.shape;
        super::check_rows(bags, rows)?;
        if bags.max_hot() > hot || bags.n_bags() > n_bags {
            return Err(super::over_limit(
                format!(
                    "{} bags of up to {} ids do not fit {n_bags} bags of {hot}",
                    bags.n_bags(),
                    bags.max_hot()
                ),
                "look them up in several batches, or build the kernel for more",
            ));
        }
        let needed = BagForm::of(bags, combiner);
        if !self.form.serves(needed) {
            return Err(crate::refuse(
                format!("a lookup of form {:?} cannot combine bags of form {needed:?}", self.form),
                "build the kernel for the form of the bags: `BagForm::of`",
            ));
        }
        let place = |bag: usize, j: usize| {
            bag / self.chunk * (hot * self.chunk) + j * self.chunk + bag % self.chunk
        };
        let mut ids = vec![-1; hot * n_bags];
        let mut factors = vec![0.0; self.n_factors()];
        let gains = bags.gains(combiner)?;
        for bag in 0..bags.n_bags() {
            for (j, at) in bags.range(bag).enumerate() {
                ids[place(bag, j)] = bags.ids()[at];
                // Those of a bag are equal, unless each row has its own.
                let to = if self.form == BagForm::Weighted { place(bag, j) } else { bag };
                factors[to] = gains[at];
            }
        }
        Ok(BagBatch { ids: integers(ids), factors: floats(factors) })
    }
}

impl BagForm {
    /// The form that combines bags as asked.
    pub fn of(bags: &Bags, combiner: Combiner) -> BagForm {
        match (bags.weights(), combiner) {
            (Some(_), _) => BagForm::Weighted,
            (None, Combiner::Sum) => BagForm::Sum,
            (None, Combiner::Mean | Combiner::Sqrtn) => BagForm::Scaled,
        }
    }

    /// Whether a kernel of this form can do what another does.
    pub(super) fn serves(self, other: BagForm) -> bool {
        match self {
            BagForm::Sum => other == BagForm::Sum,
            BagForm::Scaled => other != BagForm::Weighted,
            BagForm::Weighted => true,
        }
    }
}

/// A batch of bags as the kernel of a [`BagLookup`] takes it.
#[derive(Clone, Debug, PartialEq)]
pub struct BagBatch {
    /// The ids; -1 where a bag has no more.
    pub ids: Array,
    /// The factors.
    pub factors: Array,
}

pub(super) fn integers(values: Vec<i32>) -> Array {
    // As many elements as the shape says; an empty array would fit no kernel.
    let shape = [values.len()];
    Array::new(&shape, ArrayData::I32(values)).unwrap_or_else(|_| Array::zeros(DType::I32, &[0]))
}

pub(super) fn floats(values: Vec<f32>) -> Array {
    let shape = [values.len()];
    Array::new(&shape, ArrayData::F32(values)).unwrap_or_else(|_| Array::zeros(DType::F32, &[0]))
}

/// What an update is built for: the lists of a plan, one per subcore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepShape {
    /// Rows and columns of the table.
    pub table: [usize; 2],
    /// Samples of the gradient.
    pub n_samples: usize,
    /// Rows per list, a multiple of 16.
    pub rows_per_list: usize,
    /// Entries per list, a multiple of 16.
    pub entries_per_list: usize,
}

/// Traces one step of an optimizer, in place. It takes the table; for Adagrad the accumulator, `f32`
/// of the table's shape or `[rows, 16]` by rows; the gradient `f32[n_samples, width]` of what the
/// lookup gave; and the arrays of [`UpdateLists`].
///
/// # Errors
/// If lists are no multiple of 16 long, rows are no whole registers, or what a core sums is too much
/// for its Spmem.
pub fn step(
    cores: &SparseCores,
    shape: &StepShape,
    optimizer: Optimizer,
) -> Result<Kernel, Diagnostics> {
    let StepShape { table: [rows, width], n_samples, rows_per_list, entries_per_list } = *shape;
    check_width(cores, width)?;
    for n in [rows_per_list, entries_per_list] {
        crate::check_most(&[("rows or entries of a list", n, crate::MAX_SIZE / n_units(cores))])?;
        if n == 0 || !n.is_multiple_of(ALIGN) {
            return Err(crate::refuse(
                format!("a list of {n} is no multiple of {ALIGN} long"),
                "give `UpdateShape` the rows and entries per list, rounded up to 16",
            ));
        }
    }
    // Sums of the lists, out of which the subcores' own memory is taken too.
    let sums = rows_per_list.saturating_mul(width).saturating_mul(4);
    // What divides both.
    let (mut n, mut rest) = (rows_per_list, entries_per_list);
    while rest != 0 {
        (n, rest) = (rest, n % rest);
    }
    let item = 4 * (3 * width + ROW_ACCUMULATOR_WIDTH + 3);
    let chunk = chunk_of(cores, n, item, sums)?;
    let lists = Lists { cores: *cores, n_rows: rows_per_list, n_entries: entries_per_list, chunk };
    let (n_rows, n_entries) = (n_units(cores) * rows_per_list, n_units(cores) * entries_per_list);
    let table = (DType::F32, &[rows, width][..]);
    let rest = [
        (DType::F32, &[n_samples, width][..]),
        (DType::I32, &[n_rows][..]),
        (DType::I32, &[n_entries][..]),
        (DType::I32, &[n_entries][..]),
        (DType::F32, &[n_entries][..]),
    ];
    let with = |accumulator: Option<(DType, &[usize])>, kernel: &dyn KernelFn| {
        let inputs: Vec<_> =
            std::iter::once((table.0, table.1)).chain(accumulator).chain(rest).collect();
        crate::trace(kernel, &inputs)
    };
    match optimizer {
        Optimizer::Sgd { rate } => with(None, &step::sgd(lists, rate)),
        Optimizer::Adagrad { rate, eps } => with(Some(table), &step::adagrad(lists, rate, eps)),
        Optimizer::RowAdagrad { rate, eps } => {
            let accumulator = [rows, ROW_ACCUMULATOR_WIDTH];
            with(Some((DType::F32, &accumulator)), &step::row_adagrad(lists, rate, eps))
        }
    }
}

/// The arrays of a plan as [`step`] takes them: all lists, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateLists {
    /// `i32[n_lists * rows_per_list]`: the rows.
    pub rows: Array,
    /// `i32[n_lists * entries_per_list]`: the sample of each entry.
    pub samples: Array,
    /// As many: the row of each entry, counted over the lists of its core.
    pub places: Array,
    /// `f32`, as many: the factor of each entry.
    pub gains: Array,
}

impl UpdateLists {
    /// Lays a plan out for cores.
    ///
    /// # Errors
    /// If it does not have one list per subcore.
    pub fn new(cores: &SparseCores, plan: &UpdatePlan) -> Result<UpdateLists, Diagnostics> {
        if plan.n_lists != n_units(cores) {
            return Err(crate::refuse(
                format!("the plan has {} lists for {} subcores", plan.n_lists, n_units(cores)),
                "plan the update with one list per subcore",
            ));
        }
        let mut places = Vec::with_capacity(plan.samples.len());
        for list in 0..plan.n_lists {
            let first = list % cores.n_subcores * plan.rows_per_list;
            let starts = &plan.starts[list * (plan.rows_per_list + 1)..][..=plan.rows_per_list];
            for (k, pair) in starts.windows(2).enumerate() {
                let n = (pair[1] - pair[0]) as usize;
                places.resize(places.len() + n, (first + k) as i32);
            }
            // What pads a list adds zeros to its first row.
            places.resize((list + 1) * plan.entries_per_list, first as i32);
        }
        Ok(UpdateLists {
            rows: integers(plan.rows.clone()),
            samples: integers(plan.samples.clone()),
            places: integers(places),
            gains: floats(plan.gains.clone()),
        })
    }
}
