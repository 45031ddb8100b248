//! Links of a group that is edited: in a symbol table, in the group's header, or in dense storage.

use hyperslab_array::name::is_utf8;
use hyperslab_array::{Error, Result};

use super::dense::{DenseEdit, DenseKind};
use super::file::FileEdit;
use super::header::EditedHeader;
use super::symbol_table::SymbolTableEdit;
use crate::hdf5::Source;
use crate::hdf5::group;
use crate::hdf5::message::link::{self, RawLink, RawTarget};
use crate::hdf5::message::{group_info, link_info};
use crate::hdf5::object_header::{ObjectHeader, kind};
use crate::{LinkTarget, ObjectId};

/// Links that stand in a group's header at most; more go into dense storage.
const MAX_COMPACT: usize = 64;
/// Bytes of a link in a header at most: a message has less than 64 KiB.
const MAX_COMPACT_BYTES: usize = 60_000;
/// Place of the next creation order in a link info message that has one.
const NEXT_ORDER_PLACE: usize = 2;
/// Flags of a link info message: it has a creation order, and an index by it.
const TRACKED: u8 = 1;
const INDEXED: u8 = 2;

/// Adds a link to a group. The object of a hard link does not count it yet: see [`super::count_link`].
///
/// # Errors
/// `InvalidInput` for a name that is there or that HDF5 cannot have; `Unsupported` for a group that cannot be edited; `Corrupt` or `Io`.
pub fn insert_link(file: &FileEdit<'_>, group: ObjectId, name: &str, target: &LinkTarget) -> Result<()> {
    link::check_name(name)?;
    let target = raw(target)?;
    let source = file.source();
    let header = ObjectHeader::read(&source, group.0)?;
    if !group::is_group(&header) {
        return Err(Error::invalid_input("this is not a group"));
    }
    if group::link(&source, &header, name)?.is_some() {
        return Err(Error::invalid_input(format!("there is an object of the name {name:?} already")));
    }
    if let Some(table) = symbol_table(file, &source, &header)? {
        // As in HDF5: other links, and the character set of a name, have no place in a symbol table.
        if matches!(target, RawTarget::Hard(_) | RawTarget::Soft(_)) && name.is_ascii() {
            return table.insert(name, &target);
        }
        make_new(file, &source, group, &header, &table)?;
    }
    insert_new(file, &source, group, name, &target)
}

/// Removes a link of a group, and returns where it leads. The object of a hard link still counts it.
///
/// # Errors
/// `NotFound` if there is none; as [`insert_link`].
pub fn remove_link(file: &FileEdit<'_>, group: ObjectId, name: &str) -> Result<LinkTarget> {
    let source = file.source();
    let header = ObjectHeader::read(&source, group.0)?;
    let found = group::link(&source, &header, name)?.ok_or_else(|| Error::not_found(format!("there is no link {name:?}")))?;
    let removed = crate::Link::from(found).target;
    let gone = || Error::corrupt(format!("the link {name:?} is not where it should be"));
    let mut edited = EditedHeader::read(&source, group.0)?;
    for id in edited.all(kind::LINK) {
        if link::parse(&mut source.cursor(edited.body(id)?, 0))?.name == name {
            edited.delete(id)?;
            edited.store(file.space)?;
            return Ok(removed);
        }
    }
    if let Some(table) = symbol_table(file, &source, &header)? {
        return if table.remove(name)? { Ok(removed) } else { Err(gone()) };
    }
    let info = edited.own(kind::LINK_INFO, "link info")?.ok_or_else(gone)?;
    let dense = dense(file, &source, edited.body(info)?)?.ok_or_else(gone)?;
    dense.remove(name)?.ok_or_else(gone)?;
    Ok(removed)
}

/// Frees what a group that is removed has outside of its header.
pub(super) fn free_structures(file: &FileEdit<'_>, source: &Source, header: &ObjectHeader<'_>) -> Result<()> {
    match symbol_table(file, source, header)? {
        Some(table) => table.free(),
        None => Ok(()),
    }
}

fn raw(target: &LinkTarget) -> Result<RawTarget> {
    Ok(match target {
        LinkTarget::Hard(object) => RawTarget::Hard(object.0),
        LinkTarget::Soft(path) => RawTarget::Soft(path.clone()),
        LinkTarget::External { file, path } => RawTarget::External { file: file.clone(), path: path.clone() },
        LinkTarget::UserDefined(class) => return Err(Error::unsupported(format!("a link of class {class}, which a program defined, cannot be edited yet"))),
    })
}

