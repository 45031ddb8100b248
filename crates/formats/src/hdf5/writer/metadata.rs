//! Plans all addresses of a file's metadata and encodes it.

use std::borrow::Cow;

use hyperslab_array::name::is_utf8;
use hyperslab_array::{Dataspace, Error, HeapReference, Result};

use super::dense::DenseStorage;
use super::description::{NewAttribute, NewContent, NewDataset, NewFile, NewLink, NewObject, NewStorage};
use super::library_version::LibraryVersion;
use super::references::Pointed;
use super::space::Space;
use super::values::{place_references, place_values};
use crate::hdf5::layout::{ChunkedLayout, Locator};
use crate::hdf5::message::layout::LayoutMessage;
use crate::hdf5::message::link::{RawLink, RawTarget};
use crate::hdf5::message::{attribute, attribute_info, dataspace, datatype, file_space, fill_value, filter_pipeline, layout};
use crate::hdf5::object_header::{self, kind};
use crate::hdf5::{Widths, chunk_locator, group, superblock, virtual_dataset};
use crate::{AllocationTime, CreationOrder, ObjectTimes};

/// Bytes that the superblock takes at the beginning of the file.
pub const SUPERBLOCK_BYTES: u64 = superblock::ENCODED_BYTES;

/// Bytes of the message that leads to a continuation block of an object header: an address and a length.
const CONTINUATION_BYTES: usize = 16;
/// Flag: the message never changes.
const CONSTANT: u8 = 1;
/// Flag: the message's body is where to find it.
const SHARED: u8 = 1 << 1;
/// Flag: the message stays where it is.
const NOT_TO_SHARE: u8 = 1 << 2;
/// Flag: a program that changes the object without knowing the message marks it.
const MARK_IF_UNKNOWN: u8 = 1 << 4;

/// Bytes of an attribute that stands in its object's header: a message has less than 64 KiB.
const MAX_COMPACT_ATTRIBUTE_BYTES: usize = 65_000;

/// All metadata of a file but the superblock.
pub struct EncodedMetadata {
    /// To be written at the address that was given.
    pub bytes: Vec<u8>,
    /// Address of the root group, for the superblock.
    pub root: u64,
    /// Address of the superblock extension of a file of pages.
    pub extension: Option<u64>,
    /// Addresses of all objects, by number.
    pub addresses: Vec<u64>,
}

/// The superblock of a file that ends at byte `end`, counted from the end of a user block of `base` bytes.
pub fn encode_superblock(metadata: &EncodedMetadata, end: u64, base: u64) -> Vec<u8> {
    superblock::encode(metadata.root, metadata.extension, end, base)
}

/// Plans and encodes the metadata of `file`, to lie at address `at`, a multiple of 8. In a file of pages it is in pages of
/// `page_bytes`, a multiple of 8, and says so.
///
/// # Errors
/// `Unsupported` for what HDF5 cannot store; `InvalidInput` for names that it cannot have.
pub fn encode_metadata(file: &NewFile, at: u64, page_bytes: Option<u64>) -> Result<EncodedMetadata> {
    let nowhere = vec![0; file.objects.len()];
    let has_references = file.objects.iter().any(|object| {
        let in_fill_value = matches!(&object.content, NewContent::Dataset(dataset) if dataset.fill_value.is_some() && dataset.datatype.has_references());
        in_fill_value || object.attributes.iter().any(|a| a.value.datatype.has_references())
    });
    let Encoded { space, addresses, leads_back } = encode(file, Space::new(at, page_bytes), &nowhere)?;
    // The size of a reference or link does not depend on its target, so the second pass yields the same addresses.
    let Encoded { mut space, addresses, .. } = match has_references || leads_back {
        true => encode(file, Space::new(at, page_bytes), &addresses)?,
        false => Encoded { space, addresses, leads_back },
    };
    let root = addresses.first().copied().ok_or_else(|| Error::internal("a file without a root group"))?;
    let extension = page_bytes.map(|page_bytes| {
        let message = (kind::FILE_SPACE_INFO, NOT_TO_SHARE | MARK_IF_UNKNOWN, file_space::encode_pages(page_bytes));
        put_header(&mut space, vec![message], CreationOrder::default(), None)
    });
    Ok(EncodedMetadata { extension: extension.transpose()?, bytes: space.finish(), root, addresses })
}

/// The metadata of all objects.
struct Encoded {
    space: Space,
    /// Addresses of the objects, by number.
    addresses: Vec<u64>,
    /// Whether a hard link leads to a group above it, whose address was not known yet.
    leads_back: bool,
}

