//! What a file says of an object beyond its content, for the file that it is copied into.

use std::collections::BTreeSet;

use hyperslab_array::Result;
use hyperslab_array::name::is_utf8;
use hyperslab_formats::hdf5::writer::NewProperties;
use hyperslab_formats::{Attributes, ObjectId, ObjectProperties};

use hyperslab_reader::File;

use super::changes::Change;
use super::link_counts::LinkCounts;
use super::source_file::{CopiedAttribute, SourceFile};
use crate::file::file_writer::FileWriter;

/// Copies comment, times and orders of creation of the object at `path`.
pub(crate) fn copy_properties(out: &mut FileWriter, path: &str, properties: &ObjectProperties) -> Result<()> {
    let ObjectProperties { comment, times, link_order, attribute_order, .. } = properties;
    let other_names = BTreeSet::new();
    let copied = NewProperties { comment: comment.clone(), times: *times, link_order: *link_order, attribute_order: *attribute_order, other_names };
    out.set_properties(path, copied)
}

/// Gives the names in a copied group the character sets that they have in the other file, and the members the order if the group records it; counts
/// its links.
pub(crate) fn copy_link_properties(out: &mut FileWriter, path: &str, file: &File, group: ObjectId, counts: &mut LinkCounts) -> Result<()> {
    let links = file.links(group)?;
    counts.add_links(&links);
    let others = links.iter().filter(|link| link.is_utf8 != is_utf8(&link.name)).map(|link| link.name.clone());
    out.set_other_names(path, others.collect())?;
    if !links.is_tracked() {
        return Ok(());
    }
    out.order_members(path, links.iter().map(|link| link.name.as_str()))
}

/// Positions of the attributes of an object in the order in which they are stored: that of their creation if it is tracked.
pub(crate) fn stored_order(attributes: &Attributes, properties: &ObjectProperties) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..attributes.list.len()).collect();
    if !attributes.tracked {
        let stored = |position: &usize| {
            let name = attributes.list.get(*position).map(|attribute| attribute.name.as_str());
            properties.stored_attributes.iter().position(|stored| Some(stored.as_str()) == name)
        };
        positions.sort_by_cached_key(|position| stored(position).unwrap_or(usize::MAX));
    }
    positions
}

/// The committed datatype of an object or attribute, by its path; a change if it has no path.
pub(crate) fn committed_path(source: &SourceFile<'_>, path: &str, what: &str, committed: Option<ObjectId>, changes: &mut Vec<Change>) -> Option<String> {
    let committed = committed?;
    let found = source.path(committed).filter(|_| !source.is_missing(committed)).map(ToOwned::to_owned);
    if found.is_none() {
        changes.push(Change::new(path, format!("{what}: its committed datatype has no name in the copy, and is an ordinary datatype now")));
    }
    found
}

impl CopiedAttribute {
    /// With the path of the committed datatype that its value shares.
    pub(crate) fn with_committed(mut self, committed: Option<String>) -> Self {
        if let Self::Value(value) | Self::Referring(value, _) = &mut self {
            value.committed = committed;
        }
        self
    }
}
