//! An object: where it is, which version of it was opened, and how its ranges are requested.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use hyperslab_array::{Error, ErrorKind, Result};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey as Key, S3CopyIfNotExists};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{ClientConfigKey, GetOptions, GetRange, RetryConfig};
use url::Url;

use super::address::{scheme, shown_address};
use super::answer;
use super::aws_profile::{self, AwsProfile};
use super::cache_settings;
use super::counts;
use super::engine::{Engine, SharedClients, engine};
use super::located::{Located, Store};
use super::opener::RemoteOpener;
use super::options::StorageOptions;
use super::range_reader::RangeReader;
use super::version::Version;
use crate::PerProcess;

/// How often a request is repeated, besides what the store's client repeats by itself.
const MAX_BROKEN_ANSWERS: u32 = 3;
/// Most repetitions of one request by the store's client, and how long it tries, unless the options say otherwise.
const MAX_RETRIES: usize = 5;
const RETRY_SECONDS: u64 = 60;

/// Where an object's bytes come from.
pub(super) enum Origin {
    Store {
        address: String,
        options: StorageOptions,
        located: PerProcess<OnceLock<Located>>,
    },
    Reader(Arc<dyn RangeReader>),
    /// What an opener opened at an address.
    Opened {
        address: String,
        opener: Arc<dyn RemoteOpener>,
        reader: Arc<dyn RangeReader>,
    },
}

/// An opened object.
pub(super) struct Object {
    pub origin: Origin,
    /// Name for messages.
    pub name: String,
    pub length: u64,
    pub version: Version,
    /// Whether the store has answered since it was opened: with a chunk index, nothing is asked before the first value is read.
    pub is_confirmed: AtomicBool,
    /// The chunk index in the cache folder that it was opened with.
    pub own_index: Option<PathBuf>,
}

/// The first bytes of an object, and what its store says of it.
pub(super) struct Head {
    pub bytes: Bytes,
    pub length: u64,
    pub version: Version,
}

impl Origin {
    pub fn of_address(address: &str, options: &StorageOptions) -> Self {
        Self::Store { address: address.to_owned(), options: options.clone(), located: PerProcess::new(OnceLock::new()) }
    }

    /// What reads ranges; `None` for a store.
    pub fn reader(&self) -> Option<&Arc<dyn RangeReader>> {
        match self {
            Self::Store { .. } => None,
            Self::Reader(reader) | Self::Opened { reader, .. } => Some(reader),
        }
    }

    /// The store of this process, and the path in it; `None` for a reader.
    pub fn located(&self, engine: &Engine) -> Result<Option<Located>> {
        let Self::Store { address, options, located } = self else { return Ok(None) };
        let located = located.get(OnceLock::new);
        if let Some(known) = located.get() {
            return Ok(Some(known.clone()));
        }
        let made = locate(engine, address, options)?;
        Ok(Some(located.get_or_init(|| made).clone()))
    }
}

impl Object {
    /// Reads a range of the opened version. Retries transient errors.
    pub async fn get(&self, engine: &Engine, located: &Located, range: Range<u64>) -> Result<Bytes> {
        let failed = |error: Error| error.in_file(&self.name).at_offset(range.start);
        let mut tries = 0;
        loop {
            tries += 1;
            let outcome = self.get_once(engine, located, &range).await;
            match outcome {
                Err(error) if error.retryable() && tries < MAX_BROKEN_ANSWERS => {
                    tokio::time::sleep(std::time::Duration::from_millis(50 * u64::from(tries) + jitter_milliseconds())).await;
                }
                Err(error) => return Err(failed(self.refused(error))),
                Ok(bytes) => {
                    self.is_confirmed.store(true, Ordering::Relaxed);
                    return Ok(bytes);
                }
            }
        }
    }

    /// Says that a chunk index is out of date. That of the cache folder is removed.
    fn refused(&self, error: Error) -> Error {
        if self.is_confirmed.load(Ordering::Relaxed) || !matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound) {
            return error;
        }
        if let Some(index) = &self.own_index {
            let _ = std::fs::remove_file(index);
        }
        match (error.kind(), &self.own_index) {
            (ErrorKind::NotFound, _) => error,
            (_, Some(_)) => Error::new(ErrorKind::Conflict, "the object has changed since its chunk index was made, which is removed now: open it again"),
            (_, None) => {
                Error::new(ErrorKind::Conflict, "the object has changed since its chunk index was made: make it again, or open it with chunk_index=False")
            }
        }
    }

    async fn get_once(&self, engine: &Engine, located: &Located, range: &Range<u64>) -> Result<Bytes> {
        let _permit = engine.requests.acquire().await.map_err(|_| Error::internal("no requests are allowed"))?;
        let mut options = GetOptions { range: Some(GetRange::Bounded(range.clone())), if_match: self.version.strong_etag(), ..GetOptions::default() };
        if options.if_match.is_none() {
            options.if_unmodified_since = self.version.modified;
        }
        let answer = located.store.get_opts(&located.path, options).await.map_err(|error| answer::error(&error))?;
        if answer.meta.size != self.length || self.version.is_other(&Version::of(&answer.meta)) {
            return Err(answer::changed());
        }
        let bytes = answer.bytes().await.map_err(|error| answer::error(&error))?;
        counts::add(&counts::FETCHED, bytes.len() as u64);
        answer::check_length(&bytes, range.end - range.start)?;
        Ok(bytes)
    }
}

