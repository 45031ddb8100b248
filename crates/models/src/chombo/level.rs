//! The levels of a mesh, as the attributes and boxes of a file say.

use std::sync::Arc;

use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_formats::{Attributes, Dataset};
use hyperslab_reader::{File, Found};
use hyperslab_scan::{Omitted, PatchBox, PatchBoxes};

use super::GLOBAL;
use super::attributes::{counts, domain, number, vector};
use crate::budget::Budget;
use crate::look::{Member, attributes_at, contradiction, join, optional, text_of};

/// The flat data of a level, and where each box begins in it.
pub(super) const DATA: &str = "data:datatype=0";
pub(super) const OFFSETS: &str = "data:offsets=0";
/// The extents of cells, one for each direction, by the names that programs give them.
const SPACINGS: [&str; 4] = ["vec_dx", "Vec_dx", "dx_vec", "dx"];
const RATIOS: [&str; 3] = ["vec_ref_ratio", "Vec_ref_ratio", "ref_ratio"];
const ORIGINS: [&str; 2] = ["prob_lo", "origin"];
/// Of PLUTO: where the domain begins along each direction, and how much longer than `dx` cells are.
const BEGINS: [&str; 3] = ["domBeg1", "domBeg2", "domBeg3"];
const STRETCHES: [Option<&str>; 3] = [None, Some("g_x2stretch"), Some("g_x3stretch")];

/// A mesh.
pub(super) struct Mesh {
    pub dimensions: usize,
    pub attributes: Arc<Attributes>,
    pub components: Vec<String>,
    /// At least one, from the coarsest to the finest.
    pub levels: Vec<Level>,
    /// Whether cells along `i` are spaced by the logarithm of the radius (PLUTO), so that they have no column `x`.
    pub is_logarithmic: bool,
}

/// A level.
pub(super) struct Level {
    pub path: String,
    pub attributes: Arc<Attributes>,
    pub boxes_path: String,
    pub boxes: PatchBoxes,
    pub data: Data,
    /// Extent of cells, for each direction.
    pub spacing: Vec<f64>,
    /// Where the cell of index 0 begins, for each direction.
    pub origin: Vec<f64>,
    /// Cells of the next level along a cell, for each direction. Not of the finest level.
    pub ratio: Option<Vec<u64>>,
    pub domain: Option<PatchBox>,
}

/// The flat data of a level.
pub(super) struct Data {
    pub path: String,
    pub offsets: Option<String>,
    pub length: u64,
    /// Cells around each box that the data has, too, for each direction.
    pub ghosts: Vec<u64>,
}

/// One number for each of three directions, 0 for those that the mesh lacks.
pub(super) fn three(numbers: &[u64]) -> [u64; 3] {
    std::array::from_fn(|axis| numbers.get(axis).copied().unwrap_or(0))
}

/// A dataset that is needed, with its object.
fn dataset<'a>(file: &File, member: Option<&'a Member>, path: &str) -> Result<(&'a Found, &'a Arc<Dataset>)> {
    let Some(member) = member else { return Err(contradiction(file, path, "is missing")) };
    match (&member.object, member.dataset()) {
        (Ok((found, _)), Some(dataset)) => match &dataset.refusal {
            None => Ok((found, dataset)),
            Some(refusal) => Err(refusal.clone().at_object(path).in_file(file.name())),
        },
        (Err(error), _) => Err(error.clone().at_object(path)),
        (Ok(_), None) => Err(contradiction(file, path, "is not a dataset")),
    }
}

