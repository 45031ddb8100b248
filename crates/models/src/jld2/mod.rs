//! JLD2: the format in which Julia programs save their values.
//!
//! Arrays of numbers are datasets, with their dimensions in the opposite order. All else has a committed datatype in `/_types` that
//! says which type of Julia it is, and is spread over datasets without names, to which references lead. These values are read by
//! the package (`hyperslab.models.jld2`); here the arrays are named.

use hyperslab_array::{Datatype, Result};
use hyperslab_formats::{Dataset, Object};
use hyperslab_reader::File;
use hyperslab_scan::{Omitted, SegmentDefinition};

use crate::look::no_table;
use crate::model::{Certainty, Model, NamedArray, Problem, Recognition};

/// The model.
pub(crate) struct Jld2;

/// How the header in the user block begins: since version 0.1.1 of the format, and before.
const HEADERS: [&[u8]; 2] = [b"HDF5-based Julia Data Format, version ", b"Julia data file (HDF5), version 0.2"];
/// Bytes of the longest of them.
const MAX_HEADER_BYTES: usize = 38;
/// The group of committed datatypes.
const TYPES: &str = "/_types";

/// Why a dataset is no array of numbers; `None` if it is one.
fn reason(dataset: &Dataset) -> Option<String> {
    let what = match &dataset.datatype {
        _ if dataset.dataspace.ndim() == 0 => "is a single value",
        Datatype::Integer { .. } | Datatype::Float { .. } | Datatype::Bitfield { .. } => return None,
        Datatype::Compound { .. } => "is an array of structs",
        _ => "is an array of values that are not numbers",
    };
    Some(format!("{what}: read it with hyperslab.models.jld2"))
}

impl Model for Jld2 {
    fn name(&self) -> &'static str {
        "jld2"
    }

    fn recognize(&self, file: &File) -> Result<Option<Recognition>> {
        let array_file = file.array_file();
        let mut begin = [0; MAX_HEADER_BYTES];
        // A shorter file is not one of JLD2.
        let has_header = array_file.user_block_bytes() >= 512
            && array_file.storage().read_exact_at(0, &mut begin).is_ok()
            && HEADERS.iter().any(|header| begin.starts_with(header));
        Ok(has_header.then(|| Recognition::new(self.name(), Certainty::Certain, "the header says that it is a Julia data file")))
    }

    fn tables(&self, _file: &File) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn table(&self, _file: &File, name: &str) -> Result<Vec<SegmentDefinition>> {
        Err(no_table(self.name(), name, &[]))
    }

    fn arrays(&self, file: &File) -> Result<Vec<NamedArray>> {
        let arrays = datasets(file)?.into_iter().filter(|(_, dataset)| reason(dataset).is_none());
        let named = |(path, dataset): (String, std::sync::Arc<Dataset>)| {
            let shape = dataset.dataspace.shape().to_vec();
            NamedArray { name: path.trim_start_matches('/').to_owned(), step: None, path, shape }
        };
        Ok(arrays.map(named).collect())
    }

    fn validate(&self, file: &File) -> Result<Vec<Problem>> {
        Ok(file.walk().filter_map(|walked| Some(Problem::new(walked.path, walked.object.err()?.message()))).collect())
    }

    fn omitted(&self, file: &File) -> Result<Vec<Omitted>> {
        Ok(datasets(file)?.into_iter().filter_map(|(path, dataset)| Some(Omitted::new(path, reason(&dataset)?))).collect())
    }
}

/// The datasets that have names, which are variables.
fn datasets(file: &File) -> Result<Vec<(String, std::sync::Arc<Dataset>)>> {
    let mut found = Vec::new();
    for walked in file.walk() {
        if walked.path == TYPES || walked.path.starts_with("/_types/") {
            continue;
        }
        if let Object::Dataset(dataset) = walked.object? {
            found.push((walked.path, dataset));
        }
    }
    Ok(found)
}
