//! A dataset that is edited: its extent, and where its chunks are.

use std::collections::HashSet;
use std::sync::Arc;

use hyperslab_array::{Error, Result};

use super::btree_v1::ChunkTree;
use super::chunk_records::ChunkRecords;
use super::entry::Entries;
use super::extensible_array::ExtensibleArray;
use super::file::FileEdit;
use super::fixed_array::{FixedArray, NewFixedArray};
use super::header::EditedHeader;
use super::space::PageKind;
use crate::filter::Pipeline;
use crate::hdf5::chunk_locator::{self, numbering::Numbering};
use crate::hdf5::encoder::width_of;
use crate::hdf5::layout::{ChunkedLayout, Layout, Locator};
use crate::hdf5::object_header::{ObjectHeader, kind};
use crate::hdf5::writer::StoredChunk;
use crate::hdf5::{Source, dataset};
use crate::{Dataset, ObjectId};

/// How a dataset's values are stored, as an edit sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditedStorage {
    /// In the object header.
    Compact,
    /// In one run of bytes.
    Contiguous {
        /// Where it begins; `None` if it was never allocated.
        address: Option<u64>,
        /// How many bytes are there.
        size: u64,
    },
    /// In chunks.
    Chunked,
}

/// The current state of a dataset.
pub struct DatasetEdit<'a> {
    pub(super) file: &'a FileEdit<'a>,
    id: ObjectId,
    dataset: Arc<Dataset>,
    pub(super) layout: Layout,
    pipeline: Pipeline,
}

impl<'a> DatasetEdit<'a> {
    /// The current state of the dataset.
    ///
    /// # Errors
    /// `InvalidInput` if it is something else; its refusal; `Corrupt` or `Io` if it cannot be parsed.
    pub fn open(file: &'a FileEdit<'a>, id: ObjectId) -> Result<Self> {
        let source = file.source();
        let header = ObjectHeader::read(&source, id.0)?;
        if header.find(kind::LAYOUT).is_none() {
            return Err(Error::invalid_input("this is not a dataset"));
        }
        let (dataset, stored) = dataset::parse(&source, &header)?;
        if let Some(refusal) = &dataset.refusal {
            return Err(refusal.clone());
        }
        Ok(Self { file, id, dataset: Arc::new(dataset), layout: stored.layout, pipeline: stored.pipeline })
    }

    /// What it is.
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// The filters of its chunks.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// How its values are stored.
    ///
    /// # Errors
    /// `Unsupported` for a layout whose values cannot be changed.
    pub fn storage(&self) -> Result<EditedStorage> {
        match &self.layout {
            Layout::Compact(_) => Ok(EditedStorage::Compact),
            Layout::Contiguous { address, size } => Ok(EditedStorage::Contiguous { address: *address, size: *size }),
            Layout::Chunked(layout) if layout.unfiltered_partial_edges => {
                Err(Error::unsupported("a dataset whose partial edge chunks are stored without filters cannot be edited yet"))
            }
            Layout::Chunked(_) => Ok(EditedStorage::Chunked),
            Layout::External => Err(Error::unsupported("values in external files cannot be edited yet")),
            Layout::Virtual => Err(Error::unsupported("values of a virtual dataset cannot be edited: edit its sources")),
        }
    }

    /// Writes the values of a compact dataset from byte `at` on.
    ///
    /// # Errors
    /// `Io`, `Unsupported` or `Corrupt` if the header cannot be changed.
    pub fn write_compact(&self, at: usize, bytes: &[u8]) -> Result<()> {
        let source = self.file.source();
        let mut header = EditedHeader::read(&source, self.id.0)?;
        let message = header.own(kind::LAYOUT, "a storage layout")?.ok_or_else(|| Error::internal("a dataset without a layout"))?;
        let start = match *header.body(message)? {
            [1 | 2, ndim, ..] => 8 + 4 * usize::from(ndim) + 4,
            _ => 4,
        };
        header.patch(message, start + at, bytes)?;
        header.store(self.file.space)
    }

    /// Allocates the `bytes` of a contiguous dataset that has none; returns their address.
    ///
    /// # Errors
    /// `Io` or `Unsupported` if the header cannot be changed.
    pub fn allocate_contiguous(&self, bytes: u64) -> Result<u64> {
        let address = self.file.space.allocate(PageKind::Raw, bytes)?;
        self.set_address(address, None)?;
        Ok(address)
    }

