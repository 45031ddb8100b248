//! Resolves a request's path to segments, in every file.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::ArrayRef;
use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_reader::{File, Found, Session};

use super::each::each_of;
use super::model::{dataset_table, models_of, with_tables};
use super::segment::{Segment, capture_column};
use super::shared_columns::SharedColumns;
use super::wildcard;
use crate::request::{Naming, Nonconforming, ScanRequest};

/// A match of a request's path: the file, the path, and the texts that its wildcards matched.
type Match = (File, String, Vec<String>);

/// The segments of a request: files in the given order, matched paths in natural order (`Step#2`
/// before `Step#10`).
pub(crate) fn segments(files: &[File], request: &ScanRequest, cancellation: &Cancellation) -> Result<Vec<Segment>> {
    let model = match &request.naming {
        Naming::Model(model) => Some(model),
        Naming::Any | Naming::Path => None,
    };
    if model.is_some() && request.layout.is_some() {
        return Err(Error::invalid_input("a layout is for the arrays at a path; the tables of data models have their own columns"));
    }
    let literal = model.is_some() || is_literal(files, &request.path);
    let matches = matches_of(files, request, literal)?;
    if matches.is_empty() {
        return Err(Error::not_found(format!("no object matches {}", request.path)));
    }
    let captures = Captures::of(&matches, request, literal);
    let places: Vec<usize> = (0..matches.len()).collect();
    if let Some(model) = model {
        let segments = each_of(first_session(files)?, &places, |index| {
            cancellation.check()?;
            let (file, path, _) = matches.get(*index).ok_or_else(|| Error::internal("a match that is none"))?;
            model_segments(file, model, path, request.decode, &captures.at(*index)?)
        })?;
        return Ok(segments.into_iter().flatten().collect());
    }
    let lengths = files.iter().fold(0u64, |sum, file| sum.saturating_add(file.array_file().storage().len()));
    let (max_columns, columns) = ((lengths / BYTES_PER_COLUMN).saturating_add(MAX_COLUMNS), AtomicU64::new(0));
    let shared = SharedColumns::default();
    let build = |found: &Found, file: &File, path: &str| {
        if columns.load(Ordering::Relaxed) > max_columns {
            return Err(too_many_columns(&request.path, max_columns));
        }
        let mut segment = match dataset_table(file, found, path, request)? {
            Some(segment) => segment,
            None => Segment::of(found, file, path, request.layout, request.decode)?,
        };
        columns.fetch_add(segment.columns.len() as u64, Ordering::Relaxed);
        shared.share(&mut segment.columns);
        Ok(segment)
    };
    if literal {
        // One object of each file: it is found and described in one go, because a file of many is opened again for each.
        let segments = each_of(first_session(files)?, &places, |index| {
            cancellation.check()?;
            let (file, path, _) = matches.get(*index).ok_or_else(|| Error::internal("a match that is none"))?;
            let found = file.find(path).map_err(|error| with_tables(error, file, request))?;
            Ok(build(&found, file, path)?.with_captures(&captures.at(*index)?))
        })?;
        return if columns.into_inner() > max_columns { Err(too_many_columns(&request.path, max_columns)) } else { Ok(segments) };
    }
    let found = each_of(first_session(files)?, &matches, |(file, path, _)| {
        cancellation.check()?;
        file.find_without_suggestions(path)
    })?;
    let firsts = first_places(&matches, &found);
    let built = each_of(first_session(files)?, &places, |index| {
        cancellation.check()?;
        let ((file, path, _), found) = matches.get(*index).zip(found.get(*index)).ok_or_else(|| Error::internal("a match that is none"))?;
        match firsts.get(*index) == Some(index) {
            true => build(found, file, path).map(Some),
            false => Ok(None),
        }
    })?;
    if columns.into_inner() > max_columns {
        return Err(too_many_columns(&request.path, max_columns));
    }
    with_repeated(&matches, &firsts, &built, &captures, request)
}

/// The objects that a request's path matches in each file.
fn matches_of(files: &[File], request: &ScanRequest, literal: bool) -> Result<Vec<Match>> {
    let file_pattern = request.file_pattern.as_deref();
    let compiled = file_pattern.map(wildcard::FilePattern::new);
    let matched = |file: &File| {
        let captured = match &compiled {
            Some(pattern) => pattern.matched(&file.name()).ok_or_else(|| {
                let pattern = file_pattern.unwrap_or_default();
                Error::internal(format!("{} does not match the pattern {pattern} that it came from", file.name()))
            })?,
            None => Vec::new(),
        };
        if literal {
            let is_skipped = request.nonconforming == Nonconforming::Null && !matches!(request.naming, Naming::Model(_)) && !file.exists(&request.path)?;
            return Ok(if is_skipped { Vec::new() } else { vec![(file.clone(), request.path.clone(), captured)] });
        }
        let mut paths = expand(file, &request.path)?;
        paths.sort_by_cached_key(|(path, _)| natural_key(path));
        Ok(paths.into_iter().map(|(path, matched)| (file.clone(), path, [captured.as_slice(), &matched].concat())).collect())
    };
    let matches: Vec<Vec<Match>> = each_of(first_session(files)?, files, matched)?;
    Ok(matches.into_iter().flatten().collect())
}

