//! CF netCDF: variables by their dimensions, with coordinates, bounds, cell methods, grid mappings and discrete sampling
//! geometries (Climate and Forecast conventions 1.11).
//!
//! A table has the variables of a group that have the same dimensions, and is named after these: `time_lat_lon`. Its columns are
//! the coordinates of the dimensions, auxiliary and scalar coordinates, and the data; bounds follow what they bound. Observations
//! of a discrete sampling geometry are the table `observations`, in which each row has the variables of its station, profile or
//! trajectory. Tables of other groups have the group's path before their names.

mod cell_methods;
mod columns;
mod group;
mod metadata;
mod outline;
mod roles;
mod sampling;
mod tables;

use std::collections::BTreeSet;

use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::{Omitted, SegmentDefinition};

use crate::grid::variables::Variable;
use crate::look::{group_paths, no_table, text_of};
use crate::model::{Certainty, Model, NamedArray, Problem, Recognition};
use columns::{dataset_definition, definition, shown};
use group::{Group, text};
use outline::{Outline, Tables, row_dimensions};
use roles::dangling;
use sampling::{instances, is_count, is_index};

/// The model.
pub(crate) struct Cf;

/// Number of members of the root that are looked at if the file's attributes do not name a convention.
const MAX_MEMBERS: u64 = 1024;

/// `cell_methods` as JSON.
///
/// # Errors
/// What is wrong with the text.
pub fn cell_methods_json(text: &str) -> std::result::Result<String, String> {
    cell_methods::parse(text).map(|methods| cell_methods::json(&methods).to_string())
}

/// The path of a group without slashes around it, and of a table in it.
fn full_name(group: &Group, table: &Outline<'_>) -> String {
    let path = group.path.trim_matches('/');
    if path.is_empty() { table.name.clone() } else { format!("{path}/{}", table.name) }
}

