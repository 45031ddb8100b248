//! Master: fragments merged into one tree, and the file that says it.

use std::collections::BTreeMap;

use hyperslab_array::{Error, ErrorKind};
use hyperslab_formats::VirtualMapping;

use crate::file::definition::DatasetDefinition;
use crate::file::ordered::Ordered;
use crate::file::region::Region;
use crate::file::stored_box::{region_of, selection_of};
use super::fragment::{AttributeFragment, EntryKind, OtherFragment, StoredValue};

/// All objects by path, with who defined them.
#[derive(Debug, Default)]
pub(crate) struct Master {
    pub(crate) objects: BTreeMap<String, MasterObject>,
}

#[derive(Debug)]
pub(crate) struct MasterObject {
    pub(crate) by: String,
    pub(crate) kind: EntryKind,
    /// How many objects came before it.
    pub(crate) created: usize,
    /// Whether the order of its attributes and members is recorded.
    pub(crate) tracked: bool,
    pub(crate) attributes: Ordered<(String, AttributeFragment)>,
    pub(crate) dataset: Option<MasterDataset>,
    /// What it is if it is no group and no dataset of values.
    pub(crate) other: Option<OtherFragment>,
    /// Paths of the dimension scales of a dataset, by dimension.
    pub(crate) scales: BTreeMap<u32, String>,
}

#[derive(Debug)]
pub(crate) struct MasterDataset {
    pub(crate) definition: DatasetDefinition,
    /// Whether it is written by rows; `None` of one that was in the file already.
    pub(crate) rows: Option<bool>,
    pub(crate) parts: Vec<MappedPart>,
    /// All of its values, where these are not in subfiles.
    pub(crate) scalar: Option<(String, StoredValue)>,
    /// Whether readers see that it can grow.
    pub(crate) growable: bool,
}

/// Who defined and wrote what earlier commits have left.
pub(crate) const BEFORE: &str = "the file";

/// A box of a dataset and where it is.
#[derive(Debug)]
pub(crate) struct MappedPart {
    pub(crate) by: String,
    pub(crate) region: Region,
    pub(crate) mapping: VirtualMapping,
}

impl MappedPart {
    /// Both parts in one, where they lie side by side in the dataset and alike in the same source.
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
        let mapping = VirtualMapping {
            source_selection: selection_of(&local.start, &local.count),
            selection: selection_of(&region.start, &region.count),
            ..a.clone()
        };
        Some(Self { by: self.by.clone(), region, mapping })
    }
}

pub(crate) fn conflict(path: &str, message: String) -> Error {
    Error::new(ErrorKind::Conflict, message).at_object(format!("/{path}"))
}

/// `%` begins a pattern in the names of sources.
pub(crate) fn escaped(name: &str) -> String {
    name.replace('%', "%%")
}

impl Master {
}

impl MasterObject {
    pub fn new(by: &str, kind: EntryKind, created: usize, other: Option<OtherFragment>) -> Self {
        Self { by: by.to_owned(), kind, created, tracked: false, attributes: Ordered::default(), dataset: None, other, scales: BTreeMap::new() }
    }
}
