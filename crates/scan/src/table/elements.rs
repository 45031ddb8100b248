//! Elements of an array: the elements of rows, or the whole array.
#![expect(clippy::exhaustive_structs, reason = "compositions are made by readers, too")]

use std::sync::Arc;

use arrow_array::ArrayRef;
use hyperslab_array::{Axis, Cancellation, Error, Result, Selection};
use hyperslab_columns::Column;
use hyperslab_formats::ObjectId;

use super::mapping::RowMapping;

/// Elements of an array: the elements of the segment's rows, or the whole array.
#[derive(Debug, Clone)]
pub struct Elements {
    /// The dataset.
    pub dataset: ObjectId,
    /// How its values become Arrow values.
    pub column: Column,
    /// The file that holds it, and the mapping of rows (or of its own indexes) to its elements.
    pub mapping: Arc<RowMapping>,
    /// The member of a compound dataset whose values are meant.
    pub member: Option<String>,
    /// Path of a variable whose units and calendar its values have.
    pub inherits: Option<String>,
}

impl Elements {
    /// Shape of the dataset.
    pub(crate) fn shape(&self) -> Result<Vec<u64>> {
        Ok(self.mapping.file.dataset(self.dataset)?.dataspace.shape().to_vec())
    }

    /// The elements for `rows`, axes of the segment or of the array itself.
    pub(crate) fn selection(&self, rows: &[Axis]) -> Result<Selection> {
        Selection::new(self.mapping.axes(rows)?, &self.shape()?)
    }

    /// All elements of the array itself.
    pub(crate) fn read_all(&self, cancellation: &Cancellation) -> Result<ArrayRef> {
        let file = &self.mapping.file;
        let mut elements = file.read(self.dataset, &Selection::all(&self.shape()?), cancellation)?;
        let named = file.name_references(self.column.datatype(), &elements.bytes, &mut elements.heap);
        named.and_then(|()| self.column.to_arrow(&elements.bytes, &elements.heap)).map_err(|error| self.place(error))
    }

    pub(crate) fn place(&self, error: Error) -> Error {
        self.mapping.file.place(self.dataset, error)
    }

    /// Bytes of an element.
    pub(crate) fn width(&self) -> u64 {
        self.mapping.file.dataset(self.dataset).map_or(8, |dataset| dataset.datatype.size())
    }
}
