"""Tuning: measures a machine and a file system, fits a model of what each setting is worth, and writes a profile. The study measures
libraries next to each other."""

from __future__ import annotations

from .pictures import draw_profile
from .study import Study, run_study
from .tuner import Tuned, tune

__all__ = ["Study", "Tuned", "draw_profile", "run_study", "tune"]