/// The definition of a table that was asked for by the path of its group: it names what is in other tables.
fn main_table(tables: &Tables<'_>, table: &Outline<'_>) -> Result<SegmentDefinition> {
    let here: BTreeSet<String> = shown(tables, table).into_iter().collect();
    let mut omitted: Vec<Omitted> = tables.group.omitted.iter().map(|omitted| Omitted::new(last(&omitted.name), omitted.reason.clone())).collect();
    for variable in tables.group.variables.iter().filter(|variable| !here.contains(&variable.path)) {
        let other = tables.list.iter().find(|other| shown(tables, other).contains(&variable.path));
        let dimensions: Vec<String> = row_dimensions(tables.group, variable).iter().map(|(name, extent)| format!("{name}={extent}")).collect();
        let reason = match (tables.roles.containers.get(&variable.path), other) {
            (Some(reason), _) => reason.clone(),
            (None, Some(other)) => format!("has the dimensions ({}): it is in the table {}", dimensions.join(", "), full_name(tables.group, other)),
            (None, None) => "is in no table".to_owned(),
        };
        omitted.push(Omitted::new(variable.name.clone(), reason));
    }
    Ok(definition(tables, table)?.with_omitted(omitted))
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What is wrong with a variable's attributes.
fn remarks(group: &Group, variable: &Variable) -> Vec<Problem> {
    let problem = |message: String| Problem::new(variable.path.clone(), message);
    let mut problems: Vec<Problem> = dangling(group, variable)
        .into_iter()
        .map(|(attribute, name)| problem(format!("its attribute {attribute} names {name:?}, which is not a variable of the file")))
        .collect();
    if let Some(methods) = text(variable, "cell_methods") {
        match cell_methods::parse(&methods) {
            Err(reason) => problems.push(problem(format!("its attribute cell_methods does not parse: {reason}: {methods:?}"))),
            Ok(methods) => problems.extend(methods.iter().flat_map(|method| &method.names).filter(|name| !is_known(group, variable, name)).map(|name| {
                problem(format!("its attribute cell_methods names {name:?}, which is neither a dimension nor a scalar coordinate of it, nor a standard name"))
            })),
        }
    }
    if let Some(mapping) = roles::grid_mapping_of(group, variable)
        && let Err(message) = metadata::grid_mapping(mapping)
    {
        problems.push(Problem::new(mapping.path.clone(), message));
    }
    problems
}

/// Whether a name of `cell_methods` means something: a dimension, a scalar coordinate, `area`, or a standard name.
fn is_known(group: &Group, variable: &Variable, name: &str) -> bool {
    let is_coordinate = || group.find(name).is_some_and(|found| found.shape.len() <= 1);
    let standard = |other: &Variable| text(other, "standard_name").as_deref() == Some(name);
    name == "area" || variable.axis(name).is_some() || is_coordinate() || is_standard(name) || group.variables.iter().any(standard)
}

/// Standard names of coordinates that a file need not have (CF 7.3.4).
fn is_standard(name: &str) -> bool {
    ["time", "latitude", "longitude", "height", "depth", "altitude", "air_pressure", "grid_latitude", "grid_longitude", "region", "realization"].contains(&name)
}

impl Model for Cf {
    fn name(&self) -> &'static str {
        "cf"
    }

    fn recognize(&self, file: &File) -> Result<Option<Recognition>> {
        let attributes = file.attributes(file.root()).unwrap_or_default();
        let says = text_of(&attributes, "Conventions").ok().flatten();
        if let Some(says) = says.filter(|says| says.to_uppercase().contains("CF-") || says.to_uppercase().contains("COARDS")) {
            return Ok(Some(Recognition::new(self.name(), Certainty::Certain, format!("Conventions is {says:?}"))));
        }
        if !file.format().is_netcdf() || file.link_count(file.root())? > MAX_MEMBERS {
            return Ok(None);
        }
        if let Some(kind) = group::feature_type(&attributes) {
            return Ok(Some(Recognition::new(self.name(), Certainty::Likely, format!("featureType is {kind:?}"))));
        }
        let group = Group::of(file, "/")?;
        let attributes = ["standard_name", "cell_methods", "grid_mapping", "sample_dimension", "instance_dimension"];
        let found = attributes.into_iter().find_map(|attribute| Some((attribute, group.variables.iter().find(|variable| group::has(variable, attribute))?)));
        Ok(match found {
            Some((attribute, variable)) => Some(Recognition::new(self.name(), Certainty::Likely, format!("{} has a {attribute}", variable.name))),
            None => group
                .variables
                .iter()
                .any(|variable| !variable.dimensions.is_empty())
                .then(|| Recognition::new(self.name(), Certainty::Possible, "netCDF variables with dimensions")),
        })
    }

    fn tables(&self, file: &File) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for path in group_paths(file)? {
            let group = Group::of(file, &path)?;
            names.extend(Tables::of(file, &group).list.iter().map(|table| full_name(&group, table)));
        }
        Ok(names)
    }

    fn table(&self, file: &File, name: &str) -> Result<Vec<SegmentDefinition>> {
        let wanted = name.trim_matches('/');
        let (parent, own) = wanted.rsplit_once('/').unwrap_or(("", wanted));
        let is_group = |path: &str| file.find(path).ok().and_then(|found| found.file.object(found.object).ok()).is_some_and(|object| object.is_group());
        let parent = format!("/{parent}");
        if !own.is_empty() && is_group(&parent) {
            let group = Group::of(file, &parent)?;
            let tables = Tables::of(file, &group);
            if let Some(table) = tables.list.iter().find(|table| table.name == own).or_else(|| tables.with(own)) {
                return Ok(vec![definition(&tables, table)?]);
            }
        }
        let path = format!("/{wanted}");
        if is_group(&path) {
            let group = Group::of(file, &path)?;
            let tables = Tables::of(file, &group);
            if let Some(table) = tables.list.first() {
                return Ok(vec![main_table(&tables, table)?]);
            }
        }
        Err(no_table(self.name(), name, &self.tables(file)?))
    }

    fn dataset_table(&self, file: &File, path: &str) -> Result<Option<SegmentDefinition>> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let group = Group::of(file, if parent.is_empty() { "/" } else { parent })?;
        let tables = Tables::of(file, &group);
        let Some(table) = tables.with(name) else { return Ok(None) };
        let data = table.data.iter().copied().filter(|variable| variable.name == name).collect();
        dataset_definition(&tables, &Outline { name: table.name.clone(), dimensions: table.dimensions.clone(), data })
    }

    fn arrays(&self, file: &File) -> Result<Vec<NamedArray>> {
        let mut arrays = Vec::new();
        for path in group_paths(file)? {
            let group = Group::of(file, &path)?;
            let tables = Tables::of(file, &group);
            let data = tables.list.iter().flat_map(|table| &table.data).filter(|variable| !is_count(variable));
            let array = |variable: &&Variable| NamedArray {
                name: variable.path.trim_start_matches('/').to_owned(),
                step: None,
                path: variable.path.clone(),
                shape: variable.shape.clone(),
            };
            arrays.extend(data.map(array));
        }
        Ok(arrays)
    }

    fn validate(&self, file: &File) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        for path in group_paths(file)? {
            let group = Group::of(file, &path)?;
            let tables = Tables::of(file, &group);
            for table in &tables.list {
                if let Err(error) = definition(&tables, table).and_then(|definition| definition.open(file, true)) {
                    problems.push(Problem::new(error.object().unwrap_or(&group.path), error.message()));
                }
            }
            problems.extend(group.variables.iter().flat_map(|variable| remarks(&group, variable)));
            problems.extend(sampling::dangling(&group).into_iter().map(|(path, message)| Problem::new(path, message)));
            // Indexes along a dimension that no table has.
            for variable in group.variables.iter().filter(|variable| is_index(variable)) {
                let dimension = variable.dimensions.first().map_or("", String::as_str);
                if let Err(error) = instances(file, &group, dimension) {
                    problems.push(Problem::new(error.object().unwrap_or(&variable.path), error.message()));
                }
            }
        }
        problems.sort_by(|one, other| (&one.object, &one.message).cmp(&(&other.object, &other.message)));
        problems.dedup();
        Ok(problems)
    }

    fn omitted(&self, file: &File) -> Result<Vec<Omitted>> {
        let mut omitted = Vec::new();
        for path in group_paths(file)? {
            let group = Group::of(file, &path)?;
            let tables = Tables::of(file, &group);
            let seen: BTreeSet<String> = tables.list.iter().flat_map(|table| shown(&tables, table)).collect();
            omitted.extend(group.omitted.iter().cloned());
            for variable in group.variables.iter().filter(|variable| !seen.contains(&variable.path)) {
                let reason = tables.roles.containers.get(&variable.path).cloned();
                let bounds = || tables.roles.bounds.get(&variable.path).map(|of| format!("has bounds that do not fit {of}"));
                omitted.push(Omitted::new(variable.path.clone(), reason.or_else(bounds).unwrap_or_else(|| "is in no table".to_owned())));
            }
        }
        Ok(omitted)
    }
}
