//! Compiled programs, and running them.
use super::api::{self, Handle};
use super::buffer::Buffer;
use super::client::{Client, ClientInner, Device};
use super::element::ElementType;
use super::error::{Code, Error, Result};
use super::event::{Event, length_error};
use super::options::Value;
use super::plugin::Plugin;
use super::sys::{self, Call};
use super::topology::TopologyInner;
use std::ptr;
use std::sync::Arc;

/// A StableHLO program, text or bytecode, as the plugin takes it.
pub(crate) struct Source(Vec<u8>);

impl Source {
    /// Copies the program and puts a zero byte behind it: the MLIR parser of today's plugins reads
    /// one byte beyond the text, and crashes on a wrong program if that is not zero.
    pub(crate) fn new(program: &[u8]) -> Self {
        let mut code = Vec::with_capacity(program.len() + 1);
        code.extend_from_slice(program);
        code.push(0);
        Self(code)
    }

    /// The C view, which borrows `self`.
    pub(crate) fn raw(&self) -> sys::Program {
        const FORMAT: &str = "mlir";
        sys::Program {
            code: self.0.as_ptr().cast_mut().cast(),
            code_size: self.0.len() - 1,
            format: FORMAT.as_ptr().cast(),
            format_size: FORMAT.len(),
            ..sys::Program::empty()
        }
    }
}

/// What must live as long as a compiled program.
#[derive(Debug)]
pub(crate) enum Keeper {
    Client(Arc<ClientInner>),
    Topology(Arc<TopologyInner>),
}

impl Keeper {
    fn plugin(&self) -> &Plugin {
        match self {
            Keeper::Client(client) => &client.plugin,
            Keeper::Topology(topology) => topology.plugin(),
        }
    }
}

/// A compiled program that can be inspected and serialised; see [`Executable`] for running.
#[derive(Debug)]
pub struct Compiled {
    raw: Handle<sys::RawExecutable>,
    keeper: Keeper,
}

impl Drop for Compiled {
    fn drop(&mut self) {
        let mut args = sys::ExecutableDestroy { executable: self.raw.raw(), ..Call::zeroed() };
        // SAFETY: the executable is ours and is not used again.
        let _ignored = unsafe { self.call(&mut args) };
    }
}

impl Compiled {
    pub(crate) fn from_raw(raw: *mut sys::RawExecutable, keeper: Keeper) -> Result<Self> {
        Ok(Self { raw: Handle::new(raw, sys::LoadedGetExecutable::NAME)?, keeper })
    }

