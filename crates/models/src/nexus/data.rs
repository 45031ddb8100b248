//! NXdata: a signal with its axes, errors and further signals, as a row for each element.

use std::collections::BTreeSet;

use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::{ArrayPart, DimensionMapping, Omitted, SegmentDefinition, Values};

use super::axes::{Axis, axes};
use super::shape_of;
use crate::groups::Group;
use crate::look::{Member, contradiction, free_name, join, numbers, text_of, texts};

/// A signal with what belongs to it.
pub(crate) struct Data {
    path: String,
    pub signal: String,
    /// The errors of the signal.
    pub errors: Option<String>,
    /// Signals of the same shape, each with its errors.
    pub auxiliary: Vec<(String, Option<String>)>,
    pub axes: Vec<Axis>,
    /// Errors of axes, with the index of the axis.
    axis_errors: Vec<(String, usize)>,
    pub shape: Vec<u64>,
    chunk: Vec<u64>,
    pub omitted: Vec<Omitted>,
}

/// The number that the attribute `signal` of a dataset holds, in files from before 2014.
fn signal_number(member: &Member) -> Option<f64> {
    member.dataset()?;
    let attributes = member.attributes().ok()?;
    let attribute = attributes.get("signal")?;
    match texts(attribute).ok()? {
        Some(texts) => texts.first()?.trim().parse().ok(),
        None => numbers(attribute).ok()??.first().copied(),
    }
}

/// The members that say of themselves that they are a signal, by their numbers. Without a number 1 there is no signal to be plotted, and the others are none.
fn marked(group: &Group) -> Vec<&Member> {
    let mut marked: Vec<(f64, &Member)> =
        group.members.iter().filter_map(|member| Some((signal_number(member).filter(|number| *number >= 1.0)?, member))).collect();
    marked.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    if group.attributes.get("signal").is_none() && marked.first().is_none_or(|(number, _)| *number >= 2.0) {
        return Vec::new();
    }
    marked.into_iter().map(|(_, member)| member).collect()
}

/// Whether a group says which of its members is the signal.
pub(crate) fn has_signal(group: &Group) -> bool {
    group.attributes.get("signal").is_some() || !marked(group).is_empty()
}

/// The errors of a signal or axis: what it names, or a dataset that is called after it.
fn errors_of(file: &File, group: &Group, name: &str, is_signal: bool) -> Result<Option<String>> {
    let said = match group.member(name) {
        Some(member) => text_of(&*member.attributes()?, "uncertainties")?,
        None => None,
    };
    if let Some(said) = said {
        let path = join(&group.path, name);
        return match group.member(&said) {
            Some(_) => Ok(Some(said)),
            None => Err(contradiction(file, &path, format!("its uncertainties {said:?} are named, but are not there"))),
        };
    }
    let mut candidates = vec![format!("{name}_errors")];
    if is_signal {
        candidates.push("errors".to_owned());
    }
    Ok(candidates.into_iter().find(|candidate| group.member(candidate).is_some()))
}

impl Data {
    /// The data of a group that [`has_signal`].
    ///
    /// # Errors
    /// `Corrupt` for names without a dataset, and shapes that contradict each other.
    pub fn of(file: &File, group: &Group) -> Result<Self> {
        let marked = marked(group);
        let signal = match (group.attributes.get("signal"), marked.first()) {
            (Some(attribute), _) => {
                let name = texts(attribute)?.and_then(|names| names.into_iter().next());
                name.ok_or_else(|| contradiction(file, &group.path, "the attribute signal does not hold a name"))?
            }
            (None, Some(first)) => first.name.clone(),
            (None, None) => return Err(contradiction(file, &group.path, "data without a signal")),
        };
        let missing = || contradiction(file, &group.path, format!("the signal {signal:?} is named, but is not there"));
        let member = group.member(&signal).ok_or_else(missing)?;
        let shape = shape_of(file, group, &signal)?.ok_or_else(missing)?;
        let chunk = member.dataset().map(|dataset| dataset.chunk_grid.chunk_shape().iter().map(|extent| (*extent).max(1)).collect());
        let axes = axes(file, group, &*member.attributes()?, &shape)?;
        let mut data = Self {
            path: group.path.clone(),
            errors: errors_of(file, group, &signal, true)?,
            auxiliary: Vec::new(),
            axes,
            axis_errors: Vec::new(),
            chunk: chunk.unwrap_or_default(),
            omitted: Vec::new(),
            signal,
            shape,
        };
        data.check(file, group, data.errors.as_deref())?;
        let named = match group.attributes.get("auxiliary_signals") {
            Some(attribute) => texts(attribute)?.ok_or_else(|| contradiction(file, &group.path, "the attribute auxiliary_signals does not hold names"))?,
            None => Vec::new(),
        };
        for name in named {
            data.check(file, group, Some(&name))?;
            let errors = errors_of(file, group, &name, false)?;
            data.check(file, group, errors.as_deref())?;
            data.auxiliary.push((name, errors));
        }
        for member in marked {
            if member.name == data.signal || data.auxiliary.iter().any(|(name, _)| *name == member.name) {
                continue;
            }
            match shape_of(file, group, &member.name)? {
                Some(own) if own == data.shape => data.auxiliary.push((member.name.clone(), errors_of(file, group, &member.name, false)?)),
                own => data.omitted.push(Omitted::new(member.path.clone(), format!("is a signal of shape {own:?}, which is not that of {}", data.signal))),
            }
        }
        for (index, axis) in data.axes.iter().enumerate() {
            let Some(errors) = errors_of(file, group, &axis.name, false)? else { continue };
            match axis.is_edges || shape_of(file, group, &errors)? != shape_of(file, group, &axis.name)? {
                true => data.omitted.push(Omitted::new(join(&group.path, &errors), format!("are errors of edges, or of another shape than {}", axis.name))),
                false => data.axis_errors.push((errors, index)),
            }
        }
        for name in ["scaling_factor", "offset"].into_iter().filter(|name| group.member(name).is_some()) {
            data.omitted.push(Omitted::new(join(&group.path, name), "is not applied to the signal"));
        }
        Ok(data)
    }

