//! Meshes: the cells of a record in all iterations, with indexes and coordinates in meters.

use std::collections::BTreeSet;

use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::{SegmentDefinition, Values};

use super::record::{Component, Kind, components, missing, needed, values};
use super::series::{Iteration, are_units_optional};
use crate::look::{Member, contradiction, free_name, text_of, texts};

/// The geometry whose arrays have one dimension more than axes: the azimuthal modes.
const MODES: &str = "thetaMode";

/// The grid of a record: an axis for each dimension of the arrays.
struct Grid {
    axes: Vec<Axis>,
}

struct Axis {
    /// `x`; for the azimuthal modes `mode`.
    label: String,
    /// Index of the axis in attributes; `None` for the azimuthal modes, which have no coordinates.
    attribute: Option<usize>,
    /// Meters.
    offset: f64,
    spacing: f64,
    unit: f64,
}

/// A record in one iteration.
struct Mesh {
    grid: Grid,
    components: Vec<Component>,
    /// Position of each component within a cell, along the dimensions of the arrays.
    positions: Vec<Vec<f64>>,
}

fn grid(file: &File, member: &Member, ndim: usize) -> Result<Grid> {
    let attributes = member.attributes()?;
    let path = &member.path;
    let labels = attributes.get("axisLabels").map(texts).transpose()?.flatten();
    let Some(labels) = labels else { return Err(contradiction(file, path, "there is no attribute axisLabels with text")) };
    let modes = usize::from(text_of(&attributes, "geometry")?.is_some_and(|geometry| geometry == MODES));
    if labels.len() + modes != ndim {
        return Err(contradiction(file, path, format!("the attribute axisLabels has {} names for arrays of {ndim} dimensions", labels.len())));
    }
    let numbers = |name: &str, alone: bool| {
        let numbers = needed(file, path, &attributes, name)?;
        match numbers.as_slice() {
            [one] if alone => Ok(vec![*one; labels.len()]),
            _ if numbers.len() == labels.len() => Ok(numbers),
            _ => Err(contradiction(file, path, format!("the attribute {name} has {} numbers for {} axes", numbers.len(), labels.len()))),
        }
    };
    let (spacing, offset) = (numbers("gridSpacing", false)?, numbers("gridGlobalOffset", false)?);
    let unit = match attributes.get("gridUnitSI") {
        None if are_units_optional(file)? => vec![1.0; labels.len()],
        _ => numbers("gridUnitSI", true)?,
    };
    // Arrays of Fortran list the axes from the fastest on; the file has the slowest first.
    let reversed = match text_of(&attributes, "dataOrder")?.as_deref() {
        None | Some("C") => false,
        Some("F") => true,
        Some(other) => return Err(contradiction(file, path, format!("the attribute dataOrder is {other:?}, neither C nor F"))),
    };
    let mut axes: Vec<Axis> = labels
        .into_iter()
        .zip(spacing.into_iter().zip(offset).zip(unit))
        .enumerate()
        .map(|(index, (label, ((spacing, offset), unit)))| Axis { label, attribute: Some(index), offset, spacing, unit })
        .collect();
    if reversed {
        axes.reverse();
    }
    if modes > 0 {
        axes.insert(0, Axis { label: "mode".to_owned(), attribute: None, offset: 0.0, spacing: 1.0, unit: 1.0 });
    }
    Ok(Grid { axes })
}

fn mesh(file: &File, member: &Member) -> Result<Mesh> {
    let components = components(file, member)?;
    let grid = grid(file, member, components.first().map_or(0, |first| first.shape.len()))?;
    let count = grid.axes.iter().filter(|axis| axis.attribute.is_some()).count();
    let position = |component: &Component| {
        let stored = needed(file, &component.path, &component.attributes, "position")?;
        if stored.len() != count {
            return Err(contradiction(file, &component.path, format!("the attribute position has {} numbers for {count} axes", stored.len())));
        }
        Ok(grid.axes.iter().map(|axis| axis.attribute.and_then(|index| stored.get(index)).copied().unwrap_or(0.0)).collect())
    };
    let positions = components.iter().map(position).collect::<Result<_>>()?;
    Ok(Mesh { grid, components, positions })
}

/// Whether a record is fit for a table: the error says what contradicts the standard.
pub(crate) fn check(file: &File, member: &Member) -> Result<()> {
    mesh(file, member).map(|_| ())
}

