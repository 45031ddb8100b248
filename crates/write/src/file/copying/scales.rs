//! Dimension scales of a file that is copied. They are attached when all objects are there: in the order of each dimension, and listed by each scale in its order.

use std::collections::{BTreeMap, HashMap};

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
}

impl CopiedScales {
    /// Adds the scales of a dataset, by dimension.
    pub fn attach(&mut self, dataset: ObjectId, scales: BTreeMap<u32, Vec<ObjectId>>) {
        for (dimension, scales) in scales {
            self.attached.extend(scales.into_iter().map(|scale| (ScaledDimension { dataset, dimension }, scale)));
        }
    }

    /// Adds the list of a scale.
    pub fn list(&mut self, scale: ObjectId, dimensions: Vec<ScaledDimension>) {
        self.listed = self.listed.max(dimensions.len() as u64);
        self.positions.extend((0..).zip(dimensions).map(|(position, dimension)| ((scale, dimension), position)));
    }

    /// All scales that are attached.
    pub fn into_attached(self) -> impl Iterator<Item = CopiedScale> {
        let Self { attached, positions, listed } = self;
        attached.into_iter().map(move |(of, scale)| CopiedScale { of, scale, order: positions.get(&(scale, of)).copied().unwrap_or(listed) })
    }
}
