//! A mesh: the nodes, edges and faces that a variable with `cf_role = "mesh_topology"` describes.

use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::{ArrayPart, Gaps, IndexRule, Values};

use crate::grid::connectivity::{missing, whole_numbers};
use crate::grid::tables::{Coordinate, Location};
use crate::grid::variables::{Variable, Variables};
use crate::look::{contradiction, free_name, text_of};
use std::collections::BTreeSet;

/// What data of a mesh belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Node,
    Edge,
    Face,
}

pub(crate) const KINDS: [Kind; 3] = [Kind::Face, Kind::Node, Kind::Edge];

/// Attributes that name variables of a mesh which have no part in the tables.
pub(crate) const UNREAD: [&str; 6] = [
    "boundary_node_connectivity",
    "volume_node_connectivity",
    "volume_edge_connectivity",
    "volume_face_connectivity",
    "volume_volume_connectivity",
    "volume_coordinates",
];

/// A connectivity: the attribute that names its variable, the column, the elements that it leads to, and what gaps mean.
struct Link {
    attribute: &'static str,
    column: &'static str,
    to: Kind,
    gaps: Gaps,
}

const fn link(attribute: &'static str, column: &'static str, to: Kind, gaps: Gaps) -> Link {
    Link { attribute, column, to, gaps }
}

impl Kind {
    /// The value of the attribute `location`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Edge => "edge",
            Self::Face => "face",
        }
    }

    fn links(self) -> &'static [Link] {
        const FACES: [Link; 3] = [
            link("face_node_connectivity", "nodes", Kind::Node, Gaps::Padding),
            link("face_edge_connectivity", "edges", Kind::Edge, Gaps::Padding),
            link("face_face_connectivity", "neighbors", Kind::Face, Gaps::Skipped),
        ];
        const EDGES: [Link; 2] =
            [link("edge_node_connectivity", "nodes", Kind::Node, Gaps::Padding), link("edge_face_connectivity", "faces", Kind::Face, Gaps::Null)];
        match self {
            Self::Node => &[],
            Self::Edge => &EDGES,
            Self::Face => &FACES,
        }
    }

    fn coordinates(self) -> &'static str {
        match self {
            Self::Node => "node_coordinates",
            Self::Edge => "edge_coordinates",
            Self::Face => "face_coordinates",
        }
    }
}

/// What is wrong, with the path of the object first.
pub(crate) type Remarks = Vec<(String, String)>;

/// A mesh of a file.
pub(crate) struct Mesh<'a> {
    file: &'a File,
    variables: &'a Variables,
    /// The variable that describes it.
    pub variable: &'a Variable,
    /// Whether the file has other meshes, so that names of tables contain the name of the mesh.
    several: bool,
}

/// Whether a variable describes a mesh.
pub(crate) fn is_mesh(variable: &Variable) -> bool {
    // An attribute that cannot be read describes nothing.
    text_of(&variable.attributes, "cf_role").ok().flatten().as_deref() == Some("mesh_topology")
}

/// The meshes of a file.
pub(crate) fn meshes<'a>(file: &'a File, variables: &'a Variables) -> Vec<Mesh<'a>> {
    let found: Vec<&Variable> = variables.list.iter().filter(|variable| is_mesh(variable)).collect();
    let several = found.len() > 1;
    found.into_iter().map(|variable| Mesh { file, variables, variable, several }).collect()
}

impl<'a> Mesh<'a> {
    fn contradiction(&self, object: &str, message: impl Into<String>) -> hyperslab_array::Error {
        contradiction(self.file, object, message)
    }

