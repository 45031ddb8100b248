//! Registry: filters that this crate does not know, decoded by registered functions, as HDF5's
//! `H5Zregister` does it. One for the process.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use hyperslab_array::{Error, Result};

/// Undoes a filter. Many threads call it at once.
pub trait Decoder: Send + Sync {
    /// The bytes as they were before the filter was applied. `parameters` are its client data. More than `max_bytes` bytes
    /// are refused.
    ///
    /// # Errors
    /// The kind that fits: `Corrupt` for bytes that no encoder writes.
    fn decode(&self, parameters: &[u32], input: &[u8], max_bytes: usize) -> Result<Vec<u8>>;
}

static DECODERS: RwLock<Option<HashMap<u16, Arc<dyn Decoder>>>> = RwLock::new(None);

/// Registers the decoder of a filter, for files that are opened from now on; a second one takes the place
/// of the first.
///
/// # Errors
/// `InvalidInput` for a filter that this crate decodes itself.
pub fn register(id: u16, decoder: Arc<dyn Decoder>) -> Result<()> {
    if super::known::is_built_in(id) {
        return Err(Error::invalid_input(format!("filter {id} is decoded already")));
    }
    DECODERS.write().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().insert(id, decoder);
    Ok(())
}

/// Takes a registered decoder back; whether there was one.
pub fn unregister(id: u16) -> bool {
    let mut decoders = DECODERS.write().unwrap_or_else(PoisonError::into_inner);
    decoders.as_mut().is_some_and(|decoders| decoders.remove(&id).is_some())
}

pub(super) fn find(id: u16) -> Option<Arc<dyn Decoder>> {
    DECODERS.read().unwrap_or_else(PoisonError::into_inner).as_ref()?.get(&id).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{Filter, Pipeline};

    struct Reverse;
    impl Decoder for Reverse {
        fn decode(&self, parameters: &[u32], input: &[u8], _most: usize) -> Result<Vec<u8>> {
            let repeat = parameters.first().map_or(1, |n| *n as usize);
            Ok(input.iter().rev().copied().collect::<Vec<u8>>().repeat(repeat))
        }
    }

    #[test]
    fn a_registered_decoder_is_used_until_it_is_taken_back() {
        let pipeline = |repeat| Pipeline { filters: vec![Filter { id: 60_123, name: None, optional: false, parameters: vec![repeat] }] };
        assert!(pipeline(1).refusal().is_some());
        assert!(register(60_123, Arc::new(Reverse)).is_ok());
        assert!(pipeline(1).refusal().is_none());
        let mut out = Vec::new();
        assert!(pipeline(1).decode(&[1, 2, 3], 0, 3, &mut out).is_ok());
        assert_eq!(out, [3, 2, 1]);
        assert!(pipeline(1000).decode(&[1, 2, 3], 0, 3, &mut out).is_err(), "more than a chunk holds");
        assert!(register(1, Arc::new(Reverse)).is_err(), "deflate is ours");
        assert!(unregister(60_123) && !unregister(60_123));
        assert!(pipeline(1).refusal().is_some());
    }
}
