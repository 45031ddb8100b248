//! Where the values of a dataset lie whose place is known before they are written.

/// Where a dataset's values are in a shared subfile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    /// One run of bytes from this address on.
    Run(u64),
    /// Chunks, row-major from `base` on, `stride` bytes apart.
    Chunks { base: u64, stride: u64 },
    /// Chunks wherever each task has room, in segments of its own.
    Segments,
}
