//! The values of a dataset: a store for each Arrow buffer, in memory while small, else in their final places in
//! the Arrow file that will be published, written and read by position.
//!
//! - [`store`]: memory, or record batches of a file; [`blocks`]: elements between a program's memory and the stores;
//!   [`kernel`]: records to columns and back, `vector`: by vector registers
//! - [`grow`]: room for elements, changes of shape, copies; [`frame`]: the Arrow file around the values;
//!   [`loaded`]: values that come from elsewhere; [`written`]: columns that several processes write and one publishes

mod blocks;
mod frame;
mod grow;
mod kernel;
mod lane;
mod loaded;
mod state;
mod store;
#[cfg(target_arch = "x86_64")]
mod vector;
mod written;

pub(crate) use loaded::LoadedLeaf;
pub use state::Table;
pub use store::Part;
