"""JLD2: real files of four projects, by what their sources put into them, and by h5py for stored numbers; damaged ones."""

from __future__ import annotations

import pathlib
import pickle
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
from hyperslab.models import jld2

FILES = pathlib.Path(__file__).with_name("jld2")
EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "data" / "pssfss_result.jld2"
PATHS = {path.name: path for path in [*FILES.glob("*.jld2"), EXAMPLE]}
NAMES = sorted(PATHS)


def opened(name: str) -> jld2.Jld2:
    return jld2.open(PATHS[name])


@pytest.mark.parametrize("name", NAMES)
def test_all_values_are_read(name: str) -> None:
    view = opened(name)
    assert view.certainty == "certain" and view.name == "jld2" and view.validate() == []
    loaded = view.load()
    assert list(loaded) == list(view) and len(view) == len(loaded) > 0
    for path, value in loaded.items():
        assert type(view[path]) is type(value)
    with pytest.raises(hs.NotFoundError, match="nothing of it"):
        view["nothing of it"]
    assert "_types/00000001" not in view
    report = hs.check(PATHS[name])
    assert not report.errors and not [finding for finding in report.findings if finding.kind in ("unreachable", "bad-reference")]


@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_numbers_are_those_of_h5py(name: str) -> None:
    compared = 0
    with h5py.File(PATHS[name]) as f, hs.open(PATHS[name]) as ours:
        values = jld2.open(ours).load()
        for array in jld2.open(ours).arrays:
            assert (values[array.name] == f[array.path][()].T).all()
            compared += 1
    assert compared or name not in ("jld2_demo.jld2", "jld2_tuple.jld2")


def test_integers_vectors_and_tuples() -> None:
    values = opened("jld2_tuple.jld2").load()
    assert values["a"] == 42 and values["b"].tolist() == [1, 2, 3, 4, 5] and values["c"] == (1, 2)
    assert opened("jld2_demo.jld2")["a"].tolist() == [0.0, 0.0]
    example = opened("jld2_example.jld2").load()
    assert set(example) == {"x", "y"} and all(0 <= value < 1 for value in example.values())


def test_structs() -> None:
    value = opened("jld2_singleton.jld2")["b"]
    assert isinstance(value, jld2.JuliaStruct) and value.type.base == "WrappedSingleton"
    assert value["x"] == 1 and value["y"].tolist() == [2, 3] and list(value) == ["x", "y"]


def test_named_tuples_complex_numbers_and_names_of_unicode() -> None:
    result = opened("pssfss_result.jld2")["25/result"]
    assert list(result) == ["gsm", "steering", "β⃗₀₀", "FGHz", "ϵᵣin", "μᵣin", "β₁in", "β₂in", "ϵᵣout", "μᵣout", "β₁out", "β₂out"]
    assert result["steering"] == {"θ": 0.0, "ϕ": 0.0} and result["FGHz"] == 6.0 and result["ϵᵣin"] == 1 + 0j
    assert result["gsm"]["s12"].dtype == complex and result["gsm"]["s12"].tolist() == [[1, 0], [0, 1]]
    assert result["β₁in"]["data"] == (0.0, 0.0)
    assert str(result["gsm"].type) == "GSM{Array{Complex{Float64}, 2}, Array{Complex{Float64}, 2}}"


@pytest.mark.parametrize("name", ["gmg_geodata.jld2", "gmg_old.jld2", "gmg_other.jld2"])
def test_a_model_of_the_earth(name: str) -> None:
    """Longitudes 1 to 10 by 3, latitudes 11 to 19 by 4, depths -20 to -10 km by 5, and a field of the size of the grid."""
    data = opened(name)["data"]
    longitude, latitude, depth = (data[coordinate]["val"] for coordinate in ("lon", "lat", "depth"))
    grid = np.meshgrid([1.0, 4, 7, 10], [11.0, 15, 19], [-20.0, -15, -10], indexing="ij")
    assert all((a == b).all() for a, b in zip((longitude, latitude, depth), grid, strict=True))
    assert data["lon"]["isdimensional"] is False and data["depth"]["isdimensional"] is True
    field = data["fields"]["DataFieldName"]
    assert field.shape == (4, 3, 3)
    numbers = np.vectorize(lambda quantity: quantity["val"])(field)
    assert (numbers == depth).all()
    assert data["atts"] == {"note": "No attributes were given to this dataset"}
    assert "Unit{Meter, " in str(data["depth"].type)


def test_dictionaries_of_arrays() -> None:
    data = opened("tomproj_data.jld2").load()
    assert {"chatgpt", "brockbank"} <= set(data)
    assert data["chatgpt"]["score"].shape == (3, 3, 3, 10) and data["chatgpt"]["score"].dtype == float


def test_one_object_is_one_value() -> None:
    data = opened("gmg_geodata.jld2")["data"]
    again = pickle.loads(pickle.dumps(jld2.missing)), pickle.loads(pickle.dumps(jld2.Symbol("a")))
    assert again == (jld2.missing, "a") and again[0] is jld2.missing and not jld2.missing
    assert data is not opened("gmg_geodata.jld2")["data"]


@pytest.mark.parametrize("name", NAMES)
def test_copies_have_the_same_values(tmp_path: pathlib.Path, name: str) -> None:
    hs.repack(PATHS[name], tmp_path / "copy.jld2")
    theirs, ours = described(opened(name).load()), described(jld2.open(tmp_path / "copy.jld2").load())
    assert theirs == ours


def described(value: Any) -> Any:
    """A value in terms that compare by content."""
    if isinstance(value, jld2.JuliaStruct):
        return str(value.type), {name: described(field) for name, field in value.items()}
    if isinstance(value, dict):
        return {key: described(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(described(item) for item in value)
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, [described(item) for item in value.reshape(-1).tolist()]
    return value


@pytest.mark.parametrize("name", ["pssfss_result.jld2", "gmg_geodata.jld2"])
def test_damage_is_an_error_with_a_name(tmp_path: pathlib.Path, name: str) -> None:
    whole = (PATHS[name]).read_bytes()
    rng = np.random.default_rng(5)
    refused = 0
    for number in range(150):
        damaged = bytearray(whole)
        for place in rng.integers(512, len(whole), 1 + number % 4):
            damaged[place] = rng.integers(0, 256)
        path = tmp_path / f"{number}.jld2"
        path.write_bytes(damaged)
        try:
            jld2.open(path).load()
        except hs.Error as error:
            assert not isinstance(error, hs.InternalError) and str(error)
            refused += 1
    assert refused > 10
