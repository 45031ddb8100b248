//! Neurodata Without Borders (NWB) 2: recordings of neurophysiology.
//!
//! Tables: each time series, and each dynamic table (units, electrodes, trials), by their paths. Objects are recognized by their
//! structure, so that types of extensions are read as the types that they extend. All other datasets are arrays.

mod dynamic_table;
mod facts;
mod series;

use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::{Omitted, SegmentDefinition};

use crate::groups::{Group, Groups};
use crate::look::{contradiction, join, no_table, text_of};
use crate::model::{Certainty, Model, NamedArray, Problem, Recognition};
use dynamic_table::DynamicTable;
use series::Series;

/// The model.
pub(crate) struct Nwb;

/// Attribute of the root with the version of the schema.
const VERSION: &str = "nwb_version";
/// Attribute with the type of an object.
const TYPE: &str = "neurodata_type";
/// Group of the schemas of the format, which a file carries.
const SPECIFICATIONS: &str = "/specifications";

/// What a group is.
enum Kind {
    Table,
    Series,
    Container,
}

fn kind(group: &Group) -> Kind {
    if group.attributes.get("colnames").is_some() {
        Kind::Table
    } else if series::is_series(group) {
        Kind::Series
    } else {
        Kind::Container
    }
}

/// The groups of a file without the schemas that it carries.
fn groups(file: &File) -> Result<Groups> {
    let mut groups = Groups::of(file)?;
    groups.list.retain(|group| group.path != SPECIFICATIONS && !group.path.starts_with(&format!("{SPECIFICATIONS}/")));
    groups.omitted.retain(|omitted| !omitted.name.starts_with(SPECIFICATIONS));
    Ok(groups)
}

fn definition(file: &File, group: &Group) -> Result<Option<SegmentDefinition>> {
    match kind(group) {
        Kind::Table => DynamicTable::of(file, group)?.definition().map(Some),
        Kind::Series => Series::of(file, group)?.definition().map(Some),
        Kind::Container => Ok(None),
    }
}

impl Model for Nwb {
    fn name(&self) -> &'static str {
        "nwb"
    }

    fn recognize(&self, file: &File) -> Result<Option<Recognition>> {
        let attributes = file.attributes(file.root()).unwrap_or_default();
        // The first version has a dataset of this name, and another structure.
        let version = text_of(&attributes, VERSION).ok().flatten();
        Ok(version.map(|version| Recognition::new(self.name(), Certainty::Certain, format!("the root has {VERSION} {version}"))))
    }

    fn tables(&self, file: &File) -> Result<Vec<String>> {
        let groups = groups(file)?;
        let tables = groups.list.iter().filter(|group| !matches!(kind(group), Kind::Container));
        Ok(tables.map(|group| group.name().to_owned()).collect())
    }

    fn table(&self, file: &File, name: &str) -> Result<Vec<SegmentDefinition>> {
        let group = Group::at(file, &join("/", name))?;
        let definition = group.map(|group| definition(file, &group)).transpose()?.flatten();
        definition.map(|definition| vec![definition]).ok_or_else(|| match self.tables(file) {
            Ok(tables) => no_table(self.name(), name, &tables),
            Err(error) => error,
        })
    }

    fn arrays(&self, file: &File) -> Result<Vec<NamedArray>> {
        let mut arrays = Vec::new();
        for group in &groups(file)?.list {
            // A table that contradicts the model is named by `validate`.
            let used = match kind(group) {
                Kind::Table => DynamicTable::of(file, group).map(|table| table.used).unwrap_or_default(),
                Kind::Series => Series::of(file, group).map(|series| series.used).unwrap_or_default(),
                Kind::Container => Vec::new(),
            };
            for member in group.members.iter().filter(|member| !used.contains(&member.name)) {
                if let Some(dataset) = member.dataset().filter(|dataset| dataset.refusal.is_none()) {
                    let (name, shape) = (member.path.trim_start_matches('/').to_owned(), dataset.dataspace.shape().to_vec());
                    arrays.push(NamedArray { name, step: None, path: member.path.clone(), shape });
                }
            }
        }
        Ok(arrays)
    }

    fn validate(&self, file: &File) -> Result<Vec<Problem>> {
        let groups = groups(file)?;
        let mut problems = Vec::new();
        for group in &groups.list {
            let opened = definition(file, group).and_then(|definition| definition.map(|definition| definition.open(file, true)).transpose());
            if let Err(error) = opened {
                problems.push(Problem::new(error.object().unwrap_or(&group.path), error.message()));
            }
            if matches!(kind(group), Kind::Series) && group.member("timestamps").is_some() && group.member("starting_time").is_some() {
                problems.push(Problem::new(&group.path, "has both timestamps and starting_time: timestamps count"));
            }
        }
        problems.extend(
            groups.omitted.iter().filter(|omitted| omitted.reason.starts_with("cannot be read")).map(|omitted| Problem::new(&omitted.name, &omitted.reason)),
        );
        Ok(problems)
    }

    fn omitted(&self, file: &File) -> Result<Vec<Omitted>> {
        let groups = groups(file)?;
        let mut omitted = Vec::new();
        if file.exists(SPECIFICATIONS)? {
            omitted.push(Omitted::new(SPECIFICATIONS, "holds the schemas of the format"));
        }
        for group in &groups.list {
            match kind(group) {
                Kind::Table => match DynamicTable::of(file, group) {
                    Ok(table) => omitted.extend(table.omitted),
                    Err(error) => omitted.push(Omitted::new(group.path.clone(), format!("contradicts the model: {}", error.message()))),
                },
                Kind::Series => match Series::of(file, group) {
                    Ok(series) => omitted.extend(series.omitted),
                    Err(error) => omitted.push(Omitted::new(group.path.clone(), format!("contradicts the model: {}", error.message()))),
                },
                Kind::Container => {}
            }
            for member in &group.members {
                if let Some(refusal) = member.dataset().and_then(|dataset| dataset.refusal.as_ref())
                    && !omitted.iter().any(|known| known.name == member.path)
                {
                    omitted.push(Omitted::new(member.path.clone(), format!("cannot be read: {}", refusal.message())));
                }
            }
        }
        omitted.extend(groups.omitted);
        Ok(omitted)
    }

    fn facts(&self, file: &File) -> Result<String> {
        facts::facts(file, &groups(file)?)
    }
}

/// The 1-D dataset `name` of a group. `Corrupt` for another number of dimensions.
fn list_length(file: &File, group: &Group, name: &str) -> Result<Option<u64>> {
    let Some(member) = group.member(name) else { return Ok(None) };
    let dataset = match (&member.object, member.dataset()) {
        (Err(error), _) => return Err(error.clone().at_object(&member.path)),
        (_, None) => return Err(contradiction(file, &member.path, "is not a dataset")),
        (_, Some(dataset)) => dataset,
    };
    match dataset.dataspace.shape() {
        [length] => Ok(Some(*length)),
        shape => Err(contradiction(file, &member.path, format!("has shape {shape:?}, not one dimension"))),
    }
}
