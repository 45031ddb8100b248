//! Appending: compares the columns of rows that will be written with the table that a file has, before tasks begin. A commit
//! compares each dataset on its own, so without this check rows of other columns would leave columns of different lengths.

use std::collections::BTreeMap;

use hyperslab::columns::attribute_text;
use hyperslab::write::datatype_name;
use hyperslab::{Datatype, Error, ErrorKind, File, Object, Result};

use crate::spark_type::SPARK_TYPE;
use crate::write_request::{Place, WriteRequest, Written};

/// Attributes that say what numbers stand for. Rows of another meaning would be read with the meaning in the file.
const MEANINGS: [&str; 4] = ["units", "calendar", "time_zone", SPARK_TYPE];

/// A column of the table in the file.
struct Stored {
    datatype: Datatype,
    rows: u64,
    /// What its numbers stand for; `None` if that is not compared.
    meaning: Option<BTreeMap<String, String>>,
}

/// The name that each column of the request has in the table of `file`: its own, or one that differs in case only. These are the
/// names of the request if the file has no object of this path.
///
/// # Errors
/// `Conflict` names every column that the rows or the file lack, or that differs in type, meaning or length.
pub(crate) fn names_in_file(file: &File, request: &WriteRequest, is_case_sensitive: bool) -> Result<Vec<String>> {
    let given = request.names();
    let written = request.datasets()?;
    let (path, stored) = match request.place() {
        Place::Dataset(path) => match find(file, &path)? {
            None => return Ok(given),
            Some((_, Object::Dataset(dataset))) if !request.is_records() => {
                let differences: Vec<String> =
                    written.first().and_then(|column| type_difference(&dataset.datatype, &column.definition.datatype)).into_iter().collect();
                refused(&path, &differences)?;
                return Ok(given);
            }
            Some((_, Object::Dataset(dataset))) => (path, members(&dataset.datatype)),
            Some((_, other)) => return Err(conflict(&path, format!("it is {} in the file, and the rows become one dataset: set option layout", other.kind()))),
        },
        Place::Group(path) => match find(file, &path)? {
            None => return Ok(given),
            Some((found, Object::Group)) => {
                let columns = columns_of(&found, &path)?;
                (path, columns)
            }
            Some((_, other)) => return Err(conflict(&path, format!("it is {} in the file, and the columns become datasets of a group", other.kind()))),
        },
    };
    // A group without datasets is not a table yet.
    if stored.is_empty() {
        return Ok(given);
    }
    let names: Vec<String> = given.iter().map(|name| name_among(name, &stored, is_case_sensitive)).collect();
    refused(&path, &differences(&names, &written, &stored, request))?;
    if request.is_records() {
        check_order(file, &path, &names)?;
    }
    Ok(names)
}

fn conflict(path: &str, what: String) -> Error {
    Error::new(ErrorKind::Conflict, format!("the rows cannot be appended to the table: {what}")).at_object(format!("/{}", path.trim_matches('/')))
}

fn refused(path: &str, differences: &[String]) -> Result<()> {
    if differences.is_empty() { Ok(()) } else { Err(conflict(path, differences.join("; "))) }
}

