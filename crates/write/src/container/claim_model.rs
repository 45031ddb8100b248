//! A model of commits that explores all interleavings of the protocol in `claim`: the functions are those that commits call, over
//! a file system in memory.
//!
//! A process is its function, called again from the beginning for each step: what the file system answered so far is replayed,
//! the next question is answered by the model, in every way that is possible, and then the function is stopped. What was answered
//! in an earlier part of the commit is forgotten. A process that
//! is never continued was killed. What is not decided by a server may be old: whether a claim exists, and the master's state.
//!
//! The model can fail: each [`Fault`] takes one guard of the protocol away, and a test shows that a commit is then lost.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use hyperslab_array::{Error, ErrorKind, Result};

use super::{Claims, Committer, MAX_LOOKUP_AGE, claim_next, settle_claims};

/// What the file system holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct World {
    /// The states of the master, the last one now; a commit is known by its process.
    states: Vec<usize>,
    /// Temporary files, by process.
    asides: BTreeSet<usize>,
    claims: BTreeMap<u32, usize>,
    /// Whether a commit has replaced another state than the one that it was made from: a commit that was done is lost.
    is_lost: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Answer {
    Yes,
    No,
    Of(Option<usize>),
    Is(Committer),
    State(usize),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Process {
    /// In this part, with the answers that it got there.
    Running(Part, Vec<Answer>),
    Committed,
    Failed,
}

/// The parts of a commit, with the index of its claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    Claim,
    Look(u32),
    Record(u32),
    Rename(u32),
    Drop(u32),
    LookAgain(u32),
    Settle { is_renamed: bool },
    End { is_renamed: bool },
}

/// A guard of the protocol that is taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// A claim is created although its name is taken.
    CreateIsNotExclusive,
    /// A claim is taken for ended although its temporary file stays.
    TemporaryFileStays,
    /// A temporary file that was gone already counts as removed by this process.
    AnyRemovalCounts,
    /// A committer without its temporary file is taken for one that has failed, although look-ups may be old.
    GoneIsTakenForFailed,
    /// Claims seem to be older than look-ups can be.
    ClaimsSeemOld,
    /// The state is not looked at again after the claim.
    StateIsNotLookedAt,
    /// The master is replaced although the temporary file was removed.
    RenameNeedsNoFile,
    /// A committer that failed takes its claim back while the state is the same.
    ClaimsAreTakenBack,
    /// The committer that replaced the state removes claims although look-ups may be old.
    ClaimsAreRemovedEarly,
    /// A committer whose lock shows that it runs is ended.
    AliveIsEnded,
}

/// Which file system is modeled.
#[derive(Debug, Clone, Copy)]
struct Kind {
    /// Whether look-ups of other machines' changes may be old.
    has_old_lookups: bool,
    /// Whether a lock says if a process runs. Otherwise its claim seems to be old enough at any time.
    has_locks: bool,
    fault: Option<Fault>,
}

impl Kind {
    fn has(self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }
}

/// The state that all processes want to replace.
const BASE: usize = usize::MAX;

/// The file system as a process sees it.
struct Seen<'a> {
    kind: Kind,
    me: usize,
    log: &'a [Answer],
    at: Cell<usize>,
    world: RefCell<World>,
    /// Which of the possible answers is given to the next question.
    choice: usize,
    /// The answer to the next question, and how many there are.
    given: Cell<Option<(Answer, usize)>>,
}

