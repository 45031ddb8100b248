//! Phony dimensions: names for dimensions that have no scale, as the netCDF library gives them. Variables of a group
//! share one if they are equally long there, one that the group declares before all; numbers count on over the file,
//! groups below first.

use std::collections::HashMap;

use hyperslab_array::Dataspace;

use crate::tree_in_memory::{Content, TreeBuilder};
use crate::{Dimension, DimensionScale, LinkTarget, ObjectId};

/// What distinguishes phony dimensions: extent, and whether it can grow.
type Kind = (u64, bool);

/// Names the dimensions without a name, from number `next` on, and declares them in their groups.
pub(super) fn name_dimensions(tree: &mut TreeBuilder, mut next: u64) {
    for group in groups_below_first(tree) {
        let mut known: HashMap<Kind, Vec<DimensionScale>> = HashMap::new();
        for dimension in tree.group(group).map(|group| group.dimensions.as_slice()).unwrap_or_default() {
            let scale = coordinate(tree, group, dimension);
            known.entry((dimension.extent, dimension.unlimited)).or_default().push(DimensionScale { name: Some(dimension.name.clone()), scale });
        }
        let mut declared = Vec::new();
        for id in members(tree, group) {
            let Some(Content::Dataset(dataset, dimensions)) = tree.nodes.get_mut(id.index()).map(|object| &mut object.content) else { continue };
            let kinds = kinds(&dataset.dataspace);
            // How many of each kind the variable has already: it has each dimension once.
            let mut own: HashMap<Kind, usize> = HashMap::new();
            for (dimension, (extent, unlimited)) in dimensions.iter_mut().zip(kinds).filter(|(dimension, _)| dimension.name.is_none()) {
                let (alike, place) = (known.entry((extent, unlimited)).or_default(), own.entry((extent, unlimited)).or_default());
                *dimension = match alike.get(*place) {
                    Some(known) => known.clone(),
                    None => {
                        let name = format!("phony_dim_{next}");
                        next = next.saturating_add(1);
                        let made = DimensionScale { name: Some(name.clone()), scale: None };
                        alike.push(made.clone());
                        declared.push(Dimension { name, extent, unlimited });
                        made
                    }
                };
                *place += 1;
            }
        }
        if let Some(Content::Group(group)) = tree.nodes.get_mut(group.index()).map(|object| &mut object.content) {
            group.dimensions.append(&mut declared);
        }
    }
}

/// The coordinate variable of a dimension of this group.
fn coordinate(tree: &TreeBuilder, group: ObjectId, dimension: &Dimension) -> Option<ObjectId> {
    match tree.group(group)?.link(&dimension.name)?.target {
        LinkTarget::Hard(id) => Some(id).filter(|id| tree.dataset(*id).is_some_and(|dataset| dataset.dataspace.shape() == [dimension.extent])),
        _ => None,
    }
}

fn kinds(dataspace: &Dataspace) -> Vec<Kind> {
    match dataspace {
        Dataspace::Simple { shape, max_shape } => shape.iter().zip(max_shape).map(|(extent, max_extent)| (*extent, max_extent.is_none())).collect(),
        _ => Vec::new(),
    }
}

fn members(tree: &TreeBuilder, group: ObjectId) -> Vec<ObjectId> {
    let links = tree.group(group).map(|group| group.links.as_slice()).unwrap_or_default();
    links.iter().filter_map(|link| if let LinkTarget::Hard(id) = link.target { Some(id) } else { None }).collect()
}

/// All groups that hard links reach, each once and after those below it.
fn groups_below_first(tree: &TreeBuilder) -> Vec<ObjectId> {
    let mut order = Vec::new();
    let mut seen = vec![false; tree.nodes.len()];
    let mut pending = vec![(ObjectId(0), false)];
    while let Some((id, done)) = pending.pop() {
        if done {
            order.push(id);
            continue;
        }
        if tree.group(id).is_none() || seen.get(id.index()).copied().unwrap_or(true) {
            continue;
        }
        if let Some(seen) = seen.get_mut(id.index()) {
            *seen = true;
        }
        pending.push((id, true));
        pending.extend(members(tree, id).into_iter().rev().map(|member| (member, false)));
    }
    order
}
