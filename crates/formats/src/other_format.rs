//! Recognizes files that are neither HDF5 nor netCDF, and says what to do with them.

use hyperslab_array::Result;
use hyperslab_storage::Storage;

/// Offset, signature, description, and advice.
const SIGNATURES: &[(usize, &[u8], &str, &str)] = &[
    (0, b"\x1f\x8b", "gzip data", "decompress it first (gunzip)"),
    (0, b"\x1f\x9d", "compress data", "decompress it first (uncompress)"),
    (0, b"BZh", "bzip2 data", "decompress it first (bunzip2)"),
    (0, b"\xfd7zXZ\0", "xz data", "decompress it first (unxz)"),
    (0, b"\x28\xb5\x2f\xfd", "zstd data", "decompress it first (unzstd)"),
    (0, b"\x04\x22\x4d\x18", "LZ4 data", "decompress it first (unlz4)"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it first"),
    (0, b"PK\x03\x04", "a zip archive", "unpack it first (numpy.load reads .npz, zarr reads Zarr)"),
    (0, b"PK\x05\x06", "an empty zip archive", "there is nothing in it"),
    (257, b"ustar", "a tar archive", "unpack it first"),
    (0, b"PAR1", "a Parquet file", "read it with hyperslab.query, pyarrow or DuckDB"),
    (0, b"PARE", "an encrypted Parquet file", "read it with pyarrow"),
    (0, b"ARROW1", "an Arrow file", "read it with pyarrow.ipc"),
    (0, b"\x0e\x03\x13\x01", "an HDF4 file", "convert it first (h4toh5)"),
    (0, b"MATLAB 5.0 MAT-file", "a MATLAB 5 file", "read it with scipy.io.loadmat, or save it with -v7.3"),
    (0, b"\x93NUMPY", "a numpy file", "read it with numpy.load"),
    (0, b"GRIB", "a GRIB file", "convert it first (cdo -f nc4 copy, or cfgrib)"),
    (0, b"BUFR", "a BUFR file", "convert it first"),
    (0, b"SIMPLE  =", "a FITS file", "read it with astropy.io.fits"),
    (0, b"II*\0", "a TIFF image", "read it with rasterio"),
    (0, b"MM\0*", "a TIFF image", "read it with rasterio"),
    (0, b"\x89PNG", "a PNG image", "it holds no arrays that Hyperslab reads"),
    (0, b"SQLite format 3\0", "a SQLite database", "open it with sqlite3 or DuckDB"),
    (0, b"%PDF", "a PDF document", "it holds no arrays that Hyperslab reads"),
    (0, b"version https://git-lfs", "a Git LFS pointer, not the file itself", "fetch it with git lfs pull"),
];
/// Bytes at the beginning that are examined.
const HEAD_BYTES: usize = 1024;

/// One line: what the file seems to be, and what to do.
pub(crate) fn describe(storage: &dyn Storage) -> Result<String> {
    let mut head = vec![0; usize::try_from(storage.len()).unwrap_or(HEAD_BYTES).min(HEAD_BYTES)];
    storage.read_exact_at(0, &mut head)?;
    let is_hdf5_or_netcdf = "not an HDF5 or netCDF file";
    if head.is_empty() {
        return Ok(format!("{is_hdf5_or_netcdf}: the file is empty (0 bytes); it may not be written yet"));
    }
    let found = SIGNATURES.iter().find(|(at, signature, ..)| head.get(*at..).is_some_and(|rest| rest.starts_with(signature)));
    if let Some((_, _, what, advice)) = found {
        return Ok(format!("{is_hdf5_or_netcdf}: this is {what}; {advice}"));
    }
    if head.iter().all(|byte| *byte == 0) {
        return Ok(format!("{is_hdf5_or_netcdf}: it begins with zeros; it may be incomplete: copy or download it again"));
    }
    if let Some(text) = text(&head) {
        let word = text.trim_start_matches('\u{feff}').trim_start().to_ascii_lowercase();
        let what = match () {
            () if word.starts_with("<!doctype html") || word.starts_with("<html") => "an HTML page; it may be the error page of a download",
            () if word.starts_with('<') => "XML",
            () if word.starts_with('{') || word.starts_with('[') => "JSON text",
            () if word.starts_with("netcdf ") => "netCDF's text form (CDL); make a netCDF file of it with ncgen",
            () => "text",
        };
        return Ok(format!("{is_hdf5_or_netcdf}: this is {what}"));
    }
    Ok(format!("{is_hdf5_or_netcdf}: there is no HDF5 signature at 0, 512, 1024, … and no CDF signature at 0"))
}

/// The beginning as text, if it is text throughout; a character may be cut at the end.
fn text(head: &[u8]) -> Option<&str> {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => std::str::from_utf8(head.get(..error.valid_up_to())?).ok()?,
        Err(_) => return None,
    };
    let is_text = !text.is_empty() && text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\r' | '\t' | '\x0c'));
    is_text.then_some(text)
}
