//! Which file system it is, and what it says of its blocks.

/// Magic numbers of `statfs`, with names; parallel file systems first.
const KNOWN: [(u64, &str); 16] = [
    (0x0bd0_0bd0, "lustre"),
    (0x4750_4653, "gpfs"),
    (0x1983_0326, "beegfs"),
    (0x00c3_6400, "ceph"),
    (0x2003_0528, "orangefs"),
    (0xaad7_aaea, "panfs"),
    (0x1901_1911, "wekafs"),
    (0xef53, "ext"),
    (0x5846_5342, "xfs"),
    (0x9123_683e, "btrfs"),
    (0x2fc1_2fc1, "zfs"),
    (0x0102_1994, "tmpfs"),
    (0x794c_7630, "overlay"),
    (0x6969, "nfs"),
    (0xff53_4d42, "cifs"),
    (0x6573_5546, "fuse"),
];
/// How many of [`KNOWN`] are parallel.
const PARALLEL: usize = 7;

/// The block size that a file system reports, if it is plausible.
pub(crate) fn block_of(said: u64) -> u64 {
    if said.is_power_of_two() { said.clamp(512, 64 << 20) } else { 4096 }
}

/// The magic number of a file system; its type differs from machine to machine.
pub(crate) fn kind_of(said: impl TryInto<i64>) -> u64 {
    said.try_into().map_or(0, |kind: i64| kind.cast_unsigned() & 0xffff_ffff)
}

/// The name of a file system.
pub(crate) fn name_of(kind: u64) -> Option<&'static str> {
    KNOWN.iter().find(|(known, _)| *known == kind).map(|(_, name)| *name)
}

/// Whether many machines write to it through many servers.
pub(crate) fn is_parallel(kind: u64) -> bool {
    KNOWN.iter().take(PARALLEL).any(|(known, _)| *known == kind)
}
