//! Finds the arrays of a definition, and checks that they have an element for each row.

use hyperslab_array::{Dataspace, Datatype, Error, ErrorKind, Result, StringPadding, TimeEncoding};
use hyperslab_columns::{Column, Conventions};
use hyperslab_formats::{Dataset, ObjectId};
use hyperslab_reader::File;
use std::sync::Arc;

use super::array_part::ArrayPart;
use super::boundary::INHERITED;
use super::connectivity::IndexRule;
use super::elements::Elements;
use super::mapping::{DimensionMapping, RowMapping};
use super::members::text_datatype;
use super::need::Need;
use super::patch_boxes::MAX_DIMENSIONS;
use super::repeated::RepeatedAxis;
use super::segment::{array_column, column_with_units, decoding, readable_attributes};

/// When a definition becomes a segment: it decides which files a path may lead to, and the error for arrays of another shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// A model has made the definition from the file as it is open.
    Defined,
    /// The definition comes from a split.
    Planned,
}

impl Stage {
    /// The error for a definition that contradicts itself.
    pub fn malformed(self, what: &str) -> Error {
        match self {
            Self::Defined => Error::internal(format!("the definition of a table: {what}")),
            Self::Planned => Error::invalid_input(format!("these bytes are not a split: {what}")),
        }
    }
}

/// Whether a coordinate column is text from a 2-D array of single characters.
pub(super) fn is_text_of_characters(file: &File, dataset: ObjectId, column: &Column) -> Result<bool> {
    Ok(matches!(column.datatype(), Datatype::FixedString { .. }) && file.dataset(dataset)?.dataspace.ndim() == 2)
}

/// The index of a member of a compound dataset.
pub(crate) fn member_index(dataset: &Dataset, name: &str) -> Result<usize> {
    let Datatype::Compound { members, .. } = &dataset.datatype else {
        return Err(Error::invalid_input(format!("the dataset has no member {name:?}: its elements are not compounds")));
    };
    let found = members.iter().position(|member| member.name == name);
    found.ok_or_else(|| Error::invalid_input(format!("the elements of the dataset have no member {name:?}")))
}

/// How a member of a compound dataset becomes a column.
fn member_column(name: &str, dataset: &Dataset, member: &str, timevals: bool, decode: bool) -> Result<Column> {
    let index = member_index(dataset, member)?;
    let Datatype::Compound { members, .. } = &dataset.datatype else { return Err(Error::internal("a member without a compound")) };
    let datatype = members.get(index).map(|member| &member.datatype).ok_or_else(|| Error::internal("no such member"))?;
    let shown = if decode { datatype.clone() } else { datatype.with_references_as_bytes() };
    let shown = if timevals { shown.with_times(TimeEncoding::SecondsAndMicroseconds) } else { shown };
    Column::new(name, &shown, &[], Conventions::Raw)
}

/// The column of an array of single characters whose last dimension is the length of texts; `None` for other arrays.
fn text_column(name: &str, array: &Elements) -> Result<Option<Column>> {
    let dataset = array.mapping.file.dataset(array.dataset)?;
    let Some(Datatype::FixedString { size, character_set, .. }) = text_datatype(&dataset)? else { return Ok(None) };
    // Names, not data: programs pad them with zeros, Fortran with spaces.
    let text = Datatype::FixedString { size, padding: StringPadding::SpacePadded, character_set };
    let metadata = array.column.field().metadata().clone();
    let column = Column::new(name, &text, &[], Conventions::Raw)?;
    Ok(Some(column.with_metadata(metadata)))
}

/// The path in `file` of the object at `path` of the requested file.
fn in_file(requested: &File, path: &str, file: &File) -> Result<String> {
    if requested == file {
        return Ok(path.to_owned());
    }
    let found = requested.find(path)?;
    if found.file != *file {
        let message = format!("an array that has the units of {path}, which is in another file, {}", found.file.name());
        return Err(Error::unsupported(message).in_file(file.name()));
    }
    Ok(file.path_of(found.object)?.to_string())
}

/// Finds the arrays of a definition.
#[derive(Clone, Copy)]
pub(super) struct Resolver<'a> {
    pub files: &'a [File],
    pub decode: bool,
    pub stage: Stage,
}

