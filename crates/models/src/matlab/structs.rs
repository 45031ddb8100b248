//! A struct as a table: its numeric fields are vectors of one length.

use hyperslab_array::{Datatype, Error, Result};
use hyperslab_reader::File;
use hyperslab_scan::{ArrayPart, DimensionMapping, Omitted, SegmentDefinition, Values};

use super::CLASS;
use crate::look::{members, text_of};
use crate::model::Problem;

/// The fields of a struct.
pub(crate) struct Struct {
    path: String,
    columns: Vec<Field>,
    /// Fields that are not columns.
    pub omitted: Vec<Omitted>,
    /// Whether a field does not fit the table: it has another length, or is not a vector.
    is_mixed: bool,
    /// Shapes of the fields of a struct array.
    elements: Vec<(String, Vec<u64>)>,
}

struct Field {
    name: String,
    path: String,
    /// The dimension of the file along which the vector lies.
    axis: usize,
    ndim: usize,
    length: u64,
    chunk: u64,
}

impl Struct {
    pub fn of(file: &File, path: &str) -> Result<Self> {
        let (mut columns, mut omitted, mut elements, mut is_mixed) = (Vec::new(), Vec::new(), Vec::new(), false);
        let mut lengths = Vec::new();
        for member in members(file, path)? {
            let Some(dataset) = member.dataset() else {
                is_mixed = true;
                continue;
            };
            let attributes = member.attributes()?;
            let class = text_of(&attributes, CLASS)?.unwrap_or_default();
            let shape = dataset.dataspace.shape().to_vec();
            let axis = shape.iter().position(|extent| *extent != 1).unwrap_or(0);
            let is_vector = !shape.is_empty() && shape.iter().filter(|extent| **extent != 1).count() <= 1 && attributes.get("MATLAB_empty").is_none();
            let length = shape.get(axis).copied().filter(|_| is_vector);
            let chunk = dataset.chunk_grid.chunk_shape().get(axis).copied().unwrap_or(1).max(1);
            let datatype = dataset.datatype.clone();
            match (&datatype, class.as_str()) {
                (Datatype::Reference { .. }, "") => {
                    elements.push((member.name.clone(), shape));
                    omitted.push(Omitted::new(member.name, "is a field of a struct array"));
                }
                (Datatype::Reference { .. }, _) => {
                    lengths.push(length);
                    omitted.push(Omitted::new(member.name, "is a cell array"));
                }
                (Datatype::Integer { .. } | Datatype::Float { .. }, class) if class != "char" && attributes.get("MATLAB_object_decode").is_none() => {
                    lengths.push(length);
                    columns.push(Field { name: member.name, path: member.path, axis, ndim: shape.len(), length: length.unwrap_or(0), chunk });
                }
                // A text or an object is one value, so this struct is not a table.
                _ => is_mixed = true,
            }
        }
        is_mixed |= lengths.windows(2).any(|pair| matches!(pair, [a, b] if a != b)) || lengths.contains(&None);
        Ok(Self { path: path.to_owned(), columns, omitted, is_mixed, elements })
    }

    /// The number of rows; `None` if this is not a table.
    pub fn rows(&self) -> Option<u64> {
        let first = self.columns.first()?.length;
        (!self.is_mixed && self.elements.is_empty() && first > 1).then_some(first)
    }

    pub fn definition(&self, file: &File) -> Result<SegmentDefinition> {
        let rows = self.rows().ok_or_else(|| Error::internal("a struct that is not a table").in_file(file.name()))?;
        let chunk = self.columns.first().map_or(1, |field| field.chunk);
        let mut table = SegmentDefinition::new(self.path.clone(), vec![rows], vec![chunk]).with_omitted(self.omitted.clone());
        for field in &self.columns {
            let along = |axis| if axis == field.axis { DimensionMapping::Rows { start: 0, step: 1 } } else { DimensionMapping::Fixed(0) };
            let part = ArrayPart::whole(field.path.clone()).with_dimensions((0..field.ndim).map(along).collect());
            table = table.with_column(field.name.clone(), Values::Array(part));
        }
        Ok(table)
    }

    /// Fields of a struct array that do not have as many elements as the others.
    pub fn problems(&self, path: &str) -> Option<Problem> {
        let (first, shape) = self.elements.first()?;
        let (name, other) = self.elements.iter().find(|(_, other)| other != shape)?;
        Some(Problem::new(path, format!("the fields of a struct array have different shapes: {first} has {shape:?}, {name} has {other:?}")))
    }
}
