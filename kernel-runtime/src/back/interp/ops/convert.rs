//! Conversions across rows and words, and rounding by chance.

use super::super::exec::{Executor, Stop};
use super::super::plan::Inst;
use super::super::tile::{Data, Held, Poison, PoisonId, Storage, Tile, encode_int, slice_mut};
use super::elementwise::{number_bits, number_from_bits, round_bf16};
use crate::ir::DType;
use crate::ir::ops::ConvertOp;

impl Executor<'_> {
    /// Runs a conversion.
    pub(in super::super) fn convert(&mut self, inst: &Inst<'_>, op: ConvertOp) -> Result<(), Stop> {
        match op {
            ConvertOp::BitcastRows { dtype } => self.bitcast_rows(inst, dtype),
            ConvertOp::Pack { dtype } => self.pack(inst, dtype),
            ConvertOp::Unpack { dtype, index } => self.unpack(inst, dtype, index),
            ConvertOp::StochasticRound { .. } => self.stochastic_round(inst),
        }
    }

    fn bitcast_rows(&mut self, inst: &Inst<'_>, to: DType) -> Result<(), Stop> {
        let Some(used) = inst.uses.first() else { return Ok(()) };
        let ty = self.run.plan.ty(used.value);
        let (from, shape) = (ty.dtype(), ty.shape());
        let columns = shape.last().copied().unwrap_or(1).max(1);
        let tile = self.tile(inst, 0)?;
        let n_from: usize = shape.iter().product();
        let bytes = n_from * from.size_bytes();
        let n_to = bytes / to.size_bytes();
        let mut data = self.pool.data(Storage::of(to), n_to);
        let mut ids: Option<Vec<PoisonId>> = tile.poison.as_ref().map(|_| vec![0; n_to]);
        // Of each column, the bytes of its rows follow each other, lowest first.
        let bits = |idx: usize| number_bits(from, tile.data.number(from, idx)) & mask(from);
        let (from_bytes, to_bytes) = (from.size_bytes(), to.size_bytes());
        for idx in 0..n_to {
            let (row, column) = (idx / columns, idx % columns);
            let mut word = 0;
            let start = row * to_bytes;
            let sources = (start / from_bytes)..=(start + to_bytes - 1) / from_bytes;
            for (nth, source) in sources.enumerate() {
                let source_idx = source * columns + column;
                let piece = bits(source_idx);
                word |= if to_bytes < from_bytes {
                    piece >> (8 * (start % from_bytes))
                } else {
                    piece << (8 * from_bytes * nth)
                };
                if let (Some(ids), Some(poison)) = (&mut ids, &tile.poison)
                    && ids[idx] == 0
                {
                    ids[idx] = poison.get(source_idx);
                }
            }
            data.set_number(to, idx, number_from_bits(to, word & mask(to)));
        }
        self.pool.give(tile.data);
        self.set_tile(inst, data, ids.and_then(Poison::from_ids));
        Ok(())
    }

    fn pack(&mut self, inst: &Inst<'_>, dtype: DType) -> Result<(), Stop> {
        let n_bits = 8 * dtype.size_bytes();
        let first = self.tile(inst, 0)?;
        let n = len(&first.data);
        let mut words = self.pool.i32s(n);
        let mut poison = None;
        let mut parts = vec![first];
        for idx in 1..inst.uses.len() {
            parts.push(self.tile(inst, idx)?);
        }
        let to = slice_mut(&mut words);
        to.fill(0);
        for (part, tile) in parts.into_iter().enumerate() {
            for (word, idx) in to.iter_mut().zip(0..) {
                let bits = match &tile.data {
                    Data::F32(values) => round_bf16(values[idx]).to_bits() >> 16,
                    Data::I32(values) => values[idx].cast_unsigned() & mask(dtype),
                    Data::U8(_) => 0,
                };
                *word |= (bits << (part * n_bits)).cast_signed();
            }
            poison = Poison::merge(poison, tile.poison);
            self.pool.give(tile.data);
        }
        self.set(inst, Held::Tile(Tile { data: Data::I32(words), poison }));
        Ok(())
    }

    fn unpack(&mut self, inst: &Inst<'_>, dtype: DType, index: usize) -> Result<(), Stop> {
        let tile = self.tile(inst, 0)?;
        let shift = 8 * dtype.size_bytes() * index;
        let part = |word: &i32| (word.cast_unsigned() >> shift) & mask(dtype);
        let words = tile.data.i32s();
        let data = if dtype.is_float() {
            let mut to = self.pool.f32s(words.len());
            for (to, word) in slice_mut(&mut to).iter_mut().zip(words) {
                *to = f32::from_bits(part(word) << 16);
            }
            Data::F32(to)
        } else {
            let mut to = self.pool.i32s(words.len());
            for (to, word) in slice_mut(&mut to).iter_mut().zip(words) {
                *to = encode_int(dtype, i64::from(part(word)));
            }
            Data::I32(to)
        };
        self.pool.give(tile.data);
        self.set_tile(inst, data, tile.poison);
        Ok(())
    }

    fn stochastic_round(&mut self, inst: &Inst<'_>) -> Result<(), Stop> {
        let (values, random) = (self.tile(inst, 0)?, self.tile(inst, 1)?);
        let mut to = self.pool.own_f32(values.data);
        for (value, bits) in slice_mut(&mut to).iter_mut().zip(random.data.i32s()) {
            if value.is_finite() {
                let raised = value.to_bits().wrapping_add(bits.cast_unsigned() & 0xFFFF);
                *value = f32::from_bits(raised & 0xFFFF_0000);
            } else {
                *value = round_bf16(*value);
            }
        }
        self.pool.give(random.data);
        self.set_tile(inst, Data::F32(to), Poison::merge(values.poison, random.poison));
        Ok(())
    }
}

fn len(data: &Data) -> usize {
    match data {
        Data::F32(values) => values.len(),
        Data::I32(values) => values.len(),
        Data::U8(values) => values.len(),
    }
}

/// The bits of an element of this type.
fn mask(dtype: DType) -> u32 {
    u32::MAX >> (32 - 8 * dtype.size_bytes())
}