fn find(file: &File, path: &str) -> Result<Option<(File, Object)>> {
    match file.find_without_suggestions(&format!("/{path}")) {
        Ok(found) => Ok(Some((found.file.clone(), found.file.object(found.object)?))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The datasets of a group that have rows, by name. Scalars and subgroups are not columns.
fn columns_of(file: &File, path: &str) -> Result<BTreeMap<String, Stored>> {
    let group = file.find_without_suggestions(&format!("/{path}"))?;
    let mut columns = BTreeMap::new();
    for link in group.file.links(group.object)?.iter() {
        let member = format!("/{}/{}", path.trim_matches('/'), link.name);
        let found = match group.file.find_without_suggestions(&member) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            found => found?,
        };
        let Object::Dataset(dataset) = found.file.object(found.object)? else { continue };
        let Some(rows) = dataset.dataspace.shape().first().copied() else { continue };
        let attributes = found.file.attributes(found.object)?;
        let text = |name: &str| attributes.get(name).and_then(attribute_text).map(|text| (name.to_owned(), text));
        let meaning = Some(MEANINGS.into_iter().filter_map(text).collect());
        columns.insert(link.name.clone(), Stored { datatype: dataset.datatype.clone(), rows, meaning });
    }
    Ok(columns)
}

/// The members of a compound, by name; none of another datatype.
fn members(datatype: &Datatype) -> BTreeMap<String, Stored> {
    let Datatype::Compound { members, .. } = datatype else { return BTreeMap::new() };
    members.iter().map(|member| (member.name.clone(), Stored { datatype: member.datatype.clone(), rows: 0, meaning: None })).collect()
}

/// The name in the file that a column means: the same name, or the only one that differs in case.
fn name_among(name: &str, stored: &BTreeMap<String, Stored>, is_case_sensitive: bool) -> String {
    if is_case_sensitive || stored.contains_key(name) {
        return name.to_owned();
    }
    let lower = name.to_lowercase();
    let mut alike = stored.keys().filter(|known| known.to_lowercase() == lower);
    match (alike.next(), alike.next()) {
        (Some(only), None) => only.clone(),
        _ => name.to_owned(),
    }
}

fn differences(names: &[String], written: &[Written], stored: &BTreeMap<String, Stored>, request: &WriteRequest) -> Vec<String> {
    let mut found = Vec::new();
    for (name, column) in stored {
        if !names.contains(name) {
            found.push(format!("column {name:?} of the file ({} rows) is missing in the rows to be written", column.rows));
        }
    }
    let rows = names.iter().find_map(|name| stored.get(name)).map(|column| column.rows);
    for (index, name) in names.iter().enumerate() {
        let Some(column) = stored.get(name) else {
            found.push(format!("column {name:?} is missing in the file"));
            continue;
        };
        if rows.is_some_and(|rows| rows != column.rows) {
            found.push(format!("column {name:?} of the file has {} rows, not {}", column.rows, rows.unwrap_or(0)));
        }
        let of_member;
        let (datatype, meaning) = match written.get(index) {
            Some(column) if !request.is_records() => (Some(&column.definition.datatype), Some(column)),
            _ => {
                of_member = written.first().and_then(|records| member_at(&records.definition.datatype, index));
                (of_member.as_ref(), None)
            }
        };
        let type_differs = datatype.and_then(|datatype| type_difference(&column.datatype, datatype));
        let meaning_differs = meaning.and_then(|new| meaning_difference(column, new));
        found.extend(type_differs.or(meaning_differs).map(|what| format!("column {name:?}: {what}")));
    }
    found
}

fn member_at(datatype: &Datatype, index: usize) -> Option<Datatype> {
    match datatype {
        Datatype::Compound { members, .. } => members.get(index).map(|member| member.datatype.clone()),
        _ => None,
    }
}

fn type_difference(stored: &Datatype, new: &Datatype) -> Option<String> {
    (stored != new).then(|| format!("the file and the rows define it differently: datatypes {} and {}", datatype_name(stored), datatype_name(new)))
}

/// Only times are compared: the units of other numbers do not change their values.
fn meaning_difference(stored: &Stored, new: &Written) -> Option<String> {
    let known = stored.meaning.as_ref()?;
    let is_time = |meaning: &BTreeMap<String, String>| meaning.contains_key(SPARK_TYPE) || meaning.get("units").is_some_and(|units| units.contains(" since "));
    let given: BTreeMap<String, String> =
        new.attributes().filter(|(name, _)| MEANINGS.contains(name)).map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let shown = |meaning: &BTreeMap<String, String>| match (meaning.get(SPARK_TYPE), meaning.get("units")) {
        (Some(name), _) => name.clone(),
        (None, Some(units)) => format!("times in {units:?}"),
        (None, None) => "plain numbers".to_owned(),
    };
    ((is_time(known) || is_time(&given)) && *known != given)
        .then(|| format!("the file and the rows define it differently: {} and {}", shown(known), shown(&given)))
}

/// Elements of a compound are encoded in the order of the columns.
fn check_order(file: &File, path: &str, names: &[String]) -> Result<()> {
    let Some((_, Object::Dataset(dataset))) = find(file, path)? else { return Ok(()) };
    let Datatype::Compound { members, .. } = &dataset.datatype else {
        return Err(conflict(path, "the elements in the file are not records".to_owned()));
    };
    let order: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    if order == names.iter().map(String::as_str).collect::<Vec<_>>() {
        return Ok(());
    }
    Err(conflict(path, format!("the columns of the file are in the order {}: select them in this order", order.join(", "))))
}
