//! Bands: contiguous parts of the output that share no chunk, so that threads can fill them without a lock.

use std::collections::BTreeMap;

use hyperslab_array::{Error, Result, Selection};
use hyperslab_formats::{ChunkLocation, Dataset};

/// A contiguous part of the output.
pub(super) struct OutputPart<'a> {
    pub out: &'a mut [u8],
    /// Position in the selection where it begins, and its extent.
    pub origin: Vec<u64>,
    pub shape: Vec<u64>,
}

/// A part of the output and the chunks that overlap it. Each chunk is in one band only.
pub(super) struct Band<'a> {
    pub part: OutputPart<'a>,
    pub chunks: Vec<&'a ChunkLocation>,
}

impl<'a> OutputPart<'a> {
    /// Splits it along its slowest dimension into at most `count` parts of about equal size.
    pub fn split(self, count: usize) -> Vec<OutputPart<'a>> {
        let Some((cut, extent)) = self.shape.iter().copied().enumerate().find(|(_, extent)| *extent > 1) else {
            return vec![self];
        };
        let rows = extent.div_ceil(count.max(1) as u64);
        let row_bytes = self.out.len() / usize::try_from(extent).unwrap_or(usize::MAX);
        let step = row_bytes.saturating_mul(usize::try_from(rows).unwrap_or(usize::MAX));
        let part = |(index, out): (u64, &'a mut [u8])| {
            let first = index * rows;
            let origin = self.origin.iter().enumerate().map(|(axis, at)| if axis == cut { at + first } else { *at }).collect();
            let shape = self.shape.iter().enumerate().map(|(axis, n)| if axis == cut { rows.min(extent - first) } else { *n }).collect();
            OutputPart { out, origin, shape }
        };
        (0..).zip(self.out.chunks_mut(step.max(1))).map(part).collect()
    }
}

/// Splits the output `out` of a `selection` at chunk boundaries of the first dimension with more than one selected index.
pub(super) fn bands<'a>(
    description: &Dataset,
    selection: &Selection,
    chunks: &'a [ChunkLocation],
    mut out: &'a mut [u8],
) -> Result<Vec<Band<'a>>> {
    let shape = selection.shape();
    let Some(cut) = shape.iter().position(|&count| count > 1) else {
        let part = OutputPart { out, origin: vec![0; shape.len()], shape };
        return Ok(vec![Band { part, chunks: chunks.iter().collect() }]);
    };
    let no_cut = || Error::internal("the selection, its chunks and its dataset have different numbers of dimensions");
    let chunk = description.chunk_grid.chunk_shape().get(cut).copied().filter(|chunk| *chunk > 0).ok_or_else(no_cut)?;
    let axis = selection.axes().get(cut).ok_or_else(no_cut)?;
    let row_bytes = shape.iter().skip(cut + 1).product::<u64>() * description.datatype.size();
    let mut by_row: BTreeMap<u64, Vec<&ChunkLocation>> = BTreeMap::new();
    for location in chunks {
        let start = location.origin.get(cut).ok_or_else(no_cut)?;
        by_row.entry(start / chunk).or_default().push(location);
    }
    let mut bands = Vec::with_capacity(by_row.len());
    for (row, chunks) in by_row {
        let (first, count) = axis.positions_within(row * chunk, (row + 1).saturating_mul(chunk));
        let length = usize::try_from(count * row_bytes).map_err(|_| Error::internal("a band exceeds memory"))?;
        let (here, rest) = out.split_at_mut_checked(length).ok_or_else(|| Error::internal("bands exceed the output"))?;
        out = rest;
        let origin = (0..shape.len()).map(|axis| if axis == cut { first } else { 0 }).collect();
        let extent = shape.iter().enumerate().map(|(axis, n)| if axis == cut { count } else { *n }).collect();
        bands.push(Band { part: OutputPart { out: here, origin, shape: extent }, chunks });
    }
    Ok(bands)
}
