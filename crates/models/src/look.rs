//! Questions to files that several models ask.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float64Array, ListArray, StringArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use hyperslab_array::suggest::suggestion;
use hyperslab_array::{Attribute, ByteOrder, Datatype, Elements, Error, ErrorKind, FloatFormat, FloatLayout, Result};
use hyperslab_columns::{Column, Conventions};
use hyperslab_formats::{Attributes, Dataset, Object};
use hyperslab_reader::{File, Found};

/// A member of a group as a column `T`, or the reason why it is not one.
pub(crate) enum AsColumn<T> {
    Column(T),
    Omitted(String),
}

/// A member of a group, with links followed.
pub(crate) struct Member {
    pub name: String,
    pub path: String,
    /// The object, or why there is none: a dangling link, a damaged header.
    pub object: Result<(Found, Object)>,
}

impl Member {
    pub fn dataset(&self) -> Option<&Arc<Dataset>> {
        self.object.as_ref().ok().and_then(|(_, object)| object.dataset())
    }

    pub fn group(&self) -> Option<&Found> {
        self.object.as_ref().ok().filter(|(_, object)| object.is_group()).map(|(found, _)| found)
    }

    /// The attributes; none if there is no object. Errors of values name the object.
    pub fn attributes(&self) -> Result<Arc<Attributes>> {
        match &self.object {
            Ok((found, _)) => attributes_at(found, &self.path),
            Err(_) => Ok(Arc::default()),
        }
    }
}

/// The attributes of the object at `path`. Errors of values name it.
pub(crate) fn attributes_at(found: &Found, path: &str) -> Result<Arc<Attributes>> {
    let attributes = found.file.attributes(found.object).map_err(|error| error.at_object(path))?;
    if attributes.iter().all(|attribute| attribute.value.is_ok()) {
        return Ok(attributes);
    }
    let placed = |attribute: &Attribute| {
        let Attribute { name, dataspace, value } = attribute.clone();
        Attribute { name, dataspace, value: value.map_err(|error| error.at_object(path)) }
    };
    Ok(Arc::new(Attributes::new(attributes.iter().map(placed).collect(), attributes.tracked)))
}

/// `path` of a member of the group at `group`.
pub(crate) fn join(group: &str, name: &str) -> String {
    format!("{}/{name}", group.trim_end_matches('/'))
}

/// The object at `path`; `None` if there is none.
pub(crate) fn optional(file: &File, path: &str) -> Result<Option<Member>> {
    if !file.exists(path).map_err(|error| error.at_object(path))? {
        return Ok(None);
    }
    Ok(Some(member(file, path)))
}

fn member(file: &File, path: &str) -> Member {
    let object = file.find_without_suggestions(path).and_then(|found| {
        let object = found.file.object(found.object)?;
        Ok((found, object))
    });
    Member { name: path.rsplit('/').next().unwrap_or(path).to_owned(), path: path.to_owned(), object }
}

/// The members of the group at `path`, in the order of the file.
pub(crate) fn members(file: &File, path: &str) -> Result<Vec<Member>> {
    let found = file.find(path)?;
    let links = found.file.links(found.object)?;
    Ok(links.iter().map(|link| member(file, &join(path, &link.name))).collect())
}

/// The paths of all groups of a file, and of those in other files that external links lead to, the root first. Each group once, whatever
/// links lead to it.
pub(crate) fn group_paths(file: &File) -> Result<Vec<String>> {
    let mut seen = BTreeSet::from([(file.path().to_owned(), file.root())]);
    let (mut paths, mut next) = (Vec::new(), vec!["/".to_owned()]);
    while let Some(path) = next.pop() {
        let mut inner = Vec::new();
        for member in members(file, &path)? {
            if let Some(found) = member.group()
                && seen.insert((found.file.path().to_owned(), found.object))
            {
                inner.push(join(&path, &member.name));
            }
        }
        paths.push(path);
        next.extend(inner.into_iter().rev());
    }
    Ok(paths)
}

/// An attribute's values; `None` if it has none.
pub(crate) fn values(attribute: &Attribute) -> Result<Option<ArrayRef>> {
    let elements = attribute.value.as_ref().map_err(Clone::clone)?;
    if elements.bytes.is_empty() {
        return Ok(None);
    }
    let column = Column::new(&attribute.name, &elements.datatype.with_references_as_bytes(), &[], Conventions::Raw)?;
    let array = column.to_arrow(&elements.bytes, &elements.heap)?;
    Ok((!array.is_empty()).then_some(array))
}

/// An attribute as one value: a number or a text, or a list of several.
pub(crate) fn one_value(attribute: &Attribute) -> Result<Option<ArrayRef>> {
    let Some(array) = values(attribute)? else { return Ok(None) };
    if array.len() == 1 {
        return Ok(Some(array));
    }
    let field = Arc::new(Field::new("item", array.data_type().clone(), true));
    let list = ListArray::try_new(field, OffsetBuffer::from_lengths([array.len()]), array, None);
    list.map(|list| Some(Arc::new(list) as ArrayRef)).map_err(|error| Error::internal(error.to_string()))
}