impl Seen<'_> {
    fn ask(&self, answers: impl FnOnce(&mut World) -> Vec<Answer>) -> Result<Answer> {
        let stopped = || Error::new(ErrorKind::Cancelled, "stopped");
        if let Some(known) = self.log.get(self.at.get()) {
            self.at.set(self.at.get() + 1);
            return Ok(*known);
        }
        if self.given.get().is_none() {
            let answers = answers(&mut self.world.borrow_mut());
            let answer = *answers.get(self.choice).ok_or_else(stopped)?;
            self.given.set(Some((answer, answers.len())));
        }
        Err(stopped())
    }

    fn is(&self, answers: impl FnOnce(&mut World) -> Vec<Answer>) -> Result<bool> {
        self.ask(answers).map(|answer| answer == Answer::Yes)
    }

    /// Whether the master has the state that it had in the beginning; may be old.
    fn is_base(&self) -> Result<bool> {
        let seen = self.ask(|world| {
            let now = world.states.last().copied().unwrap_or(BASE);
            if self.kind.has_old_lookups { world.states.iter().map(|state| Answer::State(*state)).collect() } else { vec![Answer::State(now)] }
        })?;
        Ok(seen == Answer::State(BASE))
    }

    /// One part of a commit; returns the next one.
    fn run(&self, part: Part) -> Result<Part> {
        Ok(match part {
            Part::Claim => Part::Look(claim_next(self)?),
            Part::Look(claim) if self.kind.has(Fault::StateIsNotLookedAt) || self.is_base()? => Part::Record(claim),
            Part::Look(claim) => Part::Drop(claim),
            // Writing the record fails if the disk is full.
            Part::Record(claim) => match self.is(|_| vec![Answer::Yes, Answer::No])? {
                true => Part::Rename(claim),
                false => Part::Drop(claim),
            },
            Part::Rename(claim) => match self.rename()? {
                true => Part::Settle { is_renamed: true },
                false => Part::Drop(claim),
            },
            // The temporary file is removed when the writer of the master is dropped.
            Part::Drop(claim) => {
                self.is(|world| vec![yes_if(world.asides.remove(&self.me))])?;
                Part::LookAgain(claim)
            }
            Part::LookAgain(claim) if self.kind.has(Fault::ClaimsAreTakenBack) => {
                self.remove(claim)?;
                Part::End { is_renamed: false }
            }
            Part::LookAgain(_) if self.is_base()? => Part::End { is_renamed: false },
            Part::LookAgain(_) => Part::Settle { is_renamed: false },
            Part::Settle { is_renamed } => {
                if self.is_coherent()? || self.kind.has(Fault::ClaimsAreRemovedEarly) {
                    settle_claims(self)?;
                }
                Part::End { is_renamed }
            }
            Part::End { .. } => part,
        })
    }

    fn rename(&self) -> Result<bool> {
        self.is(|world| {
            if !world.asides.remove(&self.me) && !self.kind.has(Fault::RenameNeedsNoFile) {
                return vec![Answer::No];
            }
            world.is_lost |= world.states.last() != Some(&BASE);
            world.states.push(self.me);
            vec![Answer::Yes]
        })
    }
}

fn yes_if(is: bool) -> Answer {
    if is { Answer::Yes } else { Answer::No }
}

impl Claims for Seen<'_> {
    fn exists(&self, index: u32) -> Result<bool> {
        self.is(|world| match world.claims.contains_key(&index) {
            true if self.kind.has_old_lookups => vec![Answer::Yes, Answer::No],
            is => vec![yes_if(is)],
        })
    }
    fn create(&self, index: u32) -> Result<bool> {
        self.is(|world| {
            let is_free = !world.claims.contains_key(&index);
            world.claims.entry(index).or_insert(self.me);
            vec![yes_if(is_free || self.kind.has(Fault::CreateIsNotExclusive))]
        })
    }
    fn content(&self, index: u32) -> Result<Option<String>> {
        match self.ask(|world| vec![Answer::Of(world.claims.get(&index).copied())])? {
            Answer::Of(owner) => Ok(owner.map(|owner| owner.to_string())),
            _ => Err(Error::internal("another question was asked")),
        }
    }
    fn is_older(&self, _: u32, age: Duration) -> Result<bool> {
        // The model lasts for less time than look-ups may be old.
        let is_young = age >= MAX_LOOKUP_AGE && !self.kind.has(Fault::ClaimsSeemOld);
        self.is(|_| if is_young { vec![Answer::No] } else { vec![Answer::Yes, Answer::No] })
    }
    fn is_aside(&self, content: &str) -> bool {
        content.parse::<usize>().is_ok()
    }
    fn committer(&self, aside: &str) -> Result<Committer> {
        let owner = aside.parse().unwrap_or(BASE);
        let found = self.ask(|world| match world.asides.contains(&owner) {
            false => vec![Answer::Is(Committer::Gone)],
            true if self.kind.has(Fault::AliveIsEnded) => vec![Answer::Is(Committer::Ended)],
            true if self.kind.has_locks => vec![Answer::Is(Committer::Alive), Answer::Is(Committer::Ended)],
            true => vec![Answer::Is(Committer::Alive), Answer::Is(Committer::Unknown)],
        })?;
        match found {
            Answer::Is(committer) => Ok(committer),
            _ => Err(Error::internal("another question was asked")),
        }
    }
    fn remove_aside(&self, aside: &str) -> Result<bool> {
        let owner = aside.parse().unwrap_or(BASE);
        self.is(|world| {
            let is_removed = if self.kind.has(Fault::TemporaryFileStays) { world.asides.contains(&owner) } else { world.asides.remove(&owner) };
            vec![yes_if(is_removed || self.kind.has(Fault::AnyRemovalCounts))]
        })
    }
    fn remove(&self, index: u32) -> Result<()> {
        self.is(|world| vec![yes_if(world.claims.remove(&index).is_some())]).map(drop)
    }
    fn is_coherent(&self) -> Result<bool> {
        Ok(!self.kind.has_old_lookups || self.kind.has(Fault::GoneIsTakenForFailed))
    }
    fn busy(&self) -> Error {
        Error::busy("busy")
    }
}

type Situation = (World, Vec<Process>);

