//! A dynamic table: a column for each name in `colnames`, whose rows may be ragged once or twice.

use hyperslab_array::{Datatype, Error, ReferenceKind, Result};
use hyperslab_formats::Attributes;
use hyperslab_reader::File;
use hyperslab_scan::{ArrayPart, Bounds, Omitted, SegmentDefinition, Values};

use super::{TYPE, list_length};
use crate::groups::Group;
use crate::look::{AsColumn, Member, contradiction, text_of, texts, values};

/// Column with a number for each row.
const ID: &str = "id";

/// A dynamic table.
pub(crate) struct DynamicTable {
    path: String,
    rows: u64,
    chunk: u64,
    columns: Vec<(String, Values)>,
    /// Members that are columns, or whose values are in them.
    pub used: Vec<String>,
    pub omitted: Vec<Omitted>,
}

/// The path of the object that a reference in an attribute leads to; `None` if there is no such reference.
pub(crate) fn target(file: &File, member: &Member, name: &str) -> Result<Option<String>> {
    let attributes = member.attributes()?;
    let Some(attribute) = attributes.get(name) else { return Ok(None) };
    let elements = attribute.value.as_ref().map_err(Clone::clone)?;
    let Datatype::Reference { size, kind: kind @ (ReferenceKind::Object | ReferenceKind::Standard) } = elements.datatype else { return Ok(None) };
    let size = usize::try_from(size).map_err(|_| Error::internal("the size of a reference"))?;
    let owner = member.object.as_ref().map_or(file, |(found, _)| &found.file);
    let found = owner.dereference(kind, size, &elements.bytes)?.into_iter().flatten().next();
    found.map(|found| found.file.path_of(found.object).map(|path| path.to_string())).transpose()
}

/// The names of the columns of a table, in order.
pub(crate) fn column_names(file: &File, path: &str, attributes: &Attributes) -> Result<Vec<String>> {
    let Some(attribute) = attributes.get("colnames") else { return Ok(Vec::new()) };
    match texts(attribute)? {
        Some(names) => Ok(names),
        // An empty list has the type of numbers.
        None if values(attribute)?.is_none() => Ok(Vec::new()),
        None => Err(contradiction(file, path, "the attribute colnames does not hold names")),
    }
}

impl DynamicTable {
    /// The table in a group with the attribute `colnames`.
    ///
    /// # Errors
    /// `Corrupt` if it names a column that it does not have, or columns have different lengths.
    pub fn of(file: &File, group: &Group) -> Result<Self> {
        let rows = list_length(file, group, ID)?.ok_or_else(|| contradiction(file, &group.path, "a table without the column id"))?;
        let chunk = group.member(ID).and_then(Member::dataset).and_then(|id| id.chunk_grid.chunk_shape().first().copied()).unwrap_or(1).max(1);
        let mut table = Self {
            path: group.path.clone(),
            rows,
            chunk,
            columns: vec![(ID.to_owned(), Values::Array(ArrayPart::whole(format!("{}/{ID}", group.path))))],
            used: vec![ID.to_owned()],
            omitted: Vec::new(),
        };
        for name in column_names(file, &group.path, &group.attributes)? {
            if table.used.contains(&name) {
                return Err(contradiction(file, &group.path, format!("the table names the column {name:?} twice")));
            }
            let Some(member) = group.member(&name) else {
                return Err(contradiction(file, &group.path, format!("the table names the column {name:?}, which it does not have")));
            };
            table.used.push(name.clone());
            match table.column(file, group, member)? {
                AsColumn::Column(values) => table.columns.push((name, values)),
                AsColumn::Omitted(reason) => table.omitted.push(Omitted::new(member.path.clone(), reason)),
            }
        }
        let unnamed = group.members.iter().filter(|member| !table.used.contains(&member.name) && member.dataset().is_some());
        table.omitted.extend(unnamed.map(|member| Omitted::new(member.path.clone(), "is not named by colnames")));
        Ok(table)
    }

