"""Units: whether coordinates that are given in other units, such as hPa and Pa, have the same values. UDUNITS knows units, by cf-units."""

from __future__ import annotations

import numpy as np

from ..base.extras import require
from ..base.type_aliases import AnyArray


def are_convertible(one: str, other: str) -> bool:
    """Whether values in one unit can be given in the other.

    Args:
        one: A unit as UDUNITS writes it.
        other: Another one.

    Returns:
        Whether they can; not if UDUNITS does not know one of them.

    Raises:
        MissingExtraError: cf-units is not installed.

    Example:
        >>> are_convertible("hPa", "Pa")
        True
    """
    require("convert_units", "units", "cf_units")
    import cf_units

    try:
        return bool(cf_units.Unit(one).is_convertible(cf_units.Unit(other)))
    except ValueError:
        return False


def are_equal(mine: AnyArray, unit: str, theirs: AnyArray, other: str) -> bool:
    """Whether values in one unit are those in another, up to the digits that their types hold.

    Args:
        mine: Numbers.
        unit: Their unit.
        theirs: Other numbers.
        other: The unit of these.

    Returns:
        Whether each is the other; missing values are equal to missing ones.

    Example:
        >>> are_equal(np.array([1000.0]), "hPa", np.array([100000.0]), "Pa")
        True
    """
    import cf_units

    if mine.shape != theirs.shape:
        return False
    converted = cf_units.Unit(other).convert(np.asarray(theirs, np.float64), cf_units.Unit(unit))
    digits = max(np.finfo(values.dtype).eps if values.dtype.kind == "f" else 0.0 for values in (mine, theirs))
    # Rounded once where they are stored, and once where they are converted.
    return bool(np.allclose(np.asarray(mine, np.float64), converted, rtol=2 * max(digits, np.finfo(np.float64).eps), atol=0, equal_nan=True))