fn meshes<'a>(file: &File, iterations: &'a [Iteration], record: &str) -> Result<Vec<(&'a Iteration, &'a Member, Mesh)>> {
    let having = iterations.iter().filter_map(|iteration| Some((iteration, iteration.meshes.iter().find(|member| member.name == record)?)));
    having.map(|(iteration, member)| Ok((iteration, member, mesh(file, member)?))).collect()
}

/// The components of each table of a record: all, or each alone if their positions within the cell differ. A name of a table is the
/// record's, with the component's if it is alone.
pub(crate) fn tables(file: &File, iterations: &[Iteration], record: &str) -> Result<Vec<(String, Option<String>)>> {
    let all = meshes(file, iterations, record)?;
    let together = all.iter().all(|(_, _, mesh)| mesh.positions.windows(2).all(|pair| matches!(pair, [a, b] if a == b)));
    if together {
        return Ok(vec![(record.to_owned(), None)]);
    }
    let names: BTreeSet<&String> = all.iter().flat_map(|(_, _, mesh)| &mesh.components).map(|component| &component.name).collect();
    Ok(names.into_iter().map(|name| (format!("{record}_{name}"), Some(name.clone()))).collect())
}

/// The cells of a record, or of one of its components, in all iterations that have it.
pub(crate) fn table(file: &File, iterations: &[Iteration], record: &str, only: Option<&str>) -> Result<Vec<SegmentDefinition>> {
    let all = meshes(file, iterations, record)?;
    let wanted = |component: &&Component| only.is_none_or(|only| component.name == only);
    let names: BTreeSet<&str> = all.iter().flat_map(|(_, _, mesh)| mesh.components.iter().filter(wanted)).map(|component| component.name.as_str()).collect();
    let labels = |mesh: &Mesh| mesh.grid.axes.iter().map(|axis| axis.label.clone()).collect::<Vec<_>>();
    let Some((_, _, first)) = all.first() else { return Ok(Vec::new()) };
    let first_labels = labels(first);
    let mut taken: BTreeSet<String> = ["iteration", "time"].map(str::to_owned).into();
    let indexes: Vec<String> = first_labels.iter().map(|label| free_name(&format!("i_{label}"), "index", &mut taken)).collect();
    let coordinates: Vec<String> = first_labels.iter().map(|label| free_name(label, "coordinate", &mut taken)).collect();
    let mut columns = Vec::new();
    for name in names {
        let own = || all.iter().filter_map(|(_, _, mesh)| mesh.components.iter().find(|component| component.name == name));
        let column = if name.is_empty() { record.to_owned() } else { format!("{record}_{name}") };
        columns.push((name, Kind::of(own()), own().next(), free_name(&column, "record", &mut taken)));
    }
    let mut segments = Vec::new();
    for (iteration, member, mesh) in &all {
        if labels(mesh) != first_labels {
            return Err(contradiction(file, &member.path, format!("has the axes {:?}, another iteration has {first_labels:?}", labels(mesh))));
        }
        let Some(position) = mesh.components.iter().position(|component| wanted(&component)) else { continue };
        let (Some(one), Some(position)) = (mesh.components.get(position), mesh.positions.get(position)) else { continue };
        let stored = mesh.components.iter().find(|component| component.constant.is_none()).unwrap_or(one);
        let mut segment = SegmentDefinition::new(member.path.clone(), one.shape.clone(), stored.chunk.clone());
        for (name, values) in iteration.columns()? {
            segment = segment.with_column(name, values);
        }
        for (axis, name) in indexes.iter().enumerate() {
            segment = segment.with_column(name.clone(), Values::Index { axis });
        }
        for (axis, ((about, name), position)) in mesh.grid.axes.iter().zip(&coordinates).zip(position).enumerate() {
            if about.attribute.is_some() {
                let origin = (about.offset + position * about.spacing) * about.unit;
                segment = segment.with_column(name.clone(), Values::Linear { axis, origin, spacing: about.spacing * about.unit });
            }
        }
        for (name, kind, like, column) in &columns {
            let values = match (mesh.components.iter().find(|component| component.name == *name), like) {
                (Some(own), _) => values(own, None, *kind),
                (None, Some(like)) => missing(like, *kind),
                (None, None) => continue,
            };
            segment = segment.with_column(column.clone(), values);
        }
        segments.push(segment);
    }
    Ok(segments)
}
