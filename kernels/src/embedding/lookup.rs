//! One lookup for every target.

use super::tensor_core::{self, TableShape};
use super::{Bags, Combiner, sparse_core};
use systole::diag::Diagnostics;
use systole::ir::{DType, Kernel};
use systole::run::{DynTensor, KernelOp};
use systole::target::{SparseCores, Target};

/// The width of rows that a SparseCore reads where they lie. For any other XLA rewrites the whole
/// table at every call.
const SPARSE_WIDTH: usize = 128;

/// What looks rows up.
///
/// The rule: SparseCores, if the target has some and the table is `f32` with rows of exactly 128
/// elements, which they read where it lies. Everything else goes to the TensorCore: chips without
/// SparseCores (v4 as far as libtpu compiles for it, v5e), `bf16`, and other widths, for which XLA
/// would rewrite the whole table at every call of a SparseCore kernel. Off TPUs it is the TensorCore
/// kernel too, by way of StableHLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The SparseCores of the device.
    SparseCore(SparseCores),
    /// Its TensorCores.
    TensorCore,
}

impl Engine {
    /// What looks rows of such a table up.
    pub fn of(target: &Target, table: TableShape) -> Engine {
        match target.sparse() {
            Some(cores) if table.dtype == DType::F32 && table.width == SPARSE_WIDTH => {
                Engine::SparseCore(cores)
            }
            _ => Engine::TensorCore,
        }
    }
}

/// A lookup of rows, or of bags of rows, on the cores that [`Engine::of`] says.
///
/// ```
/// use systole::ir::{Array, DType};
/// use systole::run::DynTensor;
/// use systole::target::GENERIC;
/// use systole_kernels::embedding::{Combiner, Lookup, OutOfRange, RawBags, TableShape};
///
/// let table = TableShape::f32(4, 2);
/// let values = vec![0.0, 0.0, 1.0, 10.0, 2.0, 20.0, 3.0, 30.0];
/// let values = DynTensor::from_array(Array::from_f32(&[4, 2], values)?);
/// // Bags [1, 3] and [] and [2]; id 9 is no row.
/// let bags = RawBags::ragged(&[1, 3, 9, 2], &[0, 2, 2, 4]).check(4, OutOfRange::Drop)?;
/// let lookup = Lookup::new(&GENERIC, table, &bags, Combiner::Mean)?;
/// let found = lookup.call(&values, &bags)?.to_array()?;
/// assert_eq!(found, Array::from_f32(&[3, 2], vec![2.0, 20.0, 0.0, 0.0, 2.0, 20.0])?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Lookup {
    target: &'static Target,
    table: TableShape,
    combiner: Combiner,
    form: Form,
    /// Ids of one call, at most.
    n_ids: usize,
}

/// A kernel and how many bags it takes.
#[derive(Clone, Copy, Debug)]
enum Form {
    SparseGather(SparseCores, usize),
    SparseBags(sparse_core::BagLookup, usize),
    TensorGather(usize),
    TensorBags(tensor_core::BagLookup, usize),
}

impl Lookup {
    /// A lookup of bags like these: as many or fewer, none longer, weighted or not. One id in each
    /// makes it a plain gather of rows. What is too much for one call of a kernel is cut into several.
    ///
    /// # Errors
    /// If there are no bags, a single one has more ids than a call takes, or the table cannot be
    /// looked up: it has no rows, more than 16 GiB (cut it by [`Sharding`](super::Sharding)), or
    /// elements other than `f32` and `bf16`.
    pub fn new(
        target: &'static Target,
        table: TableShape,
        bags: &Bags,
        combiner: Combiner,
    ) -> Result<Lookup, Diagnostics> {
        table.check()?;
        check_table(table, bags)?;
        if bags.n_bags() == 0 {
            let help = "leave the call out where there are none";
            return Err(crate::refuse("there are no bags to look up".to_owned(), help));
        }
        let is_gather = bags.fixed_hot() == Some(1) && bags.weights().is_none();
        let n = bags.n_bags();
        let (form, n_ids) = match Engine::of(target, table) {
            Engine::SparseCore(cores) if is_gather => {
                (Form::SparseGather(cores, sparse_core::padded(&cores, n)), usize::MAX)
            }
            Engine::SparseCore(cores) => {
                let n_bags = sparse_core::padded(&cores, n);
                let [rows, width] = [table.rows, table.width];
                let hot = bags.max_hot().max(1);
                let shape = sparse_core::BagShape { table: [rows, width], hot, n_bags };
                let form = sparse_core::BagForm::of(bags, combiner);
                let lookup = sparse_core::BagLookup::new(&cores, shape, form)?;
                (Form::SparseBags(lookup, n_bags), usize::MAX)
            }
            Engine::TensorCore if is_gather => {
                let most = table.most_per_call(target, 1);
                (Form::TensorGather(table.padded(target, n).min(most)), usize::MAX)
            }
            Engine::TensorCore => tensor_bags(target, table, bags, combiner)?,
        };
        Ok(Lookup { target, table, combiner, form, n_ids })
    }

    /// What runs it.
    pub fn engine(&self) -> Engine {
        Engine::of(self.target, self.table)
    }

    /// The bags that one call of the kernel takes.
    pub fn n_bags(&self) -> usize {
        match self.form {
            Form::SparseGather(_, n)
            | Form::SparseBags(_, n)
            | Form::TensorGather(n)
            | Form::TensorBags(_, n) => n,
        }
    }

