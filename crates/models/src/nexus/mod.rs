//! NeXus: data of neutron, X-ray and muon experiments.
//!
//! Tables by the paths of their groups: each NXdata with a row for each element of its signal, each NXlog with a row for each entry,
//! each NXevent_data with a row for each event, and its pulses. All datasets are arrays.

mod axes;
mod data;
mod default;
mod events;
mod facts;
mod log;

use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::{Omitted, SegmentDefinition};

use crate::groups::{Group, Groups};
use crate::look::{Member, contradiction, join, members, no_table, text_of};
use crate::model::{Certainty, Model, NamedArray, Problem, Recognition};
use data::Data;

/// The model.
pub(crate) struct Nexus;

/// Attribute with the class of a group.
const CLASS: &str = "NX_class";
/// End of the name of the second table of events.
const PULSES: &str = "pulses";

/// What a group is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Data,
    Log,
    Events,
    Other,
}

/// The class of an object, if it has one that can be read.
fn class(member: &Member) -> Option<String> {
    member.attributes().ok().and_then(|attributes| text_of(&attributes, CLASS).ok().flatten())
}

fn kind(group: &Group) -> Kind {
    let class = text_of(&group.attributes, CLASS).ok().flatten();
    match class.as_deref() {
        Some("NXlog") if group.member("time").is_some() => Kind::Log,
        Some("NXevent_data") if group.member("event_id").is_some() || group.member("event_time_offset").is_some() => Kind::Events,
        Some("NXdata") if data::has_signal(group) => Kind::Data,
        // Detectors and monitors may be plotted, too.
        Some(_) if group.attributes.get("signal").is_some() => Kind::Data,
        _ => Kind::Other,
    }
}

/// The names of the tables of a group.
fn names(group: &Group) -> Vec<String> {
    match kind(group) {
        Kind::Other => Vec::new(),
        Kind::Data | Kind::Log => vec![group.name().to_owned()],
        Kind::Events if events::has_pulses(group) => vec![group.name().to_owned(), join(group.name(), PULSES)],
        Kind::Events => vec![group.name().to_owned()],
    }
}

/// A table of a group; `pulses` chooses the second table of events.
fn definition(file: &File, group: &Group, pulses: bool) -> Result<Option<SegmentDefinition>> {
    match (kind(group), pulses) {
        (Kind::Data, false) => Data::of(file, group).map(|data| Some(data.definition(None))),
        (Kind::Log, false) => log::definition(file, group).map(Some),
        (Kind::Events, false) => events::events(file, group).map(Some),
        (Kind::Events, true) if events::has_pulses(group) => events::pulses(file, group).map(Some),
        _ => Ok(None),
    }
}

