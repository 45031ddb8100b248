//! What the remote objects of one process share: threads that wait for the network, connections, the number of requests at a
//! time, and blocks that are kept.
//!
//! A forked child has none of its parent's threads, and must not use its parent's connections, so it gets an engine of its own.
//! An engine is never dropped: its threads hold nothing that an ending process waits for.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use async_trait::async_trait;
use hyperslab_array::{Error, Result};
use object_store::ClientOptions;
use object_store::client::{HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService, ReqwestConnector};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

use super::blocks::Blocks;
use super::counts;
use super::disk_blocks::DiskBlocks;
use super::located::Located;
use crate::PerProcess;
use crate::notices::add_of_cache;

/// Requests that run at a time, over all objects.
const MAX_REQUESTS: usize = 64;
/// They wait for the network, and decrypt what comes.
const THREADS: usize = 2;

/// Caches on disk by folder and size; `None` if the folder cannot be used.
type Disks = HashMap<(PathBuf, u64), Option<Arc<DiskBlocks>>>;

/// What the remote objects of one process share.
pub(super) struct Engine {
    pub runtime: Runtime,
    pub requests: Semaphore,
    pub blocks: Mutex<Blocks>,
    /// Stores by address of the bucket and identity of the options: their connections and tokens are reused.
    stores: Mutex<HashMap<(String, u64), Located>>,
    /// Clients by identity of the options.
    clients: Mutex<HashMap<u64, HttpClient>>,
    disks: Mutex<Disks>,
}

static ENGINE: OnceLock<PerProcess<OnceLock<Engine>>> = OnceLock::new();

/// The engine of this process if something has used it.
pub(super) fn started_engine() -> Option<&'static Engine> {
    ENGINE.get()?.get(OnceLock::new).get()
}

/// The engine of this process.
///
/// # Errors
/// `Internal` if the system starts no threads.
pub(super) fn engine() -> Result<&'static Engine> {
    let of_process = ENGINE.get_or_init(|| PerProcess::new(OnceLock::new())).get(OnceLock::new);
    if let Some(engine) = of_process.get() {
        return Ok(engine);
    }
    // The provider of cryptography that the program has chosen stays, if it has.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .max_blocking_threads(MAX_REQUESTS)
        .thread_name("hyperslab-net")
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Error::internal(format!("cannot start threads for the network: {error}")))?;
    let requests = Semaphore::new(MAX_REQUESTS);
    let (blocks, stores, clients, disks) = Default::default();
    Ok(of_process.get_or_init(|| Engine { runtime, requests, blocks, stores, clients, disks }))
}

impl Engine {
    /// The store with this key, which `make` makes if there is none.
    pub fn store(&self, key: (String, u64), make: impl FnOnce() -> Result<Located>) -> Result<Located> {
        /// Maximum number of kept stores; beyond it, all are made again. Only a program that opens that many buckets or HTTP servers reaches it.
        const MAX_STORES: usize = 1 << 10;
        let stores = || self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = stores().get(&key) {
            return Ok(store.clone());
        }
        let made = make()?;
        let mut stores = stores();
        if stores.len() >= MAX_STORES {
            stores.clear();
        }
        Ok(stores.entry(key).or_insert(made).clone())
    }

    /// The cache on disk in a folder. One that cannot be used is reported once, and reads go on without it.
    pub fn disk(&self, folder: &Path, max_bytes: u64) -> Option<Arc<DiskBlocks>> {
        let mut disks = self.disks.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = disks.entry((folder.to_path_buf(), max_bytes)).or_insert_with(|| {
            let opened = DiskBlocks::open(folder, max_bytes);
            if let Err(error) = &opened {
                add_of_cache(format!("the cache folder {} is not used: {error}", folder.display()));
            }
            opened.ok().map(Arc::new)
        });
        opened.clone()
    }

    pub fn blocks(&self) -> std::sync::MutexGuard<'_, Blocks> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes clients that are shared by all stores with the same options, because each reads the certificates of the system.
#[derive(Debug)]
pub(super) struct SharedClients {
    pub identity: u64,
}

impl HttpConnector for SharedClients {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let Ok(engine) = engine() else { return ReqwestConnector::default().connect(options) };
        let clients = || engine.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients().get(&self.identity) {
            return Ok(client.clone());
        }
        let made = HttpClient::new(Counted(ReqwestConnector::default().connect(options)?));
        Ok(clients().entry(self.identity).or_insert(made).clone())
    }
}

/// A client that counts its requests.
struct Counted(HttpClient);

impl fmt::Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Counted")
    }
}

#[async_trait]
impl HttpService for Counted {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        counts::add(&counts::REQUESTS, 1);
        self.0.execute(request).await
    }
}
