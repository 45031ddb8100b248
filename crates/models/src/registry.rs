//! All models. A new model is a folder of this crate and a line here.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use hyperslab_array::suggest::suggestion;
use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_formats::Attributes;
use hyperslab_reader::{File, ForkMutex, Found};
use hyperslab_scan::{ModelTables, SegmentDefinition, SessionModels};

use crate::anndata::AnnData;
use crate::cf::Cf;
use crate::chombo::Chombo;
use crate::flash::Flash;
use crate::h5block::H5Block;
use crate::h5part::H5Part;
use crate::jld2::Jld2;
use crate::keras::Keras;
use crate::loom::Loom;
use crate::matlab::Matlab;
use crate::model::{Certainty, Model, Recognition};
use crate::mpas::Mpas;
use crate::nexus::Nexus;
use crate::nwb::Nwb;
use crate::openpmd::OpenPmd;
use crate::photon::Photon;
use crate::pytables::PyTables;
use crate::ugrid::Ugrid;
use crate::vtkhdf::VtkHdf;

/// The models, in the order in which equally sure ones are listed: those that are built on others come first.
const MODELS: [&dyn Model; 18] =
    [&H5Part, &H5Block, &Chombo, &VtkHdf, &Flash, &AnnData, &Loom, &Matlab, &Jld2, &Nexus, &Nwb, &Keras, &Photon, &PyTables, &Ugrid, &Mpas, &OpenPmd, &Cf];

/// The models that recognize a file, the surest first.
///
/// # Errors
/// `Io`, `Corrupt` or `LimitExceeded` if the file's root cannot be read.
pub fn recognize(file: &File) -> Result<Vec<Recognition>> {
    let found = MODELS.iter().map(|model| model.recognize(file)).collect::<Result<Vec<_>>>()?;
    let mut found: Vec<Recognition> = found.into_iter().flatten().collect();
    found.sort_by_key(|recognition| std::cmp::Reverse(recognition.certainty));
    Ok(found)
}

/// The model called `name`.
///
/// # Errors
/// `InvalidInput` for an unknown model.
pub fn find(name: &str) -> Result<&'static dyn Model> {
    let unknown = || {
        let names = MODELS.map(Model::name);
        Error::invalid_input(format!("there is no data model {name:?}{}", suggestion(name, names.into_iter(), names.len())))
    };
    MODELS.into_iter().find(|model| model.name() == name).ok_or_else(unknown)
}

/// The model called `name`, for a file that is one of its files.
///
/// # Errors
/// `InvalidInput` for an unknown model, and for a file that is not recognized as this model.
pub fn required(file: &File, name: &str) -> Result<&'static dyn Model> {
    let model = find(name)?;
    if model.recognize(file)?.is_none() {
        let others: Vec<&str> = recognize(file)?.iter().map(|found| found.model).collect();
        let found = if others.is_empty() { "no data model is recognized in it".to_owned() } else { format!("it is recognized as {}", others.join(", ")) };
        return Err(Error::invalid_input(format!("this file is not recognized as {name}; {found}")).in_file(file.name()));
    }
    Ok(model)
}

/// The tables of all models, for the sessions of the facade.
pub fn extension() -> SessionModels {
    SessionModels(Arc::new(Tables))
}

struct Tables;

/// Definitions that were made of an opened file, by model and table. Every plan needs them.
#[derive(Default)]
struct Made(ForkMutex<HashMap<(String, String), Vec<SegmentDefinition>>>);

impl ModelTables for Tables {
    fn segments(&self, file: &File, model: &str, table: &str) -> Result<Vec<SegmentDefinition>> {
        let (made, key) = (file.kept::<Made>(), (model.to_owned(), table.to_owned()));
        if let Some(known) = made.0.lock().and_then(|made| made.get(&key).cloned()) {
            return Ok(known);
        }
        let segments = define(file, model, table)?;
        if let Some(mut made) = made.0.lock() {
            made.insert(key, segments.clone());
        }
        Ok(segments)
    }

    fn owner(&self, file: &File, table: &str) -> Result<Option<String>> {
        Ok(known(file)?.tables.get(table).map(|model| (*model).to_owned()))
    }

    fn names(&self, file: &File) -> Result<Vec<String>> {
        Ok(known(file)?.tables.keys().cloned().collect())
    }

