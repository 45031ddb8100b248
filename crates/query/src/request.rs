//! What a caller asks.

use hyperslab_predicate::List;
use hyperslab_reader::File;

/// A question: of which groups, and for what.
#[derive(Clone)]
pub struct QueryRequest {
    /// The group that the names are looked up in, or a dataset of compounds whose members they are. `*` and `?`
    /// are wildcards within a part of the path; behind `re:` it is a regular expression that the whole path of a
    /// group matches. What was matched becomes columns.
    pub group: String,
    /// The condition (see [`hyperslab_predicate::Predicate::parse`]); `None` is every row.
    pub text: Option<String>,
    /// An array whose elements are the rows, where the condition alone does not say so.
    pub rows: Option<String>,
    /// Names that stand for arrays elsewhere, in another group or file.
    pub variables: Vec<(String, Origin)>,
    /// Lists that the condition names behind `in`.
    pub lists: Vec<(String, List)>,
    /// The file pattern that the files came from, if any: what its wildcards matched becomes columns.
    pub file_pattern: Option<String>,
    /// What was matched in the names of the files by a regular expression, as columns: a value for each file.
    pub file_captures: Vec<(String, Vec<String>)>,
    /// Whether netCDF conventions are applied.
    pub decode: bool,
}

/// An array by file and path; the path may end in a part of it (`/E[0:100,:,3]`).
#[derive(Clone)]
pub struct Origin {
    /// The file.
    pub file: File,
    /// Absolute path.
    pub path: String,
}

impl QueryRequest {
    /// `text` asked of `group`.
    pub fn new(group: impl Into<String>, text: Option<String>) -> Self {
        Self {
            group: group.into(),
            text,
            rows: None,
            variables: Vec::new(),
            lists: Vec::new(),
            file_pattern: None,
            file_captures: Vec::new(),
            decode: true,
        }
    }
}
