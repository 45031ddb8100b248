//! Columns that are put together from several arrays: codes with categories, values with a mask, ragged rows, scaled sums.
#![expect(clippy::exhaustive_enums, clippy::exhaustive_structs, reason = "a new composition must be handled by each reader")]

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field};
use hyperslab_array::{Axis, Cancellation, Error, ErrorKind, Result, Selection};
use hyperslab_columns::Column;
use hyperslab_formats::ObjectId;

use super::connectivity::IndexRule;
use super::mapping::RowMapping;
use super::nulls::{flags, masked};

/// Elements of an array: those of the segment's rows, or the whole array.
#[derive(Debug, Clone)]
pub struct Elements {
    /// The dataset.
    pub dataset: ObjectId,
    /// How its values become Arrow values.
    pub column: Column,
    /// The file that holds it, and the mapping of rows (or of its own indexes) to its elements.
    pub mapping: Arc<RowMapping>,
    /// Of a compound dataset: the member whose values are meant.
    pub member: Option<String>,
}

/// A column's values from several arrays.
#[derive(Debug, Clone)]
pub enum Composed {
    /// Sums of scaled values, as doubles.
    Scaled {
        /// One value for each row, with its factor.
        terms: Vec<(Elements, f64)>,
        /// What is added.
        constant: f64,
    },
    /// A category for each row. Codes below 0 are null.
    Categories {
        /// One code for each row: an index into the categories.
        codes: Elements,
        /// The categories, a whole 1-D array.
        categories: Elements,
        /// One flag for each category: whether it is null.
        mask: Option<Box<Elements>>,
    },
    /// Values that may be null.
    Masked {
        /// One value for each row.
        values: Elements,
        /// One flag for each row: whether the value is null.
        mask: Elements,
    },
    /// A list for each row, of any length.
    Lists {
        /// A whole 1-D array, one longer than there are rows: row `i` has the values from offset `i` up to offset `i + 1`.
        offsets: Elements,
        /// A whole 1-D array.
        values: Elements,
    },
    /// A list of indexes for each row, from a 2-D array with padding.
    Connectivity {
        /// The whole array, as stored.
        indexes: Elements,
        /// A whole 1-D array: the number of indexes of each row. Without it, missing indexes end a list.
        counts: Option<Box<Elements>>,
        /// What the indexes mean.
        rule: IndexRule,
    },
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

impl Composed {
    /// The arrays that are read.
    pub(crate) fn arrays(&self) -> Vec<&Elements> {
        match self {
            Self::Categories { codes, categories, mask } => [codes, categories].into_iter().chain(mask.as_deref()).collect(),
            Self::Masked { values, mask } => vec![values, mask],
            Self::Scaled { terms, .. } => terms.iter().map(|(elements, _)| elements).collect(),
            Self::Lists { offsets, values } => vec![offsets, values],
            Self::Connectivity { indexes, counts, .. } => std::iter::once(indexes).chain(counts.as_deref()).collect(),
        }
    }

    /// The categories, if the column has any: null where their mask says so.
    pub(crate) fn dictionary(&self, cancellation: &Cancellation) -> Result<Option<ArrayRef>> {
        let Self::Categories { categories, mask, .. } = self else { return Ok(None) };
        let values = categories.read_all(cancellation)?;
        let Some(mask) = mask else { return Ok(Some(values)) };
        let flags = flags(&mask.read_all(cancellation)?).map_err(|error| mask.place(error))?;
        if flags.len() != values.len() {
            return Err(mask.place(Error::new(ErrorKind::Corrupt, format!("a mask of {} flags for {} categories", flags.len(), values.len()))));
        }
        masked(&values, &flags).map(Some)
    }

    /// The column's field. Categories that are text become an Arrow dictionary, other categories plain values.
    pub(crate) fn field(&self, name: &str, ordered: bool) -> Field {
        match self {
            Self::Categories { codes, categories, .. } => {
                let values = categories.column.field();
                let text = *values.data_type() == DataType::Utf8;
                let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
                let data_type = if text { dictionary } else { values.data_type().clone() };
                let field = Field::new(name, data_type, true).with_metadata(codes.column.field().metadata().clone());
                if text { field.with_dict_is_ordered(ordered) } else { field }
            }
            Self::Scaled { .. } => Field::new(name, DataType::Float64, self.arrays().iter().any(|array| array.column.field().is_nullable())),
            Self::Masked { values, .. } => values.column.field().as_ref().clone().with_name(name).with_nullable(true),
            Self::Lists { values, .. } => {
                let item = values.column.field();
                let list = DataType::List(Arc::new(Field::new("item", item.data_type().clone(), item.is_nullable())));
                Field::new(name, list, false).with_metadata(item.metadata().clone())
            }
            Self::Connectivity { rule, .. } => Field::new(name, DataType::List(Arc::new(rule.item())), false),
        }
    }

    /// Approximate bytes of one of `rows` rows.
    pub(crate) fn row_bytes(&self, rows: u64) -> u64 {
        match self {
            Self::Categories { codes, .. } => codes.width(),
            Self::Masked { values, mask } => values.width().saturating_add(mask.width()),
            Self::Scaled { terms, .. } => terms.iter().map(|(elements, _)| elements.width()).sum(),
            Self::Lists { offsets, values } => {
                let count = values.shape().map_or(0, |shape| shape.iter().fold(1, |n: u64, extent| n.saturating_mul(*extent)));
                offsets.width().saturating_add(count.saturating_mul(values.width()) / rows.max(1))
            }
            Self::Connectivity { indexes, .. } => {
                let count = indexes.shape().map_or(0, |shape| shape.iter().fold(1, |n: u64, extent| n.saturating_mul(*extent)));
                count.saturating_mul(8) / rows.max(1)
            }
        }
    }
}