/// `pointed_at` are the addresses for references, and for links that lead back.
fn encode(file: &NewFile, mut space: Space, pointed_at: &[u64]) -> Result<Encoded> {
    let mut addresses: Vec<Option<u64>> = vec![None; file.objects.len()];
    let mut leads_back = false;
    // The objects that an object links to come before it, unless a link leads back.
    let references = reference_counts(file);
    // Only references lead to objects without links.
    let unnamed = references.iter().enumerate().rev().filter(|(_, count)| **count == 0).map(|(index, _)| (index, false));
    let mut pending: Vec<(usize, bool)> = unnamed.chain([(0, false)]).collect();
    let mut begun = vec![false; file.objects.len()];
    while let Some((index, members_done)) = pending.pop() {
        let object = file.objects.get(index).ok_or_else(|| Error::internal(format!("a link to object {index}, which there is not")))?;
        if !members_done {
            let begun = begun.get_mut(index).ok_or_else(|| Error::internal("an object that is not in the list of those begun"))?;
            if std::mem::replace(begun, true) {
                continue;
            }
            pending.push((index, true));
            pending.extend(led_to(object).map(|member| (member, false)));
            continue;
        }
        let pointed = Pointed { objects: pointed_at, targets: &file.targets };
        let mut messages = match &object.content {
            NewContent::Group(links) => {
                leads_back |= links.iter().any(|(_, link)| matches!(link, NewLink::Hard(member) if addresses.get(*member).copied().flatten().is_none()));
                let links = links.iter().map(|(name, link)| {
                    let is_utf8 = is_utf8(name) != object.properties.other_names.contains(name);
                    Ok(RawLink { name: name.clone(), target: target(link, &addresses, pointed_at)?, is_utf8, creation_order: None })
                });
                group::encode(&mut space, links.collect::<Result<_>>()?, object.properties.link_order)?
            }
            NewContent::Dataset(dataset) => dataset_messages(&mut space, dataset, file, &addresses, pointed)?,
            NewContent::Datatype(datatype) => {
                let body = datatype::encode(datatype)?;
                let is_small = body.len() < CONTINUATION_BYTES;
                let mut messages = vec![(kind::DATATYPE, CONSTANT | NOT_TO_SHARE, body)];
                if is_small {
                    // Programs that count its users, or give it attributes, put the link to more messages here.
                    messages.push((kind::NIL, 0, vec![0; CONTINUATION_BYTES]));
                }
                messages
            }
        };
        if let Some(count) = references.get(index).copied().filter(|count| *count > 1) {
            let mut message = vec![0];
            message.extend_from_slice(&count.to_le_bytes());
            messages.push((kind::REFERENCE_COUNT, 0, message));
        }
        if let Some(comment) = &object.properties.comment {
            messages.push((kind::COMMENT, 0, [comment.as_slice(), &[0]].concat()));
        }
        leads_back |= committed_of_attributes(object).any(|index| addresses.get(index).copied().flatten().is_none());
        let committed = |index: usize| addresses.get(index).copied().flatten().or_else(|| pointed_at.get(index).copied());
        put_attributes(&mut space, object, pointed, &committed, &mut messages)?;
        let address = put_header(&mut space, messages, object.properties.attribute_order, object.properties.times)?;
        if let Some(place) = addresses.get_mut(index) {
            *place = Some(address);
        }
    }
    let unreached = |index: usize| Error::internal(format!("object {index} of a new file was not written"));
    let addresses = addresses.into_iter().enumerate().map(|(index, address)| address.ok_or_else(|| unreached(index)));
    Ok(Encoded { space, addresses: addresses.collect::<Result<_>>()?, leads_back })
}

/// Adds the messages of an object's attributes, or of where they are stored, to its other messages.
fn put_attributes(
    space: &mut Space,
    object: &NewObject,
    pointed: Pointed<'_>,
    committed: &dyn Fn(usize) -> Option<u64>,
    messages: &mut Vec<(u16, u8, Vec<u8>)>,
) -> Result<()> {
    let order = object.properties.attribute_order;
    let mut attributes = Vec::with_capacity(object.attributes.len());
    for new in &object.attributes {
        attributes.push((new.name.clone(), attribute_message(space, new, pointed, committed)?));
    }
    let tracked = match u16::try_from(attributes.len()) {
        Ok(count) => order.is_tracked.then_some(count),
        Err(_) if order.is_tracked => return Err(Error::unsupported("65536 attributes of one object that tracks their order")),
        Err(_) => None,
    };
    if attributes.iter().any(|(_, message)| message.len() > MAX_COMPACT_ATTRIBUTE_BYTES) {
        let dense = DenseStorage::of_attributes(space, &attributes, order.is_indexed)?;
        messages.push((kind::ATTRIBUTE_INFO, 0, attribute_info::encode(tracked, order.is_indexed, Some(dense))));
    } else if !attributes.is_empty() {
        messages.push((kind::ATTRIBUTE_INFO, 0, attribute_info::encode(tracked, order.is_indexed, None)));
        messages.extend(attributes.into_iter().map(|(_, message)| (kind::ATTRIBUTE, 0, message)));
    }
    Ok(())
}

