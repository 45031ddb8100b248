//! What of a dataset's description another file can have as it is.

use hyperslab_array::{Datatype, Error, Result};

use crate::array_file::collect_heap_references;
use crate::object::Dataset;

impl Dataset {
    /// The same dataset without a fill value of its own.
    #[must_use]
    pub fn without_fill_value(&self) -> Self {
        Self { fill_value: None, ..self.clone() }
    }
    /// The fill value for a copy of this dataset in another file. One of variable length refers to the heap of its own file.
    ///
    /// # Errors
    /// `Unsupported` for a fill value of variable length that is not empty.
    pub fn portable_fill_value(&self) -> Result<Option<Vec<u8>>> {
        let Some(fill) = &self.fill_value else { return Ok(None) };
        if !self.datatype.uses_heap() {
            return Ok(Some(fill.clone()));
        }
        let mut references = 0u64;
        collect_heap_references(&self.datatype, fill, &mut |_, _, _| {
            references += 1;
            Ok(())
        })?;
        match (references, &self.datatype) {
            (0, Datatype::VariableString { .. } | Datatype::Sequence { .. }) => Ok(None),
            (0, _) if fill.iter().all(|byte| *byte == 0) => Ok(None),
            _ => Err(Error::unsupported("a fill value of variable length")),
        }
    }
}
