//! The bytes of `H5Pencode2`: a version, the class of the list, then names with values in a form of their own each, and a zero.

use hyperslab_arrow_container::error::Result;

use super::cursor::Cursor;
use super::datatype::check_datatype;

/// `H5P_ENCODE_VERS`.
const VERSION: u8 = 0;
/// Maximum number of filters in a list.
const MAX_FILTERS: u64 = 32;
/// Bytes of a filter's name.
const FILTER_NAME_BYTES: usize = 12;
/// Maximum number of dimensions.
const MAX_DIMENSIONS: u8 = 32;
/// Number of kinds of shared messages, and of bytes of the numbers in their lists.
const SHARED_KINDS: usize = 8;

/// The classes of property lists in a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListClass {
    File,
    Dataset,
    Group,
    Datatype,
}

impl ListClass {
    /// Its number in encoded lists.
    fn number(self) -> u8 {
        match self {
            Self::File => 3,
            Self::Dataset => 5,
            Self::Group => 9,
            Self::Datatype => 11,
        }
    }

    /// The name of the variable in which HDF5 keeps the class.
    pub fn global(self) -> &'static std::ffi::CStr {
        match self {
            Self::File => c"H5P_CLS_FILE_CREATE_ID_g",
            Self::Dataset => c"H5P_CLS_DATASET_CREATE_ID_g",
            Self::Group => c"H5P_CLS_GROUP_CREATE_ID_g",
            Self::Datatype => c"H5P_CLS_DATATYPE_CREATE_ID_g",
        }
    }

    fn has_links(self) -> bool {
        matches!(self, Self::File | Self::Group)
    }
}

/// Checks the bytes of a list of this class. A fill value must not have addresses, which would be another process's.
pub(crate) fn check_properties(bytes: &[u8], class: ListClass) -> Result<()> {
    let mut cursor = Cursor::new(bytes, "a property list");
    let (version, number) = (cursor.u8()?, cursor.u8()?);
    cursor.require(version == VERSION, "its version is unknown")?;
    cursor.require(number == class.number(), "it is of another class")?;
    let mut seen = Vec::new();
    loop {
        let name = cursor.text()?;
        if name.is_empty() {
            return cursor.end();
        }
        cursor.require(!seen.contains(&name), "a property occurs twice")?;
        seen.push(name);
        if !value(&mut cursor, class, name)? {
            return Err(cursor.bad(format_args!("the property '{}' is unknown", String::from_utf8_lossy(name))));
        }
    }
}

