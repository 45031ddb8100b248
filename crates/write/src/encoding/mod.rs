//! Plain-data forms that plans, fragments and records have in common.

pub(crate) mod checksum;
pub(crate) mod envelope;
pub(crate) mod fill_time;
pub(crate) mod hex;