    /// Changes the extent. Chunks are left as they are.
    ///
    /// # Errors
    /// `InvalidInput` beyond the largest shape; `Unsupported` if it is not chunked.
    pub fn set_shape(&mut self, shape: &[u64]) -> Result<()> {
        let Layout::Chunked(layout) = &self.layout else { return Err(Error::invalid_input("only chunked datasets can be resized")) };
        if shape.len() != layout.shape.len() {
            return Err(Error::invalid_input(format!("a shape of {} dimensions for a dataset of {}", shape.len(), layout.shape.len())));
        }
        if shape.iter().zip(&layout.max_shape).any(|(extent, max)| max.is_some_and(|max| *extent > max)) {
            let largest = layout.max_shape.iter().map(|max| max.map_or_else(|| "unlimited".to_owned(), |max| max.to_string()));
            let largest = largest.collect::<Vec<_>>().join(", ");
            return Err(Error::invalid_input(format!("the shape {shape:?} is beyond the largest shape [{largest}]")));
        }
        let source = self.file.source();
        let mut header = EditedHeader::read(&source, self.id.0)?;
        let message = header.own(kind::DATASPACE, "a dataspace")?.ok_or_else(|| Error::internal("a dataset without a dataspace"))?;
        let start = if header.body(message)?.first() == Some(&1) { 8 } else { 4 };
        let width = usize::from(source.length_size);
        let mut extents = Vec::new();
        for extent in shape {
            if width < 8 && extent >> (8 * width) != 0 {
                return Err(Error::unsupported(format!("an extent of {extent} in a file whose lengths have {width} bytes")));
            }
            extents.extend_from_slice(extent.to_le_bytes().get(..width).unwrap_or_default());
        }
        header.patch(message, start, &extents)?;
        header.store(self.file.space)?;
        *self = Self::open(self.file, self.id)?;
        Ok(())
    }

    /// Enters chunks into the index. Those of an index without entries (one that implies where chunks are) must be where they were.
    ///
    /// # Errors
    /// `Unsupported` for an index that cannot be edited; `Io` or `Corrupt`.
    pub fn set_chunks(&mut self, chunks: &[StoredChunk]) -> Result<()> {
        let Layout::Chunked(layout) = &self.layout else { return Err(Error::internal("chunks of a dataset without them")) };
        let (source, space) = (self.file.source(), self.file.space);
        let Some(first) = chunks.first() else { return Ok(()) };
        let (address, is_new) = match (&layout.locator, self.index_class()?) {
            (Locator::BtreeV2 { address }, _) => {
                let mut tree = ChunkRecords::open(&source, space, *address, layout.shape.len())?;
                chunks.iter().try_for_each(|chunk| tree.set(chunk))?;
                (*address, false)
            }
            (Locator::None, IndexClass::BtreeV2(parameters)) => {
                let mut tree = ChunkRecords::create(&source, space, self.entries(layout)?, layout.shape.len(), parameters)?;
                chunks.iter().try_for_each(|chunk| tree.set(chunk))?;
                (tree.address(), true)
            }
            (Locator::Implicit { .. }, _) => return Ok(()),
            (Locator::None, IndexClass::Implicit) => return Err(Error::unsupported("an implicit chunk index that was never allocated cannot be edited yet")),
            (Locator::Single { .. }, _) | (Locator::None, IndexClass::Single) => {
                self.set_address(first.address, Some((first.length, first.filter_mask)))?;
                (first.address, false)
            }
            (Locator::BtreeV1 { address }, _) => {
                let tree = self.tree(&source, layout);
                chunks.iter().try_for_each(|chunk| tree.set(*address, chunk))?;
                (*address, false)
            }
            (Locator::None, IndexClass::BtreeV1) => {
                let tree = self.tree(&source, layout);
                let root = tree.create(first)?;
                chunks.iter().skip(1).try_for_each(|chunk| tree.set(root, chunk))?;
                (root, true)
            }
            (Locator::FixedArray { .. }, _) | (Locator::None, IndexClass::FixedArray { .. }) => {
                let (array, is_new) = self.fixed_array(&source, layout)?;
                numbered(chunks, layout, Numbering::row_major(layout)?)?.into_iter().try_for_each(|(number, chunk)| array.set(number, Some(chunk)))?;
                (array.header, is_new)
            }
            (Locator::ExtensibleArray { address }, _) => {
                let mut array = ExtensibleArray::open(&source, space, *address)?;
                numbered(chunks, layout, Numbering::unlimited_first(layout)?)?.into_iter().try_for_each(|(number, chunk)| array.set(number, Some(chunk)))?;
                (*address, false)
            }
            (Locator::None, IndexClass::ExtensibleArray(parameters)) => {
                let mut array = ExtensibleArray::create(&source, space, self.entries(layout)?, parameters)?;
                numbered(chunks, layout, Numbering::unlimited_first(layout)?)?.into_iter().try_for_each(|(number, chunk)| array.set(number, Some(chunk)))?;
                (array.address(), true)
            }
        };
        if is_new {
            self.set_address(address, None)?;
        }
        *self = Self::open(self.file, self.id)?;
        Ok(())
    }

