//! Broadcasts the values along one dimension to a column of cells, and reuses the column in later windows.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use arrow_array::{Array, ArrayRef, make_array};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use hyperslab_array::{Axis, Error, Result};
use hyperslab_reader::{ChunkCache, PerProcess, SCAN_CACHE_BYTES, Session};

/// Identifies a broadcast column: the scan whose values it has (`None` for the indexes themselves), the indexes along the
/// dimension, the number of consecutive cells with the same index, and the number of repetitions of the whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BroadcastKey {
    pub scan: Option<u64>,
    pub axis: Axis,
    pub inner: usize,
    pub outer: usize,
}

/// The last column of each name. Consecutive windows differ along the slowest dimension only, so the columns of the other
/// dimensions are the same: they are made once, and all batches share their memory.
pub(crate) struct CoordinateCache {
    chunks: PerProcess<Arc<ChunkCache>>,
    last: Mutex<BTreeMap<String, (BroadcastKey, ArrayRef)>>,
}

impl Default for CoordinateCache {
    fn default() -> Self {
        Self { chunks: PerProcess::new(new_chunks()), last: Mutex::default() }
    }
}

fn new_chunks() -> Arc<ChunkCache> {
    Arc::new(ChunkCache::new(SCAN_CACHE_BYTES))
}

impl CoordinateCache {
    /// Decoded chunks that windows share.
    pub fn chunks(&self) -> Arc<ChunkCache> {
        self.chunks.get(new_chunks).clone()
    }
    /// The column called `name` for this key; calls `make` if it is not the last one. Never waits for another thread.
    pub fn column(&self, name: &str, key: BroadcastKey, make: impl FnOnce(&BroadcastKey) -> Result<ArrayRef>) -> Result<ArrayRef> {
        if let Ok(last) = self.last.try_lock()
            && let Some((_, column)) = last.get(name).filter(|(known, _)| *known == key)
        {
            return Ok(column.clone());
        }
        let column = make(&key)?;
        if let Ok(mut last) = self.last.try_lock() {
            last.insert(name.to_owned(), (key, column.clone()));
        }
        Ok(column)
    }
}

/// The value along one dimension for each cell of a box: the `values` that `axis` selects, each `inner` times, the whole
/// `outer` times. `None` if the values are not fixed-width numbers without nulls.
pub(crate) fn broadcast(session: &Session, values: &ArrayRef, axis: &Axis, inner: usize, outer: usize) -> Result<Option<ArrayRef>> {
    let Some(width) = values.data_type().primitive_width().filter(|_| values.null_count() == 0) else { return Ok(None) };
    if matches!(values.data_type(), DataType::Dictionary(..)) {
        return Ok(None);
    }
    let data = values.to_data();
    let start = data.offset().saturating_mul(width);
    let bytes = data.buffers().first().and_then(|buffer| buffer.as_slice().get(start..)).unwrap_or_default();
    let count = usize::try_from(axis.count()).map_err(|_| Error::limit_exceeded("a window exceeds memory"))?;
    let lengths = [inner, outer, width].into_iter().try_fold(count, usize::checked_mul);
    let length = lengths.ok_or_else(|| Error::limit_exceeded("a window exceeds memory"))?;
    let mut out = session.values().take(length)?;
    let once = length.checked_div(outer).unwrap_or(0);
    let (first, rest) = out.split_at_mut(once);
    let filled = match width {
        1 => fill::<1>(bytes, axis, inner, first),
        2 => fill::<2>(bytes, axis, inner, first),
        4 => fill::<4>(bytes, axis, inner, first),
        8 => fill::<8>(bytes, axis, inner, first),
        _ => return Ok(None),
    };
    filled.ok_or_else(|| Error::internal("a dimension is longer than its coordinates"))?;
    if once > 0 {
        rest.chunks_exact_mut(once).for_each(|again| again.copy_from_slice(first));
    }
    let buffer = out.into_buffer();
    if buffer.as_ptr().align_offset(width) != 0 {
        return Ok(None);
    }
    let data = ArrayData::try_new(values.data_type().clone(), length / width, None, 0, vec![buffer], Vec::new());
    Ok(Some(make_array(data.map_err(|e| Error::internal(e.to_string()))?)))
}

fn fill<const W: usize>(values: &[u8], axis: &Axis, inner: usize, out: &mut [u8]) -> Option<()> {
    let (values, _) = values.as_chunks::<W>();
    let (out, _) = out.as_chunks_mut::<W>();
    let value = |position: usize| values.get(usize::try_from(axis.index(position as u64)?).ok()?);
    if inner == 1 {
        if let Axis::Range { start, count, step: 1 } = axis {
            let start = usize::try_from(*start).ok()?;
            out.copy_from_slice(values.get(start..start.checked_add(usize::try_from(*count).ok()?)?)?);
            return Some(());
        }
        for (position, cell) in out.iter_mut().enumerate() {
            *cell = *value(position)?;
        }
        return Some(());
    }
    if inner > 0 {
        for (position, cells) in out.chunks_exact_mut(inner).enumerate() {
            cells.fill(*value(position)?);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Int64Array;

    #[test]
    fn windows_with_equal_keys_share_a_column() -> Result<()> {
        let cache = CoordinateCache::default();
        let mut made = 0;
        let mut column = |name: &str, start: u64, inner: usize| {
            let key = BroadcastKey { scan: Some(0), axis: Axis::range(start, start + 2), inner, outer: 1 };
            cache.column(name, key, |key| {
                made += 1;
                Ok(Arc::new(Int64Array::from(vec![key.axis.index(0).unwrap_or(0).cast_signed(); 2])) as ArrayRef)
            })
        };
        let (first, again, other, further) = (column("x", 0, 1)?, column("x", 0, 1)?, column("y", 0, 1)?, column("x", 2, 1)?);
        let wider = column("x", 2, 3)?;
        assert!(Arc::ptr_eq(&first, &again) && !Arc::ptr_eq(&first, &other) && !Arc::ptr_eq(&further, &wider));
        assert_ne!(first.as_ref(), further.as_ref());
        assert_eq!(made, 4);
        Ok(())
    }

    #[test]
    fn an_axis_beyond_the_coordinates_is_internal() -> Result<()> {
        let session = Session::new(hyperslab_reader::SessionOptions::default())?;
        let values: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
        assert!(broadcast(&session, &values, &Axis::range(1, 3), 2, 2)?.is_some());
        let beyond = broadcast(&session, &values, &Axis::range(1, 4), 2, 2);
        assert!(beyond.is_err_and(|error| error.kind() == hyperslab_array::ErrorKind::Internal));
        Ok(())
    }
}
