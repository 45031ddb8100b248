//! The cells, edges and vertices of MPAS by the names that its files have for them.

use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::{ArrayPart, Gaps, IndexRule, UnitConversion, Values};

use crate::grid::connectivity::missing;
use crate::grid::tables::{Coordinate, Location};
use crate::grid::variables::{Variable, Variables};
use crate::look::contradiction;

/// The elements of one kind.
pub(crate) struct Elements {
    table: &'static str,
    index: &'static str,
    /// Part of the names of their coordinates: `lonCell`.
    suffix: &'static str,
    pub dimension: &'static str,
    links: &'static [Link],
}

/// A connectivity: its variable, its column, the dimension of the elements that it leads to, the variable with the numbers of
/// indexes, and what missing ones become.
struct Link {
    variable: &'static str,
    column: &'static str,
    to: &'static str,
    counts: Option<&'static str>,
    gaps: Gaps,
}

const fn link(variable: &'static str, column: &'static str, to: &'static str, counts: Option<&'static str>, gaps: Gaps) -> Link {
    Link { variable, column, to, counts, gaps }
}

const CELLS: [Link; 3] = [
    link("verticesOnCell", "vertices", "nVertices", Some("nEdgesOnCell"), Gaps::Padding),
    link("edgesOnCell", "edges", "nEdges", Some("nEdgesOnCell"), Gaps::Padding),
    link("cellsOnCell", "neighbors", "nCells", Some("nEdgesOnCell"), Gaps::Skipped),
];
const EDGES: [Link; 3] = [
    link("verticesOnEdge", "vertices", "nVertices", None, Gaps::Null),
    link("cellsOnEdge", "cells", "nCells", None, Gaps::Null),
    link("edgesOnEdge", "neighbors", "nEdges", Some("nEdgesOnEdge"), Gaps::Skipped),
];
const VERTICES: [Link; 2] = [link("cellsOnVertex", "cells", "nCells", None, Gaps::Null), link("edgesOnVertex", "edges", "nEdges", None, Gaps::Null)];

pub(crate) const ELEMENTS: [Elements; 3] = [
    Elements { table: "cells", index: "cell", suffix: "Cell", dimension: "nCells", links: &CELLS },
    Elements { table: "edges", index: "edge", suffix: "Edge", dimension: "nEdges", links: &EDGES },
    Elements { table: "vertices", index: "vertex", suffix: "Vertex", dimension: "nVertices", links: &VERTICES },
];

/// Dimensions along which rows have different numbers of values, or values of the elements around them.
pub(crate) const RAGGED: [&str; 4] = ["maxEdges", "maxEdges2", "vertexDegree", "TWO"];

/// Whether a variable is a connectivity or a coordinate.
pub(crate) fn is_topology(name: &str) -> bool {
    let is_link = ELEMENTS.iter().flat_map(|elements| elements.links).any(|link| link.variable == name);
    is_link || ELEMENTS.iter().any(|elements| elements.coordinate_names().iter().any(|(_, own, _)| own == name))
}

impl Elements {
    /// Columns and variables of the coordinates, and the units that radians become.
    fn coordinate_names(&self) -> [(&'static str, String, Option<&'static str>); 5] {
        let named = |column: &'static str, prefix: &str, degrees| (column, format!("{prefix}{}", self.suffix), degrees);
        let plain = |column: &'static str| named(column, column, None);
        [named("lon", "lon", Some("degrees_east")), named("lat", "lat", Some("degrees_north")), plain("x"), plain("y"), plain("z")]
    }

    /// The elements without coordinates and lists; `None` if no variable has their dimension.
    pub fn outline(&self, variables: &Variables) -> Option<Location> {
        let extent = variables.extent(self.dimension)?;
        let (table, index, dimension) = (self.table.to_owned(), self.index.to_owned(), self.dimension.to_owned());
        Some(Location { table, index, dimension, extent, coordinates: Vec::new(), lists: Vec::new(), chunk: extent })
    }

    /// With coordinates and lists.
    ///
    /// # Errors
    /// `Corrupt` if one of them does not have the dimension of the elements, or leads to elements that are not there.
    pub fn location(&self, file: &File, variables: &Variables, mut location: Location) -> Result<Location> {
        let misfit = |variable: &Variable| {
            let message = format!("has the dimensions {:?}, not {} first and one more only if it is a connectivity", variable.dimensions, self.dimension);
            contradiction(file, &variable.path, message)
        };
        for (column, name, degrees) in self.coordinate_names() {
            let Some(variable) = variables.get(&name) else { continue };
            if variable.dimensions != [self.dimension.to_owned()] {
                return Err(misfit(variable));
            }
            location.coordinates.push(Coordinate { column: column.to_owned(), path: variable.path.clone(), units: degrees.map(UnitConversion::degrees) });
        }
        for link in self.links {
            let Some(variable) = variables.get(link.variable) else { continue };
            if variable.shape.len() != 2 || variable.axis(self.dimension) != Some(0) {
                return Err(misfit(variable));
            }
            let missing_elements = || contradiction(file, &variable.path, format!("leads to elements along {}, a dimension of no variable", link.to));
            let extent = variables.extent(link.to).ok_or_else(missing_elements)?;
            let counts = match link.counts {
                None => None,
                Some(name) => {
                    let without = || contradiction(file, &variable.path, format!("has lists of different lengths, but there is no variable {name}"));
                    let counts = variables.get(name).ok_or_else(without)?;
                    if counts.dimensions != [self.dimension.to_owned()] {
                        return Err(misfit(counts));
                    }
                    Some(ArrayPart::whole(counts.path.clone()))
                }
            };
            // 0 stands for no element. Each of a cell's vertices and edges exists.
            let missing = match link.gaps {
                Gaps::Padding => Vec::new(),
                _ => [0].into_iter().chain(missing(variable)?).collect(),
            };
            let rule = IndexRule { axis: 0, start: 1, extent, missing, gaps: link.gaps };
            if location.lists.is_empty() {
                location.chunk = variable.chunk_along(0);
            }
            location.lists.push((link.column.to_owned(), Values::Connectivity { indexes: ArrayPart::whole(variable.path.clone()), counts, rule }));
        }
        Ok(location)
    }
}
