//! The seam to data models: who knows what a file's arrays mean gives tables that are no object's own.

use std::sync::Arc;

use hyperslab_array::{Error, Result};
use hyperslab_reader::{File, Session};

use super::definition::SegmentDefinition;

/// Tables of data models. A session has at most one.
pub trait ModelTables: Send + Sync {
    /// The segments of a model's table in a file, in row order. Reads metadata only.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown model, and for a file that is not recognized as this model; `NotFound` for a table that it does
    /// not have; `Corrupt` for a file that contradicts the model, with the object.
    fn segments(&self, file: &File, model: &str, table: &str) -> Result<Vec<SegmentDefinition>>;
}

/// The models that a session was made with: its [extension](hyperslab_reader::Extensions) for scans.
#[expect(clippy::exhaustive_structs, reason = "made by the crate that implements the trait")]
pub struct SessionModels(pub Arc<dyn ModelTables>);

/// The models of a session.
pub(crate) fn models_of(session: &Session) -> Result<&dyn ModelTables> {
    let models = session.extension::<SessionModels>().map(|models| models.0.as_ref());
    models.ok_or_else(|| Error::unsupported("tables of data models in a session that was made without them"))
}
