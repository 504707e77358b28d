//! Prints the text form.

use super::lex::is_word;
use crate::ir::ops::{
    Access, AccessDim, ControlOp, ConvertOp, DebugOp, Elementwise, Literal, MemoryOp, MxuOp, Op,
    Precision, ShapeOp, Start,
};
use crate::ir::ty::Sizes;
use crate::ir::{
    BlockDim, BlockId, Buffering, DType, Extent, Kernel, LocId, OpData, Param, ParamKind,
    SideEffects, StatedCost, Value, Window,
};
use std::fmt::{self, Write};

/// Prints one kernel.
pub(super) struct Printer<'k> {
    kernel: &'k Kernel,
    /// By location, its number in the text; 0 where it is not printed.
    loc_numbers: Vec<u32>,
    /// By value, its name in the text.
    names: Vec<String>,
    n_numbered: usize,
}

impl<'k> Printer<'k> {
    pub(super) fn new(kernel: &'k Kernel, locations: bool) -> Printer<'k> {
        let loc_numbers = if locations { number_locs(kernel) } else { vec![0; kernel.locs.len()] };
        let names = vec![String::new(); kernel.n_values()];
        Printer { kernel, loc_numbers, names, n_numbered: 0 }
    }

    pub(super) fn print(mut self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kernel = self.kernel;
        write!(f, "kernel {}", Name(&kernel.name))?;
        if kernel.core.is_sparse() {
            write!(f, " core {}", kernel.core.name())?;
        }
        if let Some(limit) = kernel.compile.vmem_limit_bytes {
            write!(f, " vmem_limit {limit}")?;
        }
        match kernel.compile.side_effects {
            SideEffects::None => {}
            effects => write!(f, " side_effects {}", effects.name())?,
        }
        if kernel.compile.unchecked_bounds {
            f.write_str(" unchecked_bounds")?;
        }
        let StatedCost { flops, transcendentals, bytes_accessed } = kernel.compile.cost;
        for (name, stated) in
            [("flops", flops), ("transcendentals", transcendentals), ("bytes", bytes_accessed)]
        {
            if let Some(n) = stated {
                write!(f, " {name} {n}")?;
            }
        }
        f.write_str(" {\n")?;
        for axis in &kernel.mesh {
            writeln!(f, "mesh {}: {}", Name(&axis.name), axis.size)?;
        }
        for axis in &kernel.grid {
            write!(f, "grid {}: ", Name(&axis.name))?;
            match axis.extent {
                Extent::Static(extent) => write!(f, "{extent}")?,
                Extent::Dynamic { operand } => write!(f, "dynamic {operand}")?,
            }
            writeln!(f, " {}", axis.semantics.name())?;
        }
        for param in &kernel.params {
            self.param(f, param)?;
        }
        for scratch in &kernel.scratch {
            write!(f, "scratch {}: {}", Name(&scratch.name), scratch.dtype)?;
            write!(f, "{} {}", Sizes(&scratch.shape), scratch.space)?;
            self.loc(f, scratch.loc)?;
            f.write_char('\n')?;
        }
        for array in &kernel.semaphores {
            write!(f, "semaphores {}: {}{}", Name(&array.name), array.kind, Sizes(&array.shape))?;
            self.loc(f, array.loc)?;
            f.write_char('\n')?;
        }
        f.write_str("body")?;
        let names = kernel.grid.iter().map(|axis| axis.name.as_str());
        let names = names.chain(kernel.params.iter().map(|param| param.name.as_str()));
        let names = names.chain(kernel.scratch.iter().map(|scratch| scratch.name.as_str()));
        let names = names.chain(kernel.semaphores.iter().map(|array| array.name.as_str()));
        self.name_args(kernel.body, names);
        self.region(f, kernel.body, 1)?;
        f.write_str("\n}\n")?;
        self.loc_table(f)
    }

    fn param(&mut self, f: &mut fmt::Formatter<'_>, param: &Param) -> fmt::Result {
        write!(f, "{} {}: {}[", param.kind.name(), Name(&param.name), param.dtype)?;
        for (idx, axis) in param.axes.iter().enumerate() {
            let comma = if idx > 0 { ", " } else { "" };
            write!(f, "{comma}{}: {}", Name(&axis.name), axis.size)?;
        }
        write!(f, "] {}", param.space)?;
        if let Some(space) = param.pinned {
            write!(f, " pinned {space}")?;
        }
        if let Some(window) = &param.window {
            self.window(f, window)?;
        }
        self.loc(f, param.loc)?;
        f.write_char('\n')
    }

    fn window(&mut self, f: &mut fmt::Formatter<'_>, window: &Window) -> fmt::Result {
        f.write_str(" block [")?;
        for (idx, dim) in window.block.iter().enumerate() {
            f.write_str(if idx > 0 { ", " } else { "" })?;
            match dim {
                BlockDim::Blocked(size) => write!(f, "{size}")?,
                BlockDim::Squeezed => f.write_str("squeezed")?,
                BlockDim::Element(size) => write!(f, "element {size}")?,
            }
        }
        f.write_char(']')?;
        match window.buffering {
            Buffering::Single => f.write_str(" single")?,
            Buffering::Double => {}
            Buffering::Multiple(n) => write!(f, " multiple {n}")?,
        }
        if let Some(streams) = window.streams {
            write!(f, " streams {} axis {}", streams.n, streams.axis)?;
        }
        f.write_str(" map")?;
        let kernel = self.kernel;
        let names = kernel.grid.iter().map(|axis| axis.name.as_str());
        let prefetch = kernel.params.iter().filter(|param| param.kind == ParamKind::Prefetch);
        self.name_args(window.index_map, names.chain(prefetch.map(|param| param.name.as_str())));
        self.region(f, window.index_map, 1)
    }

    /// Names the arguments of a block that sees no values from outside, and starts counting anew.
    fn name_args<'a>(&mut self, block: BlockId, names: impl Iterator<Item = &'a str>) {
        self.n_numbered = 0;
        let args = &self.kernel.block(block).args;
        let mut taken: Vec<&str> = Vec::new();
        for (&arg, name) in args.iter().zip(names) {
            if is_word(name) && !taken.contains(&name) {
                taken.push(name);
                self.names[arg.0 as usize] = name.to_string();
            }
        }
    }

