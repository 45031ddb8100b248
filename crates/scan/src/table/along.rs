//! Values along a row dimension that are known without reading an array.
#![expect(clippy::exhaustive_enums, reason = "a new kind of values must be handled by each reader")]

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, UInt64Array};
use hyperslab_array::{Axis, Error, Result};

/// Values along a row dimension.
#[derive(Debug, Clone)]
pub enum AlongValues {
    /// `origin + index * spacing`, as double.
    Linear {
        /// Value at index 0.
        origin: f64,
        /// Distance between the values of adjacent indexes.
        spacing: f64,
    },
    /// `index / rate + origin`, as double: the times of regular samples.
    Sampled {
        /// Value at index 0.
        origin: f64,
        /// Samples for each unit of the values.
        rate: f64,
    },
    /// One value for each index.
    Listed(ArrayRef),
}

/// Number of values that are made of a regular grid's dimension. Beyond it, conditions are tested row by row.
const MAX_LINEAR: u64 = 1 << 24;

impl AlongValues {
    /// The value at `index` of a regular grid; `None` for listed values. Two operations, so that every reader gets the same bits.
    fn computed(&self, index: u64) -> Option<f64> {
        match self {
            Self::Linear { origin, spacing } => Some(origin + index as f64 * spacing),
            Self::Sampled { origin, rate } => Some(index as f64 / rate + origin),
            Self::Listed(_) => None,
        }
    }

    /// The values of a whole dimension; `None` if they are too many.
    pub(crate) fn all(&self, extent: u64) -> Option<ArrayRef> {
        match self {
            Self::Listed(values) => Some(values.clone()),
            Self::Linear { .. } | Self::Sampled { .. } => {
                (extent <= MAX_LINEAR).then(|| Arc::new((0..extent).map(|index| self.computed(index)).collect::<Float64Array>()) as ArrayRef)
            }
        }
    }

    /// The values at the indexes of `axis`.
    pub(crate) fn at(&self, axis: &Axis) -> Result<ArrayRef> {
        let index = |position| axis.index(position).ok_or_else(|| Error::internal("axis position"));
        match self {
            Self::Linear { .. } | Self::Sampled { .. } => {
                let value = |position| self.computed(index(position)?).ok_or_else(|| Error::internal("values of a regular grid"));
                let values = (0..axis.count()).map(value);
                Ok(Arc::new(values.collect::<Result<Vec<f64>>>().map(Float64Array::from)?))
            }
            Self::Listed(values) => {
                let indexes = (0..axis.count()).map(index).collect::<Result<Vec<u64>>>()?;
                arrow_select::take::take(values, &UInt64Array::from(indexes), None).map_err(|error| Error::internal(error.to_string()))
            }
        }
    }
}
