"""Extras: packages that only some features need. Reading and writing files needs none of them."""

from __future__ import annotations

import importlib

from .errors import MissingExtraError


def require(feature: str, extra: str, *packages: str) -> None:
    """Checks that the packages of an extra are installed.

    Args:
        feature: What needs them, the beginning of the message: `SQL`.
        extra: Name of the extra in `pip install 'hyperslab[extra]'`.
        packages: Names by which the packages are imported.

    Raises:
        MissingExtraError: One is not installed.

    Example:
        >>> require("SQL", "sql", "duckdb")
    """
    for package in packages:
        try:
            importlib.import_module(package)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != package.partition(".")[0]:
                raise  # the package is there, and something that it needs is not
            raise MissingExtraError(f"{feature} needs the package {package}, which is not installed: pip install 'hyperslab[{extra}]'", name=package) from None
