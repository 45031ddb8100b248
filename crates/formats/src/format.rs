//! The formats that Hyperslab reads.

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// HDF5 without netCDF conventions.
    Hdf5,
    /// netCDF classic: CDF-1, CDF-2 or CDF-5.
    Netcdf3,
    /// HDF5 written by the netCDF-4 library.
    Netcdf4,
    /// References to chunks of other files, in a JSON document.
    References,
    /// A container of Arrow files that HDF5 programs wrote through the VOL connector.
    Container,
    /// The same, written by the netCDF-4 library.
    NetcdfContainer,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 6] = [Self::Hdf5, Self::Netcdf3, Self::Netcdf4, Self::References, Self::Container, Self::NetcdfContainer];

    /// The word for the format in options and results: `hdf5`, `netcdf3`, `netcdf4`, `references`, `container` or
    /// `netcdf_container`.
    ///
    /// ```
    /// # use hyperslab_formats::Format;
    /// assert_eq!(Format::Netcdf4.name(), "netcdf4");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Hdf5 => "hdf5",
            Self::Netcdf3 => "netcdf3",
            Self::Netcdf4 => "netcdf4",
            Self::References => "references",
            Self::Container => "container",
            Self::NetcdfContainer => "netcdf_container",
        }
    }

    /// Whether the netCDF library wrote the file, or readers take it for one (references), so that its conventions hold without an
    /// attribute that states them.
    pub fn is_netcdf(self) -> bool {
        matches!(self, Self::Netcdf3 | Self::Netcdf4 | Self::References | Self::NetcdfContainer)
    }
}
