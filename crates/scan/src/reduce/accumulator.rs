//! Sums, extremes and counts of all groups of one measure.

use std::sync::Arc;

use hyperslab_array::{Error, Result};
use hyperslab_predicate::KeyType;

use super::elements::{Kind, Numbers, beyond};
use super::fold::{AddEach, FindEnds, Number, Squares, SumUp, WidenEach};
use super::known::Summary;
use super::quantile::{Digits, Search};
use super::request::Measure;
use super::spans::{At, is_kept};

/// Masks of a block: 1 where a statement holds; `None` if it holds for every element.
#[derive(Debug, Clone, Copy)]
pub(super) struct Masks<'a> {
    /// The row counts.
    pub condition: Option<&'a [u8]>,
    /// The value counts: it is not null, and the measure's filter keeps it.
    pub valid: Option<&'a [u8]>,
    /// Both.
    pub kept: Option<&'a [u8]>,
}

/// The results of one measure in the type in which its values are computed.
pub(super) enum Accumulator {
    Floats(Groupwise<f32>),
    Doubles(Groupwise<f64>),
    Integers(Groupwise<i64>),
    /// Values that are only counted.
    Counted(Vec<u64>),
}

impl Accumulator {
    /// The results of no values; `search` is what is known of the measure's quantile, if more is to be found.
    pub fn new(measure: &Measure, kind: Kind, groups: usize, search: Option<&Arc<Search>>) -> Result<Self> {
        Ok(match kind {
            _ if !(measure.sum || measure.extremes || measure.deviations || search.is_some()) => Self::Counted(vec![0; groups]),
            Kind::Float => Self::Floats(Groupwise::new(measure, groups, search)),
            Kind::Double => Self::Doubles(Groupwise::new(measure, groups, search)),
            Kind::Integer => Self::Integers(Groupwise::new(measure, groups, search)),
            // `bool_and` and `bool_or` are extremes.
            Kind::Flag => Self::Integers(Groupwise::new(measure, groups, search)),
            Kind::Constant | Kind::Opaque => return Err(Error::unsupported("sums and extremes of values of this type in a reduction")),
        })
    }

    /// Bytes of one group.
    pub fn bytes_per_group() -> usize {
        size_of::<u64>() * 6 + size_of::<i128>()
    }

    /// What was counted for a quantile.
    pub fn digits(&self) -> Option<&Digits> {
        match self {
            Self::Floats(found) => found.digits.as_ref(),
            Self::Doubles(found) => found.digits.as_ref(),
            Self::Integers(found) => found.digits.as_ref(),
            Self::Counted(_) => None,
        }
    }

    /// Elements that count by group, but whose value is null or left out by the filter.
    pub fn left_out(&self) -> &[u64] {
        match self {
            Self::Floats(found) => &found.left_out,
            Self::Doubles(found) => &found.left_out,
            Self::Integers(found) => &found.left_out,
            Self::Counted(left_out) => left_out,
        }
    }

    /// Adds the elements of a part of a block.
    pub fn add(&mut self, numbers: &Numbers<'_>, masks: Masks<'_>, at: At<'_>) -> Result<()> {
        let Masks { condition, valid, kept } = masks;
        if let Some(valid) = valid.filter(|valid| valid.contains(&0)) {
            let left_out = match self {
                Self::Floats(found) => &mut found.left_out,
                Self::Doubles(found) => &mut found.left_out,
                Self::Integers(found) => &mut found.left_out,
                Self::Counted(left_out) => left_out,
            };
            match condition {
                None => at.count_zeros(valid, left_out)?,
                Some(condition) => {
                    let counted: Vec<u8> = condition.iter().zip(valid).map(|(passed, valid)| 1 - (passed & (1 - valid))).collect();
                    at.count_zeros(&counted, left_out)?;
                }
            }
        }
        let mask = kept.filter(|kept| kept.contains(&0));
        if mask.is_some_and(|mask| !mask.contains(&1)) {
            return Ok(());
        }
        match (self, numbers) {
            (Self::Counted(_), _) => Ok(()),
            (Self::Floats(found), Numbers::Floats(values)) => found.add(values, mask, at),
            (Self::Doubles(found), Numbers::Doubles(values)) => found.add(values, mask, at),
            (Self::Integers(found), Numbers::Integers(values)) => found.add(values, mask, at),
            (Self::Integers(found), Numbers::Flags(values)) => {
                let values: Vec<i64> = values.iter().map(|flag| i64::from(*flag)).collect();
                found.add(&values, mask, at)
            }
            _ => Err(Error::internal("a reduction of values of two types")),
        }
    }

