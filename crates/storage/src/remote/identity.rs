//! Identifies an object and its version on disk, without anything that grants access.

use std::hash::Hasher;

use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128, SipHasher13};

use super::address::shown_address;
use super::version::Version;
use crate::EntryName;

/// Parameters of signed addresses. They change from signature to signature, and never choose the object.
const SIGNATURES: [&str; 10] =
    ["signature", "expires", "key-pair-id", "policy", "awsaccesskeyid", "googleaccessid", "ossaccesskeyid", "access_token", "token", "sig"];
/// Parameters of Azure's signatures, which are others' unless there is a `sig`.
const AZURE_SIGNATURES: [&str; 17] = ["se", "sp", "spr", "sr", "st", "sv", "ss", "srt", "sip", "si", "skoid", "sktid", "skt", "ske", "sks", "skv", "sdd"];

/// Where an object is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    /// The address without query, user and password.
    address: String,
    /// What the query, without its signature, hashes to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    query: Option<String>,
    /// The server of the store, if it is not the cloud's own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    server: String,
}

/// A version of an object. Bytes of two openings with equal versions are the same bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ObjectVersion {
    #[serde(flatten)]
    pub place: Place,
    /// The strong entity tag.
    etag: String,
    /// Length in bytes.
    pub bytes: u64,
}

impl Place {
    pub fn of(address: &str, server: &str) -> Self {
        Self { address: shown_address(address).into_owned(), query: query_of(address), server: server.to_owned() }
    }
    /// The place of a local file, by its path without symbolic links.
    pub fn of_local(path: &str) -> Self {
        Self { address: format!("file://{path}"), query: None, server: String::new() }
    }
    /// The name of a file or folder for it.
    pub fn name(&self) -> EntryName {
        name_of(&serde_json::to_string(self).unwrap_or_default())
    }
    /// For messages.
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl ObjectVersion {
    /// `None` if the store gives no strong entity tag: equal bytes are not certain then.
    pub fn of(place: &Place, version: &Version, bytes: u64) -> Option<Self> {
        Some(Self { place: place.clone(), etag: version.strong_etag()?, bytes })
    }
    /// Its text, which blocks on disk hold.
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
    pub fn name(&self) -> EntryName {
        name_of(&self.text())
    }
    pub fn etag(&self) -> &str {
        &self.etag
    }
}

/// What chooses an object in the query of an HTTP address.
fn query_of(address: &str) -> Option<String> {
    if !address.starts_with("http") {
        return None;
    }
    let query = address.split_once('?')?.1.split('#').next().unwrap_or_default();
    let name = |parameter: &str| parameter.split('=').next().unwrap_or_default().to_ascii_lowercase();
    let is_azure = query.split('&').any(|parameter| name(parameter) == "sig");
    let is_signature = |parameter: &&str| {
        let name = name(parameter);
        ["x-amz-", "x-goog-", "x-oss-"].iter().any(|prefix| name.starts_with(prefix))
            || SIGNATURES.contains(&name.as_str())
            || is_azure && AZURE_SIGNATURES.contains(&name.as_str())
    };
    let chosen: Vec<&str> = query.split('&').filter(|parameter| !parameter.is_empty() && !is_signature(parameter)).collect();
    (!chosen.is_empty()).then(|| hash_of(&chosen.join("&")))
}

fn hash_of(text: &str) -> String {
    let mut hasher = SipHasher13::new();
    hasher.write(text.as_bytes());
    let found = hasher.finish128();
    format!("{:016x}{:016x}", found.h1, found.h2)
}

fn name_of(text: &str) -> EntryName {
    EntryName::of_ours(&hash_of(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_do_not_choose_an_object_and_other_parameters_do() {
        let of = |address: &str| Place::of(address, "");
        let plain = of("https://h/x.nc");
        assert_eq!(plain, of("https://me:secret@h/x.nc?X-Amz-Signature=ab&X-Amz-Date=1#f"));
        assert_eq!(plain, of("https://h/x.nc?sv=2022&sr=b&sig=abc"));
        assert_ne!(plain, of("https://h/x.nc?sv=2022"));
        assert_ne!(of("https://h/get?id=1"), of("https://h/get?id=2"));
        assert_ne!(Place::of("s3://b/k", "http://a"), Place::of("s3://b/k", "http://b"));
        let text = serde_json::to_string(&of("https://me:secret@h/x?id=hunter2&sig=verysecret")).unwrap_or_default();
        assert!(!text.contains("secret") && !text.contains("hunter2") && text.contains("https://h/x"), "{text}");
        assert_eq!(plain.name().len(), 32);
    }

    #[test]
    fn versions_need_a_strong_tag() {
        let version = |etag: &str| Version { etag: Some(etag.to_owned()), modified: None };
        let place = Place::of("s3://b/k", "");
        assert!(ObjectVersion::of(&place, &version("W/\"1\""), 5).is_none());
        let first = ObjectVersion::of(&place, &version("\"1\""), 5);
        assert!(first.is_some());
        assert_ne!(first, ObjectVersion::of(&place, &version("\"2\""), 5));
        assert_ne!(first, ObjectVersion::of(&place, &version("\"1\""), 6));
    }
}
