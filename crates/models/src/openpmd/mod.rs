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

use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::{Omitted, SegmentDefinition};

use crate::budget::Budget;
use crate::look::{Member, no_table};
use crate::model::{Certainty, Model, NamedArray, Problem, Recognition};
use series::{Iteration, iterations};

/// The model.
pub(crate) struct OpenPmd;

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
        tables.push((format!("particles_{species}"), Table::Particles(species)));
    }
    for record in seen(iterations, |iteration| &iteration.meshes) {
        for (name, component) in mesh::tables(file, iterations, &record)? {
            tables.push((format!("cells_{name}"), Table::Cells(record.clone(), component)));
        }
    }
    for species in seen(iterations, |iteration| &iteration.species) {
        let members = iterations.iter().flat_map(|iteration| &iteration.species).filter(|member| member.name == species);
        if members.map(|member| patches::has_patches(file, member)).collect::<Result<Vec<bool>>>()?.contains(&true) {
            tables.push((format!("patches_{species}"), Table::Patches(species)));
        }
    }
    Ok(tables)
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
        Ok(tables(file, &iterations(file)?)?.into_iter().map(|(name, _)| name).collect())
    }

    fn table(&self, file: &File, name: &str) -> Result<Vec<SegmentDefinition>> {
        let iterations = iterations(file)?;
        // A contradiction in a mesh is no matter of particles.
        if let Some(species) =
            name.strip_prefix("particles_").filter(|name| seen(&iterations, |iteration| &iteration.species).iter().any(|known| known == name))
        {
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
        for iteration in iterations(file)? {
            let mut add = |name: &str, component: &record::Component| {
                if component.constant.is_none() {
                    let name = if component.name.is_empty() { name.to_owned() } else { format!("{name}/{}", component.name) };
                    arrays.push(NamedArray { name, step: Some(iteration.number), path: component.path.clone(), shape: component.shape.clone() });
                }
            };
            for member in &iteration.meshes {
                record::components(file, member)?.iter().for_each(|component| add(&member.name, component));
            }
            for member in &iteration.species {
                for ((record, _), component) in &species::species(file, member)?.components {
                    add(&format!("{}/{record}", member.name), component);
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
        match iterations(file) {
            Err(error) => note(Err(error), "/"),
            Ok(iterations) => {
                for iteration in &iterations {
                    iteration.meshes.iter().for_each(|member| note(mesh::check(file, member), &member.path));
                    iteration.species.iter().for_each(|member| note(species::species(file, member).map(|_| ()), &member.path));
                }
                for species in seen(&iterations, |iteration| &iteration.species) {
                    note(patches::table(file, &iterations, &species).map(|_| ()), "/");
                }
                let mut budget = Budget::of(file);
                for member in iterations.iter().flat_map(|iteration| &iteration.species) {
                    // What is wrong with the particles alone was noted above.
                    if let Ok(particles) = species::species(file, member) {
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
        let outside = others.filter(|path| !inside.iter().any(|iteration| iteration == path || iteration.starts_with(&format!("{path}/"))));
        Ok(outside.map(|path| Omitted::new(path, "is in no iteration")).collect())
    }
}