    /// Adds values of one group that were not read.
    pub fn add_known(&mut self, group: usize, known: Summary) -> Result<()> {
        let left_out = match self {
            Self::Floats(found) => found.add_known(group, known, |key_type, key| key_type.float(key) as f32)?,
            Self::Doubles(found) => found.add_known(group, known, KeyType::float)?,
            Self::Integers(found) => found.add_known(group, known, |key_type, key| key_type.integer(key) as i64)?,
            Self::Counted(left_out) => left_out,
        };
        *left_out.get_mut(group).ok_or_else(beyond)? += known.nulls;
        Ok(())
    }

    /// Adds the results of later rows.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        match (self, other) {
            (Self::Floats(mine), Self::Floats(other)) => mine.merge(other),
            (Self::Doubles(mine), Self::Doubles(other)) => mine.merge(other),
            (Self::Integers(mine), Self::Integers(other)) => mine.merge(other),
            (Self::Counted(mine), Self::Counted(other)) => mine.iter_mut().zip(other).for_each(|(mine, other)| *mine += other),
            _ => return Err(Error::internal("a reduction of values of two types")),
        }
        Ok(())
    }
}

/// Results by group; a list is empty if it is not asked for.
pub(super) struct Groupwise<T: Number> {
    pub left_out: Vec<u64>,
    pub sums: Vec<T::Total>,
    pub least: Vec<T>,
    pub most: Vec<T>,
    pub nans: Vec<u64>,
    /// Of the values so far: their number, their mean, and the sum of squared differences from it.
    pub moments: Vec<Moments>,
    pub digits: Option<Digits>,
}

/// Number, mean, and sum of squared differences from the mean.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moments {
    pub count: u64,
    pub mean: f64,
    pub squares: f64,
}

impl Moments {
    /// Combines the moments of two sets (Chan, Golub and LeVeque, "Updating formulae", 1979).
    fn and(self, other: Self) -> Self {
        let count = self.count + other.count;
        if self.count == 0 || other.count == 0 {
            return if self.count == 0 { other } else { self };
        }
        let (n, m) = (self.count as f64, other.count as f64);
        let difference = other.mean - self.mean;
        let share = m / (n + m);
        Self { count, mean: self.mean + difference * share, squares: self.squares + other.squares + difference * difference * n * share }
    }
}

impl<T: Number> Groupwise<T> {
    fn new(measure: &Measure, groups: usize, search: Option<&Arc<Search>>) -> Self {
        let if_asked = |asked: bool| if asked { groups } else { 0 };
        Self {
            left_out: vec![0; groups],
            sums: vec![T::Total::default(); if_asked(measure.sum)],
            least: vec![T::MOST; if_asked(measure.extremes)],
            most: vec![T::LEAST; if_asked(measure.extremes)],
            nans: vec![0; if_asked(measure.extremes)],
            moments: vec![Moments::default(); if_asked(measure.deviations)],
            digits: search.map(|search| Digits::new(search.clone(), groups)),
        }
    }

    fn add(&mut self, values: &[T], mask: Option<&[u8]>, at: At<'_>) -> Result<()> {
        if let Some(digits) = &mut self.digits {
            digits.add(values, mask, at)?;
        }
        match at {
            At::One(group) => self.add_to_one(values, mask, group),
            At::Following(group) => self.add_to_following(values, mask, group..group + values.len()),
            At::Each(offset, groups) => self.add_to_each(values, mask, offset, groups),
        }
    }

    fn add_to_one(&mut self, values: &[T], mask: Option<&[u8]>, group: usize) -> Result<()> {
        let arch = pulp::Arch::new();
        if !self.sums.is_empty() {
            *self.sums.get_mut(group).ok_or_else(beyond)? += arch.dispatch(SumUp(values, mask));
        }
        if !self.least.is_empty() {
            let ends = arch.dispatch(FindEnds(values, mask));
            self.widen(group, ends.least, ends.most, ends.nans)?;
        }
        if !self.moments.is_empty() {
            let count = mask.map_or(values.len(), |mask| mask.iter().filter(|kept| **kept == 1).count());
            let doubles: Vec<f64> = values.iter().map(|value| value.double()).collect();
            let mean = arch.dispatch(SumUp(&doubles, mask)) / count.max(1) as f64;
            let squares = arch.dispatch(Squares(&doubles, mask, mean));
            let moments = self.moments.get_mut(group).ok_or_else(beyond)?;
            *moments = moments.and(Moments { count: count as u64, mean, squares });
        }
        Ok(())
    }

