//! Stores the tree in three Arrow files: `catalog.arrow` (one row per object), links (one row per link) and attributes (one
//! column per attribute, one row). The schema metadata of the catalog names the other two. A state becomes visible to readers
//! when its catalog is renamed into place.

mod format;
mod load;
mod save;

pub use format::CATALOG;
pub(crate) use format::NEXT_CATALOG;
pub(crate) use load::is_container;
pub use load::{Loaded, load};
pub(crate) use save::save;
