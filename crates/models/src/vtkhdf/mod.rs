//! VTKHDF: the HDF5 files of VTK and `ParaView`, of the types `OverlappingAMR`, `ImageData`, `UnstructuredGrid` and `PolyData`.
//!
//! An adaptive mesh has levels with boxes of cells, and arrays with a value for each cell, box after box: its table `cells` has a row for
//! each cell of each box of each level, its table `boxes` one for each box. Images and grids have the tables `points` and `cells`. Files of
//! several steps have the rows of all steps. Other types are recognized, and have no tables.

mod amr;
mod arrays;
mod grid;
mod image;
mod steps;

use hyperslab_array::{Error, Result};
use hyperslab_formats::Attributes;
use hyperslab_reader::File;
use hyperslab_scan::{Omitted, SegmentDefinition};
use std::sync::Arc;

use crate::look::{contradiction, no_table, numbers, optional, text_of};
use crate::model::{Certainty, Model, NamedArray, Problem, Recognition};
use crate::patches::{BOXES, CELLS};
use amr::Mesh;
use grid::Grid;
use image::{Image, POINTS};

/// The group of everything.
const GROUP: &str = "/VTKHDF";
/// The newest major version of the format.
const VERSION: f64 = 2.0;
const NAME: &str = "vtkhdf";

/// The model.
pub(crate) struct VtkHdf;

/// The type of a file.
enum Kind {
    Mesh,
    Image,
    /// Whether it is an `UnstructuredGrid`, else `PolyData`.
    Grid(bool),
    Other(String),
}

/// The attributes of the group; `None` if a file has no such group.
fn attributes(file: &File) -> Result<Option<Arc<Attributes>>> {
    optional(file, GROUP)?.filter(|member| member.group().is_some()).map(|member| member.attributes()).transpose()
}

fn kind(file: &File) -> Result<Kind> {
    let Some(attributes) = attributes(file)? else { return Err(contradiction(file, GROUP, "is missing, or not a group")) };
    let kind = text_of(&attributes, "Type").map_err(|error| error.at_object(GROUP).in_file(file.name()))?;
    Ok(match kind.as_deref().map(str::trim_end) {
        Some("OverlappingAMR") => Kind::Mesh,
        Some("ImageData") => Kind::Image,
        Some("UnstructuredGrid") => Kind::Grid(true),
        Some("PolyData") => Kind::Grid(false),
        Some(other) => Kind::Other(other.to_owned()),
        None => return Err(contradiction(file, GROUP, "the attribute Type is missing, or not a text")),
    })
}

/// Fails for a version whose files may mean something else.
fn check_version(file: &File, attributes: &Attributes) -> Result<()> {
    let version = attributes.get("Version").map(numbers).transpose().map_err(|error| error.at_object(GROUP).in_file(file.name()))?.flatten();
    match version.as_ref().and_then(|version| version.first()) {
        Some(major) if *major > VERSION => {
            let message = format!("VTKHDF of the version {major}; the newest that is read is {VERSION}");
            Err(Error::unsupported(message).at_object(GROUP).in_file(file.name()))
        }
        _ => Ok(()),
    }
}

/// Three numbers of an attribute.
fn triple(file: &File, path: &str, attributes: &Attributes, name: &str) -> Result<[f64; 3]> {
    let place = |error: Error| error.at_object(path).in_file(file.name());
    let found = attributes.get(name).map(numbers).transpose().map_err(place)?.flatten();
    let triple = found.and_then(|found| <[f64; 3]>::try_from(found).ok()).filter(|found| found.iter().all(|number| number.is_finite()));
    triple.ok_or_else(|| contradiction(file, path, format!("the attribute {name} is missing, or not three numbers")))
}

impl Model for VtkHdf {
    fn name(&self) -> &'static str {
        NAME
    }

    fn recognize(&self, file: &File) -> Result<Option<Recognition>> {
        // A damaged group is not recognized; other models may recognize the file.
        let found = attributes(file).ok().flatten().filter(|attributes| attributes.get("Type").is_some());
        Ok(found.map(|_| Recognition::new(NAME, Certainty::Certain, "it has a group VTKHDF with a Type")))
    }

    fn tables(&self, file: &File) -> Result<Vec<String>> {
        Ok(match kind(file)? {
            Kind::Mesh => vec![CELLS.to_owned(), BOXES.to_owned()],
            Kind::Image | Kind::Grid(_) => vec![POINTS.to_owned(), CELLS.to_owned()],
            Kind::Other(_) => Vec::new(),
        })
    }

    fn table(&self, file: &File, name: &str) -> Result<Vec<SegmentDefinition>> {
        match (kind(file)?, name) {
            (Kind::Mesh, CELLS) => Mesh::of(file)?.cells(file),
            (Kind::Mesh, BOXES) => Mesh::of(file)?.boxes(file),
            (Kind::Image, POINTS) => Image::of(file)?.table(file, true),
            (Kind::Image, CELLS) => Image::of(file)?.table(file, false),
            (Kind::Grid(is_unstructured), POINTS) => Grid::of(file, is_unstructured)?.points(file),
            (Kind::Grid(is_unstructured), CELLS) => Grid::of(file, is_unstructured)?.cells(file),
            (Kind::Other(other), _) => Err(Error::unsupported(other_type(&other)).at_object(GROUP).in_file(file.name())),
            _ => Err(no_table(NAME, name, &self.tables(file)?)),
        }
    }

    fn arrays(&self, file: &File) -> Result<Vec<NamedArray>> {
        match kind(file)? {
            Kind::Mesh => Ok(Mesh::of(file)?.arrays()),
            Kind::Image => Ok(Image::of(file)?.arrays()),
            Kind::Grid(is_unstructured) => Ok(Grid::of(file, is_unstructured)?.arrays()),
            Kind::Other(_) => Ok(Vec::new()),
        }
    }

    fn validate(&self, file: &File) -> Result<Vec<Problem>> {
        let problems = match kind(file) {
            Ok(Kind::Mesh) => Mesh::of(file).and_then(|mesh| mesh.problems(file)),
            Ok(Kind::Image) => Image::of(file).and_then(|image| image.problems(file)),
            Ok(Kind::Grid(is_unstructured)) => Grid::of(file, is_unstructured).and_then(|grid| grid.problems(file)),
            Ok(Kind::Other(_)) => Ok(Vec::new()),
            Err(error) => Err(error),
        };
        Ok(problems.unwrap_or_else(|error| vec![Problem::new(error.object().unwrap_or(GROUP), error.message())]))
    }

    fn omitted(&self, file: &File) -> Result<Vec<Omitted>> {
        match kind(file)? {
            Kind::Mesh => Ok(Mesh::of(file)?.omitted()),
            Kind::Image => Ok(Image::of(file)?.omitted()),
            Kind::Grid(is_unstructured) => Ok(Grid::of(file, is_unstructured)?.omitted()),
            Kind::Other(other) => Ok(vec![Omitted::new(GROUP, other_type(&other))]),
        }
    }

    fn facts(&self, file: &File) -> Result<String> {
        match kind(file)? {
            Kind::Mesh => Mesh::of(file)?.facts(file),
            Kind::Image => Image::of(file)?.facts(file),
            Kind::Grid(is_unstructured) => Ok(Grid::of(file, is_unstructured)?.facts()),
            Kind::Other(other) => Ok(serde_json::json!({ "type": other }).to_string()),
        }
    }
}

/// Why a file of another type has no tables.
fn other_type(kind: &str) -> String {
    format!("VTKHDF of the type {kind:?} is not supported; files of the types OverlappingAMR, ImageData, UnstructuredGrid and PolyData have tables")
}
