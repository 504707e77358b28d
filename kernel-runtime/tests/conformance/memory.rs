//! Loads and stores: ranges, strides, dropped axes, dynamic starts, masks, SMEM.

use crate::batch::{Batch, Refs, array};
use crate::shape::{build, unravel};
use crate::sketch::{Sketch, access, dim};
use systole::ir::kernel::Value;
use systole::ir::ops::{Access, Binary, Compare, MemoryOp, ShapeOp};
use systole::ir::ty::MemorySpace;
use systole::ir::{DType, Op};
use systole::run::{Sampler, Tolerance};

const SIZES: [usize; 3] = [4, 16, 256];

pub(crate) fn batches() -> Vec<Batch> {
    let types = [DType::F32, DType::BF16, DType::I32, DType::I8, DType::Bool];
    let mut batches: Vec<Batch> = types.into_iter().map(vmem).collect();
    batches.push(smem());
    batches
}

/// A way to reach a part of memory.
struct Form {
    name: &'static str,
    access: Access,
    /// Values of the dynamic starts.
    starts: Vec<i64>,
    /// Per axis: first element.
    first: [usize; 3],
}

fn forms() -> Vec<Form> {
    let form = |name, dims: [_; 3], starts: &[i64], first| Form {
        name,
        access: access(&dims),
        starts: starts.to_vec(),
        first,
    };
    let whole = |axis: usize| dim(Some(0), SIZES[axis], 1, true);
    vec![
        form("full", [whole(0), whole(1), whole(2)], &[], [0, 0, 0]),
        form(
            "range",
            [dim(Some(1), 2, 1, true), dim(Some(8), 8, 1, true), dim(Some(128), 128, 1, true)],
            &[],
            [1, 8, 128],
        ),
        form("dropped", [dim(Some(2), 1, 1, false), whole(1), whole(2)], &[], [2, 0, 0]),
        form(
            "strided",
            [dim(Some(0), 2, 3, true), dim(Some(1), 5, 3, true), whole(2)],
            &[],
            [0, 1, 0],
        ),
        form(
            "dynamic",
            [dim(None, 2, 1, true), dim(None, 8, 1, true), whole(2)],
            &[1, 5],
            [1, 5, 0],
        ),
        form(
            "dynamic_dropped",
            [dim(None, 1, 1, false), dim(Some(0), 8, 1, true), dim(None, 128, 1, true)],
            &[3, 128],
            [3, 0, 128],
        ),
        form(
            "dynamic_strided",
            [dim(None, 1, 1, false), dim(None, 6, 2, true), whole(2)],
            &[2, 5],
            [2, 5, 0],
        ),
    ]
}

impl Form {
    /// The place in memory of an index of the tile.
    fn place(&self, index: &[usize]) -> [usize; 3] {
        let mut index = index.iter();
        let mut place = self.first;
        for (place, dim) in place.iter_mut().zip(&self.access.dims) {
            if dim.keep {
                *place += dim.stride * index.next().unwrap();
            }
        }
        place
    }

    fn mask(index: &[usize]) -> bool {
        index.iter().sum::<usize>() % 3 != 0
    }
}

fn flat(place: [usize; 3]) -> usize {
    (place[0] * SIZES[1] + place[1]) * SIZES[2] + place[2]
}

/// The mask of a tile, made in the kernel.
fn emit_mask(s: &mut Sketch, shape: &[usize]) -> Value {
    let iota = |s: &mut Sketch, axis| {
        let shape = shape.iter().copied().collect();
        s.shape(ShapeOp::Iota { dtype: DType::I32, shape, axis }, &[])
    };
    let mut sum = iota(s, 0);
    for axis in 1..shape.len() {
        let next = iota(s, axis);
        sum = s.binary(Binary::Add, sum, next);
    }
    let (three, zero) = (s.like(sum, 3.0), s.like(sum, 0.0));
    let rest = s.binary(Binary::Rem, sum, three);
    s.compare(Compare::Ne, rest, zero)
}

fn vmem(dtype: DType) -> Batch {
    let mut batch = Batch::new("memory", format!("memory_{dtype}"));
    let in_memory = if dtype == DType::Bool { DType::I32 } else { dtype };
    let (lo, hi) = if dtype == DType::Bool { (0.0, 2.0) } else { (-9.0, 10.0) };
    let sample = |seed| {
        let values = Sampler::new(seed).uniform(DType::I32, &SIZES, lo, hi).to_f64();
        array(in_memory, &SIZES, &values)
    };
    let (old, new) = (sample(1), sample(2));
    let arrays = Arrays {
        dtype,
        old: (batch.input(old.clone()), old.to_f64()),
        new: (batch.input(new.clone()), new.to_f64()),
    };
    for form in forms() {
        for masked in [false, true] {
            load_case(&mut batch, &arrays, &form, masked);
            store_case(&mut batch, &arrays, &form, masked);
        }
    }
    batch
}

/// What memory holds at first, and what is stored: number of the input and values.
struct Arrays {
    dtype: DType,
    old: (usize, Vec<f64>),
    new: (usize, Vec<f64>),
}

fn suffix(masked: bool) -> &'static str {
    if masked { "_masked" } else { "" }
}

