"""What matching rows form: connected components, trajectories, and those with the largest values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.arguments import check_choice, check_count
from ..base.errors import InvalidInputError, UnsupportedError
from ..base.extras import LateModule
from ..base.type_aliases import AnyArray, Int64Array
from .aggregates import Aggregates
from .components import Components, grid_neighbors, labeled, mesh_neighbors
from .trajectories import Trajectories

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = LateModule("pyarrow")

#: How cells of a regular array touch each other.
_TOUCHING = ("faces", "corners")


def quoted(name: str) -> str:
    """A name as the grammar of conditions takes it."""
    return '"' + name.replace('"', '""') + '"'


class Structures(Aggregates):
    """What `Query` finds out about the matching rows together. Only `Query` derives from it, so that its methods are there."""

    def components(self, touching: str = "faces", *, neighbors: AnyArray | None = None) -> Components:
        """Finds the connected components of the matching cells (region growing), in each step on its own.

        Takes memory for the positions of the matching rows and their pairs of neighbors.

        Args:
            touching: In a regular array, cells are neighbors if their indexes differ by 1 along one dimension (`faces`) or along any number of
                them (`corners`).
            neighbors: The pairs of neighbors of an unstructured mesh, as row numbers with shape (pairs, 2), such as the edges of a dual mesh. Pairs
                with a negative number are ignored.

        Returns:
            The component of each matching row, and the size and the bounds of each component.

        Raises:
            InvalidInputError: `touching` is not known, `neighbors` has another shape, or the steps have different numbers of dimensions.

        Example:
            >>> found = hs.query("climate.nc", "/", "temperature > 310").components()
            >>> found.sizes.max(), found.lower[found.sizes.argmax()]
        """
        query: Any = self
        check_choice("touching", touching, _TOUCHING)
        steps = query.steps
        if len({len(step.shape) for step in steps}) > 1:
            raise InvalidInputError("the arrays have different numbers of dimensions: ask for the components of one `step`")
        pairs = None if neighbors is None else _pairs(neighbors)
        ndim = len(steps[0].shape) if steps else 0
        labels, sizes, of_step, lower, upper = [], [], [], [], []
        before = 0
        for number, (positions, step) in enumerate(zip(query._positions(), steps, strict=True)):
            touch = list(grid_neighbors(positions, step.shape, touching == "corners")) if pairs is None else [mesh_neighbors(positions, pairs)]
            _, label, size = np.unique(labeled(len(positions), touch if len(positions) else []), return_inverse=True, return_counts=True)
            indexes = np.stack(np.unravel_index(positions, step.shape), axis=1) if step.shape else np.zeros((len(positions), 0), np.int64)
            low, high = np.full((len(size), ndim), np.iinfo(np.int64).max), np.full((len(size), ndim), -1, np.int64)
            np.minimum.at(low, label, indexes)
            np.maximum.at(high, label, indexes)
            labels.append(label + before)
            sizes.append(size)
            of_step.append(np.full(len(size), number))
            lower.append(low)
            upper.append(high + 1)
            before += len(size)
        flat = [np.concatenate([*parts, np.zeros(0, np.int64)]).astype(np.int64) for parts in (labels, sizes, of_step)]
        boxes = [np.concatenate([*parts, np.zeros((0, ndim), np.int64)]).astype(np.int64) for parts in (lower, upper)]
        return Components(flat[0], flat[1], flat[2], boxes[0], boxes[1])

    def top(self, name: str, count: int = 10, columns: Sequence[str] | None = None, *, smallest: bool = False) -> pa.Table:
        """Reads the rows with the largest values of a variable, largest first; among equal values, earlier rows first.

        An exact quantile gives the threshold, from an index where there is one. Then only rows beyond it are read.

        Args:
            name: A numeric variable. NaN is left out.
            count: Maximum number of rows.
            columns: Columns of the table, as of `table`; by default the variables of the condition. The variable itself is always one.
            smallest: Read the rows with the smallest values instead, smallest first.

        Returns:
            The rows.

        Raises:
            InvalidInputError: `count` is negative, or the variable is not numeric.

        Example:
            >>> q.top("energy", 10, ["_file", "Step", "_row"])
        """
        query: Any = self
        check_count("count", count)
        variable = quoted(name)
        present = query.where(f"{variable} == {variable}")
        total = present.count()
        wanted = list(dict.fromkeys([name, *(query.names if columns is None else columns)]))
        if count == 0:
            present = present.where(f"{variable} != {variable}")
        elif count < total:
            place = (count - 1) / (total - 1)
            limit: np.generic = present.quantile(name, place if smallest else 1 - place, method="lower" if not smallest else "higher")
            present = present.where(f"{variable} {'<=' if smallest else '>='} {limit.item()!r}")
        found = present.table(wanted)
        values = found[name].to_numpy()
        # A stable sort of the reversed rows, read backwards, has earlier rows first among equal values.
        order = np.argsort(values, kind="stable") if smallest else len(values) - 1 - np.argsort(values[::-1], kind="stable")[::-1]
        return found.take(order[:count])

    def trajectories(self, id: str, columns: Sequence[str] | None = None) -> Trajectories:
        """Follows the particles that match in any step through all steps.

        Particles are selected by the condition, and their rows in all steps are found by an identifier, from indexes of it where there are some.

        Args:
            id: A variable of integers that identifies particles, at most once in each step.
            columns: Further variables to read; by default the variables of the condition.

        Returns:
            The rows of these particles, sorted by particle and step, which can be drawn.

        Raises:
            InvalidInputError: The variable is not of integers, or a step has an identifier twice.

        Example:
            >>> q = hs.query("run.h5", "/Step#*", "energy > 1.3")
            >>> q.trajectories("id", ["x", "energy"]).plot("x", "energy", "paths.png")
        """
        query: Any = self
        values: AnyArray = query.values(id)
        if values.dtype.kind not in "iu":
            raise InvalidInputError(f"{id!r} is of {values.dtype}: trajectories need a variable of integers")
        names = [name for name in (columns if columns is not None else query.names) if name not in (id, "step")]
        every = query._unconditioned(id).where(f"{quoted(id)} in chosen", variables={"chosen": np.unique(values)})
        table = every.table([id, *names])
        steps = np.repeat(np.arange(len(every.steps)), every.counts())
        ids = table[id].to_numpy()
        order = np.lexsort((steps, ids))
        ids, steps = ids[order], steps[order]
        twice = np.flatnonzero((ids[1:] == ids[:-1]) & (steps[1:] == steps[:-1]))
        if len(twice):
            place = every.steps[int(steps[twice[0]])]
            raise InvalidInputError(f"{id} = {ids[twice[0]]} is there more than once in {place.group} of {place.file}")
        return Trajectories(table.take(order).add_column(1, "step", pa.array(steps)), id)


def _pairs(neighbors: AnyArray) -> Int64Array:
    pairs = np.asarray(neighbors)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise InvalidInputError(f"neighbors of {pairs.dtype} with shape {pairs.shape}: give pairs of row numbers, of shape (pairs, 2)")
    if pairs.dtype == np.uint64 and len(pairs) and pairs.max() > np.iinfo(np.int64).max:
        raise UnsupportedError("neighbors with row numbers beyond 63 bits")
    pairs = pairs.astype(np.int64)
    return pairs[(pairs >= 0).all(axis=1)]
