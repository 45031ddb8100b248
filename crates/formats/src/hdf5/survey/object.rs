//! One object with all that belongs to it, as far as it can be read.

use hyperslab_array::{Attribute, Result};

use super::chunks;
use super::found_chunks::SurveyedChunk;
use super::links::{self, FoundLink, NodeSizes};
use super::log::Log;
use super::structure::{Purpose, StructureKind};
use super::{attributes, header, heap};
use crate::hdf5::layout::{Layout, Locator, StoredDataset};
use crate::hdf5::message::layout::LayoutMessage;
use crate::hdf5::message::{external_files, layout};
use crate::hdf5::object_header::{ObjectHeader, kind};
use crate::hdf5::parsed_object::content;
use crate::{Link, LinkTarget, Object};

/// An object of a surveyed file.
#[non_exhaustive]
pub struct SurveyedObject {
    /// Address of its header, relative to the base address.
    pub address: u64,
    /// The first path found.
    pub path: String,
    /// What it is; `None` if its header cannot be read.
    pub object: Option<Object>,
    /// Number of hard links that the header states.
    pub stated_links: u32,
    /// Number of hard links found.
    pub found_links: u64,
    /// Whether checksums cover its header, and with that the heaps and trees that belong to it.
    pub has_checksums: bool,
    /// Whether all blocks of its header are right.
    pub is_whole: bool,
    /// Whether all of its links could be read.
    pub has_all_links: bool,
    /// Whether all of its attributes could be read.
    pub has_all_attributes: bool,
    /// Its attributes, if the survey keeps them; one whose value cannot be read holds its error.
    pub attributes: Vec<Attribute>,
    /// Number of its attributes.
    pub attribute_count: u64,
    /// Whether it records the order in which attributes were created.
    pub tracks_attributes: bool,
    /// Its stored chunks.
    pub chunks: Vec<SurveyedChunk>,
    /// Whether the index of its chunks is whole.
    pub has_all_chunks: bool,
    /// Absolute offset and bytes of contiguous values.
    pub contiguous: Option<(u64, u64)>,
    /// Whether its chunks are indexed by a version-1 B-tree, which has no checksums.
    pub has_old_index: bool,
    /// Whether links lead to it from the root group.
    pub is_linked: bool,
    /// Whether its header was recognized by its look, for it has no signature.
    pub is_guessed: bool,
    /// Number of its links, the last of the list, that come from nodes and blocks to which nothing leads.
    pub reattached_links: usize,
    /// The same of its attributes.
    pub reattached_attributes: usize,
    pub(crate) links: Vec<FoundLink>,
    pub(crate) stored: Option<StoredDataset>,
}

impl SurveyedObject {
    /// The links whose names are known.
    pub fn named_links(&self) -> impl Iterator<Item = Link> + '_ {
        let named = self.links.iter().filter_map(|link| Some((link.name.clone()?, link)));
        named.map(|(name, link)| Link::new(name, LinkTarget::from(link.target.clone())).with_utf8(link.is_utf8))
    }
    /// Takes the links whose names are known out: their targets may be long.
    pub(crate) fn take_links(&mut self) -> impl Iterator<Item = Link> + use<> {
        let named = std::mem::take(&mut self.links).into_iter().filter_map(|link| Some((link.name?, link.target, link.is_utf8)));
        named.map(|(name, target, is_utf8)| Link::new(name, LinkTarget::from(target)).with_utf8(is_utf8))
    }
    /// Addresses to which links lead whose names are lost.
    pub fn unnamed_targets(&self) -> impl Iterator<Item = u64> + '_ {
        self.links.iter().filter(|link| link.name.is_none()).filter_map(FoundLink::address)
    }
}

/// What a survey keeps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keeping {
    pub attributes: bool,
}

/// Reads the object at `address`.
pub(super) fn read(log: &mut Log<'_>, address: u64, path: String, sizes: NodeSizes, keeping: Keeping) -> Result<SurveyedObject> {
    let before = (log.object.replace(address), std::mem::replace(&mut log.purpose, Purpose::Header));
    let outcome = read_object(log, address, path, sizes, keeping);
    (log.object, log.purpose) = before;
    outcome
}

