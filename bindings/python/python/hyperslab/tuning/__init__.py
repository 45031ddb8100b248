"""Tuning: measures a machine and a file system, fits a model of what each setting is worth, and writes a profile."""

from __future__ import annotations

from .tuner import Tuned, tune

__all__ = ["Tuned", "tune"]
