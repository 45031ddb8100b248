//! Spread: the values along one dimension as a column of cells, without any work a row.

use arrow_array::{Array, ArrayRef, make_array};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use hyperslab_array::{Axis, Error, Result};

use crate::Session;

/// For each cell of a box its value along one dimension, for values that are plain numbers without nulls;
/// `None` for others. `axis` picks from `values`; `inner` cells follow with the same index, and all of that
/// comes `outer` times.
pub(super) fn spread(session: &Session, values: &ArrayRef, axis: &Axis, inner: usize, outer: usize) -> Result<Option<ArrayRef>> {
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
