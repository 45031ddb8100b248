//! Dataset definition: what a dataset to be created is, for every writer.

use hyperslab::filter::{Filter, Pipeline};
use hyperslab::write::DatasetDefinition as Core;
use hyperslab::{Dataspace, Error, FillTime, Result};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::back::{self, Written};
use crate::datatype::Datatype;
use crate::error::raise;
use crate::writer::heap_of;

/// What a dataset to be created is: its datatype, extent, chunks, filters and fill value.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct DatasetDefinition(pub(crate) Core);

/// Number, name, whether it may be skipped, parameters.
pub(crate) type PyFilter = (u16, Option<String>, bool, Vec<u32>);

/// The bytes of a fill value, and the values that its parts of variable length point at by their numbers.
pub(crate) type PyFill = (Vec<u8>, Vec<Vec<u8>>);

/// The dataspace of a shape: `None` is a null dataspace, no dimensions a scalar.
pub(crate) fn dataspace(shape: Option<Vec<u64>>, max_shape: Option<Vec<Option<u64>>>) -> Result<Dataspace> {
    let Some(shape) = shape else { return Ok(Dataspace::Null) };
    match max_shape {
        Some(max_shape) if max_shape.len() != shape.len() => {
            Err(Error::invalid_input(format!("a largest shape of {} dimensions for one of {}", max_shape.len(), shape.len())))
        }
        Some(max_shape) if !shape.is_empty() => Ok(Dataspace::Simple { shape, max_shape }),
        _ => Ok(Dataspace::fixed(shape)),
    }
}

#[pymethods]
impl DatasetDefinition {
    /// A shape of `None` is a null dataspace. `committed` is the path of a committed datatype; `fill_time` has h5py's names.
    #[new]
    #[pyo3(signature = (datatype, shape, *, maxshape=None, chunks=None, filters=Vec::new(), fill=None, committed=None, fill_time=None))]
    #[expect(clippy::too_many_arguments, reason = "one for each keyword of create_dataset")]
    fn new(
        py: Python<'_>,
        datatype: &Datatype,
        shape: Option<Vec<u64>>,
        maxshape: Option<Vec<Option<u64>>>,
        chunks: Option<Vec<u64>>,
        filters: Vec<PyFilter>,
        fill: Option<PyFill>,
        committed: Option<String>,
        fill_time: Option<String>,
    ) -> PyResult<Self> {
        let datatype = datatype.core();
        let filters = filters.into_iter().map(|(id, name, optional, parameters)| Filter { id, name, optional, parameters });
        let (fill_value, heap) = fill.map_or((None, Vec::new()), |(bytes, heap)| (Some(bytes), heap));
        let made = || {
            // The caller decides how large the chunks with this fill value are.
            let mut fill_heap = heap_of(heap)?;
            fill_heap.allow(u64::MAX);
            Ok(Core::new(datatype, dataspace(shape, maxshape)?)
                .with_committed(committed)
                .with_chunk_shape(chunks)
                .with_filters(Pipeline { filters: filters.collect() })
                .with_fill_value(fill_value)
                .with_fill_heap(fill_heap)
                .with_fill_time(fill_time.as_deref().map_or(Ok(FillTime::default()), FillTime::of_name)?))
        };
        made().map(Self).map_err(|error: Error| raise(py, &error))
    }

    /// Describes the dataset, as `File.describe` does.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        back::describe(py, &Written::Dataset { definition: Box::new(self.0.clone()), is_virtual: false })
    }
}
