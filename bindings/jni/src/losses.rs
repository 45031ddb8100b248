//! Losses: objects that overwriting a file would remove in addition to the one that is replaced.

use std::path::Path;

use hyperslab::write::COMMIT_ATTRIBUTE;
use hyperslab::{Error, ErrorKind, Interpretation, Result, Session, SessionOptions, Walked, new_session};

/// Maximum number of objects that an error names.
const MAX_NAMED: usize = 3;

/// Returns `Conflict` if the file at `path` contains anything outside of the object `replaced`, or if it cannot be read. A
/// missing file has nothing to lose.
pub(crate) fn refuse_losses(path: &Path, replaced: &str) -> Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let session = new_session(SessionOptions::default().with_threads(Some(1)).with_interpretation(Interpretation::Hdf5))?;
    refuse_losses_of(&session, &path.display().to_string(), replaced)
}

/// As [`refuse_losses`], for a file that exists, and that `session` opens.
pub(crate) fn refuse_losses_of(session: &Session, shown: &str, replaced: &str) -> Result<()> {
    let advice = "save to another file, use mode(\"append\") on a file that Spark wrote, or set option replaceDataset=true, which keeps everything else, or replaceFile=true";
    let conflict = |what: String| Err(Error::new(ErrorKind::Conflict, what).in_file(shown));
    let file = match session.open(shown) {
        Err(error) => {
            return conflict(format!("overwriting {replaced} replaces the whole file, and its contents cannot be read ({}): {advice}", error.message()));
        }
        Ok(file) => file,
    };
    let replaced = format!("/{}", replaced.trim_matches('/'));
    let mut lost = Vec::new();
    for Walked { path, id, object, .. } in file.walk() {
        if is_within(&path, &replaced) {
            continue;
        }
        if is_within(&replaced, &path) {
            let attributes = file.attributes(id).unwrap_or_default();
            let attributes = attributes.iter().filter(|attribute| attribute.name != COMMIT_ATTRIBUTE);
            lost.extend(attributes.map(|attribute| format!("attribute {:?} of {path}", attribute.name)));
        }
        if !object.is_ok_and(|object| object.is_group()) {
            continue;
        }
        for link in file.links(id).iter().flat_map(|links| links.iter()) {
            let member = format!("{}/{}", path.trim_end_matches('/'), link.name);
            let is_group = link.object().is_some_and(|id| file.object(id).is_ok_and(|object| object.is_group()));
            if !(is_within(&member, &replaced) || is_group && is_within(&replaced, &member)) {
                lost.push(member);
            }
        }
    }
    if lost.is_empty() {
        return Ok(());
    }
    let more = match lost.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    lost.truncate(MAX_NAMED);
    conflict(format!("overwriting {replaced} replaces the whole file, which would lose {}{more}: {advice}", lost.join(", ")))
}

/// Whether `path` is `ancestor` or below it.
fn is_within(path: &str, ancestor: &str) -> bool {
    let ancestor = ancestor.trim_end_matches('/');
    path.strip_prefix(ancestor).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_within_its_groups_but_not_within_similar_names() {
        assert!(is_within("/a/b", "/a") && is_within("/a", "/a") && is_within("/a", "/"));
        assert!(!is_within("/ab", "/a") && !is_within("/a", "/a/b") && !is_within("/", "/a"));
    }
}
