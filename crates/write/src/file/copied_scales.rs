//! Dimension scales of a file that is copied. They are attached when all objects are there: in the order of each dimension, and listed by each scale in its order.

use std::collections::{BTreeMap, HashMap};

/// A dimension of a dataset that a scale is attached to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ScaledDimension {
    /// Path of the dataset without the leading `/`.
    pub path: String,
    pub dimension: u32,
}

/// The scales that were found so far.
#[derive(Default)]
pub(crate) struct CopiedScales {
    /// Dimensions with the paths of their scales.
    attached: Vec<(ScaledDimension, String)>,
    /// Position of each dimension in the list of its scale.
    positions: HashMap<(String, ScaledDimension), u64>,
    /// Length of the longest list.
    listed: u64,
}

impl CopiedScales {
    /// Adds the scales of a dataset, by dimension.
    pub fn attach(&mut self, path: &str, scales: BTreeMap<u32, Vec<String>>) {
        let path = path.trim_start_matches('/');
        for (dimension, scales) in scales {
            self.attached.extend(scales.into_iter().map(|scale| (ScaledDimension { path: path.to_owned(), dimension }, scale)));
        }
    }

    /// Adds the list of the scale at `path`.
    pub fn list(&mut self, path: &str, dimensions: Vec<ScaledDimension>) {
        let scale = path.trim_start_matches('/');
        self.listed = self.listed.max(dimensions.len() as u64);
        self.positions.extend((0..).zip(dimensions).map(|(position, dimension)| ((scale.to_owned(), dimension), position)));
    }

    /// All dimensions with the paths of their scales, and their places in the lists of these. What is in no list comes last.
    pub fn into_attached(self) -> impl Iterator<Item = (ScaledDimension, String, u64)> {
        let Self { attached, positions, listed } = self;
        attached.into_iter().map(move |(dimension, scale)| {
            let place = (scale, dimension);
            let position = positions.get(&place).copied().unwrap_or(listed);
            let (scale, dimension) = place;
            (dimension, scale, position)
        })
    }
}
