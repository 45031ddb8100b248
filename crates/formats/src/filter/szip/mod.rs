//! Szip (4): `lines` undoes what szip adds, `aec` is the coding underneath.

mod aec;
mod lines;

pub(super) use lines::decode;