/// Writes an object header to `space`; returns its address.
fn put_header(space: &mut Space, mut messages: Vec<(u16, u8, Vec<u8>)>, order: CreationOrder, times: Option<ObjectTimes>) -> Result<u64> {
    /// Bytes of a header that the library reads first. With a page buffer it then reads the rest, which must not cross a
    /// page border unless it is longer than a page.
    const FIRST_READ: u64 = 512;
    let header = object_header::encode(&messages, order, times)?;
    let (length, enough) = (header.len() as u64, space.page_bytes().map_or(0, |page_bytes| page_bytes + FIRST_READ + 1));
    if space.page_bytes().is_none_or(|page_bytes| length <= page_bytes) || length >= enough {
        return Ok(space.put(&header));
    }
    messages.push((kind::NIL, 0, vec![0; usize::try_from(enough - length).map_err(|_| Error::internal("a page beyond memory"))?]));
    Ok(space.put(&object_header::encode(&messages, order, times)?))
}

/// Numbers of the committed datatypes that the attributes of an object share.
fn committed_of_attributes(object: &NewObject) -> impl Iterator<Item = usize> {
    object.attributes.iter().filter_map(|attribute| attribute.committed)
}

/// Numbers of the objects that an object leads to: members of a group, committed datatypes of a dataset and of attributes.
fn led_to(object: &NewObject) -> impl Iterator<Item = usize> {
    let (links, committed) = match &object.content {
        NewContent::Group(links) => (links.as_slice(), None),
        NewContent::Dataset(dataset) => (&[][..], dataset.committed),
        NewContent::Datatype(_) => (&[][..], None),
    };
    links
        .iter()
        .filter_map(|(_, link)| if let NewLink::Hard(member) = link { Some(*member) } else { None })
        .chain(committed)
        .chain(committed_of_attributes(object))
}

/// Reference count of each object, by index: programs that delete one of several links keep the object.
fn reference_counts(file: &NewFile) -> Vec<u32> {
    let mut counts = vec![0u32; file.objects.len()];
    // The superblock leads to the root group.
    if let Some(root) = counts.first_mut() {
        *root = 1;
    }
    for member in file.objects.iter().flat_map(led_to) {
        if let Some(count) = counts.get_mut(member) {
            *count = count.saturating_add(1);
        }
    }
    counts
}

/// The datatype message of a dataset, with its flags.
fn datatype_message(dataset: &NewDataset, file: &NewFile, addresses: &[Option<u64>]) -> Result<(u16, u8, Vec<u8>)> {
    let Some(index) = dataset.committed else {
        return Ok((kind::DATATYPE, CONSTANT, datatype::encode(&dataset.datatype)?));
    };
    match file.objects.get(index).map(|object| &object.content) {
        Some(NewContent::Datatype(committed)) if *committed == dataset.datatype => {}
        _ => return Err(Error::invalid_input("a dataset whose committed datatype is another one")),
    }
    let address = addresses.get(index).copied().flatten().ok_or_else(|| Error::internal("a committed datatype without an address"))?;
    Ok((kind::DATATYPE, CONSTANT | SHARED, object_header::committed_reference(address, Widths::WIDE)))
}

fn target(link: &NewLink, addresses: &[Option<u64>], pointed_at: &[u64]) -> Result<RawTarget> {
    Ok(match link {
        NewLink::Hard(member) => {
            let address = addresses.get(*member).copied().flatten().or_else(|| pointed_at.get(*member).copied());
            RawTarget::Hard(address.ok_or_else(|| Error::internal(format!("a link to object {member}, which there is not")))?)
        }
        NewLink::Soft(path) => RawTarget::Soft(path.clone()),
        NewLink::External { file, path } => RawTarget::External { file: file.clone(), path: path.clone() },
    })
}

fn attribute_message(space: &mut Space, new: &NewAttribute, pointed_at: Pointed<'_>, committed: &dyn Fn(usize) -> Option<u64>) -> Result<Vec<u8>> {
    let named = |error: Error| Error::new(error.kind(), format!("attribute {:?}: {}", new.name, error.message()));
    let value = &new.value;
    let expected = new.dataspace.element_count()?.checked_mul(value.datatype.size());
    if expected != Some(value.bytes.len() as u64) {
        return Err(named(Error::invalid_input(format!("{} bytes for a value of shape {:?}", value.bytes.len(), new.dataspace.shape()))));
    }
    let resolve = |reference: HeapReference| value.heap.object(reference);
    let bytes = space.put_heap(|heap| {
        let mut bytes = value.bytes.clone();
        place_values(&value.datatype, &mut bytes, &resolve, heap, Some(pointed_at)).map(|()| bytes)
    });
    let bytes = bytes.map_err(named)?;
    let committed = match new.committed {
        Some(index) => Some(committed(index).ok_or_else(|| Error::internal("a committed datatype without an address"))?),
        None => None,
    };
    attribute::encode(&new.name, &value.datatype, committed, &new.dataspace, &bytes).map_err(named)
}

