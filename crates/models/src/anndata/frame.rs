//! A data frame: a group with a column for each member, in the encodings of anndata 0.7 and later; before, a compound dataset
//! whose categories are in `uns`.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::DataType;
use hyperslab_array::{Axis, Cancellation, Dataspace, Datatype, Error, Result, Selection};
use hyperslab_columns::{Column as Decoder, Conventions};
use hyperslab_formats::{Attributes, Dataset};
use hyperslab_reader::File;
use hyperslab_scan::{ArrayPart, Omitted, SegmentDefinition, Values};

use super::ENCODING;
use crate::look::{AsColumn, Member, attributes_at, contradiction, join, members, optional, text_of, texts, values};

/// Group with the categories of the columns of a data frame, as anndata 0.7 wrote it.
const OLD_CATEGORIES: &str = "__categories";
/// How names of categories in `uns` end, as anndata before 0.7 wrote them.
const OLD_SUFFIX: &str = "_categories";
/// Rows of a compound dataset whose codes are looked at together.
const ROWS_AT_A_TIME: usize = 1 << 16;

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
    /// The paths of the categories and their codes, because numeric categories are plain values in a table.
    about: BTreeMap<String, String>,
}

impl Column {
    fn plain(name: &str, rows: String, values: Values) -> Self {
        Self { name: name.to_owned(), rows, values, about: BTreeMap::new() }
    }

    /// Codes into the categories at a path.
    fn of_categories(name: &str, rows: String, codes: ArrayPart, categories: String, mask: Option<ArrayPart>, ordered: bool) -> Self {
        let about = [("categories", categories.clone()), ("codes", rows.clone()), ("ordered", ordered.to_string())];
        let values = Values::Categories { codes, categories: ArrayPart::whole(categories), mask, ordered };
        Self { name: name.to_owned(), rows, values, about: about.map(|(key, value)| (key.to_owned(), value)).into() }
    }
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
            // A name with slashes is a path through groups.
            let place = if name.starts_with('/') { name.clone() } else { join(path, name) };
            let Some(member) = optional(file, &place)? else {
                return Err(contradiction(file, path, format!("the data frame names the column {name:?}, which it does not have")));
            };
            match column(file, path, &Member { name: name.clone(), ..member })? {
                AsColumn::Column(column) => columns.push(column),
                AsColumn::Omitted(reason) => omitted.push(Omitted::new(name.clone(), reason)),
            }
        }
        let is_named = |member: &Member| {
            let leads = |name: &String| name.strip_prefix(&member.name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            member.name == OLD_CATEGORIES || leads(&index) || order.iter().any(leads)
        };
        let unnamed = members.iter().filter(|member| !is_named(member));
        omitted.extend(unnamed.map(|member| Omitted::new(member.name.clone(), "is not named by column-order")));
        Ok(Self { path: path.to_owned(), index, columns, omitted })
    }

    /// The data frame in a compound dataset.
    fn of_records(file: &File, path: &str, dataset: &Dataset) -> Result<Self> {
        let Datatype::Compound { members, .. } = &dataset.datatype else {
            return Err(contradiction(file, path, "a data frame that is neither a group nor a compound dataset"));
        };
        let mut found = Vec::with_capacity(members.len());
        for member in members.iter() {
            found.push(if matches!(member.datatype, Datatype::Integer { .. }) { old_categories(file, &member.name)? } else { None });
        }
        let counts: Vec<Option<u64>> = found.iter().map(|categories| categories.as_ref().map(|(_, count)| *count)).collect();
        let fits = codes_fit(file, path, &counts)?;
        let columns = members.iter().zip(found).zip(fits).map(|((member, categories), fits)| {
            let whole = ArrayPart::whole(path).with_member(member.name.clone());
            match categories {
                Some((categories, _)) if fits => Column::of_categories(&member.name, path.to_owned(), whole, categories, None, false),
                _ => Column::plain(&member.name, path.to_owned(), Values::Array(whole)),
            }
        });
        let columns = columns.collect();
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
            table = table.with_described_column(column.name.clone(), column.values.clone(), column.about.clone());
        }
        Ok(table)
    }
}

/// The categories that anndata before 0.7 kept for a column in `uns`: their path and number. Only texts and numbers in one dimension are categories,
/// and a single text, which stands for one; other entries of `uns` have such a name by chance.
fn old_categories(file: &File, column: &str) -> Result<Option<(String, u64)>> {
    if column.contains('/') || column.contains(OLD_SUFFIX) {
        return Ok(None);
    }
    let path = format!("/uns/{column}{OLD_SUFFIX}");
    let Some(member) = optional(file, &path)? else { return Ok(None) };
    let Some(dataset) = member.dataset().filter(|dataset| dataset.refusal.is_none()) else { return Ok(None) };
    let is_text = matches!(dataset.datatype, Datatype::FixedString { .. } | Datatype::VariableString { .. });
    let is_number = matches!(dataset.datatype, Datatype::Integer { .. } | Datatype::Float { .. } | Datatype::Enum { .. });
    Ok(match (&dataset.dataspace, dataset.dataspace.shape()) {
        (Dataspace::Scalar, _) if is_text => Some((path, 1)),
        (_, [count]) if is_text || is_number => Some((path, *count)),
        _ => None,
    })
}

