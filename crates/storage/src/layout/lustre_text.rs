//! The text of `lfs getstripe`: plain and composite layouts of files, and the defaults of folders.

use hyperslab_array::{Error, Result};

use super::{StripedPart, checked, ordered};

/// One part as it is read line by line.
#[derive(Default)]
struct Draft {
    part: StripedPart,
    mirror: u64,
    has_stripes: bool,
    is_left_out: bool,
}

pub(super) fn parse(text: &str) -> Result<Vec<StripedPart>> {
    let mut drafts: Vec<Draft> = vec![Draft::default()];
    let mut in_objects = false;
    for line in text.lines() {
        let line = line.trim();
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.starts_with("lcme_id:") {
            drafts.push(Draft::default());
        }
        let Some(draft) = drafts.last_mut() else { continue };
        if let Some((_, index)) = line.split_once("l_ost_idx:") {
            draft.part.targets.push(number(index.split(',').next().unwrap_or_default(), line)?);
        } else if words.first() == Some(&"obdidx") {
            in_objects = true;
        } else if in_objects && !words.is_empty() && words.iter().all(|word| !word.contains(':')) {
            draft.part.targets.push(number(words.first().copied().unwrap_or_default(), line)?);
        } else if !line.starts_with('/') {
            in_objects = false;
            // A folder's defaults are on one line, a file's values on one line each.
            for pair in words.windows(2) {
                if let [key, value] = pair {
                    draft.take(key, value, line)?;
                }
            }
        }
    }
    let first = drafts.iter().find(|draft| draft.has_stripes && !draft.is_left_out).map(|draft| draft.mirror);
    let wanted = drafts.into_iter().filter(|draft| draft.has_stripes && !draft.is_left_out && Some(draft.mirror) == first);
    ordered(wanted.map(|draft| checked(draft.part)).collect::<Result<_>>()?)
}

impl Draft {
    fn take(&mut self, key: &str, value: &str, line: &str) -> Result<()> {
        match key.trim_start_matches("lmm_") {
            "stripe_count:" => {
                self.has_stripes = true;
                self.part.stripe_count = if value == "-1" { None } else { Some(number(value, line)?) };
            }
            "stripe_size:" => self.part.stripe_bytes = number(value, line)?,
            "pool:" => self.part.pool = Some(value.to_owned()),
            // The values are on the metadata server.
            "pattern:" if value.starts_with("mdt") => self.is_left_out = true,
            "lcme_mirror_id:" => self.mirror = number(value, line)?,
            "lcme_flags:" if value.split(',').any(|flag| matches!(flag, "stale" | "parity" | "extension")) => self.is_left_out = true,
            "lcme_extent.e_start:" => self.part.start = number(value, line)?,
            "lcme_extent.e_end:" => self.part.end = if value == "EOF" { None } else { Some(number(value, line)?) },
            _ => {}
        }
        Ok(())
    }
}

fn number<T: std::str::FromStr>(text: &str, line: &str) -> Result<T> {
    text.trim().parse().map_err(|_| Error::corrupt(format!("no number in {line:?} of lfs getstripe")))
}
