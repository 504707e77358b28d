//! The optimised HLO that PJRT returns: which programs the module runs, and how often.
use super::proto::{Field, fields};
use serde_json::Value;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// An HLO module, as far as the reports need it.
#[derive(Debug, Default)]
pub(crate) struct Module {
    computations: HashMap<u64, Vec<Instruction>>,
    /// The shape message of every instruction, by its id.
    shapes: HashMap<u64, Vec<u8>>,
    entry: u64,
}

/// One HLO instruction.
#[derive(Debug, Default, Clone)]
pub(crate) struct Instruction {
    pub(crate) name: String,
    pub(crate) opcode: String,
    /// The shape message, to compare with others.
    shape: Vec<u8>,
    called: Vec<u64>,
    custom_call_target: String,
    backend_config: String,
    thread: String,
    /// The value of an `s32` constant with one element.
    constant: Option<u64>,
    /// What else says how it computes: see [`ATTRIBUTES`].
    attributes: Vec<(u64, Vec<u8>)>,
    parameter_number: u64,
    id: u64,
    operands: Vec<u64>,
}

/// Fields of an `HloInstructionProto` in which instructions of one opcode and shape compute
/// differently: the kind of fusion, the element of a tuple, dimensions, windows, slices, padding,
/// the dimension numbers of products, gathers and scatters, their groups and precision, and how
/// elements are compared.
const ATTRIBUTES: &[u64] =
    &[11, 13, 14, 15, 16, 17, 20, 21, 30, 32, 33, 34, 48, 50, 51, 58, 63, 67, 69, 72, 75, 90];

impl Module {
    /// Reads an `HloModuleProto`, or an `HloModuleProtoWithConfig`.
    pub(crate) fn parse(format: &str, bytes: &[u8]) -> Option<Self> {
        let message = match format {
            "hlo" => bytes,
            _ => fields(bytes).find(|(number, _)| *number == 1)?.1.bytes(),
        };
        let mut module = Module::default();
        for (number, field) in fields(message) {
            match number {
                3 => {
                    let (id, instructions) = computation(field.bytes());
                    let shapes = instructions.iter().map(|inner| (inner.id, inner.shape.clone()));
                    module.shapes.extend(shapes);
                    module.computations.insert(id, instructions);
                }
                6 => module.entry = field.int(),
                _ => {}
            }
        }
        module.computations.contains_key(&module.entry).then_some(module)
    }

    pub(crate) fn entry(&self) -> u64 {
        self.entry
    }

