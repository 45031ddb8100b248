//! The text of `beegfs-ctl --getentryinfo`. The client shows the layout in no attribute.

use hyperslab_array::{Error, Result};

use super::{StripedPart, checked, ordered};

pub(super) fn parse(text: &str) -> Result<Vec<StripedPart>> {
    let mut part = StripedPart::default();
    for line in text.lines().map(|line| line.trim().trim_start_matches('+').trim()) {
        if let Some(size) = line.strip_prefix("Chunksize:") {
            part.stripe_bytes = bytes(size.trim()).ok_or_else(|| damaged(line))?;
        } else if let Some(counts) = line.strip_prefix("Number of storage targets:") {
            let count = counts.rsplit_once("actual:").or_else(|| counts.rsplit_once("desired:")).map(|(_, count)| count.trim());
            part.stripe_count = Some(count.and_then(|count| count.parse().ok()).ok_or_else(|| damaged(line))?);
        } else if let Some((target, _)) = line.split_once(" @ ") {
            part.targets.push(target.trim().parse().map_err(|_| damaged(line))?);
        }
    }
    ordered(vec![checked(part)?])
}

/// Bytes of a size such as `512K` or `4M`.
fn bytes(size: &str) -> Option<u64> {
    let digits = size.trim_end_matches(|unit: char| !unit.is_ascii_digit());
    let shift = match size.get(digits.len()..)?.trim() {
        "" | "B" => 0,
        "K" | "KiB" => 10,
        "M" | "MiB" => 20,
        "G" | "GiB" => 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_shl(shift)
}

fn damaged(line: &str) -> Error {
    Error::corrupt(format!("no number in {line:?} of beegfs-ctl"))
}
