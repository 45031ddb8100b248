//! Recover: from a damaged file to a new one.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use hyperslab_array::{Cancellation, Error, Result, interruption};
use hyperslab_formats::hdf5::recovered::{LostLink, RecoveredFile};
use hyperslab_formats::hdf5::survey::{Damage, Survey, SurveyedObject};
use hyperslab_formats::{Object, ObjectId};
use hyperslab_reader::Session;
use hyperslab_storage::{LocalFile, Storage};
use hyperslab_write::{Existing, Loss, salvage};

use crate::certainty;
use crate::lenient::Lenient;
use crate::report::{Certainty, DeletedObject, LostPart, RecoveredObject, Recovery};
use crate::values::{LostChunks, SharedBytes, ValueCheck, datasets};

/// Largest user block that is copied: one is held in memory.
const MAX_USER_BLOCK_BYTES: usize = 64 << 20;

/// How to recover.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RecoverOptions {
    /// Whether an existing file is replaced.
    pub replace: bool,
    /// Whether what is left of deleted objects is copied, too, from a file that is not damaged.
    pub deleted: bool,
}

impl RecoverOptions {
    /// Replacing an existing file, or not.
    #[must_use]
    pub fn with_replace(self, replace: bool) -> Self {
        Self { replace, ..self }
    }

    /// With what is left of deleted objects, below `/lost+found`, or without.
    #[must_use]
    pub fn with_deleted(self, deleted: bool) -> Self {
        Self { deleted, ..self }
    }
}

/// Takes what is done, what there is to do as far as it is known, and the unit of both.
type Progress<'a> = dyn FnMut(u64, u64, &'static str) + 'a;

/// Recovers what the damaged HDF5 file `broken` holds into the new file `out`. `broken` is only read. `session` gives the threads,
/// the limits and the policy for other files; it must show files as plain HDF5.
///
/// # Errors
/// `NotFound` or `Io` if `broken` cannot be opened; `InvalidInput` if nothing in it looks like HDF5, or `out` is the same file;
/// `Conflict` if there is a file `out`; `Io` if that cannot be written; `LimitExceeded`; `Cancelled`.
pub fn recover(
    broken: &Path,
    out: &Path,
    session: &Session,
    options: &RecoverOptions,
    cancellation: &Cancellation,
    progress: &mut Progress<'_>,
) -> Result<Recovery> {
    let shown = broken.display().to_string();
    if let (Ok(one), Ok(other)) = (broken.canonicalize(), out.canonicalize())
        && one == other
    {
        return Err(Error::invalid_input("the damaged file is never changed: give another name for the new one").in_file(shown));
    }
    if !options.replace && out.exists() {
        return Err(Error::new(hyperslab_array::ErrorKind::Conflict, "the file exists: give another name").in_file(out.display().to_string()));
    }
    let recovered = interruption::cancellable(cancellation, || run(broken, out, session, options, cancellation, progress));
    recovered.map_err(|error| error.in_file(shown))
}

fn run(broken: &Path, out: &Path, session: &Session, options: &RecoverOptions, cancellation: &Cancellation, progress: &mut Progress<'_>) -> Result<Recovery> {
    let lenient = Arc::new(Lenient::new(LocalFile::open_growing(broken)?));
    let storage: Arc<dyn Storage> = lenient.clone();
    let unnamed = unnamed_addresses(broken, session, cancellation)?;
    let walk = |progress: &mut Progress<'_>| {
        let mut survey = Survey::of(&storage, session.limits(), session.may_open_others(), true, &mut |done, of| progress(done, of, "objects"))?;
        survey.add_referenced(&unnamed)?;
        Ok::<_, Error>(survey)
    };
    let survey = walk(progress)?;
    let is_sound = survey.is_sound() && lenient.bad_ranges().is_empty();
    // What nothing leads to in a file without damage was deleted, unless values refer to it.
    let mut rescued = walk(progress)?;
    rescued.rescue(&mut |done, of| progress(done, of, "objects"))?;
    if !rescued.objects.iter().any(|object| object.object.is_some()) {
        return Err(Error::invalid_input("no object of HDF5 was found in the file: there is nothing to recover"));
    }
    let deleted = if is_sound { deleted(&rescued) } else { Vec::new() };
    let existing = if options.replace { Existing::Replace } else { Existing::Keep };
    let mut recovery = OneRecovery { broken, out, session, lenient: &lenient, cancellation, progress };
    if !is_sound || (options.deleted && !deleted.is_empty()) {
        let mut report = recovery.make(rescued, existing)?;
        match is_sound {
            true => set_apart(&mut report, deleted),
            false => nameless(&mut report),
        }
        return Ok(report);
    }
    let mut report = recovery.make(survey, existing)?;
    if !report.lost.is_empty() && !deleted.is_empty() {
        // References that lead to them become null references without them.
        report = recovery.make(rescued, Existing::Replace)?;
        nameless(&mut report);
        return Ok(report);
    }
    report.deleted = deleted.into_iter().map(|found| DeletedObject { path: None, ..found }).collect();
    Ok(report)
}

