//! Datasets: dataspace and values.

use std::sync::{Arc, Mutex};

use super::datatype::StoredDatatype;
use crate::elements::dataspace::Dataspace;
use crate::elements::datatype::Datatype;
use crate::error::{Result, error};
use crate::files::Folder;
use crate::lock;
use crate::ranks::Ranks;
use crate::table::Table;

/// Values that lie in a file that is no container, such as a column of a Parquet file.
pub trait TableSource: std::fmt::Debug + Send + Sync {
    /// The values; `kind` is what an element is to the storage.
    fn table(&self, datatype: &Datatype) -> Result<Table>;
}

/// A dataset's extent and values.
#[derive(Debug)]
pub struct Extent {
    /// Its dataspace.
    pub space: Dataspace,
    /// Loaded when first asked for.
    pub table: Option<Table>,
    /// The file that holds the values as last published.
    pub file: Option<String>,
    /// Where the values of a file that is no container come from.
    pub source: Option<Box<dyn TableSource>>,
}

/// A dataset, shared by those that have it open.
#[derive(Debug)]
pub struct Dataset {
    /// The datatype of its elements.
    pub datatype: StoredDatatype,
    /// Dataspace and values.
    pub extent: Mutex<Extent>,
}

impl Dataset {
    /// Calls `work` on the values; `fill` says what one element holds that was never written.
    pub fn with_table<T>(&self, folder: &Folder, ranks: Option<&Arc<Ranks>>, fill: impl FnOnce() -> Result<Vec<u8>>, work: impl FnOnce(&mut Table, &Dataspace) -> Result<T>) -> Result<T> {
        let mut extent = lock(&self.extent);
        let Extent { space, table, file, source } = &mut *extent;
        if table.is_none() {
            *table = Some(match (source, file) {
                (Some(source), _) => source.table(&self.datatype.decoded)?,
                (None, Some(name)) => Table::open(&self.datatype.decoded, space, folder, name, fill()?)?,
                (None, None) => Table::create(&self.datatype.decoded, space, folder, ranks, fill()?)?,
            });
            table.iter_mut().for_each(|table| table.share(ranks));
        }
        work(table.as_mut().ok_or_else(|| error!("no values"))?, space)
    }
}
