//! The netCDF-4 library's conventions over HDF5 (NetCDF-4 format specification): dimensions are
//! dimension scales, and some objects and attributes are only bookkeeping.

use std::collections::{HashMap, HashSet};

use hyperslab_array::Dataspace;

use super::attribute;
use super::fill::default_fill;
use super::phony;
use super::scales::{NO_VARIABLE, by_address, is_scale, last_part};
use crate::tree_in_memory::{Content, Node, TreeBuilder};
use crate::{Dataset, Dimension, DimensionScale, LinkTarget, ObjectId};

/// Attributes that only the library reads.
const BOOKKEEPING: [&str; 8] = ["_NCProperties", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict", "REFERENCE_LIST", "DIMENSION_LIST", "CLASS", "NAME"];

/// What the library puts before a variable that has a dimension's name but is not its coordinates.
const NON_COORDINATE: &str = "_nc4_non_coord_";

/// A dimension as its scale tells it.
struct Scale {
    name: String,
    id: ObjectId,
    /// Whether the scale is a variable too: its values are the coordinates.
    coordinates: bool,
}

/// A variable's dimension: what it is called, and the object number of its scale.
struct Described {
    dimension: DimensionScale,
    scale: Option<usize>,
}

/// Applies the netCDF-4 conventions: dimensions with names, coordinate variables, and no bookkeeping.
/// All variables along an unlimited dimension are as long as the longest; what was not written is fill.
pub(crate) fn interpret(tree: &mut TreeBuilder) {
    let addresses = by_address(tree);
    let scales: Vec<Option<Scale>> = tree.nodes.iter().enumerate().map(|(index, object)| scale(tree, object, ObjectId::of_index(index))).collect();
    let by_dimension_id: HashMap<u64, usize> = scales
        .iter()
        .enumerate()
        .filter(|(_, scale)| scale.is_some())
        .filter_map(|(index, _)| Some((*attribute::integers(&tree.nodes.get(index)?.attributes, "_Netcdf4Dimid")?.first()?, index)))
        .collect();
    let described: Vec<Option<Vec<Described>>> = (0..tree.nodes.len()).map(|index| describe(tree, &scales, &addresses, &by_dimension_id, index)).collect();
    let extents = extents(tree, &described, &scales);
    for (object, described) in tree.nodes.iter_mut().zip(described) {
        if let (Content::Dataset(dataset, dimensions), Some(described)) = (&mut object.content, described) {
            let own = dataset.dataspace.shape();
            let shape = described.iter().zip(own).map(|(d, own)| d.scale.and_then(|index| extents.get(&index)).map_or(*own, |extent| (*own).max(*extent)));
            let shape: Vec<u64> = shape.collect();
            if shape != own {
                grow(dataset, shape);
            }
            *dimensions = described.into_iter().map(|d| d.dimension).collect();
        }
    }
    attach_coordinates(tree);
    declare_dimensions(tree, &scales, &extents);
    let first = by_dimension_id.keys().max().map_or(0, |id| id.saturating_add(1)).max(scales.iter().flatten().count() as u64);
    phony::name_dimensions(tree, first);
    for object in &mut tree.nodes {
        object.attributes.retain(|attribute| !BOOKKEEPING.contains(&attribute.name.as_str()));
        if let Some((parent, name)) = object.path.rsplit_once('/')
            && let Some(name) = name.strip_prefix(NON_COORDINATE)
        {
            object.path = format!("{parent}/{name}");
        }
    }
}

fn scale(tree: &TreeBuilder, object: &Node, id: ObjectId) -> Option<Scale> {
    tree.dataset(id)?;
    if !is_scale(&object.attributes) {
        return None;
    }
    let no_variable = attribute::text(&object.attributes, "NAME").is_some_and(|name| name.starts_with(NO_VARIABLE));
    let name = last_part(&object.path);
    let coordinates = !no_variable && !name.starts_with(NON_COORDINATE);
    Some(Scale { name, id, coordinates })
}

fn describe(
    tree: &TreeBuilder,
    scales: &[Option<Scale>],
    addresses: &HashMap<u64, ObjectId>,
    by_dimension_id: &HashMap<u64, usize>,
    index: usize,
) -> Option<Vec<Described>> {
    let object = tree.nodes.get(index)?;
    let dataset = tree.dataset(ObjectId::of_index(index))?;
    let shape = dataset.dataspace.shape();
    let attached = attribute::references(&object.attributes, "DIMENSION_LIST").unwrap_or_default();
    let listed = attribute::integers(&object.attributes, "_Netcdf4Coordinates").unwrap_or_default();
    let own = scales.get(index).and_then(Option::as_ref);
    let dimension = |axis: usize| {
        let by_reference =
            attached.get(axis).and_then(|scales| scales.first()).and_then(|address| addresses.get(address)).and_then(|id| scales.get(id.index())?.as_ref());
        let by_number = || scales.get(*by_dimension_id.get(listed.get(axis)?)?)?.as_ref();
        // A scale's own first dimension is itself.
        by_reference.or_else(by_number).or(own.filter(|_| axis == 0))
    };
    let described = (0..shape.len()).map(|axis| match dimension(axis) {
        Some(scale) => Described {
            dimension: DimensionScale { name: Some(scale.name.clone()), scale: scale.coordinates.then_some(scale.id) },
            scale: Some(scale.id.index()),
        },
        // To be named after it is known what the group's other variables have.
        None => Described { dimension: DimensionScale::default(), scale: None },
    });
    Some(described.collect())
}

/// The extent of each unlimited dimension, by its scale's number: that of its longest variable.
fn extents(tree: &TreeBuilder, described: &[Option<Vec<Described>>], scales: &[Option<Scale>]) -> HashMap<usize, u64> {
    let unlimited = |index: usize| match tree.dataset(ObjectId::of_index(index)).map(|dataset| &dataset.dataspace) {
        Some(Dataspace::Simple { max_shape, .. }) => max_shape.first() == Some(&None),
        _ => false,
    };
    let mut extents: HashMap<usize, u64> =
        scales.iter().enumerate().filter(|(index, scale)| scale.is_some() && unlimited(*index)).map(|(index, _)| (index, 0)).collect();
    for (object, described) in tree.nodes.iter().zip(described) {
        let (Content::Dataset(dataset, _), Some(described)) = (&object.content, described) else { continue };
        for (dimension, &extent) in described.iter().zip(dataset.dataspace.shape()) {
            if let Some(longest) = dimension.scale.and_then(|index| extents.get_mut(&index)) {
                *longest = (*longest).max(extent);
            }
        }
    }
    extents
}

/// Extends a variable to its dimensions' extents. One that cannot be extended keeps its own.
fn grow(dataset: &mut Dataset, shape: Vec<u64>) {
    let growing = match &dataset.dataspace {
        Dataspace::Simple { shape: own, max_shape } => own.iter().zip(&shape).zip(max_shape).all(|((own, new), max_extent)| own == new || max_extent.is_none()),
        _ => false,
    };
    if !growing || (dataset.chunk_shape.is_none() && dataset.virtual_mappings.is_empty()) {
        return;
    }
    let written = dataset.dataspace.shape().to_vec();
    if let Ok(mut grown) = dataset.with_shape(shape) {
        grown.written_shape = Some(written);
        grown.fill_value = grown.fill_value.or_else(|| default_fill(&grown.datatype));
        *dataset = grown;
    }
}

/// Keeps as coordinates only scales that are as long as the dimension that they belong to.
fn attach_coordinates(tree: &mut TreeBuilder) {
    let shapes: Vec<Option<Vec<u64>>> = (0..tree.nodes.len()).map(|index| Some(tree.dataset(ObjectId::of_index(index))?.dataspace.shape().to_vec())).collect();
    for object in &mut tree.nodes {
        let Content::Dataset(dataset, dimensions) = &mut object.content else { continue };
        for (dimension, extent) in dimensions.iter_mut().zip(dataset.dataspace.shape()) {
            let fits = |id: &ObjectId| shapes.get(id.index()).and_then(Option::as_deref) == Some(&[*extent]);
            dimension.scale = dimension.scale.filter(fits);
        }
    }
}

/// Moves scales that are no variables from the groups' links to their dimensions.
fn declare_dimensions(tree: &mut TreeBuilder, scales: &[Option<Scale>], extents: &HashMap<usize, u64>) {
    let declared: HashMap<usize, Dimension> = scales
        .iter()
        .enumerate()
        .filter_map(|(index, scale)| {
            let scale = scale.as_ref().filter(|scale| !scale.name.starts_with(NON_COORDINATE))?;
            let dataset = tree.dataset(scale.id)?;
            let own = dataset.dataspace.shape().first().copied().unwrap_or(0);
            let unlimited = extents.contains_key(&index);
            let extent = extents.get(&index).copied().unwrap_or(0).max(own);
            Some((index, Dimension { name: scale.name.clone(), extent, unlimited }))
        })
        .collect();
    let order = |index: usize| {
        let id = tree.nodes.get(index).and_then(|object| attribute::integers(&object.attributes, "_Netcdf4Dimid"));
        id.and_then(|ids| ids.first().copied()).unwrap_or(u64::MAX)
    };
    let ids: HashMap<usize, u64> = declared.keys().map(|&index| (index, order(index))).collect();
    let hidden: HashSet<usize> = scales
        .iter()
        .enumerate()
        .filter(|(_, scale)| scale.as_ref().is_some_and(|s| !s.coordinates && !s.name.starts_with(NON_COORDINATE)))
        .map(|(index, _)| index)
        .collect();
    for object in &mut tree.nodes {
        let Content::Group(group) = &mut object.content else { continue };
        let mut here: Vec<usize> = Vec::new();
        group.links.retain_mut(|link| {
            if let Some(name) = link.name.strip_prefix(NON_COORDINATE) {
                link.name = name.to_owned();
            }
            let LinkTarget::Hard(id) = link.target else { return true };
            if declared.contains_key(&id.index()) {
                here.push(id.index());
            }
            !hidden.contains(&id.index())
        });
        here.sort_by_key(|index| (ids.get(index).copied(), *index));
        group.dimensions = here.iter().filter_map(|index| declared.get(index).cloned()).collect();
        if !group.links_tracked {
            group.links.sort_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
        }
    }
}
