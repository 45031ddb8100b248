//! Small objects of a store, put and read whole, and folders of objects that are listed and removed.

use futures_util::{StreamExt, TryStreamExt, stream};
use hyperslab_array::{Error, Result};
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutMode, PutOptions, UpdateVersion};
use serde::{Deserialize, Serialize};
use url::Url;

use super::address::shown_address;
use super::engine::{Engine, engine};
use super::located::Located;
use super::object::{get_head, locate};
use super::options::StorageOptions;
use super::wait::wait_for;
use super::{answer, counts};

/// Maximum number of objects of one listing.
const MAX_NAMES: usize = 1 << 20;

/// What identifies the version of an object for a conditional put: the entity tag, or the version of stores that count them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectTag {
    etag: Option<String>,
    version: Option<String>,
}

/// When [`put_object`] puts an object. The store itself decides.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PutCondition {
    /// Always; an object of this name is replaced.
    Always,
    /// Only if there is no object of this name.
    IfAbsent,
    /// Only if the object of this name is still of this version.
    IfUnchanged(ObjectTag),
}

/// An object of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoundObject {
    /// Name below the folder.
    pub name: String,
    /// Length in bytes.
    pub bytes: u64,
    /// Time of the last change in milliseconds since 1970, by the clock of the store.
    pub modified_milliseconds: i64,
}

/// The name of the object at an address, after the last slash, as the store knows it.
///
/// # Errors
/// `InvalidInput` for an address without a name of an object; `Unsupported` for HTTP servers.
pub fn object_name(address: &str) -> Result<String> {
    let invalid = |why: &str| Error::invalid_input(format!("this is not an address of an object: {why}")).in_file(shown_address(address));
    if address.to_ascii_lowercase().starts_with("http") {
        return Err(Error::unsupported("files are written to object stores (s3://, gs://, az://), not to HTTP servers").in_file(shown_address(address)));
    }
    let url = Url::parse(address).map_err(|error| invalid(&error.to_string()))?;
    let path = Path::from_url_path(url.path()).map_err(|error| invalid(&error.to_string()))?;
    let name = path
        .filename()
        .filter(|_| !address.ends_with('/'))
        .ok_or_else(|| Error::invalid_input("the address has no name of an object").in_file(shown_address(address)))?;
    Ok(name.to_owned())
}

/// The version of the object at an address; `None` if there is none.
///
/// # Errors
/// `Io` if the store does not answer or refuses; `Unsupported` if it gives neither an entity tag nor a version.
pub fn object_tag(address: &str, options: &StorageOptions) -> Result<Option<ObjectTag>> {
    with_store(address, options, move |engine: &'static Engine, Located { store, path, .. }: Located| async move {
        let _permit = permit(engine).await?;
        match store.head(&path).await {
            Ok(meta) if meta.e_tag.is_none() && meta.version.is_none() => {
                Err(Error::unsupported("the store gives no entity tag (ETag), so it cannot tell whether the object was replaced meanwhile"))
            }
            Ok(meta) => Ok(Some(ObjectTag { etag: meta.e_tag, version: meta.version })),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(answer::error(&error)),
        }
    })
}

/// Puts `content` as an object, in one request.
///
/// # Errors
/// `Conflict` if the condition does not hold; `Io` if the store does not take it.
pub fn put_object(address: &str, options: &StorageOptions, content: Vec<u8>, condition: PutCondition) -> Result<()> {
    with_store(address, options, move |engine: &'static Engine, Located { store, path, .. }: Located| async move {
        let is_update = matches!(condition, PutCondition::IfUnchanged(_));
        let mode = match condition {
            PutCondition::Always => PutMode::Overwrite,
            PutCondition::IfAbsent => PutMode::Create,
            PutCondition::IfUnchanged(tag) => PutMode::Update(UpdateVersion { e_tag: tag.etag, version: tag.version }),
        };
        let _permit = permit(engine).await?;
        let done = store.put_opts(&path, content.into(), PutOptions::from(mode)).await;
        done.map(drop).map_err(|error| match &error {
            object_store::Error::Precondition { .. } | object_store::Error::AlreadyExists { .. } if is_update => answer::changed(),
            _ => answer::of_writing(&error),
        })
    })
}

