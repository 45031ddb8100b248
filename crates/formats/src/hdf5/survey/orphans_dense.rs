//! Finds links and attributes in the blocks of fractal heaps whose trees, headers or indirect blocks are damaged. The blocks name their
//! heaps, have checksums, and hold one message after the other.

use std::collections::{HashMap, HashSet};

use hyperslab_array::{Attribute, Result};

use super::header;
use super::links::FoundLink;
use super::log::Log;
use super::structure::{Extent, Purpose, StructureKind};
use super::{Objects, SurveyProgress};
use crate::Object;
use crate::hdf5::attributes::resolve;
use crate::hdf5::message::link::RawTarget;
use crate::hdf5::message::{attribute, attribute_info, link, link_info};
use crate::hdf5::object_header::kind;
use crate::hdf5::{Cursor, Source, checksum};

/// Sizes of direct blocks: powers of two.
const BLOCK_BITS: std::ops::RangeInclusive<u32> = 9..=16;
/// Bytes of heap offsets that writers choose for links and for attributes.
const OFFSET_BYTES: [usize; 2] = [4, 5];

impl Objects {
    /// Adds links to the damaged groups from number `first` on.
    pub(super) fn adopt_dense_links(
        &mut self,
        log: &mut Log<'_>,
        owned: &HashMap<u64, Vec<u64>>,
        extents: &[Extent],
        first: usize,
        progress: &mut SurveyProgress<'_>,
    ) -> Result<()> {
        let source = log.source;
        let is_damaged = |index: &usize| self.list.get(*index).is_some_and(|object| !object.has_all_links && matches!(object.object, Some(Object::Group)));
        let damaged: Vec<usize> = (first..self.list.len()).filter(is_damaged).collect();
        let mut blocks = Blocks { source, owned, known: blocks_of(&[extents, &log.extents], Purpose::Links, source) };
        for index in damaged {
            let Some(group) = self.list.get(index) else { continue };
            let Some(found) = header::read(&mut Log::new(source), group.address)? else { continue };
            let info = found.header.find(kind::LINK_INFO).and_then(|message| message.parse(source, link_info::parse).ok());
            let Some(heap) = info.and_then(|info| info.heap) else { continue };
            let known: HashSet<&str> = group.links.iter().filter_map(|link| link.name.as_deref()).collect();
            let mut links: Vec<FoundLink> = Vec::new();
            let mut names: HashMap<String, usize> = HashMap::new();
            blocks.messages(heap, group.address, &is_link, &mut |cursor| {
                let link = link::parse(cursor)?;
                let is_name = !link.name.is_empty() && !link.name.contains(['/', '\0', char::REPLACEMENT_CHARACTER]);
                let leads = match &link.target {
                    RawTarget::Hard(address) => begins_header(source, *address),
                    RawTarget::Soft(path) => !path.is_empty() && !path.contains(['\0', char::REPLACEMENT_CHARACTER]),
                    RawTarget::External { file, .. } => !file.is_empty(),
                    RawTarget::UserDefined(_) => false,
                };
                if !is_name || !leads {
                    return Err(cursor.corrupt("no link"));
                }
                if !known.contains(link.name.as_str()) {
                    *names.entry(link.name.clone()).or_default() += 1;
                    links.push(link.into());
                }
                Ok(())
            })?;
            // If several links have one name, all but one of them were removed.
            links.retain(|link| link.name.as_ref().is_some_and(|name| names.get(name) == Some(&1)));
            self.reattach(log, index, links, progress)?;
        }
        Ok(())
    }

    /// Adds attributes to the objects that have lost some.
    pub(super) fn adopt_attributes(&mut self, source: &Source, owned: &HashMap<u64, Vec<u64>>, extents: &[Extent]) -> Result<()> {
        let mut blocks = Blocks { source, owned, known: blocks_of(&[extents], Purpose::Attributes, source) };
        for object in self.list.iter_mut().filter(|object| !object.has_all_attributes && object.object.is_some()) {
            let Some(found) = header::read(&mut Log::new(source), object.address)? else { continue };
            let info = found.header.find(kind::ATTRIBUTE_INFO).and_then(|message| message.parse(source, attribute_info::parse).ok());
            let Some(heap) = info.and_then(|info| info.heap) else { continue };
            let known: HashSet<&str> = object.attributes.iter().map(|attribute| attribute.name.as_str()).collect();
            let (mut attributes, mut names): (Vec<Attribute>, HashMap<String, usize>) = Default::default();
            blocks.messages(heap, object.address, &is_attribute, &mut |cursor| {
                let raw = attribute::parse(source, cursor)?;
                if raw.value.is_err() || raw.name.is_empty() || raw.name.contains(['\0', char::REPLACEMENT_CHARACTER]) {
                    return Err(cursor.corrupt("no attribute"));
                }
                if !known.contains(raw.name.as_str()) {
                    *names.entry(raw.name.clone()).or_default() += 1;
                    attributes.push(resolve(source, raw));
                }
                Ok(())
            })?;
            // An attribute that got another value is there twice.
            attributes.retain(|attribute| names.get(&attribute.name) == Some(&1));
            object.reattached_attributes += attributes.len();
            object.attribute_count = object.attribute_count.saturating_add(attributes.len() as u64);
            object.attributes.append(&mut attributes);
        }
        Ok(())
    }
}

