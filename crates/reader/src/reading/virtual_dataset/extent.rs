//! The present extent of a virtual dataset with an unlimited mapping, which depends on its sources.

use hyperslab_array::{Error, Result};
use hyperslab_formats::Dataset;

use super::source_part::{block_name, has_block_number, other_ndim, source_extent, unlimited};
use crate::File;
use crate::opening::open_linked::is_missing;

/// The dataset with the extent that its sources give it (up to the last element that any of them has, as with
/// `H5D_VDS_LAST_AVAILABLE`); `None` if no mapping is unlimited or the extent is as written.
pub(crate) fn with_present_extent(file: &File, dataset: &Dataset) -> Result<Option<Dataset>> {
    let mut shape = dataset.dataspace.shape().to_vec();
    let Some((dimension, _)) = dataset.virtual_mappings.iter().find_map(|mapping| unlimited(&mapping.selection)) else {
        return Ok(None);
    };
    let file = &file.with_steps();
    let mut extent = 0;
    for mapping in dataset.virtual_mappings.iter() {
        let reached = match (unlimited(&mapping.selection), unlimited(&mapping.source_selection)) {
            (Some((_, axis)), Some((source_dimension, source_axis))) => {
                let there = source_extent(file, mapping, source_dimension)?.unwrap_or(0);
                axis.extent_of(source_axis.len_below(there))
            }
            (Some((_, axis)), None) if has_block_number(mapping) => {
                let mut count = 0;
                while exists(file, &block_name(&mapping.file, Some(count)), &block_name(&mapping.dataset, Some(count)))? {
                    count += 1;
                }
                let block = axis.block.ok_or_else(|| Error::corrupt("an unlimited virtual selection whose source ends"))?;
                axis.extent_of(count.saturating_mul(block))
            }
            (Some(_), None) => 0,
            (None, _) => limited_extent(&mapping.selection, dimension)?,
        };
        extent = extent.max(reached);
    }
    match shape.get_mut(dimension) {
        Some(present) if *present != extent => *present = extent,
        Some(_) => return Ok(None),
        None => return Err(other_ndim()),
    }
    dataset.with_shape(shape).map(Some)
}

fn exists(file: &File, other: &str, dataset: &str) -> Result<bool> {
    match file.linked_file(other).and_then(|other| other.find(dataset)) {
        Ok(_) => Ok(true),
        Err(error) if is_missing(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The extent that the dimension needs to hold a limited selection.
fn limited_extent(selection: &hyperslab_array::StoredSelection, dimension: usize) -> Result<u64> {
    use hyperslab_array::StoredSelection::{All, Blocks, Hyperslab, None, Points};
    let after = |corner: &[u64]| Ok::<u64, Error>(corner.get(dimension).ok_or_else(other_ndim)?.saturating_add(1));
    match selection {
        None | All => Ok(0),
        Points(points) => points.iter().try_fold(0, |extent, point| Ok(after(point)?.max(extent))),
        Blocks(blocks) => blocks.iter().try_fold(0, |extent, (_, last)| Ok(after(last)?.max(extent))),
        Hyperslab(axes) => {
            let axis = axes.get(dimension).ok_or_else(other_ndim)?;
            let length = axis.len().ok_or_else(|| Error::corrupt("a virtual selection that is unlimited in two dimensions"))?;
            Ok(axis.extent_of(length))
        }
    }
}
