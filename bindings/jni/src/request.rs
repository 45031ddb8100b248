//! Request: parses the JSON requests of Java.

use std::collections::BTreeMap;
use std::sync::Arc;

use hyperslab::index::IndexTrust;
use hyperslab::predicate::Predicate;
use hyperslab::scan::{Layout, Naming, ScanRequest, SortKey};
use hyperslab::{Error, Interpretation, Limits, MissingSources, PathPolicy, Result, Session, SessionOptions, new_session_with_indexes};
use serde::Deserialize;

use crate::native_files::{JavaOpener, RemoteCounters};
use crate::shared_chunks;

fn parse<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T> {
    serde_json::from_str(json).map_err(|e| Error::invalid_input(format!("invalid request: {e}")))
}

/// How files are opened.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct SessionRequest {
    threads: Option<usize>,
    format: Option<String>,
    paths: Option<String>,
    missing_sources: Option<String>,
    limits: BTreeMap<String, u64>,
    index_folder: Option<std::path::PathBuf>,
    indexes: Option<String>,
    /// Key of the file system of Java that opens addresses.
    file_systems: Option<String>,
}

impl SessionRequest {
    pub fn parse(json: &str) -> Result<Self> {
        parse(json)
    }

    /// The same, without the conventions of netCDF-4.
    pub fn into_hdf5(mut self) -> Self {
        self.format = Some("hdf5".to_owned());
        self
    }

    /// Creates the session. `InvalidInput` names an invalid option and its allowed values.
    pub fn session(&self) -> Result<Session> {
        self.counted_session(Arc::default())
    }

    /// As [`SessionRequest::session`]; what a file system of Java reads is counted.
    pub fn counted_session(&self, counters: Arc<RemoteCounters>) -> Result<Session> {
        let invalid = |name: &str, given: &str, allowed: &str| Err(Error::invalid_input(format!("option {name} must be {allowed}, not {given:?}")));
        let interpretation = match self.format.as_deref() {
            None => Interpretation::Automatic,
            Some("hdf5") => Interpretation::Hdf5,
            Some(other) => return invalid("format", other, "hdf5 (which disables netCDF-4 conventions)"),
        };
        let paths = match self.paths.as_deref() {
            None | Some("below" | "folder") => PathPolicy::SameFolder,
            Some("none") => PathPolicy::Nowhere,
            Some("anywhere") => PathPolicy::Anywhere,
            Some(other) => return invalid("links", other, "none, below or anywhere"),
        };
        let missing_sources = match self.missing_sources.as_deref() {
            None | Some("error") => MissingSources::Error,
            Some("fill") => MissingSources::Fill,
            Some(other) => return invalid("missingSources", other, "error or fill"),
        };
        let mut limits = Limits::default();
        for (name, value) in &self.limits {
            limits.set(name, *value)?;
        }
        let options = SessionOptions::default()
            .with_threads(self.threads)
            .with_interpretation(interpretation)
            .with_paths(paths)
            .with_missing_sources(missing_sources)
            .with_limits(limits)
            .with_scan_chunks(Some(shared_chunks::chunks()))
            .with_opener(match &self.file_systems {
                Some(key) => Some(Arc::new(JavaOpener::new(key, counters)?)),
                None => None,
            });
        report_profile();
        let trust = self.indexes.as_deref().map_or(Ok(IndexTrust::default()), str::parse)?;
        new_session_with_indexes(options, self.index_folder.clone(), trust)
    }
}

/// Says once on standard error why the profile of this machine is not used.
fn report_profile() {
    static REPORTED: std::sync::Once = std::sync::Once::new();
    if let Some(problem) = &hyperslab::storage::profile().problem {
        REPORTED.call_once(|| eprintln!("hyperslab: {problem}"));
    }
}

/// How to handle a file whose columns differ from the other files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Nonconforming {
    /// Fail with an error that names both files.
    #[default]
    Error,
    /// Missing columns are null, a column of several types gets the narrowest type that holds all values, and a file without
    /// the dataset has no rows.
    Null,
    /// As [`Nonconforming::Null`], but a column of several types is an error.
    Merge,
}

/// Order of the partitions of a table. The rows of each are in order in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Order {
    /// That of the rows.
    #[default]
    Rows,
    /// Partitions that follow each other read from different storage targets, if these are known.
    Targets,
}

