//! `NativePlan`: what a table over files is, and the splits that read it. Metadata only.
//!
//! A hundred thousand files are more than a process may hold open, so each is opened, planned alone
//! and closed again, many at a time.

use std::collections::BTreeMap;
use std::path::Path;

use arrow_schema::{DataType, Field, Schema};
use hyperslab::scan::{ChunkCount, Plan, PlanExtent, ScanRequest, SplitPolicy, file_columns};
use hyperslab::{Cancellation, Error, ErrorKind, Result, Session};
use jni::JNIEnv;
use jni::objects::{JClass, JObject, JObjectArray, JString};
use jni::sys::{jlong, jobjectArray, jstring};
use rayon::prelude::*;
use serde_json::json;

use crate::boundary::{at_border, guard, long, text};
use crate::partition::pack;
use crate::request::{FileRequest, Nonconforming, TableRequest};
use crate::spark_type::struct_type;
use crate::table::Table;

/// Bytes of values of a partition where nothing else is said.
const TARGET_BYTES: u64 = 64 << 20;

/// The plannings under way, each of which another thread may cancel.
static PLANNINGS: Table<Cancellation> = Table::new("planning");

/// A handle for a planning that begins, to be given to it and forgotten.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativePlan_begin<'local>(mut env: JNIEnv<'local>, _: JClass<'local>) -> jlong {
    guard(&mut env, |_| Ok(PLANNINGS.insert(Cancellation::new())))
}

/// Makes the planning end with `Cancelled`. One that has ended already is fine.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativePlan_cancel<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, planning: jlong) {
    guard(&mut env, |_| {
        if let Ok(cancellation) = PLANNINGS.find(planning) {
            cancellation.cancel();
        }
        Ok(())
    });
}

/// Forgets the handle.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativePlan_end<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, planning: jlong) {
    guard(&mut env, |_| PLANNINGS.remove(planning).map(drop));
}

/// The table: `{"schema": …, "rows": …, "valueBytes": …, "exact": …, "chunks": …, "chunksLeft": …, "skipped": […]}`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativePlan_describe<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    planning: jlong,
    request: JString<'local>,
) -> jstring {
    let described = guard(&mut env, |env| {
        let request = TableRequest::parse(&text(env, &request)?)?;
        let cancellation = PLANNINGS.find(planning)?;
        let files = of_each_file(&request, &cancellation, |plan| {
            Ok((plan.schema().as_ref().clone(), plan.extent()?, plan.chunk_count()?))
        })?;
        let schema = union(&files, request.nonconforming)?;
        let mut whole = PlanExtent { rows: 0, value_bytes: 0, exact: true };
        let mut chunks = ChunkCount { all: 0, left: 0 };
        for (_, (_, extent, count)) in files.done.iter() {
            chunks.all = chunks.all.saturating_add(count.all);
            chunks.left = chunks.left.saturating_add(count.left);
            whole.rows = whole.rows.saturating_add(extent.rows);
            whole.value_bytes = whole.value_bytes.saturating_add(extent.value_bytes);
            whole.exact &= extent.exact;
        }
        let answer = json!({
            "schema": struct_type(&schema)?,
            "rows": long(whole.rows.min(request.limit.unwrap_or(u64::MAX)))?,
            "valueBytes": long(whole.value_bytes)?,
            "exact": whole.exact,
            "chunks": long(chunks.all)?,
            "chunksLeft": long(chunks.left)?,
            "skipped": files.skipped,
        });
        env.new_string(answer.to_string()).map_err(at_border)
    });
    described.into_raw()
}

/// The splits as bytes, after a first element that says how they make partitions:
/// `{"partitions": [{"first": 0, "count": 2, "rows": …, "valueBytes": …, "files": {…}}, …], "skipped": […]}`. `files`
/// are the bytes of values of each file, where the request wants to place partitions.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativePlan_split<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    planning: jlong,
    request: JString<'local>,
) -> jobjectArray {
    let array = guard(&mut env, |env| {
        let request = TableRequest::parse(&text(env, &request)?)?;
        let target_bytes = request.target_bytes.unwrap_or(TARGET_BYTES);
        let policy = SplitPolicy { target_bytes: Some(target_bytes), count: None };
        let cancellation = PLANNINGS.find(planning)?;
        let files = of_each_file(&request, &cancellation, |plan| encoded_splits(plan, &policy))?;
        let splits: Vec<&EncodedSplit> = files.done.iter().flat_map(|(_, splits)| splits).collect();
        let names: Vec<&str> = files.done.iter().flat_map(|(file, splits)| splits.iter().map(move |_| file.as_str())).collect();
        let weights: Vec<u64> = splits.iter().map(|split| split.value_bytes).collect();
        let partitions = pack(&weights, target_bytes, request.partitions);
        let partitions = partitions.into_iter().map(|range| {
            let members = splits.get(range.clone()).unwrap_or_default();
            let sum = |part: fn(&EncodedSplit) -> u64| members.iter().fold(0u64, |n, split| n.saturating_add(part(split)));
            let mut placed: BTreeMap<&str, u64> = BTreeMap::new();
            if request.placement {
                for (file, split) in names.get(range.clone()).unwrap_or_default().iter().zip(members) {
                    let bytes = placed.entry(file).or_default();
                    *bytes = bytes.saturating_add(split.value_bytes).min(i64::MAX.cast_unsigned());
                }
            }
            Ok(json!({
                "files": placed,
                "first": range.start,
                "count": range.len(),
                "rows": long(sum(|split| split.rows))?,
                "valueBytes": long(sum(|split| split.value_bytes))?,
            }))
        });
        let header = json!({"partitions": partitions.collect::<Result<Vec<_>>>()?, "skipped": files.skipped});
        byte_arrays(env, std::iter::once(header.to_string().as_bytes()).chain(splits.iter().map(|split| split.bytes.as_slice())))
    });
    array.into_raw()
}

