//! The objects of a file that only references lead to. Programs such as Julia's JLD2 keep most of their values in such objects.

use std::collections::HashSet;

use hyperslab_array::name::path_of_address;
use hyperslab_array::{Axis, Cancellation, Elements, Error, ErrorKind, Result, Selection};
use hyperslab_formats::{Dataset, Object, ObjectId};

use super::walk::Walked;
use crate::File;
use crate::finding::stored_references::each_reference;

/// Bytes of references that are read at once.
const SLAB_BYTES: u64 = 16 << 20;

/// A search for objects that no link leads to.
struct Search<'a> {
    file: &'a File,
    cancellation: &'a Cancellation,
    seen: HashSet<ObjectId>,
    found: Vec<Walked>,
    unreadable: Vec<(ObjectId, Error)>,
}

/// The objects of a file that only references lead to.
#[non_exhaustive]
pub struct UnnamedObjects {
    /// Those that were found.
    pub found: Vec<Walked>,
    /// Objects whose references the operating system cannot read, and why: they may lead to others.
    pub unreadable: Vec<(ObjectId, Error)>,
}

impl File {
    /// The objects that references in values and attributes lead to and no hard link, with all that is in them and all that their own
    /// references lead to. Their paths are those of [`File::path_of`]. Reads all values that have references.
    ///
    /// References that lead to no object, and values that cannot be read, lead to nothing here.
    ///
    /// # Errors
    /// `Cancelled`; `LimitExceeded`; `Io`.
    pub fn unnamed_objects(&self, cancellation: &Cancellation) -> Result<Vec<Walked>> {
        let UnnamedObjects { found, unreadable } = self.readable_unnamed_objects(cancellation)?;
        unreadable.into_iter().next().map_or(Ok(found), |(_, error)| Err(error))
    }

    /// The same, but continues after references that the operating system cannot read.
    ///
    /// # Errors
    /// `Cancelled`; `LimitExceeded`.
    pub fn readable_unnamed_objects(&self, cancellation: &Cancellation) -> Result<UnnamedObjects> {
        let walked: Vec<(ObjectId, Option<Object>)> = self.walk().map(|walked| (walked.id, walked.object.ok())).collect();
        let mut search = Search { file: self, cancellation, seen: walked.iter().map(|(id, _)| *id).collect(), found: Vec::new(), unreadable: Vec::new() };
        for (id, object) in &walked {
            search.follow_from(*id, object.as_ref())?;
        }
        // What was found may have references itself.
        let mut next = 0;
        while let Some((id, object)) = search.found.get(next).map(|walked| (walked.id, walked.object.as_ref().ok().cloned())) {
            search.follow_from(id, object.as_ref())?;
            next += 1;
        }
        Ok(UnnamedObjects { found: search.found, unreadable: search.unreadable })
    }
}

impl Search<'_> {
    /// Follows the references in the attributes and values of an object.
    fn follow_from(&mut self, id: ObjectId, object: Option<&Object>) -> Result<()> {
        self.cancellation.check()?;
        let attributes = self.file.attributes(id);
        let Some(attributes) = self.readable(id, attributes)? else { return Ok(()) };
        for value in attributes.iter().filter_map(|attribute| attribute.value.as_ref().ok()) {
            self.follow(id, value)?;
        }
        match object {
            Some(Object::Dataset(dataset)) if dataset.datatype.has_references() && dataset.virtual_mappings.is_empty() => self.follow_values(id, dataset),
            _ => Ok(()),
        }
    }

    fn follow_values(&mut self, id: ObjectId, dataset: &Dataset) -> Result<()> {
        let shape = dataset.dataspace.shape();
        let rows = shape.first().copied().unwrap_or(1);
        let row_bytes = dataset.value_bytes().unwrap_or(u64::MAX) / rows.max(1);
        let step = (SLAB_BYTES / row_bytes.max(1)).max(1);
        let mut row = 0;
        while row < rows {
            let count = step.min(rows - row);
            let selection = match shape {
                [] => Selection::all(shape),
                [_, others @ ..] => Selection::new([Axis::range(row, count)].into_iter().chain(others.iter().map(|n| Axis::range(0, *n))).collect(), shape)?,
            };
            row += count;
            let values = self.file.read(id, &selection, self.cancellation);
            match self.readable(id, values)? {
                Some(values) => self.follow(id, &values)?,
                None => continue,
            }
        }
        Ok(())
    }

    /// Adds what the references among `values` of the object `from` lead to.
    fn follow(&mut self, from: ObjectId, values: &Elements) -> Result<()> {
        let mut addresses = Vec::new();
        let collected = each_reference(&values.datatype, &values.bytes, &values.heap, &mut |kind, size, bytes| {
            let references = self.file.array_file().references(kind, size, bytes);
            let references = self.readable(from, references)?.unwrap_or_default();
            addresses.extend(references.into_iter().flatten().filter(|reference| reference.file.is_none()).map(|reference| reference.address));
            Ok(())
        });
        self.readable(from, collected)?;
        for address in addresses {
            let Some(id) = self.file.array_file().tree().at_address(address).filter(|id| !self.seen.contains(id)) else { continue };
            let object = self.file.object(id);
            let Some(object) = self.readable(from, object)? else { continue };
            if object.is_group() {
                let below: Vec<Walked> = self.file.walk_below(&path_of_address(address), id).filter(|walked| self.seen.insert(walked.id)).collect();
                self.found.extend(below);
            } else if self.seen.insert(id) {
                self.found.push(Walked { path: path_of_address(address), id, object: Ok(object) });
            }
        }
        Ok(())
    }

    /// What was read of the references of the object `from`; `None` if it is damaged or not supported.
    fn readable<T>(&mut self, from: ObjectId, read: Result<T>) -> Result<Option<T>> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(error) => match error.kind() {
                ErrorKind::Cancelled | ErrorKind::LimitExceeded => Err(error),
                ErrorKind::Io => {
                    // One error of an object says enough.
                    if self.unreadable.last().is_none_or(|(last, _)| *last != from) {
                        self.unreadable.push((from, error));
                    }
                    Ok(None)
                }
                _ => Ok(None),
            },
        }
    }
}
