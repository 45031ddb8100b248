//! Uploads: a local file becomes an object, whole or not at all.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyperslab_array::{Error, Result, interruption};
use object_store::multipart::PartId;
use object_store::path::Path;
use object_store::{MultipartId, ObjectStoreExt, PutMode, PutOptions};
use tokio::task::JoinSet;

use super::address::shown_address;
use super::engine::{Engine, engine};
use super::located::{Located, Parts};
use super::object::locate;
use super::options::StorageOptions;
use super::wait::wait_for;
use super::{POLL, answer, counts};
use crate::existing::Existing;
use crate::unique_name;

/// Maximum bytes of a file that is uploaded in one request.
const SINGLE_BYTES: u64 = 16 << 20;
/// Least bytes of a part, most parts of an object (of S3), and parts on their way at a time.
const PART_BYTES: u64 = 16 << 20;
const MAX_PARTS: u64 = 10_000;
const PARTS_AT_ONCE: usize = 4;
/// Maximum bytes that S3 copies in one request.
const MAX_COPY_BYTES: u64 = 5 << 30;
/// Suffix of the object that notes the identifier of an upload in parts while it runs, after the name of the object.
pub const UPLOAD_NOTE: &str = ".upload";
/// How long an upload that was interrupted may take to remove its parts.
const ABORT_TIME: Duration = Duration::from_secs(10);

/// Checks that an object may be put at an address: its store takes objects, and with [`Existing::Keep`] has none of this name.
///
/// # Errors
/// `Unsupported` for HTTP servers; `Conflict` if there is one already; `Io` if the store does not answer.
pub(crate) fn check_writable(address: &str, options: &StorageOptions, existing: Existing) -> Result<()> {
    let name = shown_address(address).into_owned();
    if address.to_ascii_lowercase().starts_with("http") {
        return Err(Error::unsupported("files are written to object stores (s3://, gs://, az://), not to HTTP servers").in_file(name));
    }
    let engine = engine()?;
    let located = locate(engine, address, options)?;
    if located.path.as_ref().is_empty() {
        return Err(Error::invalid_input("the address has no name of an object").in_file(name));
    }
    if existing == Existing::Replace {
        return Ok(());
    }
    let found = wait_for(async move {
        match located.store.head(&located.path).await {
            Ok(_) => Err(answer::is_there()),
            Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(answer::of_writing(&error)),
        }
    });
    found.map_err(|error| error.in_file(name))
}

/// Where a file is uploaded to.
pub(crate) struct UploadTarget<'a> {
    pub address: &'a str,
    pub options: &'a StorageOptions,
    pub existing: Existing,
    /// Whether an object next to it notes an upload in parts while it runs, so that others can end it if this process is killed.
    pub is_noted: bool,
}

/// Makes the first `length` bytes of a file an object. It appears when all of them are there. If this is interrupted or fails, no
/// part of them stays in the store, unless the store cannot be reached.
///
/// # Errors
/// `Conflict` if there is an object already and `existing` keeps it; `Io` if the store does not take it.
pub(crate) fn upload(file: &File, length: u64, target: &UploadTarget<'_>) -> Result<()> {
    let &UploadTarget { address, options, existing, is_noted } = target;
    let name = shown_address(address).into_owned();
    let engine = engine()?;
    let located = locate(engine, address, options)?;
    let is_s3 = super::scheme(address).is_some_and(|scheme| scheme.to_ascii_lowercase().starts_with("s3"));
    if existing == Existing::Keep && is_s3 && length > MAX_COPY_BYTES {
        return Err(Error::unsupported("S3 cannot put more than 5 GiB under a name only if it is free: replace (mode 'w')").in_file(name));
    }
    let source = Source { file: file.try_clone().map_err(|error| Error::io(error, "cannot read back").in_file(&name))?, length };
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    uninterrupted(engine, &stop, async move { put(engine, &located, &source, existing, is_noted, &stopped).await }).map_err(|error| error.in_file(name))
}

struct Source {
    file: File,
    length: u64,
}

impl Source {
    fn read(&self, offset: u64, bytes: u64) -> Result<Bytes> {
        let length = usize::try_from(bytes).map_err(|_| Error::internal("a part is longer than memory"))?;
        let mut buffer = vec![0; length];
        self.file.read_exact_at(&mut buffer, offset).map_err(|error| Error::io(error, "cannot read back").at_offset(offset))?;
        Ok(buffer.into())
    }
}

