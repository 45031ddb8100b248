//! Where the values of a column come from: a kind for each way to make them of arrays.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::Array;
use hyperslab_array::{Error, Result};
use serde::{Deserialize, Serialize};

use super::array_part::ArrayPart;
use super::bits;
use super::connectivity::IndexRule;
use super::literal::Literal;
use super::need::{Mapping, Need};
use super::owners::{OwnerStep, map_steps};
use super::patch_lists::BoxList;
use super::patches::{PatchValues, Patched};
use super::ragged::Bounds;
use super::repeated::RepeatedAxis;

/// The values of a column, with the arrays that they come from: as a definition names them (`ArrayPart`), or as they were resolved (`Elements`).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", bound(deserialize = "A: Deserialize<'de>"))]
#[non_exhaustive]
pub enum Values<A = ArrayPart> {
    /// Indexes along a dimension of the rows.
    Index {
        /// The dimension.
        axis: usize,
    },
    /// `origin + index * spacing` along a dimension of the rows.
    Linear {
        /// The dimension.
        axis: usize,
        /// Value at index 0.
        #[serde(with = "bits")]
        origin: f64,
        /// Distance between the values of adjacent indexes.
        #[serde(with = "bits")]
        spacing: f64,
    },
    /// `index / rate + origin` along a dimension of the rows: the times of regular samples.
    Sampled {
        /// The dimension.
        axis: usize,
        /// Value at index 0.
        #[serde(with = "bits")]
        origin: f64,
        /// Samples for each unit of the values.
        #[serde(with = "bits")]
        rate: f64,
    },
    /// One value for each index along a dimension of the rows.
    Listed {
        /// The dimension.
        axis: usize,
        /// The values.
        values: Literal,
    },
    /// Values of a coordinate dataset of the segment's file along a dimension: all, or `(start, count, step)`.
    Coordinate {
        /// The dimension.
        axis: usize,
        /// Path of the dataset.
        dataset: String,
        /// Start, count and step.
        part: Option<(u64, u64, u64)>,
        /// Conversion to other units.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        units: Option<UnitConversion>,
    },
    /// Texts of a 2-D dataset of single characters along a dimension of the rows, without padding.
    Texts {
        /// The dimension.
        axis: usize,
        /// Path of the dataset.
        dataset: String,
    },
    /// The same value in every row: an array of one value, which may be null.
    Constant(Literal),
    /// Null in every row: other segments of the table have an array that this one lacks.
    Missing {
        /// An array of another segment, whose type the column has.
        like: A,
    },
    /// Elements of an array.
    Array(A),
    /// Codes into a list of categories, a 1-D array. Codes below 0 are null. Text becomes an Arrow dictionary.
    Categories {
        /// One code for each row.
        codes: A,
        /// The categories, a whole 1-D array, or a scalar for a single one.
        categories: A,
        /// One flag for each category: whether it is null.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mask: Option<A>,
        /// Whether the categories have an order.
        ordered: bool,
    },
    /// Values that may be null.
    Masked {
        /// One value for each row.
        values: A,
        /// One flag for each row: whether the value is null.
        mask: A,
    },
    /// Ragged rows, as lists.
    Lists {
        /// A 1-D array, or what is left of it from some index on: where the values of each row begin, or end.
        offsets: A,
        /// What it holds.
        #[serde(default, skip_serializing_if = "Bounds::is_offsets")]
        bounds: Bounds,
        /// For lists of lists, a whole 1-D array with the end of each inner list.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inner: Option<A>,
        /// A whole array, or what is left of a list from some index on. Beyond one dimension, the items are vectors.
        values: A,
        /// The items are indexes below this number; others are an error. `None` if they are other values.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        extent: Option<u64>,
    },
    /// A vector for each row: all elements at an index of the first dimension of a whole array.
    Vectors {
        /// An array of several dimensions.
        values: A,
    },
    /// Values along some dimensions of the rows, the same at all indexes of the others.
    Spread {
        /// One value for each index along `axes`.
        values: A,
        /// The dimensions of the rows, in the order of the array's.
        axes: Vec<usize>,
    },
    /// Rows in runs: the number of the run of each row, or a value of the run.
    Runs {
        /// A whole 1-D array: the first row of each run.
        starts: A,
        /// A whole 1-D array: a value for each run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        values: Option<A>,
    },
    /// Doubles: the sum of arrays, each multiplied with a factor, and of a constant.
    Scaled {
        /// At least one.
        terms: Vec<Term<A>>,
        /// What is added.
        #[serde(with = "bits")]
        constant: f64,
        /// A further factor for each index along a dimension: a whole 1-D array, and the dimension.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        factors: Option<(A, usize)>,
        /// Metadata of the column, such as its unit.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        metadata: BTreeMap<String, String>,
    },
    /// Lists of indexes from a 2-D array with padding, such as the nodes of faces.
    Connectivity {
        /// The whole 2-D array.
        indexes: A,
        /// A whole 1-D array: the number of indexes of each row.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        counts: Option<A>,
        /// What the indexes mean.
        rule: IndexRule,
    },
    /// An array along some dimensions of the rows, whose elements are repeated along the others.
    Repeated {
        /// The whole array.
        values: A,
        /// What each of its dimensions is. A dimension of the rows occurs once at most.
        axes: Vec<RepeatedAxis>,
    },
    /// Values of owners, such as the position of the station that observed.
    Joined {
        /// The dimension of the rows whose indexes have owners.
        axis: usize,
        /// From rows to their owners, the owners of these, and so on; at least one.
        steps: Vec<OwnerStep<A>>,
        /// A value for each of the last owners: a whole 1-D array, or a 2-D array of characters. `None` for their indexes.
        values: Option<A>,
    },
    /// Values of the cells of boxes: rows are cells, box after box, the first index fastest.
    Patches(Box<Patched<A>>),
}

