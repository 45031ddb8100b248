//! Bitshuffle (32008): `stream` reads its blocks, `bit_planes` is the idea, which blosc has too.

pub(super) mod bit_planes;
mod stream;

pub(super) use stream::{decode, encode};
