//! Clients and devices.
use super::api::{self, Handle};
use super::buffer::Buffer;
use super::element::ElementType;
use super::error::{Code, Error, Result};
use super::event::{Event, length_error};
use super::executable::{Executable, Source};
use super::host_bytes::HostBytes;
use super::options::{CompileOptions, Value};
use super::plugin::Plugin;
use super::sys::{self, Call};
use std::sync::Arc;

/// A connection to the devices of one plugin. Clones share it; it ends with the last of its
/// clones, buffers and executables.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) inner: Arc<ClientInner>,
}

#[derive(Debug)]
pub(crate) struct ClientInner {
    pub(crate) plugin: Plugin,
    raw: Handle<sys::RawClient>,
}

impl ClientInner {
    /// Calls a table entry.
    ///
    /// # Safety
    /// As [`api::Api::call`].
    pub(crate) unsafe fn call<C: Call>(&self, args: &mut C) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { self.plugin.api.call(args) }
    }
}

impl Drop for ClientInner {
    fn drop(&mut self) {
        let mut args = sys::ClientDestroy { client: self.raw.raw(), ..Call::zeroed() };
        // SAFETY: buffers and executables hold an `Arc` of this struct, so none is left.
        let _ignored = unsafe { self.plugin.api.call(&mut args) };
    }
}

impl Client {
    pub(crate) fn create(plugin: &Plugin, options: &[(&str, Value)]) -> Result<Self> {
        let raw_options: Vec<sys::NamedValue> =
            options.iter().map(|(name, value)| value.to_raw(name)).collect();
        let mut args = sys::ClientCreate {
            create_options: raw_options.as_ptr(),
            num_options: raw_options.len(),
            ..Call::zeroed()
        };
        // SAFETY: the options and what they point to outlive the call.
        unsafe { plugin.api.call(&mut args)? };
        let raw = Handle::new(args.client, sys::ClientCreate::NAME)?;
        Ok(Self { inner: Arc::new(ClientInner { plugin: plugin.clone(), raw }) })
    }

    /// The plugin behind this client.
    pub fn plugin(&self) -> &Plugin {
        &self.inner.plugin
    }

    /// Whether both are the same connection: buffers of one are of no use to another.
    pub fn same_as(&self, other: &Client) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// `"cpu"`, `"tpu"`, ...
    ///
    /// # Errors
    /// When the plugin refuses.
    pub fn platform_name(&self) -> Result<String> {
        let mut args = sys::ClientPlatformName { client: self.inner.raw.raw(), ..Call::zeroed() };
        // SAFETY: the client lives as long as `self`, and owns the name.
        unsafe {
            self.inner.call(&mut args)?;
            Ok(api::text(args.name, args.name_size))
        }
    }

    /// The version of the platform, in the plugin's own form.
    ///
    /// # Errors
    /// When the plugin refuses.
    pub fn platform_version(&self) -> Result<String> {
        let mut args =
            sys::ClientPlatformVersion { client: self.inner.raw.raw(), ..Call::zeroed() };
        // SAFETY: the client lives as long as `self`, and owns the text.
        unsafe {
            self.inner.call(&mut args)?;
            Ok(api::text(args.version, args.version_size))
        }
    }

    /// The devices that this process can use.
    ///
    /// # Errors
    /// When the plugin refuses.
    pub fn devices(&self) -> Result<Vec<Device>> {
        let mut args =
            sys::ClientAddressableDevices { client: self.inner.raw.raw(), ..Call::zeroed() };
        // SAFETY: the client lives as long as `self`, and owns the list and the devices.
        let devices = unsafe {
            self.inner.call(&mut args)?;
            api::slice(args.devices, args.num_devices)
        };
        devices.iter().map(|&raw| Device::from_raw(&self.inner, raw)).collect()
    }

    /// How many devices the whole client has, those of other processes included.
    ///
    /// # Errors
    /// When the plugin refuses.
    pub fn n_global_devices(&self) -> Result<usize> {
        let mut args = sys::ClientDevices { client: self.inner.raw.raw(), ..Call::zeroed() };
        // SAFETY: the client lives as long as `self`.
        unsafe { self.inner.call(&mut args)? };
        Ok(args.num_devices)
    }

    /// The first device.
    ///
    /// # Errors
    /// When there is none.
    pub fn first_device(&self) -> Result<Device> {
        self.devices()?.into_iter().next().ok_or_else(|| {
            Error::new(Code::NotFound, "Client::first_device", "the client has no device")
        })
    }

    /// Compiles StableHLO, as text or as MLIR bytecode.
    ///
    /// # Errors
    /// When the program is wrong or too large for the device.
    pub fn compile(&self, program: &[u8], options: &CompileOptions) -> Result<Executable> {
        let n_devices = options.n_devices();
        let options = options.encode();
        let source = Source::new(program);
        let program = source.raw();
        let mut args = sys::ClientCompile {
            client: self.inner.raw.raw(),
            program: &raw const program,
            compile_options: options.as_ptr().cast(),
            compile_options_size: options.len(),
            ..Call::zeroed()
        };
        // SAFETY: program and options outlive the call; the plugin only reads them.
        unsafe { self.inner.call(&mut args)? };
        let executable = Executable::from_raw(&self.inner, args.executable)?;
        let got = executable.n_devices();
        if got != n_devices {
            return Err(length_error(
                sys::ClientCompile::NAME,
                "devices of the compiled program",
                n_devices,
                got,
            ));
        }
        Ok(executable)
    }

