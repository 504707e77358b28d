//! The executable form of a kernel: references resolved to memories, and for every operand whether
//! this is its last use, so that its buffer can be used in place.

use crate::ir::ops::{Binary, ControlOp, Elementwise, Literal, MemoryOp, SparseOp};
use crate::ir::{
    BlockId, DType, Kernel, LocId, Op, OpData, SemaphoreArray, Shape, Type, Value, ValueDef,
};
use crate::valid::cost::is_transcendental;
use smallvec::SmallVec;
use std::collections::HashMap;

/// What memory and semaphores of a scope are called.
pub(super) const SCOPED: &str = "(scope)";

/// Index of a memory: parameters first, then scratch, then what scopes hold.
pub(super) type MemoryIdx = usize;

/// A value read by an op.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    /// Which.
    pub(super) value: Value,
    /// Whether nothing reads it afterwards.
    pub(super) last: bool,
}

/// An op ready to run.
#[derive(Debug)]
pub(super) struct Inst<'k> {
    /// The op with its attributes.
    pub(super) op: &'k Op,
    /// The operands, without the reference of a memory op.
    pub(super) uses: SmallVec<[Use; 4]>,
    /// The results.
    pub(super) results: SmallVec<[Value; 2]>,
    /// The memory that a memory op reaches.
    pub(super) memory: MemoryIdx,
    /// The memories and arrays of semaphores that a copy or an op on semaphores reaches.
    pub(super) refs: SmallVec<[usize; 3]>,
    /// The regions.
    pub(super) regions: Vec<Code<'k>>,
    /// Values that are not needed after this op.
    pub(super) drops: SmallVec<[Value; 4]>,
    /// Where the user wrote it.
    pub(super) loc: LocId,
}

/// A block ready to run.
#[derive(Debug, Default)]
pub(super) struct Code<'k> {
    /// Its arguments.
    pub(super) args: Vec<Value>,
    /// Its ops but the final `yield`.
    pub(super) insts: Vec<Inst<'k>>,
    /// What it yields.
    pub(super) yields: SmallVec<[Use; 4]>,
    /// Arguments that nothing reads.
    pub(super) unused_args: SmallVec<[Value; 2]>,
    /// How much work one run is, in thousands of elements; inner loops count once.
    pub(super) cost: u64,
    /// What one run takes of [`Options::fuel`](super::Options::fuel); inner loops take their own.
    pub(super) fuel: u64,
}

/// How many elements, or multiplications of a product, a unit of fuel pays for.
fn n_per_unit(op: &Op) -> u64 {
    match op {
        Op::Dot(_) | Op::Mxu(_) => 1024,
        Op::Reduce(_) | Op::Shape(_) => 64,
        Op::Elementwise(Elementwise::Unary(op)) if is_transcendental(*op) => 32,
        Op::Elementwise(Elementwise::Binary(Binary::Pow | Binary::Div | Binary::Rem)) => 32,
        Op::Convert(_) | Op::Random(_) => 32,
        Op::Elementwise(_)
        | Op::Memory(_)
        | Op::Dma(_)
        | Op::Sync(_)
        | Op::Sparse(_)
        | Op::Control(_)
        | Op::Debug(_) => 128,
    }
}

/// One entry of an index map.
#[derive(Clone, Copy, Debug)]
pub(super) enum Coordinate {
    /// The index of a grid axis.
    Axis(usize),
    /// A constant.
    Constant(i64),
}

/// An index map.
#[derive(Debug)]
pub(super) enum IndexMap<'k> {
    /// Grid indices and constants alone.
    Direct(SmallVec<[Coordinate; 4]>),
    /// Anything else.
    Computed(Code<'k>),
}

