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
            if let Some(parts) = Parts::of(&description, picked, count) {
                return self.convert_parts(dataset, &parts, size, width, convert, out, cancellation);
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

    /// The same part by part, so that values are converted while they are in the processor's cache.
    #[expect(clippy::too_many_arguments, reason = "the parts of one read")]
    fn convert_parts(
        &self,
        dataset: ObjectId,
        parts: &Parts<'_>,
        size: usize,
        width: usize,
        convert: Convert<'_>,
        out: &mut [u8],
        cancellation: &Cancellation,
    ) -> Result<bool> {
        let part = |stored: &mut Vec<u8>, slab: usize, number: usize, out: &mut [u8]| {
            let picked = parts.part(slab, number, out.len() / (parts.elements * size));
            stored.resize(out.len() / size * width, 0);
            self.read_picked_into(dataset, &picked, stored, cancellation)?;
            convert(stored, out)
        };
        let slabs = out.par_chunks_mut(parts.rows * parts.elements * size).enumerate();
        let numbered = slabs.flat_map(|(slab, out)| out.par_chunks_mut(parts.in_part * parts.elements * size).enumerate().map(move |part| (slab, part)));
        self.session().compute(|| {
            let converted = numbered.map_init(Vec::new, |stored, (slab, (number, out))| part(stored, slab, number, out));
            converted.try_reduce(|| true, |one, other| Ok(one && other))
        })
    }
}

/// Parts of a box of a contiguous dataset: some rows along one dimension, at one index of each dimension before it. A part of a
/// chunked dataset would have the chunks of others decoded again.
struct Parts<'a> {
    /// First index, count and step along the dimensions up to the one that is divided.
    ranges: Vec<(u64, u64, u64)>,
    others: &'a [Pick],
    /// Elements of a row.
    elements: usize,
    /// Rows along the dimension that is divided, and those of a part.
    rows: usize,
    in_part: usize,
}

impl<'a> Parts<'a> {
    fn of(description: &Dataset, picked: &'a Picked, count: usize) -> Option<Self> {
        let Picked::Outer(picks) = picked else { return None };
        let is_contiguous = description.storage == StorageLayout::Contiguous && description.external_files.is_empty();
        if !is_contiguous || count <= PART_ELEMENTS {
            return None;
        }
        let of_pick = |pick: &Pick| match pick {
            Pick::Axis(Axis::Range { start, count, step }) => Some((*start, *count, *step)),
            _ => None,
        };
        let ranges = picks.iter().map(of_pick).collect::<Option<Vec<_>>>()?;
        let mut elements = count;
        for (axis, (_, rows, _)) in ranges.iter().enumerate() {
            let rows = usize::try_from(*rows).ok()?;
            elements = elements.checked_div(rows)?;
            if elements <= PART_ELEMENTS {
                let in_part = PART_ELEMENTS.checked_div(elements)?;
                // Parts of about one length.
                let in_part = rows.div_ceil(rows.div_ceil(in_part));
                return Some(Self { ranges: ranges.get(..=axis)?.to_vec(), others: picks.get(axis + 1..)?, elements, rows, in_part });
            }
        }
        None
    }

    /// The selection of the part of `rows` rows with this number in a slab, which is what has one index along each of the first dimensions.
    fn part(&self, slab: usize, number: usize, rows: usize) -> Picked {
        let mut left = slab as u64;
        let mut axes: Vec<Pick> = Vec::with_capacity(self.ranges.len() + self.others.len());
        for (place, (start, count, step)) in self.ranges.iter().rev().enumerate() {
            let (index, count) = match place {
                0 => ((number * self.in_part) as u64, rows as u64),
                _ => {
                    let index = left % count;
                    left /= count;
                    (index, 1)
                }
            };
            axes.push(Pick::Axis(Axis::Range { start: start + index * step, count, step: *step }));
        }
        axes.reverse();
        axes.extend(self.others.iter().cloned());
        Picked::Outer(axes)
    }
}