/// The numbers of an attribute as doubles; `None` if it does not hold numbers.
///
/// # Errors
/// `Unsupported` for an integer that no double has.
pub(crate) fn numbers(attribute: &Attribute) -> Result<Option<Vec<f64>>> {
    if let Ok(Elements {
        datatype: Datatype::Float { size: size @ (10 | 12 | 16), order: ByteOrder::Little, format: FloatFormat::Custom(layout) }, bytes, ..
    }) = &attribute.value
        && is_extended(layout)
    {
        let size = usize::try_from(*size).map_err(|_| Error::internal("the size of a float"))?;
        return Ok(Some(bytes.chunks_exact(size).map(extended).collect()));
    }
    let Some(array) = values(attribute)?.filter(|array| array.data_type().is_numeric()) else { return Ok(None) };
    let cast = arrow_cast::cast(&array, &DataType::Float64).map_err(|error| Error::internal(error.to_string()))?;
    if array.data_type().is_integer() {
        // Unchecked, a value beyond the type's own would be null, and so differ.
        let back = arrow_cast::cast(&cast, array.data_type()).map_err(|error| Error::internal(error.to_string()))?;
        if back.as_ref() != array.as_ref() {
            return Err(Error::unsupported(format!("the attribute {} holds an integer that no double has", attribute.name)));
        }
    }
    Ok(cast.as_any().downcast_ref::<Float64Array>().filter(|cast| cast.null_count() == 0).map(|cast| cast.values().to_vec()))
}

/// Whether a float is `long double` of x86: 80 bits in the lowest bytes.
fn is_extended(layout: &FloatLayout) -> bool {
    let FloatLayout { bit_offset, bit_precision, exponent_location, exponent_size, mantissa_location, mantissa_size, exponent_bias, .. } = layout;
    (bit_offset, bit_precision, exponent_location, exponent_size) == (&0, &80, &64, &15)
        && (mantissa_location, mantissa_size, exponent_bias) == (&0, &64, &16383)
}

/// A `long double` of x86 as the nearest double. C++ programs store attributes so.
fn extended(bytes: &[u8]) -> f64 {
    let part = |range: std::ops::Range<usize>| bytes.get(range).unwrap_or_default().iter().rev().fold(0u64, |all, byte| (all << 8) | u64::from(*byte));
    let (mantissa, head) = (part(0..8), part(8..10));
    let (sign, exponent) = (if head >> 15 == 1 { -1.0 } else { 1.0 }, i32::try_from(head & 0x7fff).unwrap_or(0x7fff));
    if exponent == 0x7fff {
        return if mantissa << 1 == 0 { sign * f64::INFINITY } else { f64::NAN };
    }
    #[expect(clippy::cast_precision_loss, reason = "rounded to the nearest double")]
    let rounded = mantissa as f64;
    // In two steps, because the power alone may be outside of the range of doubles.
    let power = exponent - 16383 - 63;
    sign * rounded * 2f64.powi(power / 2) * 2f64.powi(power - power / 2)
}

/// The texts of an attribute; `None` if it does not hold text.
pub(crate) fn texts(attribute: &Attribute) -> Result<Option<Vec<String>>> {
    let Some(array) = values(attribute)? else { return Ok(None) };
    Ok(array.as_any().downcast_ref::<StringArray>().map(|texts| texts.iter().flatten().map(str::to_owned).collect()))
}

/// The text of an attribute called `name`, if it has one.
pub(crate) fn text_of(attributes: &Attributes, name: &str) -> Result<Option<String>> {
    let Some(attribute) = attributes.get(name) else { return Ok(None) };
    Ok(texts(attribute)?.and_then(|texts| texts.into_iter().next()))
}

/// `name`, or with `suffix` (and a number) if it is taken; takes it.
pub(crate) fn free_name(name: &str, suffix: &str, taken: &mut BTreeSet<String>) -> String {
    let suffixed = (1..).map(|number| if number == 1 { format!("{name}_{suffix}") } else { format!("{name}_{suffix}_{number}") });
    let mut names = std::iter::once(name.to_owned()).chain(suffixed);
    let free = names.find(|name| !taken.contains(name)).unwrap_or_else(|| name.to_owned());
    taken.insert(free.clone());
    free
}

/// A file that contradicts its model at `object`.
pub(crate) fn contradiction(file: &File, object: &str, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, message.into()).at_object(object).in_file(file.name())
}

/// `NotFound` for a table that a file does not have.
pub(crate) fn no_table(model: &str, name: &str, tables: &[String]) -> Error {
    let near = suggestion(name, tables.iter().map(String::as_str), tables.len());
    Error::not_found(format!("there is no table {name:?} of the model {model} in this file{near}")).at_object(name)
}
