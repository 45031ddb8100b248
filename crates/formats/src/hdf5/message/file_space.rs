//! File space info message (IV.A.2.x): how a program that changes the file allocates space in it.

use crate::hdf5::Encoder;

/// A file of pages, whose free space is not kept from one program to the next.
pub(crate) fn encode_pages(page_bytes: u64) -> Vec<u8> {
    /// The version, the strategy PAGE, and that free space does not persist.
    const HEAD: [u8; 3] = [1, 1, 0];
    /// Bytes of free space that are worth tracking.
    const THRESHOLD: u64 = 1;
    let mut encoder = Encoder::default();
    encoder.bytes(&HEAD);
    encoder.u64(THRESHOLD);
    encoder.u64(page_bytes);
    // Bytes at the end of a page that are not worth tracking.
    encoder.u16(0);
    // Where the file ended before free space was written.
    encoder.address(None);
    encoder.finish()
}