impl Resolver<'_> {
    /// An array as a column; its mapping is the identity unless the part has another.
    pub fn array(&self, name: &str, part: &ArrayPart) -> Result<Elements> {
        let file = self.files.get(part.file).ok_or_else(|| Error::invalid_input("these bytes are not a split: a file without a name"))?;
        let found = file.find(&part.path)?;
        if self.stage == Stage::Planned && found.file != *file {
            let message = format!("{} leads to another object than when this split was planned: plan again", part.path);
            return Err(Error::new(ErrorKind::Conflict, message).in_file(file.name()));
        }
        let (requested, file, id) = (file, found.file.clone(), found.object);
        let dataset = found.dataset()?;
        if let Some(refusal) = &dataset.refusal {
            return Err(file.place(id, refusal.clone()));
        }
        if dataset.dataspace == Dataspace::Null {
            return Err(file.place(id, Error::corrupt("this array has no values (a null dataspace), and the table needs it")));
        }
        let inherits = part.inherits.as_ref().map(|of| in_file(requested, of, &file)).transpose()?;
        let column = match &part.member {
            None => match &part.units {
                Some(units) => column_with_units(name, &file, id, &dataset, self.decode, units),
                None => match &inherits {
                    None => array_column(name, &file, id, &dataset, self.decode),
                    Some(of) => self.inheriting_column(name, &file, id, &dataset, of),
                },
            },
            Some(member) => member_column(name, &dataset, member, part.timevals, self.decode).map_err(|error| file.place(id, error)),
        };
        let column = column.map_err(|error| error.in_file(file.name()))?;
        let identity = || vec![DimensionMapping::Rows { start: 0, step: 1 }; dataset.dataspace.ndim()];
        let dimensions = part.dimensions.clone().unwrap_or_else(identity);
        Ok(Elements { dataset: id, column, mapping: Arc::new(RowMapping { file, dimensions }), member: part.member.clone(), inherits })
    }

    /// A column with the units and the calendar of the variable at `of`.
    fn inheriting_column(&self, name: &str, file: &File, id: ObjectId, dataset: &Dataset, of: &str) -> Result<Column> {
        let mut attributes = readable_attributes(file, id, self.decode)?.list.clone();
        let parent = file.find(of)?;
        for attribute in &readable_attributes(&parent.file, parent.object, self.decode)?.list {
            if INHERITED.contains(&attribute.name.as_str()) && !attributes.iter().any(|own| own.name == attribute.name) {
                attributes.push(attribute.clone());
            }
        }
        Column::new(name, &dataset.datatype, &attributes, decoding(file, self.decode)).map_err(|error| file.place(id, error))
    }

    /// The array of `part`, if it is what its column needs. `shape` is the shape of the rows.
    pub fn needed(&self, name: &str, part: &ArrayPart, need: Need<'_>, shape: &[u64]) -> Result<Elements> {
        let raw = Resolver { decode: false, ..*self };
        let extent = |axis: &usize| shape.get(*axis).copied().ok_or_else(|| self.stage.malformed("a dimension too many"));
        match need {
            Need::Any => self.array(name, part),
            Need::Rows => self.rows(name, part, shape),
            Need::Numbers => self.numbers(name, part, shape),
            Need::Along(axes) => self.rows(name, part, &axes.iter().map(extent).collect::<Result<Vec<u64>>>()?),
            Need::NumbersAlong(axis) => self.numbers(name, part, &[extent(&axis)?]),
            Need::Repeated(axes) => self.repeated(name, part, axes, shape),
            Need::List(length) => self.list(name, part, length),
            Need::RawList(length) => raw.list(name, part, length),
            Need::ListOrRest(length) => self.list_or_rest(name, part, length),
            Need::Categories => self.categories(name, part),
            Need::OfOwners(owners) => self.of_owners(name, part, owners),
            Need::Whole(length) => self.whole(name, part, length),
            Need::RawWhole => raw.whole(name, part, None),
            Need::RawTable(rule, rows) => raw.table(name, part, rule, rows),
            Need::Blocks => {
                let blocks = self.whole(name, part, None)?;
                let is_of_blocks = blocks.shape()?.len() == MAX_DIMENSIONS + 1;
                if is_of_blocks { Ok(blocks) } else { Err(self.stage.malformed("boxes of other dimensions")) }
            }
        }
    }

    /// An array with an element for each row.
    fn rows(&self, name: &str, part: &ArrayPart, shape: &[u64]) -> Result<Elements> {
        let array = self.array(name, part)?;
        match &part.dimensions {
            None => self.check_whole(&array, shape)?,
            Some(dimensions) => self.check_within(&array, dimensions, shape)?,
        }
        Ok(array)
    }

    /// An array of numbers with an element for each row.
    fn numbers(&self, name: &str, part: &ArrayPart, shape: &[u64]) -> Result<Elements> {
        let array = self.rows(name, part, shape)?;
        match array.column.field().data_type() {
            numeric if numeric.is_numeric() => Ok(array),
            other => Err(array.place(Error::invalid_input(format!("the array is {other}, not numbers as its table needs")))),
        }
    }

    /// A whole 1-D array, of this length if there is one.
    fn list(&self, name: &str, part: &ArrayPart, length: Option<u64>) -> Result<Elements> {
        let array = self.array(name, part)?;
        let whole = [DimensionMapping::Rows { start: 0, step: 1 }];
        match array.shape()?.as_slice() {
            [extent] if length.is_none_or(|length| length == *extent) && array.mapping.dimensions == whole => Ok(array),
            shape => Err(self.misfit(&array, shape, &length.map_or_else(|| "one dimension".to_owned(), |length| format!("[{length}]")))),
        }
    }

    /// Categories: a whole 1-D array, or a scalar.
    fn categories(&self, name: &str, part: &ArrayPart) -> Result<Elements> {
        let array = self.array(name, part)?;
        if array.shape()?.is_empty() { Ok(array) } else { self.list(name, part, None) }
    }

    /// A 1-D array, or what is left of it from some index on; at least `length` values if there is a length, and exactly so many of a whole
    /// array.
    fn list_or_rest(&self, name: &str, part: &ArrayPart, length: Option<u64>) -> Result<Elements> {
        let Some([DimensionMapping::Rows { start: start @ 1.., step: 1 }]) = part.dimensions.as_deref() else {
            return match &part.dimensions {
                Some(_) if length.is_some() => self.rows(name, part, &[length.unwrap_or(0)]),
                _ => self.whole(name, part, length),
            };
        };
        let array = self.array(name, part)?;
        match array.shape()?.as_slice() {
            [extent] if start.checked_add(length.unwrap_or(0)).is_some_and(|end| end <= *extent) => Ok(array),
            shape => {
                Err(self.misfit(&array, shape, &format!("{} from number {start} on", length.map_or_else(|| "one dimension".to_owned(), |n| n.to_string()))))
            }
        }
    }

    /// A whole array of at least one dimension, with `length` indexes along the first if there is one.
    fn whole(&self, name: &str, part: &ArrayPart, length: Option<u64>) -> Result<Elements> {
        let array = self.array(name, part)?;
        let shape = array.shape()?;
        let is_whole = array.mapping.dimensions.iter().all(|dimension| *dimension == DimensionMapping::Rows { start: 0, step: 1 });
        match shape.first() {
            Some(extent) if is_whole && length.is_none_or(|length| length == *extent) => Ok(array),
            _ => Err(self.misfit(&array, &shape, &length.map_or_else(|| "[n, ...]".to_owned(), |length| format!("[{length}, ...]")))),
        }
    }

    /// A whole 2-D array of indexes, with a list for each of `rows`.
    fn table(&self, name: &str, part: &ArrayPart, rule: &IndexRule, rows: u64) -> Result<Elements> {
        let array = self.array(name, part)?;
        let shape = array.shape()?;
        let whole = array.mapping.dimensions.iter().all(|dimension| *dimension == DimensionMapping::Rows { start: 0, step: 1 });
        if shape.len() == 2 && shape.get(rule.axis) == Some(&rows) && whole {
            return Ok(array);
        }
        let wanted = if rule.axis == 0 { format!("[{rows}, n]") } else { format!("[n, {rows}]") };
        Err(self.misfit(&array, &shape, &wanted))
    }

    /// A 2-D array of single characters as `count` texts.
    pub fn texts(&self, name: &str, part: &ArrayPart, count: u64) -> Result<Elements> {
        let array = self.array(name, part)?;
        let shape = array.shape()?;
        match (text_column(name, &array)?, shape.as_slice()) {
            (Some(column), [rows, _]) if *rows == count => Ok(Elements { column, ..array }),
            _ => Err(self.misfit(&array, &shape, &format!("[{count}, n] of characters"))),
        }
    }

    /// An array along some dimensions of rows of this shape.
    pub fn repeated(&self, name: &str, part: &ArrayPart, axes: &[RepeatedAxis], rows: &[u64]) -> Result<Elements> {
        let array = self.array(name, part)?;
        let shape = array.shape()?;
        let text = if axes.last() == Some(&RepeatedAxis::Text) { text_column(name, &array)? } else { None };
        let is_last = |place: usize| place + 1 == axes.len();
        let fits = |(place, (axis, extent)): (usize, (&RepeatedAxis, &u64))| match axis {
            RepeatedAxis::Row(row) => rows.get(*row) == Some(extent) && !axes.iter().take(place).any(|before| before == axis),
            RepeatedAxis::Fixed(index) => index < extent,
            RepeatedAxis::List => is_last(place) && i32::try_from(*extent).is_ok(),
            RepeatedAxis::Text => is_last(place) && text.is_some(),
            RepeatedAxis::Low | RepeatedAxis::High => is_last(place) && *extent == 2,
        };
        if axes.len() != shape.len() || !axes.iter().zip(&shape).enumerate().all(fits) {
            return Err(self.misfit(&array, &shape, &format!("one along the rows {rows:?}")));
        }
        Ok(match text {
            Some(column) => Elements { column, ..array },
            None => array,
        })
    }

    /// A value for each of `owners` owners: of a 1-D array, or texts of a 2-D array of characters.
    fn of_owners(&self, name: &str, part: &ArrayPart, owners: u64) -> Result<Elements> {
        let array = self.array(name, part)?;
        let shape = array.shape()?;
        match (text_column(name, &array)?, shape.as_slice()) {
            (Some(column), [rows, _]) if *rows == owners => Ok(Elements { column, ..array }),
            (_, [rows]) if *rows == owners => Ok(array),
            _ => Err(self.misfit(&array, &shape, &format!("[{owners}]"))),
        }
    }

    pub fn check_whole(&self, array: &Elements, shape: &[u64]) -> Result<()> {
        let own = array.shape()?;
        if own == shape { Ok(()) } else { Err(self.misfit(array, &own, &format!("{shape:?}"))) }
    }

    /// Fails if rows of this shape are not all within an array.
    pub fn check_within(&self, array: &Elements, dimensions: &[DimensionMapping], shape: &[u64]) -> Result<()> {
        let extents = array.shape()?;
        let mut rows = shape.iter();
        let fits = dimensions.iter().zip(&extents).all(|(dimension, extent)| match dimension {
            DimensionMapping::Fixed(index) => index < extent,
            DimensionMapping::Rows { start, step } => rows.next().is_some_and(|count| match count.checked_sub(1) {
                None => start <= extent && *step > 0,
                Some(last) => *step > 0 && last.checked_mul(*step).and_then(|last| last.checked_add(*start)).is_some_and(|last| last < *extent),
            }),
        });
        if fits && dimensions.len() == extents.len() && rows.next().is_none() { Ok(()) } else { Err(self.misfit(array, &extents, &format!("{shape:?}"))) }
    }

    pub fn misfit(&self, array: &Elements, shape: &[u64], rows: &str) -> Error {
        array.place(match self.stage {
            Stage::Defined => Error::invalid_input(format!("the array has shape {shape:?}, not {rows} as its table needs")),
            Stage::Planned => Error::new(ErrorKind::Conflict, "the array's shape has changed since this split was planned: plan again"),
        })
    }
}
