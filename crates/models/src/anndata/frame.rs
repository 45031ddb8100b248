//! A data frame: a group with a column for each member, in the encodings of anndata 0.7 and later; before, a compound dataset
//! whose categories are in `uns`.

use std::sync::Arc;

use hyperslab_array::{Datatype, Error, Result};
use hyperslab_formats::{Attributes, Dataset};
use hyperslab_reader::File;
use hyperslab_scan::{ArrayPart, Omitted, SegmentDefinition, Values};

use super::ENCODING;
use crate::look::{Member, attributes_at, contradiction, join, members, optional, text_of, texts, values};

/// Group with the categories of the columns of a data frame, as anndata 0.7 wrote it.
const OLD_CATEGORIES: &str = "__categories";

/// A data frame.
pub(crate) struct Frame {
    path: String,
    /// Name of the column with the labels of the rows.
    pub index: String,
    columns: Vec<Column>,
    /// Members that are not columns.
    pub omitted: Vec<Omitted>,
}

struct Column {
    name: String,
    /// The array that has a value or code for each row.
    rows: String,
    values: Values,
}

/// Whether a dataset is a data frame as anndata wrote it before 0.7.
pub(crate) fn is_records(dataset: &Arc<Dataset>) -> bool {
    matches!(dataset.datatype, Datatype::Compound { .. }) && dataset.dataspace.ndim() == 1
}

impl Frame {
    /// The data frame at `path`.
    ///
    /// # Errors
    /// `Corrupt` if it has no index, or names a column that it does not have.
    pub fn of(file: &File, path: &str) -> Result<Self> {
        let group = file.find(path)?;
        if let Some(dataset) = group.file.object(group.object)?.dataset() {
            return Self::of_records(file, path, dataset);
        }
        let attributes = attributes_at(&group, path)?;
        let index = text_of(&attributes, "_index")?.ok_or_else(|| contradiction(file, path, "a data frame without the attribute _index"))?;
        let order = match attributes.get("column-order") {
            Some(order) => match texts(order)? {
                Some(names) => names,
                // An empty list has the type of numbers.
                None if values(order)?.is_none() => Vec::new(),
                None => return Err(contradiction(file, path, "the attribute column-order does not hold names")),
            },
            None => return Err(contradiction(file, path, "a data frame without the attribute column-order")),
        };
        let members = members(file, path)?;
        let (mut columns, mut omitted) = (Vec::new(), Vec::new());
        for name in std::iter::once(&index).chain(order.iter().filter(|name| **name != index)) {
            let Some(member) = members.iter().find(|member| member.name == *name) else {
                return Err(contradiction(file, path, format!("the data frame names the column {name:?}, which it does not have")));
            };
            match column(file, path, member)? {
                Ok(column) => columns.push(column),
                Err(reason) => omitted.push(Omitted::new(name.clone(), reason)),
            }
        }
        let unnamed = members.iter().filter(|member| member.name != index && member.name != OLD_CATEGORIES && !order.contains(&member.name));
        omitted.extend(unnamed.map(|member| Omitted::new(member.name.clone(), "is not named by column-order")));
        Ok(Self { path: path.to_owned(), index, columns, omitted })
    }

    /// The data frame in a compound dataset.
    fn of_records(file: &File, path: &str, dataset: &Dataset) -> Result<Self> {
        let Datatype::Compound { members, .. } = &dataset.datatype else {
            return Err(contradiction(file, path, "a data frame that is neither a group nor a compound dataset"));
        };
        let mut columns = Vec::new();
        for member in members.iter() {
            let whole = ArrayPart::whole(path).with_member(member.name.clone());
            let categories = format!("/uns/{}_categories", member.name);
            let has_codes =
                matches!(member.datatype, Datatype::Integer { .. }) && optional(file, &categories)?.is_some_and(|member| member.dataset().is_some());
            let values = match has_codes {
                true => Values::Categories { codes: whole, categories: ArrayPart::whole(categories), mask: None, ordered: false },
                false => Values::Array(whole),
            };
            columns.push(Column { name: member.name.clone(), rows: path.to_owned(), values });
        }
        let index = members.first().map(|member| member.name.clone()).ok_or_else(|| contradiction(file, path, "a data frame without columns"))?;
        Ok(Self { path: path.to_owned(), index, columns, omitted: Vec::new() })
    }

