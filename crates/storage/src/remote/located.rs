//! Where an object is.

use std::sync::Arc;

use object_store::path::Path;

/// A store, with its connections and credentials.
pub(super) type Store = Arc<dyn object_store::ObjectStore>;

/// A store and the path of an object in it.
#[derive(Clone)]
pub(super) struct Located {
    pub store: Store,
    pub path: Path,
    /// The server, if it is not the one of the cloud or of the address: the same address is another object there.
    pub server: Arc<str>,
}
