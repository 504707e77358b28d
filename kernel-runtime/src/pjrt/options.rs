//! Named values, and the compile options that are sent as a protobuf message written by hand.
use super::api;
use super::sys::{self, named_kind};
use std::ptr;

/// A value with a name: options that we send, attributes and properties that a plugin tells.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A string.
    Str(String),
    /// An integer.
    Int(i64),
    /// A list of integers.
    IntList(Vec<i64>),
    /// A single-precision number.
    Float(f32),
    /// A Boolean.
    Bool(bool),
}

impl Value {
    /// The C struct, which borrows `name` and `self`.
    pub(crate) fn to_raw(&self, name: &str) -> sys::NamedValue {
        let (kind, value, value_size) = match self {
            Value::Str(text) => (
                named_kind::STRING,
                sys::NamedValueUnion { string: text.as_ptr().cast() },
                text.len(),
            ),
            Value::Int(int) => (named_kind::INT64, sys::NamedValueUnion { int64: *int }, 1),
            Value::IntList(list) => (
                named_kind::INT64_LIST,
                sys::NamedValueUnion { int64_list: list.as_ptr() },
                list.len(),
            ),
            Value::Float(float) => (named_kind::FLOAT, sys::NamedValueUnion { float: *float }, 1),
            Value::Bool(flag) => (named_kind::BOOL, sys::NamedValueUnion { boolean: *flag }, 1),
        };
        sys::NamedValue {
            struct_size: size_of::<sys::NamedValue>(),
            extension_start: ptr::null_mut(),
            name: name.as_ptr().cast(),
            name_size: name.len(),
            kind,
            value,
            value_size,
        }
    }

    /// Copies values of the plugin; those of an unknown kind are left out.
    ///
    /// # Safety
    /// `values` points to `len` valid named values, or is null.
    pub(crate) unsafe fn list_from_raw(
        values: *const sys::NamedValue,
        len: usize,
    ) -> Vec<(String, Value)> {
        // SAFETY: the caller vouches for the list, and the tag says which union field is set.
        unsafe { api::slice(values, len) }
            .iter()
            .filter_map(|raw| {
                // SAFETY: as above.
                let value = unsafe {
                    match raw.kind {
                        named_kind::STRING => {
                            Value::Str(api::text(raw.value.string, raw.value_size))
                        }
                        named_kind::INT64 => Value::Int(raw.value.int64),
                        named_kind::INT64_LIST => Value::IntList(
                            api::slice(raw.value.int64_list, raw.value_size).to_vec(),
                        ),
                        named_kind::FLOAT => Value::Float(raw.value.float),
                        named_kind::BOOL => Value::Bool(raw.value.boolean),
                        _ => return None,
                    }
                };
                // SAFETY: the name is part of the value.
                Some((unsafe { api::text(raw.name, raw.name_size) }, value))
            })
            .collect()
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Str(value.to_owned())
    }
}

/// How a program is compiled: `xla.CompileOptionsProto`, as far as we use it.
///
/// ```
/// use systole::pjrt::CompileOptions;
/// let options = CompileOptions::default().replicas(2);
/// assert_eq!(options.encode()[0], 0x1a);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct CompileOptions {
    n_replicas: usize,
    n_partitions: usize,
    /// Global device ids, `[replica][partition]` in row-major order; empty for the plugin's choice.
    devices: Vec<i64>,
    spmd: bool,
    overrides: Vec<(String, Value)>,
}

impl Default for CompileOptions {
    fn default() -> Self {
        Self {
            n_replicas: 1,
            n_partitions: 1,
            devices: Vec::new(),
            spmd: false,
            overrides: Vec::new(),
        }
    }
}

impl CompileOptions {
    /// Runs `n` copies of the program, each on its own device.
    #[must_use]
    pub fn replicas(mut self, n: usize) -> Self {
        self.n_replicas = n;
        self
    }