/// The content of an object; `None` if there is none.
///
/// # Errors
/// `LimitExceeded` if it has more than `max_bytes`; `Io` if the store does not answer or refuses.
pub fn read_object(address: &str, options: &StorageOptions, max_bytes: u64) -> Result<Option<Vec<u8>>> {
    let read = with_store(address, options, move |engine: &'static Engine, located: Located| async move {
        let head = get_head(engine, &located, max_bytes).await?;
        match head.length <= max_bytes {
            true => Ok(head.bytes.to_vec()),
            false => Err(Error::limit_exceeded(format!("the object has {} bytes, and at most {max_bytes} are read", head.length))),
        }
    });
    match read {
        Err(error) if error.kind() == hyperslab_array::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// The objects below a folder, at any depth, sorted by name.
///
/// # Errors
/// `LimitExceeded` for more than a million; `Io` if the store does not answer or refuses.
pub fn list_folder(folder: &str, options: &StorageOptions) -> Result<Vec<FoundObject>> {
    with_store(folder, options, move |engine: &'static Engine, Located { store, path, .. }: Located| async move {
        let _permit = permit(engine).await?;
        let prefix = format!("{path}/");
        let mut objects = Vec::new();
        let mut found = store.list(Some(&path));
        while let Some(meta) = found.try_next().await.map_err(|error| answer::error(&error))? {
            let Some(name) = meta.location.as_ref().strip_prefix(&prefix) else { continue };
            if objects.len() >= MAX_NAMES {
                return Err(Error::limit_exceeded(format!("more than {MAX_NAMES} objects are below this prefix")));
            }
            objects.push(FoundObject { name: name.to_owned(), bytes: meta.size, modified_milliseconds: meta.last_modified.timestamp_millis() });
        }
        objects.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(objects)
    })
}

/// The addresses of the objects in a folder itself, not of those in folders below. Objects that are still being uploaded (`.part`) are left out.
///
/// # Errors
/// `Io` if the store does not answer or refuses.
pub fn list_files(folder: &str, options: &StorageOptions) -> Result<Vec<String>> {
    let base = folder.to_owned();
    with_store(folder, options, move |engine: &'static Engine, Located { store, path, .. }: Located| async move {
        let _permit = permit(engine).await?;
        let found = store.list_with_delimiter(Some(&path)).await.map_err(|error| answer::error(&error))?;
        let names = found.objects.iter().filter_map(|meta| meta.location.filename()).filter(|name| !name.ends_with(".part"));
        Ok(names.map(|name| format!("{base}/{}", name.replace('%', "%25").replace('?', "%3F").replace('#', "%23"))).collect())
    })
}

/// Removes the objects with these names below a folder. Objects that are already gone are not an error.
///
/// # Errors
/// `Io` if the store does not answer or refuses.
pub fn remove_objects(folder: &str, options: &StorageOptions, names: Vec<String>) -> Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    with_store(folder, options, move |engine: &'static Engine, Located { store, path: folder, .. }: Located| async move {
        let paths = names.iter().map(|name| Path::parse(format!("{folder}/{name}")).map_err(object_store::Error::from)).collect::<Vec<_>>();
        let _permit = permit(engine).await?;
        let mut removed = store.delete_stream(stream::iter(paths).boxed());
        while let Some(outcome) = removed.next().await {
            match outcome {
                Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(answer::of_writing(&error)),
            }
        }
        Ok(())
    })
}

/// Ends an upload in parts that was not completed, so that the store drops its parts. An upload that has already ended is not an error.
///
/// # Errors
/// `Io` if the store does not answer or refuses.
pub fn abort_upload(address: &str, options: &StorageOptions, id: &str) -> Result<()> {
    let id = id.to_owned();
    with_store(address, options, move |engine: &'static Engine, Located { parts, path, .. }: Located| async move {
        let Some(parts) = parts else { return Err(Error::unsupported("HTTP servers have no uploads in parts")) };
        let _permit = permit(engine).await?;
        match parts.abort_multipart(&path, &id).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(answer::of_writing(&error)),
        }
    })
}

/// Runs `work` with the store of an address on the threads of the engine.
fn with_store<T, W, F>(address: &str, options: &StorageOptions, work: W) -> Result<T>
where
    T: Send + 'static,
    W: FnOnce(&'static Engine, Located) -> F,
    F: Future<Output = Result<T>> + Send + 'static,
{
    let run = || {
        let engine = engine()?;
        let located = locate(engine, address, options)?;
        counts::add(&counts::ROUNDS, 1);
        wait_for(work(engine, located))
    };
    run().map_err(|error| error.in_file(shown_address(address)))
}

async fn permit(engine: &Engine) -> Result<tokio::sync::SemaphorePermit<'_>> {
    engine.requests.acquire().await.map_err(|_| Error::internal("no requests are allowed"))
}