    /// # Safety
    /// As [`api::Api::call`].
    unsafe fn call<C: Call>(&self, args: &mut C) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { self.keeper.plugin().api.call(args) }
    }

    /// The name of the program, that of its MLIR module.
    ///
    /// # Errors
    /// When the plugin refuses.
    pub fn name(&self) -> Result<String> {
        let mut args = sys::ExecutableName { executable: self.raw.raw(), ..Call::zeroed() };
        // SAFETY: the executable lives as long as `self`, and owns the name.
        unsafe {
            self.call(&mut args)?;
            Ok(api::text(args.name, args.name_size))
        }
    }

    /// How many results one device computes.
    ///
    /// # Errors
    /// When the plugin refuses.
    pub fn n_outputs(&self) -> Result<usize> {
        let mut args = sys::ExecutableNumOutputs { executable: self.raw.raw(), ..Call::zeroed() };
        // SAFETY: the executable lives as long as `self`.
        unsafe { self.call(&mut args)? };
        Ok(args.num_outputs)
    }

    /// Element type and shape of every result.
    ///
    /// # Errors
    /// When a type is one that this module does not know.
    pub fn outputs(&self) -> Result<Vec<(ElementType, Vec<i64>)>> {
        let mut types = sys::ExecutableOutputTypes { executable: self.raw.raw(), ..Call::zeroed() };
        let mut dims = sys::ExecutableOutputDims { executable: self.raw.raw(), ..Call::zeroed() };
        // SAFETY: the executable lives as long as `self`, and owns the lists.
        let (types, mut rest, ranks) = unsafe {
            self.call(&mut types)?;
            self.call(&mut dims)?;
            let ranks = api::slice(dims.dim_sizes, dims.num_outputs);
            let flat = api::slice(dims.dims, ranks.iter().sum());
            (api::slice(types.types, types.num_types), flat, ranks)
        };
        if types.len() != ranks.len() {
            let call = sys::ExecutableOutputDims::NAME;
            return Err(length_error(call, "shapes of results", types.len(), ranks.len()));
        }
        let mut outputs = Vec::with_capacity(types.len());
        for (&raw, &rank) in types.iter().zip(ranks) {
            let (shape, tail) = rest.split_at(rank);
            rest = tail;
            let ty = ElementType::from_raw(raw).ok_or_else(|| {
                Error::new(
                    Code::Unimplemented,
                    sys::ExecutableOutputTypes::NAME,
                    format!("unknown element type {raw}"),
                )
            })?;
            outputs.push((ty, shape.to_vec()));
        }
        Ok(outputs)
    }

    /// Bytes of machine code; -1 or 0 where the plugin does not know.
    ///
    /// # Errors
    /// When the plugin refuses.
    pub fn code_bytes(&self) -> Result<i64> {
        let mut args = sys::ExecutableCodeSize { executable: self.raw.raw(), ..Call::zeroed() };
        // SAFETY: the executable lives as long as `self`.
        unsafe { self.call(&mut args)? };
        Ok(args.size_in_bytes)
    }

    /// What the program needs in memory.
    ///
    /// # Errors
    /// When the plugin does not tell.
    pub fn memory(&self) -> Result<MemoryStats> {
        let mut args = sys::ExecutableMemoryStats { executable: self.raw.raw(), ..Call::zeroed() };
        // SAFETY: the executable lives as long as `self`.
        unsafe { self.call(&mut args)? };
        Ok(MemoryStats {
            code_bytes: args.generated_code,
            argument_bytes: args.argument,
            output_bytes: args.output,
            alias_bytes: args.alias,
            temp_bytes: args.temp,
            peak_bytes: args.peak_memory,
        })
    }

    /// Named figures such as `flops` and `bytes accessed`.
    ///
    /// # Errors
    /// `UNIMPLEMENTED` on newer CPU plugins.
    pub fn cost(&self) -> Result<Vec<(String, Value)>> {
        let mut args = sys::ExecutableCostAnalysis { executable: self.raw.raw(), ..Call::zeroed() };
        // SAFETY: the executable lives as long as `self`, and owns the list.
        unsafe {
            self.call(&mut args)?;
            Ok(Value::list_from_raw(args.properties, args.num_properties))
        }
    }

    /// The program after optimisation, with the name of its format (`hlo` or `hlo_with_config`: a
    /// protobuf message).
    ///
    /// # Errors
    /// When the plugin does not tell.
    pub fn optimized(&self) -> Result<(String, Vec<u8>)> {
        let mut program = sys::Program::empty();
        let mut args = sys::ExecutableOptimizedProgram {
            executable: self.raw.raw(),
            program: &raw mut program,
            ..Call::zeroed()
        };
        // SAFETY: with no code buffer the call only answers size and format.
        unsafe { self.call(&mut args)? };
        let mut code = vec![0_u8; program.code_size];
        program.code = code.as_mut_ptr().cast();
        // SAFETY: `code` has the size that the plugin asked for.
        unsafe { self.call(&mut args)? };
        // SAFETY: the plugin set the format to a string that it owns.
        Ok((unsafe { api::text(program.format, program.format_size) }, code))
    }

    /// The executable as bytes, for [`Client::deserialize`] of the same plugin version.
    ///
    /// # Errors
    /// When the plugin cannot serialise.
    pub fn serialize(&self) -> Result<Vec<u8>> {
        let mut args = sys::ExecutableSerialize { executable: self.raw.raw(), ..Call::zeroed() };
        // SAFETY: the executable lives as long as `self`; the bytes live until the deleter runs.
        unsafe {
            self.call(&mut args)?;
            let bytes = api::slice(args.bytes.cast::<u8>(), args.bytes_size).to_vec();
            if let Some(delete) = args.deleter {
                delete(args.serialized);
            }
            Ok(bytes)
        }
    }

    /// A text that is equal for equal programs.
    ///
    /// # Errors
    /// When the plugin does not tell.
    pub fn fingerprint(&self) -> Result<String> {
        let mut args = sys::ExecutableFingerprint { executable: self.raw.raw(), ..Call::zeroed() };
        // SAFETY: the executable lives as long as `self`, and owns the text.
        unsafe {
            self.call(&mut args)?;
            Ok(api::text(args.fingerprint, args.fingerprint_size))
        }
    }
}

