//! Profile: settings that were measured on this machine, in force where a caller gives none.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use hyperslab_array::{Error, Result};
use serde::Deserialize;

/// Environment variable with the path of the profile; empty for none.
const VARIABLE: &str = "HYPERSLAB_PROFILE";
/// Version of the file's layout.
const FORMAT: u32 = 1;
/// Maximum bytes of a profile; a longer file is not read.
const MAX_BYTES: u64 = 16 << 20;

/// Settings of a profile; `None` is the built-in default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ProfileSettings {
    /// Threads that decode and encode.
    pub threads: Option<usize>,
    /// Maximum bytes of one read of stored chunks.
    pub transfer_bytes: Option<u64>,
    /// Bytes of a chunk whose shape is chosen.
    pub chunk_bytes: Option<u64>,
    /// Multiple at which values begin in new files.
    pub alignment_bytes: Option<u64>,
    /// Tasks of a parallel write that share a subfile.
    pub subfile_factor: Option<u64>,
}

/// The profile in force.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Profile {
    /// Settings; all `None` if there is no profile, or if it is not used.
    pub settings: ProfileSettings,
    /// The file that was looked for or read.
    pub path: Option<PathBuf>,
    /// Whether the settings come from the file.
    pub is_used: bool,
    /// Why the file is not used.
    pub problem: Option<String>,
}

#[derive(Deserialize)]
struct Written {
    format: u32,
    version: String,
    machine: String,
    settings: ProfileSettings,
}

/// The profile of this process, read once: the file that `HYPERSLAB_PROFILE` names, or `hyperslab/profile.json` in the folder of
/// the user's configuration (`XDG_CONFIG_HOME`, `~/.config`).
pub fn profile() -> &'static Profile {
    static PROFILE: OnceLock<Profile> = OnceLock::new();
    PROFILE.get_or_init(|| {
        let named = std::env::var_os(VARIABLE);
        let is_named = named.is_some();
        let Some(path) = named.map(PathBuf::from).or_else(default_profile_path).filter(|path| !path.as_os_str().is_empty()) else { return Profile::default() };
        Profile::read(&path, is_named)
    })
}

/// Where a profile is looked for if `HYPERSLAB_PROFILE` is not set.
pub fn default_profile_path() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let configuration = folder("XDG_CONFIG_HOME").or_else(|| folder("HOME").map(|home| home.join(".config")))?;
    Some(configuration.join("hyperslab").join("profile.json"))
}

/// What a profile must have been measured on: processor, number of cores that this process may use, system.
pub fn machine() -> String {
    let information = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = information.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name.trim().to_owned()));
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!("{} {} {}, {cores} cores", std::env::consts::OS, std::env::consts::ARCH, model.unwrap_or_default())
}

impl Profile {
    /// Reads a profile. One that cannot be used has a `problem` and no settings; a missing one only if it was named.
    pub fn read(path: &Path, is_named: bool) -> Self {
        let found = Self { path: Some(path.to_path_buf()), ..Self::default() };
        match read(path) {
            Ok(settings) => Self { settings, is_used: true, ..found },
            Err(None) if !is_named => found,
            Err(None) => Self { problem: Some(format!("the profile {} does not exist: the defaults are in force", path.display())), ..found },
            Err(Some(error)) => {
                let problem = format!("the profile {} is not used: {}; the defaults are in force", path.display(), error.message());
                Self { problem: Some(problem), ..found }
            }
        }
    }
}

