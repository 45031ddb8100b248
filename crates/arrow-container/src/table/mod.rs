//! The values of a dataset. Each Arrow buffer has a store: memory while the dataset is small, otherwise its final place in
//! the Arrow file that will be published, which is read and written by position.
//!
//! - `state`: the table; `store`: memory, or record batches of a file
//! - `blocks`: moves elements between a program's memory and the stores
//! - `strided`: the same for elements at regular distances
//! - `kernel`: records to columns and back; `vector`: the same with SIMD instructions; `lane`: a column in a record
//! - `tail`: small writes one after the other, kept in memory
//! - `grow`: capacity, changes of shape, copies; `frame`: the Arrow file around the values
//! - `loaded`: values from other files; `written`: columns that several ranks write and one publishes

mod blocks;
mod frame;
mod grow;
mod kernel;
mod lane;
#[cfg(feature = "plain")]
mod loaded;
mod state;
mod store;
mod strided;
mod tail;
#[cfg(target_arch = "x86_64")]
mod vector;
mod written;

pub use frame::{is_listed, rows_of};
pub use kernel::interleave;
pub use lane::Lane;
#[cfg(feature = "plain")]
pub(crate) use loaded::LoadedLeaf;
pub use state::Table;
pub use store::Part;