    /// The fixed array of the dataset, and whether it is new.
    fn fixed_array<'s>(&'s self, source: &'s Source, layout: &ChunkedLayout) -> Result<(FixedArray<'s>, bool)> {
        let space = self.file.space;
        match (&layout.locator, self.index_class()?) {
            (Locator::FixedArray { address }, _) => Ok((FixedArray { source, space, header: *address }, false)),
            (_, IndexClass::FixedArray { page_bits }) => {
                let counts = layout.max_shape.iter().zip(&layout.chunk_shape).map(|(max, chunk)| Some(max.as_ref()?.div_ceil(*chunk)));
                let count = counts.collect::<Option<Vec<u64>>>().and_then(|counts| counts.into_iter().try_fold(1u64, u64::checked_mul));
                let count = count.ok_or_else(|| Error::corrupt("a fixed array of an unlimited dataset"))?;
                Ok((FixedArray::create(source, space, &NewFixedArray { entries: self.entries(layout)?, page_bits, count })?, true))
            }
            _ => Err(Error::internal("a fixed array of another class")),
        }
    }

    /// Takes chunks out of the index.
    ///
    /// # Errors
    /// `Internal` if [`DatasetEdit::has_fixed_chunks`]; `Io` or `Corrupt`.
    pub fn remove_chunks(&mut self, positions: &[Vec<u64>]) -> Result<()> {
        let Layout::Chunked(layout) = &self.layout else { return Err(Error::internal("chunks of a dataset without them")) };
        let (source, space) = (self.file.source(), self.file.space);
        if positions.is_empty() {
            return Ok(());
        }
        let numbers = |numbering: Numbering| {
            let origin = |position: &Vec<u64>| position.iter().zip(&layout.chunk_shape).map(|(at, extent)| at.saturating_mul(*extent)).collect::<Vec<u64>>();
            positions.iter().map(|position| numbering.number(&origin(position))).collect::<Result<Vec<_>>>()
        };
        match &layout.locator {
            Locator::BtreeV1 { .. } => {
                // What is left makes a new tree: nodes that run empty would have to leave their parents.
                let gone: HashSet<&Vec<u64>> = positions.iter().collect();
                let mut chunks = chunk_locator::stored_chunks(&source, layout)?;
                chunks.retain(|chunk| !gone.contains(&chunk.position));
                chunks.sort_by(|a, b| a.position.cmp(&b.position));
                let tree = self.tree(&source, layout);
                let root = match chunks.split_first() {
                    None => u64::MAX,
                    Some((first, others)) => {
                        let root = tree.create(first)?;
                        others.iter().try_for_each(|chunk| tree.set(root, chunk))?;
                        root
                    }
                };
                self.set_address(root, None)?;
            }
            Locator::FixedArray { address } => {
                let array = FixedArray { source: &source, space, header: *address };
                numbers(Numbering::row_major(layout)?)?.into_iter().try_for_each(|number| array.set(number, None))?;
            }
            Locator::ExtensibleArray { address } => {
                let mut array = ExtensibleArray::open(&source, space, *address)?;
                numbers(Numbering::unlimited_first(layout)?)?.into_iter().try_for_each(|number| array.set(number, None))?;
            }
            Locator::BtreeV2 { address } => {
                let mut tree = ChunkRecords::open(&source, space, *address, layout.shape.len())?;
                positions.iter().try_for_each(|position| tree.remove(position))?;
            }
            // The size and the filter mask that a filtered chunk has in the message go with it.
            Locator::Single { .. } => self.set_address(u64::MAX, Some((0, 0)))?,
            Locator::Implicit { .. } => return Err(Error::internal("removing chunks of an index that always has all of them")),
            Locator::None => return Err(Error::internal("removing chunks of a dataset that has none")),
        }
        *self = Self::open(self.file, self.id)?;
        Ok(())
    }

    fn tree<'b>(&'b self, source: &'b super::super::Source, layout: &ChunkedLayout) -> ChunkTree<'b> {
        let extents = layout.chunk_shape.iter().copied().chain([self.dataset.datatype.size()]).collect();
        ChunkTree { source, space: self.file.space, extents, max_children: self.file.max_chunk_children }
    }

    fn entries(&self, layout: &ChunkedLayout) -> Result<Entries> {
        let is_filtered = !self.pipeline.filters.is_empty();
        let source = self.file.source();
        let offset_bytes = u64::from(source.offset_size);
        let header = EditedHeader::read(&source, self.id.0)?;
        let message = header.own(kind::LAYOUT, "a storage layout")?.ok_or_else(|| Error::internal("a dataset without a layout"))?;
        let size_bytes = match header.body(message)?.first() {
            // Since HDF5 2.0, sizes are as wide as all lengths of the file.
            Some(5) => u64::from(source.length_size),
            // A byte more than the unfiltered size needs: filters may make a chunk longer.
            _ => (1 + width_of(layout.chunk_bytes)).min(8) as u64,
        };
        Ok(Entries { bytes: if is_filtered { offset_bytes + size_bytes + 4 } else { offset_bytes }, is_filtered })
    }

    /// The index that the layout message names, which exists only if a chunk was written.
    fn index_class(&self) -> Result<IndexClass> {
        let source = self.file.source();
        let header = EditedHeader::read(&source, self.id.0)?;
        let message = header.own(kind::LAYOUT, "a storage layout")?.ok_or_else(|| Error::internal("a dataset without a layout"))?;
        let body = header.body(message)?;
        let unknown = || Error::corrupt("a storage layout that is too short");
        if body.first().is_none_or(|version| *version < 4) {
            return Ok(IndexClass::BtreeV1);
        }
        let at = index_place(body).ok_or_else(unknown)?;
        let parameters = body.get(at + 1..).ok_or_else(unknown)?;
        Ok(match (body.get(at), parameters) {
            (Some(1), _) => IndexClass::Single,
            (Some(2), _) => IndexClass::Implicit,
            (Some(3), [page_bits, ..]) => IndexClass::FixedArray { page_bits: *page_bits },
            (Some(4), [a, b, c, d, e, ..]) => IndexClass::ExtensibleArray([*a, *b, *c, *d, *e]),
            (Some(5), [a, b, c, d, split, merge, ..]) => IndexClass::BtreeV2([*a, *b, *c, *d, *split, *merge]),
            _ => return Err(unknown()),
        })
    }

    /// Sets the address in the layout message, and the size and filter mask of a single filtered chunk.
    fn set_address(&self, address: u64, single: Option<(u64, u32)>) -> Result<()> {
        let source = self.file.source();
        let mut header = EditedHeader::read(&source, self.id.0)?;
        let message = header.own(kind::LAYOUT, "a storage layout")?.ok_or_else(|| Error::internal("a dataset without a layout"))?;
        let body = header.body(message)?.to_vec();
        let unknown = || Error::unsupported("a storage layout that cannot be edited yet");
        let at = match *body.as_slice() {
            [1 | 2, ..] => 8,
            [_, 1, ..] => 2,
            [3, 2, ..] => 3,
            [4 | 5, 2, flags, ..] => {
                let at = index_place(&body).ok_or_else(unknown)?;
                let class = body.get(at).ok_or_else(unknown)?;
                let is_filtered_single = *class == 1 && flags & 2 != 0;
                if let Some((length, mask)) = single.filter(|_| is_filtered_single) {
                    let width = usize::from(source.length_size);
                    header.patch(message, at + 1, length.to_le_bytes().get(..width).unwrap_or_default())?;
                    header.patch(message, at + 1 + width, &mask.to_le_bytes())?;
                }
                let parameters = match class {
                    1 if is_filtered_single => usize::from(source.length_size) + 4,
                    1 | 2 => 0,
                    3 => 1,
                    4 => 5,
                    5 => 6,
                    _ => return Err(unknown()),
                };
                at + 1 + parameters
            }
            _ => return Err(unknown()),
        };
        header.patch(message, at, address.to_le_bytes().get(..usize::from(source.offset_size)).unwrap_or_default())?;
        header.store(self.file.space)
    }
}

/// An index that a layout message names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IndexClass {
    BtreeV1,
    Single,
    Implicit,
    FixedArray { page_bits: u8 },
    ExtensibleArray([u8; 5]),
    BtreeV2([u8; 6]),
}

/// Where the class of the index stands in a version 4 layout message of chunks.
fn index_place(body: &[u8]) -> Option<usize> {
    let (ndim, width) = (usize::from(*body.get(3)?), usize::from(*body.get(4)?));
    Some(5 + ndim * width)
}

/// Chunks with their numbers in an array.
fn numbered<'c>(chunks: &'c [StoredChunk], layout: &ChunkedLayout, numbering: Numbering) -> Result<Vec<(u64, &'c StoredChunk)>> {
    let origin = |chunk: &StoredChunk| chunk.position.iter().zip(&layout.chunk_shape).map(|(at, extent)| at.checked_mul(*extent)).collect::<Option<Vec<u64>>>();
    let number = |chunk: &StoredChunk| numbering.number(&origin(chunk).ok_or_else(|| Error::unsupported("a dataset beyond 64 bits"))?);
    chunks.iter().map(|chunk| Ok((number(chunk)?, chunk))).collect()
}
