//! A PJRT plugin: a shared library that compiles and runs StableHLO for one kind of device.
use super::api::Api;
use super::client::Client;
use super::error::{Code, Error, Result};
use super::locate;
use super::options::Value;
use super::sys::{self, Call};
use super::topology::Topology;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// A loaded plugin. Clones share it; it is never unloaded.
#[derive(Debug, Clone)]
pub struct Plugin {
    pub(crate) api: Arc<Api>,
}

/// Plugins by canonical path: a plugin may be initialised only once per process.
static LOADED: LazyLock<Mutex<HashMap<PathBuf, Plugin>>> = LazyLock::new(Mutex::default);

impl Plugin {
    /// Loads the plugin at `path`, or returns the one that is loaded already.
    ///
    /// # Errors
    /// When the file does not exist, is no library, is no PJRT plugin, speaks a PJRT version that is
    /// too old, or fails to initialise.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let canonical = path.canonicalize().map_err(|cause| {
            Error::new(
                Code::NotFound,
                "Plugin::load",
                format!("cannot open {}: {cause}", path.display()),
            )
        })?;
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plugin) = loaded.get(&canonical) {
            return Ok(plugin.clone());
        }
        let plugin = Self { api: Arc::new(Api::open(&canonical)?) };
        // SAFETY: the struct has no pointers.
        unsafe { plugin.api.call(&mut sys::PluginInitialize::zeroed())? };
        loaded.insert(canonical, plugin.clone());
        Ok(plugin)
    }

    /// The CPU plugin: `$SYSTOLE_PJRT_CPU`, else what `./x setup` put into the cache folder, else an
    /// installed Python package.
    ///
    /// # Errors
    /// When it is not found, is libtpu, or as [`Plugin::load`]. The message names the variable or
    /// the path, and says how to get the plugin.
    pub fn cpu() -> Result<Self> {
        Self::wanted(&locate::WANTED_CPU)
    }

    /// A client of [`Plugin::cpu`] with options, as [`Plugin::client_with`].
    ///
    /// # Errors
    /// As [`Plugin::cpu`], and when the plugin is for other devices or has none.
    pub fn cpu_client(options: &[(&str, Value)]) -> Result<Client> {
        let plugin = Self::cpu()?;
        let client =
            plugin.client_with(options).and_then(|client| match client.platform_name()? {
                name if name == "cpu" => Ok(client),
                name => Err(Error::new(
                    Code::InvalidArgument,
                    "Plugin::cpu_client",
                    format!("it is a plugin for the platform `{name}`, not for the CPU"),
                )),
            });
        client.map_err(|error| locate::WANTED_CPU.blame(error))
    }

    fn wanted(wanted: &locate::Wanted) -> Result<Self> {
        Self::load(wanted.find()?).map_err(|error| wanted.blame(error))
    }

    /// A second CPU plugin with an older ABI, against which tests check that nothing depends on one
    /// build of XLA: `$SYSTOLE_PJRT_CPU_SECOND`, else as [`Plugin::cpu`].
    ///
    /// # Errors
    /// As [`Plugin::cpu`].
    pub fn cpu_second() -> Result<Self> {
        Self::wanted(&locate::WANTED_CPU_SECOND)
    }

    /// libtpu: `$TPU_LIBRARY_PATH`, else as [`Plugin::cpu`].
    ///
    /// libtpu reads its flags from the environment when it is loaded, may abort the process, and
    /// without a TPU waits for a metadata server unless `TPU_SKIP_MDS_QUERY=1` is set. To compile
    /// without a TPU use [`crate::aot`], which does all that in a process of its own.
    ///
    /// # Errors
    /// As [`Plugin::cpu`].
    pub fn tpu() -> Result<Self> {
        Self::wanted(&locate::WANTED_TPU)
    }

    /// Where [`Plugin::tpu`] finds libtpu, without loading it.
    ///
    /// # Errors
    /// When it is not found, or is another library.
    pub fn tpu_path() -> Result<PathBuf> {
        locate::WANTED_TPU.find()
    }

    /// Says of an error about libtpu where its path came from, and what to do.
    pub(crate) fn blame_tpu(error: Error) -> Error {
        locate::WANTED_TPU.blame(error)
    }

    /// Starts a client with the plugin's default options.
    ///
    /// # Errors
    /// When the plugin cannot reach its devices.
    pub fn client(&self) -> Result<Client> {
        Client::create(self, &[])
    }

    /// Starts a client with options such as `("cpu_device_count", 2.into())`.
    ///
    /// # Errors
    /// When an option is unknown, or as [`Plugin::client`].
    pub fn client_with(&self, options: &[(&str, Value)]) -> Result<Client> {
        Client::create(self, options)
    }

    /// Describes a set of devices that need not be present, for compiling ahead of time: `"v5e:1x1"`
    /// for libtpu.
    ///
    /// # Errors
    /// When the plugin does not know the name.
    pub fn topology(&self, name: &str) -> Result<Topology> {
        Topology::create(self, name)
    }

    /// The file that was loaded.
    pub fn path(&self) -> &Path {
        self.api.path()
    }

    /// Major and minor version of the PJRT API that the plugin speaks.
    pub fn api_version(&self) -> (i32, i32) {
        self.api.version()
    }

    /// What the plugin says about itself, such as its StableHLO version.
    ///
    /// # Errors
    /// When the plugin refuses.
    pub fn attributes(&self) -> Result<Vec<(String, Value)>> {
        let mut args = sys::PluginAttributes::zeroed();
        // SAFETY: the struct has no input pointers; the plugin keeps the list for ever.
        unsafe {
            self.api.call(&mut args)?;
            Ok(Value::list_from_raw(args.attributes, args.num_attributes))
        }
    }
}
