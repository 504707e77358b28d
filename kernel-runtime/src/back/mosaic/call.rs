//! The StableHLO module around a kernel.

use super::func;
use crate::back::READS_TABLES;
use crate::back::stablehlo::TensorType;
use crate::ir::{
    DType, Extent, Kernel, MemorySpace, Op, Param, ParamKind, SemaphoreKind, Shape, SideEffects,
};
use crate::valid::Valid;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write;

/// An array that goes into or out of the custom call.
struct Array {
    /// Its name in `@main`.
    name: String,
    shape: Shape,
    dtype: DType,
}

impl Array {
    fn ty(&self) -> String {
        TensorType { dtype: self.dtype, shape: &self.shape }.to_string()
    }

    /// Its type inside the call: `bool` is `i32` there.
    fn inner_ty(&self) -> String {
        let inner = if self.dtype == DType::Bool { DType::I32 } else { self.dtype };
        TensorType { dtype: inner, shape: &self.shape }.to_string()
    }

    fn layout(&self) -> String {
        let n = self.shape.len();
        let order: Vec<String> = (0..n).rev().map(|axis| axis.to_string()).collect();
        // A dense attribute without elements has no brackets.
        let order = if n == 0 { String::new() } else { format!("[{}]", order.join(", ")) };
        format!("dense<{order}> : tensor<{n}xindex>")
    }
}

/// The text of a module whose `main` is the call.
pub(super) fn emit(valid: &Valid, bytecode: &[u8]) -> String {
    let function = emit_function(valid, bytecode, "public @main");
    format!("module @{} {{\n{function}}}\n", symbol(&valid.kernel().name))
}

/// The text of a function around the call; `name` with its visibility.
pub(super) fn emit_function(valid: &Valid, bytecode: &[u8], name: &str) -> String {
    let kernel = valid.kernel();
    let (mut args, mut outputs) = (Vec::new(), Vec::new());
    for idx in 0..n_dynamic(kernel) {
        args.push(Array { name: format!("%bound{idx}"), shape: Shape::new(), dtype: DType::I32 });
    }
    let n_bounds = args.len();
    for (idx, param) in kernel.params.iter().enumerate() {
        let array = |name: String| Array { name, shape: param.array_shape(), dtype: param.dtype };
        if param.kind.is_input() {
            args.push(array(format!("%arg{idx}")));
        }
        if param.kind.is_output() {
            outputs.push(array(format!("%out{idx}")));
        }
    }
    // Operands: bounds, prefetch tables, then inputs, a streamed one once per part.
    let mut operands: Vec<&Array> = args[..n_bounds].iter().collect();
    let (mut aliases, mut pins) = (Vec::new(), Pins::default());
    let inputs = |prefetch: bool| {
        let params = kernel.params.iter().filter(|param| param.kind.is_input());
        params
            .zip(&args[n_bounds..])
            .filter(move |(param, _)| (param.kind == ParamKind::Prefetch) == prefetch)
    };
    operands.extend(inputs(true).map(|(_, array)| array));
    for (param, array) in inputs(false) {
        if param.kind == ParamKind::InOut {
            let output = kernel.params.iter().filter(|other| other.kind.is_output());
            let output = output.take_while(|other| !std::ptr::eq(*other, param)).count();
            aliases.push((output, operands.len()));
        }
        for _ in 0..func::n_parts(param) {
            pins.inputs.extend(color(param).map(|color| (operands.len(), color)));
            operands.push(array);
        }
    }
    let written = kernel.params.iter().filter(|param| param.kind.is_output());
    pins.outputs =
        written.enumerate().filter_map(|(idx, param)| Some((idx, color(param)?))).collect();
    let call = Call {
        args: &args,
        operands: &operands,
        outputs: &outputs,
        aliases: &aliases,
        pins: &pins,
    };
    write_function(valid, bytecode, name, &call)
}

/// What goes in and out.
struct Call<'a> {
    args: &'a [Array],
    operands: &'a [&'a Array],
    outputs: &'a [Array],
    aliases: &'a [(usize, usize)],
    pins: &'a Pins,
}

/// Operands and results whose arrays are pinned to a memory, by number, with its color.
#[derive(Default)]
struct Pins {
    inputs: Vec<(usize, u8)>,
    outputs: Vec<(usize, u8)>,
}

/// XLA's number of the memory that a parameter's array is pinned to.
fn color(param: &Param) -> Option<u8> {
    match param.pinned? {
        MemorySpace::Hbm | MemorySpace::Any => Some(0),
        MemorySpace::Vmem => Some(1),
        MemorySpace::Smem => Some(4),
        // Scratch alone lives there.
        MemorySpace::Spmem => None,
    }
}

/// The number of leading scalar operands that give grid extents.
fn n_dynamic(kernel: &Kernel) -> usize {
    let operands = kernel.grid.iter().filter_map(|axis| match axis.extent {
        Extent::Dynamic { operand } => Some(operand + 1),
        Extent::Static(_) => None,
    });
    operands.max().unwrap_or(0)
}

