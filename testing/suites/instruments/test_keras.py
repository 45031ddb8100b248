"""Keras as judge: files that it writes, compared weight by weight with what it holds."""

from __future__ import annotations

import os
import pathlib
from typing import Any

os.environ["KERAS_BACKEND"] = "jax"

import h5py
import hyperslab as hs
import keras
import numpy as np
import pytest
from keras import layers
from keras.src.legacy.saving import legacy_h5_format


@pytest.fixture(scope="module")
def model() -> Any:
    images = keras.Input((8, 8, 3), name="images")
    inner = keras.Sequential([keras.Input((5,)), layers.Dense(4, name="deep"), layers.Dense(2, use_bias=False, name="deeper")], name="inner")
    x = layers.Flatten()(layers.BatchNormalization(name="bn")(layers.Conv2D(4, 3, name="conv")(images)))
    model = keras.Model(images, inner(layers.Dense(5, name="dense")(x)), name="whole")
    model.compile(optimizer="adam", loss="mse")
    random = np.random.default_rng(0)
    model.fit(random.random((4, 8, 8, 3)), random.random((4, 2)), epochs=1, verbose=0)
    return model


def same(found: list[np.ndarray], expected: list[Any]) -> bool:
    return len(found) == len(expected) and all(np.array_equal(one, np.asarray(other)) for one, other in zip(found, expected, strict=True))


def test_a_whole_model(model: Any, tmp_path: pathlib.Path) -> None:
    model.save(tmp_path / "model.h5")
    view = hs.models.keras.open(tmp_path / "model.h5")
    assert view.certainty == "certain" and view.layers == [layer.name for layer in model.layers] and view.validate() == []
    weights = view.weights()
    for layer in model.layers:
        assert same(list(weights.get(layer.name, {}).values()), legacy_h5_format._legacy_weights(layer)), layer.name
    assert view.model_config == {"class_name": "Functional", "config": view.model_config["config"]} and view.model_config["config"]["name"] == "whole"
    assert view.training_config["loss"] == "mse"
    assert same(list(view.weights(optimizer=True)["optimizer"].values()), model.optimizer.variables)
    rows = view.table("weights").to_arrow().to_pylist()
    assert sum(row["parameters"] for row in rows if row["part"] == "model") == model.count_params()
    assert view.omitted == {}


def test_weights_alone(model: Any, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "weights.h5", "w") as f:
        legacy_h5_format.save_weights_to_hdf5_group(f, model)
    weights = hs.models.keras.open(tmp_path / "weights.h5").weights()
    for layer in model.layers:
        assert same(list(weights.get(layer.name, {}).values()), legacy_h5_format._legacy_weights(layer)), layer.name


def test_numbered_weights(model: Any, tmp_path: pathlib.Path) -> None:
    model.save_weights(tmp_path / "model.weights.h5")
    view = hs.models.keras.open(tmp_path / "model.weights.h5")
    weights = view.weights()
    for layer in [*model.layers[:-1], *model.layers[-1].layers]:
        assert same(list(weights.get(layer.name, {}).values()), layer.weights), layer.name
    assert same(list(view.weights(optimizer=True)["adam"].values()), model.optimizer.variables)
    rows = view.table("weights", "part = 'model'").to_arrow().to_pylist()
    assert sum(row["parameters"] for row in rows) == model.count_params() and view.omitted == {}


def test_short_floats(tmp_path: pathlib.Path) -> None:
    model = keras.Sequential([keras.Input((5,)), layers.Dense(3, dtype="bfloat16", name="short"), layers.Dense(3, dtype="float16", name="half")])
    model.save_weights(tmp_path / "short.weights.h5")
    weights = hs.models.keras.open(tmp_path / "short.weights.h5").weights()
    assert same(list(weights["short"].values()), [np.asarray(weight).astype("f4") for weight in model.layers[0].weights])
    assert same(list(weights["half"].values()), model.layers[1].weights)