impl Model for Nexus {
    fn name(&self) -> &'static str {
        "nexus"
    }

    fn recognize(&self, file: &File) -> Result<Option<Recognition>> {
        let certain = |reason: String| Ok(Some(Recognition::new(self.name(), Certainty::Certain, reason)));
        let attributes = file.attributes(file.root()).unwrap_or_default();
        // What cannot be read of a damaged file does not make it NeXus.
        if text_of(&attributes, CLASS).ok().flatten().as_deref() == Some("NXroot") {
            return certain("the root is NXroot".to_owned());
        }
        let members = members(file, "/").unwrap_or_default();
        match members.iter().find(|member| class(member).as_deref() == Some("NXentry")) {
            Some(entry) => certain(format!("{} is NXentry", entry.path)),
            None => Ok(None),
        }
    }

    fn dataset_table(&self, file: &File, path: &str) -> Result<Option<SegmentDefinition>> {
        let Some((parent, name)) = path.rsplit_once('/') else { return Ok(None) };
        let Some(group) = Group::at(file, if parent.is_empty() { "/" } else { parent })?.filter(|group| kind(group) == Kind::Data) else { return Ok(None) };
        let data = Data::of(file, &group)?;
        let is_signal = data.signal == name || data.auxiliary.iter().any(|(signal, _)| signal == name);
        Ok((is_signal && !data.axes.is_empty()).then(|| data.definition(Some(name))))
    }

    fn tables(&self, file: &File) -> Result<Vec<String>> {
        let groups = Groups::of(file)?;
        // The default plot is the most important table.
        let default = default::path(file).ok().flatten();
        let mut names: Vec<String> = groups.list.iter().flat_map(names).collect();
        names.sort_by_key(|name| Some(join("/", name)) != default);
        Ok(names)
    }

    fn table(&self, file: &File, name: &str) -> Result<Vec<SegmentDefinition>> {
        let own = Group::at(file, &join("/", name))?.map(|group| definition(file, &group, false)).transpose()?.flatten();
        let definition = match (own, name.rsplit_once('/')) {
            (None, Some((group, PULSES))) => Group::at(file, &join("/", group))?.map(|group| definition(file, &group, true)).transpose()?.flatten(),
            (own, _) => own,
        };
        definition.map(|definition| vec![definition]).ok_or_else(|| match self.tables(file) {
            Ok(tables) => no_table(self.name(), name, &tables),
            Err(error) => error,
        })
    }

    fn arrays(&self, file: &File) -> Result<Vec<NamedArray>> {
        let groups = Groups::of(file)?;
        let members = groups.list.iter().flat_map(|group| &group.members);
        let arrays = members.filter_map(|member| {
            let dataset = member.dataset().filter(|dataset| dataset.refusal.is_none())?;
            let (name, shape) = (member.path.trim_start_matches('/').to_owned(), dataset.dataspace.shape().to_vec());
            Some(NamedArray { name, step: None, path: member.path.clone(), shape })
        });
        Ok(arrays.collect())
    }

    fn validate(&self, file: &File) -> Result<Vec<Problem>> {
        let groups = Groups::of(file)?;
        let mut problems = Vec::new();
        let mut note = |result: Result<()>, place: &str| {
            if let Err(error) = result {
                problems.push(Problem::new(error.object().unwrap_or(place), error.message()));
            }
        };
        note(default::path(file).map(|_| ()), "/");
        for group in &groups.list {
            for pulses in [false, true] {
                let opened = definition(file, group, pulses).and_then(|definition| definition.map(|definition| definition.open(file, true)).transpose());
                note(opened.map(|_| ()), &group.path);
            }
        }
        problems.extend(
            groups.omitted.iter().filter(|omitted| omitted.reason.starts_with("cannot be read")).map(|omitted| Problem::new(&omitted.name, &omitted.reason)),
        );
        Ok(problems)
    }

    fn omitted(&self, file: &File) -> Result<Vec<Omitted>> {
        let groups = Groups::of(file)?;
        let mut omitted = Vec::new();
        for group in &groups.list {
            let class = text_of(&group.attributes, CLASS).ok().flatten();
            match kind(group) {
                Kind::Data => match Data::of(file, group) {
                    Ok(data) => omitted.extend(data.omitted),
                    Err(error) => omitted.push(Omitted::new(group.path.clone(), format!("contradicts the model: {}", error.message()))),
                },
                Kind::Log => omitted.extend(log::omitted(file, group)),
                Kind::Events => omitted.extend(events::omitted(group)),
                Kind::Other if class.as_deref() == Some("NXdata") => omitted.push(Omitted::new(group.path.clone(), "is NXdata without a signal")),
                Kind::Other if class.as_deref() == Some("NXlog") => omitted.push(Omitted::new(group.path.clone(), "is NXlog without times")),
                Kind::Other => {}
            }
            for member in &group.members {
                if let Some(refusal) = member.dataset().and_then(|dataset| dataset.refusal.as_ref()) {
                    omitted.push(Omitted::new(member.path.clone(), format!("cannot be read: {}", refusal.message())));
                }
            }
        }
        omitted.extend(groups.omitted);
        Ok(omitted)
    }

    fn facts(&self, file: &File) -> Result<String> {
        facts::facts(file, &Groups::of(file)?)
    }
}

/// The shape of a member that must be a dataset.
fn shape_of(file: &File, group: &Group, name: &str) -> Result<Option<Vec<u64>>> {
    let Some(member) = group.member(name) else { return Ok(None) };
    match (&member.object, member.dataset()) {
        (Err(error), _) => Err(error.clone().at_object(&member.path)),
        (_, None) => Err(contradiction(file, &member.path, "is not a dataset")),
        (_, Some(dataset)) => match &dataset.refusal {
            Some(refusal) => Err(refusal.clone().at_object(&member.path)),
            None => Ok(Some(dataset.dataspace.shape().to_vec())),
        },
    }
}

/// The length of a member that must have one dimension.
fn length_of(file: &File, group: &Group, name: &str) -> Result<Option<u64>> {
    match shape_of(file, group, name)?.as_deref() {
        None => Ok(None),
        Some([length]) => Ok(Some(*length)),
        Some(shape) => Err(contradiction(file, &join(&group.path, name), format!("has shape {shape:?}, not one dimension"))),
    }
}

/// Chunk extent of a member along its first dimension.
fn chunk_of(group: &Group, name: &str) -> u64 {
    let dataset = group.member(name).and_then(Member::dataset);
    dataset.and_then(|dataset| dataset.chunk_grid.chunk_shape().first().copied()).unwrap_or(1).max(1)
}
