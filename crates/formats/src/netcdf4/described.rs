//! What a variable's attributes tell of its dimensions.

use std::sync::Arc;

use hyperslab_array::{Attribute, Dataspace, Result};

use super::attribute;
use super::scales::{NO_VARIABLE, is_scale};
use crate::tree::unless_damaged;
use crate::{Object, ObjectId, Tree};

/// What the netCDF-4 library puts before a variable that has a dimension's name but is not its coordinates.
pub(super) const NON_COORDINATE: &str = "_nc4_non_coord_";

/// A dataset that is a dimension scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scale {
    /// Whether it is there for its dimension only: its values mean nothing.
    pub no_variable: bool,
    /// `_Netcdf4Dimid`.
    pub number: Option<u64>,
    /// Whether its dimension can grow.
    pub unlimited: bool,
    /// Its own extent along its dimension; another variable may be longer.
    pub extent: u64,
}

impl Scale {
    /// Whether its values are the coordinates of its dimension, given the name of its link.
    pub fn has_coordinates(&self, name: &str) -> bool {
        !self.no_variable && !name.starts_with(NON_COORDINATE)
    }
    /// Whether the library hides it, given the name of its link.
    pub fn is_hidden(&self, name: &str) -> bool {
        self.no_variable && !name.starts_with(NON_COORDINATE)
    }
}

/// The dimension scale that an object is. Damage makes an object none; it is an error when the object is used.
pub(super) fn scale(tree: &dyn Tree, id: ObjectId) -> Result<Option<Scale>> {
    let Some(Object::Dataset(dataset)) = unless_damaged(tree.object(id))? else { return Ok(None) };
    let attributes = attributes(tree, id, &["CLASS", "NAME", "_Netcdf4Dimid"])?;
    if !is_scale(&attributes) {
        return Ok(None);
    }
    Ok(Some(Scale {
        no_variable: attribute::text(&attributes, "NAME").is_some_and(|name| name.starts_with(NO_VARIABLE)),
        number: number(&attributes),
        unlimited: matches!(&dataset.dataspace, Dataspace::Simple { max_shape, .. } if max_shape.first() == Some(&None)),
        extent: dataset.dataspace.shape().first().copied().unwrap_or(0),
    }))
}

/// What identifies the scale of one dimension: the first field that leads to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Described {
    /// The object at the address that `DIMENSION_LIST` holds.
    pub by_reference: Option<ObjectId>,
    /// A `_Netcdf4Dimid`, of `_Netcdf4Coordinates`.
    pub by_number: Option<u64>,
    /// The variable itself: a scale's own first dimension.
    pub own: Option<ObjectId>,
}

impl Described {
    /// Whether nothing tells a scale.
    pub fn is_unknown(&self) -> bool {
        self.by_reference.is_none() && self.by_number.is_none() && self.own.is_none()
    }
}

/// What tells the scales of a dataset's dimensions, one for each.
pub(super) fn described(tree: &dyn Tree, id: ObjectId, ndim: usize) -> Result<Arc<[Described]>> {
    let attributes = match ndim {
        0 => Vec::new(),
        _ => attributes(tree, id, &["DIMENSION_LIST", "_Netcdf4Coordinates", "CLASS", "_Netcdf4Dimid"])?,
    };
    let attached = attribute::references(&attributes, "DIMENSION_LIST").unwrap_or_default();
    let listed = attribute::integers(&attributes, "_Netcdf4Coordinates").unwrap_or_default();
    let own = Some(id).filter(|_| is_scale(&attributes));
    let own_number = own.and_then(|_| number(&attributes));
    let described = |axis: usize| {
        let own = own.filter(|_| axis == 0);
        Described {
            by_reference: attached.get(axis).and_then(|scales| scales.first()).and_then(|address| tree.at_address(*address)),
            // A scale that lists its own number needs no look-up.
            by_number: listed.get(axis).copied().filter(|number| own.is_none() || Some(*number) != own_number),
            own,
        }
    };
    Ok((0..ndim).map(described).collect())
}

/// The attributes of these names; none if they are damaged.
pub(super) fn attributes(tree: &dyn Tree, id: ObjectId, names: &[&str]) -> Result<Vec<Attribute>> {
    Ok(unless_damaged(tree.attributes_where(id, &|name| names.contains(&name)))?.unwrap_or_default().list)
}

fn number(attributes: &[Attribute]) -> Option<u64> {
    attribute::integers(attributes, "_Netcdf4Dimid")?.first().copied()
}