impl<A> Values<A> {
    /// The same values with other arrays. `shape` is the shape of the rows.
    pub(super) fn try_map<B>(&self, shape: &[u64], map: Mapping<'_, A, B>) -> Result<Values<B>> {
        let rows = shape.first().copied();
        Ok(match self {
            Self::Index { axis } => Values::Index { axis: *axis },
            Self::Linear { axis, origin, spacing } => Values::Linear { axis: *axis, origin: *origin, spacing: *spacing },
            Self::Sampled { axis, origin, rate } => Values::Sampled { axis: *axis, origin: *origin, rate: *rate },
            Self::Listed { axis, values } => Values::Listed { axis: *axis, values: values.clone() },
            Self::Coordinate { axis, dataset, part, units } => Values::Coordinate { axis: *axis, dataset: dataset.clone(), part: *part, units: units.clone() },
            Self::Texts { axis, dataset } => Values::Texts { axis: *axis, dataset: dataset.clone() },
            Self::Constant(value) => Values::Constant(value.clone()),
            Self::Missing { like } => Values::Missing { like: map(like, Need::Any)? },
            Self::Array(array) => Values::Array(map(array, Need::Rows)?),
            Self::Categories { codes, categories, mask, ordered } => {
                let mask = mask.as_ref().map(|mask| map(mask, Need::List(None))).transpose()?;
                Values::Categories { codes: map(codes, Need::Rows)?, categories: map(categories, Need::Categories)?, mask, ordered: *ordered }
            }
            Self::Masked { values, mask } => Values::Masked { values: map(values, Need::Rows)?, mask: map(mask, Need::Rows)? },
            Self::Lists { offsets, bounds, inner, values, extent } => {
                let offsets = map(offsets, Need::ListOrRest(rows.and_then(|rows| bounds.length(rows))))?;
                let inner = inner.as_ref().map(|inner| map(inner, Need::List(None))).transpose()?;
                Values::Lists { offsets, bounds: *bounds, inner, values: map(values, Need::ListOrRest(None))?, extent: *extent }
            }
            Self::Vectors { values } => Values::Vectors { values: map(values, Need::Whole(rows))? },
            Self::Spread { values, axes } => Values::Spread { values: map(values, Need::Along(axes))?, axes: axes.clone() },
            Self::Runs { starts, values } => {
                let starts = map(starts, Need::List(None))?;
                Values::Runs { starts, values: values.as_ref().map(|values| map(values, Need::List(None))).transpose()? }
            }
            Self::Scaled { terms, constant, factors, metadata } => {
                let terms = terms.iter().map(|term| Ok(Term { part: map(&term.part, Need::Numbers)?, factor: term.factor })).collect::<Result<_>>()?;
                let factors = factors.as_ref().map(|(factors, axis)| Ok::<_, Error>((map(factors, Need::NumbersAlong(*axis))?, *axis))).transpose()?;
                Values::Scaled { terms, constant: *constant, factors, metadata: metadata.clone() }
            }
            Self::Connectivity { indexes, counts, rule } => {
                let counts = counts.as_ref().map(|counts| map(counts, Need::RawList(rows))).transpose()?;
                Values::Connectivity { indexes: map(indexes, Need::RawTable(rule, rows.unwrap_or(0)))?, counts, rule: rule.clone() }
            }
            Self::Repeated { values, axes } => Values::Repeated { values: map(values, Need::Repeated(axes))?, axes: axes.clone() },
            Self::Joined { axis, steps, values } => {
                let (steps, owners) = map_steps(steps, shape.get(*axis).copied().unwrap_or(0), map)?;
                Values::Joined { axis: *axis, steps, values: values.as_ref().map(|values| map(values, Need::OfOwners(owners))).transpose()? }
            }
            Self::Patches(patched) => Values::Patches(Box::new(patched.try_map(map)?)),
        })
    }

