//! A value for each process: a forked child gets one of its own, because a thread of its parent may have held a lock of the
//! parent's one during the fork.

use std::sync::OnceLock;

/// The value of the process that made it, and the values of its forked children.
pub struct PerProcess<T> {
    process: u32,
    value: T,
    /// That of a child of `process`, in its memory.
    child: OnceLock<Box<Self>>,
}

impl<T> PerProcess<T> {
    /// The value of this process.
    pub fn new(value: T) -> Self {
        Self { process: std::process::id(), value, child: OnceLock::new() }
    }
    /// The value of this process, which `make` makes if there is none.
    pub fn get(&self, make: impl Fn() -> T) -> &T {
        let process = std::process::id();
        let mut here = self;
        while here.process != process {
            here = here.child.get_or_init(|| Box::new(Self::new(make())));
        }
        &here.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_process_has_another_value() {
        let mut value = PerProcess::new(1);
        assert_eq!(*value.get(|| 2), 1);
        value.process += 1;
        assert_eq!(*value.get(|| 2), 2, "as in a forked child");
        assert_eq!(*value.get(|| 3), 2, "made once");
    }
}
