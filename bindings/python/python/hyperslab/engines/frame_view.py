"""Frame view: a data frame of a file of pandas in SQL."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.dataset as ds

from ..models.frames import FrameTable
from ..tables.arrow_dataset import Columns
from .views import View, distinct


class FrameView(View):
    """A data frame, whose rows are in memory."""

    is_scanned = False

    def __init__(self, table: FrameTable) -> None:
        self.table = table
        self._own_names = distinct(table.schema.names)
        self._rows = table.rows.rename_columns(list(self._own_names))
        self.scans = None

    @property
    def schema(self) -> pa.Schema:
        return self._rows.schema

    def columns_in_sql(self) -> dict[str, tuple[str, pa.DataType]]:
        return {}

    def narrow(self, condition: str) -> None:
        pass

    def scanner(self, columns: Columns = None, filter: ds.Expression | None = None, **options: object) -> ds.Scanner:
        return ds.dataset(self._rows).scanner(columns=columns, filter=filter)
