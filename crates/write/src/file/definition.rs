//! Definitions of datasets and attributes to be written.

use hyperslab_array::{CharacterSet, Dataspace, Datatype, Elements, Error, HeapObjects, Result, StringPadding};
use hyperslab_formats::filter::{Filter, Pipeline};
use hyperslab_formats::hdf5::writer::check_references;
use hyperslab_formats::{AllocationTime, FillTime};

/// Target size in bytes of a chunk whose shape is not given, if the profile of this machine says nothing.
const CHUNK_BYTES: u64 = 1 << 20;

/// Filter id of the checksum.
const FLETCHER32: u16 = 3;

/// Filter id of n-bit packing.
const NBIT: u16 = 5;

/// A dataset to be written.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DatasetDefinition {
    /// Datatype of an element.
    pub datatype: Datatype,
    /// Absolute path of the committed datatype, if it is one.
    pub committed: Option<String>,
    /// Shape and maximum shape.
    pub dataspace: Dataspace,
    /// Chunk shape. If `None`, a dataset without filters that cannot grow is contiguous; otherwise a shape is chosen.
    pub chunk_shape: Option<Vec<u64>>,
    /// Filters applied to each chunk.
    pub filters: Pipeline,
    /// Fill value: the bytes of one element; `None` is zeros.
    pub fill_value: Option<Vec<u8>>,
    /// What a fill value of variable length points at.
    pub fill_heap: HeapObjects,
    /// Whether elements that were never written have no defined value. They are read as zeros.
    pub is_fill_undefined: bool,
    /// When programs that change the file later write the fill value.
    pub fill_time: FillTime,
    /// When they make room for values; `None` is what the library does for such storage.
    pub allocation: Option<AllocationTime>,
    /// Whether the values are in the object's header, if they fit there and hold no references.
    pub is_compact: bool,
}

/// Value of an attribute to be written.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AttributeValue {
    /// Shape of the value.
    pub dataspace: Dataspace,
    /// Its elements.
    pub value: Elements,
    /// Absolute path of the committed datatype that it shares.
    pub committed: Option<String>,
}

impl AttributeValue {
    /// An attribute of this shape and these elements.
    pub fn new(dataspace: Dataspace, value: Elements) -> Self {
        Self { dataspace, value, committed: None }
    }
}

impl DatasetDefinition {
    /// A dataset with no chunks, filters or fill value.
    pub fn new(datatype: Datatype, dataspace: Dataspace) -> Self {
        Self {
            datatype,
            committed: None,
            dataspace,
            chunk_shape: None,
            filters: Pipeline::default(),
            fill_value: None,
            fill_heap: HeapObjects::default(),
            is_fill_undefined: false,
            fill_time: FillTime::default(),
            allocation: None,
            is_compact: false,
        }
    }

    /// With the committed datatype at this absolute path.
    #[must_use]
    pub fn with_committed(self, committed: Option<String>) -> Self {
        Self { committed, ..self }
    }

    /// With this shape and maximum shape.
    #[must_use]
    pub fn with_dataspace(self, dataspace: Dataspace) -> Self {
        Self { dataspace, ..self }
    }

    /// With this chunk shape; `None` chooses one if the dataset needs it.
    #[must_use]
    pub fn with_chunk_shape(self, chunk_shape: Option<Vec<u64>>) -> Self {
        Self { chunk_shape, ..self }
    }

    /// With these filters, applied to each chunk.
    #[must_use]
    pub fn with_filters(self, filters: Pipeline) -> Self {
        Self { filters, ..self }
    }

    /// With this fill value, the bytes of one element; `None` is zeros.
    #[must_use]
    pub fn with_fill_value(self, fill_value: Option<Vec<u8>>) -> Self {
        Self { fill_value, ..self }
    }

    /// With what the fill value points at, if it is of variable length. The objects of unwritten elements are paid from its budget.
    #[must_use]
    pub fn with_fill_heap(self, fill_heap: HeapObjects) -> Self {
        Self { fill_heap, ..self }
    }

    /// With this fill value and what it points at; `None` is zeros.
    pub(crate) fn with_fill(self, fill: Option<Elements>) -> Self {
        match fill {
            None => Self { fill_value: None, fill_heap: HeapObjects::default(), ..self },
            Some(fill) => Self { fill_value: Some(fill.bytes), fill_heap: fill.heap, ..self },
        }
    }

    /// With this time at which programs that change the file later write the fill value.
    #[must_use]
    pub fn with_fill_time(self, fill_time: FillTime) -> Self {
        Self { fill_time, ..self }
    }

    /// Makes the dataset chunked; chooses the chunk shape if it has none.
    pub(crate) fn in_chunks(mut self) -> Self {
        if let (None, Dataspace::Simple { shape, max_shape }) = (&self.chunk_shape, &self.dataspace) {
            self.chunk_shape = Some(chunk_shape(shape, max_shape, self.datatype.size()));
        }
        self
    }

