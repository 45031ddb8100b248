//! Targets: which storage targets hold the bytes of a split, and an order in which splits that run at the same time read from
//! different targets.

use std::collections::BTreeMap;

use hyperslab_array::{Axis, Error, Result, Selection};
use hyperslab_formats::{ChunkSource, ObjectId};
use hyperslab_reader::File;
use hyperslab_storage::{TargetLayout, target_layout};

use super::Plan;
use super::split::{Split, SplitPolicy};
use crate::access::segment_scan::SegmentScan;
use crate::table::segment::Source;
use crate::window::{Rows, boxes, select};

/// A split with the storage targets that hold its bytes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PlacedSplit {
    /// The split.
    pub split: Split,
    /// The targets in the order in which they are read first, each with its number of bytes. Empty if none is known.
    pub targets: Vec<(u32, u64)>,
}

/// Layouts of files, asked for once.
struct Layouts<'a> {
    given: Option<&'a TargetLayout>,
    asked: BTreeMap<String, TargetLayout>,
}

impl Layouts<'_> {
    fn of(&mut self, file: &File) -> &TargetLayout {
        match self.given {
            Some(given) => given,
            // A file system that does not answer, or lies, has no targets.
            None => self.asked.entry(file.name()).or_insert_with(|| target_layout(file.path()).unwrap_or_default()),
        }
    }
}

impl Plan {
    /// As [`Plan::split`], with the storage targets of each split, in row order. `layout` applies to every file; `None` asks the
    /// file system. If it tells targets, the places of all chunks are read.
    ///
    /// Bytes in the sources of virtual datasets, in external files and in columns that are put together from several arrays
    /// are not counted.
    ///
    /// # Errors
    /// As [`Plan::split`], and errors of locating chunks.
    pub fn split_placed(&self, policy: &SplitPolicy, layout: Option<&TargetLayout>) -> Result<Vec<PlacedSplit>> {
        let mut layouts = Layouts { given: layout, asked: BTreeMap::new() };
        let placed = self.split_parts(policy)?.into_iter().map(|(index, split)| {
            let part = self.parts.get(index).ok_or_else(|| Error::internal("no such part"))?;
            Ok(PlacedSplit { targets: targets(part, split.rows, &mut layouts)?, split })
        });
        placed.collect()
    }
}

/// The targets that hold the rows of a part.
fn targets(part: &SegmentScan, rows: Rows, layouts: &mut Layouts<'_>) -> Result<Vec<(u32, u64)>> {
    let mut found: Vec<(u32, u64)> = Vec::new();
    let mut datasets: Vec<(String, ObjectId)> = Vec::new();
    for name in part.columns_read() {
        let Some(column) = part.segment.column(&name) else { continue };
        let (file, dataset, mapping) = match &column.source {
            Source::Variable { dataset, .. } | Source::Member { dataset, .. } => (&part.segment.file, *dataset, None),
            Source::Mapped { dataset, mapping, .. } => (&mapping.file, *dataset, Some(mapping)),
            _ => continue,
        };
        // Members of one dataset are read together.
        let key = (file.name(), dataset);
        if layouts.of(file).components.is_empty() || datasets.contains(&key) {
            continue;
        }
        datasets.push(key);
        let shape = file.dataset(dataset)?.dataspace.shape().to_vec();
        for rows in boxes(&part.selection, rows) {
            let selected = select(&part.selection, rows);
            let axes = match mapping {
                Some(mapping) => mapping.axes(selected.axes())?,
                None => selected.axes().iter().cloned().chain(shape.iter().skip(selected.axes().len()).map(|&extent| Axis::all(extent))).collect(),
            };
            for (offset, length) in stored(file, dataset, &Selection::new(axes, &shape)?)? {
                for (target, bytes) in layouts.of(file).bytes_on_targets(offset, length) {
                    match found.iter_mut().find(|(known, _)| *known == target) {
                        Some((_, sum)) => *sum = sum.saturating_add(bytes),
                        None => found.push((target, bytes)),
                    }
                }
            }
        }
    }
    Ok(found)
}

