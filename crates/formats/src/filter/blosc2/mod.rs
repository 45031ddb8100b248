//! Blosc2 (32026): a `frame` with one `chunk`, whose blocks may be `tiles` of an array.

mod big_endian;
mod chunk;
mod frame;
mod tiles;

pub(super) use frame::decode;