/// Whether bytes look like a link message: version 1, and flags that exist.
fn is_link(bytes: &[u8]) -> bool {
    matches!(bytes, [1, flags, ..] if flags & 0xe0 == 0)
}

/// The same of an attribute message.
fn is_attribute(bytes: &[u8]) -> bool {
    matches!(bytes, [3, flags, name, ..] if *flags <= 3 && *name > 1) || matches!(bytes, [1, 0, name, ..] if *name > 1)
}

/// Whether an object header begins at an address.
fn begins_header(source: &Source, address: u64) -> bool {
    source.read_up_to(address, 5).is_ok_and(|bytes| bytes.starts_with(b"OHDR\x02") || bytes.starts_with(&[1, 0]))
}

/// Direct blocks of fractal heaps.
struct Blocks<'a> {
    source: &'a Source,
    /// Blocks to which nothing leads, by the address of the heap that they name.
    owned: &'a HashMap<u64, Vec<u64>>,
    /// Address and bytes of the others, by the object whose they are.
    known: HashMap<u64, Vec<(u64, u64)>>,
}

/// Address and bytes of the direct blocks among `extents`, by object.
fn blocks_of(extents: &[&[Extent]], purpose: Purpose, source: &Source) -> HashMap<u64, Vec<(u64, u64)>> {
    let mut blocks: HashMap<u64, Vec<(u64, u64)>> = HashMap::new();
    let extents = extents.iter().flat_map(|extents| extents.iter());
    for extent in extents.filter(|extent| extent.kind == StructureKind::HeapDirectBlock && extent.purpose == purpose) {
        if let (Some(object), Some(address)) = (extent.object, extent.offset.checked_sub(source.base_address)) {
            blocks.entry(object).or_default().push((address, extent.length));
        }
    }
    blocks
}

impl Blocks<'_> {
    /// Calls `take` with each message in blocks of the heap at `heap`, which belongs to `object`; `take` returns an error if it is not one.
    /// `looks_right` says whether bytes may be the beginning of one.
    fn messages(&mut self, heap: u64, object: u64, looks_right: &dyn Fn(&[u8]) -> bool, take: &mut dyn FnMut(&mut Cursor<'_>) -> Result<()>) -> Result<()> {
        let mut places = self.known.remove(&object).unwrap_or_default();
        places.extend(self.owned.get(&heap).into_iter().flatten().filter_map(|address| Some((*address, block_bytes(self.source, *address)?))));
        for (address, length) in places {
            let Ok(bytes) = self.source.read(address, length) else { continue };
            // Bytes that are not a message must not spend the budget of the file.
            let source = self.source.with_own_budget();
            let mut at = 5 + usize::from(source.offset_size) + OFFSET_BYTES[0];
            while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
                let mut cursor = source.cursor(rest, address.saturating_add(at as u64));
                let is_message = looks_right(rest) && take(&mut cursor).is_ok();
                at += if is_message { cursor.position().max(1) } else { 1 };
            }
            self.source.budget.charge(source.budget.spent().min(4 * length))?;
        }
        Ok(())
    }
}

/// Bytes of the direct block at `address`, of a heap with checksums: those for which the checksum is right.
fn block_bytes(source: &Source, address: u64) -> Option<u64> {
    let bytes = source.read_up_to(address, 1 << *BLOCK_BITS.end()).ok()?;
    for offset_bytes in OFFSET_BYTES {
        let at = 5 + usize::from(source.offset_size) + offset_bytes;
        for bits in BLOCK_BITS {
            let Some(block) = bytes.get(..1usize << bits) else { break };
            let mut block = block.to_vec();
            let field = block.get_mut(at..at + 4).and_then(|field| <&mut [u8; 4]>::try_from(field).ok())?;
            let stored = u32::from_le_bytes(std::mem::take(field));
            if checksum::lookup3(&block) == stored {
                return Some(block.len() as u64);
            }
        }
    }
    None
}