/// The first `max` bytes of an object. The answer says how long it is, and which version it is.
pub(super) async fn get_head(engine: &Engine, located: &Located, max: u64) -> Result<Head> {
    let mut tries = 0;
    loop {
        tries += 1;
        match get_head_once(engine, located, max).await {
            Err(error) if error.retryable() && tries < MAX_BROKEN_ANSWERS => {
                tokio::time::sleep(std::time::Duration::from_millis(50 * u64::from(tries) + jitter_milliseconds())).await;
            }
            outcome => return outcome,
        }
    }
}

async fn get_head_once(engine: &Engine, located: &Located, max: u64) -> Result<Head> {
    let _permit = engine.requests.acquire().await.map_err(|_| Error::internal("no requests are allowed"))?;
    let options = GetOptions { range: Some(GetRange::Bounded(0..max)), ..GetOptions::default() };
    match located.store.get_opts(&located.path, options).await {
        Ok(answer) => {
            let (length, version) = (answer.meta.size, Version::of(&answer.meta));
            let bytes = answer.bytes().await.map_err(|error| answer::error(&error))?;
            counts::add(&counts::FETCHED, bytes.len() as u64);
            answer::check_length(&bytes, length.min(max))?;
            Ok(Head { bytes, length, version })
        }
        // An empty object has no first bytes.
        Err(error) if answer::is_unsatisfiable(&error) => {
            let options = GetOptions { head: true, ..GetOptions::default() };
            let answer = located.store.get_opts(&located.path, options).await.map_err(|error| answer::error(&error))?;
            if answer.meta.size > 0 {
                return Err(answer::error(&error));
            }
            Ok(Head { bytes: Bytes::new(), length: 0, version: Version::of(&answer.meta) })
        }
        Err(error) => Err(answer::error(&error)),
    }
}

/// Between 0 and 50, different for requests that failed together.
fn jitter_milliseconds() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| u64::from(since.subsec_nanos()) / 1000 % 50)
}

/// The store of an address, and the path in it.
pub(super) fn locate(engine: &Engine, address: &str, options: &StorageOptions) -> Result<Located> {
    let invalid = |why: String| Error::invalid_input(format!("this is not an address of an object: {why}")).in_file(shown_address(address));
    let url = Url::parse(address).map_err(|error| invalid(error.to_string()))?;
    let identity = options.identity();
    let http = matches!(url.scheme(), "http" | "https");
    if http {
        // The whole address is the base, so that its query and its spelling stay as they are.
        return engine.store((address.to_owned(), identity), || {
            Ok(Located { store: http_store(address, options, identity)?, parts: None, path: Path::default(), server: Arc::default() })
        });
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(invalid("write '?' in a name as %3F and '#' as %23".into()));
    }
    let path = Path::from_url_path(url.path()).map_err(|error| invalid(error.to_string()))?;
    let user = if url.username().is_empty() { String::new() } else { format!("{}@", url.username()) };
    let bucket = format!("{}://{user}{}", url.scheme(), url.host_str().unwrap_or_default());
    let located = engine.store((bucket.clone(), identity), || bucket_store(&bucket, options, identity))?;
    Ok(Located { path, ..located })
}

fn retry(options: &StorageOptions) -> Result<RetryConfig> {
    let mut retry = RetryConfig { max_retries: MAX_RETRIES, retry_timeout: std::time::Duration::from_secs(RETRY_SECONDS), ..RetryConfig::default() };
    for (name, value) in options.iter() {
        let number = || value.parse().map_err(|_| Error::invalid_input(format!("storage option {name}: give a whole number")));
        match name {
            "max_retries" => retry.max_retries = usize::try_from(number()?).unwrap_or(usize::MAX),
            "retry_timeout" => retry.retry_timeout = std::time::Duration::from_secs(number()?),
            _ => {}
        }
    }
    Ok(retry)
}

/// Passes the options to a builder of stores, except the options of [`retry`] and the name of a profile.
fn given<B, K: std::str::FromStr>(kind: &str, options: &StorageOptions, mut builder: B, set: impl Fn(B, K, &str) -> B) -> Result<B> {
    let is_elsewhere =
        |name: &str| matches!(name, "max_retries" | "retry_timeout") || cache_settings::OPTIONS.contains(&name) || kind == "s3" && name == aws_profile::OPTION;
    for (name, value) in options.iter().filter(|(name, _)| !is_elsewhere(name)) {
        // As in s3fs and gcsfs.
        let name = if name == "anon" { "skip_signature" } else { name };
        let key = name.parse().map_err(|_| Error::invalid_input(format!("'{name}' is not a storage option of {kind} addresses")))?;
        builder = set(builder, key, value);
    }
    Ok(builder)
}