fn read_object(log: &mut Log<'_>, address: u64, path: String, sizes: NodeSizes, keeping: Keeping) -> Result<SurveyedObject> {
    let mut object = SurveyedObject {
        address,
        path,
        object: None,
        stated_links: 0,
        found_links: 0,
        has_checksums: false,
        is_whole: false,
        has_all_links: false,
        has_all_attributes: false,
        attributes: Vec::new(),
        attribute_count: 0,
        tracks_attributes: false,
        chunks: Vec::new(),
        has_all_chunks: false,
        contiguous: None,
        has_old_index: false,
        is_linked: true,
        is_guessed: false,
        reattached_links: 0,
        reattached_attributes: 0,
        links: Vec::new(),
        stored: None,
    };
    let Some(found) = header::read(log, address)? else { return Ok(object) };
    let header = &found.header;
    (object.stated_links, object.has_checksums, object.is_whole) = (found.stated_links, found.has_checksums, found.is_whole);
    object.tracks_attributes = header.tracks_attributes;
    let source = log.source;
    let parsed = log.noted(StructureKind::ObjectHeader, address, 0, content(source, header))?;
    (object.links, object.has_all_links) = links::of_group(log, header, sizes)?;
    if let Some((parsed, stored)) = parsed {
        object.object = Some(parsed);
        object.stored = stored;
        values(log, header, &mut object, sizes)?;
    }
    let (attributes, has_all_attributes) = attributes::of_object(log, header)?;
    (object.attribute_count, object.has_all_attributes) = (attributes.len() as u64, has_all_attributes);
    if keeping.attributes {
        object.attributes = attributes.into_iter().map(|(_, attribute)| attribute).collect();
    }
    Ok(object)
}

/// Where the values of a dataset are.
fn values(log: &mut Log<'_>, header: &ObjectHeader<'_>, object: &mut SurveyedObject, sizes: NodeSizes) -> Result<()> {
    let source = log.source;
    object.has_all_chunks = true;
    let Some(stored) = &object.stored else { return Ok(()) };
    match &stored.layout {
        Layout::Compact(_) => {}
        Layout::Contiguous { address, size } => {
            if let Some(address) = address.filter(|_| *size > 0) {
                log.for_purpose(Purpose::Data, |log| log.extent(StructureKind::Contiguous, address, *size))?;
                object.contiguous = Some((source.absolute(address)?, *size));
            }
        }
        Layout::Chunked(layout) => {
            object.has_old_index = matches!(layout.locator, Locator::BtreeV1 { .. });
            (object.chunks, object.has_all_chunks) = chunks::of_layout(log, layout, sizes)?;
            if layout.unfiltered_partial_edges {
                let mask = stored.pipeline.all_skipped();
                let hangs_over = |chunk: &SurveyedChunk| {
                    let axes = chunk.position.iter().zip(&layout.chunk_shape).zip(&layout.shape);
                    axes.into_iter().any(|((number, extent), n)| number.saturating_add(1).saturating_mul(*extent) > *n)
                };
                object.chunks.iter_mut().filter(|chunk| hangs_over(chunk)).for_each(|chunk| chunk.filter_mask = mask);
            }
        }
        Layout::External => {
            if let Some(Ok(files)) = header.find(kind::EXTERNAL_FILES).map(|message| message.parse(source, external_files::parse)) {
                log.for_purpose(Purpose::ExternalFiles, |log| heap::local(log, files.heap).map(drop))?;
            }
        }
        Layout::Virtual => {
            let message = header.find(kind::LAYOUT).map(|message| message.parse(source, layout::parse));
            if let Some(Ok(LayoutMessage::Virtual(Some(place)))) = message {
                log.for_purpose(Purpose::Values, |log| heap::collection(log, place.address))?;
            }
        }
    }
    Ok(())
}
