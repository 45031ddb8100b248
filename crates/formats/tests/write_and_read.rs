//! What the encoders say, the parsers understand: datatypes, dataspaces, and whole files of metadata.
#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, which is right")]

use std::sync::Arc;

use hyperslab_array::{
    ByteOrder, CharacterSet, Dataspace, Datatype, Elements, EnumMember, Error, HeapObjects, Member, ReferenceKind, Selection, StringPadding, TimeEncoding,
};
use hyperslab_formats::filter::Pipeline;
use hyperslab_formats::hdf5::writer::{
    NewAttribute, NewContent, NewDataset, NewFile, NewLink, NewObject, NewProperties, NewStorage, SUPERBLOCK_BYTES, StoredChunk, encode_dataspace,
    encode_datatype, encode_metadata, encode_superblock, parse_dataspace, parse_datatype,
};
use hyperslab_formats::{ChunkSource, FillTime, ObjectId, OpenOptions, Tree, open};
use hyperslab_storage::Memory;
use proptest::prelude::*;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn order() -> impl Strategy<Value = ByteOrder> {
    prop_oneof![Just(ByteOrder::Little), Just(ByteOrder::Big)]
}

fn datatype() -> impl Strategy<Value = Datatype> {
    let padding = prop_oneof![Just(StringPadding::NullTerminated), Just(StringPadding::NullPadded), Just(StringPadding::SpacePadded)];
    let set = prop_oneof![Just(CharacterSet::Ascii), Just(CharacterSet::Utf8)];
    let leaf = prop_oneof![
        (1u64..9, any::<bool>(), order()).prop_map(|(size, signed, order)| Datatype::integer(size, signed, order)),
        (prop_oneof![Just(2u64), Just(4), Just(8)], order()).prop_map(|(size, order)| Datatype::float(size, order)),
        (1u64..300, padding.clone(), set.clone()).prop_map(|(size, padding, character_set)| Datatype::FixedString { size, padding, character_set }),
        (padding, set).prop_map(|(padding, character_set)| Datatype::VariableString { size: 16, padding, character_set }),
        (1u64..9, order()).prop_map(|(size, order)| Datatype::Bitfield { size, order }),
        (prop_oneof![Just(4u64), Just(8)], order()).prop_map(|(size, order)| Datatype::Time { size, order, encoding: TimeEncoding::Stored }),
        (1u64..99, "[a-z]{0,20}").prop_map(|(size, tag)| Datatype::Opaque { size, tag }),
        Just(Datatype::Reference { size: 8, kind: ReferenceKind::Object }),
        (proptest::collection::vec(-128i128..128, 0..5), order()).prop_map(|(values, order)| Datatype::Enum {
            base: Box::new(Datatype::integer(2, true, order)),
            members: values.into_iter().enumerate().map(|(n, value)| EnumMember { name: format!("name {n}"), value }).collect(),
        }),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            (inner.clone(), proptest::collection::vec(1u64..5, 1..4)).prop_map(|(base, shape)| Datatype::Array { base: Box::new(base), shape }),
            inner.clone().prop_map(|base| Datatype::Sequence { size: 16, base: Box::new(base) }),
            proptest::collection::vec((inner, 0u64..5), 1..4).prop_map(|parts| {
                let (mut size, mut members) = (0, Vec::new());
                for (number, (datatype, gap)) in parts.into_iter().enumerate() {
                    let offset = size + gap;
                    size = offset + datatype.size();
                    members.push(Member { name: format!("m{number}"), offset, datatype });
                }
                Datatype::Compound { size, members: members.into() }
            }),
        ]
    })
}

