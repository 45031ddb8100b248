//! NXevent_data: events of a detector, grouped by pulses of the source.

use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::{ArrayPart, Bounds, Omitted, SegmentDefinition, Values};

use super::log::since;
use super::{chunk_of, length_of};
use crate::groups::Group;
use crate::look::{Member, contradiction, join};

/// Datasets with a value for each event.
const OF_EVENTS: [&str; 2] = ["event_id", "event_time_offset"];
/// Where the events of each pulse begin.
const INDEX: &str = "event_index";
/// The time of each pulse.
const ZERO: &str = "event_time_zero";

pub(super) fn has_pulses(group: &Group) -> bool {
    group.member(INDEX).is_some()
}

/// The number of events, and the datasets that have one value for each.
fn of_events(file: &File, group: &Group) -> Result<(u64, Vec<String>)> {
    let mut found: Option<(u64, &str)> = None;
    let mut names = Vec::new();
    for name in OF_EVENTS {
        let Some(own) = length_of(file, group, name)? else { continue };
        match found {
            Some((known, first)) if known != own => {
                return Err(contradiction(file, &join(&group.path, name), format!("has {own} values, {first} has {known}")));
            }
            _ => found = Some((own, name)),
        }
        names.push(name.to_owned());
    }
    let (count, _) = found.ok_or_else(|| contradiction(file, &group.path, "event data without events"))?;
    let others = group.members.iter().filter(|member| member.name == "pulse_height" && shape(member) == Some([count].as_slice()));
    names.extend(others.map(|member| member.name.clone()));
    Ok((count, names))
}

fn shape(member: &Member) -> Option<&[u64]> {
    member.dataset().map(|dataset| dataset.dataspace.shape())
}

/// The number of pulses. `Corrupt` if there are not as many times as pulses.
fn pulse_count(file: &File, group: &Group) -> Result<Option<u64>> {
    let (count, times) = (length_of(file, group, INDEX)?, length_of(file, group, ZERO)?);
    if let (Some(count), Some(times)) = (count, times)
        && count != times
    {
        return Err(contradiction(file, &join(&group.path, ZERO), format!("has {times} times, but {INDEX} has {count} pulses")));
    }
    Ok(count)
}

fn part(group: &Group, name: &str) -> ArrayPart {
    ArrayPart::whole(join(&group.path, name))
}

/// A row for each event.
pub(super) fn events(file: &File, group: &Group) -> Result<SegmentDefinition> {
    let (count, names) = of_events(file, group)?;
    let chunk = names.first().map_or(1, |name| chunk_of(group, name));
    let mut table = SegmentDefinition::new(group.path.clone(), vec![count], vec![chunk]);
    for name in names {
        table = table.with_column(&name, Values::Array(part(group, &name)));
    }
    if pulse_count(file, group)?.is_some() {
        let runs = |values| Values::Runs { starts: part(group, INDEX), values };
        table = table.with_column("pulse", runs(None));
        if group.member(ZERO).is_some() {
            table = table.with_column(ZERO, runs(Some(part(group, ZERO))));
            if let Some(Ok(units)) = since(group, ZERO, "offset")? {
                table = table.with_column("pulse_timestamp", runs(Some(part(group, ZERO).with_units(units))));
            }
        }
    }
    Ok(table)
}

/// A row for each pulse, with its events as lists.
pub(super) fn pulses(file: &File, group: &Group) -> Result<SegmentDefinition> {
    let (_, names) = of_events(file, group)?;
    let count = pulse_count(file, group)?.ok_or_else(|| contradiction(file, &group.path, "event data without pulses"))?;
    let mut table = SegmentDefinition::new(group.path.clone(), vec![count], vec![chunk_of(group, INDEX)]).with_column("pulse", Values::Index { axis: 0 });
    if group.member(ZERO).is_some() {
        table = table.with_column(ZERO, Values::Array(part(group, ZERO)));
        if let Some(Ok(units)) = since(group, ZERO, "offset")? {
            table = table.with_column("pulse_timestamp", Values::Array(part(group, ZERO).with_units(units)));
        }
    }
    for name in names {
        let values = Values::Lists { offsets: part(group, INDEX), bounds: Bounds::Starts, inner: None, values: part(group, &name), extent: None };
        table = table.with_column(&name, values);
    }
    Ok(table)
}

/// What is not a column: times that are not understood, pulse heights of another shape, cues.
pub(super) fn omitted(group: &Group) -> Vec<Omitted> {
    let mut omitted = Vec::new();
    if let Ok(Some(Err(reason))) = since(group, ZERO, "offset") {
        omitted.push(Omitted::new(join(&group.path, ZERO), format!("has no column pulse_timestamp: {reason}")));
    }
    let events = group.member("event_id").or(group.member("event_time_offset")).and_then(shape);
    let heights = group.member("pulse_height").filter(|member| shape(member) != events);
    omitted.extend(heights.map(|member| Omitted::new(member.path.clone(), "is not a column: it does not have one value for each event")));
    let cues = group.members.iter().filter(|member| member.name.starts_with("cue_"));
    omitted.extend(cues.map(|member| Omitted::new(member.path.clone(), "is an index into the events, which is not used")));
    omitted
}