    /// The variables that an attribute of the mesh names.
    pub fn named(&self, attribute: &str) -> Result<Vec<&'a Variable>> {
        let Some(names) = text_of(&self.variable.attributes, attribute)? else { return Ok(Vec::new()) };
        let find = |name: &str| {
            let message = || format!("its attribute {attribute} names {name:?}, which is not a variable of the file that can be read");
            self.variables.get(name).ok_or_else(|| self.contradiction(&self.variable.path, message()))
        };
        names.split_whitespace().map(find).collect()
    }

    /// The dimension of the elements and their number; `None` if the mesh has no such elements.
    pub fn dimension(&self, kind: Kind) -> Result<Option<(String, u64)>> {
        let stated = text_of(&self.variable.attributes, &format!("{}_dimension", kind.name()))?;
        if let Some(dimension) = stated
            && let Some(extent) = self.variables.extent(&dimension)
        {
            return Ok(Some((dimension, extent)));
        }
        let attributes = kind.links().iter().map(|link| link.attribute).chain([kind.coordinates()]);
        for attribute in attributes {
            let Some(first) = self.named(attribute)?.first().copied() else { continue };
            return match (first.dimensions.first(), first.shape.first()) {
                (Some(dimension), Some(extent)) => Ok(Some((dimension.clone(), *extent))),
                _ => Err(self.contradiction(&first.path, format!("is the {attribute} of a mesh, but its dimensions have no names"))),
            };
        }
        match kind {
            Kind::Node => Err(self.contradiction(&self.variable.path, "the mesh has no attribute node_coordinates, so its nodes are unknown")),
            _ => Ok(None),
        }
    }

    /// Name of a table of the mesh without further dimensions.
    pub fn table_name(&self, kind: Kind) -> String {
        let plural = format!("{}s", kind.name());
        if self.several { format!("{plural}_{}", self.variable.name) } else { plural }
    }

    /// The elements of a kind without their lists and coordinates: enough for the names of tables.
    pub fn outline(&self, kind: Kind) -> Result<Option<Location>> {
        let Some((dimension, extent)) = self.dimension(kind)? else { return Ok(None) };
        let (table, index) = (self.table_name(kind), kind.name().to_owned());
        Ok(Some(Location { table, index, dimension, extent, coordinates: Vec::new(), lists: Vec::new(), chunk: extent }))
    }

    /// The elements of a kind.
    ///
    /// # Errors
    /// `Corrupt` if what the mesh says of them contradicts the file.
    pub fn location(&self, kind: Kind) -> Result<Option<Location>> {
        let Some(mut location) = self.outline(kind)? else { return Ok(None) };
        location.coordinates = self.coordinates(kind, &location.dimension)?;
        for link in kind.links() {
            if let Some((values, chunk)) = self.link(link, &location)? {
                if location.lists.is_empty() {
                    location.chunk = chunk;
                }
                location.lists.push((link.column.to_owned(), values));
            }
        }
        Ok(Some(location))
    }

    /// A connectivity as lists, and its chunk extent along the elements.
    fn link(&self, link: &Link, location: &Location) -> Result<Option<(Values, u64)>> {
        let Some(variable) = self.named(link.attribute)?.first().copied() else { return Ok(None) };
        let axis = match (variable.shape.len(), variable.axis(&location.dimension)) {
            (2, Some(axis)) => axis,
            _ => {
                let message =
                    format!("is the {} of a mesh, but has the dimensions {:?}, not two with {}", link.attribute, variable.dimensions, location.dimension);
                return Err(self.contradiction(&variable.path, message));
            }
        };
        let Some((_, extent)) = self.dimension(link.to)? else {
            let message = format!("is the {} of a mesh, which says nothing else of {}s", link.attribute, link.to.name());
            return Err(self.contradiction(&variable.path, message));
        };
        let start = self.start_index(variable)?;
        let rule = IndexRule { axis, start, extent, missing: missing(variable)?, gaps: link.gaps };
        Ok(Some((Values::Connectivity { indexes: ArrayPart::whole(variable.path.clone()), counts: None, rule }, variable.chunk_along(axis))))
    }

    fn start_index(&self, variable: &Variable) -> Result<i64> {
        let Some(attribute) = variable.attributes.get("start_index") else { return Ok(0) };
        match whole_numbers(attribute)?.as_slice() {
            [start] => Ok(*start),
            _ => Err(self.contradiction(&variable.path, "its attribute start_index is not one whole number")),
        }
    }

    /// Coordinates of the elements: `x`, `y` and `z` by what their attributes say, else by their order; others by their names.
    fn coordinates(&self, kind: Kind, dimension: &str) -> Result<Vec<Coordinate>> {
        let (mut coordinates, mut taken) = (Vec::new(), BTreeSet::new());
        for (position, variable) in self.named(kind.coordinates())?.into_iter().enumerate() {
            if variable.dimensions != [dimension.to_owned()] {
                let message = format!("is one of the {} of a mesh, but has the dimensions {:?}, not {dimension}", kind.coordinates(), variable.dimensions);
                return Err(self.contradiction(&variable.path, message));
            }
            let column = match direction(variable)?.or_else(|| ["x", "y", "z"].get(position).copied()) {
                Some(direction) if !taken.contains(direction) => direction,
                _ => variable.name.as_str(),
            };
            coordinates.push(Coordinate { column: free_name(column, "coordinate", &mut taken), path: variable.path.clone(), units: None });
        }
        Ok(coordinates)
    }

    /// The data on elements of a kind, and, by path, what is wrong with variables that say they are.
    pub fn data(&self, kind: Kind) -> Result<(Vec<&'a Variable>, Remarks)> {
        let dimension = self.dimension(kind)?;
        let (mut data, mut misfits) = (Vec::new(), Vec::new());
        for variable in &self.variables.list {
            let says = |name: &str| text_of(&variable.attributes, name).ok().flatten();
            if says("mesh").as_deref() != Some(&self.variable.name) || says("location").as_deref() != Some(kind.name()) {
                continue;
            }
            match &dimension {
                Some((dimension, _)) if variable.axis(dimension).is_some() => data.push(variable),
                Some((dimension, _)) => {
                    let message = format!("is on the {}s of {}, but does not have their dimension {dimension}", kind.name(), self.variable.name);
                    misfits.push((variable.path.clone(), message));
                }
                None => misfits.push((variable.path.clone(), format!("is on the {}s of {}, which has none", kind.name(), self.variable.name))),
            }
        }
        Ok((data, misfits))
    }

    /// What contradicts UGRID although every table can be planned.
    pub fn remarks(&self) -> Remarks {
        let mut remarks = Vec::new();
        let path = &self.variable.path;
        let dimension = self.variable.attributes.get("topology_dimension").map(whole_numbers);
        let dimension = match dimension {
            Some(Ok(numbers)) => numbers.first().copied(),
            _ => None,
        };
        let required = match dimension {
            Some(1) => "edge_node_connectivity",
            Some(2) => "face_node_connectivity",
            Some(3) => {
                remarks.push((path.clone(), "is a mesh of volumes, which this model does not read".to_owned()));
                "volume_node_connectivity"
            }
            _ => {
                remarks.push((path.clone(), "its attribute topology_dimension is not 1, 2 or 3".to_owned()));
                return remarks;
            }
        };
        if self.variable.attributes.get(required).is_none() {
            remarks.push((path.clone(), format!("has no attribute {required}, which a mesh of this topology_dimension needs")));
        }
        let connectivities = KINDS.into_iter().flat_map(Kind::links);
        for variable in connectivities.filter_map(|link| self.named(link.attribute).ok()?.first().copied()) {
            if let Some(attribute) = variable.attributes.get("start_index")
                && let Ok([start]) = whole_numbers(attribute).as_deref()
            {
                if crate::look::numbers(attribute).ok().flatten().is_none() {
                    remarks.push((variable.path.clone(), "its attribute start_index is text, not a number".to_owned()));
                }
                if ![0, 1].contains(start) {
                    remarks.push((variable.path.clone(), format!("its attribute start_index is {start}, not 0 or 1")));
                }
            }
        }
        remarks
    }
}

/// The direction of a coordinate by its attributes.
fn direction(variable: &Variable) -> Result<Option<&'static str>> {
    let text = |name: &str| text_of(&variable.attributes, name).map(Option::unwrap_or_default);
    let (name, axis, units) = (text("standard_name")?, text("axis")?, text("units")?);
    let east = ["degrees_east", "degree_east", "degrees_E", "degree_E", "degreesE", "degreeE"];
    let north = ["degrees_north", "degree_north", "degrees_N", "degree_N", "degreesN", "degreeN"];
    Ok(match (name.as_str(), axis.as_str(), units.as_str()) {
        ("longitude" | "projection_x_coordinate" | "grid_longitude", ..) => Some("x"),
        ("latitude" | "projection_y_coordinate" | "grid_latitude", ..) => Some("y"),
        ("altitude" | "height" | "depth", ..) => Some("z"),
        (_, "X", _) => Some("x"),
        (_, "Y", _) => Some("y"),
        (_, "Z", _) => Some("z"),
        (_, _, units) if east.contains(&units) => Some("x"),
        (_, _, units) if north.contains(&units) => Some("y"),
        _ => None,
    })
}
