//! Argument structs, one row per entry of the function table that we call.
use super::*;
use std::ffi::c_int;

/// Declares the argument structs of table entries: `slot C_name => Struct { fields after the two
/// common ones }`.
macro_rules! calls {
    ($($slot:literal $c_name:ident => $name:ident { $($field:ident: $ty:ty),* $(,)? })*) => {
        $(
            #[doc = concat!("`", stringify!($c_name), "_Args`.")]
            #[repr(C)]
            #[allow(dead_code, reason = "out fields that a caller does not need still hold their place")]
            pub(crate) struct $name {
                pub(crate) struct_size: usize,
                pub(crate) extension_start: *mut c_void,
                $(pub(crate) $field: $ty,)*
            }

            // SAFETY: `repr(C)`, `struct_size` first, and every field is an integer, a `bool`, a raw
            // pointer or an optional function pointer, all valid as zeros.
            unsafe impl Call for $name {
                const SLOT: usize = $slot;
                const NAME: &'static str = stringify!($c_name);
            }
        )*
    };
}

/// Called once when an event fires; owns the error that it is handed.
pub(crate) type OnReadyFn = unsafe extern "C" fn(*mut RawError, *mut c_void);
/// Frees what `PJRT_Executable_Serialize` returned.
pub(crate) type SerializedDeleter = unsafe extern "C" fn(*mut RawSerialized);

