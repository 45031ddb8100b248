//! openPMD 1.1 and 2.0: particles and meshes of the iterations of a simulation.
//!
//! Tables: `particles_<species>` has the particles of all iterations, `patches_<species>` its patches, `cells_<record>` the cells of
//! a mesh with indexes and coordinates; a component that lies elsewhere in the cell than others has a table of its own. Values and
//! coordinates are in SI units (in openPMD 2.0 a file may lack factors to these; then they are as stored): those with another unit, constants and positions with offsets are doubles.

mod mesh;
mod patches;
mod record;
mod series;
mod species;

use std::collections::BTreeSet;

use hyperslab_array::{Error, Result};
use hyperslab_reader::File;
use hyperslab_scan::{Omitted, SegmentDefinition};

use crate::budget::Budget;
use crate::look::{Member, contradiction, no_table};
use crate::model::{Certainty, Model, NamedArray, Problem, Recognition};
use series::{Iteration, is_of_the_object, iterations, readable};

/// The model.
pub(crate) struct OpenPmd;

/// Attribute of files with external fields, an extension, which need no iterations.
const EXTERNAL_FIELDS: &str = "externalFieldPath";

/// What a table shows.
enum Table {
    Particles(String),
    Patches(String),
    Cells(String, Option<String>),
}

/// The names of members of all iterations, in the order in which they were first seen.
fn seen(iterations: &[Iteration], of: fn(&Iteration) -> &[Member]) -> Vec<String> {
    let mut known = BTreeSet::new();
    let names = iterations.iter().flat_map(of).map(|member| &member.name).filter(|name| known.insert(*name));
    names.cloned().collect()
}

/// The tables of a file, by name.
fn tables(file: &File, iterations: &[Iteration]) -> Result<Vec<(String, Table)>> {
    let mut tables = Vec::new();
    for species in seen(iterations, |iteration| &iteration.species) {
        tables.push((named("particles", &species), Table::Particles(species)));
    }
    for record in seen(iterations, |iteration| &iteration.meshes) {
        // A record that contradicts the standard is a table all the same, which says so when it is asked for.
        for (name, component) in unless_wrong(mesh::tables(file, iterations, &record))?.unwrap_or_else(|| vec![(record.clone(), None)]) {
            tables.push((format!("cells_{name}"), Table::Cells(record.clone(), component)));
        }
    }
    for species in seen(iterations, |iteration| &iteration.species) {
        let members = iterations.iter().flat_map(|iteration| &iteration.species).filter(|member| member.name == species);
        if members.map(|member| patches::has_patches(file, member)).collect::<Result<Vec<bool>>>()?.contains(&true) {
            tables.push((named("patches", &species), Table::Patches(species)));
        }
    }
    Ok(tables)
}

/// Name of a table of a species, which may be without a name.
fn named(table: &str, species: &str) -> String {
    if species.is_empty() { table.to_owned() } else { format!("{table}_{species}") }
}

/// What was found; `None` if the object contradicts the standard, or holds what is not read. It does not take the others away.
fn unless_wrong<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Err(error) if is_of_the_object(&error) => Ok(None),
        found => found.map(Some),
    }
}

/// Components with the names of their records.
type NamedComponents = Vec<(String, record::Component)>;

/// The components of the meshes and particles of an iteration, with the names of their records, and what cannot be read of them.
fn components(file: &File, iteration: &Iteration) -> Result<(NamedComponents, Vec<Omitted>)> {
    let (mut found, mut omitted) = (Vec::new(), Vec::new());
    let mut wrong = |error: Error, member: &Member| match unless_wrong::<()>(Err(error.clone())) {
        Err(error) => Err(error),
        Ok(_) => {
            omitted.push(Omitted::new(error.object().unwrap_or(&member.path), error.message()));
            Ok(())
        }
    };
    for member in &iteration.meshes {
        match record::components(file, member) {
            Ok(components) => found.extend(components.into_iter().map(|component| (member.name.clone(), component))),
            Err(error) => wrong(error, member)?,
        }
    }
    for member in &iteration.species {
        match species::species(file, iteration, member) {
            Ok(species) => found.extend(species.components.into_iter().map(|((record, _), component)| {
                let name = if member.name.is_empty() { record } else { format!("{}/{record}", member.name) };
                (name, component)
            })),
            Err(error) => wrong(error, member)?,
        }
    }
    Ok((found, omitted))
}

