//! A sparse matrix: `indptr`, `indices` and `data` of its rows (CSR) or columns (CSC).

use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::{ArrayPart, SegmentDefinition, Values};

use super::ENCODING;
use super::frame::Frame;
use crate::look::{attributes_at, contradiction, join, numbers, optional, text_of};
use crate::model::Problem;

/// A sparse matrix.
pub(crate) struct Sparse {
    path: String,
    /// Whether `indptr` is of rows, not of columns.
    pub is_csr: bool,
    /// Rows and columns.
    pub shape: [u64; 2],
}

impl Sparse {
    /// The sparse matrix at `path`.
    ///
    /// # Errors
    /// `Corrupt` if it has no format or shape.
    pub fn of(file: &File, path: &str) -> Result<Self> {
        let group = file.find(path)?;
        let attributes = attributes_at(&group, path)?;
        let format = match text_of(&attributes, ENCODING)? {
            Some(encoding) => encoding,
            None => text_of(&attributes, "h5sparse_format")?.unwrap_or_default(),
        };
        let is_csr = match format.as_str() {
            "csr_matrix" | "csr" => true,
            "csc_matrix" | "csc" => false,
            other => return Err(contradiction(file, path, format!("the format {other:?} of a sparse matrix is neither csr nor csc"))),
        };
        let shape = attributes.get("shape").or(attributes.get("h5sparse_shape")).map(numbers).transpose()?.flatten();
        let extent = |extent: f64| (extent >= 0.0 && extent.fract() == 0.0 && extent < 9e15).then_some(extent as u64);
        let shape = match shape.as_deref() {
            Some(&[rows, columns]) => extent(rows).zip(extent(columns)),
            _ => None,
        };
        let (rows, columns) = shape.ok_or_else(|| contradiction(file, path, "a sparse matrix without a shape of two numbers"))?;
        Ok(Self { path: path.to_owned(), is_csr, shape: [rows, columns] })
    }

    /// A row for each row of a CSR matrix or column of a CSC matrix: its label, its indices and its values.
    ///
    /// # Errors
    /// `Corrupt` if lengths contradict each other, or a part is missing.
    pub fn definition(&self, file: &File) -> Result<SegmentDefinition> {
        let [major, minor] = if self.is_csr { self.shape } else { [self.shape[1], self.shape[0]] };
        let length = |name: &str| {
            let path = join(&self.path, name);
            let Some(member) = optional(file, &path)? else {
                return Err(contradiction(file, &self.path, format!("a sparse matrix without {name}")));
            };
            let dataset = member.dataset().ok_or_else(|| contradiction(file, &path, "a part of a sparse matrix that is not a dataset"))?;
            match dataset.dataspace.shape() {
                [length] => Ok((*length, path)),
                shape => Err(contradiction(file, &path, format!("a part of a sparse matrix has shape {shape:?}, not one dimension"))),
            }
        };
        let ((offsets, indptr), (count, indices), (values, data)) = (length("indptr")?, length("indices")?, length("data")?);
        if major.checked_add(1) != Some(offsets) {
            let what = if self.is_csr { "rows" } else { "columns" };
            return Err(contradiction(file, &indptr, format!("indptr has {offsets} values, but the matrix has {major} {what}")));
        }
        if count != values {
            return Err(contradiction(file, &data, format!("a sparse matrix of {count} indices and {values} values")));
        }
        let mut table = SegmentDefinition::new(self.path.clone(), vec![major], vec![major.clamp(1, 1 << 16)]);
        if let Some((name, labels)) = self.labels(file, major)? {
            table = table.with_column(name, labels);
        }
        let (offsets, whole) = (ArrayPart::whole(indptr), ArrayPart::whole);
        let table = table.with_column("indices", Values::index_lists(offsets.clone(), whole(indices), minor));
        Ok(table.with_column("values", Values::lists(offsets, whole(data))))
    }

    /// The labels of the rows: the index of `obs` or `var`, if it is a data frame of this many rows.
    fn labels(&self, file: &File, major: u64) -> Result<Option<(String, Values)>> {
        let of_variables = match self.path.trim_start_matches('/').split('/').next() {
            Some("obsp") => false,
            Some("varp") => true,
            Some("raw") => return Ok(None),
            Some("raw.X") if !self.is_csr => return Ok(None),
            _ => !self.is_csr,
        };
        let path = if of_variables { "/var" } else { "/obs" };
        let Ok(frame) = Frame::of(file, path) else { return Ok(None) };
        if frame.rows(file).ok() != Some(major) {
            return Ok(None);
        }
        Ok(frame.labels().filter(|(name, _)| !["indices", "values"].contains(name)).map(|(name, values)| (name.to_owned(), values.clone())))
    }
}

/// Matrices whose extents are not the numbers of observations and variables.
pub(crate) fn misfits(file: &File) -> Result<Vec<Problem>> {
    let rows = |path: &str| Frame::of(file, path).and_then(|frame| frame.rows(file)).ok();
    let (Some(observations), Some(variables)) = (rows("/obs"), rows("/var")) else { return Ok(Vec::new()) };
    let mut paths = vec!["/X".to_owned()];
    if optional(file, "/layers")?.is_some_and(|layers| layers.group().is_some()) {
        paths.extend(crate::look::members(file, "/layers")?.into_iter().map(|member| member.path));
    }
    let mut problems = Vec::new();
    for path in paths {
        let Some(member) = optional(file, &path)? else { continue };
        let shape = match member.dataset() {
            Some(dataset) => dataset.dataspace.shape().to_vec(),
            None => match Sparse::of(file, &path) {
                Ok(sparse) => sparse.shape.to_vec(),
                Err(_) => continue,
            },
        };
        if shape != [observations, variables] {
            problems.push(Problem::new(path, format!("has shape {shape:?}, but there are {observations} observations and {variables} variables")));
        }
    }
    Ok(problems)
}
