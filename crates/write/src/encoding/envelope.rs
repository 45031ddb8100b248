//! Envelope of plans and fragments: a version and a trailing checksum. They pass through networks and other programs, and
//! a single changed digit would put values elsewhere without an error.

use hyperslab_array::{Error, Result};
use serde::Deserialize;

/// A newline and eight hexadecimal digits.
const CHECKSUM_BYTES: usize = 9;

/// Appends the CRC-32 of `body`.
pub(crate) fn encode_envelope(mut body: Vec<u8>) -> Vec<u8> {
    let checksum = crc32fast::hash(&body);
    body.extend_from_slice(format!("\n{checksum:08x}").as_bytes());
    body
}

/// Checks version and checksum of bytes from [`encode_envelope`] and returns the body. Damaged bytes are `InvalidInput`.
pub(crate) fn decode_envelope<'a>(bytes: &'a [u8], known: u32, what: &str) -> Result<&'a [u8]> {
    let (body, checksum) = bytes.split_at(bytes.len().saturating_sub(CHECKSUM_BYTES));
    let has_checksum = checksum.len() == CHECKSUM_BYTES && checksum.starts_with(b"\n");
    // Other releases may use another envelope, so check the version first to tell them from damage.
    check_version(if has_checksum { body } else { bytes }, known, what)?;
    if !has_checksum || format!("\n{:08x}", crc32fast::hash(body)).as_bytes() != checksum {
        return Err(Error::invalid_input(format!("this {what} was damaged: its checksum does not match its bytes")));
    }
    Ok(body)
}

/// Checks the version of encoded bytes; other versions and other data are `InvalidInput`.
pub(crate) fn check_version(bytes: &[u8], known: u32, what: &str) -> Result<()> {
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    let Version { version } =
        serde_json::from_slice(bytes).map_err(|e| Error::invalid_input(format!("these bytes are not a {what}: {e}")))?;
    if version == known {
        return Ok(());
    }
    Err(Error::invalid_input(format!("this {what} has version {version}, this release knows {known}: use one release throughout")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_that_is_changed_and_every_byte_that_is_missing_is_found() {
        let good = encode_envelope(br#"{"version":3,"rows":12}"#.to_vec());
        assert!(decode_envelope(&good, 3, "note").is_ok_and(|body| body.ends_with(b"12}")));
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(decode_envelope(&bad, 3, "note").is_err(), "bit {bit}");
        }
        for length in 0..good.len() {
            assert!(decode_envelope(&good[..length], 3, "note").is_err(), "{length} bytes");
        }
        let said = |bytes: &[u8]| decode_envelope(bytes, 3, "note").err().map(|error| error.to_string()).unwrap_or_default();
        assert!(said(br#"{"version":2}"#).contains("version 2, this release knows 3"));
        assert!(said(br#"{"version":3}"#).contains("damaged"));
    }
}
