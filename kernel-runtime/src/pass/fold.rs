//! Folding: constants are computed, equal ops merged, decided branches taken, unused ops dropped.
//!
//! One walk in program order builds the new kernel, a second one drops what nobody uses; both are
//! linear in the number of ops. Results are those of the IR's own scalar semantics, bit for bit.

use crate::ir::ops::{Binary, Compare, ControlOp, Elementwise, Literal, Op, Unary};
use crate::ir::{BlockData, BlockId, DType, Kernel, LocId, OpData, OpId, Value, ValueDef};
use crate::ir::{Builder, Type};
use half::{bf16, f16};
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Folds a kernel.
///
/// Effects stay as they are and in their order. An access or index that goes wrong stays too if
/// its result is used; one whose result nobody uses is dropped.
pub fn fold(kernel: &Kernel) -> Kernel {
    let mut empty = kernel.clone();
    empty.ops.clear();
    empty.values.clear();
    empty.blocks = vec![BlockData::default()];
    empty.body = BlockId(0);
    let mut folder = Folder {
        old: kernel,
        new: Builder::resume(empty),
        values: vec![None; kernel.n_values()],
        scopes: Vec::new(),
    };
    let body = folder.new.kernel().body;
    folder.arguments(kernel.body, body);
    for (idx, param) in kernel.params.iter().enumerate() {
        let Some(window) = &param.window else { continue };
        let map = folder.region(window.index_map);
        if let Some(window) = &mut folder.new.kernel_mut().params[idx].window {
            window.index_map = map;
        }
    }
    folder.scopes.push(HashMap::new());
    folder.ops(kernel.body);
    let mut folded = folder.new.finish();
    drop_unused(&mut folded);
    folded
}

struct Folder<'k> {
    old: &'k Kernel,
    new: Builder,
    /// By old value, the new one.
    values: Vec<Option<Value>>,
    /// The results of pure ops by open block, innermost last; keyed by a hash of op and operands.
    scopes: Vec<HashMap<u64, Value>>,
}

