//! Catalog: a manifest with a hash map of its datasets, so that finding one does not take longer with more datasets.

use std::collections::HashMap;

use super::manifest::{IndexedDataset, IndexedFile, Manifest};
use super::stamp::Stamp;

/// A manifest, and the index of each dataset in it.
pub(crate) struct Catalog {
    manifest: Manifest,
    /// By file name, then by dataset path: the indexes of a file and of one of its columns, in the order of the manifest.
    positions: HashMap<String, HashMap<String, Vec<(usize, usize)>>>,
    /// By the path of each of their datasets: the composite indexes, of files with whatever name.
    composites: HashMap<String, Vec<(usize, usize)>>,
}

impl Catalog {
    /// The catalog of a manifest.
    pub fn new(manifest: Manifest) -> Self {
        let mut positions: HashMap<String, HashMap<String, Vec<(usize, usize)>>> = HashMap::new();
        let mut composites: HashMap<String, Vec<(usize, usize)>> = HashMap::new();
        for (index, file) in manifest.files.iter().enumerate() {
            let of_file = positions.entry(file.name.clone()).or_default();
            for (column, indexed) in file.columns.iter().enumerate() {
                of_file.entry(indexed.path.clone()).or_default().push((index, column));
                if !indexed.others.is_empty() {
                    let mut paths: Vec<&str> = indexed.places().map(|(path, _)| path).collect();
                    paths.sort_unstable();
                    paths.dedup();
                    paths.into_iter().for_each(|path| composites.entry(path.to_owned()).or_default().push((index, column)));
                }
            }
        }
        Self { manifest, positions, composites }
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The indexes of a dataset that were built for a file called `name`, each with its file.
    pub fn columns<'a>(&'a self, name: &str, path: &str, identity: &str) -> impl Iterator<Item = (&'a IndexedFile, &'a IndexedDataset)> + use<'a> {
        let identity = identity.to_owned();
        let positions = self.positions.get(name).and_then(|of_file| of_file.get(path)).into_iter().flatten();
        positions.filter_map(move |(file, column)| {
            let file = self.manifest.files.get(*file)?;
            Some((file, file.columns.get(*column).filter(|column| column.identity == identity)?))
        })
    }

    /// As `columns`, for files with other names.
    pub fn columns_of_others<'a>(&'a self, name: &str, path: &str, identity: &str) -> Vec<(&'a IndexedFile, &'a IndexedDataset)> {
        let others = self.positions.keys().filter(|other| *other != name);
        others.flat_map(|other| self.columns(other, path, identity)).collect()
    }

    /// Whether there are composite indexes.
    pub fn has_composites(&self) -> bool {
        !self.composites.is_empty()
    }

    /// The composite indexes that have a dataset with this path, of files with whatever name.
    pub fn composites_of<'a>(&'a self, path: &str) -> impl Iterator<Item = &'a IndexedDataset> + use<'a> {
        let positions = self.composites.get(path).into_iter().flatten();
        positions.filter_map(|(file, column)| self.manifest.files.get(*file)?.columns.get(*column))
    }

    /// The first index of a dataset, and the stamp of the file that it was built for.
    pub fn dataset(&self, name: &str, path: &str, identity: &str) -> Option<(Stamp, &IndexedDataset)> {
        self.columns(name, path, identity).next().map(|(file, column)| (file.stamp, column))
    }
}
