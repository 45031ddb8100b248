//! Parts of a master's datasets: checks overlaps, merges adjacent parts, and moves parts to other subfiles.

use std::collections::{BTreeSet, HashMap, HashSet};

use hyperslab_array::{Error, Result};

use super::master::{BEFORE, MappedPart, Master, conflict, escaped};
use crate::file::definition::DatasetDefinition;
use crate::file::regions::overlap::overlap;
use crate::file::regions::region::Region;
use crate::file::regions::stored_box::{region_of, selection_of};

/// A dataset with the parts that may be moved to another subfile.
#[derive(Debug)]
pub(crate) struct MovableDataset {
    pub path: String,
    pub definition: DatasetDefinition,
    /// Whether an earlier commit has written some of the dataset.
    pub has_earlier_parts: bool,
    pub parts: Vec<MovablePart>,
}

/// A part that may be moved.
#[derive(Debug)]
pub(crate) struct MovablePart {
    /// Index among the parts of the dataset.
    pub index: usize,
    /// Path of the subfile relative to the master.
    pub file: String,
    pub region: Region,
    /// The region in the dataset of the subfile.
    pub local: Region,
}

impl Master {
    /// Renames subfiles in all parts. `names` maps names in the master to new ones.
    pub fn rename_subfiles(&mut self, names: &HashMap<String, String>) {
        let names: HashMap<String, String> = names.iter().map(|(expected, name)| (escaped(expected), escaped(name))).collect();
        let parts = self.objects.values_mut().filter_map(|object| object.dataset.as_mut()).flat_map(|dataset| &mut dataset.parts);
        for part in parts {
            if let Some(name) = names.get(&part.mapping.file) {
                part.mapping.file.clone_from(name);
            }
        }
    }

    /// Parts in the subfiles for which `wanted` is true, by dataset and sorted by region.
    pub fn movable(&self, wanted: impl Fn(&str) -> bool) -> Result<Vec<MovableDataset>> {
        let mut all = Vec::new();
        for (path, object) in &self.objects {
            let Some(dataset) = &object.dataset else { continue };
            let mut parts = Vec::new();
            for (index, part) in dataset.parts.iter().enumerate() {
                let file = part.mapping.file.replace("%%", "%");
                if !wanted(&file) {
                    continue;
                }
                let local = region_of(&part.mapping.source_selection).ok_or_else(|| Error::internal("a part that is not a rectangular region"))?;
                parts.push(MovablePart { index, file, region: part.region.clone(), local });
            }
            if !parts.is_empty() {
                parts.sort_by(|a, b| a.region.start.cmp(&b.region.start));
                let has_earlier_parts = dataset.parts.iter().any(|part| part.by == BEFORE);
                all.push(MovableDataset { path: path.clone(), definition: dataset.definition.clone(), has_earlier_parts, parts });
            }
        }
        Ok(all)
    }

    /// Moves a part of [`Master::movable`] to `file`: it begins at `start` in the dataset of the same path.
    pub fn move_part(&mut self, path: &str, index: usize, file: &str, start: &[u64]) -> Result<()> {
        let dataset = self.objects.get_mut(path).and_then(|object| object.dataset.as_mut());
        let part = dataset.and_then(|dataset| dataset.parts.get_mut(index)).ok_or_else(|| Error::internal("a part that does not exist"))?;
        part.mapping.file = escaped(file);
        part.mapping.source_selection = selection_of(start, &part.region.count);
        Ok(())
    }

    /// Reads all parts of a dataset that are in `file` from the dataset `source` there.
    pub fn set_source_dataset(&mut self, path: &str, file: &str, source: &str) -> Result<()> {
        let (file, source) = (escaped(file), escaped(&format!("/{source}")));
        let dataset = self.objects.get_mut(path).and_then(|object| object.dataset.as_mut());
        let dataset = dataset.ok_or_else(|| Error::internal("a dataset that does not exist"))?;
        dataset.parts.iter_mut().filter(|part| part.mapping.file == file).for_each(|part| part.mapping.dataset.clone_from(&source));
        Ok(())
    }

    /// Number of rows that this master uses of the dataset of the same path in `file`.
    pub fn rows_in(&self, path: &str, file: &str) -> Result<u64> {
        let file = escaped(file);
        let parts = self.objects.get(path).and_then(|object| object.dataset.as_ref()).map_or(&[][..], |dataset| &dataset.parts);
        // A part that cannot be located would make the next commit write over its rows.
        let unknown = || Error::corrupt(format!("the rows that the master uses of {file} cannot be located")).at_object(format!("/{path}"));
        parts.iter().filter(|part| part.mapping.file == file).try_fold(0, |rows: u64, part| {
            let region = region_of(&part.mapping.source_selection).ok_or_else(unknown)?;
            let end = region.start.first().zip(region.count.first()).and_then(|(start, count)| start.checked_add(*count));
            Ok(rows.max(end.ok_or_else(unknown)?))
        })
    }

    /// Number of subfiles that the datasets use.
    pub fn sources(&self) -> usize {
        self.files().len()
    }

    /// The subfiles that the datasets use, named as in the master.
    pub fn files(&self) -> BTreeSet<&str> {
        let parts = self.objects.values().filter_map(|object| object.dataset.as_ref()).flat_map(|dataset| &dataset.parts);
        parts.map(|part| part.mapping.file.as_str()).collect()
    }

    /// Names of the subfiles in the folder of the write `id` that the datasets use, as in the folder.
    pub fn files_in(&self, id: &str) -> HashSet<String> {
        // Names in the master are escaped, those in a folder are not.
        let name = |file: &str| Some(file.rsplit_once('/').filter(|(folder, _)| folder.ends_with(id))?.1.replace("%%", "%"));
        self.files().into_iter().filter_map(name).collect()
    }

    /// Merges parts that are adjacent both in the dataset and in a subfile, so that readers have fewer mappings to search. Call
    /// it after [`Master::check_overlaps`], because merged parts do not keep their writers.
    pub fn join_parts(&mut self) {
        for dataset in self.objects.values_mut().filter_map(|object| object.dataset.as_mut()) {
            dataset.parts.sort_by(|a, b| a.region.start.cmp(&b.region.start));
            let mut joined: Vec<MappedPart> = Vec::with_capacity(dataset.parts.len());
            for part in std::mem::take(&mut dataset.parts) {
                match joined.last_mut().and_then(|last| last.with(&part)) {
                    Some(both) => {
                        joined.pop();
                        joined.push(both);
                    }
                    None => joined.push(part),
                }
            }
            dataset.parts = joined;
        }
    }

    /// Sorts the parts by their first row. Returns `Conflict` if two tasks wrote the same elements.
    pub fn check_overlaps(&mut self) -> Result<()> {
        for (path, object) in &mut self.objects {
            let Some(dataset) = &mut object.dataset else { continue };
            dataset.parts.sort_by_key(|part| part.region.rows_range().start);
            let regions: Vec<&Region> = dataset.parts.iter().map(|part| &part.region).collect();
            let by: Vec<&str> = dataset.parts.iter().map(|part| part.by.as_str()).collect();
            if let Some((a, b, shared)) = overlap(&regions, |a, b| by.get(a) != by.get(b)) {
                let name = |index: usize| by.get(index).copied().unwrap_or_default();
                let (a, b) = (name(a), name(b));
                return Err(conflict(path, format!("{a} and {b} both wrote the {:?} elements from {:?} on", shared.count, shared.start)));
            }
        }
        Ok(())
    }
}