    /// Loads what [`super::Compiled::serialize`] wrote, with the same version of the plugin.
    ///
    /// # Errors
    /// When the bytes are no executable of this plugin.
    pub fn deserialize(&self, bytes: &[u8]) -> Result<Executable> {
        let mut args = sys::DeserializeAndLoad {
            client: self.inner.raw.raw(),
            bytes: bytes.as_ptr().cast(),
            bytes_size: bytes.len(),
            ..Call::zeroed()
        };
        // SAFETY: the bytes outlive the call.
        unsafe { self.inner.call(&mut args)? };
        Executable::from_raw(&self.inner, args.loaded)
    }

    /// Copies host data, dense and row-major, to a device (`None`: the first one).
    ///
    /// # Errors
    /// When the number of bytes does not fit `dims`, the device is of another client, or the device
    /// has no room.
    pub fn buffer(
        &self,
        ty: ElementType,
        dims: &[i64],
        bytes: &[u8],
        device: Option<&Device>,
    ) -> Result<Buffer> {
        let device = self.check_host(ty, dims, bytes, device)?;
        let semantics = sys::HOST_IMMUTABLE_ONLY_DURING_CALL;
        // SAFETY: the semantics say that the plugin keeps no pointer to `bytes` beyond the call, so
        // the event, which only says that the copy is done, can be dropped.
        let (buffer, _done) =
            unsafe { self.buffer_from_host(ty, dims, bytes, &device, semantics)? };
        Ok(buffer)
    }

    /// As [`Client::buffer`], without a copy where the plugin can use host memory as it is: on the
    /// CPU if it begins at a multiple of 64 bytes, as [`AlignedBytes`](super::AlignedBytes) do. The
    /// memory is held until the plugin is done with it. Elsewhere it is copied behind the scenes.
    ///
    /// # Errors
    /// As [`Client::buffer`].
    pub fn buffer_sharing<H: HostBytes>(
        &self,
        ty: ElementType,
        dims: &[i64],
        host: &Arc<H>,
        device: Option<&Device>,
    ) -> Result<Buffer> {
        let device = self.check_host(ty, dims, host.bytes(), device)?;
        let semantics = sys::HOST_IMMUTABLE_ZERO_COPY;
        // SAFETY: `HostBytes` says that the bytes stay where they are, unchanged, while the value
        // lives; the callback below holds it until the plugin says that it is done with them.
        let (buffer, done) =
            unsafe { self.buffer_from_host(ty, dims, host.bytes(), &device, semantics)? };
        let held = host.clone();
        let registered = done.and_then(|done| done.on_ready(move |_| drop(held)));
        registered.inspect_err(|_error| {
            // Nobody would say when the memory is free: it never is.
            std::mem::forget(host.clone());
        })?;
        Ok(buffer)
    }

    /// The device to copy to, if the bytes are those of an array of this type and shape.
    fn check_host(
        &self,
        ty: ElementType,
        dims: &[i64],
        bytes: &[u8],
        device: Option<&Device>,
    ) -> Result<Device> {
        let want = byte_size(ty, dims)?;
        if bytes.len() != want {
            return Err(Error::new(
                Code::InvalidArgument,
                sys::BufferFromHost::NAME,
                format!(
                    "a {} buffer of shape {dims:?} has {want} bytes, got {}",
                    ty.stablehlo_name(),
                    bytes.len()
                ),
            ));
        }
        let device = match device {
            Some(device) => device.clone(),
            None => self.first_device()?,
        };
        self.inner.check_same(&device.client, sys::BufferFromHost::NAME, "the device")?;
        Ok(device)
    }

    /// A buffer of host memory that was checked, and the event that the plugin is done with it.
    ///
    /// # Safety
    /// The bytes stay valid and unchanged for as long as the semantics ask: during the call, or until
    /// the event.
    unsafe fn buffer_from_host(
        &self,
        ty: ElementType,
        dims: &[i64],
        bytes: &[u8],
        device: &Device,
        semantics: u32,
    ) -> Result<(Buffer, Result<Event>)> {
        const CALL: &str = sys::BufferFromHost::NAME;
        let mut args = sys::BufferFromHost {
            client: self.inner.raw.raw(),
            data: bytes.as_ptr().cast(),
            element_type: ty as u32,
            dims: dims.as_ptr(),
            num_dims: dims.len(),
            semantics,
            device: device.raw.raw(),
            ..Call::zeroed()
        };
        // SAFETY: dims outlive the call, `data` has the bytes that the shape needs, and the caller
        // vouches for how long.
        unsafe { self.inner.call(&mut args)? };
        // SAFETY: the plugin passed ownership of both.
        unsafe {
            let buffer = Buffer::from_raw(&self.inner, args.buffer, CALL);
            let done = Event::from_raw(&self.inner.plugin, args.done_with_host_buffer, CALL);
            Ok((buffer?, done))
        }
    }
}

