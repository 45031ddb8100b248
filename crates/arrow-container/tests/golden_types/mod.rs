//! What HDF5 makes of the encoded datatypes in the golden containers.

use std::fmt::Write;

use hyperslab_arrow_container::elements::{Datatype, Member};
use hyperslab_arrow_container::error::{Result, error};

fn integer(bytes: usize, signed: bool, swapped: bool) -> Datatype {
    Datatype::Integer { bytes, signed, swapped }
}

fn compound(bytes: usize, members: Vec<(&str, usize, Datatype)>) -> Datatype {
    Datatype::Compound { bytes, members: members.into_iter().map(|(name, offset, datatype)| Member::new(name, offset, datatype)).collect() }
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Stands for HDF5.
pub fn decode(encoded: &[u8]) -> Result<Datatype> {
    let hex = hex(encoded);
    Ok(match hex.as_str() {
        "0300100800000200000000001000" => integer(2, true, false),
        "0300100100000400000000002000" => integer(4, false, true),
        "030011200f0002000000000010000a05000a0f000000" => Datatype::Float { bytes: 2, swapped: false },
        "030011201f000400000000002000170800177f000000" => Datatype::Float { bytes: 4, swapped: false },
        "030011203f000800000000004000340b0034ff030000" => Datatype::Float { bytes: 8, swapped: false },
        "03001901010008000000100000000100000000000800" => Datatype::Text,
        "03001900000010000000100800000400000000002000" => Datatype::Sequence(Box::new(integer(4, true, false))),
        // An enumeration, and an object reference of HDF5 before 1.12.
        _ if hex.starts_with("030018020000") => integer(1, true, false),
        _ if hex.starts_with("030017000000") => Datatype::Fixed(8),
        _ if hex.starts_with("030016020000") => compound(24, vec![("k", 0, integer(4, true, false)), ("t", 4, Datatype::Text)]),
        _ if hex.starts_with("030026050000") => compound(
            33,
            vec![
                ("i", 0, integer(4, true, false)),
                ("f", 4, Datatype::Float { bytes: 8, swapped: true }),
                ("s", 12, Datatype::Fixed(3)),
                ("n", 15, compound(10, vec![("p", 0, integer(2, true, false)), ("q", 2, integer(8, true, true))])),
                ("v", 25, Datatype::Array { count: 2, element: Box::new(Datatype::Float { bytes: 4, swapped: false }) }),
            ],
        ),
        _ => return Err(error!("a datatype that no golden container has: {hex}")),
    })
}
