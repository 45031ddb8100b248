"""xarray's own tests of decoding (in its wheel): whatever they decode, Hyperslab decodes from a file, with the same result."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

#: Left as numbers by design, with a warning: the year is not in front.
AMBIGUOUS = "hours since 1-1-1970"


def test_what_xarrays_tests_decode(tmp_path: pathlib.Path) -> None:
    found = tmp_path / "found.json"
    tests = ["xarray.tests.test_coding_times", "xarray.tests.test_coding", "xarray.tests.test_conventions"]
    options = ["-q", "-W", "ignore", "-p", "decoding_in_xarrays_tests", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parent), "FOUND_BY_DECODING": str(found)}
    # Some of these tests fail by themselves, without options of xarray's own configuration: what they decode is compared all the same.
    subprocess.run([sys.executable, "-m", "pytest", *options, "--pyargs", *tests], cwd=tmp_path, env=environment, check=False, capture_output=True)
    result = json.loads(found.read_text())
    assert result["tests"] > 1200 and result["compared"] > 1200, result
    assert [line for line in result["differing"] if AMBIGUOUS not in line] == []
