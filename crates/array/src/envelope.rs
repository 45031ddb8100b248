//! Envelope: bytes followed by a checksum. Plans, tasks and fragments travel over networks and through other programs; one
//! changed digit could name other places or rows without an error.
//!
//! Format: the body, a line feed, and the CRC-32 (IEEE) of the body as eight lowercase hexadecimal digits.

/// A line feed and eight hexadecimal digits.
const CHECKSUM_BYTES: usize = 9;

/// Appends the checksum to `body`.
pub fn seal(mut body: Vec<u8>) -> Vec<u8> {
    let checksum = crc32fast::hash(&body);
    body.extend_from_slice(format!("\n{checksum:08x}").as_bytes());
    body
}

/// The body of sealed bytes. `None` if they were changed or truncated, or were never sealed.
pub fn unseal(bytes: &[u8]) -> Option<&[u8]> {
    let (body, checksum) = bytes.split_at(bytes.len().checked_sub(CHECKSUM_BYTES)?);
    (checksum == format!("\n{:08x}", crc32fast::hash(body)).as_bytes()).then_some(body)
}

#[cfg(test)]
mod tests {
    use super::{seal, unseal};

    #[test]
    fn each_changed_bit_and_each_missing_byte_is_detected() {
        let body = br#"{"version":3,"rows":12}"#;
        let good = seal(body.to_vec());
        assert_eq!(unseal(&good), Some(&body[..]));
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(unseal(&bad), None, "bit {bit}");
        }
        for length in 0..good.len() {
            assert_eq!(unseal(&good[..length]), None, "{length} bytes");
        }
        assert_eq!(unseal(&seal(Vec::new())), Some(&[][..]));
    }
}
