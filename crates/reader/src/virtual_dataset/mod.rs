//! Virtual dataset: put together from parts of other datasets (HDF5 1.10, "VDS").
//!
//! Two selections belong together element by element, in their order. Where both are regular hyperslabs whose
//! dimensions match, each dimension is mapped on its own; else runs of elements are found by their numbers.

mod direct;
mod extent;
mod mapping;
mod numeric;
mod order;
mod part;
mod regular;

use std::collections::BTreeSet;

use hyperslab_array::{Cancellation, Datatype, Error, FloatFormat, HeapObjects, HeapReference, Result, Selection};
use hyperslab_formats::{Dataset, ObjectId, collect_heap_references};

use crate::{File, MissingSources, heap_origin, read};
use crate::linked_files::is_missing;

pub(crate) use extent::with_present_extent;
use numeric::Conversion;
use part::{Part, misses, parts};
pub(crate) use regular::regular;

/// Fills `out` with the selected elements. Heap references in it are salted: see [`resolve_heap`].
pub(crate) fn fill(
    file: &File,
    description: &Dataset,
    selection: &Selection,
    out: &mut [u8],
    cancellation: &Cancellation,
) -> Result<()> {
    let size = usize::try_from(description.datatype.size()).map_err(|_| Error::internal("element size"))?;
    let file = &file.with_steps();
    if direct::fill(file, description, selection, out, cancellation)? {
        return Ok(());
    }
    read::fill_value(description.fill_value.as_deref(), size, out);
    let shape = description.dataspace.shape();
    for mapping in description.virtual_mappings.iter().filter(|mapping| !misses(mapping, selection)) {
        for part in parts(file, mapping, shape)? {
            cancellation.check()?;
            let Some(places) = mapping::places(&part, selection)? else { continue };
            let Some((other, id)) = open(file, &part, 0)? else { continue };
            let theirs = other.dataset(id)?;
            let conversion = conversion(theirs, description, &part)?;
            // A reference means something in its own file only.
            if theirs.datatype.has_references() && other != *file {
                return Err(Error::unsupported(format!(
                    "references in a virtual dataset: they are those of its source {} in {}, where they can be read",
                    part.dataset, part.file
                )));
            }
            for wanted in places.of_source(selection, theirs.dataspace.shape())? {
                let mut bytes = read::read_bytes(&other, id, &wanted.selection, cancellation)
                    .map_err(|error| error.at_object(&part.dataset).in_file(other.name()))?;
                if let Some(conversion) = &conversion {
                    bytes = conversion.convert(&bytes)?;
                }
                if description.datatype.uses_heap() {
                    heap_origin::salt(&description.datatype, &mut bytes, file.linked_files().salt_of(&other)?)?;
                }
                places.put(&wanted, &bytes, size, &selection.shape(), out)?;
            }
        }
    }
    Ok(())
}

/// Visits the files that the selected elements come from, with their names in the virtual dataset; `None` for those that
/// are missing and filled in. A file that several parts are of is visited as often.
pub fn sources(file: &File, description: &Dataset, selection: &Selection, mut visit: impl FnMut(&str, &str, Option<&File>) -> Result<()>) -> Result<()> {
    let file = &file.with_steps();
    for mapping in description.virtual_mappings.iter().filter(|mapping| !misses(mapping, selection)) {
        for part in parts(file, mapping, description.dataspace.shape())? {
            if mapping::places(&part, selection)?.is_some() {
                let found = open(file, &part, 0)?;
                visit(&part.file, &part.dataset, found.as_ref().map(|(file, _)| file))?;
            }
        }
    }
    Ok(())
}

/// The names of the files that the elements come from, each once; nothing is opened but what tells how many there are.
pub fn source_names(file: &File, description: &Dataset) -> Result<BTreeSet<String>> {
    let parts = description.virtual_mappings.iter().map(|mapping| parts(file, mapping, description.dataspace.shape()));
    Ok(parts.collect::<Result<Vec<_>>>()?.into_iter().flatten().map(|part| part.file).collect())
}

/// What makes values of a source those of the virtual dataset; `None` where they are so already.
fn conversion(theirs: &Dataset, description: &Dataset, part: &Part) -> Result<Option<Conversion>> {
    if theirs.datatype == description.datatype {
        return Ok(None);
    }
    let found = Conversion::between(&theirs.datatype, &description.datatype);
    found.map(Some).ok_or_else(|| {
        Error::unsupported(format!(
            "a virtual dataset whose source {} in {} has another datatype: {} as {}",
            part.dataset,
            part.file,
            name(&theirs.datatype),
            name(&description.datatype)
        ))
    })
}

