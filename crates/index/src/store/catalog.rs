//! Catalog: a manifest whose datasets are found by their names, however many there are.

use std::collections::HashMap;

use super::manifest::{IndexedDataset, IndexedFile, Manifest};
use crate::freshness::source::Stamp;

/// A manifest, and where in it the datasets are.
pub(crate) struct Catalog {
    manifest: Manifest,
    /// By file name, then by path: numbers of a file and of a column of it, in the order of the manifest.
    places: HashMap<String, HashMap<String, Vec<(usize, usize)>>>,
}

impl Catalog {
    /// The catalog of a manifest.
    pub fn new(manifest: Manifest) -> Self {
        let mut places: HashMap<String, HashMap<String, Vec<(usize, usize)>>> = HashMap::new();
        for (number, file) in manifest.files.iter().enumerate() {
            let of_file = places.entry(file.name.clone()).or_default();
            for (column, indexed) in file.columns.iter().enumerate() {
                of_file.entry(indexed.path.clone()).or_default().push((number, column));
            }
        }
        Self { manifest, places }
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The indexes of a dataset that were built for a file called `name`, with the files that they are of.
    pub fn columns<'a>(&'a self, name: &str, path: &str, identity: &str) -> impl Iterator<Item = (&'a IndexedFile, &'a IndexedDataset)> + use<'a> {
        let identity = identity.to_owned();
        let places = self.places.get(name).and_then(|of_file| of_file.get(path)).into_iter().flatten();
        places.filter_map(move |(file, column)| {
            let file = self.manifest.files.get(*file)?;
            Some((file, file.columns.get(*column).filter(|column| column.identity == identity)?))
        })
    }

    /// As `columns`, built for files that are called otherwise.
    pub fn columns_of_others<'a>(&'a self, name: &str, path: &str, identity: &str) -> Vec<(&'a IndexedFile, &'a IndexedDataset)> {
        let others = self.places.keys().filter(|other| *other != name);
        others.flat_map(|other| self.columns(other, path, identity)).collect()
    }

    /// The index of a dataset, and the stamp of the file that it was built for.
    pub fn dataset(&self, name: &str, path: &str, identity: &str) -> Option<(Stamp, &IndexedDataset)> {
        self.columns(name, path, identity).next().map(|(file, column)| (file.stamp, column))
    }
}