impl Mesh {
    /// Reads the attributes and the boxes of all levels.
    ///
    /// # Errors
    /// `Corrupt` for a file that contradicts the format, with the object; `LimitExceeded` for more boxes than the budget allows.
    pub fn of(file: &File) -> Result<Self> {
        let mut budget = Budget::of(file);
        let attributes = attributes_at(&file.find("/")?, "/")?;
        let global = match optional(file, GLOBAL)? {
            Some(member) => member.attributes()?,
            None => Arc::default(),
        };
        let place = |error: Error| error.at_object("/").in_file(file.name());
        let space = counts(&global, "SpaceDim", 1, 1).map_err(place)?.and_then(|one| one.first().copied());
        let dimensions = space.and_then(|space| usize::try_from(space).ok()).filter(|space| (1..=3).contains(space));
        let dimensions = dimensions.ok_or_else(|| contradiction(file, GLOBAL, "the attribute SpaceDim is not 1, 2 or 3"))?;
        let count = |name: &str| -> Result<Option<u64>> {
            match attributes.get(name) {
                None => Ok(None),
                Some(_) => {
                    let found = counts(&attributes, name, 1, 0).map_err(place)?.and_then(|one| one.first().copied());
                    found.map(Some).ok_or_else(|| contradiction(file, "/", format!("the attribute {name} is not a count")))
                }
            }
        };
        let mut components = Vec::new();
        for number in 0..count("num_components")?.ok_or_else(|| contradiction(file, "/", "the attribute num_components is missing"))? {
            let name = text_of(&attributes, &format!("component_{number}")).map_err(place)?;
            let name = name.ok_or_else(|| contradiction(file, "/", format!("the attribute component_{number} is missing, or not a text")))?;
            budget.pay(name.len() as u64 + 64, "/")?;
            components.push(name.trim_end().to_owned());
        }
        let said = count("num_levels")?;
        let mut levels: Vec<Level> = Vec::new();
        for level in 0..said.unwrap_or(u64::MAX) {
            let path = format!("/level_{level}");
            let Some(member) = optional(file, &path)? else {
                match said {
                    Some(said) => return Err(contradiction(file, &path, format!("is missing, though num_levels is {said}"))),
                    None => break,
                }
            };
            if member.group().is_none() {
                return Err(contradiction(file, &path, "is not a group that can be read"));
            }
            levels.push(Level::of(file, &member, &attributes, &global, (dimensions, components.len() as u64), &mut budget)?);
        }
        let Some(first) = levels.first() else { return Err(contradiction(file, "/", "there is no level")) };
        let is_logarithmic = number(&first.attributes, "logr").map_err(place)?.is_some_and(|logarithmic| logarithmic != 0.0);
        let finest = levels.len() - 1;
        if let Some(level) = levels.iter().take(finest).find(|level| level.ratio.is_none()) {
            return Err(contradiction(file, &level.path, "the attribute ref_ratio is missing, or not a number of cells for each direction"));
        }
        Ok(Self { dimensions, attributes, components, levels, is_logarithmic })
    }
}

impl Level {
    fn of(file: &File, member: &Member, root: &Attributes, global: &Attributes, (dimensions, components): (usize, u64), budget: &mut Budget) -> Result<Self> {
        let path = member.path.clone();
        let attributes = member.attributes()?;
        let place = |error: Error| error.at_object(&path).in_file(file.name());
        let boxes_path = join(&path, "boxes");
        let boxes_member = optional(file, &boxes_path)?;
        let (found, description) = dataset(file, boxes_member.as_ref(), &boxes_path)?;
        let count = description.dataspace.element_count().unwrap_or(u64::MAX);
        budget.pay(count.saturating_mul(description.datatype.size().saturating_add(64)), &boxes_path)?;
        let boxes = PatchBoxes::read(&found.file, found.object, dimensions, &Cancellation::default()).map_err(|error| error.at_object(&boxes_path))?;
        let first_of = |attributes: &Attributes, names: &[&str]| -> Result<Option<Vec<f64>>> {
            let mut found = names.iter().map(|name| vector(attributes, name, dimensions)).filter_map(Result::transpose);
            found.next().transpose()
        };
        let spacing = first_of(&attributes, &SPACINGS).map_err(place)?;
        let spacing = spacing.filter(|spacing| spacing.iter().all(|extent| extent.is_finite() && *extent > 0.0));
        let mut spacing = spacing.ok_or_else(|| contradiction(file, &path, "the attribute dx is missing, or not the extent of a cell for each direction"))?;
        for (extent, name) in spacing.iter_mut().zip(STRETCHES) {
            let Some(name) = name else { continue };
            let stretch = number(&attributes, name).map_err(place)?.unwrap_or(1.0);
            *extent *= stretch;
            if !(extent.is_finite() && *extent > 0.0) {
                return Err(contradiction(file, &path, format!("the attribute {name} is {stretch}, not a positive factor")));
            }
        }
        let mut origin = match first_of(&attributes, &ORIGINS).map_err(place)? {
            Some(origin) => origin,
            None => match first_of(root, &ORIGINS).map_err(place)? {
                Some(origin) => origin,
                None => first_of(global, &ORIGINS).map_err(place)?.unwrap_or_else(|| vec![0.0; dimensions]),
            },
        };
        for (begin, name) in origin.iter_mut().zip(BEGINS) {
            if let Some(found) = number(&attributes, name).map_err(place)? {
                *begin = found;
            }
        }
        let mut ratio = None;
        for name in RATIOS {
            ratio = match ratio {
                None => counts(&attributes, name, dimensions, 1).map_err(place)?,
                found => found,
            };
        }
        let domain = domain(&attributes, "prob_domain", dimensions).map_err(place)?;
        let data = Data::of(file, &path, &boxes, (dimensions, components))?;
        Ok(Self { path, attributes, boxes_path, boxes, data, spacing, origin, ratio, domain })
    }
}