/// The settings of a file; `None` if there is none.
fn read(path: &Path) -> Result<ProfileSettings, Option<Error>> {
    let length = match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => metadata.len(),
        Ok(_) => return Err(Some(Error::invalid_input("it is not a regular file"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(None),
        Err(error) => return Err(Some(Error::from(error))),
    };
    if length > MAX_BYTES {
        return Err(Some(Error::corrupt(format!("it has {length} bytes"))));
    }
    let text = std::fs::read(path).map_err(|error| Some(Error::from(error)))?;
    parse(&text).map_err(Some)
}

fn parse(text: &[u8]) -> Result<ProfileSettings> {
    let written: Written = serde_json::from_slice(text).map_err(|error| Error::corrupt(format!("it is damaged ({error})")))?;
    if written.format != FORMAT || written.version != env!("CARGO_PKG_VERSION") {
        let (format, version) = (written.format, written.version);
        return Err(Error::invalid_input(format!(
            "it is of version {version} (format {format}), this is {} (format {FORMAT}): run hyperslab tune again",
            env!("CARGO_PKG_VERSION")
        )));
    }
    let here = machine();
    if written.machine != here {
        return Err(Error::invalid_input(format!("it was measured on another machine ({}; this is {here})", written.machine)));
    }
    written.settings.checked()
}

impl ProfileSettings {
    /// The settings, if each is possible.
    fn checked(self) -> Result<Self> {
        let numbers = [
            ("threads", self.threads.map(|count| count as u64), 1, 4096),
            ("transfer_bytes", self.transfer_bytes, 64 << 10, 1 << 30),
            ("chunk_bytes", self.chunk_bytes, 4 << 10, 1 << 30),
            ("alignment_bytes", self.alignment_bytes, 512, 64 << 20),
            ("subfile_factor", self.subfile_factor, 1, 1 << 20),
        ];
        for (name, value, min, max) in numbers {
            if let Some(value) = value.filter(|value| !(min..=max).contains(value)) {
                return Err(Error::corrupt(format!("its {name} is {value}, outside of {min} to {max}")));
            }
        }
        if let Some(bytes) = self.alignment_bytes.filter(|bytes| !bytes.is_power_of_two()) {
            return Err(Error::corrupt(format!("its alignment_bytes is {bytes}, no power of two")));
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

    fn text(settings: &str) -> String {
        let machine = serde_json::Value::from(machine());
        format!(r#"{{"format": 1, "version": "{}", "machine": {machine}, "settings": {settings}, "measured": []}}"#, env!("CARGO_PKG_VERSION"))
    }

    #[test]
    fn settings_are_used_only_if_all_of_them_are_possible() -> Outcome {
        let found = parse(text(r#"{"threads": 3, "chunk_bytes": 65536}"#).as_bytes())?;
        assert_eq!((found.threads, found.chunk_bytes, found.transfer_bytes), (Some(3), Some(65536), None));
        for wrong in [r#"{"threads": 0}"#, r#"{"alignment_bytes": 3000}"#, r#"{"chunk_bytes": 1}"#, r#"{"unknown": 1}"#, r#"{"threads": -1}"#] {
            assert!(parse(text(wrong).as_bytes()).is_err(), "{wrong}");
        }
        let other = text("{}").replace(env!("CARGO_PKG_VERSION"), "0.0.0");
        assert!(parse(other.as_bytes()).is_err_and(|error| error.message().contains("run hyperslab tune again")));
        let other = text("{}").replace(" cores\"", " other cores\"");
        assert!(parse(other.as_bytes()).is_err_and(|error| error.message().contains("another machine")));
        Ok(())
    }

    #[test]
    fn a_profile_that_cannot_be_used_leaves_the_defaults_and_says_why() -> Outcome {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("profile.json");
        assert_eq!(Profile::read(&path, false).problem, None);
        assert!(Profile::read(&path, true).problem.is_some_and(|problem| problem.contains("does not exist")));
        for damaged in ["", "{", "{}", "\u{0}"] {
            std::fs::write(&path, damaged)?;
            let found = Profile::read(&path, false);
            assert!(!found.is_used && found.settings == ProfileSettings::default());
            assert!(found.problem.is_some_and(|problem| problem.contains("damaged") && problem.ends_with("the defaults are in force")));
        }
        assert!(Profile::read(folder.path(), true).problem.is_some());
        std::fs::write(&path, text(r#"{"threads": 2}"#))?;
        let found = Profile::read(&path, false);
        assert!(found.is_used && found.problem.is_none() && found.settings.threads == Some(2));
        Ok(())
    }
}