/// A file of a table.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum FileRequest {
    /// Its path.
    Path(String),
    /// Its path with further properties.
    Entry {
        /// Its path.
        path: String,
        /// Dataset of this file; `None` for the dataset of the table.
        dataset: Option<String>,
        /// The glob that found it, whose wildcards become columns.
        pattern: Option<String>,
    },
}

impl FileRequest {
    pub fn path(&self) -> &str {
        match self {
            Self::Path(path) | Self::Entry { path, .. } => path,
        }
    }
    pub fn dataset(&self) -> Option<&str> {
        match self {
            Self::Path(_) => None,
            Self::Entry { dataset, .. } => dataset.as_deref(),
        }
    }
    pub fn pattern(&self) -> Option<&str> {
        match self {
            Self::Path(_) => None,
            Self::Entry { pattern, .. } => pattern.as_deref(),
        }
    }
}

/// The first rows in a sort order.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TopRequest {
    keys: Vec<KeyRequest>,
    /// Number of rows.
    pub count: u64,
}

/// A column by which rows are sorted.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct KeyRequest {
    column: String,
    descending: bool,
    nulls_first: bool,
}

impl TopRequest {
    /// Parses JSON; `null` means that all rows are read.
    pub fn parse(json: &str) -> Result<Option<Self>> {
        parse(json)
    }

    /// The columns, the most significant first.
    pub fn keys(&self) -> Vec<SortKey> {
        self.keys.iter().map(|key| SortKey::new(key.column.clone(), key.descending, key.nulls_first)).collect()
    }
}

/// A table over files.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TableRequest {
    pub files: Vec<FileRequest>,
    pub dataset: String,
    /// The data model whose table `dataset` names, or `none` if it is a path.
    pub model: Option<String>,
    pub layout: Option<String>,
    pub columns: Option<Vec<String>>,
    /// The columns that are text, including columns of wildcards; `None` if the columns are still to be determined.
    pub texts: Option<Vec<String>>,
    /// Joined by `and`.
    #[serde(default)]
    pub predicates: Vec<String>,
    pub limit: Option<u64>,
    /// The rows to skip from the start of the table. If it is given, the splits have exactly the rows of the table from there to
    /// `limit`, which counts the skipped rows, too; without it, each split applies the limit on its own.
    pub offset: Option<u64>,
    /// The first rows in a sort order that each split returns.
    pub top: Option<TopRequest>,
    /// The columns by which rows are to be grouped, for a description.
    pub keys: Option<Vec<String>>,
    pub batch_rows: Option<usize>,
    pub decode: Option<bool>,
    /// Maximum number of partitions; takes precedence over `target_bytes`.
    pub partitions: Option<usize>,
    /// Target size of a partition, in bytes of decoded values.
    pub target_bytes: Option<u64>,
    /// Number of tasks that run in parallel: more partitions of small files than this are not faster.
    pub cores: Option<usize>,
    #[serde(default)]
    pub nonconforming: Nonconforming,
    #[serde(default)]
    pub ignore_corrupt: bool,
    #[serde(default)]
    pub ignore_missing: bool,
    /// Whether all rows of a file are in one split, so that one task reads them.
    #[serde(default)]
    pub whole_files: bool,
    /// Whether the response includes the number of bytes that a partition reads from each file.
    #[serde(default)]
    pub placement: bool,
    /// Order of the partitions.
    #[serde(default)]
    pub order: Order,
    /// Whether splits are boxes of cells, cut along the first two dimensions.
    #[serde(default)]
    pub boxes: bool,
    #[serde(default)]
    pub session: SessionRequest,
    /// A condition that planning adds to the predicates.
    #[serde(skip)]
    pub bound: Option<Predicate>,
}

impl TableRequest {
    pub fn parse(json: &str) -> Result<Self> {
        parse(json)
    }

    /// The scan request that all files share.
    pub fn scan(&self) -> Result<ScanRequest> {
        let mut scan = ScanRequest::new(self.dataset.clone());
        scan.layout = self.layout.as_deref().map(str::parse::<Layout>).transpose()?;
        let predicates = self.predicates.iter().map(|text| Predicate::parse(text)).collect::<Result<Vec<_>>>()?;
        scan.predicate = predicates.into_iter().chain(self.bound.clone()).reduce(Predicate::and);
        scan.naming = Naming::of(self.model.clone());
        scan.columns = self.columns.clone();
        scan.limit = self.limit;
        if let Some(rows) = self.batch_rows {
            scan.batch_rows = rows;
        }
        scan.decode = self.decode.unwrap_or(true);
        Ok(scan)
    }
}
