"""The first ten minutes in a notebook: open, look, complete names, draw, filter, query, export, wait."""

from __future__ import annotations

import base64
import html
import pathlib
import queue
import re
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import h5py
import numpy as np
import pyarrow.parquet as pq
import pytest
from jupyter_client.manager import start_new_kernel
from range_server import serving

SECONDS = 120


class Shown(NamedTuple):
    """What a cell shows: data by MIME type, in order, updates included, and what it prints on either stream."""

    data: list[dict[str, Any]]
    printed: str

    @property
    def html(self) -> str:
        return str(self.data[-1]["text/html"])

    @property
    def text(self) -> str:
        """The HTML as a reader sees it."""
        return " ".join(html.unescape(re.sub("<[^>]*>", " ", re.sub("<style>.*?</style>", "", self.html, flags=re.DOTALL))).split())


class Notebook:
    """A kernel, and what its front end asks."""

    def __init__(self) -> None:
        self._manager, self._client = start_new_kernel(kernel_name="python3")

    def run(self, code: str) -> Shown:
        """Runs a cell; an error in it fails the test."""
        asked = self._client.execute(code)
        data: list[dict[str, Any]] = []
        printed = ""
        end = time.monotonic() + SECONDS
        while True:
            try:
                message = self._client.get_iopub_msg(timeout=end - time.monotonic())
            except queue.Empty:
                raise AssertionError(f"the cell does not end: {code}") from None
            if message["parent_header"].get("msg_id") != asked:
                continue
            content = message["content"]
            if message["msg_type"] in ("display_data", "update_display_data", "execute_result"):
                data.append(content["data"])
            elif message["msg_type"] == "stream":
                printed += content["text"]
            elif message["msg_type"] == "error":
                raise AssertionError("\n".join(content["traceback"]))
            elif message["msg_type"] == "status" and content["execution_state"] == "idle":
                return Shown(data, printed)

    def complete(self, code: str) -> list[str]:
        """What the tab key offers at the end of the code."""
        reply = self._client.complete(code, len(code), reply=True, timeout=SECONDS)["content"]
        assert reply["status"] == "ok"
        return list(reply["matches"])

    def close(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("first_look")
    with h5py.File(folder / "packed.nc", "w") as f:
        f.attrs["Conventions"] = "CF-1.8"
        stored = np.arange(60, dtype="i2").reshape(3, 4, 5) * 100
        stored[0, 0, 0] = -9
        f["t"] = stored
        f["t"].attrs.update({"scale_factor": 0.01, "add_offset": 250.0, "_FillValue": np.int16(-9), "units": "K", "long_name": "air temperature"})
        for dimension, (name, extent, units) in enumerate((("time", 3, "days since 2000-02-28"), ("lat", 4, "degrees_north"), ("lon", 5, "degrees_east"))):
            f[name] = np.arange(extent, dtype="f4")
            f[name].make_scale(name)
            f[name].attrs["units"] = units
            f["t"].dims[dimension].attach_scale(f[name])
    with h5py.File(folder / "cells.h5ad", "w") as f:
        f.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        f["X"] = np.ones((3, 2), "f4")
        f["X"].attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
        for name, extent in (("obs", 3), ("var", 2)):
            frame = f.create_group(name)
            columns = ["kind", "n"] if name == "obs" else []
            frame.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index"})
            frame.attrs["column-order"] = np.array(columns, object) if columns else np.empty(0, "f8")
            frame["_index"] = [f"{name}{number}" for number in range(extent)]
            frame["_index"].attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})
        f["obs/n"] = [1, 2, 3]
        f["obs/n"].attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
        kind = f.create_group("obs/kind")
        kind.attrs.update({"encoding-type": "categorical", "encoding-version": "0.2.0", "ordered": False})
        kind["codes"], kind["categories"] = np.array([1, 0, 1], "i1"), ["B", "T"]
        kind["codes"].attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
        kind["categories"].attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})
    return folder


@pytest.fixture(scope="module")
def notebook(folder: pathlib.Path) -> Iterator[Notebook]:
    notebook = Notebook()
    notebook.run(f"import os, hyperslab as hs\nos.chdir({str(folder)!r})\nf = hs.open('packed.nc')\ncells = hs.open('cells.h5ad')\n%load_ext hyperslab")
    yield notebook
    notebook.close()