/// The number of rows; reads values only where a predicate must be tested row by row.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativePlan_count<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    planning: jlong,
    request: JString<'local>,
) -> jlong {
    guard(&mut env, |env| {
        let request = TableRequest::parse(&text(env, &request)?)?;
        let cancellation = PLANNINGS.find(planning)?;
        let files = of_each_file(&request, &cancellation, |plan| plan.count(&cancellation))?;
        let rows = files.done.iter().fold(0u64, |n, (_, rows)| n.saturating_add(*rows));
        long(rows.min(request.limit.unwrap_or(u64::MAX)))
    })
}

struct EncodedSplit {
    bytes: Vec<u8>,
    rows: u64,
    value_bytes: u64,
}

fn encoded_splits(plan: &Plan, policy: &SplitPolicy) -> Result<Vec<EncodedSplit>> {
    let extent = plan.extent()?;
    let splits = plan.split(policy)?;
    let encode = |split: &hyperslab::scan::Split| {
        let rows = split.rows().end.saturating_sub(split.rows().start);
        let share = u128::from(rows) * u128::from(extent.value_bytes) / u128::from(extent.rows.max(1));
        let value_bytes = u64::try_from(share).unwrap_or(u64::MAX);
        Ok(EncodedSplit { bytes: split.encode()?, rows, value_bytes })
    };
    splits.iter().map(encode).collect()
}

/// What was asked of each file, in the files' order, and the files that were left out.
struct EachFile<T> {
    done: Vec<(String, T)>,
    skipped: Vec<String>,
}

fn of_each_file<T: Send>(
    request: &TableRequest,
    cancellation: &Cancellation,
    ask: impl Fn(&Plan) -> Result<T> + Sync,
) -> Result<EachFile<T>> {
    let mut scan = ScanRequest { text_captures: words(&request.files)?, ..request.scan()? };
    let session = request.session.session()?;
    let more = match &request.texts {
        Some(texts) => texts.iter().flat_map(|name| [name.as_str(), name.strip_suffix("_part").unwrap_or(name)]).map(str::to_owned).collect(),
        None => mixed(&session, &request.files, &scan, cancellation),
    };
    scan.text_captures.extend(more);
    let answers: Vec<(String, Result<T>)> = request
        .files
        .par_iter()
        .map(|file| {
            let path = file.path().to_owned();
            let plan = plan_of(&session, &path, &of_file(&scan, file), request.nonconforming, cancellation);
            let answer = plan.and_then(|plan| ask(&plan)).map_err(|error| error.in_file(&path));
            (path, answer)
        })
        .collect();
    cancellation.check()?;
    let mut files = EachFile { done: Vec::with_capacity(answers.len()), skipped: Vec::new() };
    for (file, answer) in answers {
        match answer {
            Ok(answer) => files.done.push((file, answer)),
            Err(error) if may_skip(request, &file, &error) => files.skipped.push(error.to_string()),
            Err(error) => return Err(error),
        }
    }
    Ok(files)
}

/// The scan of one file.
fn of_file(scan: &ScanRequest, file: &FileRequest) -> ScanRequest {
    let path = file.dataset().map_or_else(|| scan.path.clone(), str::to_owned);
    ScanRequest { path, file_pattern: file.pattern().map(str::to_owned), ..scan.clone() }
}

/// The columns that are integers in some files and texts in others: of wildcards in paths, each file's alone say which.
/// What is wrong with a file is said by those who plan it.
fn mixed(session: &Session, files: &[FileRequest], scan: &ScanRequest, cancellation: &Cancellation) -> Vec<String> {
    let wild = |file: &FileRequest| file.dataset().unwrap_or(&scan.path).contains(['*', '?']);
    if files.len() < 2 || !files.iter().any(wild) {
        return Vec::new();
    }
    let all = ScanRequest { columns: None, predicate: None, ..scan.clone() };
    let schemas = files.par_iter().map(|file| plan_of(session, file.path(), &of_file(&all, file), Nonconforming::Error, cancellation));
    let schemas: Vec<_> = schemas.flatten().map(|plan| plan.schema().clone()).collect();
    let mut kinds: BTreeMap<&str, (bool, bool)> = BTreeMap::new();
    for field in schemas.iter().flat_map(|schema| schema.fields()) {
        let (integers, texts) = kinds.entry(field.name().as_str()).or_default();
        *integers |= *field.data_type() == DataType::Int64;
        *texts |= *field.data_type() == DataType::Utf8;
    }
    kinds.into_iter().filter(|(_, (integers, texts))| *integers && *texts).map(|(name, _)| name.trim_end_matches("_part").to_owned()).collect()
}