    /// The values of a column, or why they cannot be a column.
    fn column(&mut self, file: &File, group: &Group, member: &Member) -> Result<AsColumn<Values>> {
        let dataset = match (&member.object, member.dataset()) {
            (Err(error), _) => return Ok(AsColumn::Omitted(format!("cannot be read: {}", error.message()))),
            (_, None) => return Ok(AsColumn::Omitted("is not a dataset".to_owned())),
            (_, Some(dataset)) => dataset,
        };
        let path = member.path.clone();
        let index = |name: &str| group.member(name).filter(|index| is_index(index)).map(|index| (name.to_owned(), index.path.clone()));
        if let Some((name, first)) = index(&format!("{}_index", member.name)) {
            let inner = list_length(file, group, &name)?.unwrap_or(0);
            self.used.push(name.clone());
            let (ends, count, inner) = match index(&format!("{name}_index")) {
                None => (first, inner, None),
                Some((name, second)) => {
                    let count = list_length(file, group, &name)?.unwrap_or(0);
                    self.used.push(name.clone());
                    if group.member(&format!("{name}_index")).is_some_and(is_index) {
                        return Ok(AsColumn::Omitted("is ragged more than twice".to_owned()));
                    }
                    (second, count, Some(ArrayPart::whole(first)))
                }
            };
            if count != self.rows {
                return Err(contradiction(file, &ends, format!("divides a column into {count} rows, but the table has {} rows", self.rows)));
            }
            if let Some(refusal) = &dataset.refusal {
                return Ok(AsColumn::Omitted(format!("cannot be read: {}", refusal.message())));
            }
            if dataset.dataspace.ndim() == 0 {
                return Err(contradiction(file, &path, "a column without dimensions"));
            }
            return Ok(AsColumn::Column(Values::Lists {
                offsets: ArrayPart::whole(ends),
                bounds: Bounds::Ends,
                inner,
                values: ArrayPart::whole(path),
                extent: None,
            }));
        }
        if let Some(refusal) = &dataset.refusal {
            return Ok(AsColumn::Omitted(format!("cannot be read: {}", refusal.message())));
        }
        let shape = dataset.dataspace.shape();
        if shape.first() != Some(&self.rows) {
            return Err(contradiction(file, &path, format!("a column of shape {shape:?} in a table of {} rows", self.rows)));
        }
        let whole = ArrayPart::whole(path.clone());
        if shape.len() > 1 {
            return Ok(AsColumn::Column(Values::Vectors { values: whole }));
        }
        if text_of(&*member.attributes()?, TYPE)?.as_deref() == Some("EnumData") {
            let elements = target(file, member, "elements")?;
            let elements = elements.ok_or_else(|| contradiction(file, &path, "a column of codes without a reference to its elements"))?;
            self.used.extend(elements.strip_prefix(&format!("{}/", self.path)).map(str::to_owned));
            return Ok(AsColumn::Column(Values::Categories { codes: whole, categories: ArrayPart::whole(elements), mask: None, ordered: false }));
        }
        Ok(AsColumn::Column(Values::Array(whole)))
    }

    pub fn definition(&self) -> Result<SegmentDefinition> {
        let omitted = self.omitted.iter().map(|omitted| Omitted::new(omitted.name.rsplit('/').next().unwrap_or_default(), omitted.reason.clone()));
        let table = SegmentDefinition::new(self.path.clone(), vec![self.rows], vec![self.chunk]).with_omitted(omitted.collect());
        Ok(self.columns.iter().fold(table, |table, (name, values)| table.with_column(name.clone(), values.clone())))
    }
}

/// Whether a member divides a column into rows.
fn is_index(member: &Member) -> bool {
    let named = member.attributes().ok().and_then(|attributes| text_of(&attributes, TYPE).ok().flatten());
    named.as_deref() == Some("VectorIndex")
}
