//! Calling a Rust function from inside a compiled program, through XLA's FFI.
use super::client::byte_size;
use super::element::ElementType;
use super::error::{Code, Error, Result};
use super::plugin::Plugin;
use super::sys::ffi::{self, CallFrame, FfiError};
use super::{api, sys};
use std::collections::{HashMap, HashSet};
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};

type Function = dyn Fn(&mut HostFrame<'_>) -> std::result::Result<(), String> + Send + Sync;

/// Functions by the number that programs call them by.
static FUNCTIONS: LazyLock<RwLock<HashMap<i64, Arc<Function>>>> = LazyLock::new(RwLock::default);
/// Plugins that know the handler.
static REGISTERED: LazyLock<Mutex<HashSet<PathBuf>>> = LazyLock::new(Mutex::default);
static NEXT_ID: AtomicI64 = AtomicI64::new(1);

/// A Rust function that programs on CPU plugins can call, as long as this value lives.
///
/// ```no_run
/// use systole::pjrt::{HostCall, Plugin};
///
/// # fn main() -> systole::pjrt::Result<()> {
/// let call = HostCall::new(&Plugin::cpu()?, |frame| {
///     frame.outputs[0].bytes.copy_from_slice(frame.inputs[0].bytes);
///     Ok(())
/// })?;
/// let op = format!(
///     "stablehlo.custom_call @{}(%x) {{api_version = 4 : i32, backend_config = {}}}",
///     HostCall::TARGET,
///     call.backend_config(),
/// );
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct HostCall {
    id: i64,
}

impl HostCall {
    /// The `call_target_name` of the custom call.
    pub const TARGET: &'static str = "systole_host_call";

    /// Makes `function` callable. It runs on threads of the plugin, possibly on several at once; an
    /// error that it returns, and a panic, become the error of the execution.
    ///
    /// # Errors
    /// When the plugin has no FFI, or refuses the handler.
    pub fn new(
        plugin: &Plugin,
        function: impl Fn(&mut HostFrame<'_>) -> std::result::Result<(), String> + Send + Sync + 'static,
    ) -> Result<Self> {
        register(plugin)?;
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        FUNCTIONS.write().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::new(function));
        Ok(Self { id })
    }

    /// The number of the function in this process.
    pub fn id(&self) -> i64 {
        self.id
    }

    /// The dictionary that tells the handler which function is meant.
    pub fn backend_config(&self) -> String {
        format!("{{id = {} : i64}}", self.id)
    }
}

impl Drop for HostCall {
    fn drop(&mut self) {
        FUNCTIONS.write().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

/// What one call brings.
#[derive(Debug)]
pub struct HostFrame<'a> {
    /// The operands.
    pub inputs: Vec<HostArray<'a>>,
    /// The results, to be written in full.
    pub outputs: Vec<HostArrayMut<'a>>,
}

/// An operand: dense and row-major.
#[derive(Debug)]
pub struct HostArray<'a> {
    /// Element type.
    pub element_type: ElementType,
    /// Shape.
    pub dims: &'a [i64],
    /// Contents, aligned to 64 bytes.
    pub bytes: &'a [u8],
}

/// A result: dense and row-major.
#[derive(Debug)]
pub struct HostArrayMut<'a> {
    /// Element type.
    pub element_type: ElementType,
    /// Shape.
    pub dims: &'a [i64],
    /// Contents, aligned to 64 bytes; what they hold before is anything.
    pub bytes: &'a mut [u8],
}

