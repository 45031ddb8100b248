//! Envelope: versioned JSON and a checksum. Plans, splits, tasks and fragments travel over networks and through other programs;
//! one changed digit could name other places or rows without an error.
//!
//! Format: a JSON object with the member `version`, a line feed, and the CRC-32 (IEEE) of the JSON as eight lowercase
//! hexadecimal digits.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// A line feed and eight hexadecimal digits.
const CHECKSUM_BYTES: usize = 9;

/// A kind of message and its version.
#[derive(Debug, Clone, Copy)]
pub struct Envelope {
    what: &'static str,
    version: u32,
}

impl Envelope {
    /// The envelope of `what`, a noun with its article for error messages ("a split"). Raise `version` when the meaning of the
    /// bytes changes.
    pub const fn new(what: &'static str, version: u32) -> Self {
        Self { what, version }
    }

    /// The version that `encode` writes and `decode` reads.
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// Encodes `value`, whose member `version` must equal the version of the envelope.
    ///
    /// # Errors
    /// `Internal` if the value cannot be JSON.
    pub fn encode(&self, value: &impl Serialize) -> Result<Vec<u8>> {
        let json = serde_json::to_vec(value).map_err(|error| Error::internal(format!("cannot encode {}: {error}", self.what)))?;
        Ok(seal(json))
    }

    /// Decodes what [`Envelope::encode`] returned.
    ///
    /// # Errors
    /// `InvalidInput` for damaged bytes, other versions, and bytes of anything else.
    pub fn decode<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T> {
        let Some(json) = unseal(bytes) else {
            // The first versions had no checksum.
            self.check_version(bytes)?;
            return Err(Error::invalid_input(format!("these bytes are not {}, or they are damaged: the checksum does not match", self.what)));
        };
        self.check_version(json)?;
        serde_json::from_slice(json).map_err(|error| Error::invalid_input(format!("these bytes are not {}: {error}", self.what)))
    }

    /// Checks the version in JSON; no error if there is none.
    ///
    /// # Errors
    /// `InvalidInput` for another version.
    pub fn check_version(&self, json: &[u8]) -> Result<()> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        match serde_json::from_slice(json) {
            Ok(Version { version }) if version != self.version => Err(Error::invalid_input(format!(
                "{} of version {version}, but this release reads version {}: use one release throughout",
                self.what, self.version
            ))),
            _ => Ok(()),
        }
    }
}

/// Appends the checksum to `body`.
fn seal(mut body: Vec<u8>) -> Vec<u8> {
    let checksum = crc32fast::hash(&body);
    body.extend_from_slice(format!("\n{checksum:08x}").as_bytes());
    body
}

/// The body of sealed bytes. `None` if they were changed or truncated, or were never sealed.
fn unseal(bytes: &[u8]) -> Option<&[u8]> {
    let (body, checksum) = bytes.split_at(bytes.len().checked_sub(CHECKSUM_BYTES)?);
    (checksum == format!("\n{:08x}", crc32fast::hash(body)).as_bytes()).then_some(body)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Envelope, seal, unseal};
    use crate::Result;

    const NOTE: Envelope = Envelope::new("a note", 3);

    #[test]
    fn each_changed_bit_and_each_missing_byte_is_detected() -> Result<()> {
        let note = BTreeMap::from([("version".to_owned(), 3), ("rows".to_owned(), 12)]);
        let good = NOTE.encode(&note)?;
        assert_eq!(good, seal(br#"{"rows":12,"version":3}"#.to_vec()));
        assert_eq!(NOTE.decode::<BTreeMap<String, i32>>(&good)?, note);
        let refused = |bytes: &[u8]| NOTE.decode::<BTreeMap<String, i32>>(bytes).is_err_and(|error| error.message().contains("damaged"));
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(refused(&bad), "bit {bit}");
        }
        for length in 0..good.len() {
            assert!(refused(&good[..length]), "{length} bytes");
        }
        assert_eq!(unseal(&seal(Vec::new())), Some(&[][..]));
        Ok(())
    }

    #[test]
    fn another_version_is_named_with_and_without_a_checksum() {
        let old = br#"{"version":2,"rows":[]}"#.to_vec();
        for bytes in [old.clone(), seal(old)] {
            let message = NOTE.decode::<BTreeMap<String, i32>>(&bytes).err().map(|error| error.message().to_owned());
            assert_eq!(message.as_deref(), Some("a note of version 2, but this release reads version 3: use one release throughout"));
        }
        let other = NOTE.decode::<BTreeMap<String, i32>>(&seal(b"true".to_vec())).err().map(|error| error.message().to_owned());
        assert!(other.is_some_and(|message| message.starts_with("these bytes are not a note: ")));
    }
}
