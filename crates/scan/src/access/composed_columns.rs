//! Reads columns that are put together from several arrays.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{Array, ArrayRef, DictionaryArray, Float64Array, Int32Array, StructArray};
use arrow_schema::{DataType, Field};
use hyperslab_array::{Axis, Datatype, Error, ErrorKind, Member, Result, Selection};
use hyperslab_columns::{Column, Conventions};

use super::ragged_columns::Ragged;
use super::window_columns::Window;
use crate::table::composed::{Loaded, not_composed};
use crate::table::connectivity::IndexRule;
use crate::table::definition_arrays::member_index;
use crate::table::elements::Elements;
use crate::table::nulls::{flags, integers, masked};
use crate::table::values::Values;

impl Window<'_> {
    /// The values of a composed column at the window's rows. `loaded` is what was read once for all windows.
    pub(super) fn composed(&self, field: &Field, composed: &Values<Elements>, loaded: Option<&Loaded>) -> Result<ArrayRef> {
        match composed {
            Values::Categories { codes, .. } => {
                let categories = loaded.and_then(|loaded| loaded.values.as_ref()).ok_or_else(|| Error::internal("categories were not loaded"))?;
                categorical(field, codes, &self.elements(codes, self.selection.axes())?, categories)
            }
            Values::Masked { values, mask } => {
                let shown = self.elements(values, self.selection.axes())?;
                let flags = flags(&self.elements(mask, self.selection.axes())?).map_err(|error| mask.place(error))?;
                masked(&shown, &flags)
            }
            Values::Lists { offsets, bounds, inner, values, extent } => {
                self.lists_of(field, Ragged { offsets, bounds: *bounds, inner: inner.as_ref(), values, extent: *extent })
            }
            Values::Vectors { values } => self.vectors(field, values),
            Values::Spread { values, axes } => self.spread(values, axes),
            Values::Runs { starts, values, .. } => {
                let loaded = loaded.and_then(|loaded| loaded.values.as_ref()).ok_or_else(|| Error::internal("runs were not loaded"))?;
                self.runs(field, &integers(loaded).map_err(|error| starts.place(error))?, values.as_ref())
            }
            Values::Scaled { terms, constant, factors, .. } => {
                let read = terms.iter().map(|term| Ok((self.elements(&term.part, self.selection.axes())?, term.factor)));
                let factors = factors.as_ref().map(|(elements, axis)| self.spread(elements, &[*axis])).transpose()?;
                scaled_sum(&read.collect::<Result<Vec<_>>>()?, *constant, factors.as_ref())
            }
            Values::Connectivity { indexes, counts, rule } => self.index_lists(indexes, counts.as_ref(), rule),
            Values::Repeated { values, axes } => self.repeated(field, values, axes),
            Values::Joined { axis, steps, .. } => {
                let loaded = loaded.ok_or_else(|| Error::internal("owners were not loaded"))?;
                self.joined(field, *axis, steps, loaded)
            }
            Values::Patches(patched) => {
                let loaded = loaded.and_then(|loaded| loaded.patches.as_ref()).ok_or_else(|| Error::internal("boxes were not loaded"))?;
                self.patched(patched, loaded)
            }
            _ => Err(not_composed()),
        }
    }

    fn index_lists(&self, indexes: &Elements, counts: Option<&Elements>, rule: &IndexRule) -> Result<ArrayRef> {
        let [rows] = self.selection.axes() else { return Err(Error::internal("lists of indexes in rows of several dimensions")) };
        let shape = indexes.shape()?;
        let width = shape.get(1 - rule.axis.min(1)).copied().ok_or_else(|| Error::internal("a table of indexes of one dimension"))?;
        let axes = if rule.axis == 0 { [rows.clone(), Axis::all(width)] } else { [Axis::all(width), rows.clone()] };
        let read = self.elements(indexes, &axes)?;
        let counts = match counts {
            Some(counts) => {
                let read = self.elements(counts, std::slice::from_ref(rows))?;
                Some(integers(&read).map_err(|error| counts.place(error))?)
            }
            None => None,
        };
        let width = usize::try_from(width).map_err(|_| Error::limit_exceeded("a window exceeds memory"))?;
        let list = rule.lists(&read, rows, width, counts.as_deref());
        list.map(|list| Arc::new(list) as ArrayRef).map_err(|error| indexes.place(error))
    }

    /// The elements of an array for `rows`.
    pub(super) fn elements(&self, elements: &Elements, rows: &[Axis]) -> Result<ArrayRef> {
        let selection = elements.selection(rows)?;
        if let Some(member) = &elements.member {
            return self.member_elements(elements, member, &selection);
        }
        let (bytes, heap) = self.read_of(&elements.mapping.file, elements.dataset, &selection, elements.column.datatype())?;
        elements.column.take_arrow(bytes.into_buffer(), &heap).map_err(|error| elements.place(error))
    }

    /// The values of one member of a compound dataset.
    fn member_elements(&self, elements: &Elements, name: &str, selection: &Selection) -> Result<ArrayRef> {
        let file = &elements.mapping.file;
        let description = file.dataset(elements.dataset)?;
        let Datatype::Compound { size, members } = &description.datatype else { return Err(Error::internal("a member without a compound")) };
        let member = members.get(member_index(&description, name)?).ok_or_else(|| Error::internal("no such member"))?;
        let member = Member { datatype: elements.column.datatype().clone(), ..member.clone() };
        let projected = Datatype::Compound { size: *size, members: [member].into() };
        let (bytes, heap) = self.read_of(file, elements.dataset, selection, &projected)?;
        let record = Column::new("record", &projected, &[], Conventions::Raw)?.to_arrow(&bytes, &heap).map_err(|error| elements.place(error))?;
        let record = record.as_any().downcast_ref::<StructArray>().and_then(|record| record.column_by_name(name));
        record.cloned().ok_or_else(|| Error::internal("a compound is not a struct"))
    }
}

