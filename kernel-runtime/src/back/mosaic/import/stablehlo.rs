//! `tpu_custom_call`s in the text of a StableHLO module: the kernel, its operands and results.
//!
//! Only the calls and the mesh of devices are read. The text is cut into words and strings, since
//! ops of other dialects have forms of their own.

use super::read::ast::{Attr, Attrs, Type, find};
use super::read::{Cursor, Fault, ValueReader};
use super::{ArrayType, Call, array, syntax_error};
use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use crate::ir::{MeshAxis, SideEffects};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use std::rc::Rc;
use std::sync::Arc;

/// The op around a kernel.
const OP: &str = "stablehlo.custom_call";
/// What it calls if it is one.
const TARGET: &str = "tpu_custom_call";
/// The op that names the devices that run the module.
const MESH: &str = "sdy.mesh";
/// How many they are, in modules without that op.
const N_PARTITIONS: &str = "mhlo.num_partitions";

/// Whether a text is a StableHLO module and no kernel's own.
pub(super) fn is_stablehlo(text: &[u8]) -> bool {
    let has = |word: &str| text.windows(word.len()).any(|part| part == word.as_bytes());
    has("stablehlo.") && !has("\"stable_mosaic.")
}

/// Every call of a kernel in the module.
pub(super) fn calls(file: &str, text: &[u8]) -> Result<Vec<Call>, Diagnostics> {
    let file: Arc<str> = Arc::from(file);
    let mut scan =
        Scan { reader: ValueReader::new(text), calls: Vec::new(), mesh: Vec::new(), n_devices: 1 };
    scan.scan().map_err(|fault| syntax_error(&file, text, &fault))?;
    let mesh = scan.mesh();
    let mut calls = Vec::new();
    let mut mistakes = Diagnostics::default();
    for (idx, found) in scan.calls.iter().enumerate() {
        match call(&file, idx, found) {
            Ok(call) => calls.push(Call { mesh: mesh.clone(), ..call }),
            Err(mistake) => {
                let (line, column) = super::line_and_column(text, found.at);
                let span = Span { file: file.clone(), line, column };
                mistakes.push(mistake.at(span, "in this call"));
            }
        }
    }
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    if calls.is_empty() {
        let message = format!("`{file}` has no `{TARGET}`");
        return Err(Diagnostic::error(Code::IMPORT_CALL, message)
            .help("lower the program for a TPU: on other platforms there are no Mosaic kernels")
            .into());
    }
    Ok(calls)
}

/// A call as the text has it.
struct Found {
    at: usize,
    attrs: Attrs,
    operands: Vec<Rc<Type>>,
    results: Vec<Rc<Type>>,
}

struct Scan<'t> {
    reader: ValueReader<'t>,
    calls: Vec<Found>,
    /// The axes of the module's mesh.
    mesh: Vec<MeshAxis>,
    /// The number of partitions.
    n_devices: usize,
}

impl<'t> Scan<'t> {
    fn cursor(&mut self) -> &mut Cursor<'t> {
        &mut self.reader.cursor
    }

    fn scan(&mut self) -> Result<(), Fault> {
        while let Some(byte) = self.cursor().peek() {
            let at = self.cursor().pos();
            if byte == b'"' {
                let is_op = self.cursor().string()? == OP.as_bytes();
                if is_op && self.cursor().peek() == Some(b'(') {
                    self.call(at, true)?;
                }
                continue;
            }
            match self.cursor().word() {
                Some(OP) => self.call(at, false)?,
                Some(MESH) => self.mesh_op()?,
                Some(N_PARTITIONS) => {
                    self.cursor().expect("=")?;
                    self.n_devices = self.size()?;
                }
                Some(_) => {}
                None => self.cursor().advance(1),
            }
        }
        Ok(())
    }

    /// A number of devices.
    fn size(&mut self) -> Result<usize, Fault> {
        match self.cursor().digits()?.map(usize::try_from) {
            Some(Ok(size)) => Ok(size),
            _ => self.cursor().expected("a number of devices"),
        }
    }

    /// `@mesh = <["x"=4, "y"=2]>`.
    fn mesh_op(&mut self) -> Result<(), Fault> {
        if !matches!(self.reader.attr()?, Attr::Symbol(_)) {
            return self.cursor().expected("the name of a mesh");
        }
        for piece in ["=", "<", "["] {
            self.cursor().expect(piece)?;
        }
        let mut mesh = Vec::new();
        while self.cursor().peek() == Some(b'"') {
            let name = String::from_utf8_lossy(&self.cursor().string()?).into_owned();
            self.cursor().expect("=")?;
            mesh.push(MeshAxis { name, size: self.size()? });
            if !self.cursor().eat(",") {
                break;
            }
        }
        self.cursor().expect("]")?;
        if !mesh.is_empty() && self.cursor().peek() != Some(b'>') {
            return self.cursor().fault("a mesh whose devices are in another order is not read");
        }
        if !self.mesh.is_empty() && !mesh.is_empty() && self.mesh != mesh {
            return self.cursor().fault("a module with two different meshes is not read");
        }
        if !mesh.is_empty() {
            self.mesh = mesh;
        }
        Ok(())
    }

    /// The devices that run the module.
    fn mesh(&self) -> Vec<MeshAxis> {
        match (&self.mesh[..], self.n_devices) {
            ([], 0 | 1) => Vec::new(),
            ([], size) => vec![MeshAxis { name: "partition".to_owned(), size }],
            (axes, _) => axes.to_vec(),
        }
    }

    /// What stands behind the op's name.
    fn call(&mut self, at: usize, is_generic: bool) -> Result<(), Fault> {
        let mut target = None;
        if !is_generic && let Attr::Symbol(name) = self.reader.attr()? {
            target = Some(name);
        }
        self.cursor().skip_blank();
        if self.cursor().byte() != Some(b'(') {
            return self.cursor().expected("`(`");
        }
        self.cursor().balanced()?;
        let mut attrs = Attrs::new();
        if is_generic && self.cursor().eat("<") {
            attrs.extend(self.reader.op_attrs()?);
            self.cursor().expect(">")?;
        }
        if self.cursor().peek() == Some(b'{') {
            attrs.extend(self.reader.op_attrs()?);
        }
        self.cursor().expect(":")?;
        let Type::Function { inputs, results } = self.reader.function_type()? else {
            return self.cursor().expected("the type of a function");
        };
        if target.is_none()
            && let Some(Attr::Str(name)) = find(&attrs, "call_target_name")
        {
            target = Some(Rc::clone(name));
        }
        if target.as_deref() == Some(TARGET) {
            self.calls.push(Found { at, attrs, operands: inputs, results });
        }
        Ok(())
    }
}

