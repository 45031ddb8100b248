//! Indexed parts: the values that an index describes, of one dataset, or of several datasets for a composite index.

use arrow_array::ArrayRef;
use hyperslab_array::{Cancellation, Error, Region, Result};
use hyperslab_formats::StorageLayout;
use hyperslab_predicate::KeyType;
use hyperslab_reader::File;
use hyperslab_scan::pruner::Level;

use super::column;
use super::fingerprint;
use super::indexed_values::IndexedValues;
use super::type_text::quoted;
use crate::block::block_builder::{Block, Builder};
use crate::block::composite;
use crate::block::hash::hash;
use crate::store::manifest::{IndexedDataset, joined_labels};
use crate::store::places::Version;

/// The values that an index is of.
#[derive(Debug, Clone)]
pub(crate) struct IndexedParts {
    /// Those of the only dataset, or of the first one of a composite index.
    pub first: IndexedValues,
    /// Those of the others of a composite index, in its order.
    pub others: Vec<IndexedValues>,
}

impl IndexedParts {
    /// The values of one dataset.
    pub fn of(first: IndexedValues) -> Self {
        Self { first, others: Vec::new() }
    }

    /// The values of several datasets. `InvalidInput` if there are none.
    pub fn of_all(parts: Vec<IndexedValues>) -> Result<Self> {
        let mut parts = parts.into_iter();
        let first = parts.next().ok_or_else(|| Error::invalid_input("an index of no dataset"))?;
        Ok(Self { first, others: parts.collect() })
    }

    pub fn is_composite(&self) -> bool {
        !self.others.is_empty()
    }

    /// The values of each dataset.
    pub fn iter(&self) -> impl Iterator<Item = &IndexedValues> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The paths of the datasets, with the names of their members: `/x, /y`.
    pub fn label(&self, file: &File) -> Result<String> {
        Ok(joined_labels(self.iter().map(|values| Ok(values.label(&file.path_of(values.dataset)?))).collect::<Result<Vec<String>>>()?))
    }

    /// See [`column::identity`]. That of several is the hash of a text: `composite`, then for each a line with its quoted path and
    /// its own identity.
    pub fn identity(&self, file: &File) -> Result<String> {
        if !self.is_composite() {
            return column::identity(&self.first);
        }
        let mut text = "composite".to_owned();
        for values in self.iter() {
            text.push_str(&format!("\n{} {}", quoted(&file.path_of(values.dataset)?), column::identity(values)?));
        }
        Ok(format!("{:016x}", hash(0, text.as_bytes())))
    }

    /// See [`fingerprint::fingerprint`]. That of several is the hash of all of them, each followed by a line feed.
    pub fn fingerprint(&self, file: &File) -> Result<String> {
        if !self.is_composite() {
            return fingerprint::fingerprint(file, self.first.dataset);
        }
        let all = self.iter().try_fold(0, |all, values| {
            let one = fingerprint::fingerprint(file, values.dataset)?;
            Ok::<u64, Error>(hash(all, format!("{one}\n").as_bytes()))
        })?;
        Ok(format!("{all:016x}"))
    }

    /// See [`fingerprint::chunk_hash`]; for several datasets, the hash of all.
    pub fn chunk_hash(&self, file: &File, around: &Region, cancellation: &Cancellation) -> Result<u64> {
        let first = fingerprint::chunk_hash(file, self.first.dataset, around, cancellation)?;
        self.others.iter().try_fold(first, |all, values| Ok(hash(all, &fingerprint::chunk_hash(file, values.dataset, around, cancellation)?.to_le_bytes())))
    }

    /// Whether the data of all datasets are filtered, so that their stored bytes show every change.
    pub fn is_filtered(&self, file: &File) -> Result<bool> {
        self.all(file, |dataset| !dataset.filters.is_empty())
    }

    /// Whether any dataset is virtual.
    pub fn is_virtual(&self, file: &File) -> Result<bool> {
        Ok(!self.all(file, |dataset| dataset.storage != StorageLayout::Virtual)?)
    }

    fn all(&self, file: &File, holds: impl Fn(&hyperslab_formats::Dataset) -> bool) -> Result<bool> {
        for values in self.iter() {
            if !holds(&*file.dataset(values.dataset)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether all datasets have the shape and the blocks that an index was built for.
    pub fn fits(&self, file: &File, shape: &[u64], grid: &crate::block::block_grid::BlockGrid) -> Result<bool> {
        self.all(file, |dataset| dataset.dataspace.shape() == shape && fingerprint::grid(dataset) == *grid)
    }

    /// See [`fingerprint::source_versions`].
    pub fn source_versions(&self, file: &File) -> Result<Vec<Option<Version>>> {
        let each = self.iter().map(|values| fingerprint::source_versions(file, values.dataset));
        Ok(each.collect::<Result<Vec<_>>>()?.concat())
    }

    /// Size of a value of each dataset together, in bytes.
    pub fn value_bytes(&self) -> u64 {
        self.iter().map(|values| values.column.datatype().size()).sum()
    }

    /// Stored bytes of all datasets; if unknown, the bytes of `elements` elements of each.
    pub fn stored_bytes(&self, file: &File, elements: u64) -> Result<u64> {
        self.iter().try_fold(0u64, |sum, values| {
            let dataset = file.dataset(values.dataset)?;
            Ok(sum.saturating_add(dataset.stored_bytes.unwrap_or_else(|| elements.saturating_mul(dataset.datatype.size()))))
        })
    }

    /// How the keys of each dataset are ordered; `None` for text.
    pub fn key_types(&self) -> Vec<Option<KeyType>> {
        self.iter().map(|values| KeyType::of(values.column.field().data_type())).collect()
    }

    /// Reads the values of a box of each dataset.
    pub fn read(&self, file: &File, block: &Region, shape: &[u64], cancellation: &Cancellation) -> Result<Vec<ArrayRef>> {
        self.iter().map(|values| values.read(file, block, shape, cancellation)).collect()
    }

    /// Builds the index of a block from the values of each dataset.
    pub fn build(&self, builder: &mut Builder, arrays: &[ArrayRef], level: Level) -> Result<Block> {
        match arrays {
            [only] if !self.is_composite() => builder.build(only, level),
            several => composite::build_block(builder, several, level),
        }
    }

    /// The hash of the values of a block, which detects that they have changed.
    pub fn hash_of(&self, builder: &mut Builder, arrays: &[ArrayRef]) -> Result<u64> {
        Ok(self.build(builder, arrays, Level::Zone)?.zone.hash)
    }
}

/// The values of `file` that an index was built for, if they still exist.
pub(crate) fn indexed_parts(file: &File, indexed: &IndexedDataset) -> Option<IndexedParts> {
    let of = |path: &str, member: Option<&str>, raw: bool| {
        let found = file.find(path).ok().filter(|found| found.file == *file)?;
        IndexedValues::new(file, found.object, member, raw).ok()
    };
    [false, true].into_iter().find_map(|raw| {
        let parts = indexed.places().map(|(path, member)| of(path, member, raw)).collect::<Option<Vec<IndexedValues>>>()?;
        let parts = IndexedParts::of_all(parts).ok()?;
        parts.identity(file).is_ok_and(|identity| identity == indexed.identity).then_some(parts)
    })
}
