//! Links, and what they lead to.

/// Which object; the root group is 1. A token carries it.
pub type ObjectId = u64;
/// The root group.
pub const ROOT: ObjectId = 1;

/// What a link leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// An object of this file.
    Hard(ObjectId),
    /// A path, resolved when it is followed.
    Soft(String),
    /// A class of link that a program or HDF5 defines (64: external), and its value.
    User(i32, Vec<u8>),
}

/// A link of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Its position in the order of creation.
    pub order: i64,
    /// Whether its name is UTF-8, not ASCII.
    pub utf8: bool,
    /// Where it leads.
    pub target: Target,
}

/// The names in a path, without what stands for nothing.
pub fn path_names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".")
}
