//! Pinning: a twin of a kernel whose prefetched tables and dynamic extents are constants.
//!
//! A compiler that only looks at a kernel does not know what stands in its tables, and takes
//! every branch that depends on one as not taken. The twin computes the same for one call: each
//! read of a table becomes a choice among its entries. Runs of entries that are equal or grow by a
//! constant cost one choice together, so most real tables (page lists in order, group numbers,
//! lengths) take a few scalar ops per read.

use crate::diag::{Code, Diagnostic};
use crate::ir::ops::{Binary, Compare, ControlOp, Elementwise, Literal, MemoryOp, Op, Start};
use crate::ir::ty::Sizes;
use crate::ir::{
    Array, BlockData, BlockId, Builder, DType, Extent, Kernel, LocId, OpData, ParamKind, Type,
    Value,
};
use smallvec::SmallVec;

/// Whether a kernel has what [`pin`] makes constant.
pub fn is_pinnable(kernel: &Kernel) -> bool {
    let has_tables = kernel.params.iter().any(|param| param.kind == ParamKind::Prefetch);
    has_tables || kernel.grid.iter().any(|axis| matches!(axis.extent, Extent::Dynamic { .. }))
}

/// The twin of a kernel for one call.
///
/// `inputs` are those of the call: the extents, then the tables, then the other arrays, which are
/// not looked at. The twin takes the other arrays alone.
///
/// # Errors
/// If an extent or table is missing or does not fit its parameter.
pub fn pin(kernel: &Kernel, inputs: &[Array]) -> Result<Kernel, Diagnostic> {
    let mut twin = kernel.clone();
    twin.ops.clear();
    twin.values.clear();
    twin.blocks = vec![BlockData::default()];
    twin.body = BlockId(0);
    twin.params.retain(|param| param.kind != ParamKind::Prefetch);
    let n_extents = n_extents(kernel);
    let mut extents = Vec::with_capacity(kernel.grid.len());
    for axis in &mut twin.grid {
        let extent = match axis.extent {
            Extent::Static(extent) => extent,
            Extent::Dynamic { operand } => extent_of(inputs.get(operand), &axis.name)?,
        };
        axis.extent = Extent::Static(extent);
        extents.push(extent);
    }
    let tables = tables(kernel, inputs.get(n_extents..).unwrap_or_default())?;
    let mut pinner = Pinner {
        old: kernel,
        new: Builder::resume(twin),
        values: vec![None; kernel.n_values()],
        tables: vec![None; kernel.n_values()],
        extents,
    };
    pinner.twin(&tables);
    Ok(pinner.new.finish())
}

/// The most choices that the twin makes where the kernel reads one of its tables.
///
/// # Errors
/// As [`pin`].
pub fn n_choices(kernel: &Kernel, inputs: &[Array]) -> Result<usize, Diagnostic> {
    let tables = tables(kernel, inputs.get(n_extents(kernel)..).unwrap_or_default())?;
    let n_runs = tables.iter().map(|table| runs(table.dtype(), &table.to_f64()).len());
    Ok(n_runs.max().unwrap_or(0))
}

fn n_extents(kernel: &Kernel) -> usize {
    let operands = kernel.grid.iter().map(|axis| match axis.extent {
        Extent::Static(_) => 0,
        Extent::Dynamic { operand } => operand + 1,
    });
    operands.max().unwrap_or(0)
}

fn misfit(message: String) -> Diagnostic {
    Diagnostic::error(Code::PASS_PIN, message)
        .help("give the arrays of one call: extents, tables, then the rest, in order")
}

fn extent_of(array: Option<&Array>, name: &str) -> Result<usize, Diagnostic> {
    let value = array.filter(|array| array.n_elems() == 1 && array.dtype() == DType::I32);
    match value.map(|array| array.to_f64()[0]) {
        Some(extent) if extent >= 1.0 => Ok(extent as usize),
        Some(extent) => Err(misfit(format!("grid axis `{name}` would have {extent} steps"))),
        None => Err(misfit(format!("grid axis `{name}` is given no extent, an i32 scalar"))),
    }
}

/// The entries of each table.
fn tables<'a>(kernel: &Kernel, arrays: &'a [Array]) -> Result<Vec<&'a Array>, Diagnostic> {
    let params = kernel.params.iter().filter(|param| param.kind == ParamKind::Prefetch);
    let tables = params.enumerate().map(|(idx, param)| {
        let shape = param.array_shape();
        match arrays.get(idx) {
            Some(array) if array.dtype() == param.dtype && *array.shape() == *shape => Ok(array),
            Some(array) => Err(misfit(format!(
                "the table `{}` is {}{}, but {}{} was given",
                param.name,
                param.dtype,
                Sizes(&shape),
                array.dtype(),
                Sizes(array.shape())
            ))),
            None => Err(misfit(format!("the table `{}` is not given", param.name))),
        }
    });
    tables.collect()
}

