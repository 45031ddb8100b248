//! Block values: reads the values of one block from the data file.

use arrow_array::ArrayRef;
use hyperslab_array::{Cancellation, Region, Result};
use hyperslab_columns::Column;
use hyperslab_formats::ObjectId;
use hyperslab_reader::{File, read};

/// Reads the values of a box of a dataset of `shape`, converted as `column` specifies.
pub(crate) fn read_block(file: &File, dataset: ObjectId, column: &Column, block: &Region, shape: &[u64], cancellation: &Cancellation) -> Result<ArrayRef> {
    let selection = block.selection(shape)?;
    let inner = || {
        let bytes = read::read_values(file, dataset, &selection, cancellation)?;
        let mut heap = read::heap(file, dataset, column.datatype(), &bytes)?;
        file.name_references(column.datatype(), &bytes, &mut heap)?;
        column.take_arrow(bytes.into_buffer(), &heap)
    };
    inner().map_err(|error| file.place(dataset, error))
}
