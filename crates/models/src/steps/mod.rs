//! Steps of H5hut: groups `Step#0`, `Step#1`, … of the root, which hold particles (H5Part) and fields (H5Block).
//!
//! The file attribute `__stepname__` gives another name than `Step`. Numbers may be padded with zeros, have gaps, and come in any
//! order; rows come in the order of the numbers.

mod attributes;

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array};
use hyperslab_array::Result;
use hyperslab_formats::Attributes;
use hyperslab_reader::File;
use hyperslab_scan::{Literal, Values};

use crate::look::{Member, attributes_at, contradiction, join, members, numbers, text_of};
pub(crate) use attributes::AttributeColumns;

/// File attribute with the name of steps.
const STEP_NAME: &str = "__stepname__";
/// Group of a step with its fields.
pub(crate) const BLOCK: &str = "Block";
/// Step attributes that hold a step's time: of OPAL and H5hut's examples, of ParaView's reader, and as others write it.
const TIME_NAMES: [&str; 4] = ["TIME", "TimeValue", "Time", "time"];

/// A step.
pub(crate) struct Step {
    pub number: i64,
    pub path: String,
    pub attributes: Arc<Attributes>,
    pub members: Vec<Member>,
}

/// The numbers and paths of the steps, by number. No other object than the root is read.
pub(crate) fn names(file: &File) -> Result<Vec<(i64, String)>> {
    let root = file.root();
    // An attribute that cannot be read names nothing.
    let prefix = match text_of(&file.attributes(root).unwrap_or_default(), STEP_NAME).ok().flatten() {
        Some(name) => format!("{name}#"),
        None => "Step#".to_owned(),
    };
    let number = |name: &str| {
        let digits = name.strip_prefix(&prefix)?;
        if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse::<i64>().ok() } else { None }
    };
    let links = file.links(root)?;
    let mut found: Vec<(i64, String)> = links.iter().filter_map(|link| Some((number(&link.name)?, join("/", &link.name)))).collect();
    found.sort();
    Ok(found)
}

/// Every step with its members, by number.
pub(crate) fn all(file: &File) -> Result<Vec<Step>> {
    let names = names(file)?;
    if let Some([(number, first), (_, second)]) = names.windows(2).find(|pair| matches!(pair, [(a, _), (b, _)] if a == b)) {
        return Err(contradiction(file, second, format!("{first} and {second} are both step {number}")));
    }
    names.into_iter().map(|(number, path)| one(file, number, path)).collect()
}

/// The step at `path`.
pub(crate) fn one(file: &File, number: i64, path: String) -> Result<Step> {
    let found = file.find(&path)?;
    if !found.file.object(found.object)?.is_group() {
        return Err(contradiction(file, &path, "a step is a group; this is something else"));
    }
    Ok(Step { number, attributes: attributes_at(&found, &path)?, members: members(file, &path)?, path })
}

impl Step {
    /// The step's time; `None` if no attribute has it. Anything but one number is not a time.
    pub fn time(&self) -> Result<Option<f64>> {
        let Some(attribute) = TIME_NAMES.iter().find_map(|name| self.attributes.get(name)) else { return Ok(None) };
        Ok(match numbers(attribute).map_err(|error| error.at_object(&*self.path))?.as_deref() {
            Some([time]) => Some(*time),
            _ => None,
        })
    }

    /// Whether there is a time attribute that [`Step::time`] cannot use: its name.
    pub fn unusable_time(&self) -> Result<Option<&'static str>> {
        let name = TIME_NAMES.into_iter().find(|name| self.attributes.get(name).is_some());
        Ok(if self.time()?.is_none() { name } else { None })
    }

    /// The column of the step's number.
    pub fn number_column(&self) -> Values {
        Values::Constant(Literal(Arc::new(Int64Array::from(vec![self.number]))))
    }

    /// The column of the step's time, null if it has none.
    pub fn time_column(&self) -> Result<Values> {
        let time: ArrayRef = Arc::new(Float64Array::from(vec![self.time()?]));
        Ok(Values::Constant(Literal(time)))
    }
}
