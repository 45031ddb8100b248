//! Phony dimensions: names for dimensions that have no scale, as the netCDF library gives them. Variables of a group
//! share one if they are equally long there, one that the group declares before all; numbers count on over the file,
//! groups below first.

use std::collections::{BTreeMap, HashMap, HashSet};

use hyperslab_array::{Dataspace, Result};

use super::interpreted::Interpreted;
use crate::tree::unless_damaged;
use crate::{Dimension, DimensionScale, Link, Object, ObjectId};

/// What distinguishes phony dimensions: extent, and whether it can grow.
type Kind = (u64, bool);

/// The phony dimensions of a file.
#[derive(Default)]
pub(super) struct Phony {
    /// The dimensions of the variables that have one.
    of_variables: BTreeMap<ObjectId, Vec<DimensionScale>>,
    /// Those that a group declares.
    declared: BTreeMap<ObjectId, Vec<Dimension>>,
}

impl Phony {
    /// Names the dimensions of a file that have no name.
    pub fn name(root: ObjectId, tree: &Interpreted) -> Result<Self> {
        let mut next = tree.whole()?.next_number();
        let mut named = Self::default();
        for group in groups_below_first(root, tree)? {
            named.add(tree, group, &mut next)?;
        }
        Ok(named)
    }
    /// The dimensions of a variable that has a phony one.
    pub fn dimensions(&self, variable: ObjectId) -> Option<&[DimensionScale]> {
        self.of_variables.get(&variable).map(Vec::as_slice)
    }
    /// The phony dimensions that a group declares.
    pub fn declared(&self, group: ObjectId) -> &[Dimension] {
        self.declared.get(&group).map(Vec::as_slice).unwrap_or_default()
    }

    fn add(&mut self, tree: &Interpreted, group: ObjectId, next: &mut u64) -> Result<()> {
        let mut known: HashMap<Kind, Vec<DimensionScale>> = HashMap::new();
        for dimension in unless_damaged(tree.dimensions_of_scales(group))?.unwrap_or_default() {
            let scale = coordinate(tree, group, &dimension)?;
            known.entry((dimension.extent, dimension.unlimited)).or_default().push(DimensionScale { name: Some(dimension.name), scale });
        }
        for id in members(tree, group)? {
            let Some(Object::Dataset(dataset)) = unless_damaged(tree.object(id))? else { continue };
            let mut dimensions = tree.dimensions_with_scales(id)?;
            if self.of_variables.contains_key(&id) || dimensions.iter().all(|dimension| dimension.name.is_some()) {
                continue;
            }
            // How many of each kind the variable has already: it has each dimension once.
            let mut own: HashMap<Kind, usize> = HashMap::new();
            for (dimension, kind) in dimensions.iter_mut().zip(kinds(&dataset.dataspace)).filter(|(dimension, _)| dimension.name.is_none()) {
                let (alike, place) = (known.entry(kind).or_default(), own.entry(kind).or_default());
                *dimension = match alike.get(*place) {
                    Some(known) => known.clone(),
                    None => {
                        let name = format!("phony_dim_{next}");
                        *next = next.saturating_add(1);
                        let made = DimensionScale { name: Some(name.clone()), scale: None };
                        alike.push(made.clone());
                        self.declared.entry(group).or_default().push(Dimension { name, extent: kind.0, unlimited: kind.1 });
                        made
                    }
                };
                *place += 1;
            }
            self.of_variables.insert(id, dimensions);
        }
        Ok(())
    }
}

/// The coordinate variable of a dimension of this group.
fn coordinate(tree: &Interpreted, group: ObjectId, dimension: &Dimension) -> Result<Option<ObjectId>> {
    let Some(id) = tree.link(group, &dimension.name)?.and_then(|link| link.object()) else { return Ok(None) };
    Ok(tree.has_shape(id, &[dimension.extent])?.then_some(id))
}

fn kinds(dataspace: &Dataspace) -> Vec<Kind> {
    match dataspace {
        Dataspace::Simple { shape, max_shape } => shape.iter().zip(max_shape).map(|(extent, max_extent)| (*extent, max_extent.is_none())).collect(),
        _ => Vec::new(),
    }
}

fn members(tree: &Interpreted, group: ObjectId) -> Result<Vec<ObjectId>> {
    let links = unless_damaged(tree.links(group))?.unwrap_or_default();
    Ok(links.iter().filter_map(Link::object).collect())
}

/// All groups that hard links reach, each once and after those below it.
fn groups_below_first(root: ObjectId, tree: &Interpreted) -> Result<Vec<ObjectId>> {
    let mut order = Vec::new();
    let mut seen = HashSet::new();
    let mut pending = vec![(root, false)];
    while let Some((id, done)) = pending.pop() {
        if done {
            order.push(id);
        } else if matches!(unless_damaged(tree.object(id))?, Some(Object::Group)) && seen.insert(id) {
            pending.push((id, true));
            pending.extend(members(tree, id)?.into_iter().rev().map(|member| (member, false)));
        }
    }
    Ok(order)
}
