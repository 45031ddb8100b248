//! Where structures lie: outside of the file, in each other's place, or nowhere.

use hyperslab_formats::hdf5::survey::{Extent, StructureKind, Survey, gaps};

use crate::finding::{Finding, Severity};
use crate::paths::Paths;

/// Minimum size in bytes of a listed range that nothing leads to.
const MIN_LISTED_GAP: u64 = 64 << 10;
/// Maximum number of such ranges listed.
const MAX_LISTED_GAPS: usize = 20;

/// Structures that end after the end of the file.
pub(crate) fn outside(survey: &Survey, paths: &Paths<'_>, findings: &mut Vec<Finding>) {
    // Nodes and heaps are recorded with their allocated size; its end may never have been written.
    let must_fit = |kind: StructureKind| kind.is_data() || matches!(kind, StructureKind::GlobalHeap | StructureKind::LocalHeapData);
    for extent in &survey.extents {
        let missing = extent.end().saturating_sub(survey.file_bytes);
        if missing == 0 {
            continue;
        }
        let all_missing = extent.offset >= survey.file_bytes;
        let severity = if must_fit(extent.kind) || all_missing { Severity::Error } else { Severity::Warning };
        let message = format!("{} of {} bytes ends {missing} bytes after the end of the file", article(extent.kind), extent.length);
        let cost = if extent.kind.is_data() { "these values cannot be read" } else { "what it holds cannot be read" };
        findings.push(
            Finding::new(severity, "outside", message)
                .at(extent.offset, extent.length)
                .of(paths.of(extent.object))
                .costs(cost)
                .advises("restore the file from a complete copy, or save what is left: hyperslab recover"),
        );
    }
}

/// `a chunk`, `an object header`.
pub(crate) fn article(kind: StructureKind) -> String {
    let name = kind.name();
    match kind {
        StructureKind::Contiguous | StructureKind::FreeSpace | StructureKind::FreeSpaceSections => name.to_owned(),
        _ if name.starts_with(['a', 'e', 'i', 'o', 'u']) && !name.starts_with("user") => format!("an {name}"),
        _ => format!("a {name}"),
    }
}

/// Pairs of structures that share bytes.
pub(crate) fn overlaps(survey: &Survey, paths: &Paths<'_>, findings: &mut Vec<Finding>) {
    let mut sorted: Vec<&Extent> = survey.extents.iter().filter(|extent| extent.length > 0).collect();
    sorted.sort_unstable_by_key(|extent| (extent.offset, extent.end()));
    let mut widest: Option<&Extent> = None;
    for extent in sorted {
        if let Some(before) = widest.filter(|before| extent.offset < before.end()) {
            findings.push(overlap(before, extent, paths));
        }
        if widest.is_none_or(|before| extent.end() > before.end()) {
            widest = Some(extent);
        }
    }
}

fn overlap(first: &Extent, second: &Extent, paths: &Paths<'_>) -> Finding {
    let shared = first.end().min(second.end()) - second.offset;
    let is_same = (first.offset, first.length, first.kind) == (second.offset, second.length, second.kind);
    let other = paths.of(first.object).map(|path| format!(" of {path}")).unwrap_or_default();
    // Containers have several datasets for the same bytes, on purpose; other programs may do so, too.
    let shares_values = is_same && first.kind == StructureKind::Contiguous && first.object != second.object;
    // Found by its signature alone: an edit that was killed may have left a part of one in front of new structures.
    let is_loose = |extent: &Extent| extent.kind == StructureKind::GlobalHeap && extent.object.is_none();
    let may_be_left_over = is_loose(first) || is_loose(second);
    // A slack at the end of a node that was never written may have been given to another structure.
    let severity = if shares_values {
        Severity::Info
    } else if may_be_left_over {
        Severity::Warning
    } else {
        Severity::Error
    };
    let message = match shares_values {
        true => format!("the values are also those{other}"),
        false => {
            format!("{} of {} bytes shares {shared} bytes with {} at offset {}{other}", article(second.kind), second.length, article(first.kind), first.offset)
        }
    };
    let finding = Finding::new(severity, "overlap", message).at(second.offset, shared).of(paths.of(second.object));
    if shares_values {
        return finding;
    }
    if may_be_left_over {
        let cost = "the collection is a leftover of an edit that was killed, or values of variable length are lost, which reading them tells";
        return finding.costs(cost).advises("if no finding names values that cannot be read, nothing is wrong");
    }
    finding
        .costs("at least one of them is wrong, or becomes so when the other is written")
        .advises("do not write to this file; save what is right: hyperslab recover")
}

/// Bytes that nothing leads to; their sum is returned.
pub(crate) fn unaccounted(survey: &Survey, end: u64, findings: &mut Vec<Finding>) -> u64 {
    let ranges = gaps(&survey.extents, 0, end);
    let sum: u64 = ranges.iter().map(|(_, length)| length).sum();
    if sum == 0 {
        return 0;
    }
    let share = 100 * sum / end.max(1);
    let is_told = survey.damages.is_empty();
    let message = format!("{sum} bytes ({share} % of the file) in {} ranges belong to nothing", ranges.len());
    let why = if is_told { "space of what was deleted, or left between structures" } else { "space, or what damaged structures led to" };
    findings.push(Finding::new(Severity::Info, "unaccounted", message).costs(why).advises("hyperslab repack writes a file without it"));
    let mut large: Vec<_> = ranges.into_iter().filter(|(_, length)| *length >= MIN_LISTED_GAP).collect();
    large.sort_unstable_by_key(|(_, length)| std::cmp::Reverse(*length));
    for (offset, length) in large.into_iter().take(MAX_LISTED_GAPS) {
        findings.push(Finding::new(Severity::Info, "unaccounted", format!("{length} bytes belong to nothing")).at(offset, length));
    }
    sum
}