    /// Replaces the chunk shape.
    pub(crate) fn set_chunk_shape(&mut self, chunk_shape: Vec<u64>) -> Result<()> {
        self.chunk_shape = Some(chunk_shape);
        self.complete_filters()
    }

    /// Sets the filter parameters that depend on the datatype and the chunk shape.
    fn complete_filters(&mut self) -> Result<()> {
        let size = self.datatype.size();
        let chunk_shape = self.chunk_shape.as_deref().unwrap_or_default();
        let bytes = chunk_shape.iter().fold(size, |n, extent| n.saturating_mul(*extent));
        for filter in &mut self.filters.filters {
            filter.complete(&self.datatype, chunk_shape, self.fill_value.as_deref())?;
            complete(filter, size, bytes)?;
        }
        Ok(())
    }

    /// Like [`DatasetDefinition::checked_own`], for a dataset of a container: references are refused, because object addresses
    /// differ between subfiles.
    pub(crate) fn checked(self) -> Result<Self> {
        if self.datatype.has_references() {
            return Err(Error::unsupported("references in a parallel write: object addresses differ between subfiles"));
        }
        if self.fill_value.is_some() && self.datatype.uses_heap() {
            return Err(Error::unsupported("a fill value of variable length in a parallel write: subfiles have heaps of their own"));
        }
        self.checked_own()
    }

    /// Checks the definition, chooses the chunk shape if one is needed, and completes the parameters of filters.
    ///
    /// # Errors
    /// `InvalidInput` or `Unsupported` for what HDF5 cannot store.
    pub fn checked_own(self) -> Result<Self> {
        if let Some(refusal) = self.filters.writing_refusal() {
            return Err(refusal);
        }
        if self.filters.filters.iter().skip(1).any(|filter| filter.id == NBIT) {
            return Err(Error::invalid_input("nbit after another filter, whose output it would treat as elements: leave shuffle and scaleoffset out"));
        }
        let mut checked = self.checked_copy()?;
        checked.complete_filters()?;
        Ok(checked)
    }

    /// Like [`DatasetDefinition::checked_own`], for a dataset whose chunks are copied as they are stored: its filters need not be
    /// written, and keep the parameters that the chunks were made with.
    pub(crate) fn checked_copy(mut self) -> Result<Self> {
        if let Some(class) = self.datatype.unsupported_class() {
            return Err(Error::unsupported(format!("writing datatype class {class}")));
        }
        if self.datatype.has_references() {
            check_references(&self.datatype)?;
            if !self.filters.filters.is_empty() {
                return Err(Error::unsupported("references in chunks with filters: leave the filters out"));
            }
        }
        // Refuse what the format cannot represent now, not when the file is finished.
        hyperslab_formats::hdf5::writer::encode_datatype(&self.datatype)?;
        hyperslab_formats::hdf5::writer::encode_dataspace(&self.dataspace)?;
        if matches!(self.datatype, Datatype::VariableString { .. } | Datatype::Sequence { .. })
            && self.filters.filters.iter().any(|filter| filter.id == FLETCHER32)
        {
            return Err(Error::unsupported("fletcher32 of values of variable length: HDF5 allows no such dataset; leave fletcher32 out"));
        }
        let size = self.datatype.size();
        self.dataspace.element_count()?.checked_mul(size).ok_or_else(|| Error::unsupported("a dataset beyond 64 bits"))?;
        if let Some(value) = &self.fill_value {
            if value.len() as u64 != size {
                return Err(Error::invalid_input(format!("a fill value of {} bytes for elements of {size}", value.len())));
            }
            if self.datatype.uses_heap() && self.fill_time == FillTime::Never {
                return Err(Error::invalid_input("a fill value of variable length that is never written: HDF5 allows no such dataset; leave fill_time out"));
            }
        }
        let Dataspace::Simple { shape, max_shape } = &self.dataspace else {
            if self.chunk_shape.is_some() || !self.filters.filters.is_empty() {
                return Err(Error::invalid_input("a scalar or empty dataset has no chunks and no filters"));
            }
            return Ok(self);
        };
        if shape.iter().zip(max_shape).any(|(extent, max)| max.is_some_and(|max| max < *extent)) {
            let bounds: Vec<String> = max_shape.iter().map(|max| max.map_or_else(|| "unlimited".to_owned(), |max| max.to_string())).collect();
            return Err(Error::invalid_input(format!("shape {shape:?} exceeds maxshape [{}]", bounds.join(", "))));
        }
        let grows = shape.iter().zip(max_shape).any(|(extent, max)| *max != Some(*extent));
        if self.chunk_shape.is_none() && (grows || !self.filters.filters.is_empty()) {
            self.chunk_shape = Some(chunk_shape(shape, max_shape, size));
        }
        if let Some(chunk) = &mut self.chunk_shape {
            if chunk.len() != shape.len() || chunk.contains(&0) {
                return Err(Error::invalid_input(format!("chunks of shape {chunk:?} in a dataset of shape {shape:?}")));
            }
            // A chunk larger than the maximum shape would only waste space.
            for (extent, max) in chunk.iter_mut().zip(max_shape) {
                *extent = max.map_or(*extent, |max| (*extent).min(max)).max(1);
            }
            let bytes = chunk.iter().try_fold(size, |n, extent| n.checked_mul(*extent));
            if bytes.is_none_or(|bytes| bytes > u64::from(u32::MAX)) {
                return Err(Error::unsupported(format!("chunks of shape {chunk:?} and {size}-byte elements: HDF5 allows less than 4 GiB")));
            }
        }
        Ok(self)
    }
}

