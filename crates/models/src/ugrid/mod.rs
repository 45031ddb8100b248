//! UGRID 1.0: meshes of nodes, edges and faces in netCDF, and data on them.
//!
//! Tables: `faces`, `nodes` and `edges` have a row for each element, with coordinates, lists of connected elements and data.
//! Data with further dimensions, such as time and layer, have a table for each set of them: `faces_time_layer`. If a file has
//! several meshes, the name of the mesh follows the name of the elements: `faces_ocean_time`.

mod mesh;

use std::collections::BTreeSet;

use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::{Omitted, SegmentDefinition};

use crate::grid::tables::{DataTable, Location};
use crate::grid::variables::{Variable, Variables};
use crate::look::{Member, group_paths, members, no_table, text_of};
use crate::model::{Certainty, Model, NamedArray, Problem, Recognition};
use mesh::{KINDS, Kind, Mesh, UNREAD, is_mesh, meshes};

/// The model.
pub(crate) struct Ugrid;

/// Number of members of the root that are looked at for a mesh if the attribute `Conventions` does not name UGRID.
const MAX_MEMBERS: u64 = 1024;

/// The elements of a kind and their tables.
struct Part<'a> {
    mesh: &'a Mesh<'a>,
    kind: Kind,
    outline: Location,
    tables: Vec<DataTable<'a>>,
    omitted: Vec<Omitted>,
}

impl<'a> Part<'a> {
    /// `None` if the mesh has no such elements.
    fn of(mesh: &'a Mesh<'a>, kind: Kind) -> Result<Option<Self>> {
        let (data, misfits) = mesh.data(kind)?;
        let mut omitted: Vec<Omitted> = misfits.into_iter().map(|(path, reason)| Omitted::new(path, reason)).collect();
        let Some(outline) = mesh.outline(kind)? else { return Ok(None) };
        let tables = outline.tables(&data, &mut omitted);
        Ok(Some(Part { mesh, kind, outline, tables, omitted }))
    }
}