/// Where the bytes of the chunks of a selection are in its file: offset and length of each.
fn stored(file: &File, dataset: ObjectId, selection: &Selection) -> Result<Vec<(u64, u64)>> {
    use hyperslab_formats::StorageLayout::{External, Virtual};
    if matches!(file.dataset(dataset)?.storage, External | Virtual) {
        return Ok(Vec::new());
    }
    let located = file.array_file().locate(dataset, selection).map_err(|error| file.place(dataset, error))?;
    let place = |source: &ChunkSource| match source {
        ChunkSource::Stored { offset, length, .. } => Some((*offset, *length)),
        _ => None,
    };
    Ok(located.chunks.iter().filter_map(|chunk| place(&chunk.source)).collect())
}

/// An order of splits in which those that follow each other read mostly from different targets: the splits of each target, in
/// the given order, are spread evenly over the whole. Splits without a target count as splits of one more target.
///
/// ```
/// let on = |target| vec![(target, 10)];
/// assert_eq!(hyperslab_scan::interleaved([on(1), on(1), on(2), on(2)].iter()), [0, 2, 1, 3]);
/// ```
pub fn interleaved<'a>(targets: impl Iterator<Item = &'a Vec<(u32, u64)>>) -> Vec<usize> {
    let mut by_target: Vec<(Option<u32>, Vec<usize>)> = Vec::new();
    let mut known: BTreeMap<Option<u32>, usize> = BTreeMap::new();
    for (index, targets) in targets.enumerate() {
        // If several targets have equally many bytes, the one that is read first.
        let most = targets.iter().rev().max_by_key(|(_, bytes)| *bytes).map(|(target, _)| *target);
        let slot = *known.entry(most).or_insert_with(|| {
            by_target.push((most, Vec::new()));
            by_target.len() - 1
        });
        if let Some((_, indexes)) = by_target.get_mut(slot) {
            indexes.push(index);
        }
    }
    // Position `n` of a target with `count` splits lies at (2 n + 1) / (2 count) of the whole.
    let mut order: Vec<(u128, u128, usize, usize)> = Vec::new();
    for (slot, (_, indexes)) in by_target.iter().enumerate() {
        let count = indexes.len() as u128;
        order.extend(indexes.iter().enumerate().map(|(n, index)| (2 * n as u128 + 1, count, slot, *index)));
    }
    order.sort_by(|a, b| (a.0 * b.1).cmp(&(b.0 * a.1)).then(a.2.cmp(&b.2)));
    order.into_iter().map(|(.., index)| index).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_target_with_most_bytes_decides_and_among_equals_the_first() {
        let targets = [vec![(1, 5), (2, 9)], vec![(2, 4), (1, 4)], vec![(1, 1)], Vec::new()];
        assert_eq!(interleaved(targets.iter()), [0, 2, 3, 1]);
    }

    proptest! {
        #[test]
        fn each_split_is_there_once_in_order_of_its_target(targets in proptest::collection::vec(0u32..5, 0..60)) {
            let of: Vec<Vec<(u32, u64)>> = targets.iter().map(|target| vec![(*target, 1)]).collect();
            let order = interleaved(of.iter());
            let mut sorted = order.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..targets.len()).collect::<Vec<_>>());
            for target in 0..5 {
                let mine: Vec<usize> = order.iter().copied().filter(|index| targets.get(*index) == Some(&target)).collect();
                prop_assert!(mine.is_sorted());
                // Among the first k splits, each target has its share of k, within one.
                for k in 0..order.len() {
                    let seen = order.iter().take(k).filter(|index| targets.get(**index) == Some(&target)).count();
                    prop_assert!((seen as f64 - (k * mine.len()) as f64 / order.len() as f64).abs() <= 5.0);
                }
            }
        }
    }
}
