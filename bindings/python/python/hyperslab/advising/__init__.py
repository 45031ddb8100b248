"""Advice on how to store a file for the reads that are wanted, from measurements on samples of it."""

from __future__ import annotations

from .advice import Advice, advise
from .applying import Applied
from .dataset_advice import AccessPrediction, DatasetAdvice
from .hints import Hint

__all__ = ["AccessPrediction", "Advice", "Applied", "DatasetAdvice", "Hint", "advise"]