impl Folder<'_> {
    fn arguments(&mut self, old: BlockId, new: BlockId) {
        for &arg in &self.old.block(old).args {
            let value = self.new.add_arg(new, self.old.ty(arg).clone());
            self.values[arg.0 as usize] = Some(value);
        }
    }

    /// Folds a block with its `yield`.
    fn region(&mut self, old: BlockId) -> BlockId {
        let (new, _) = self.new.open_block(&[]);
        self.arguments(old, new);
        self.scopes.push(HashMap::new());
        let yields = self.ops(old);
        self.scopes.pop();
        let loc = self.old.block(old).ops.last().map_or(LocId::UNKNOWN, |&op| self.old.op(op).loc);
        self.new.close_block(&yields, loc);
        new
    }

    /// Folds a block's ops into the open block; gives what it yields.
    fn ops(&mut self, block: BlockId) -> SmallVec<[Value; 4]> {
        for &id in &self.old.block(block).ops {
            let op = self.old.op(id);
            // A valid kernel uses no value before its definition; of any other, nothing is kept.
            let operands: Option<SmallVec<[Value; 4]>> =
                op.operands.iter().map(|v| self.values[v.0 as usize]).collect();
            let Some(operands) = operands else { continue };
            if op.op == Op::Control(ControlOp::Yield) {
                return operands;
            }
            let results = self.op(op, operands);
            for (old, new) in op.results.iter().zip(results) {
                self.values[old.0 as usize] = Some(new);
            }
        }
        SmallVec::new()
    }

    /// The new values of an op's results.
    fn op(&mut self, op: &OpData, operands: SmallVec<[Value; 4]>) -> SmallVec<[Value; 4]> {
        match &op.op {
            Op::Elementwise(elementwise) => {
                if let Some(literal) = self.constant_result(*elementwise, &operands) {
                    let constant = Op::Elementwise(Elementwise::Constant(literal));
                    let types = [Type::Scalar(literal.dtype())];
                    return self.pure(constant, SmallVec::new(), &types, op.loc);
                }
                if let Some(value) = self.same_value(*elementwise, &operands) {
                    return smallvec![value];
                }
                self.pure(op.op.clone(), operands, &self.result_types(op), op.loc)
            }
            Op::Shape(_) | Op::Convert(_) | Op::Reduce(_) | Op::Dot(_) => {
                self.pure(op.op.clone(), operands, &self.result_types(op), op.loc)
            }
            Op::Sparse(sparse) if sparse.is_pure() => {
                self.pure(op.op.clone(), operands, &self.result_types(op), op.loc)
            }
            Op::Memory(_)
            | Op::Dma(_)
            | Op::Sync(_)
            | Op::Sparse(_)
            | Op::Random(_)
            | Op::Mxu(_)
            | Op::Debug(_) => {
                self.append(op.op.clone(), &operands, &[], &self.result_types(op), op.loc)
            }
            Op::Control(control) => self.control(*control, op, operands),
        }
    }

    fn result_types(&self, op: &OpData) -> SmallVec<[Type; 2]> {
        op.results.iter().map(|&v| self.old.ty(v).clone()).collect()
    }

    fn append(
        &mut self,
        op: Op,
        operands: &[Value],
        regions: &[BlockId],
        types: &[Type],
        loc: LocId,
    ) -> SmallVec<[Value; 4]> {
        self.new.append(op, operands, regions, types, loc).into_iter().collect()
    }

    /// Appends a pure op, or finds an equal one. Tiles are shared within a block alone: one that
    /// lives on into a region would be kept in VMEM all along.
    fn pure(
        &mut self,
        op: Op,
        operands: SmallVec<[Value; 4]>,
        types: &[Type],
        loc: LocId,
    ) -> SmallVec<[Value; 4]> {
        let mut hasher = DefaultHasher::new();
        (&op, &operands).hash(&mut hasher);
        let key = hasher.finish();
        let n_scopes = if types.iter().all(Type::is_scalar) { self.scopes.len() } else { 1 };
        let found = self.scopes.iter().rev().take(n_scopes).find_map(|scope| scope.get(&key));
        if let Some(&value) = found
            && let Some(equal) = self.new.kernel().defining_op(value)
            && equal.op == op
            && equal.operands == operands
        {
            return smallvec![value];
        }
        let results = self.append(op, &operands, &[], types, loc);
        if let (Some(scope), [result]) = (self.scopes.last_mut(), &results[..]) {
            scope.insert(key, *result);
        }
        results
    }

    fn constant(&self, value: Value) -> Option<Literal> {
        self.new.kernel().constant(value)
    }

    /// The constant that an op on constants gives.
    fn constant_result(&self, op: Elementwise, operands: &[Value]) -> Option<Literal> {
        let literals: SmallVec<[Literal; 3]> =
            operands.iter().map(|&v| self.constant(v)).collect::<Option<_>>()?;
        let literal = match (op, &literals[..]) {
            (Elementwise::Unary(op), &[x]) => eval_unary(op, x)?,
            (Elementwise::Binary(op), &[x, y]) => eval_binary(op, x, y)?,
            (Elementwise::Compare(op), &[x, y]) => eval_compare(op, x, y)?,
            (Elementwise::Cast(dtype), &[x]) => eval_cast(dtype, x)?,
            (Elementwise::Bitcast(dtype), &[x]) => eval_bitcast(dtype, x)?,
            _ => return None,
        };
        // A NaN has many bit patterns, and which one comes out is not defined.
        let is_nan = literal.as_f32().is_some_and(f32::is_nan);
        (!is_nan).then_some(literal)
    }

    /// The operand that an op passes through.
    fn same_value(&self, op: Elementwise, operands: &[Value]) -> Option<Value> {
        match (op, operands) {
            (Elementwise::Select, &[cond, then, other]) => {
                if then == other {
                    return Some(then);
                }
                let chosen = self.constant(cond)?.as_int()? != 0;
                Some(if chosen { then } else { other })
            }
            (Elementwise::Cast(dtype) | Elementwise::Bitcast(dtype), &[x]) => {
                (self.new.kernel().ty(x).dtype() == dtype).then_some(x)
            }
            _ => None,
        }
    }

    fn control(
        &mut self,
        control: ControlOp,
        op: &OpData,
        operands: SmallVec<[Value; 4]>,
    ) -> SmallVec<[Value; 4]> {
        match (control, &op.regions[..]) {
            (ControlOp::If, &[then, other]) => {
                if let Some(cond) = self.constant(operands[0]).and_then(Literal::as_int) {
                    return self.ops(if cond != 0 { then } else { other });
                }
            }
            (ControlOp::For, &[body]) => {
                if let Some(n_trips) = self.n_trips(&operands)
                    && n_trips <= 1
                {
                    let inits = SmallVec::from_slice(&operands[3..]);
                    if n_trips == 0 {
                        return inits;
                    }
                    let entering = std::iter::once(operands[0]).chain(inits);
                    for (&arg, value) in self.old.block(body).args.iter().zip(entering) {
                        self.values[arg.0 as usize] = Some(value);
                    }
                    return self.ops(body);
                }
            }
            _ => {}
        }
        let regions: SmallVec<[BlockId; 2]> = op.regions.iter().map(|&r| self.region(r)).collect();
        self.append(op.op.clone(), &operands, &regions, &self.result_types(op), op.loc)
    }

    /// How often a `for` with constant bounds runs.
    fn n_trips(&self, operands: &[Value]) -> Option<i64> {
        let bound = |idx: usize| self.constant(*operands.get(idx)?)?.as_int();
        ControlOp::n_trips(bound(0)?, bound(1)?, bound(2)?)
    }
}

