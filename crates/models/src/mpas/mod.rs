//! MPAS: Voronoi meshes of cells, edges and vertices, and data on them.
//!
//! Tables: `cells`, `edges` and `vertices` have a row for each element, with longitude and latitude in degrees, Cartesian
//! coordinates, lists of connected elements and data. Data with further dimensions have a table for each set of them, such as
//! `cells_Time_nVertLevels`, with the text `xtime` for each time. Indexes count from 0.

mod elements;

use std::collections::BTreeSet;

use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::{Omitted, SegmentDefinition};

use crate::grid::tables::{DataTable, Location};
use crate::grid::variables::{Variable, Variables};
use crate::look::{no_table, optional, text_of};
use crate::model::{Certainty, Model, NamedArray, Problem, Recognition};
use elements::{ELEMENTS, Elements, RAGGED};

/// The model.
pub(crate) struct Mpas;

struct Part<'a> {
    elements: &'static Elements,
    outline: Location,
    tables: Vec<DataTable<'a>>,
    omitted: Vec<Omitted>,
}

fn parts(variables: &Variables) -> Vec<Part<'_>> {
    let part = |elements: &'static Elements| {
        let outline = elements.outline(variables)?;
        let (mut data, mut omitted) = (Vec::new(), Vec::new());
        for variable in variables.list.iter().filter(|variable| variable.axis(&outline.dimension).is_some() && !elements::is_topology(&variable.name)) {
            let ragged = variable.dimensions.iter().find(|name| RAGGED.contains(&name.as_str()));
            let several = ELEMENTS.iter().filter(|elements| variable.axis(elements.dimension).is_some()).collect::<Vec<_>>();
            let others = (several.len() > 1).then(|| several.iter().map(|elements| elements.dimension).collect::<Vec<_>>().join(" and "));
            match (ragged, others) {
                (None, None) => data.push(variable),
                (Some(name), _) => {
                    omitted.push(Omitted::new(variable.path.clone(), format!("has lists of different lengths along {name}: read it as an array")))
                }
                (None, Some(several)) => omitted.push(Omitted::new(variable.path.clone(), format!("has the dimensions {several}"))),
            }
        }
        let tables = outline.tables(&data, &mut omitted);
        Some(Part { elements, outline, tables, omitted })
    };
    ELEMENTS.iter().filter_map(part).collect()
}

/// The variables of texts along a dimension: the times.
fn texts(variables: &Variables) -> Vec<&Variable> {
    let is_text = |variable: &&Variable| variable.is_characters() && variable.dimensions.len() == 2;
    variables.list.iter().filter(is_text).filter(|variable| !ELEMENTS.iter().any(|elements| variable.axis(elements.dimension).is_some())).collect()
}

impl Model for Mpas {
    fn name(&self) -> &'static str {
        "mpas"
    }

    fn recognize(&self, file: &File) -> Result<Option<Recognition>> {
        let attributes = file.attributes(file.root()).unwrap_or_default();
        let says = |name: &str| text_of(&attributes, name).ok().flatten();
        let is_mpas = |name: &str| says(name).is_some_and(|text| text.to_lowercase().starts_with("mpas"));
        let has = |path: &str| optional(file, path).ok().flatten().is_some_and(|member| member.dataset().is_some());
        let has_mesh = has("/verticesOnCell") && has("/nEdgesOnCell");
        let has_elements = || Ok::<bool, hyperslab_array::Error>(!parts(&Variables::of(file)?).is_empty());
        Ok(match (["Conventions", "model_name", "source"].into_iter().any(is_mpas) || says("mesh_spec").is_some(), has_mesh) {
            (true, true) => Some(Recognition::new(self.name(), Certainty::Certain, "its attributes name MPAS, and it has a mesh")),
            (false, true) => Some(Recognition::new(self.name(), Certainty::Likely, "it has verticesOnCell and nEdgesOnCell")),
            (true, false) if has_elements()? => Some(Recognition::new(self.name(), Certainty::Certain, "its attributes name MPAS; it has no mesh")),
            _ => None,
        })
    }

    fn tables(&self, file: &File) -> Result<Vec<String>> {
        let variables = Variables::of(file)?;
        Ok(parts(&variables).into_iter().flat_map(|part| part.tables).map(|table| table.name).collect())
    }

    fn table(&self, file: &File, name: &str) -> Result<Vec<SegmentDefinition>> {
        let variables = Variables::of(file)?;
        for part in parts(&variables) {
            let Some(table) = part.tables.iter().find(|table| table.name == name) else { continue };
            let location = part.elements.location(file, &variables, part.outline)?;
            return Ok(vec![location.definition(&variables, table, &texts(&variables))]);
        }
        Err(no_table(self.name(), name, &self.tables(file)?))
    }

    fn arrays(&self, file: &File) -> Result<Vec<NamedArray>> {
        let variables = Variables::of(file)?;
        Ok(parts(&variables).iter().flat_map(|part| &part.tables).flat_map(|table| table.arrays().collect::<Vec<_>>()).collect())
    }

    fn validate(&self, file: &File) -> Result<Vec<Problem>> {
        let variables = Variables::of(file)?;
        let mut problems = Vec::new();
        for part in parts(&variables) {
            if let Err(error) = part.elements.location(file, &variables, part.outline) {
                problems.push(Problem::new(error.object().unwrap_or("/"), error.message()));
            }
        }
        Ok(problems)
    }

    fn omitted(&self, file: &File) -> Result<Vec<Omitted>> {
        let variables = Variables::of(file)?;
        let mut omitted = variables.omitted.clone();
        let mut used: BTreeSet<String> = BTreeSet::new();
        let mut further: BTreeSet<String> = BTreeSet::new();
        for part in parts(&variables) {
            omitted.extend(part.omitted);
            used.extend(part.tables.iter().flat_map(DataTable::arrays).map(|array| array.path));
            further.extend(part.tables.iter().flat_map(|table| table.further(&part.outline).map(str::to_owned).collect::<Vec<_>>()));
        }
        used.extend(further.iter().map(|name| format!("/{name}")));
        used.extend(
            texts(&variables).into_iter().filter(|text| text.dimensions.first().is_some_and(|name| further.contains(name))).map(|text| text.path.clone()),
        );
        // What is on several kinds of elements was found with each.
        omitted.sort_by(|one, other| one.name.cmp(&other.name));
        omitted.dedup_by(|one, other| one.name == other.name);
        let known: BTreeSet<String> = omitted.iter().map(|omitted| omitted.name.clone()).collect();
        let is_rest = |variable: &&Variable| !used.contains(&variable.path) && !known.contains(&variable.path) && !elements::is_topology(&variable.name);
        let rest = variables.list.iter().filter(is_rest);
        omitted.extend(rest.map(|variable| Omitted::new(variable.path.clone(), "is not on cells, edges or vertices")));
        Ok(omitted)
    }
}