/// The columns of the texts that wildcards matched.
struct Captures {
    names: Vec<String>,
    /// For each name an array of one element for each match.
    values: Vec<Vec<ArrayRef>>,
}

impl Captures {
    fn of(matches: &[Match], request: &ScanRequest, literal: bool) -> Self {
        let mut names = request.file_pattern.as_deref().map(wildcard::file_column_names).unwrap_or_default();
        for name in if literal { Vec::new() } else { wildcard::column_names(&request.path) } {
            let taken = names.contains(&name);
            names.push(if taken { format!("{name}_path") } else { name });
        }
        let of_wildcard = |(index, name): (usize, &String)| {
            let values: Vec<String> = matches.iter().filter_map(|(_, _, captured)| captured.get(index).cloned()).collect();
            capture_column(&values, request.text_captures.contains(name))
        };
        let values = names.iter().enumerate().map(of_wildcard).collect();
        Self { names, values }
    }

    /// The columns of a match.
    fn at(&self, index: usize) -> Result<Vec<(String, ArrayRef)>> {
        let capture = |(name, values): (&String, &Vec<ArrayRef>)| Some((name.clone(), values.get(index)?.clone()));
        let captures: Option<_> = self.names.iter().zip(&self.values).map(capture).collect();
        captures.ok_or_else(|| Error::internal("a wildcard without a match"))
    }
}

/// For each match the first match of its object: groups that share members have any number of paths.
fn first_places(matches: &[Match], found: &[Found]) -> Vec<usize> {
    let mut firsts = HashMap::new();
    let object = |index: usize| Some((matches.get(index)?.0.opening(), found.get(index)?.file.opening(), found.get(index)?.object));
    (0..matches.len()).map(|index| *firsts.entry(object(index)).or_insert(index)).collect()
}

/// The segments of all matches; segments of an object that was matched before are copies of its first segment.
fn with_repeated(matches: &[Match], firsts: &[usize], built: &[Option<Segment>], captures: &Captures, request: &ScanRequest) -> Result<Vec<Segment>> {
    let mut repeated = 0;
    let segment = |(index, (_, path, _)): (usize, &Match)| -> Result<Segment> {
        let first = firsts.get(index).and_then(|first| built.get(*first)?.as_ref());
        let first = first.ok_or_else(|| Error::internal("an object that was not made a segment"))?;
        if firsts.get(index) != Some(&index) {
            repeated += 1 + first.columns.len();
        }
        if repeated > MAX_REPEATED_COLUMNS {
            return Err(Error::limit_exceeded(format!("{} leads to the same objects over and over: give more of the path", request.path)));
        }
        Ok(Segment { path: path.clone(), ..first.clone() }.with_captures(&captures.at(index)?))
    };
    matches.iter().enumerate().map(segment).collect()
}

/// Columns that the objects of one table may have together beyond those that the length of the files justifies: many objects
/// may have one datatype of thousands of members, and each column takes about a KiB.
pub(super) const MAX_COLUMNS: u64 = 1 << 16;
/// Bytes of the files for each further column.
pub(super) const BYTES_PER_COLUMN: u64 = 64;

fn too_many_columns(path: &str, max: u64) -> Error {
    Error::limit_exceeded(format!("the objects at {path} have more than {max} columns together: give more of the path"))
}

/// Columns of tables that repeat an object matched before, by another path.
const MAX_REPEATED_COLUMNS: usize = 1 << 18;

/// The segments of a data model's table in one file, each with the columns of the file's name.
fn model_segments(file: &File, model: &str, table: &str, decode: bool, captures: &[(String, ArrayRef)]) -> Result<Vec<Segment>> {
    let definitions = models_of(file.session())?.segments(file, model, table).map_err(|error| error.in_file(file.name()))?;
    each_of(file.session(), &definitions, |definition| Ok(definition.open(file, decode)?.with_captures(captures)))
}

fn first_session(files: &[File]) -> Result<&Session> {
    files.first().map(File::session).ok_or_else(|| Error::invalid_input("a scan needs at least one file"))
}

