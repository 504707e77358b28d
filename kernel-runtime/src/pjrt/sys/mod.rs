//! The PJRT C ABI: the header of the function table, and the argument structs of the calls we make.
//!
//! Nothing here allocates, frees or checks; `api.rs` does. The structs follow the PJRT 0.114
//! layout. Between 0.81 and 0.116 no field of them moved; structs only grew at their end, so a
//! zero-filled struct of ours is right for every plugin in that range
//! (`tests/pjrt/abi.rs` pins the offsets).
mod calls;
pub(crate) mod ffi;

pub(crate) use calls::*;
use std::ffi::{c_char, c_void};

/// A type that only the plugin can see into.
macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        $($(#[$doc])* #[repr(C)] pub(crate) struct $name { _private: [u8; 0] })*
    };
}

opaque! {
    /// `PJRT_Error`.
    RawError,
    /// `PJRT_Event`.
    RawEvent,
    /// `PJRT_Client`.
    RawClient,
    /// `PJRT_Device`.
    RawDevice,
    /// `PJRT_DeviceDescription`.
    RawDescription,
    /// `PJRT_Memory`.
    RawMemory,
    /// `PJRT_Buffer`.
    RawBuffer,
    /// `PJRT_Executable`.
    RawExecutable,
    /// `PJRT_LoadedExecutable`.
    RawLoaded,
    /// `PJRT_SerializedExecutable`.
    RawSerialized,
    /// `PJRT_TopologyDescription`.
    RawTopology,
}

/// The head of `PJRT_Api`. The table of function pointers follows it at [`TABLE_OFFSET`].
#[repr(C)]
pub(crate) struct ApiHeader {
    /// Bytes of the table that the plugin filled: slots beyond it do not exist.
    pub(crate) struct_size: usize,
    /// First node of the list of extensions, or null.
    pub(crate) extension_start: *mut ffi::ExtensionBase,
    version_struct_size: usize,
    version_extension_start: *mut c_void,
    /// Major version of the API.
    pub(crate) major: i32,
    /// Minor version of the API.
    pub(crate) minor: i32,
}

/// Where the table of function pointers begins inside `PJRT_Api`.
pub(crate) const TABLE_OFFSET: usize = size_of::<ApiHeader>();

/// Every table entry but `PJRT_Error_Destroy` and `PJRT_Error_Message` has this type.
pub(crate) type CallFn = unsafe extern "C" fn(*mut c_void) -> *mut RawError;

/// `PJRT_NamedValue`: a name and a tagged value.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct NamedValue {
    pub(crate) struct_size: usize,
    pub(crate) extension_start: *mut c_void,
    pub(crate) name: *const c_char,
    pub(crate) name_size: usize,
    pub(crate) kind: u32,
    pub(crate) value: NamedValueUnion,
    pub(crate) value_size: usize,
}

/// The untagged part of [`NamedValue`].
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) union NamedValueUnion {
    pub(crate) string: *const c_char,
    pub(crate) int64: i64,
    pub(crate) int64_list: *const i64,
    pub(crate) float: f32,
    pub(crate) boolean: bool,
}

/// Tags of [`NamedValue`].
pub(crate) mod named_kind {
    pub(crate) const STRING: u32 = 0;
    pub(crate) const INT64: u32 = 1;
    pub(crate) const INT64_LIST: u32 = 2;
    pub(crate) const FLOAT: u32 = 3;
    pub(crate) const BOOL: u32 = 4;
}

/// `PJRT_Program`: code and the name of its format.
#[repr(C)]
pub(crate) struct Program {
    pub(crate) struct_size: usize,
    pub(crate) extension_start: *mut c_void,
    pub(crate) code: *mut c_char,
    pub(crate) code_size: usize,
    pub(crate) format: *const c_char,
    pub(crate) format_size: usize,
}