/// Gives the plugin our handler, once.
fn register(plugin: &Plugin) -> Result<()> {
    const CALL: &str = ffi::REGISTER_NAME;
    const PLATFORM: &str = "Host";
    let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    if registered.contains(plugin.path()) {
        return Ok(());
    }
    let missing = || {
        let text = format!("{} cannot call functions of its host", plugin.path().display());
        Error::new(Code::Unimplemented, CALL, text)
    };
    let extension = plugin.api.extension(ffi::EXTENSION_FFI).ok_or_else(missing)?;
    // SAFETY: an extension of this type has this layout, and lives as long as the plugin.
    let extension = unsafe { extension.cast::<ffi::FfiExtension>().as_ref() };
    let register = extension.register_handler.ok_or_else(missing)?;
    let handler: ffi::Handler = handle;
    let mut args = ffi::RegisterHandler {
        struct_size: size_of::<ffi::RegisterHandler>(),
        target_name: HostCall::TARGET.as_ptr().cast(),
        target_name_size: HostCall::TARGET.len(),
        handler: handler as *mut std::ffi::c_void,
        platform_name: PLATFORM.as_ptr().cast(),
        platform_name_size: PLATFORM.len(),
        traits: 0,
    };
    // SAFETY: names outlive the call; the handler is a function and lives for ever. The plugin
    // passes ownership of the error, if any.
    unsafe { plugin.api.take_error(register(&raw mut args), CALL)? };
    registered.insert(plugin.path().to_path_buf());
    Ok(())
}

/// The one handler: asked for its version when it is registered, then called per execution.
unsafe extern "C" fn handle(frame: *mut CallFrame) -> *mut FfiError {
    // SAFETY: XLA passes a valid frame that lives until the handler returns.
    let Some(frame) = (unsafe { frame.as_ref() }) else { return std::ptr::null_mut() };
    // SAFETY: as above.
    if unsafe { answer_metadata(frame) } {
        return std::ptr::null_mut();
    }
    // Unwinding into C++ is undefined behaviour.
    // SAFETY: as above.
    let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { dispatch(frame) }))
        .unwrap_or_else(|_panic| Err("the host function panicked".to_owned()));
    match outcome {
        Ok(()) => std::ptr::null_mut(),
        // SAFETY: as above.
        Err(message) => unsafe { make_error(frame, message) },
    }
}

/// Whether this call only asks for the FFI version, which is then filled in.
///
/// # Safety
/// `frame` is a frame of XLA.
unsafe fn answer_metadata(frame: &CallFrame) -> bool {
    let mut node = frame.extension_start;
    // SAFETY: nodes of the list are valid during the call.
    while let Some(base) = unsafe { node.as_ref() } {
        if base.kind == ffi::EXTENSION_METADATA {
            // SAFETY: an extension of this type has this layout, and its metadata is ours to fill.
            unsafe {
                let metadata = (*node.cast::<ffi::MetadataExtension>()).metadata;
                // A version that differs from the plugin's makes it ignore the handler.
                (*metadata).version.major = (*frame.api).version.major;
                (*metadata).version.minor = (*frame.api).version.minor;
            }
            return true;
        }
        node = base.next;
    }
    false
}

/// Finds the function and calls it.
///
/// # Safety
/// `frame` is a frame of XLA in its execute stage.
unsafe fn dispatch(frame: &CallFrame) -> std::result::Result<(), String> {
    // SAFETY: passed on to the caller.
    let id = unsafe { id_attribute(&frame.attrs) }
        .ok_or_else(|| "the call has no attribute `id : i64`".to_owned())?;
    let function = FUNCTIONS
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .get(&id)
        .cloned()
        .ok_or_else(|| format!("host function {id} is gone: its HostCall was dropped"))?;
    // SAFETY: passed on to the caller.
    let (inputs, outputs) = unsafe { (arrays(&frame.args)?, arrays(&frame.rets)?) };
    refuse_overlap(&inputs, &outputs)?;
    let mut frame = HostFrame {
        inputs: inputs
            .iter()
            .map(|raw| HostArray {
                element_type: raw.element_type,
                dims: raw.dims,
                // SAFETY: XLA guarantees the memory for the time of the call, and no result
                // overlaps it.
                bytes: unsafe { api::slice(raw.data, raw.n_bytes) },
            })
            .collect(),
        outputs: outputs
            .iter()
            .map(|raw| HostArrayMut {
                element_type: raw.element_type,
                dims: raw.dims,
                // SAFETY: as above, and results do not overlap each other.
                bytes: unsafe { slice_mut(raw.data, raw.n_bytes) },
            })
            .collect(),
    };
    function(&mut frame)
}

