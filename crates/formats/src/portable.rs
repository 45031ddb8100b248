//! What of a dataset's description another file can have as it is.

use hyperslab_array::{Datatype, Elements, Error, HeapObjects, HeapReference, Result};

use crate::array_file::collect_heap_references;
use crate::hdf5::writer::{Sequences, each_nested_reference};
use crate::object::Dataset;

impl Dataset {
    /// The same dataset without a fill value of its own.
    #[must_use]
    pub fn without_fill_value(&self) -> Self {
        Self { fill_value: None, ..self.clone() }
    }
    /// The fill value for a copy of this dataset in another file, with the heap objects that it points at, which `heap` reads if there are
    /// any; `None` is zeros.
    ///
    /// # Errors
    /// `Unsupported` for a fill value with references that are not null: they lead to places of this file; those of `heap`.
    pub fn portable_fill_value(&self, heap: impl FnOnce() -> Result<HeapObjects>) -> Result<Option<Elements>> {
        let Some(fill) = &self.fill_value else { return Ok(None) };
        let mut is_empty = fill.iter().all(|byte| *byte == 0);
        let mut objects = HeapObjects::default();
        if self.datatype.uses_heap() {
            let mut points = false;
            collect_heap_references(&self.datatype, fill, &mut |_, _, _| {
                points = true;
                Ok(())
            })?;
            if points {
                objects = heap()?;
            }
            // An empty text or sequence may have other bytes.
            is_empty |= !points && matches!(self.datatype, Datatype::VariableString { .. } | Datatype::Sequence { .. });
        }
        if is_empty {
            return Ok(None);
        }
        let mut has_targets = false;
        let mut put = |place: HeapReference, _| Ok(place);
        let mut sequences = Sequences { resolve: &|place| objects.object(place), put: &mut put };
        each_nested_reference(&self.datatype, &mut fill.clone(), &mut sequences, &mut |_, element| {
            has_targets |= element.iter().any(|byte| *byte != 0);
            Ok(())
        })?;
        if has_targets {
            return Err(Error::unsupported("a fill value with references that are not null"));
        }
        Ok(Some(Elements { datatype: self.datatype.clone(), bytes: fill.clone(), heap: objects }))
    }
}