fn eval_unary(op: Unary, x: Literal) -> Option<Literal> {
    match (x.as_f32(), x.as_int()) {
        (Some(value), _) => Some(Literal::float(x.dtype(), op.eval_float(value))),
        (None, Some(value)) => Literal::folded_int(x.dtype(), op.eval_int(value)),
        (None, None) => None,
    }
}

fn eval_binary(op: Binary, x: Literal, y: Literal) -> Option<Literal> {
    match (x.as_f32(), y.as_f32(), x.as_int(), y.as_int()) {
        (Some(a), Some(b), ..) => Some(Literal::float(x.dtype(), op.eval_float(a, b))),
        (.., Some(a), Some(b)) => Literal::folded_int(x.dtype(), op.eval_int(a, b)),
        _ => None,
    }
}

fn eval_compare(op: Compare, x: Literal, y: Literal) -> Option<Literal> {
    let holds = match (x.as_f32(), y.as_f32(), x.as_int(), y.as_int()) {
        (Some(a), Some(b), ..) => op.eval(a, b),
        (.., Some(a), Some(b)) => op.eval(a, b),
        _ => return None,
    };
    Some(Literal::int(DType::Bool, i64::from(holds)))
}

fn eval_cast(dtype: DType, x: Literal) -> Option<Literal> {
    if dtype.only_stores() {
        return None;
    }
    match (x.as_f32(), x.as_int(), dtype.int_range()) {
        (Some(value), _, Some((lo, hi))) => Some(Literal::int(dtype, (value as i64).clamp(lo, hi))),
        (Some(value), _, None) if dtype == DType::Bool => {
            Some(Literal::int(dtype, i64::from(value != 0.0)))
        }
        (Some(value), _, None) => Some(Literal::float(dtype, value)),
        (None, Some(value), None) if dtype.is_float() => Some(Literal::float(dtype, value as f32)),
        (None, Some(value), _) => Some(Literal::int(dtype, dtype.cast_int(value))),
        (None, None, _) => None,
    }
}

