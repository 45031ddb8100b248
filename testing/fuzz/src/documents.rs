//! What goes from task to task as bytes, and the conditions that users type: a value, or an error that is none of ours. A value
//! stays the same if it is encoded and decoded again.

use hyperslab::Result;
use hyperslab::index::{IndexFragment, IndexTask};
use hyperslab::predicate::Predicate;
use hyperslab::scan::Split;
use hyperslab::write::{Fragment, WritePlan};

use crate::fuzz::honest;

/// A kind of document (1 byte), and its JSON or its text. The right checksum is put under it: damage that a checksum finds does not get far.
pub fn document(data: &[u8]) {
    let [kind, body @ ..] = data else { return };
    match kind % 6 {
        0 => again(body, WritePlan::decode, WritePlan::encode),
        1 => again(body, Fragment::decode, Fragment::encode),
        2 => again(body, Split::decode, Split::encode),
        3 => again(body, IndexTask::decode, IndexTask::encode),
        4 => again(body, IndexFragment::decode, IndexFragment::encode),
        _ => {
            if let Ok(text) = std::str::from_utf8(body) {
                honest(Predicate::parse(text));
            }
        }
    }
}

fn again<T>(body: &[u8], decode: fn(&[u8]) -> Result<T>, encode: fn(&T) -> Result<Vec<u8>>) {
    let Some(value) = honest(decode(&sealed(body))) else { return };
    let first = encode(&value).expect("what was decoded can be encoded");
    let second = encode(&decode(&first).expect("what was encoded can be decoded")).expect("the same");
    assert_eq!(first, second);
}

/// The document with the checksum of its bytes: a line of CRC-32 (IEEE 802.3) in hexadecimal digits.
pub fn sealed(body: &[u8]) -> Vec<u8> {
    let crc = !body.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())));
    [body, format!("\n{crc:08x}").as_bytes()].concat()
}
