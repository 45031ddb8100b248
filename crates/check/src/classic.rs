//! netCDF classic files: the header, sizes, and the layout of records.

use std::path::Path;

use hyperslab_array::{Cancellation, ErrorKind, Result};
use hyperslab_formats::netcdf3::{ClassicLayout, ClassicVariable};
use hyperslab_reader::Session;
use hyperslab_storage::{LocalFile, Storage};

use crate::finding::{Finding, Severity};
use crate::options::{CheckOptions, CheckProgress};
use crate::report::Report;

/// Sizes in bytes from here on do not fit the header of CDF-1 and CDF-2, which then contains another number.
const MAX_STATED: u64 = (1 << 32) - 4;
/// Bytes that are read at once.
const BLOCK_BYTES: u64 = 4 << 20;

pub(crate) fn check(path: &Path, session: &Session, options: &CheckOptions, cancellation: &Cancellation, progress: &mut CheckProgress<'_>) -> Result<Report> {
    let storage = LocalFile::open(path)?;
    let length = storage.len();
    let mut report = Report::new(path.display().to_string(), "netCDF-3", length, options.with_data);
    let mut findings = Vec::new();
    let layout = match ClassicLayout::of(&storage, session.limits()) {
        Ok(layout) => layout,
        Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported) => {
            let finding = Finding::new(Severity::Error, "header", error.message()).at(error.offset().unwrap_or(0), 0);
            findings.push(finding.costs("nothing in the file can be found").advises("restore the file from a copy"));
            return Ok(report.finish(findings));
        }
        Err(error) => return Err(error),
    };
    report.objects = layout.variables.len() as u64 + 1;
    report.structures = 1;
    let end = extents(&layout, length, &mut findings);
    if length > end.max(layout.header_bytes) + 3 {
        findings.push(Finding::new(Severity::Info, "longer", format!("{} bytes follow the last value", length - end)).at(end, length - end));
        report.unaccounted_bytes = length - end;
    }
    if options.with_data {
        read_all(&storage, cancellation, progress, &mut report, &mut findings)?;
    }
    Ok(report.finish(findings))
}

/// Checks sizes and places; returns where the last value ends.
fn extents(layout: &ClassicLayout, length: u64, findings: &mut Vec<Finding>) -> u64 {
    // Start, end and name of each variable, of a record variable in the first record.
    let mut ranges: Vec<(u64, u64, &ClassicVariable)> = Vec::new();
    let first_record = layout.variables.iter().filter(|variable| variable.is_record).map(|variable| variable.begin).min();
    let records = layout.records.unwrap_or_else(|| first_record.map_or(0, |first| length.saturating_sub(first).checked_div(layout.record_bytes).unwrap_or(0)));
    let mut last = layout.header_bytes;
    let record_variables = layout.variables.iter().filter(|variable| variable.is_record).count();
    for variable in &layout.variables {
        let path = format!("/{}", variable.name);
        if variable.begin < layout.header_bytes {
            let message = format!("the values begin at byte {}, inside of the header of {} bytes", variable.begin, layout.header_bytes);
            findings.push(Finding::new(Severity::Error, "header", message).at(variable.begin, 0).of(Some(path.as_str())).costs("the values are wrong"));
        }
        // A single record variable is not padded, and some writers say so.
        let padded = variable.bytes.next_multiple_of(4);
        let is_stated = variable.stated_bytes == padded || (record_variables == 1 && variable.is_record && variable.stated_bytes == variable.bytes);
        if !is_stated && variable.bytes < MAX_STATED {
            let message = format!("the header states {} bytes, its shape gives {padded}", variable.stated_bytes);
            findings
                .push(Finding::new(Severity::Warning, "header", message).of(Some(path.as_str())).costs("readers go by the shape; one of the two was damaged"));
        }
        ranges.push((variable.begin, variable.begin.saturating_add(variable.bytes), variable));
        let more = if variable.is_record { records.saturating_sub(1).saturating_mul(layout.record_bytes) } else { 0 };
        if variable.is_record && records == 0 {
            continue;
        }
        let end = variable.begin.saturating_add(more).saturating_add(variable.bytes);
        last = last.max(end);
        if end > length {
            let kind = if variable.is_record { "records" } else { "truncated" };
            let whole = match variable.is_record {
                true => length.saturating_sub(variable.begin.saturating_add(variable.bytes)).checked_div(layout.record_bytes).map_or(0, |more| more + 1),
                false => 0,
            };
            let cost = match variable.is_record {
                true => format!("{} of {records} records are lost", records - whole.min(records)),
                false => "the values at the end are lost".to_owned(),
            };
            let message = format!("the values end at byte {end}, the file at byte {length}");
            let finding = Finding::new(Severity::Error, kind, message).at(length, end - length).of(Some(path.as_str()));
            findings.push(finding.costs(cost).advises("copy the file again from where it is complete"));
        }
    }
    ranges.sort_by_key(|(start, end, _)| (*start, *end));
    for pair in ranges.windows(2) {
        let [(_, end, before), (start, _, variable)] = pair else { continue };
        if start < end {
            let message = format!("the values share {} bytes with those of /{}", end - start, before.name);
            let finding = Finding::new(Severity::Error, "overlap", message).at(*start, end - start).of(Some(format!("/{}", variable.name)));
            findings.push(finding.costs("the values of one of them are wrong"));
        }
    }
    last
}

fn read_all(
    storage: &LocalFile,
    cancellation: &Cancellation,
    progress: &mut CheckProgress<'_>,
    report: &mut Report,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let (mut at, mut block) = (0, Vec::new());
    while at < storage.len() {
        cancellation.check()?;
        let count = BLOCK_BYTES.min(storage.len() - at);
        block.resize(usize::try_from(count).unwrap_or(0), 0);
        if let Err(error) = storage.read_exact_at(at, &mut block) {
            findings.push(Finding::new(Severity::Error, "unreadable", error.message()).at(at, count).costs("values in this range are lost"));
        }
        at += count;
        report.chunks += 1;
        report.data_bytes += count;
        progress(at, storage.len(), "bytes");
    }
    Ok(())
}
