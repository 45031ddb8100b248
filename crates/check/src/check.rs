//! Check: one file, from its first byte to its last.

use std::path::Path;
use std::sync::Arc;

use hyperslab_array::{Cancellation, Error, ErrorKind, Result, interruption};
use hyperslab_formats::hdf5::find_superblock;
use hyperslab_formats::hdf5::survey::{Survey, gaps};
use hyperslab_formats::netcdf3::is_netcdf3;
use hyperslab_formats::{Object, StorageLayout};
use hyperslab_reader::{File, Session, UnnamedObjects};
use hyperslab_storage::{LocalFile, Storage};

use crate::classic;
use crate::damage::damages;
use crate::finding::{Finding, Severity};
use crate::links;
use crate::options::{CheckOptions, CheckProgress};
use crate::paths::Paths;
use crate::references;
use crate::report::Report;
use crate::space::{outside, overlaps, unaccounted};
use crate::values;

/// Checks the file at `path`. `session` gives the threads, the limits and the policy for other files; it must show files as plain
/// HDF5. Damage is in the report, not an error.
///
/// # Errors
/// `NotFound` or `Io` if the file cannot be opened; `InvalidInput` for another format; `LimitExceeded` if it costs more than the
/// session's limits allow; `Cancelled`.
pub fn check(path: &Path, session: &Session, options: &CheckOptions, cancellation: &Cancellation, progress: &mut CheckProgress<'_>) -> Result<Report> {
    let shown = path.display().to_string();
    let checked = interruption::cancellable(cancellation, || {
        let storage: Arc<dyn Storage> = Arc::new(LocalFile::open(path)?);
        if is_netcdf3(storage.as_ref())? {
            return classic::check(path, session, options, cancellation, progress);
        }
        if find_superblock(storage.as_ref())?.is_none() {
            let what = "no superblock at byte 0, 512, 1024, …: this is not an HDF5 or netCDF file, or its beginning is lost; hyperslab recover looks further";
            return Err(Error::invalid_input(what));
        }
        hdf5(path, &storage, session, options, cancellation, progress)
    });
    checked.map_err(|error| error.in_file(shown))
}

fn hdf5(
    path: &Path,
    storage: &Arc<dyn Storage>,
    session: &Session,
    options: &CheckOptions,
    cancellation: &Cancellation,
    progress: &mut CheckProgress<'_>,
) -> Result<Report> {
    let joins_members = session.may_open_others();
    let mut survey = Survey::of(storage, session.limits(), joins_members, false, &mut |done, of| progress(done, of, "objects"))?;
    let mut findings = Vec::new();
    let opened = session.open(path);
    if let Ok(file) = &opened {
        add_unnamed(file, &mut survey, cancellation)?;
    }
    let left = gaps(&survey.extents, 0, survey.file_bytes);
    let unreachable = survey.scan(&left)?;
    let end = survey.stated_end.unwrap_or(survey.file_bytes).min(survey.file_bytes);
    let mut report = Report::new(path.display().to_string(), "HDF5", survey.file_bytes, options.with_data);
    report.superblock_version = survey.superblock_version;
    report.objects = survey.objects.len() as u64;
    report.structures = survey.extents.iter().filter(|extent| !extent.kind.is_data()).count() as u64;
    ends(&survey, &mut findings);
    let paths = Paths(&survey);
    damages(&survey, &paths, &mut findings);
    outside(&survey, &paths, &mut findings);
    overlaps(&survey, &paths, &mut findings);
    report.unaccounted_bytes = unaccounted(&survey, end, &mut findings);
    for object in &unreachable {
        let what = object.object.as_ref().map_or("an object", |object| object.kind());
        let message = format!("{what} to which no link and no reference leads");
        let finding = Finding::new(Severity::Info, "unreachable", message).at(survey.base_address.saturating_add(object.address), 0);
        findings.push(finding.costs("it was deleted, or what led to it is lost").advises("if it is missed: hyperslab recover puts it below /lost+found"));
    }
    links::counts(&survey, &mut findings);
    match opened {
        Ok(file) => with_file(&file, &survey, options, cancellation, progress, &mut findings, &mut report)?,
        Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
        // A root group that cannot be opened is among the damage; what else keeps a file from being opened is not.
        Err(error) if !findings.iter().any(|finding| finding.severity == Severity::Error) => {
            let severity = if error.kind() == ErrorKind::Corrupt { Severity::Error } else { Severity::Warning };
            let kind = if severity == Severity::Error { "damaged" } else { "unsupported" };
            findings.push(Finding::new(severity, kind, error.message()).at(error.offset().unwrap_or(0), 0).costs("the file cannot be opened"));
        }
        Err(_) => {}
    }
    Ok(report.finish(findings))
}

/// Adds the objects that only references lead to. References that the operating system cannot read become damages.
pub(crate) fn add_unnamed(file: &File, survey: &mut Survey, cancellation: &Cancellation) -> Result<()> {
    let UnnamedObjects { found, unreadable, .. } = file.readable_unnamed_objects(cancellation)?;
    let addresses: Vec<u64> = found.iter().filter_map(|walked| file.array_file().tree().address(walked.id)).collect();
    survey.add_referenced(&addresses)?;
    for (id, error) in unreadable {
        let is_chunked = matches!(file.object(id), Ok(Object::Dataset(dataset)) if dataset.storage == StorageLayout::Chunked);
        survey.add_unreadable(file.array_file().tree().address(id), is_chunked, error);
    }
    Ok(())
}

/// What needs the file to be open.
fn with_file(
    file: &File,
    survey: &Survey,
    options: &CheckOptions,
    cancellation: &Cancellation,
    progress: &mut CheckProgress<'_>,
    findings: &mut Vec<Finding>,
    report: &mut Report,
) -> Result<()> {
    links::dangling(file, survey, findings)?;
    references::of_attributes(file, survey, findings)?;
    let is_one_file = LocalFile::open(file.path()).is_ok_and(|local| local.len() == survey.file_bytes);
    let values = values::Values { file, survey, cancellation, with_data: options.with_data, is_one_file };
    let (chunks, bytes) = values.check(findings, progress)?;
    (report.chunks, report.data_bytes) = (chunks, bytes);
    Ok(())
}

/// Where the file ends, and whether its writer has closed it.
fn ends(survey: &Survey, findings: &mut Vec<Finding>) {
    if let Some(end) = survey.stated_end {
        if end > survey.file_bytes {
            let message = format!("the file has {} bytes, its superblock says {end}: {} are missing", survey.file_bytes, end - survey.file_bytes);
            findings.push(
                Finding::new(Severity::Error, "truncated", message)
                    .at(survey.file_bytes, end - survey.file_bytes)
                    .costs("what was stored there is lost, and HDF5 refuses to open the file")
                    .advises("copy the file again from where it is complete, or save what is left: hyperslab recover"),
            );
        } else if end < survey.file_bytes {
            let message = format!("{} bytes follow the end of the file that its superblock states", survey.file_bytes - end);
            findings.push(Finding::new(Severity::Info, "longer", message).at(end, survey.file_bytes - end));
        }
    }
    if survey.is_open_for_writing {
        let message = "the superblock says that a program has the file open for writing";
        findings.push(
            Finding::new(Severity::Warning, "open-for-writing", message)
                .costs("if that program was killed, what it had not flushed is lost, and HDF5 refuses to open the file")
                .advises("if no program has it open, h5clear -s clears the flag, and hyperslab recover saves what is right"),
        );
    }
}
