//! One loaded plugin: its function table, and the single place where table entries are called.
use super::elf;
use super::error::{Code, Error, Result};
use super::sys::ffi::ExtensionBase;
use super::sys::{self, Call};
use std::ffi::{c_char, c_void};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

/// The oldest minor version whose struct layout was checked against ours.
pub(crate) const OLDEST_MINOR: i32 = 81;

/// The function table of a plugin that stays loaded until the process ends.
#[derive(Debug)]
pub(crate) struct Api {
    header: NonNull<sys::ApiHeader>,
    struct_size: usize,
    path: PathBuf,
}

// SAFETY: the table is constant after the plugin returned it, and PJRT requires its entries to be
// callable from any thread.
unsafe impl Send for Api {}
// SAFETY: as above.
unsafe impl Sync for Api {}

/// What the one exported symbol of a plugin is.
type GetPjrtApi = unsafe extern "C" fn() -> *const sys::ApiHeader;

impl Api {
    /// Loads the library and checks that it speaks a PJRT version we know.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        const CALL: &str = "Plugin::load";
        let shown = path.display();
        let refused = elf::kind(path).ok().and_then(elf::Kind::refusal);
        if let Some(what) = refused {
            let text = format!("cannot load {shown}: {what}");
            return Err(Error::new(Code::InvalidArgument, CALL, text));
        }
        // SAFETY: loading runs the library's initialisers; plugins are trusted code that the user
        // or `./x setup` put there, as with any dynamic library.
        let library = unsafe { libloading::Library::new(path) }.map_err(|cause| {
            Error::new(Code::NotFound, CALL, format!("cannot load {shown}: {}", chain(&cause)))
        })?;
        // SAFETY: `GetPjrtApi` has this signature in every PJRT plugin.
        let get = unsafe { library.get::<GetPjrtApi>("GetPjrtApi") }
            .map(|symbol| *symbol)
            .map_err(|_missing| {
                Error::new(
                    Code::InvalidArgument,
                    CALL,
                    format!("{shown} is a library but no PJRT plugin: it has no symbol GetPjrtApi"),
                )
            })?;
        // SAFETY: the symbol takes no arguments and returns a pointer to a static table.
        let header = unsafe { get() };
        let header = NonNull::new(header.cast_mut()).ok_or_else(|| {
            Error::new(Code::Internal, CALL, format!("GetPjrtApi of {shown} returned null"))
        })?;
        // Plugins start threads and register exit handlers: unloading one is never safe.
        std::mem::forget(library);
        // SAFETY: the pointer is the static table; its head has had this layout in all versions.
        let (struct_size, major, minor) = unsafe {
            let head = header.as_ref();
            (head.struct_size, head.major, head.minor)
        };
        if major != 0 || minor < OLDEST_MINOR {
            return Err(Error::new(
                Code::Unimplemented,
                CALL,
                format!(
                    "{shown} speaks PJRT {major}.{minor}; this toolkit needs 0.{OLDEST_MINOR} or newer within major version 0"
                ),
            ));
        }
        Ok(Self { header, struct_size, path: path.to_path_buf() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn version(&self) -> (i32, i32) {
        // SAFETY: the table lives as long as the process.
        let head = unsafe { self.header.as_ref() };
        (head.major, head.minor)
    }

    /// The extension of this type, if the plugin has it.
    pub(crate) fn extension(&self, kind: u32) -> Option<NonNull<ExtensionBase>> {
        // SAFETY: the table and its extension list live as long as the process.
        let mut node = unsafe { self.header.as_ref() }.extension_start;
        while let Some(extension) = NonNull::new(node) {
            // SAFETY: nodes of the list are valid and constant.
            let base = unsafe { extension.as_ref() };
            if base.kind == kind {
                return Some(extension);
            }
            node = base.next;
        }
        None
    }

    /// The table entry, or an error when the plugin is older than the entry.
    fn entry<C: Call>(&self) -> Result<NonNull<c_void>> {
        let offset = sys::TABLE_OFFSET + C::SLOT * size_of::<*const c_void>();
        let missing = || {
            let (major, minor) = self.version();
            Error::new(
                Code::Unimplemented,
                C::NAME,
                format!("{} (PJRT {major}.{minor}) has no such function", self.path.display()),
            )
        };
        if offset + size_of::<*const c_void>() > self.struct_size {
            return Err(missing());
        }
        // SAFETY: `struct_size` says that the plugin's table reaches beyond `offset`.
        let entry = unsafe { self.header.as_ptr().byte_add(offset).cast::<*mut c_void>().read() };
        NonNull::new(entry).ok_or_else(missing)
    }

    /// Calls the table entry that takes `C`.
    ///
    /// # Safety
    /// The pointers inside `args` are what the entry expects.
    pub(crate) unsafe fn call<C: Call>(&self, args: &mut C) -> Result<()> {
        let entry = self.entry::<C>()?;
        // SAFETY: all entries but the two of `take_error` have this type.
        let function = unsafe { std::mem::transmute::<NonNull<c_void>, sys::CallFn>(entry) };
        // SAFETY: `args` is the struct of this entry, and the caller vouches for its pointers.
        let error = unsafe { function((&raw mut *args).cast()) };
        // SAFETY: the plugin passed ownership of the error, if any.
        unsafe { self.take_error(error, C::NAME) }
    }

    /// Turns an error of the plugin into ours and frees it. Null means success.
    ///
    /// # Safety
    /// `error` is null or an error of this plugin that the caller owns.
    pub(crate) unsafe fn take_error(
        &self,
        error: *mut sys::RawError,
        call: &'static str,
    ) -> Result<()> {
        if error.is_null() {
            return Ok(());
        }
        let mut code = sys::ErrorGetCode { error, ..Call::zeroed() };
        let mut message = sys::ErrorMessage { error, ..Call::zeroed() };
        let mut destroy = sys::ErrorDestroy { error, ..Call::zeroed() };
        // SAFETY: these three entries exist in every version; reading a code cannot itself return
        // an error that must be freed in practice, and if it does the code stays `Unknown`.
        unsafe {
            if let Ok(entry) = self.entry::<sys::ErrorGetCode>() {
                std::mem::transmute::<NonNull<c_void>, sys::CallFn>(entry)((&raw mut code).cast());
            }
            if let Ok(entry) = self.entry::<sys::ErrorMessage>() {
                std::mem::transmute::<NonNull<c_void>, sys::VoidFn>(entry)(
                    (&raw mut message).cast(),
                );
            }
        }
        // SAFETY: the message lives until the error is destroyed below.
        let text = unsafe { text(message.message, message.message_size) };
        // SAFETY: the caller owns the error, and nothing refers to it after this.
        unsafe {
            if let Ok(entry) = self.entry::<sys::ErrorDestroy>() {
                std::mem::transmute::<NonNull<c_void>, sys::VoidFn>(entry)(
                    (&raw mut destroy).cast(),
                );
            }
        }
        Err(Error::new(Code::from_raw(code.code), call, text))
    }
}

/// Copies a string of the plugin.
///
/// # Safety
/// `data` is null, or points to `size` readable bytes.
pub(crate) unsafe fn text(data: *const c_char, size: usize) -> String {
    // SAFETY: passed on to the caller.
    String::from_utf8_lossy(unsafe { slice(data.cast::<u8>(), size) }).into_owned()
}

/// A slice of the plugin's memory; empty for null.
///
/// # Safety
/// `data` is null, or points to `len` values that live and do not change for `'a`.
pub(crate) unsafe fn slice<'a, T>(data: *const T, len: usize) -> &'a [T] {
    if data.is_null() || len == 0 {
        return &[];
    }
    // SAFETY: passed on to the caller.
    unsafe { std::slice::from_raw_parts(data, len) }
}

/// A pointer into the plugin that may travel between threads.
pub(crate) struct Handle<T>(NonNull<T>);

impl<T> std::fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> Handle<T> {
    /// Checks an out-pointer that the plugin filled.
    pub(crate) fn new(raw: *mut T, call: &'static str) -> Result<Self> {
        NonNull::new(raw)
            .map(Handle)
            .ok_or_else(|| Error::new(Code::Internal, call, "the plugin returned a null pointer"))
    }

    pub(crate) fn raw(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

// SAFETY: PJRT objects may be used and destroyed from any thread; the plugin synchronises.
unsafe impl<T> Send for Handle<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Handle<T> {}

/// The text of an error with all its causes: `libloading` hides the loader's words in the source.
fn chain(error: &dyn std::error::Error) -> String {
    let mut out = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        out = format!("{out}: {cause}");
        source = cause.source();
    }
    out
}
