//! Owners: which instance (station, profile, trajectory) an element belongs to, by counts or by indexes (CF 9.3).

use arrow_array::{ArrayRef, UInt64Array};
use hyperslab_array::{Axis, Cancellation, Error, ErrorKind, Result};
use hyperslab_formats::ObjectId;
use serde::{Deserialize, Serialize};

use super::array_part::ArrayPart;
use super::connectivity::whole_numbers;
use super::elements::Elements;
use super::need::{Mapping, Need};

/// How elements belong to owners.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "data models choose one")]
pub enum Ownership {
    /// Each owner has a number of elements, which follow the elements of the owner before (contiguous ragged).
    Counts,
    /// Each element has the index of its owner (indexed ragged).
    Indexes,
}

/// One step from elements to their owners.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OwnerStep<A = ArrayPart> {
    /// A whole 1-D array of counts or indexes.
    pub(crate) part: A,
    pub(super) ownership: Ownership,
    /// Number of owners.
    pub(super) owners: u64,
}

impl OwnerStep {
    /// A step to the owners of elements. `part` has the number of elements of each owner, or the owner of each element.
    pub fn new(part: ArrayPart, ownership: Ownership, owners: u64) -> Self {
        Self { part, ownership, owners }
    }
}

impl<A> OwnerStep<A> {
    /// The number of elements of the step's array, which belong to `elements` elements.
    fn length(&self, elements: u64) -> u64 {
        match self.ownership {
            Ownership::Counts => self.owners,
            Ownership::Indexes => elements,
        }
    }
}

/// The same steps from `elements` elements on with other arrays, and the number of the last owners.
pub(super) fn map_steps<A, B>(steps: &[OwnerStep<A>], elements: u64, map: Mapping<'_, A, B>) -> Result<(Vec<OwnerStep<B>>, u64)> {
    let (mut mapped, mut count) = (Vec::with_capacity(steps.len()), elements);
    for step in steps {
        mapped.push(OwnerStep { part: map(&step.part, Need::RawList(Some(step.length(count))))?, ownership: step.ownership, owners: step.owners });
        count = step.owners;
    }
    Ok((mapped, count))
}

/// What is read once to find the owners of elements.
#[derive(Debug)]
pub(crate) struct Owners {
    /// The arrays that it was made of.
    key: Vec<(String, ObjectId)>,
    /// If the first step is by counts: where the elements of each owner begin, and where the elements of the last owner end.
    starts: Option<Vec<u64>>,
    /// The final owner of each owner of the first step; `None` if there is one step.
    last: Option<Vec<u64>>,
}

fn key(steps: &[OwnerStep<Elements>]) -> Vec<(String, ObjectId)> {
    steps.iter().map(|step| (step.part.mapping.file.name(), step.part.dataset)).collect()
}

impl OwnerStep<Elements> {
    fn corrupt(&self, message: String) -> Error {
        self.part.place(Error::new(ErrorKind::Corrupt, message))
    }

    /// Where the elements of each owner begin, and where the elements of the last owner end.
    fn starts(&self, elements: u64, cancellation: &Cancellation) -> Result<Vec<u64>> {
        let counts = whole_numbers(&self.part.read_all(cancellation)?).map_err(|error| self.part.place(error))?;
        let (mut starts, mut end) = (Vec::with_capacity(counts.len() + 1), 0u64);
        starts.push(0);
        for (owner, count) in counts.iter().enumerate() {
            let next = u64::try_from(*count).ok().and_then(|count| end.checked_add(count));
            end = next.ok_or_else(|| self.corrupt(format!("the count of element {owner} is {count}")))?;
            starts.push(end);
        }
        if end != elements {
            return Err(self.corrupt(format!("the counts add up to {end}, but there are {elements} elements")));
        }
        Ok(starts)
    }