impl Data {
    fn of(file: &File, level: &str, boxes: &PatchBoxes, (dimensions, components): (usize, u64)) -> Result<Self> {
        let path = join(level, DATA);
        let member = optional(file, &path)?;
        let (_, description) = dataset(file, member.as_ref(), &path)?;
        let [length] = description.dataspace.shape() else {
            return Err(contradiction(file, &path, format!("has shape {:?}, not one dimension", description.dataspace.shape())));
        };
        let describing = join(level, "data_attributes");
        let attributes = match optional(file, &describing)? {
            Some(member) => member.attributes()?,
            None => Arc::default(),
        };
        let place = |error: Error| error.at_object(&describing).in_file(file.name());
        if let Some(said) = counts(&attributes, "comps", 1, 0).map_err(place)?.and_then(|one| one.first().copied())
            && said != components
        {
            return Err(contradiction(file, &describing, format!("the attribute comps is {said}, but num_components is {components}")));
        }
        let ghosts = |name: &str| -> Result<Option<Vec<u64>>> {
            match attributes.get(name) {
                None => Ok(None),
                Some(_) => {
                    let found = counts(&attributes, name, dimensions, 0).map_err(place)?;
                    found.map(Some).ok_or_else(|| contradiction(file, &describing, format!("the attribute {name} is not a number of cells for each direction")))
                }
            }
        };
        // `outputGhost` says what the data has. Without it, `ghost` may or may not: the length tells.
        let candidates = match ghosts("outputGhost")? {
            Some(said) => vec![said],
            None => ghosts("ghost")?.into_iter().chain([vec![0; dimensions]]).collect(),
        };
        let needed = |ghosts: &[u64]| boxes.elements(components, three(ghosts));
        let exact = candidates.iter().find(|ghosts| needed(ghosts) == Some(*length));
        let found = exact.or_else(|| candidates.iter().find(|ghosts| needed(ghosts).is_some_and(|needed| needed <= *length)));
        let Some(found) = found else {
            let least = candidates.last().and_then(|ghosts| needed(ghosts)).map_or_else(|| "more than 64 bits of".to_owned(), |needed| needed.to_string());
            return Err(contradiction(file, &path, format!("has {length} elements, but the boxes need {least} for {components} components")));
        };
        let offsets = join(level, OFFSETS);
        let offsets = optional(file, &offsets)?.map(|_| offsets);
        Ok(Self { path, offsets, length: *length, ghosts: found.clone() })
    }
}

/// What `Mesh::omitted` says of an object.
pub(super) fn unused(path: String) -> Omitted {
    Omitted::new(path, "is not boxes or data of a level")
}
