//! A series: its iterations, and where meshes and particles are in them.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array};
use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_formats::Attributes;
use hyperslab_reader::File;
use hyperslab_scan::{Literal, Omitted, Values};

use crate::look::{Member, attributes_at, contradiction, join, members, numbers, optional, text_of};

/// The record that all particles have.
pub(crate) const POSITION: &str = "position";

/// An iteration with its meshes and species.
pub(crate) struct Iteration {
    pub number: i64,
    pub path: String,
    attributes: Arc<Attributes>,
    /// Used if `timeUnitSI` is missing.
    default_unit: Option<f64>,
    pub meshes: Vec<Member>,
    /// The species; particles that are in no species are one without a name.
    pub species: Vec<Member>,
    /// The member of the iteration that has the meshes: no record, if the particles are in the iteration itself.
    meshes_group: Option<String>,
    /// The group that the species are in.
    particles: Option<String>,
}

/// The version of the standard that the file names; `None` if it names none.
pub(crate) fn version(file: &File) -> Result<Option<String>> {
    // An attribute that cannot be read names nothing.
    Ok(text_of(&file.attributes(file.root()).unwrap_or_default(), "openPMD").ok().flatten())
}

/// Whether factors to SI units may be missing, from openPMD 2.0 on: then values stay in the units of the program that wrote them.
pub(crate) fn are_units_optional(file: &File) -> Result<bool> {
    let major = version(file)?.and_then(|version| version.split('.').next().and_then(|major| major.parse::<u32>().ok()));
    Ok(major.is_some_and(|major| major >= 2))
}

/// Whether the file says where its iterations are. Files of extensions, such as external fields, need not have any.
pub(crate) fn has_base_path(file: &File) -> Result<bool> {
    Ok(file.attributes(file.root())?.get("basePath").is_some())
}

/// Numbers and paths of the iterations, by number. A series that is a file for each iteration has one in each file.
pub(crate) fn names(file: &File) -> Result<Vec<(i64, String)>> {
    let attributes = file.attributes(file.root())?;
    let Some(base) = text_of(&attributes, "basePath")? else {
        return match attributes.get("basePath") {
            None => Ok(Vec::new()),
            Some(_) => Err(contradiction(file, "/", "the attribute basePath does not hold text")),
        };
    };
    let by_variables = text_of(&attributes, "iterationEncoding")?.is_some_and(|encoding| encoding == "variableBased");
    let (before, after) = base.split_once("%T").unwrap_or((&base, ""));
    if by_variables || !base.contains("%T") {
        return one_iteration(file, &format!("/{}", before.trim_matches('/')));
    }
    // The number may follow a word, and be the name of a group above the iteration.
    let (group, word) = before.rsplit_once('/').unwrap_or(("", before));
    let (group, after) = (format!("/{}", group.trim_matches('/')), after.trim_matches('/'));
    if optional(file, &group)?.is_none() {
        return Ok(Vec::new());
    }
    let found = file.find(&group)?;
    let links = found.file.links(found.object)?;
    let number = |name: &str| {
        let digits = name.strip_prefix(word)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<i64>().ok()).flatten()
    };
    let mut names = Vec::new();
    for link in links.iter() {
        let Some(number) = number(&link.name) else { continue };
        let path = join(&group, &link.name);
        if after.is_empty() {
            names.push((number, path));
        } else if optional(file, &join(&path, after))?.is_some() {
            names.push((number, join(&path, after)));
        }
    }
    names.sort();
    Ok(names)
}

/// An iteration whose number is an attribute; number 0 without one.
fn one_iteration(file: &File, path: &str) -> Result<Vec<(i64, String)>> {
    let Some(iteration) = optional(file, path)? else { return Ok(Vec::new()) };
    let attributes = iteration.attributes()?;
    let Some(attribute) = attributes.get("snapshot") else { return Ok(vec![(0, path.to_owned())]) };
    match numbers(attribute).map_err(|error| error.at_object(path).in_file(file.name()))?.as_deref() {
        #[expect(clippy::cast_possible_truncation, reason = "checked")]
        Some([number]) if number.fract() == 0.0 && number.abs() < 2f64.powi(53) => Ok(vec![(*number as i64, path.to_owned())]),
        _ => Err(Error::unsupported("openPMD iterations by variables with several snapshots in one file").at_object(path).in_file(file.name())),
    }
}

