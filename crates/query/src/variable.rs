//! Resolves the names of a query in one step, and makes the step a segment of a scan.
//!
//! Ambiguous names are refused, and so are variables of different shapes.

use std::sync::Arc;

use arrow_schema::{DataType, Field};
use hyperslab_array::shown::{shown, shown_around};
use hyperslab_array::suggest::suggestion;
use hyperslab_array::{Axis, Error, Result};
use hyperslab_formats::ObjectId;
use hyperslab_reader::{File, Found, Walked};
use hyperslab_scan::{ColumnOrder, DimensionMapping, FILE, ROW, RowMapping, Segment, SegmentColumn, Source, array_column, metadata_columns};

use super::QueryRequest;
use super::matched_group::MatchedGroup;
use super::subarray::{Subarray, split_subarray};

/// A name with the array that it stands for.
struct Variable {
    /// The name as written, which is the column's name.
    name: String,
    found: Found,
    dimensions: Vec<DimensionMapping>,
    /// Shape of the rows.
    shape: Vec<u64>,
    /// Whether the rows are the whole array.
    whole: bool,
}

/// What a name stands for.
enum Meaning {
    Variable(Variable),
    /// A capture of a wildcard, `_row` or `_file`.
    Constant,
    /// Not an array; perhaps a dimension.
    Unknown,
}

/// Names of a query.
pub(super) struct Names<'a> {
    /// Names with the shape of the rows.
    pub rows: &'a [String],
    /// Further names whose values are wanted or tested.
    pub others: &'a [String],
}

/// The step as a segment with a column for each name.
pub(super) fn segment(step: &MatchedGroup, request: &QueryRequest, names: &Names<'_>) -> Result<Segment> {
    let table = Table { step, request };
    table.segment(names).map_err(|error| error.at_object(&step.path).in_file(step.file.name()))
}

struct Table<'a> {
    step: &'a MatchedGroup,
    request: &'a QueryRequest,
}