/// Checks the value of a property. `false` if lists of this class have no such property.
fn value(cursor: &mut Cursor<'_>, class: ListClass, name: &[u8]) -> Result<bool> {
    let is_dataset = class == ListClass::Dataset;
    let is_file = class == ListClass::File;
    match name {
        b"object header flags" => at_most(cursor, 1, 0x3f)?,
        b"max compact attr" | b"min dense attr" => unsigned(cursor, 0xffff)?,
        b"pline" => filters(cursor)?,
        b"layout" if is_dataset => layout(cursor)?,
        b"fill_value" if is_dataset => fill_value(cursor)?,
        b"alloc_time_state" if is_dataset => unsigned(cursor, 1)?,
        b"dset_oh_minimize" if is_dataset => at_most(cursor, 1, 1)?,
        b"efl" if is_dataset => {
            let files = cursor.sized()?;
            cursor.require(files == 0, "external files")?;
        }
        b"link info" if class.has_links() => unsigned(cursor, 3)?,
        b"group info" if class.has_links() => drop(cursor.take(12)?),
        b"block_size" if is_file => {
            let bytes = cursor.sized()?;
            cursor.require(bytes == 0 || bytes.is_power_of_two() && (512..1 << 40).contains(&bytes), "the size of a user block")?;
        }
        b"addr_byte_num" | b"obj_byte_num" if is_file => {
            let bytes = cursor.u8()?;
            cursor.require(matches!(bytes, 2 | 4 | 8), "the size of addresses or lengths")?;
        }
        b"symbol_leaf" if is_file => unsigned_from(cursor, 1, 0x7fff)?,
        b"btree_rank" if is_file => unsigned_list(cursor, 2, 1, 0x7fff)?,
        b"num_shmsg_indexes" if is_file => unsigned(cursor, SHARED_KINDS as u64)?,
        b"shmsg_message_types" if is_file => unsigned_list(cursor, SHARED_KINDS, 0, 0x1f)?,
        b"shmsg_message_minsize" if is_file => unsigned_list(cursor, SHARED_KINDS, 0, u32::MAX.into())?,
        b"shmsg_list_max" | b"shmsg_btree_min" if is_file => unsigned(cursor, 5000)?,
        b"file_space_strategy" if is_file => at_most(cursor, 1, 3)?,
        b"free_space_persist" if is_file => at_most(cursor, 1, 1)?,
        b"free_space_threshold" if is_file => drop(cursor.sized()?),
        b"file_space_page_size" if is_file => {
            let bytes = cursor.sized()?;
            cursor.require((512..=1 << 30).contains(&bytes), "the size of pages")?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn at_most(cursor: &mut Cursor<'_>, bytes: usize, max: u64) -> Result<()> {
    let number = cursor.uint(bytes)?;
    cursor.require(number <= max, "a number is out of range")
}

/// A number of C's type `unsigned`, after the number of its bytes.
fn unsigned(cursor: &mut Cursor<'_>, max: u64) -> Result<()> {
    unsigned_list(cursor, 1, 0, max)
}

fn unsigned_from(cursor: &mut Cursor<'_>, min: u64, max: u64) -> Result<()> {
    unsigned_list(cursor, 1, min, max)
}

fn unsigned_list(cursor: &mut Cursor<'_>, count: usize, min: u64, max: u64) -> Result<()> {
    let bytes = cursor.u8()?;
    cursor.require(bytes == 4, "a number of another size")?;
    for _ in 0..count {
        let number = cursor.uint(4)?;
        cursor.require((min..=max).contains(&number), "a number is out of range")?;
    }
    Ok(())
}

fn layout(cursor: &mut Cursor<'_>) -> Result<()> {
    match cursor.u8()? {
        // Compact, contiguous.
        0 | 1 => Ok(()),
        2 => {
            let ndim = cursor.u8()?;
            cursor.require((1..=MAX_DIMENSIONS).contains(&ndim), "chunks have no dimensions, or too many")?;
            for _ in 0..ndim {
                let extent = cursor.uint(4)?;
                cursor.require(extent > 0, "a chunk is empty")?;
            }
            Ok(())
        }
        _ => Err(cursor.bad("the layout is unknown")),
    }
}

fn filters(cursor: &mut Cursor<'_>) -> Result<()> {
    let bytes = cursor.u8()?;
    cursor.require(bytes == 4, "a number of another size")?;
    let count = cursor.sized()?;
    cursor.require(count <= MAX_FILTERS, "too many filters")?;
    for _ in 0..count {
        let number = cursor.uint(4)?;
        cursor.require((1..=0xffff).contains(&number), "the number of a filter is out of range")?;
        at_most(cursor, 4, 0xffff)?;
        if cursor.u8()? != 0 {
            let name = cursor.take(FILTER_NAME_BYTES)?;
            cursor.require(name.contains(&0), "the name of a filter does not end")?;
        }
        let values = cursor.sized()?;
        cursor.require(values <= 0xffff, "a filter has too many values")?;
        cursor.take(4 * values as usize)?;
    }
    Ok(())
}

fn fill_value(cursor: &mut Cursor<'_>) -> Result<()> {
    at_most(cursor, 1, 3)?;
    at_most(cursor, 1, 2)?;
    let bytes = cursor.uint(8)?;
    // None, or the default one.
    if bytes == 0 || bytes == u64::MAX {
        return Ok(());
    }
    let length = usize::try_from(bytes).map_err(|_| cursor.bad("a fill value has too many bytes"))?;
    cursor.take(length)?;
    let length = usize::try_from(cursor.sized()?).map_err(|_| cursor.bad("a datatype has too many bytes"))?;
    let element = check_datatype(cursor.take(length)?)?;
    cursor.require(element.bytes == bytes, "a fill value has another size than its datatype")?;
    cursor.require(!element.has_addresses, "a fill value with addresses")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &[u8] = b"pline\0\x04\x01\0min dense attr\0\x04\x06\0\0\0max compact attr\0\x04\x08\0\0\0object header flags\0 \0";
    const FILL: &[u8] = b"fill_value\0\x03\x02\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\x0c@\x01\x16\x03\0\x11 ?\0\x08\0\0\0\0\0@\x004\x0b\x004\xff\x03\0\0";

    fn dataset(parts: &[&[u8]]) -> Vec<u8> {
        [b"\0\x05"].iter().flat_map(|head| head.iter().copied()).chain(parts.iter().flat_map(|part| part.iter().copied())).collect()
    }

    fn sample() -> Vec<u8> {
        let layout = b"layout\0\x02\x02\x0a\0\0\0\x14\0\0\0efl\0\x01\0dset_oh_minimize\0\0alloc_time_state\0\x04\x01\0\0\0";
        dataset(&[layout, FILL, OBJECT])
    }

    #[test]
    fn lists_as_hdf5_encodes_them_pass() -> Result<()> {
        check_properties(&sample(), ListClass::Dataset)?;
        let group: &[u8] = b"link info\0\x04\x03\0\0\0group info\0\0\0\0\0\x08\0\x06\0\x04\0\x08\0";
        check_properties(&[b"\0\x09", group, OBJECT].concat(), ListClass::Group)?;
        check_properties(&[b"\0\x0b", OBJECT].concat(), ListClass::Datatype)?;
        let file = b"file_space_strategy\0\x01block_size\0\x02\0\x02free_space_persist\0\x01free_space_threshold\0\x01\x05btree_rank\0\x04\x10\0\0\0 \0\0\0symbol_leaf\0\x04\x04\0\0\0file_space_page_size\0\x02\0\x10obj_byte_num\0\x08addr_byte_num\0\x08shmsg_btree_min\0\x04(\0\0\0shmsg_list_max\0\x042\0\0\0num_shmsg_indexes\0\x04\0\0\0\0";
        check_properties(&[b"\0\x03", &file[..], group, OBJECT].concat(), ListClass::File)
    }

    #[test]
    fn a_list_of_another_class_or_length_is_refused() {
        let bytes = sample();
        for class in [ListClass::File, ListClass::Group, ListClass::Datatype] {
            assert!(check_properties(&bytes, class).is_err());
        }
        for length in 0..bytes.len() {
            assert!(check_properties(&bytes[..length], ListClass::Dataset).is_err(), "{length}");
        }
        assert!(check_properties(&[&bytes[..], &[0]].concat(), ListClass::Dataset).is_err());
    }

    #[test]
    fn a_fill_value_is_as_long_as_its_datatype_and_has_no_addresses() {
        let with = |from: &[u8], to: &[u8]| {
            let at = FILL.windows(from.len()).position(|part| part == from).unwrap_or_default();
            let changed = [&FILL[..at], to, &FILL[at + from.len()..]].concat();
            check_properties(&dataset(&[&changed, OBJECT]), ListClass::Dataset)
        };
        assert!(with(b"\x08\0\0\0\0\0\0\0\0", b"\x08\0\0\0\0\0\0\0\0").is_ok());
        for size in [1u64 << 31, 7, 9, 1 << 63] {
            assert!(with(b"\x08\0\0\0\0\0\0\0", &size.to_le_bytes()).is_err(), "{size}");
        }
        let text: &[u8] = b"\x16\x03\0\x19\x01\x01\0\x08\0\0\0\x10\0\0\0\x01\0\0\0\0\0\x08\0";
        let addresses = [&FILL[..21 + 8], b"\x01", text].concat();
        assert!(check_properties(&dataset(&[&addresses, OBJECT]), ListClass::Dataset).is_err());
    }
}
