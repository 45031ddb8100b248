//! What of a dataset's description another file can have as it is.

use hyperslab_array::{Elements, HeapObjects, Result};

use crate::array_file::collect_heap_references;
use crate::object::Dataset;

impl Dataset {
    /// The same dataset without a fill value of its own.
    #[must_use]
    pub fn without_fill_value(&self) -> Self {
        Self { fill_value: None, is_fill_undefined: false, ..self.clone() }
    }

    /// The fill value for a copy of this dataset in another file, with the heap objects that it points at, which `heap` reads if there are
    /// any; `None` is zeros. References in it are valid in this file.
    ///
    /// # Errors
    /// Those of `heap`.
    pub fn portable_fill_value(&self, heap: impl FnOnce() -> Result<HeapObjects>) -> Result<Option<Elements>> {
        let Some(fill) = &self.fill_value else { return Ok(None) };
        // Zeros that were given are not the same as no fill value: the HDF5 library writes them into storage that it allocates.
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
        }
        Ok(Some(Elements { datatype: self.datatype.clone(), bytes: fill.clone(), heap: objects }))
    }
}