impl ClientInner {
    /// An error unless `other` is this client: a plugin would take the pointer for its own.
    pub(crate) fn check_same(
        self: &Arc<Self>,
        other: &Arc<ClientInner>,
        call: &'static str,
        what: &str,
    ) -> Result<()> {
        if Arc::ptr_eq(self, other) {
            return Ok(());
        }
        Err(Error::new(Code::InvalidArgument, call, format!("{what} belongs to another client")))
    }
}

/// How many bytes a dense host array of this type and shape takes.
pub(crate) fn byte_size(ty: ElementType, dims: &[i64]) -> Result<usize> {
    dims.iter()
        .try_fold(ty.host_bytes(), |size, &dim| {
            usize::try_from(dim).ok().and_then(|dim| size.checked_mul(dim))
        })
        .ok_or_else(|| {
            Error::new(
                Code::InvalidArgument,
                "byte_size",
                format!("the shape {dims:?} is negative or too large"),
            )
        })
}

/// One device of a client.
#[derive(Debug, Clone)]
pub struct Device {
    pub(crate) client: Arc<ClientInner>,
    pub(crate) raw: Handle<sys::RawDevice>,
    description: Handle<sys::RawDescription>,
}

impl Device {
    pub(crate) fn from_raw(client: &Arc<ClientInner>, raw: *mut sys::RawDevice) -> Result<Self> {
        let raw = Handle::new(raw, sys::ClientAddressableDevices::NAME)?;
        let mut args = sys::DeviceGetDescription { device: raw.raw(), ..Call::zeroed() };
        // SAFETY: devices and their descriptions live as long as their client.
        unsafe { client.call(&mut args)? };
        let description = Handle::new(args.description, sys::DeviceGetDescription::NAME)?;
        Ok(Self { client: client.clone(), raw, description })
    }

    /// The id, unique among all devices of the client.
    ///
    /// # Errors
    /// When the plugin refuses.
    pub fn id(&self) -> Result<i64> {
        let mut args = sys::DescriptionId { description: self.description.raw(), ..Call::zeroed() };
        // SAFETY: the description lives as long as the client, which `self` holds.
        unsafe { self.client.call(&mut args)? };
        Ok(i64::from(args.id))
    }

    /// The kind of hardware, such as `"cpu"` or `"TPU v5 lite"`.
    ///
    /// # Errors
    /// When the plugin refuses.
    pub fn kind(&self) -> Result<String> {
        let mut args =
            sys::DescriptionKind { description: self.description.raw(), ..Call::zeroed() };
        // SAFETY: as in `id`; the text belongs to the description.
        unsafe {
            self.client.call(&mut args)?;
            Ok(api::text(args.kind, args.kind_size))
        }
    }

    /// A line for people.
    ///
    /// # Errors
    /// When the plugin refuses.
    pub fn describe(&self) -> Result<String> {
        let mut args =
            sys::DescriptionToString { description: self.description.raw(), ..Call::zeroed() };
        // SAFETY: as in `kind`.
        unsafe {
            self.client.call(&mut args)?;
            Ok(api::text(args.text, args.text_size))
        }
    }

    /// What the plugin says about the device, such as its coordinates.
    ///
    /// # Errors
    /// When the plugin refuses.
    pub fn attributes(&self) -> Result<Vec<(String, Value)>> {
        let mut args =
            sys::DescriptionAttributes { description: self.description.raw(), ..Call::zeroed() };
        // SAFETY: as in `kind`.
        unsafe {
            self.client.call(&mut args)?;
            Ok(Value::list_from_raw(args.attributes, args.num_attributes))
        }
    }

    /// Memory in use and memory there is.
    ///
    /// # Errors
    /// `UNIMPLEMENTED` on plugins that do not count, CPU plugins among them.
    pub fn memory(&self) -> Result<DeviceMemory> {
        let mut args = sys::DeviceMemoryStats { device: self.raw.raw(), ..Call::zeroed() };
        // SAFETY: the device lives as long as the client, which `self` holds.
        unsafe { self.client.call(&mut args)? };
        Ok(DeviceMemory {
            in_use_bytes: args.bytes_in_use,
            peak_bytes: args.peak_bytes_in_use_is_set.then_some(args.peak_bytes_in_use),
            limit_bytes: args.bytes_limit_is_set.then_some(args.bytes_limit),
        })
    }
}

/// How full the memory of a device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceMemory {
    /// Bytes in use now.
    pub in_use_bytes: i64,
    /// The most that was in use, if the plugin counts it.
    pub peak_bytes: Option<i64>,
    /// How much there is, if the plugin tells.
    pub limit_bytes: Option<i64>,
}