    /// Traces the kernel of one call.
    ///
    /// # Errors
    /// If the shape makes no kernel.
    pub fn kernel(&self) -> Result<Kernel, Diagnostics> {
        match self.form {
            Form::SparseGather(cores, n) => {
                sparse_core::gather(&cores, [self.table.rows, self.table.width], n)
            }
            Form::SparseBags(lookup, _) => lookup.kernel(),
            Form::TensorGather(n) => tensor_core::gather(self.target, self.table, n),
            Form::TensorBags(lookup, _) => lookup.kernel(),
        }
    }

    /// Looks bags up in a table: `[n_bags, width]`, zeros for empty ones.
    ///
    /// # Errors
    /// If the bags are not like those that the lookup was made for, or of another table; what the
    /// combination of weights says ([`Bags::gains`]). What the device says is in the result.
    #[track_caller]
    pub fn call(&self, table: &DynTensor, bags: &Bags) -> Result<DynTensor, Diagnostics> {
        check_table(self.table, bags)?;
        let op = KernelOp::new(self.kernel()?);
        let (mut parts, mut from) = (Vec::new(), 0);
        while from < bags.n_bags() {
            let to = self.end_of_call(bags, from);
            let inputs = self.inputs(table, &bags.part(from..to))?;
            let inputs: Vec<&DynTensor> = inputs.iter().collect();
            let found = op.clone().apply(&inputs);
            parts.extend(found.first().map(|found| found.slice(0..to - from)));
            from = to;
        }
        match &parts[..] {
            [] => Err(crate::refuse(
                "there are no bags to look up".to_owned(),
                "leave the call out where there are none",
            )),
            [one] => Ok(one.clone()),
            many => Ok(DynTensor::concat(many, 0)),
        }
    }

    /// The last of the bags from `from` on that one call takes, and one more.
    fn end_of_call(&self, bags: &Bags, from: usize) -> usize {
        let most = (from + self.n_bags()).min(bags.n_bags());
        let first = bags.offsets()[from] as usize;
        let fits = |to: &usize| bags.offsets()[*to] as usize - first <= self.n_ids;
        // A bag that is too long goes alone, and the layout says so.
        (from + 1..=most).rev().find(fits).unwrap_or(from + 1)
    }

    /// The arrays of one call, in the order of the kernel's parameters.
    fn inputs(&self, table: &DynTensor, bags: &Bags) -> Result<Vec<DynTensor>, Diagnostics> {
        let table = || table.clone();
        Ok(match self.form {
            Form::SparseGather(_, n) => {
                vec![table(), DynTensor::from_array(self.ids(bags, n)?)]
            }
            Form::TensorGather(n) => vec![DynTensor::from_array(self.ids(bags, n)?), table()],
            Form::SparseBags(lookup, _) => {
                let batch = lookup.batch(bags, self.combiner)?;
                let arrays = [batch.ids, batch.factors].map(DynTensor::from_array);
                std::iter::once(table()).chain(arrays).collect()
            }
            Form::TensorBags(lookup, _) => {
                let tables = lookup.batch(bags, self.combiner)?.tables;
                tables.into_iter().map(DynTensor::from_array).chain([table()]).collect()
            }
        })
    }

    /// One id per bag, and the first row for the rest.
    fn ids(&self, bags: &Bags, n: usize) -> Result<systole::ir::Array, Diagnostics> {
        if bags.fixed_hot() != Some(1) || bags.weights().is_some() {
            return Err(crate::refuse(
                "a gather of rows takes one id per bag, without weights".to_owned(),
                "make the lookup for bags like these",
            ));
        }
        let mut ids = bags.ids().to_vec();
        ids.resize(n, 0);
        Ok(sparse_core::integers(ids))
    }
}

fn check_table(table: TableShape, bags: &Bags) -> Result<(), Diagnostics> {
    super::check_rows(bags, table.rows)?;
    let sizes = [table.width, table.dtype.size_bytes()];
    let bytes = sizes.iter().fold(table.rows as u64, |n, &size| n.saturating_mul(size as u64));
    if bytes > super::TENSOR_LIMIT_BYTES {
        return Err(crate::refuse(
            format!("a table of {bytes} bytes is larger than an array may be"),
            "cut it with `Sharding::fitting`, and the bags with it",
        ));
    }
    Ok(())
}

/// The form of bags of other lengths than 1, and the ids that one call takes.
fn tensor_bags(
    target: &Target,
    table: TableShape,
    bags: &Bags,
    combiner: Combiner,
) -> Result<(Form, usize), Diagnostics> {
    use tensor_core::{BagForm, BagLookup};
    let n = bags.n_bags();
    let whole = BagForm::of(bags, combiner);
    // Of longer ones not even a unit of work has its ids in scalar memory: they go as ragged ones.
    if let BagForm::Fixed { hot, .. } = whole
        && hot.saturating_mul(table.padded(target, 1)) <= tensor_core::SMEM_WORDS
    {
        let n_bags = table.padded(target, n).min(table.most_per_call(target, hot));
        let lookup = BagLookup::new(target, table, n_bags, whole)?;
        return Ok((Form::TensorBags(lookup, n_bags), usize::MAX));
    }
    table.check()?;
    let n_ids = bags.ids().len();
    let form = sparse_core::BagForm::of(bags, combiner);
    // Half as many until a call has room; what does not fit then is one bag that is too long.
    let mut n_calls = 1;
    loop {
        // A call may end before a long bag, and have as many ids less.
        let ids = n_ids.div_ceil(n_calls).max(bags.max_hot()).max(1);
        let ragged = BagForm::Ragged { n_ids: ids, form };
        let n_bags = BagLookup::padded(target, table, n.div_ceil(n_calls), ragged);
        match BagLookup::new(target, table, n_bags, ragged) {
            Ok(lookup) => return Ok((Form::TensorBags(lookup, n_bags), ids)),
            Err(error) if n_calls > n => return Err(error),
            Err(_) => n_calls *= 2,
        }
    }
}