/// A kernel ready to run.
#[derive(Debug)]
pub(super) struct Plan<'k> {
    /// What it was made from.
    pub(super) kernel: &'k Kernel,
    /// The body.
    pub(super) body: Code<'k>,
    /// Per parameter: its index map, if it has a window.
    pub(super) index_maps: Vec<Option<IndexMap<'k>>>,
    /// The memories of scopes, numbered after parameters and scratch.
    pub(super) scoped: Vec<(DType, Shape)>,
    /// The same by their references; arrays of semaphores are in it as well.
    scoped_memories: HashMap<Value, usize>,
    /// The semaphores of the kernel, then those of scopes.
    pub(super) semaphores: Vec<SemaphoreArray>,
}

impl<'k> Plan<'k> {
    /// Compiles a kernel.
    pub(super) fn new(kernel: &'k Kernel) -> Plan<'k> {
        let mut scoped = Vec::new();
        let mut semaphores = kernel.semaphores.clone();
        let mut places = HashMap::new();
        let n_memories = kernel.params.len() + kernel.scratch.len();
        for (value, loc) in kernel.scoped() {
            let ty = kernel.ty(value);
            if let Type::Semaphore { kind, shape } = ty {
                places.insert(value, semaphores.len());
                let (kind, shape) = (*kind, shape.clone());
                semaphores.push(SemaphoreArray { name: SCOPED.to_owned(), kind, shape, loc });
            } else {
                places.insert(value, n_memories + scoped.len());
                scoped.push((ty.dtype(), Shape::from_slice(ty.shape())));
            }
        }
        let mut compiler =
            Compiler { kernel, last_use: vec![None; kernel.n_values()], scoped: places };
        let body = compiler.block(kernel.body);
        let index_maps = kernel
            .params
            .iter()
            .map(|param| {
                let window = param.window.as_ref()?;
                Some(match compiler.direct_map(window.index_map) {
                    Some(direct) => IndexMap::Direct(direct),
                    None => IndexMap::Computed(compiler.block(window.index_map)),
                })
            })
            .collect();
        let scoped_memories = compiler.scoped;
        Plan { kernel, body, index_maps, scoped, scoped_memories, semaphores }
    }

    /// The memory of a reference.
    pub(super) fn memory_of(&self, value: Value) -> MemoryIdx {
        match self.scoped_memories.get(&value) {
            Some(&memory) => memory,
            None => argument_of(self.kernel, value),
        }
    }

    /// The type of a value.
    pub(super) fn ty(&self, value: Value) -> &'k Type {
        self.kernel.ty(value)
    }

    /// The shape of a value.
    pub(super) fn shape(&self, value: Value) -> Shape {
        Shape::from_slice(self.kernel.ty(value).shape())
    }
}

struct Compiler<'k> {
    kernel: &'k Kernel,
    /// Per value: the op (by its place in the block that is being compiled) that reads it last.
    last_use: Vec<Option<usize>>,
    /// By the reference of a scope: the number of its memory or array of semaphores.
    scoped: HashMap<Value, usize>,
}

impl<'k> Compiler<'k> {
    fn block(&mut self, id: BlockId) -> Code<'k> {
        let block = self.kernel.block(id);
        let yields = self.kernel.yields(id);
        let is_yield = |op: &OpData| op.op == Op::Control(ControlOp::Yield);
        let ops: Vec<&'k OpData> =
            block.ops.iter().map(|&op| self.kernel.op(op)).filter(|op| !is_yield(op)).collect();

        // Inner blocks first: they overwrite `last_use` of their own values alone.
        let regions: Vec<Vec<Code<'k>>> = ops
            .iter()
            .map(|op| op.regions.iter().map(|&region| self.block(region)).collect())
            .collect();

        let local = self.local_values(id, &ops);
        for &value in &local {
            self.last_use[value.0 as usize] = None;
        }
        for (idx, op) in ops.iter().enumerate() {
            self.mark(op, idx);
        }
        for &value in yields {
            self.last_use[value.0 as usize] = Some(ops.len());
        }
        let is_local = |value: Value| local.binary_search(&value).is_ok();

