//! Profiles of AWS: what `~/.aws/config` and `~/.aws/credentials` say of S3, in the form of the AWS SDKs' shared files
//! (<https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html>).

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::io::Read;
use std::path::PathBuf;

use hyperslab_array::{Error, Result};
use object_store::aws::AmazonS3ConfigKey as Key;

/// The option that names a profile.
pub(super) const OPTION: &str = "profile";
const VARIABLE: &str = "AWS_PROFILE";
/// Maximum bytes of a configuration or credentials file.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// What one of these says about credentials is not done here: a command is run, or another service asked.
const OTHER_WAYS: [&str; 5] = ["sso_session", "sso_start_url", "credential_process", "role_arn", "web_identity_token_file"];
const CREDENTIALS: [(&str, Key); 3] =
    [("aws_access_key_id", Key::AccessKeyId), ("aws_secret_access_key", Key::SecretAccessKey), ("aws_session_token", Key::Token)];
const PLACE: [(&str, Key); 2] = [("region", Key::Region), ("endpoint_url", Key::Endpoint)];

/// A profile that was chosen.
pub(super) struct AwsProfile {
    name: String,
    /// By name. Nothing of it is shown: values may be credentials.
    settings: BTreeMap<String, String>,
}

impl AwsProfile {
    /// The profile of this name, else the one that `AWS_PROFILE` names, else `default`, which need not exist.
    ///
    /// # Errors
    /// `InvalidInput` if there is no profile of a name that was given; `Io` if a file cannot be read.
    pub fn read(named: Option<&str>) -> Result<Option<Self>> {
        let variable = std::env::var(VARIABLE).ok().filter(|name| !name.is_empty());
        let chosen = named.map(str::to_owned).or(variable);
        let name = chosen.as_deref().unwrap_or("default");
        let (config, credentials) = (text(config_path())?, text(credentials_path())?);
        match find(name, &config, &credentials) {
            Some(settings) => Ok(Some(Self { name: name.to_owned(), settings })),
            None if chosen.is_none() => Ok(None),
            None => Err(Error::invalid_input(format!("there is no profile '{name}' in ~/.aws/config or ~/.aws/credentials"))),
        }
    }

    /// Region and endpoint.
    pub fn place(&self) -> impl Iterator<Item = (Key, &str)> {
        self.values(&PLACE)
    }

    /// The access key and what belongs to it; nothing if the profile has none.
    ///
    /// # Errors
    /// `Unsupported` if the profile has its credentials from a command, another role or a web page.
    pub fn credentials(&self) -> Result<impl Iterator<Item = (Key, &str)>> {
        if !self.settings.contains_key("aws_access_key_id")
            && let Some(way) = OTHER_WAYS.iter().find(|way| self.settings.contains_key(**way))
        {
            let (name, export) = (&self.name, format!("aws configure export-credentials --profile {} --format env", self.name));
            return Err(Error::unsupported(format!("the AWS profile '{name}' has its credentials by {way}: set what '{export}' prints")));
        }
        Ok(self.values(&CREDENTIALS))
    }

    fn values<'a>(&'a self, keys: &'a [(&str, Key)]) -> impl Iterator<Item = (Key, &'a str)> {
        keys.iter().filter_map(|(name, key)| Some((*key, self.settings.get(*name)?.as_str())))
    }
}

/// Distinguishes states of the files, so that a store that was built from other credentials is not used again.
pub(super) fn hash_files(hasher: &mut impl Hasher) {
    for path in [config_path(), credentials_path()].into_iter().flatten() {
        let state = std::fs::metadata(path).ok().map(|found| (found.len(), found.modified().ok()));
        state.hash(hasher);
    }
}

fn path_of(variable: &str, file: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".aws").join(file)))
}

fn config_path() -> Option<PathBuf> {
    path_of("AWS_CONFIG_FILE", "config")
}

fn credentials_path() -> Option<PathBuf> {
    path_of("AWS_SHARED_CREDENTIALS_FILE", "credentials")
}

/// The text of a file; empty if there is none.
fn text(path: Option<PathBuf>) -> Result<String> {
    let Some(path) = path else { return Ok(String::new()) };
    let mut text = String::new();
    match std::fs::File::open(&path).and_then(|file| file.take(MAX_FILE_BYTES).read_to_string(&mut text)) {
        Ok(_) => Ok(text),
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => Ok(String::new()),
        Err(error) => Err(Error::from(error).in_file(path.display().to_string())),
    }
}

/// The settings of a profile: the credentials file takes precedence over the configuration.
fn find(name: &str, config: &str, credentials: &str) -> Option<BTreeMap<String, String>> {
    let in_config = |title: &str| match title.strip_prefix("profile") {
        Some(rest) if rest.starts_with(char::is_whitespace) => rest.trim().trim_matches(['"', '\'']) == name,
        _ => name == "default" && title == name,
    };
    let of_config = section(config, in_config);
    let of_credentials = section(credentials, |title| title == name);
    if of_config.is_none() && of_credentials.is_none() {
        return None;
    }
    let mut settings = of_config.unwrap_or_default();
    settings.extend(of_credentials.unwrap_or_default());
    Some(settings)
}

/// The `name = value` lines of the sections whose title is wanted. Indented lines belong to a setting that has parts; none of ours has.
fn section(text: &str, is_wanted: impl Fn(&str) -> bool) -> Option<BTreeMap<String, String>> {
    let mut found: Option<BTreeMap<String, String>> = None;
    let mut is_inside = false;
    for line in text.lines() {
        if let Some(title) = line.trim_end().strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            is_inside = is_wanted(title.trim());
            if is_inside {
                found.get_or_insert_default();
            }
        } else if is_inside
            && !line.starts_with([' ', '\t', '#', ';'])
            && let Some((name, value)) = line.split_once('=')
            && let Some(settings) = &mut found
        {
            settings.insert(name.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "\
# of this machine
[default]
region = eu-central-1

[profile archive]
region=us-west-2
endpoint_url = http://127.0.0.1:9000
s3 =
    region = nowhere
    max_concurrent_requests = 20
[profile \"with blank\"]
sso_session = work
[profilex]
region = x
";
    const KEYS: &str = "[default]\naws_access_key_id = A\naws_secret_access_key = S\n[archive]\r\nAWS_ACCESS_KEY_ID=B\r\naws_secret_access_key=a=b\r\n";

    fn profile(name: &str) -> Option<AwsProfile> {
        find(name, CONFIG, KEYS).map(|settings| AwsProfile { name: name.to_owned(), settings })
    }

    fn values<'a>(found: impl Iterator<Item = (Key, &'a str)>) -> Vec<&'a str> {
        found.map(|(_, value)| value).collect()
    }

    #[test]
    fn both_files_are_read() -> Result<()> {
        let archive = profile("archive").unwrap_or_else(|| unreachable!());
        assert_eq!(values(archive.place()), ["us-west-2", "http://127.0.0.1:9000"]);
        assert_eq!(values(archive.credentials()?), ["B", "a=b"]);
        let default = profile("default").unwrap_or_else(|| unreachable!());
        assert_eq!((values(default.place()), values(default.credentials()?)), (vec!["eu-central-1"], vec!["A", "S"]));
        assert!(profile("profilex").is_none() && profile("x").is_none() && profile("").is_none());
        Ok(())
    }

    #[test]
    fn credentials_that_come_in_other_ways_are_refused() {
        let error = profile("with blank").and_then(|profile| profile.credentials().err().map(|error| error.to_string()));
        assert!(error.is_some_and(|error| error.contains("sso_session") && error.contains("export-credentials")));
    }
}