fn dataset_messages(
    space: &mut Space,
    dataset: &NewDataset,
    file: &NewFile,
    addresses: &[Option<u64>],
    pointed_at: Pointed<'_>,
) -> Result<Vec<(u16, u8, Vec<u8>)>> {
    let element_size = dataset.datatype.size();
    if dataset.fill_value.as_ref().is_some_and(|value| value.len() as u64 != element_size) {
        return Err(Error::invalid_input(format!("a fill value that is not an element of {element_size} bytes")));
    }
    let fill = match &dataset.fill_value {
        Some(fill) if dataset.datatype.has_references() => Some(Cow::Owned(space.put_heap(|heap| {
            let mut fill = fill.clone();
            place_references(&dataset.datatype, &mut fill, heap, pointed_at).map(|()| fill)
        })?)),
        fill => fill.as_ref().map(Cow::Borrowed),
    };
    let time = fill_value::stored_time(&dataset.datatype, fill.is_some(), dataset.is_fill_undefined, dataset.fill_time);
    let (message, allocation) = storage(space, dataset, element_size, file.newest)?;
    let extent = match &message {
        LayoutMessage::Chunked { .. } => dataspace::encode_resizable(&dataset.dataspace)?,
        _ => dataspace::encode(&dataset.dataspace)?,
    };
    let mut messages = vec![
        (kind::DATASPACE, 0, extent),
        datatype_message(dataset, file, addresses)?,
        (kind::FILL_VALUE, CONSTANT, fill_value::encode(&dataset.fill_message(fill.map(Cow::into_owned), time), allocation)?),
        (kind::LAYOUT, 0, layout::encode(&message)?),
    ];
    if !dataset.filters.filters.is_empty() {
        if !matches!(message, LayoutMessage::Chunked { .. }) {
            return Err(Error::invalid_input("filters need chunks"));
        }
        messages.push((kind::FILTER_PIPELINE, CONSTANT, filter_pipeline::encode(&dataset.filters)?));
    }
    Ok(messages)
}

fn storage(space: &mut Space, dataset: &NewDataset, element_size: u64, newest: LibraryVersion) -> Result<(LayoutMessage, AllocationTime)> {
    Ok(match &dataset.storage {
        NewStorage::Contiguous(address) => {
            if let Dataspace::Simple { shape, max_shape } = &dataset.dataspace
                && shape.iter().zip(max_shape).any(|(extent, max_extent)| *max_extent != Some(*extent))
            {
                return Err(Error::invalid_input("a dataset that can grow needs chunks"));
            }
            let size = dataset.dataspace.element_count()?.checked_mul(element_size);
            let size = size.ok_or_else(|| Error::unsupported("a dataset beyond 64 bits"))?;
            (LayoutMessage::Contiguous { address: *address, size: Some(size) }, AllocationTime::Late)
        }
        NewStorage::Compact(bytes) => (LayoutMessage::Compact(bytes.as_slice().into()), AllocationTime::Early),
        NewStorage::Chunked { chunk_shape, chunks } => {
            let Dataspace::Simple { shape, max_shape } = &dataset.dataspace else {
                return Err(Error::invalid_input("a scalar or null dataset has no chunks"));
            };
            let fits = chunk_shape.len() == shape.len() && !chunk_shape.contains(&0);
            let chunk_bytes = chunk_shape.iter().try_fold(element_size, |n, &extent| n.checked_mul(extent));
            let Some(chunk_bytes) = chunk_bytes.filter(|_| fits) else {
                return Err(Error::invalid_input(format!("chunks of shape {chunk_shape:?} in a dataset of shape {shape:?}")));
            };
            let layout = ChunkedLayout {
                shape: shape.clone(),
                max_shape: max_shape.clone(),
                chunk_shape: chunk_shape.clone(),
                chunk_bytes,
                unfiltered_partial_edges: false,
                locator: Locator::None,
            };
            let filtered = !dataset.filters.filters.is_empty();
            let locator = chunk_locator::encode(space, &layout, element_size, filtered, chunks, newest)?;
            let message = LayoutMessage::Chunked { chunk_shape: chunk_shape.clone(), element_size, unfiltered_partial_edges: false, locator };
            (message, AllocationTime::Incremental)
        }
        NewStorage::Virtual(mappings) => {
            let block = virtual_dataset::encode(mappings, Widths::WIDE)?;
            let place = space.put_heap(|heap| Ok(heap.insert(&block)))?;
            (LayoutMessage::Virtual(Some(place)), AllocationTime::Incremental)
        }
    })
}
