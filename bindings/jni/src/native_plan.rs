//! `NativePlan`: describes a table over files and splits it, from metadata.
//!
//! A process cannot keep a hundred thousand files open, so each file is opened, planned on its own and closed, many in
//! parallel.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use arrow_schema::DataType;
use hyperslab::predicate::Predicate;
use hyperslab::scan::{BoxSplit, ChunkCount, Plan, PlanExtent, ScanRequest, Split, SplitPolicy, TopBound, file_columns};
use hyperslab::storage::is_address;
use hyperslab::{Cancellation, Error, ErrorKind, File, Result, Session, interruption};
use jni::JNIEnv;
use jni::objects::{JClass, JObject, JObjectArray, JString};
use jni::sys::{jlong, jobjectArray, jstring};
use rayon::prelude::*;
use serde_json::json;

use crate::boundary::{guard, jni_error, long, text};
use crate::partition::{by_targets, pack};
use crate::request::{FileRequest, Nonconforming, Order, TableRequest, TopRequest};
use crate::spark_type::struct_type;
use crate::table::Table;
use crate::union::union;

/// Default target size of a partition, in bytes of decoded values.
const TARGET_BYTES: u64 = 64 << 20;

/// Plans in progress, which another thread may cancel.
static PLANNINGS: Table<Cancellation> = Table::new("planning");

/// Begins a planning and returns its handle, which `end` removes.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativePlan_begin<'local>(mut env: JNIEnv<'local>, _: JClass<'local>) -> jlong {
    guard(&mut env, |_| Ok(PLANNINGS.insert(Cancellation::new())))
}

/// Makes the planning fail with `Cancelled`. Has no effect if it has ended.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativePlan_cancel<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, planning: jlong) {
    guard(&mut env, |_| {
        if let Ok(cancellation) = PLANNINGS.find(planning) {
            cancellation.cancel();
        }
        Ok(())
    });
}

/// Removes the handle of a planning.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativePlan_end<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, planning: jlong) {
    guard(&mut env, |_| PLANNINGS.remove(planning).map(drop));
}

/// Describes the table: `{"files": …, "schema": …, "rows": …, "valueBytes": …, "exact": …, "chunks": …, "chunksLeft": …, "listSizes":
/// {…}, "skipped": […], "omitted": [{"name": …, "reason": …}, …], "groups": …, "chunkRowBytes": …}`. `chunkRowBytes` has the bytes
/// of the chunks of a range of rows, if these are several. `listSizes` has the list length of each column whose
/// lists all have the same length. `omitted` has the members of the group that are not a column in any file. `files` is the number
/// of files that were not skipped; a table of known columns may have none. `groups` is an upper bound of the number of groups by the
/// `keys` of the request; null if splits do not compute them without making rows.
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
        let files = plan_each_file(&request, &cancellation, |plan| {
            let groups = request.keys.as_ref().map_or(Ok(None), |keys| plan.group_bound(keys))?;
            Ok((plan.schema().as_ref().clone(), plan.extent()?, plan.chunk_count()?, plan.omitted().to_vec(), groups, plan.chunk_row_bytes()?))
        })?;
        // Only a table whose columns are known gets a request for columns.
        if files.done.is_empty() && request.columns.is_none() {
            return Err(no_files_error(&files));
        }
        let schema = union(files.done.iter().map(|(index, (schema, ..))| (path_of(&request, *index), schema)), request.nonconforming)?;
        let mut whole = PlanExtent::none();
        let mut chunks = ChunkCount::none();
        for (_, (_, extent, count, ..)) in files.done.iter() {
            chunks.all = chunks.all.saturating_add(count.all);
            chunks.left = chunks.left.saturating_add(count.left);
            whole.rows = whole.rows.saturating_add(extent.rows);
            whole.value_bytes = whole.value_bytes.saturating_add(extent.value_bytes);
            whole.exact &= extent.exact;
        }
        let sizes = schema.fields().iter().filter_map(|field| match field.data_type() {
            DataType::FixedSizeList(_, size) => Some((field.name().as_str(), *size)),
            _ => None,
        });
        let list_sizes: BTreeMap<&str, i32> = sizes.collect();
        let omitted: BTreeMap<&str, &str> = files
            .done
            .iter()
            .flat_map(|(_, (_, _, _, omitted, ..))| omitted)
            .filter(|omitted| schema.field_with_name(&omitted.name).is_err())
            .map(|omitted| (omitted.name.as_str(), omitted.reason.as_str()))
            .collect();
        let omitted: Vec<_> = omitted.into_iter().map(|(name, reason)| json!({"name": name, "reason": reason})).collect();
        let groups = files.done.iter().try_fold(0u64, |sum, (_, (.., groups, _))| Some(sum.saturating_add((*groups)?)));
        let answer = json!({
            "groups": groups.map(long).transpose()?,
            "files": files.done.len(),
            "schema": struct_type(&schema)?,
            "rows": long(whole.rows.min(request.limit.unwrap_or(u64::MAX)).saturating_sub(request.offset.unwrap_or(0)))?,
            "valueBytes": long(whole.value_bytes)?,
            "exact": whole.exact,
            "chunks": long(chunks.all)?,
            "chunksLeft": long(chunks.left)?,
            "listSizes": list_sizes,
            "chunkRowBytes": long(files.done.iter().map(|(_, (.., bytes))| *bytes).max().unwrap_or(0))?,
            "skipped": files.skipped,
            "omitted": omitted,
        });
        env.new_string(answer.to_string()).map_err(jni_error)
    });
    described.into_raw()
}

