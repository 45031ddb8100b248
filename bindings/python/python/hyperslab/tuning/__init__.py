"""Tuning: measures a machine and a file system, fits a model of what each setting is worth, and writes a profile. The study, which measures
libraries next to each other, is `tuning.study`, and an extra."""

from __future__ import annotations

from .pictures import draw_profile
from .tuner import Tuned, tune

__all__ = ["Tuned", "draw_profile", "tune"]