    /// The number of rows: the length of the index.
    ///
    /// # Errors
    /// `Corrupt` if a column has another length.
    pub fn rows(&self, file: &File) -> Result<u64> {
        let mut length = None;
        for column in &self.columns {
            let found = file.find(&column.rows)?;
            let dataset = found.dataset()?;
            let [own] = dataset.dataspace.shape() else {
                return Err(contradiction(file, &column.rows, "a column of a data frame without one dimension"));
            };
            match &length {
                None => length = Some((*own, &column.name)),
                Some((known, first)) if known != own => {
                    let message = format!("the columns of a data frame have different lengths: {first} has {known}, {} has {own}", column.name);
                    return Err(contradiction(file, &column.rows, message));
                }
                Some(_) => {}
            }
        }
        length.map(|(length, _)| length).ok_or_else(|| contradiction(file, &self.path, "a data frame whose index cannot be read"))
    }

    /// The labels of the rows.
    pub fn labels(&self) -> Option<(&str, &Values)> {
        self.columns.first().filter(|column| column.name == self.index).map(|column| (column.name.as_str(), &column.values))
    }

    pub fn definition(&self, file: &File) -> Result<SegmentDefinition> {
        let rows = self.rows(file)?;
        let first = self.columns.first().ok_or_else(|| Error::internal("a data frame without columns"))?;
        let found = file.find(&first.rows)?.dataset()?;
        let chunk = found.chunk_grid.chunk_shape().first().copied().unwrap_or(1).max(1);
        let mut table = SegmentDefinition::new(self.path.clone(), vec![rows], vec![chunk]).with_omitted(self.omitted.clone());
        for column in &self.columns {
            table = table.with_column(column.name.clone(), column.values.clone());
        }
        Ok(table)
    }
}

/// A member as a column, or why it is none.
fn column(file: &File, frame: &str, member: &Member) -> Result<Result<Column, String>> {
    let object = match &member.object {
        Err(error) => return Ok(Err(format!("cannot be read: {}", error.message()))),
        Ok((_, object)) => object,
    };
    let attributes = member.attributes()?;
    let column = |rows: String, values: Values| Ok(Ok(Column { name: member.name.clone(), rows, values }));
    if let Some(dataset) = object.dataset() {
        if let Some(refusal) = &dataset.refusal {
            return Ok(Err(format!("cannot be read: {}", refusal.message())));
        }
        if dataset.dataspace.ndim() != 1 {
            return Ok(Err(format!("has shape {:?}, not one dimension", dataset.dataspace.shape())));
        }
        let whole = ArrayPart::whole(member.path.clone());
        // anndata 0.7: codes with a reference to their categories.
        if attributes.get("categories").is_some() {
            let path = join(&join(frame, OLD_CATEGORIES), &member.name);
            let Some(categories) = optional(file, &path)? else {
                return Err(contradiction(file, &member.path, format!("codes whose categories are missing: there is no {path}")));
            };
            let ordered = is_true(&*categories.attributes()?, "ordered")?;
            return column(member.path.clone(), Values::Categories { codes: whole, categories: ArrayPart::whole(path), mask: None, ordered });
        }
        return column(member.path.clone(), Values::Array(whole));
    }
    let encoding = text_of(&attributes, ENCODING)?;
    let part = |name: &str| -> Result<String> {
        let path = join(&member.path, name);
        match optional(file, &path)? {
            Some(_) => Ok(path),
            None => Err(contradiction(file, &member.path, format!("a column of the encoding {} without {name}", encoding.as_deref().unwrap_or("none")))),
        }
    };
    match encoding.as_deref() {
        Some("categorical") => {
            let (codes, mut categories, mut mask) = (part("codes")?, part("categories")?, None);
            // Categories may be a string array with a mask.
            if optional(file, &categories)?.is_some_and(|member| member.group().is_some()) {
                mask = Some(ArrayPart::whole(join(&categories, "mask")));
                categories = join(&categories, "values");
            }
            let ordered = is_true(&attributes, "ordered")?;
            let categories = ArrayPart::whole(categories);
            let values = Values::Categories { codes: ArrayPart::whole(codes.clone()), categories, mask, ordered };
            column(codes, values)
        }
        Some("nullable-integer" | "nullable-boolean" | "nullable-string-array") => {
            let (values, mask) = (part("values")?, part("mask")?);
            column(values.clone(), Values::Masked { values: ArrayPart::whole(values), mask: ArrayPart::whole(mask) })
        }
        Some(other) => Ok(Err(format!("has the encoding {other}, which is not a column"))),
        None => Ok(Err("is a group without an encoding".to_owned())),
    }
}

/// Whether an attribute holds true, or a number that is not 0.
fn is_true(attributes: &Attributes, name: &str) -> Result<bool> {
    let Some(array) = attributes.get(name).map(values).transpose()?.flatten() else { return Ok(false) };
    let cast = arrow_cast::cast(&array, &arrow_schema::DataType::Boolean).map_err(|error| Error::internal(error.to_string()))?;
    Ok(cast.as_any().downcast_ref::<arrow_array::BooleanArray>().is_some_and(|flags| flags.iter().next().flatten().unwrap_or(false)))
}
