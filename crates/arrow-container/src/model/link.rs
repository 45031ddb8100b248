//! Links between objects.

/// Identifies an object in its file. HDF5's object tokens carry it.
pub type ObjectId = u64;
/// The ID of the root group.
pub const ROOT: ObjectId = 1;

/// The target of a link. `User` covers every class that HDF5 or a program defines, so matches may be exhaustive.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// An object of this file.
    Hard(ObjectId),
    /// A path, resolved when the link is followed.
    Soft(String),
    /// A user-defined class of link (64: HDF5's external links), and its value.
    User(i32, Vec<u8>),
}

/// A link of a group.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Link {
    /// Its position in creation order.
    pub order: i64,
    /// Whether its name is UTF-8 (otherwise ASCII).
    pub utf8: bool,
    /// Its target.
    pub target: Target,
}

impl Link {
    /// A link at a position in creation order.
    pub fn new(order: i64, utf8: bool, target: Target) -> Self {
        Self { order, utf8, target }
    }
}

/// The names in a path, without empty ones and `.`.
pub fn path_names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".")
}