/// `constant + factor * values + …`; null where one of the values is. `factors` multiply the factor of each row.
fn scaled_sum(terms: &[(ArrayRef, f64)], constant: f64, factors: Option<&ArrayRef>) -> Result<ArrayRef> {
    let doubles = |values: &ArrayRef| arrow_cast::cast(values, &DataType::Float64).map_err(|error| Error::internal(error.to_string()));
    let factors = factors.map(doubles).transpose()?;
    let mut sum: Option<Float64Array> = None;
    for (values, factor) in terms {
        let cast = doubles(values)?;
        let values = cast.as_primitive::<Float64Type>();
        let scaled: Float64Array = match &factors {
            None => values.unary(|value| value * factor),
            Some(factors) => values.iter().zip(factors.as_primitive::<Float64Type>()).map(|(value, own)| Some(value? * (factor * own?))).collect(),
        };
        sum = Some(match sum {
            None => scaled,
            Some(sum) => sum.iter().zip(&scaled).map(|(a, b)| Some(a? + b?)).collect(),
        });
    }
    let sum = sum.ok_or_else(|| Error::internal("a sum without terms"))?;
    let shifted: Float64Array = if constant == 0.0 { sum } else { sum.unary(|value| value + constant) };
    Ok(Arc::new(shifted))
}

/// Arrow dictionaries of text, values of other types.
fn categorical(field: &Field, codes: &Elements, read: &ArrayRef, categories: &ArrayRef) -> Result<ArrayRef> {
    let read = integers(read).map_err(|error| codes.place(error))?;
    let count = categories.len();
    let key = |code: &i64| match usize::try_from(*code) {
        Err(_) => Ok(None),
        Ok(index) if index < count && categories.is_null(index) => Ok(None),
        Ok(index) if index < count => i32::try_from(index).map(Some).map_err(|_| Error::unsupported("more than 2 Gi categories")),
        Ok(_) => Err(codes.place(Error::new(ErrorKind::Corrupt, format!("code {code} of {count} categories")))),
    };
    let keys = read.iter().map(key).collect::<Result<Int32Array>>()?;
    let internal = |error: arrow_schema::ArrowError| Error::internal(error.to_string());
    match field.data_type() {
        DataType::Dictionary(..) => Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, categories.clone()).map_err(internal)?)),
        _ => arrow_select::take::take(categories, &keys, None).map_err(internal),
    }
}
