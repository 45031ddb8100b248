"""Signals: the data of NeXus that a plot draws, with their axes, and complex numbers as their modulus and phase."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _native
from ..base.errors import CorruptError
from ..base.type_aliases import AnyArray, Elements
from .plot_axes import NAMES, base_name, text_of
from .plot_cells import Dataset


class Signal:
    """A signal as plots see it: the scales of its dimensions are its axes."""

    def __init__(self, signal: Any, axes: list[Any]) -> None:
        self._signal, self._axes = signal, axes
        self.dims = tuple(None if axis is None else axis.name.rsplit("/", 1)[-1] for axis in axes)

    def _scale(self, dimension: int) -> Any:
        return self._axes[dimension]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._signal, name)

    def __getitem__(self, key: object) -> Elements:
        return self._signal[key]


class ComplexPart:
    """The modulus or the phase of complex numbers, as plots see it."""

    def __init__(self, dataset: Dataset, compute: Callable[[AnyArray], AnyArray], name: str, unit: str | None) -> None:
        self._dataset, self._compute = dataset, compute
        self.attrs = {**dataset.attrs, "long_name": f"{name} of {text_of(dataset, *NAMES) or base_name(dataset)}"}
        if unit is not None:
            self.attrs["units"] = unit
        self.dtype = np.dtype("f8")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dataset, name)

    def __getitem__(self, key: Any) -> Elements:
        return self._compute(np.asarray(self._dataset[key])).astype("f8")


def modulus(dataset: Dataset) -> Any:
    """The absolute values of complex numbers."""
    return ComplexPart(dataset, np.abs, "modulus", None)


def phase(dataset: Dataset) -> Any:
    """The angles of complex numbers, from -π to π."""
    return ComplexPart(dataset, np.angle, "phase", "rad")


def default_signal(file: Any) -> Any:
    """The data of NeXus to be plotted; `None` if a file is not NeXus, or has none.

    Raises:
        CorruptError: An attribute `default` names nothing, or the defaults lead in a circle.
    """
    facts = _facts(file._file)
    if facts is None:
        return None
    if problem := facts.get("default_problem"):
        raise CorruptError(problem["message"], file.filename, problem["object"])
    return _of_data(file, facts["data"].get(facts["default"]))


def signal_of(file: Any, group: str) -> Any:
    """The signal of an NXdata at a path; `None` if there is none."""
    facts = _facts(file._file)
    return None if facts is None else _of_data(file, facts["data"].get(group.strip("/")))


def _of_data(file: Any, data: dict[str, Any] | None) -> Any:
    return None if data is None else Signal(file[data["signal"]], _axes(file, data))


def with_axes(dataset: Any) -> Any:
    """A dataset with the axes that NXdata gives it, if it is the signal of one and has no scales of its own."""
    if not dataset.ndim or isinstance(dataset, Signal) or not isinstance(dataset._file, _native.File):
        return dataset
    if any(dataset._scale(dimension) is not None for dimension in range(dataset.ndim)):
        return dataset
    facts = _facts(dataset._file)
    if facts is None:
        return dataset
    group, file = dataset.name.rsplit("/", 1)[0], dataset.file
    # The same dataset can be the signal of several: of the group in which it was found first.
    for data in sorted(facts["data"].values(), key=lambda one: one["signal"].rsplit("/", 1)[0] != group):
        if any(file[path]._number == dataset._number for path in (data["signal"], *data["auxiliary_signals"])):
            return Signal(dataset, _axes(file, data))
    return dataset


def _axes(file: Any, data: dict[str, Any]) -> list[Any]:
    return [None if path is None else file[path] for path in data["axes"]]


def _facts(native: _native.File) -> dict[str, Any] | None:
    if not any(found.model == "nexus" for found in _native.recognize_models(native)):
        return None
    facts: dict[str, Any] = json.loads(_native.model_facts(native, "nexus"))
    return facts