/// A datatype in a few words, for messages.
fn name(datatype: &Datatype) -> String {
    let size = datatype.size();
    match datatype {
        Datatype::Integer { bit_precision, .. } => format!("integers of {bit_precision} bits in {size} bytes"),
        Datatype::Float { format: FloatFormat::Ieee, .. } => format!("floats of {size} bytes"),
        Datatype::Float { .. } => format!("floats of {size} bytes that are not IEEE's"),
        Datatype::FixedString { .. } => format!("text of {size} bytes"),
        Datatype::VariableString { .. } => "text of variable length".to_owned(),
        Datatype::Bitfield { .. } => "bitfields".to_owned(),
        Datatype::Opaque { .. } => "opaque bytes".to_owned(),
        Datatype::Compound { .. } => "compounds".to_owned(),
        Datatype::Reference { .. } => "references".to_owned(),
        Datatype::Enum { .. } => "enumerations".to_owned(),
        Datatype::Sequence { .. } => "sequences".to_owned(),
        Datatype::Array { base, .. } => format!("arrays of {}", name(base)),
        Datatype::Unsupported { class, .. } => class.clone(),
    }
}

/// The source dataset, of which `bytes` are read now; `None` where it is missing and the session fills in its place.
fn open(file: &File, part: &Part, bytes: usize) -> Result<Option<(File, ObjectId)>> {
    match file.source(&part.file, bytes).and_then(|other| other.find(&part.dataset)) {
        Ok(found) => Ok(Some((found.file, found.object))),
        Err(error) if is_missing(&error) && file.session().missing_sources() == MissingSources::Fill => Ok(None),
        Err(error) => Err(Error::new(
            error.kind(),
            format!("a source of this virtual dataset: {error} (missing_sources=\"fill\" shows the fill value instead)"),
        )),
    }
}

/// Fetches what the salted references in `bytes` point at, each from its own file.
pub(crate) fn resolve_heap(file: &File, datatype: &Datatype, bytes: &[u8], objects: &mut HeapObjects) -> Result<()> {
    let mut salted = Vec::new();
    let mut nested: Vec<(HeapReference, usize, Datatype)> = Vec::new();
    let mut value_bytes = 0u64;
    collect_heap_references(datatype, bytes, &mut |base, element, reference| {
        let (count, _) = HeapReference::parse(element)?;
        let bytes = u64::from(count).saturating_mul(base.map_or(1, Datatype::size));
        value_bytes = value_bytes.saturating_add(bytes);
        salted.push(reference);
        if let Some(base) = base.filter(|base| base.uses_heap()) {
            nested.push((reference, usize::try_from(bytes).unwrap_or(usize::MAX), base.clone()));
        }
        Ok(())
    })?;
    salted.sort_unstable();
    salted.dedup();
    for group in salted.chunk_by(|a, b| heap_origin::unsalted(*a).0 == heap_origin::unsalted(*b).0) {
        let Some((salt, _)) = group.first().map(|reference| heap_origin::unsalted(*reference)) else { continue };
        let other = file.linked_files().salted(salt)?;
        let own: Vec<_> = group.iter().map(|reference| heap_origin::unsalted(*reference).1).collect();
        let room = file.session().limits().heap_budget(other.array_file().storage().len());
        objects.allow(room);
        let mut found = HeapObjects::limited(room);
        other.array_file().heap_objects(&own, &mut found)?;
        for (salted, own) in group.iter().zip(&own) {
            objects.insert(*salted, found.object(*own)?.into());
        }
    }
    objects.charge(value_bytes)?;
    // Elements may share a value; it is marked once, as long as the longest of them has it.
    nested.sort_unstable_by_key(|(reference, length, _)| (*reference, std::cmp::Reverse(*length)));
    nested.dedup_by_key(|(reference, ..)| *reference);
    // What the values hold in turn is of the same files. Datatypes nest as deep as limits allow, and so does this.
    for (reference, length, base) in nested {
        let value = objects.object(reference)?;
        let mut value = value.get(..length).ok_or_else(|| Error::corrupt("a variable-length value is shorter than its length"))?.to_vec();
        heap_origin::salt(&base, &mut value, heap_origin::unsalted(reference).0)?;
        resolve_heap(file, &base, &value, objects)?;
        objects.insert(reference, value.into());
    }
    Ok(())
}
