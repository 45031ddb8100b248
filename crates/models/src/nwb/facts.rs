//! What a file of NWB says of itself, its series and the columns of its tables, as JSON.

use hyperslab_array::{Error, Result};
use hyperslab_formats::Attributes;
use hyperslab_reader::File;
use serde_json::{Map, Value, json};

use super::dynamic_table::{column_names, target};
use super::{Kind, TYPE, VERSION, kind};
use crate::budget::Budget;
use crate::groups::{Group, Groups};
use crate::look::Member;
use crate::small_values::{member_json, put_attributes};

/// Datasets of the root that describe the session.
const SESSION: [&str; 4] = ["identifier", "session_description", "session_start_time", "timestamps_reference_time"];
/// Groups of text about the session.
const DESCRIBED: [&str; 2] = ["/general", "/general/subject"];

pub(crate) fn facts(file: &File, groups: &Groups) -> Result<String> {
    let (mut all, mut budget) = (Map::new(), Budget::of(file));
    put_attributes(&mut all, &*file.attributes(file.root())?, &[VERSION], &mut budget)?;
    let (mut series, mut tables) = (Map::new(), Map::new());
    for group in &groups.list {
        if group.path == "/" {
            let own = group.members.iter().filter(|member| SESSION.contains(&member.name.as_str()));
            put_values(&mut all, own, &mut budget)?;
        }
        if DESCRIBED.contains(&group.path.as_str()) {
            let mut own = Map::new();
            put_values(&mut own, group.members.iter(), &mut budget)?;
            all.insert(group.path.rsplit('/').next().unwrap_or_default().to_owned(), Value::Object(own));
        }
        match kind(group) {
            Kind::Series => _ = series.insert(group.name().to_owned(), of_series(file, group, &mut budget)?),
            Kind::Table => _ = tables.insert(group.name().to_owned(), of_table(file, group, &mut budget)?),
            Kind::Container => {}
        }
    }
    all.insert("series".to_owned(), Value::Object(series));
    all.insert("tables".to_owned(), Value::Object(tables));
    serde_json::to_string(&all).map_err(|error| Error::internal(error.to_string()))
}

/// The values of small datasets by their names.
fn put_values<'a>(into: &mut Map<String, Value>, members: impl Iterator<Item = &'a Member>, budget: &mut Budget) -> Result<()> {
    for member in members.filter(|member| member.dataset().is_some_and(|dataset| dataset.refusal.is_none())) {
        if let Some(value) = member_json(member, budget)? {
            into.insert(member.name.clone(), value);
        }
    }
    Ok(())
}

fn typed(attributes: &Attributes, budget: &mut Budget) -> Result<Map<String, Value>> {
    let mut own = Map::new();
    put_attributes(&mut own, attributes, &[TYPE, "description", "comments"], budget)?;
    Ok(own)
}

fn of_series(file: &File, group: &Group, budget: &mut Budget) -> Result<Value> {
    let mut own = typed(&group.attributes, budget)?;
    budget.pay(group.path.len() as u64, &group.path)?;
    for member in &group.members {
        match member.name.as_str() {
            "data" => put_attributes(&mut own, &*member.attributes()?, &["unit", "conversion", "offset", "resolution"], budget)?,
            "starting_time" => {
                put_values(&mut own, std::iter::once(member), budget)?;
                put_attributes(&mut own, &*member.attributes()?, &["rate"], budget)?;
            }
            "electrodes" => _ = own.insert("electrodes".to_owned(), json!(target(file, member, "table")?)),
            "timestamps" | "channel_conversion" | "control" => {}
            // Settings of the instrument: a number or a text each.
            _ if member.dataset().is_some_and(|dataset| dataset.dataspace.ndim() == 0) => put_values(&mut own, std::iter::once(member), budget)?,
            _ => {}
        }
    }
    Ok(Value::Object(own))
}

fn of_table(file: &File, group: &Group, budget: &mut Budget) -> Result<Value> {
    let mut own = typed(&group.attributes, budget)?;
    let mut columns = Map::new();
    for name in column_names(file, &group.path, &group.attributes)? {
        let Some(member) = group.member(&name) else { continue };
        budget.pay(member.path.len() as u64 + 64, &member.path)?;
        let mut column = typed(&*member.attributes()?, budget)?;
        put_attributes(&mut column, &*member.attributes()?, &["unit", "resolution"], budget)?;
        if let Some(table) = target(file, member, "table")? {
            column.insert("table".to_owned(), json!(table));
        }
        columns.insert(name, Value::Object(column));
    }
    own.insert("columns".to_owned(), Value::Object(columns));
    Ok(Value::Object(own))
}
