"""References: the objects and the elements that h5py finds at their end."""

from __future__ import annotations

import pathlib

import h5py
import numpy as np
import pytest

import hyperslab as hs


@pytest.fixture(params=["earliest", "latest"])
def path(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> pathlib.Path:
    with h5py.File(tmp_path / "a.h5", "w", libver=request.param) as f:
        x = f.create_dataset("g/x", data=np.arange(70).reshape(7, 10), chunks=(3, 4))
        f["type"] = np.dtype("i4")
        f.create_dataset("objects", data=[x.ref, f["g"].ref, f["type"].ref, f.ref, h5py.Reference()], dtype=h5py.ref_dtype)
        # h5py makes these of selections: slices, strides, lists (blocks) and points.
        regions = [x.regionref[2:5, 3:7], x.regionref[::3, 1], x.regionref[...], x.regionref[[0, 4, 5], 2:4]]
        points = h5py.h5s.create_simple((7, 10))
        points.select_elements([(6, 1), (0, 0), (3, 9), (3, 1)])
        regions.append(h5py.h5r.create(x.id, b".", h5py.h5r.DATASET_REGION, points))
        strided = h5py.h5s.create_simple((7, 10))
        strided.select_hyperslab((1, 0), (2, 3), (3, 4), (2, 2))
        regions.append(h5py.h5r.create(x.id, b".", h5py.h5r.DATASET_REGION, strided))
        f.create_dataset("regions", data=regions, dtype=h5py.regionref_dtype)
        f["g"].attrs["ref"] = x.ref
        records = np.empty(2, dtype=[("n", "i4"), ("to", h5py.ref_dtype)])
        records["n"], records["to"] = [1, 2], [x.ref, f["g"].ref]
        f["records"] = records
    return tmp_path / "a.h5"


def test_object_references_lead_to_their_objects(path: pathlib.Path) -> None:
    f = hs.open(path)
    found = f["objects"][...]
    assert [ref.path for ref in found] == ["/g/x", "/g", "/type", "/", None]
    assert [bool(ref) for ref in found] == [True] * 4 + [False]
    assert f[found[0]] == f["/g/x"]
    assert f[f["g"].attrs["ref"]].shape == (7, 10)
    assert [ref.path for ref in f["records"]["to"]] == ["/g/x", "/g"]
    assert f["records"]["n"].tolist() == [1, 2]
    with pytest.raises(hs.InvalidInputError, match="nothing"):
        f[found[4]]


def test_region_references_select_what_h5py_selects(path: pathlib.Path) -> None:
    f = hs.open(path)
    x = f["g/x"]
    with h5py.File(path) as theirs:
        for ours, reference in zip(f["regions"][...], theirs["regions"][...], strict=True):
            assert f[ours] == x
            wanted = theirs["g/x"][reference]
            found = x[ours]
            np.testing.assert_array_equal(found, wanted)
    kinds = [ref.selection[0] for ref in f["regions"][...]]
    assert "points" in kinds and ("hyperslab" in kinds or "blocks" in kinds)
    with pytest.raises(hs.InvalidInputError, match="/g/x"):
        f["objects"][f["regions"][0]]


def test_a_reference_to_an_object_that_is_gone_is_an_error(path: pathlib.Path) -> None:
    with h5py.File(path, "a") as f:
        del f["type"]
    with pytest.raises(hs.NotFoundError, match="reference"):
        _ = hs.open(path)["objects"][2].path


@pytest.mark.parametrize("kind", ["COMPLEX_IEEE_F32LE", "COMPLEX_IEEE_F64LE", "COMPLEX_IEEE_F64BE", "NATIVE_LDOUBLE_COMPLEX"])
def test_complex_numbers_of_hdf5_2(tmp_path: pathlib.Path, kind: str) -> None:
    values = np.array([1 + 2j, -1.5j, complex(np.inf, 0), complex(0, -np.inf)])
    datatype = getattr(h5py.h5t, kind)
    with h5py.File(tmp_path / "a.h5", "w", libver="latest") as f:
        h5py.h5d.create(f.id, b"x", datatype, h5py.h5s.create_simple((4,))).write(
            h5py.h5s.ALL, h5py.h5s.ALL, values.astype(datatype.dtype), mtype=datatype)
    found = hs.open(tmp_path / "a.h5")["x"]
    with h5py.File(tmp_path / "a.h5") as theirs:
        assert found.dtype == theirs["x"].dtype
        np.testing.assert_array_equal(found[...], theirs["x"][...])
    np.testing.assert_array_equal(found[...], values)