/// Whether all codes in each member of a compound dataset are below the number of its categories; true for members without.
fn codes_fit(file: &File, path: &str, counts: &[Option<u64>]) -> Result<Vec<bool>> {
    let mut fits = vec![true; counts.len()];
    let found = file.find(path)?;
    let dataset = found.dataset()?;
    let (Datatype::Compound { members, .. }, &[rows]) = (&dataset.datatype, dataset.dataspace.shape()) else { return Ok(fits) };
    let size = usize::try_from(dataset.datatype.size()).map_err(|_| Error::internal("the size of a row"))?;
    if counts.iter().all(Option::is_none) || dataset.refusal.is_some() || size == 0 {
        return Ok(fits);
    }
    for start in (0..rows).step_by(ROWS_AT_A_TIME) {
        let count = (rows - start).min(ROWS_AT_A_TIME as u64);
        let selection = Selection::new(vec![Axis::Range { start, count, step: 1 }], &[rows])?;
        let elements = found.file.read(found.object, &selection, &Cancellation::default()).map_err(|error| error.at_object(path))?;
        for ((member, count), fits) in members.iter().zip(counts).zip(&mut fits) {
            let Some(count) = count.filter(|_| *fits) else { continue };
            let (offset, width) = (usize::try_from(member.offset).unwrap_or(size), usize::try_from(member.datatype.size()).unwrap_or(size));
            let codes: Vec<u8> = elements.bytes.chunks_exact(size).filter_map(|row| row.get(offset..offset.checked_add(width)?)).flatten().copied().collect();
            let codes = Decoder::new(&member.name, &member.datatype, &[], Conventions::Raw)?.to_arrow(&codes, &elements.heap)?;
            let codes = arrow_cast::cast(&codes, &DataType::Int64).map_err(|error| Error::internal(error.to_string()))?;
            // A code that is too large for the cast is null.
            let below = |code: Option<i64>| code.is_some_and(|code| u64::try_from(code).map_or(true, |code| code < count));
            *fits = codes.as_primitive::<Int64Type>().iter().all(below);
        }
    }
    Ok(fits)
}

/// A member as a column, or why it is not one.
fn column(file: &File, frame: &str, member: &Member) -> Result<AsColumn<Column>> {
    let object = match &member.object {
        Err(error) => return Ok(AsColumn::Omitted(format!("cannot be read: {}", error.message()))),
        Ok((_, object)) => object,
    };
    let attributes = member.attributes()?;
    let column = |rows: String, values: Values| Ok(AsColumn::Column(Column::plain(&member.name, rows, values)));
    if let Some(dataset) = object.dataset() {
        if let Some(refusal) = &dataset.refusal {
            return Ok(AsColumn::Omitted(format!("cannot be read: {}", refusal.message())));
        }
        if dataset.dataspace.ndim() != 1 {
            return Ok(AsColumn::Omitted(format!("has shape {:?}, not one dimension", dataset.dataspace.shape())));
        }
        let whole = ArrayPart::whole(member.path.clone());
        // anndata 0.7: codes with a reference to their categories.
        if attributes.get("categories").is_some() {
            let path = join(&join(frame, OLD_CATEGORIES), &member.name);
            let Some(categories) = optional(file, &path)? else {
                return Err(contradiction(file, &member.path, format!("codes whose categories are missing: there is no {path}")));
            };
            let ordered = is_true(&*categories.attributes()?, "ordered")?;
            return Ok(AsColumn::Column(Column::of_categories(&member.name, member.path.clone(), whole, path, None, ordered)));
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
            let whole = ArrayPart::whole(codes.clone());
            Ok(AsColumn::Column(Column::of_categories(&member.name, codes, whole, categories, mask, ordered)))
        }
        Some("nullable-integer" | "nullable-boolean" | "nullable-string-array") => {
            let (values, mask) = (part("values")?, part("mask")?);
            column(values.clone(), Values::Masked { values: ArrayPart::whole(values), mask: ArrayPart::whole(mask) })
        }
        Some(other) => Ok(AsColumn::Omitted(format!("has the encoding {other}, which is not a column"))),
        None => Ok(AsColumn::Omitted("is a group without an encoding".to_owned())),
    }
}

/// Whether an attribute holds true, or a number that is not 0.
fn is_true(attributes: &Attributes, name: &str) -> Result<bool> {
    let Some(array) = attributes.get(name).map(values).transpose()?.flatten() else { return Ok(false) };
    let cast = arrow_cast::cast(&array, &DataType::Boolean).map_err(|error| Error::internal(error.to_string()))?;
    Ok(cast.as_any().downcast_ref::<arrow_array::BooleanArray>().is_some_and(|flags| flags.iter().next().flatten().unwrap_or(false)))
}