fn failed(error: object_store::Error) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("the storage options do not fit together: {}", answer::words(&error)))
}

fn http_store(address: &str, options: &StorageOptions, identity: u64) -> Result<Store> {
    // An explicit http:// is intended.
    let builder = HttpBuilder::new().with_url(address).with_retry(retry(options)?).with_http_connector(SharedClients { identity });
    let builder = builder.with_config(ClientConfigKey::AllowHttp, "true");
    let builder = given("http", options, builder, |builder, key, value| builder.with_config(key, value))?;
    Ok(Arc::new(builder.build().map_err(failed)?))
}

/// Completes a builder from the environment with what S3 can do, and with a profile of AWS, which comes after environment and options.
fn completed(mut builder: AmazonS3Builder, options: &StorageOptions) -> Result<AmazonS3Builder> {
    let is_given = |builder: &AmazonS3Builder, key: Key| {
        builder.get_config_value(&key).is_some() || options.iter().any(|(name, _)| name.parse::<Key>().is_ok_and(|known| known == key))
    };
    let is_true = |name: &str| options.get(name).is_some_and(|value| value == "true");
    if !is_given(&builder, Key::CopyIfNotExists) {
        builder = builder.with_copy_if_not_exists(S3CopyIfNotExists::Multipart);
    }
    let named = options.get(aws_profile::OPTION);
    let Some(profile) = AwsProfile::read(named)? else { return Ok(builder) };
    for (key, value) in profile.place() {
        if !is_given(&builder, key) {
            // An explicit http:// is intended.
            builder = if key == Key::Endpoint && value.starts_with("http://") { builder.with_allow_http(true) } else { builder };
            builder = builder.with_config(key, value);
        }
    }
    let is_signed = !is_true("skip_signature") && !is_true("anon") && builder.get_config_value(&Key::SkipSignature).is_none_or(|value| value != "true");
    // Keys belong together, so keys of a profile are never mixed with others. A profile that an option names comes before the environment.
    let has_keys = options.iter().any(|(name, _)| name.parse::<Key>().is_ok_and(|key| key == Key::AccessKeyId))
        || named.is_none() && builder.get_config_value(&Key::AccessKeyId).is_some();
    if is_signed && !has_keys {
        for (key, value) in profile.credentials()? {
            builder = builder.with_config(key, value);
        }
    }
    Ok(builder)
}

/// Defines how the stores of one cloud are built. `$server` are the settings that name the server.
macro_rules! build {
    ($builder:ty, $kind:literal, $bucket:expr, $options:expr, $identity:expr, $server:expr) => {
        build!($builder, $kind, $bucket, $options, $identity, $server, |builder, _| Ok::<_, Error>(builder))
    };
    ($builder:ty, $kind:literal, $bucket:expr, $options:expr, $identity:expr, $server:expr, $complete:expr) => {{
        let connector = SharedClients { identity: $identity };
        let builder = <$builder>::from_env().with_url($bucket).with_retry(retry($options)?).with_http_connector(connector);
        let builder = given($kind, $options, $complete(builder, $options)?, |builder, key, value| builder.with_config(key, value))?;
        let server: Vec<String> = $server.iter().filter_map(|key| builder.get_config_value(key)).collect();
        let store = Arc::new(builder.build().map_err(failed)?);
        Located { store: store.clone(), parts: Some(store), path: Path::default(), server: server.join(" ").into() }
    }};
}

/// The store of a bucket.
fn bucket_store(bucket: &str, options: &StorageOptions, identity: u64) -> Result<Located> {
    Ok(match scheme(bucket) {
        Some("s3" | "s3a") => build!(AmazonS3Builder, "s3", bucket, options, identity, [Key::Endpoint], completed),
        Some("gs") => build!(GoogleCloudStorageBuilder, "gs", bucket, options, identity, [GoogleConfigKey::BaseUrl]),
        Some("az" | "azure" | "adl" | "abfs" | "abfss") => {
            let server = [AzureConfigKey::Endpoint, AzureConfigKey::AccountName, AzureConfigKey::UseEmulator];
            build!(MicrosoftAzureBuilder, "az", bucket, options, identity, server)
        }
        other => {
            let other = other.unwrap_or_default();
            return Err(Error::unsupported(format!(
                "addresses of {other}:// are not read: give s3://, gs://, az://, abfs://, http:// or https://, or a file object of fsspec"
            ))
            .in_file(bucket));
        }
    })
}

/// The engine of this process and the store of an object.
pub(super) fn engine_and_store(origin: &Origin) -> Result<(&'static Engine, Option<Located>)> {
    let engine = engine()?;
    Ok((engine, origin.located(engine)?))
}
