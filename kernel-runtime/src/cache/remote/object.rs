//! Object stores: S3 and what speaks like it, and Google Cloud Storage.
use super::{Failure, RemoteOptions, Store, UPLOAD_TIME_LIMIT};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::path::Path;
use object_store::{ClientConfigKey, ObjectStore, ObjectStoreExt, RetryConfig};
use std::str::FromStr;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::runtime::{Builder, Handle};

/// What drives the connections of all stores: one thread, for as long as the process lives.
static RUNTIME: LazyLock<Result<Handle, String>> = LazyLock::new(|| {
    let start = || {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let thread = std::thread::Builder::new().name("systole-remote".into());
        thread.spawn(move || runtime.block_on(std::future::pending::<()>()))?;
        Ok(handle)
    };
    start().map_err(|error: std::io::Error| format!("no thread for connections: {error}"))
});

#[derive(Debug)]
pub(super) struct Objects {
    runtime: Handle,
    store: Arc<dyn ObjectStore>,
    /// What the names of all objects begin with.
    prefix: Path,
}

impl Objects {
    /// The store at `s3://bucket/prefix` or `gs://bucket/prefix`.
    pub(super) fn open(url: &str, options: &RemoteOptions) -> Result<Objects, String> {
        // If the program has chosen how it encrypts, that holds.
        let _chosen = rustls::crypto::ring::default_provider().install_default();
        let (_, place) = url.split_once("://").unwrap_or_default();
        let (_bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
        let store = if url.starts_with("gs://") { google(url, options) } else { s3(url, options) };
        let wrong = |why: &dyn std::fmt::Display| format!("{url} cannot be used: {why}");
        Ok(Objects {
            runtime: RUNTIME.clone()?,
            store: store.map_err(|error| wrong(&error))?,
            prefix: Path::parse(prefix.trim_end_matches('/')).map_err(|error| wrong(&error))?,
        })
    }

    fn path(&self, name: &str) -> Path {
        Path::from_iter(self.prefix.parts().chain(name.split('/').map(Into::into)))
    }

    /// Does something in the thread of all connections.
    fn within<T: Send + 'static>(
        &self,
        time_limit: Duration,
        work: impl Future<Output = Result<T, Failure>> + Send + 'static,
    ) -> Result<T, Failure> {
        let (give, take) = sync_channel(1);
        let task = self.runtime.spawn(async move {
            // Nobody waits any more if that fails.
            let _too_late = give.send(work.await);
        });
        take.recv_timeout(time_limit).unwrap_or_else(|_silence| {
            task.abort();
            Err(Failure::TimedOut(time_limit))
        })
    }
}

impl Store for Objects {
    fn read(&self, name: &str, time_limit: Duration) -> Result<Option<Vec<u8>>, Failure> {
        let (store, path) = (self.store.clone(), self.path(name));
        self.within(time_limit, async move {
            match store.get(&path).await {
                Ok(found) => Ok(Some(found.bytes().await.map_err(failed)?.into())),
                Err(object_store::Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(failed(error)),
            }
        })
    }

    fn write(&self, name: &str, object: Vec<u8>, time_limit: Duration) -> Result<(), Failure> {
        let (store, path) = (self.store.clone(), self.path(name));
        self.within(time_limit, async move {
            store.put(&path, object.into()).await.map(drop).map_err(failed)
        })
    }
}

fn failed(error: object_store::Error) -> Failure {
    Failure::Failed(error.to_string())
}

/// With few retries: who waits for a program would rather compile it.
fn retry(options: &RemoteOptions) -> RetryConfig {
    RetryConfig { max_retries: 1, retry_timeout: options.time_limit, ..RetryConfig::default() }
}

/// Settings of connections, then those of the user, who may know better.
fn settings<K: FromStr>(
    options: &RemoteOptions,
    client: impl Fn(ClientConfigKey) -> K,
) -> Result<Vec<(K, String)>, String> {
    let seconds = |limit: Duration| format!("{} ms", limit.as_millis());
    let mut settings = vec![
        (client(ClientConfigKey::Timeout), seconds(UPLOAD_TIME_LIMIT.max(options.time_limit))),
        (client(ClientConfigKey::ConnectTimeout), seconds(options.time_limit)),
    ];
    for (name, value) in &options.settings {
        let unknown = |_| format!("it has no setting `{name}`");
        let key = name.to_ascii_lowercase().parse().map_err(unknown)?;
        settings.push((key, value.clone()));
    }
    Ok(settings)
}

fn s3(url: &str, options: &RemoteOptions) -> Result<Arc<dyn ObjectStore>, String> {
    let mut builder = AmazonS3Builder::from_env().with_url(url).with_retry(retry(options));
    for (key, value) in settings(options, AmazonS3ConfigKey::Client)? {
        builder = builder.with_config(key, value);
    }
    builder.build().map(|store| Arc::new(store) as _).map_err(|error| error.to_string())
}

fn google(url: &str, options: &RemoteOptions) -> Result<Arc<dyn ObjectStore>, String> {
    let builder = GoogleCloudStorageBuilder::from_env().with_url(url);
    let mut builder = builder.with_retry(retry(options));
    for (key, value) in settings(options, GoogleConfigKey::Client)? {
        builder = builder.with_config(key, value);
    }
    builder.build().map(|store| Arc::new(store) as _).map_err(|error| error.to_string())
}
