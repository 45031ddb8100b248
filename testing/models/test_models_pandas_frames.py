"""Data frames and series of pandas in all of its formats: what pandas writes is read as pandas reads it. Judge: pandas.read_hdf of the same file."""

from __future__ import annotations

import datetime
import itertools
import pathlib
from collections.abc import Iterator
from typing import Any

import hyperslab as hs
import numpy as np
import pandas as pd
import pytest
from sampling import one_in

N = 4
DAYS = pd.date_range("2020-01-30", periods=N)

COLUMNS: dict[str, Any] = {
    **{kind: np.arange(N).astype(kind) for kind in ("f8", "f4", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "c16")},
    "nan": np.array([0.5, np.nan, -np.inf, -0.0]),
    "flags": np.array([True, False, True, True]),
    "texts": np.array(["a", "bb", "", "grün"], object),
    "missing texts": np.array(["a", None, np.nan, "nan"], object),
    "all missing": np.array([None] * N, object),
    "times": DAYS.to_numpy(),
    "missing times": pd.DatetimeIndex([*DAYS[:3], pd.NaT]),
    "zoned": DAYS.tz_localize("Europe/Berlin"),
    "utc": DAYS.tz_localize("UTC"),
    "offset": DAYS.tz_localize(datetime.timezone(datetime.timedelta(hours=5, minutes=30))),
    "durations": pd.to_timedelta([1, 2, None, -4], "h"),
    "categories": pd.Categorical(["x", None, "y", "x"], categories=["z", "x", "y"]),
    "ordered": pd.Categorical(["x", "z", "y", "x"], categories=["z", "x", "y"], ordered=True),
    "categories of numbers": pd.Categorical([3, 1, None, 3]),
    "categories of floats": pd.Categorical([0.5, 2.5, None, 0.5]),
    "categories of times": pd.Categorical([DAYS[1], DAYS[0], None, DAYS[1]]),
    "categories of flags": pd.Categorical([True, False, None, True]),
    "no categories": pd.Categorical([None] * N),
    "objects": np.array([1, "a", 2.5, True], object),
    "dates": np.array([day.date() for day in DAYS], object),
    "date objects": np.array([*DAYS[:2], None, pd.Timedelta("1D")], object),
    "nullable": pd.array([1, None, 3, 4], dtype="Int64"),
    "strings": pd.array(["a", None, "c", "d"], dtype="string"),
    "periods": pd.period_range("2020-01", periods=N, freq="M"),
}
INDEXES: dict[str, Any] = {
    "range": pd.RangeIndex(N),
    "integers": pd.Index([7, -1, 7, 2**40], name="number"),
    "small": pd.Index(np.arange(N, dtype="i2")),
    "unsigned": pd.Index(np.arange(N, dtype="u8")),
    "floats": pd.Index([0.5, np.nan, 1e300, -0.5]),
    "texts": pd.Index(["a", "b", "nan", "grün"], name="text"),
    "flags": pd.Index([True, False, True, True]),
    "daily": DAYS,
    "hourly": pd.date_range("2020", periods=N, freq="3h", name="when"),
    "irregular": pd.DatetimeIndex(["2020-01-01", "2020-01-05", "1999-01-01", None], name="when"),
    "business": pd.date_range("2020", periods=N, freq="B"),
    "zoned": DAYS.tz_localize("Asia/Tokyo"),
    "utc": pd.date_range("2020", periods=N, freq="h", tz="UTC"),
    "durations": pd.TimedeltaIndex(["1D", "3D", "2D", None]),
    "regular durations": pd.timedelta_range("1D", periods=N, freq="D", name="lasting"),
    **{
        f"periods {freq}": pd.period_range("2020-01-06", periods=N, freq=freq, name="when")
        for freq in ("Y", "Q", "Q-JAN", "M", "W", "W-WED", "D", "h", "min", "s")
    },
    "dates": pd.Index([day.date() for day in DAYS]),
    "objects": pd.Index([1, "a", None, 2.5], dtype=object),
    "levels": pd.MultiIndex.from_product([["a", "b"], [1, 2]], names=["letter", "number"]),
    "nameless levels": pd.MultiIndex.from_product([["a", "b"], [1, 2]]),
    "half named": pd.MultiIndex.from_product([["a", "b"], [1, 2]], names=["level_x", None]),
    "levels of times": pd.MultiIndex.from_product([DAYS[:2], [0.5, 1.5]], names=["day", "x"]),
    "levels with a missing one": pd.MultiIndex.from_arrays([["a", None, "b", "a"], [1, 2, 3, 4]], names=["l", "n"]),
}
LABELS: dict[str, Any] = {
    "texts": ["a", "b", "c"],
    "out of order": ["z", "a", "m"],
    "equal": ["a", "b", "a"],
    "all equal": ["a", "a", "a"],
    "integers": [3, 5, -1],
    "equal integers": [3, 3, -1],
    "mixed": ["a", 1, 2.5],
    "floats": [0.5, np.nan, 2.5],
    "flags": [True, False, "x"],
    "named": pd.Index(["a", "b", "c"], name="letters"),
    "times": DAYS[:3],
    "zoned": DAYS[:3].tz_localize("Europe/Berlin"),
    "utc": DAYS[:3].tz_localize("UTC"),
    "durations": pd.to_timedelta([1, 2, 3], "D"),
    "periods": pd.period_range("2020-01", periods=3, freq="M"),
    "dates": [day.date() for day in DAYS[:3]],
    "moments": pd.Index([datetime.datetime(2020, 1, 1, 3, 4, 5, 6), "x", None], dtype=object),
    "missing": ["a", None, "b"],
    "levels": pd.MultiIndex.from_tuples([("a", 1), ("b", 2), ("a", 2)]),
    "named levels": pd.MultiIndex.from_tuples([("a", 1), ("b", 2), ("a", 2)], names=["L", None]),
    "levels of times": pd.MultiIndex.from_product([["a"], DAYS[:3]]),
    "numpy": [np.int64(3), np.str_("x"), np.float64(0.5)],
    "slashes": ["a/b", "c d", "e"],
}
#: Values under labels: of one type, of three types, and of types that are not in the order of the blocks.
VALUES: dict[str, list[Any]] = {
    "numbers": [np.arange(N) * 1.0, np.arange(N) * 2.0, np.arange(N) * 3.0],
    "types": [np.arange(N), np.array(["a", None, "c", "d"], object), np.arange(N) * 0.5],
    "turns": [np.array(["a", None, "c", "d"], object), np.arange(N), np.array(["x", "y", "z", "w"], object)],
    "times": [DAYS.to_numpy(), np.arange(N), np.array([True, False, True, False])],
}
FORMATS: dict[str, dict[str, Any]] = {"fixed": {}, "table": {"format": "table"}, "data columns": {"format": "table", "data_columns": True}}


