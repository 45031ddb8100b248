//! Losses: what else than the object that is written an overwritten file would lose.

use std::path::Path;

use hyperslab::write::COMMIT_ATTRIBUTE;
use hyperslab::{Content, Error, ErrorKind, Interpretation, LinkTarget, Result, SessionOptions, new_session};

/// How many objects an error names.
const NAMED: usize = 3;

/// `Conflict` if the file at `path` holds more than the object `kept` and what is below it. A file that is not there
/// loses nothing; one that cannot be read might lose anything.
pub(crate) fn refuse_losses(path: &Path, kept: &str) -> Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let shown = path.display().to_string();
    let advice = "save to another file, use mode(\"append\") on a file that Spark wrote, or give option replaceFile=true";
    let conflict = |what: String| Err(Error::new(ErrorKind::Conflict, what).in_file(&shown));
    let session = new_session(SessionOptions::default().with_threads(Some(1)).with_interpretation(Interpretation::Hdf5))?;
    let file = match session.open(path) {
        Err(error) => return conflict(format!("overwriting {kept} replaces the whole file, and what is in it cannot be read ({}): {advice}", error.message())),
        Ok(file) => file,
    };
    let kept = format!("/{}", kept.trim_matches('/'));
    let mut lost = Vec::new();
    for object in &file.tree().objects {
        if is_within(&object.path, &kept) {
            continue;
        }
        let above = is_within(&kept, &object.path);
        let attributes = object.attributes.iter().filter(|attribute| above && attribute.name != COMMIT_ATTRIBUTE);
        lost.extend(attributes.map(|attribute| format!("attribute {:?} of {}", attribute.name, object.path)));
        let Content::Group(group) = &object.content else { continue };
        for link in &group.links {
            let member = format!("{}/{}", object.path.trim_end_matches('/'), link.name);
            let is_group = matches!(link.target, LinkTarget::Hard(id) if file.tree().group(id).is_some());
            if !(is_within(&member, &kept) || is_group && is_within(&kept, &member)) {
                lost.push(member);
            }
        }
    }
    if lost.is_empty() {
        return Ok(());
    }
    let more = match lost.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    lost.truncate(NAMED);
    conflict(format!("overwriting {kept} replaces the whole file, which would lose {}{more}: {advice}", lost.join(", ")))
}

/// Whether an object is `whole` or lies below it.
fn is_within(path: &str, whole: &str) -> bool {
    let whole = whole.trim_end_matches('/');
    path.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_within_its_groups_and_not_within_those_of_like_names() {
        assert!(is_within("/a/b", "/a") && is_within("/a", "/a") && is_within("/a", "/"));
        assert!(!is_within("/ab", "/a") && !is_within("/a", "/a/b") && !is_within("/", "/a"));
    }
}
