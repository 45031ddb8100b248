"""References, links and committed datatypes of files that are written, as h5py makes them."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
from standard_references import Made, told


def test_references_to_regions_lead_to_their_elements(tmp_path: pathlib.Path) -> None:
    data = np.arange(60).reshape(6, 10)
    keys = [np.s_[2:4, 1:9:2], np.s_[1], np.s_[...], np.s_[5, 9], np.s_[:, 3:4], np.s_[0:0, :]]
    with hs.create(tmp_path / "x.h5") as f:
        x = f.create_dataset("g/x", data=data)
        f["regions"] = [*(x.regionref[key] for key in keys), None]
        x.attrs["part"] = x.regionref[2:4]
        x.attrs["parts"] = [x.regionref[0], x.regionref[1]]
        chunked = f.create_dataset("chunked", (0,), h5py.regionref_dtype, maxshape=(None,))
        chunked.append([x.regionref[key] for key in keys])
        assert chunked[1].path == "/g/x" and chunked[1].region == [[1, 1, 1, 1], [0, 1, 10, 1]]
        assert x.attrs["part"] == x.regionref[2:4] and f["regions"][-1] is None
        f.move("g/x", "moved")
    with h5py.File(tmp_path / "x.h5") as f:
        for refs in (f["regions"], f["chunked"]):
            for ref, key in zip(refs[:], keys):
                assert f[ref].name == "/moved"
                assert f["moved"][ref].reshape(-1).tolist() == data[key].reshape(-1).tolist()
        assert not f["regions"][-1]
        ref = f["moved"].attrs["part"]
        assert f["moved"][ref].tolist() == data[2:4].tolist() and len(f["moved"].attrs["parts"]) == 2
    ours = hs.open(tmp_path / "x.h5")
    for ref, key in zip(ours["chunked"][:], keys):
        assert ours["moved"][ref].reshape(-1).tolist() == data[key].reshape(-1).tolist()


@pytest.mark.parametrize("options", [{}, {"maxshape": (None,)}, {"chunks": (2,)}], ids=str)
def test_reference_datasets_are_filled_later(tmp_path: pathlib.Path, options: dict[str, Any]) -> None:
    with hs.create(tmp_path / "x.h5") as f:
        refs = f.create_dataset("refs", (5,), h5py.ref_dtype, **options)
        pairs = f.create_dataset("pairs", (3,), np.dtype([("n", "i4"), ("to", h5py.ref_dtype)]), **options)
        f["a"], f["b"] = 1, [1, 2]
        group = f.create_group("g")
        refs[0], refs[2:4] = f["a"].ref, [f["b"].ref, group.ref]
        refs[[1]] = f.ref
        pairs[1] = (7, f["b"].ref)
        assert [ref and ref.path for ref in refs[:]] == ["/a", "/", "/b", "/g", None] and refs[2] == f["b"].ref
        assert pairs[1]["to"].path == "/b" and pairs[0]["to"] is None
        del f["a"]
        f.attrs["kept"] = [f["b"].ref, None]
        assert [ref and ref.path for ref in f.attrs["kept"]] == ["/b", None]
        if options.get("maxshape"):
            refs.resize((7,))
    with h5py.File(tmp_path / "x.h5") as f:
        found = f["refs"][:]
        assert [f[ref].name if ref else None for ref in found[:5]] == [None, "/", "/b", "/g", None]
        assert f[f["pairs"][1]["to"]][:].tolist() == [1, 2] and f["pairs"][1]["n"] == 7 and not f["pairs"][0]["to"]
    assert [ref.path for ref in hs.open(tmp_path / "x.h5")["refs"][:5]] == [None, "/", "/b", "/g", None]


def test_empty_and_refused_references(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "x.h5") as f:
        f.create_dataset("none", (0,), h5py.ref_dtype)
        f.create_dataset("null", data=h5py.Empty(h5py.ref_dtype))
        f.create_dataset("one", (), h5py.ref_dtype)
        with pytest.raises(hs.UnsupportedError, match="filters"):
            f.create_dataset("packed", (3,), h5py.ref_dtype, compression="gzip")
        with pytest.raises(hs.InvalidInputError, match="region"):
            f["one"][()] = f.create_dataset("x", (3,)).regionref[1]
    with h5py.File(tmp_path / "x.h5") as f:
        assert f["none"].shape == (0,) and not f["one"][()] and f["null"].shape is None
        assert h5py.check_ref_dtype(f["none"].dtype) == h5py.Reference


@pytest.mark.parametrize("options", [{}, {"maxshape": (None,)}, {"chunks": (2,)}], ids=str)
def test_sequences_of_references(tmp_path: pathlib.Path, options: dict[str, Any]) -> None:
    record = np.dtype([("n", "i4"), ("to", h5py.vlen_dtype(h5py.regionref_dtype)), ("t", h5py.string_dtype())])
    with hs.create(tmp_path / "x.h5") as f:
        x = f.create_dataset("g/x", data=np.arange(20).reshape(4, 5))
        lists = f.create_dataset("lists", (5,), h5py.vlen_dtype(h5py.ref_dtype), **options)
        lists[0], lists[3:] = [x.ref, None, f["g"].ref], [[f.ref], []]
        lists[1] = [x.ref]
        records = f.create_dataset("records", (2,), record, **options)
        records[1] = (7, [x.regionref[1:3], x.regionref[0, 1:]], "text")
        f.attrs.create("lists", [[x.ref], [x.ref, f["g"].ref]], dtype=h5py.vlen_dtype(h5py.ref_dtype))
        assert [ref and ref.path for ref in lists[0]] == ["/g/x", None, "/g"] and [len(refs) for refs in lists[:]] == [3, 1, 0, 1, 0]
        assert records[1]["to"][1] == x.regionref[0, 1:] and len(records[0]["to"]) == 0
        f.copy("lists", "copy")
        f.move("g/x", "moved")
        if options.get("maxshape"):
            lists.append([[f["g"].ref] * 3])
    hs.repack(tmp_path / "x.h5", tmp_path / "y.h5")
    for name in ("x.h5", "y.h5"):
        with h5py.File(tmp_path / name) as f:
            found = [[h5py.h5r.get_name(ref, f.id) if ref else None for ref in refs] for refs in f["lists"][:]]
            assert found == [[b"/moved", None, b"/g"], [b"/moved"], [], [b"/"], [], *[[b"/g"] * 3] * bool(options.get("maxshape"))]
            assert [[h5py.h5r.get_name(ref, f.id) if ref else None for ref in refs] for refs in f["copy"][:]] == found[:5]
            assert [[h5py.h5r.get_name(ref, f.id) for ref in refs] for refs in f.attrs["lists"]] == [[b"/moved"], [b"/moved", b"/g"]]
            assert h5py.check_vlen_dtype(f["lists"].dtype) == h5py.ref_dtype
        with hs.open(tmp_path / name) as f:
            assert [ref.path for ref in f["records"][1]["to"]] == ["/moved"] * 2 and f["records"][1]["t"] == b"text"
            assert [f["moved"][ref].tolist() for ref in f["records"][1]["to"]] == [[[5, 6, 7, 8, 9], [10, 11, 12, 13, 14]], [[1, 2, 3, 4]]]
        assert [finding for finding in hs.check(tmp_path / name).findings if finding.severity != "info"] == []


def test_links_as_h5py_makes_them(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["there"] = 5
    for name, library in (("x.h5", hs), ("y.h5", h5py)):
        with hs.create(tmp_path / name) if library is hs else h5py.File(tmp_path / name, "w") as f:
            f["g/x"] = [1, 2, 3]
            f["hard"], f["group"] = f["g/x"], f["g"]
            f["soft"], f["out"] = h5py.SoftLink("/g/x"), h5py.ExternalLink("other.h5", "/there")
            f["dangling"] = h5py.SoftLink("/nowhere")
            f["hard"].attrs["by"] = "another name"
            f["group/y"] = 4
            assert f["hard"].name == "/hard" and f["group/x"][1] == 2 and f["soft"][:].tolist() == [1, 2, 3] and f["g/y"][()] == 4
            assert f["g/x"].attrs["by"] == "another name" and f["hard"] == f["g/x"]
            assert (
                "dangling" in f
                and "g/no" not in f
                and f.get("dangling") is None
                and f.get("dangling", getlink=True).path == "/nowhere"
                and "dangling" in list(f)
            )
            assert f.get("out", getlink=True).filename == "other.h5" and type(f.get("hard", getlink=True)).__name__ == "HardLink"
            del f["g/x"]
            f["hard"][0] = 9
            assert "g/x" not in f and f["hard"][:].tolist() == [9, 2, 3] and f["group"].keys() == {"y"}
    with h5py.File(tmp_path / "x.h5") as f, h5py.File(tmp_path / "y.h5") as g:
        assert list(f) == list(g) and f["out"][()] == 5 and f["hard"][:].tolist() == [9, 2, 3] and f["group"] == f["g"]
        for name in ("hard", "g"):
            assert h5py.h5o.get_info(f[name].id).rc == h5py.h5o.get_info(g[name].id).rc
    with h5py.File(tmp_path / "x.h5", "r+") as f:
        del f["g"]
        assert f["group/y"][()] == 4
    with hs.create(tmp_path / "x.h5") as f:
        f["a/b"] = 1
        f["a/loop"] = f["a"]
        with hs.create(tmp_path / "z.h5") as g, pytest.raises(hs.InvalidInputError, match="another file"):
            g["a"] = f["a"]


def test_committed_datatypes_are_shared(tmp_path: pathlib.Path) -> None:
    dtype = np.dtype([("a", "i4"), ("b", "f8")])
    with hs.create(tmp_path / "x.h5") as f:
        f["types/t"] = dtype
        f["types/t"].attrs["note"] = "kept"
        x = f.create_dataset("x", (3,), f["types/t"])
        x[1] = (1, 2.5)
        f.create_dataset("y", data=np.zeros(2, dtype), dtype=f["types/t"])
        assert f["types/t"].dtype == dtype and x.dtype == dtype
        f.move("types/t", "u")
    with h5py.File(tmp_path / "x.h5") as f:
        assert f["u"].dtype == dtype and f["u"].attrs["note"] == "kept" and f["x"][1].tolist() == (1, 2.5)
        assert f["x"].id.get_type().committed() and f["y"].id.get_type().committed()
        assert h5py.h5o.get_info(f["u"].id).rc == 3
    with h5py.File(tmp_path / "x.h5", "r+") as f:
        del f["u"]
        assert f["x"][1].tolist() == (1, 2.5)
    with hs.create(tmp_path / "x.h5") as f:
        f["t"] = np.dtype("f4")
        f.create_dataset("x", data=[1, 2], dtype=f["t"])
        del f["t"]
    with h5py.File(tmp_path / "x.h5") as f:
        assert f["x"][:].tolist() == [1, 2] and not f["x"].id.get_type().committed()


def test_what_h5py_raises_is_raised(tmp_path: pathlib.Path) -> None:
    def made(f: Any) -> Any:
        f.create_dataset("x", (10, 4), "i4", maxshape=(None, 4), chunks=(3, 4))
        f["fixed"], f["s"], f["g/h"] = [1, 2], 3, 1
        f["x"].attrs["a"] = 1
        return f

    acts: list[tuple[str, Any]] = [
        ("no such object", lambda f: f["no"]),
        ("through a dataset", lambda f: f["x/y"]),
        ("group again", lambda f: f.create_group("x")),
        ("dataset again", lambda f: f.create_dataset("x", (2,), "i4")),
        ("row", lambda f: f["x"][20]),
        ("backwards", lambda f: f["x"][::-1]),
        ("two ellipses", lambda f: f["x"][..., ...]),
        ("many indexes", lambda f: f["x"][1, 2, 3]),
        ("newaxis", lambda f: f["x"][None]),
        ("float index", lambda f: f["x"][1.5]),
        ("short mask", lambda f: f["x"][np.ones(3, bool)]),
        ("fixed", lambda f: f["fixed"].resize((3,))),
        ("rank", lambda f: f["x"].resize((2,))),
        ("axis", lambda f: f["x"].resize(5, axis=7)),
        ("group of a dataset", lambda f: f.require_group("x")),
        ("other shape", lambda f: f.require_dataset("x", (3,), "i4")),
        ("other dtype", lambda f: f.require_dataset("x", (10, 4), "f8")),
        ("exact dtype", lambda f: f.require_dataset("x", (10, 4), "i8", exact=True)),
        ("no attribute", lambda f: f["x"].attrs["no"]),
        ("length of a scalar", lambda f: len(f["s"])),
        ("number as a name", lambda f: f[3]),
        ("delete nothing", lambda f: f.__delitem__("no")),
        ("delete the root", lambda f: f.__delitem__("/")),
        ("no attribute to delete", lambda f: f["x"].attrs.__delitem__("no")),
        ("onto another", lambda f: f.move("x", "g/h")),
        ("broadcast", lambda f: f["x"].__setitem__(0, [1, 2])),
        ("broadcast all", lambda f: f["x"].__setitem__(..., np.ones((3, 4)))),
        ("field", lambda f: f["x"]["a"]),
        ("text as a number", lambda f: f["x"].__setitem__(0, "a")),
    ]
    with hs.create(tmp_path / "x.h5") as f, h5py.File(tmp_path / "y.h5", "w") as g:
        made(f), made(g)
        for what, act in acts:
            with pytest.raises(Exception) as theirs:
                act(g)
            with pytest.raises(Exception) as ours:
                act(f)
            assert isinstance(ours.value, theirs.type), f"{what}: {ours.value!r}, h5py: {theirs.value!r}"
            assert isinstance(ours.value, (hs.Error, IndexError))
        assert f.require_dataset("x", (10, 4), "i2") == f["x"] and f.require_group("g") == f["g"] and f.require_dataset("new", 3, "f8").shape == (3,)
    assert set(hs.open(tmp_path / "x.h5")) == {"x", "fixed", "s", "g", "new"}


def test_new_references_of_hdf5_1_12(tmp_path: pathlib.Path) -> None:
    """h5py has no dtype for them: a dataset that has them is the model."""
    with h5py.File(tmp_path / "model.h5", "w") as f, Made() as made:
        made.null().write(f, "one")
    with hs.create(tmp_path / "x.h5") as f, hs.open(tmp_path / "model.h5") as model:
        x = f.create_dataset("g/x", data=np.arange(20).reshape(4, 5))
        x.attrs["unit"] = "K"
        d = f.create_dataset_like("refs", model["one"], shape=(6,), chunks=(4,), maxshape=(None,))
        d[:4] = [x.ref, None, x.regionref[1:3, ::2], hs.NewAttributeReference("/g/x", "unit")]
        d[5] = f["g"].ref
        assert d[2] == x.regionref[1:3, ::2] and d[3] == hs.NewAttributeReference("/g/x", "unit") and d[0] == x.ref and d[4] is None
        with pytest.raises(hs.InvalidInputError, match="an attribute among references to objects"):
            f.create_dataset("older", (3,), h5py.ref_dtype)[0] = hs.NewAttributeReference("/g/x", "unit")
        f.move("g", "moved")
    with h5py.File(tmp_path / "x.h5") as f:
        found = [(t.kind, t.path, t.attribute, getattr(t, "elements", np.empty(0)).tolist()) for t in told(f, "refs")]
        box = [5, 7, 9, 10, 12, 14]
        x = "/moved/x"
        assert found == [(2, x, None, []), (0, None, None, []), (3, x, None, box), (4, x, "unit", []), (0, None, None, []), (2, "/moved", None, [])]
    with hs.open(tmp_path / "x.h5") as f:
        assert [ref.path for ref in f["refs"][...]] == [x, None, x, x, None, "/moved"] and f["refs"][3].attribute == "unit"
