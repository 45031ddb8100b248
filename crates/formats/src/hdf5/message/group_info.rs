//! Group info message (IV.A.2.k): what a new group should be like. We read nothing of it, but a new group has one.

use crate::hdf5::Encoder;

/// A message that stores no estimates.
pub(crate) fn encode() -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.bytes(&[0, 0]);
    encoder.finish()
}
