//! Flags: names of values, or of bits in them (CF Conventions 3.5).

use hyperslab_array::{Attribute, Result};

use super::Number;
use super::stated::{numbers, texts};

/// A name that values of a variable have.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Flag {
    /// What it says.
    pub meaning: String,
    /// The bits of a value that decide; all of them if it is `None`.
    pub mask: Option<i128>,
    /// What these bits are equal to; if it is `None`, one of them is set.
    pub value: Option<i128>,
}

impl Flag {
    /// Whether a value has this name.
    pub fn is_of(&self, value: i128) -> bool {
        let bits = self.mask.map_or(value, |mask| value & mask);
        self.value.map_or(bits != 0, |expected| bits == expected)
    }
}

/// The flags of a variable; none if its attributes do not have one value, or one mask, for each name.
///
/// # Errors
/// `Corrupt` for attributes that cannot be read.
pub(super) fn flags<'a>(find: &impl Fn(&str) -> Option<&'a Attribute>, sign: impl Fn(Number) -> Number) -> Result<Vec<Flag>> {
    let meanings = match find("flag_meanings").map(texts).unwrap_or_default().as_slice() {
        [list] => list.split_whitespace().map(str::to_owned).collect(),
        names => names.to_vec(),
    };
    if meanings.is_empty() {
        return Ok(Vec::new());
    }
    let of_each = |name: &str| -> Result<Option<Vec<i128>>> {
        let Some(attribute) = find(name) else { return Ok(None) };
        let whole = numbers(attribute)?.into_iter().map(|number| sign(number).whole()).collect::<Option<Vec<i128>>>();
        // Kept if it does not fit, so that it is not taken for an attribute that is not there.
        Ok(Some(whole.unwrap_or_default()))
    };
    let (values, masks) = (of_each("flag_values")?, of_each("flag_masks")?);
    let fits = |list: &Option<Vec<i128>>| list.as_ref().is_none_or(|list| list.len() == meanings.len());
    if (values.is_none() && masks.is_none()) || !fits(&values) || !fits(&masks) {
        return Ok(Vec::new());
    }
    let at = |list: &Option<Vec<i128>>, index: usize| list.as_ref().and_then(|list| list.get(index).copied());
    Ok(meanings.into_iter().enumerate().map(|(index, meaning)| Flag { meaning, mask: at(&masks, index), value: at(&values, index) }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_a_value_a_bit_or_a_value_of_bits() {
        let flag = |mask, value| Flag { meaning: String::new(), mask, value };
        assert!(flag(None, Some(3)).is_of(3) && !flag(None, Some(3)).is_of(7));
        assert!(flag(Some(4), None).is_of(6) && !flag(Some(4), None).is_of(3));
        assert!(flag(Some(12), Some(8)).is_of(9) && !flag(Some(12), Some(8)).is_of(12));
    }
}
