//! Devices that tensors live on.

mod xla;

pub use xla::{XlaDevice, check_inputs};
pub(crate) use xla::{device_error, element_type};

use super::compiler::Compiler;
use super::graph::Graph;
use super::mesh::Devices;
use crate::diag::Diagnostics;
use crate::ir::Array;
use crate::pjrt::{self, Buffer, Client, Executable, Plugin};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// A device that tensors live on and ops run on: one core of a PJRT client's, or a
/// [`Mesh`](super::Mesh) of several.
///
/// Ops use the device of their operands, and what is made from nothing uses the current device:
/// the innermost [`with_device`], or the first CPU device. A device whose plugin is missing is a
/// device too; what is done on it fails, with the way to get the plugin.
#[derive(Clone)]
pub struct Device {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    /// Tells devices apart that have one name, as those of two clients.
    serial: u64,
    ready: Result<Ready, Diagnostics>,
    /// The devices of a mesh, if it is one.
    mesh: Option<Devices>,
}

/// What a device is made of.
pub(crate) struct Ready {
    pub(crate) client: Client,
    pub(crate) device: pjrt::Device,
    /// The number by which programs are compiled for it.
    pub(crate) id: i64,
    /// Shared by the devices of a client.
    pub(crate) compiler: Arc<Compiler>,
}

/// CPU clients by their number of devices.
static CPUS: LazyLock<Mutex<HashMap<usize, Vec<Device>>>> = LazyLock::new(Mutex::default);

thread_local! {
    /// Scopes of [`with_device`], the innermost last.
    static SCOPES: RefCell<Vec<Device>> = const { RefCell::new(Vec::new()) };
    /// What [`Device::current`] gives outside of every scope.
    static DEFAULT: RefCell<Option<Device>> = const { RefCell::new(None) };
}

/// Runs `f` with this device for what this thread makes from nothing in it.
pub fn with_device<R>(device: &Device, f: impl FnOnce() -> R) -> R {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            SCOPES.with_borrow_mut(|scopes| scopes.pop());
        }
    }
    SCOPES.with_borrow_mut(|scopes| scopes.push(device.clone()));
    let _leave = Leave;
    f()
}

impl Device {
    /// The CPU, as the only device of its client.
    pub fn cpu() -> Device {
        Device::cpus(1).into_iter().next().unwrap_or_else(|| Device::missing("cpu:0"))
    }

    /// The CPU as this many devices, for programs that span several.
    pub fn cpus(n_devices: usize) -> Vec<Device> {
        let n_devices = n_devices.max(1);
        let mut cpus = CPUS.lock().unwrap_or_else(PoisonError::into_inner);
        cpus.entry(n_devices)
            .or_insert_with(|| {
                let count = (n_devices as i64).into();
                let client = Plugin::cpu_client(&[("cpu_device_count", count)]);
                match client.and_then(|client| Device::all_of(&client)) {
                    Ok(devices) => devices,
                    Err(error) => {
                        let error: Diagnostics = device_error(error);
                        let failed = |idx| Device::new(format!("cpu:{idx}"), Err(error.clone()));
                        (0..n_devices).map(failed).collect()
                    }
                }
            })
            .clone()
    }

    /// Every device of a PJRT client.
    ///
    /// # Errors
    /// If the plugin refuses.
    pub fn all_of(client: &Client) -> pjrt::Result<Vec<Device>> {
        let compiler = Arc::new(Compiler::new(client.clone())?);
        let platform = client.platform_name()?;
        let devices = client.devices()?.into_iter().enumerate().map(|(idx, device)| {
            let (client, compiler, id) = (client.clone(), compiler.clone(), device.id()?);
            let ready = Ready { client, device, id, compiler };
            Ok(Device::new(format!("{platform}:{idx}"), Ok(ready)))
        });
        devices.collect()
    }

    /// The device of the innermost [`with_device`], or the first CPU device.
    pub fn current() -> Device {
        if let Some(scoped) = SCOPES.with_borrow(|scopes| scopes.last().cloned()) {
            return scoped;
        }
        if let Some(known) = DEFAULT.with_borrow(Option::clone) {
            return known;
        }
        let cpu = Device::cpu();
        DEFAULT.set(Some(cpu.clone()));
        cpu
    }

    fn new(name: String, ready: Result<Ready, Diagnostics>) -> Device {
        Device::from_parts(name, ready, None)
    }

    /// A mesh as a device; `ready` is its first device's.
    pub(crate) fn of_mesh(
        name: String,
        ready: Result<Ready, Diagnostics>,
        devices: Devices,
    ) -> Device {
        Device::from_parts(name, ready, Some(devices))
    }

    fn from_parts(
        name: String,
        ready: Result<Ready, Diagnostics>,
        mesh: Option<Devices>,
    ) -> Device {
        static NEXT_SERIAL: AtomicU64 = AtomicU64::new(0);
        let serial = NEXT_SERIAL.fetch_add(1, Ordering::Relaxed);
        Device { inner: Arc::new(Inner { name, serial, ready, mesh }) }
    }

    fn missing(name: &str) -> Device {
        use crate::diag::{Code, Diagnostic};
        let error = Diagnostic::error(Code::RUN_DEVICE, format!("there is no device {name}"));
        Device::new(name.to_owned(), Err(error.into()))
    }

    /// What it is made of.
    pub(crate) fn ready(&self) -> Result<&Ready, Diagnostics> {
        self.inner.ready.as_ref().map_err(Clone::clone)
    }

    /// The devices of a mesh, if it is one.
    pub(crate) fn mesh(&self) -> Option<&Devices> {
        self.inner.mesh.as_ref()
    }

    /// A number that no other device of this process has.
    pub(crate) fn serial(&self) -> u64 {
        self.inner.serial
    }

    /// Its name: platform and number, as `cpu:0`.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Whether both are the same device.
    pub fn same_as(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// The compiler and caches of its client.
    ///
    /// # Errors
    /// If the device's plugin is missing.
    pub fn compiler(&self) -> Result<&Arc<Compiler>, Diagnostics> {
        Ok(&self.ready()?.compiler)
    }
}

impl Ready {
    /// The executable of a program on this device. `donated` are positions of arguments whose
    /// memory it may reuse.
    pub(crate) fn program(
        &self,
        graph: &Graph,
        donated: &[usize],
    ) -> Result<Executable, Diagnostics> {
        self.compiler.program(graph, donated, self.id)
    }

    /// Copies an array to the device, or lets the device use the memory that it is in.
    pub(crate) fn upload(&self, array: &Arc<Array>) -> pjrt::Result<Buffer> {
        /// From here on it is worth a callback not to wait for a copy.
        const SHARED_BYTES: usize = 1 << 16;
        let dims: SmallVec<[i64; 4]> = array.shape().iter().map(|&size| size as i64).collect();
        let ty = element_type(array.dtype());
        if array.as_bytes().len() < SHARED_BYTES {
            return self.client.buffer(ty, &dims, array.as_bytes(), Some(&self.device));
        }
        self.client.buffer_sharing(ty, &dims, array, Some(&self.device))
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.inner.name)
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        self.same_as(other)
    }
}
