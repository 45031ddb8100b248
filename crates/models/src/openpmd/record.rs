//! Records and their components: arrays, or constants that are attributes.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array};
use hyperslab_array::Result;
use hyperslab_formats::Attributes;
use hyperslab_reader::File;
use hyperslab_scan::{ArrayPart, Literal, Term, Values};

use super::series::are_units_optional;
use crate::look::{Member, contradiction, members, numbers};

/// A component of a record.
pub(crate) struct Component {
    /// Empty for a scalar record.
    pub name: String,
    pub path: String,
    pub shape: Vec<u64>,
    pub chunk: Vec<u64>,
    /// What stored values are multiplied with to be in SI units.
    pub unit: f64,
    /// The value of all elements, if it is constant.
    pub constant: Option<f64>,
    pub attributes: Arc<Attributes>,
}

/// The numbers of an attribute; `Corrupt` if it is missing, or not numbers.
pub(crate) fn needed(file: &File, path: &str, attributes: &Attributes, name: &str) -> Result<Vec<f64>> {
    let Some(attribute) = attributes.get(name) else { return Err(contradiction(file, path, format!("there is no attribute {name}"))) };
    let found = numbers(attribute).map_err(|error| error.at_object(path).in_file(file.name()))?;
    found.ok_or_else(|| contradiction(file, path, format!("the attribute {name} does not hold numbers")))
}

fn one_number(file: &File, path: &str, attributes: &Attributes, name: &str) -> Result<f64> {
    match needed(file, path, attributes, name)?.as_slice() {
        [number] => Ok(*number),
        several => Err(contradiction(file, path, format!("the attribute {name} has {} numbers, not one", several.len()))),
    }
}

/// The components of a record, by name.
///
/// # Errors
/// `Corrupt` for an object that is not a component, and for components that differ in shape.
pub(crate) fn components(file: &File, record: &Member) -> Result<Vec<Component>> {
    components_with(file, record, Unit::Needed)
}

/// Whether components have a unit. Numbers of particles in patches have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Needed,
    Without,
}

/// The components of a record that may be without units.
///
/// # Errors
/// As of [`components`].
pub(crate) fn components_with(file: &File, record: &Member, unit: Unit) -> Result<Vec<Component>> {
    let found = match component(file, record, "", unit)? {
        Some(scalar) => vec![scalar],
        None => {
            let mut found = Vec::new();
            for member in members(file, &record.path)? {
                let name = member.name.clone();
                match component(file, &member, &name, unit)? {
                    Some(one) => found.push(one),
                    None => return Err(contradiction(file, &member.path, "is neither a dataset nor a constant with the attributes value and shape")),
                }
            }
            found
        }
    };
    let Some(first) = found.first() else { return Err(contradiction(file, &record.path, "the record has no components")) };
    if let Some(other) = found.iter().find(|other| other.shape != first.shape) {
        let message = format!("has shape {:?}, the component {} has {:?}", other.shape, first.name, first.shape);
        return Err(contradiction(file, &other.path, message));
    }
    Ok(found)
}

fn component(file: &File, member: &Member, name: &str, unit: Unit) -> Result<Option<Component>> {
    let (_, object) = member.object.as_ref().map_err(|error| contradiction(file, &member.path, format!("cannot be read: {}", error.message())))?;
    let attributes = member.attributes()?;
    let (shape, chunk, constant) = match object.dataset() {
        Some(dataset) => {
            if let Some(refusal) = &dataset.refusal {
                return Err(refusal.clone().at_object(&member.path).in_file(file.name()));
            }
            let chunk = dataset.chunk_grid.chunk_shape().iter().map(|extent| (*extent).max(1)).collect();
            (dataset.dataspace.shape().to_vec(), chunk, None)
        }
        None if attributes.get("value").is_some() || attributes.get("shape").is_some() => {
            let mut shape = Vec::new();
            for extent in needed(file, &member.path, &attributes, "shape")? {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
                match extent {
                    whole if whole.fract() == 0.0 && (0.0..2f64.powi(53)).contains(&whole) => shape.push(whole as u64),
                    other => return Err(contradiction(file, &member.path, format!("the attribute shape has {other}"))),
                }
            }
            let chunk = shape.iter().map(|extent| (*extent).max(1)).collect();
            (shape, chunk, Some(one_number(file, &member.path, &attributes, "value")?))
        }
        None => return Ok(None),
    };
    let unit = match unit {
        Unit::Needed if attributes.get("unitSI").is_some() || !are_units_optional(file)? => one_number(file, &member.path, &attributes, "unitSI")?,
        _ => 1.0,
    };
    Ok(Some(Component { name: name.to_owned(), path: member.path.clone(), shape, chunk, unit, constant, attributes }))
}

/// A column over iterations: whether its values are those stored, or doubles in SI units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Arrays in SI units already.
    Stored,
    /// Doubles.
    Double,
}

impl Kind {
    /// The kind of a column with these components.
    pub fn of<'a>(mut components: impl Iterator<Item = &'a Component>) -> Self {
        #[expect(clippy::float_cmp, reason = "exactly one leaves values as they are")]
        let stored = |component: &Component| component.constant.is_none() && component.unit == 1.0;
        if components.all(stored) { Self::Stored } else { Self::Double }
    }
}

/// The values of a component, with an offset that is added.
pub(crate) fn values(component: &Component, offset: Option<&Component>, kind: Kind) -> Values {
    if kind == Kind::Stored {
        return Values::Array(ArrayPart::whole(component.path.clone()));
    }
    let (mut terms, mut constant) = (Vec::new(), 0.0);
    for part in std::iter::once(component).chain(offset) {
        match part.constant {
            Some(value) => constant += value * part.unit,
            None => terms.push(Term::new(ArrayPart::whole(part.path.clone()), part.unit)),
        }
    }
    if terms.is_empty() { Values::Constant(Literal(double(Some(constant)))) } else { Values::scaled(terms, constant) }
}

/// Nulls for an iteration that lacks a component which another one has.
pub(crate) fn missing(like: &Component, kind: Kind) -> Values {
    match kind {
        Kind::Stored => Values::Missing { like: ArrayPart::whole(like.path.clone()) },
        Kind::Double => Values::Constant(Literal(double(None))),
    }
}

fn double(value: Option<f64>) -> ArrayRef {
    Arc::new(Float64Array::from(vec![value]))
}