/// `PJRT_ExecuteOptions`.
#[repr(C)]
pub(crate) struct ExecuteOptions {
    pub(crate) struct_size: usize,
    pub(crate) extension_start: *mut c_void,
    pub(crate) send_callbacks: *mut *mut c_void,
    pub(crate) recv_callbacks: *mut *mut c_void,
    pub(crate) num_send_ops: usize,
    pub(crate) num_recv_ops: usize,
    pub(crate) launch_id: i32,
    pub(crate) non_donatable: *const i64,
    pub(crate) num_non_donatable: usize,
    pub(crate) context: *mut c_void,
    pub(crate) call_location: *const c_char,
    pub(crate) num_tasks: usize,
    pub(crate) task_ids: *mut i32,
    pub(crate) incarnation_ids: *mut i64,
    pub(crate) multi_slice_config: *mut c_void,
    pub(crate) major_to_minor_callbacks: bool,
    pub(crate) hlo_output_callbacks: *mut c_void,
    pub(crate) num_hlo_output_callbacks: usize,
}

/// `PJRT_Buffer_MemoryLayout` with its tiled variant, the only one we write.
#[repr(C)]
pub(crate) struct TiledLayout {
    pub(crate) struct_size: usize,
    pub(crate) extension_start: *mut c_void,
    pub(crate) tiled_struct_size: usize,
    pub(crate) tiled_extension_start: *mut c_void,
    pub(crate) minor_to_major: *const i64,
    pub(crate) minor_to_major_size: usize,
    pub(crate) tile_dims: *const i64,
    pub(crate) tile_dim_sizes: *const usize,
    pub(crate) num_tiles: usize,
    /// 0 means tiled.
    pub(crate) kind: u32,
}

/// `INTERNAL` among the status codes, which the FFI shares with PJRT.
pub(crate) const CODE_INTERNAL: u32 = 13;

/// `PJRT_HostBufferSemantics`: the plugin copies before the call returns.
pub(crate) const HOST_IMMUTABLE_ONLY_DURING_CALL: u32 = 0;
/// The plugin may use the memory as it is until it is done with the buffer.
pub(crate) const HOST_IMMUTABLE_ZERO_COPY: u32 = 2;

/// The argument struct of one table entry.
///
/// # Safety
/// The type is `repr(C)`, starts with `struct_size: usize`, is valid when zero-filled, and is what
/// the entry at `SLOT` takes.
pub(crate) unsafe trait Call: Sized {
    /// Position in the function table.
    const SLOT: usize;
    /// Name of the C function.
    const NAME: &'static str;

    /// A struct with its size set and all else zero, for use with `..Call::zeroed()`.
    fn zeroed() -> Self {
        // SAFETY: implementors are valid when zero-filled, and begin with `struct_size`.
        unsafe {
            let mut args: Self = std::mem::zeroed();
            (&raw mut args).cast::<usize>().write(size_of::<Self>());
            args
        }
    }
}

/// The type of `PJRT_Error_Destroy` and `PJRT_Error_Message`.
pub(crate) type VoidFn = unsafe extern "C" fn(*mut c_void);

/// The size of the tiled variant inside [`TiledLayout`].
pub(crate) const TILED_STRUCT_SIZE: usize = 56;

impl ExecuteOptions {
    /// Options with nothing but a list of arguments that must not be donated, which they borrow.
    pub(crate) fn with_kept(keep: &[i64]) -> Self {
        Self {
            struct_size: size_of::<Self>(),
            extension_start: std::ptr::null_mut(),
            send_callbacks: std::ptr::null_mut(),
            recv_callbacks: std::ptr::null_mut(),
            num_send_ops: 0,
            num_recv_ops: 0,
            launch_id: 0,
            non_donatable: keep.as_ptr(),
            num_non_donatable: keep.len(),
            context: std::ptr::null_mut(),
            call_location: std::ptr::null(),
            num_tasks: 0,
            task_ids: std::ptr::null_mut(),
            incarnation_ids: std::ptr::null_mut(),
            multi_slice_config: std::ptr::null_mut(),
            major_to_minor_callbacks: false,
            hlo_output_callbacks: std::ptr::null_mut(),
            num_hlo_output_callbacks: 0,
        }
    }
}

impl Program {
    /// No code: what a call that fills it in wants.
    pub(crate) fn empty() -> Self {
        Self {
            struct_size: size_of::<Self>(),
            extension_start: std::ptr::null_mut(),
            code: std::ptr::null_mut(),
            code_size: 0,
            format: std::ptr::null(),
            format_size: 0,
        }
    }
}