impl Table<'_> {
    fn segment(&self, names: &Names<'_>) -> Result<Segment> {
        if self.is_records()? {
            return Segment::new(&self.step.file, &self.step.path, None, self.request.decode, &self.step.captures);
        }
        let (mut variables, mut unknown) = (Vec::new(), Vec::new());
        for name in names.rows {
            match self.meaning(name)? {
                // Several members of a compound are one column.
                Meaning::Variable(variable) if variables.iter().any(|other: &Variable| other.name == variable.name) => {}
                Meaning::Variable(variable) => variables.push(variable),
                Meaning::Unknown => unknown.push(name.clone()),
                Meaning::Constant => {}
            }
        }
        // Coordinates of other variables' dimensions become columns of these dimensions.
        let is_scale = |one: &Variable| one.whole && variables.iter().any(|other| other.shape != one.shape && other.has_scale(one));
        let scales: Vec<bool> = variables.iter().map(is_scale).collect();
        let (coordinates, variables): (Vec<_>, Vec<_>) = variables.into_iter().zip(scales).partition(|(_, scale)| *scale);
        unknown.extend(coordinates.into_iter().map(|(variable, _)| variable.name));
        let mut variables: Vec<Variable> = variables.into_iter().map(|(variable, _)| variable).collect();
        let Some(first) = variables.first() else {
            return Err(match unknown.first() {
                Some(name) => self.missing(name),
                None => Error::invalid_input("the query names no array: say in `rows` whose elements are the rows"),
            });
        };
        let shape = first.shape.clone();
        if let Some(other) = variables.iter().find(|variable| variable.shape != shape) {
            return Err(unequal(first, other));
        }
        for name in names.others {
            if variables.iter().any(|variable| variable.name == *name) || unknown.contains(name) {
                continue;
            }
            match self.meaning(name)? {
                Meaning::Variable(variable) if variables.iter().any(|other| other.name == variable.name) => {}
                Meaning::Variable(variable) if variable.shape == shape => variables.push(variable),
                Meaning::Variable(variable) => match variables.first() {
                    Some(first) if !variable.whole || !variables.iter().any(|other| other.has_scale(&variable)) => {
                        return Err(unequal(first, &variable));
                    }
                    _ => unknown.push(name.clone()),
                },
                Meaning::Unknown => unknown.push(name.clone()),
                Meaning::Constant => {}
            }
        }
        self.of_variables(&variables, &unknown, shape)
    }

    fn of_variables(&self, variables: &[Variable], dimensions: &[String], shape: Vec<u64>) -> Result<Segment> {
        let first = variables.first().ok_or_else(|| Error::internal("a segment without variables"))?;
        let file = first.found.file.clone();
        let mut columns: Vec<SegmentColumn> = Vec::new();
        for (name, value) in &self.step.captures {
            let field = Arc::new(Field::new(name, value.data_type().clone(), false));
            columns.push(SegmentColumn { field, source: Source::Constant(value.clone()) });
        }
        let mut coordinate_parts = Vec::new();
        for name in dimensions {
            columns.push(self.dimension(name, variables, &file, &mut coordinate_parts)?);
        }
        for variable in variables {
            columns.push(self.column(variable, &file)?);
        }
        columns.extend(metadata_columns());
        let chunk_shape = first.chunk_shape()?;
        let (opened, path) = (self.step.file.clone(), self.step.path.clone());
        Ok(Segment {
            file,
            opened,
            path,
            shape,
            chunk_shape,
            columns,
            coordinate_parts,
            named: true,
            omitted: Vec::new(),
            condition: None,
            column_order: ColumnOrder::default(),
        })
    }

    /// Whether the step is a dataset, whose columns the names stand for.
    fn is_records(&self) -> Result<bool> {
        let found = self.step.file.find(&self.step.path)?;
        Ok(!found.file.object(found.object)?.is_group())
    }

    fn meaning(&self, name: &str) -> Result<Meaning> {
        let constant = name == ROW || name == FILE || self.step.captures.iter().any(|(known, _)| known == name);
        let found = self.variable(name)?;
        if constant {
            return match found {
                Some(variable) => Err(self.ambiguous(name, &[self.path_of(&variable.found), format!("the column {name} of the query")])),
                None => Ok(Meaning::Constant),
            };
        }
        match found {
            Some(variable) => Ok(Meaning::Variable(variable)),
            // A dot may lead to a member of a compound, and a name may contain dots.
            None => match name.rsplit_once('.') {
                Some((head, _)) if !head.is_empty() => Ok(match self.meaning(head)? {
                    Meaning::Variable(variable) => Meaning::Variable(variable),
                    _ => Meaning::Unknown,
                }),
                _ => Ok(Meaning::Unknown),
            },
        }
    }

    /// The array that a name stands for, if any.
    fn variable(&self, name: &str) -> Result<Option<Variable>> {
        let exact = self.found(name)?;
        let Some((base, part)) = split_subarray(name) else {
            return exact.map(|(found, path)| self.variable_of(name, found, path.as_deref(), None)).transpose();
        };
        match (exact, self.found(base)?) {
            (Some((exact, _)), Some((base, _))) => Err(self.ambiguous(name, &[self.path_of(&exact), format!("a part of {}", self.path_of(&base))])),
            (Some((found, path)), None) => self.variable_of(name, found, path.as_deref(), None).map(Some),
            (None, Some((found, path))) => self.variable_of(name, found, path.as_deref(), Some(part)).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// The variable for a dataset, restricted to the subarray in its origin or its name.
    fn variable_of(&self, name: &str, found: Found, origin: Option<&str>, part: Option<&str>) -> Result<Variable> {
        let dataset = found.dataset()?;
        if let Some(refusal) = &dataset.refusal {
            return Err(refusal.clone().at_object(self.path_of(&found)));
        }
        let shape = dataset.dataspace.shape().to_vec();
        if dataset.dataspace == hyperslab_array::Dataspace::Null {
            return Err(Error::invalid_input(format!("{name} has no values: its dataspace is null")));
        }
        let part = match (origin, part) {
            (Some(origin), Some(part)) => {
                return Err(Error::invalid_input(format!("{name} is the part {origin} already: a part {part} of that is not supported")));
            }
            (origin, part) => origin.or(part),
        };
        let (dimensions, rows) = match part {
            None => Subarray::parse("[:]").and_then(|all| if shape.is_empty() { Ok((Vec::new(), Vec::new())) } else { all.resolve(&shape) })?,
            Some(part) => Subarray::parse(part)?.resolve(&shape).map_err(|error| error.at_object(name))?,
        };
        Ok(Variable { name: name.to_owned(), found, dimensions, shape: rows, whole: part.is_none() })
    }

    /// The dataset of a name without a subarray, and the subarray in its origin.
    fn found(&self, name: &str) -> Result<Option<(Found, Option<String>)>> {
        if let Some((_, origin)) = self.request.variables.iter().find(|(known, _)| known == name) {
            let dataset = |path: &str| origin.file.find(path).ok().filter(is_dataset);
            if let Some(found) = dataset(&origin.path) {
                return Ok(Some((found, None)));
            }
            return match split_subarray(&origin.path) {
                Some((base, part)) => Ok(Some((origin.file.find(base)?, Some(part.to_owned())))),
                None => Ok(Some((origin.file.find(&origin.path)?, None))),
            };
        }
        if name.starts_with('/') {
            return Ok(self.step.file.find(name).ok().filter(is_dataset).map(|found| (found, None)));
        }
        let group = self.step.path.trim_end_matches('/');
        if let Ok(found) = self.step.file.find(&format!("{group}/{name}"))
            && found.file.object(found.object)?.dataset().is_some()
        {
            return Ok(Some((found, None)));
        }
        // In a subgroup, if there is exactly one of this name.
        let Ok(group) = self.step.file.find(&self.step.path) else { return Ok(None) };
        let suffix = format!("/{name}");
        let walked = group.file.walk_below(&group.path()?, group.object);
        let below: Vec<Walked> =
            walked.filter(|walked| walked.path.ends_with(&suffix) && walked.object.as_ref().is_ok_and(|object| object.dataset().is_some())).collect();
        match below.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some((Found::new(group.file.clone(), one.id), None))),
            several => {
                let paths: Vec<String> = several.iter().take(6).map(|walked| walked.path.clone()).collect();
                Err(self.ambiguous(name, &paths))
            }
        }
    }

    fn path_of(&self, found: &Found) -> String {
        found.path().map_or_else(|_| "?".to_owned(), |path| path.to_string())
    }

    /// The position of the name in the condition: " at character 3 of: …".
    fn place_in_text(&self, name: &str) -> String {
        let place = self.request.text.as_deref().and_then(|text| Some((hyperslab_predicate::Predicate::place_of(name, text)?, text)));
        place.map_or_else(String::new, |(place, text)| format!(" at character {} of: {}", place + 1, shown_around(text, place)))
    }

    fn ambiguous(&self, name: &str, meanings: &[String]) -> Error {
        let meanings = meanings.join(" and ");
        Error::invalid_input(format!("{:?} may be {meanings}: write the path of the one that is meant{}", shown(name), self.place_in_text(name)))
    }

    fn missing(&self, name: &str) -> Error {
        let group = self.step.file.find(&self.step.path).ok();
        let links = group.and_then(|group| group.file.links(group.object).ok()).unwrap_or_default();
        let links = links.iter().map(|link| link.name.as_str());
        let near = suggestion(name, links.chain(self.step.captures.iter().map(|(name, _)| name.as_str())), 6);
        Error::not_found(format!("there is no array {:?}{}{near}", shown(name), self.place_in_text(name)))
    }

    /// The column of the dimension called `name`.
    fn dimension(&self, name: &str, variables: &[Variable], file: &File, parts: &mut Vec<(ObjectId, Axis)>) -> Result<SegmentColumn> {
        for variable in variables {
            let dataset = variable.found.dataset()?;
            let dimensions = variable.found.file.dimensions(variable.found.object)?;
            for (axis, (dimension_index, start, step)) in variable.rows().enumerate() {
                let dimension = dimensions.get(dimension_index).ok_or_else(|| Error::internal(format!("an array without a dimension {dimension_index}")))?;
                let called = dimension.name.clone().unwrap_or_else(|| format!("dim_{axis}"));
                let scale = dimension.scale.filter(|_| variable.found.file == *file).and_then(|scale| Some((scale, file.dataset(scale).ok()?)));
                // The path or name of the coordinates' array also stands for the dimension.
                let is_scale = |scale: ObjectId| {
                    let found = self.found(name).ok().flatten();
                    found.is_some_and(|(found, part)| part.is_none() && found.object == scale && found.file == *file)
                };
                if called != name && !scale.as_ref().is_some_and(|(scale, _)| is_scale(*scale)) {
                    continue;
                }
                let usable = scale.filter(|(_, values)| {
                    values.refusal.is_none() && Some(values.dataspace.shape()) == dataset.dataspace.shape().get(dimension_index..=dimension_index)
                });
                let Some((scale, values)) = usable else {
                    return Ok(SegmentColumn { field: Arc::new(Field::new(name, DataType::Int64, false)), source: Source::Index { axis } });
                };
                let column = array_column(name, file, scale, &values, self.request.decode)?;
                let count = *variable.shape.get(axis).ok_or_else(|| Error::internal("no such axis"))?;
                parts.push((scale, Axis::Range { start, count, step }));
                if parts.iter().any(|(other, part)| *other == scale && *part != Axis::Range { start, count, step }) {
                    return Err(Error::unsupported(format!("two different parts of the coordinates {name} in one query")));
                }
                return Ok(SegmentColumn { field: column.field().clone(), source: Source::Coordinate { axis, dataset: scale, column: Arc::new(column) } });
            }
        }
        Err(self.missing(name))
    }

    fn column(&self, variable: &Variable, file: &File) -> Result<SegmentColumn> {
        let (dataset, here) = (variable.found.dataset()?, &variable.found.file);
        let id = variable.found.object;
        let column = Arc::new(array_column(&variable.name, here, id, &dataset, self.request.decode)?);
        let source = if variable.whole && here == file {
            Source::Variable { dataset: id, column: column.clone(), per_row: None }
        } else {
            let mapping = RowMapping { file: here.clone(), dimensions: variable.dimensions.clone() };
            Source::Mapped { dataset: id, column: column.clone(), mapping: Arc::new(mapping) }
        };
        Ok(SegmentColumn { field: column.field().clone(), source })
    }
}

