//! Each filter decoder by itself.

use hyperslab_formats::filter::{Filter, Pipeline, inflate_part, restart_points};

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
    if *kind == 0 {
        parts(raw, *count, chunk_bytes);
    }
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

/// Inflates from anywhere, and from the points of a stream, which give what all of it does.
fn parts(raw: &[u8], number: u8, chunk_bytes: usize) {
    let mut out = vec![0; chunk_bytes];
    let (window, rest) = raw.split_at(raw.len().min(usize::from(number)));
    honest(inflate_part(rest, number % 8, window, u32::from(number) * 200, &mut out));
    honest(inflate_part(raw, number % 8, &[], 0, &mut out));
    let Some(points) = restart_points(raw, u64::from(number) + 1, &mut out) else { return };
    for (index, point) in points.iter().enumerate() {
        let next = points.get(index + 1);
        let (start, end) = (point.output as usize, next.map_or(chunk_bytes, |next| next.output as usize));
        let bytes = &raw[point.bit as usize / 8..next.map_or(raw.len(), |next| next.bit.div_ceil(8) as usize)];
        let mut part = vec![0; end - start];
        inflate_part(bytes, (point.bit % 8) as u8, &point.window, point.window_bytes, &mut part).expect("a point that was tried");
        assert_eq!(part, out[start..end]);
    }
}
