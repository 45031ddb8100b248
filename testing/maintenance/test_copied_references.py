"""References of all kinds in repacked, copied, recovered and converted files: they lead where they led before."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from standard_references import Made, told, told_lists

SHAPE = (7, 10)
WIDE = (1 << 34,)


def make(folder: pathlib.Path, libver: str = "latest", *, others: bool = True) -> pathlib.Path:
    """A file with references of all kinds, in all places where datatypes may have them."""
    path = folder / "source.h5"
    with h5py.File(folder / "other.h5", "w") as other:
        other["deep/y"] = np.arange(12).reshape(3, 4)
        other["deep/y"].attrs["unit"] = "K"
    with h5py.File(path, "w", libver=libver) as f, h5py.File(folder / "other.h5") as other:
        top = f.create_group("top")
        x = top.create_dataset("g/x", data=np.arange(70).reshape(SHAPE), chunks=(3, 4))
        x.attrs["größe"] = 5
        top["type"] = np.dtype("i4")
        targets = [x.ref, top["g"].ref, top["type"].ref, h5py.Reference(), f.ref if others else x.ref]
        top.create_dataset("objects", data=targets, dtype=h5py.ref_dtype)
        regions = [x.regionref[2:5, 3:7], x.regionref[::3, 1], x.regionref[...], x.regionref[[0, 4, 5], 2:4]]
        for space in (points(), blocks()):
            regions.append(h5py.h5r.create(x.id, b".", h5py.h5r.DATASET_REGION, space))
        top.create_dataset("regions", data=[*regions, h5py.RegionReference()], dtype=h5py.regionref_dtype)
        top.create_dataset("chunked", data=regions, dtype=h5py.regionref_dtype, chunks=(4,), maxshape=(None,))
        lists = top.create_dataset("lists", (4,), dtype=h5py.vlen_dtype(h5py.ref_dtype), chunks=(3,))
        for i, n in enumerate([0, 3, 5, 1]):
            lists[i] = np.array(targets[:n], h5py.ref_dtype)
        parts = top.create_dataset("parts", (2,), dtype=h5py.vlen_dtype(h5py.regionref_dtype))
        parts[0], parts[1] = np.array(regions[:5], h5py.regionref_dtype), np.array(regions[5:], h5py.regionref_dtype)
        record = np.dtype([("t", h5py.string_dtype()), ("r", h5py.ref_dtype), ("s", h5py.regionref_dtype), ("n", "<i4")])
        records = top.create_dataset("records", (3,), dtype=record)
        for i in range(2):
            records[i] = (f"text {i}", targets[i], regions[4 + i], i)
        top.create_dataset("pairs", (1,), dtype=np.dtype((h5py.ref_dtype, (2,))))[0] = np.array(targets[:2], h5py.ref_dtype)
        top.attrs["to"], top.attrs["part"] = x.ref, regions[4]
        top.attrs.create(
            "lists", np.array([np.array(targets[:2], h5py.ref_dtype), np.array(targets[2:], h5py.ref_dtype)], object), dtype=h5py.vlen_dtype(h5py.ref_dtype)
        )
        with Made() as made:
            fill(made, f, "/top/g/x", other if others else None)
            made.write(f, "top/standard")
            made.write_attribute(f, "/top", "standard")
            made.write_records(f, "top/standard records")
            made.write_lists(f, "top/standard lists", [2, 0, 5, len(made.bytes) // 64 - 7])
    return path


def points() -> h5py.h5s.SpaceID:
    space = h5py.h5s.create_simple(SHAPE)
    space.select_elements([(6, 1), (0, 0), (3, 9), (3, 1)])
    return space


def blocks() -> h5py.h5s.SpaceID:
    space = h5py.h5s.create_simple(SHAPE)
    space.select_hyperslab((1, 0), (1, 1), (1, 1), (2, 2))
    space.select_hyperslab((4, 3), (1, 1), (1, 1), (1, 5), op=h5py.h5s.SELECT_OR)
    return space


def fill(made: Made, f: h5py.File, x: str, other: h5py.File | None) -> None:
    everything, nothing, strided = (h5py.h5s.create_simple(SHAPE) for _ in range(3))
    nothing.select_none()
    strided.select_hyperslab((1, 0), (2, 3), (3, 4), (2, 2))
    made.object(f, x).null().object(f, "/top/g").object(f, "/top/type")
    for space in (everything, nothing, strided, points(), blocks()):
        made.region(f, x, space)
    made.attribute(f, x, "größe").null()
    if other is not None:
        box = h5py.h5s.create_simple((3, 4))
        box.select_hyperslab((1, 0), (1, 1), (1, 1), (2, 2))
        made.object(other, "/deep/y").region(other, "/deep/y", box).attribute(other, "/deep/y", "unit")


def led(file: Any, value: Any) -> Any:
    """Where references lead: kind, path, the other file, attribute, selection. Other values as they are."""
    if isinstance(value, (hs.Reference, hs.RegionReference, hs.AttributeReference)):
        if not value:
            return None
        other = None if value.filename in (None, file.filename) else pathlib.Path(value.filename).name
        selection = getattr(value, "selection", None)
        return type(value).__name__, value.path, other, getattr(value, "attribute", None), repr(selection)
    if isinstance(value, np.ndarray) and value.dtype.names:
        return [[led(file, record[name]) for name in value.dtype.names] for record in value.reshape(-1)]
    if isinstance(value, np.void) and value.dtype.names:
        return [led(file, value[name]) for name in value.dtype.names]
    if isinstance(value, (np.ndarray, list, tuple)):
        return [led(file, item) for item in np.asarray(value, dtype=object).reshape(-1)] if len(value) or isinstance(value, np.ndarray) else []
    return value.item() if isinstance(value, np.generic) else value


def everything(path: pathlib.Path, group: str = "/top") -> dict[str, Any]:
    """Where all references in a file lead."""
    found: dict[str, Any] = {}
    with hs.open(path) as f:
        for name in ("objects", "regions", "chunked", "lists", "parts", "records", "pairs", "standard", "standard records", "standard lists"):
            if name in f[group]:
                found[name] = led(f, f[group][name][...])
        for name in f[group].attrs:
            found["@" + name] = led(f, f[group].attrs[name])
    return found


def repacked(source: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    hs.repack(source, folder / "out.h5")
    return folder / "out.h5"


def copied(source: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    with h5py.File(folder / "out.h5", "w") as f:
        f["before"] = np.arange(1000)
    with hs.open(folder / "out.h5", "r+") as out, hs.open(source) as file:
        out.copy(file["top"], "top")
    return folder / "out.h5"


def recovered(source: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    report = hs.recover(source, folder / "out.h5")
    assert not report.lost
    return folder / "out.h5"


def as_library_says(path: pathlib.Path) -> list[Any]:
    """What the HDF5 library says of the references: of all kinds that h5py, or the library behind it, follows."""
    with h5py.File(path, "r+") as f:
        top = f["top"]
        said: list[Any] = [[h5py.h5r.get_name(ref, f.id) if ref else None for ref in top["objects"][...]]]
        for name in ("regions", "chunked"):
            for ref in top[name][...]:
                said.append(None if not ref else (f[ref].name, f[ref][ref].reshape(-1).tolist() if f[ref].shape == SHAPE else f[ref].name))
        said.append([[h5py.h5r.get_name(ref, f.id) if ref else None for ref in refs] for refs in top["lists"][...]])
        # h5py crashes on sequences of references to regions.
        said.append([(r["t"], h5py.h5r.get_name(r["r"], f.id), top["g/x"][r["s"]].reshape(-1).tolist(), r["n"]) for r in top["records"][:2]])
        said.append([[h5py.h5r.get_name(ref, f.id) if ref else None for ref in refs] for refs in top.attrs["lists"]])
        standard = [told(f, "top/standard"), *told_lists(f, "top/standard lists")]
        for references in standard:
            said.append(
                [
                    (t.kind, t.path, t.attribute, getattr(t, "elements", np.empty(0)).tolist(), pathlib.Path(t.file or path).name.replace(path.name, ""))
                    for t in references
                ]
            )
    return said


COPIES = [repacked, copied, recovered]


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("copy", COPIES, ids=lambda copy: copy.__name__)
def test_copied_references_lead_to_what_they_led_to(tmp_path: pathlib.Path, copy: Callable[..., pathlib.Path], libver: str) -> None:
    # A copy of the group has no copy of the root, so that references to it would lead to nothing.
    source = make(tmp_path, libver, others=copy is not copied)
    wanted = everything(source)
    kinds = ["'Reference'", "RegionReference", "AttributeReference", "points", "blocks"]
    assert [kind for kind in kinds if kind not in repr(wanted)] == [] and ("other.h5" in repr(wanted)) == (copy is not copied)
    assert len(wanted["standard lists"]) == 4 and wanted["lists"][0] == [] and wanted["regions"][-1] is None
    made = copy(source, tmp_path)
    assert everything(made) == wanted
    assert as_library_says(made) == as_library_says(source)


def test_coordinates_beyond_32_bits(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "source.h5", "w", libver="latest") as f:
        wide = f.create_dataset("wide", shape=WIDE, dtype="u1", chunks=(1 << 20,))
        selected = h5py.h5s.create_simple(WIDE), h5py.h5s.create_simple(WIDE)
        selected[0].select_elements([(5,), ((1 << 33) + 1,)])
        selected[1].select_hyperslab((3,), (1,), (1,), (2,))
        selected[1].select_hyperslab(((1 << 33) + 5,), (1,), (1,), (7,), op=h5py.h5s.SELECT_OR)
        f.create_dataset("regions", data=[h5py.h5r.create(wide.id, b".", h5py.h5r.DATASET_REGION, space) for space in selected], dtype=h5py.regionref_dtype)
    # A comparison would read 16 GiB of fill values.
    hs.repack(tmp_path / "source.h5", tmp_path / "out.h5", verify=False)
    for path in (tmp_path / "source.h5", tmp_path / "out.h5"):
        with h5py.File(path) as f:
            points, blocks = (h5py.h5r.get_region(ref, f.id) for ref in f["regions"][...])
            assert points.get_select_elem_pointlist().tolist() == [[5], [(1 << 33) + 1]]
            assert blocks.get_select_hyper_blocklist().tolist() == [[[3], [4]], [[(1 << 33) + 5], [(1 << 33) + 11]]]
        assert "wide" in repr([ref.path for ref in hs.open(path)["regions"][...]])


def test_references_to_objects_that_are_not_copied_are_null(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "source.h5", "w") as f:
        f["outside"] = [1, 2, 3]
        inside = f.create_dataset("g/x", data=[1, 2])
        f["g"].create_dataset("refs", data=[inside.ref, f["outside"].ref], dtype=h5py.ref_dtype)
        f["g"].create_dataset("regions", data=[inside.regionref[:1], f["outside"].regionref[1:]], dtype=h5py.regionref_dtype)
    with h5py.File(tmp_path / "out.h5", "w"):
        pass
    with hs.open(tmp_path / "out.h5", "r+") as out, hs.open(tmp_path / "source.h5") as source:
        out.copy(source["g"], "g")
        out.copy("g", "twice")
    with h5py.File(tmp_path / "out.h5") as f:
        for group in ("g", "twice"):
            assert [f[ref].name if ref else None for ref in f[group]["refs"][...]] == ["/g/x", None]
            first, second = f[group]["regions"][...]
            assert f[first][first].tolist() == [1] and not second


index = st.tuples(st.integers(0, SHAPE[0] - 1), st.integers(0, SHAPE[1] - 1))
box = st.tuples(index, index).map(lambda ends: (tuple(map(min, *ends)), tuple(abs(a - b) + 1 for a, b in zip(*ends))))
selections = st.one_of(
    st.just("all"),
    st.just("none"),
    st.lists(index, min_size=1, max_size=6).map(lambda found: ("points", found)),
    st.lists(box, min_size=1, max_size=4).map(lambda found: ("boxes", found)),
)
targets = st.one_of(
    st.just(None),
    st.tuples(st.just("object"), st.sampled_from(["/", "/a", "/a/x", "/a/b/y", "/type"])),
    st.tuples(st.just("region"), st.sampled_from(["/a/x", "/a/b/y"]), selections),
    st.tuples(st.just("attribute"), st.sampled_from(["/a", "/a/x"]), st.just("unit")),
)


def space_of(selection: Any) -> h5py.h5s.SpaceID:
    space = h5py.h5s.create_simple(SHAPE)
    if selection == "none":
        space.select_none()
    elif selection[0] == "points":
        space.select_elements(selection[1])
    elif selection[0] == "boxes":
        for i, (start, count) in enumerate(selection[1]):
            space.select_hyperslab(start, (1, 1), (1, 1), count, op=h5py.h5s.SELECT_OR if i else h5py.h5s.SELECT_SET)
    return space


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(targets, min_size=1, max_size=9), st.integers(0, 9), st.sampled_from(COPIES), st.sampled_from(["earliest", "latest"]))
def test_random_references_lead_to_the_same_elements(tmp_path_factory: pytest.TempPathFactory, made_of: list[Any], cut: int, copy: Any, libver: str) -> None:
    """The library and our reader find the same path and the same elements before and after; older kinds follow where they can."""
    folder = tmp_path_factory.mktemp("random")
    source = folder / "source.h5"
    with h5py.File(source, "w", libver=libver) as f:
        top = f.create_group("top")
        for name in ("a/x", "a/b/y"):
            top[name] = np.random.default_rng(len(name)).integers(0, 1000, SHAPE)
        top["type"] = np.dtype("f4")
        for name in ("a", "a/x"):
            top[name].attrs["unit"] = "m"
        older = [h5py.h5r.create(f.id, ("/top" + t[1]).encode(), h5py.h5r.OBJECT) if t and t[0] == "object" else h5py.Reference() for t in made_of]
        regions = [h5py.h5r.create(f.id, ("/top" + t[1]).encode(), h5py.h5r.DATASET_REGION, space_of(t[2])) for t in made_of if t and t[0] == "region"]
        top.create_dataset("objects", data=older, dtype=h5py.ref_dtype)
        if regions:
            top.create_dataset("regions", data=regions, dtype=h5py.regionref_dtype)
            parts = top.create_dataset("parts", (2,), dtype=h5py.vlen_dtype(h5py.regionref_dtype))
            parts[0], parts[1] = (np.array(some, h5py.regionref_dtype) for some in (regions[:cut], regions[cut:]))
        lists = top.create_dataset("lists", (2,), dtype=h5py.vlen_dtype(h5py.ref_dtype))
        lists[0], lists[1] = (np.array(some, h5py.ref_dtype) for some in (older[:cut], older[cut:]))
        with Made() as made:
            for t in made_of:
                if t is None:
                    made.null()
                elif t[0] == "object":
                    made.object(f, "/top" + t[1])
                elif t[0] == "region":
                    made.region(f, "/top" + t[1], space_of(t[2]))
                else:
                    made.attribute(f, "/top" + t[1], t[2])
            made.write(f, "top/standard")
            made.write_records(f, "top/standard records")
            first = min(cut, len(made_of))
            made.write_lists(f, "top/standard lists", [first, len(made_of) - first])

    def library(path: pathlib.Path) -> list[Any]:
        with h5py.File(path, "r+") as f:
            said: list[Any] = [[h5py.h5r.get_name(ref, f.id) if ref else None for ref in f["top/objects"][...]]]
            said += [[h5py.h5r.get_name(ref, f.id) if ref else None for ref in refs] for refs in f["top/lists"][...]]
            said += [(f[ref].name, f[ref][ref].reshape(-1).tolist()) for ref in (f["top/regions"][...] if regions else [])]
            for references in [told(f, "top/standard"), *told_lists(f, "top/standard lists")]:
                said.append([(t.kind, t.path, t.attribute, getattr(t, "elements", np.empty(0)).tolist()) for t in references])
        return said

    made_file = copy(source, folder)
    assert everything(made_file) == everything(source)
    assert library(made_file) == library(source)
