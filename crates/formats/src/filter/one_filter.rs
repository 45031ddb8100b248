//! One filter of a pipeline, and which code undoes it.

use hyperslab_array::{Datatype, Error, Result};

use super::known::{NAMES, id, is_built_in};
use super::{
    bitshuffle, blosc, blosc2, bzip2, deflate, fletcher32, lz4, lzf, nbit, nbit_encode, registry, scaleoffset, scaleoffset_encode, shuffle, szip, zfp, zstd,
};

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

impl Filter {
    /// The registered name, else the one in the file (less a "filter" at its end), else the number.
    pub fn label(&self) -> String {
        let registered = NAMES.iter().find(|(id, _)| *id == self.id).map(|(_, name)| (*name).to_owned());
        let stored = || self.name.as_deref().map(|name| name.trim_end_matches(" filter").to_owned());
        registered.or_else(stored).unwrap_or_else(|| format!("filter-{}", self.id))
    }

    pub(super) fn is_known(&self) -> bool {
        is_built_in(self.id) || registry::find(self.id).is_some()
    }

    /// Whether we can apply it.
    pub fn is_written(&self) -> bool {
        [id::DEFLATE, id::SHUFFLE, id::FLETCHER32, id::SZIP, id::NBIT, id::SCALEOFFSET, id::LZ4, id::LZF, id::BITSHUFFLE, id::ZSTD].contains(&self.id)
    }

    /// Completes the parameters of the filters that need to know what numbers are in a chunk of this shape: the factor of
    /// scale-offset; options and pixels of a block of szip; the layout of an element of n-bit.
    ///
    /// # Errors
    /// `InvalidInput` or `Unsupported` if the filter cannot be applied to such chunks.
    pub fn complete(&mut self, datatype: &Datatype, chunk_shape: &[u64], fill: Option<&[u8]>) -> Result<()> {
        let elements = chunk_shape.iter().fold(1u64, |n, extent| n.saturating_mul(*extent));
        let word = |place: usize| self.parameters.get(place).copied().unwrap_or(0);
        match self.id {
            id::SCALEOFFSET => {
                // Parameters that were completed before have the factor after the scale.
                let factor = word(usize::from(self.parameters.len() > 1));
                self.parameters = scaleoffset_encode::parameters(datatype, factor, elements, fill)?;
            }
            id::SZIP => self.parameters = szip::parameters(datatype, word(0), word(1), chunk_shape)?,
            id::NBIT => self.parameters = nbit_encode::parameters(datatype, elements)?,
            _ => {}
        }
        Ok(())
    }

    /// Applies the filter; the inverse of `decode`.
    pub(super) fn encode(&self, input: &[u8]) -> Result<Vec<u8>> {
        let parameter = |default: u32| self.parameters.first().copied().unwrap_or(default);
        match self.id {
            id::DEFLATE => deflate::encode(input, parameter(6)),
            id::SHUFFLE => Ok(shuffle::encode(input, self.shuffled_bytes()?)),
            id::FLETCHER32 => Ok(fletcher32::encode(input)),
            id::SZIP => szip::encode(input, &self.parameters),
            id::NBIT => nbit_encode::encode(input, &self.parameters),
            id::SCALEOFFSET => scaleoffset_encode::encode(input, &self.parameters),
            id::LZ4 => lz4::encode(input, parameter(0)),
            id::LZF => Ok(lzf::encode(input)),
            id::BITSHUFFLE => bitshuffle::encode(input, &self.parameters),
            id::ZSTD => zstd::encode(input, parameter(3)),
            _ => Err(Error::unsupported(format!("writing with the {} filter (number {})", self.label(), self.id))),
        }
    }

    /// Whether it lacks the parameters that the HDF5 library derives from the datatype: it does so for no values of variable length, and
    /// such a filter then fails whenever it is applied.
    pub(super) fn lacks_parameters(&self) -> bool {
        match self.id {
            id::SHUFFLE => self.shuffled_bytes().is_err(),
            id::SZIP => self.parameters.len() < 4,
            _ => false,
        }
    }

    /// Bytes of an element of the shuffle filter, its only parameter.
    fn shuffled_bytes(&self) -> Result<usize> {
        let bytes = self.parameters.first().and_then(|bytes| usize::try_from(*bytes).ok()).filter(|bytes| *bytes > 0);
        bytes.ok_or_else(|| Error::corrupt("a shuffle filter without the size of its elements"))
    }

    /// Undoes one filter: at most `max_bytes` bytes take the place of what was in `out`.
    pub(super) fn decode(&self, input: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
        // These write all over old bytes, which then need not become zeros first.
        const OVERWRITING: [u16; 9] = [id::DEFLATE, id::SHUFFLE, id::SCALEOFFSET, id::LZF, id::BLOSC, id::LZ4, id::BITSHUFFLE, id::ZFP, id::ZSTD];
        if !OVERWRITING.contains(&self.id) {
            out.clear();
        }
        match self.id {
            id::DEFLATE => deflate::decode(input, max_bytes, out),
            id::SHUFFLE => shuffle::decode(input, self.shuffled_bytes()?, out),
            id::FLETCHER32 => fletcher32::decode(input, out),
            id::SZIP => szip::decode(input, &self.parameters, max_bytes, out),
            id::NBIT => nbit::decode(input, &self.parameters, max_bytes, out),
            id::SCALEOFFSET => scaleoffset::decode(input, &self.parameters, max_bytes, out),
            id::BZIP2 => bzip2::decode(input, max_bytes, out),
            id::LZF => lzf::decode(input, max_bytes, out),
            id::BLOSC => blosc::decode(input, max_bytes, out),
            id::LZ4 => lz4::decode(input, max_bytes, out),
            id::BITSHUFFLE => bitshuffle::decode(input, &self.parameters, max_bytes, out),
            id::ZFP => zfp::decode(input, &self.parameters, max_bytes, out),
            id::ZSTD => zstd::decode(input, max_bytes, out),
            id::BITGROOM | id::GRANULAR_BITROUND if input.len() > max_bytes => {
                Err(Error::corrupt(format!("{} bytes where at most {max_bytes} belong", input.len())))
            }
            id::BITGROOM | id::GRANULAR_BITROUND => {
                out.extend_from_slice(input);
                Ok(())
            }
            id::BLOSC2 => blosc2::decode(input, max_bytes, out),
            _ => match registry::find(self.id) {
                Some(decoder) => {
                    *out = decoder.decode(&self.parameters, input, max_bytes)?;
                    if out.len() > max_bytes {
                        return Err(Error::corrupt(format!("{} bytes where at most {max_bytes} belong", out.len())));
                    }
                    Ok(())
                }
                None => Err(Error::unsupported(format!("{} filter (number {})", self.label(), self.id))),
            },
        }
    }
}
