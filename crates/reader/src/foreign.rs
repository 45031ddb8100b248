//! Foreign arrays: arrays held elsewhere (by a Python object or another kind of store), presented as a file.
//!
//! A block of such an array plays the role of a chunk: it is requested when a chunk would be decoded. All code that reads
//! files therefore reads these arrays without change.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyperslab_array::{Attribute, ChunkBuffer, ChunkGrid, Dataspace, Datatype, Elements, Error, HeapObjects, HeapReference, Result, Selection};
use hyperslab_formats::{
    ArrayFile, ChunkLocation, ChunkLocations, ChunkSource, Content, Dataset, DimensionScale, Format, Group, Link, LinkTarget, Node, ObjectId, Tree,
    TreeBuilder, TreeInMemory,
};
use hyperslab_storage::{Memory, Storage};

use crate::{File, Session};

/// An array of elements of fixed size.
pub trait ForeignArray: Send + Sync {
    /// Datatype of an element; must not use heaps.
    fn datatype(&self) -> &Datatype;
    /// Extent of each dimension.
    fn shape(&self) -> &[u64];
    /// Extent of the blocks that are read at once: as many dimensions as the shape, all positive.
    fn block_shape(&self) -> &[u64];
    /// The bytes of the element that stands for null, if there is one.
    fn null_value(&self) -> Option<&[u8]>;
    /// Distinguishes it from other arrays of the same file or folder.
    fn origin(&self) -> u32 {
        0
    }
    /// The elements of a box in row-major order: `count` elements from `start` on along each dimension. Called from any
    /// thread.
    ///
    /// # Errors
    /// The array's own; they name the file.
    fn read(&self, start: &[u64], count: &[u64]) -> Result<Vec<u8>>;
}

struct ForeignFile {
    tree: TreeInMemory,
    storage: Arc<dyn Storage>,
    /// By object ID; the root group has none.
    arrays: Vec<Option<Arc<dyn ForeignArray>>>,
}

/// A file whose root group has these arrays, by name.
///
/// If all arrays are in one file or folder, `name` is its path and `stamp` its [`path_stamp`] taken before anything was
/// read: such arrays may have an index.
///
/// # Errors
/// `InvalidInput` for a name that is empty, contains a slash or occurs twice; `Unsupported` for elements without a
/// fixed size; `Corrupt` for blocks that do not fit the shape.
pub fn file_of_arrays(session: &Session, name: &str, arrays: Vec<(String, Arc<dyn ForeignArray>)>, stamp: Option<(u64, u64)>) -> Result<File> {
    let mut group = Group::default();
    let mut objects = Vec::new();
    let mut kept: Vec<Option<Arc<dyn ForeignArray>>> = vec![None];
    for (name, array) in arrays {
        if name.is_empty() || name.contains('/') || group.links.iter().any(|link| link.name == name) {
            return Err(Error::invalid_input(format!("an array cannot be called {name:?}: a name has no slash, and is there once")));
        }
        let number = kept.len();
        group.links.push(Link::new(name.clone(), LinkTarget::Hard(ObjectId::of_index(number))));
        objects.push(object(&name, array.as_ref())?);
        kept.push(Some(array));
    }
    group.links.sort_by(|a, b| a.name.cmp(&b.name));
    objects.insert(0, Node::new("/", Content::Group(group)));
    let storage: Arc<dyn Storage> = match stamp {
        Some(stamp) => Arc::new(Origin { name: name.to_owned(), stamp }),
        None => Arc::new(Memory::new(name, Vec::new())),
    };
    let file = ForeignFile { tree: TreeBuilder { nodes: objects }.build(), storage, arrays: kept };
    Ok(File::new(session.clone(), PathBuf::from(name), Arc::new(file), 0))
}

fn object(name: &str, array: &dyn ForeignArray) -> Result<Node> {
    let (shape, datatype) = (array.shape().to_vec(), array.datatype().clone());
    if datatype.uses_heap() || datatype.size() == 0 {
        return Err(Error::unsupported(format!("{name}: elements without a fixed size")));
    }
    let attributes = array.null_value().map(|bytes| Attribute {
        name: "_FillValue".to_owned(),
        dataspace: Dataspace::Scalar,
        value: Ok(Elements { datatype: datatype.clone(), bytes: bytes.to_vec(), heap: HeapObjects::default() }),
    });
    let dataspace = match shape.as_slice() {
        [] => Dataspace::Scalar,
        _ => Dataspace::Simple { shape: shape.clone(), max_shape: shape.iter().map(|extent| Some(*extent)).collect() },
    };
    let dimensions = vec![DimensionScale::default(); shape.len()];
    let dataset = Dataset::new(datatype, dataspace, ChunkGrid::new(shape, array.block_shape().to_vec())?);
    let mut node = Node::new(format!("/{name}"), Content::Dataset(Box::new(dataset), dimensions));
    node.attributes.extend(attributes);
    Ok(node)
}