/// Where meshes or particles are below an iteration: `meshes/`; nowhere for `./`.
fn below(path: &str, place: &str) -> String {
    place.split('/').filter(|part| !part.is_empty() && *part != ".").fold(path.to_owned(), |path, part| join(&path, part))
}

/// The members of a group of meshes or particles; none if there is no such group.
fn members_below(file: &File, path: &str) -> Result<Vec<Member>> {
    match optional(file, path)? {
        None => Ok(Vec::new()),
        Some(member) if member.group().is_some() => members(file, path),
        Some(_) => Err(contradiction(file, path, "meshes and particles are in groups; this is something else, or cannot be read")),
    }
}

/// The species in a group: its members, or the group itself if it has the records of particles, as openPMD-beamphysics writes it. Next to meshes
/// and other groups of an iteration, only groups with positions are species.
fn species_in(file: &File, path: &str, is_iteration: bool) -> Result<Vec<Member>> {
    let found = members_below(file, path)?;
    if found.iter().any(|member| member.name == POSITION) {
        return Ok(optional(file, path)?.map(|group| Member { name: String::new(), ..group }).into_iter().collect());
    }
    let mut species = Vec::new();
    for member in found {
        // Datasets are not species.
        let has_position = || optional(file, &join(&member.path, POSITION)).map(|position| position.is_some());
        if member.dataset().is_none() && (!is_iteration || (member.group().is_some() && has_position()?)) {
            species.push(member);
        }
    }
    Ok(species)
}

/// Whether a record has neither components nor a constant value.
pub(crate) fn is_empty(file: &File, record: &Member) -> Result<bool> {
    if record.group().is_none() || !members(file, &record.path)?.is_empty() {
        return Ok(false);
    }
    let attributes = record.attributes()?;
    Ok(attributes.get("value").is_none() && attributes.get("shape").is_none())
}

/// Where the meshes and the particles of iterations are.
struct Places {
    meshes: Option<String>,
    particles: Option<String>,
    /// Used if `timeUnitSI` is missing.
    default_unit: Option<f64>,
}

impl Places {
    fn of(file: &File) -> Result<Self> {
        let attributes = file.attributes(file.root())?;
        let default_unit = are_units_optional(file)?.then_some(1.0);
        Ok(Self { meshes: text_of(&attributes, "meshesPath")?, particles: text_of(&attributes, "particlesPath")?, default_unit })
    }

    fn iteration(&self, file: &File, number: i64, path: String) -> Result<Iteration> {
        let found = file.find(&path)?;
        let attributes = attributes_at(&found, &path)?;
        let meshes_place = self.meshes.as_ref().map(|place| below(&path, place));
        let particles = self.particles.as_ref().map(|place| below(&path, place));
        let first = |group: &String| group.strip_prefix(&path)?.trim_matches('/').split('/').next().filter(|name| !name.is_empty()).map(str::to_owned);
        let meshes_group = meshes_place.as_ref().and_then(first);
        let species = match &particles {
            Some(place) => species_in(file, place, *place == path)?,
            None => Vec::new(),
        };
        let meshes = match meshes_place {
            // Where both are in the iteration itself, its members are species.
            Some(place) if particles.as_ref() != Some(&place) => members_below(file, &place)?,
            _ => Vec::new(),
        };
        Ok(Iteration { number, attributes, default_unit: self.default_unit, meshes, species, meshes_group, particles, path })
    }
}

