//! The seam to data models: who knows what a file's arrays mean gives tables that are no object's own.

use std::borrow::Cow;
use std::sync::Arc;

use hyperslab_array::shown::shown;
use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_reader::{File, Found, Session};

use super::definition::SegmentDefinition;
use super::segment::Segment;
use crate::request::{Naming, ScanRequest};

/// Tables of data models. A session has at most one.
pub trait ModelTables: Send + Sync {
    /// The segments of a model's table in a file, in row order. Reads metadata only.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown model, and for a file that is not recognized as this model; `NotFound` for a table that it does
    /// not have; `Corrupt` for a file that contradicts the model, with the object.
    fn segments(&self, file: &File, model: &str, table: &str) -> Result<Vec<SegmentDefinition>>;

    /// The name of the model that has this table, of those that are likely or certain; `None` if no model has it. Reads metadata
    /// only, and remembers the tables of a file.
    ///
    /// # Errors
    /// `Io` or `LimitExceeded` if the file cannot be read.
    fn owner(&self, file: &File, table: &str) -> Result<Option<String>>;

    /// The names of the tables that [`ModelTables::owner`] knows.
    ///
    /// # Errors
    /// As [`ModelTables::owner`].
    fn names(&self, file: &File) -> Result<Vec<String>>;

    /// The table of a dataset with the coordinates that only a model knows of; `None` if its dimensions say it all.
    ///
    /// # Errors
    /// As [`ModelTables::owner`].
    fn dataset_table(&self, file: &File, dataset: &Found) -> Result<Option<SegmentDefinition>>;
}

/// The models that a session was made with: its [extension](hyperslab_reader::Extensions) for scans.
#[expect(clippy::exhaustive_structs, reason = "made by the crate that implements the trait")]
pub struct SessionModels(pub Arc<dyn ModelTables>);

/// The models of a session.
pub(crate) fn models_of(session: &Session) -> Result<&dyn ModelTables> {
    let models = session.extension::<SessionModels>().map(|models| models.0.as_ref());
    models.ok_or_else(|| Error::unsupported("tables of data models in a session that was made without them"))
}

/// The request by the rule for names: a table of a model comes before the object at the path, but for values as stored, which
/// objects have. The first file decides for all.
///
/// # Errors
/// As [`ModelTables::owner`].
pub(crate) fn named<'a>(files: &[File], request: &'a ScanRequest) -> Result<Cow<'a, ScanRequest>> {
    let name = request.path.trim_matches('/');
    let Some(file) = files.first().filter(|_| request.naming == Naming::Any && request.layout.is_none() && !name.is_empty()) else {
        return Ok(Cow::Borrowed(request));
    };
    if !request.decode && file.exists(&request.path).unwrap_or(false) {
        return Ok(Cow::Borrowed(request));
    }
    let Some(models) = file.session().extension::<SessionModels>() else { return Ok(Cow::Borrowed(request)) };
    let owner = models.0.owner(file, name).map_err(|error| error.in_file(file.name()))?;
    Ok(owner.map_or(Cow::Borrowed(request), |model| Cow::Owned(ScanRequest { path: name.to_owned(), naming: Naming::Model(model), ..request.clone() })))
}

/// The table of a dataset with the coordinates that only a model knows of, if the request leaves it to us what a table is.
///
/// # Errors
/// As [`ModelTables::owner`], and those of arrays that cannot be columns.
pub(crate) fn dataset_table(file: &File, found: &Found, path: &str, request: &ScanRequest) -> Result<Option<Segment>> {
    // Models see the objects of their own file.
    if request.naming != Naming::Any || request.layout.is_some() || !request.decode || found.file.opening() != file.opening() {
        return Ok(None);
    }
    let Some(models) = file.session().extension::<SessionModels>() else { return Ok(None) };
    let definition = models.0.dataset_table(file, found).map_err(|error| error.in_file(file.name()))?;
    let segment = definition.map(|definition| definition.open(file, request.decode)).transpose()?;
    Ok(segment.map(|segment| Segment { path: path.to_owned(), ..segment }))
}

/// Names of tables that an error lists.
const MAX_LISTED: usize = 5;

/// The error for a name that is neither a table nor a path, with the tables that there are.
pub(crate) fn with_tables(error: Error, file: &File, request: &ScanRequest) -> Error {
    let models = file.session().extension::<SessionModels>().filter(|_| error.kind() == ErrorKind::NotFound && request.naming == Naming::Any);
    let Some(tables) = models.and_then(|models| models.0.names(file).ok()).filter(|tables| !tables.is_empty()) else { return error };
    let more = if tables.len() > MAX_LISTED { ", …" } else { "" };
    let listed = tables.iter().take(MAX_LISTED).map(|name| shown(name)).collect::<Vec<_>>().join(", ");
    error.with_note(&format!("tables of its data models: {listed}{more}"))
}
