//! The tree in three Arrow files: `catalog.arrow` (a row an object), and under the names that its schema's metadata
//! gives, the links (a row a link) and the attributes (a column an attribute, one row). The catalog's rename is the
//! moment that readers see.

mod format;
mod load;
mod save;

pub(crate) use format::CATALOG;
pub(crate) use load::{is_container, load};
pub(crate) use save::save;