/// Entries `start..` up to those of the next run: `base + slope * index`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    start: usize,
    base: Literal,
    slope: i64,
}

/// A table as runs.
#[derive(Clone, Debug)]
struct Table {
    dtype: DType,
    strides: Vec<i64>,
    runs: Vec<Run>,
}

impl Table {
    fn new(array: &Array) -> Table {
        let mut strides = vec![1; array.shape().len()];
        for axis in (1..strides.len()).rev() {
            strides[axis - 1] = strides[axis] * array.shape()[axis] as i64;
        }
        Table { dtype: array.dtype(), strides, runs: runs(array.dtype(), &array.to_f64()) }
    }

    fn entry(&self, idx: usize) -> Option<Literal> {
        let run = self.runs.iter().rev().find(|run| run.start <= idx)?;
        match run.base.as_int() {
            Some(base) if run.slope != 0 => {
                let entry = self.dtype.wrap_int(base.wrapping_add(run.slope * idx as i64));
                Some(Literal::int(self.dtype, entry))
            }
            _ => Some(run.base),
        }
    }
}

/// Cuts entries into runs, each as long as it can be.
fn runs(dtype: DType, entries: &[f64]) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut start = 0;
    while start < entries.len() {
        let step = match entries.get(start + 1) {
            Some(next) if dtype == DType::I32 => next - entries[start],
            _ => 0.0,
        };
        let follows = |pair: &&[f64]| pair[1] - pair[0] == step;
        let n = 1 + entries[start..].windows(2).take_while(follows).count();
        // Two entries that differ are a run of any two: worth it only if a third goes on.
        let (n, step) = if n == 2 && step != 0.0 { (1, 0.0) } else { (n, step) };
        let slope = step as i64;
        let base = match dtype {
            DType::I32 if slope != 0 => {
                let base = entries[start] as i64 - slope * start as i64;
                Literal::int(dtype, dtype.wrap_int(base))
            }
            _ => Literal::from_f64(dtype, entries[start]),
        };
        runs.push(Run { start, base, slope });
        start += n;
    }
    runs
}

struct Pinner<'k> {
    old: &'k Kernel,
    new: Builder,
    /// By old value, the new one.
    values: Vec<Option<Value>>,
    /// By old value, the table that it refers to.
    tables: Vec<Option<usize>>,
    /// Per grid axis.
    extents: Vec<usize>,
}

