//! The groups that a request matches: the steps of a query. The text that wildcards and regular expressions match becomes
//! columns.

use arrow_array::ArrayRef;
use hyperslab_array::shown::shown;
use hyperslab_array::{Error, Result};
use hyperslab_reader::File;
use hyperslab_scan::{capture_column, column_names, expand, file_column_names, is_literal, matched_file, natural};
use regex::Regex;

use super::QueryRequest;

/// A group (or a compound dataset) of a file, and the text that was matched.
#[derive(Clone)]
pub(super) struct MatchedGroup {
    pub file: File,
    pub path: String,
    pub captures: Vec<(String, ArrayRef)>,
}

/// Matched groups before the types of their captures are known.
struct Untyped<'a> {
    names: Vec<String>,
    groups: Vec<(&'a File, String, Vec<String>)>,
}

/// The steps of a request: files in the given order, paths in natural order (`MatchedGroup#2` before `MatchedGroup#10`).
pub(super) fn matched_groups(files: &[File], request: &QueryRequest) -> Result<Vec<MatchedGroup>> {
    let pattern = Pattern::new(files, &request.group)?;
    let mut found = Untyped { names: request.file_pattern.as_deref().map(file_column_names).unwrap_or_default(), groups: Vec::new() };
    found.names.extend(request.file_captures.iter().map(|(name, _)| name.clone()));
    for name in pattern.names() {
        let taken = found.names.contains(&name);
        found.names.push(if taken { format!("{name}_path") } else { name });
    }
    for (index, file) in files.iter().enumerate() {
        let mut captured = match request.file_pattern.as_deref() {
            Some(pattern) => matched_file(pattern, &file.name())
                .ok_or_else(|| Error::internal(format!("{} does not match the pattern {pattern} that it came from", file.name())))?,
            None => Vec::new(),
        };
        for (name, values) in &request.file_captures {
            captured.push(values.get(index).cloned().ok_or_else(|| Error::internal(format!("no value of {name} for {}", file.name())))?);
        }
        let mut paths = pattern.paths(file)?;
        paths.sort_by(|a, b| natural(&a.0, &b.0));
        found.groups.extend(paths.into_iter().map(|(path, matched)| (file, path, [captured.clone(), matched].concat())));
    }
    if found.groups.is_empty() {
        return Err(Error::not_found(format!("no group matches {}", shown(&request.group))));
    }
    found.typed()
}

impl Untyped<'_> {
    fn typed(self) -> Result<Vec<MatchedGroup>> {
        let missing = || Error::internal("a wildcard without a match");
        let values = |column: usize| self.groups.iter().map(|group| group.2.get(column).cloned().ok_or_else(missing)).collect::<Result<Vec<_>>>();
        let columns: Vec<Vec<ArrayRef>> = (0..self.names.len()).map(|column| Ok(capture_column(&values(column)?, false))).collect::<Result<_>>()?;
        let captures = |index: usize| {
            let named = self.names.iter().zip(&columns);
            named.map(|(name, values)| Ok((name.clone(), values.get(index).cloned().ok_or_else(missing)?))).collect::<Result<Vec<_>>>()
        };
        let groups = self.groups.iter().enumerate();
        groups.map(|(index, (file, path, _))| Ok(MatchedGroup { file: (*file).clone(), path: path.clone(), captures: captures(index)? })).collect()
    }
}

enum Pattern {
    Literal(String),
    Wildcards(String),
    Expression(Regex),
}

impl Pattern {
    fn new(files: &[File], group: &str) -> Result<Self> {
        Ok(match group.strip_prefix("re:") {
            // The expression must match the whole path, as in Python's `fullmatch`.
            Some(expression) => Self::Expression(Regex::new(&format!("^(?:{expression})$")).map_err(|error| {
                Error::invalid_input(format!(
                    "{:?} is not a regular expression: {}",
                    shown(expression),
                    shown(error.to_string().lines().last().unwrap_or_default())
                ))
            })?),
            None if is_literal(files, group) => Self::Literal(group.to_owned()),
            None => Self::Wildcards(group.to_owned()),
        })
    }

    fn names(&self) -> Vec<String> {
        match self {
            Self::Literal(_) => Vec::new(),
            Self::Wildcards(group) => column_names(group),
            Self::Expression(expression) => {
                let mut unnamed = 0;
                let groups = expression.capture_names().skip(1);
                groups
                    .map(|name| match name {
                        Some(name) => name.to_owned(),
                        None => {
                            unnamed += 1;
                            if unnamed == 1 { "part".to_owned() } else { format!("part_{unnamed}") }
                        }
                    })
                    .collect()
            }
        }
    }

    fn paths(&self, file: &File) -> Result<Vec<(String, Vec<String>)>> {
        match self {
            Self::Literal(group) => Ok(vec![(group.clone(), Vec::new())]),
            Self::Wildcards(group) => expand(file, group),
            Self::Expression(expression) => {
                let mut matched = Vec::new();
                for walked in file.walk() {
                    // An object that cannot be read may be a group that would match.
                    let Some(captures) = expression.captures(&walked.path) else { continue };
                    if walked.object?.is_group() {
                        let values = captures.iter().skip(1).map(|part| part.map_or_else(String::new, |part| part.as_str().to_owned()));
                        matched.push((walked.path.clone(), values.collect()));
                    }
                }
                Ok(matched)
            }
        }
    }
}
