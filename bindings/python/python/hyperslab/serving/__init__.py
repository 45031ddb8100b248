"""Serving: files that a server may show, by names that cannot lead out of their folder."""

from __future__ import annotations
