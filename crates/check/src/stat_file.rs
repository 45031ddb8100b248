//! Stat of a file of any format that it knows.

use std::path::Path;
use std::sync::Arc;

use hyperslab_array::{Cancellation, Error, Result, interruption};
use hyperslab_formats::hdf5::find_superblock;
use hyperslab_formats::hdf5::survey::{Survey, gaps};
use hyperslab_formats::netcdf3::is_netcdf3;
use hyperslab_reader::Session;
use hyperslab_storage::{LocalFile, Storage};

use crate::check::add_unnamed;
use crate::classic_stat;
use crate::options::CheckProgress;
use crate::sums::{Stat, of_survey};

/// Sums up the HDF5 or netCDF file at `path`. `session` gives the limits.
///
/// # Errors
/// `NotFound` or `Io` if the file cannot be opened; `InvalidInput` for another format; `LimitExceeded`; `Cancelled`.
pub fn stat(path: &Path, session: &Session, cancellation: &Cancellation, progress: &mut CheckProgress<'_>) -> Result<Stat> {
    let shown = path.display().to_string();
    let summed = interruption::cancellable(cancellation, || {
        let storage: Arc<dyn Storage> = Arc::new(LocalFile::open(path)?);
        if is_netcdf3(storage.as_ref())? {
            return classic_stat::stat(&shown, storage.as_ref(), session);
        }
        if find_superblock(storage.as_ref())?.is_none() {
            return Err(Error::invalid_input("no superblock: this is not an HDF5 or netCDF file, or its beginning is lost"));
        }
        let mut survey = Survey::of(&storage, session.limits(), session.may_open_others(), false, &mut |done, of| progress(done, of, "objects"))?;
        if let Ok(file) = session.open(path) {
            add_unnamed(&file, &mut survey, cancellation)?;
        }
        let left = gaps(&survey.extents, 0, survey.file_bytes);
        survey.scan(&left)?;
        Ok(of_survey(&shown, &survey))
    });
    summed.map_err(|error| error.in_file(shown.clone()))
}
