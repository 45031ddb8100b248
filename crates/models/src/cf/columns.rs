//! The columns of a table: dimensions, instances, auxiliary coordinates and data, each with its bounds.

use std::collections::BTreeSet;

use hyperslab_array::Result;
use hyperslab_scan::{ArrayPart, OwnerStep, RepeatedAxis, SegmentDefinition, Values};

use super::group::text;
use super::metadata::metadata;
use super::outline::{Dimensions, Outline, Tables, is_coordinate, row_dimensions};
use super::roles::{auxiliary_of, bounds_of};
use super::sampling::{Step, instances};
use crate::grid::variables::Variable;
use crate::look::{contradiction, free_name};

/// A column before it has a name.
enum Part<'a> {
    /// The coordinate variable of a dimension.
    Coordinate(usize, &'a Variable),
    /// Indexes along a dimension.
    Index(usize, String),
    /// The index of each observation's instance along a dimension, found by following the steps.
    Owner(usize, Vec<Step>),
    /// A variable of instances.
    OfOwner(usize, Vec<Step>, &'a Variable),
    /// A variable along some dimensions.
    Along(&'a Variable),
    /// A variable along all dimensions.
    Data(&'a Variable),
}

/// Whose columns these are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    /// A table of the group: all that is known of its rows, with bounds, and without padding.
    Table,
    /// One dataset: each of its values, with its place and time.
    Dataset,
}

/// Standard names of coordinates (CF 4).
const PLACES_AND_TIMES: [&str; 8] = ["time", "latitude", "longitude", "depth", "altitude", "height", "air_pressure", "sea_water_pressure"];

/// Whether a variable says of itself that it is a coordinate.
fn is_place_or_time(variable: &Variable) -> bool {
    let is = |name: &str, known: &[&str]| text(variable, name).is_some_and(|text| known.contains(&text.trim()));
    is("axis", &["X", "Y", "Z", "T"])
        || is("standard_name", &PLACES_AND_TIMES)
        || is("units", &["degrees_north", "degrees_east", "degree_north", "degree_east"])
}

/// The columns of a table.
///
/// # Errors
/// `Corrupt` if a discrete sampling geometry contradicts the file.
fn parts<'a>(tables: &'a Tables<'_>, table: &Outline<'a>, whose: Of) -> Result<Vec<Part<'a>>> {
    let group = tables.group;
    let mut parts = Vec::new();
    let mut joined: BTreeSet<&str> = table.data.iter().map(|variable| variable.path.as_str()).collect();
    for (axis, (name, extent)) in table.dimensions.iter().enumerate() {
        match group.coordinate(name, *extent) {
            Some(own) => {
                joined.insert(&own.path);
                parts.push(Part::Coordinate(axis, own));
            }
            None => parts.push(Part::Index(axis, name.clone())),
        }
    }
    for (axis, (name, _)) in table.dimensions.iter().enumerate() {
        let Some(found) = instances(tables.file, group, name)? else { continue };
        for last in 1..=found.steps.len() {
            let steps: Vec<Step> = found.steps.iter().take(last).cloned().collect();
            let Some(of) = steps.last().map(|step| vec![(step.dimension.clone(), step.extent)]) else { continue };
            parts.push(Part::Owner(axis, steps.clone()));
            let is_here = |variable: &&Variable| row_dimensions(group, variable) == of && !tables.roles.bounds.contains_key(&variable.path);
            for variable in group
                .variables
                .iter()
                .filter(is_here)
                .filter(|variable| whose == Of::Table || is_place_or_time(variable))
                .filter(|variable| !found.steps.iter().any(|step| step.path == variable.path))
            {
                joined.insert(&variable.path);
                parts.push(Part::OfOwner(axis, steps.clone(), variable));
            }
        }
    }
    let referenced = table.data.iter().flat_map(|variable| auxiliary_of(group, variable));
    let global = group.global_coordinates.iter().filter_map(|name| group.find(name));
    let own = group.variables.iter().filter(|variable| {
        let dimensions = row_dimensions(group, variable);
        if whose == Of::Dataset && !is_place_or_time(variable) {
            return false;
        }
        let is_prefix = || group.feature_type.is_some() && !dimensions.is_empty() && table.dimensions.starts_with(&dimensions) && !is_coordinate(variable);
        let is_same =
            dimensions == table.dimensions && (tables.roles.auxiliary.contains(&variable.path) || (whose == Of::Dataset && group.feature_type.is_some()));
        is_same || (dimensions.len() < table.dimensions.len() && !tables.roles.bounds.contains_key(&variable.path) && is_prefix())
    });
    for variable in referenced.chain(global).chain(own) {
        let dimensions = row_dimensions(group, variable);
        let fits = dimensions.iter().enumerate().all(|(place, own)| {
            let once = table.dimensions.iter().filter(|other| *other == own).count() == 1;
            once && !dimensions.iter().take(place).any(|before| before == own)
        });
        let is_shown = is_coordinate(variable) && table.dimensions.contains(&(variable.name.clone(), variable.shape.first().copied().unwrap_or(0)));
        if fits && !is_shown && joined.insert(&variable.path) {
            parts.push(Part::Along(variable));
        }
    }
    parts.extend(table.data.iter().map(|variable| Part::Data(variable)));
    Ok(parts)
}

