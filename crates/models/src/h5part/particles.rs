//! The table `particles`: a segment for each step.

use std::collections::{BTreeMap, BTreeSet};

use hyperslab_array::{Error, Result};
use hyperslab_formats::Attributes;
use hyperslab_reader::File;
use hyperslab_scan::{ArrayPart, Literal, Omitted, SegmentDefinition, Values};

use crate::look::{Member, contradiction, free_name};
use crate::model::Problem;
use crate::steps::{self, AttributeColumns, BLOCK, Step};

/// File attribute that commits of Hyperslab write, about the file and not about the simulation.
const COMMIT: &str = "_hyperslab_commit";

/// A 1-D array of a step.
pub(crate) struct ParticleArray {
    pub name: String,
    pub path: String,
    pub length: u64,
    pub chunk: u64,
}

/// The particles of a step.
pub(crate) struct Particles {
    pub arrays: Vec<ParticleArray>,
    /// Members that are not particles, by path.
    pub omitted: Vec<Omitted>,
}

impl Particles {
    pub fn of(step: &Step) -> Self {
        let (mut arrays, mut omitted) = (Vec::new(), Vec::new());
        for member in &step.members {
            match array(member) {
                Ok(array) => arrays.push(array),
                Err(reason) => omitted.push(Omitted::new(member.path.clone(), reason)),
            }
        }
        Self { arrays, omitted }
    }

    /// The number of particles: the length that all arrays have. `Corrupt` if they differ.
    pub fn count(&self, file: &File, step: &Step) -> Result<u64> {
        let Some(first) = self.arrays.first() else { return Ok(0) };
        match self.arrays.iter().find(|array| array.length != first.length) {
            None => Ok(first.length),
            Some(other) => Err(unequal(file, step, first, other)),
        }
    }
}

fn unequal(file: &File, step: &Step, first: &ParticleArray, other: &ParticleArray) -> Error {
    let message =
        format!("the arrays of step {} have different lengths: {} has {}, {} has {}", step.number, first.name, first.length, other.name, other.length);
    contradiction(file, &other.path, message)
}

/// A member as an array of particles, or why it is not one.
fn array(member: &Member) -> Result<ParticleArray, String> {
    let (_, object) = member.object.as_ref().map_err(|error| format!("cannot be read: {}", error.message()))?;
    let Some(dataset) = object.dataset() else {
        return Err(if member.name == BLOCK { "has fields, which the model h5block reads".to_owned() } else { format!("is a {}", object.kind()) });
    };
    if let Some(refusal) = &dataset.refusal {
        return Err(format!("cannot be read: {}", refusal.message()));
    }
    match dataset.dataspace.shape() {
        [length] => {
            let chunk = dataset.chunk_grid.chunk_shape().first().copied().unwrap_or(1).max(1);
            Ok(ParticleArray { name: member.name.clone(), path: member.path.clone(), length: *length, chunk })
        }
        shape => Err(format!("has shape {shape:?}, not one dimension")),
    }
}

/// The attributes of each step by their names, of its arrays as `x_unit`, and of the file as `file_author`.
pub(super) fn attributes(file: &File, steps: &[Step], particles: &[Particles]) -> Result<AttributeColumns> {
    let mut attributes = AttributeColumns::new(steps.len());
    for (row, step) in steps.iter().enumerate() {
        attributes.set(row, "", &step.attributes);
    }
    for (row, (step, own)) in steps.iter().zip(particles).enumerate() {
        for array in &own.arrays {
            if let Some(member) = step.members.iter().find(|member| member.path == array.path) {
                attributes.set(row, &format!("{}_", array.name), &*member.attributes()?);
            }
        }
    }
    let all = file.attributes(file.root())?;
    let own = Attributes::new(all.iter().filter(|attribute| attribute.name != COMMIT).cloned().collect(), all.tracked);
    for row in 0..steps.len() {
        attributes.set(row, "file_", &own);
    }
    Ok(attributes)
}

