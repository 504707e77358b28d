//! Element-wise ops, on tiles and scalars.

use super::super::exec::{Executor, Stop};
use super::super::plan::Inst;
use super::super::pool::Pool;
use super::super::tile::{
    Data, Held, Number, Overflow, Poison, PoisonId, Scalar, Storage, Tile, decode_int, encode_int,
    slice_mut,
};
use crate::diag::{Code, Diagnostic};
use crate::ir::ops::elementwise::elementwise_table;
use crate::ir::ops::{Binary, Compare, Elementwise, Literal, Unary};
use crate::ir::{DType, LocId, f8e4m3fn, f8e5m2};
use half::{bf16, f16};
use smallvec::SmallVec;
use std::sync::Arc;

impl Executor<'_> {
    /// Runs an element-wise op.
    pub(in super::super) fn elementwise(
        &mut self,
        inst: &Inst<'_>,
        op: Elementwise,
    ) -> Result<(), Stop> {
        let Some(&result) = inst.results.first() else { return Ok(()) };
        let ty = self.run.plan.ty(result);
        if ty.is_scalar() {
            let scalar = self.elementwise_scalar(inst, op, ty.dtype())?;
            self.set(inst, Held::Scalar(scalar));
            return Ok(());
        }
        let operand_dtype = match inst.uses.first() {
            Some(used) => self.run.plan.ty(used.value).dtype(),
            None => ty.dtype(),
        };
        match op {
            Elementwise::Constant(_) => {}
            Elementwise::Unary(op) => {
                let operand = self.tile(inst, 0)?;
                let before = self.before_trap(&[&operand], ty.dtype());
                let data = unary(&mut self.pool, op, ty.dtype(), operand.data);
                self.trap(inst, before, &data, &operand.poison)?;
                self.set_tile(inst, data, operand.poison);
            }
            Elementwise::Binary(op) => {
                let (lhs, rhs) = (self.tile(inst, 0)?, self.tile(inst, 1)?);
                let before = self.before_trap(&[&lhs, &rhs], ty.dtype());
                let data = binary(&mut self.pool, op, ty.dtype(), lhs.data, rhs.data);
                let poison = Poison::merge(lhs.poison, rhs.poison);
                self.trap(inst, before, &data, &poison)?;
                self.set_tile(inst, data, poison);
            }
            Elementwise::Compare(op) => {
                let (lhs, rhs) = (self.tile(inst, 0)?, self.tile(inst, 1)?);
                let data = compare(&mut self.pool, op, operand_dtype, &lhs.data, &rhs.data);
                self.pool.give(lhs.data);
                self.pool.give(rhs.data);
                self.set_tile(inst, data, Poison::merge(lhs.poison, rhs.poison));
            }
            Elementwise::Select => self.select(inst)?,
            Elementwise::Cast(to) => {
                let operand = self.tile(inst, 0)?;
                let data = cast(&mut self.pool, operand_dtype, to, operand.data);
                self.set_tile(inst, data, operand.poison);
            }
            Elementwise::Bitcast(to) => {
                let operand = self.tile(inst, 0)?;
                let data = bitcast(&mut self.pool, operand_dtype, to, &operand.data);
                self.pool.give(operand.data);
                self.set_tile(inst, data, operand.poison);
            }
        }
        Ok(())
    }

    fn select(&mut self, inst: &Inst<'_>) -> Result<(), Stop> {
        let cond = inst.uses.first().map(|&used| self.take(used));
        let (then, other) = (self.tile(inst, 1)?, self.tile(inst, 2)?);
        match cond {
            Some(Held::Scalar(cond)) => {
                let mut chosen = if cond.as_int() != 0 { then } else { other };
                if cond.poison != 0 {
                    chosen.poison = Some(Poison::Uniform(cond.poison));
                }
                self.set(inst, Held::Tile(chosen));
            }
            Some(Held::Tile(cond)) => {
                let poison = select_poison(&cond, &then, &other);
                let data = select(&mut self.pool, &cond.data, then.data, other.data);
                self.pool.give(cond.data);
                self.set_tile(inst, data, poison);
            }
            _ => {}
        }
        Ok(())
    }

    fn elementwise_scalar(
        &mut self,
        inst: &Inst<'_>,
        op: Elementwise,
        dtype: DType,
    ) -> Result<Scalar, Stop> {
        if let Elementwise::Constant(literal) = op {
            return Ok(constant(literal));
        }
        let first = self.scalar(inst, 0)?;
        let from = match inst.uses.first() {
            Some(used) => self.run.plan.ty(used.value).dtype(),
            None => dtype,
        };
        Ok(match op {
            Elementwise::Constant(literal) => constant(literal),
            Elementwise::Unary(op) => match first.value {
                Number::Float(x) => {
                    let value = dtype.round_f32(op.eval_float(x));
                    self.trap_scalar(inst, &[x], value)?;
                    Scalar { value: Number::Float(value), ..first }
                }
                Number::Int(_) => wrapped(dtype, |x| op.eval_int(x[0]), &[first], inst.loc, true),
            },
            Elementwise::Binary(op) => {
                let second = self.scalar(inst, 1)?;
                let poison = either(first.poison, second.poison);
                match (first.value, second.value) {
                    (Number::Float(x), Number::Float(y)) => {
                        let value = dtype.round_f32(op.eval_float(x, y));
                        self.trap_scalar(inst, &[x, y], value)?;
                        Scalar { value: Number::Float(value), poison, overflow: None }
                    }
                    (Number::Int(_), Number::Int(_)) => {
                        let eval = |x: &[i64]| op.eval_int(x[0], x[1]);
                        wrapped(dtype, eval, &[first, second], inst.loc, keeps_overflow(op))
                    }
                    (Number::Float(_), Number::Int(_)) | (Number::Int(_), Number::Float(_)) => {
                        first
                    }
                }
            }
            Elementwise::Compare(op) => {
                let second = self.scalar(inst, 1)?;
                let value = match (first.value, second.value) {
                    (Number::Float(x), Number::Float(y)) => op.eval(x, y),
                    _ => op.eval(first.as_int(), second.as_int()),
                };
                let poison = either(first.poison, second.poison);
                Scalar { value: Number::Int(i64::from(value)), poison, overflow: None }
            }
            Elementwise::Select => {
                let (then, other) = (self.scalar(inst, 1)?, self.scalar(inst, 2)?);
                let chosen = if first.as_int() != 0 { then } else { other };
                Scalar { poison: either(first.poison, chosen.poison), ..chosen }
            }
            Elementwise::Cast(to) => Scalar { value: cast_number(to, first.value), ..first },
            Elementwise::Bitcast(to) => {
                let bits = number_bits(from, first.value);
                Scalar { value: number_from_bits(to, bits), ..first }
            }
        })
    }

    /// What the trap for non-finite results must know of the operands; `None` if it is off.
    fn before_trap(&self, operands: &[&Tile], dtype: DType) -> Option<Vec<u8>> {
        if !self.run.options.trap_non_finite || !dtype.is_float() {
            return None;
        }
        let n = operands.first().map_or(0, |operand| operand.data.f32s().len());
        let mut state = vec![0; n];
        for operand in operands {
            for (state, x) in state.iter_mut().zip(operand.data.f32s()) {
                *state |= class(*x);
            }
        }
        Some(state)
    }

    fn trap(
        &mut self,
        inst: &Inst<'_>,
        before: Option<Vec<u8>>,
        data: &Data,
        poison: &Option<Poison>,
    ) -> Result<(), Stop> {
        let Some(before) = before else { return Ok(()) };
        let results = data.f32s();
        let is_new = |&(idx, before): &(usize, u8)| {
            class(results[idx]) & !before != 0 && poison.as_ref().is_none_or(|p| p.get(idx) == 0)
        };
        let bad: Vec<usize> =
            before.into_iter().enumerate().filter(is_new).map(|(idx, _)| idx).collect();
        match bad.first() {
            None => Ok(()),
            Some(&idx) => Err(self.report_non_finite(inst, idx, results[idx], bad.len())),
        }
    }

    /// Reports a result that is NaN or infinite though its operands were not.
    pub(super) fn report_non_finite(
        &mut self,
        inst: &Inst<'_>,
        idx: usize,
        value: f32,
        n: usize,
    ) -> Stop {
        let kernel = self.run.kernel();
        let place = match inst.results.first() {
            Some(&result) if !self.run.plan.ty(result).is_scalar() => {
                let shape = self.run.plan.shape(result);
                let strides = super::super::memory::dense_strides(&shape);
                let at: Vec<usize> =
                    strides.iter().zip(&shape).map(|(stride, size)| idx / stride % size).collect();
                let text = super::super::report::index_text(&at);
                format!(" at {text} of {}", crate::ir::ty::Sizes(&shape))
            }
            _ => String::new(),
        };
        let more = if n > 1 { format!(" and {} more elements", n - 1) } else { String::new() };
        let diagnostic = Diagnostic::error(
            Code::INTERP_NON_FINITE,
            format!(
                "`{}` gives {value}{place}{more} from operands that are not",
                inst.op.mnemonic()
            ),
        )
        .at_opt(kernel.span(inst.loc), "made here");
        self.report(inst.loc, diagnostic)
    }

    fn trap_scalar(&mut self, inst: &Inst<'_>, operands: &[f32], value: f32) -> Result<(), Stop> {
        let before = operands.iter().fold(0, |state, &x| state | class(x));
        if self.run.options.trap_non_finite && class(value) & !before != 0 {
            return Err(self.report_non_finite(inst, 0, value, 1));
        }
        Ok(())
    }
}

