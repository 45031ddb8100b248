//! What a caller wants of a scan.

use hyperslab_predicate::Predicate;

/// How arrays become a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// One row an element, a column per dimension and per variable.
    Cells,
    /// One row per index of the slowest dimension, the rest as a fixed-size list.
    Rows,
    /// A column per equally long 1-D dataset of a group.
    Columns,
    /// A column per member of a compound dataset.
    Records,
}

/// A scan: which object, as which table, which rows and columns.
#[derive(Debug, Clone)]
pub struct ScanRequest {
    /// Path of a dataset or group. `*` and `?` are wildcards within a path part; what they matched
    /// becomes columns named by the text around them (`/Step#*/x` gives `Step`).
    pub path: String,
    /// The file pattern that the files came from, if any: what its wildcards matched becomes columns.
    pub file_pattern: Option<String>,
    /// Columns of wildcards that hold text even where all of it here are integers, because other files of the
    /// same table have words there.
    pub text_captures: Vec<String>,
    /// Layout; `None` picks the object's default.
    pub layout: Option<Layout>,
    /// Columns in the order wanted (`_row` and `_file` too); `None` is all but those two.
    pub columns: Option<Vec<String>>,
    /// Which rows.
    pub predicate: Option<Predicate>,
    /// At most so many rows, from the start.
    pub limit: Option<u64>,
    /// Rows of a record batch, at most.
    pub batch_rows: usize,
    /// Whether netCDF conventions are applied.
    pub decode: bool,
}

impl ScanRequest {
    /// A scan of everything at `path`.
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            file_pattern: None,
            text_captures: Vec::new(),
            layout: None,
            columns: None,
            predicate: None,
            limit: None,
            batch_rows: 65_536,
            decode: true,
        }
    }
}

impl std::str::FromStr for Layout {
    type Err = hyperslab_array::Error;

    /// The layout called `word`; `InvalidInput` lists them for another word.
    fn from_str(word: &str) -> hyperslab_array::Result<Self> {
        match word {
            "cells" => Ok(Self::Cells),
            "rows" => Ok(Self::Rows),
            "columns" => Ok(Self::Columns),
            "records" => Ok(Self::Records),
            other => Err(hyperslab_array::Error::invalid_input(format!(
                "layout {other:?} is none of cells, rows, columns, records"
            ))),
        }
    }
}
