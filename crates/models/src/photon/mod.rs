//! Photon-HDF5: timestamps of single photons.
//!
//! Tables: `photons`, with a row for each photon of each spot; `detectors`, with the channels that the detectors are for. All
//! other values are in the facts.

mod detectors;
mod photons;

use hyperslab_array::{Error, Result};
use hyperslab_formats::Dataset;
use hyperslab_reader::File;
use hyperslab_scan::{Omitted, SegmentDefinition};
use serde_json::{Map, Value};

use crate::budget::Budget;
use crate::groups::{Group, Groups};
use crate::look::{Member, join, members, no_table, optional, text_of};
use crate::model::{Certainty, Model, NamedArray, Problem, Recognition};
use crate::small_values::{is_small, member_json, put_attributes, text_in};

/// The model.
pub(crate) struct Photon;

const PHOTONS: &str = "photons";
const DETECTORS: &str = "detectors";
/// Beginning of the names of the groups of photons.
const GROUP: &str = "photon_data";
/// Elements of an array that facts show.
const MAX_FACTS: u64 = 4096;
/// Why a larger one is left out.
const TOO_LARGE: &str = "has more than 4096 values or 1 MiB, which are neither a column nor facts";
/// Arrays with a value for each photon.
const OF_PHOTONS: [&str; 4] = ["timestamps", "detectors", "nanotimes", "particles"];

/// The name and version of the format that a file gives: in attributes of the root, or in its group `identity`.
fn format(file: &File) -> Result<Option<String>> {
    let attributes = file.attributes(file.root())?;
    let said = |name: &str| match text_of(&attributes, name)? {
        Some(text) => Ok(Some(text)),
        None => text_in(optional(file, &format!("/identity/{name}"))?.as_ref()),
    };
    let Some(name) = said("format_name")?.filter(|name| name == "Photon-HDF5") else { return Ok(None) };
    Ok(Some(format!("{name} {}", said("format_version")?.unwrap_or_default()).trim_end().to_owned()))
}

/// The groups of photons with the numbers of their spots; a group without a number is the only one.
fn spots(file: &File) -> Result<Vec<(Option<i64>, Group)>> {
    let mut found = Vec::new();
    for member in members(file, "/")?.iter().filter(|member| member.group().is_some()) {
        let Some(number) = member.name.strip_prefix(GROUP) else { continue };
        let spot = number.parse::<i64>().ok().filter(|spot| *spot >= 0);
        if (number.is_empty() || spot.is_some())
            && let Some(group) = Group::at(file, &member.path)?
        {
            found.push((spot, group));
        }
    }
    found.sort_by_key(|(spot, _)| *spot);
    Ok(found)
}