/// The addresses of objects that only references lead to, if the file can be opened.
fn unnamed_addresses(broken: &Path, session: &Session, cancellation: &Cancellation) -> Result<Vec<u64>> {
    let Ok(file) = session.open(broken) else { return Ok(Vec::new()) };
    match file.unnamed_objects(cancellation) {
        Ok(found) => Ok(found.iter().filter_map(|walked| file.array_file().tree().address(walked.id)).collect()),
        Err(error) if error.kind() == hyperslab_array::ErrorKind::Cancelled => Err(error),
        // Damage: what is not found here is found where nothing leads to.
        Err(_) => Ok(Vec::new()),
    }
}

/// The objects to which no link leads, and whose header can be read.
fn deleted(survey: &Survey) -> Vec<DeletedObject> {
    let unlinked = survey.objects.iter().filter(|object| !object.is_linked);
    let of = |object: &SurveyedObject| {
        let kind = kind_of(object.object.as_ref()?);
        Some(DeletedObject { path: Some(object.path.clone()), kind, offset: survey.base_address.saturating_add(object.address), losses: Vec::new() })
    };
    unlinked.filter_map(of).collect()
}

fn kind_of(object: &Object) -> &'static str {
    match object {
        Object::Group => "group",
        Object::Dataset(_) => "dataset",
        Object::Datatype(_) => "datatype",
    }
}

/// Moves the losses of deleted objects to them: the file itself has lost nothing.
fn set_apart(report: &mut Recovery, mut deleted: Vec<DeletedObject>) {
    for part in std::mem::take(&mut report.lost) {
        match deleted.iter_mut().find(|object| object.path == part.path) {
            Some(object) => object.losses.push(part.reason),
            None => report.lost.push(part),
        }
    }
    report.deleted = deleted;
}

/// An object without a name is a loss: that of the link to it.
fn nameless(report: &mut Recovery) {
    let unnamed = report.objects.iter().filter(|object| !object.has_name);
    let lost = |object: &RecoveredObject| {
        let reason = "no link leads to the object: its name is lost, or it was deleted".to_owned();
        LostPart { what: "link", path: Some(object.path.clone()), name: None, offset: Some(object.offset), reason }
    };
    let lost: Vec<LostPart> = unnamed.map(lost).collect();
    report.lost.extend(lost);
}

/// One run, from a survey to a new file.
struct OneRecovery<'a, 'p> {
    broken: &'a Path,
    out: &'a Path,
    session: &'a Session,
    lenient: &'a Lenient,
    cancellation: &'a Cancellation,
    progress: &'a mut Progress<'p>,
}

impl OneRecovery<'_, '_> {
    fn make(&mut self, mut survey: Survey, existing: Existing) -> Result<Recovery> {
        let Self { broken, out, session, lenient, cancellation, .. } = *self;
        let progress = &mut *self.progress;
        let mut report = Recovery {
            file: broken.display().to_string(),
            out: out.display().to_string(),
            file_bytes: survey.file_bytes,
            out_bytes: 0,
            stated_bytes: survey.stated_end,
            is_open_for_writing: survey.is_open_for_writing,
            bad_ranges: Vec::new(),
            damages: survey.damages.iter().map(|damage| in_words(&survey, damage)).collect(),
            objects: Vec::new(),
            lost: Vec::new(),
            copied_chunks: 0,
            changes: Vec::new(),
            deleted: Vec::new(),
        };
        lost_structures(&survey, &mut report);
        let (first, lost_links) = RecoveredFile::of(&mut survey)?;
        report.lost.extend(lost_links.into_iter().map(lost_link));
        let first = Arc::new(first);
        let lost_chunks = check_values(&survey, &first, lenient, session, cancellation, &mut report, progress)?;
        let file = Arc::new(first.without(&|object, position| lost_chunks.get(&object).is_some_and(|lost| lost.contains(position))));
        let copied = session.file_of_arrays(broken, file.clone());
        let shapes: HashMap<String, Vec<u64>> = datasets(&survey).map(|(object, dataset)| (object.path.clone(), dataset.dataspace.shape().to_vec())).collect();
        let user_block = user_block(&survey, lenient, &mut report)?;
        let (lost, objects) = (&mut report.lost, &mut report.objects);
        let mut lose = |Loss { path, name, loses_values, reason, .. }: Loss| {
            if loses_values && let Some(values) = objects.iter_mut().find(|object| object.path == path).and_then(|object| object.values.as_mut()) {
                values.lose_all(shapes.get(&path).map(Vec::as_slice).unwrap_or_default());
            }
            let what = if name.is_some() { "attribute" } else { "object" };
            lost.push(LostPart { what, path: Some(path), name, offset: None, reason });
        };
        let made = salvage(&copied, out, existing, &user_block, cancellation, &mut lose, &mut |done, of| progress(done, of, "bytes"))?;
        (report.out_bytes, report.copied_chunks) = (made.bytes, made.copied_chunks);
        report.changes = made.changes.into_iter().map(|change| (change.path, change.text)).collect();
        lost_heap_values(&file, &copied, &mut report);
        report.bad_ranges = lenient.bad_ranges();
        Ok(report)
    }
}

