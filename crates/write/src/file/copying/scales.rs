//! Dimension scales of a file that is copied. They are attached when all objects are there: in the order of each dimension, and listed by each scale in its order.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use hyperslab_formats::ObjectId;

/// A dimension of a dataset of the other file. Not by its path, which may be long and be named any number of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ScaledDimension {
    pub dataset: ObjectId,
    pub dimension: u32,
}

/// A scale that is attached to a dimension.
pub(crate) struct CopiedScale {
    pub of: ScaledDimension,
    pub scale: ObjectId,
    /// Place of the dimension in the list of the scale. What is in no list comes last.
    pub order: u64,
}

/// The scales that were found so far.
#[derive(Default)]
pub(crate) struct CopiedScales {
    /// Dimensions with their scales.
    attached: Vec<(ScaledDimension, ObjectId)>,
    /// Position of each dimension in the list of its scale.
    positions: HashMap<(ObjectId, ScaledDimension), u64>,
    /// Length of the longest list.
    listed: u64,
    /// Scales whose lists had entries that lead nowhere, or one entry twice.
    shortened: Vec<ObjectId>,
}

impl CopiedScales {
    /// Adds the scales of a dataset, by dimension.
    pub fn attach(&mut self, dataset: ObjectId, scales: BTreeMap<u32, Vec<ObjectId>>) {
        for (dimension, scales) in scales {
            self.attached.extend(scales.into_iter().map(|scale| (ScaledDimension { dataset, dimension }, scale)));
        }
    }

    /// Adds the list of a scale, which has `length` entries.
    pub fn list(&mut self, scale: ObjectId, dimensions: Vec<ScaledDimension>, length: u64) {
        let known: HashSet<&ScaledDimension> = dimensions.iter().collect();
        if known.len() as u64 != length {
            self.shortened.push(scale);
        }
        self.listed = self.listed.max(dimensions.len() as u64);
        self.positions.extend((0..).zip(dimensions).map(|(position, dimension)| ((scale, dimension), position)));
    }

    /// Scales whose lists are not those of the dimensions that they are attached to: they are made again.
    pub fn relisted(&self) -> BTreeSet<ObjectId> {
        let attached: BTreeSet<(ObjectId, ObjectId, u32)> = self.attached.iter().map(|(of, scale)| (*scale, of.dataset, of.dimension)).collect();
        let listed: BTreeSet<(ObjectId, ObjectId, u32)> = self.positions.keys().map(|(scale, of)| (*scale, of.dataset, of.dimension)).collect();
        attached.symmetric_difference(&listed).map(|(scale, ..)| *scale).chain(self.shortened.iter().copied()).collect()
    }

    /// All scales that are attached.
    pub fn into_attached(self) -> impl Iterator<Item = CopiedScale> {
        let Self { attached, positions, listed, .. } = self;
        attached.into_iter().map(move |(of, scale)| CopiedScale { of, scale, order: positions.get(&(scale, of)).copied().unwrap_or(listed) })
    }
}
