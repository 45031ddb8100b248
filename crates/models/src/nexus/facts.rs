//! What a file of NeXus says of its entries and of the data to be plotted, as JSON.

use hyperslab_array::{Error, Result};
use hyperslab_reader::File;
use serde_json::{Map, Value, json};

use super::data::Data;
use super::{CLASS, Kind, default, kind};
use crate::budget::Budget;
use crate::groups::{Group, Groups};
use crate::look::{join, text_of};
use crate::small_values::text_in;

/// Texts that describe an entry.
const DESCRIBED: [&str; 8] =
    ["title", "definition", "start_time", "end_time", "experiment_identifier", "experiment_description", "entry_identifier", "program_name"];

pub(super) fn facts(file: &File, groups: &Groups) -> Result<String> {
    let (mut entries, mut data, mut budget) = (Map::new(), Map::new(), Budget::of(file));
    for group in &groups.list {
        let class = text_of(&group.attributes, CLASS).ok().flatten();
        if matches!(class.as_deref(), Some("NXentry" | "NXsubentry")) {
            entries.insert(group.name().to_owned(), of_entry(group)?);
        }
        if kind(group) == Kind::Data
            && let Ok(found) = Data::of(file, group)
        {
            data.insert(group.name().to_owned(), of_data(group, &found, &mut budget)?);
        }
    }
    let mut all = json!({ "entries": entries, "data": data });
    match default::path(file) {
        Ok(path) => all["default"] = json!(path.map(|path| path.trim_start_matches('/').to_owned())),
        Err(error) => all["default_problem"] = json!({ "object": error.object(), "message": error.message() }),
    }
    serde_json::to_string(&all).map_err(|error| Error::internal(error.to_string()))
}

fn of_entry(group: &Group) -> Result<Value> {
    let mut own = Map::new();
    for name in DESCRIBED {
        if let Some(text) = text_in(group.member(name)).ok().flatten() {
            own.insert(name.to_owned(), Value::String(text));
        }
    }
    Ok(Value::Object(own))
}

fn of_data(group: &Group, data: &Data, budget: &mut Budget) -> Result<Value> {
    let count = (data.axes.len() + data.shape.len() + data.auxiliary.len() + 2) as u64;
    budget.pay(count.saturating_mul(group.path.len() as u64 + 256), &group.path)?;
    let path = |name: &String| join(&group.path, name);
    let along = |dimension: usize| data.axes.iter().find(|axis| axis.dimensions == [dimension]).map(|axis| path(&axis.name));
    let title = text_in(group.member("title")).ok().flatten();
    Ok(json!({
        "signal": path(&data.signal),
        "errors": data.errors.as_ref().map(path),
        "axes": (0..data.shape.len()).map(along).collect::<Vec<_>>(),
        "coordinates": data.axes.iter().map(|axis| (axis.name.clone(), json!({ "path": path(&axis.name), "dimensions": axis.dimensions, "edges": axis.is_edges }))).collect::<Map<String, Value>>(),
        "auxiliary_signals": data.auxiliary.iter().map(|(name, _)| path(name)).collect::<Vec<_>>(),
        "title": title,
    }))
}