    fn dataset_table(&self, file: &File, dataset: &Found) -> Result<Option<SegmentDefinition>> {
        let path = dataset.path()?;
        if !dataset_is_described(file, dataset, &path) {
            return Ok(None);
        }
        for model in &known(file)?.models {
            if let Some(table) = unless_contradicted(model.dataset_table(file, &path))?.flatten() {
                return Ok(Some(table));
            }
        }
        Ok(None)
    }
}

/// Whether an attribute of a dataset, its group or the file says that a model may know more coordinates of it than its dimensions.
/// Looked at before models are, which read much more.
fn dataset_is_described(file: &File, dataset: &Found, path: &str) -> bool {
    let has = |attributes: &Attributes, names: &[&str]| names.iter().any(|name| attributes.get(name).is_some());
    let of_group = |path: &str| file.find(path).and_then(|group| file.attributes(group.object)).unwrap_or_default();
    let own = dataset.file.attributes(dataset.object).unwrap_or_default();
    let above = path.rsplit_once('/').map_or("/", |(above, _)| if above.is_empty() { "/" } else { above });
    has(&own, &["coordinates", "signal"])
        || has(&of_group(above), &["signal", "coordinates"])
        || has(&of_group("/"), &["coordinates", "featureType", "CF:featureType"])
}

/// The models that a file is certainly or likely of, the surest first, and which of them has each table.
struct Known {
    models: Vec<&'static dyn Model>,
    tables: BTreeMap<String, &'static str>,
}

/// What is known of an opened file.
#[derive(Default)]
struct Kept(ForkMutex<Option<Arc<Known>>>);

/// The models of a file and their tables; if two have a table of the same name, the surer one's. A model that the file contradicts has
/// no tables here: the objects can be read by their paths, and asking for the model raises the error.
fn known(file: &File) -> Result<Arc<Known>> {
    let kept = file.kept::<Kept>();
    if let Some(known) = kept.0.lock().and_then(|known| known.clone()) {
        return Ok(known);
    }
    let models: Vec<&'static dyn Model> = recognized(file)?.into_iter().map(|(_, model)| model).collect();
    let mut tables = BTreeMap::new();
    for model in &models {
        for table in unless_contradicted(model.tables(file))?.unwrap_or_default() {
            tables.entry(table).or_insert(model.name());
        }
    }
    let known = Arc::new(Known { models, tables });
    if let Some(mut kept) = kept.0.lock() {
        *kept = Some(known.clone());
    }
    Ok(known)
}

/// The models that a file is certainly or likely of, the surest first.
fn recognized(file: &File) -> Result<Vec<(Certainty, &'static dyn Model)>> {
    let mut recognized = Vec::new();
    for model in MODELS {
        if let Some(found) = unless_contradicted(model.recognize(file))?.flatten().filter(|found| found.certainty > Certainty::Possible) {
            recognized.push((found.certainty, model));
        }
    }
    recognized.sort_by_key(|(certainty, _)| std::cmp::Reverse(*certainty));
    Ok(recognized)
}

/// What a model says of a file; `None` if the file contradicts it.
///
/// # Errors
/// Those that say nothing about the file's content.
fn unless_contradicted<T>(answer: Result<T>) -> Result<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::InvalidInput | ErrorKind::NotFound | ErrorKind::Unsupported) => Ok(None),
        Err(error) => Err(error),
    }
}

fn define(file: &File, model: &str, table: &str) -> Result<Vec<SegmentDefinition>> {
    let model = required(file, model)?;
    let segments = model.table(file, table).or_else(|error| match (error.kind(), table.strip_prefix('/')) {
        // Tables that are named by paths are found with the slash of the path, too.
        (ErrorKind::NotFound, Some(relative)) if !relative.is_empty() => model.table(file, relative).map_err(|_| error),
        _ => Err(error),
    })?;
    if segments.is_empty() {
        return Err(Error::internal(format!("the table {table} of {} without segments", model.name())));
    }
    Ok(segments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_found_by_their_names() -> Result<()> {
        for model in MODELS {
            assert_eq!(find(model.name())?.name(), model.name());
        }
        let unknown = find("h5prat").err();
        assert!(unknown.is_some_and(|error| error.message().contains("nearest: h5part")));
        assert!(Certainty::Possible < Certainty::Likely && Certainty::Likely < Certainty::Certain);
        Ok(())
    }
}