    /// How the values contradict rows of this shape, if they do.
    pub(super) fn contradiction(&self, shape: &[u64]) -> Option<&'static str> {
        let beyond = |axis: &usize| (*axis >= shape.len()).then_some("a dimension too many");
        let unless_one = |what| (shape.len() != 1).then_some(what);
        match self {
            Self::Index { axis } | Self::Linear { axis, .. } | Self::Sampled { axis, .. } => beyond(axis),
            Self::Coordinate { axis, .. } | Self::Texts { axis, .. } => beyond(axis),
            Self::Listed { axis, values: Literal(values) } => {
                let is_other = shape.get(*axis) != Some(&(values.len() as u64));
                beyond(axis).or(is_other.then_some("a list of another length than its dimension"))
            }
            Self::Constant(Literal(value)) => (value.len() != 1).then_some("a constant of several values"),
            Self::Missing { .. } | Self::Array(_) | Self::Categories { .. } | Self::Masked { .. } | Self::Repeated { .. } => None,
            Self::Lists { bounds, .. } => match shape {
                [rows] => bounds.length(*rows).is_none().then_some("too many rows"),
                _ => Some("ragged rows of several dimensions"),
            },
            Self::Vectors { .. } => unless_one("vectors in rows of several dimensions"),
            Self::Spread { axes, .. } => {
                let distinct: BTreeSet<&usize> = axes.iter().collect();
                (distinct.len() != axes.len()).then_some("a dimension twice").or_else(|| axes.iter().find_map(beyond))
            }
            Self::Runs { .. } => unless_one("runs in rows of several dimensions"),
            Self::Scaled { terms, factors, .. } => {
                let is_empty = terms.is_empty().then_some("a sum without terms");
                is_empty.or_else(|| factors.as_ref().and_then(|(_, axis)| beyond(axis)))
            }
            Self::Connectivity { .. } => unless_one("lists of indexes in rows of several dimensions"),
            Self::Joined { axis, steps, .. } => beyond(axis).or(steps.is_empty().then_some("owners without a step")),
            Self::Patches(patched) => {
                unless_one("cells of boxes in rows of several dimensions").or(patched.is_contradictory().then_some("boxes of other dimensions"))
            }
        }
    }
}

impl Values {
    /// Values of the cells of `boxes`, which have this number of dimensions.
    pub fn patches(boxes: BoxList, dimensions: usize, what: PatchValues) -> Self {
        Self::Patches(Box::new(Patched::new(boxes, dimensions, what)))
    }

    /// Ragged rows whose values begin and end at `offsets`, one more than there are rows.
    pub fn lists(offsets: ArrayPart, values: ArrayPart) -> Self {
        Self::Lists { offsets, bounds: Bounds::Offsets, inner: None, values, extent: None }
    }

    /// As [`Values::lists`], of indexes from 0 up to `extent`.
    pub fn index_lists(offsets: ArrayPart, values: ArrayPart, extent: u64) -> Self {
        Self::Lists { offsets, bounds: Bounds::Offsets, inner: None, values, extent: Some(extent) }
    }

    /// The sum of `terms` and `constant`.
    pub fn scaled(terms: Vec<Term>, constant: f64) -> Self {
        Self::Scaled { terms, constant, factors: None, metadata: BTreeMap::new() }
    }
}

/// An array with a factor.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Term<A = ArrayPart> {
    /// One value for each row.
    pub(crate) part: A,
    #[serde(with = "bits")]
    pub(crate) factor: f64,
}

impl Term {
    /// The values of `part`, multiplied with `factor`.
    pub fn new(part: ArrayPart, factor: f64) -> Self {
        Self { part, factor }
    }
}

/// A conversion of units in a definition: doubles that are `factor` times the values of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UnitConversion {
    /// What values are multiplied by.
    #[serde(with = "bits")]
    pub(super) factor: f64,
    /// Name of the units.
    pub(super) name: String,
}

impl UnitConversion {
    /// From radians to `name`, the degrees of a longitude or latitude.
    pub fn degrees(name: impl Into<String>) -> Self {
        Self { factor: 180.0 / std::f64::consts::PI, name: name.into() }
    }
}
