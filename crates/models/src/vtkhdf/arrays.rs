//! Arrays of values of points or cells, and the columns that they make.

use std::collections::{BTreeMap, BTreeSet};

use hyperslab_array::{Error, Result};
use hyperslab_reader::File;
use hyperslab_scan::{ArrayPart, DimensionMapping, Omitted, Values};

use crate::budget::Budget;
use crate::look::{contradiction, free_name, join, members, optional};

/// Values of an array's element that become columns; arrays with more are not in tables.
const MAX_COMPONENTS: u64 = 9;
/// Bytes that a definition keeps of an array, besides its path.
const ARRAY_BYTES: u64 = 512;

/// An array.
pub(super) struct Field {
    pub name: String,
    pub path: String,
    pub shape: Vec<u64>,
    pub chunk: Vec<u64>,
    /// Dimensions along which its elements lie.
    pub dimensions: usize,
    /// Values of an element, if these are a dimension of their own.
    pub components: Option<u64>,
}

/// The arrays of the group at `path`. `fits` says along how many dimensions the elements of an array of a shape lie, and `wanted` what it
/// wants; there may be one dimension more, for vectors.
pub(super) fn arrays(
    file: &File,
    path: &str,
    (fits, wanted): (impl Fn(&[u64]) -> Option<usize>, &str),
    omitted: &mut Vec<Omitted>,
    budget: &mut Budget,
) -> Result<Vec<Field>> {
    let Some(group) = optional(file, path)? else { return Ok(Vec::new()) };
    if group.group().is_none() {
        return Err(contradiction(file, path, "is not a group"));
    }
    let mut found = Vec::new();
    for member in members(file, path)? {
        budget.pay(member.path.len() as u64 + ARRAY_BYTES, path)?;
        let dataset = match (&member.object, member.dataset()) {
            (Err(error), _) => {
                omitted.push(Omitted::new(member.path, format!("cannot be read: {}", error.message())));
                continue;
            }
            (_, Some(dataset)) => dataset.clone(),
            (_, None) => {
                omitted.push(Omitted::new(member.path, "is not a dataset"));
                continue;
            }
        };
        if let Some(refusal) = &dataset.refusal {
            omitted.push(Omitted::new(member.path, format!("cannot be read: {}", refusal.message())));
            continue;
        }
        let shape = dataset.dataspace.shape().to_vec();
        let dimensions = fits(&shape).filter(|dimensions| (*dimensions..=*dimensions + 1).contains(&shape.len()));
        let Some(dimensions) = dimensions else {
            return Err(contradiction(file, &member.path, format!("has shape {shape:?}, not {wanted}, or one dimension more for vectors")));
        };
        let components = shape.get(dimensions).copied();
        if components.is_some_and(|components| components > MAX_COMPONENTS) {
            omitted.push(Omitted::new(member.path, format!("has {} values for each element, more than {MAX_COMPONENTS}", components.unwrap_or(0))));
            continue;
        }
        let chunk = dataset.chunk_grid.chunk_shape().iter().map(|extent| (*extent).max(1)).collect();
        found.push(Field { name: member.name, path: member.path, shape, chunk, dimensions, components });
    }
    Ok(found)
}

/// The columns of all arrays of a table. Arrays of one name have the same column names in all segments.
pub(super) struct Columns {
    /// Name of the array and component, and the name of the column, with an array that has it.
    list: Vec<(String, Option<u64>, String, ArrayPart)>,
}

impl Columns {
    /// The columns of arrays, which are in the order of segments.
    pub fn of<'a>(all: impl Iterator<Item = &'a Field>, mut taken: BTreeSet<String>) -> Self {
        let (mut list, mut known) = (Vec::new(), BTreeSet::new());
        for array in all {
            for component in each_component(array) {
                if known.insert((array.name.clone(), component)) {
                    let name = component.map_or_else(|| array.name.clone(), |component| format!("{}_{component}", array.name));
                    let like = ArrayPart::whole(array.path.clone());
                    list.push((array.name.clone(), component, free_name(&name, "array", &mut taken), like));
                }
            }
        }
        Self { list }
    }

    /// For each column its name and its values in a segment. `part` says which part of an array the segment has: a mapping for each
    /// dimension except the components, or none for the whole array.
    pub fn values<'a>(
        &'a self,
        arrays: &'a [Field],
        mut part: impl FnMut(&Field) -> Result<Vec<DimensionMapping>> + 'a,
    ) -> impl Iterator<Item = Result<(&'a str, Values)>> + 'a {
        let by_name: BTreeMap<&str, &Field> = arrays.iter().map(|array| (array.name.as_str(), array)).collect();
        self.list.iter().map(move |(array, component, name, like)| {
            let own = by_name.get(array.as_str()).filter(|own| each_component(own).any(|own| own == *component));
            let Some(own) = own else { return Ok((name.as_str(), Values::Missing { like: like.clone() })) };
            let mut dimensions = part(own)?;
            // Without dimensions, an array has an element for each row.
            let is_whole = component.is_none() && dimensions.is_empty();
            if dimensions.is_empty() && component.is_some() {
                dimensions = vec![DimensionMapping::Rows { start: 0, step: 1 }; own.dimensions];
            }
            dimensions.extend(component.map(DimensionMapping::Fixed));
            let array = ArrayPart::whole(own.path.clone());
            Ok((name.as_str(), Values::Array(if is_whole { array } else { array.with_dimensions(dimensions) })))
        })
    }
}

fn each_component(array: &Field) -> impl Iterator<Item = Option<u64>> + use<> {
    let components = array.components;
    let several = (0..components.unwrap_or(0)).map(Some);
    several.chain(components.is_none().then_some(None))
}

/// What is in a group that has no columns.
pub(super) fn left_out(file: &File, group: &str, name: &str, reason: &str, omitted: &mut Vec<Omitted>) -> Result<()> {
    let path = join(group, name);
    if optional(file, &path)?.is_some_and(|member| member.group().is_some()) {
        omitted.extend(members(file, &path)?.into_iter().map(|member| Omitted::new(member.path, reason)));
    }
    Ok(())
}

/// Fails if `end` elements along a dimension are more than an array has.
pub(super) fn check_end(file: &File, array: &Field, dimension: usize, end: Option<u64>) -> Result<()> {
    let extent = array.shape.get(dimension).copied().unwrap_or(0);
    match end {
        Some(end) if end <= extent => Ok(()),
        Some(end) => Err(contradiction(file, &array.path, format!("has {extent} elements, but {end} are needed"))),
        None => Err(Error::corrupt("needs elements beyond 64 bits").at_object(&array.path).in_file(file.name())),
    }
}
