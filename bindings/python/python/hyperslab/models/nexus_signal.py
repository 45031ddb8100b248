"""Signal: the data of NeXus that a plot draws, with their axes."""

from __future__ import annotations

from ..base.type_aliases import Elements
from ..objects.dataset import Dataset


class Signal:
    """A signal as plots see it: the scales of its dimensions are its axes."""

    def __init__(self, signal: Dataset, axes: list[Dataset | None]) -> None:
        self._signal, self._axes = signal, axes
        self.dims = tuple(None if axis is None else axis.name.rsplit("/", 1)[-1] for axis in axes)

    def _scale(self, dimension: int) -> Dataset | None:
        return self._axes[dimension]

    def __getattr__(self, name: str) -> Elements:
        return getattr(self._signal, name)

    def __getitem__(self, key: object) -> Elements:
        return self._signal[key]