/// The file or folder that holds the arrays; this crate reads none of its bytes.
struct Origin {
    name: String,
    /// Bytes, and time of the last change.
    stamp: (u64, u64),
}

impl Storage for Origin {
    fn len(&self) -> u64 {
        self.stamp.0
    }
    fn read_exact_at(&self, _offset: u64, buffer: &mut [u8]) -> Result<()> {
        if buffer.is_empty() { Ok(()) } else { Err(Error::internal("a read from the storage of foreign arrays")) }
    }
    fn name(&self) -> &str {
        &self.name
    }
    fn modified_nanoseconds(&self) -> Option<u64> {
        Some(self.stamp.1)
    }
}

/// Length and time of the last change (nanoseconds since 1970) of a file, of everything in a folder, or of the catalog of a container;
/// `None` if they
/// cannot be determined.
pub fn path_stamp(path: &Path) -> Option<(u64, u64)> {
    // A container is what its catalog says: files of other states may lie in its folder.
    let catalog = hyperslab_container_format::catalog_of(path);
    let path = catalog.as_deref().unwrap_or(path);
    let metadata = std::fs::metadata(path).ok()?;
    let mut stamp = (metadata.len(), hyperslab_storage::modified(&metadata)?);
    if metadata.is_dir() {
        for entry in std::fs::read_dir(path).ok()? {
            let (bytes, modified) = path_stamp(&entry.ok()?.path())?;
            stamp = (stamp.0.wrapping_add(bytes), stamp.1.max(modified));
        }
    }
    Some(stamp)
}

impl ForeignFile {
    fn array(&self, dataset: ObjectId) -> Result<&Arc<dyn ForeignArray>> {
        self.arrays.get(dataset.index()).and_then(Option::as_ref).ok_or_else(|| Error::internal("no such array"))
    }
}

impl ArrayFile for ForeignFile {
    /// Conventions that attributes state apply as in HDF5.
    fn format(&self) -> Format {
        Format::Hdf5
    }
    fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }
    fn is_stored(&self) -> bool {
        false
    }
    fn tree(&self) -> &dyn Tree {
        &self.tree
    }
    fn locate(&self, dataset: ObjectId, selection: &Selection) -> Result<ChunkLocations> {
        let array = self.array(dataset)?;
        let grid = ChunkGrid::new(array.shape().to_vec(), array.block_shape().to_vec())?;
        let locate = |origin: Vec<u64>| {
            // The bytes are not in a storage: `decode` requests them from the array. The mask distinguishes arrays of one
            // file for an index of that file.
            let source = ChunkSource::Stored { offset: 0, length: 0, filter_mask: array.origin() };
            Ok(ChunkLocation { region: grid.clipped(origin)?, source })
        };
        Ok(ChunkLocations { chunks: grid.touched(selection)?.into_iter().map(locate).collect::<Result<_>>()? })
    }
    /// None: the values are not in a file.
    fn stored_bytes(&self, dataset: ObjectId) -> Result<u64> {
        self.array(dataset).map(|_| 0)
    }
    fn decode(&self, dataset: ObjectId, location: &ChunkLocation, _raw: &[u8], out: &mut ChunkBuffer) -> Result<()> {
        let array = self.array(dataset)?;
        out.bytes = array.read(&location.region.start, &location.region.count)?;
        let wanted = location.region.count.iter().try_fold(array.datatype().size(), |bytes, extent| bytes.checked_mul(*extent));
        if wanted != Some(out.bytes.len() as u64) {
            return Err(Error::invalid_input(format!("an array gave {} bytes for a block of shape {:?}", out.bytes.len(), location.region.count)));
        }
        Ok(())
    }
    fn heap_objects(&self, _references: &[HeapReference], _objects: &mut HeapObjects) -> Result<()> {
        Err(Error::internal("an array without a heap"))
    }
}
