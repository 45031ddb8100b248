//! Each filter decoder by itself.

use hyperslab_formats::filter::{Filter, Pipeline};

use super::honest;

const IDS: [u16; 14] = [1, 2, 3, 4, 5, 6, 307, 32000, 32001, 32004, 32008, 32015, 32026, 32013];

/// Decodes what `data` says: filter, number of parameters, chunk bytes (2), parameters, stored bytes.
pub fn decode(data: &[u8]) {
    let [kind, count, low, high, rest @ ..] = data else { return };
    let parameters = usize::from(*count % 32);
    let Some((parameters, raw)) = rest.split_at_checked(parameters * 4) else { return };
    let parameters = parameters.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let filter = Filter { id: IDS[usize::from(*kind) % IDS.len()], name: None, optional: false, parameters };
    let chunk_bytes = usize::from(u16::from_le_bytes([*low, *high]));
    let mut out = Vec::new();
    let pipeline = Pipeline { filters: vec![filter] };
    if honest(pipeline.decode(raw, 0, chunk_bytes, &mut out)).is_some() {
        assert_eq!(out.len(), chunk_bytes);
        // What comes out does not depend on what was in the buffer before.
        let mut again = vec![0xaa; 100];
        pipeline.decode(raw, 0, chunk_bytes, &mut again).expect("the same bytes decode again");
        assert_eq!(out, again);
    }
}