fn symbol_table<'a>(file: &'a FileEdit<'_>, source: &'a Source, header: &ObjectHeader<'_>) -> Result<Option<SymbolTableEdit<'a>>> {
    let Some(message) = header.find(kind::SYMBOL_TABLE) else { return Ok(None) };
    let mut cursor = source.cursor(&message.body, message.address);
    let (tree, heap) = (cursor.defined_address("a group's B-tree")?, cursor.defined_address("a group's local heap")?);
    Ok(Some(SymbolTableEdit { source, space: file.space, form: file.group_form, tree, heap }))
}

/// The dense storage that a link info message names.
fn dense<'a>(file: &'a FileEdit<'_>, source: &'a Source, info: &[u8]) -> Result<Option<DenseEdit<'a>>> {
    let info = link_info::parse(&mut source.cursor(info, 0))?;
    let found = info.heap.zip(info.name_tree);
    Ok(found.map(|(heap, name_tree)| DenseEdit { source, space: file.space, kind: DenseKind::Links, heap, name_tree, order_tree: info.order_tree }))
}

/// Makes a group of the old kind one of the new kind.
fn make_new(file: &FileEdit<'_>, source: &Source, group: ObjectId, header: &ObjectHeader<'_>, table: &SymbolTableEdit<'_>) -> Result<()> {
    let links = group::links(source, header)?.links;
    let mut edited = EditedHeader::read(source, group.0)?;
    let message = edited.own(kind::SYMBOL_TABLE, "a symbol table")?.ok_or_else(|| Error::internal("a group without the table that it has"))?;
    edited.delete(message)?;
    edited.add(file.space, kind::LINK_INFO, 0, &link_info::encode_in(None, false, None, file.widths()))?;
    edited.add(file.space, kind::GROUP_INFO, 0, &group_info::encode())?;
    edited.store(file.space)?;
    table.free()?;
    file.forget_root_table(group)?;
    links.into_iter().try_for_each(|link| insert_new(file, source, group, &link.name, &link.target))
}

/// Adds a link to a group of the new kind.
fn insert_new(file: &FileEdit<'_>, source: &Source, group: ObjectId, name: &str, target: &RawTarget) -> Result<()> {
    let mut header = EditedHeader::read(source, group.0)?;
    let info = header.own(kind::LINK_INFO, "link info")?.ok_or_else(|| Error::unsupported("a group without link info cannot be edited yet"))?;
    let body = header.body(info)?.to_vec();
    let flags = body.get(1).copied().unwrap_or_default();
    let order = if flags & TRACKED == 0 {
        None
    } else {
        let mut cursor = source.cursor(body.get(NEXT_ORDER_PLACE..).unwrap_or_default(), 0);
        let order = cursor.u64()?;
        let next = order.checked_add(1).ok_or_else(|| Error::unsupported("more links than creation orders"))?;
        header.patch(info, NEXT_ORDER_PLACE, &next.to_le_bytes())?;
        Some(order)
    };
    let link = RawLink { name: name.to_owned(), target: target.clone(), is_utf8: is_utf8(name), creation_order: order.map(u64::cast_signed) };
    let message = link::encode_in(&link, file.widths())?;
    let compact = header.all(kind::LINK);
    let storage = match dense(file, source, &body)? {
        Some(storage) => storage,
        None if compact.len() < MAX_COMPACT && message.len() <= MAX_COMPACT_BYTES => {
            header.add(file.space, kind::LINK, 0, &message)?;
            return header.store(file.space);
        }
        None => {
            let storage = DenseEdit::create(source, file.space, DenseKind::Links, flags & INDEXED != 0)?;
            let mut moved = Vec::with_capacity(compact.len());
            for id in compact {
                let body = header.body(id)?.to_vec();
                let link = link::parse(&mut source.cursor(&body, 0))?;
                moved.push((link.name, link.creation_order.unwrap_or_default().cast_unsigned(), body));
                header.delete(id)?;
            }
            moved.iter().try_for_each(|(name, order, body)| storage.insert(name, *order, body))?;
            let at = if flags & TRACKED == 0 { NEXT_ORDER_PLACE } else { NEXT_ORDER_PLACE + 8 };
            let addresses = [Some(storage.heap), Some(storage.name_tree), storage.order_tree];
            let width = usize::from(source.offset_size);
            for (number, address) in addresses.into_iter().flatten().enumerate() {
                header.patch(info, at + number * width, address.to_le_bytes().get(..width).unwrap_or_default())?;
            }
            storage
        }
    };
    header.store(file.space)?;
    storage.insert(name, order.unwrap_or_default(), &message)
}
