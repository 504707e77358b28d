//! One step of an optimizer for every target.

use super::{Bags, Combiner, Engine, Optimizer, TableShape, UpdateShape};
use super::{sparse_core, tensor_core};
use systole::diag::{Code, Diagnostics};
use systole::ir::Kernel;
use systole::run::{DynTensor, KernelOp};
use systole::target::{SparseCores, Target};

/// One step of an optimizer on the rows that a batch names, in place, on the cores that
/// [`Engine::of`] says.
///
/// Where the sums of a batch are too much for the memory of SparseCores, or the table has too few
/// rows for each of them, the TensorCore has it. The host groups the entries of each batch by row
/// ([`Bags::plan_update`]), so that no row is updated by two units. A table of fewer rows than the
/// TensorCore works on at a time, a multiple of 64, is padded at each call.
#[derive(Clone, Debug)]
pub struct Update {
    combiner: Combiner,
    /// Rows of the table as it is given.
    rows: usize,
    plan: UpdateShape,
    form: Form,
    optimizer: Optimizer,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Sparse(SparseCores, sparse_core::StepShape),
    Tensor(tensor_core::Step),
}

/// A table after a step, and its accumulator if it has one.
#[derive(Clone, Debug)]
pub struct Updated {
    /// The table.
    pub table: DynTensor,
    /// What Adagrad sums squares in.
    pub accumulator: Option<DynTensor>,
}

impl Update {
    /// An update by batches like this one: as many bags, and about as many rows and entries. A
    /// margin of `spare` times as many rows and entries leaves room for other batches; 1 leaves
    /// none.
    ///
    /// # Errors
    /// If the table is not `f32`, ids name more rows than it has, the margin is 0 or makes more than
    /// 2^31 - 1 entries, or the batch is too much for one call.
    pub fn new(
        target: &'static Target,
        table: TableShape,
        bags: &Bags,
        combiner: Combiner,
        optimizer: Optimizer,
        spare: usize,
    ) -> Result<Update, Diagnostics> {
        super::check_rows(bags, table.rows)?;
        check_spare(bags, spare)?;
        let sparse = match Engine::of(target, table) {
            Engine::SparseCore(cores) => sparse(&cores, table, bags, combiner, optimizer, spare)?,
            Engine::TensorCore => None,
        };
        let (plan, form) = match sparse {
            Some(sparse) => sparse,
            None => {
                let n_rows = (bags.unique().ids.len() * spare).min(table.rows);
                let rows = table.rows.max(tensor_core::Step::n_rows(target, n_rows));
                let shape = tensor_core::StepShape {
                    table: TableShape { rows, ..table },
                    n_samples: bags.n_bags(),
                    n_rows,
                    n_entries: bags.ids().len() * spare,
                };
                let step = tensor_core::Step::new(target, shape, optimizer)?;
                (step.plan_shape(), Form::Tensor(step))
            }
        };
        Ok(Update { combiner, rows: table.rows, plan, form, optimizer })
    }

    /// What runs it.
    pub fn engine(&self) -> Engine {
        match self.form {
            Form::Sparse(cores, _) => Engine::SparseCore(cores),
            Form::Tensor(_) => Engine::TensorCore,
        }
    }

    /// Elements of a row of the accumulator, for a table of this width; `None` for SGD. Where an
    /// optimizer has one value per row, it stands in each of them.
    pub fn accumulator_width(&self, width: usize) -> Option<usize> {
        match (self.optimizer, self.form) {
            (Optimizer::Sgd { .. }, _) => None,
            (Optimizer::Adagrad { .. }, _) => Some(width),
            (Optimizer::RowAdagrad { .. }, Form::Sparse(..)) => {
                Some(sparse_core::ROW_ACCUMULATOR_WIDTH)
            }
            (Optimizer::RowAdagrad { .. }, Form::Tensor(_)) => {
                Some(tensor_core::ROW_ACCUMULATOR_WIDTH)
            }
        }
    }

    /// Traces the kernels of a step, in the order in which they run, for a table that is padded if
    /// it has few rows.
    ///
    /// # Errors
    /// If the shape makes no kernel.
    pub fn kernels(&self) -> Result<Vec<Kernel>, Diagnostics> {
        match self.form {
            Form::Sparse(cores, shape) => {
                Ok(vec![sparse_core::step(&cores, &shape, self.optimizer)?])
            }
            Form::Tensor(step) => Ok(vec![step.gradient().kernel()?, step.kernel()?]),
        }
    }