impl Model for OpenPmd {
    fn name(&self) -> &'static str {
        "openpmd"
    }

    fn recognize(&self, file: &File) -> Result<Option<Recognition>> {
        let Some(version) = series::version(file)? else { return Ok(None) };
        // A file that is damaged further inside is still of this model: its tables say what is wrong.
        let count = series::names(file).map_or(0, |names| names.len());
        let iterations = if count == 1 { "1 iteration".to_owned() } else { format!("{count} iterations") };
        Ok(Some(Recognition::new(self.name(), Certainty::Certain, format!("openPMD {version}, {iterations}"))))
    }

    fn tables(&self, file: &File) -> Result<Vec<String>> {
        Ok(tables(file, &readable(file)?.0)?.into_iter().map(|(name, _)| name).collect())
    }

    fn table(&self, file: &File, name: &str) -> Result<Vec<SegmentDefinition>> {
        let iterations = iterations(file)?;
        // A contradiction in a mesh does not concern particles.
        if let Some(species) = seen(&iterations, |iteration| &iteration.species).iter().find(|species| named("particles", species) == name) {
            return species::table(file, &iterations, species);
        }
        let tables = tables(file, &iterations)?;
        match tables.iter().find(|(known, _)| known == name) {
            Some((_, Table::Particles(species))) => species::table(file, &iterations, species),
            Some((_, Table::Patches(species))) => patches::table(file, &iterations, species),
            Some((_, Table::Cells(record, component))) => mesh::table(file, &iterations, record, component.as_deref()),
            None => Err(no_table(self.name(), name, &tables.into_iter().map(|(name, _)| name).collect::<Vec<_>>())),
        }
    }

    fn arrays(&self, file: &File) -> Result<Vec<NamedArray>> {
        let mut arrays = Vec::new();
        for iteration in readable(file)?.0 {
            for (record, component) in components(file, &iteration)?.0 {
                if component.constant.is_none() {
                    let name = if component.name.is_empty() { record } else { format!("{record}/{}", component.name) };
                    arrays.push(NamedArray { name, step: Some(iteration.number), path: component.path, shape: component.shape });
                }
            }
        }
        Ok(arrays)
    }

    fn validate(&self, file: &File) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        let mut note = |result: Result<()>, place: &str| {
            if let Err(error) = result {
                problems.push(Problem::new(error.object().unwrap_or(place), error.message()));
            }
        };
        if !series::has_base_path(file)? && file.attributes(file.root())?.get(EXTERNAL_FIELDS).is_none() {
            note(Err(contradiction(file, "/", "there is no attribute basePath, so the file has no iterations")), "/");
        }
        match readable(file) {
            Err(error) => note(Err(error), "/"),
            Ok((iterations, wrong)) => {
                wrong.into_iter().for_each(|error| note(Err(error), "/"));
                for iteration in &iterations {
                    iteration.meshes.iter().for_each(|member| note(mesh::check(file, member), &member.path));
                    iteration.species.iter().for_each(|member| note(species::species(file, iteration, member).map(|_| ()), &member.path));
                }
                for species in seen(&iterations, |iteration| &iteration.species) {
                    note(patches::table(file, &iterations, &species).map(|_| ()), "/");
                }
                let mut budget = Budget::of(file);
                for (iteration, member) in iterations.iter().flat_map(|iteration| iteration.species.iter().map(move |member| (iteration, member))) {
                    // What is wrong with the particles alone was noted above.
                    if let Ok(particles) = species::species(file, iteration, member) {
                        note(patches::check(file, member, particles.count, &mut budget), &member.path);
                    }
                }
                for iteration in &iterations {
                    if let Some(message) = iteration.unusable_time()? {
                        problems.push(Problem::new(&iteration.path, message));
                    }
                }
            }
        }
        Ok(problems)
    }

    fn omitted(&self, file: &File) -> Result<Vec<Omitted>> {
        let inside: Vec<String> = series::names(file)?.into_iter().map(|(_, path)| path).collect();
        let root = file.links(file.root())?;
        let others = root.iter().map(|link| format!("/{}", link.name));
        let outside = others.filter(|path| !inside.iter().any(|iteration| iteration == "/" || iteration == path || iteration.starts_with(&format!("{path}/"))));
        let mut omitted: Vec<Omitted> = outside.map(|path| Omitted::new(path, "is in no iteration")).collect();
        let (iterations, wrong) = readable(file)?;
        omitted.extend(wrong.into_iter().map(|error| Omitted::new(error.object().unwrap_or("/").to_owned(), error.message())));
        for iteration in iterations {
            omitted.extend(components(file, &iteration)?.1);
            omitted.extend(iteration.without_records(file)?);
        }
        Ok(omitted)
    }
}