/// A segment for each step. A step without an array that others have gets nulls there.
/// `with_attributes` adds the attributes of step, arrays and file, which have the same value in all rows of a step.
pub(crate) fn table(file: &File, with_attributes: bool) -> Result<Vec<SegmentDefinition>> {
    let steps = steps::all(file)?;
    let particles: Vec<Particles> = steps.iter().map(Particles::of).collect();
    let mut names: Vec<&str> = Vec::new();
    let mut like: BTreeMap<&str, &str> = BTreeMap::new();
    for array in particles.iter().flat_map(|particles| &particles.arrays) {
        if like.insert(&array.name, &array.path).is_none() {
            names.push(&array.name);
        }
    }
    let mut taken: BTreeSet<String> = ["step", "time"].map(str::to_owned).into();
    let columns: Vec<(&str, String)> = names.iter().map(|name| (*name, free_name(name, "array", &mut taken))).collect();
    let (in_every_row, not_columns) = match with_attributes {
        true => attributes(file, &steps, &particles)?.finish(&mut taken)?,
        false => Default::default(),
    };
    let segment = |(row, (step, own)): (usize, (&Step, &Particles))| {
        let count = own.count(file, step)?;
        let chunk = own.arrays.first().map_or(1, |array| array.chunk);
        let mut segment = SegmentDefinition::new(step.path.clone(), vec![count], vec![chunk])
            .with_column("step", step.number_column())
            .with_column("time", step.time_column()?)
            .with_omitted(own.omitted.iter().filter(|omitted| !omitted.name.ends_with("/Block")).chain(&not_columns).cloned().collect());
        for (name, column) in &columns {
            let values = match own.arrays.iter().find(|array| array.name == *name) {
                Some(array) => Values::Array(ArrayPart::whole(array.path.clone())),
                None => Values::Missing { like: ArrayPart::whole(like.get(name).copied().unwrap_or_default()) },
            };
            segment = segment.with_column(column.clone(), values);
        }
        for (name, values) in &in_every_row {
            segment = segment.with_column(name.clone(), Values::Constant(Literal(values.slice(row, 1))));
        }
        Ok(segment)
    };
    steps.iter().zip(&particles).enumerate().map(segment).collect()
}

/// What contradicts the model.
pub(crate) fn validate(file: &File) -> Result<Vec<Problem>> {
    let steps = match steps::all(file) {
        Err(error) => return Ok(vec![Problem::new(error.object().unwrap_or("/"), error.message())]),
        Ok(steps) => steps,
    };
    let mut problems = Vec::new();
    let mut types: BTreeMap<String, (String, String)> = BTreeMap::new();
    for step in &steps {
        let own = Particles::of(step);
        if let Some(first) = own.arrays.first() {
            let others = own.arrays.iter().filter(|array| array.length != first.length);
            problems.extend(others.map(|other| Problem::new(&other.path, unequal(file, step, first, other).message())));
        }
        if let Some(name) = step.unusable_time()? {
            problems.push(Problem::new(&step.path, format!("the attribute {name} is not one number, so the step has no time")));
        }
        for member in step.members.iter().filter(|member| member.dataset().is_none() && member.group().is_none()) {
            if let Err(error) = &member.object {
                problems.push(Problem::new(&member.path, error.message()));
            }
        }
        for array in &own.arrays {
            let Some(dataset) = step.members.iter().find(|member| member.path == array.path).and_then(Member::dataset) else { continue };
            let shown = format!("{:?}", dataset.datatype);
            match types.get(&array.name) {
                None => {
                    types.insert(array.name.clone(), (shown, array.path.clone()));
                }
                Some((known, first)) if *known != shown => problems.push(Problem::new(&array.path, format!("has another type than {first}"))),
                Some(_) => {}
            }
        }
    }
    Ok(problems)
}

/// Objects in none of the tables.
pub(crate) fn omitted(file: &File) -> Result<Vec<Omitted>> {
    let mut omitted: Vec<Omitted> = steps::all(file)?.iter().flat_map(|step| Particles::of(step).omitted).collect();
    let steps: BTreeSet<String> = steps::names(file)?.into_iter().map(|(_, path)| path).collect();
    let root = file.links(file.root())?;
    let others = root.iter().map(|link| format!("/{}", link.name)).filter(|path| !steps.contains(path));
    omitted.extend(others.map(|path| Omitted::new(path, "is not a step")));
    Ok(omitted)
}
