//! Szip (4): `lines` undoes what szip adds, `aec` is the coding underneath.

mod aec;
mod aec_encode;
mod encode;
mod lines;

pub(super) use encode::{encode, parameters};
pub(super) use lines::decode;
