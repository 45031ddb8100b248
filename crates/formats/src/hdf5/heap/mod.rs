//! Heaps: where names, links and variable-length values live (specification III.D, III.E, III.G).

mod fractal;
mod fractal_encode;
mod global;
mod local;

pub(crate) use fractal::{FractalHeap, HeapBlock};
pub(crate) use fractal_encode::{HeapIds, MAX_MANAGED_BYTES, encode_empty, encode_huge, encode_managed};
pub(crate) use global::GlobalHeap;
pub use global::HeapWriter;
pub(crate) use local::{LocalHeap, encode as encode_local};
