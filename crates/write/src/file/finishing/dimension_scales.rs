//! The attributes that link datasets and their dimension scales (HDF5 Dimension Scales specification 1.4).

use std::collections::BTreeMap;
use std::sync::Arc;

use hyperslab_array::{ByteOrder, Dataspace, Datatype, Elements, Error, HeapObjects, HeapReference, Member, ReferenceKind, Result};
use hyperslab_formats::hdf5::writer::NewAttribute;

use crate::file::object::ObjectEntry;
use crate::file::references::object_references::{REFERENCE_BYTES, reference};

/// Bytes of an element of a `REFERENCE_LIST`, and where it has the dimension.
const ELEMENT_BYTES: usize = 16;
const DIMENSION_OFFSET: usize = 8;
/// Bytes of an element without room after the dimension, as early programs wrote it.
const PACKED_BYTES: usize = DIMENSION_OFFSET + 4;
/// Bytes of a variable-length element.
const SEQUENCE_BYTES: u64 = 16;

/// The `DIMENSION_LIST` of each dataset with scales and the `REFERENCE_LIST` of each scale, by path. `object_indexes` are the
/// indexes of the objects in the file.
pub(crate) fn dimension_scales<'a>(
    objects: &BTreeMap<&'a String, &'a ObjectEntry>,
    object_indexes: &BTreeMap<&'a str, usize>,
) -> Result<BTreeMap<&'a str, Vec<NewAttribute>>> {
    let object_index = |path: &str| object_indexes.get_key_value(path).ok_or_else(|| Error::internal(format!("no index for {path}")));
    let mut found: BTreeMap<&str, Vec<NewAttribute>> = BTreeMap::new();
    let mut users: BTreeMap<&str, Vec<(u64, usize, u32)>> = BTreeMap::new();
    for (path, object) in objects.iter().filter(|(_, object)| !object.scales.is_empty()) {
        let Some(dataset) = &object.dataset else { continue };
        let (&path, &own) = object_index(path)?;
        let ndim = dataset.definition().dataspace.ndim();
        let (mut bytes, mut heap) = (Vec::new(), HeapObjects::default());
        for dimension in 0..u32::try_from(ndim).map_err(|_| Error::internal("more than 2³² dimensions"))? {
            let mut element = [0u8; 16];
            if let Some(scales) = object.scales.get(&dimension) {
                let mut references = Vec::new();
                for scale in scales {
                    let (&place, &scale_index) = object_index(&scale.path)?;
                    users.entry(place).or_default().push((scale.order, own, dimension));
                    references.extend_from_slice(&reference(scale_index));
                }
                // The heap index of the references is the dimension plus 1.
                let (count, place) = element.split_at_mut(4);
                let (address, index) = place.split_at_mut(8);
                count.copy_from_slice(&u32::try_from(scales.len()).map_err(|_| Error::unsupported("2³² scales of a dimension"))?.to_le_bytes());
                address.copy_from_slice(&1u64.to_le_bytes());
                index.copy_from_slice(&(dimension + 1).to_le_bytes());
                heap.insert(HeapReference { address: 1, index: dimension + 1 }, Arc::from(references));
            }
            bytes.extend_from_slice(&element);
        }
        let base = Box::new(Datatype::Reference { size: REFERENCE_BYTES, kind: ReferenceKind::Object });
        let datatype = Datatype::Sequence { size: SEQUENCE_BYTES, base };
        let dataspace = Dataspace::fixed(vec![ndim as u64]);
        found.entry(path).or_default().push(NewAttribute {
            name: "DIMENSION_LIST".to_owned(),
            committed: None,
            dataspace,
            value: Elements { datatype, bytes, heap },
        });
    }
    for (path, mut users) in users {
        users.sort_unstable();
        let datatype = Datatype::Compound {
            size: 16,
            members: [
                Member { name: "dataset".to_owned(), offset: 0, datatype: Datatype::Reference { size: REFERENCE_BYTES, kind: ReferenceKind::Object } },
                Member { name: "dimension".to_owned(), offset: 8, datatype: Datatype::integer(4, false, ByteOrder::Little) },
            ]
            .into(),
        };
        let mut bytes = Vec::with_capacity(16 * users.len());
        for (_, index, dimension) in &users {
            bytes.extend_from_slice(&reference(*index));
            bytes.extend_from_slice(&dimension.to_le_bytes());
            bytes.extend_from_slice(&[0; 4]);
        }
        let dataspace = Dataspace::fixed(vec![users.len() as u64]);
        let value = Elements { datatype, bytes, heap: HeapObjects::default() };
        found.entry(path).or_default().push(NewAttribute { name: "REFERENCE_LIST".to_owned(), committed: None, dataspace, value });
    }
    Ok(found)
}

/// A `REFERENCE_LIST` as it was in the file that it was copied from, where the number of the dimension may be a signed or big-endian integer, and
/// the last bytes of the element. Any other attribute stays as it is.
pub(crate) fn of_type(mut attribute: NewAttribute, wanted: &Datatype) -> NewAttribute {
    let (Datatype::Compound { size: wanted_size, members }, Datatype::Compound { size, members: own }) = (wanted, &attribute.value.datatype) else {
        return attribute;
    };
    let ([dataset, dimension], [own_dataset, own_dimension]) = (&**members, &**own) else { return attribute };
    let Datatype::Integer { size: 4, order, .. } = dimension.datatype else { return attribute };
    let changed = [
        Member { name: dataset.name.clone(), ..own_dataset.clone() },
        Member { name: dimension.name.clone(), datatype: dimension.datatype.clone(), ..own_dimension.clone() },
    ];
    if order == ByteOrder::Big {
        for element in attribute.value.bytes.chunks_exact_mut(ELEMENT_BYTES) {
            if let Some(number) = element.get_mut(DIMENSION_OFFSET..DIMENSION_OFFSET + 4) {
                number.reverse();
            }
        }
    }
    let is_packed = *wanted_size == PACKED_BYTES as u64 && dimension.offset == DIMENSION_OFFSET as u64;
    attribute.value.datatype = Datatype::Compound { size: if is_packed { *wanted_size } else { *size }, members: changed.into() };
    if is_packed {
        attribute.value.bytes = attribute.value.bytes.chunks_exact(ELEMENT_BYTES).flat_map(|element| element.iter().take(PACKED_BYTES)).copied().collect();
    }
    attribute
}
