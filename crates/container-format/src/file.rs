//! A container as an [`ArrayFile`].

use std::path::Path;
use std::sync::Arc;

use hyperslab_array::{
    Arrangement, ChunkBuffer, Error, ErrorKind, HeapObjects, HeapReference, ReferenceKind, ReferenceTarget, ReferencedPart, Result, Selection, StoredReference,
};
use hyperslab_formats::netcdf4::{Netcdf4Tree, is_netcdf4};
use hyperslab_formats::{
    ArrayFile, ChunkLocation, ChunkLocations, ChunkSource, Dataset, Format, Interpretation, Object, ObjectId, OpenOptions, Tree, hdf5, reference_target,
};
use hyperslab_storage::Storage;

use crate::attribute::HEAP;
use crate::column::HEAP_BITS;
use crate::joined::parts_of;
use crate::place::Place;
use crate::storage::ContainerStorage;
use crate::tree::ContainerTree;

/// How often a catalog is loaded if other programs replace it meanwhile.
const MAX_TRIES: u32 = 10;
/// Flag of a reference: the object is in another file.
const IS_EXTERNAL: u8 = 1;

/// An open container.
pub struct ContainerFile {
    tree: Arc<ContainerTree>,
    /// The tree as the netCDF-4 conventions show it, of a container that follows them.
    interpreted: Option<Netcdf4Tree>,
    elements: Arc<ContainerStorage>,
    /// The same.
    storage: Arc<dyn Storage>,
    limits: hyperslab_formats::Limits,
}

impl ContainerFile {
    /// Opens the container that is the folder `path`, as it was last published. If it must lie `beneath` a folder, no symbolic link
    /// leads out of that.
    ///
    /// # Errors
    /// `NotFound`, `Corrupt`, `Unsupported`, `LimitExceeded` or `Io` if it cannot be opened; `Conflict` if it is rewritten all the time.
    pub fn open_folder(path: &Path, beneath: Option<&Path>, options: &OpenOptions) -> Result<Self> {
        let name = path.display().to_string();
        let mut tries = 0;
        loop {
            tries += 1;
            match Place::folder(path, beneath).and_then(|place| Self::open(place, options)) {
                Err(error) if error.kind() == ErrorKind::Conflict && tries < MAX_TRIES => {}
                outcome => return outcome.map_err(|error| error.in_file(name)),
            }
        }
    }