/// Paths of the variables of this group whose values are in a table; none if the table contradicts the file.
pub(crate) fn shown(tables: &Tables<'_>, table: &Outline<'_>) -> Vec<String> {
    let mut paths = Vec::new();
    for part in parts(tables, table, Of::Table).unwrap_or_default() {
        match part {
            Part::Index(..) => {}
            Part::Owner(_, steps) => paths.extend(steps.into_iter().map(|step| step.path)),
            Part::OfOwner(_, _, variable) => paths.push(variable.path.clone()),
            Part::Coordinate(_, variable) | Part::Along(variable) | Part::Data(variable) => {
                paths.push(variable.path.clone());
                paths.extend(bounds_of(tables.group, variable).map(|bounds| bounds.path.clone()));
            }
        }
    }
    paths
}

/// The definition of a table.
///
/// # Errors
/// `Corrupt` if bounds or a discrete sampling geometry contradict the file, with the object.
pub(crate) fn definition(tables: &Tables<'_>, table: &Outline<'_>) -> Result<SegmentDefinition> {
    definition_of(tables, table, &parts(tables, table, Of::Table)?, Of::Table)
}

/// The definition of the table of a dataset, the only data: its values with their coordinates. `None` if they are those of its
/// dimensions.
///
/// # Errors
/// As of [`definition`].
pub(crate) fn dataset_definition(tables: &Tables<'_>, table: &Outline<'_>) -> Result<Option<SegmentDefinition>> {
    let parts = parts(tables, table, Of::Dataset)?;
    let has_more = parts.iter().any(|part| matches!(part, Part::Along(_) | Part::OfOwner(..)));
    has_more.then(|| definition_of(tables, table, &parts, Of::Dataset)).transpose()
}

