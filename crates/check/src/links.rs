//! Links: to nothing, and counts that are wrong.

use hyperslab_array::{ErrorKind, Result, interruption};
use hyperslab_formats::hdf5::survey::Survey;
use hyperslab_formats::{LinkTarget, Object};
use hyperslab_reader::File;

use crate::finding::{Finding, Severity};

/// Characters of a link's target in a message: many links may share a long one.
const MAX_TARGET: usize = 200;

/// Objects that state another number of hard links than were found.
pub(crate) fn counts(survey: &Survey, findings: &mut Vec<Finding>) {
    // If links are lost, the rest cannot be counted.
    if survey.objects.iter().any(|object| !object.has_all_links || object.object.is_none()) {
        return;
    }
    for object in &survey.objects {
        let stated = u64::from(object.stated_links);
        // Each use of a committed datatype counts as a link, too.
        let is_datatype = matches!(object.object, Some(Object::Datatype(_)));
        if stated == object.found_links || (is_datatype && stated > object.found_links) {
            continue;
        }
        let (severity, cost) = match stated < object.found_links {
            true => (Severity::Error, "if one of its links is removed, other links lead to space that is used for something else"),
            false => (Severity::Warning, "its space does not come back when all of its links are removed"),
        };
        let message = format!("the object states {stated} hard links, and {} lead to it", object.found_links);
        let finding = Finding::new(severity, "link-count", message).at(survey.base_address.saturating_add(object.address), 0);
        findings.push(finding.of(Some(object.path.as_str())).costs(cost).advises("hyperslab repack writes a file with the right counts"));
    }
}

/// Soft and external links that lead nowhere.
pub(crate) fn dangling(file: &File, survey: &Survey, findings: &mut Vec<Finding>) -> Result<()> {
    for group in &survey.objects {
        for link in group.named_links() {
            let below = format!("{}/{}", group.path.trim_end_matches('/'), link.name);
            let target = match &link.target {
                LinkTarget::Hard(_) => continue,
                LinkTarget::Soft(path) => path.clone(),
                LinkTarget::External { file, path } => format!("{path} in {file}"),
                LinkTarget::UserDefined(class) => {
                    findings.push(Finding::new(Severity::Warning, "unsupported", format!("a user-defined link of class {class}")).of(Some(below)));
                    continue;
                }
            };
            let target = match target.char_indices().nth(MAX_TARGET) {
                Some((end, _)) => format!("{}…", target.get(..end).unwrap_or_default()),
                None => target,
            };
            interruption::check()?;
            match file.exists(&below) {
                Ok(true) => {}
                Ok(false) => {
                    let message = format!("a link to {target}, which does not exist");
                    findings.push(Finding::new(Severity::Warning, "dangling-link", message).of(Some(below)).costs("the name leads to nothing"));
                }
                Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
                Err(error) if error.kind() == ErrorKind::Corrupt => {}
                Err(error) => {
                    let message = format!("a link to {target}, which cannot be followed: {}", error.message());
                    findings.push(Finding::new(Severity::Warning, "dangling-link", message).of(Some(below)));
                }
            }
        }
    }
    Ok(())
}