proptest! {
    #[test]
    fn a_datatype_comes_back(datatype in datatype()) {
        let bytes = encode_datatype(&datatype).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(parse_datatype(&bytes).map_err(|e| TestCaseError::fail(e.to_string()))?, datatype);
    }

    #[test]
    fn a_dataspace_comes_back(axes in proptest::collection::vec((0u64..9, proptest::option::of(0u64..9)), 0..5)) {
        let shape: Vec<u64> = axes.iter().map(|(extent, _)| *extent).collect();
        let max_shape = axes.iter().map(|(extent, more)| more.map(|more| extent + more)).collect();
        let spaces = if shape.is_empty() { vec![Dataspace::Null, Dataspace::Scalar] } else { vec![Dataspace::Simple { shape, max_shape }] };
        for space in spaces {
            let bytes = encode_dataspace(&space).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(parse_dataspace(&bytes).map_err(|e| TestCaseError::fail(e.to_string()))?, space);
        }
    }

    /// Whatever locator the chunks get, the reader finds each where it is, and no other.
    #[test]
    fn every_chunk_is_found(
        counts in (1u64..40, 1u64..12),
        unlimited in (any::<bool>(), any::<bool>()),
        room in 0u64..30,
        filtered in any::<bool>(),
        kept in proptest::collection::vec(any::<bool>(), 1..50),
    ) {
        let shape = vec![counts.0 * 3 - 1, counts.1 * 2];
        let most = |extent: u64, unlimited: bool| (!unlimited).then_some(extent + room);
        let max_shape = vec![most(shape[0], unlimited.0), most(shape[1], unlimited.1)];
        let mut chunks = Vec::new();
        for row in 0..counts.0 {
            for column in 0..counts.1 {
                let number = row * counts.1 + column;
                if kept[usize::try_from(number).unwrap_or(0) % kept.len()] {
                    let length = if filtered { 1 + number % 24 } else { 24 };
                    chunks.push(StoredChunk { position: vec![row, column], address: SUPERBLOCK_BYTES + 24 * number, length, filter_mask: 0 });
                }
            }
        }
        let shuffle = hyperslab_formats::filter::Filter { id: 2, name: None, optional: true, parameters: vec![4] };
        let filters = Pipeline { filters: if filtered { vec![shuffle] } else { Vec::new() } };
        let dataset = NewDataset {
            committed: None,
            datatype: Datatype::integer(4, true, ByteOrder::Little),
            dataspace: Dataspace::Simple { shape: shape.clone(), max_shape },
            fill_value: None,
            is_fill_undefined: false,
            allocation: None,
            fill_time: FillTime::default(),
            filters,
            storage: NewStorage::Chunked { chunk_shape: vec![3, 2], chunks: chunks.clone() },
        };
        let objects = vec![
            NewObject { attributes: Vec::new(), properties: NewProperties::default(), content: NewContent::Group(vec![("x".to_owned(), NewLink::Hard(1))]) },
            NewObject { attributes: Vec::new(), properties: NewProperties::default(), content: NewContent::Dataset(Box::new(dataset)) },
        ];
        let opened = file(&NewFile { objects, ..NewFile::default() }, SUPERBLOCK_BYTES + 24 * counts.0 * counts.1).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let id = member(opened.tree(), "x").map_err(|e| TestCaseError::fail(e.to_string()))?;
        let located = opened.locate(id, &Selection::all(&shape)).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let mut found: Vec<(Vec<u64>, u64, u64)> = located.chunks.iter().filter_map(|chunk| match chunk.source {
            ChunkSource::Stored { offset, length, .. } => Some((vec![chunk.region.start[0] / 3, chunk.region.start[1] / 2], offset, length)),
            _ => None,
        }).collect();
        found.sort();
        let expected: Vec<(Vec<u64>, u64, u64)> = chunks.into_iter().map(|chunk| (chunk.position, chunk.address, chunk.length)).collect();
        prop_assert_eq!(found, expected);
    }
}

/// A member of the root group.
fn member(tree: &dyn Tree, name: &str) -> hyperslab_array::Result<ObjectId> {
    let link = tree.link(tree.root(), name)?;
    link.and_then(|link| link.object()).ok_or_else(|| Error::internal("no such member"))
}

fn file(new: &NewFile, at: u64) -> hyperslab_array::Result<Arc<dyn hyperslab_formats::ArrayFile>> {
    let metadata = encode_metadata(new, at, None)?;
    let mut bytes = vec![0; usize::try_from(at).unwrap_or(0)];
    bytes.extend(&metadata.bytes);
    let superblock = encode_superblock(&metadata, bytes.len() as u64, 0);
    bytes[..superblock.len()].copy_from_slice(&superblock);
    open(Arc::new(Memory::new("m", bytes)), &OpenOptions::default())
}

#[test]
fn a_reference_in_an_attribute_points_at_its_object() -> Outcome {
    let datatype = Datatype::Reference { size: 8, kind: ReferenceKind::Object };
    let bytes = [2u64.to_le_bytes(), 0u64.to_le_bytes()].concat();
    let attribute = NewAttribute {
        name: "r".to_owned(),
        committed: None,
        dataspace: Dataspace::fixed(vec![2]),
        value: Elements { datatype, bytes, heap: HeapObjects::default() },
    };
    let group = |links, attributes| NewObject { attributes, properties: NewProperties::default(), content: NewContent::Group(links) };
    let objects = vec![group(vec![("a".to_owned(), NewLink::Hard(1))], Vec::new()), group(Vec::new(), vec![attribute])];
    let opened = file(&NewFile { objects, ..NewFile::default() }, SUPERBLOCK_BYTES)?;
    let id = member(opened.tree(), "a")?;
    let value = opened.tree().attributes(id)?.list[0].value.clone()?;
    assert_eq!(value.bytes, [opened.tree().address(id).unwrap_or(0).to_le_bytes(), [0; 8]].concat());
    Ok(())
}

#[test]
fn names_and_sizes_that_hdf5_cannot_say_are_refused() {
    let group = |name: &str| NewFile {
        objects: vec![
            NewObject { attributes: Vec::new(), properties: NewProperties::default(), content: NewContent::Group(vec![(name.to_owned(), NewLink::Hard(1))]) },
            NewObject { attributes: Vec::new(), properties: NewProperties::default(), content: NewContent::Group(Vec::new()) },
        ],
        ..NewFile::default()
    };
    for name in ["", ".", "a/b", "a\0b"] {
        assert!(encode_metadata(&group(name), SUPERBLOCK_BYTES, None).is_err(), "{name:?}");
    }
    assert!(encode_metadata(&group("a"), SUPERBLOCK_BYTES, None).is_ok());
    assert!(encode_datatype(&Datatype::Compound { size: 4, members: [].into() }).is_err());
    assert!(encode_dataspace(&Dataspace::fixed(vec![1; 33])).is_err());
    let outside = EnumMember { name: "A".to_owned(), value: 300 };
    assert!(encode_datatype(&Datatype::Enum { base: Box::new(Datatype::integer(1, false, ByteOrder::Little)), members: [outside].into() }).is_err());
}