/// Sets the parameters of a filter that depend on the element size or chunk size.
fn complete(filter: &mut Filter, element_bytes: u64, chunk_bytes: u64) -> Result<()> {
    const SHUFFLE: u16 = 2;
    const BITSHUFFLE: u16 = 32008;
    const LZF: u16 = 32000;
    let size = || u32::try_from(element_bytes).map_err(|_| Error::unsupported("shuffling elements of 4 GiB"));
    match filter.id {
        // Version of h5py's filter, version of LZF, decoded chunk size.
        LZF => filter.parameters = vec![4, 0x0105, u32::try_from(chunk_bytes).map_err(|_| Error::internal("a chunk of 4 GiB or more"))?],
        SHUFFLE => filter.parameters = vec![size()?],
        BITSHUFFLE => {
            // Version (2 values), element size, block size, compression.
            filter.parameters.resize(5, 0);
            if let [major, minor, element, ..] = filter.parameters.as_mut_slice() {
                (*major, *minor, *element) = (0, 4, size()?);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Chooses a chunk of about 1 MiB by halving the largest dimension. Along unlimited dimensions the chunk is extended until
/// it has about 1 MiB.
fn chunk_shape(shape: &[u64], max_shape: &[Option<u64>], element_bytes: u64) -> Vec<u64> {
    let target = hyperslab_storage::profile().settings.chunk_bytes.unwrap_or(CHUNK_BYTES);
    let aim = (target / element_bytes.max(1)).max(1);
    let mut chunk: Vec<u64> =
        shape.iter().zip(max_shape).map(|(extent, max)| if max.is_none() { (*extent).max(1) } else { max.unwrap_or(*extent).max(1) }).collect();
    let elements = |chunk: &[u64]| chunk.iter().fold(1u64, |n, extent| n.saturating_mul(*extent));
    while elements(&chunk) > aim {
        let Some(largest) = chunk.iter_mut().max() else { break };
        *largest = largest.div_ceil(2);
    }
    for axis in (0..chunk.len()).filter(|axis| max_shape.get(*axis).is_some_and(Option::is_none)) {
        let others = elements(&chunk) / chunk.get(axis).copied().unwrap_or(1).max(1);
        if let Some(extent) = chunk.get_mut(axis) {
            *extent = (*extent).max(aim / others.max(1)).max(1);
        }
    }
    chunk
}

pub(crate) fn check_attribute(name: &str, value: &AttributeValue) -> Result<()> {
    let bytes = value.dataspace.element_count()?.checked_mul(value.value.datatype.size());
    if bytes != Some(value.value.bytes.len() as u64) {
        return Err(Error::invalid_input(format!("attribute {name:?}: {} bytes for shape {:?}", value.value.bytes.len(), value.dataspace.shape())));
    }
    const MAX_ATTRIBUTE_BYTES: u64 = 64 << 20;
    if bytes.is_some_and(|bytes| bytes > MAX_ATTRIBUTE_BYTES) {
        return Err(Error::unsupported(format!("attribute {name:?} of {} bytes: store values larger than 64 MiB in a dataset", value.value.bytes.len())));
    }
    Ok(())
}

/// A scalar attribute with a fixed-length string.
pub(crate) fn text_attribute(text: &str) -> AttributeValue {
    let datatype = Datatype::FixedString { size: (text.len() as u64).max(1), padding: StringPadding::NullPadded, character_set: CharacterSet::Utf8 };
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(bytes.len().max(1), 0);
    AttributeValue::new(Dataspace::Scalar, Elements { datatype, bytes, heap: HeapObjects::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_chunks_are_about_a_mebibyte() {
        assert_eq!(chunk_shape(&[10, 1000, 1000], &[Some(10), Some(1000), Some(1000)], 4), [10, 125, 125]);
        assert_eq!(chunk_shape(&[0], &[None], 8), [131_072]);
        assert_eq!(chunk_shape(&[3, 4], &[Some(3), Some(4)], 8), [3, 4]);
        assert_eq!(chunk_shape(&[0, 180, 360], &[None, Some(180), Some(360)], 4), [4, 180, 360]);
    }
}