/// The columns of file names that hold a word in at least one file: text in all of them.
fn words(files: &[FileRequest]) -> Result<Vec<String>> {
    let mut by_pattern: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in files {
        if let Some(pattern) = file.pattern() {
            by_pattern.entry(pattern).or_default().push(file.path());
        }
    }
    let mut words = Vec::new();
    for (pattern, files) in by_pattern {
        words.extend(file_columns(pattern, &files)?.into_iter().filter(|(_, integers)| !integers).map(|(name, _)| name));
    }
    Ok(words)
}

fn may_skip(request: &TableRequest, file: &str, error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Corrupt => request.ignore_corrupt,
        ErrorKind::NotFound => request.ignore_missing && !Path::new(file).exists(),
        _ => false,
    }
}

fn plan_of(session: &Session, file: &str, scan: &ScanRequest, nonconforming: Nonconforming, cancellation: &Cancellation) -> Result<Plan> {
    cancellation.check()?;
    let files = [session.open(file)?];
    let Some(columns) = scan.columns.as_ref().filter(|_| nonconforming == Nonconforming::Null) else {
        return Plan::cancellable(&files, scan, cancellation);
    };
    // Java fills the columns in that this file has not.
    let all = Plan::cancellable(&files, &ScanRequest { columns: None, predicate: None, ..scan.clone() }, cancellation)?;
    let has = |name: &String| name == "_row" || name == "_file" || all.schema().field_with_name(name).is_ok();
    let columns = columns.iter().filter(|name| has(name)).cloned().collect();
    Plan::cancellable(&files, &ScanRequest { columns: Some(columns), ..scan.clone() }, cancellation)
}

/// The table of all files. Without leave, every file must have the same columns.
fn union(files: &EachFile<(Schema, PlanExtent, ChunkCount)>, nonconforming: Nonconforming) -> Result<Schema> {
    let mut done = files.done.iter();
    let Some((first_file, (first, ..))) = done.next() else {
        let why = files.skipped.first().map_or_else(|| "there are none".to_owned(), Clone::clone);
        return Err(Error::not_found(format!("no file to take the table's columns from: {why}")));
    };
    // Each column with the file that it was first seen in.
    let mut fields: Vec<(Field, &str)> = first.fields().iter().map(|f| (f.as_ref().clone(), first_file.as_str())).collect();
    for (file, (schema, ..)) in done {
        for field in schema.fields() {
            match fields.iter_mut().find(|(known, _)| known.name() == field.name()) {
                Some((known, there)) if known.data_type() != field.data_type() => {
                    return Err(Error::invalid_input(format!(
                        "{there} and {file} do not make one table: column {} is {} in the first and {} in the second",
                        field.name(), known.data_type(), field.data_type()
                    )));
                }
                Some((known, _)) => *known = known.clone().with_nullable(known.is_nullable() || field.is_nullable()),
                None if nonconforming == Nonconforming::Null => {
                    fields.push((field.as_ref().clone().with_nullable(true), file));
                }
                None => return Err(missing(field.name(), file, first_file)),
            }
        }
        for (known, there) in &mut fields {
            if schema.field_with_name(known.name()).is_err() {
                if nonconforming == Nonconforming::Error {
                    return Err(missing(known.name(), there, file));
                }
                *known = known.clone().with_nullable(true);
            }
        }
    }
    Ok(Schema::new(fields.into_iter().map(|(field, _)| field).collect::<Vec<_>>()))
}

fn missing(column: &str, has: &str, has_not: &str) -> Error {
    Error::invalid_input(format!(
        "{has} and {has_not} do not make one table: the first has a column {column}, the second has not; give option nonconforming = null for nulls"
    ))
}

fn byte_arrays<'local, 'a>(env: &mut JNIEnv<'local>, parts: impl Iterator<Item = &'a [u8]>) -> Result<JObjectArray<'local>> {
    let parts: Vec<&[u8]> = parts.collect();
    let length = i32::try_from(parts.len()).map_err(|_| Error::limit_exceeded("more splits than a Java array holds"))?;
    let array = env.new_object_array(length, "[B", JObject::null()).map_err(at_border)?;
    for (number, part) in (0..length).zip(parts) {
        let bytes = env.byte_array_from_slice(part).map_err(at_border)?;
        env.set_object_array_element(&array, number, &bytes).map_err(at_border)?;
        // A native method's local references are few unless given back.
        env.delete_local_ref(bytes).map_err(at_border)?;
    }
    Ok(array)
}