/// The bytes in front of the superblock, which belong to the user.
fn user_block(survey: &Survey, storage: &Lenient, report: &mut Recovery) -> Result<Vec<u8>> {
    let length = usize::try_from(survey.base_address).ok().filter(|length| *length <= MAX_USER_BLOCK_BYTES);
    let Some(length) = length else {
        let reason = format!("{} bytes in front of the superblock are more than are copied: they are the first of the damaged file", survey.base_address);
        report.lost.push(LostPart { what: "user block", path: None, name: None, offset: Some(0), reason });
        return Ok(Vec::new());
    };
    let mut bytes = vec![0; length];
    storage.read_exact_at(0, &mut bytes)?;
    Ok(bytes)
}

/// Objects, links and attributes that cannot be read.
fn lost_structures(survey: &Survey, report: &mut Recovery) {
    for object in &survey.objects {
        let offset = Some(survey.base_address.saturating_add(object.address));
        let mut lose = |what: &'static str, name: Option<String>, reason: &str| {
            report.lost.push(LostPart { what, path: Some(object.path.clone()), name, offset, reason: reason.to_owned() });
        };
        if object.object.is_none() {
            lose("object", None, "its header cannot be read");
            continue;
        }
        if !object.has_all_links {
            lose("link", None, "some links of the group, or their names, cannot be read");
        }
        if !object.has_all_attributes || !object.is_whole {
            lose("attribute", None, "some attributes, or other parts of the object's description, cannot be read");
        }
        for attribute in object.attributes.iter() {
            if let Err(error) = &attribute.value {
                lose("attribute", Some(attribute.name.clone()), error.message());
            }
        }
        if !object.has_all_chunks {
            lose("chunk", None, "a part of the index of its chunks cannot be read: chunks may be missing");
        }
    }
}

fn lost_link(LostLink { group, name, reason, .. }: LostLink) -> LostPart {
    LostPart { what: "link", path: Some(group), name: Some(name), offset: None, reason }
}

fn check_values(
    survey: &Survey,
    file: &Arc<RecoveredFile>,
    lenient: &Lenient,
    session: &Session,
    cancellation: &Cancellation,
    report: &mut Recovery,
    progress: &mut Progress<'_>,
) -> Result<LostChunks> {
    let shared = SharedBytes::of(&survey.extents);
    let mut check = ValueCheck { survey, file, session, cancellation, shared, lost: Vec::new() };
    // A first read of all values finds the bad sectors.
    let mut lost_chunks = LostChunks::new();
    let total = datasets(survey).count() as u64;
    let mut done = 0;
    for object in &survey.objects {
        let Some(content) = &object.object else { continue };
        let values = match content {
            Object::Dataset(dataset) => {
                let before = lenient.bad_ranges();
                let (mut values, mut lost) = check.dataset(object, dataset, &before)?;
                let after = lenient.bad_ranges();
                if after.len() != before.len() || after != before {
                    check.lost.retain(|part| part.path.as_deref() != Some(&object.path));
                    (values, lost) = check.dataset(object, dataset, &after)?;
                }
                lost_chunks.insert(object.address, lost);
                done += 1;
                progress(done, total, "datasets");
                Some(values)
            }
            _ => None,
        };
        let (certainty, reason) = certainty::of_object(object);
        let values = values.map(|mut values| {
            values.certainty =
                values.certainty.min(certainty.max(Certainty::Plausible)).min(if certainty == Certainty::Guessed { certainty } else { values.certainty });
            values
        });
        report.objects.push(RecoveredObject {
            path: object.path.clone(),
            kind: kind_of(content),
            offset: survey.base_address.saturating_add(object.address),
            has_name: object.is_linked,
            certainty,
            reason,
            attributes: object.attribute_count,
            values,
        });
    }
    report.lost.append(&mut check.lost);
    Ok(lost_chunks)
}

/// Values of variable length that turned out to be lost while they were copied.
fn lost_heap_values(file: &RecoveredFile, copied: &hyperslab_reader::File, report: &mut Recovery) {
    for (address, count) in file.lost_values() {
        let path = copied.path_of(ObjectId(address)).map(|path| path.to_string()).unwrap_or_default();
        if let Some(values) = report.objects.iter_mut().find(|object| object.path == path).and_then(|object| object.values.as_mut()) {
            values.lost_heap_values = count;
        }
        let reason = format!("{count} values of variable length cannot be read; empty values took their place");
        report.lost.push(LostPart { what: "values", path: Some(path), name: None, offset: None, reason });
    }
}

fn in_words(survey: &Survey, damage: &Damage) -> String {
    let path = damage.object.and_then(|address| survey.object(address)).map(|object| format!("{}: ", object.path)).unwrap_or_default();
    format!("{path}{} at byte {}: {}", damage.kind.name(), damage.error.offset().unwrap_or(damage.offset), damage.error.message())
}
