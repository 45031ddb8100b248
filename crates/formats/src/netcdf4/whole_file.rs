//! What only all objects of a file tell together: how long unlimited dimensions are, and which scale has a number.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;

use hyperslab_array::{Result, interruption};

use super::described::{Described, Scale};
use crate::tree::unless_damaged;
use crate::{Object, ObjectId, Tree};

/// The dimension scales of a whole file, and the extents of its unlimited dimensions.
#[derive(Default)]
pub(super) struct WholeFile {
    /// All dimension scales that hard links lead to.
    scales: BTreeMap<ObjectId, Named>,
    /// The scales by `_Netcdf4Dimid`.
    by_number: BTreeMap<u64, ObjectId>,
    /// The extent of each unlimited dimension by its scale: the length of its longest variable.
    extents: BTreeMap<ObjectId, u64>,
}

/// A dimension scale and the name of the first link that leads to it.
pub(super) struct Named {
    pub name: String,
    pub scale: Scale,
}

impl WholeFile {
    /// Parses all objects that hard links reach, given the scale that one is and what tells its dimensions. Those that are damaged tell
    /// nothing.
    pub fn read(
        tree: &dyn Tree,
        scale: impl Fn(ObjectId) -> Result<Option<Scale>>,
        described: impl Fn(ObjectId, usize) -> Result<Arc<[Described]>>,
    ) -> Result<Self> {
        let mut whole = Self::default();
        let mut datasets = Vec::new();
        let mut seen = HashSet::from([tree.root()]);
        let mut pending = VecDeque::from([(tree.root(), String::new())]);
        while let Some((id, name)) = pending.pop_front() {
            // Objects that are known already cost nothing.
            interruption::check()?;
            match unless_damaged(tree.object(id))? {
                Some(Object::Group) => {
                    let links = unless_damaged(tree.links(id))?.unwrap_or_default();
                    let targets = links.iter().filter_map(|link| Some((link.object()?, &link.name)));
                    pending.extend(targets.filter(|(id, _)| seen.insert(*id)).map(|(id, name)| (id, name.clone())));
                }
                Some(Object::Dataset(_)) => {
                    datasets.push(id);
                    if let Some(scale) = scale(id)? {
                        whole.add(id, name, scale);
                    }
                }
                Some(Object::Datatype(_)) | None => {}
            }
        }
        if !whole.extents.is_empty() {
            for id in datasets {
                interruption::check()?;
                let Some(Object::Dataset(dataset)) = unless_damaged(tree.object(id))? else { continue };
                let shape = dataset.dataspace.shape();
                whole.lengthen(&described(id, shape.len())?, shape);
            }
        }
        Ok(whole)
    }

    fn add(&mut self, id: ObjectId, name: String, scale: Scale) {
        if let Some(number) = scale.number {
            self.by_number.insert(number, id);
        }
        if scale.unlimited {
            self.extents.insert(id, 0);
        }
        self.scales.insert(id, Named { name, scale });
    }

    /// Makes the unlimited dimensions of a variable at least as long as it is.
    fn lengthen(&mut self, described: &[Described], shape: &[u64]) {
        for (described, own) in described.iter().zip(shape) {
            if let Some(extent) = self.scale(described).and_then(|scale| self.extents.get_mut(&scale)) {
                *extent = (*extent).max(*own);
            }
        }
    }

    /// The scale of a dimension.
    pub fn scale(&self, described: &Described) -> Option<ObjectId> {
        let is_known = |id: &ObjectId| self.scales.contains_key(id);
        let by_number = || self.by_number.get(&described.by_number?).copied();
        described.by_reference.filter(is_known).or_else(by_number).or(described.own.filter(is_known))
    }
    /// A dimension scale with its name.
    pub fn named(&self, scale: ObjectId) -> Option<&Named> {
        self.scales.get(&scale)
    }
    /// How long an unlimited dimension is.
    pub fn extent(&self, scale: ObjectId) -> Option<u64> {
        self.extents.get(&scale).copied()
    }
    /// A number that no dimension has, from which phony dimensions are numbered.
    pub fn next_number(&self) -> u64 {
        let largest = self.by_number.keys().next_back();
        largest.map_or(0, |number| number.saturating_add(1)).max(self.scales.len() as u64)
    }
}
