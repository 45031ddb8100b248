//! Versions of the HDF5 library, as bounds of the structures that a file may have.

use hyperslab_array::{Datatype, Error, ReferenceKind, Result};

/// A version of the HDF5 library: a file that is written for it has no structure that only later ones know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[expect(clippy::exhaustive_enums, reason = "a new version of the format has a new kind of structure")]
pub enum LibraryVersion {
    /// HDF5 1.8: chunks are found by B-trees.
    V108,
    /// HDF5 1.10: chunks are found by arrays, too; virtual datasets; pages.
    V110,
    /// HDF5 1.12 and later: references of all kinds in one datatype.
    #[default]
    V112,
}

impl LibraryVersion {
    /// The version by its name in h5py's `libver`: `earliest` and `v108`, `v110`, and `v112` or anything later, such as `latest`.
    ///
    /// # Errors
    /// `InvalidInput` for another name.
    ///
    /// ```
    /// use hyperslab_formats::hdf5::writer::LibraryVersion;
    /// assert_eq!(LibraryVersion::named("earliest")?, LibraryVersion::V108);
    /// assert!(LibraryVersion::named("v106").is_err());
    /// # Ok::<(), hyperslab_array::Error>(())
    /// ```
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "earliest" | "v108" => Ok(Self::V108),
            "v110" => Ok(Self::V110),
            "v112" | "v114" | "v200" | "latest" => Ok(Self::V112),
            other => Err(Error::unknown_choice("libver", other, &["earliest", "v108", "v110", "v112", "v114", "v200", "latest"])),
        }
    }

    /// Checks that this version reads values of the datatype.
    ///
    /// # Errors
    /// `Unsupported` for references of HDF5 1.12 in a file for an older version.
    pub fn check_datatype(self, datatype: &Datatype) -> Result<()> {
        let is_new = self < Self::V112 && has_standard_references(datatype);
        if is_new { Err(Error::unsupported(format!("references of HDF5 1.12 in a file for HDF5 {self}"))) } else { Ok(()) }
    }

    /// Checks that this version reads files of pages.
    ///
    /// # Errors
    /// `Unsupported` for HDF5 1.8.
    pub fn check_pages(self) -> Result<()> {
        if self < Self::V110 { Err(Error::unsupported(format!("pages in a file for HDF5 {self}: they came with 1.10"))) } else { Ok(()) }
    }

    /// Checks that this version reads virtual datasets.
    ///
    /// # Errors
    /// `Unsupported` for HDF5 1.8.
    pub fn check_virtual(self) -> Result<()> {
        if self < Self::V110 { Err(Error::unsupported(format!("a virtual dataset in a file for HDF5 {self}: they came with 1.10"))) } else { Ok(()) }
    }
}

impl std::fmt::Display for LibraryVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::V108 => "1.8",
            Self::V110 => "1.10",
            Self::V112 => "1.12",
        })
    }
}

fn has_standard_references(datatype: &Datatype) -> bool {
    match datatype {
        Datatype::Reference { kind, .. } => matches!(kind, ReferenceKind::Standard),
        Datatype::Compound { members, .. } => members.iter().any(|member| has_standard_references(&member.datatype)),
        Datatype::Array { base, .. } | Datatype::Sequence { base, .. } => has_standard_references(base),
        _ => false,
    }
}
