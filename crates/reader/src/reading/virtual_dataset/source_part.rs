//! Parts of a virtual dataset: mappings with resolved names and extents. An unlimited mapping yields as many elements as
//! its source has, or one part per block if its names contain `%b`.

use std::ops::Range;

use hyperslab_array::{Axis, Error, HyperslabAxis, Result, Selection, StoredSelection};
use hyperslab_formats::VirtualMapping;

use super::regular::regular;
use crate::File;
use crate::opening::open_linked::is_missing;

/// Blocks that the mappings of one read may stand for, each from a dataset of its own.
const MAX_BLOCKS: u64 = 1 << 18;
/// Blocks whose sources one dataset may name.
const MAX_NAMED_BLOCKS: u64 = 1 << 20;

/// How many blocks the mappings of a dataset may still stand for.
pub(super) struct BlocksLeft(u64);

impl BlocksLeft {
    /// For one read: blocks that it touches.
    pub fn of_a_read() -> Self {
        Self(MAX_BLOCKS)
    }
    /// For the names of all sources.
    pub fn of_names() -> Self {
        Self(MAX_NAMED_BLOCKS)
    }
    fn take(&mut self, count: u64) -> Result<()> {
        let exceeded = || Error::limit_exceeded(format!("{count} blocks of a virtual dataset, each in a source of its own, where {} more are read", self.0));
        self.0 = self.0.checked_sub(count).ok_or_else(exceeded)?;
        Ok(())
    }
}

/// A part: the elements of `source` in `dataset` of `file` appear at the elements of `target`, in order.
#[derive(Debug)]
pub(super) struct SourcePart {
    pub file: String,
    pub dataset: String,
    pub source: StoredSelection,
    pub target: StoredSelection,
}

/// Parts of a mapping, each made when it is asked for.
type Parts<'a> = Box<dyn Iterator<Item = SourcePart> + 'a>;

/// The parts of a mapping in a virtual dataset of `shape`: of a mapping that has a part for each block those that `wanted` touches.
pub(super) fn parts<'a>(file: &File, mapping: &'a VirtualMapping, shape: &[u64], wanted: Option<&Selection>, left: &mut BlocksLeft) -> Result<Parts<'a>> {
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
        return Ok(Box::new(std::iter::once(part(mapping.source_selection.clone(), target))));
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
        return Ok(Box::new(std::iter::once(part(source, with_axis(&mapping.selection, dimension, axis.cut(count))))));
    }
    let Some(block) = axis.block.filter(|block| *block > 0) else {
        return Err(Error::corrupt("an unlimited virtual selection whose source ends"));
    };
    if !has_block_number(mapping) {
        return Err(Error::corrupt("an unlimited virtual selection without block number in its source's name"));
    }
    let all = 0..here.div_ceil(block);
    let touched = match wanted.map(|wanted| wanted.axes().get(dimension).ok_or_else(other_ndim)).transpose()? {
        Some(wanted) => touched_blocks(&axis, block, wanted, all.end),
        None => all,
    };
    left.take(touched.end.saturating_sub(touched.start))?;
    Ok(Box::new(touched.map(move |block_index| {
        let one = HyperslabAxis::block(axis.index(block_index * block), block);
        SourcePart {
            file: block_name(&mapping.file, Some(block_index)),
            dataset: block_name(&mapping.dataset, Some(block_index)),
            source: mapping.source_selection.clone(),
            target: with_axis(&mapping.selection, dimension, one),
        }
    })))
}

/// The blocks of `axis`, of the first `count`, from the first to the last that `wanted` touches.
fn touched_blocks(axis: &HyperslabAxis, block: u64, wanted: &Axis, count: u64) -> Range<u64> {
    let ends = wanted.count().checked_sub(1).and_then(|last| Some((wanted.index(0)?, wanted.index(last)?)));
    let Some((first, last)) = ends else { return 0..0 };
    let start = axis.len_below(first) / block;
    let end = axis.len_below(last.saturating_add(1)).div_ceil(block);
    start.min(count)..end.min(count)
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
    fn touched_blocks_are_those_that_hold_a_wanted_index() {
        for (start, stride, block) in [(0, 1, 1), (3, 4, 2), (1, 5, 5), (2, 7, 3)] {
            let axis = HyperslabAxis { start, stride, count: None, block: Some(block), limit: None };
            for (first, count, step) in [(0, 1, 1), (0, 30, 1), (4, 3, 5), (29, 1, 1), (7, 2, 9), (0, 0, 1)] {
                let wanted = Axis::Range { start: first, count, step };
                let touched = touched_blocks(&axis, block, &wanted, 6);
                for number in 0..6 {
                    let first_of = axis.index(number * block);
                    let holds = (0..count).any(|position| (first_of..first_of + block).contains(&(first + position * step)));
                    assert!(!holds || touched.contains(&number), "block {number} of {axis:?} with {wanted:?}: {touched:?}");
                }
                // Both ends hold something, or lie in the gap next to it.
                let span = first..first + count.saturating_sub(1) * step + 1;
                let is_near = |number: u64| axis.index(number * block) < span.end && axis.index(number * block) + stride > span.start;
                assert!(touched.is_empty() || (is_near(touched.start) && is_near(touched.end - 1)), "{axis:?} with {wanted:?}: {touched:?}");
            }
        }
    }

    #[test]
    fn block_numbers_stand_where_percent_b_does() {
        assert_eq!(block_name("f-%b_%%b.h5", Some(12)), "f-12_%b.h5");
        assert_eq!(block_name("100%% %b", None), "100% %b");
        assert_eq!(block_name("end%", Some(1)), "end%");
    }
}
