//! A time series: data with timestamps, or with a starting time and a rate.

use std::collections::BTreeMap;

use hyperslab_array::{Datatype, Result};
use hyperslab_columns::attribute_text;
use hyperslab_formats::Attributes;
use hyperslab_reader::File;
use hyperslab_scan::{ArrayPart, Omitted, SegmentDefinition, Term, Values};

use super::{TYPE, list_length};
use crate::groups::Group;
use crate::look::{contradiction, numbers, text_of};
use crate::small_values::number_in;

/// A time series.
pub(crate) struct Series {
    path: String,
    shape: Vec<u64>,
    chunk: Vec<u64>,
    columns: Vec<(String, Values)>,
    /// Members that are columns, or whose values are in them.
    pub used: Vec<String>,
    pub omitted: Vec<Omitted>,
}

/// Whether a group is a time series, by its structure and the name of its type.
pub(crate) fn is_series(group: &Group) -> bool {
    let is_timed = group.member("timestamps").is_some() || group.member("starting_time").is_some();
    let is_called_so = || text_of(&group.attributes, TYPE).ok().flatten().is_some_and(|name| name.ends_with("Series"));
    group.member("data").is_some_and(|data| data.group().is_none()) && (is_timed || is_called_so())
}

/// A number that an attribute holds. `Corrupt` if it is something else.
fn number(file: &File, path: &str, attributes: &Attributes, name: &str) -> Result<Option<f64>> {
    let Some(attribute) = attributes.get(name) else { return Ok(None) };
    match numbers(attribute).map_err(|error| error.at_object(path).in_file(file.name()))?.as_deref() {
        Some(&[number]) => Ok(Some(number)),
        _ => Err(contradiction(file, path, format!("the attribute {name} is not a number"))),
    }
}

impl Series {
    /// The time series in a group that [`is_series`].
    ///
    /// # Errors
    /// `Corrupt` if lengths contradict each other, or values are not what they have to be.
    pub fn of(file: &File, group: &Group) -> Result<Self> {
        let missing = || contradiction(file, &group.path, "a time series without data");
        let data = group.member("data").ok_or_else(missing)?;
        let dataset = match &data.object {
            Ok((_, object)) => object.dataset().ok_or_else(missing)?,
            Err(error) => return Err(error.clone().at_object(&data.path)),
        };
        if let Some(refusal) = &dataset.refusal {
            return Err(refusal.clone().at_object(&data.path));
        }
        let shape = dataset.dataspace.shape().to_vec();
        let Some((&samples, rest)) = shape.split_first() else {
            return Err(contradiction(file, &data.path, "the data of a time series without dimensions"));
        };
        let mut series = Self {
            path: group.path.clone(),
            chunk: dataset.chunk_grid.chunk_shape().iter().map(|extent| (*extent).max(1)).collect(),
            shape: shape.clone(),
            columns: Vec::new(),
            used: vec!["data".to_owned()],
            omitted: Vec::new(),
        };
        series.times(file, group, samples)?;
        let electrodes = list_length(file, group, "electrodes")?;
        match (electrodes, rest) {
            (Some(count), [channels, ..]) if count == *channels => {
                series.add("electrode", Values::Coordinate { axis: 1, dataset: format!("{}/electrodes", group.path), part: None, units: None });
                series.used.push("electrodes".to_owned());
            }
            (Some(count), [channels, ..]) => {
                let path = format!("{}/electrodes", group.path);
                return Err(contradiction(file, &path, format!("names {count} electrodes, but the data have {channels} channels")));
            }
            _ => {}
        }
        match rest {
            [] => {}
            [_] => series.add("channel", Values::Index { axis: 1 }),
            rest => (1..=rest.len()).for_each(|axis| series.add(&format!("index_{axis}"), Values::Index { axis })),
        }
        let attributes = data.attributes()?;
        let values = series.data(file, group, &attributes, &dataset.datatype)?;
        series.add("data", values);
        if let Some(count) = list_length(file, group, "control")? {
            if count != samples {
                return Err(contradiction(file, &format!("{}/control", group.path), format!("has {count} values for {samples} samples")));
            }
            let values = ArrayPart::whole(format!("{}/control", group.path));
            let values = if rest.is_empty() { Values::Array(values) } else { Values::Spread { values, axes: vec![0] } };
            series.add("control", values);
            series.used.push("control".to_owned());
        }
        if group.member("external_file").is_some() {
            series.omitted.push(Omitted::new(format!("{}/external_file", group.path), "names files of images, which are not read"));
        }
        Ok(series)
    }