        let insts: Vec<Inst<'k>> = ops
            .iter()
            .zip(regions)
            .enumerate()
            .map(|(idx, (op, regions))| self.inst(op, idx, regions, &is_local))
            .collect();
        let yields = yields
            .iter()
            .enumerate()
            .map(|(idx, &value)| Use {
                value,
                last: is_local(value) && !yields[idx + 1..].contains(&value),
            })
            .collect();
        let unused_args = block
            .args
            .iter()
            .copied()
            .filter(|value| self.last_use[value.0 as usize].is_none())
            .collect();
        let cost = insts.iter().map(|inst| self.cost(inst)).sum();
        let fuel = insts.iter().map(|inst| self.fuel(inst)).sum();
        Code { args: block.args.clone(), insts, yields, unused_args, cost, fuel }
    }

    /// The values that the block itself defines, sorted.
    fn local_values(&self, id: BlockId, ops: &[&OpData]) -> Vec<Value> {
        let results = ops.iter().flat_map(|op| op.results.iter().copied());
        let mut local: Vec<Value> =
            self.kernel.block(id).args.iter().copied().chain(results).collect();
        local.sort_unstable();
        local
    }

    /// Records that op number `idx` reads its operands and whatever its regions read.
    fn mark(&mut self, op: &OpData, idx: usize) {
        for &operand in &op.operands {
            self.last_use[operand.0 as usize] = Some(idx);
        }
        for &region in &op.regions {
            for &inner in &self.kernel.block(region).ops {
                self.mark(self.kernel.op(inner), idx);
            }
        }
    }

    fn inst(
        &self,
        op: &'k OpData,
        idx: usize,
        regions: Vec<Code<'k>>,
        is_local: &dyn Fn(Value) -> bool,
    ) -> Inst<'k> {
        let ends_here =
            |value: Value| is_local(value) && self.last_use[value.0 as usize] == Some(idx);
        let memory = match op.op {
            Op::Memory(MemoryOp::Load { .. } | MemoryOp::Store { .. })
            | Op::Sparse(
                SparseOp::LoadIdx { .. }
                | SparseOp::StoreIdx { .. }
                | SparseOp::LoadExpanded { .. }
                | SparseOp::StoreCompressed { .. },
            ) => op.operands.first().map_or(0, |&value| self.memory(value)),
            _ => 0,
        };
        let refs = match op.op {
            Op::Dma(_) | Op::Sync(_) => self.references(&op.operands),
            Op::Sparse(ref sparse) if sparse.indirect().is_some() => self.references(&op.operands),
            Op::Control(ControlOp::Scope) => {
                let args = op.regions.iter().flat_map(|&region| &self.kernel.block(region).args);
                self.references(&args.copied().collect::<Vec<_>>())
            }
            _ => SmallVec::new(),
        };
        let operands: SmallVec<[Value; 4]> =
            op.operands.iter().copied().filter(|&value| !self.kernel.ty(value).is_ref()).collect();
        let mut inner = Vec::new();
        for region in &op.regions {
            self.kernel.walk(*region, &mut |_, op| inner.extend_from_slice(&op.operands));
        }
        let uses: SmallVec<[Use; 4]> = operands
            .iter()
            .map(|&value| {
                let once = operands.iter().filter(|&&other| other == value).count() == 1;
                Use { value, last: once && ends_here(value) && !inner.contains(&value) }
            })
            .collect();
        let taken = |value: Value| uses.iter().any(|used| used.value == value && used.last);
        let mut drops: SmallVec<[Value; 4]> = operands
            .iter()
            .chain(&inner)
            .copied()
            .filter(|&value| ends_here(value) && !taken(value))
            .chain(
                op.results
                    .iter()
                    .copied()
                    .filter(|value| self.last_use[value.0 as usize].is_none()),
            )
            .collect();
        drops.sort_unstable();
        drops.dedup();
        let (results, loc) = (op.results.clone(), op.loc);
        Inst { op: &op.op, uses, results, memory, refs, regions, drops, loc }
    }

    /// The memory of a reference: an argument of the body, of an index map or of a scope.
    fn memory(&self, value: Value) -> MemoryIdx {
        if let Some(&place) = self.scoped.get(&value) {
            return place;
        }
        argument_of(self.kernel, value)
    }

    /// The references among values: memories, and arrays of semaphores by their number.
    fn references(&self, values: &[Value]) -> SmallVec<[usize; 3]> {
        let n_memories = self.kernel.params.len() + self.kernel.scratch.len();
        let refs = values.iter().copied().filter(|&value| self.kernel.ty(value).is_ref());
        refs.map(|value| {
            let place = self.memory(value);
            let in_body = !self.scoped.contains_key(&value);
            match self.kernel.ty(value) {
                Type::Semaphore { .. } if in_body => place.saturating_sub(n_memories),
                _ => place,
            }
        })
        .collect()
    }

    fn direct_map(&self, id: BlockId) -> Option<SmallVec<[Coordinate; 4]>> {
        self.kernel.yields(id).iter().map(|&value| self.coordinate(id, value)).collect()
    }

    fn coordinate(&self, id: BlockId, value: Value) -> Option<Coordinate> {
        match self.kernel.def(value) {
            ValueDef::Arg(block, arg) => (block == id && (arg as usize) < self.kernel.grid.len())
                .then_some(Coordinate::Axis(arg as usize)),
            ValueDef::Result(..) => match self.kernel.defining_op(value)?.op {
                Op::Elementwise(Elementwise::Constant(literal)) => {
                    Literal::as_int(literal).map(Coordinate::Constant)
                }
                _ => None,
            },
        }
    }

    fn cost(&self, inst: &Inst<'k>) -> u64 {
        let regions: u64 = inst.regions.iter().map(|region| region.cost).sum();
        self.work(inst) / 1024 + regions
    }

    /// The elements that an op reads and writes, or the multiplications of a product.
    fn work(&self, inst: &Inst<'k>) -> u64 {
        let n_elems = |value: Value| self.kernel.ty(value).n_elems() as u64;
        let results: u64 = inst.results.iter().map(|&value| n_elems(value)).sum();
        let operands: u64 = inst.uses.iter().map(|used| n_elems(used.value)).sum();
        match inst.op {
            Op::Dot(dot) => {
                let lhs =
                    inst.uses.first().map_or(&[][..], |used| self.kernel.ty(used.value).shape());
                let k = lhs.get(usize::from(!dot.transpose_lhs)).copied().unwrap_or(1) as u64;
                results.saturating_mul(k)
            }
            Op::Dma(dma) => dma.transfer().shape().iter().product::<usize>() as u64,
            Op::Sparse(SparseOp::Start(start)) => {
                start.copy.rows.tile_shape().iter().product::<usize>() as u64
            }
            _ => results + operands,
        }
    }

    /// A unit stands for some 30 ns, whatever the op and however large its tiles.
    fn fuel(&self, inst: &Inst<'k>) -> u64 {
        let is_tile = |value: Value| self.kernel.ty(value).is_tile();
        let operands = inst.uses.iter().map(|used| used.value);
        let moves = matches!(inst.op, Op::Dma(_) | Op::Sparse(_));
        let own = if moves || operands.chain(inst.results.iter().copied()).any(is_tile) {
            16 + self.work(inst) / n_per_unit(inst.op)
        } else {
            2
        };
        let arms = match inst.op {
            Op::Control(ControlOp::If) => inst.regions.iter().map(|region| region.fuel).max(),
            _ => None,
        };
        own + arms.unwrap_or(0)
    }
}

/// The number of a reference among the arguments of the body or of an index map.
fn argument_of(kernel: &Kernel, value: Value) -> MemoryIdx {
    match kernel.def(value) {
        ValueDef::Arg(_, arg) => (arg as usize).saturating_sub(kernel.grid.len()),
        ValueDef::Result(..) => 0,
    }
}
