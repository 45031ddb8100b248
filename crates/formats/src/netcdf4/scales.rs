//! Dimension scales of plain HDF5 (HDF5 Dimension Scale Specification): names and coordinates.

use std::collections::HashMap;

use super::attribute;
use crate::{Content, DimensionScale, Object, ObjectId, Tree};

/// How the NAME of a scale begins that netCDF made for a dimension without variable.
pub(super) const NO_VARIABLE: &str = "This is a netCDF dimension but not a netCDF variable";

/// Object header address to object.
pub(super) fn by_address(tree: &Tree) -> HashMap<u64, ObjectId> {
    let addressed = tree.objects.iter().enumerate();
    addressed.filter_map(|(index, object)| Some((object.address?, ObjectId(index)))).collect()
}

/// The last part of an object's path.
pub(super) fn last_part(object: &Object) -> String {
    object.path.rsplit('/').next().unwrap_or_default().to_owned()
}

/// Whether the object is a dimension scale.
pub(super) fn is_scale(object: &Object) -> bool {
    attribute::text(object, "CLASS").is_some_and(|class| class == "DIMENSION_SCALE")
}

/// Fills `Dataset::dimensions` of plain HDF5 from attached dimension scales and labels.
pub fn attach_dimension_scales(tree: &mut Tree) {
    // A dataset without attributes has none attached, nor labels.
    let may_have: Vec<ObjectId> =
        (0..tree.objects.len()).map(ObjectId).filter(|id| tree.object(*id).is_some_and(|object| !object.attributes.is_empty())).collect();
    if may_have.is_empty() {
        return;
    }
    let addresses = by_address(tree);
    let described: Vec<(ObjectId, Vec<DimensionScale>)> = may_have.into_iter().filter_map(|id| Some((id, describe(tree, &addresses, id)?))).collect();
    for (id, dimensions) in described {
        if let Some(Content::Dataset(dataset)) = tree.objects.get_mut(id.0).map(|object| &mut object.content) {
            dataset.dimensions = dimensions;
        }
    }
}

fn describe(tree: &Tree, addresses: &HashMap<u64, ObjectId>, id: ObjectId) -> Option<Vec<DimensionScale>> {
    let object = tree.object(id)?;
    let dataset = tree.dataset(id)?;
    let shape = dataset.dataspace.shape();
    let labels = attribute::texts(object, "DIMENSION_LABELS").unwrap_or_default();
    let attached = attribute::references(object, "DIMENSION_LIST").unwrap_or_default();
    let own = is_scale(object) && shape.len() == 1;
    let mut dimensions = Vec::new();
    for (axis, &extent) in shape.iter().enumerate() {
        let label = labels.get(axis).filter(|label| !label.is_empty()).cloned();
        let scale = attached.get(axis).and_then(|scales| scales.first()).and_then(|address| addresses.get(address));
        let scale = if own { Some(id) } else { scale.copied() };
        let scale_object = scale.and_then(|scale| tree.object(scale));
        let scale_name = scale_object.map(|object| {
            let name = attribute::text(object, "NAME").filter(|name| !name.is_empty() && !name.starts_with(NO_VARIABLE));
            // NAME may be a path or a label; the object's own name says the same in most files.
            name.filter(|name| !name.contains('/')).unwrap_or_else(|| last_part(object))
        });
        let usable = scale.filter(|scale| tree.dataset(*scale).is_some_and(|values| values.dataspace.shape() == [extent]));
        dimensions.push(DimensionScale { name: label.or(scale_name), scale: usable });
    }
    Some(dimensions)
}
