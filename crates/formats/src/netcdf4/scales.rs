//! Dimension scales (HDF5 Dimension Scale Specification): what marks one, and the names and coordinates that plain HDF5 has
//! from them.

use std::sync::Arc;

use hyperslab_array::Result;

use super::attribute;
use crate::tree::PathOf;
use crate::{Attributes, DimensionScale, Object, ObjectId, Tree};

/// How the NAME of a scale begins that netCDF made for a dimension without variable.
pub(super) const NO_VARIABLE: &str = "This is a netCDF dimension but not a netCDF variable";

/// The last part of an object's path.
pub(super) fn last_part(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

/// Whether these are the attributes of a dimension scale.
pub(super) fn is_scale(attributes: &[hyperslab_array::Attribute]) -> bool {
    attribute::text(attributes, "CLASS").is_some_and(|class| class == "DIMENSION_SCALE")
}

/// The dimensions of a dataset of plain HDF5, from attached dimension scales and labels. Scales that cannot be read are
/// left out.
///
/// # Errors
/// Those of the dataset itself.
pub fn attached(tree: &dyn Tree, id: ObjectId, path_of: &PathOf<'_>) -> Result<Arc<[DimensionScale]>> {
    let dataset = crate::tree::dataset(tree, id)?;
    let shape = dataset.dataspace.shape();
    // Damaged attributes do not make the values unreadable.
    let attributes = tree.attributes(id).unwrap_or_default();
    if attributes.list.is_empty() {
        return Ok(vec![DimensionScale::default(); shape.len()].into());
    }
    let labels = attribute::texts(&attributes.list, "DIMENSION_LABELS").unwrap_or_default();
    let attached = attribute::references(&attributes.list, "DIMENSION_LIST").unwrap_or_default();
    let own = is_scale(&attributes.list) && shape.len() == 1;
    let dimension = |(axis, &extent): (usize, &u64)| {
        let label = labels.get(axis).filter(|label| !label.is_empty()).cloned();
        let scale = || attached.get(axis).and_then(|scales| scales.first()).and_then(|address| tree.at_address(*address));
        let scale = if own { Some(id) } else { scale() };
        let name = label.or_else(|| scale_name(tree, scale?, path_of));
        let usable = scale.filter(|scale| matches!(tree.object(*scale), Ok(Object::Dataset(values)) if values.dataspace.shape() == [extent]));
        DimensionScale { name, scale: usable }
    };
    Ok(shape.iter().enumerate().map(dimension).collect())
}

/// The name of a dimension scale; `None` if no such object can be reached.
fn scale_name(tree: &dyn Tree, scale: ObjectId, path_of: &PathOf<'_>) -> Option<String> {
    let attributes: Arc<Attributes> = tree.attributes(scale).unwrap_or_default();
    let name = attribute::text(&attributes.list, "NAME").filter(|name| !name.is_empty() && !name.starts_with(NO_VARIABLE));
    // NAME may be a path or a label; the object's own name says the same in most files.
    name.filter(|name| !name.contains('/')).or_else(|| Some(last_part(&path_of(scale).ok()?)))
}
