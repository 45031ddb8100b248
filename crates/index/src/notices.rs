//! Notices: what users must hear about indexes although their query succeeds. Bindings show them as warnings.

use hyperslab_storage::Notices;

static NOTICES: Notices = Notices::new();

/// Adds a notice.
pub(crate) fn add(notice: String) {
    NOTICES.add(notice);
}

/// Takes the notices of this process since the last call: an index that disagrees with its data, and is therefore not used.
pub fn take_notices() -> Vec<String> {
    NOTICES.take()
}