/// What a process does next, given the answers so far: parts that ask nothing end at once, and a commit that fails in its first
/// part leaves no claim.
fn next(kind: Kind, me: usize, mut part: Part, mut log: Vec<Answer>) -> Process {
    loop {
        let replayed = Seen { kind, me, log: &log, at: Cell::new(0), world: RefCell::new(World::default()), choice: usize::MAX, given: Cell::new(None) };
        part = match replayed.run(part) {
            Ok(Part::End { is_renamed: true }) => return Process::Committed,
            Ok(Part::End { is_renamed: false }) => return Process::Failed,
            Ok(next) => next,
            Err(error) if error.kind() == ErrorKind::Cancelled => return Process::Running(part, log),
            Err(_) => return Process::Failed,
        };
        // What was answered before does not matter for the next part.
        log.clear();
    }
}

/// Explores all that can happen to `count` processes, up to the first situation in which a commit is lost. Returns the
/// situations that were seen, and that one.
fn explore(kind: Kind, count: usize) -> (HashSet<Situation>, Option<Situation>) {
    let world = World { states: vec![BASE], asides: (0..count).collect(), ..World::default() };
    let mut seen = HashSet::new();
    let mut open = vec![(world, vec![Process::Running(Part::Claim, Vec::new()); count])];
    while let Some((world, processes)) = open.pop() {
        if world.is_lost {
            return (seen, Some((world, processes)));
        }
        if !seen.insert((world.clone(), processes.clone())) {
            continue;
        }
        let reported: Vec<usize> = (0..count).filter(|me| processes.get(*me) == Some(&Process::Committed)).collect();
        assert!(reported.len() <= 1, "one commit follows a state: {processes:?}");
        assert!(reported.iter().all(|me| world.states.contains(me)), "what was reported done is done: {world:?} {processes:?}");
        for (me, process) in processes.iter().enumerate() {
            let Process::Running(part, log) = process else { continue };
            for choice in 0.. {
                let step = Seen { kind, me, log, at: Cell::new(0), world: RefCell::new(world.clone()), choice, given: Cell::new(None) };
                // Stops at the question.
                let _ = step.run(*part);
                let Some((answer, answers)) = step.given.get() else { break };
                let mut processes = processes.clone();
                processes[me] = next(kind, me, *part, log.iter().copied().chain([answer]).collect());
                open.push((step.world.into_inner(), processes));
                if choice + 1 >= answers {
                    break;
                }
            }
        }
    }
    (seen, None)
}

/// All file systems, with one guard taken away.
fn kinds(fault: Option<Fault>) -> impl Iterator<Item = Kind> {
    [(false, true), (false, false), (true, false), (true, true)].into_iter().map(move |(has_old_lookups, has_locks)| Kind { has_old_lookups, has_locks, fault })
}

#[test]
fn of_all_interleavings_none_loses_a_commit() {
    for kind in kinds(None) {
        for processes in 2..=3 {
            let (seen, lost) = explore(kind, processes);
            assert_eq!(lost, None, "{kind:?}: a commit that was reported done is lost");
            let count = |is: fn(&Process) -> bool| seen.iter().filter(|(_, all)| all.iter().any(is)).count();
            let (committed, failed) = (count(|process| *process == Process::Committed), count(|process| *process == Process::Failed));
            assert!(committed > 0 && failed > 0 && seen.len() > 50, "{kind:?}: {} situations", seen.len());
            println!("{kind:?}, {processes} committers: {} situations", seen.len());
        }
    }
}

#[test]
fn without_any_one_of_its_guards_a_commit_of_the_interleavings_is_lost() {
    let faults = [
        Fault::CreateIsNotExclusive,
        Fault::TemporaryFileStays,
        Fault::AnyRemovalCounts,
        Fault::GoneIsTakenForFailed,
        Fault::ClaimsSeemOld,
        Fault::StateIsNotLookedAt,
        Fault::RenameNeedsNoFile,
        Fault::ClaimsAreTakenBack,
        Fault::ClaimsAreRemovedEarly,
    ];
    for fault in faults {
        // Few committers and small models first.
        let mut tried = (2..=3).flat_map(|count| kinds(Some(fault)).map(move |kind| (count, kind)));
        let found = tried.find_map(|(count, kind)| explore(kind, count).1.map(|(_, processes)| (count, kind, processes)));
        assert!(found.is_some(), "{fault:?}: no commit is lost, so that the model or the guard is of no use");
        println!("{found:?}");
    }
}

#[test]
fn ending_a_committer_that_runs_loses_no_commit_of_the_interleavings() {
    // Locks only spare a running committer; its commit fails as a whole, for its temporary file is gone.
    for kind in kinds(Some(Fault::AliveIsEnded)) {
        let count = if kind.has_old_lookups { 3 } else { 2 };
        assert_eq!(explore(kind, count).1, None);
    }
}
