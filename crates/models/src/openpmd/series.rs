//! A series: its iterations, and where meshes and particles are in them.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array};
use hyperslab_array::{Error, Result};
use hyperslab_formats::Attributes;
use hyperslab_reader::File;
use hyperslab_scan::{Literal, Values};

use crate::look::{Member, attributes_at, contradiction, join, members, numbers, optional, text_of};

/// An iteration with its meshes and species.
pub(crate) struct Iteration {
    pub number: i64,
    pub path: String,
    attributes: Arc<Attributes>,
    /// Of a missing `timeUnitSI`.
    default_unit: Option<f64>,
    pub meshes: Vec<Member>,
    pub species: Vec<Member>,
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

/// Numbers and paths of the iterations, by number. A series that is a file for each iteration has one in each file.
pub(crate) fn names(file: &File) -> Result<Vec<(i64, String)>> {
    let attributes = file.attributes(file.root())?;
    let Some(base) = text_of(&attributes, "basePath")? else { return Err(contradiction(file, "/", "the file has no attribute basePath")) };
    let by_variables = text_of(&attributes, "iterationEncoding")?.is_some_and(|encoding| encoding == "variableBased");
    let (group, rest) = base.split_once("%T").unwrap_or((&base, ""));
    if by_variables || !base.contains("%T") {
        // One iteration, whose number is an attribute.
        let path = format!("/{}", group.trim_matches('/'));
        let Some(iteration) = optional(file, &path)? else { return Ok(Vec::new()) };
        let attributes = iteration.attributes()?;
        let Some(attribute) = attributes.get("snapshot") else {
            return Err(contradiction(file, &path, "the iteration has neither a number in its path nor an attribute snapshot"));
        };
        return match numbers(attribute).map_err(|error| error.at_object(&*path).in_file(file.name()))?.as_deref() {
            #[expect(clippy::cast_possible_truncation, reason = "checked")]
            Some([number]) if number.fract() == 0.0 && number.abs() < 2f64.powi(53) => Ok(vec![(*number as i64, path)]),
            _ => Err(Error::unsupported("openPMD iterations by variables with several snapshots in one file").at_object(path).in_file(file.name())),
        };
    }
    if !rest.trim_matches('/').is_empty() || !group.ends_with('/') {
        return Err(contradiction(file, "/", format!("the attribute basePath is {base:?}; %T is expected as its last part")));
    }
    let group = format!("/{}", group.trim_matches('/'));
    if optional(file, &group)?.is_none() {
        return Ok(Vec::new());
    }
    let found = file.find(&group)?;
    let links = found.file.links(found.object)?;
    let number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit()).then(|| name.parse::<i64>().ok()).flatten();
    let mut names: Vec<(i64, String)> = links.iter().filter_map(|link| Some((number(&link.name)?, join(&group, &link.name)))).collect();
    names.sort();
    Ok(names)
}

/// Every iteration, by number.
pub(crate) fn iterations(file: &File) -> Result<Vec<Iteration>> {
    let attributes = file.attributes(file.root())?;
    let place = |name: &str| text_of(&attributes, name).map(|text| text.map(|text| text.trim_matches('/').to_owned()));
    let (meshes, particles) = (place("meshesPath")?, place("particlesPath")?);
    let below = |path: &str, place: &Option<String>| {
        let Some(place) = place else { return Ok(Vec::new()) };
        let path = join(path, place);
        match optional(file, &path)? {
            None => Ok(Vec::new()),
            Some(member) if member.group().is_some() => members(file, &path),
            Some(_) => Err(contradiction(file, &path, "meshes and particles are in groups; this is something else, or cannot be read")),
        }
    };
    let default_unit = are_units_optional(file)?.then_some(1.0);
    let one = |(number, path): (i64, String)| {
        let found = file.find(&path)?;
        let attributes = attributes_at(&found, &path)?;
        Ok(Iteration { number, attributes, default_unit, meshes: below(&path, &meshes)?, species: below(&path, &particles)?, path })
    };
    let iterations = names(file)?.into_iter().map(one).collect::<Result<Vec<Iteration>>>()?;
    if let Some([a, b]) = iterations.windows(2).find(|pair| matches!(pair, [a, b] if a.number == b.number)) {
        return Err(contradiction(file, &b.path, format!("{} and {} are both iteration {}", a.path, b.path, a.number)));
    }
    Ok(iterations)
}

impl Iteration {
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