def test_the_file_and_its_datasets_are_shown(notebook: Notebook) -> None:
    assert "t (time=3, lat=4, lon=5) int16 air temperature [K]" in notebook.run("f").text
    shown = notebook.run("f['t']")
    assert shown.data[-1]["text/plain"] == "<Dataset /t (time 3, lat 4, lon 5) int16 packed → K>"
    # Decoded: a gap, and 250 + 1, 2 … kelvins. Raw would be 100, 200 …
    assert "type int16 packed → K" in shown.text and "— 251 252 253 254" in shown.text
    (picture,) = re.findall("data:image/png;base64,([^']+)'", shown.html)
    assert base64.b64decode(picture)[:8] == b"\x89PNG\r\n\x1a\n" and len(shown.html) < 30_000
    assert "2000-02-28 2000-02-29 2000-03-01" in notebook.run("f['time']").text and "<svg" in notebook.run("f['time']").html
    assert notebook.run("f['t'].decoded").data[-1]["text/plain"].startswith("<Decoded /t: (time=3, lat=4, lon=5), float64, — 251 252 253 254")
    assert "units='K'" in notebook.run("f['t'].attrs").data[-1]["text/plain"]


def test_tab_completes_names_paths_and_attributes(notebook: Notebook) -> None:
    assert notebook.complete('f["la') == ["lat"] and notebook.complete("f['lo") == ["lon"]
    assert set(notebook.complete('f["')) == {"time", "lat", "lon", "t"}
    # A path, also after a slash.
    assert {"obs/kind", "obs/n", "obs/_index"} <= set(notebook.complete('cells["obs/'))
    assert notebook.complete('cells["obs/kind/ca') == ["obs/kind/categories"]
    # IPython asks only what a variable holds: it does not run `cells["obs"]` to complete what follows.
    notebook.run("obs, attrs, root_attrs = cells['obs'], f['t'].attrs, cells.attrs")
    assert notebook.complete('obs["ki') == ["kind", "kind/categories", "kind/codes"]
    assert notebook.complete('attrs["un') == ["units"] and notebook.complete('root_attrs["encoding-t') == ["encoding-type"]
    assert "table" in notebook.complete("f.tab") and "where=" in notebook.complete("f.table('t', w")


def test_a_plot_is_a_picture_below_the_cell(notebook: Notebook) -> None:
    picture = base64.b64decode(notebook.run("f['t'].plot()").data[-1]["image/png"])
    assert picture[:8] == b"\x89PNG\r\n\x1a\n" and len(picture) > 5000


def test_rows_are_filtered_and_shown(notebook: Notebook) -> None:
    shown = notebook.run("f.table('t', where='t > 305 and lat > 2')")
    assert "where t > 305 and lat > 2" in shown.text and "time time" in shown.text and "t float64" in shown.text
    assert notebook.run("print(f.table('t', where='t > 305 and lat > 2').to_arrow()['t'].to_pylist())").printed.strip() == "[306.0, 307.0, 308.0, 309.0]"
    assert "kind category" in notebook.run("cells.table('obs')").text
    assert notebook.run("print(cells.table('obs', where=\"kind = 'B'\").to_arrow()['n'].to_pylist())").printed.strip() == "[2]"


def test_sql_knows_decoded_values_and_categories(notebook: Notebook) -> None:
    shown = notebook.run("%sql f select lat, min(t) as lowest from t where time = '2000-02-28' group by lat order by lat")
    assert "0.0 251" in shown.text and "3.0 265" in shown.text
    assert "T 2" in notebook.run("%%sql cells\nselect kind, count(*) as n from obs group by kind order by n").text


def test_rows_are_exported(notebook: Notebook, folder: pathlib.Path) -> None:
    notebook.run("import pyarrow.parquet as pq\npq.write_table(f.table('t', where='t > 300').to_arrow(), 'warm.parquet')")
    assert pq.read_table(folder / "warm.parquet")["t"].to_pylist() == [float(value) for value in range(301, 310)]


def test_a_long_read_shows_a_bar_by_itself_and_removes_it(notebook: Notebook, folder: pathlib.Path) -> None:
    with h5py.File(folder / "x.h5", "w") as f:
        f.create_dataset("x", data=np.arange(1_000_000.0), chunks=(100_000,))
    with serving() as server:
        address = server.put("x.h5", folder / "x.h5")
        notebook.run(f"slow = hs.open({address!r}, storage_options={{'allow_http': 'true'}})['x']")
        server.latency_seconds = 3
        shown = notebook.run("print(slow[...].sum())")
    assert float(shown.printed) == 499_999_500_000
    bars = [str(data["text/html"]) for data in shown.data]
    assert "<progress" in bars[0] and "of 8 MB read" in bars[0] and bars[-1] == ""
    assert notebook.run("f['t'][...].sum()").data[-1].keys() == {"text/plain"}  # a short read shows no bar
