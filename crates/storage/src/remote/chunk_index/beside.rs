//! Chunk indexes that are objects, such as an index next to the object that it describes: everybody who opens the object can use it, without a local file.
//!
//! The index and the beginning of the object are asked for at once, so that opening is one round trip. The answers say which version the
//! object has: an index of another one is not used.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use futures_util::future::join;
use hyperslab_array::{Error, ErrorKind, Result, interruption};

use super::super::address::shown_address;
use super::super::counts;
use super::super::fetch::Fetch;
use super::super::object::{Head, Object, Origin, engine_and_store, get_head};
use super::super::ranges::{Gaps, MAX_REQUEST_BYTES};
use super::super::wait::wait_for;
use super::format::ChunkIndex;
use crate::notices::add_of_cache;

/// The suffix that an index's name adds to the name of its object.
const SUFFIX: &str = ".chunks";
/// Bytes of the object's beginning that are fetched: enough to go on with if there is no index.
const HEAD_BYTES: u64 = 64 << 10;
/// Bytes of the index that come with the request that says how long it is: all of most indexes.
const INDEX_HEAD_BYTES: u64 = 4 << 20;
/// Longest index that is taken into memory.
const MAX_INDEX_BYTES: u64 = 256 << 20;

/// The address of the index next to an object.
pub(in super::super) fn beside(address: &str) -> String {
    match address.split_once('?') {
        Some((path, query)) => format!("{path}{SUFFIX}?{query}"),
        None => format!("{address}{SUFFIX}"),
    }
}

/// The beginning of an object, and the index at another address, if it is of this version of the object. The index may be as long as the
/// object and `max_extra_bytes` more: it holds bytes of the object, and where they are.
///
/// # Errors
/// As of opening the object. If the index `is_named`: what is wrong with it; otherwise that is a notice.
pub(in super::super) fn open_with_index(
    origin: &Origin,
    address: &str,
    at: Origin,
    is_named: bool,
    max_extra_bytes: u64,
) -> Result<(Head, Option<ChunkIndex>)> {
    let (engine, object) = engine_and_store(origin)?;
    let (_, index) = engine_and_store(&at)?;
    let Some((object, index)) = object.zip(index) else { return Err(Error::internal("an address without a store")) };
    let Origin::Store { address: place, .. } = &at else { return Err(Error::internal("an index without an address")) };
    let shown = shown_address(place).into_owned();
    counts::add(&counts::ROUNDS, 1);
    let (head, found) = wait_for(async move {
        let both = join(get_head(engine, &object, HEAD_BYTES), get_head(engine, &index, INDEX_HEAD_BYTES)).await;
        Ok(both)
    })?;
    let head = head?;
    let of_this = |index: ChunkIndex| match index.is_of(address, &head.version, head.length) {
        true => Ok(index),
        false => Err(Error::new(ErrorKind::Conflict, "this chunk index is of another object, or of another version of it: make it again")),
    };
    let max_bytes = MAX_INDEX_BYTES.min(max_extra_bytes.saturating_add(head.length));
    let whole = found.and_then(|found| whole(found, at, &shown, max_bytes));
    match whole.and_then(|bytes| ChunkIndex::of_bytes(&bytes, shown.clone())).and_then(of_this) {
        Ok(index) => Ok((head, Some(index))),
        Err(error) if is_named => Err(error.in_file(shown)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok((head, None)),
        Err(error) => {
            add_of_cache(format!("the chunk index {shown} is not used: {}", error.message()));
            Ok((head, None))
        }
    }
}

/// All bytes of an index whose beginning is known. Nothing of one that is too long is fetched beyond that.
fn whole(found: Head, at: Origin, name: &str, max_bytes: u64) -> Result<Bytes> {
    let Head { bytes, length, version } = found;
    if length > max_bytes {
        return Err(Error::new(ErrorKind::LimitExceeded, format!("it has {length} bytes, more than {max_bytes}: copy it, and name the copy")));
    }
    if bytes.len() as u64 >= length {
        return Ok(bytes);
    }
    let mut all = vec![0; usize::try_from(length).map_err(|_| Error::limit_exceeded("an index that is longer than memory"))?];
    let (head, rest) = all.split_at_mut_checked(bytes.len()).ok_or_else(|| Error::internal("more bytes than the index has"))?;
    head.copy_from_slice(&bytes);
    let (offset, count) = (bytes.len() as u64, rest.len() as u64);
    let object = Arc::new(Object { origin: at, name: name.to_owned(), length, version, is_confirmed: AtomicBool::new(true), own_index: None });
    let fetch = Fetch::begin(&object, &[(offset, count)], Gaps::NONE, MAX_REQUEST_BYTES, interruption::current_cancellation())?;
    match fetch.read(offset, rest)? {
        true => Ok(all.into()),
        false => Err(Error::internal("a fetch without the bytes that it fetched")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_beside_an_object_has_its_name_and_query() {
        assert_eq!(beside("s3://b/run.h5"), "s3://b/run.h5.chunks");
        assert_eq!(beside("https://h/run.h5?sig=1"), "https://h/run.h5.chunks?sig=1");
    }
}
