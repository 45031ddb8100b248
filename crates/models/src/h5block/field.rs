//! A field of a step: its components, its grid.

use hyperslab_array::{Error, Result};
use hyperslab_formats::Attributes;
use hyperslab_reader::File;
use hyperslab_scan::{Literal, Omitted, Values};
use std::sync::Arc;

use arrow_array::Float64Array;

use crate::look::{contradiction, members, numbers};
use crate::steps::{BLOCK, Step};

/// Attributes of a field, as H5hut names them.
const ORIGIN: &str = "__Origin__";
const SPACING: &str = "__Spacing__";
const COORDINATES: [&str; 3] = ["__X_Coordinates__", "__Y_Coordinates__", "__Z_Coordinates__"];

/// Physical coordinates along x, y or z.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Coordinates {
    Regular { origin: f64, spacing: f64 },
    Listed(Vec<f64>),
}

/// The grid of a field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Grid {
    /// Extents along (k, j, i).
    pub shape: [u64; 3],
    /// Along x, y and z; `None` if the file does not give them.
    pub coordinates: Option<[Coordinates; 3]>,
}

/// A component of a field.
pub(crate) struct Component {
    pub name: String,
    pub path: String,
    pub chunk: Vec<u64>,
}

/// A field of a step.
pub(crate) struct Field {
    pub name: String,
    pub path: String,
    pub grid: Grid,
    /// At least one, by number.
    pub components: Vec<Component>,
}

impl Coordinates {
    /// The column of the coordinates along a dimension of the rows.
    pub fn column(&self, axis: usize) -> Values {
        match self {
            Self::Regular { origin, spacing } => Values::Linear { axis, origin: *origin, spacing: *spacing },
            Self::Listed(values) => Values::Listed { axis, values: Literal(Arc::new(Float64Array::from(values.clone()))) },
        }
    }
}

/// The fields of a step, and what is not a field, by path.
///
/// # Errors
/// `Corrupt` if the components of a field differ in shape, or its grid contradicts them.
pub(crate) fn fields(file: &File, step: &Step) -> Result<(Vec<Field>, Vec<Omitted>)> {
    let (mut fields, mut omitted) = (Vec::new(), Vec::new());
    let Some(block) = step.members.iter().find(|member| member.name == BLOCK) else { return Ok((fields, omitted)) };
    if block.group().is_none() {
        return Err(contradiction(file, &block.path, "the fields of a step are in a group; this is something else, or cannot be read"));
    }
    for member in members(file, &block.path)? {
        if let Err(error) = &member.object {
            omitted.push(Omitted::new(member.path, format!("cannot be read: {}", error.message())));
            continue;
        }
        if member.group().is_none() {
            omitted.push(Omitted::new(member.path, "is not a group of components"));
            continue;
        }
        match field(file, &member.path, &member.name, &*member.attributes()?, &mut omitted)? {
            Some(field) => fields.push(field),
            None => omitted.push(Omitted::new(member.path, "has no components of three dimensions")),
        }
    }
    Ok((fields, omitted))
}

fn field(file: &File, path: &str, name: &str, attributes: &Attributes, omitted: &mut Vec<Omitted>) -> Result<Option<Field>> {
    let mut components: Vec<(u64, Component, [u64; 3])> = Vec::new();
    for member in members(file, path)? {
        let number = member.name.parse::<u64>().ok().filter(|number| number.to_string() == member.name);
        let usable = member.dataset().filter(|dataset| dataset.refusal.is_none());
        let shape = usable.and_then(|dataset| <[u64; 3]>::try_from(dataset.dataspace.shape()).ok());
        match (number, usable, shape) {
            (Some(number), Some(dataset), Some(shape)) => {
                let chunk = dataset.chunk_grid.chunk_shape().iter().map(|extent| (*extent).max(1)).collect();
                components.push((number, Component { name: member.name, path: member.path, chunk }, shape));
            }
            (None, ..) => omitted.push(Omitted::new(member.path, "is not named by the number of a component")),
            (Some(_), Some(dataset), None) => {
                let reason = format!("has shape {:?}, not three dimensions", dataset.dataspace.shape());
                omitted.push(Omitted::new(member.path, reason));
            }
            (Some(_), None, _) => omitted.push(Omitted::new(member.path, "is not a dataset that can be read")),
        }
    }
    components.sort_by_key(|(number, ..)| *number);
    let Some((_, first, shape)) = components.first() else { return Ok(None) };
    if let Some((_, other, theirs)) = components.iter().find(|(.., theirs)| theirs != shape) {
        let message = format!("component {} of the field {name} has shape {theirs:?}, component {} has {shape:?}", other.name, first.name);
        return Err(contradiction(file, &other.path, message));
    }
    let shape = *shape;
    let coordinates = coordinates(file, path, attributes, shape)?;
    let components = components.into_iter().map(|(_, component, _)| component).collect();
    Ok(Some(Field { name: name.to_owned(), path: path.to_owned(), grid: Grid { shape, coordinates }, components }))
}

/// The coordinates that a field's attributes give: both origin and spacing, or a list along each direction.
fn coordinates(file: &File, path: &str, attributes: &Attributes, shape: [u64; 3]) -> Result<Option<[Coordinates; 3]>> {
    let place = |error: Error| error.at_object(path).in_file(file.name());
    let read = |name: &str| attributes.get(name).map(numbers).transpose().map(Option::flatten).map_err(place);
    let [nz, ny, nx] = shape;
    if let (Some(x), Some(y), Some(z)) = (read(COORDINATES[0])?, read(COORDINATES[1])?, read(COORDINATES[2])?) {
        for (name, list, extent) in [(COORDINATES[0], &x, nx), (COORDINATES[1], &y, ny), (COORDINATES[2], &z, nz)] {
            if list.len() as u64 != extent {
                return Err(contradiction(file, path, format!("the attribute {name} has {} values for {extent} cells", list.len())));
            }
        }
        return Ok(Some([x, y, z].map(Coordinates::Listed)));
    }
    let triple = |name: &str| match attributes.get(name) {
        None => Ok(None),
        Some(attribute) => match numbers(attribute).map_err(place)?.as_deref() {
            Some(&[x, y, z]) => Ok(Some([x, y, z])),
            _ => Err(contradiction(file, path, format!("the attribute {name} does not have three numbers"))),
        },
    };
    let (Some(origin), Some(spacing)) = (triple(ORIGIN)?, triple(SPACING)?) else { return Ok(None) };
    let regular = |index: usize| Coordinates::Regular { origin: origin[index], spacing: spacing[index] };
    Ok(Some([regular(0), regular(1), regular(2)]))
}
