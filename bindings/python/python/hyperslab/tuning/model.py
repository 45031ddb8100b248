"""Model: each value of a setting multiplies the time of a kind of work by a factor.

The logarithm of the time is a constant and the sum of one number for each setting's value, fitted by least squares with a small
penalty. So the model can be read: `chunk_bytes=4194304: 0.93` means 7 % less time than with the default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..base.type_aliases import Json
from .points import KINDS, Point

#: Every fifth point is held back to test how well the model predicts.
HELD_BACK = 5
#: Regularization: keeps factors near 1 if few points determine them.
_PENALTY = 0.05


@dataclass(frozen=True)
class Model:
    """What each setting is worth, for one kind of work."""

    kind: str
    #: Seconds with the defaults.
    seconds: float
    #: Factor of the time, by setting and value; the default's is 1.
    factors: dict[str, dict[str, float]]
    #: Median error of the time, at points that were held back and at those that were fitted.
    held_back_error: float | None
    fitted_error: float
    points: int

    def predict(self, point: Point) -> float:
        """Seconds at a point."""
        seconds = self.seconds
        for setting, factors in self.factors.items():
            seconds *= factors.get(str(getattr(point, setting)), 1.0)
        return seconds


def fit(kind: str, measured: Sequence[tuple[Point, float]]) -> Model | None:
    """A model of the points of one kind; `None` without any."""
    mine = [(point, seconds) for point, seconds in measured if point.kind == kind and seconds > 0]
    if not mine:
        return None
    held = [seconds / predicted for _, seconds, predicted, is_held in predictions(kind, measured) if is_held]
    error = float(np.median([abs(1 / ratio - 1) for ratio in held])) if held else None
    whole = _fitted(kind, mine)
    return Model(kind, whole.seconds, whole.factors, error, _error(whole, mine), len(mine))


def predictions(kind: str, measured: Sequence[tuple[Point, float]]) -> list[tuple[Point, float, float, bool]]:
    """For each point of a kind: the measured and the predicted seconds, and whether it was held back from the model that
    predicts it. With too few points, none is held back."""
    mine = [(point, seconds) for point, seconds in measured if point.kind == kind and seconds > 0]
    if not mine:
        return []
    is_held = [len(mine) >= 3 * HELD_BACK and index % HELD_BACK == HELD_BACK - 1 for index in range(len(mine))]
    model = _fitted(kind, [pair for pair, held in zip(mine, is_held, strict=True) if not held])
    return [(point, seconds, model.predict(point), held) for (point, seconds), held in zip(mine, is_held, strict=True)]


def _error(model: Model, pairs: Sequence[tuple[Point, float]]) -> float:
    return float(np.median([abs(model.predict(point) / seconds - 1) for point, seconds in pairs]))


def _fitted(kind: str, pairs: Sequence[tuple[Point, float]]) -> Model:
    default = Point(kind)
    columns: list[tuple[str, Json]] = []
    for setting in KINDS[kind]:
        found = dict.fromkeys(getattr(point, setting) for point, _ in pairs)
        columns += [(setting, value) for value in found if value != getattr(default, setting)]
    matrix = np.array([[1.0, *(float(getattr(point, setting) == value) for setting, value in columns)] for point, _ in pairs])
    times = np.log([seconds for _, seconds in pairs])
    penalty = np.sqrt(_PENALTY) * np.eye(matrix.shape[1])
    penalty[0, 0] = 0
    solved, *_ = np.linalg.lstsq(np.vstack([matrix, penalty]), np.concatenate([times, np.zeros(matrix.shape[1])]), rcond=None)
    factors: dict[str, dict[str, float]] = {}
    for (setting, value), logarithm in zip(columns, solved[1:], strict=True):
        factors.setdefault(setting, {str(getattr(default, setting)): 1.0})[str(value)] = float(np.exp(logarithm))
    return Model(kind, float(np.exp(solved[0])), factors, None, 0.0, len(pairs))
