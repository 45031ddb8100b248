//! Datasets.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use super::datatype::StoredDatatype;
use crate::elements::dataspace::Dataspace;
use crate::elements::datatype::Datatype;
use crate::error::{Result, error};
use crate::files::Folder;
use crate::lock;
use crate::ranks::Ranks;
use crate::table::Table;

/// Values in a file that is not a container, such as a column of a Parquet file.
pub trait TableSource: std::fmt::Debug + Send + Sync {
    /// Loads the values, whose elements have this datatype.
    ///
    /// # Errors
    /// If the file is gone or damaged, or its values do not fit the datatype.
    fn table(&self, datatype: &Datatype) -> Result<Table>;
}

/// The dataspace and the values of a dataset.
#[derive(Debug)]
#[non_exhaustive]
pub struct Extent {
    /// Its dataspace.
    pub space: Dataspace,
    /// The values, loaded at the first access.
    pub table: Option<Table>,
    /// The name of the file with the values as last published.
    pub file: Option<String>,
    /// Source of the values in a file that is not a container.
    pub source: Option<Box<dyn TableSource>>,
}

/// A dataset.
#[derive(Debug)]
#[non_exhaustive]
pub struct Dataset {
    /// The datatype of its elements.
    pub datatype: StoredDatatype,
    /// Dataspace and values.
    pub extent: Mutex<Extent>,
    /// Whether a program has written elements, as far as is known: a dataset that was loaded from a container counts as written.
    pub written: AtomicBool,
}

impl Dataset {
    /// A new dataset, whose values are in `table`.
    pub fn new(datatype: StoredDatatype, space: Dataspace, table: Table) -> Self {
        Self { datatype, extent: Mutex::new(Extent { space, table: Some(table), file: None, source: None }), written: AtomicBool::new(false) }
    }

    /// Loads the values if necessary and calls `work` on them. `fill` returns the fill value: one element in file form, or
    /// nothing for zeros.
    ///
    /// # Errors
    /// If the values cannot be loaded, or `work` fails.
    pub fn with_table<T>(
        &self,
        folder: &Folder,
        ranks: Option<&Arc<Ranks>>,
        fill: impl FnOnce() -> Result<Vec<u8>>,
        work: impl FnOnce(&mut Table, &Dataspace) -> Result<T>,
    ) -> Result<T> {
        self.with_loaded(folder, ranks, true, fill, work)
    }

    /// As [`Dataset::with_table`], to read and write values: `fill` is called only if the dataset has none yet. The shape of the table
    /// cannot be changed if it does not [know its fill value](Table::knows_fill).
    ///
    /// # Errors
    /// As for [`Dataset::with_table`].
    pub fn with_values<T>(
        &self,
        folder: &Folder,
        ranks: Option<&Arc<Ranks>>,
        fill: impl FnOnce() -> Result<Vec<u8>>,
        work: impl FnOnce(&mut Table, &Dataspace) -> Result<T>,
    ) -> Result<T> {
        self.with_loaded(folder, ranks, false, fill, work)
    }

    fn with_loaded<T>(
        &self,
        folder: &Folder,
        ranks: Option<&Arc<Ranks>>,
        needs_fill: bool,
        fill: impl FnOnce() -> Result<Vec<u8>>,
        work: impl FnOnce(&mut Table, &Dataspace) -> Result<T>,
    ) -> Result<T> {
        let mut extent = lock(&self.extent);
        let Extent { space, table, file, source } = &mut *extent;
        match table {
            None => {
                let mut opened = match (source, file) {
                    (Some(source), _) => source.table(&self.datatype.decoded)?,
                    (None, Some(name)) => Table::open(&self.datatype.decoded, space, folder, name, if needs_fill { Some(fill()?) } else { None })?,
                    (None, None) => Table::create(&self.datatype.decoded, space, folder, ranks, fill()?)?,
                };
                opened.share(ranks);
                *table = Some(opened);
            }
            Some(table) if needs_fill && !table.knows_fill() => table.set_fill(fill()?),
            Some(_) => {}
        }
        work(table.as_mut().ok_or_else(|| error!("the dataset has no values"))?, space)
    }
}
