"""HTML in notebooks: what is shown of each object, that it is bounded and well formed, and that it changes nothing."""

from __future__ import annotations

import html
import html.parser
import pathlib
import re
import time
import warnings
from typing import Any

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pyarrow as pa
import pytest
import xarray as xr
from hyperslab.base import progress

DATA = pathlib.Path(__file__).resolve().parents[2] / "examples" / "data"
PROFILES = str(DATA / "atlantic_profiles.nc")
CELLS = str(DATA / "10x_pbmc68k_reduced.h5ad")
VOID = {"br", "rect", "img", "path"}


class _Reader(html.parser.HTMLParser):
    """Checks that elements are closed in order, and collects the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag in VOID or self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += f" {data}"


def shown(what: Any) -> str:
    """The text of an object's HTML."""
    reader = _Reader()
    reader.feed(what._repr_html_())
    reader.close()
    assert reader.open == []
    return " ".join(reader.text.split())


def test_a_file_says_what_it_is() -> None:
    text = shown(hs.open(PROFILES))
    assert text.startswith("File atlantic_profiles.nc netCDF-4 folder ") and "size 34.8 kB" in text
    assert "theta (depth=40, lat=6, lon=8) float32 sea_water_potential_temperature [K] chunks 1×6×8" in text
    assert "depth (depth=40) float32 depth [m] 5 15 … 4478 chunks 1" in text and "Conventions CF-1.5" in text
    assert "time () float64 time [days since 1800-01-01 00:00:0.0] 1984-12-01" in text


def test_a_set_is_shown_as_one(tmp_path: pathlib.Path) -> None:
    for year in (2001, 2002):
        with hs.create_netcdf(tmp_path / f"y{year}.nc") as f:
            f.create_dimension("time", 3)
            f.create_variable("time", ("time",), "i4", [0, 31, 59], attrs={"units": f"days since {year}-01-01"})
            f.create_variable("t", ("time",), "f4", np.full(3, float(year)))
    opened = hs.open(sorted(tmp_path.glob("y*.nc")))
    text = shown(opened)
    assert "t (time=6) float32" in text and "time (time=6) int32 [days since 2001-01-01] 2001-01-01 2001-02-01 … 2002-03-01" in text
    assert opened["t"][...].tolist() == [2001.0] * 3 + [2002.0] * 3
    text = shown(hs.open([PROFILES, CELLS]))
    assert "arrays are those of each file: " in text and "the first file" in text


def test_long_types_are_folded() -> None:
    text = shown(hs.open(CELLS))
    assert "obsm (700) {X_pca: float32[50], X_umap: float64[2]} chunks 44" in text
    assert "obs (700) {index: |S16, bulk_labels: int8, n_genes… chunks 175" in text and "type {index: |S16, bulk_labels: int8, n_genes: int64, " in text


def test_a_dataset_says_what_one_wants_to_see_first() -> None:
    theta = hs.open(PROFILES)["theta"]
    text = shown(theta)
    assert text.startswith("Dataset /theta atlantic_profiles.nc shape depth 40 × lat 6 × lon 8 type float32 name sea_water_potential_temperature units K")
    assert "chunks 1 × 6 × 8, 192 bytes each, 40 in all" in text and "not compressed" in text
    first = [f"{value:.6g}" for value in theta[0, 0, :6]]
    assert f"{' '.join(first)} …" in text and "at [0, …]" in text
    text = shown(hs.open(CELLS)["X"])
    assert "2.14 MB, 895 kB in the file (deflate, 2.4:1)" in text
    obs = hs.open(CELLS)["obs"]
    assert "index bulk_labels n_genes" in shown(obs) and obs[0]["index"].decode() in shown(obs)
    assert "shape scalar" in shown(hs.open(PROFILES)["time"]) and "value 1984-12-01" in shown(hs.open(PROFILES)["time"])


def first_values(path: pathlib.Path, name: str) -> list[list[str]]:
    """The cells of the first values of a dataset, without headings."""
    rows = re.findall("<tr>(.*?)</tr>", hs.open(path)[name]._repr_html_().split("<table class='hs-values'>")[1].split("</table>")[0])
    return [[html.unescape(cell) for cell in re.findall("<td[^>]*>(.*?)</td>", row)] for row in rows[1:]]


