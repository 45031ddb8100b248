//! Where an object is.

use std::sync::Arc;

use object_store::path::Path;

/// A store, with its connections and credentials.
pub(super) type Store = Arc<dyn object_store::ObjectStore>;

/// The uploads in parts of a store, by their identifiers.
pub(super) type Parts = Arc<dyn object_store::multipart::MultipartStore>;

/// A store and the path of an object in it.
#[derive(Clone)]
pub(super) struct Located {
    pub store: Store,
    /// Its uploads in parts; `None` for an HTTP server.
    pub parts: Option<Parts>,
    pub path: Path,
    /// The server, if it is not the one of the cloud or of the address: the same address is another object there.
    pub server: Arc<str>,
}
