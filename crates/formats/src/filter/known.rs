//! The filters that there are: numbers, names, and which of them we undo ourselves.

/// Registered numbers of the filters that we undo.
pub(super) mod id {
    pub const DEFLATE: u16 = 1;
    pub const SHUFFLE: u16 = 2;
    pub const FLETCHER32: u16 = 3;
    pub const SZIP: u16 = 4;
    pub const NBIT: u16 = 5;
    pub const SCALEOFFSET: u16 = 6;
    pub const BZIP2: u16 = 307;
    pub const LZF: u16 = 32000;
    pub const BLOSC: u16 = 32001;
    pub const LZ4: u16 = 32004;
    pub const BITSHUFFLE: u16 = 32008;
    pub const ZFP: u16 = 32013;
    pub const ZSTD: u16 = 32015;
    // These round values before they are compressed: what is stored is what was meant.
    pub const BITGROOM: u16 = 32022;
    pub const GRANULAR_BITROUND: u16 = 32023;
    pub const BLOSC2: u16 = 32026;
}

/// Names of registered filters, for people and for refusals.
pub(super) const NAMES: [(u16, &str); 39] = [
    (id::DEFLATE, "deflate"),
    (id::SHUFFLE, "shuffle"),
    (id::FLETCHER32, "fletcher32"),
    (id::SZIP, "szip"),
    (id::NBIT, "nbit"),
    (id::SCALEOFFSET, "scaleoffset"),
    (305, "lzo"),
    (id::BZIP2, "bzip2"),
    (id::LZF, "lzf"),
    (id::BLOSC, "blosc"),
    (32002, "mafisc"),
    (32003, "snappy"),
    (id::LZ4, "lz4"),
    (32006, "cbf"),
    (32007, "jpeg-xr"),
    (id::BITSHUFFLE, "bitshuffle"),
    (32009, "spdp"),
    (32010, "lpc-rice"),
    (32011, "ccsds-123"),
    (32012, "jpeg-ls"),
    (id::ZFP, "zfp"),
    (32014, "fpzip"),
    (id::ZSTD, "zstd"),
    (32016, "b3d"),
    (32017, "sz"),
    (32018, "fcidecomp"),
    (32019, "jpeg"),
    (32020, "vbz"),
    (32021, "fapec"),
    (id::BITGROOM, "bitgroom"),
    (id::GRANULAR_BITROUND, "granular-bitround"),
    (32024, "sz3"),
    (32025, "delta-rice"),
    (id::BLOSC2, "blosc2"),
    (32027, "flac"),
    (32028, "sperr"),
    (32029, "terse-prolix"),
    (32030, "ffmpeg"),
    (32033, "htj2k"),
];

/// Whether this crate decodes the filter itself.
pub(super) fn is_built_in(id: u16) -> bool {
    matches!(
        id,
        id::DEFLATE
            | id::SHUFFLE
            | id::FLETCHER32
            | id::SZIP
            | id::NBIT
            | id::SCALEOFFSET
            | id::BZIP2
            | id::LZF
            | id::BLOSC
            | id::LZ4
            | id::BITSHUFFLE
            | id::ZFP
            | id::ZSTD
            | id::BITGROOM
            | id::GRANULAR_BITROUND
            | id::BLOSC2
    )
}
