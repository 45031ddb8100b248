//! The Arrow file with the values of one dataset.

use hyperslab_array::{Error, Result};
use hyperslab_arrow_container::elements::Dataspace;
use hyperslab_arrow_container::table::{is_listed, rows_of};

use crate::column::{Column, Finder, Kind};
use crate::form::Form;
use crate::joined::Source;
use crate::place::Part;

/// The values of a dataset.
pub(crate) struct Values {
    part: Part,
    batches: Vec<Batch>,
    element_bytes: u64,
    /// Whether elements have bytes that no column has.
    has_gaps: bool,
}

/// A record batch: the first of its elements, and its columns.
struct Batch {
    first: u64,
    column: Column,
}

impl Values {
    /// Opens the file of a dataset of this form and space. `next` is the number of the next heap.
    ///
    /// # Errors
    /// `Corrupt` or `Unsupported` if the file does not fit the dataset; `LimitExceeded` or `Io`.
    pub fn open(part: Part, form: &Form, space: &Dataspace, max_bytes: u64, next: &mut u64) -> Result<Self> {
        let found = part.batches(max_bytes)?;
        let stored = form.stored();
        let (rows, inner) = rows_of(&stored, space);
        let held = found.batches.iter().try_fold(0u64, |sum, batch| sum.checked_add(batch.rows));
        if held != Some(rows) {
            return Err(Error::corrupt(format!("the file of the values has {} rows, the catalog says {rows}", held.unwrap_or(u64::MAX))));
        }
        let fields = found.schema.fields();
        let mut batches = Vec::with_capacity(found.batches.len());
        let mut first = 0u64;
        for batch in &found.batches {
            let mut finder = Finder::new(batch, next);
            let column = match form {
                Form::Compound { members, .. } => {
                    if members.len() != fields.len() {
                        return Err(Error::corrupt(format!("the file of the values has {} columns, the datatype {} members", fields.len(), members.len())));
                    }
                    let columns = members.iter().zip(fields).map(|(member, field)| Ok((member.offset, finder.column(&member.form, field)?)));
                    let columns = columns.collect::<Result<Vec<_>>>()?;
                    Column { length: batch.rows, kind: Kind::Members(columns) }
                }
                _ => {
                    let field = fields.first().ok_or_else(|| Error::corrupt("the file of the values has no column"))?;
                    if is_listed(&stored, space) { finder.listed(inner, form, field)? } else { finder.column(form, field)? }
                }
            };
            let count = batch.rows.checked_mul(inner).ok_or_else(|| Error::corrupt("a record batch beyond 64 bits"))?;
            let is_whole = match &column.kind {
                Kind::Members(columns) => columns.iter().all(|(_, column)| column.length == count),
                _ => column.length == count,
            };
            if !is_whole {
                return Err(Error::corrupt(format!("a record batch of {count} elements has columns of another length")));
            }
            batches.push(Batch { first, column });
            first = first.checked_add(count).ok_or_else(|| Error::corrupt("a dataset beyond 64 bits"))?;
        }
        Ok(Self { part, batches, element_bytes: form.bytes() as u64, has_gaps: form.has_gaps() })
    }

    // Offsets of buffers count from the beginning of the storage already.
    fn source(&self) -> Source<'_> {
        Source { storage: self.part.storage.as_ref() }
    }

    /// Reads bytes from byte `offset` of the elements on.
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported` or `Io` if they cannot be read.
    pub fn read(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let size = self.element_bytes;
        let (mut element, mut skip, mut out) = (offset / size, (offset % size) as usize, out);
        while !out.is_empty() {
            // Bytes of an element that is not read whole.
            if skip > 0 || (out.len() as u64) < size {
                let mut whole = vec![0; size as usize];
                self.fill(element, &mut whole)?;
                let wanted = out.len().min(whole.len() - skip);
                let (here, rest) = out.split_at_mut(wanted);
                here.copy_from_slice(whole.get(skip..skip + wanted).unwrap_or_default());
                (element, skip, out) = (element + 1, 0, rest);
                continue;
            }
            let count = out.len() as u64 / size;
            let (here, rest) = out.split_at_mut((count * size) as usize);
            self.fill(element, here)?;
            (element, out) = (element + count, rest);
        }
        Ok(())
    }

    /// Fills `out` with whole elements from `first` on.
    fn fill(&self, first: u64, out: &mut [u8]) -> Result<()> {
        if self.has_gaps {
            out.fill(0);
        }
        let size = self.element_bytes as usize;
        let (mut element, mut out) = (first, out);
        while !out.is_empty() {
            let index = self.batches.partition_point(|batch| batch.first <= element).saturating_sub(1);
            let batch = self.batches.get(index).ok_or_else(|| Error::internal("an element of no record batch"))?;
            let inside = element - batch.first;
            let count = batch.column.length.saturating_sub(inside).min((out.len() / size) as u64);
            if count == 0 {
                return Err(Error::internal("an element beyond the last record batch"));
            }
            let (here, rest) = out.split_at_mut(count as usize * size);
            batch.column.fill(self.source(), inside, count, here, 0, size)?;
            (element, out) = (element + count, rest);
        }
        Ok(())
    }

    /// Calls `take` with the values of variable length of one heap: the column in which they are.
    pub fn objects(&self, number: u64, first: u64, count: u64) -> Result<(Vec<u8>, Vec<usize>)> {
        let column = self.batches.iter().find_map(|batch| batch.column.heap(number)).ok_or_else(|| Error::internal("a heap of another dataset"))?;
        column.objects(self.source(), first, count)
    }

    /// The file and offset of `length` bytes from byte `offset` of the elements on, if they are stored there as they are shown.
    pub fn file_with(&self, offset: u64, length: u64) -> Result<Option<(std::fs::File, u64)>> {
        let element = offset / self.element_bytes;
        let index = self.batches.partition_point(|batch| batch.first <= element).saturating_sub(1);
        let Some(batch) = self.batches.get(index) else { return Ok(None) };
        let Some((place, width)) = batch.column.as_shown() else { return Ok(None) };
        let inside = offset - batch.first * self.element_bytes;
        if width != self.element_bytes || inside.checked_add(length).is_none_or(|end| end > batch.column.length * width) {
            return Ok(None);
        }
        self.part.storage.file_with(place + inside, length)
    }

    pub fn close(&self) {
        self.part.storage.close();
    }
}
