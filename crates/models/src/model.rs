//! A data model: recognizes its files, and says what is in them.

use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::{Omitted, SegmentDefinition};

/// How sure a model is that a file is one of its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Certainty {
    /// The structure fits, but other files look alike.
    Possible,
    /// The structure is unusual enough that little else has it.
    Likely,
    /// The file says so itself.
    Certain,
}

impl Certainty {
    /// `possible`, `likely` or `certain`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Possible => "possible",
            Self::Likely => "likely",
            Self::Certain => "certain",
        }
    }
}

/// A model that was recognized in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recognition {
    /// The model's name.
    pub model: &'static str,
    /// How sure it is.
    pub certainty: Certainty,
    /// Why, as a sentence without a full stop.
    pub reason: String,
}

impl Recognition {
    pub(crate) fn new(model: &'static str, certainty: Certainty, reason: impl Into<String>) -> Self {
        Self { model, certainty, reason: reason.into() }
    }
}

/// An array that means something in a model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamedArray {
    /// Its name in the model: a field, a component of it, a layer.
    pub name: String,
    /// The step that it belongs to, if the model has steps.
    pub step: Option<i64>,
    /// Path of the dataset.
    pub path: String,
    /// Its shape.
    pub shape: Vec<u64>,
}

/// Something in a file that contradicts its model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Path of the object.
    pub object: String,
    /// What is wrong.
    pub message: String,
}

impl Problem {
    pub(crate) fn new(object: impl Into<String>, message: impl Into<String>) -> Self {
        Self { object: object.into(), message: message.into() }
    }
}

/// A data model. Its methods read metadata, and small arrays that say what other arrays mean.
pub trait Model: Send + Sync {
    /// The name by which requests choose it: `h5part`.
    fn name(&self) -> &'static str;

    /// Whether a file is of this model, and how sure that is; `None` if it is not.
    ///
    /// # Errors
    /// `Io`, `Corrupt` or `LimitExceeded` if the file's root cannot be read.
    fn recognize(&self, file: &File) -> Result<Option<Recognition>>;

    /// The names of the tables in a file, the most important first.
    ///
    /// # Errors
    /// `Corrupt` for a file that contradicts the model, with the object.
    fn tables(&self, file: &File) -> Result<Vec<String>>;

    /// One of these tables: its segments in row order.
    ///
    /// # Errors
    /// `NotFound` for a table that the file does not have; `Corrupt` for a file that contradicts the model, with the object.
    fn table(&self, file: &File, name: &str) -> Result<Vec<SegmentDefinition>>;

    /// The table of one dataset with the coordinates that only the model knows of: curvilinear, of stations, of an instrument. `None` if
    /// its dimensions say it all.
    ///
    /// # Errors
    /// `Corrupt` for a file that contradicts the model, with the object.
    fn dataset_table(&self, _file: &File, _path: &str) -> Result<Option<SegmentDefinition>> {
        Ok(None)
    }

    /// The arrays that mean something in the model.
    ///
    /// # Errors
    /// As of [`Model::tables`].
    fn arrays(&self, file: &File) -> Result<Vec<NamedArray>>;

    /// What contradicts the model, by object. An empty list says that every table can be planned.
    ///
    /// # Errors
    /// `Io` or `LimitExceeded` if the file cannot be read.
    fn validate(&self, file: &File) -> Result<Vec<Problem>>;

    /// Objects that are in none of the tables and arrays, by path, with the reason.
    ///
    /// # Errors
    /// As of [`Model::tables`].
    fn omitted(&self, file: &File) -> Result<Vec<Omitted>>;

    /// What the file says of itself and of its tables beyond columns and arrays, as a JSON object: settings, descriptions, units.
    ///
    /// # Errors
    /// As of [`Model::tables`].
    fn facts(&self, _file: &File) -> Result<String> {
        Ok("{}".to_owned())
    }
}
