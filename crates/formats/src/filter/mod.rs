//! The filter pipeline (specification IV.A.2.l): one file a codec.
//!
//! A codec computes from bytes to bytes and is bounded by the size that its result must or may
//! have, so that a small hostile chunk cannot ask for a large buffer.

mod aec;
mod bit_planes;
mod bits;
mod bitshuffle;
mod block;
mod blosc;
mod blosc2;
mod blosc2_chunk;
mod blosc2_tiles;
mod blosclz;
mod bzip2;
mod deflate;
mod fletcher32;
mod lz4;
mod lzf;
mod nbit;
mod registry;
mod scaleoffset;
mod shuffle;
mod szip;
mod zstd;

pub use registry::{Decoder, register, unregister};

use std::ops::RangeInclusive;

use hyperslab_array::{Arrangement, ChunkBuffer, Error, Result};

use crate::FilterDescription;

/// One filter of a pipeline, as the filter pipeline message stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Registered number.
    pub id: u16,
    /// Name in the message, if any.
    pub name: Option<String>,
    /// Flag bit 0: a writer may have skipped it.
    pub optional: bool,
    /// Client data.
    pub parameters: Vec<u32>,
}

/// The filters of a dataset, in order of application on write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pipeline {
    /// The filters.
    pub filters: Vec<Filter>,
}

/// Registered numbers of the filters that we undo.
mod id {
    pub const DEFLATE: u16 = 1;
    pub const SHUFFLE: u16 = 2;
    pub const FLETCHER32: u16 = 3;
    pub const SZIP: u16 = 4;
    pub const NBIT: u16 = 5;
    pub const SCALEOFFSET: u16 = 6;
    pub const BZIP2: u16 = 307;
    pub const LZF: u16 = 32000;
    pub const BLOSC: u16 = 32001;
    pub const LZ4: u16 = 32004;
    pub const BITSHUFFLE: u16 = 32008;
    pub const ZSTD: u16 = 32015;
    pub const BLOSC2: u16 = 32026;
}

/// Names of registered filters, for people and for refusals.
const NAMES: [(u16, &str); 38] = [
    (id::DEFLATE, "deflate"),
    (id::SHUFFLE, "shuffle"),
    (id::FLETCHER32, "fletcher32"),
    (id::SZIP, "szip"),
    (id::NBIT, "nbit"),
    (id::SCALEOFFSET, "scaleoffset"),
    (305, "lzo"),
    (id::BZIP2, "bzip2"),
    (id::LZF, "lzf"),
    (id::BLOSC, "blosc"),
    (32002, "mafisc"),
    (32003, "snappy"),
    (id::LZ4, "lz4"),
    (32006, "cbf"),
    (32007, "jpeg-xr"),
    (id::BITSHUFFLE, "bitshuffle"),
    (32009, "spdp"),
    (32010, "lpc-rice"),
    (32011, "ccsds-123"),
    (32012, "jpeg-ls"),
    (32013, "zfp"),
    (32014, "fpzip"),
    (id::ZSTD, "zstd"),
    (32016, "b3d"),
    (32017, "sz"),
    (32018, "fcidecomp"),
    (32019, "jpeg"),
    (32020, "vbz"),
    (32021, "fapec"),
    (32022, "bitgroom"),
    (32023, "granular-bitround"),
    (32024, "sz3"),
    (32025, "delta-rice"),
    (id::BLOSC2, "blosc2"),
    (32027, "flac"),
    (32028, "sperr"),
    (32029, "terse-prolix"),
    (32030, "ffmpeg"),
];

/// What bytes after the last filter but one may be longer than the chunk: checksums and headers.
const SLACK_BYTES: usize = 64 << 10;

impl Filter {
    /// The registered name, else the one in the file (less a "filter" at its end), else the number.
    fn label(&self) -> String {
        let registered = NAMES.iter().find(|(id, _)| *id == self.id).map(|(_, name)| (*name).to_owned());
        let stored = || self.name.as_deref().map(|name| name.trim_end_matches(" filter").to_owned());
        registered.or_else(stored).unwrap_or_else(|| format!("filter-{}", self.id))
    }
    fn is_known(&self) -> bool {
        is_built_in(self.id) || registry::find(self.id).is_some()
    }
}

