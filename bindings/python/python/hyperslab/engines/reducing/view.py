"""Reduced view: the groups of a selection as a table of DuckDB, computed when it is read."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from ... import _native
from ...tables.arrow_dataset import Columns
from .aggregates import Measures
from .classes import Classes
from .columns import SEGMENTS


class ReducedView(ds.Dataset):  # type: ignore[misc]  # pyarrow has no stubs
    """The groups of a selection: the columns of coordinates that it shows, and what the core computes of each group.

    Args:
        plan: The scan that is reduced.
        classes: The classes along each dimension, and of the objects of the table.
        measures: What is computed.
        condition: The rows that count.
        is_grouped: Whether there are no groups without rows; else there is one in any case.
        vectors: The dimension of each vector, and its number there.
        keys: Names of the columns by which it groups.
        read: Names of the columns that are read.
        cancellation: Stops the computation.

    Raises:
        UnsupportedError: The core does not compute it.
        LimitExceededError: There are too many groups.
    """

    def __init__(
        self,
        plan: _native.Plan,
        classes: dict[int, Classes],
        measures: Measures,
        condition: object,
        is_grouped: bool,
        vectors: Sequence[tuple[int, int]],
        keys: Sequence[str],
        read: Sequence[str],
        cancellation: _native.Cancellation | None,
    ) -> None:
        self._plan, self._classes, self._measures, self._is_grouped, self._vectors = plan, classes, measures, is_grouped, vectors
        self._keys, self._read, self._cancellation = keys, read, cancellation
        dimensions = sorted(axis for axis in classes if axis != SEGMENTS)
        self._request = json.dumps(
            {
                "segment_classes": classes[SEGMENTS].count,
                "axis_classes": [classes[axis].count for axis in dimensions],
                "vector_axes": [axis for axis, _ in vectors],
                "condition": condition,
                "measures": measures.found,
            }
        )
        plan.check_reduction(self._request)
        fields = [field for found in classes.values() for field in found.representatives.schema]
        self._fields = pa.schema([*fields, *measures.schema])
        self._found: pa.Table = None

    @property
    def schema(self) -> pa.Schema:
        return self._fields

    def scanner(self, columns: Columns = None, filter: ds.Expression | None = None, **options: object) -> ds.Scanner:
        return ds.dataset(self.compute()).scanner(columns=columns, filter=filter)

    def compute(self) -> pa.Table:
        """The groups, which are kept."""
        if self._found is None:
            self._found = self._reduced()
        return self._found

    def note(self) -> str:
        """How the groups are computed."""
        passes = "several passes" if any(measure["quantile"] for measure in self._measures.found) else "1 pass"
        windows, answered = self._plan.reduced_windows(self._request, self._given())
        by_index = f"; an index answers {answered:,} of {windows:,} windows" if answered else f" in {windows:,} windows"
        return f"reduced in the array: keys {', '.join(self._keys) or 'none'}; {passes} over {', '.join(self._read) or 'nothing'}{by_index}"

    def _given(self) -> list[tuple[int, list[bytes | None], list[bytes]]]:
        """The classes and vectors of each object."""
        dimensions = sorted(axis for axis in self._classes if axis != SEGMENTS)
        given = []
        for segment, of_segment in enumerate(_classes_of_segments(self._classes[SEGMENTS])):
            axes = [None if (codes := self._classes[axis].of_segments[segment]) is None else codes.tobytes() for axis in dimensions]
            vectors = [self._classes[axis].vectors[segment][number].tobytes() for axis, number in self._vectors]
            given.append((of_segment, axes, vectors))
        return given

    def _reduced(self) -> pa.Table:
        groups = pa.table(pa.record_batch(self._plan.reduce(self._request, self._given(), self._cancellation)))
        if self._is_grouped:
            groups = groups.filter(pc.greater(groups["rows"], 0))
        columns: dict[str, pa.ChunkedArray] = {}
        for axis, found in self._classes.items():
            name = "segment" if axis == SEGMENTS else f"axis{axis}"
            own = groups[name] if name in groups.column_names else pa.array(np.zeros(groups.num_rows, dtype=np.uint32))
            if found.representatives.num_columns:
                taken = found.representatives.take(own) if found.representatives.num_rows else found.representatives.schema.empty_table()
                columns.update(zip(taken.column_names, taken.columns, strict=True))
        columns.update({name: groups[name] for name in self._measures_names()})
        return pa.table(columns, schema=self._fields)

    def _measures_names(self) -> list[str]:
        return [field.name for field in self._measures.schema]


def _classes_of_segments(found: Classes) -> list[int]:
    return [0 if codes is None else int(codes[0]) for codes in found.of_segments]