/// What a compiled program needs in memory, per device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryStats {
    /// Machine code.
    pub code_bytes: i64,
    /// Arguments.
    pub argument_bytes: i64,
    /// Results.
    pub output_bytes: i64,
    /// Results that live in the memory of donated arguments.
    pub alias_bytes: i64,
    /// Everything in between.
    pub temp_bytes: i64,
    /// The most that is needed at one time.
    pub peak_bytes: i64,
}

/// How one execution runs.
#[derive(Debug, Clone, Default)]
pub struct ExecuteOptions {
    /// Arguments that must survive although the program would reuse their memory.
    pub keep_arguments: Vec<usize>,
    /// Whether to make the events of [`Execution::done`].
    pub want_events: bool,
}

/// What one execution over several devices left behind.
#[derive(Debug)]
pub struct Execution {
    /// Per device, the results.
    pub outputs: Vec<Vec<Buffer>>,
    /// Per device, the event of its completion; empty unless asked for.
    pub done: Vec<Event>,
}

/// A compiled program loaded on devices of a client. Clones share it.
#[derive(Debug, Clone)]
pub struct Executable {
    inner: Arc<LoadedInner>,
}

#[derive(Debug)]
struct LoadedInner {
    loaded: Handle<sys::RawLoaded>,
    compiled: Compiled,
    client: Arc<ClientInner>,
    n_outputs: usize,
    n_devices: usize,
}

impl Drop for LoadedInner {
    fn drop(&mut self) {
        destroy_loaded(&self.client, self.loaded);
    }
}

fn destroy_loaded(client: &ClientInner, loaded: Handle<sys::RawLoaded>) {
    let mut args = sys::LoadedDestroy { executable: loaded.raw(), ..Call::zeroed() };
    // SAFETY: the executable is ours and is not used again.
    let _ignored = unsafe { client.call(&mut args) };
}

impl std::ops::Deref for Executable {
    type Target = Compiled;

    fn deref(&self) -> &Compiled {
        &self.inner.compiled
    }
}

impl Executable {
    pub(crate) fn from_raw(client: &Arc<ClientInner>, raw: *mut sys::RawLoaded) -> Result<Self> {
        let loaded = Handle::new(raw, sys::ClientCompile::NAME)?;
        Self::describe(client, loaded).inspect_err(|_error| destroy_loaded(client, loaded))
    }

