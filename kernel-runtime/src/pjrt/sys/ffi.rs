//! The XLA FFI: how a compiled program calls a function of this process. Layouts are those of XLA
//! FFI 0.3; between 0.2 and 0.4 none of these structs changed.
use super::RawError;
use std::ffi::{c_char, c_int, c_void};

/// The head of every PJRT extension.
#[repr(C)]
pub(crate) struct ExtensionBase {
    pub(crate) struct_size: usize,
    pub(crate) kind: u32,
    pub(crate) next: *mut ExtensionBase,
}

/// Type of [`FfiExtension`].
pub(crate) const EXTENSION_FFI: u32 = 5;

/// `PJRT_FFI_Extension`.
#[repr(C)]
pub(crate) struct FfiExtension {
    pub(crate) base: ExtensionBase,
    pub(crate) type_register: *mut c_void,
    pub(crate) user_data_add: *mut c_void,
    pub(crate) register_handler:
        Option<unsafe extern "C" fn(*mut RegisterHandler) -> *mut RawError>,
}

/// `PJRT_FFI_Register_Handler_Args`, which has no `extension_start`.
#[repr(C)]
pub(crate) struct RegisterHandler {
    pub(crate) struct_size: usize,
    pub(crate) target_name: *const c_char,
    pub(crate) target_name_size: usize,
    pub(crate) handler: *mut c_void,
    pub(crate) platform_name: *const c_char,
    pub(crate) platform_name_size: usize,
    pub(crate) traits: u32,
}

/// Name of the function in [`FfiExtension::register_handler`], for errors.
pub(crate) const REGISTER_NAME: &str = "PJRT_FFI_Register_Handler";

/// `XLA_FFI_Handler`.
pub(crate) type Handler = unsafe extern "C" fn(*mut CallFrame) -> *mut FfiError;

/// `XLA_FFI_Error`.
#[repr(C)]
pub(crate) struct FfiError {
    _private: [u8; 0],
}

/// `XLA_FFI_CallFrame`, up to the members that we read.
#[repr(C)]
pub(crate) struct CallFrame {
    pub(crate) struct_size: usize,
    pub(crate) extension_start: *mut FfiExtensionBase,
    pub(crate) api: *const FfiApi,
    pub(crate) ctx: *mut c_void,
    pub(crate) stage: u32,
    pub(crate) args: Buffers,
    pub(crate) rets: Buffers,
    pub(crate) attrs: Attrs,
}

/// `XLA_FFI_Args` and `XLA_FFI_Rets`.
#[repr(C)]
pub(crate) struct Buffers {
    pub(crate) struct_size: usize,
    pub(crate) extension_start: *mut c_void,
    pub(crate) size: i64,
    pub(crate) types: *const u32,
    pub(crate) values: *const *mut FfiBuffer,
}

/// `XLA_FFI_ArgType_BUFFER` and `XLA_FFI_RetType_BUFFER`.
pub(crate) const TYPE_BUFFER: u32 = 1;

/// `XLA_FFI_Buffer`.
#[repr(C)]
pub(crate) struct FfiBuffer {
    pub(crate) struct_size: usize,
    pub(crate) extension_start: *mut c_void,
    pub(crate) dtype: u32,
    pub(crate) data: *mut c_void,
    pub(crate) rank: i64,
    pub(crate) dims: *const i64,
}

/// `XLA_FFI_Attrs`.
#[repr(C)]
pub(crate) struct Attrs {
    pub(crate) struct_size: usize,
    pub(crate) extension_start: *mut c_void,
    pub(crate) size: i64,
    pub(crate) types: *const u32,
    pub(crate) names: *const *const ByteSpan,
    pub(crate) values: *const *const c_void,
}

/// `XLA_FFI_AttrType_SCALAR`.
pub(crate) const ATTR_SCALAR: u32 = 3;
/// `XLA_FFI_DataType_S64`.
pub(crate) const DATA_S64: u32 = 5;

/// `XLA_FFI_ByteSpan`.
#[repr(C)]
pub(crate) struct ByteSpan {
    pub(crate) data: *const c_char,
    pub(crate) len: usize,
}

/// `XLA_FFI_Scalar`.
#[repr(C)]
pub(crate) struct Scalar {
    pub(crate) dtype: u32,
    pub(crate) value: *const c_void,
}

/// `XLA_FFI_Extension_Base`.
#[repr(C)]
pub(crate) struct FfiExtensionBase {
    pub(crate) struct_size: usize,
    pub(crate) kind: u32,
    pub(crate) next: *mut FfiExtensionBase,
}

/// Type of [`MetadataExtension`].
pub(crate) const EXTENSION_METADATA: u32 = 1;

/// `XLA_FFI_Metadata_Extension`.
#[repr(C)]
pub(crate) struct MetadataExtension {
    pub(crate) base: FfiExtensionBase,
    pub(crate) metadata: *mut Metadata,
}

/// `XLA_FFI_Metadata`, up to the members that we write.
#[repr(C)]
pub(crate) struct Metadata {
    pub(crate) struct_size: usize,
    pub(crate) version: Version,
}

/// `XLA_FFI_Api_Version`.
#[repr(C)]
pub(crate) struct Version {
    pub(crate) struct_size: usize,
    pub(crate) extension_start: *mut c_void,
    pub(crate) major: c_int,
    pub(crate) minor: c_int,
}

/// The head of `XLA_FFI_Api`.
#[repr(C)]
pub(crate) struct FfiApi {
    pub(crate) struct_size: usize,
    pub(crate) extension_start: *mut c_void,
    pub(crate) version: Version,
    pub(crate) internal_api: *mut c_void,
    pub(crate) error_create: Option<unsafe extern "C" fn(*mut ErrorCreate) -> *mut FfiError>,
}

/// `XLA_FFI_Error_Create_Args`.
#[repr(C)]
pub(crate) struct ErrorCreate {
    pub(crate) struct_size: usize,
    pub(crate) extension_start: *mut c_void,
    /// A C string.
    pub(crate) message: *const c_char,
    pub(crate) code: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn keeps_the_layout_of_the_c_header() {
        assert_eq!(offset_of!(CallFrame, args), 40);
        assert_eq!(offset_of!(CallFrame, rets), 80);
        assert_eq!(offset_of!(CallFrame, attrs), 120);
        assert_eq!(size_of::<CallFrame>(), 168);
        assert_eq!(size_of::<FfiBuffer>(), 48);
        assert_eq!(offset_of!(FfiApi, error_create), 48);
        assert_eq!(offset_of!(MetadataExtension, metadata), 24);
        assert_eq!(offset_of!(Metadata, version), 8);
        assert_eq!(offset_of!(RegisterHandler, traits), 48);
        assert_eq!(size_of::<FfiExtension>(), 48);
    }
}
