//! Converted: values that become others while they are read, in parallel parts.

use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_formats::ObjectId;
use rayon::prelude::*;

use crate::{File, Picked};

/// Elements that a thread converts at a time.
const PART_ELEMENTS: usize = 64 << 10;

/// Converts the bytes of whole elements; `false` if some have no other value.
pub type Convert<'a> = &'a (dyn Fn(&[u8], &mut [u8]) -> Result<bool> + Sync);

impl File {
    /// Reads what `picked` selects, and converts each element into `size` bytes of `out`. `false`, with `out` undefined, if `convert` returned
    /// it.
    ///
    /// # Errors
    /// As [`File::read_picked_into`], and those of `convert`; `InvalidInput` if `out` has another length.
    pub fn read_converted_into(
        &self,
        dataset: ObjectId,
        picked: &Picked,
        size: usize,
        convert: Convert<'_>,
        out: &mut [u8],
        cancellation: &Cancellation,
    ) -> Result<bool> {
        let mut read = || {
            let description = self.dataset(dataset)?;
            let width = usize::try_from(description.datatype.size()).map_err(|_| Error::internal("the size of an element"))?;
            let count = picked.count()?;
            let width_of_both = width.max(size).max(1);
            let length = usize::try_from(count).ok().and_then(|count| count.checked_mul(width_of_both));
            let count = length
                .map(|length| length / width_of_both)
                .ok_or_else(|| Error::limit_exceeded("the selection exceeds the memory of this machine: read it in parts"))?;
            if out.len() != count * size {
                return Err(Error::invalid_input(format!("the buffer has {} bytes, {count} values need {}", out.len(), count * size)));
            }
            let mut stored = self.session().values().take(count * width)?;
            self.read_picked_into(dataset, picked, &mut stored, cancellation)?;
            if count <= PART_ELEMENTS {
                return convert(&stored, out);
            }
            let parts = out.par_chunks_mut(PART_ELEMENTS * size).zip(stored.par_chunks(PART_ELEMENTS * width));
            self.session().compute(|| parts.map(|(out, stored)| convert(stored, out)).try_reduce(|| true, |one, other| Ok(one && other)))
        };
        read().map_err(|error| self.place(dataset, error))
    }
}