fn mistake(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::IMPORT_CALL, message)
}

fn call(file: &Arc<str>, idx: usize, found: &Found) -> Result<Call, Diagnostic> {
    let Some(Attr::Str(config)) = find(&found.attrs, "backend_config") else {
        return Err(mistake("the call has no `backend_config`, which holds the kernel"));
    };
    let config: Json = serde_json::from_str(config)
        .map_err(|error| mistake(format!("`backend_config` is no JSON: {error}")))?;
    let device = config.get("device_type").and_then(Json::as_str);
    let inner = &config["custom_call_config"];
    let Some(body) = inner.get("body").and_then(Json::as_str) else {
        return Err(mistake("`backend_config` has no `custom_call_config.body`"));
    };
    if inner.get("serialization_format").and_then(Json::as_i64) != Some(1) {
        return Err(mistake(
            "the kernel is not in the stable form: `serialization_format` is not 1",
        )
        .help("leave the debugging options off that make the producer write the plain form"));
    }
    let module = STANDARD
        .decode(body)
        .map_err(|error| mistake(format!("the body of the kernel is no base64: {error}")))?;
    let name = match find(&found.attrs, "kernel_name") {
        Some(Attr::Str(name)) if !name.is_empty() => name.to_string(),
        _ => format!("kernel{idx}"),
    };
    let limits = config.get("scoped_memory_configs").and_then(Json::as_array);
    // Space 1 is VMEM.
    let vmem = limits.and_then(|limits| limits.iter().find(|limit| limit["memory_space"] == 1));
    let side_effects = match find(&found.attrs, "has_side_effect") {
        Some(Attr::Int(value, _)) if *value != 0 => {
            let frontend = find(&found.attrs, "mhlo.frontend_attributes");
            let may_be_dropped = matches!(frontend, Some(Attr::Dict(attrs))
                if find(attrs, "xla_allow_dce_side_effecting_op").is_some());
            if may_be_dropped { SideEffects::Dataflow } else { SideEffects::Always }
        }
        _ => SideEffects::None,
    };
    Ok(Call {
        file: Arc::from(format!("{file}, kernel {name}")),
        name,
        module,
        operands: Some(types(&found.operands, "operand")?),
        results: Some(types(&found.results, "result")?),
        aliases: aliases(&found.attrs)?,
        mesh: Vec::new(),
        sparse_core: Some(device == Some("DEVICE_TYPE_SPARSECORE")),
        vmem_limit_bytes: vmem.and_then(|limit| limit["size"].as_u64()),
        unchecked_bounds: inner.get("disable_bounds_checks").and_then(Json::as_bool) == Some(true),
        side_effects,
    })
}

fn types(types: &[Rc<Type>], what: &str) -> Result<Vec<ArrayType>, Diagnostic> {
    let array = |(idx, ty): (usize, &Rc<Type>)| {
        let Type::Tensor { shape, elem } = &**ty else {
            return Err(mistake(format!("{what} {idx} of the call is no tensor")));
        };
        let Some(dtype) = array::dtype_of(elem) else {
            let message =
                format!("{what} {idx} of the call has elements of a type that is not read");
            return Err(Diagnostic::error(Code::IMPORT_UNSUPPORTED, message));
        };
        let shape: Result<Vec<usize>, _> =
            shape.iter().map(|&size| usize::try_from(size)).collect();
        match shape {
            Ok(shape) => Ok(ArrayType { dtype, shape }),
            Err(_) => Err(mistake(format!("{what} {idx} of the call has no static shape"))),
        }
    };
    types.iter().enumerate().map(array).collect()
}

/// Results that share the memory of an operand: result, operand.
fn aliases(attrs: &Attrs) -> Result<Vec<(usize, usize)>, Diagnostic> {
    let list = match find(attrs, "output_operand_aliases") {
        None => return Ok(Vec::new()),
        Some(Attr::Array(list)) => list,
        Some(_) => return Err(mistake("`output_operand_aliases` is no list")),
    };
    let alias = |attr: &Attr| match attr {
        Attr::Other(text) => alias(text),
        _ => None,
    };
    list.iter()
        .map(|attr| alias(attr).ok_or_else(|| mistake("an alias of the call cannot be read")))
        .collect()
}

/// `#stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 0, ..>`; a call of
/// one result has no indices.
fn alias(text: &str) -> Option<(usize, usize)> {
    let (_, rest) = text.split_once("output_tuple_indices")?;
    let (_, rest) = rest.split_once('[')?;
    let (indices, rest) = rest.split_once(']')?;
    let output = match indices.trim() {
        "" => 0,
        idx => idx.parse().ok()?,
    };
    let (_, rest) = rest.split_once("operand_index")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((output, rest[..end].parse().ok()?))
}
