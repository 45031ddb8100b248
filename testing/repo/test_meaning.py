"""Which values stored numbers mean is decided in one place: no other source reads the attributes of conventions."""

from __future__ import annotations

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
#: Where it is decided.
HOME = "crates/columns/src/decoding/"
NAMES = ("_FillValue", "missing_value", "valid_range", "valid_min", "valid_max", "scale_factor", "add_offset", "_Unsigned", "calendar", "month_lengths")
#: Other sources that name some of these attributes, and what they do with them.
OTHERS = {
    "bindings/python/python/hyperslab/netcdf/variables.py": "defines variables",
    "bindings/python/python/hyperslab/netcdf/view.py": "defines variables",
    "bindings/python/python/hyperslab/netcdf/times.py": "encodes times",
    "bindings/python/python/hyperslab/values/times.py": "encodes times",
    "bindings/python/python/hyperslab/writing/write_table.py": "encodes times",
    "bindings/python/python/hyperslab/xarray/writing.py": "takes xarray's encoding",
    "bindings/python/python/hyperslab/objects/netcdf_definitions.py": "passes arguments",
    "bindings/python/python/hyperslab/objects/decoding.py": "names what is refused",
    "bindings/python/python/hyperslab/objects/inherited.py": "attributes as text, for messages and xarray",
    "bindings/python/python/hyperslab/joining/matching.py": "attributes as text, for messages",
    "bindings/python/python/hyperslab/tables/times.py": "field metadata of a column, parsed by the core",
    "bindings/python/python/hyperslab/engines/polars_predicate.py": "field metadata of a column",
    "bindings/python/python/hyperslab/xarray/store.py": "the dtype of an attribute, for xarray",
    "bindings/python/python/hyperslab/xarray/unpacked.py": "what of a date's attributes is left for xarray",
    "bindings/python/python/hyperslab/xarray/attributes.py": "the dtype of an attribute, for xarray",
    "bindings/python/python/hyperslab/xarray/mfdataset.py": "xarray's encoding",
    "bindings/python/python/hyperslab/references/parser.py": "Zarr's fill value as an attribute",
    "crates/arrow-container/src/plain/tree.rs": "writes an attribute for nulls",
    "crates/formats/src/references/attributes.rs": "Zarr's fill value as an attribute",
    "crates/reader/src/foreign.rs": "writes an attribute for nulls",
    "crates/models/src/grid/connectivity.rs": "numbers that are no index of a mesh",
    "crates/scan/src/table/boundary.rs": "names what bounds inherit",
    "bindings/jni/src/appending.rs": "compares attributes when rows are appended",
    "bindings/jni/src/write_request.rs": "encodes times",
}
SOURCES = ("bindings/python/python", "bindings/python/src", "bindings/jni/src", "crates", "spark/src/main")


def places(root: pathlib.Path) -> set[str]:
    """Sources outside of tests that have the name of such an attribute as a text."""
    named = re.compile(f"[\"']({'|'.join(NAMES)})[\"']")
    found = set[str]()
    for folder in SOURCES:
        for path in (root / folder).rglob("*"):
            place = path.relative_to(root).as_posix()
            is_source = path.suffix in (".py", ".rs", ".java", ".scala") and "/tests/" not in place
            if is_source and not place.startswith(HOME) and named.search(path.read_text(encoding="utf-8").partition("#[cfg(test)]")[0]):
                found.add(place)
    return found


def test_no_other_source_decodes() -> None:
    assert places(ROOT) == set(OTHERS), "ask hyperslab.objects.decoding or hyperslab_columns::Decoding; else say here what it is for"


def test_a_source_that_decodes_is_seen(tmp_path: pathlib.Path) -> None:
    wrong = tmp_path / "crates/scan/src/new.rs"
    wrong.parent.mkdir(parents=True)
    wrong.write_text('let scale = find("scale_factor");\n')
    assert places(tmp_path) == {"crates/scan/src/new.rs"}