/// Whether this crate decodes the filter itself.
fn is_built_in(id: u16) -> bool {
    matches!(
        id,
            id::DEFLATE
                | id::SHUFFLE
                | id::FLETCHER32
                | id::SZIP
                | id::NBIT
                | id::SCALEOFFSET
                | id::BZIP2
                | id::LZF
                | id::BLOSC
                | id::LZ4
                | id::BITSHUFFLE
                | id::ZSTD
                | id::BLOSC2
    )
}

impl Pipeline {
    /// Why this pipeline cannot be decoded (names the filter), or `None`. An unknown optional filter
    /// counts too: chunks that skipped it would read, the others would not.
    pub fn refusal(&self) -> Option<Error> {
        let unknown = self.filters.iter().find(|filter| !filter.is_known())?;
        Some(Error::unsupported(format!("{} filter (number {})", unknown.label(), unknown.id)))
    }

    /// Whether every filter that cannot be decoded is skipped in a chunk with this mask.
    pub fn skips_unknown(&self, filter_mask: u32) -> bool {
        let unknown = self.filters.iter().enumerate().filter(|(_, filter)| !filter.is_known());
        unknown.into_iter().all(|(number, _)| number < 32 && filter_mask & (1 << number) != 0)
    }

    /// The filters for people.
    pub fn describe(&self) -> Vec<FilterDescription> {
        let describe = |filter: &Filter| FilterDescription {
            id: filter.id,
            name: filter.label(),
            parameters: filter.parameters.clone(),
        };
        self.filters.iter().map(describe).collect()
    }

    /// Undoes the filters in reverse order, except those whose bit is set in `filter_mask`.
    /// `out` gets exactly `chunk_bytes` bytes.
    pub fn decode(&self, raw: &[u8], filter_mask: u32, chunk_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
        self.undo(&self.applied(filter_mask), raw, chunk_bytes, out)?;
        exactly(out, &(chunk_bytes..=chunk_bytes))
    }

    /// As `decode`, of a chunk whose elements have `element` bytes. It has as many bytes as the end of
    /// `bytes`, of which its start are enough: some writers leave out the end of a chunk that lies outside
    /// of its dataset; zeros follow there. A shuffle that comes first is left to whoever copies the elements.
    pub fn decode_chunk(
        &self,
        raw: &[u8],
        filter_mask: u32,
        bytes: RangeInclusive<usize>,
        element: usize,
        out: &mut ChunkBuffer,
    ) -> Result<()> {
        let mut todo = self.applied(filter_mask);
        out.arrangement = Arrangement::Elements;
        if let Some((_, Filter { id: id::SHUFFLE, parameters, .. })) = todo.last()
            && element > 1
            && parameters.first().is_some_and(|width| usize::try_from(*width) == Ok(element))
        {
            let shuffle = todo.pop();
            self.undo(&todo, raw, *bytes.end(), &mut out.bytes)?;
            if out.bytes.len() == *bytes.end() && out.bytes.len().is_multiple_of(element) {
                out.arrangement = Arrangement::Planes;
                return Ok(());
            }
            // Another number of elements was shuffled than the chunk has.
            let planes = std::mem::take(&mut out.bytes);
            self.undo(shuffle.as_slice(), &planes, *bytes.end(), &mut out.bytes)?;
        } else {
            self.undo(&todo, raw, *bytes.end(), &mut out.bytes)?;
        }
        exactly(&mut out.bytes, &bytes)
    }

    /// The filters that were not skipped, the last one first, with their numbers.
    fn applied(&self, filter_mask: u32) -> Vec<(usize, &Filter)> {
        let applied = |number: &usize| *number >= 32 || filter_mask & (1 << number) == 0;
        self.filters.iter().enumerate().rev().filter(|(number, _)| applied(number)).collect()
    }

    /// Undoes `todo` one after the other; at most `chunk_bytes` are left.
    fn undo(&self, todo: &[(usize, &Filter)], raw: &[u8], chunk_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
        let Some(last) = todo.len().checked_sub(1) else {
            out.clear();
            out.extend_from_slice(raw);
            return Ok(());
        };
        // The bytes go to and fro between two buffers that live as long as their thread: fresh memory
        // costs more than most filters.
        let mut spare = SPARE.take();
        let mut undo = || {
            for (step, (number, filter)) in todo.iter().enumerate() {
                // What is left to undo below may still shrink or grow the bytes a little.
                let most = if step == last { chunk_bytes } else { chunk_bytes.saturating_add(SLACK_BYTES) };
                std::mem::swap(out, &mut spare);
                let input = if step == 0 { raw } else { spare.as_slice() };
                filter.decode(input, most, out).map_err(|error| {
                    Error::new(error.kind(), format!("{} (filter {number}): {}", filter.label(), error.message()))
                })?;
            }
            Ok(())
        };
        let outcome = undo();
        SPARE.set(spare);
        outcome
    }
}

