//! Roles: what the variables of a group are to each other, by their attributes.

use std::collections::{BTreeMap, BTreeSet};

use super::group::{Group, has, text, words};
use crate::grid::variables::Variable;

/// Paths of variables that are not data, and the variables that they describe.
pub(crate) struct Roles {
    /// Bounds, each with the path of the variable that they bound.
    pub bounds: BTreeMap<String, String>,
    /// Variables that only hold attributes, with what they describe.
    pub containers: BTreeMap<String, String>,
    /// Auxiliary and scalar coordinates.
    pub auxiliary: BTreeSet<String>,
}

/// Attributes that name variables, each with what these are.
const REFERENCES: [&str; 9] =
    ["bounds", "climatology", "coordinates", "grid_mapping", "ancillary_variables", "cell_measures", "formula_terms", "geometry", "node_coordinates"];

impl Roles {
    pub fn of(group: &Group) -> Self {
        let mut roles = Self { bounds: BTreeMap::new(), containers: BTreeMap::new(), auxiliary: BTreeSet::new() };
        for variable in &group.variables {
            if let Some(bounds) = bounds_of(group, variable) {
                roles.bounds.insert(bounds.path.clone(), variable.path.clone());
            }
            roles.auxiliary.extend(auxiliary_of(group, variable).map(|coordinate| coordinate.path.clone()));
            if let Some(mapping) = grid_mapping_of(group, variable) {
                roles.containers.insert(mapping.path.clone(), format!("is the grid mapping of {}", variable.name));
            }
            if let Some(geometry) = text(variable, "geometry").and_then(|name| group.find(&name)) {
                roles.containers.insert(geometry.path.clone(), format!("describes the geometries of {}", variable.name));
            }
        }
        for variable in group.variables.iter().filter(|variable| variable.shape.is_empty()) {
            let what =
                [("grid_mapping_name", "describes a projection"), ("geometry_type", "describes geometries"), ("cf_role", "describes a mesh or a domain")];
            if let Some((_, reason)) = what.iter().find(|(attribute, _)| has(variable, attribute)).filter(|_| !is_instance_id(variable)) {
                roles.containers.entry(variable.path.clone()).or_insert_with(|| (*reason).to_owned());
            }
        }
        let global = group.global_coordinates.iter().filter_map(|name| group.find(name));
        roles.auxiliary.extend(global.map(|coordinate| coordinate.path.clone()));
        roles
    }

    /// Whether a variable is there for others.
    pub fn is_role(&self, variable: &Variable) -> bool {
        self.bounds.contains_key(&variable.path) || self.containers.contains_key(&variable.path) || self.auxiliary.contains(&variable.path)
    }
}

/// Whether a variable identifies instances: `cf_role = "timeseries_id"`.
pub(crate) fn is_instance_id(variable: &Variable) -> bool {
    text(variable, "cf_role").is_some_and(|role| role.ends_with("_id"))
}

/// The variable with the bounds of another.
pub(crate) fn bounds_of<'a>(group: &'a Group, variable: &Variable) -> Option<&'a Variable> {
    let name = text(variable, "bounds").or_else(|| text(variable, "climatology"))?;
    group.find(name.trim()).filter(|bounds| bounds.path != variable.path)
}

/// The auxiliary coordinates of a variable.
pub(crate) fn auxiliary_of<'a>(group: &'a Group, variable: &Variable) -> impl Iterator<Item = &'a Variable> {
    words(&variable.attributes, "coordinates").into_iter().filter_map(|name| group.find(&name)).filter(|found| found.dimensions != [found.name.clone()])
}

/// The grid mapping of a variable: the first, if there are several.
pub(crate) fn grid_mapping_of<'a>(group: &'a Group, variable: &Variable) -> Option<&'a Variable> {
    let first = words(&variable.attributes, "grid_mapping").into_iter().next()?;
    group.find(first.trim_end_matches(':')).filter(|mapping| mapping.path != variable.path)
}

/// Names in attributes that are not variables of the file: the attribute and the name.
pub(crate) fn dangling(group: &Group, variable: &Variable) -> Vec<(&'static str, String)> {
    let mut missing = Vec::new();
    for attribute in REFERENCES {
        let all = words(&variable.attributes, attribute);
        let keyed = matches!(attribute, "cell_measures" | "formula_terms") || all.iter().any(|word| word.ends_with(':'));
        let names = all.into_iter().filter(|word| !keyed || !word.ends_with(':') || attribute == "grid_mapping");
        // Cell measures may be in other files (CF 7.2).
        for name in names.map(|name| name.trim_end_matches(':').to_owned()).filter(|_| attribute != "cell_measures") {
            if group.find(&name).is_none() {
                missing.push((attribute, name));
            }
        }
    }
    missing
}