def frame_of(values: list[Any], labels: Any, index: Any = None) -> pd.DataFrame:
    frame = pd.concat([pd.Series(each) for each in values], axis=1)
    return frame.set_axis(labels, axis=1) if index is None else frame.set_axis(labels, axis=1).set_axis(index, axis=0)


def cases() -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """A name, an object, and the arguments with which it is written."""
    for (form, options), (name, values) in itertools.product(FORMATS.items(), COLUMNS.items()):
        yield f"column of {name}, {form}", pd.DataFrame({"x": values, "n": np.arange(N)}), options
        yield f"series of {name}, {form}", pd.Series(values, name="s"), options
    for (form, options), (name, index) in itertools.product(FORMATS.items(), INDEXES.items()):
        yield f"index of {name}, {form}", pd.DataFrame({"x": np.arange(N), "t": ["a", "b", None, "d"]}, index=index), options
        yield f"series by {name}, {form}", pd.Series(np.arange(N) * 0.5, index=index), options
    for (form, options), (name, labels), (kind, values) in itertools.product(FORMATS.items(), LABELS.items(), VALUES.items()):
        yield f"labels {name} of {kind}, {form}", frame_of(values, labels), options
    whole = pd.DataFrame({name: COLUMNS[name] for name in ("f8", "i4", "texts", "times", "zoned", "categories", "durations", "flags")})
    for name, options in {
        "some data columns": {"data_columns": ["f8", "texts"]},
        "categories as data": {"data_columns": ["categories"]},
        "another missing text": {"nan_rep": "?"},
        "wide texts": {"min_itemsize": {"texts": 40}, "data_columns": ["texts"]},
        "latin": {"encoding": "latin-1"},
        "compressed": {"complib": "zlib", "complevel": 5},
        "blosc": {"complib": "blosc", "complevel": 5},
        "no index of PyTables": {"index": False},
    }.items():
        for index in ("range", "zoned", "texts", "periods M", "levels"):
            yield f"{name} by {index}", whole.set_axis(INDEXES[index], axis=0), {"format": "table", **options}
    for (form, options), name in itertools.product(FORMATS.items(), ("range", "daily", "texts", "levels", "periods D")):
        yield f"no rows by {name}, {form}", pd.DataFrame({"x": [0.5], "n": [1]}, index=INDEXES[name][:1]).iloc[:0], options
        yield f"no columns by {name}, {form}", pd.DataFrame(index=INDEXES[name]), options


