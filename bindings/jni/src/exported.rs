//! Exported: structures of the Arrow C Data interface that Java reads by address. Each is released exactly once.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow_array::ffi::FFI_ArrowArray;
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_schema::Schema;
use arrow_schema::ffi::FFI_ArrowSchema;
use hyperslab::{Error, Result};

/// The structure at an address. It is boxed so that its address is stable.
enum Structure {
    Array(#[expect(dead_code, reason = "kept for Java, which reads it by address")] Box<FFI_ArrowArray>),
    Schema(#[expect(dead_code, reason = "kept for Java, which reads it by address")] Box<FFI_ArrowSchema>),
}

static STRUCTURES: Mutex<Option<HashMap<usize, Structure>>> = Mutex::new(None);

fn structures() -> MutexGuard<'static, Option<HashMap<usize, Structure>>> {
    STRUCTURES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn keep(address: usize, structure: Structure) -> Result<i64> {
    structures().get_or_insert_default().insert(address, structure);
    i64::try_from(address).map_err(|_| Error::internal("an address does not fit a Java long"))
}

/// Exports a batch as a struct array and returns its address.
pub(crate) fn export_batch(batch: RecordBatch) -> Result<i64> {
    let array = Box::new(FFI_ArrowArray::new(&StructArray::from(batch).to_data()));
    keep(std::ptr::from_ref(array.as_ref()).addr(), Structure::Array(array))
}

/// Exports a schema and returns its address.
pub(crate) fn export_schema(schema: &Schema) -> Result<i64> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(|e| Error::internal(format!("cannot export the schema: {e}")))?;
    let schema = Box::new(schema);
    keep(std::ptr::from_ref(schema.as_ref()).addr(), Structure::Schema(schema))
}

/// Frees the structure at `address`; `InvalidInput` if there is none, for example because it was released before.
pub(crate) fn release(address: i64) -> Result<()> {
    let found = usize::try_from(address).ok().and_then(|address| structures().as_mut()?.remove(&address));
    match found {
        Some(_) => Ok(()),
        None => Err(Error::invalid_input(format!("no structure is exported at address {address}; it may have been released before"))),
    }
}

/// The number of structures that are not released yet.
pub(crate) fn live() -> usize {
    structures().as_ref().map_or(0, HashMap::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_structure_is_released_once() -> Result<()> {
        let before = live();
        let address = export_schema(&Schema::empty())?;
        assert_eq!(live(), before + 1);
        release(address)?;
        assert_eq!(live(), before);
        assert!(release(address).is_err());
        Ok(())
    }
}