    /// Fails unless the dataset `name` has the shape of the signal.
    fn check(&self, file: &File, group: &Group, name: Option<&str>) -> Result<()> {
        let Some(name) = name else { return Ok(()) };
        let missing = || contradiction(file, &group.path, format!("the signal {name:?} is named, but is not there"));
        let own = shape_of(file, group, name)?.ok_or_else(missing)?;
        if own == self.shape {
            return Ok(());
        }
        let message = format!("has shape {own:?}, but the signal {} has shape {:?}", self.signal, self.shape);
        Err(contradiction(file, &join(&group.path, name), message))
    }

    fn part(&self, name: &str) -> ArrayPart {
        ArrayPart::whole(join(&self.path, name))
    }

    /// The columns of an axis.
    fn axis_columns(&self, axis: &Axis) -> Vec<(String, Values)> {
        let spread = |values: ArrayPart| Values::Spread { values, axes: axis.dimensions.clone() };
        let [dimension] = axis.dimensions.as_slice() else { return vec![(axis.name.clone(), spread(self.part(&axis.name)))] };
        let coordinate = |part| Values::Coordinate { axis: *dimension, dataset: join(&self.path, &axis.name), part, units: None };
        let extent = self.shape.get(*dimension).copied().unwrap_or(0);
        if !axis.is_edges {
            return vec![(axis.name.clone(), coordinate(None))];
        }
        let upper = self.part(&axis.name).with_dimensions(vec![DimensionMapping::Rows { start: 1, step: 1 }]);
        vec![(format!("{}_lower", axis.name), coordinate(Some((0, extent, 1)))), (format!("{}_upper", axis.name), spread(upper))]
    }

    /// All of it as a table, or the axes and one of its signals.
    pub fn definition(&self, only: Option<&str>) -> SegmentDefinition {
        let mut columns = Vec::new();
        for dimension in 0..self.shape.len() {
            let own: Vec<&Axis> = self.axes.iter().filter(|axis| axis.dimensions.as_slice() == [dimension]).collect();
            if own.is_empty() {
                columns.push((format!("index_{dimension}"), Values::Index { axis: dimension }));
            }
            columns.extend(own.iter().flat_map(|axis| self.axis_columns(axis)));
        }
        for axis in self.axes.iter().filter(|axis| axis.dimensions.len() != 1) {
            columns.extend(self.axis_columns(axis));
        }
        for (name, index) in self.axis_errors.iter().filter(|_| only.is_none()) {
            let axes = self.axes.get(*index).map(|axis| axis.dimensions.clone()).unwrap_or_default();
            columns.push((name.clone(), Values::Spread { values: self.part(name), axes }));
        }
        let signals = std::iter::once((&self.signal, &self.errors)).chain(self.auxiliary.iter().map(|(name, errors)| (name, errors)));
        for name in signals.flat_map(|(name, errors)| std::iter::once(name).chain(errors.as_ref())).filter(|name| only.is_none_or(|only| only == *name)) {
            columns.push((name.clone(), Values::Array(self.part(name))));
        }
        let (mut taken, mut paths) = (BTreeSet::new(), BTreeSet::new());
        let mut table = SegmentDefinition::new(self.path.clone(), self.shape.clone(), self.chunk.clone());
        for (name, values) in columns {
            // Errors that several signals share, and a signal that is named again, are one column.
            if matches!(values, Values::Array(_)) && !paths.insert(name.clone()) {
                continue;
            }
            table = table.with_column(free_name(&name, "data", &mut taken), values);
        }
        table
    }
}
