//! The executable form of a kernel: references resolved to memories, and for every operand whether
//! this is its last use, so that its buffer can be used in place.

use crate::ir::ops::{ControlOp, Elementwise, Literal, MemoryOp};
use crate::ir::{BlockId, Kernel, LocId, Op, OpData, Shape, Type, Value, ValueDef};
use smallvec::SmallVec;

/// Index of a memory: parameters first, then scratch.
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
}

impl<'k> Plan<'k> {
    /// Compiles a kernel.
    pub(super) fn new(kernel: &'k Kernel) -> Plan<'k> {
        let mut compiler = Compiler { kernel, last_use: vec![None; kernel.n_values()] };
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
        Plan { kernel, body, index_maps }
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
        Code { args: block.args.clone(), insts, yields, unused_args, cost }
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
            Op::Memory(MemoryOp::Load { .. } | MemoryOp::Store { .. }) => {
                op.operands.first().map_or(0, |&value| self.memory(value))
            }
            _ => 0,
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
        Inst { op: &op.op, uses, results: op.results.clone(), memory, regions, drops, loc: op.loc }
    }

    /// The memory of a reference, which is always an argument of the body or of an index map.
    fn memory(&self, value: Value) -> MemoryIdx {
        match self.kernel.def(value) {
            ValueDef::Arg(_, arg) => (arg as usize).saturating_sub(self.kernel.grid.len()),
            ValueDef::Result(..) => 0,
        }
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
        let n_elems = |value: Value| self.kernel.ty(value).n_elems() as u64;
        let results: u64 = inst.results.iter().map(|&value| n_elems(value)).sum();
        let operands: u64 = inst.uses.iter().map(|used| n_elems(used.value)).sum();
        let work = match inst.op {
            Op::Dot(dot) => {
                let lhs =
                    inst.uses.first().map_or(&[][..], |used| self.kernel.ty(used.value).shape());
                let k = lhs.get(usize::from(!dot.transpose_lhs)).copied().unwrap_or(1) as u64;
                results * k
            }
            _ => results + operands,
        };
        let regions: u64 = inst.regions.iter().map(|region| region.cost).sum();
        work / 1024 + regions
    }
}
