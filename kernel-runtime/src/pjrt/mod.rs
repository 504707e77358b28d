//! PJRT: the C API through which XLA's compilers and devices are used, with a safe wrapper.
//!
//! A [`Plugin`] is a shared library for one kind of device; a [`Client`] is a connection to its
//! devices; [`Buffer`]s hold arrays on them; an [`Executable`] is a compiled StableHLO program.
//! Execution is asynchronous: [`Executable::execute`] returns at once, and reading a result waits
//! for it and tells the error if there was one. All types are `Send + Sync`, and keep alive what
//! they need.
//!
//! A plugin is a part of this process: one that dies takes the process with it. What it had compiled
//! and kept before is whole, and nobody waits for it. libtpu, which does die of some programs, compiles
//! them in a worker process: see `aot`.
//!
//! The structs of the C ABI are written by hand in `sys`; all `unsafe` of the runtime lives in this
//! module. Nothing here knows of kernels or tile IR.
//!
//! ```no_run
//! use systole::pjrt::{CompileOptions, ElementType, Plugin};
//!
//! # fn main() -> systole::pjrt::Result<()> {
//! let client = Plugin::cpu()?.client()?;
//! let program = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
//!     %y = stablehlo.add %x, %x : tensor<2xf32>
//!     return %y : tensor<2xf32>
//! }";
//! let double = client.compile(program.as_bytes(), &CompileOptions::default())?;
//! let bytes: Vec<u8> = [1.0_f32, 2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
//! let x = client.buffer(ElementType::F32, &[2], &bytes, None)?;
//! let y = double.execute(&[&x])?;
//! assert_eq!(y[0].to_host()?.len(), 8);
//! # Ok(())
//! # }
//! ```
mod api;
mod buffer;
mod client;
mod element;
mod elf;
mod error;
mod event;
mod executable;
mod host_bytes;
mod host_call;
mod identity;
mod locate;
mod options;
mod plugin;
mod sys;
mod topology;

pub use buffer::{Buffer, HostCopy};
pub use client::{Client, Device, DeviceMemory};
pub use element::ElementType;
pub use error::{Code, Error, Result};
pub use event::Event;
pub use executable::{Compiled, Executable, ExecuteOptions, Execution, MemoryStats};
pub use host_bytes::{AlignedBytes, HostBytes};
pub use host_call::{HostArray, HostArrayMut, HostCall, HostFrame};
pub(crate) use identity::library_identity;
pub use locate::cache_dir;
pub use options::{CompileOptions, Value};
pub use plugin::Plugin;
pub use topology::Topology;
