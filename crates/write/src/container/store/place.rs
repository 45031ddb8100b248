//! Where a plan for an object store writes: the master's address, the prefix of its objects, and the options of the store.

use std::sync::Arc;

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_formats::Limits;
use hyperslab_formats::hdf5::root_attributes;
use hyperslab_storage::{EntryName, ObjectTag, RemoteFile, StorageOptions, UniqueName, read_object, shown_address};
use serde::{Deserialize, Serialize};

use crate::container::commit_name::{CommitName, commit_named_in};
use crate::container::record::{RECORD, Record, parse_record};

/// Name of the object that the beginning of a plan puts, and that tasks look for if the plan has begun.
pub(crate) const BEGUN: &str = "begun";

/// Maximum bytes of a record: about 150 for each task.
const MAX_RECORD_BYTES: u64 = 64 << 20;

/// Options that may travel with a plan, without the prefix of a cloud. All others may be credentials.
const OPEN_OPTIONS: [&str; 33] = [
    "account_name",
    "allow_http",
    "allow_invalid_certificates",
    "anon",
    "base_url",
    "bucket_base_path",
    "cache_bytes",
    "cache_storage",
    "checksum_algorithm",
    "chunk_index",
    "conditional_put",
    "connect_timeout",
    "copy_if_not_exists",
    "default_region",
    "disable_bulk_delete",
    "disable_tagging",
    "endpoint",
    "endpoint_url",
    "endpoint_url_s3",
    "http1_only",
    "http2_only",
    "max_retries",
    "profile",
    "region",
    "request_payer",
    "retry_timeout",
    "s3_express",
    "skip_signature",
    "timeout",
    "unsigned_payload",
    "use_emulator",
    "use_fabric_endpoint",
    "virtual_hosted_style_request",
];
const PREFIXES: [&str; 5] = ["aws_", "azure_storage_", "azure_", "google_", "gcp_"];

/// Where a plan for an object store writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StorePlace {
    /// Name of the master's object in its folder.
    pub(super) name: EntryName,
    /// Version of the master when the plan was made, which the commit replaces; `None` if there was none.
    pub(super) base: Option<ObjectTag>,
    /// Options without credentials, which travel with the plan.
    options: Vec<(String, String)>,
    /// Names of the options that do not travel.
    withheld: Vec<String>,
    /// All options, as this process was given them.
    #[serde(skip)]
    given: Option<StorageOptions>,
}

impl StorePlace {
    /// The place of a master with the object name `name`, whose version is `base`.
    pub fn new(name: EntryName, base: Option<ObjectTag>, options: StorageOptions) -> Self {
        let mut place = Self { name, base, options: Vec::new(), withheld: Vec::new(), given: None };
        place.set_options(options);
        place
    }

    /// Sets the options of the store in this process.
    pub fn set_options(&mut self, given: StorageOptions) {
        let is_open = |name: &str, value: &str| {
            let name = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
            // A user name and a password may be in an endpoint.
            OPEN_OPTIONS.contains(&name) && !value.contains('@')
        };
        let pairs = || given.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        self.options = pairs().filter(|(name, value)| is_open(name, value)).collect();
        self.withheld = pairs().filter(|(name, value)| !is_open(name, value)).map(|(name, _)| name).collect();
        self.given = Some(given);
    }

    /// The options of the store in this process.
    pub fn options(&self) -> StorageOptions {
        self.given.clone().unwrap_or_else(|| StorageOptions::new(self.options.iter().cloned()))
    }

    /// Explains an error of the store in a process that did not get the credentials.
    pub fn explained(&self, error: Error) -> Error {
        if self.given.is_some() || self.withheld.is_empty() || error.kind() != ErrorKind::Io {
            return error;
        }
        error.with_note(&format!(
            "the plan came without {}, because credentials do not travel with it: set the store's environment variables in each process, or call set_storage_options",
            self.withheld.join(", ")
        ))
    }
}

/// The last commit of the master at an address; `None` if there is no object, or one that is not a master.
///
/// # Errors
/// `Corrupt` or `Unsupported` for an HDF5 file that cannot be read, and may be a master; `Io`.
pub(crate) fn master_commit(address: &str, options: &StorageOptions) -> Result<Option<CommitName>> {
    let opened = match RemoteFile::open_unindexed(address, options) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let attributes = root_attributes(Arc::new(opened), &Limits::default()).map_err(|error| error.in_file(shown_address(address)))?;
    Ok(attributes.and_then(|attributes| commit_named_in(&attributes)))
}

/// As [`master_commit`]; a file that cannot be read is not a master that a plan has written.
pub(super) fn commit_if_master(address: &str, options: &StorageOptions) -> Result<Option<CommitName>> {
    match master_commit(address, options) {
        Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported) => Ok(None),
        found => found,
    }
}

/// The record in the folder of a write; `None` if there is none.
///
/// # Errors
/// `Corrupt` for another object; `Io`.
pub(crate) fn record_in(folder: &str, options: &StorageOptions, id: &UniqueName) -> Result<Option<Record>> {
    let address = format!("{folder}/{RECORD}");
    let content = read_object(&address, options, MAX_RECORD_BYTES)?;
    content.map(|content| parse_record(&content, id, &shown_address(&address))).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_stay_in_the_process() -> Result<()> {
        let pairs = [
            ("aws_endpoint", "http://127.0.0.1:9"),
            ("region", "r"),
            ("aws_secret_access_key", "hidden-1"),
            ("sas_token", "hidden-2"),
            ("service_account", "hidden-3"),
            ("endpoint_url", "http://me:hidden-4@h"),
        ];
        let options = StorageOptions::new(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let place = StorePlace::new(EntryName::parse("x.h5")?, None, options);
        let text = serde_json::to_string(&place).map_err(|error| Error::internal(error.to_string()))?;
        assert!(!text.contains("hidden") && text.contains("http://127.0.0.1:9"), "{text}");
        assert!(!format!("{place:?}").contains("hidden"));
        let there: StorePlace = serde_json::from_str(&text).map_err(|error| Error::internal(error.to_string()))?;
        assert_eq!(there.withheld, ["aws_secret_access_key", "endpoint_url", "sas_token", "service_account"]);
        let refused = || Error::new(ErrorKind::Io, "access is denied");
        assert!(there.explained(refused()).to_string().contains("without aws_secret_access_key"));
        assert!(!place.explained(refused()).to_string().contains("without"));
        Ok(())
    }
}