impl Pinner<'_> {
    fn twin(&mut self, arrays: &[&Array]) {
        let tables: Vec<Table> = arrays.iter().map(|array| Table::new(array)).collect();
        let body = self.new.kernel().body;
        self.arguments(self.old.body, body);
        let windows = self.old.params.iter().filter(|param| param.kind != ParamKind::Prefetch);
        for (idx, param) in windows.enumerate() {
            let Some(window) = &param.window else { continue };
            let map = self.region(window.index_map, &tables);
            if let Some(window) = &mut self.new.kernel_mut().params[idx].window {
                window.index_map = map;
            }
        }
        self.ops(self.old.body, &tables);
    }

    /// Declares the arguments of a block but for the tables, which come right after the grid
    /// indices of index maps and of the body.
    fn arguments(&mut self, old: BlockId, new: BlockId) {
        let n_grid = self.old.grid.len();
        let is_table = |idx: usize| {
            idx.checked_sub(n_grid)
                .and_then(|param| self.old.params.get(param))
                .is_some_and(|param| param.kind == ParamKind::Prefetch)
        };
        let sees_tables =
            old == self.old.body
                || self.old.params.iter().any(|param| {
                    param.window.as_ref().is_some_and(|window| window.index_map == old)
                });
        for (idx, &arg) in self.old.block(old).args.iter().enumerate() {
            if sees_tables && is_table(idx) {
                self.tables[arg.0 as usize] = Some(idx - n_grid);
                continue;
            }
            let value = self.new.add_arg(new, self.old.ty(arg).clone());
            self.values[arg.0 as usize] = Some(value);
        }
    }

    fn region(&mut self, old: BlockId, tables: &[Table]) -> BlockId {
        let (new, _) = self.new.open_block(&[]);
        self.arguments(old, new);
        let yields = self.ops(old, tables);
        let loc = self.old.block(old).ops.last().map_or(LocId::UNKNOWN, |&op| self.old.op(op).loc);
        self.new.close_block(&yields, loc);
        new
    }

    /// Copies a block's ops into the open block; gives what it yields.
    fn ops(&mut self, block: BlockId, tables: &[Table]) -> SmallVec<[Value; 4]> {
        for &id in &self.old.block(block).ops {
            let op = self.old.op(id);
            let table = op.operands.first().and_then(|&v| self.tables[v.0 as usize]);
            let operands: SmallVec<[Value; 4]> =
                op.operands.iter().filter_map(|v| self.values[v.0 as usize]).collect();
            let result = match (&op.op, table) {
                (Op::Control(ControlOp::Yield), _) => return operands,
                (Op::Memory(MemoryOp::Load { .. }), Some(table)) => {
                    Some(self.read(&tables[table], op, &operands))
                }
                (Op::Control(ControlOp::GridExtent { axis }), _) => {
                    Some(self.int(self.extents[*axis] as i64, op.loc))
                }
                _ => None,
            };
            if let (Some(value), Some(&old)) = (result, op.results.first()) {
                self.values[old.0 as usize] = Some(value);
                continue;
            }
            let regions: SmallVec<[BlockId; 2]> =
                op.regions.iter().map(|&region| self.region(region, tables)).collect();
            let types: SmallVec<[Type; 2]> =
                op.results.iter().map(|&v| self.old.ty(v).clone()).collect();
            let results = self.new.append(op.op.clone(), &operands, &regions, &types, op.loc);
            for (old, new) in op.results.iter().zip(results) {
                self.values[old.0 as usize] = Some(new);
            }
        }
        SmallVec::new()
    }

    fn int(&mut self, value: i64, loc: LocId) -> Value {
        self.new.constant(Literal::int(DType::I32, value), loc)
    }

    fn scalar(&mut self, op: Elementwise, operands: &[Value], dtype: DType, loc: LocId) -> Value {
        let types = [Type::Scalar(dtype)];
        self.new.append(Op::Elementwise(op), operands, &[], &types, loc)[0]
    }

    /// What a load of a table gives.
    fn read(&mut self, table: &Table, op: &OpData, starts: &[Value]) -> Value {
        let loc = op.loc;
        let Op::Memory(memory) = &op.op else { return self.int(0, loc) };
        let (mut known, mut dynamic) = (0, None);
        let mut starts = starts.iter();
        for (dim, &stride) in memory.access().dims.iter().zip(&table.strides) {
            match dim.start {
                Start::Static(start) => known += start as i64 * stride,
                Start::Dynamic { .. } => {
                    let Some(&start) = starts.next() else { continue };
                    let stride = self.int(stride, loc);
                    let mul = Elementwise::Binary(Binary::Mul);
                    let term = self.scalar(mul, &[start, stride], DType::I32, loc);
                    dynamic = Some(self.plus(dynamic, term, loc));
                }
            }
        }
        let Some(dynamic) = dynamic else {
            let entry = table.entry(known as usize);
            let zero = Literal::from_f64(table.dtype, 0.0);
            return self.new.constant(entry.unwrap_or(zero), loc);
        };
        let known = self.int(known, loc);
        let idx = self.plus(Some(known), dynamic, loc);
        let base = self.choose(&table.runs, &|run| run.base, idx, loc);
        if table.runs.iter().all(|run| run.slope == 0) {
            return base;
        }
        let slope = self.choose(&table.runs, &|run| Literal::int(DType::I32, run.slope), idx, loc);
        let mul = Elementwise::Binary(Binary::Mul);
        let term = self.scalar(mul, &[slope, idx], DType::I32, loc);
        self.plus(Some(base), term, loc)
    }

    fn plus(&mut self, a: Option<Value>, b: Value, loc: LocId) -> Value {
        match a {
            Some(a) => self.scalar(Elementwise::Binary(Binary::Add), &[a, b], DType::I32, loc),
            None => b,
        }
    }

    /// A number of the run that an index is in, found by halving.
    fn choose(
        &mut self,
        runs: &[Run],
        of: &dyn Fn(&Run) -> Literal,
        idx: Value,
        loc: LocId,
    ) -> Value {
        let first = of(&runs[0]);
        if runs.iter().all(|run| of(run) == first) {
            return self.new.constant(first, loc);
        }
        let (left, right) = runs.split_at(runs.len() / 2);
        let border = self.int(right[0].start as i64, loc);
        let left = self.choose(left, of, idx, loc);
        let right = self.choose(right, of, idx, loc);
        let less = Elementwise::Compare(Compare::Lt);
        let is_left = self.scalar(less, &[idx, border], DType::Bool, loc);
        self.scalar(Elementwise::Select, &[is_left, left, right], first.dtype(), loc)
    }
}