fn write_function(valid: &Valid, bytecode: &[u8], name: &str, call: &Call<'_>) -> String {
    let Call { args, operands, outputs, .. } = *call;
    let mut body = String::new();
    for array in args.iter().filter(|array| array.dtype == DType::Bool) {
        convert(
            &mut body,
            &array.name,
            &format!("{}_inner", array.name),
            &array.ty(),
            &array.inner_ty(),
        );
    }
    let inner = |array: &Array| match array.dtype {
        DType::Bool => format!("{}_inner", array.name),
        _ => array.name.clone(),
    };
    let list = |texts: Vec<String>| texts.join(", ");
    let attrs = call_attrs(valid, bytecode, call);
    let results = match outputs.len() {
        1 => "%call".to_owned(),
        n => format!("%call:{n}"),
    };
    // By its location XLA calls the kernel in profiles, traces and estimates.
    let _ = writeln!(
        body,
        "    {results} = stablehlo.custom_call @tpu_custom_call({}) {{{attrs}}} : ({}) -> {} loc({})",
        list(operands.iter().map(|array| inner(array)).collect()),
        list(operands.iter().map(|array| array.inner_ty()).collect()),
        result_types(&outputs.iter().map(Array::inner_ty).collect::<Vec<_>>()),
        quoted(&valid.kernel().name),
    );
    let mut returned = Vec::new();
    for (idx, array) in outputs.iter().enumerate() {
        let result = if outputs.len() == 1 { "%call".to_owned() } else { format!("%call#{idx}") };
        if array.dtype == DType::Bool {
            convert(&mut body, &result, &array.name, &array.inner_ty(), &array.ty());
            returned.push(array.name.clone());
        } else {
            returned.push(result);
        }
    }
    let output_types: Vec<String> = outputs.iter().map(Array::ty).collect();
    let kernel = valid.kernel();
    let mark = match crate::pass::is_pinnable(kernel) || crate::pass::is_steered(kernel) {
        true => format!("    {READS_TABLES}\n"),
        false => String::new(),
    };
    format!(
        "  func.func {name}({}) -> {} {{\n{mark}{body}    return {} : {}\n  }}\n",
        list(args.iter().map(|array| format!("{}: {}", array.name, array.ty())).collect()),
        result_types(&output_types),
        list(returned),
        list(output_types.clone()),
    )
}

fn convert(body: &mut String, from: &str, to: &str, from_ty: &str, to_ty: &str) {
    let _ = writeln!(body, "    {to} = stablehlo.convert {from} : ({from_ty}) -> {to_ty}");
}

fn call_attrs(valid: &Valid, bytecode: &[u8], call: &Call<'_>) -> String {
    let Call { operands, outputs, aliases, .. } = *call;
    let kernel = valid.kernel();
    let config = backend_config(valid, bytecode, call);
    let mut attrs = format!("backend_config = {}", quoted(&config));
    if kernel.compile.side_effects != SideEffects::None {
        attrs.push_str(", has_side_effect = true");
    }
    let _ = write!(attrs, ", kernel_name = {}", quoted(&kernel.name));
    if kernel.compile.side_effects == SideEffects::Dataflow {
        attrs.push_str(", mhlo.frontend_attributes = {xla_allow_dce_side_effecting_op = \"true\"}");
    }
    let layouts = |arrays: &mut dyn Iterator<Item = String>| arrays.collect::<Vec<_>>().join(", ");
    let _ = write!(
        attrs,
        ", operand_layouts = [{}]",
        layouts(&mut operands.iter().map(|array| array.layout()))
    );
    if !aliases.is_empty() {
        let aliases: Vec<String> = aliases
            .iter()
            .map(|(output, operand)| {
                let indices = if outputs.len() == 1 { String::new() } else { output.to_string() };
                format!(
                    "#stablehlo.output_operand_alias<output_tuple_indices = [{indices}], \
                     operand_index = {operand}, operand_tuple_indices = []>"
                )
            })
            .collect();
        let _ = write!(attrs, ", output_operand_aliases = [{}]", aliases.join(", "));
    }
    let _ =
        write!(attrs, ", result_layouts = [{}]", layouts(&mut outputs.iter().map(Array::layout)));
    attrs
}

/// The custom call's configuration. libtpu refuses keys it does not know, so only what is needed
/// stands there.
fn backend_config(valid: &Valid, bytecode: &[u8], call: &Call<'_>) -> String {
    let cost = valid.cost();
    // SparseCore kernels are written in registers, which layout passes do not take.
    let is_sparse = valid.kernel().core.is_sparse();
    let layout_passes = if is_sparse { "" } else { ", \"needs_layout_passes\": true" };
    let unchecked = match valid.kernel().compile.unchecked_bounds {
        true => ", \"disable_bounds_checks\": true",
        false => "",
    };
    let mut config = format!(
        "{{\"custom_call_config\": {{\"body\": \"{}\"{}, \"cost_estimate\": {{\"bytes_accessed\": {}, \
         \"flops\": {}, \"transcendentals\": {}}}{unchecked}, \"serialization_format\": 1{layout_passes}{}}}",
        STANDARD.encode(bytecode),
        communication(valid.kernel()),
        cost.bytes_accessed,
        cost.flops,
        cost.transcendentals,
        memory_colors(call),
    );
    if is_sparse {
        sparse_config(valid.kernel(), &mut config);
    } else if let Some(limit) = vmem_limit(valid) {
        let _ = write!(
            config,
            ", \"scoped_memory_configs\": [{{\"memory_space\": 1, \"offset\": 0, \"size\": {limit}}}]"
        );
    }
    config.push('}');
    config
}

