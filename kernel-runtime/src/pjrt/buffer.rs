//! Buffers: arrays in the memory of a device.
use super::api::{self, Handle};
use super::client::{ClientInner, Device};
use super::element::ElementType;
use super::error::{Code, Error, Result};
use super::event::Event;
use super::sys::{self, Call};
use std::ptr;
use std::sync::Arc;

/// An array on a device. Its contents may still be on their way: [`Buffer::to_host`] waits for
/// them, and tells the error if they never came. Clones share the array.
#[derive(Debug, Clone)]
pub struct Buffer {
    inner: Arc<BufferInner>,
}

#[derive(Debug)]
struct BufferInner {
    client: Arc<ClientInner>,
    raw: Handle<sys::RawBuffer>,
}

impl Drop for BufferInner {
    fn drop(&mut self) {
        let mut args = sys::BufferDestroy { buffer: self.raw.raw(), ..Call::zeroed() };
        // SAFETY: the buffer is ours and is not used again. Executions in flight hold their own
        // reference inside the plugin.
        let _ignored = unsafe { self.client.call(&mut args) };
    }
}

impl Buffer {
    /// # Safety
    /// `raw` is null or a buffer of `client` that the caller owns.
    pub(crate) unsafe fn from_raw(
        client: &Arc<ClientInner>,
        raw: *mut sys::RawBuffer,
        call: &'static str,
    ) -> Result<Self> {
        let raw = Handle::new(raw, call)?;
        Ok(Self { inner: Arc::new(BufferInner { client: client.clone(), raw }) })
    }

    pub(crate) fn raw(&self) -> *mut sys::RawBuffer {
        self.inner.raw.raw()
    }

    pub(crate) fn client(&self) -> &Arc<ClientInner> {
        &self.inner.client
    }

    /// The element type.
    ///
    /// # Errors
    /// When the type is one that this module does not know.
    pub fn element_type(&self) -> Result<ElementType> {
        let mut args = sys::BufferElementType { buffer: self.raw(), ..Call::zeroed() };
        // SAFETY: the buffer lives as long as `self`.
        unsafe { self.inner.client.call(&mut args)? };
        ElementType::from_raw(args.element_type).ok_or_else(|| {
            Error::new(
                Code::Unimplemented,
                sys::BufferElementType::NAME,
                format!("unknown element type {}", args.element_type),
            )
        })
    }

    /// The shape.
    ///
    /// # Errors
    /// When the plugin refuses.
    pub fn dims(&self) -> Result<&[i64]> {
        let mut args = sys::BufferDimensions { buffer: self.raw(), ..Call::zeroed() };
        // SAFETY: the list belongs to the buffer and does not change, and the buffer lives as long
        // as `self`.
        unsafe {
            self.inner.client.call(&mut args)?;
            Ok(api::slice(args.dims, args.num_dims))
        }
    }

    /// Bytes on the device, padding included.
    ///
    /// # Errors
    /// When the buffer is deleted.
    pub fn device_bytes(&self) -> Result<usize> {
        let mut args = sys::BufferDeviceSize { buffer: self.raw(), ..Call::zeroed() };
        // SAFETY: the buffer lives as long as `self`.
        unsafe { self.inner.client.call(&mut args)? };
        Ok(args.size_in_bytes)
    }

    /// The device that holds it.
    ///
    /// # Errors
    /// When the plugin refuses.
    pub fn device(&self) -> Result<Device> {
        let mut args = sys::BufferDevice { buffer: self.raw(), ..Call::zeroed() };
        // SAFETY: the buffer lives as long as `self`.
        unsafe { self.inner.client.call(&mut args)? };
        Device::from_raw(&self.inner.client, args.device)
    }

    /// Whether its memory is gone: deleted, or donated to an execution.
    ///
    /// # Errors
    /// When the plugin refuses.
    pub fn is_deleted(&self) -> Result<bool> {
        let mut args = sys::BufferIsDeleted { buffer: self.raw(), ..Call::zeroed() };
        // SAFETY: the buffer lives as long as `self`.
        unsafe { self.inner.client.call(&mut args)? };
        Ok(args.is_deleted)
    }

    /// Frees the memory now, for all clones; using the buffer afterwards is an error.
    ///
    /// # Errors
    /// When the plugin refuses.
    pub fn delete(&self) -> Result<()> {
        let mut args = sys::BufferDelete { buffer: self.raw(), ..Call::zeroed() };
        // SAFETY: the handle stays valid after its memory is deleted.
        unsafe { self.inner.client.call(&mut args) }
    }

