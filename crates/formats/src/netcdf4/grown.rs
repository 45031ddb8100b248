//! Variables along unlimited dimensions: all are as long as the longest, and what was not written is fill.

use hyperslab_array::Dataspace;

use super::fill::default_fill;
use crate::Dataset;

/// Whether a dataset has a dimension that can grow, and storage that can.
pub(super) fn can_grow(dataset: &Dataset) -> bool {
    let has_storage = dataset.chunk_shape.is_some() || !dataset.virtual_mappings.is_empty();
    has_storage && matches!(&dataset.dataspace, Dataspace::Simple { max_shape, .. } if max_shape.contains(&None))
}

/// A dataset at its dimensions' extents. `None` if it has them, or cannot be extended to them.
pub(super) fn grown(dataset: &Dataset, shape: Vec<u64>) -> Option<Dataset> {
    let Dataspace::Simple { shape: own, max_shape } = &dataset.dataspace else { return None };
    let growing = own.iter().zip(&shape).zip(max_shape).all(|((own, new), max_extent)| own == new || max_extent.is_none());
    if shape == *own || !growing || !can_grow(dataset) {
        return None;
    }
    let mut grown = dataset.with_shape(shape).ok()?;
    grown.written_shape = Some(own.clone());
    grown.fill_value = grown.fill_value.or_else(|| default_fill(&grown.datatype));
    Some(grown)
}
