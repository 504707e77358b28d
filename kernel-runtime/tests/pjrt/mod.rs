//! PJRT against both CPU plugins. A missing plugin fails the tests with the command that gets it.
mod execute;
mod host_call;
mod load;
mod partitions;
mod several_devices;
mod share;

use systole::pjrt::{Client, CompileOptions, ElementType, Executable, Plugin};

/// Both CPU plugins.
pub(crate) fn plugins() -> [Plugin; 2] {
    let or_say_how = |plugin: systole::pjrt::Result<Plugin>| match plugin {
        Ok(plugin) => plugin,
        Err(error) => panic!("{error}"),
    };
    [or_say_how(Plugin::cpu()), or_say_how(Plugin::cpu_second())]
}

/// A client with one device per plugin.
pub(crate) fn clients() -> Vec<Client> {
    plugins()
        .iter()
        .map(|plugin| plugin.client_with(&[("cpu_device_count", 1.into())]).expect("a client"))
        .collect()
}

pub(crate) fn compile(client: &Client, program: &str) -> Executable {
    client.compile(program.as_bytes(), &CompileOptions::default()).expect("the program compiles")
}

pub(crate) fn f32_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

pub(crate) fn f32_values(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|&chunk| f32::from_le_bytes(chunk)).collect()
}

pub(crate) fn f32_buffer(client: &Client, dims: &[i64], values: &[f32]) -> systole::pjrt::Buffer {
    client.buffer(ElementType::F32, dims, &f32_bytes(values), None).expect("a buffer")
}