fn eval_bitcast(dtype: DType, x: Literal) -> Option<Literal> {
    let bits = match (x.as_f32(), x.dtype()) {
        (Some(value), DType::BF16) => u32::from(bf16::from_f32(value).to_bits()),
        (Some(value), DType::F16) => u32::from(f16::from_f32(value).to_bits()),
        (Some(value), _) => value.to_bits(),
        (None, _) => x.as_int()? as u32,
    };
    Some(match dtype {
        DType::BF16 => Literal::float(dtype, bf16::from_bits(bits as u16).to_f32()),
        DType::F16 => Literal::float(dtype, f16::from_bits(bits as u16).to_f32()),
        DType::F32 => Literal::float(dtype, f32::from_bits(bits)),
        DType::F8E4M3FN | DType::F8E5M2 | DType::I4 => return None,
        DType::Bool | DType::I8 | DType::I16 | DType::I32 | DType::U8 | DType::U16 | DType::U32 => {
            Literal::int(dtype, i64::from(bits))
        }
    })
}

/// Takes ops out of their blocks that have no effect and whose results nobody uses.
fn drop_unused(kernel: &mut Kernel) {
    let mut live = Live { kernel, ops: vec![false; kernel.n_ops()], pending: Vec::new() };
    live.effects(kernel.body);
    for window in kernel.params.iter().filter_map(|param| param.window.as_ref()) {
        live.yields(window.index_map);
    }
    live.spread();
    let live = live.ops;
    for block in &mut kernel.blocks {
        block.ops.retain(|op| live[op.0 as usize]);
    }
}

struct Live<'k> {
    kernel: &'k Kernel,
    ops: Vec<bool>,
    pending: Vec<OpId>,
}

