//! A model of commits that explores all interleavings of the protocol in `claim`: the functions are those that commits call, over
//! a file system in memory.
//!
//! A process is its function, called again from the beginning for each step: what the file system answered so far is replayed,
//! the next question is answered by the model, in every way that is possible, and then the function is stopped. A process that
//! is never continued was killed. What is not decided by a server may be old: whether a claim exists, and the master's state.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use hyperslab_array::{Error, ErrorKind, Result};

use super::{Claims, Committer, MAX_LOOKUP_AGE, claim_next};

/// What the file system holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct World {
    /// The states of the master, the last one now; a commit is known by its process.
    states: Vec<usize>,
    /// Temporary files, by process.
    asides: BTreeSet<usize>,
    claims: BTreeMap<u32, usize>,
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
    Running(Vec<Answer>),
    Committed,
    Failed,
}

/// Which file system is modeled.
#[derive(Debug, Clone, Copy)]
struct Kind {
    /// Whether look-ups of other machines' changes may be old.
    has_old_lookups: bool,
    /// Whether a lock says if a process runs. Otherwise its claim seems to be old enough at any time.
    has_locks: bool,
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

    /// As commits do: claim, look at the state once more, rename.
    fn commit(&self) -> Result<bool> {
        claim_next(self)?;
        let seen = self.ask(|world| {
            let now = world.states.last().copied().unwrap_or(BASE);
            if self.kind.has_old_lookups { world.states.iter().map(|state| Answer::State(*state)).collect() } else { vec![Answer::State(now)] }
        })?;
        if seen != Answer::State(BASE) {
            return Ok(false);
        }
        self.is(|world| {
            if !world.asides.remove(&self.me) {
                return vec![Answer::No];
            }
            assert_eq!(world.states.last(), Some(&BASE), "a commit that was reported done is lost");
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
            vec![yes_if(is_free)]
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
        self.is(|_| if age >= MAX_LOOKUP_AGE { vec![Answer::No] } else { vec![Answer::Yes, Answer::No] })
    }
    fn is_aside(&self, content: &str) -> bool {
        content.parse::<usize>().is_ok()
    }
    fn committer(&self, aside: &str) -> Result<Committer> {
        let owner = aside.parse().unwrap_or(BASE);
        let found = self.ask(|world| match world.asides.contains(&owner) {
            false => vec![Answer::Is(Committer::Gone)],
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
        self.is(|world| vec![yes_if(world.asides.remove(&owner))])
    }
    fn is_coherent(&self) -> Result<bool> {
        Ok(!self.kind.has_old_lookups)
    }
    fn busy(&self) -> Error {
        Error::busy("busy")
    }
}

/// Explores all that can happen from here; returns how many different situations there are.
fn explore(kind: Kind, world: World, processes: Vec<Process>, seen: &mut HashSet<(World, Vec<Process>)>) {
    let mut open = vec![(world, processes)];
    while let Some((world, processes)) = open.pop() {
        if !seen.insert((world.clone(), processes.clone())) {
            continue;
        }
        let committed = processes.iter().filter(|process| **process == Process::Committed).count();
        assert_eq!(world.states.len(), 1 + committed, "as many commits as were reported done: {world:?} {processes:?}");
        assert!(committed <= 1, "one commit follows a state: {processes:?}");
        for (me, process) in processes.iter().enumerate() {
            let Process::Running(log) = process else { continue };
            for choice in 0.. {
                let step = Seen { kind, me, log, at: Cell::new(0), world: RefCell::new(world.clone()), choice, given: Cell::new(None) };
                let outcome = step.commit();
                let mut next = processes.clone();
                let is_last = match step.given.get() {
                    // All questions are answered: the process ends.
                    None if step.at.get() == log.len() && outcome.as_ref().err().is_none_or(|error| error.kind() != ErrorKind::Cancelled) => {
                        next[me] = if outcome.is_ok_and(|is_done| is_done) { Process::Committed } else { Process::Failed };
                        true
                    }
                    None => break,
                    Some((answer, count)) => {
                        let log: Vec<Answer> = log.iter().copied().chain([answer]).collect();
                        // A process whose rename succeeded ends with it: nobody sees the moment between.
                        let replayed =
                            Seen { kind, me, log: &log, at: Cell::new(0), world: RefCell::new(World::default()), choice: usize::MAX, given: Cell::new(None) };
                        next[me] = match replayed.commit() {
                            Ok(true) => Process::Committed,
                            Ok(false) => Process::Failed,
                            Err(error) if error.kind() == ErrorKind::Cancelled => Process::Running(log),
                            Err(_) => Process::Failed,
                        };
                        choice + 1 >= count
                    }
                };
                open.push((step.world.into_inner(), next));
                if is_last {
                    break;
                }
            }
        }
    }
}

fn situations(kind: Kind, processes: usize) -> HashSet<(World, Vec<Process>)> {
    let world = World { states: vec![BASE], asides: (0..processes).collect(), ..World::default() };
    let mut seen = HashSet::new();
    explore(kind, world, vec![Process::Running(Vec::new()); processes], &mut seen);
    seen
}

#[test]
fn of_all_interleavings_none_loses_a_commit() {
    for (has_old_lookups, has_locks) in [(false, true), (false, false), (true, false), (true, true)] {
        let kind = Kind { has_old_lookups, has_locks };
        for processes in 2..=3 {
            let seen = situations(kind, processes);
            let count = |is: fn(&Process) -> bool| seen.iter().filter(|(_, all)| all.iter().any(is)).count();
            let (committed, failed) = (count(|process| *process == Process::Committed), count(|process| *process == Process::Failed));
            assert!(committed > 0 && failed > 0 && seen.len() > 50, "{kind:?}: {} situations", seen.len());
            println!("{kind:?}, {processes} committers: {} situations", seen.len());
        }
    }
}