calls! {
    0 PJRT_Error_Destroy => ErrorDestroy { error: *mut RawError }
    1 PJRT_Error_Message => ErrorMessage { error: *const RawError, message: *const c_char, message_size: usize }
    2 PJRT_Error_GetCode => ErrorGetCode { error: *const RawError, code: u32 }
    3 PJRT_Plugin_Initialize => PluginInitialize {}
    4 PJRT_Plugin_Attributes => PluginAttributes { attributes: *const NamedValue, num_attributes: usize }
    5 PJRT_Event_Destroy => EventDestroy { event: *mut RawEvent }
    6 PJRT_Event_IsReady => EventIsReady { event: *mut RawEvent, is_ready: bool }
    8 PJRT_Event_Await => EventAwait { event: *mut RawEvent }
    9 PJRT_Event_OnReady => EventOnReady { event: *mut RawEvent, callback: Option<OnReadyFn>, user_arg: *mut c_void }
    10 PJRT_Client_Create => ClientCreate {
        create_options: *const NamedValue, num_options: usize,
        kv_get_callback: *mut c_void, kv_get_user_arg: *mut c_void,
        kv_put_callback: *mut c_void, kv_put_user_arg: *mut c_void,
        client: *mut RawClient,
        kv_try_get_callback: *mut c_void, kv_try_get_user_arg: *mut c_void,
    }
    11 PJRT_Client_Destroy => ClientDestroy { client: *mut RawClient }
    12 PJRT_Client_PlatformName => ClientPlatformName { client: *mut RawClient, name: *const c_char, name_size: usize }
    14 PJRT_Client_PlatformVersion => ClientPlatformVersion { client: *mut RawClient, version: *const c_char, version_size: usize }
    15 PJRT_Client_Devices => ClientDevices { client: *mut RawClient, devices: *const *mut RawDevice, num_devices: usize }
    16 PJRT_Client_AddressableDevices => ClientAddressableDevices { client: *mut RawClient, devices: *const *mut RawDevice, num_devices: usize }
    20 PJRT_Client_Compile => ClientCompile {
        client: *mut RawClient, program: *const Program,
        compile_options: *const c_char, compile_options_size: usize, executable: *mut RawLoaded,
    }
    22 PJRT_Client_BufferFromHostBuffer => BufferFromHost {
        client: *mut RawClient, data: *const c_void, element_type: u32, dims: *const i64, num_dims: usize,
        byte_strides: *const i64, num_byte_strides: usize, semantics: u32, device: *mut RawDevice,
        memory: *mut RawMemory, device_layout: *mut TiledLayout, done_with_host_buffer: *mut RawEvent,
        buffer: *mut RawBuffer,
    }
    23 PJRT_DeviceDescription_Id => DescriptionId { description: *mut RawDescription, id: c_int }
    25 PJRT_DeviceDescription_Attributes => DescriptionAttributes { description: *mut RawDescription, num_attributes: usize, attributes: *const NamedValue }
    26 PJRT_DeviceDescription_Kind => DescriptionKind { description: *mut RawDescription, kind: *const c_char, kind_size: usize }
    28 PJRT_DeviceDescription_ToString => DescriptionToString { description: *mut RawDescription, text: *const c_char, text_size: usize }
    29 PJRT_Device_GetDescription => DeviceGetDescription { device: *mut RawDevice, description: *mut RawDescription }
    30 PJRT_Device_IsAddressable => DeviceIsAddressable { device: *mut RawDevice, is_addressable: bool }
    34 PJRT_Device_MemoryStats => DeviceMemoryStats {
        device: *mut RawDevice, bytes_in_use: i64,
        peak_bytes_in_use: i64, peak_bytes_in_use_is_set: bool,
        num_allocs: i64, num_allocs_is_set: bool,
        largest_alloc_size: i64, largest_alloc_size_is_set: bool,
        bytes_limit: i64, bytes_limit_is_set: bool,
        bytes_reserved: i64, bytes_reserved_is_set: bool,
        peak_bytes_reserved: i64, peak_bytes_reserved_is_set: bool,
        bytes_reservable_limit: i64, bytes_reservable_limit_is_set: bool,
        largest_free_block_bytes: i64, largest_free_block_bytes_is_set: bool,
        pool_bytes: i64, pool_bytes_is_set: bool,
        peak_pool_bytes: i64, peak_pool_bytes_is_set: bool,
        peak_allocated_bytes: i64, peak_allocated_bytes_is_set: bool,
    }
    40 PJRT_Executable_Destroy => ExecutableDestroy { executable: *mut RawExecutable }
    41 PJRT_Executable_Name => ExecutableName { executable: *mut RawExecutable, name: *const c_char, name_size: usize }
    44 PJRT_Executable_NumOutputs => ExecutableNumOutputs { executable: *mut RawExecutable, num_outputs: usize }
    45 PJRT_Executable_SizeOfGeneratedCodeInBytes => ExecutableCodeSize { executable: *mut RawExecutable, size_in_bytes: i64 }
    46 PJRT_Executable_GetCostAnalysis => ExecutableCostAnalysis { executable: *mut RawExecutable, num_properties: usize, properties: *const NamedValue }
    48 PJRT_Executable_OptimizedProgram => ExecutableOptimizedProgram { executable: *mut RawExecutable, program: *mut Program }
    49 PJRT_Executable_Serialize => ExecutableSerialize {
        executable: *const RawExecutable, bytes: *const c_char, bytes_size: usize,
        serialized: *mut RawSerialized, deleter: Option<SerializedDeleter>,
    }
    50 PJRT_LoadedExecutable_Destroy => LoadedDestroy { executable: *mut RawLoaded }
    51 PJRT_LoadedExecutable_GetExecutable => LoadedGetExecutable { loaded: *mut RawLoaded, executable: *mut RawExecutable }
    52 PJRT_LoadedExecutable_AddressableDevices => LoadedAddressableDevices { executable: *mut RawLoaded, devices: *const *mut RawDevice, num_devices: usize }
    55 PJRT_LoadedExecutable_Execute => LoadedExecute {
        executable: *mut RawLoaded, options: *mut ExecuteOptions,
        argument_lists: *const *const *mut RawBuffer, num_devices: usize, num_args: usize,
        output_lists: *const *mut *mut RawBuffer, device_complete_events: *mut *mut RawEvent,
        execute_device: *mut RawDevice,
    }
    56 PJRT_Executable_DeserializeAndLoad => DeserializeAndLoad {
        client: *mut RawClient, bytes: *const c_char, bytes_size: usize, loaded: *mut RawLoaded,
        overridden_options: *const c_char, overridden_options_size: usize, load_options: *mut c_void,
    }
    58 PJRT_Buffer_Destroy => BufferDestroy { buffer: *mut RawBuffer }
    59 PJRT_Buffer_ElementType => BufferElementType { buffer: *mut RawBuffer, element_type: u32 }
    60 PJRT_Buffer_Dimensions => BufferDimensions { buffer: *mut RawBuffer, dims: *const i64, num_dims: usize }
    64 PJRT_Buffer_OnDeviceSizeInBytes => BufferDeviceSize { buffer: *mut RawBuffer, size_in_bytes: usize }
    65 PJRT_Buffer_Device => BufferDevice { buffer: *mut RawBuffer, device: *mut RawDevice }
    67 PJRT_Buffer_Delete => BufferDelete { buffer: *mut RawBuffer }
    68 PJRT_Buffer_IsDeleted => BufferIsDeleted { buffer: *mut RawBuffer, is_deleted: bool }
    69 PJRT_Buffer_CopyToDevice => BufferCopyToDevice { buffer: *mut RawBuffer, device: *mut RawDevice, copy: *mut RawBuffer }
    70 PJRT_Buffer_ToHostBuffer => BufferToHost {
        buffer: *mut RawBuffer, host_layout: *mut TiledLayout, dst: *mut c_void, dst_size: usize, event: *mut RawEvent,
    }
    72 PJRT_Buffer_ReadyEvent => BufferReadyEvent { buffer: *mut RawBuffer, event: *mut RawEvent }
    82 PJRT_TopologyDescription_Create => TopologyCreate {
        name: *const c_char, name_size: usize, create_options: *const NamedValue, num_options: usize, topology: *mut RawTopology,
    }
    83 PJRT_TopologyDescription_Destroy => TopologyDestroy { topology: *mut RawTopology }
    84 PJRT_TopologyDescription_PlatformName => TopologyPlatformName { topology: *mut RawTopology, name: *const c_char, name_size: usize }
    85 PJRT_TopologyDescription_PlatformVersion => TopologyPlatformVersion { topology: *mut RawTopology, version: *const c_char, version_size: usize }
    86 PJRT_TopologyDescription_GetDeviceDescriptions => TopologyDescriptions {
        topology: *mut RawTopology, descriptions: *const *mut RawDescription, num_descriptions: usize,
    }
    89 PJRT_Compile => Compile {
        topology: *const RawTopology, program: *const Program, compile_options: *const c_char,
        compile_options_size: usize, client: *mut RawClient, executable: *mut RawExecutable,
    }
    90 PJRT_Executable_OutputElementTypes => ExecutableOutputTypes { executable: *mut RawExecutable, types: *const u32, num_types: usize }
    91 PJRT_Executable_OutputDimensions => ExecutableOutputDims { executable: *mut RawExecutable, num_outputs: usize, dims: *const i64, dim_sizes: *const usize }
    94 PJRT_Executable_Fingerprint => ExecutableFingerprint { executable: *mut RawExecutable, fingerprint: *const c_char, fingerprint_size: usize }
    96 PJRT_Executable_GetCompiledMemoryStats => ExecutableMemoryStats {
        executable: *mut RawExecutable, generated_code: i64, argument: i64, output: i64, alias: i64, temp: i64,
        host_generated_code: i64, host_argument: i64, host_output: i64, host_alias: i64, host_temp: i64,
        peak_memory: i64, total: i64, total_allocation: i64, indefinite_allocations: i64, peak_unpadded_heap: i64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// Offsets from a layout that clang computed from the PJRT 0.114 header.
    #[test]
    fn keeps_the_layout_of_the_c_header() {
        assert_eq!(size_of::<ClientCreate>(), 88);
        assert_eq!(offset_of!(ClientCreate, client), 64);
        assert_eq!(size_of::<BufferFromHost>(), 120);
        assert_eq!(offset_of!(BufferFromHost, dims), 40);
        assert_eq!(offset_of!(BufferFromHost, device), 80);
        assert_eq!(offset_of!(BufferFromHost, buffer), 112);
        assert_eq!(size_of::<LoadedExecute>(), 80);
        assert_eq!(size_of::<ExecuteOptions>(), 144);
        assert_eq!(offset_of!(ExecuteOptions, non_donatable), 56);
        assert_eq!(offset_of!(ExecuteOptions, num_hlo_output_callbacks), 136);
        assert_eq!(size_of::<DeserializeAndLoad>(), 72);
        assert_eq!(size_of::<ExecutableSerialize>(), 56);
        assert_eq!(size_of::<ExecutableMemoryStats>(), 144);
        assert_eq!(offset_of!(DeviceMemoryStats, bytes_limit), 80);
        assert_eq!(offset_of!(DeviceMemoryStats, peak_allocated_bytes_is_set), 200);
        assert_eq!(offset_of!(TiledLayout, kind), 72);
        assert_eq!(size_of::<NamedValue>(), 56);
        assert_eq!(offset_of!(NamedValue, value), 40);
        assert_eq!(size_of::<Program>(), 48);
        assert_eq!(TABLE_OFFSET, 40);
    }
}