impl Live<'_> {
    fn mark(&mut self, id: OpId) {
        if !std::mem::replace(&mut self.ops[id.0 as usize], true) {
            self.pending.push(id);
        }
    }

    /// Marks the ops of a block that have effects, in it and in its regions. Tells if there are any.
    fn effects(&mut self, block: BlockId) -> bool {
        let mut any = false;
        for &id in &self.kernel.block(block).ops {
            let op = self.kernel.op(id);
            let mut inside = false;
            for &region in &op.regions {
                inside |= self.effects(region);
            }
            let has_effect = match &op.op {
                Op::Control(
                    ControlOp::Yield | ControlOp::GridExtent { .. } | ControlOp::DeviceId,
                ) => false,
                // A loop may be there to end late, or never, which is told at run time.
                Op::Control(ControlOp::While) => true,
                Op::Control(ControlOp::For) => inside || !self.surely_ends(op),
                Op::Control(ControlOp::If | ControlOp::Scope) => inside,
                Op::Elementwise(_)
                | Op::Shape(_)
                | Op::Convert(_)
                | Op::Random(_)
                | Op::Mxu(_)
                | Op::Reduce(_)
                | Op::Dot(_)
                | Op::Memory(_)
                | Op::Dma(_)
                | Op::Sync(_)
                | Op::Sparse(_)
                | Op::Debug(_) => op.op.has_effect(),
            };
            if has_effect {
                self.mark(id);
            }
            any |= has_effect;
        }
        any
    }

    fn surely_ends(&self, op: &OpData) -> bool {
        let step = op.operands.get(2).and_then(|&step| self.kernel.constant_int(step));
        step.is_some_and(|step| step > 0)
    }

    /// Marks a block's `yield`.
    fn yields(&mut self, block: BlockId) {
        if let Some(&end) = self.kernel.block(block).ops.last() {
            self.mark(end);
        }
    }

    /// Marks what marked ops need.
    fn spread(&mut self) {
        while let Some(id) = self.pending.pop() {
            let op = self.kernel.op(id);
            for &operand in &op.operands {
                if let ValueDef::Result(def, _) = self.kernel.def(operand) {
                    self.mark(def);
                }
            }
            for &region in &op.regions {
                self.yields(region);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(body: &str) -> String {
        let text = format!("kernel k {{\ngrid i: 4 arbitrary\nbody(%i: i32) {{\n{body}}}\n}}\n");
        let kernel = fold(&Kernel::parse(&text).unwrap());
        let text = format!("{kernel:#}");
        let lines = text.lines().skip(3).map(|line| line.strip_prefix("  ").unwrap_or(line));
        let lines: Vec<&str> = lines.take_while(|line| *line != "}").collect();
        lines.join("\n")
    }

    #[test]
    fn computes_constants() {
        let body = "%0 = const 3 : i32 %1 = const 4 : i32 %2 = mul %0, %1 : i32
            %3 = cast %2 : bf16 %4 = exp2 %3 : bf16 %5 = lt %0, %1 : bool
            print \"x\", %2, %4, %5";
        let expected = "%0 = const 12 : i32\n%1 = const 4096.0 : bf16\n%2 = const true : bool\nprint \"x\", %0, %1, %2";
        assert_eq!(folded(body), expected);
    }

    #[test]
    fn leaves_overflow_to_the_interpreter() {
        let body = "%0 = const 2147483647 : i32 %1 = add %0, %0 : i32 print \"x\", %1";
        assert_eq!(
            folded(body),
            "%0 = const 2147483647 : i32\n%1 = add %0, %0 : i32\nprint \"x\", %1"
        );
    }

    #[test]
    fn merges_equal_ops_and_drops_unused_ones() {
        let body = "%0 = iota axis 0 : i32[8, 128] %1 = iota axis 0 : i32[8, 128]
            %2 = add %0, %1 : i32[8, 128] %3 = neg %2 : i32[8, 128] print \"x\", %2";
        assert_eq!(
            folded(body),
            "%0 = iota axis 0 : i32[8, 128]\n%1 = add %0, %0 : i32[8, 128]\nprint \"x\", %1"
        );
    }

    #[test]
    fn takes_decided_branches_and_single_trips() {
        let body = "%0 = const 0 : i32 %1 = const 5 : i32 %2 = lt %0, %1 : bool
            %3 = if %2 { %4 = add %i, %1 : i32 yield %4 } else { print \"no\", %0 yield %0 } : i32
            %5 = for %0, %1, %1, %3 (%6: i32, %7: i32) { %8 = add %7, %6 : i32 yield %8 } : i32
            %9 = for %1, %0, %1, %5 (%10: i32, %11: i32) { yield %10 } : i32
            print \"x\", %9";
        assert_eq!(
            folded(body),
            "%0 = const 0 : i32\n%1 = const 5 : i32\n%2 = add %i, %1 : i32\n%3 = add %2, %0 : i32\nprint \"x\", %3"
        );
    }

    #[test]
    fn keeps_effects_in_regions() {
        let body = "%0 = const 1 : i32 %1 = eq %i, %0 : bool
            %2 = if %1 { print \"here\", %0 yield %0 } else { yield %i } : i32
            %3 = if %1 { yield %0 } else { yield %i } : i32";
        assert_eq!(
            folded(body),
            "%0 = const 1 : i32\n%1 = eq %i, %0 : bool\n%2 = if %1 {\n  print \"here\", %0\n  yield %0\n} else {\n  yield %i\n} : i32"
        );
    }

    #[test]
    fn keeps_a_chain_of_ten_thousand_ops() {
        let mut text = "kernel k {\nbody {\n%0 = iota axis 0 : i32[8, 128]\n".to_string();
        for idx in 1..10_000 {
            text += &format!("%{idx} = add %{}, %0 : i32[8, 128]\n", idx - 1);
        }
        text += "print \"x\", %9999 }\n}\n";
        let kernel = Kernel::parse(&text).unwrap();
        let folded = fold(&kernel);
        assert_eq!(folded.block(folded.body).ops.len(), 10_001);
    }
}
