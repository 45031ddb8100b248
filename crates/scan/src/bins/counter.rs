//! Counts the numbers in each bin of one axis.

use arrow_schema::DataType;

use super::intervals::Bins;

/// Counters per bin that are used in turns.
const LANES: usize = 8;
/// Maximum number of bins with several counters each.
const MAX_LANE_BINS: usize = 1 << 10;
/// Maximum number of values before the 32-bit counters are added to the totals.
const MAX_ADDED: u64 = 1 << 31;

/// Counts numbers by bin.
pub struct BinCounter<'a> {
    bins: &'a Bins,
    /// Counters of each slot since `added` was 0.
    small: Vec<u32>,
    added: u64,
    totals: Vec<u64>,
}

impl<'a> BinCounter<'a> {
    /// A counter without values.
    pub fn new(bins: &'a Bins) -> Self {
        let slots = bins.count() + 2;
        let lanes = if bins.count() > MAX_LANE_BINS { 1 } else { LANES };
        Self { bins, small: vec![0; slots * lanes], added: 0, totals: vec![0; slots] }
    }

    /// Counts numbers; returns whether their type has bins.
    pub fn add(&mut self, data_type: &DataType, bytes: &[u8]) -> bool {
        // A number has at least one byte.
        for bytes in bytes.chunks(1 << 30) {
            if self.added + bytes.len() as u64 > MAX_ADDED {
                self.settle();
            }
            self.added += bytes.len() as u64;
            let small = &mut self.small;
            let known = if self.bins.count() > MAX_LANE_BINS {
                self.bins.slots(data_type, bytes, &mut |slots| count::<1>(slots, small))
            } else {
                self.bins.slots(data_type, bytes, &mut |slots| count::<LANES>(slots, small))
            };
            if !known {
                return false;
            }
        }
        true
    }

    fn settle(&mut self) {
        let lanes = self.small.len() / self.totals.len();
        let small = self.small.chunks_exact(lanes).map(|lanes| lanes.iter().map(|count| u64::from(*count)).sum::<u64>());
        self.totals.iter_mut().zip(small).for_each(|(total, count)| *total += count);
        self.small.fill(0);
        self.added = 0;
    }

    /// The counts of the bins.
    pub fn finish(mut self) -> Vec<u64> {
        self.settle();
        self.totals.into_iter().skip(1).take(self.bins.count()).collect()
    }
}

/// Counts slots with `N` counters each, used in turns: consecutive values are often in the same bin, and would otherwise wait
/// for the counter to be written.
fn count<const N: usize>(slots: &[u32], counts: &mut [u32]) {
    let counts = counts.as_chunks_mut::<N>().0;
    let (groups, rest) = slots.as_chunks::<N>();
    for group in groups.iter().map(<[u32; N]>::as_slice).chain([rest]) {
        for (lane, slot) in group.iter().enumerate() {
            if let Some(lanes) = counts.get_mut(*slot as usize)
                && let Some(count) = lanes.get_mut(lane)
            {
                *count += 1;
            }
        }
    }
}
