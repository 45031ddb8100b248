//! Location of a dataset's values in a shared subfile.

/// Location of a dataset's values in a shared subfile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    /// Contiguous from this address on.
    Run(u64),
    /// Chunks at fixed offsets: row-major from `base` on, `stride` bytes apart.
    Chunks { base: u64, stride: u64 },
    /// Chunks in the segments of the task that writes them.
    Segments,
}
