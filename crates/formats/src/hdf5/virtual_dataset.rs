//! Virtual dataset: its mappings, from the global heap (specification III.E.2 "Global heap block for
//! virtual datasets", versions 0 and 1).

use std::sync::Arc;

use hyperslab_array::name::name_of;
use hyperslab_array::{Error, HeapReference, Result, StoredSelection};

use super::heap::GlobalHeap;
use super::message::selection;
use super::{Cursor, Encoder, Source, Widths, checksum};
use crate::VirtualMapping;

/// Flags of a mapping in version 1.
mod flag {
    pub const FILE_SHARED: u8 = 1;
    pub const DATASET_SHARED: u8 = 2;
    pub const SAME_FILE: u8 = 4;
}

/// The mappings at a place of the global heap; none if the address is undefined.
pub(super) fn mappings(source: &Source, place: Option<HeapReference>) -> Result<Arc<[VirtualMapping]>> {
    let Some(place) = place else { return Ok(Arc::default()) };
    let mut objects = source.heap_objects();
    GlobalHeap::fetch(source, &[place], &mut objects)?;
    let block = objects.object(place)?;
    parse(source, block, place.address).map_err(|error| error.at_offset(source.absolute(place.address).unwrap_or(0)))
}

fn parse(source: &Source, block: &[u8], address: u64) -> Result<Arc<[VirtualMapping]>> {
    checksum::verify(block, source.absolute(address)?, "the list of virtual mappings")?;
    let mut cursor = source.cursor(block, address);
    let version = cursor.u8()?;
    if version > 1 {
        return Err(Error::unsupported(format!("version {version} of a list of virtual mappings")));
    }
    let count = cursor.length()?;
    let mut mappings: Vec<VirtualMapping> = Vec::new();
    for _ in 0..count {
        let flags = if version == 1 { cursor.u8()? } else { 0 };
        let file = if flags & flag::SAME_FILE != 0 {
            ".".to_owned()
        } else if flags & flag::FILE_SHARED != 0 {
            shared(&mut cursor, &mappings, |mapping| &mapping.file)?
        } else {
            text(&mut cursor)?
        };
        let dataset = if flags & flag::DATASET_SHARED != 0 { shared(&mut cursor, &mappings, |mapping| &mapping.dataset)? } else { text(&mut cursor)? };
        let source_selection = selection::parse(&mut cursor)?;
        let selection = selection::parse(&mut cursor)?;
        cursor.keep(2 * size_of::<VirtualMapping>())?;
        mappings.push(VirtualMapping { file, dataset, source_selection, selection });
    }
    Ok(mappings.into())
}

/// A name of the earlier mapping whose number follows.
fn shared(cursor: &mut Cursor<'_>, mappings: &[VirtualMapping], name: impl Fn(&VirtualMapping) -> &String) -> Result<String> {
    let number = usize::try_from(cursor.length()?).ok();
    let mapping = number.and_then(|number| mappings.get(number)).ok_or_else(|| cursor.corrupt("a virtual mapping that shares a later one's name"))?;
    cursor.keep(name(mapping).len())?;
    Ok(name(mapping).clone())
}

fn text(cursor: &mut Cursor<'_>) -> Result<String> {
    let bytes = cursor.null_terminated()?;
    cursor.keep(bytes.len())?;
    Ok(name_of(bytes))
}

/// The block of the global heap that holds `mappings`, version 0.
pub(super) fn encode(mappings: &[VirtualMapping], widths: Widths) -> Result<Vec<u8>> {
    let mut encoder = Encoder::of(widths);
    encoder.u8(0);
    encoder.length(mappings.len() as u64)?;
    for mapping in mappings {
        for name in [&mapping.file, &mapping.dataset] {
            if name.contains('\0') || name.is_empty() {
                return Err(Error::invalid_input(format!("{name:?} as the source of a virtual dataset")));
            }
            encoder.null_terminated(name);
        }
        for selected in [&mapping.source_selection, &mapping.selection] {
            // HDF5 cannot open a virtual dataset that maps points, and fails to list the group that holds it.
            if matches!(selected, StoredSelection::Points(_) | StoredSelection::Blocks(_)) {
                return Err(Error::unsupported("a mapping of points or of a list of blocks in a virtual dataset"));
            }
            selection::encode(selected, &mut encoder)?;
        }
    }
    Ok(encoder.finish_with_checksum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_not_mapped() -> Result<()> {
        let mapping = |selection| VirtualMapping { file: ".".into(), dataset: "x".into(), source_selection: StoredSelection::All, selection };
        assert!(!encode(&[mapping(StoredSelection::All)], Widths::WIDE)?.is_empty());
        for selection in [StoredSelection::Points(vec![vec![1, 2]]), StoredSelection::Blocks(vec![(vec![0, 0], vec![1, 1])])] {
            assert!(encode(&[mapping(selection)], Widths::WIDE).is_err_and(|error| error.to_string().contains("a mapping of points")));
        }
        Ok(())
    }
}