    pub(crate) fn instructions(&self, computation: u64) -> &[Instruction] {
        self.computations.get(&computation).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Instruction> {
        self.computations.values().flatten()
    }

    /// What an instruction computes, on what shapes in which memories and tiled how: equal for
    /// programs that differ in their names alone, as those of a model's layers do. Of fusions and
    /// kernels alone: other instructions say less about themselves.
    pub(crate) fn signature(&self, instruction: &Instruction) -> Option<u64> {
        if instruction.opcode != "fusion" && !instruction.is_kernel() {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        let shapes = instruction.operands.iter().map(|id| self.shapes.get(id));
        shapes.collect::<Vec<_>>().hash(&mut hasher);
        if instruction.is_kernel() {
            // The kernel itself; what else is there differs from call to call.
            let config = instruction.config();
            ["custom_call_config", "used_scoped_memory_configs"]
                .map(|key| config.get(key).map(Value::to_string))
                .hash(&mut hasher);
        }
        self.sign(instruction, &HashMap::new(), 0, &mut hasher);
        Some(hasher.finish())
    }

    fn sign(
        &self,
        instruction: &Instruction,
        places: &HashMap<u64, usize>,
        depth: usize,
        hasher: &mut DefaultHasher,
    ) {
        // Computations do not call themselves; a module that says so is damaged.
        const MAX_DEPTH: usize = 16;
        let Instruction { opcode, shape, custom_call_target, constant, attributes, .. } =
            instruction;
        (opcode, shape, custom_call_target, constant, attributes).hash(hasher);
        instruction.parameter_number.hash(hasher);
        instruction.config().get("window_config").map(Value::to_string).hash(hasher);
        let operands = instruction.operands.iter().map(|id| places.get(id));
        operands.collect::<Vec<_>>().hash(hasher);
        for &called in instruction.called.iter().filter(|_| depth < MAX_DEPTH) {
            let inner = self.instructions(called);
            let places = inner.iter().enumerate().map(|(place, inner)| (inner.id, place)).collect();
            inner.len().hash(hasher);
            for inner in inner {
                self.sign(inner, &places, depth + 1, hasher);
            }
        }
    }
}

fn computation(message: &[u8]) -> (u64, Vec<Instruction>) {
    let mut id = 0;
    let mut instructions = Vec::new();
    for (number, field) in fields(message) {
        match number {
            2 => instructions.push(Instruction::parse(field.bytes())),
            5 => id = field.int(),
            _ => {}
        }
    }
    (id, instructions)
}

impl Instruction {
    fn parse(message: &[u8]) -> Self {
        let mut this = Instruction::default();
        for (number, field) in fields(message) {
            match number {
                1 => this.name = field.text().to_owned(),
                2 => this.opcode = field.text().to_owned(),
                3 => this.shape = field.bytes().to_vec(),
                8 => this.constant = scalar_s32(field),
                9 => this.parameter_number = field.int(),
                35 => this.id = field.int(),
                36 => this.operands.extend(field.ints()),
                28 => this.custom_call_target = field.text().to_owned(),
                38 => this.called.extend(field.ints()),
                43 => this.backend_config = String::from_utf8_lossy(field.bytes()).into_owned(),
                79 => this.thread = field.text().to_owned(),
                _ if ATTRIBUTES.contains(&number) => {
                    let payload = match field {
                        Field::Int(int) => int.to_le_bytes().to_vec(),
                        Field::Bytes(bytes) => bytes.to_vec(),
                    };
                    this.attributes.push((number, payload));
                }
                _ => {}
            }
        }
        this
    }

    pub(crate) fn called(&self) -> &[u64] {
        &self.called
    }

    pub(crate) fn constant(&self) -> Option<u64> {
        self.constant
    }

    /// Whether it is the parameter with this number.
    pub(crate) fn is_parameter(&self, number: u64) -> bool {
        self.opcode == "parameter" && self.parameter_number == number
    }

    pub(crate) fn custom_call_target(&self) -> &str {
        &self.custom_call_target
    }

    /// Whether it runs a Mosaic kernel.
    pub(crate) fn is_kernel(&self) -> bool {
        self.custom_call_target == "tpu_custom_call"
    }

    pub(crate) fn runs_on_sparse_core(&self) -> bool {
        self.thread == "sparsecore"
    }

    /// Whether both compute the same kind of thing of the same shape.
    pub(crate) fn is_like(&self, other: &Instruction) -> bool {
        self.opcode == other.opcode
            && self.shape == other.shape
            && self.attributes == other.attributes
    }

    /// Bytes of the result, or of its first element if it is a tuple.
    pub(crate) fn bytes(&self) -> u64 {
        shape_bytes(&self.shape)
    }

    fn config(&self) -> Value {
        serde_json::from_str(&self.backend_config).unwrap_or_default()
    }

    /// The profiler's estimate, which libtpu writes into the backend config.
    pub(crate) fn estimated_cycles(&self) -> Option<u64> {
        let config = self.config();
        number(config.get("bundle_analysis_data")?.get("estimated_cycles")?)
    }

    /// The trip count of a loop, if libtpu wrote it down.
    pub(crate) fn known_trip_count(&self) -> Option<u64> {
        let config = self.config();
        number(config.get("known_trip_count")?.get("n")?)
    }

    /// Scoped VMEM that the program takes.
    pub(crate) fn vmem_bytes(&self) -> u64 {
        let config = self.config();
        let Some(Value::Array(list)) = config.get("used_scoped_memory_configs") else { return 0 };
        list.iter().filter_map(|item| number(item.get("size")?)).sum()
    }
}

/// 64-bit numbers are strings in the JSON form of protobuf.
fn number(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    }
}

/// The value of a `LiteralProto` with one `s32`.
fn scalar_s32(literal: Field<'_>) -> Option<u64> {
    let values: Vec<u64> = fields(literal.bytes())
        .filter(|(number, _)| *number == 4)
        .flat_map(|(_, field)| field.ints())
        .collect();
    <[u64; 1]>::try_from(values).ok().map(|[value]| value)
}

/// Bytes of a `ShapeProto` without padding; of the first element for tuples.
fn shape_bytes(shape: &[u8]) -> u64 {
    let (mut ty, mut n_elems) = (0, 1_u64);
    for (number, field) in fields(shape) {
        match number {
            2 => ty = field.int(),
            3 => n_elems = field.ints().into_iter().fold(n_elems, u64::saturating_mul),
            4 => return shape_bytes(field.bytes()),
            _ => {}
        }
    }
    // Numbers of `PrimitiveType`: 1, 2, 6 and 19 to 25 and 28 are one byte, 3, 7, 10 and 16 two, ...
    let elem_bytes = match ty {
        1 | 2 | 6 | 19 | 20 | 23 | 24 | 25 | 28 | 29 | 33 => 1,
        3 | 7 | 10 | 16 => 2,
        5 | 9 | 12 | 15 => 8,
        18 => 16,
        _ => 4,
    };
    n_elems.saturating_mul(elem_bytes)
}
