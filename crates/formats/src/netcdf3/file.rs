//! An open netCDF classic file as an [`ArrayFile`].

use std::sync::Arc;

use hyperslab_array::{Arrangement, ChunkBuffer, ChunkGrid, Dataspace, Error, HeapObjects, HeapReference, MAX_NDIM, Result, Selection};
use hyperslab_storage::Storage;

use super::header::{self, Header, Variable};
use crate::object::block_shape;
use crate::tree::dataset as dataset_of;
use crate::tree_in_memory::{Content, Group, Node, TreeBuilder, TreeInMemory};
use crate::{
    ArrayFile, ChunkLocation, ChunkLocations, ChunkSource, Dataset, Dimension, DimensionScale, FillTime, Format, Limits, Link, LinkTarget, ObjectId,
    StorageLayout, Tree,
};

/// Bytes that a block of a variable aims for.
const BLOCK_BYTES: u64 = 1 << 20;
/// From this number of blocks on, the end of a selection is looked for before its blocks are listed.
const MANY_BLOCKS: u64 = 1 << 12;

/// An open netCDF classic file.
pub struct Netcdf3File {
    storage: Arc<dyn Storage>,
    tree: TreeInMemory,
    locations: Vec<VariableLocation>,
}

/// Where a variable's bytes are.
#[derive(Clone, Copy)]
struct VariableLocation {
    begin: u64,
    /// Bytes from one record to the next, for variables over the record dimension.
    record_stride: Option<u64>,
}

