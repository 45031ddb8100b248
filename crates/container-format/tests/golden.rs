//! Containers that earlier versions of the connector wrote, a folder and one file, as arrays.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyperslab_array::{Dataspace, Datatype, Error, HeapObjects, Result, Selection};
use hyperslab_container_format::{ContainerFile, is_folder, is_one_file};
use hyperslab_formats::{ArrayFile, ChunkSource, Dataset, Object, ObjectId, OpenOptions};
use hyperslab_storage::{LocalFile, Storage};

fn golden(name: &str) -> PathBuf {
    Path::new("../arrow-container/tests/golden").join(name)
}

fn both() -> Result<[ContainerFile; 2]> {
    let folder = golden("version-1-folder.h5");
    assert!(is_folder(&folder));
    let file: Arc<dyn Storage> = Arc::new(LocalFile::open(golden("version-1-file.h5"))?);
    assert!(is_one_file(file.as_ref())?);
    let options = OpenOptions::default();
    Ok([ContainerFile::open_folder(&folder, None, &options)?, ContainerFile::open_one_file(file, &options)?])
}

fn find(file: &ContainerFile, path: &str) -> Result<(ObjectId, Arc<Dataset>)> {
    let mut at = file.tree().root();
    for name in path.split('/') {
        let link = file.tree().link(at, name)?.ok_or_else(|| Error::not_found(name))?;
        at = link.object().ok_or_else(|| Error::not_found(name))?;
    }
    match file.tree().object(at)? {
        Object::Dataset(dataset) => Ok((at, dataset)),
        other => Err(Error::not_found(other.kind())),
    }
}

fn values(file: &ContainerFile, id: ObjectId, dataset: &Dataset) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    for chunk in file.locate(id, &Selection::all(dataset.dataspace.shape()))?.chunks {
        let ChunkSource::Stored { offset, length, .. } = chunk.source else { return Err(Error::internal("values that were not written")) };
        let mut bytes = vec![0; usize::try_from(length).map_err(|_| Error::internal("too long"))?];
        file.storage().read_exact_at(offset, &mut bytes)?;
        all.extend(bytes);
    }
    Ok(all)
}

#[test]
fn numbers_are_read_in_their_own_byte_order() -> Result<()> {
    for file in both()? {
        let (id, dataset) = find(&file, "a/b/x")?;
        assert_eq!(dataset.dataspace, Dataspace::fixed(vec![2, 3, 4]));
        let expected: Vec<u8> = (0..24u8).flat_map(|i| f64::from(i).to_le_bytes()).collect();
        assert_eq!(values(&file, id, &dataset)?, expected);
        let (id, dataset) = find(&file, "big_endian")?;
        let expected: Vec<u8> = (0..12u32).flat_map(u32::to_be_bytes).collect();
        assert_eq!(values(&file, id, &dataset)?, expected);
        // Some bytes, which need not be whole elements.
        let start = match &file.locate(id, &Selection::all(&[3, 4]))?.chunks[..] {
            [chunk] => match chunk.source {
                ChunkSource::Stored { offset, .. } => offset,
                _ => return Err(Error::internal("values that were not written")),
            },
            _ => return Err(Error::internal("more than one block")),
        };
        for from in 0..20usize {
            for to in from..24 {
                let mut part = vec![0; to - from];
                if to > from {
                    file.storage().read_exact_at(start + from as u64, &mut part)?;
                }
                assert_eq!(part, expected[from..to]);
            }
        }
    }
    Ok(())
}

#[test]
fn text_is_found_in_its_heap() -> Result<()> {
    for file in both()? {
        let (id, dataset) = find(&file, "text")?;
        let bytes = values(&file, id, &dataset)?;
        assert!(matches!(dataset.datatype, Datatype::VariableString { size: 16, .. }));
        let mut heap = HeapObjects::limited(1 << 20);
        file.resolve_heap(&dataset.datatype, &bytes, &mut heap)?;
        let found = bytes.chunks_exact(16).map(|element| heap.value(element, 1).map(<[u8]>::to_vec)).collect::<Result<Vec<_>>>()?;
        assert_eq!(found, ["hello".as_bytes(), b"", "wörld".as_bytes()]);
    }
    Ok(())
}
