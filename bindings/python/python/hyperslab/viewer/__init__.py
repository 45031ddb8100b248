"""Viewer: files in the browser, by H5Web over a server that speaks h5grove's interface."""

from __future__ import annotations

from .app import application
from .shown import Shown

__all__ = ["Shown", "application"]