/// The integer attribute `id`.
///
/// # Safety
/// `attrs` is part of a frame of XLA.
unsafe fn id_attribute(attrs: &ffi::Attrs) -> Option<i64> {
    let n = usize::try_from(attrs.size).ok()?;
    // SAFETY: the lists have `size` entries; a scalar attribute points to a scalar of its type.
    unsafe {
        let types = api::slice(attrs.types, n);
        let names = api::slice(attrs.names, n);
        let values = api::slice(attrs.values, n);
        for ((&ty, &name), &value) in types.iter().zip(names).zip(values) {
            if ty == ffi::ATTR_SCALAR && api::text((*name).data, (*name).len) == "id" {
                let scalar = &*value.cast::<ffi::Scalar>();
                return (scalar.dtype == ffi::DATA_S64)
                    .then(|| scalar.value.cast::<i64>().read_unaligned());
            }
        }
        None
    }
}

/// An array of the frame before it is lent out.
struct RawArray<'a> {
    element_type: ElementType,
    dims: &'a [i64],
    data: *mut u8,
    n_bytes: usize,
}

/// # Safety
/// `buffers` is part of a frame of XLA.
unsafe fn arrays(buffers: &ffi::Buffers) -> std::result::Result<Vec<RawArray<'_>>, String> {
    let n = usize::try_from(buffers.size).unwrap_or_default();
    // SAFETY: both lists have `size` entries.
    let (types, values) = unsafe { (api::slice(buffers.types, n), api::slice(buffers.values, n)) };
    types
        .iter()
        .zip(values)
        .map(|(&ty, &value)| {
            if ty != ffi::TYPE_BUFFER {
                return Err(format!("an operand or result is no array (type {ty})"));
            }
            // SAFETY: an entry of this type points to a buffer that lives during the call.
            let buffer = unsafe { &*value };
            let element_type = ElementType::from_xla(buffer.dtype)
                .ok_or_else(|| format!("unknown element type {}", buffer.dtype))?;
            let rank = usize::try_from(buffer.rank).unwrap_or_default();
            // SAFETY: `dims` has `rank` entries.
            let dims = unsafe { api::slice(buffer.dims, rank) };
            let n_bytes = byte_size(element_type, dims).map_err(|error| error.message)?;
            Ok(RawArray { element_type, dims, data: buffer.data.cast(), n_bytes })
        })
        .collect()
}

/// XLA may place a result in the memory of an operand if the call says so; then they cannot be lent
/// out together.
fn refuse_overlap(
    inputs: &[RawArray<'_>],
    outputs: &[RawArray<'_>],
) -> std::result::Result<(), String> {
    let range = |array: &RawArray<'_>| {
        let start = array.data as usize;
        start..start + array.n_bytes
    };
    for (idx, output) in outputs.iter().enumerate() {
        let mine = range(output);
        let others = inputs.iter().chain(&outputs[..idx]).map(range);
        if others.into_iter().any(|other| other.start < mine.end && mine.start < other.end) {
            return Err(format!("result {idx} shares memory with another array"));
        }
    }
    Ok(())
}

/// # Safety
/// `data` is null, or points to `len` bytes that nothing else refers to for `'a`.
unsafe fn slice_mut<'a>(data: *mut u8, len: usize) -> &'a mut [u8] {
    if data.is_null() || len == 0 {
        return &mut [];
    }
    // SAFETY: passed on to the caller.
    unsafe { std::slice::from_raw_parts_mut(data, len) }
}

/// # Safety
/// `frame` is a frame of XLA.
unsafe fn make_error(frame: &CallFrame, message: String) -> *mut FfiError {
    let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
    let mut args = ffi::ErrorCreate {
        struct_size: size_of::<ffi::ErrorCreate>(),
        extension_start: std::ptr::null_mut(),
        message: message.as_ptr(),
        code: sys::CODE_INTERNAL,
    };
    // SAFETY: the table is valid during the call; XLA copies the message.
    unsafe {
        match (*frame.api).error_create {
            Some(create) => create(&raw mut args),
            None => std::ptr::null_mut(),
        }
    }
}
