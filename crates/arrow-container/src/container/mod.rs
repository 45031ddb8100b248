//! Files: creating, opening, publishing, and who has what open in this process.
//!
//! - [`state`]: an open file; [`create`], [`open`]; [`publish`]: what others see; [`collective`]: the same by several
//!   processes together
//! - [`path`]: from a place and a path to an object

mod collective;
mod create;
mod open;
mod path;
mod publish;
mod state;

pub use create::Create;
pub use open::{delete, is_accessible};
pub use path::{OpenExternal, Place, Walk};
pub use state::{Container, Options};