/// The columns for the wildcards of `pattern` in `files`, and whether all of their values are integers. For callers that
/// plan files one by one.
///
/// # Errors
/// `Internal` if a file does not match the pattern.
pub fn file_columns(pattern: &str, files: &[&str]) -> Result<Vec<(String, bool)>> {
    let mut columns: Vec<(String, bool)> = wildcard::file_column_names(pattern).into_iter().map(|name| (name, true)).collect();
    for file in files {
        let captured =
            wildcard::matched_file(pattern, file).ok_or_else(|| Error::internal(format!("{file} does not match the pattern {pattern} that it came from")))?;
        for ((_, integers), text) in columns.iter_mut().zip(captured) {
            *integers &= text.parse::<i64>().is_ok();
        }
    }
    Ok(columns)
}

/// Whether one of the files has an object with exactly this path: then `*` and `?` are not wildcards.
pub fn is_literal(files: &[File], pattern: &str) -> bool {
    !wildcard::has_wildcard(pattern) || files.iter().any(|file| file.exists(pattern).unwrap_or(false))
}

/// Paths that match a pattern, in natural order; only the pattern itself if it is a path.
///
/// # Errors
/// `NotFound` if a group of the path is missing; `Unsupported` if the path policy forbids a linked file.
pub fn expand_path(file: &File, pattern: &str) -> Result<Vec<String>> {
    if is_literal(std::slice::from_ref(file), pattern) {
        return Ok(vec![pattern.to_owned()]);
    }
    let mut paths: Vec<String> = expand(file, pattern)?.into_iter().map(|(path, _)| path).collect();
    paths.sort_by_cached_key(|path| natural_key(path));
    Ok(paths)
}

/// Paths that one pattern may lead through, times their depth, and bytes of these paths.
const MAX_MATCH_STEPS: u64 = 1 << 22;
const MAX_MATCH_BYTES: u64 = 64 << 20;

/// Paths that match a pattern, each with the text that its wildcards matched.
///
/// # Errors
/// As [`expand_path`].
pub fn expand(file: &File, pattern: &str) -> Result<Vec<(String, Vec<String>)>> {
    let mut here: Vec<(String, Vec<String>)> = vec![(String::new(), Vec::new())];
    let (mut steps, mut bytes) = (0u64, 0u64);
    // Groups that share members have any number of paths.
    let mut pay = |path: &str, depth: usize| -> Result<()> {
        steps = steps.saturating_add(1 + depth as u64);
        bytes = bytes.saturating_add(path.len() as u64);
        match steps > MAX_MATCH_STEPS || bytes > MAX_MATCH_BYTES {
            true => Err(Error::limit_exceeded(format!("{pattern} matches too many paths: give more of them"))),
            false => Ok(()),
        }
    };
    for (depth, part) in pattern.split('/').filter(|part| !part.is_empty()).enumerate() {
        let mut next = Vec::new();
        for (path, captured) in here {
            if !wildcard::has_wildcard(part) {
                let below = format!("{path}/{part}");
                // Skip matches that do not have the rest of the path.
                pay(&below, depth)?;
                if file.exists(&below).unwrap_or(false) {
                    next.push((below, captured));
                }
                continue;
            }
            let group = file.find(if path.is_empty() { "/" } else { &path })?;
            for link in &*group.file.links(group.object)? {
                if let Some(matched) = wildcard::matched(part, &link.name) {
                    let below = format!("{path}/{}", link.name);
                    pay(&below, depth)?;
                    next.push((below, [captured.clone(), matched].concat()));
                }
            }
        }
        here = next;
    }
    Ok(here)
}

/// Compares names, with numbers in them by value: `Step#2` before `Step#10`.
pub fn natural(a: &str, b: &str) -> std::cmp::Ordering {
    natural_key(a).cmp(&natural_key(b))
}

/// The words and numbers of a name, which [`natural`] compares.
fn natural_key(text: &str) -> Vec<(String, u128, String)> {
    let mut parts: Vec<(String, u128, String)> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let split = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (words, tail) = rest.split_at(split);
        let digits = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        let (number, tail) = tail.split_at(digits);
        parts.push((words.to_owned(), number.parse().unwrap_or(u128::MAX), number.to_owned()));
        rest = tail;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_among_numbers_makes_a_column_text() -> Result<()> {
        assert_eq!(file_columns("/d/run_*.h5", &["/d/run_1.h5", "/d/run_20.h5"])?, [("run".to_owned(), true)]);
        assert_eq!(file_columns("/d/run_*.h5", &["/d/run_1.h5", "/d/run_b.h5"])?, [("run".to_owned(), false)]);
        assert!(file_columns("/d/run_*.h5", &["/d/other.h5"]).is_err());
        Ok(())
    }

    #[test]
    fn steps_come_in_the_order_of_their_numbers() {
        let mut names = ["/Step#10/x", "/Step#2/x", "/Step#1/x"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["/Step#1/x", "/Step#2/x", "/Step#10/x"]);
    }
}