    /// Prints a value's definition: names it if it has no name yet.
    fn define(&mut self, f: &mut fmt::Formatter<'_>, value: Value) -> fmt::Result {
        let name = &mut self.names[value.0 as usize];
        if name.is_empty() {
            *name = self.n_numbered.to_string();
            self.n_numbered += 1;
        }
        write!(f, "%{name}")
    }

    /// Prints a use. One without a definition before it is wrong and cannot be parsed.
    pub(super) fn value(&self, f: &mut fmt::Formatter<'_>, value: Value) -> fmt::Result {
        match self.names.get(value.0 as usize) {
            Some(name) if !name.is_empty() => write!(f, "%{name}"),
            _ => write!(f, "%!{}", value.0),
        }
    }

    pub(super) fn values(&self, f: &mut fmt::Formatter<'_>, values: &[Value]) -> fmt::Result {
        for (idx, &value) in values.iter().enumerate() {
            f.write_str(if idx > 0 { ", " } else { " " })?;
            self.value(f, value)?;
        }
        Ok(())
    }

    /// Prints a block's arguments, if any, and its ops in braces.
    fn region(&mut self, f: &mut fmt::Formatter<'_>, block: BlockId, depth: usize) -> fmt::Result {
        let data = self.kernel.block(block);
        for (idx, &arg) in data.args.iter().enumerate() {
            f.write_str(if idx > 0 { ", " } else { "(" })?;
            self.define(f, arg)?;
            write!(f, ": {}", self.kernel.ty(arg))?;
        }
        f.write_str(if data.args.is_empty() { " {\n" } else { ") {\n" })?;
        for &id in &data.ops {
            write!(f, "{:1$}", "", depth * 2)?;
            self.op(f, self.kernel.op(id), depth)?;
            f.write_char('\n')?;
        }
        write!(f, "{:1$}}}", "", (depth - 1) * 2)
    }

    fn op(&mut self, f: &mut fmt::Formatter<'_>, op: &OpData, depth: usize) -> fmt::Result {
        for (idx, &result) in op.results.iter().enumerate() {
            f.write_str(if idx > 0 { ", " } else { "" })?;
            self.define(f, result)?;
        }
        f.write_str(if op.results.is_empty() { "" } else { " = " })?;
        f.write_str(op.op.mnemonic())?;
        self.operands(f, op)?;
        for (idx, &region) in op.regions.iter().enumerate() {
            if idx > 0 {
                write!(f, " {}", region_separator(&op.op))?;
            }
            if !self.kernel.block(region).args.is_empty() {
                f.write_char(' ')?;
            }
            self.region(f, region, depth + 1)?;
        }
        for (idx, &result) in op.results.iter().enumerate() {
            f.write_str(if idx > 0 { ", " } else { " : " })?;
            write!(f, "{}", self.kernel.ty(result))?;
        }
        self.loc(f, op.loc)
    }

