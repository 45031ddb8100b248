//! Changes the shape of a dataset.

use hyperslab_array::{Dataspace, Error, Result};

use super::partial_chunk::{PartialChunk, load_partial_chunk};
use super::state::{DatasetStorage, DatasetWriter};
use super::touched_chunks::filled_with_fill_value;
use crate::file::allocator::Allocator;
use crate::file::memory_length::memory_length;
use crate::file::regions::region::{Region, copy};

impl DatasetWriter {
    /// Sets a new shape. Elements outside of it are lost: if the dataset grows again, they have the fill value.
    pub fn resize(&mut self, to: Vec<u64>, allocator: &mut Allocator) -> Result<()> {
        let Dataspace::Simple { shape, max_shape } = &mut self.definition.dataspace else {
            return Err(Error::invalid_input("a scalar or empty dataset cannot be resized"));
        };
        if to.len() != shape.len() {
            return Err(Error::invalid_input(format!("shape {shape:?} cannot become {to:?}, which has {} dimensions", to.len())));
        }
        if let Some(max) = to.iter().zip(&*max_shape).position(|(new, max)| max.is_some_and(|max| *new > max)) {
            return Err(Error::invalid_input(format!("shape {to:?} exceeds the largest that the dataset may have, in dimension {max}")));
        }
        let bytes = Dataspace::fixed(to.clone()).element_count()?.checked_mul(self.definition.datatype.size());
        bytes.ok_or_else(|| Error::unsupported("a dataset beyond 64 bits"))?;
        let shrinks = to.iter().zip(&*shape).any(|(new, old)| new < old);
        *shape = to;
        if shrinks { self.cut(allocator) } else { Ok(()) }
    }

    /// Drops elements outside of the current shape.
    fn cut(&mut self, allocator: &mut Allocator) -> Result<()> {
        let shape = self.definition.dataspace.shape().to_vec();
        let inside = Region::all(&shape);
        self.written = self.written.iter().filter_map(|region| region.shared(&inside)).collect();
        match &mut self.storage {
            DatasetStorage::Growing(growing) => growing.cut(&self.definition),
            DatasetStorage::Chunked { chunk_shape, stored, partial } => {
                let definition = &self.definition;
                let origin = |position: &[u64]| -> Vec<u64> { position.iter().zip(chunk_shape.iter()).map(|(n, extent)| n.saturating_mul(*extent)).collect() };
                let is_inside = |position: &[u64]| origin(position).iter().zip(&shape).all(|(start, extent)| start < extent);
                let is_whole = |position: &[u64]| {
                    let ends = origin(position).into_iter().zip(chunk_shape.iter()).map(|(start, extent)| start.saturating_add(*extent));
                    ends.zip(&shape).all(|(end, extent)| end <= *extent)
                };
                stored.retain(|position, _| is_inside(position));
                partial.retain(|position, _| is_inside(position));
                let chunk_bytes = chunk_shape.iter().fold(definition.datatype.size(), |n, extent| n.saturating_mul(*extent));
                let cut: Vec<Vec<u64>> = stored.keys().chain(partial.keys()).filter(|position| !is_whole(position)).cloned().collect();
                for position in cut {
                    let entry = match partial.remove(&position) {
                        Some(entry) => entry,
                        None => load_partial_chunk(&position, stored, definition, chunk_bytes, allocator)?,
                    };
                    // Keep elements inside the shape; the rest of the chunk becomes the fill value.
                    let start = origin(&position);
                    let count: Vec<u64> =
                        start.iter().zip(chunk_shape.iter()).zip(&shape).map(|((start, extent), end)| (*extent).min(end.saturating_sub(*start))).collect();
                    let mut bytes = filled_with_fill_value(chunk_bytes, definition)?;
                    let zeros = vec![0; shape.len()];
                    let size = memory_length(definition.datatype.size())?;
                    if !copy(&count, size, (&entry.bytes, chunk_shape, &zeros), (&mut bytes, chunk_shape, &zeros)) {
                        return Err(Error::internal("a chunk's part outside of its array"));
                    }
                    partial.insert(position, PartialChunk { bytes, written: 0 });
                }
                Ok(())
            }
            _ => Err(Error::unsupported("shrinking a dataset without chunks")),
        }
    }
}