fn definition_of(tables: &Tables<'_>, table: &Outline<'_>, parts: &[Part<'_>], whose: Of) -> Result<SegmentDefinition> {
    let (shape, ndim): (Vec<u64>, usize) = (table.dimensions.iter().map(|(_, extent)| *extent).collect(), table.dimensions.len());
    let first = table.data.iter().find(|variable| variable.shape.len() == ndim);
    let chunk = (0..ndim).map(|axis| first.map_or_else(|| shape.get(axis).copied().unwrap_or(1).max(1), |first| first.chunk_along(axis))).collect();
    let mut taken: BTreeSet<String> = BTreeSet::new();
    // Names of variables come before those that we make.
    let own: BTreeSet<&str> = parts.iter().filter_map(|part| part.variable()).map(|variable| variable.name.as_str()).collect();
    let mut definition = SegmentDefinition::new(tables.group.path.clone(), shape, chunk);
    let mut padded = Vec::new();
    for part in parts {
        let Some(variable) = part.variable() else {
            let (name, values) = match part {
                Part::Owner(axis, steps) => (steps.last().map(|step| step.dimension.clone()), Values::Joined { axis: *axis, steps: of(steps), values: None }),
                Part::Index(axis, name) => (Some(name.clone()), Values::Index { axis: *axis }),
                _ => continue,
            };
            let name = name.unwrap_or_default();
            let name = if own.contains(name.as_str()) { format!("{name}_index") } else { name };
            // Readers of the metadata know that these are not values of the file.
            let of = match part {
                Part::Owner(axis, _) => table.dimensions.get(*axis).map(|(of, _)| ("instance_of".to_owned(), of.clone())),
                _ => None,
            };
            definition = definition.with_described_column(free_name(&name, "index", &mut taken), values, of.into_iter().collect());
            continue;
        };
        let whole = || ArrayPart::whole(variable.path.clone());
        let axes = axes(tables, table, variable);
        let is_all = axes.iter().enumerate().all(|(place, axis)| *axis == RepeatedAxis::Row(place)) && axes.len() == ndim;
        let values = match part {
            Part::Coordinate(axis, _) => Values::Coordinate { axis: *axis, dataset: variable.path.clone(), part: None, units: None },
            Part::OfOwner(axis, steps, _) => Values::Joined { axis: *axis, steps: of(steps), values: Some(whole()) },
            _ if is_all && ndim > 0 => Values::Array(whole()),
            _ => match axes.as_slice() {
                [RepeatedAxis::Row(axis)] => Values::Coordinate { axis: *axis, dataset: variable.path.clone(), part: None, units: None },
                _ => Values::Repeated { values: whole(), axes: axes.clone() },
            },
        };
        let name = free_name(&variable.name, "data", &mut taken);
        if matches!(part, Part::Along(_)) && row_dimensions(tables.group, variable).len() == ndim {
            padded.push(name.clone());
        }
        definition = definition.with_described_column(name.clone(), values, metadata(tables.group, variable));
        if matches!(part, Part::OfOwner(..)) || whose == Of::Dataset {
            continue;
        }
        for (suffix, values) in bounds(tables, table, variable)? {
            definition = definition.with_column(free_name(&format!("{name}_{suffix}"), "bounds", &mut taken), values);
        }
    }
    // An incomplete multidimensional array (CF 9.3.2): where coordinates are missing, there is no observation.
    let is_incomplete = whose == Of::Table && tables.group.feature_type.is_some() && ndim > 1;
    Ok(if is_incomplete { definition.without_padding(padded) } else { definition })
}

impl<'a> Part<'a> {
    fn variable(&self) -> Option<&'a Variable> {
        match self {
            Self::Index(..) | Self::Owner(..) => None,
            Self::Coordinate(_, variable) | Self::OfOwner(_, _, variable) | Self::Along(variable) | Self::Data(variable) => Some(variable),
        }
    }
}

fn of(steps: &[Step]) -> Vec<OwnerStep> {
    steps.iter().map(Step::definition).collect()
}

/// What the dimensions of a variable are in a table that has all of them.
fn axes(tables: &Tables<'_>, table: &Outline<'_>, variable: &Variable) -> Vec<RepeatedAxis> {
    let rows: Dimensions = row_dimensions(tables.group, variable);
    let is_whole = rows == table.dimensions;
    let place = |(own, dimension): (usize, &(String, u64))| if is_whole { Some(own) } else { table.dimensions.iter().position(|other| other == dimension) };
    let mut axes: Vec<RepeatedAxis> = rows.iter().enumerate().filter_map(place).map(RepeatedAxis::Row).collect();
    if rows.len() < variable.dimensions.len() {
        axes.push(RepeatedAxis::Text);
    }
    axes
}

/// The bounds of a variable: lower and upper bound of each element, or a list of its vertices.
fn bounds(tables: &Tables<'_>, table: &Outline<'_>, variable: &Variable) -> Result<Vec<(&'static str, Values)>> {
    let Some(bounds) = bounds_of(tables.group, variable) else { return Ok(Vec::new()) };
    let vertices = bounds.shape.split_last().filter(|(_, shape)| **shape == variable.shape).map(|(vertices, _)| *vertices);
    let fits = bounds.dimensions.get(..variable.dimensions.len()) == Some(&variable.dimensions);
    let Some(vertices) = vertices.filter(|_| fits && !variable.is_characters()) else {
        let message = format!(
            "has the bounds of {}, but the dimensions {:?} of {:?}, not those of {} and one more: {:?} of {:?}",
            variable.name, bounds.dimensions, bounds.shape, variable.name, variable.dimensions, variable.shape
        );
        return Err(contradiction(tables.file, &bounds.path, message));
    };
    let part = |last| {
        let axes = axes(tables, table, variable).into_iter().chain([last]).collect();
        Values::Repeated { values: ArrayPart::whole(bounds.path.clone()).with_units_of(variable.path.clone()), axes }
    };
    Ok(match vertices {
        2 => vec![("low", part(RepeatedAxis::Low)), ("high", part(RepeatedAxis::High))],
        _ => vec![("bounds", part(RepeatedAxis::List))],
    })
}
