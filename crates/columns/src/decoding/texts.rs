//! Texts: arrays of single characters whose last dimension is the length of texts (CF 2.2), in languages and formats without longer ones.

use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use hyperslab_array::{Datatype, Error, HeapObjects, Result, StringPadding};

use super::{Conventions, Decoding, Kind};

/// Whether values are single characters.
pub fn is_character(datatype: &Datatype) -> bool {
    matches!(datatype, Datatype::FixedString { size: 1, .. })
}

impl Decoding {
    /// The decoding of an array of characters as texts along its last dimension; `None` if it is another array, or that dimension is more
    /// than a length.
    ///
    /// `is_length` finds out whether the last dimension has a name, but no coordinate, and no variable of another type.
    ///
    /// # Errors
    /// Those of `is_length`.
    pub fn of_characters<E>(
        datatype: &Datatype,
        shape: &[u64],
        conventions: Conventions,
        is_length: impl FnOnce() -> Result<bool, E>,
    ) -> Result<Option<Self>, E> {
        let (Datatype::FixedString { character_set, .. }, Some(length @ 1..)) = (datatype, shape.last()) else { return Ok(None) };
        if conventions != Conventions::Netcdf || !is_character(datatype) || !is_length()? {
            return Ok(None);
        }
        Ok(Some(Self::of_kind(DataType::Utf8, Kind::Text { length: *length, character_set: *character_set }, None)))
    }

    /// The datatype of texts, each of as many characters as the last dimension has.
    pub fn text(&self) -> Option<Datatype> {
        let Kind::Text { length, character_set } = self.kind else { return None };
        // Spaces may be a part of a text, as in xarray.
        Some(Datatype::FixedString { size: length, padding: StringPadding::NullPadded, character_set })
    }

    /// Calls `each` with the texts of stored characters, without trailing NULs.
    ///
    /// # Errors
    /// `InvalidInput` if these are no texts; `Corrupt` for characters that are not of their encoding.
    pub fn decode_texts(&self, stored: &[u8], each: impl FnMut(&str)) -> Result<()> {
        let datatype = self.text().ok_or_else(|| Error::invalid_input("values that are no characters"))?;
        let texts = crate::convert::convert(&datatype, stored, &HeapObjects::default())?;
        texts.as_string::<i32>().iter().flatten().for_each(each);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyperslab_array::CharacterSet;

    #[test]
    fn characters_are_texts_along_a_dimension_that_is_a_length() {
        let characters = |size| Datatype::FixedString { size, padding: StringPadding::NullPadded, character_set: CharacterSet::Ascii };
        let find = |size, shape: &[u64], conventions, is_length| {
            Decoding::of_characters(&characters(size), shape, conventions, || Ok::<_, Error>(is_length)).ok().flatten()
        };
        let Some(decoding) = find(1, &[2, 3], Conventions::Netcdf, true) else { unreachable!("characters") };
        let mut texts = Vec::new();
        assert!(decoding.decode_texts(b"a \0b \xe9", |text| texts.push(text.to_owned())).is_ok());
        assert_eq!(texts, ["a ", "b é"]);
        assert!(decoding.decode_into(hyperslab_array::ByteOrder::Little, b"abc", &mut [0; 3]).is_err());
        assert_eq!(find(2, &[2, 3], Conventions::Netcdf, true), None, "longer texts");
        assert_eq!(find(1, &[2, 3], Conventions::Netcdf, false), None, "a dimension of other variables");
        assert_eq!(find(1, &[2, 3], Conventions::Attributes, true), None, "not netCDF");
        assert_eq!(find(1, &[2, 0], Conventions::Netcdf, true), None, "no length");
        assert_eq!(find(1, &[], Conventions::Netcdf, true), None, "one character");
    }
}