    /// Prints the operands and attributes. What the result types say already is left to them.
    fn operands(&self, f: &mut fmt::Formatter<'_>, op: &OpData) -> fmt::Result {
        match &op.op {
            Op::Elementwise(Elementwise::Constant(literal)) => {
                write!(f, " {}", LiteralText(*literal))
            }
            Op::Control(ControlOp::GridExtent { axis }) => write!(f, " {axis}"),
            Op::Elementwise(_) | Op::Control(_) => self.values(f, &op.operands),
            Op::Shape(shape_op) => self.shape_operands(f, shape_op, op),
            Op::Reduce(reduce) => {
                self.values(f, &op.operands)?;
                write!(f, " axis {}", reduce.axis)
            }
            Op::Dot(dot) => {
                self.values(f, &op.operands)?;
                f.write_str(if dot.transpose_lhs { " transpose_lhs" } else { "" })?;
                f.write_str(if dot.transpose_rhs { " transpose_rhs" } else { "" })?;
                if dot.precision != Precision::default() {
                    write!(f, " {}", dot.precision.name())?;
                }
                Ok(())
            }
            Op::Mxu(mxu) => {
                self.values(f, &op.operands)?;
                write!(f, " unit {}", mxu.unit())?;
                match mxu {
                    MxuOp::PushRhs { register, transpose, .. } => {
                        write!(f, " register {register}")?;
                        f.write_str(if *transpose { " transpose_rhs" } else { "" })
                    }
                    MxuOp::AccLhs { row, load: Some(register), .. } => {
                        write!(f, " row {row} load {register}")
                    }
                    MxuOp::AccLhs { row, load: None, .. } | MxuOp::Pop { row, .. } => {
                        write!(f, " row {row}")
                    }
                }
            }
            Op::Memory(memory) => self.memory_operands(f, memory, op),
            Op::Dma(dma) => self.dma_operands(f, dma, op),
            Op::Sync(sync) => self.sync_operands(f, sync, op),
            Op::Sparse(sparse) => self.sparse_operands(f, sparse, op),
            Op::Convert(convert) => {
                self.values(f, &op.operands)?;
                match convert {
                    ConvertOp::BitcastRows { .. } | ConvertOp::StochasticRound { .. } => Ok(()),
                    ConvertOp::Pack { dtype } => write!(f, " as {dtype}"),
                    ConvertOp::Unpack { dtype, index } => write!(f, " as {dtype} index {index}"),
                }
            }
            Op::Random(_) | Op::Debug(DebugOp::ScopeEnd | DebugOp::Delay) => {
                self.values(f, &op.operands)
            }
            Op::Debug(DebugOp::ScopeStart { name }) => write!(f, " {name:?}"),
            Op::Debug(DebugOp::Print { message } | DebugOp::Assert { message }) => {
                write!(f, " {message:?}")?;
                f.write_str(if op.operands.is_empty() { "" } else { "," })?;
                self.values(f, &op.operands)
            }
        }
    }

    fn shape_operands(
        &self,
        f: &mut fmt::Formatter<'_>,
        shape_op: &ShapeOp,
        op: &OpData,
    ) -> fmt::Result {
        self.values(f, &op.operands)?;
        match shape_op {
            ShapeOp::Splat(_) | ShapeOp::Broadcast(_) | ShapeOp::Reshape(_) => Ok(()),
            ShapeOp::Transpose(perm) => write!(f, " perm {}", Sizes(perm)),
            ShapeOp::Concat { axis }
            | ShapeOp::Iota { axis, .. }
            | ShapeOp::Roll { axis, stride: None }
            | ShapeOp::TakeAlongAxis { axis } => write!(f, " axis {axis}"),
            ShapeOp::Roll { axis, stride: Some(stride) } => {
                write!(f, " axis {axis} stride {} along {}", stride.by, stride.axis)
            }
            ShapeOp::Extract => Ok(()),
            ShapeOp::Slice { starts, sizes, strides } => {
                let dims =
                    starts.iter().zip(sizes).zip(strides).map(|((&start, &size), &stride)| {
                        AccessDim { start: Start::Static(start), size, stride, keep: true }
                    });
                let access = Access { dims: dims.collect() };
                self.access(f, &access, op.operands.first().copied(), &[])
            }
        }
    }

    fn memory_operands(
        &self,
        f: &mut fmt::Formatter<'_>,
        memory: &MemoryOp,
        op: &OpData,
    ) -> fmt::Result {
        let n_before_starts = match memory {
            MemoryOp::Load { .. } => 1,
            MemoryOp::Store { .. } => 2,
        };
        let (before, rest) = op.operands.split_at(n_before_starts.min(op.operands.len()));
        let n_starts = memory.access().n_dynamic().min(rest.len());
        let (starts, mask) = rest.split_at(n_starts);
        let (first, others) = before.split_at(before.len().min(1));
        self.values(f, first)?;
        self.access(f, memory.access(), first.first().copied(), starts)?;
        f.write_str(if others.is_empty() { "" } else { "," })?;
        self.values(f, others)?;
        f.write_str(if memory.masked() { " mask" } else { "" })?;
        self.values(f, mask)
    }

