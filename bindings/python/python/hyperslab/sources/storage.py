"""Storage: where the bytes of a file lie, as far as the file system tells."""

from __future__ import annotations

import os
import warnings
from typing import NamedTuple

from .. import _native
from ..base.type_aliases import Path

#: File systems that many machines write to through many servers.
_PARALLEL = ("lustre", "gpfs", "beegfs", "ceph", "orangefs", "panfs", "wekafs")


class StorageWarning(UserWarning):
    """A file system says of a file what cannot be true, or cannot be asked. The block size is in force."""


class StripedPart(NamedTuple):
    """A range of a file that is striped in one way.

    Attributes:
        start: Offset of its first byte.
        end: Offset after its last byte; `None` for the end of the file.
        stripe_bytes: Length of a stripe.
        stripe_count: Number of stripes; `None` for all targets of the file system.
        targets: The targets in the order of the stripes; none if they are not assigned yet.
        pool: Name of the pool of targets.
    """

    start: int
    end: int | None
    stripe_bytes: int
    stripe_count: int | None
    targets: list[int]
    pool: str | None


class StorageLayout:
    """Where the bytes of a file lie; for a folder, where the bytes of new files in it will lie."""

    def __init__(self, native: _native.StorageLayout) -> None:
        self._native = native

    @classmethod
    def parse(cls, said: str | bytes) -> StorageLayout:
        """Parses what a file system or its tool says.

        Args:
            said: The text of `lfs getstripe` or of `beegfs-ctl --getentryinfo`, or the bytes of the attribute `lustre.lov`.

        Returns:
            The layout, without a block size.

        Raises:
            CorruptError: It is damaged, such as a stripe size of 0.
            UnsupportedError: It is a layout of another kind.

        Example:
            >>> hs.StorageLayout.parse("lmm_stripe_count: 4 lmm_stripe_size: 1048576").stripe_bytes
        """
        return cls(_native.parse_layout(said.encode() if isinstance(said, str) else said))

    @property
    def file_system(self) -> str:
        """`lustre`, `beegfs`, `gpfs`, `ext`, …; empty if it is not known."""
        return self._native.file_system

    @property
    def is_parallel(self) -> bool:
        """Whether many machines write to it through many servers."""
        return self.file_system in _PARALLEL

    @property
    def block_bytes(self) -> int:
        """The block size that the file system prefers."""
        return self._native.block_bytes

    @property
    def device(self) -> tuple[int, int] | None:
        """Major and minor number of the device."""
        return self._native.device

    @property
    def parts(self) -> list[StripedPart]:
        """The striped parts in order; none if the file system has no stripes or does not show them."""
        return [StripedPart(*part) for part in self._native.parts]

    @property
    def stripe_bytes(self) -> int | None:
        """Length of a stripe of the last part, which holds most of a large file; `None` without stripes."""
        parts = self.parts
        return parts[-1].stripe_bytes if parts else None

    @property
    def stripe_count(self) -> int | None:
        """Number of stripes of the last part; `None` without stripes, or for all targets."""
        parts = self.parts
        return parts[-1].stripe_count if parts else None

    def target(self, offset: int) -> int | None:
        """The storage target that holds a byte.

        Args:
            offset: Of the byte in the file.

        Returns:
            The number of the target; `None` if it is not known.

        Example:
            >>> hs.storage_layout("out.h5").target(0)
        """
        return self._native.target(offset)

    def __repr__(self) -> str:
        stripes = "".join(f", {part.stripe_count or 'all'} stripes of {part.stripe_bytes} bytes from byte {part.start}" for part in self.parts)
        return f"<StorageLayout {self.file_system or 'unknown'}, blocks of {self.block_bytes} bytes{stripes}>"


def storage_layout(path: Path) -> StorageLayout:
    """Asks the file system where the bytes of a file lie; for a folder, where the bytes of new files in it will lie.

    On Lustre this is the attribute `lustre.lov`. BeeGFS shows its stripes to its own tool only: `StorageLayout.parse` reads its
    text. Elsewhere there are a device and a block size. Of an address, the store is not asked: `file_system` is its scheme, and
    `block_bytes` the longest range that one request reads.

    Args:
        path: A file, a folder, or an address such as `s3://bucket/run.h5`.

    Returns:
        The layout. If what the file system says cannot be true, it warns (`StorageWarning`), and has no stripes.

    Raises:
        NotFoundError: There is no such file.

    Example:
        >>> hs.storage_layout("out.h5").block_bytes
    """
    found = _native.storage_layout(os.fsdecode(path))
    if found.warning is not None:
        warnings.warn(found.warning, StorageWarning, stacklevel=2)
    return StorageLayout(found)


def native_layout(layout: StorageLayout | None) -> _native.StorageLayout | None:
    """A layout as the core has it, for rooms that pass it to the core."""
    return None if layout is None else layout._native
