"""Values in a few characters, as reprs, notebooks, pictures and the viewer show them. Tables show all digits."""

from __future__ import annotations

from ..values.scalar_text import scalar_text
from . import tree
from .attributes import shown


def value_text(value: object) -> str:
    """A value in a few characters: times to the second, floats with six digits.

    Args:
        value: A value of a dataset.

    Returns:
        The text; `—` if it is missing.

    Example:
        >>> value_text(np.float32(0.1))
        '0.1'
    """
    text = scalar_text(value)
    return tree.cut(value if isinstance(value, str) else shown(value)) if text is None else text