    /// Adds the ends of values that were not read; returns the numbers of those that are left out.
    fn add_known(&mut self, group: usize, known: Summary, value: impl Fn(KeyType, u64) -> T) -> Result<&mut Vec<u64>> {
        let (low, high) = known.ends.map_or((T::MOST, T::LEAST), |(key_type, low, high)| (value(key_type, low), value(key_type, high)));
        self.widen(group, low, high, known.nans)?;
        Ok(&mut self.left_out)
    }

    fn widen(&mut self, group: usize, low: T, high: T, more: u64) -> Result<()> {
        let (least, most) = (self.least.get_mut(group), self.most.get_mut(group));
        let (Some(least), Some(most), Some(nans)) = (least, most, self.nans.get_mut(group)) else { return Err(beyond()) };
        *least = if low < *least { low } else { *least };
        *most = if high > *most { high } else { *most };
        *nans += more;
        Ok(())
    }

    fn add_to_following(&mut self, values: &[T], mask: Option<&[u8]>, groups: std::ops::Range<usize>) -> Result<()> {
        let arch = pulp::Arch::new();
        if !self.sums.is_empty() {
            arch.dispatch(AddEach { values, mask, sums: self.sums.get_mut(groups.clone()).ok_or_else(beyond)? });
        }
        if !self.least.is_empty() {
            let (least, most) = (self.least.get_mut(groups.clone()), self.most.get_mut(groups.clone()));
            let (Some(least), Some(most), Some(nans)) = (least, most, self.nans.get_mut(groups.clone())) else { return Err(beyond()) };
            arch.dispatch(WidenEach { values, mask, least, most, nans });
        }
        if !self.moments.is_empty() {
            let moments = self.moments.get_mut(groups).ok_or_else(beyond)?;
            for (_, (moments, value)) in moments.iter_mut().zip(values).enumerate().filter(|(place, _)| is_kept(mask, *place)) {
                *moments = moments.and(Moments { count: 1, mean: value.double(), squares: 0.0 });
            }
        }
        Ok(())
    }

    fn add_to_each(&mut self, values: &[T], mask: Option<&[u8]>, offset: usize, groups: &[u32]) -> Result<()> {
        for (place, (value, group)) in values.iter().zip(groups).enumerate() {
            if !is_kept(mask, place) {
                continue;
            }
            let group = offset + *group as usize;
            if !self.sums.is_empty() {
                *self.sums.get_mut(group).ok_or_else(beyond)? += value.total();
            }
            if !self.least.is_empty() {
                match value.is_nan() {
                    true => *self.nans.get_mut(group).ok_or_else(beyond)? += 1,
                    false => self.widen(group, *value, *value, 0)?,
                }
            }
            if !self.moments.is_empty() {
                let moments = self.moments.get_mut(group).ok_or_else(beyond)?;
                *moments = moments.and(Moments { count: 1, mean: value.double(), squares: 0.0 });
            }
        }
        Ok(())
    }

    fn merge(&mut self, other: &Self) {
        self.left_out.iter_mut().zip(&other.left_out).for_each(|(mine, other)| *mine += other);
        self.sums.iter_mut().zip(&other.sums).for_each(|(mine, other)| *mine += *other);
        self.least.iter_mut().zip(&other.least).for_each(|(mine, other)| *mine = if *other < *mine { *other } else { *mine });
        self.most.iter_mut().zip(&other.most).for_each(|(mine, other)| *mine = if *other > *mine { *other } else { *mine });
        self.nans.iter_mut().zip(&other.nans).for_each(|(mine, other)| *mine += other);
        self.moments.iter_mut().zip(&other.moments).for_each(|(mine, other)| *mine = mine.and(*other));
        if let (Some(mine), Some(other)) = (&mut self.digits, &other.digits) {
            mine.merge(other);
        }
    }
}