/// The outcome of `work`. If the caller is interrupted, `stop` is set, and `work` has some time to clean up.
fn uninterrupted(engine: &Engine, stop: &AtomicBool, work: impl Future<Output = Result<()>> + Send + 'static) -> Result<()> {
    let (sender, receiver) = channel();
    let task = engine.runtime.spawn(async move {
        let _ = sender.send(work.await);
    });
    let mut interrupted: Option<(Error, Instant)> = None;
    loop {
        match (receiver.recv_timeout(POLL), &interrupted) {
            // An object that was complete before the interruption is there.
            (Ok(outcome), Some((error, _))) => return outcome.and(Err(error.clone())),
            (Ok(outcome), None) => return outcome,
            (Err(RecvTimeoutError::Disconnected), _) => return Err(Error::internal("an upload ended without an outcome")),
            (Err(RecvTimeoutError::Timeout), Some((error, since))) if since.elapsed() > ABORT_TIME => {
                task.abort();
                return Err(error.clone());
            }
            (Err(RecvTimeoutError::Timeout), Some(_)) => {}
            (Err(RecvTimeoutError::Timeout), None) => {
                if let Err(error) = interruption::check_wait() {
                    stop.store(true, Ordering::Relaxed);
                    interrupted = Some((error, Instant::now()));
                }
            }
        }
    }
}

async fn put(engine: &Engine, located: &Located, source: &Source, existing: Existing, is_noted: bool, stop: &AtomicBool) -> Result<()> {
    let Located { store, path, .. } = located;
    if source.length <= SINGLE_BYTES {
        let mode = if existing == Existing::Keep { PutMode::Create } else { PutMode::Overwrite };
        let bytes = source.read(0, source.length)?;
        let _permit = engine.requests.acquire().await.map_err(|_| Error::internal("no requests are allowed"))?;
        counts::add(&counts::ROUNDS, 1);
        let done = store.put_opts(path, bytes.into(), PutOptions::from(mode)).await;
        return done.map(drop).map_err(|error| answer::of_writing(&error));
    }
    if existing == Existing::Replace {
        return put_parts(located, path, source, is_noted, stop).await;
    }
    // Parts cannot be put together under a name only if it is free, but an object can be copied to it.
    let aside = Path::from(format!("{path}.{}.part", unique_name()));
    put_parts(located, &aside, source, is_noted, stop).await?;
    let copied = store.copy_if_not_exists(&aside, path).await.map_err(|error| answer::of_writing(&error));
    let removed = store.delete(&aside).await.map_err(|error| answer::of_writing(&error).in_file(aside.to_string()));
    copied.and(removed)
}

async fn put_parts(located: &Located, path: &Path, source: &Source, is_noted: bool, stop: &AtomicBool) -> Result<()> {
    let parts = located.parts.as_ref().ok_or_else(|| Error::internal("a store without uploads in parts"))?;
    let id = parts.create_multipart(path).await.map_err(|error| answer::of_writing(&error))?;
    let note = is_noted.then(|| Path::from(format!("{path}{UPLOAD_NOTE}")));
    let noted = match &note {
        Some(note) => located.store.put(note, Bytes::from(id.clone()).into()).await.map(drop).map_err(|error| answer::of_writing(&error)),
        None => Ok(()),
    };
    let sent = match noted {
        Ok(()) => send_parts(parts, path, &id, source, stop).await,
        Err(error) => Err(error),
    };
    let done = match sent {
        Ok(sent) => parts.complete_multipart(path, &id, sent).await.map(drop).map_err(|error| answer::of_writing(&error)),
        Err(error) => Err(error),
    };
    // The error that matters is the first one.
    if done.is_err() {
        let _ = parts.abort_multipart(path, &id).await;
    }
    if let Some(note) = &note {
        let _ = located.store.delete(note).await;
    }
    done
}

async fn send_parts(parts: &Parts, path: &Path, id: &MultipartId, source: &Source, stop: &AtomicBool) -> Result<Vec<PartId>> {
    let part_bytes = source.length.div_ceil(MAX_PARTS).max(PART_BYTES);
    let (mut running, mut sent) = (JoinSet::new(), Vec::new());
    let (mut offset, mut index) = (0, 0);
    loop {
        while running.len() < PARTS_AT_ONCE && offset < source.length {
            let bytes = part_bytes.min(source.length - offset);
            let (parts, path, id, content) = (parts.clone(), path.clone(), id.clone(), source.read(offset, bytes)?);
            running.spawn(async move { parts.put_part(&path, &id, index, content.into()).await.map(|part| (index, part)) });
            counts::add(&counts::ROUNDS, 1);
            (offset, index) = (offset + bytes, index + 1);
        }
        if stop.load(Ordering::Relaxed) {
            return Err(Error::cancelled());
        }
        match tokio::time::timeout(POLL, running.join_next()).await {
            Err(_) => {}
            Ok(Some(Ok(Ok(part)))) => sent.push(part),
            Ok(Some(Ok(Err(error)))) => return Err(answer::of_writing(&error)),
            Ok(Some(Err(_))) => return Err(Error::internal("a part of an upload ended without an outcome")),
            Ok(None) => break,
        }
    }
    sent.sort_by_key(|(index, _)| *index);
    Ok(sent.into_iter().map(|(_, part)| part).collect())
}
