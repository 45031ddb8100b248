//! netCDF dimensions without a variable, in a master that is appended to.

use std::collections::BTreeMap;

use hyperslab_array::{Dataspace, Datatype, Elements, Error, HeapObjects, Result};

use super::fragment::{AttributeFragment, StoredValue};
use super::master::Master;
use crate::file::definition::AttributeValue;

/// Prefix of the attribute `NAME` of a dimension without a variable; the length follows in 10 characters.
const NO_VARIABLE: &str = "This is a netCDF dimension but not a netCDF variable.";

/// The attribute `NAME` of a dimension of this length.
fn label(extent: u64) -> Result<AttributeFragment> {
    let mut bytes = format!("{NO_VARIABLE}{extent:10}").into_bytes();
    bytes.push(0);
    let datatype = Datatype::FixedString {
        size: bytes.len() as u64,
        padding: hyperslab_array::StringPadding::NullTerminated,
        character_set: hyperslab_array::CharacterSet::Ascii,
    };
    let value = Elements { datatype, bytes, heap: HeapObjects::default() };
    Ok(AttributeFragment::Value(StoredValue::new(&AttributeValue::new(Dataspace::Scalar, value))?))
}

fn is_dimension(name: &AttributeFragment) -> bool {
    let AttributeFragment::Value(value) = name else { return false };
    value.value().is_ok_and(|value| value.value.bytes.starts_with(NO_VARIABLE.as_bytes()))
}

impl Master {
    /// Paths of the unlimited dimensions without a variable.
    fn unlimited_dimensions(&self) -> Vec<String> {
        let found = self.objects.iter().filter(|(_, object)| {
            let unlimited = object
                .dataset
                .as_ref()
                .is_some_and(|dataset| matches!(&dataset.definition.dataspace, Dataspace::Simple { max_shape, .. } if max_shape.first() == Some(&None)));
            unlimited && object.attributes.get("NAME").is_some_and(|(_, name)| is_dimension(name))
        });
        found.map(|(path, _)| path.clone()).collect()
    }

    fn set_dimension(&mut self, path: &str, extent: u64) -> Result<()> {
        let Some(object) = self.objects.get_mut(path) else { return Ok(()) };
        let by = object.by.clone();
        object.attributes.insert("NAME", (by, label(extent)?));
        if let Some(Dataspace::Simple { shape, .. }) = object.dataset.as_mut().map(|dataset| &mut dataset.definition.dataspace) {
            shape.fill(extent);
        }
        Ok(())
    }

    /// Sets the length of unlimited dimensions to 0, as plans define them.
    pub(crate) fn reset_dimensions(&mut self) -> Result<()> {
        self.unlimited_dimensions().iter().try_for_each(|path| self.set_dimension(path, 0))
    }

    /// Sets the length of each unlimited dimension to the length of its longest variable.
    pub(crate) fn grow_dimensions(&mut self) -> Result<()> {
        for path in self.unlimited_dimensions() {
            let along = self.objects.values().flat_map(|object| {
                let axes = object.scales.iter().filter(|(_, scale)| **scale == path);
                axes.filter_map(|(dimension, _)| object.dataset.as_ref()?.definition.dataspace.shape().get(usize::try_from(*dimension).ok()?))
            });
            let extent = along.copied().max().unwrap_or(0);
            self.set_dimension(&path, extent)?;
        }
        Ok(())
    }
}

/// The scale of each dimension.
///
/// # Errors
/// `Unsupported` for several scales of a dimension, which plans and subfiles do not have.
pub(crate) fn single_scales<S: AsRef<str>>(scales: &BTreeMap<u32, Vec<S>>) -> Result<BTreeMap<u32, String>> {
    let single = |(dimension, scales): (&u32, &Vec<S>)| match scales.as_slice() {
        [scale] => Ok((*dimension, scale.as_ref().to_owned())),
        [first, second, ..] => Err(several_scales(*dimension, first.as_ref(), second.as_ref())),
        [] => Err(Error::internal("a dimension with scales that has none")),
    };
    scales.iter().map(single).collect()
}

/// The error for a dimension with several scales. It names two of them.
pub(crate) fn several_scales(dimension: u32, first: &str, second: &str) -> Error {
    Error::unsupported(format!("several scales of dimension {dimension} in a file written by many processes: {first}, {second}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_scales_of_a_dimension_are_named() {
        assert!(single_scales(&BTreeMap::from([(1, vec!["x"])])).is_ok_and(|single| single == BTreeMap::from([(1, "x".to_owned())])));
        assert!(
            single_scales(&BTreeMap::from([(1, vec!["x", "y"])]))
                .is_err_and(|error| error.message().contains("dimension 1") && error.message().contains("x, y"))
        );
    }
}
