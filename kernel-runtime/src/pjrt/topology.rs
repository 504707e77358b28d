//! Topologies: devices described without being present, and compiling for them.
use super::api::{self, Handle};
use super::error::Result;
use super::executable::{Compiled, Keeper, Source};
use super::options::CompileOptions;
use super::plugin::Plugin;
use super::sys::{self, Call};
use std::ptr;
use std::sync::Arc;

/// A set of devices to compile for.
#[derive(Debug, Clone)]
pub struct Topology {
    inner: Arc<TopologyInner>,
}

#[derive(Debug)]
pub(crate) struct TopologyInner {
    plugin: Plugin,
    raw: Handle<sys::RawTopology>,
}

impl Drop for TopologyInner {
    fn drop(&mut self) {
        let mut args = sys::TopologyDestroy { topology: self.raw.raw(), ..Call::zeroed() };
        // SAFETY: the topology is ours and is not used again.
        let _ignored = unsafe { self.plugin.api.call(&mut args) };
    }
}

impl Topology {
    pub(crate) fn create(plugin: &Plugin, name: &str) -> Result<Self> {
        let mut args = sys::TopologyCreate {
            name: name.as_ptr().cast(),
            name_size: name.len(),
            ..Call::zeroed()
        };
        // SAFETY: the name outlives the call, and there are no options.
        unsafe { plugin.api.call(&mut args)? };
        let raw = Handle::new(args.topology, sys::TopologyCreate::NAME)?;
        Ok(Self { inner: Arc::new(TopologyInner { plugin: plugin.clone(), raw }) })
    }

    /// The plugin that described it.
    pub fn plugin(&self) -> &Plugin {
        &self.inner.plugin
    }

    /// `"tpu"` for libtpu.
    ///
    /// # Errors
    /// When the plugin refuses.
    pub fn platform_name(&self) -> Result<String> {
        let mut args = sys::TopologyPlatformName { topology: self.raw(), ..Call::zeroed() };
        // SAFETY: the topology lives as long as `self`, and owns the name.
        unsafe {
            self.inner.plugin.api.call(&mut args)?;
            Ok(api::text(args.name, args.name_size))
        }
    }

    /// The version of the platform: for libtpu its build label and date.
    ///
    /// # Errors
    /// When the plugin refuses.
    pub fn platform_version(&self) -> Result<String> {
        let mut args = sys::TopologyPlatformVersion { topology: self.raw(), ..Call::zeroed() };
        // SAFETY: the topology lives as long as `self`, and owns the text.
        unsafe {
            self.inner.plugin.api.call(&mut args)?;
            Ok(api::text(args.version, args.version_size))
        }
    }

    /// The kind of every device, such as `"TPU v5 lite"`.
    ///
    /// # Errors
    /// When the plugin refuses.
    pub fn device_kinds(&self) -> Result<Vec<String>> {
        let api = &self.inner.plugin.api;
        let mut args = sys::TopologyDescriptions { topology: self.raw(), ..Call::zeroed() };
        // SAFETY: the topology lives as long as `self`, and owns the descriptions.
        let descriptions = unsafe {
            api.call(&mut args)?;
            api::slice(args.descriptions, args.num_descriptions)
        };
        descriptions
            .iter()
            .map(|&description| {
                let mut args = sys::DescriptionKind { description, ..Call::zeroed() };
                // SAFETY: as above.
                unsafe {
                    api.call(&mut args)?;
                    Ok(api::text(args.kind, args.kind_size))
                }
            })
            .collect()
    }

    /// Compiles StableHLO, text or bytecode, for the first devices of this topology. The result can
    /// be inspected and serialised, and runs where such devices are.
    ///
    /// # Errors
    /// When the program is wrong, or does not fit the device.
    pub fn compile(&self, program: &[u8], options: &CompileOptions) -> Result<Compiled> {
        let options = options.encode();
        let source = Source::new(program);
        let program = source.raw();
        let mut args = sys::Compile {
            topology: self.raw(),
            program: &raw const program,
            compile_options: options.as_ptr().cast(),
            compile_options_size: options.len(),
            client: ptr::null_mut(),
            ..Call::zeroed()
        };
        // SAFETY: program, options and topology outlive the call; the plugin only reads them.
        unsafe { self.inner.plugin.api.call(&mut args)? };
        Compiled::from_raw(args.executable, Keeper::Topology(self.inner.clone()))
    }

    fn raw(&self) -> *mut sys::RawTopology {
        self.inner.raw.raw()
    }
}

impl TopologyInner {
    pub(crate) fn plugin(&self) -> &Plugin {
        &self.plugin
    }
}
