//! Encodings that plans, fragments and records share. Knows no other room.

pub(crate) mod checksum;
pub(crate) mod fill_time;
pub(crate) mod hex;
