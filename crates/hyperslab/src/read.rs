//! Read: a hyperslab of one dataset, chunks fetched and decoded in parallel, each once.

use hyperslab_array::{Elements, Error, HeapObjects, Result, Selection};
use hyperslab_formats::ObjectId;

use crate::{Cancellation, File};

pub(crate) fn read(_file: &File, _dataset: ObjectId, _selection: &Selection, _cancellation: &Cancellation) -> Result<Elements> {
    Err(Error::unsupported("stub"))
}
pub(crate) fn read_into(_: &File, _: ObjectId, _: &Selection, _: &mut [u8], _: &Cancellation) -> Result<HeapObjects> {
    Err(Error::unsupported("stub"))
}
pub(crate) fn stored_bytes(_: &File, _: ObjectId) -> Result<u64> {
    Err(Error::unsupported("stub"))
}