    /// Checked indexes; element `first` is the first of `read`.
    fn checked(&self, read: &ArrayRef, element: impl Fn(usize) -> u64) -> Result<Vec<u64>> {
        let numbers = whole_numbers(read).map_err(|error| self.part.place(error))?;
        let check = |(position, number): (usize, &i64)| {
            let owner = u64::try_from(*number).ok().filter(|owner| *owner < self.owners);
            owner.ok_or_else(|| self.corrupt(format!("the index of element {} is {number}, not within 0 to {}", element(position), self.owners as i128 - 1)))
        };
        numbers.iter().enumerate().map(check).collect()
    }

    /// The owner of each of `elements` elements.
    fn all(&self, elements: u64, cancellation: &Cancellation) -> Result<Vec<u64>> {
        match self.ownership {
            Ownership::Indexes => self.checked(&self.part.read_all(cancellation)?, |position| position as u64),
            Ownership::Counts => {
                let starts = self.starts(elements, cancellation)?;
                let beyond = || Error::limit_exceeded(format!("the owners of {elements} elements exceed memory"));
                let mut owners = Vec::new();
                owners.try_reserve_exact(usize::try_from(elements).map_err(|_| beyond())?).map_err(|_| beyond())?;
                for (owner, end) in starts.iter().skip(1).enumerate() {
                    owners.resize(usize::try_from(*end).map_err(|_| beyond())?, owner as u64);
                }
                Ok(owners)
            }
        }
    }
}

impl Owners {
    /// Whether it was made of the arrays of these steps.
    pub fn is_of(&self, steps: &[OwnerStep<Elements>]) -> bool {
        self.key == key(steps)
    }

    /// Reads counts, and all but the first step. `elements` is the number of elements that have owners.
    pub fn load(steps: &[OwnerStep<Elements>], elements: u64, cancellation: &Cancellation) -> Result<Self> {
        let first = steps.first().ok_or_else(|| Error::internal("owners without a step"))?;
        let starts = match first.ownership {
            Ownership::Counts => Some(first.starts(elements, cancellation)?),
            Ownership::Indexes => None,
        };
        let (mut last, mut count): (Option<Vec<u64>>, u64) = (None, first.owners);
        for step in steps.iter().skip(1) {
            let further = step.all(count, cancellation)?;
            let owner = |known: u64| usize::try_from(known).ok().and_then(|known| further.get(known).copied());
            last = Some(match last {
                None => further,
                Some(known) => known.into_iter().map(owner).collect::<Option<_>>().ok_or_else(|| Error::internal("an owner that has none"))?,
            });
            count = step.owners;
        }
        Ok(Self { key: key(steps), starts, last })
    }

    /// The owners of the elements that `axis` selects. `read` reads the indexes of the first step.
    pub fn at(&self, axis: &Axis, first: &OwnerStep<Elements>, read: impl FnOnce(&Elements) -> Result<ArrayRef>) -> Result<UInt64Array> {
        let element = |position: u64| axis.index(position).ok_or_else(|| Error::internal("axis position"));
        let direct: Vec<u64> = match &self.starts {
            None => first.checked(&read(&first.part)?, |position| element(position as u64).unwrap_or(position as u64))?,
            Some(starts) => {
                let mut owners = Vec::with_capacity(usize::try_from(axis.count()).unwrap_or(0));
                let mut owner = 0usize;
                for position in 0..axis.count() {
                    let element = element(position)?;
                    // Elements come in order: the owner is the same as for the element before, or soon after it.
                    let is_here = |owner: usize| starts.get(owner).zip(starts.get(owner + 1)).is_some_and(|(start, end)| (*start..*end).contains(&element));
                    if !is_here(owner) {
                        owner = starts.partition_point(|start| *start <= element).saturating_sub(1);
                    }
                    if !is_here(owner) {
                        return Err(Error::internal("an element beyond the counts"));
                    }
                    owners.push(owner as u64);
                }
                owners
            }
        };
        let Some(last) = &self.last else { return Ok(direct.into()) };
        let owner = |known: u64| usize::try_from(known).ok().and_then(|known| last.get(known).copied());
        let owners: Option<Vec<u64>> = direct.into_iter().map(owner).collect();
        owners.map(UInt64Array::from).ok_or_else(|| Error::internal("an owner that has none"))
    }
}
