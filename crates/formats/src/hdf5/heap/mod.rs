//! Heaps: where names, links and variable-length values live (specification III.D, III.E, III.G).

mod fractal;
mod global;
mod local;

pub(crate) use fractal::FractalHeap;
pub(crate) use global::GlobalHeap;
pub use global::HeapWriter;
pub(crate) use local::{LocalHeap, encode as encode_local};