    /// Splits the program over `n` devices by the shardings it is annotated with (Shardy).
    #[must_use]
    pub fn partitions(mut self, n: usize) -> Self {
        self.n_partitions = n;
        self.spmd = n > 1;
        self
    }

    /// Sets the devices by id, replica by replica.
    #[must_use]
    pub fn devices(mut self, ids: &[i64]) -> Self {
        self.devices = ids.to_vec();
        self
    }

    /// Overrides one flag of the compiler for this program only.
    #[must_use]
    pub fn flag(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.overrides.push((name.to_owned(), value.into()));
        self
    }

    /// How many devices one execution takes.
    pub fn n_devices(&self) -> usize {
        self.n_replicas * self.n_partitions
    }

    /// The serialised message.
    pub fn encode(&self) -> Vec<u8> {
        let mut build = Vec::new();
        // -1: no preference, the assignment below or the plugin's default decides.
        put_varint_field(&mut build, 1, u64::MAX);
        put_varint_field(&mut build, 4, self.n_replicas as u64);
        put_varint_field(&mut build, 5, self.n_partitions as u64);
        if self.spmd {
            put_varint_field(&mut build, 6, 1);
        }
        if !self.devices.is_empty() {
            put_bytes_field(&mut build, 9, &self.assignment());
        }
        if self.spmd {
            put_varint_field(&mut build, 19, 1);
        }
        let mut out = Vec::new();
        put_bytes_field(&mut out, 3, &build);
        for (name, value) in &self.overrides {
            let mut entry = Vec::new();
            put_bytes_field(&mut entry, 1, name.as_bytes());
            put_bytes_field(&mut entry, 2, &encode_override(value));
            put_bytes_field(&mut out, 7, &entry);
        }
        out
    }

    /// `xla.DeviceAssignmentProto`: per partition, the device of every replica.
    fn assignment(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint_field(&mut out, 1, self.n_replicas as u64);
        put_varint_field(&mut out, 2, self.n_partitions as u64);
        for partition in 0..self.n_partitions {
            let mut ids = Vec::new();
            for replica in 0..self.n_replicas {
                let id = self.devices.get(replica * self.n_partitions + partition);
                put_varint(&mut ids, id.copied().unwrap_or_default().cast_unsigned());
            }
            let mut computation = Vec::new();
            put_bytes_field(&mut computation, 1, &ids);
            put_bytes_field(&mut out, 3, &computation);
        }
        out
    }
}

/// `xla.OptionOverrideProto`.
fn encode_override(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    match value {
        Value::Str(text) => put_bytes_field(&mut out, 1, text.as_bytes()),
        Value::Bool(flag) => put_varint_field(&mut out, 2, u64::from(*flag)),
        Value::Int(int) => put_varint_field(&mut out, 3, int.cast_unsigned()),
        Value::Float(float) => {
            put_varint(&mut out, 4 << 3 | 1);
            out.extend(f64::from(*float).to_le_bytes());
        }
        // The message has no list: the flags that take one read it as text.
        Value::IntList(list) => {
            let text: Vec<String> = list.iter().map(i64::to_string).collect();
            put_bytes_field(&mut out, 1, text.join(",").as_bytes());
        }
    }
    out
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_varint_field(out: &mut Vec<u8>, field: u64, value: u64) {
    put_varint(out, field << 3);
    put_varint(out, value);
}

fn put_bytes_field(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_varint(out, field << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_the_default_in_seventeen_bytes() {
        let expected = [
            0x1a, 0x0f, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x20,
            0x01, 0x28, 0x01,
        ];
        assert_eq!(CompileOptions::default().encode(), expected);
    }

    #[test]
    fn encodes_an_override_as_a_map_entry() {
        let bytes = CompileOptions::default().flag("f", true).encode();
        assert_eq!(&bytes[17..], [0x3a, 7, 0x0a, 1, b'f', 0x12, 2, 0x10, 1]);
    }
}
