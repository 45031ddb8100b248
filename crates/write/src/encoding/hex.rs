//! Bytes as hexadecimal digits in JSON.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes that serialize as hexadecimal digits, so that they can be copied from a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Hex(pub Vec<u8>);

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
        let text: String = self.0.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect();
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
        let digits = digits.filter(|digits| digits.len() % 2 == 0).ok_or_else(|| serde::de::Error::custom("bytes are not hexadecimal digits"))?;
        Ok(Self(digits.chunks_exact(2).map(|pair| pair.iter().fold(0, |n, digit| n << 4 | digit)).collect()))
    }
}