fn load_case(batch: &mut Batch, arrays: &Arrays, form: &Form, masked: bool) {
    let (dtype, shape) = (arrays.dtype, form.access.tile_shape());
    // What a masked load leaves out is undefined, so 1 is put in its place afterwards.
    let expected = build(dtype, &shape, |index| match !masked || Form::mask(index) {
        true => arrays.old.1[flat(form.place(index))],
        false => 1.0,
    });
    let starts: Vec<usize> = form.starts.iter().map(|&start| batch.scalar(start)).collect();
    let scratch = batch.scratch(dtype, &SIZES);
    let (access, old) = (form.access.clone(), arrays.old.0);
    let name = format!("load_{}{}::{dtype}", form.name, suffix(masked));
    batch.case(name, expected, Tolerance::exact(), move |s, refs| {
        fill(s, refs, scratch, old);
        let mut operands = vec![refs.scratch[scratch]];
        operands.extend(starts.iter().map(|&start| refs.scalar(s, start)));
        let mask = masked.then(|| emit_mask(s, &shape));
        operands.extend(mask);
        let tile = s.op(Op::Memory(MemoryOp::Load { access: access.clone(), masked }), &operands);
        let Some(mask) = mask else { return tile };
        let ones = s.like(tile, 1.0);
        s.select(mask, tile, ones)
    });
}

fn store_case(batch: &mut Batch, arrays: &Arrays, form: &Form, masked: bool) {
    let (dtype, shape) = (arrays.dtype, form.access.tile_shape());
    // The tile stored is what `new` holds in its first corner.
    let corner = Form { access: corner(&form.access), first: [0; 3], ..forms().remove(0) };
    let mut values = arrays.old.1.clone();
    visit(&shape, |index| {
        if !masked || Form::mask(index) {
            values[flat(form.place(index))] = arrays.new.1[flat(corner.place(index))];
        }
    });
    let starts: Vec<usize> = form.starts.iter().map(|&start| batch.scalar(start)).collect();
    let scratch = batch.scratch(dtype, &SIZES);
    let (access, old, new) = (form.access.clone(), arrays.old.0, arrays.new.0);
    let name = format!("store_{}{}::{dtype}", form.name, suffix(masked));
    let expected = array(dtype, &SIZES, &values);
    batch.case(name, expected, Tolerance::exact(), move |s, refs| {
        fill(s, refs, scratch, old);
        let tile = s.load_at(refs.inputs[new], corner.access.clone(), &[]);
        let tile = s.cast(tile, dtype);
        let mut operands = vec![refs.scratch[scratch], tile];
        operands.extend(starts.iter().map(|&start| refs.scalar(s, start)));
        operands.extend(masked.then(|| emit_mask(s, &shape)));
        s.push(Op::Memory(MemoryOp::Store { access: access.clone(), masked }), &operands, &[]);
        s.load(refs.scratch[scratch])
    });
}

/// Puts an input into scratch.
fn fill(s: &mut Sketch, refs: &Refs, scratch: usize, input: usize) {
    let memory = refs.scratch[scratch];
    let values = s.load(refs.inputs[input]);
    let dtype = s.ty(memory).dtype();
    let values = s.cast(values, dtype);
    s.store(memory, values);
}

/// The access of the same tile at the start of memory, without strides.
fn corner(from: &Access) -> Access {
    let dims = from.dims.iter().map(|from| dim(Some(0), from.size, 1, from.keep));
    access(&dims.collect::<Vec<_>>())
}

fn visit(sizes: &[usize], mut f: impl FnMut(&[usize])) {
    let n: usize = sizes.iter().product();
    (0..n).for_each(|flat| f(&unravel(flat, sizes)));
}

/// Scalars in SMEM: stored and loaded at places known and not.
fn smem() -> Batch {
    let mut batch = Batch::new("memory", "memory_smem");
    let types = DType::ALL.iter().filter(|dtype| dtype.size_bytes() == 4);
    for &dtype in types {
        for known in [true, false] {
            let scratch = batch.scratch_in(MemorySpace::Smem, dtype, &[4, 5]);
            let place = [batch.scalar(2), batch.scalar(3)];
            let expected = array(dtype, &[8, 128], &[42.0; 1024]);
            let name = format!("smem_{}::{dtype}", if known { "static" } else { "dynamic" });
            batch.case(name, expected, Tolerance::exact(), move |s, refs| {
                let memory = refs.scratch[scratch];
                let (access, starts) = match known {
                    true => {
                        (access(&[dim(Some(2), 1, 1, false), dim(Some(3), 1, 1, false)]), vec![])
                    }
                    false => (
                        access(&[dim(None, 1, 1, false), dim(None, 1, 1, false)]),
                        place.iter().map(|&place| refs.scalar(s, place)).collect(),
                    ),
                };
                let value = s.literal(dtype, 21.0);
                s.store_at(memory, value, access.clone(), &starts);
                let old = s.load_at(memory, access.clone(), &starts);
                let twice = s.binary(Binary::Add, old, old);
                s.store_at(memory, twice, access.clone(), &starts);
                let value = s.load_at(memory, access, &starts);
                s.shape(ShapeOp::Splat([8, 128].into_iter().collect()), &[value])
            });
        }
    }
    batch
}