    /// Updates a table, and the accumulator if there is one, by the gradient `[n_bags, width]` of
    /// what the lookup of the bags gave.
    ///
    /// # Errors
    /// If the batch has more rows or entries than there is room for, and as [`Bags::gains`]. What
    /// the device says is in the results.
    #[track_caller]
    pub fn call(
        &self,
        table: &DynTensor,
        accumulator: Option<&DynTensor>,
        gradient: &DynTensor,
        bags: &Bags,
    ) -> Result<Updated, Diagnostics> {
        let (n_bags, shape) = (bags.n_bags(), gradient.shape());
        if shape.first().is_none_or(|&rows| rows < n_bags) {
            return Err(crate::refuse(
                format!("{n_bags} bags do not fit a gradient of shape {shape:?}"),
                "give one row of the gradient per bag",
            ));
        }
        let plan = bags.plan_update(self.combiner, &self.plan)?;
        let kernels = self.kernels()?;
        let Some(kernel) = kernels.last().cloned() else { return Err(no_kernel()) };
        let n_padding = self.plan.table_rows - self.rows;
        let state = std::iter::once(table).chain(accumulator).map(|array| match n_padding {
            0 => array.clone(),
            n => array.pad(&[(0, n as i64), (0, 0)], 0.0),
        });
        let outputs = match self.form {
            Form::Sparse(cores, _) => {
                let lists = sparse_core::UpdateLists::new(&cores, &plan)?;
                let lists = [lists.rows, lists.samples, lists.places, lists.gains];
                let lists = lists.map(DynTensor::from_array);
                apply(kernel, state.chain([gradient.clone()]).chain(lists).collect())
            }
            Form::Tensor(step) => {
                let rows = tensor_core::UpdateRows::new(&step, &plan)?;
                let tables = rows.gradient.tables.into_iter().map(DynTensor::from_array);
                let summed = match kernels.first() {
                    Some(sum) => apply(sum.clone(), tables.chain([gradient.clone()]).collect()),
                    None => return Err(no_kernel()),
                };
                let ids = std::iter::once(DynTensor::from_array(rows.rows));
                apply(kernel, ids.chain(state).chain(summed).collect())
            }
        };
        let mut outputs = outputs.into_iter().map(|array| match n_padding {
            0 => array,
            _ => array.slice(0..self.rows),
        });
        match outputs.next() {
            Some(table) => Ok(Updated { table, accumulator: outputs.next() }),
            None => Err(no_kernel()),
        }
    }
}

#[track_caller]
fn apply(kernel: Kernel, inputs: Vec<DynTensor>) -> Vec<DynTensor> {
    let inputs: Vec<&DynTensor> = inputs.iter().collect();
    KernelOp::new(kernel).apply(&inputs)
}

/// There is a margin, and what it makes of a batch can be counted.
fn check_spare(bags: &Bags, spare: usize) -> Result<(), Diagnostics> {
    let n = bags.ids().len();
    if spare == 0 || n.max(1).saturating_mul(spare) > crate::MAX_SIZE {
        return Err(crate::refuse(
            format!("room for {spare} times the {n} entries of a batch"),
            "give a margin of at least 1, which leaves none, and of no more than 2^31 - 1 entries",
        ));
    }
    Ok(())
}

/// The step on SparseCores; `None` if they have no memory for its sums, or the table has too few
/// rows for their lists, which name each at most once.
fn sparse(
    cores: &SparseCores,
    table: TableShape,
    bags: &Bags,
    combiner: Combiner,
    optimizer: Optimizer,
    spare: usize,
) -> Result<Option<(UpdateShape, Form)>, Diagnostics> {
    let n_lists = cores.n_cores * cores.n_subcores;
    let shape = UpdateShape {
        n_lists,
        table_rows: table.rows,
        rows_per_list: None,
        entries_per_list: None,
    };
    let plan = match bags.plan_update(combiner, &shape) {
        Err(errors) if errors.iter().all(|error| error.code == Code::EMBEDDING_LIMIT) => {
            return Ok(None);
        }
        plan => plan?,
    };
    let room = |n: usize| (n * spare).next_multiple_of(16);
    let (rows_per_list, entries_per_list) = (room(plan.rows_per_list), room(plan.entries_per_list));
    if n_lists * rows_per_list > table.rows {
        return Ok(None);
    }
    let step = sparse_core::StepShape {
        table: [table.rows, table.width],
        n_samples: bags.n_bags(),
        rows_per_list,
        entries_per_list,
    };
    let (rows, entries) = (Some(rows_per_list), Some(entries_per_list));
    let shape = UpdateShape { rows_per_list: rows, entries_per_list: entries, ..shape };
    let has_room = sparse_core::step(cores, &step, optimizer).is_ok();
    Ok(has_room.then_some((shape, Form::Sparse(*cores, step))))
}

fn no_kernel() -> Diagnostics {
    crate::refuse("the step has no result".to_owned(), "make the update for batches like these")
}