    fn add(&mut self, name: &str, values: Values) {
        self.columns.push((name.to_owned(), values));
    }

    /// The column of times, in seconds.
    fn times(&mut self, file: &File, group: &Group, samples: u64) -> Result<()> {
        if let Some(count) = list_length(file, group, "timestamps")? {
            let path = format!("{}/timestamps", group.path);
            if count != samples {
                return Err(contradiction(file, &path, format!("has {count} timestamps, but the data have {samples} samples")));
            }
            self.add("time", Values::Coordinate { axis: 0, dataset: path, part: None, units: None });
            self.used.push("timestamps".to_owned());
            return Ok(());
        }
        let Some(start) = group.member("starting_time") else {
            self.add("sample", Values::Index { axis: 0 });
            return Ok(());
        };
        let origin = number_in(Some(start))?.ok_or_else(|| contradiction(file, &start.path, "is not one number"))?;
        let rate = number(file, &start.path, &*start.attributes()?, "rate")?;
        let rate = rate.ok_or_else(|| contradiction(file, &start.path, "a starting time without the attribute rate"))?;
        if !(rate > 0.0 && rate.is_finite()) {
            return Err(contradiction(file, &start.path, format!("the rate {rate} is not a positive number")));
        }
        self.add("time", Values::Sampled { axis: 0, origin, rate });
        self.used.push("starting_time".to_owned());
        Ok(())
    }

    /// The data in their unit: as stored, or with conversion and offset applied.
    fn data(&mut self, file: &File, group: &Group, attributes: &Attributes, datatype: &Datatype) -> Result<Values> {
        let path = format!("{}/data", group.path);
        let conversion = number(file, &path, attributes, "conversion")?.unwrap_or(1.0);
        let offset = number(file, &path, attributes, "offset")?.unwrap_or(0.0);
        let whole = ArrayPart::whole(path.clone());
        let factors = match group.member("channel_conversion") {
            None => None,
            Some(member) => {
                let count = list_length(file, group, "channel_conversion")?;
                let axis = number(file, &member.path, &*member.attributes()?, "axis")?.unwrap_or(1.0);
                let axis = (0..self.shape.len()).find(|known| *known as f64 == axis);
                let extent = axis.and_then(|axis| self.shape.get(axis).copied());
                if extent.is_none() || extent != count {
                    let message = format!("has {} factors, which do not fit data of shape {:?}", count.unwrap_or(0), self.shape);
                    return Err(contradiction(file, &member.path, message));
                }
                self.used.push("channel_conversion".to_owned());
                axis.map(|axis| (ArrayPart::whole(member.path.clone()), axis))
            }
        };
        let is_number = matches!(datatype, Datatype::Integer { .. } | Datatype::Float { .. });
        let is_plain = factors.is_none() && offset.to_bits() == 0.0f64.to_bits() && conversion.to_bits() == 1.0f64.to_bits();
        if is_plain || !is_number {
            return Ok(Values::Array(whole));
        }
        let names = ["unit", "description", "comments"];
        let metadata = names.iter().filter_map(|name| Some(((*name).to_owned(), attributes.get(name).and_then(attribute_text)?)));
        let metadata: BTreeMap<String, String> = metadata.collect();
        Ok(Values::Scaled { terms: vec![Term::new(whole, conversion)], constant: offset, factors, metadata })
    }

    pub fn definition(&self) -> Result<SegmentDefinition> {
        let table = SegmentDefinition::new(self.path.clone(), self.shape.clone(), self.chunk.clone());
        Ok(self.columns.iter().fold(table, |table, (name, values)| table.with_column(name.clone(), values.clone())))
    }
}
