//! Outlines of tables: which variables have the same dimensions.

use hyperslab_reader::File;

use super::group::Group;
use super::roles::Roles;
use crate::grid::variables::Variable;

/// Names and extents of dimensions.
pub(crate) type Dimensions = Vec<(String, u64)>;

/// A table: variables by their dimensions.
pub(crate) struct Outline<'a> {
    /// Its name in the group: `time_lat_lon`.
    pub name: String,
    pub dimensions: Dimensions,
    pub data: Vec<&'a Variable>,
}

/// The tables of a group.
pub(crate) struct Tables<'a> {
    pub file: &'a File,
    pub group: &'a Group,
    pub roles: Roles,
    /// The most important first.
    pub list: Vec<Outline<'a>>,
}

/// The dimensions of a variable that make rows.
pub(crate) fn row_dimensions(group: &Group, variable: &Variable) -> Dimensions {
    let rows = group.row_ndim(variable);
    variable.dimensions.iter().cloned().zip(variable.shape.iter().copied()).take(rows).collect()
}

/// Whether a variable is the coordinate variable of a dimension.
pub(crate) fn is_coordinate(variable: &Variable) -> bool {
    variable.dimensions == [variable.name.clone()] && !variable.is_characters()
}
