//! Blosc (32001): `frame` reads its blocks, `blosclz` is its own codec, which blosc2 has too.

pub(super) mod blosclz;
mod frame;

pub(super) use frame::decode;
