//! Species of particles: a table of all iterations for each.

use std::collections::{BTreeMap, BTreeSet};

use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::SegmentDefinition;

use super::record::{Component, Kind, Unit, components_with, missing, values};
use super::series::{Iteration, POSITION, is_empty};
use crate::look::{Member, contradiction, free_name, members};

const OFFSET: &str = "positionOffset";
/// Group of a species with its patches.
pub(crate) const PATCHES: &str = "particlePatches";

/// Components by record and name.
type Components = BTreeMap<(String, String), Component>;

/// A species, or its patches, in one iteration.
pub(crate) struct Species {
    pub components: Components,
    pub count: u64,
}

/// The records of a species. `Corrupt` if they have different numbers of particles.
pub(crate) fn species(file: &File, iteration: &Iteration, member: &Member) -> Result<Species> {
    if member.group().is_none() {
        return Err(contradiction(file, &member.path, "a species is a group of records; this is something else, or cannot be read"));
    }
    let mut records = Vec::new();
    for record in members(file, &member.path)? {
        if record.name != PATCHES && !iteration.is_meshes(member, &record.name) && !is_empty(file, &record)? {
            records.push(record);
        }
    }
    rows(file, &records, |_| Unit::Needed)
}

/// Records of one dimension, all of the same length.
pub(crate) fn rows(file: &File, records: &[Member], unit: fn(&str) -> Unit) -> Result<Species> {
    let mut all = Components::new();
    let mut count: Option<(u64, String)> = None;
    for record in records {
        for component in components_with(file, record, unit(&record.name))? {
            let &[own] = component.shape.as_slice() else {
                return Err(contradiction(file, &component.path, format!("has shape {:?}; records of particles have one dimension", component.shape)));
            };
            match &count {
                Some((known, first)) if *known != own => {
                    return Err(contradiction(file, &component.path, format!("has {own} values, {first} has {known}")));
                }
                Some(_) => {}
                None => count = Some((own, component.path.clone())),
            }
            all.insert((record.name.clone(), component.name.clone()), component);
        }
    }
    Ok(Species { components: all, count: count.map_or(0, |(count, _)| count) })
}

/// The particles of a species in all iterations that have it.
pub(crate) fn table(file: &File, iterations: &[Iteration], name: &str) -> Result<Vec<SegmentDefinition>> {
    let having = iterations.iter().filter_map(|iteration| Some((iteration, iteration.species.iter().find(|member| member.name == name)?)));
    let all = having.map(|(iteration, member)| Ok((iteration, member.path.clone(), species(file, iteration, member)?))).collect::<Result<Vec<_>>>()?;
    segments(&all)
}

/// A segment for each iteration: its path and its records.
pub(crate) fn segments(all: &[(&Iteration, String, Species)]) -> Result<Vec<SegmentDefinition>> {
    let keys: BTreeSet<&(String, String)> = all.iter().flat_map(|(_, _, species)| species.components.keys()).filter(|(record, _)| record != OFFSET).collect();
    let mut taken: BTreeSet<String> = ["iteration", "time"].map(str::to_owned).into();
    let mut columns = Vec::new();
    for key in keys {
        let offset = (OFFSET.to_owned(), key.1.clone());
        let shifted = |species: &Species| key.0 == POSITION && species.components.contains_key(&offset);
        let kind = match all.iter().any(|(_, _, species)| shifted(species)) {
            true => Kind::Double,
            false => Kind::of(all.iter().filter_map(|(_, _, species)| species.components.get(key))),
        };
        let like = all.iter().find_map(|(_, _, species)| species.components.get(key));
        let column = if key.1.is_empty() { key.0.clone() } else { format!("{}_{}", key.0, key.1) };
        columns.push((key, offset, kind, like, free_name(&column, "record", &mut taken)));
    }
    let segment = |(iteration, path, species): &(&Iteration, String, Species)| {
        let chunk = species.components.values().find(|component| component.constant.is_none()).and_then(|component| component.chunk.first().copied());
        let mut segment = SegmentDefinition::new(path.clone(), vec![species.count], vec![chunk.unwrap_or_else(|| species.count.max(1))]);
        for (name, values) in iteration.columns()? {
            segment = segment.with_column(name, values);
        }
        for (key, offset, kind, like, column) in &columns {
            let offset = if key.0 == POSITION { species.components.get(offset) } else { None };
            let values = match (species.components.get(*key), like) {
                (Some(own), _) => values(own, offset, *kind),
                (None, Some(like)) => missing(like, *kind),
                (None, None) => continue,
            };
            segment = segment.with_column(column.clone(), values);
        }
        Ok(segment)
    };
    all.iter().map(segment).collect()
}
