//! The contents of a master file: objects, and the parts of datasets in subfiles.

use std::collections::BTreeMap;

use hyperslab_array::{Error, ErrorKind};
use hyperslab_formats::VirtualMapping;

use super::fragment::{AttributeFragment, EntryKind, OtherFragment, StoredValue};
use crate::file::definition::DatasetDefinition;
use crate::file::ordered::Ordered;
use crate::file::regions::region::Region;
use crate::file::regions::stored_box::{region_of, selection_of};

/// All objects of a master by path.
#[derive(Debug, Default)]
pub(crate) struct Master {
    pub(crate) objects: BTreeMap<String, MasterObject>,
}

#[derive(Debug)]
pub(crate) struct MasterObject {
    /// Who defined it, for messages.
    pub(crate) by: String,
    pub(crate) kind: EntryKind,
    /// Number of objects defined before it.
    pub(crate) created: usize,
    /// Whether the creation order of its attributes and members is recorded.
    pub(crate) tracked: bool,
    pub(crate) attributes: Ordered<(String, AttributeFragment)>,
    pub(crate) dataset: Option<MasterDataset>,
    /// Set if it is neither a group nor a dataset of values.
    pub(crate) other: Option<OtherFragment>,
    /// Paths of the dimension scales of a dataset, by dimension.
    pub(crate) scales: BTreeMap<u32, String>,
}

#[derive(Debug)]
pub(crate) struct MasterDataset {
    pub(crate) definition: DatasetDefinition,
    /// Whether tasks append rows; `None` for a dataset that was in the file before.
    pub(crate) rows: Option<bool>,
    pub(crate) parts: Vec<MappedPart>,
    /// All of its values, if they are not in subfiles.
    pub(crate) scalar: Option<(String, StoredValue)>,
    /// Whether readers see that it can grow.
    pub(crate) growable: bool,
}

/// Names the origin of what earlier commits wrote, in messages.
pub(crate) const BEFORE: &str = "the file";

/// A region of a dataset, and its location in a subfile.
#[derive(Debug)]
pub(crate) struct MappedPart {
    pub(crate) by: String,
    pub(crate) region: Region,
    pub(crate) mapping: VirtualMapping,
}

impl MappedPart {
    /// Merges two parts if they are adjacent in the dataset, and in the same way in the same source.
    pub fn with(&self, other: &Self) -> Option<Self> {
        let (a, b) = (&self.mapping, &other.mapping);
        if (&a.file, &a.dataset) != (&b.file, &b.dataset) {
            return None;
        }
        let region = self.region.joined(&other.region)?;
        let local = region_of(&a.source_selection)?.joined(&region_of(&b.source_selection)?)?;
        let moved = |region: &Region, local: &Region| -> Vec<u64> { region.start.iter().zip(&local.start).map(|(a, b)| a.wrapping_sub(*b)).collect() };
        if region.count != local.count || moved(&region, &local) != moved(&self.region, &region_of(&a.source_selection)?) {
            return None;
        }
        let mapping =
            VirtualMapping { source_selection: selection_of(&local.start, &local.count), selection: selection_of(&region.start, &region.count), ..a.clone() };
        Some(Self { by: self.by.clone(), region, mapping })
    }
}

pub(crate) fn conflict(path: &str, message: String) -> Error {
    Error::new(ErrorKind::Conflict, message).at_object(format!("/{path}"))
}

/// Escapes `%`, which begins a pattern in the names of sources.
pub(crate) fn escaped(name: &str) -> String {
    name.replace('%', "%%")
}

impl Master {}

impl MasterObject {
    pub fn new(by: &str, kind: EntryKind, created: usize, other: Option<OtherFragment>) -> Self {
        Self { by: by.to_owned(), kind, created, tracked: false, attributes: Ordered::default(), dataset: None, other, scales: BTreeMap::new() }
    }
}
