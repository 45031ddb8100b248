//! Converted: values that become others while they are read, in parallel parts.

use hyperslab_array::{Axis, Cancellation, Error, Result};
use hyperslab_formats::{Dataset, ObjectId, StorageLayout};
use rayon::prelude::*;

use crate::{File, Pick, Picked};

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
            if let Some(rows) = Rows::of(&description, picked, count) {
                return self.convert_rows(dataset, &rows, size, width, convert, out, cancellation);
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

    /// The same row by row, so that values are converted while they are in the processor's cache.
    #[expect(clippy::too_many_arguments, reason = "the parts of one read")]
    fn convert_rows(
        &self,
        dataset: ObjectId,
        rows: &Rows<'_>,
        size: usize,
        width: usize,
        convert: Convert<'_>,
        out: &mut [u8],
        cancellation: &Cancellation,
    ) -> Result<bool> {
        let part = |stored: &mut Vec<u8>, number: usize, out: &mut [u8]| {
            let picked = rows.part(number, out.len() / (rows.elements * size));
            stored.resize(out.len() / size * width, 0);
            self.read_picked_into(dataset, &picked, stored, cancellation)?;
            convert(stored, out)
        };
        let parts = out.par_chunks_mut(rows.in_part * rows.elements * size).enumerate();
        self.session()
            .compute(|| parts.map_init(Vec::new, |stored, (number, out)| part(stored, number, out)).try_reduce(|| true, |one, other| Ok(one && other)))
    }
}

/// Rows of a contiguous dataset that follow each other along its first dimension, to be read in parts of some rows. A part of a
/// chunked one would have the chunks of others decoded again.
struct Rows<'a> {
    start: u64,
    step: u64,
    others: &'a [Pick],
    /// Elements of a row.
    elements: usize,
    /// Rows of a part.
    in_part: usize,
}

impl<'a> Rows<'a> {
    fn of(description: &Dataset, picked: &'a Picked, count: usize) -> Option<Self> {
        let Picked::Outer(picks) = picked else { return None };
        let (Pick::Axis(Axis::Range { start, count: rows, step }), others) = picks.split_first()? else { return None };
        let rows = usize::try_from(*rows).ok().filter(|rows| *rows > 0)?;
        let is_contiguous = description.storage == StorageLayout::Contiguous && description.external_files.is_empty();
        let elements = count / rows;
        let in_part = PART_ELEMENTS.checked_div(elements)?.max(1);
        let is_box = others.iter().all(|other| matches!(other, Pick::Axis(Axis::Range { .. })));
        (is_contiguous && is_box && count > PART_ELEMENTS && in_part < rows).then_some(Self { start: *start, step: *step, others, elements, in_part })
    }

    fn part(&self, number: usize, rows: usize) -> Picked {
        let first = self.start + (number * self.in_part) as u64 * self.step;
        let along = Pick::Axis(Axis::Range { start: first, count: rows as u64, step: self.step });
        Picked::Outer(std::iter::once(along).chain(self.others.iter().cloned()).collect())
    }
}
