//! Creation property lists: the bytes of `H5Pencode2`, which are a version, the class of the list, then names, each with a value in
//! a form of its own, and a zero.

use hyperslab_array::{Error, Result};
use hyperslab_formats::filter::{Filter, Pipeline};
use hyperslab_formats::{AllocationTime, FillTime};

/// The version of the encoding, and the class of dataset creation property lists.
const HEAD: [u8; 2] = [0, 5];
/// Bytes of a filter's name.
const FILTER_NAME_BYTES: usize = 12;
const MAX_FILTERS: u64 = 32;

/// What the program asked for when it created a dataset.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Properties {
    /// The chunk shape. The container stores no chunks.
    pub chunk_shape: Option<Vec<u64>>,
    /// The filters, which the container does not apply.
    pub filters: Pipeline,
    /// One element as it is in memory, if it holds no addresses.
    pub fill_value: Option<Vec<u8>>,
    pub is_fill_undefined: bool,
    pub fill_time: FillTime,
    pub allocation: Option<AllocationTime>,
    /// Whether the values were to be in the object's header.
    pub is_compact: bool,
}

/// Parses the creation property list of a dataset; no bytes are the default list.
///
/// # Errors
/// `Corrupt` or `Unsupported` if it cannot be parsed.
pub(crate) fn parse(encoded: &[u8]) -> Result<Properties> {
    let mut properties = Properties::default();
    if encoded.is_empty() {
        return Ok(properties);
    }
    let mut list = List { rest: encoded };
    if list.take(2)? != HEAD {
        return Err(Error::corrupt("an encoded property list of another version or class"));
    }
    loop {
        let name = list.name()?;
        match name {
            b"" => return Ok(properties),
            b"layout" => (properties.chunk_shape, properties.is_compact) = list.layout()?,
            b"pline" => properties.filters = list.filters()?,
            b"fill_value" => list.fill_value(&mut properties)?,
            b"object header flags" | b"dset_oh_minimize" => drop(list.take(1)?),
            b"max compact attr" | b"min dense attr" | b"alloc_time_state" => drop(list.unsigned()?),
            // The number of external files, which containers do not have.
            b"efl" => {
                if list.sized()? != 0 {
                    return Err(Error::unsupported("external raw data files in a container"));
                }
            }
            _ => return Err(Error::unsupported(format!("the property {:?} in a container", String::from_utf8_lossy(name)))),
        }
    }
}

struct List<'a> {
    rest: &'a [u8],
}

impl<'a> List<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(|| Error::corrupt("an encoded property list that ends too early"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn name(&mut self) -> Result<&'a [u8]> {
        let length = self.rest.iter().position(|byte| *byte == 0).ok_or_else(|| Error::corrupt("a name in an encoded property list that does not end"))?;
        let name = self.take(length)?;
        self.take(1)?;
        Ok(name)
    }

    fn number(&mut self, bytes: usize) -> Result<u64> {
        Ok(self.take(bytes)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// A number after a byte that says how many bytes it has.
    fn sized(&mut self) -> Result<u64> {
        let bytes = self.number(1)?;
        if bytes > 8 {
            return Err(Error::corrupt(format!("a number of {bytes} bytes in an encoded property list")));
        }
        self.number(bytes as usize)
    }

    /// A number of C's type `unsigned`.
    fn unsigned(&mut self) -> Result<u64> {
        self.sized()
    }

    /// The chunk shape, and whether the layout is compact.
    fn layout(&mut self) -> Result<(Option<Vec<u64>>, bool)> {
        match self.number(1)? {
            0 => Ok((None, true)),
            1 => Ok((None, false)),
            2 => {
                let ndim = self.number(1)?;
                (0..ndim).map(|_| self.number(4)).collect::<Result<Vec<_>>>().map(|shape| (Some(shape), false))
            }
            class => Err(Error::unsupported(format!("the layout {class} in a container"))),
        }
    }

    fn filters(&mut self) -> Result<Pipeline> {
        self.take(1)?;
        let count = self.sized()?;
        if count > MAX_FILTERS {
            return Err(Error::corrupt(format!("{count} filters")));
        }
        let mut filters = Vec::new();
        for _ in 0..count {
            let id = self.number(4)?;
            let optional = self.number(4)? & 1 != 0;
            let mut name = None;
            if self.number(1)? != 0 {
                let text = self.take(FILTER_NAME_BYTES)?;
                name = Some(String::from_utf8_lossy(text.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned());
            }
            let values = usize::try_from(self.sized()?).map_err(|_| Error::corrupt("a filter with too many values"))?;
            let parameters = self.take(values.saturating_mul(4))?.chunks_exact(4).map(|word| word.iter().rev().fold(0, |n, byte| n << 8 | u32::from(*byte)));
            let parameters = parameters.collect();
            let id = u16::try_from(id).map_err(|_| Error::corrupt(format!("filter number {id}")))?;
            filters.push(Filter { id, name, optional, parameters });
        }
        Ok(Pipeline { filters })
    }

    fn fill_value(&mut self, properties: &mut Properties) -> Result<()> {
        properties.allocation = match self.number(1)? {
            1 => Some(AllocationTime::Early),
            2 => Some(AllocationTime::Late),
            3 => Some(AllocationTime::Incremental),
            _ => None,
        };
        properties.fill_time = match self.number(1)? {
            0 => FillTime::Alloc,
            1 => FillTime::Never,
            _ => FillTime::IfSet,
        };
        let bytes = self.number(8)?;
        // None, or the default one.
        properties.is_fill_undefined = bytes == u64::MAX;
        if bytes == 0 || bytes == u64::MAX {
            return Ok(());
        }
        let value = self.take(usize::try_from(bytes).unwrap_or(usize::MAX))?.to_vec();
        let datatype_bytes = self.sized()?;
        self.take(usize::try_from(datatype_bytes).unwrap_or(usize::MAX))?;
        properties.fill_value = Some(value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &[u8] = b"pline\0\x04\x01\0min dense attr\0\x04\x06\0\0\0max compact attr\0\x04\x08\0\0\0object header flags\0 \0";
    const FILL: &[u8] = b"fill_value\0\x03\x02\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\x0c@\x01\x16\x03\0\x11 ?\0\x08\0\0\0\0\0@\x004\x0b\x004\xff\x03\0\0";

    #[test]
    fn chunks_and_the_fill_value_are_found() -> Result<()> {
        let layout = b"\0\x05layout\0\x02\x02\x0a\0\0\0\x14\0\0\0efl\0\x01\0dset_oh_minimize\0\0alloc_time_state\0\x04\x01\0\0\0";
        let encoded = [&layout[..], FILL, OBJECT].concat();
        let found = parse(&encoded)?;
        assert_eq!(found.chunk_shape, Some(vec![10, 20]));
        assert_eq!(found.fill_value, Some(3.5f64.to_le_bytes().to_vec()));
        assert_eq!(found.fill_time, FillTime::IfSet);
        for length in 1..encoded.len() {
            assert!(parse(&encoded[..length]).is_err(), "{length}");
        }
        assert_eq!(parse(b"")?, Properties::default());
        Ok(())
    }
}