impl Model for Photon {
    fn name(&self) -> &'static str {
        "photon_hdf5"
    }

    fn recognize(&self, file: &File) -> Result<Option<Recognition>> {
        // What cannot be read of a damaged file does not make it Photon-HDF5.
        let format = format(file).ok().flatten();
        Ok(format.map(|format| Recognition::new(self.name(), Certainty::Certain, format)))
    }

    fn tables(&self, file: &File) -> Result<Vec<String>> {
        let spots = spots(file)?;
        let mut tables = Vec::new();
        if spots.iter().any(|(_, group)| group.member("timestamps").is_some()) {
            tables.push(PHOTONS.to_owned());
        }
        if spots.iter().any(|(_, group)| detectors::are_described(file, group)) {
            tables.push(DETECTORS.to_owned());
        }
        Ok(tables)
    }

    fn table(&self, file: &File, name: &str) -> Result<Vec<SegmentDefinition>> {
        match name {
            PHOTONS => photons::table(file, &spots(file)?),
            DETECTORS => detectors::table(file, &spots(file)?),
            _ => Err(no_table(self.name(), name, &self.tables(file)?)),
        }
    }

    fn arrays(&self, file: &File) -> Result<Vec<NamedArray>> {
        let mut arrays = Vec::new();
        for (spot, group) in spots(file)? {
            for member in group.members.iter().filter(|member| OF_PHOTONS.contains(&member.name.as_str())) {
                if let Some(dataset) = member.dataset().filter(|dataset| dataset.refusal.is_none()) {
                    let shape = dataset.dataspace.shape().to_vec();
                    arrays.push(NamedArray { name: member.name.clone(), step: spot, path: member.path.clone(), shape });
                }
            }
        }
        Ok(arrays)
    }

    fn validate(&self, file: &File) -> Result<Vec<Problem>> {
        let spots = spots(file)?;
        let mut problems = Vec::new();
        for (spot, group) in spots {
            let place = group.path.clone();
            let alone = [(spot, group)];
            let opened = photons::table(file, &alone).and_then(|table| table.iter().try_for_each(|segment| segment.open(file, true).map(|_| ())));
            let described = if detectors::are_described(file, &alone[0].1) { detectors::table(file, &alone).map(|_| ()) } else { Ok(()) };
            for error in [opened.err(), described.err()].into_iter().flatten() {
                problems.push(Problem::new(error.object().unwrap_or(&place), error.message()));
            }
        }
        Ok(problems)
    }

    fn omitted(&self, file: &File) -> Result<Vec<Omitted>> {
        let groups = Groups::of(file)?;
        let mut omitted = groups.omitted;
        for member in groups.list.iter().flat_map(|group| &group.members) {
            let Some(dataset) = member.dataset() else { continue };
            if let Some(refusal) = &dataset.refusal {
                omitted.push(Omitted::new(member.path.clone(), format!("cannot be read: {}", refusal.message())));
            } else if !is_fact(dataset) && !is_of_photons(member) {
                let reason = if dataset.dataspace.element_count()? == 0 { "is empty".to_owned() } else { TOO_LARGE.to_owned() };
                omitted.push(Omitted::new(member.path.clone(), reason));
            }
        }
        Ok(omitted)
    }

    fn facts(&self, file: &File) -> Result<String> {
        let (mut all, mut budget) = (Map::new(), Budget::of(file));
        put_attributes(&mut all, &*file.attributes(file.root())?, &["format_name", "format_version"], &mut budget)?;
        for group in Groups::of(file)?.list {
            for member in group.members.iter().filter(|member| !is_of_photons(member)) {
                let few = member.dataset().is_some_and(|dataset| dataset.refusal.is_none() && is_fact(dataset));
                if few && let Some(value) = member_json(member, &mut budget)? {
                    all.insert(member.path.trim_start_matches('/').to_owned(), value);
                }
            }
        }
        let nested = all.into_iter().fold(Map::new(), |mut nested, (path, value)| {
            put(&mut nested, &path, value);
            nested
        });
        serde_json::to_string(&nested).map_err(|error| Error::internal(error.to_string()))
    }
}

/// Whether a dataset is small enough to be shown as it is.
fn is_fact(dataset: &Dataset) -> bool {
    is_small(dataset) && dataset.dataspace.element_count().is_ok_and(|count| count <= MAX_FACTS)
}

/// Whether a member has a value for each photon.
fn is_of_photons(member: &Member) -> bool {
    let mut parts = member.path.trim_start_matches('/').split('/');
    let is_in_group = parts.next().is_some_and(|group| group.starts_with(GROUP));
    is_in_group && parts.next().is_some_and(|name| OF_PHOTONS.contains(&name)) && parts.next().is_none()
}

/// Puts a value at a path of nested objects.
fn put(into: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('/') {
        None => _ = into.insert(path.to_owned(), value),
        Some((first, rest)) => {
            let below = into.entry(first.to_owned()).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(below) = below {
                put(below, rest, value);
            }
        }
    }
}

/// The path of a member of a group of photons.
fn path(group: &Group, name: &str) -> String {
    join(&group.path, name)
}
