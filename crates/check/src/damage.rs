//! Findings of damaged structures.

use hyperslab_array::ErrorKind;
use hyperslab_formats::hdf5::survey::{Damage, Purpose, StructureKind, Survey};

use crate::finding::{Finding, Severity};
use crate::paths::Paths;
use crate::space::article;

/// The damage that a survey has recorded.
pub(crate) fn damages(survey: &Survey, paths: &Paths<'_>, findings: &mut Vec<Finding>) {
    for damage in &survey.damages {
        let (severity, kind) = match damage.error.kind() {
            ErrorKind::Unsupported => (Severity::Warning, "unsupported"),
            ErrorKind::LimitExceeded => (Severity::Warning, "limit"),
            ErrorKind::Io => (Severity::Error, "unreadable"),
            _ => (Severity::Error, "damaged"),
        };
        let offset = damage.error.offset().unwrap_or(damage.offset);
        let message = format!("{}: {}", article(damage.kind), damage.error.message());
        let advice = if severity == Severity::Error { "restore the file from a copy, or save what is right: hyperslab recover" } else { "" };
        let path = paths.of(damage.object).map(ToOwned::to_owned);
        findings.push(Finding::new(severity, kind, message).at(offset, damage.length).of(path).costs(cost(damage)).advises(advice));
    }
}

/// What it costs that a structure cannot be used.
fn cost(damage: &Damage) -> &'static str {
    use StructureKind as K;
    match (damage.kind, damage.purpose) {
        (K::Superblock, _) => "nothing in the file can be found by other programs",
        (K::DriverInformation, _) => "the other members of the file cannot be found",
        (K::ObjectHeader, _) => "the object, and all that only it leads to, cannot be read",
        (K::HeaderContinuation, _) => "attributes, links or other parts of the object are lost",
        (K::GlobalHeap, Purpose::Attributes) => "the value of an attribute cannot be read",
        (K::Chunk | K::Contiguous, Purpose::Values) => "objects to which only its references lead cannot be told from lost ones",
        (K::GlobalHeap, _) => "values of variable length cannot be read",
        (K::FreeSpaceManager | K::FreeSpaceSections, _) => "free space is not used again, or used although it is not free",
        (_, Purpose::Links) => "links of the group, and all that only they lead to, are lost",
        (_, Purpose::Attributes) => "attributes of the object are lost",
        (_, Purpose::ChunkIndex) => "chunks of the dataset are not found: reading it fails",
        (_, Purpose::SharedMessages) => "every object that shares these messages cannot be read",
        (_, Purpose::ExternalFiles) => "the external files of the dataset cannot be found",
        _ => "what it holds cannot be read",
    }
}
