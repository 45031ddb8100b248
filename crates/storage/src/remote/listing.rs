//! Objects below a prefix.

use futures_util::TryStreamExt;
use hyperslab_array::{Error, Result};

use super::address::{encoded_name, shown_address};
use super::answer;
use super::counts;
use super::engine::engine;
use super::object::locate;
use super::options::StorageOptions;
use super::wait::wait_for;

/// Most names of one listing.
const MAX_NAMES: usize = 1 << 20;

/// The addresses of all objects below a folder, such as `s3://bucket/run/`, sorted.
///
/// # Errors
/// As for [`RemoteFile::open`](super::RemoteFile::open); `Unsupported` for HTTP servers, which do not list; `LimitExceeded` for
/// more than a million objects.
pub fn list_objects(folder: &str, options: &StorageOptions) -> Result<Vec<String>> {
    let name = shown_address(folder).into_owned();
    if folder.starts_with("http") {
        return Err(Error::unsupported("HTTP servers do not list their files: give a list of addresses").in_file(name));
    }
    let engine = engine()?;
    let located = locate(engine, folder, options)?;
    counts::add(&counts::ROUNDS, 1);
    let listed = wait_for(async move {
        let _permit = engine.requests.acquire().await.map_err(|_| Error::internal("no requests are allowed"))?;
        let mut names = Vec::new();
        let mut found = located.store.list(Some(&located.path));
        while let Some(meta) = found.try_next().await.map_err(|error| answer::error(&error))? {
            names.push(meta.location.to_string());
            if names.len() > MAX_NAMES {
                return Err(Error::limit_exceeded(format!("more than {MAX_NAMES} objects lie below this prefix: give a longer one")));
            }
        }
        Ok(names)
    });
    let mut names = listed.map_err(|error| error.in_file(name))?;
    names.sort();
    let bucket = folder.split_once("://").map_or(folder, |(scheme, rest)| {
        let host = rest.split('/').next().unwrap_or_default();
        folder.get(..scheme.len() + 3 + host.len()).unwrap_or(folder)
    });
    Ok(names.into_iter().map(|name| format!("{bucket}/{}", encoded_name(&name))).collect())
}
