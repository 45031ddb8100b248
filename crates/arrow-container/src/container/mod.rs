//! Containers: creating, opening and publishing them, and paths in them.
//!
//! - `state`: an open container; `create`, `open`; `publish`: makes changes visible
//! - `collective`: the same for several MPI ranks
//! - `path`: resolves paths and follows links

mod collective;
mod create;
mod open;
mod path;
mod publish;
mod state;

pub use create::Create;
pub use open::{delete, is_accessible};
pub use path::{OpenExternal, Place, Walk, external_parts};
pub use state::{Container, Options};
