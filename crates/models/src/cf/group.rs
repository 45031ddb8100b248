//! Groups of a file, and the variables that names mean in them (CF 2.7).

use std::convert::Infallible;

use hyperslab_array::Result;
use hyperslab_columns::{Conventions, Decoding};
use hyperslab_formats::Attributes;
use hyperslab_reader::File;
use hyperslab_scan::Omitted;

use crate::grid::variables::{Variable, Variables};
use crate::look::text_of;

/// A group with its variables and the variables of the groups above it.
pub(crate) struct Group {
    /// Path of the group: `/`, `/run/1`.
    pub path: String,
    pub variables: Vec<Variable>,
    /// Members that are not variables that can be read. Groups are not among them.
    pub omitted: Vec<Omitted>,
    /// Variables of the groups above, the nearest first.
    above: Vec<Variable>,
    /// Names and extents of the dimensions of this group and of those above, the nearest first.
    declared: Vec<(String, u64)>,
    /// The text of `featureType`, in lower case.
    pub feature_type: Option<String>,
    /// Names of the attribute `coordinates` of the file.
    pub global_coordinates: Vec<String>,
}

impl Group {
    pub fn of(file: &File, path: &str) -> Result<Self> {
        let Variables { list, omitted } = Variables::of_group(file, path)?;
        let mut above = Vec::new();
        let mut declared = declared(file, path)?;
        let mut outer = path.trim_end_matches('/');
        while let Some((parent, _)) = outer.rsplit_once('/') {
            let path = if parent.is_empty() { "/" } else { parent };
            above.extend(Variables::of_group(file, path)?.list);
            declared.extend(self::declared(file, path)?);
            outer = parent;
        }
        let root = file.attributes(file.root()).unwrap_or_default();
        let feature_type = feature_type(&root);
        let global_coordinates = words(&root, "coordinates");
        let omitted = omitted.into_iter().filter(|omitted| omitted.reason != "is a group").collect();
        let (variables, unnamed): (Vec<Variable>, Vec<Variable>) = list.into_iter().partition(|variable| variable.dimensions.len() == variable.shape.len());
        let mut group = Self { path: path.to_owned(), variables, omitted, above, declared, feature_type, global_coordinates };
        let reason = |variable: &Variable| format!("has dimensions without names, {:?}", variable.shape);
        group.omitted.extend(unnamed.iter().map(|variable| Omitted::new(variable.path.clone(), reason(variable))));
        Ok(group)
    }

    /// The variable that `name` means: of this group, else of the nearest group above. A name may be a path.
    pub fn find(&self, name: &str) -> Option<&Variable> {
        let all = || self.variables.iter().chain(&self.above);
        if !name.contains('/') {
            return all().find(|variable| variable.name == name);
        }
        let path = resolved(&self.path, name);
        all().find(|variable| variable.path == path)
    }

    /// The coordinate variable of a dimension of this extent.
    pub fn coordinate(&self, dimension: &str, extent: u64) -> Option<&Variable> {
        self.find(dimension).filter(|found| found.dimensions == [dimension.to_owned()] && found.shape == [extent])
    }

    /// The extent of a dimension, from the first variable that has it, else as it is declared.
    pub fn extent(&self, dimension: &str) -> Option<u64> {
        let of = |variable: &Variable| variable.axis(dimension).and_then(|axis| variable.shape.get(axis).copied());
        let declared = || self.declared.iter().find(|(name, _)| name == dimension).map(|(_, extent)| *extent);
        self.variables.iter().chain(&self.above).find_map(of).or_else(declared)
    }

    /// Number of the dimensions of a variable that make rows: not the length of texts.
    pub fn row_ndim(&self, variable: &Variable) -> usize {
        let ndim = variable.dimensions.len();
        let is_length = || {
            let is_shared = |last: &String| self.variables.iter().chain(&self.above).any(|other| !other.is_characters() && other.axis(last).is_some());
            Ok::<_, Infallible>(variable.dimensions.last().is_some_and(|last| !is_shared(last)))
        };
        let Ok(texts) = Decoding::of_characters(&variable.datatype, &variable.shape, Conventions::Netcdf, is_length);
        if texts.is_some() { ndim - 1 } else { ndim }
    }
}

fn declared(file: &File, path: &str) -> Result<Vec<(String, u64)>> {
    let found = file.find(path)?;
    Ok(found.file.declared_dimensions(found.object)?.iter().map(|dimension| (dimension.name.clone(), dimension.extent)).collect())
}

/// The attribute `featureType` in lower case.
pub(crate) fn feature_type(root: &Attributes) -> Option<String> {
    let text = |name: &str| text_of(root, name).ok().flatten();
    text("featureType").or_else(|| text("CF:featureType")).map(|text| text.trim().to_lowercase())
}

/// The words of a text attribute; none if there is no such attribute, or one that cannot be read.
pub(crate) fn words(attributes: &Attributes, name: &str) -> Vec<String> {
    let text = text_of(attributes, name).ok().flatten().unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// An absolute path for `name` as seen from the group at `from`.
fn resolved(from: &str, name: &str) -> String {
    let start = if name.starts_with('/') { "" } else { from };
    let mut parts: Vec<&str> = start.split('/').filter(|part| !part.is_empty()).collect();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Whether a dataset has an attribute.
pub(crate) fn has(variable: &Variable, name: &str) -> bool {
    variable.attributes.get(name).is_some()
}

/// An attribute's text; `None` if it has none, or one that cannot be read.
pub(crate) fn text(variable: &Variable, name: &str) -> Option<String> {
    text_of(&variable.attributes, name).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_be_paths() {
        assert_eq!(resolved("/a/b", "../x"), "/a/x");
        assert_eq!(resolved("/a", "b/x"), "/a/b/x");
        assert_eq!(resolved("/a", "/b/x"), "/b/x");
        assert_eq!(resolved("/", "../../x"), "/x");
    }
}