/// The serialized splits, after a first element that assigns them to partitions:
/// `{"partitions": [{"first": 0, "count": 2, "rows": …, "valueBytes": …, "splitFiles": […], "splitDatasets": […], "splitBoxes": […], "files":
/// {…}}, …], "skipped": […]}`. `splitFiles` has the index of each split's file in the request, `splitDatasets` the path of its object, and
/// `splitBoxes`, if the request sets `boxes`, its first row, number of rows, first column and number of columns. `files` has the bytes of values to read from each
/// file, if the request sets `placement`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativePlan_split<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    planning: jlong,
    request: JString<'local>,
) -> jobjectArray {
    let array = guard(&mut env, |env| {
        let mut request = TableRequest::parse(&text(env, &request)?)?;
        let target_bytes = request.target_bytes.unwrap_or(TARGET_BYTES);
        let policy = SplitPolicy::default().with_target_bytes(Some(if request.whole_files { u64::MAX } else { target_bytes }));
        let cancellation = PLANNINGS.find(planning)?;
        // A bound from a file that is then skipped would exclude rows of the others.
        let may_skip_files = request.ignore_corrupt || request.ignore_missing;
        if let Some(top) = request.top.clone().filter(|_| !may_skip_files) {
            request.bound = top_bound(&request, &top, &cancellation)?;
        }
        let mut files = plan_each_file(&request, &cancellation, |plan| match request.boxes {
            true => encoded_boxes(plan, target_bytes),
            false => encoded_splits(plan, &policy, request.order),
        })?;
        number_rows(&mut files);
        if let Some(offset) = request.offset {
            keep_rows(&mut files, offset..request.limit.unwrap_or(u64::MAX))?;
        }
        let splits: Vec<&EncodedSplit> = files.done.iter().flat_map(|(_, splits)| splits).collect();
        let file_indexes: Vec<usize> = files.done.iter().flat_map(|(index, splits)| splits.iter().map(move |_| *index)).collect();
        let weights: Vec<u64> = splits.iter().map(|split| split.value_bytes).collect();
        let partitions = pack(&weights, target_bytes, request.partitions, request.cores);
        let targets: Vec<&[(u32, u64)]> = splits.iter().map(|split| split.targets.as_slice()).collect();
        let partitions = match request.order {
            Order::Rows => partitions,
            Order::Targets => by_targets(&partitions, &targets),
        };
        let partitions = partitions.into_iter().map(|range| {
            let members = splits.get(range.clone()).unwrap_or_default();
            let sum = |value: fn(&EncodedSplit) -> u64| members.iter().fold(0u64, |n, split| n.saturating_add(value(split)));
            let mut bytes_by_file: BTreeMap<&str, u64> = BTreeMap::new();
            if request.placement {
                for (index, split) in file_indexes.get(range.clone()).unwrap_or_default().iter().zip(members) {
                    let bytes = bytes_by_file.entry(path_of(&request, *index)).or_default();
                    *bytes = bytes.saturating_add(split.value_bytes).min(i64::MAX.cast_unsigned());
                }
            }
            Ok(json!({
                "files": bytes_by_file,
                "splitFiles": file_indexes.get(range.clone()).unwrap_or_default(),
                "splitDatasets": members.iter().map(|split| split.object.as_str()).collect::<Vec<_>>(),
                "splitBoxes": members.iter().filter_map(|split| split.part).collect::<Vec<[u64; 4]>>(),
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

/// Counts the rows. Reads values only if a predicate must be tested row by row.
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
        let files = plan_each_file(&request, &cancellation, |plan| plan.count(&cancellation))?;
        let rows = files.done.iter().fold(0u64, |n, (_, rows)| n.saturating_add(*rows));
        long(rows.min(request.limit.unwrap_or(u64::MAX)))
    })
}

struct EncodedSplit {
    bytes: Vec<u8>,
    rows: u64,
    value_bytes: u64,
    /// Storage targets with their bytes, if the order needs them.
    targets: Vec<(u32, u64)>,
    /// Path of the object.
    object: String,
    /// First row, number of rows, first column and number of columns of a box.
    part: Option<[u64; 4]>,
}

fn encoded_splits(plan: &Plan, policy: &SplitPolicy, order: Order) -> Result<Vec<EncodedSplit>> {
    let extent = plan.extent()?;
    let splits: Vec<(Split, Vec<(u32, u64)>)> = match order {
        Order::Rows => plan.split(policy)?.into_iter().map(|split| (split, Vec::new())).collect(),
        Order::Targets => plan.split_placed(policy, None)?.into_iter().map(|placed| (placed.split, placed.targets)).collect(),
    };
    let encode = |(split, targets): (Split, Vec<(u32, u64)>)| {
        let rows = split.rows().end.saturating_sub(split.rows().start);
        let share = u128::from(rows) * u128::from(extent.value_bytes) / u128::from(extent.rows.max(1));
        let value_bytes = u64::try_from(share).unwrap_or(u64::MAX);
        Ok(EncodedSplit { bytes: split.encode()?, rows, value_bytes, targets, object: split.object().to_owned(), part: None })
    };
    splits.into_iter().map(encode).collect()
}

fn encoded_boxes(plan: &Plan, target_bytes: u64) -> Result<Vec<EncodedSplit>> {
    let extent = plan.extent()?;
    let encode = |BoxSplit { split, rows, columns, .. }| {
        let cells = split.rows().end.saturating_sub(split.rows().start);
        let share = u128::from(cells) * u128::from(extent.value_bytes) / u128::from(extent.rows.max(1));
        Ok(EncodedSplit {
            bytes: split.encode()?,
            rows: cells,
            value_bytes: u64::try_from(share).unwrap_or(u64::MAX),
            targets: Vec::new(),
            object: split.object().to_owned(),
            part: Some([rows.start, rows.end - rows.start, columns.start, columns.end - columns.start]),
        })
    };
    plan.split_boxes(target_bytes)?.into_iter().map(encode).collect()
}

/// Numbers the rows of boxes through all files.
fn number_rows(files: &mut EachFile<Vec<EncodedSplit>>) {
    let mut first = 0u64;
    for (_, splits) in &mut files.done {
        let mut end = first;
        for [row, rows, ..] in splits.iter_mut().filter_map(|split| split.part.as_mut()) {
            *row = row.saturating_add(first);
            end = end.max(row.saturating_add(*rows));
        }
        first = end;
    }
}

/// A condition that the first rows of the table meet, if dimensions or indexes know one.
fn top_bound(request: &TableRequest, top: &TopRequest, cancellation: &Cancellation) -> Result<Option<Predicate>> {
    let Some(first) = top.keys().into_iter().next() else { return Ok(None) };
    let bounds = plan_each_file(request, cancellation, |plan| plan.top_bound(&first, top.count, cancellation))?;
    let best = bounds.done.into_iter().map(|(_, bound)| bound).fold(None, TopBound::better);
    best.map(|bound| bound.predicate()).transpose()
}

/// Keeps the rows of the table that are in `wanted`.
fn keep_rows(files: &mut EachFile<Vec<EncodedSplit>>, wanted: std::ops::Range<u64>) -> Result<()> {
    let mut position = 0u64;
    for splits in files.done.iter_mut().map(|(_, splits)| splits) {
        let mut kept = Vec::new();
        for mut encoded in splits.drain(..) {
            let (first, end) = (position, position.saturating_add(encoded.rows));
            position = end;
            let (from, to) = (first.max(wanted.start), end.min(wanted.end));
            if from >= to {
                continue;
            }
            if to - from < encoded.rows {
                let split = Split::decode(&encoded.bytes)?;
                let start = split.rows().start;
                encoded.bytes = split.within(start + (from - first)..start + (to - first)).encode()?;
                let share = u128::from(encoded.value_bytes) * u128::from(to - from) / u128::from(encoded.rows.max(1));
                (encoded.rows, encoded.value_bytes) = (to - from, u64::try_from(share).unwrap_or(u64::MAX));
            }
            kept.push(encoded);
        }
        *splits = kept;
    }
    Ok(())
}

/// The results of planning each file, with its index in the request, and the reasons why other files were skipped.
struct EachFile<T> {
    done: Vec<(usize, T)>,
    skipped: Vec<String>,
}

fn path_of(request: &TableRequest, index: usize) -> &str {
    request.files.get(index).map_or("", FileRequest::path)
}

fn no_files_error<T>(files: &EachFile<T>) -> Error {
    match files.skipped.first() {
        Some(reason) => Error::not_found(format!("every file was skipped, so the table has no columns; the first: {reason}")),
        None => Error::not_found("the list of files is empty"),
    }
}

fn plan_each_file<T: Send>(request: &TableRequest, cancellation: &Cancellation, query: impl Fn(&Plan) -> Result<T> + Sync) -> Result<EachFile<T>> {
    let mut scan = request.scan()?.with_text_captures(text_columns(&request.files)?);
    let session = request.session.session()?;
    let more = match &request.texts {
        Some(texts) => texts.iter().flat_map(|name| [name.as_str(), name.strip_suffix("_part").unwrap_or(name)]).map(str::to_owned).collect(),
        None => mixed_columns(&session, &request.files, &scan, cancellation),
    };
    scan.text_captures.extend(more);
    let plan_file = |file: &FileRequest| {
        let path = file.path();
        let with_file = |error: Error| error.in_file(path);
        cancellation.check()?;
        let opened = match interruption::cancellable(cancellation, || session.open(path)).map_err(with_file) {
            Err(error)
                if may_skip(request, path, &error) || is_missing_address(request, path, &error) || (request.ignore_corrupt && is_unknown_format(&error)) =>
            {
                return Ok(Err(error));
            }
            opened => opened?,
        };
        let planned = interruption::cancellable(cancellation, || {
            let scan = scan_of(&scan, file);
            let plan = plan_of(&opened, &scan, request.nonconforming, cancellation);
            if request.ignore_corrupt {
                require_whole_members(&plan, &opened, &scan, cancellation)?;
            }
            plan?.as_ref().map(&query).transpose()
        });
        match planned.map_err(with_file) {
            Ok(Some(answer)) => Ok(Ok(answer)),
            Ok(None) => {
                Ok(Err(Error::not_found("the file has no such dataset, so it has no rows").at_object(file.dataset().unwrap_or(&scan.path)).in_file(path)))
            }
            Err(error) if may_skip(request, path, &error) => Ok(Err(error)),
            Err(error) => Err(error),
        }
    };
    let plan_all = || request.files.par_iter().map(plan_file).collect();
    let is_remote = request.files.len() > 1 && request.files.iter().any(|file| is_address(file.path()));
    let answers: Vec<Result<Result<T, Error>>> = if is_remote { waiting_threads()?.install(plan_all) } else { plan_all() };
    cancellation.check()?;
    let mut files = EachFile { done: Vec::with_capacity(answers.len()), skipped: Vec::new() };
    for (index, answer) in answers.into_iter().enumerate() {
        match answer? {
            Ok(answer) => files.done.push((index, answer)),
            Err(error) => files.skipped.push(error.to_string()),
        }
    }
    Ok(files)
}

/// Returns `Corrupt` if a member of the group would be a column if it were not damaged. A file with damage is skipped as a whole.
/// A plan fails with `NotFound` if such a member is one of its columns.
fn require_whole_members(plan: &Result<Option<Plan>>, file: &File, scan: &ScanRequest, cancellation: &Cancellation) -> Result<()> {
    let all;
    let plan = match plan {
        Ok(plan) => plan.as_ref(),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            all = Plan::cancellable(std::slice::from_ref(file), &scan.clone().with_columns(None).with_predicate(None), cancellation).ok();
            all.as_ref()
        }
        Err(_) => None,
    };
    match plan.and_then(|plan| plan.omitted().iter().find(|member| member.is_damaged)) {
        Some(member) => Err(Error::corrupt(format!("the member {:?} {}", member.name, member.reason))),
        None => Ok(()),
    }
}

/// Threads that plan remote files: more than there are cores, because they mostly wait.
fn waiting_threads() -> Result<&'static rayon::ThreadPool> {
    const THREADS: usize = 32;
    static POOL: OnceLock<rayon::ThreadPool> = OnceLock::new();
    if let Some(pool) = POOL.get() {
        return Ok(pool);
    }
    let made = rayon::ThreadPoolBuilder::new().num_threads(THREADS).thread_name(|index| format!("hyperslab-plan-{index}")).build();
    let made = made.map_err(|error| Error::internal(format!("cannot start threads: {error}")))?;
    Ok(POOL.get_or_init(|| made))
}

/// Whether a file failed to open because it is not an HDF5 or netCDF file, but for example empty, text or a web page.
fn is_unknown_format(error: &Error) -> bool {
    error.kind() == ErrorKind::InvalidInput
}

/// The scan request for one file.
fn scan_of(scan: &ScanRequest, file: &FileRequest) -> ScanRequest {
    let mut scan = scan.clone().with_file_pattern(file.pattern().map(str::to_owned));
    if let Some(path) = file.dataset() {
        path.clone_into(&mut scan.path);
    }
    scan
}

/// The wildcard columns that are integers in some files and text in others, because each file is planned on its own. Ignores
/// files with errors; planning reports them.
fn mixed_columns(session: &Session, files: &[FileRequest], scan: &ScanRequest, cancellation: &Cancellation) -> Vec<String> {
    let wild = |file: &FileRequest| file.dataset().unwrap_or(&scan.path).contains(['*', '?']);
    if files.len() < 2 || !files.iter().any(wild) {
        return Vec::new();
    }
    let all = scan.clone().with_columns(None).with_predicate(None);
    let plan = |file: &FileRequest| Plan::cancellable(&[session.open(file.path()).ok()?], &scan_of(&all, file), cancellation).ok();
    let schemas: Vec<_> = files.par_iter().filter_map(plan).map(|plan| plan.schema().clone()).collect();
    let mut kinds: BTreeMap<&str, (bool, bool)> = BTreeMap::new();
    for field in schemas.iter().flat_map(|schema| schema.fields()) {
        let (integers, texts) = kinds.entry(field.name().as_str()).or_default();
        *integers |= *field.data_type() == DataType::Int64;
        *texts |= *field.data_type() == DataType::Utf8;
    }
    kinds.into_iter().filter(|(_, (integers, texts))| *integers && *texts).map(|(name, _)| name.trim_end_matches("_part").to_owned()).collect()
}

/// The columns from file names that are not integers in at least one file, and thus text in all files.
fn text_columns(files: &[FileRequest]) -> Result<Vec<String>> {
    let mut by_pattern: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in files {
        if let Some(pattern) = file.pattern() {
            by_pattern.entry(pattern).or_default().push(file.path());
        }
    }
    let mut names = Vec::new();
    for (pattern, files) in by_pattern {
        names.extend(file_columns(pattern, &files)?.into_iter().filter(|(_, integers)| !integers).map(|(name, _)| name));
    }
    Ok(names)
}

/// Whether a remote file that may be skipped does not exist.
fn is_missing_address(request: &TableRequest, file: &str, error: &Error) -> bool {
    request.ignore_missing && is_address(file) && error.kind() == ErrorKind::NotFound
}

fn may_skip(request: &TableRequest, file: &str, error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Corrupt => request.ignore_corrupt,
        ErrorKind::NotFound => request.ignore_missing && !is_address(file) && !Path::new(file).exists(),
        _ => false,
    }
}

/// The plan of one file; `None` if files may differ and this file lacks the dataset.
fn plan_of(file: &File, scan: &ScanRequest, nonconforming: Nonconforming, cancellation: &Cancellation) -> Result<Option<Plan>> {
    let files = [file.clone()];
    if nonconforming == Nonconforming::Error {
        return Plan::cancellable(&files, scan, cancellation).map(Some);
    }
    let all = match Plan::cancellable(&files, &scan.clone().with_columns(None).with_predicate(None), cancellation) {
        Err(error) if error.kind() == ErrorKind::NotFound && error.file().is_none_or(|name| name == file.name()) => return Ok(None),
        all => all?,
    };
    let Some(columns) = &scan.columns else {
        return if scan.predicate.is_none() { Ok(Some(all)) } else { Plan::cancellable(&files, scan, cancellation).map(Some) };
    };
    // Java adds the columns that this file lacks.
    let has = |name: &String| name == "_row" || name == "_file" || all.schema().field_with_name(name).is_ok();
    let columns = columns.iter().filter(|name| has(name)).cloned().collect();
    Plan::cancellable(&files, &scan.clone().with_columns(Some(columns)), cancellation).map(Some)
}

fn byte_arrays<'local, 'a>(env: &mut JNIEnv<'local>, parts: impl Iterator<Item = &'a [u8]>) -> Result<JObjectArray<'local>> {
    let parts: Vec<&[u8]> = parts.collect();
    let length = i32::try_from(parts.len()).map_err(|_| Error::limit_exceeded("more splits than a Java array can hold"))?;
    let array = env.new_object_array(length, "[B", JObject::null()).map_err(jni_error)?;
    for (index, part) in (0..length).zip(parts) {
        let bytes = env.byte_array_from_slice(part).map_err(jni_error)?;
        env.set_object_array_element(&array, index, &bytes).map_err(jni_error)?;
        // A native method has few local references, so it releases them as it goes.
        env.delete_local_ref(bytes).map_err(jni_error)?;
    }
    Ok(array)
}