def by_design(stored: Any, wanted: Any, options: dict[str, Any]) -> Any:
    """What is right if it is not what pandas reads: pandas takes the index of durations and dates of a table for integers or periods, and
    loses the name of labels when it puts columns in order."""
    if isinstance(wanted, Exception):
        return stored
    if options.get("format") == "table" and (isinstance(stored.index, pd.TimedeltaIndex) or stored.index.inferred_type == "date"):
        wanted = wanted.set_axis(stored.index, axis=0)
    if isinstance(wanted, pd.DataFrame) and wanted.columns.names != stored.columns.names:
        return wanted.rename_axis(columns=stored.columns.names if wanted.columns.nlevels > 1 else stored.columns.name)
    return wanted


def random_cases(count: int) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Columns, labels, indexes and options by chance."""
    chosen = np.random.default_rng(11)
    pool: list[Any] = [
        "a",
        "b",
        "c",
        "d/e",
        1,
        2,
        2.5,
        None,
        np.nan,
        True,
        DAYS[0],
        DAYS[1],
        pd.Timedelta("1D"),
        pd.Period("2020-01"),
        datetime.date(2020, 1, 1),
        ("t", 1),
    ]
    for number in range(count):
        kinds = chosen.choice(list(COLUMNS), chosen.integers(1, 6))
        labels = list("abcdefgh")[: len(kinds)] if chosen.random() < 0.4 else [pool[i] for i in chosen.integers(0, len(pool), len(kinds))]
        index = str(chosen.choice(list(INDEXES)))
        form = str(chosen.choice(["fixed", "table", "table", "table"]))
        options: dict[str, Any] = {"format": form}
        if form == "table" and chosen.random() < 0.5:
            options["data_columns"] = True if chosen.random() < 0.5 else [label for label in labels if isinstance(label, str)][:2]
        if form == "table" and chosen.random() < 0.3:
            options["nan_rep"] = str(chosen.choice(["?", "missing", "a"]))
        frame = (
            pd.concat([pd.Series(COLUMNS[kind]) for kind in kinds], axis=1)
            .set_axis(pd.Index(labels, tupleize_cols=False), axis=1)
            .set_axis(INDEXES[index], axis=0)
        )
        if chosen.random() < 0.3:
            frame = frame.iloc[::-1]
        yield f"random {number}: {kinds.tolist()} as {labels} by {index}, {options}", frame, options


def written(path: pathlib.Path, stored: Any, options: dict[str, Any]) -> bool:
    """Whether pandas writes this."""
    path.unlink(missing_ok=True)
    try:
        stored.to_hdf(path, key="k", **options)
    except Exception:  # whatever pandas refuses is no case
        return False
    with pd.HDFStore(path, "r") as store:
        return "k" in store


def same(found: Any, wanted: Any) -> None:
    compare = pd.testing.assert_frame_equal if isinstance(wanted, pd.DataFrame) else pd.testing.assert_series_equal
    compare(found, wanted)
    assert list(map(type, found.index)) == list(map(type, wanted.index))
    if isinstance(wanted, pd.DataFrame):
        assert list(map(repr, found.columns)) == list(map(repr, wanted.columns))


@one_in(5)
@pytest.mark.filterwarnings("ignore")
def test_all_frames_are_as_pandas_reads_them(tmp_path: pathlib.Path, step: int) -> None:
    path, read, refused, skipped, wrong = tmp_path / "k.h5", 0, [], 0, []
    for name, stored, options in itertools.islice(itertools.chain(cases(), random_cases(700)), 0, None, step):
        if not written(path, stored, options):
            skipped += 1
            continue
        try:
            wanted = pd.read_hdf(path, "k")
        except Exception as error:
            wanted = error
        try:
            found = hs.models.pandas.open(path)["k"]
        except hs.UnsupportedError as error:
            refused.append(f"{name}: {error.message}")
            continue
        except hs.CorruptError as error:
            if not isinstance(wanted, Exception):
                wrong.append(f"{name}: {error}")
            continue
        except Exception as error:
            wrong.append(f"{name}: {type(error).__name__} {error}")
            continue
        try:
            same(found, by_design(stored, wanted, options))
            read += 1
        except AssertionError as error:
            wrong.append(f"{name}: {error}")
    print(f"{read} frames are equal, {len(refused)} are refused by name, {skipped} are not written by pandas")
    print("\n".join(refused))
    assert not wrong, "\n\n".join([f"{len(wrong)} wrong", *wrong])
    assert read >= 300 // step