    pub(super) fn access(
        &self,
        f: &mut fmt::Formatter<'_>,
        access: &Access,
        of: Option<Value>,
        starts: &[Value],
    ) -> fmt::Result {
        let shape = of.map(|value| self.kernel.ty(value).shape()).unwrap_or_default();
        let mut starts = starts.iter();
        f.write_char('[')?;
        for (axis, dim) in access.dims.iter().enumerate() {
            f.write_str(if axis > 0 { ", " } else { "" })?;
            if shape.get(axis).is_some_and(|&size| *dim == AccessDim::full(size)) {
                f.write_char(':')?;
                continue;
            }
            let is_index = !dim.keep && dim.size == 1 && dim.stride == 1;
            match (is_index, dim.keep) {
                (true, _) => {}
                (false, true) => f.write_str("ds(")?,
                (false, false) => f.write_str("drop(ds(")?,
            }
            match dim.start {
                Start::Static(start) => write!(f, "{start}")?,
                Start::Dynamic { multiple_of } => {
                    f.write_str(if multiple_of == 1 { "" } else { "multiple(" })?;
                    if let Some(&start) = starts.next() {
                        self.value(f, start)?;
                    }
                    if multiple_of != 1 {
                        write!(f, ", {multiple_of})")?;
                    }
                }
            }
            if !is_index {
                write!(f, ", {}", dim.size)?;
                if dim.stride != 1 {
                    write!(f, ", {}", dim.stride)?;
                }
                f.write_str(if dim.keep { ")" } else { "))" })?;
            }
        }
        f.write_char(']')
    }

    fn loc(&self, f: &mut fmt::Formatter<'_>, loc: LocId) -> fmt::Result {
        match self.loc_numbers.get(loc.0 as usize) {
            Some(&number) if number > 0 => write!(f, " loc({number})"),
            _ => Ok(()),
        }
    }

    fn loc_table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (loc, &number) in self.kernel.locs.iter().zip(&self.loc_numbers) {
            if number == 0 {
                continue;
            }
            write!(f, "loc {number} = {:?}:{}:{}", loc.file, loc.line, loc.column)?;
            let outer = loc.inlined_at.and_then(|at| self.loc_numbers.get(at.0 as usize));
            match outer {
                Some(&outer) if (1..number).contains(&outer) => writeln!(f, " in {outer}")?,
                _ => f.write_char('\n')?,
            }
        }
        Ok(())
    }
}

/// The word between two regions of an op.
pub(super) fn region_separator(op: &Op) -> &'static str {
    match op {
        Op::Control(ControlOp::While) => "do",
        _ => "else",
    }
}

/// Numbers the locations that are used, from 1, in table order.
fn number_locs(kernel: &Kernel) -> Vec<u32> {
    let mut used = vec![false; kernel.locs.len()];
    let mut mark = |loc: LocId| {
        if loc != LocId::UNKNOWN
            && let Some(used) = used.get_mut(loc.0 as usize)
        {
            *used = true;
        }
    };
    let maps = kernel.params.iter().filter_map(|param| param.window.as_ref());
    for block in maps.map(|window| window.index_map).chain([kernel.body]) {
        kernel.walk(block, &mut |_, op| mark(op.loc));
    }
    kernel.params.iter().for_each(|param| mark(param.loc));
    kernel.scratch.iter().for_each(|scratch| mark(scratch.loc));
    kernel.semaphores.iter().for_each(|array| mark(array.loc));
    // A location is added after the one it is inlined at, so one pass backwards reaches all.
    for idx in (1..used.len()).rev() {
        if let (true, Some(outer)) = (used[idx], kernel.locs[idx].inlined_at)
            && let Some(used) = used[..idx].get_mut(outer.0 as usize)
        {
            *used = true;
        }
    }
    let mut n_used = 0;
    let mut number = |used: bool| {
        n_used += u32::from(used);
        if used { n_used } else { 0 }
    };
    used.into_iter().enumerate().map(|(idx, used)| number(used && idx > 0)).collect()
}

/// A name: as it is if it is a word, else in quotes.
struct Name<'a>(&'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_word(self.0) { f.write_str(self.0) } else { write!(f, "{:?}", self.0) }
    }
}

/// A literal, so that parsing it with its type gives the same bits.
struct LiteralText(Literal);

impl fmt::Display for LiteralText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.as_int(), self.0.as_f32()) {
            (Some(value), _) if self.0.dtype() == DType::Bool => write!(f, "{}", value != 0),
            (Some(value), _) => write!(f, "{value}"),
            (None, Some(_)) if self.0 == Literal::float(self.0.dtype(), f32::NAN) => {
                f.write_str("nan")
            }
            (None, Some(value)) if value.is_nan() => write!(f, "{:#x}", value.to_bits()),
            (None, Some(value)) => write!(f, "{value:?}"),
            // A literal is a float or an integer.
            (None, None) => f.write_str("nan"),
        }
    }
}