def test_first_values_are_what_the_attributes_say(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "decoded.nc"
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("x", 3)
        f.createDimension("length", 4)
        packed = f.createVariable("t", "i2", ("x",), fill_value=-9)
        packed.scale_factor, packed.add_offset, packed.units = 0.002, 250.0, "K"
        packed[:] = np.ma.masked_array([250.3, 251, 252], [False, False, True])
        for name, calendar in (("time", "standard"), ("noleap", "noleap")):
            times = f.createVariable(name, "f8", ("x",), fill_value=-1.0)
            times.units, times.calendar = "days since 2000-02-28 12:00", calendar
            times[:] = np.ma.masked_array([0.5, 1.5, 0], [False, False, True])
        lengths = f.createVariable("lengths", "i4", ("x",))
        lengths.units, lengths[:] = "hours", [1, 24, 36]
        flags = f.createVariable("quality", "i1", ("x",), fill_value=-1)
        flags.flag_values, flags.flag_meanings = np.array([0, 1], "i1"), "good bad"
        flags[:] = np.ma.masked_array([0, 1, 0], [False, False, True])
        kind = f.createVariable("kind", f.createEnumType("i1", "kinds", {"sea": 0, "land": 1}), ("x",))
        kind[:] = [1, 0, 1]
        f.createVariable("names", "S1", ("x", "length"))[:] = netCDF4.stringtochar(np.array(["6901", "ab", ""], "S4"))
        plain = f.createVariable("plain", "f4", ("x",))
        plain[:] = [1.5, np.nan, 1e20]
    with xr.open_dataset(path, decode_timedelta=True) as judge:
        numbers = {name: ["—" if np.isnan(value) else f"{value:.6g}" for value in judge[name].values] for name in ("t", "plain")}
        dates = ["—" if np.isnat(value) else str(value.astype("M8[s]")).replace("T00:00:00", "") for value in judge["time"].values]
        # xarray gives the epoch for a missing date of cftime.
        others = [*(str(value).removesuffix(" 00:00:00") for value in judge["noleap"].values[:2]), "—"]
        texts = [value.decode() for value in judge["names"].values]
        hours = judge["lengths"].values / np.timedelta64(1, "h")
    assert first_values(path, "t") == [numbers["t"]] == [["250.3", "251", "—"]]
    assert first_values(path, "plain") == [numbers["plain"]]
    assert first_values(path, "time") == [dates] == [["2000-02-29", "2000-03-01", "—"]]
    assert first_values(path, "noleap") == [others] == [["2000-03-01", "2000-03-02", "—"]]
    assert first_values(path, "names") == [texts] == [["6901", "ab", ""]]
    assert hours.tolist() == [1, 24, 36] and first_values(path, "lengths") == [["1:00:00", "1 day", "1 day, 12:00:00"]]
    assert first_values(path, "quality") == [["0 good", "1 bad", "—"]]
    assert first_values(path, "kind") == [["land", "sea", "land"]]
    f = hs.open(path)
    assert "type int16 packed → K units K" in shown(f["t"]) and "251" in f["t"]._repr_html_()
    assert "type float64 → time of the calendar noleap units days since" in shown(f["noleap"])
    assert "x 3 × length 4 type |S1 → text" in shown(f["names"])


def test_values_that_cannot_be_decoded_are_as_stored(tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "odd.nc", "w") as f:
        f.createDimension("x", 2)
        for name in ("bad_factor", "bad_date"):
            f.createVariable(name, "i2", ("x",))[:] = [7, 8]
        f["bad_factor"].scale_factor = "half"
        f["bad_date"].units = "days since yesterday"
    f = hs.open(tmp_path / "odd.nc")
    assert first_values(tmp_path / "odd.nc", "bad_factor") == [["7", "8"]] == first_values(tmp_path / "odd.nc", "bad_date")
    assert "stored values: its attribute scale_factor is half, not a number" in shown(f["bad_factor"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "/bad_date stays as numbers" in shown(f["bad_date"])


def test_a_table_shows_its_rows_but_reads_nothing_for_a_condition() -> None:
    f = hs.open(PROFILES)
    text = shown(f.table("/theta"))
    assert "rows 1,920 columns 5 first rows depth float32 lat float32 lon float32 time time theta float32 5.0 -9.833798 0.5 1984-12-01 297.1311" in text
    before = hs.counters()
    table = f.table("/theta", "theta > 299", limit=7)
    text = shown(table)
    assert "rows known when it is read where theta > 299 limit 7 rows columns 5" in text and "theta float32" in text
    assert hs.counters().since(before).chunks_decoded == 0


def test_queries_histograms_and_plans(tmp_path: pathlib.Path) -> None:
    q = hs.query(PROFILES, "/", "theta > 280")
    text = shown(q)
    assert "condition theta > 280 rows 1,920 to be tested" in text and "steps 1 in 1 file variables theta" in text
    found = q.histogram("theta", 20)
    assert f"bins 20 total {found.values.sum():,} range" in shown(found)
    assert found._repr_html_().count("<rect") == 20
    cells = hs.Histogram(np.array([[1, 0], [2, 4]]), (np.arange(3.0), np.arange(3.0)))
    assert cells._repr_html_().count("<rect") == 4 and "total 7" in shown(cells)
    for values in ([0, 0], [np.nan, 1.0], [-1, 2]):
        shown(hs.Histogram(np.array(values), (np.array([0.0, 1, 2]),)))
    shown(hs.Histogram(np.zeros((2, 2, 2), int), (np.arange(3.0),) * 3))
    text = shown(hs.indexes.plan(PROFILES, ["/theta", "/lat"]))
    assert "to be built 2 of 2 to be read 7.7 kB" in text and f"{PROFILES[:20]}" in text and "/theta" in text
    assert str(tmp_path / "w.h5") in shown(hs.WritePlan(tmp_path / "w.h5"))


def test_the_highest_of_many_bins_is_drawn() -> None:
    values = np.zeros(100_003, int)
    values[77_777] = 5
    drawn = hs.Histogram(values, (np.linspace(0, 1, 100_004),))._repr_html_()
    heights = [float(height) for height in re.findall(r"height='([0-9.]+)'/", drawn)]
    assert max(heights) == 120 and len(heights) <= 100 and len(drawn) < 60_000


def test_html_is_bounded(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "many.h5", "w") as f:
        for number in range(3000):
            f.create_group(f"g{number}").attrs["note"] = "x" * 5000
        wide = f.create_dataset("wide", data=np.zeros((1000, 1000)))
        for number in range(400):
            wide.attrs[f"a{number}"] = "y" * 300
        f["text"] = "z" * 100_000
        f["record"] = np.zeros(3, [(f"m{number}", "f4") for number in range(300)])
    opened = hs.open(tmp_path / "many.h5")
    began = time.monotonic()
    for what in (opened, opened["wide"], opened["text"], opened["record"], opened.table("/record"), opened["/"]):
        size = len(what._repr_html_())
        assert size < 200_000, what
    assert time.monotonic() - began < 20
    assert "and more" in shown(opened) and "and more attributes" in shown(opened["wide"])


def test_names_and_values_cannot_be_html(tmp_path: pathlib.Path) -> None:
    bad = "<script>alert(1)</script>"
    with h5py.File(tmp_path / "bad.h5", "w") as f:
        f["x'\"<b>"] = np.arange(3)
        f["x'\"<b>"].attrs[bad] = bad
        f["x'\"<b>"].attrs["units"] = bad
        f["s"] = bad
    opened = hs.open(tmp_path / "bad.h5")
    for what in (opened, opened["x'\"<b>"], opened["s"], opened.table("/x'\"<b>")):
        assert "<script" not in what._repr_html_() and '<b>"' not in what._repr_html_()
        shown(what)


def test_what_cannot_be_read_says_why(tmp_path: pathlib.Path) -> None:
    whole = pathlib.Path(CELLS).read_bytes()
    with h5py.File(CELLS) as f:
        offset = f["X"].id.get_chunk_info(0).byte_offset
    (tmp_path / "damaged.h5ad").write_bytes(whole[:offset] + bytes(64) + whole[offset + 64 :])
    assert "values cannot be shown" in shown(hs.open(tmp_path / "damaged.h5ad")["X"])
    closed = hs.open(PROFILES)
    dataset = closed["theta"]
    closed.close()
    assert "closed" in closed._repr_html_() and "closed" in dataset._repr_html_()


def test_damaged_attributes_and_types_that_numpy_lacks_are_said(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["x"] = np.arange(3)
        f["x"].attrs["units_of_x"] = "K"
        wide = h5py.h5t.IEEE_F64LE.copy()
        wide.set_fields(63, 40, 23, 0, 40)  # an exponent of 23 bits
        h5py.h5d.create(f.id, b"wide", wide, h5py.h5s.create_simple((3,)))
    raw = bytearray((tmp_path / "x.h5").read_bytes())
    raw[raw.index(b"units_of_x") - 8] = 159  # the version of the message
    (tmp_path / "x.h5").write_bytes(raw)
    opened = hs.open(tmp_path / "x.h5")
    assert "attributes cannot be read: version 159" in shown(opened["x"]) and repr(opened["x"]).startswith("<Dataset /x (3) int64 (not decoded: version 159")
    assert "cannot be read: a float of 8 bytes that no numpy float holds exactly" in shown(opened["wide"]) and "x (3)" in shown(opened)


class Shell:
    """The part of an IPython shell that the magic uses."""

    def __init__(self, **names: Any) -> None:
        self.user_ns = names
        self.magics: dict[str, Any] = {}

    def register_magic_function(self, function: Any, kind: str, name: str) -> None:
        assert kind == "line_cell"
        self.magics[name] = function


def test_the_magic_runs_sql() -> None:
    f = hs.open(PROFILES)
    shell = Shell(f=f, level=pa.table({"depth": pa.array([5.0, 15.0], pa.float32())}))
    hs.load_ipython_extension(shell)
    sql = shell.magics["sql"]
    rows = sql("", "select depth, avg(theta) as mean from theta group by depth order by depth")
    assert (rows.first.num_rows, rows.are_all) == (20, False) and "and there are more" in shown(rows)
    assert rows.to_arrow().num_rows == 40
    assert sql("-n 3", "from depth").first.num_rows == 3
    assert sql("f -o kept", "from theta") is None and shell.user_ns["kept"].num_rows == 1920
    assert sql("f", "select count(*) as n from theta join level using (depth)").first["n"].to_pylist() == [96]
    assert sql("f select count(*) as n from theta").first["n"].to_pylist() == [1920]
    assert sql(PROFILES, "select count(*) as n from theta").first["n"].to_pylist() == [1920]
    shell.user_ns["g"] = hs.open(CELLS)
    with pytest.raises(hs.InvalidInputError, match="several files are open"):
        sql("", "from theta")
    for line, cell, says in (("f -o 1x", "from theta", "name of a variable"), ("f -n x", "from theta", "whole number"), ("f what", "from theta", "the query is in the cell"), ("f", " ", "the query is missing"), ("f -o", "x", "is missing")):  # fmt: skip
        with pytest.raises(hs.InvalidInputError, match=says):
            sql(line, cell)


def test_progress_is_shown_on_a_terminal_after_a_while(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path) -> None:
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(progress, "INTERVAL_SECONDS", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with hs.Progress("fuse") as report:
        hs.fuse(PROFILES, tmp_path / "out.nc", progress=report)
        report(500, 1000)
        assert "fuse 50%, 500 bytes of 1 kB" in capsys.readouterr().err
    with hs.Progress("rows", "rows") as counted:
        counted(3)
        counted(4)
        assert "7 rows" in capsys.readouterr().err
    assert capsys.readouterr().err == "\r\x1b[K"
    monkeypatch.setattr("sys.stderr.isatty", lambda: False)
    with hs.Progress("fuse") as report:
        report(1, 2)
    assert capsys.readouterr().err == ""