/// The parts that do not contradict the model.
fn parts<'a>(meshes: &'a [Mesh<'a>]) -> Vec<Part<'a>> {
    meshes.iter().flat_map(|mesh| KINDS.iter().filter_map(|kind| Part::of(mesh, *kind).ok().flatten())).collect()
}

/// Whether a member describes a mesh.
fn is_topology(member: &Member) -> bool {
    let role = || text_of(&*member.attributes().ok()?, "cf_role").ok().flatten();
    member.dataset().is_some() && role().as_deref() == Some("mesh_topology")
}

impl Model for Ugrid {
    fn name(&self) -> &'static str {
        "ugrid"
    }

    fn recognize(&self, file: &File) -> Result<Option<Recognition>> {
        let attributes = file.attributes(file.root()).unwrap_or_default();
        let says_so = text_of(&attributes, "Conventions").ok().flatten().is_some_and(|text| text.to_uppercase().contains("UGRID"));
        if !says_so && file.link_count(file.root())? > MAX_MEMBERS {
            return Ok(None);
        }
        let names: Vec<String> = members(file, "/")?.into_iter().filter(is_topology).map(|member| member.name).collect();
        Ok(match names.as_slice() {
            [] => None,
            [one] => Some(Recognition::new(self.name(), Certainty::Certain, format!("{one} is a mesh_topology"))),
            several => Some(Recognition::new(self.name(), Certainty::Certain, format!("{} meshes: {}", several.len(), several.join(", ")))),
        })
    }

    fn tables(&self, file: &File) -> Result<Vec<String>> {
        let variables = Variables::of(file)?;
        let meshes = meshes(file, &variables);
        let names = |mesh: &Mesh<'_>, kind| match Part::of(mesh, kind) {
            Ok(part) => part.into_iter().flat_map(|part| part.tables).map(|table| table.name).collect(),
            // The error for this table says why it does not exist.
            Err(_) => vec![mesh.table_name(kind)],
        };
        Ok(meshes.iter().flat_map(|mesh| KINDS.into_iter().flat_map(move |kind| names(mesh, kind))).collect())
    }

    fn table(&self, file: &File, name: &str) -> Result<Vec<SegmentDefinition>> {
        let variables = Variables::of(file)?;
        let meshes = meshes(file, &variables);
        for (mesh, kind) in meshes.iter().flat_map(|mesh| KINDS.map(|kind| (mesh, kind))) {
            let part = match Part::of(mesh, kind) {
                Err(error) if mesh.table_name(kind) == name => return Err(error),
                Err(_) | Ok(None) => continue,
                Ok(Some(part)) => part,
            };
            let Some(table) = part.tables.iter().find(|table| table.name == name) else { continue };
            let location = part.mesh.location(part.kind)?.unwrap_or(part.outline);
            return Ok(vec![location.definition(&variables, table, &[])]);
        }
        Err(no_table(self.name(), name, &self.tables(file)?))
    }

    fn arrays(&self, file: &File) -> Result<Vec<NamedArray>> {
        let variables = Variables::of(file)?;
        let meshes = meshes(file, &variables);
        Ok(parts(&meshes).iter().flat_map(|part| &part.tables).flat_map(|table| table.arrays().collect::<Vec<_>>()).collect())
    }

    fn validate(&self, file: &File) -> Result<Vec<Problem>> {
        let variables = Variables::of(file)?;
        let mut problems = Vec::new();
        for mesh in &meshes(file, &variables) {
            let own = &mesh.variable.path;
            for kind in KINDS {
                match mesh.location(kind).and_then(|location| Ok((location, mesh.data(kind)?.1))) {
                    Ok((_, misfits)) => problems.extend(misfits.into_iter().map(|(path, message)| Problem::new(path, message))),
                    Err(error) => problems.push(Problem::new(error.object().unwrap_or(own), error.message())),
                }
            }
            problems.extend(mesh.remarks().into_iter().map(|(path, message)| Problem::new(path, message)));
        }
        problems.sort_by(|one, other| (&one.object, &one.message).cmp(&(&other.object, &other.message)));
        problems.dedup();
        Ok(problems)
    }

    fn omitted(&self, file: &File) -> Result<Vec<Omitted>> {
        let variables = Variables::of(file)?;
        let meshes = meshes(file, &variables);
        let mut omitted = variables.omitted.clone();
        let mut used: BTreeSet<String> = BTreeSet::new();
        for part in parts(&meshes) {
            omitted.extend(part.omitted);
            let further = part.tables.iter().flat_map(|table| table.further(&part.outline).map(|name| format!("/{name}")).collect::<Vec<_>>());
            used.extend(further.chain(part.tables.iter().flat_map(DataTable::arrays).map(|array| array.path)));
        }
        for mesh in &meshes {
            for attribute in &mesh.variable.attributes.list {
                if attribute.name.ends_with("_connectivity") || attribute.name.ends_with("_coordinates") {
                    for variable in mesh.named(&attribute.name).unwrap_or_default() {
                        used.insert(variable.path.clone());
                        if UNREAD.contains(&attribute.name.as_str()) {
                            omitted.push(Omitted::new(variable.path.clone(), format!("is the {} of a mesh, which this model does not read", attribute.name)));
                        }
                    }
                }
            }
        }
        let known: BTreeSet<String> = omitted.iter().map(|omitted| omitted.name.clone()).collect();
        for path in group_paths(file)?.iter().filter(|path| *path != "/") {
            let below = members(file, path)?.into_iter().filter(is_topology);
            omitted.extend(below.map(|mesh| Omitted::new(mesh.path, "is a mesh of a group, which this model does not read")));
        }
        let rest = variables.list.iter().filter(|variable| !is_mesh(variable) && !used.contains(&variable.path) && !known.contains(&variable.path));
        omitted.extend(rest.map(|variable| Omitted::new(variable.path.clone(), reason(variable, &variables))));
        Ok(omitted)
    }
}

/// Why a variable has no part in the tables.
fn reason(variable: &Variable, variables: &Variables) -> String {
    let text = |of: &Variable, name: &str| text_of(&of.attributes, name).ok().flatten();
    if let Some(owner) = variables.list.iter().find(|other| text(other, "bounds").as_deref() == Some(&variable.name)) {
        return format!("has the bounds of {}", owner.name);
    }
    if text(variable, "grid_mapping_name").is_some() {
        return "describes a projection".to_owned();
    }
    match (text(variable, "cf_role"), text(variable, "mesh"), text(variable, "location")) {
        (Some(role), ..) => format!("has the role {role}, which this model does not read"),
        (None, Some(mesh), Some(location)) => format!("is on the {location}s of {mesh}, which this model does not read"),
        _ => "has no attributes mesh and location, so it is not data of a mesh".to_owned(),
    }
}