impl Netcdf3File {
    /// Parses the header.
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported`, `LimitExceeded` or `Io` if the header cannot be parsed.
    pub fn open(storage: Arc<dyn Storage>, limits: &Limits) -> Result<Self> {
        let header = header::parse(storage.as_ref(), limits)?;
        let record_bytes = record_bytes(&header)?;
        let records = match header.records {
            Some(records) => records,
            None => streamed_records(&header, record_bytes, storage.len()),
        };
        let Header { dimensions, attributes, variables, .. } = header;
        let extents: Vec<u64> = dimensions.iter().map(|d| if d.extent == 0 { records } else { d.extent }).collect();
        let mut objects = vec![Node { path: "/".to_owned(), attributes, attributes_tracked: true, content: Content::Group(Group::default()) }];
        let mut links = Vec::new();
        let mut locations = vec![VariableLocation { begin: 0, record_stride: None }];
        let scales = coordinates(&dimensions, &variables);
        for mut variable in variables {
            let own_attributes = std::mem::take(&mut variable.attributes);
            let id = ObjectId::of_index(objects.len());
            links.push(Link::new(variable.name.clone(), LinkTarget::Hard(id)));
            let record = is_record(&variable, &dimensions);
            locations.push(VariableLocation { begin: variable.begin, record_stride: record.then_some(record_bytes) });
            let shape: Vec<u64> = variable.dimensions.iter().filter_map(|n| extents.get(*n)).copied().collect();
            let names = variable
                .dimensions
                .iter()
                .map(|index| DimensionScale { name: dimensions.get(*index).map(|d| d.name.clone()), scale: scales.get(*index).copied().flatten() });
            let dimensions = names.collect();
            let dataset = dataset(&variable, shape, record.then_some(record_bytes))?;
            objects.push(Node {
                path: format!("/{}", variable.name),
                attributes: own_attributes,
                attributes_tracked: true,
                content: Content::Dataset(Box::new(dataset), dimensions),
            });
        }
        let dimensions = dimensions.into_iter().zip(extents).map(|(d, extent)| Dimension { name: d.name, extent, unlimited: d.extent == 0 }).collect();
        if let Some(root) = objects.first_mut() {
            root.content = Content::Group(Group { links, links_tracked: true, dimensions });
        }
        Ok(Self { storage, tree: TreeBuilder { nodes: objects }.build(), locations })
    }
}

/// For each dimension, the first variable with its name that has it alone.
fn coordinates(dimensions: &[header::HeaderDimension], variables: &[Variable]) -> Vec<Option<ObjectId>> {
    let mut scales = vec![None; dimensions.len()];
    for (number, variable) in variables.iter().enumerate() {
        if let [index] = variable.dimensions.as_slice()
            && dimensions.get(*index).is_some_and(|dimension| dimension.name == variable.name)
            && let Some(scale) = scales.get_mut(*index)
        {
            scale.get_or_insert(ObjectId::of_index(number + 1));
        }
    }
    scales
}

pub(super) fn is_record(variable: &Variable, dimensions: &[header::HeaderDimension]) -> bool {
    variable.dimensions.first().and_then(|n| dimensions.get(*n)).is_some_and(|d| d.extent == 0)
}

/// Bytes of one record of a variable (or of all of it), without padding.
pub(super) fn plain_bytes(variable: &Variable, header: &Header) -> Result<u64> {
    let extents = variable.dimensions.iter().filter_map(|n| header.dimensions.get(*n)).map(|d| d.extent);
    extents
        .filter(|extent| *extent != 0)
        .try_fold(variable.datatype.size(), u64::checked_mul)
        .ok_or_else(|| Error::corrupt(format!("variable {} exceeds 64 bits", variable.name)))
}

/// Bytes of one record over all record variables. Each is padded to four bytes, but for a single
/// record variable, whose records follow each other without padding.
pub(super) fn record_bytes(header: &Header) -> Result<u64> {
    let sizes = header.variables.iter().filter(|v| is_record(v, &header.dimensions));
    let sizes = sizes.map(|v| plain_bytes(v, header)).collect::<Result<Vec<_>>>()?;
    if let [only] = sizes.as_slice() {
        return Ok(*only);
    }
    let padded = |bytes: u64| bytes.checked_next_multiple_of(4);
    sizes.into_iter().try_fold(0u64, |sum, bytes| sum.checked_add(padded(bytes)?)).ok_or_else(|| Error::corrupt("a record beyond 64 bits"))
}

/// The number of whole records that fit the file's length, for headers that do not say it.
fn streamed_records(header: &Header, record_bytes: u64, length: u64) -> u64 {
    let begins = header.variables.iter().filter(|v| is_record(v, &header.dimensions)).map(|v| v.begin);
    match begins.min() {
        Some(begin) => length.saturating_sub(begin).checked_div(record_bytes).unwrap_or(0),
        None => 0,
    }
}

fn dataset(variable: &Variable, shape: Vec<u64>, record_bytes: Option<u64>) -> Result<Dataset> {
    let element = variable.datatype.size();
    let mut block = block_shape(&shape, element, BLOCK_BYTES);
    if let Some(stride) = record_bytes {
        // A file without records may claim any extents.
        let record = shape.iter().skip(1).fold(element, |bytes, extent| bytes.saturating_mul(*extent));
        // Records of several variables alternate: one block a record at most.
        if stride != record
            && let Some(first) = block.first_mut()
        {
            *first = 1;
        }
    }
    let shape_ndim = shape.len();
    let max_shape = shape.iter().enumerate().map(|(axis, &n)| (axis > 0 || record_bytes.is_none()).then_some(n)).collect();
    let dataspace = if shape.is_empty() { Dataspace::Scalar } else { Dataspace::Simple { shape: shape.clone(), max_shape } };
    let stored = dataspace.element_count()?.checked_mul(element);
    let refusal = (shape_ndim > MAX_NDIM).then(|| Error::unsupported(format!("{shape_ndim} dimensions: at most {MAX_NDIM} are read")));
    Ok(Dataset {
        datatype: variable.datatype.clone(),
        chunk_grid: ChunkGrid::new(shape, block)?,
        dataspace,
        storage: StorageLayout::Contiguous,
        chunk_shape: None,
        filters: Vec::new(),
        fill_value: None,
        is_fill_undefined: false,
        fill_time: FillTime::default(),
        allocation: None,
        stored_bytes: Some(stored.ok_or_else(|| Error::corrupt(format!("variable {} exceeds 64 bits", variable.name)))?),
        written_shape: None,
        requested: None,
        external_files: Arc::new([]),
        virtual_mappings: Arc::new([]),
        refusal,
    })
}

impl ArrayFile for Netcdf3File {
    fn format(&self) -> Format {
        Format::Netcdf3
    }
    fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }
    fn tree(&self) -> &dyn Tree {
        &self.tree
    }

    fn locate(&self, id: ObjectId, selection: &Selection) -> Result<ChunkLocations> {
        let dataset = dataset_of(&self.tree, id)?;
        let place = *self.locations.get(id.index()).ok_or_else(|| Error::internal("a variable without place"))?;
        if selection.is_empty() {
            return Ok(ChunkLocations::default());
        }
        let shape = dataset.dataspace.shape();
        let element = dataset.datatype.size();
        let beyond = || Error::corrupt("a variable beyond 64 bits");
        let offset_of = |index: &[u64]| -> Result<u64> {
            let elements_before = |from: usize| index.iter().zip(shape).skip(from).fold(0, |before, (&at, &extent)| before * extent + at);
            let within = match place.record_stride {
                Some(stride) => {
                    let record = index.first().ok_or_else(|| Error::internal("a record variable without dimensions"))?;
                    record.checked_mul(stride).and_then(|n| n.checked_add(elements_before(1) * element))
                }
                None => elements_before(0).checked_mul(element),
            };
            within.and_then(|n| n.checked_add(place.begin)).ok_or_else(beyond)
        };
        let check = |offset: u64, length: u64| {
            if offset.checked_add(length).is_some_and(|end| end <= self.storage.len()) {
                return Ok(());
            }
            Err(Error::corrupt(format!(
                "{length} bytes of data begin here but the file ends at byte {}: it is truncated, or was made without fill values \
                 and never written as far; other variables can be read",
                self.storage.len()
            ))
            .at_offset(offset))
        };
        let counts = selection.axes().iter().zip(dataset.chunk_grid.chunk_counts()).map(|(axis, chunks)| axis.count().min(chunks));
        if counts.fold(1, u64::saturating_mul) > MANY_BLOCKS {
            // A short file can claim more blocks than memory can list.
            let last = selection.axes().iter().map(|axis| axis.count().checked_sub(1).and_then(|last| axis.index(last)));
            let last = last.collect::<Option<Vec<u64>>>().ok_or_else(|| Error::internal("a selection without a last element"))?;
            check(offset_of(&last)?, element)?;
        }
        let mut chunks = Vec::new();
        for origin in dataset.chunk_grid.touched(selection)? {
            let region = dataset.chunk_grid.clipped(origin)?;
            let length = region.count.iter().product::<u64>() * element;
            let offset = offset_of(&region.start)?;
            check(offset, length)?;
            let source = ChunkSource::Stored { offset, length, filter_mask: 0 };
            chunks.push(ChunkLocation { region, source });
        }
        Ok(ChunkLocations { chunks })
    }

    fn stored_bytes(&self, id: ObjectId) -> Result<u64> {
        dataset_of(&self.tree, id)?.stored_bytes.ok_or_else(|| Error::internal("a variable whose stored bytes are not known"))
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

    fn heap_objects(&self, references: &[HeapReference], _: &mut HeapObjects) -> Result<()> {
        match references.first() {
            None => Ok(()),
            Some(_) => Err(Error::internal("netCDF classic has no heap")),
        }
    }
}
