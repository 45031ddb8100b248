//! What a caller asks of a query.

use hyperslab_predicate::List;
use hyperslab_reader::File;

/// A query: the groups that it applies to, and the condition.
#[derive(Clone)]
#[non_exhaustive]
pub struct QueryRequest {
    /// The group in which the names are looked up, or a compound dataset whose members they are. `*` and `?` are wildcards
    /// within a part of the path; after `re:` it is a regular expression for the whole path of a group. The text that they
    /// match becomes columns.
    pub group: String,
    /// The condition (see [`hyperslab_predicate::Predicate::parse`]); `None` selects every row.
    pub text: Option<String>,
    /// An array whose elements are the rows, if the condition does not determine them.
    pub rows: Option<String>,
    /// Names of arrays in another group or file.
    pub variables: Vec<(String, Origin)>,
    /// Lists that the condition names after `in`.
    pub lists: Vec<(String, List)>,
    /// The file pattern that the files came from, if any: the text that its wildcards matched becomes columns.
    pub file_pattern: Option<String>,
    /// Columns from the file names, matched by a regular expression: one value for each file.
    pub file_captures: Vec<(String, Vec<String>)>,
    /// Whether values are decoded by the netCDF conventions.
    pub decode: bool,
}

/// An array, given by file and path; the path may end in a subarray (`/E[0:100,:,3]`).
#[derive(Clone)]
#[non_exhaustive]
pub struct Origin {
    /// The file.
    pub file: File,
    /// Absolute path.
    pub path: String,
}

impl Origin {
    /// The array at the absolute path `path` of `file`.
    pub fn new(file: File, path: impl Into<String>) -> Self {
        Self { file, path: path.into() }
    }
}

impl QueryRequest {
    /// The condition `text` on the arrays of `group`.
    pub fn new(group: impl Into<String>, text: Option<String>) -> Self {
        Self { group: group.into(), text, rows: None, variables: Vec::new(), lists: Vec::new(), file_pattern: None, file_captures: Vec::new(), decode: true }
    }

    /// With an array whose elements are the rows, if the condition does not determine them.
    #[must_use]
    pub fn with_rows(self, rows: Option<String>) -> Self {
        Self { rows, ..self }
    }

    /// With names of arrays in other groups or files.
    #[must_use]
    pub fn with_variables(self, variables: Vec<(String, Origin)>) -> Self {
        Self { variables, ..self }
    }

    /// With the lists that the condition names after `in`.
    #[must_use]
    pub fn with_lists(self, lists: Vec<(String, List)>) -> Self {
        Self { lists, ..self }
    }

    /// With the file pattern that the files came from: the text that its wildcards matched becomes columns.
    #[must_use]
    pub fn with_file_pattern(self, file_pattern: Option<String>) -> Self {
        Self { file_pattern, ..self }
    }

    /// With columns from the file names: one value for each file.
    #[must_use]
    pub fn with_file_captures(self, file_captures: Vec<(String, Vec<String>)>) -> Self {
        Self { file_captures, ..self }
    }

    /// Whether values are decoded by the netCDF conventions.
    #[must_use]
    pub fn with_decode(self, decode: bool) -> Self {
        Self { decode, ..self }
    }
}
