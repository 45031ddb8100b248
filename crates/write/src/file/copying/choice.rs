//! Which objects and links of a file are chosen.

use hyperslab_array::name::is_of_links;
use std::collections::HashSet;

/// The objects and links that are chosen, by absolute path.
#[derive(Debug, Clone, Default)]
pub(crate) struct Choice {
    chosen: HashSet<String>,
    excluded: HashSet<String>,
}

impl Choice {
    pub fn new(chosen: impl IntoIterator<Item = String>, excluded: impl IntoIterator<Item = String>) -> Self {
        Self { chosen: chosen.into_iter().collect(), excluded: excluded.into_iter().collect() }
    }

    /// The chosen paths, in order, without those below another one.
    pub fn outermost(&self) -> Vec<&str> {
        let mut outermost: Vec<&str> =
            self.chosen.iter().map(String::as_str).filter(|path| !above(path).skip(1).any(|above| self.chosen.contains(above))).collect();
        outermost.sort_unstable();
        outermost
    }

    /// Whether the link at a path is copied: it or a group above it is chosen, and none of them excluded.
    pub fn has(&self, path: &str) -> bool {
        // An object without a name is there because something that was chosen refers to it.
        let is_chosen = self.chosen.contains("/") || !is_of_links(path) || above(path).any(|path| self.chosen.contains(path));
        is_chosen && !self.is_excluded(path)
    }

    /// The choice as text: equal for equal ones.
    pub fn described(&self) -> String {
        let (mut chosen, mut excluded): (Vec<_>, Vec<_>) = (self.chosen.iter().collect(), self.excluded.iter().collect());
        chosen.sort();
        excluded.sort();
        format!("{chosen:?} {excluded:?}")
    }

    /// Whether it, or a group above it, is excluded.
    pub fn is_excluded(&self, path: &str) -> bool {
        above(path).any(|path| self.excluded.contains(path))
    }
}

/// A path and the paths of the groups above it, without the root.
pub(crate) fn above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(above, _)| above)).filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_chosen_has_all_below_it_but_what_is_excluded() {
        let choice = Choice::new(["/run".to_owned(), "/a/b".to_owned()], ["/run/raw".to_owned()]);
        assert!(choice.has("/run") && choice.has("/run/t") && choice.has("/a/b/c"));
        assert!(!choice.has("/run/raw") && !choice.has("/run/raw/x") && !choice.has("/a") && !choice.has("/running") && !choice.has("/"));
        assert!(Choice::new(["/".to_owned()], []).has("/anything"));
    }
}