    /// The event that the contents are there.
    ///
    /// # Errors
    /// When the buffer is deleted.
    pub fn ready(&self) -> Result<Event> {
        let mut args = sys::BufferReadyEvent { buffer: self.raw(), ..Call::zeroed() };
        // SAFETY: the buffer lives as long as `self`; the plugin passes ownership of the event.
        unsafe {
            self.inner.client.call(&mut args)?;
            Event::from_raw(&self.inner.client.plugin, args.event, sys::BufferReadyEvent::NAME)
        }
    }

    /// Copies to another device of the same client.
    ///
    /// # Errors
    /// When the device is of another client, or has no room.
    pub fn copy_to(&self, device: &Device) -> Result<Buffer> {
        let client = &self.inner.client;
        client.check_same(&device.client, sys::BufferCopyToDevice::NAME, "the device")?;
        let mut args = sys::BufferCopyToDevice {
            buffer: self.raw(),
            device: device.raw.raw(),
            ..Call::zeroed()
        };
        // SAFETY: buffer and device belong to this client; the plugin passes ownership of the copy.
        unsafe {
            client.call(&mut args)?;
            Buffer::from_raw(client, args.copy, sys::BufferCopyToDevice::NAME)
        }
    }

    /// Waits for the contents and copies them to the host, dense and row-major.
    ///
    /// # Errors
    /// The error of the execution that should have made them, or when the buffer is deleted.
    pub fn to_host(&self) -> Result<Vec<u8>> {
        self.start_to_host()?.wait()
    }

    /// Starts copying to the host.
    ///
    /// # Errors
    /// When the buffer is deleted.
    pub fn start_to_host(&self) -> Result<HostCopy> {
        let rank = self.dims()?.len() as i64;
        // Device layouts may be anything, tiles included: say that the host wants row-major.
        let minor_to_major: Vec<i64> = (0..rank).rev().collect();
        let mut layout = sys::TiledLayout {
            struct_size: size_of::<sys::TiledLayout>(),
            extension_start: ptr::null_mut(),
            tiled_struct_size: sys::TILED_STRUCT_SIZE,
            tiled_extension_start: ptr::null_mut(),
            minor_to_major: minor_to_major.as_ptr(),
            minor_to_major_size: minor_to_major.len(),
            tile_dims: ptr::null(),
            tile_dim_sizes: ptr::null(),
            num_tiles: 0,
            kind: 0,
        };
        let mut args = sys::BufferToHost {
            buffer: self.raw(),
            host_layout: &raw mut layout,
            ..Call::zeroed()
        };
        // SAFETY: without `dst` the call only answers how many bytes it needs.
        unsafe { self.inner.client.call(&mut args)? };
        let mut data = vec![0_u8; args.dst_size].into_boxed_slice();
        args.dst = data.as_mut_ptr().cast();
        // SAFETY: `data` has `dst_size` bytes and `HostCopy` keeps it until the event fires.
        unsafe {
            self.inner.client.call(&mut args)?;
            let event =
                Event::from_raw(&self.inner.client.plugin, args.event, sys::BufferToHost::NAME)?;
            Ok(HostCopy { event: Some(event), data, _source: self.clone() })
        }
    }
}

/// A copy to the host that is on its way.
#[derive(Debug)]
pub struct HostCopy {
    /// `None` once waited for.
    event: Option<Event>,
    data: Box<[u8]>,
    _source: Buffer,
}

impl HostCopy {
    /// Whether the copy has arrived, without waiting.
    ///
    /// # Errors
    /// When the plugin refuses.
    pub fn is_ready(&self) -> Result<bool> {
        self.event.as_ref().map_or(Ok(true), Event::is_ready)
    }

    /// Waits for the copy.
    ///
    /// # Errors
    /// The error of the execution that should have made the contents.
    pub fn wait(mut self) -> Result<Vec<u8>> {
        if let Some(event) = self.event.take() {
            event.wait()?;
        }
        Ok(std::mem::take(&mut self.data).into_vec())
    }
}

impl Drop for HostCopy {
    fn drop(&mut self) {
        // The plugin writes into `data` until the event fires.
        if let Some(event) = self.event.take() {
            let _failed_copies_write_nothing_more = event.wait();
        }
    }
}