    /// Opens a container that is one file.
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported`, `LimitExceeded` or `Io` if it cannot be opened.
    pub fn open_one_file(storage: Arc<dyn Storage>, options: &OpenOptions) -> Result<Self> {
        let name = storage.name().to_owned();
        let place = Place::one_file(storage, options.limits.metadata_block_bytes);
        place.and_then(|place| Self::open(place, options)).map_err(|error| error.in_file(name))
    }

    fn open(mut place: Place, options: &OpenOptions) -> Result<Self> {
        let (tree, layout, generation) = ContainerTree::load(&mut place, &options.limits)?;
        let tree = Arc::new(tree);
        let elements = Arc::new(ContainerStorage::new(place, layout, generation, options.limits.metadata_block_bytes));
        let interprets = match options.interpretation {
            Interpretation::Hdf5 => false,
            Interpretation::Netcdf4 => true,
            _ => is_netcdf4(tree.as_ref())?,
        };
        let interpreted = interprets.then(|| Netcdf4Tree::new(tree.clone()));
        Ok(Self { tree, interpreted, storage: elements.clone(), elements, limits: options.limits.clone() })
    }

    fn dataset(&self, id: ObjectId) -> Result<Arc<Dataset>> {
        let dataset = match self.tree().object(id)? {
            Object::Dataset(dataset) => dataset,
            other => return Err(Error::internal(format!("a dataset is expected, this is {}", other.kind()))),
        };
        match &dataset.refusal {
            Some(refusal) => Err(refusal.clone()),
            None => Ok(dataset),
        }
    }

    fn standard_references(&self, bytes: &[u8], size: usize) -> Result<Vec<Option<StoredReference>>> {
        let mut objects = HeapObjects::limited(self.limits.heap_budget(self.storage.len()));
        let place = |element: &[u8]| HeapReference::parse_place(element.get(6..).unwrap_or_default());
        let mut places = Vec::new();
        for element in bytes.chunks_exact(size) {
            if is_in_heap(element)? {
                places.extend(place(element)?);
            }
        }
        places.sort_unstable();
        places.dedup();
        self.heap_objects(&places, &mut objects)?;
        let reference = |element: &[u8]| -> Result<Option<StoredReference>> {
            let Some(target) = reference_target(ReferenceKind::Standard, element)? else { return Ok(None) };
            let is_external = element.get(1).is_some_and(|flags| flags & IS_EXTERNAL != 0);
            if !is_in_heap(element)? {
                return hdf5::parse_typed_reference(element.get(2..).unwrap_or_default(), target, is_external).map(Some);
            }
            let Some(place) = place(element)? else { return Err(Error::corrupt("a reference whose place is undefined")) };
            hdf5::parse_typed_reference(objects.object(place)?, target, is_external).map(Some)
        };
        bytes.chunks_exact(size).map(reference).collect()
    }
}

/// Whether the part of a reference of HDF5 1.12 after its type and flags is a heap object.
fn is_in_heap(element: &[u8]) -> Result<bool> {
    let target = reference_target(ReferenceKind::Standard, element)?;
    let is_external = element.get(1).is_some_and(|flags| flags & IS_EXTERNAL != 0);
    Ok(target.is_some_and(|target| target != ReferenceTarget::Object || is_external))
}

impl ArrayFile for ContainerFile {
    fn format(&self) -> Format {
        if self.interpreted.is_some() { Format::NetcdfContainer } else { Format::Container }
    }
    fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }
    fn tree(&self) -> &dyn Tree {
        match &self.interpreted {
            Some(tree) => tree,
            None => self.tree.as_ref(),
        }
    }

    fn locate(&self, id: ObjectId, selection: &Selection) -> Result<ChunkLocations> {
        let dataset = self.dataset(id)?;
        if selection.is_empty() || dataset.dataspace.element_count()? == 0 {
            return Ok(ChunkLocations::default());
        }
        let start = match self.tree.values(id)? {
            Some((number, start)) => {
                // The file has as many values as the dataset says, so that no more blocks are listed than it has bytes.
                self.elements.values(number)?;
                Some(start)
            }
            None => {
                self.limits.check_read_chunks(dataset.chunk_grid.max_touched(selection), 0)?;
                None
            }
        };
        let (shape, size) = (dataset.dataspace.shape(), dataset.datatype.size());
        let block = |origin| {
            let region = dataset.chunk_grid.clipped(origin)?;
            let first = region.start.iter().zip(shape).fold(0, |number, (&index, &extent)| number * extent + index);
            let source = match start {
                Some(start) => ChunkSource::Stored { offset: start + first * size, length: region.count.iter().product::<u64>() * size, filter_mask: 0 },
                None => ChunkSource::Fill,
            };
            Ok(ChunkLocation { region, source })
        };
        let chunks = dataset.chunk_grid.touched(selection)?.into_iter().map(block).collect::<Result<_>>()?;
        Ok(ChunkLocations { chunks })
    }

    fn stored_bytes(&self, id: ObjectId) -> Result<u64> {
        self.dataset(id)?.stored_bytes.ok_or_else(|| Error::internal("a dataset whose stored bytes are not known"))
    }

    fn decode(&self, _: ObjectId, location: &ChunkLocation, raw: &[u8], out: &mut ChunkBuffer) -> Result<()> {
        match location.source {
            ChunkSource::Stored { length, .. } if length == raw.len() as u64 => {
                out.arrangement = Arrangement::Elements;
                out.bytes.clear();
                out.bytes.extend_from_slice(raw);
                Ok(())
            }
            _ => Err(Error::internal("these are not the bytes of the block")),
        }
    }

    fn references(&self, kind: ReferenceKind, size: usize, bytes: &[u8]) -> Result<Vec<Option<StoredReference>>> {
        if size == 0 || !bytes.len().is_multiple_of(size) {
            return Err(Error::corrupt(format!("{} bytes of references of {size} bytes", bytes.len())));
        }
        let object = |element: &[u8]| element.first_chunk().map(|address| u64::from_le_bytes(*address)).filter(|address| *address != 0);
        match kind {
            ReferenceKind::Standard => self.standard_references(bytes, size),
            ReferenceKind::Object => Ok(bytes
                .chunks_exact(size)
                .map(|element| object(element).map(|address| StoredReference { file: None, address, part: ReferencedPart::Object }))
                .collect()),
            ReferenceKind::Region => {
                let region = |element: &[u8]| -> Result<Option<StoredReference>> {
                    let Some(address) = object(element) else { return Ok(None) };
                    let number =
                        element.get(8..12).and_then(|number| number.first_chunk()).ok_or_else(|| Error::corrupt("a region reference that ends too early"))?;
                    let part = ReferencedPart::Region(self.tree.region(u32::from_le_bytes(*number))?);
                    Ok(Some(StoredReference { file: None, address, part }))
                };
                bytes.chunks_exact(size).map(region).collect()
            }
        }
    }

    fn heap_objects(&self, references: &[HeapReference], objects: &mut HeapObjects) -> Result<()> {
        let mut wanted: Vec<HeapReference> = references.iter().filter(|reference| !objects.contains(**reference)).copied().collect();
        wanted.sort_unstable();
        wanted.dedup();
        for same in wanted.chunk_by(|one, other| one.address == other.address) {
            let Some(HeapReference { address, .. }) = same.first().copied() else { continue };
            if address == HEAP {
                for reference in same {
                    objects.insert(*reference, self.tree.heap.get(reference.index)?);
                }
                continue;
            }
            self.objects_of(address, same, objects)?;
        }
        Ok(())
    }
}

impl ContainerFile {
    /// Reads the objects of one column, each run of neighbors at once.
    fn objects_of(&self, address: u64, wanted: &[HeapReference], objects: &mut HeapObjects) -> Result<()> {
        let no_heap = || Error::corrupt("a value of variable length of a dataset that does not exist").at_offset(address);
        let mut runs = Vec::new();
        for run in wanted.chunk_by(|one, other| one.index.checked_add(1) == Some(other.index)) {
            let Some(first) = run.first() else { continue };
            let (number, element) = parts_of(*first);
            let dataset = (number >> HEAP_BITS).checked_sub(1).and_then(|dataset| usize::try_from(dataset).ok()).ok_or_else(no_heap)?;
            let (bytes, ends) = self.elements.values(dataset)?.objects(number, element, run.len() as u64)?;
            runs.push((run, bytes, ends));
        }
        let mut all: Vec<(u32, &[u8])> = Vec::with_capacity(wanted.len());
        for (run, bytes, ends) in &runs {
            let mut start = 0;
            for (reference, end) in run.iter().zip(ends) {
                all.push((reference.index, bytes.get(start..*end).ok_or_else(no_heap)?));
                start = *end;
            }
        }
        objects.insert_collection(address, all);
        Ok(())
    }
}
