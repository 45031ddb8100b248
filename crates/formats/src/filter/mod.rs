//! The filter pipeline (specification IV.A.2.l): one file or folder a codec.
//!
//! A codec computes from bytes to bytes and is bounded by the size that its result must or may
//! have, so that a small hostile chunk cannot ask for a large buffer.

mod bits;
mod bitshuffle;
mod block;
mod blosc;
mod blosc2;
mod bzip2;
mod deflate;
mod fletcher32;
mod known;
mod lz4;
mod lz4_block;
mod lzf;
mod matches;
mod nbit;
mod nbit_encode;
mod one_filter;
mod pipeline;
mod registry;
mod restart;
mod scaleoffset;
mod scaleoffset_encode;
mod shuffle;
mod szip;
mod zfp;
mod zstd;

pub use one_filter::Filter;
pub use pipeline::Pipeline;
pub use registry::{Decoder, register, unregister};
pub use restart::{inflate_part, restart_points};