thread_local! {
    static SPARE: std::cell::Cell<Vec<u8>> = const { std::cell::Cell::new(Vec::new()) };
}

/// Fills `out` up with zeros to the end of `bytes`, where it has their start or more.
fn exactly(out: &mut Vec<u8>, bytes: &RangeInclusive<usize>) -> Result<()> {
    let chunk_bytes = *bytes.end();
    if bytes.contains(&out.len()) {
        out.resize(chunk_bytes, 0);
    }
    if out.len() != chunk_bytes {
        return Err(Error::corrupt(format!("a chunk decodes to {} bytes where {chunk_bytes} belong", out.len())));
    }
    Ok(())
}

impl Filter {
    /// Undoes one filter: at most `most` bytes take the place of what was in `out`.
    fn decode(&self, input: &[u8], most: usize, out: &mut Vec<u8>) -> Result<()> {
        // These two write over old bytes without clearing them first.
        if ![id::DEFLATE, id::SHUFFLE].contains(&self.id) {
            out.clear();
        }
        match self.id {
            id::DEFLATE => deflate::decode(input, most, out),
            id::SHUFFLE => {
                let element = self.parameters.first().copied().unwrap_or(1);
                shuffle::decode(input, usize::try_from(element).unwrap_or(1), out);
                Ok(())
            }
            id::FLETCHER32 => fletcher32::decode(input, out),
            id::SZIP => szip::decode(input, &self.parameters, most, out),
            id::NBIT => nbit::decode(input, &self.parameters, most, out),
            id::SCALEOFFSET => scaleoffset::decode(input, &self.parameters, most, out),
            id::BZIP2 => bzip2::decode(input, most, out),
            id::LZF => lzf::decode(input, most, out),
            id::BLOSC => blosc::decode(input, most, out),
            id::LZ4 => lz4::decode(input, most, out),
            id::BITSHUFFLE => bitshuffle::decode(input, &self.parameters, most, out),
            id::ZSTD => zstd::decode(input, most, out),
            id::BLOSC2 => blosc2::decode(input, most, out),
            _ => match registry::find(self.id) {
                Some(decoder) => {
                    *out = decoder.decode(&self.parameters, input, most)?;
                    if out.len() > most {
                        return Err(Error::corrupt(format!("{} bytes where at most {most} belong", out.len())));
                    }
                    Ok(())
                }
                None => Err(Error::unsupported(format!("{} filter (number {})", self.label(), self.id))),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(id: u16, parameters: Vec<u32>) -> Filter {
        Filter { id, name: None, optional: true, parameters }
    }

    #[test]
    fn a_filter_in_the_mask_is_skipped() {
        let pipeline = Pipeline { filters: vec![filter(id::SHUFFLE, vec![2]), filter(id::DEFLATE, vec![4])] };
        let mut out = Vec::new();
        let shuffled = [1, 3, 2, 4];
        assert!(pipeline.decode(&shuffled, 0b10, 4, &mut out).is_ok());
        assert_eq!(out, [1, 2, 3, 4]);
        assert!(pipeline.decode(&shuffled, 0b11, 4, &mut out).is_ok());
        assert_eq!(out, shuffled);
    }

    #[test]
    fn a_chunk_of_another_length_is_corrupt() {
        let pipeline = Pipeline { filters: vec![filter(id::SHUFFLE, vec![2])] };
        assert!(pipeline.decode(&[1, 2, 3], 0, 4, &mut Vec::new()).is_err());
    }

    #[test]
    fn an_unknown_filter_is_refused_by_name_and_number() {
        let pipeline = Pipeline { filters: vec![filter(32017, vec![])] };
        let refusal = pipeline.refusal().map(|e| e.to_string()).unwrap_or_default();
        assert!(refusal.contains("sz filter (number 32017)"), "{refusal}");
    }
}
