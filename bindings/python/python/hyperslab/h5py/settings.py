"""Settings: what `h5py.File` was opened with, for the properties and access lists that show it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..base.errors import InvalidInputError

#: HDF5's chunk cache: its slots, its bytes, and how soon complete chunks leave it.
CHUNK_CACHE = (8191, 8 << 20, 0.75)


class PageBufferError(InvalidInputError, OSError):
    """A page buffer for a file without pages, which h5py reports as an `OSError`."""

    __str__ = InvalidInputError.__str__


@dataclass(frozen=True)
class Settings:
    """What a file was opened with.

    Attributes:
        driver: HDF5's file driver.
        libver: The oldest and the newest version of HDF5's format.
        swmr: Whether it was opened with `swmr=True`.
        locking: The argument `locking`: `False`, `True`, `best-effort`, or `None` for HDF5's default.
        meta_block_size: Bytes of a block of metadata.
        chunk_cache: Slots, bytes and weight of the chunk cache.
        page_buffer: Bytes of the page buffer, and the percentages of metadata and raw data that stay in it.
        alignment: From how many bytes on what is stored begins at multiples of the second number.
    """

    driver: str = "sec2"
    libver: tuple[str, str] = ("earliest", "v200")
    swmr: bool = False
    locking: bool | str | None = None
    meta_block_size: int = 2048
    chunk_cache: tuple[int, int, float] = CHUNK_CACHE
    page_buffer: tuple[int, int, int] = (0, 0, 0)
    alignment: tuple[int, int] = (1, 1)

    def linked(self, swmr: bool | None = None, locking: bool | str | None = None) -> Settings:
        """The settings of a file that a link leads to."""
        found = replace(self, driver="sec2", swmr=self.swmr if swmr is None else swmr)
        return found if locking is None else replace(found, locking=checked_locking(locking))


def checked_locking(value: object) -> bool | str | None:
    """The argument `locking`.

    Raises:
        InvalidInputError: HDF5 has no such kind of locking.
    """
    word = value.lower() if isinstance(value, str) else value
    known: dict[object, bool | str | None] = {None: None, True: True, False: False, "true": True, "false": False, "best-effort": "best-effort"}
    if not isinstance(word, (bool, str, type(None))) or word not in known:
        raise InvalidInputError(f"locking={value!r}: give True, False or 'best-effort'")
    return known[word]
