//! What a caller asks of a scan.

use hyperslab_predicate::Predicate;

/// How arrays become a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Layout {
    /// One row per element, a column per dimension and per variable.
    Cells,
    /// One row per index of the slowest dimension, the rest as a fixed-size list.
    Rows,
    /// A column per equally long 1-D dataset of a group.
    Columns,
    /// A column per member of a compound dataset.
    Records,
}

/// What a name stands for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is nothing else to name")]
pub enum Naming {
    /// A table of a recognized data model if there is one of this name, else the object at this path.
    #[default]
    Any,
    /// The object at this path.
    Path,
    /// The table of this data model.
    Model(String),
}

impl Naming {
    /// The word for [`Naming::Path`] in the place of a model's name.
    pub const NO_MODEL: &str = "none";

    /// Reads the name of a model, or `none`; nothing is [`Naming::Any`].
    pub fn of(model: Option<String>) -> Self {
        match model {
            None => Self::Any,
            Some(model) if model == Self::NO_MODEL => Self::Path,
            Some(model) => Self::Model(model),
        }
    }
}

/// What happens if the objects of one table have different columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "each caller decides between the two")]
pub enum Nonconforming {
    /// The plan fails and names two objects that differ.
    #[default]
    Error,
    /// A column that an object lacks is null there, and a file without the object has no rows. A column of different types
    /// is an error.
    Null,
}

/// Indexes along a dimension of the rows.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[expect(clippy::exhaustive_structs, reason = "a range of a dimension has nothing else")]
pub struct DimensionRange {
    /// The dimension.
    pub dimension: usize,
    /// The half-open range of its indexes.
    pub indexes: std::ops::Range<u64>,
}

/// A scan: which object, as which table, which rows and columns.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ScanRequest {
    /// Name of a table of a data model, or path of a dataset or group: `naming` decides. In a path, `*` and `?` are wildcards within a path part; what they matched
    /// becomes columns named by the text around them (`/Step#*/x` gives `Step`).
    pub path: String,
    /// The file pattern that the files came from, if any: what its wildcards matched becomes columns.
    pub file_pattern: Option<String>,
    /// Wildcard columns that are text even if every value here is an integer, because other files of the same table have
    /// words there.
    pub text_captures: Vec<String>,
    /// What `path` stands for.
    pub naming: Naming,
    /// Layout; `None` selects the object's default.
    pub layout: Option<Layout>,
    /// Columns in the requested order, including `_row` and `_file` if named; `None` selects all but those two.
    pub columns: Option<Vec<String>>,
    /// Condition on the rows; `None` selects all rows.
    pub predicate: Option<Predicate>,
    /// The only indexes of one dimension whose rows are read; `None` selects all.
    pub range: Option<DimensionRange>,
    /// Maximum number of rows, from the start.
    pub limit: Option<u64>,
    /// Maximum number of rows of a record batch.
    pub batch_rows: usize,
    /// Whether values are decoded by the netCDF conventions.
    pub decode: bool,
    /// What happens if the objects have different columns.
    pub nonconforming: Nonconforming,
}

impl ScanRequest {
    /// A scan of everything at `path`.
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            file_pattern: None,
            text_captures: Vec::new(),
            naming: Naming::Any,
            layout: None,
            columns: None,
            predicate: None,
            range: None,
            limit: None,
            batch_rows: 65_536,
            decode: true,
            nonconforming: Nonconforming::Error,
        }
    }

    /// With the file pattern that the files came from: what its wildcards matched becomes columns.
    #[must_use]
    pub fn with_file_pattern(self, file_pattern: Option<String>) -> Self {
        Self { file_pattern, ..self }
    }

    /// With wildcard columns that are text even if every value here is an integer.
    #[must_use]
    pub fn with_text_captures(self, text_captures: Vec<String>) -> Self {
        Self { text_captures, ..self }
    }

    /// With what the path stands for.
    #[must_use]
    pub fn with_naming(self, naming: Naming) -> Self {
        Self { naming, ..self }
    }

    /// With this layout; `None` selects the object's default.
    #[must_use]
    pub fn with_layout(self, layout: Option<Layout>) -> Self {
        Self { layout, ..self }
    }

    /// With these columns, in this order; `None` selects all but `_row` and `_file`.
    #[must_use]
    pub fn with_columns(self, columns: Option<Vec<String>>) -> Self {
        Self { columns, ..self }
    }

    /// With this condition on the rows; `None` selects all rows.
    #[must_use]
    pub fn with_predicate(self, predicate: Option<Predicate>) -> Self {
        Self { predicate, ..self }
    }

    /// With at most this many rows, from the start.
    #[must_use]
    pub fn with_limit(self, limit: Option<u64>) -> Self {
        Self { limit, ..self }
    }

    /// With at most this many rows in a record batch.
    #[must_use]
    pub fn with_batch_rows(self, batch_rows: usize) -> Self {
        Self { batch_rows, ..self }
    }

    /// Whether values are decoded by the netCDF conventions.
    #[must_use]
    pub fn with_decode(self, decode: bool) -> Self {
        Self { decode, ..self }
    }

    /// Whether objects with different columns are an error, or columns that they lack are null.
    #[must_use]
    pub fn with_nonconforming(self, nonconforming: Nonconforming) -> Self {
        Self { nonconforming, ..self }
    }
}

impl std::str::FromStr for Layout {
    type Err = hyperslab_array::Error;

    /// The layout called `word`; `InvalidInput` lists the layouts for any other word.
    fn from_str(word: &str) -> hyperslab_array::Result<Self> {
        match word {
            "cells" => Ok(Self::Cells),
            "rows" => Ok(Self::Rows),
            "columns" => Ok(Self::Columns),
            "records" => Ok(Self::Records),
            other => Err(hyperslab_array::Error::unknown_choice("layout", other, &["cells", "rows", "columns", "records"])),
        }
    }
}

/// A column by which rows are sorted. −0.0 equals 0.0, and NaN is greater than all other numbers.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct SortKey {
    /// Name.
    pub column: String,
    /// Whether the greatest value comes first.
    pub descending: bool,
    /// Whether nulls come before all values, whatever the direction.
    pub nulls_first: bool,
}

impl SortKey {
    /// A sort by `column`.
    pub fn new(column: impl Into<String>, descending: bool, nulls_first: bool) -> Self {
        Self { column: column.into(), descending, nulls_first }
    }
}
