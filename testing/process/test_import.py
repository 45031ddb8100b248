"""`import hyperslab` takes no longer than its users need."""

from __future__ import annotations

import subprocess
import sys

#: What is imported when it is first used.
LATE = ("duckdb", "hyperslab.engines.sql", "hyperslab.models", "pandas", "polars", "pyarrow.dataset", "pyarrow.parquet", "xarray")


def imported(program: str) -> list[str]:
    program += f"\nimport sys\nprint(*(name for name in {LATE} if name in sys.modules))"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()


def test_what_few_programs_need_is_imported_when_it_is_used() -> None:
    assert imported("import hyperslab") == []
    assert {"duckdb", "pyarrow.dataset", "hyperslab.engines.sql"} <= set(imported("import hyperslab as hs\nhs.sql('select 1')"))


def test_all_public_names_are_there() -> None:
    done = imported(
        "import hyperslab as hs\nfor name in dir(hs): getattr(hs, name)\nfrom hyperslab import *\nassert callable(sql) and models.__name__ == 'hyperslab.models'"
    )
    assert "pyarrow.dataset" in done