/// What the configuration of a SparseCore kernel has beside: its device, how its arrays are laid
/// out, and the core that it runs on if it is one.
fn sparse_config(kernel: &Kernel, config: &mut String) {
    config.push_str(
        ", \"sparse_core_config\": {\"tiling\": \"TILING_SPARSE_CORE\"}, \
         \"device_type\": \"DEVICE_TYPE_SPARSECORE\"",
    );
    let is_single = kernel.grid.first().is_some_and(|axis| axis.extent == Extent::Static(1));
    if is_single {
        config.push_str(", \"megachip_parallelism_config\": {\"cores\": [\"0\"]}");
    }
}

/// The entries of the configuration that tell of other devices.
fn communication(kernel: &Kernel) -> String {
    let mut talks = false;
    kernel.walk(kernel.body, &mut |_, op| {
        talks |= match &op.op {
            Op::Dma(dma) => dma.peer().device,
            Op::Sync(sync) => sync.peer().device,
            _ => false,
        };
    });
    let has_barrier = kernel.semaphores.iter().any(|array| array.kind == SemaphoreKind::Barrier);
    let mut entries = String::new();
    if talks || has_barrier {
        entries.push_str(", \"has_communication\": true");
    }
    if has_barrier {
        let _ = write!(entries, ", \"collective_id\": {}", collective_id(kernel));
    }
    entries
}

/// Numbers of collectives: as many barrier semaphores there are.
const N_COLLECTIVES: u64 = 32;

/// The number of the kernel's barrier semaphore among all collectives. Kernels that differ have
/// different ones, as far as there are enough, since a device may be in the next kernel already
/// while another is still in this one; and all devices agree, whatever else they have compiled.
fn collective_id(kernel: &Kernel) -> u64 {
    let text = kernel.to_string();
    // Without places: moving a kernel in its file changes nothing.
    let body = text.split("\nloc 1 =").next().unwrap_or_default();
    let hash = body.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    (hash ^ (hash >> 32)) % N_COLLECTIVES
}

/// The entries of the configuration that pin arrays to memories.
fn memory_colors(call: &Call<'_>) -> String {
    let mut entries = String::new();
    let list = |items: Vec<String>| items.join(", ");
    if !call.pins.inputs.is_empty() {
        let inputs = call.pins.inputs.iter();
        let inputs = inputs.map(|(operand, color)| {
            format!("{{\"operand_index\": {operand}, \"color\": {color}}}")
        });
        let _ = write!(entries, ", \"input_memory_space_colors\": [{}]", list(inputs.collect()));
    }
    if !call.pins.outputs.is_empty() {
        let outputs = call.pins.outputs.iter().map(|(idx, color)| match call.outputs.len() {
            1 => format!("{{\"color\": {color}}}"),
            _ => format!("{{\"color\": {color}, \"shape_index\": [{idx}]}}"),
        });
        let _ = write!(entries, ", \"output_memory_space_colors\": [{}]", list(outputs.collect()));
    }
    entries
}

/// The scoped VMEM limit to ask for: the kernel's own, or what its buffers and values may need if
/// that is more than the chip's default. A needless request would take VMEM from XLA.
fn vmem_limit(valid: &Valid) -> Option<u64> {
    let own = valid.kernel().compile.vmem_limit_bytes;
    let chip = valid.target().chip?;
    let estimate = valid.vmem_estimate();
    // The compiler spills, and keeps scratch of its own.
    let wanted = estimate.total_bytes() + 2 * estimate.peak_value_bytes + (1 << 20);
    let more = (wanted > chip.vmem_default_limit_bytes)
        .then(|| (wanted + wanted / 2).min(chip.vmem_max_limit_bytes));
    own.or(more)
}

/// A string attribute in MLIR's text.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\22"),
            '\\' => quoted.push_str("\\5C"),
            c if c.is_ascii_control() => {
                let _ = write!(quoted, "\\{:02X}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A name as MLIR writes symbols without quotes.
fn symbol(name: &str) -> String {
    let mut symbol: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if symbol.starts_with(|c: char| c.is_ascii_digit()) || symbol.is_empty() {
        symbol.insert(0, '_');
    }
    symbol
}

fn result_types(types: &[String]) -> String {
    match types {
        [ty] => ty.clone(),
        _ => format!("({})", types.join(", ")),
    }
}
