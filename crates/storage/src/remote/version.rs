//! The version of an object.

use object_store::ObjectMeta;

/// The version of an object.
#[derive(Debug, Clone, Default)]
pub(super) struct Version {
    pub etag: Option<String>,
    pub modified: Option<chrono::DateTime<chrono::Utc>>,
}

impl Version {
    pub fn of(meta: &ObjectMeta) -> Self {
        // A server that does not say when an object was changed is given the beginning of 1970.
        let modified = Some(meta.last_modified).filter(|modified| modified.timestamp() > 0);
        Self { etag: meta.e_tag.clone().filter(|etag| !etag.is_empty()), modified }
    }
    /// The entity tag that `If-Match` compares: a weak one matches nothing.
    pub fn strong_etag(&self) -> Option<String> {
        self.etag.clone().filter(|etag| !etag.starts_with("W/"))
    }
    pub fn is_other(&self, found: &Self) -> bool {
        match (&self.etag, &found.etag) {
            (Some(opened), Some(found)) => opened != found,
            _ => self.modified.zip(found.modified).is_some_and(|(opened, found)| opened != found),
        }
    }
}
