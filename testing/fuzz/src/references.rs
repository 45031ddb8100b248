//! Documents of chunk references, which lead to the bytes in the document itself: other files are not there.

use hyperslab_formats::Interpretation;

use super::read_everything;

/// A document, or its references without what is around them.
pub fn document(data: &[u8]) {
    if data.first() == Some(&b'{') {
        return read_everything(data, Interpretation::Automatic);
    }
    let whole = [b"{\"version\": 1, \"refs\": {\".zgroup\": \"{\\\"zarr_format\\\": 2}\", ", data, b"}}"].concat();
    read_everything(&whole, Interpretation::Automatic);
}

/// Documents to begin with: arrays with content in the document, filters, texts, several groups.
pub const SEEDS: [&str; 3] = [
    r#"{"version": 1, "templates": {"u": "other.h5"}, "refs": {".zgroup": "{\"zarr_format\": 2}", ".zattrs": {"title": "x", "n": [1, 2.5]},
        "x/.zarray": {"shape": [4, 3], "chunks": [2, 3], "dtype": "<i2", "compressor": null, "filters": null, "fill_value": 7, "order": "C", "zarr_format": 2},
        "x/.zattrs": {"_ARRAY_DIMENSIONS": ["t", "y"]}, "x/0.0": "base64:AAECAwQFBgcICQoL", "x/1.0": ["{{u}}", 100, 12]}}"#,
    r#"{".zgroup": "{\"zarr_format\": 2}", "g/.zgroup": "{}", "g/s/.zarray": "{\"shape\": [3], \"chunks\": [3], \"dtype\": \"|S4\", \"fill_value\": null,
        \"compressor\": {\"id\": \"zlib\", \"level\": 1}, \"filters\": [{\"id\": \"shuffle\", \"elementsize\": 4}], \"order\": \"C\", \"zarr_format\": 2}", "g/s/0": ["a.h5"]}"#,
    r#"{"version": 1, "refs": {"d/.zarray": {"shape": [], "chunks": [], "dtype": [["a", "<f8"], ["b", "|b1"]], "compressor": null, "filters": [], "fill_value": null,
        "order": "C", "zarr_format": 2}, "d/0": "base64:AAAAAAAA8D8B", "e/.zarray": {"shape": [1000000000000, 2], "chunks": [1, 1], "dtype": ">f4",
        "compressor": {"id": "blosc"}, "filters": null, "fill_value": "NaN", "order": "F", "zarr_format": 2}}}"#,
];
