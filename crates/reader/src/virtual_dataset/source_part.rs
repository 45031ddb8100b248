//! Parts of a virtual dataset: mappings with resolved names and extents. An unlimited mapping yields as many elements as
//! its source has, or one part per block if its names contain `%b`.

use hyperslab_array::{Axis, Error, HyperslabAxis, Result, Selection, StoredSelection};
use hyperslab_formats::VirtualMapping;

use super::regular::regular;
use crate::File;
use crate::open_linked::is_missing;

/// Blocks that one mapping may stand for, each from a dataset of its own.
const MAX_BLOCKS: u64 = 1 << 20;

/// A part: the elements of `source` in `dataset` of `file` appear at those of `target`, in order.
#[derive(Debug)]
pub(super) struct SourcePart {
    pub file: String,
    pub dataset: String,
    pub source: StoredSelection,
    pub target: StoredSelection,
}

/// The parts of a mapping in a virtual dataset of `shape`.
pub(super) fn parts(file: &File, mapping: &VirtualMapping, shape: &[u64]) -> Result<Vec<SourcePart>> {
    let part = |source: StoredSelection, target: StoredSelection| SourcePart {
        file: block_name(&mapping.file, None),
        dataset: block_name(&mapping.dataset, None),
        source: regular(&source).unwrap_or(source),
        target: regular(&target).unwrap_or(target),
    };
    let Some((dimension, axis)) = unlimited(&mapping.selection) else {
        let all = |shape: &[u64]| StoredSelection::Hyperslab(shape.iter().map(|&n| HyperslabAxis::all(n)).collect());
        let target = match &mapping.selection {
            StoredSelection::All => all(shape),
            target => target.clone(),
        };
        return Ok(vec![part(mapping.source_selection.clone(), target)]);
    };
    let here = axis.len_below(*shape.get(dimension).ok_or_else(other_ndim)?);
    if let Some((source_dimension, source_axis)) = unlimited(&mapping.source_selection) {
        // As many as both have. A block that is partly filled in the source counts up to where it is filled.
        let there = match source_extent(file, mapping, source_dimension)? {
            Some(extent) => source_axis.len_below(extent),
            None => here,
        };
        let count = here.min(there);
        let source = with_axis(&mapping.source_selection, source_dimension, source_axis.cut(count));
        return Ok(vec![part(source, with_axis(&mapping.selection, dimension, axis.cut(count)))]);
    }
    let Some(block) = axis.block.filter(|block| *block > 0) else {
        return Err(Error::corrupt("an unlimited virtual selection whose source ends"));
    };
    if !has_block_number(mapping) {
        return Err(Error::corrupt("an unlimited virtual selection without block number in its source's name"));
    }
    let count = here.div_ceil(block);
    if count > MAX_BLOCKS {
        return Err(Error::limit_exceeded(format!("a virtual dataset of {count} blocks, more than {MAX_BLOCKS}")));
    }
    let blocks = (0..count).map(|block_index| {
        let one = HyperslabAxis::block(axis.index(block_index * block), block);
        SourcePart {
            file: block_name(&mapping.file, Some(block_index)),
            dataset: block_name(&mapping.dataset, Some(block_index)),
            source: mapping.source_selection.clone(),
            target: with_axis(&mapping.selection, dimension, one),
        }
    });
    Ok(blocks.collect())
}

/// Whether the bounding box of a mapping rules out every selected element: a cheap way to skip most of many mappings.
pub(super) fn misses(mapping: &VirtualMapping, selection: &Selection) -> bool {
    let StoredSelection::Hyperslab(axes) = &mapping.selection else { return false };
    let apart = |(axis, wanted): (&HyperslabAxis, &Axis)| {
        let (Some(last), Axis::Range { start, count, step }) = (axis.len().and_then(|count| count.checked_sub(1)), wanted) else { return false };
        let end = count.saturating_sub(1).saturating_mul(*step).saturating_add(*start);
        axis.index(last) < *start || axis.start > end
    };
    axes.len() == selection.axes().len() && axes.iter().zip(selection.axes()).any(apart)
}

/// The unlimited dimension of a selection.
pub(super) fn unlimited(selection: &StoredSelection) -> Option<(usize, HyperslabAxis)> {
    let StoredSelection::Hyperslab(axes) = selection else { return None };
    axes.iter().copied().enumerate().find(|(_, axis)| axis.is_unlimited())
}

/// Whether the names of a mapping's sources contain the index of a block.
pub(super) fn has_block_number(mapping: &VirtualMapping) -> bool {
    let differs = |name: &str| block_name(name, Some(0)) != block_name(name, Some(1));
    differs(&mapping.file) || differs(&mapping.dataset)
}

/// The extent of a mapping's source along a dimension; `None` if the source is missing.
pub(super) fn source_extent(file: &File, mapping: &VirtualMapping, dimension: usize) -> Result<Option<u64>> {
    let found = file.linked_file(&block_name(&mapping.file, None)).and_then(|other| other.find(&block_name(&mapping.dataset, None)));
    match found {
        Ok(found) => found.dataset()?.dataspace.shape().get(dimension).copied().map(Some).ok_or_else(other_ndim),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The error for a selection of a mapping that has more or fewer dimensions than its dataset.
pub(super) fn other_ndim() -> Error {
    Error::corrupt("a virtual mapping has another number of dimensions than its dataset")
}

/// A source's name: `%b` stands for the index of the block, `%%` for a percent sign.
pub(super) fn block_name(name: &str, block_index: Option<u64>) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, rest.peek(), block_index) {
            ('%', Some('%'), _) => {
                rest.next();
                out.push('%');
            }
            ('%', Some('b'), Some(block_index)) => {
                rest.next();
                out.push_str(&block_index.to_string());
            }
            _ => out.push(c),
        }
    }
    out
}

fn with_axis(selection: &StoredSelection, dimension: usize, axis: HyperslabAxis) -> StoredSelection {
    let mut selection = selection.clone();
    if let StoredSelection::Hyperslab(axes) = &mut selection
        && let Some(place) = axes.get_mut(dimension)
    {
        *place = axis;
    }
    selection
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_numbers_stand_where_percent_b_does() {
        assert_eq!(block_name("f-%b_%%b.h5", Some(12)), "f-12_%b.h5");
        assert_eq!(block_name("100%% %b", None), "100% %b");
        assert_eq!(block_name("end%", Some(1)), "end%");
    }
}