/// Bit 0 for NaN, bit 1 for an infinity: a result with a bit that no operand has is where it began.
fn class(x: f32) -> u8 {
    if x.is_nan() {
        1
    } else if x.is_infinite() {
        2
    } else {
        0
    }
}

fn constant(literal: Literal) -> Scalar {
    match (literal.as_f32(), literal.as_int()) {
        (Some(value), _) => Scalar::float(value),
        (None, value) => Scalar::int(value.unwrap_or(0)),
    }
}

fn either(a: PoisonId, b: PoisonId) -> PoisonId {
    if a == 0 { b } else { a }
}

/// Whether an index that has wrapped around stays suspicious after the op. The others are how
/// hashes and random numbers are made, where wrapping is meant.
fn keeps_overflow(op: Binary) -> bool {
    !matches!(op, Binary::Rem | Binary::And | Binary::Or | Binary::Xor | Binary::Shl | Binary::Shr)
}

/// The result of an integer op, wrapped to its type. Where the operands or the result have left
/// 32 bits, the exact value goes along, so that only a value that is wrong at its use is told of.
fn wrapped(
    dtype: DType,
    eval: impl Fn(&[i64]) -> i64,
    operands: &[Scalar],
    loc: LocId,
    keeps: bool,
) -> Scalar {
    let values: SmallVec<[i64; 2]> = operands.iter().map(|scalar| scalar.as_int()).collect();
    let result = eval(&values);
    let value = dtype.wrap_int(result);
    let poison = operands.iter().fold(0, |poison, scalar| either(poison, scalar.poison));
    let first = operands.iter().find_map(|scalar| scalar.overflow);
    let mut overflow = None;
    if keeps && dtype == DType::I32 && (first.is_some() || result != value) {
        let exact_of = |scalar: &Scalar| scalar.overflow.map_or(scalar.as_int(), |o| o.exact);
        let exact = eval(&operands.iter().map(exact_of).collect::<SmallVec<[i64; 2]>>());
        let loc = first.map_or(loc, |overflow| overflow.loc);
        overflow = (exact != value).then_some(Overflow { loc, exact });
    }
    Scalar { value: Number::Int(value), poison, overflow }
}

