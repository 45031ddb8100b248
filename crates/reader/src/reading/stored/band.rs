//! Bands: contiguous parts of the output that share no chunk, so that threads can fill them without a lock.

use std::collections::BTreeMap;

use hyperslab_array::{Error, Region, Result, Selection};
use hyperslab_formats::{ChunkLocation, Dataset};

/// A contiguous part of the output.
pub(super) struct OutputPart<'a> {
    pub out: &'a mut [u8],
    /// The positions in the selection that it holds.
    pub region: Region,
}

/// A part of the output and the chunks that overlap it. Each chunk is in one band only.
pub(super) struct Band<'a> {
    pub part: OutputPart<'a>,
    pub chunks: Vec<&'a ChunkLocation>,
}

impl<'a> OutputPart<'a> {
    /// Splits it along its slowest dimension into at most `count` parts of about equal size.
    pub fn split(self, count: usize) -> Vec<OutputPart<'a>> {
        let Some((cut, extent)) = self.region.count.iter().copied().enumerate().find(|(_, extent)| *extent > 1) else {
            return vec![self];
        };
        let rows = extent.div_ceil(count.max(1) as u64);
        let row_bytes = self.out.len() / usize::try_from(extent).unwrap_or(usize::MAX);
        let step = row_bytes.saturating_mul(usize::try_from(rows).unwrap_or(usize::MAX));
        let part = |(index, out): (u64, &'a mut [u8])| {
            let first = index * rows;
            let dimension = |(axis, (start, count))| if axis == cut { (start + first, rows.min(extent - first)) } else { (start, count) };
            let (start, count) = self.region.dimensions().enumerate().map(dimension).unzip();
            OutputPart { out, region: Region { start, count } }
        };
        (0..).zip(self.out.chunks_mut(step.max(1))).map(part).collect()
    }
}

/// Splits the output `out` of a `selection` at chunk boundaries of the first dimension with more than one selected index.
pub(super) fn bands<'a>(description: &Dataset, selection: &Selection, chunks: &'a [ChunkLocation], mut out: &'a mut [u8]) -> Result<Vec<Band<'a>>> {
    let shape = selection.shape();
    let cut = if chunks.len() == 1 { None } else { shape.iter().position(|&count| count > 1) };
    let Some(cut) = cut else {
        let part = OutputPart { out, region: Region::all(&shape) };
        return Ok(vec![Band { part, chunks: chunks.iter().collect() }]);
    };
    let no_cut = || Error::internal("the selection, its chunks and its dataset have different numbers of dimensions");
    let chunk = description.chunk_grid.chunk_shape().get(cut).copied().filter(|chunk| *chunk > 0).ok_or_else(no_cut)?;
    let axis = selection.axes().get(cut).ok_or_else(no_cut)?;
    let row_bytes = shape.iter().skip(cut + 1).product::<u64>() * description.datatype.size();
    let mut by_row: BTreeMap<u64, Vec<&ChunkLocation>> = BTreeMap::new();
    for location in chunks {
        let start = location.region.start.get(cut).ok_or_else(no_cut)?;
        by_row.entry(start / chunk).or_default().push(location);
    }
    let mut bands = Vec::with_capacity(by_row.len());
    let mut next = 0;
    for (row, chunks) in by_row {
        let (first, count) = axis.positions_within(row * chunk, (row + 1).saturating_mul(chunk));
        let length = |rows: u64| usize::try_from(rows * row_bytes).map_err(|_| Error::internal("a band exceeds memory"));
        // Chunks of the rows between were read in another way.
        let (_, from) = out.split_at_mut_checked(length(first.saturating_sub(next))?).ok_or_else(|| Error::internal("bands exceed the output"))?;
        let (here, rest) = from.split_at_mut_checked(length(count)?).ok_or_else(|| Error::internal("bands exceed the output"))?;
        (out, next) = (rest, first + count);
        let dimension = |(axis, extent): (usize, &u64)| if axis == cut { (first, count) } else { (0, *extent) };
        let (start, count) = shape.iter().enumerate().map(dimension).unzip();
        bands.push(Band { part: OutputPart { out: here, region: Region { start, count } }, chunks });
    }
    Ok(bands)
}
