//! How many bytes of a range lie on each target.

use super::TargetLayout;

impl TargetLayout {
    /// The targets that hold bytes of `length` bytes from `offset` on, in the order of their first byte, each with its number of
    /// bytes. Bytes on targets that are not known are left out.
    pub fn bytes_on_targets(&self, offset: u64, length: u64) -> Vec<(u32, u64)> {
        let mut found: Vec<(u32, u64)> = Vec::new();
        let mut add = |target: u32, bytes: u64| match found.iter_mut().find(|(known, _)| *known == target) {
            Some((_, sum)) => *sum = sum.saturating_add(bytes),
            None => found.push((target, bytes)),
        };
        let end = offset.saturating_add(length);
        for part in &self.components {
            let (mut at, end) = (offset.max(part.start), end.min(part.end.unwrap_or(u64::MAX)));
            let count = part.targets.len() as u64;
            let Some(cycle) = part.stripe_bytes.checked_mul(count).filter(|cycle| *cycle > 0) else { continue };
            // At most a cycle is walked stripe by stripe; each target has one stripe of every other cycle.
            let cycles = end.saturating_sub(at) / cycle;
            let walked = end - cycles.saturating_mul(cycle).min(end);
            let order = (0..count.min(part.targets.len() as u64)).filter_map(|stripe| self.target(at.saturating_add(stripe.saturating_mul(part.stripe_bytes))));
            if cycles > 0 {
                for target in order {
                    add(target, cycles.saturating_mul(part.stripe_bytes));
                }
            }
            while at < walked {
                let next = (at / part.stripe_bytes).saturating_add(1).saturating_mul(part.stripe_bytes).min(walked);
                if let Some(target) = self.target(at) {
                    add(target, next - at);
                }
                at = next;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::StripedPart;
    use super::*;

    proptest! {
        #[test]
        fn the_sums_are_those_of_single_bytes(offset in 0u64..200, length in 0u64..300, parts in proptest::collection::vec((1u64..9, 0u32..4, 1u64..60), 0..4)) {
            let mut start = 0;
            let components = parts.iter().map(|&(stripe_bytes, count, bytes)| {
                let part = StripedPart { start, end: Some(start + bytes), stripe_bytes, stripe_count: Some(count), targets: (0..count).map(|n| 10 + n % 3).collect(), pool: None };
                start += bytes;
                part
            });
            let layout = TargetLayout { components: components.collect(), ..TargetLayout::default() };
            let mut expected: BTreeMap<u32, u64> = BTreeMap::new();
            let mut order = Vec::new();
            for target in (offset..offset + length).filter_map(|at| layout.target(at)) {
                *expected.entry(target).or_default() += 1;
                if !order.contains(&target) {
                    order.push(target);
                }
            }
            let found = layout.bytes_on_targets(offset, length);
            prop_assert_eq!(found.iter().map(|(target, _)| *target).collect::<Vec<_>>(), order);
            prop_assert_eq!(found.into_iter().collect::<BTreeMap<_, _>>(), expected);
        }
    }
}