/// Rounds floats to their type, as after every op.
pub(super) fn round_in_place(dtype: DType, values: &mut [f32]) {
    match dtype {
        DType::BF16 => values.iter_mut().for_each(|x| *x = round_bf16(*x)),
        DType::F16 => values.iter_mut().for_each(|x| *x = f16::from_f32(*x).to_f32()),
        DType::F8E4M3FN | DType::F8E5M2 => {
            values.iter_mut().for_each(|x| *x = dtype.round_f32(*x));
        }
        DType::F32
        | DType::Bool
        | DType::I4
        | DType::I8
        | DType::I16
        | DType::I32
        | DType::U8
        | DType::U16
        | DType::U32 => {}
    }
}

/// The nearest bf16, ties to even: `bf16::from_f32` in a form that vectorises.
#[inline(always)]
pub(super) fn round_bf16(x: f32) -> f32 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7FFF + ((bits >> 16) & 1)) & 0xFFFF_0000;
    let nan = (bits | 0x0040_0000) & 0xFFFF_0000;
    f32::from_bits(if x.is_nan() { nan } else { rounded })
}

macro_rules! integer_loops {
    (
        unary { $(
            $(#[$udoc:meta])* $uvar:ident $uname:ident
            { $(float: |$ufx:ident| $uf:expr,)? $(int: |$uix:ident| $ui:expr,)? $(bool: $ubool:literal,)? }
            $udom:expr, ulp $uulp:literal;
        )* }
        binary { $(
            $(#[$bdoc:meta])* $bvar:ident $bname:ident
            { $(float: |$bfx:ident, $bfy:ident| $bf:expr,)? $(int: |$bix:ident, $biy:ident| $bi:expr,)? $(bool: $bbool:literal,)? }
            $bdom:expr, ulp $bulp:literal;
        )* }
        compare { $(
            $(#[$cdoc:meta])* $cvar:ident $cname:ident |$cx:ident, $cy:ident| $c:expr;
        )* }
    ) => {
        /// Applies a unary op to held integers or truth values, one loop per op.
        fn map_int<T: HeldInt>(op: Unary, dtype: DType, values: &mut [T]) {
            match op { $(Unary::$uvar => {
                let _ = (dtype, &values);
                $(map_each(dtype, values, |$uix: i64| $ui);)?
            })* }
        }

        /// Applies a binary op to held integers or truth values, one loop per op.
        fn zip_int<T: HeldInt>(op: Binary, dtype: DType, lhs: &mut [T], rhs: &[T]) {
            match op { $(Binary::$bvar => {
                let _ = (dtype, &lhs, rhs);
                $(zip_each(dtype, lhs, rhs, |$bix: i64, $biy: i64| $bi);)?
            })* }
        }

        /// Compares by a key, one loop per comparison.
        fn compare_each<T: Copy, K: PartialOrd + Copy>(
            op: Compare,
            lhs: &[T],
            rhs: &[T],
            to: &mut [u8],
            key: impl Fn(T) -> K,
        ) {
            match op { $(Compare::$cvar => {
                for ((to, &x), &y) in to.iter_mut().zip(lhs).zip(rhs) {
                    let ($cx, $cy) = (key(x), key(y));
                    *to = u8::from($c);
                }
            })* }
        }
    };
}
elementwise_table!(integer_loops);

/// How integers and truth values are held.
trait HeldInt: Copy {
    /// The mathematical value.
    fn decode(self, dtype: DType) -> i64;
    /// From a result, wrapped.
    fn encode(dtype: DType, value: i64) -> Self;
}

impl HeldInt for i32 {
    #[inline(always)]
    fn decode(self, dtype: DType) -> i64 {
        decode_int(dtype, self)
    }
    #[inline(always)]
    fn encode(dtype: DType, value: i64) -> i32 {
        encode_int(dtype, value)
    }
}

impl HeldInt for u8 {
    #[inline(always)]
    fn decode(self, _dtype: DType) -> i64 {
        i64::from(self)
    }
    #[inline(always)]
    fn encode(_dtype: DType, value: i64) -> u8 {
        DType::Bool.wrap_int(value) as u8
    }
}

#[inline(always)]
fn map_each<T: HeldInt>(dtype: DType, values: &mut [T], f: impl Fn(i64) -> i64) {
    if dtype == DType::I32 {
        values.iter_mut().for_each(|x| *x = T::encode(DType::I32, f(x.decode(DType::I32))));
    } else {
        values.iter_mut().for_each(|x| *x = T::encode(dtype, f(x.decode(dtype))));
    }
}

#[inline(always)]
fn zip_each<T: HeldInt>(dtype: DType, lhs: &mut [T], rhs: &[T], f: impl Fn(i64, i64) -> i64) {
    let pairs = lhs.iter_mut().zip(rhs);
    if dtype == DType::I32 {
        pairs.for_each(|(x, y)| {
            *x = T::encode(DType::I32, f(x.decode(DType::I32), y.decode(DType::I32)));
        });
    } else {
        pairs.for_each(|(x, y)| *x = T::encode(dtype, f(x.decode(dtype), y.decode(dtype))));
    }
}

fn unary(pool: &mut Pool, op: Unary, dtype: DType, operand: Data) -> Data {
    match operand {
        Data::F32(_) => {
            let mut own = pool.own_f32(operand);
            op.map_f32(slice_mut(&mut own));
            round_in_place(dtype, slice_mut(&mut own));
            Data::F32(own)
        }
        Data::I32(_) => {
            let mut own = pool.own_i32(operand);
            map_int(op, dtype, slice_mut(&mut own));
            Data::I32(own)
        }
        Data::U8(_) => {
            let mut own = pool.own_u8(operand);
            map_int(op, dtype, slice_mut(&mut own));
            Data::U8(own)
        }
    }
}

fn binary(pool: &mut Pool, op: Binary, dtype: DType, lhs: Data, rhs: Data) -> Data {
    match lhs {
        Data::F32(mut lhs) => {
            let Data::F32(mut rhs) = rhs else { return rhs };
            // For a sum the right buffer is as good, and often is the only one free: `acc += x`.
            let commutes = matches!(op, Binary::Add | Binary::Mul);
            if commutes && Arc::get_mut(&mut lhs).is_none() && Arc::get_mut(&mut rhs).is_some() {
                std::mem::swap(&mut lhs, &mut rhs);
            }
            let mut own = pool.own_f32(Data::F32(lhs));
            op.zip_f32(slice_mut(&mut own), &rhs);
            round_in_place(dtype, slice_mut(&mut own));
            pool.give(Data::F32(rhs));
            Data::F32(own)
        }
        Data::I32(_) => {
            let mut own = pool.own_i32(lhs);
            zip_int(op, dtype, slice_mut(&mut own), rhs.i32s());
            pool.give(rhs);
            Data::I32(own)
        }
        Data::U8(_) => {
            let mut own = pool.own_u8(lhs);
            zip_int(op, dtype, slice_mut(&mut own), rhs.u8s());
            pool.give(rhs);
            Data::U8(own)
        }
    }
}

fn compare(pool: &mut Pool, op: Compare, dtype: DType, lhs: &Data, rhs: &Data) -> Data {
    match lhs {
        Data::F32(lhs) => {
            let mut to = pool.u8s(lhs.len());
            compare_each(op, lhs, rhs.f32s(), slice_mut(&mut to), |x| x);
            Data::U8(to)
        }
        Data::I32(lhs) => {
            let mut to = pool.u8s(lhs.len());
            if dtype == DType::U32 {
                compare_each(op, lhs, rhs.i32s(), slice_mut(&mut to), |x| x as u32);
            } else {
                compare_each(op, lhs, rhs.i32s(), slice_mut(&mut to), |x| x);
            }
            Data::U8(to)
        }
        Data::U8(lhs) => {
            let mut to = pool.u8s(lhs.len());
            compare_each(op, lhs, rhs.u8s(), slice_mut(&mut to), |x| x);
            Data::U8(to)
        }
    }
}

fn select(pool: &mut Pool, cond: &Data, then: Data, other: Data) -> Data {
    fn choose<T: Copy>(cond: &[u8], then: &mut [T], other: &[T]) {
        for ((then, &other), &cond) in then.iter_mut().zip(other).zip(cond) {
            *then = if cond != 0 { *then } else { other };
        }
    }
    let cond = cond.u8s();
    match then {
        Data::F32(_) => {
            let mut own = pool.own_f32(then);
            choose(cond, slice_mut(&mut own), other.f32s());
            pool.give(other);
            Data::F32(own)
        }
        Data::I32(_) => {
            let mut own = pool.own_i32(then);
            choose(cond, slice_mut(&mut own), other.i32s());
            pool.give(other);
            Data::I32(own)
        }
        Data::U8(_) => {
            let mut own = pool.own_u8(then);
            choose(cond, slice_mut(&mut own), other.u8s());
            pool.give(other);
            Data::U8(own)
        }
    }
}

fn select_poison(cond: &Tile, then: &Tile, other: &Tile) -> Option<Poison> {
    if cond.poison.is_none() && then.poison.is_none() && other.poison.is_none() {
        return None;
    }
    let get = |poison: &Option<Poison>, idx: usize| poison.as_ref().map_or(0, |p| p.get(idx));
    let ids = cond.data.u8s().iter().enumerate().map(|(idx, &chosen)| {
        let value = if chosen != 0 { &then.poison } else { &other.poison };
        either(get(&cond.poison, idx), get(value, idx))
    });
    Poison::from_ids(ids.collect())
}

/// An element converted by the rules of `cast`.
fn cast_number(to: DType, value: Number) -> Number {
    match (value, Storage::of(to)) {
        (Number::Float(x), Storage::Float) => Number::Float(to.round_f32(x)),
        (Number::Float(x), Storage::Int) => {
            let (lo, hi) = to.int_range().unwrap_or((0, 0));
            Number::Int((x as i64).clamp(lo, hi))
        }
        (Number::Float(x), Storage::Bool) => Number::Int(i64::from(x != 0.0)),
        (Number::Int(x), Storage::Float) => Number::Float(to.round_f32(x as f32)),
        (Number::Int(x), Storage::Int | Storage::Bool) => Number::Int(to.cast_int(x)),
    }
}

fn cast(pool: &mut Pool, from: DType, to: DType, operand: Data) -> Data {
    if from == to {
        return operand;
    }
    if from.is_float() && to.is_float() {
        let widens = to == DType::F32;
        if widens {
            return operand;
        }
        let mut own = pool.own_f32(operand);
        round_in_place(to, slice_mut(&mut own));
        return Data::F32(own);
    }
    let n = data_len(&operand);
    let mut result = pool.data(Storage::of(to), n);
    match (&operand, &mut result) {
        (Data::I32(from_data), Data::F32(to_data)) if from != DType::U32 => {
            let to_data = slice_mut(to_data);
            for (to, &from) in to_data.iter_mut().zip(from_data.iter()) {
                *to = from as f32;
            }
            round_in_place(to, to_data);
        }
        (Data::U8(from_data), Data::F32(to_data)) => {
            for (to, &from) in slice_mut(to_data).iter_mut().zip(from_data.iter()) {
                *to = f32::from(from);
            }
        }
        (Data::F32(from_data), Data::I32(to_data)) => {
            let (lo, hi) = to.int_range().unwrap_or((0, 0));
            for (to, &from) in slice_mut(to_data).iter_mut().zip(from_data.iter()) {
                *to = (from as i64).clamp(lo, hi) as i32;
            }
        }
        (operand, result) => {
            for idx in 0..n {
                result.set_number(to, idx, cast_number(to, operand.number(from, idx)));
            }
        }
    }
    pool.give(operand);
    result
}

fn data_len(data: &Data) -> usize {
    match data {
        Data::F32(buffer) => buffer.len(),
        Data::I32(buffer) => buffer.len(),
        Data::U8(buffer) => buffer.len(),
    }
}

/// The bits of an element in an array of its type.
pub(super) fn number_bits(dtype: DType, value: Number) -> u32 {
    match (value, dtype) {
        (Number::Float(x), DType::BF16) => u32::from(bf16::from_f32(x).to_bits()),
        (Number::Float(x), DType::F16) => u32::from(f16::from_f32(x).to_bits()),
        (Number::Float(x), DType::F8E4M3FN) => u32::from(f8e4m3fn::from_f32(x).to_bits()),
        (Number::Float(x), DType::F8E5M2) => u32::from(f8e5m2::from_f32(x).to_bits()),
        (Number::Float(x), _) => x.to_bits(),
        (Number::Int(x), _) => x as u32,
    }
}

pub(super) fn number_from_bits(dtype: DType, bits: u32) -> Number {
    match dtype {
        DType::BF16 => Number::Float(bf16::from_bits(bits as u16).to_f32()),
        DType::F16 => Number::Float(f16::from_bits(bits as u16).to_f32()),
        DType::F32 => Number::Float(f32::from_bits(bits)),
        DType::F8E4M3FN => Number::Float(f8e4m3fn::from_bits(bits as u8).to_f32()),
        DType::F8E5M2 => Number::Float(f8e5m2::from_bits(bits as u8).to_f32()),
        DType::Bool
        | DType::I4
        | DType::I8
        | DType::I16
        | DType::I32
        | DType::U8
        | DType::U16
        | DType::U32 => Number::Int(dtype.wrap_int(i64::from(bits))),
    }
}

fn bitcast(pool: &mut Pool, from: DType, to: DType, operand: &Data) -> Data {
    let n = data_len(operand);
    let mut result = pool.data(Storage::of(to), n);
    for idx in 0..n {
        let bits = number_bits(from, operand.number(from, idx));
        result.set_number(to, idx, number_from_bits(to, bits));
    }
    result
}
