//! The error of every PJRT call.
use std::fmt;

/// Why a PJRT call failed: the status code of the plugin, its text, and the C function that said so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The class of the failure.
    pub code: Code,
    /// What went wrong, in the plugin's words, or in ours when the plugin was never reached.
    pub message: String,
    /// The C function of the PJRT API, or the function of this module, that failed.
    pub call: &'static str,
}

impl Error {
    pub(crate) fn new(code: Code, call: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), call }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.call, self.message.trim_end(), self.code)
    }
}

impl std::error::Error for Error {}

/// The result of a PJRT call.
pub type Result<T> = std::result::Result<T, Error>;

/// Status codes, with the numbers of `absl::StatusCode` that the PJRT ABI uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The call was cancelled.
    Cancelled = 1,
    /// The plugin gave no class, or one that this list does not have.
    Unknown = 2,
    /// An argument is wrong, for instance a program that does not parse.
    InvalidArgument = 3,
    /// A time limit ran out.
    DeadlineExceeded = 4,
    /// Something asked for does not exist, for instance the plugin itself.
    NotFound = 5,
    /// Something that must be new exists.
    AlreadyExists = 6,
    /// Not allowed.
    PermissionDenied = 7,
    /// Out of memory, VMEM included.
    ResourceExhausted = 8,
    /// The state does not allow the call, for instance a deleted buffer.
    FailedPrecondition = 9,
    /// The operation was aborted.
    Aborted = 10,
    /// An index or value is out of range.
    OutOfRange = 11,
    /// The plugin does not implement the call.
    Unimplemented = 12,
    /// A broken invariant inside the plugin.
    Internal = 13,
    /// The device or service cannot be reached.
    Unavailable = 14,
    /// Data is lost or corrupt.
    DataLoss = 15,
    /// The caller is not authenticated.
    Unauthenticated = 16,
}

impl Code {
    /// All codes, in the order of their numbers.
    pub const ALL: [Code; 16] = [
        Code::Cancelled,
        Code::Unknown,
        Code::InvalidArgument,
        Code::DeadlineExceeded,
        Code::NotFound,
        Code::AlreadyExists,
        Code::PermissionDenied,
        Code::ResourceExhausted,
        Code::FailedPrecondition,
        Code::Aborted,
        Code::OutOfRange,
        Code::Unimplemented,
        Code::Internal,
        Code::Unavailable,
        Code::DataLoss,
        Code::Unauthenticated,
    ];

    /// The code with this number; [`Code::Unknown`] for numbers that newer plugins may invent.
    pub(crate) fn from_raw(raw: u32) -> Self {
        Self::ALL.into_iter().find(|code| *code as u32 == raw).unwrap_or(Code::Unknown)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Code::Cancelled => "CANCELLED",
            Code::Unknown => "UNKNOWN",
            Code::InvalidArgument => "INVALID_ARGUMENT",
            Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Code::NotFound => "NOT_FOUND",
            Code::AlreadyExists => "ALREADY_EXISTS",
            Code::PermissionDenied => "PERMISSION_DENIED",
            Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Code::FailedPrecondition => "FAILED_PRECONDITION",
            Code::Aborted => "ABORTED",
            Code::OutOfRange => "OUT_OF_RANGE",
            Code::Unimplemented => "UNIMPLEMENTED",
            Code::Internal => "INTERNAL",
            Code::Unavailable => "UNAVAILABLE",
            Code::DataLoss => "DATA_LOSS",
            Code::Unauthenticated => "UNAUTHENTICATED",
        })
    }
}