/// Every iteration, by number.
///
/// # Errors
/// `Corrupt` if two have the same number, or an object is not what it should be.
pub(crate) fn iterations(file: &File) -> Result<Vec<Iteration>> {
    let (iterations, mut wrong) = readable(file)?;
    if wrong.is_empty() { Ok(iterations) } else { Err(wrong.swap_remove(0)) }
}

/// The iterations that can be read, by number, and what is wrong with the others.
pub(crate) fn readable(file: &File) -> Result<(Vec<Iteration>, Vec<Error>)> {
    let (places, mut iterations, mut wrong) = (Places::of(file)?, Vec::new(), Vec::new());
    for (number, path) in names(file)? {
        match places.iteration(file, number, path) {
            Ok(iteration) => iterations.push(iteration),
            Err(error) if is_of_the_object(&error) => wrong.push(error),
            Err(error) => return Err(error),
        }
    }
    if let Some([a, b]) = iterations.windows(2).find(|pair| matches!(pair, [a, b] if a.number == b.number)) {
        wrong.push(contradiction(file, &b.path, format!("{} and {} are both iteration {}", a.path, b.path, a.number)));
    }
    Ok((iterations, wrong))
}

/// Whether an error says what is wrong with an object, and so nothing about others.
pub(crate) fn is_of_the_object(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported | ErrorKind::InvalidInput | ErrorKind::NotFound)
}

impl Iteration {
    /// Datasets next to species, and records without components: they have nothing that a table could show.
    pub fn without_records(&self, file: &File) -> Result<Vec<Omitted>> {
        let mut omitted = Vec::new();
        for species in self.species.iter().filter(|species| species.group().is_some()) {
            for record in members(file, &species.path)? {
                if !self.is_meshes(species, &record.name) && is_empty(file, &record)? {
                    omitted.push(Omitted::new(record.path, "is a record without components"));
                }
            }
        }
        let beside = self.particles.iter().map(|place| members_below(file, place)).collect::<Result<Vec<_>>>()?;
        let is_known = |member: &Member| self.species.iter().any(|species| species.name.is_empty() || species.path == member.path);
        for member in beside.into_iter().flatten().filter(|member| !is_known(member) && self.meshes_group.as_ref() != Some(&member.name)) {
            let reason = if member.dataset().is_some() { "is a dataset, not a species" } else { "has no record position, so it is not a species" };
            omitted.push(Omitted::new(member.path, reason));
        }
        Ok(omitted)
    }

    /// Whether a member of a species is the group of the meshes.
    pub fn is_meshes(&self, species: &Member, name: &str) -> bool {
        species.path == self.path && self.meshes_group.as_deref() == Some(name)
    }

    /// The time in seconds: `time * timeUnitSI`; null if one of the attributes is missing or not a number.
    fn time(&self) -> Result<Option<f64>> {
        let number = |name: &str| -> Result<Option<f64>> {
            let Some(attribute) = self.attributes.get(name) else { return Ok(None) };
            Ok(numbers(attribute)
                .map_err(|error| error.at_object(&*self.path))?
                .and_then(|numbers| if let [number] = numbers.as_slice() { Some(*number) } else { None }))
        };
        let unit = match self.attributes.get("timeUnitSI") {
            None => self.default_unit,
            Some(_) => number("timeUnitSI")?,
        };
        Ok(number("time")?.zip(unit).map(|(time, unit)| time * unit))
    }

    /// Why there is no time.
    pub fn unusable_time(&self) -> Result<Option<&'static str>> {
        Ok(if self.time()?.is_none() { Some("the attributes time and timeUnitSI are not a number each, so the iteration has no time") } else { None })
    }

    /// Columns of the number and the time, the same in all rows.
    pub fn columns(&self) -> Result<[(&'static str, Values); 2]> {
        let number: ArrayRef = Arc::new(Int64Array::from(vec![self.number]));
        let time: ArrayRef = Arc::new(Float64Array::from(vec![self.time()?]));
        Ok([("iteration", Values::Constant(Literal(number))), ("time", Values::Constant(Literal(time)))])
    }
}
