//! The values of one dataset of a plain file. If the file stores them as HDF5 does, they are read in place; otherwise they
//! are decoded at the first access.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};

use super::form::Form;
use super::normal::normal;
use super::source::Source;
use crate::elements::arrow_arrays::from_arrow;
use crate::elements::blob::Arena;
use crate::elements::datatype::{Datatype, Leaf, columns};
use crate::error::{Error, Result, error};
use crate::files::regular::open_named;
use crate::model::TableSource;
use crate::table::{LoadedLeaf, Table};

/// The columns that make up a dataset.
#[derive(Debug, Clone)]
pub(super) struct Values {
    pub(super) source: Arc<Source>,
    /// Index and form of each column.
    pub(super) columns: Vec<(usize, Form)>,
    /// Whether each column is a member of a compound; otherwise the one column has the elements.
    pub(super) is_table: bool,
    /// Elements per row.
    pub(super) inner: u64,
}

impl TableSource for Values {
    fn table(&self, datatype: &Datatype) -> Result<Table> {
        let named = |failure: Error| failure.in_context(self.source.path.display());
        self.load(datatype).map_err(named)
    }
}

impl Values {
    fn load(&self, datatype: &Datatype) -> Result<Table> {
        let count = self.source.rows.checked_mul(self.inner).ok_or_else(|| error!("the number of elements exceeds 64 bits"))?;
        let parts = columns(datatype);
        let mut leaves: Vec<LoadedLeaf> = Vec::new();
        let mut arenas = Vec::new();
        if self.is_table {
            if parts.len() != self.columns.len() {
                return Err(error!("{} members, but the table has {} columns", parts.len(), self.columns.len()));
            }
            for (part, (column, form)) in parts.iter().zip(&self.columns) {
                let own: Vec<Leaf> = part.leaves.iter().map(|leaf| Leaf { offset: leaf.offset - part.offset, ..leaf.clone() }).collect();
                leaves.extend(self.column(*column, form, &part.datatype, (&own, part.direct), count, &mut arenas)?);
            }
        } else if let [(column, form)] = &self.columns[..] {
            let own: Vec<Leaf> = parts.iter().flat_map(|part| part.leaves.clone()).collect();
            leaves = self.column(*column, form, datatype, (&own, parts.iter().all(|part| part.direct)), count, &mut arenas)?;
        }
        let file = if leaves.iter().any(|leaf| matches!(leaf, LoadedLeaf::InFile(_))) { Some(open_named(&self.source.path)?) } else { None };
        Table::loaded(datatype, count, leaves, file, arenas)
    }

    /// The values of one column's leaves. `direct`: each leaf is an Arrow buffer.
    fn column(
        &self,
        column: usize,
        form: &Form,
        datatype: &Datatype,
        (own, direct): (&[Leaf], bool),
        count: u64,
        arenas: &mut Vec<Arc<Arena>>,
    ) -> Result<Vec<LoadedLeaf>> {
        let places = self.source.places(column).filter(|places| direct && places.iter().all(|(_, buffers)| buffers.len() == own.len()));
        if let Some(places) = places {
            let mut leaves: Vec<Vec<(u64, u64)>> = vec![Vec::new(); own.len()];
            for (rows, buffers) in places {
                let elements = rows.saturating_mul(self.inner);
                for ((leaf, place), (offset, bytes)) in leaves.iter_mut().zip(own).zip(buffers) {
                    if elements.checked_mul(place.bytes as u64).is_none_or(|needed| needed > bytes) {
                        return Err(error!("column {} is truncated", self.source.schema.field(column).name()));
                    }
                    leaf.push((elements, offset));
                }
            }
            return Ok(leaves.into_iter().map(LoadedLeaf::InFile).collect());
        }
        let mut records = Vec::new();
        self.source.each(&[column], |batch| {
            let array = normal(form, batch.column(0))
                .map_err(|failure| error!("column {}: {}", self.source.schema.field(column).name(), failure.message).with_source(failure))?;
            // If each row is a list, its elements are the values.
            let mut array: ArrayRef = array;
            let mut length = batch.num_rows() as u64;
            while !self.is_table && length < batch.num_rows() as u64 * self.inner {
                let Some(list) = array.as_fixed_size_list_opt() else { break };
                array = Arc::clone(list.values());
                length = array.len() as u64;
            }
            records.extend(from_arrow(datatype, &array, arenas)?);
            Ok(())
        })?;
        LoadedLeaf::of_records(datatype.bytes(), own, &records, count)
    }
}
