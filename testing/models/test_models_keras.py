"""Keras as a model: files built by h5py after its layouts, judged by numpy. `make test-instruments` has Keras as judge."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest

RANDOM = np.random.default_rng(4)
KERNEL, BIAS, MOMENTUM = RANDOM.random((3, 4)).astype("f4"), RANDOM.random(4).astype("f4"), RANDOM.random((3, 4)).astype("f4")


def named(group: h5py.Group, layers: dict[str, dict[str, Any]]) -> None:
    group.attrs["layer_names"] = [name.encode() for name in layers]
    for name, weights in layers.items():
        layer = group.create_group(name)
        layer.attrs["weight_names"] = [weight.encode() for weight in weights]
        for weight, values in weights.items():
            layer[weight] = values


def model(path: pathlib.Path, change: Callable[[h5py.File], None] = lambda f: None) -> pathlib.Path:
    with h5py.File(path, "w") as f:
        f.attrs["keras_version"], f.attrs["backend"] = "2.15.0", "tensorflow"
        f.attrs["model_config"] = json.dumps({"class_name": "Functional", "config": {"name": "m", "rate": float("nan")}})
        f.attrs["training_config"] = json.dumps({"loss": "mse"})
        named(f.create_group("model_weights"), {"z": {"z/kernel:0": KERNEL, "z/bias:0": BIAS}, "flat": {}, "a": {"a/kernel:0": KERNEL.T}})
        top = f.create_group("model_weights/top_level_model_weights")
        top.attrs["weight_names"] = [b"temperature"]
        top["temperature"] = 2.5
        optimizer = f.create_group("optimizer_weights")
        optimizer.attrs["weight_names"] = [b"adam/iteration", b"adam/m/z"]
        optimizer["adam/iteration"], optimizer["adam/m/z"] = np.int64(7), MOMENTUM
        change(f)
    return path


def store(path: pathlib.Path) -> pathlib.Path:
    with h5py.File(path, "w") as f:
        f.create_group("vars").attrs["name"] = "m"
        for key, name in (("conv2d", "same"), ("conv2d_1", "same"), ("dense", "out")):
            layer = f.create_group(f"layers/{key}/vars")
            layer.attrs["name"] = name
            for number in range(11 if key == "dense" else 1):
                layer[str(number)] = np.full((2, 3), number, "f4")
        exact = np.array([1.5, -2.0, 3.25], "f4")
        half = f["layers/dense/vars"].create_dataset("11", data=(exact.view("u4") >> 16).astype("u2").view("V2"))
        half.attrs["dtype"] = "bfloat16"
        optimizer = f.create_group("optimizer/vars")
        optimizer.attrs["name"] = "adam"
        optimizer["0"] = np.int32(3)
        f["seed_generators/extra"] = 1
    return path


def test_a_whole_model(tmp_path: pathlib.Path) -> None:
    view = hs.models.keras.open(model(tmp_path / "model.h5"))
    assert [(found.name, found.certainty, found.reason) for found in view.file.models] == [("keras", "certain", "a model with its configuration")]
    assert view.tables == ["weights"] and view.validate() == [] and view.omitted == {} and view.layers == ["z", "flat", "a"]
    assert view.model_config is not None and view.model_config["class_name"] == "Functional" and view.training_config == {"loss": "mse"}
    assert view.facts["keras_version"] == "2.15.0" and view.facts["backend"] == "tensorflow"
    rows = view.table("weights").to_arrow().to_pylist()
    assert rows[0] == {
        "part": "model",
        "layer_index": 0,
        "layer": "z",
        "weight": "z/kernel:0",
        "path": "/model_weights/z/z/kernel:0",
        "dtype": "float32",
        "shape": [3, 4],
        "parameters": 12,
    }
    assert [(row["layer"], row["layer_index"], row["parameters"]) for row in rows] == [
        ("z", 0, 12),
        ("z", 0, 4),
        ("a", 2, 12),
        ("top_level_model_weights", None, 1),
        ("optimizer", None, 1),
        ("optimizer", None, 12),
    ]
    weights = view.weights()
    assert list(weights) == ["z", "a", "top_level_model_weights"] and np.array_equal(weights["z"]["z/kernel:0"], KERNEL)
    assert np.array_equal(weights["a"]["a/kernel:0"], KERNEL.T) and view.weights("z").keys() == {"z"} and view.weights("flat") == {}
    assert np.array_equal(view.weights(optimizer=True)["optimizer"]["adam/m/z"], MOMENTUM)
    assert hs.sql("select part, sum(parameters) from weights group by part order by part", view.file).fetchall() == [("model", 29), ("optimizer", 13)]
    assert [array.name for array in view.arrays][:2] == ["z/z/kernel:0", "z/z/bias:0"]
    with pytest.raises(hs.NotFoundError, match="no layer 'y'"):
        view.weights("y")


def test_weights_alone_and_names_in_parts(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "weights.h5", "w") as f:
        named(f, {"b": {"kernel": KERNEL}, "a": {"bias": BIAS}})
        names = f.attrs["layer_names"]
        del f.attrs["layer_names"]
        f.attrs["layer_names0"], f.attrs["layer_names1"] = names[:1], names[1:]
    view = hs.models.keras.open(tmp_path / "weights.h5")
    assert view.certainty == "likely" and view.layers == ["b", "a"] and view.model_config is None
    assert np.array_equal(view.weights("a")["a"]["bias"], BIAS)


def test_numbered_weights(tmp_path: pathlib.Path) -> None:
    view = hs.models.keras.open(store(tmp_path / "m.weights.h5"))
    assert (view.certainty, view.reason) == ("likely", "groups vars with numbered weights") and view.layers == ["same", "out"]
    rows = view.table("weights").to_arrow().to_pylist()
    assert [row["weight"] for row in rows if row["layer"] == "out"] == [str(number) for number in range(12)]
    assert rows[-1]["part"] == "optimizer" and rows[-1]["layer"] == "adam" and rows[-2]["dtype"] == "bfloat16"
    weights = view.weights()
    assert set(weights) == {"/layers/conv2d/vars", "/layers/conv2d_1/vars", "out"} and weights["out"]["10"][0, 0] == 10
    assert weights["out"]["11"].tolist() == [1.5, -2.0, 3.25] and weights["out"]["11"].dtype == np.float32
    assert view.omitted == {"/seed_generators/extra": "is not named as a weight"}


def missing_layer(f: h5py.File) -> None:
    f["model_weights"].attrs["layer_names"] = [b"z", b"nothing"]


def missing_weight(f: h5py.File) -> None:
    f["model_weights/a"].attrs["weight_names"] = [b"a/nothing"]


def numbers(f: h5py.File) -> None:
    f["model_weights/a"].attrs["weight_names"] = [1, 2]


def group(f: h5py.File) -> None:
    f["model_weights/a"].attrs["weight_names"] = [b"a"]


@pytest.mark.parametrize(
    ("change", "object", "message"),
    [
        (missing_layer, "/model_weights/nothing", "a layer that is named, but is not there"),
        (missing_weight, "/model_weights/a", 'the weight "a/nothing" is named, but is not there'),
        (numbers, "/model_weights/a", "the attribute weight_names does not hold names"),
        (group, "/model_weights/a/a", "a weight that is not a dataset"),
    ],
)
def test_bad_input_is_one_error_with_the_object(tmp_path: pathlib.Path, change: Any, object: str, message: str) -> None:
    view = hs.models.keras.open(model(tmp_path / "bad.h5", change))
    for read in (lambda: view.table("weights"), view.weights, lambda: view.arrays):
        with pytest.raises(hs.CorruptError) as error:
            read()
        assert message in str(error.value) and object in str(error.value) and "\n" not in str(error.value)
    assert [(problem.object, problem.message) for problem in view.validate()] == [(object, message)]


def test_names_that_cannot_be_read_are_an_error_with_the_object(tmp_path: pathlib.Path) -> None:
    """Names in a heap that is damaged, as in HDF5's file for CVE-2021-37501."""
    path = tmp_path / "heap.h5"
    with h5py.File(path, "w") as f:
        f.attrs["keras_version"] = np.bytes_("2.0.8")
        f.attrs["layer_names"] = np.array([b"dense"])
        f.create_group("dense").attrs.create("weight_names", ["kernel:0"], dtype=h5py.string_dtype())
    data = path.read_bytes()
    assert data.count(b"GCOL") == 1
    path.write_bytes(data.replace(b"GCOL", b"XCOL"))
    view = hs.models.keras.open(path)
    for ask in (lambda: view.table("weights"), lambda: view.arrays, lambda: view.omitted):
        with pytest.raises(hs.CorruptError) as error:
            ask()
        assert error.value.object == "/dense"
    assert [problem.object for problem in view.validate()] == ["/dense"]


def test_a_configuration_that_is_not_json(tmp_path: pathlib.Path) -> None:
    def change(f: h5py.File) -> None:
        f.attrs["model_config"] = "{"

    view = hs.models.keras.open(model(tmp_path / "bad.h5", change))
    with pytest.raises(hs.CorruptError, match="model_config is not JSON"):
        _ = view.model_config
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f.create_group("layers")
    with pytest.raises(hs.InvalidInputError, match="not recognized as keras"):
        hs.models.keras.open(tmp_path / "x.h5")
