//! The axes of a signal, in all conventions: attributes of the group, of the signal, and of the axes.

use std::collections::BTreeSet;

use hyperslab_array::Result;
use hyperslab_formats::Attributes;
use hyperslab_reader::File;

use super::shape_of;
use crate::groups::Group;
use crate::look::{contradiction, numbers, text_of, texts};

/// End of the name of the attribute with the dimensions of an axis.
const INDICES: &str = "_indices";
/// Stands for a dimension without an axis.
const NONE: &str = ".";

/// An axis: an array along one or more dimensions of the signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Axis {
    pub name: String,
    /// The dimensions of the signal, in the order of the array's.
    pub dimensions: Vec<usize>,
    /// Whether it has the edges of bins, one more than the signal has values.
    pub is_edges: bool,
}

/// The names in one text of the older conventions: `x:y`, `x,y` or `[x,y]`.
fn split(text: &str) -> Vec<String> {
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
    inner.split([':', ',']).map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

/// The numbers of dimensions that an attribute holds; `first` is the number of the first dimension.
fn dimensions(file: &File, group: &Group, attributes: &Attributes, name: &str, first: f64, ndim: usize) -> Result<Option<Vec<usize>>> {
    let Some(attribute) = attributes.get(name) else { return Ok(None) };
    let found = match texts(attribute)? {
        Some(texts) => texts.iter().flat_map(|text| split(text)).map(|text| text.parse().ok()).collect(),
        None => numbers(attribute).map_err(|error| error.at_object(&*group.path).in_file(file.name()))?,
    };
    let index = |number: &f64| (0..ndim).find(|dimension| *dimension as f64 + first == *number);
    let found: Option<Vec<usize>> = found.and_then(|found| found.iter().map(index).collect());
    let found = found.ok_or_else(|| contradiction(file, &group.path, format!("the attribute {name} does not hold dimensions of a signal of {ndim}")))?;
    if found.iter().collect::<BTreeSet<_>>().len() != found.len() {
        return Err(contradiction(file, &group.path, format!("the attribute {name} holds a dimension twice")));
    }
    Ok(Some(found))
}

/// Names with the dimensions that they are said to be along.
type Named = Vec<(String, Vec<usize>)>;

/// The axes that the group or its signal names.
fn named(file: &File, group: &Group, signal: &Attributes, shape: &[u64]) -> Result<Named> {
    let ndim = shape.len();
    let list = match (group.attributes.get("axes"), text_of(signal, "axes")?) {
        (Some(axes), _) => {
            let mut names = texts(axes)?.ok_or_else(|| contradiction(file, &group.path, "the attribute axes does not hold names"))?;
            if let [one] = names.as_slice()
                && group.member(one).is_none()
            {
                names = split(one);
            }
            names
        }
        (None, Some(text)) => split(&text),
        (None, None) => return by_number(file, group, ndim),
    };
    // Dimensions of extent 1 may go without an axis; of fewer names, the first dimensions have one.
    let long: Vec<usize> = shape.iter().enumerate().filter(|(_, extent)| **extent != 1).map(|(dimension, _)| dimension).collect();
    let places: Vec<usize> = if list.len() == long.len() { long } else { (0..ndim).collect() };
    let mut found = Vec::new();
    for (position, name) in list.iter().enumerate() {
        if name == NONE || name.is_empty() {
            continue;
        }
        let own = dimensions(file, group, &group.attributes, &format!("{name}{INDICES}"), 0.0, ndim)?;
        let own = match (own, places.get(position)) {
            (Some(own), _) => own,
            (None, Some(place)) => vec![*place],
            // A value without dimensions.
            (None, None) if ndim == 0 => Vec::new(),
            (None, None) => {
                let message = format!("the attribute axes names {} axes for a signal of {ndim} dimensions, without {name}{INDICES}", list.len());
                return Err(contradiction(file, &group.path, message));
            }
        };
        if !found.iter().any(|(known, _)| known == name) {
            found.push((name.clone(), own));
        }
    }
    for attribute in &*group.attributes {
        let Some(name) = attribute.name.strip_suffix(INDICES) else { continue };
        if !list.iter().any(|known| known == name)
            && let Some(own) = dimensions(file, group, &group.attributes, &attribute.name, 0.0, ndim)?
        {
            found.push((name.to_owned(), own));
        }
    }
    Ok(found)
}

/// The axes that say themselves which dimension they are along, counted from 1. Those with `primary` 1 come first.
fn by_number(file: &File, group: &Group, ndim: usize) -> Result<Named> {
    let mut found = Vec::new();
    for member in group.members.iter().filter(|member| member.dataset().is_some()) {
        let attributes = member.attributes()?;
        // Some programs write 0 where they mean no dimension.
        let is_none = attributes.get("axis").map(numbers).transpose()?.flatten().as_deref() == Some(&[0.0]);
        if !is_none && let Some(own) = dimensions(file, group, &attributes, "axis", 1.0, ndim)? {
            let primary = attributes.get("primary").map(numbers).transpose()?.flatten().and_then(|primary| primary.first().copied());
            found.push((primary.unwrap_or(1.0) != 1.0, (member.name.clone(), own)));
        }
    }
    found.sort_by_key(|(is_secondary, (_, own))| (own.first().copied(), *is_secondary));
    Ok(found.into_iter().map(|(_, named)| named).collect())
}

/// The axes of a signal of `shape`.
///
/// # Errors
/// `Corrupt` for axes that name nothing, or whose lengths do not match the signal.
pub(crate) fn axes(file: &File, group: &Group, signal: &Attributes, shape: &[u64]) -> Result<Vec<Axis>> {
    let mut axes = Vec::new();
    for (name, dimensions) in named(file, group, signal, shape)? {
        let missing = || contradiction(file, &group.path, format!("the axis {name:?} is named, but is not there"));
        let own = shape_of(file, group, &name)?.ok_or_else(missing)?;
        let extents: Vec<u64> = dimensions.iter().filter_map(|dimension| shape.get(*dimension).copied()).collect();
        let is_edges = matches!((own.as_slice(), extents.as_slice()), ([own], [extent]) if extent.checked_add(1) == Some(*own));
        let is_one = own.iter().all(|extent| *extent == 1) && extents.iter().all(|extent| *extent == 1);
        let dimensions = match own.is_empty() && is_one {
            true => Vec::new(),
            false => dimensions,
        };
        if own == extents || is_edges || (own.is_empty() && is_one) {
            axes.push(Axis { name, dimensions, is_edges });
            continue;
        }
        let path = format!("{}/{name}", group.path);
        return Err(contradiction(file, &path, format!("an axis of shape {own:?} for dimensions {dimensions:?} of a signal of shape {shape:?}")));
    }
    Ok(axes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_older_files_are_split() {
        assert_eq!(split("x:y"), ["x", "y"]);
        assert_eq!(split("[ x, y ]"), ["x", "y"]);
        assert_eq!(split("x"), ["x"]);
        assert!(split("").is_empty());
    }
}
