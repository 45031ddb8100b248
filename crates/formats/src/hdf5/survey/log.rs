//! What a survey has found so far.

use hyperslab_array::{Error, ErrorKind, Result};

use super::structure::{Damage, Extent, Purpose, StructureKind};
use crate::hdf5::Source;
use crate::hdf5::visited::Visited;

/// Budget that a damage costs, in bytes: its text, and its record.
const DAMAGE_COST: u64 = 256;
/// Minimum budget, in bytes, for a survey to continue.
const MIN_BUDGET: u64 = 4 << 10;

/// Records structures and damage. All of it is paid from the file's budget.
pub(super) struct Log<'s> {
    pub source: &'s Source,
    pub extents: Vec<Extent>,
    pub damages: Vec<Damage>,
    /// The object that structures belong to at the moment.
    pub object: Option<u64>,
    pub purpose: Purpose,
    claimed: Visited,
}

impl<'s> Log<'s> {
    pub fn new(source: &'s Source) -> Self {
        Self { source, extents: Vec::new(), damages: Vec::new(), object: None, purpose: Purpose::File, claimed: Visited::default() }
    }

    /// Records a structure of `length` bytes at `address`. Returns whether it is new: of those that lead to others, each is
    /// followed once.
    pub fn claim(&mut self, kind: StructureKind, address: u64, length: u64) -> Result<bool> {
        let is_new = self.claimed.insert(address);
        if is_new {
            self.extent(kind, address, length)?;
        }
        Ok(is_new)
    }

    /// Records a range that leads nowhere; one that was recorded before is recorded again, so that overlaps show.
    pub fn extent(&mut self, kind: StructureKind, address: u64, length: u64) -> Result<()> {
        self.source.budget.charge(size_of::<Extent>() as u64)?;
        let offset = self.source.absolute(address)?;
        self.extents.push(Extent { offset, length, kind, purpose: self.purpose, object: self.object });
        Ok(())
    }

    /// Records why a structure cannot be used.
    ///
    /// # Errors
    /// `error` itself if the survey has to end: it was cancelled, or the budget is spent.
    pub fn damage(&mut self, kind: StructureKind, address: u64, length: u64, error: Error) -> Result<()> {
        let is_spent = error.kind() == ErrorKind::LimitExceeded && self.source.budget.left() < MIN_BUDGET;
        if error.kind() == ErrorKind::Cancelled || is_spent {
            return Err(error);
        }
        self.source.budget.charge(DAMAGE_COST)?;
        let offset = self.source.base_address.saturating_add(address);
        self.damages.push(Damage { kind, purpose: self.purpose, offset, length, object: self.object, error });
        Ok(())
    }

    /// The result of a step; `None` if it failed, which is recorded.
    pub fn noted<T>(&mut self, kind: StructureKind, address: u64, length: u64, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) => self.damage(kind, address, length, error).map(|()| None),
        }
    }

    /// Runs `work`, whose structures are there for `purpose`.
    pub fn for_purpose<T>(&mut self, purpose: Purpose, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let before = std::mem::replace(&mut self.purpose, purpose);
        let outcome = work(self);
        self.purpose = before;
        outcome
    }
}