    /// Reads what every execution needs to know.
    fn describe(client: &Arc<ClientInner>, loaded: Handle<sys::RawLoaded>) -> Result<Self> {
        let mut get = sys::LoadedGetExecutable { loaded: loaded.raw(), ..Call::zeroed() };
        let mut devices =
            sys::LoadedAddressableDevices { executable: loaded.raw(), ..Call::zeroed() };
        // SAFETY: the loaded executable lives until the caller destroys it.
        unsafe {
            client.call(&mut get)?;
            client.call(&mut devices)?;
        }
        let compiled = Compiled::from_raw(get.executable, Keeper::Client(client.clone()))?;
        let n_outputs = compiled.n_outputs()?;
        let inner = LoadedInner {
            loaded,
            compiled,
            client: client.clone(),
            n_outputs,
            n_devices: devices.num_devices,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The client that it is loaded on.
    pub fn client(&self) -> Client {
        Client { inner: self.inner.client.clone() }
    }

    /// How many devices of this process one execution takes.
    pub fn n_devices(&self) -> usize {
        self.inner.n_devices
    }

    /// The devices of this process that it runs on, in the order of the argument lists.
    ///
    /// # Errors
    /// When the plugin refuses.
    pub fn devices(&self) -> Result<Vec<Device>> {
        let mut args =
            sys::LoadedAddressableDevices { executable: self.inner.loaded.raw(), ..Call::zeroed() };
        // SAFETY: the executable lives as long as `self`, and owns the list.
        let devices = unsafe {
            self.inner.client.call(&mut args)?;
            api::slice(args.devices, args.num_devices)
        };
        devices.iter().map(|&raw| Device::from_raw(&self.inner.client, raw)).collect()
    }

    /// Runs on one device and returns at once; the results come when they are ready. Arguments that
    /// the program marks as donated (`tf.aliasing_output`, `jax.buffer_donor`) are deleted.
    ///
    /// # Errors
    /// When number, shapes or clients of the arguments are wrong, an argument is deleted, or the
    /// program takes several devices. Errors of the running program appear when a result is read.
    pub fn execute(&self, args: &[&Buffer]) -> Result<Vec<Buffer>> {
        let execution = self.execute_on_all(&[args], &ExecuteOptions::default())?;
        Ok(execution.outputs.into_iter().next().unwrap_or_default())
    }

    /// Runs on all its devices: one argument list per device, in the order of
    /// [`Executable::devices`].
    ///
    /// # Errors
    /// As [`Executable::execute`].
    pub fn execute_on_all(
        &self,
        args: &[&[&Buffer]],
        options: &ExecuteOptions,
    ) -> Result<Execution> {
        const CALL: &str = sys::LoadedExecute::NAME;
        let (n_devices, n_outputs) = (self.inner.n_devices, self.inner.n_outputs);
        let client = &self.inner.client;
        if args.len() != n_devices {
            return Err(length_error(CALL, "argument lists", n_devices, args.len()));
        }
        let n_args = args.first().map_or(0, |list| list.len());
        let mut raw_args: Vec<*mut sys::RawBuffer> = Vec::with_capacity(n_devices * n_args);
        for list in args {
            if list.len() != n_args {
                return Err(length_error(CALL, "arguments on each device", n_args, list.len()));
            }
            for (arg_idx, buffer) in list.iter().enumerate() {
                if !Arc::ptr_eq(client, buffer.client()) {
                    client.check_same(buffer.client(), CALL, &format!("argument {arg_idx}"))?;
                }
                raw_args.push(buffer.raw());
            }
        }
        let arg_lists: Vec<*const *mut sys::RawBuffer> =
            (0..n_devices).map(|i| raw_args[i * n_args..].as_ptr()).collect();
        let mut raw_outputs = vec![ptr::null_mut::<sys::RawBuffer>(); n_devices * n_outputs];
        let outputs_start = raw_outputs.as_mut_ptr();
        let output_lists: Vec<*mut *mut sys::RawBuffer> =
            (0..n_devices).map(|i| outputs_start.wrapping_add(i * n_outputs)).collect();
        let mut raw_events = vec![ptr::null_mut::<sys::RawEvent>(); n_devices];
        let keep: Vec<i64> = options.keep_arguments.iter().map(|&idx| idx as i64).collect();
        let mut raw_options = sys::ExecuteOptions::with_kept(&keep);
        let mut call = sys::LoadedExecute {
            executable: self.inner.loaded.raw(),
            options: &raw mut raw_options,
            argument_lists: arg_lists.as_ptr(),
            num_devices: n_devices,
            num_args: n_args,
            output_lists: output_lists.as_ptr(),
            device_complete_events: if options.want_events {
                raw_events.as_mut_ptr()
            } else {
                ptr::null_mut()
            },
            ..Call::zeroed()
        };
        // SAFETY: all lists outlive the call and have the lengths given; the arguments are buffers
        // of this client that the borrowed `args` keep alive; there is room for every result.
        unsafe { client.call(&mut call)? };
        // SAFETY: the plugin passed ownership of every result and event.
        let (outputs, done) = unsafe { self.adopt(&raw_outputs, &raw_events, options) };
        Ok(Execution { outputs: outputs?, done: done? })
    }

    /// Takes ownership of what an execution returned. All of it is adopted before the first error
    /// is told, so nothing leaks.
    ///
    /// # Safety
    /// The pointers are null, or results and events of this client that the caller owns.
    unsafe fn adopt(
        &self,
        raw_outputs: &[*mut sys::RawBuffer],
        raw_events: &[*mut sys::RawEvent],
        options: &ExecuteOptions,
    ) -> (Result<Vec<Vec<Buffer>>>, Result<Vec<Event>>) {
        const CALL: &str = sys::LoadedExecute::NAME;
        let client = &self.inner.client;
        let n_outputs = self.inner.n_outputs;
        let adopted: Vec<Result<Buffer>> = raw_outputs
            .iter()
            // SAFETY: passed on to the caller.
            .map(|&raw| unsafe { Buffer::from_raw(client, raw, CALL) })
            .collect();
        let events: Vec<Result<Event>> = raw_events
            .iter()
            .filter(|_| options.want_events)
            // SAFETY: passed on to the caller.
            .map(|&raw| unsafe { Event::from_raw(&client.plugin, raw, CALL) })
            .collect();
        let mut flat = adopted.into_iter();
        let outputs = (0..self.inner.n_devices)
            .map(|_device| flat.by_ref().take(n_outputs).collect())
            .collect();
        (outputs, events.into_iter().collect())
    }
}
