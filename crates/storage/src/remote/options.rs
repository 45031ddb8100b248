//! Options of stores, as users of the crate `object_store` know them.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::aws_profile;

/// Options of a store: its endpoint, region, credentials and timeouts, by name. What is not given comes from the environment.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct StorageOptions(Vec<(String, String)>);

impl fmt::Debug for StorageOptions {
    /// Names only: values may be credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl StorageOptions {
    /// Options by name, such as `endpoint`. Names are compared without case.
    pub fn new(options: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut options: Vec<_> = options.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
        options.sort();
        Self(options)
    }

    /// Names and values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// For other objects: without the chunk index of one.
    pub(super) fn of_others(&self) -> Self {
        let is_one = |name: &str, value: &str| name == "chunk_index" && !matches!(value, "" | "auto" | "true" | "none" | "false" | "beside");
        Self(self.0.iter().filter(|(name, value)| !is_one(name, value)).cloned().collect())
    }

    /// The value of an option.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Identifies these options, and the environment variables and files that complete them, within this process.
    pub(super) fn identity(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        let is_used = |name: &str| ["AWS_", "AZURE_", "GOOGLE_"].iter().any(|prefix| name.starts_with(prefix));
        let mut variables: Vec<_> = std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_used)).collect();
        variables.sort();
        variables.hash(&mut hasher);
        aws_profile::hash_files(&mut hasher);
        hasher.finish()
    }
}
