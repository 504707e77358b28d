//! The StableHLO module around a kernel.

use super::func;
use crate::back::stablehlo::TensorType;
use crate::ir::{DType, Extent, Kernel, ParamKind, Shape};
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

/// The module's text.
pub(super) fn emit(valid: &Valid, bytecode: &[u8]) -> String {
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
    let mut aliases = Vec::new();
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
        operands.extend(std::iter::repeat_n(array, func::n_parts(param)));
    }
    write_module(valid, bytecode, &args, &operands, &outputs, &aliases)
}

/// The number of leading scalar operands that give grid extents.
fn n_dynamic(kernel: &Kernel) -> usize {
    let operands = kernel.grid.iter().filter_map(|axis| match axis.extent {
        Extent::Dynamic { operand } => Some(operand + 1),
        Extent::Static(_) => None,
    });
    operands.max().unwrap_or(0)
}

fn write_module(
    valid: &Valid,
    bytecode: &[u8],
    args: &[Array],
    operands: &[&Array],
    outputs: &[Array],
    aliases: &[(usize, usize)],
) -> String {
    let kernel = valid.kernel();
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
    let attrs = call_attrs(valid, bytecode, operands, outputs, aliases);
    let results = match outputs.len() {
        1 => "%call".to_owned(),
        n => format!("%call:{n}"),
    };
    let _ = writeln!(
        body,
        "    {results} = stablehlo.custom_call @tpu_custom_call({}) {{{attrs}}} : ({}) -> {}",
        list(operands.iter().map(|array| inner(array)).collect()),
        list(operands.iter().map(|array| array.inner_ty()).collect()),
        result_types(&outputs.iter().map(Array::inner_ty).collect::<Vec<_>>()),
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
    format!(
        "module @{} {{\n  func.func public @main({}) -> {} {{\n{body}    return {} : {}\n  }}\n}}\n",
        symbol(&kernel.name),
        list(args.iter().map(|array| format!("{}: {}", array.name, array.ty())).collect()),
        result_types(&output_types),
        list(returned),
        list(output_types.clone()),
    )
}

fn convert(body: &mut String, from: &str, to: &str, from_ty: &str, to_ty: &str) {
    let _ = writeln!(body, "    {to} = stablehlo.convert {from} : ({from_ty}) -> {to_ty}");
}

fn call_attrs(
    valid: &Valid,
    bytecode: &[u8],
    operands: &[&Array],
    outputs: &[Array],
    aliases: &[(usize, usize)],
) -> String {
    let kernel = valid.kernel();
    let config = backend_config(valid, bytecode);
    let mut attrs = format!("backend_config = {}", quoted(&config));
    if kernel.compile.has_side_effects {
        attrs.push_str(", has_side_effect = true");
    }
    let _ = write!(attrs, ", kernel_name = {}", quoted(&kernel.name));
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
fn backend_config(valid: &Valid, bytecode: &[u8]) -> String {
    let cost = valid.cost();
    let mut config = format!(
        "{{\"custom_call_config\": {{\"body\": \"{}\", \"cost_estimate\": {{\"bytes_accessed\": {}, \
         \"flops\": {}, \"transcendentals\": {}}}, \"serialization_format\": 1, \
         \"needs_layout_passes\": true}}",
        STANDARD.encode(bytecode),
        cost.bytes_accessed,
        cost.flops,
        cost.transcendentals,
    );
    if let Some(limit) = vmem_limit(valid) {
        let _ = write!(
            config,
            ", \"scoped_memory_configs\": [{{\"memory_space\": 1, \"offset\": 0, \"size\": {limit}}}]"
        );
    }
    config.push('}');
    config
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
