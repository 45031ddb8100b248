//! Objects below a prefix.

use futures_util::TryStreamExt;
use hyperslab_array::{Error, Result};
use object_store::ObjectMeta;

use super::address::{encoded_name, shown_address};
use super::answer;
use super::counts;
use super::engine::engine;
use super::object::locate;
use super::options::StorageOptions;
use super::wait::wait_for;

/// Most names of one listing.
const MAX_NAMES: usize = 1 << 20;

/// An object of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedObject {
    /// Its address.
    pub address: String,
    /// Its length.
    pub bytes: u64,
    /// Its entity tag. Some stores quote it here, and others only in answers to other requests.
    pub tag: Option<String>,
}

/// All objects below a folder, such as `s3://bucket/run/`, sorted by their addresses.
///
/// # Errors
/// As for [`RemoteFile::open`](super::RemoteFile::open); `Unsupported` for HTTP servers, which do not list; `LimitExceeded` for
/// more than a million objects.
pub fn list_objects(folder: &str, options: &StorageOptions) -> Result<Vec<ListedObject>> {
    let name = shown_address(folder).into_owned();
    if folder.starts_with("http") {
        return Err(Error::unsupported("HTTP servers do not list their files: give a list of addresses").in_file(name));
    }
    let engine = engine()?;
    let located = locate(engine, folder, options)?;
    counts::add(&counts::ROUNDS, 1);
    let listed = wait_for(async move {
        let _permit = engine.requests.acquire().await.map_err(|_| Error::internal("no requests are allowed"))?;
        let mut objects = Vec::new();
        let mut found = located.store.list(Some(&located.path));
        while let Some(meta) = found.try_next().await.map_err(|error| answer::error(&error))? {
            objects.push(meta);
            if objects.len() > MAX_NAMES {
                return Err(Error::limit_exceeded(format!("more than {MAX_NAMES} objects lie below this prefix: give a longer one")));
            }
        }
        Ok(objects)
    });
    let mut objects = listed.map_err(|error| error.in_file(name))?;
    objects.sort_by(|a, b| a.location.as_ref().cmp(b.location.as_ref()));
    let bucket = folder.split_once("://").map_or(folder, |(scheme, rest)| {
        let host = rest.split('/').next().unwrap_or_default();
        folder.get(..scheme.len() + 3 + host.len()).unwrap_or(folder)
    });
    let listed = |meta: ObjectMeta| ListedObject {
        address: format!("{bucket}/{}", encoded_name(meta.location.as_ref())),
        bytes: meta.size,
        tag: meta.e_tag.filter(|tag| !tag.is_empty()),
    };
    Ok(objects.into_iter().map(listed).collect())
}