impl Variable {
    /// For each row dimension: the index of the dataset's dimension, and start and step of the rows along it.
    fn rows(&self) -> impl Iterator<Item = (usize, u64, u64)> + '_ {
        self.dimensions.iter().enumerate().filter_map(|(index, dimension)| match dimension {
            DimensionMapping::Rows { start, step } => Some((index, *start, *step)),
            DimensionMapping::Fixed(_) => None,
        })
    }

    /// Whether `other` holds the coordinates of one of the row dimensions.
    fn has_scale(&self, other: &Self) -> bool {
        let Ok(dimensions) = self.found.file.dimensions(self.found.object) else { return false };
        let scales = |index: usize| dimensions.get(index).and_then(|dimension| dimension.scale);
        self.found.file == other.found.file && self.rows().any(|(index, _, _)| scales(index) == Some(other.found.object))
    }

    /// Chunk extents along the rows.
    fn chunk_shape(&self) -> Result<Vec<u64>> {
        let dataset = self.found.dataset()?;
        let chunk = dataset.chunk_grid.chunk_shape();
        let extent = |index: usize| chunk.get(index).copied().ok_or_else(|| Error::internal("a chunk with fewer dimensions than its dataset"));
        self.rows().map(|(index, _, step)| Ok((extent(index)? / step.max(1)).max(1))).collect()
    }
}

fn is_dataset(found: &Found) -> bool {
    found.file.object(found.object).is_ok_and(|object| object.dataset().is_some())
}

fn unequal(first: &Variable, other: &Variable) -> Error {
    Error::invalid_input(format!(
        "{} has shape {:?} and {} has shape {:?}: only arrays of one shape can be asked together; take parts of them, as in {}[0:10]",
        first.name, first.shape, other.name, other.shape, first.name
    ))
}
