"""The public interface is what `public_api.txt` lists: a name that goes, comes or takes other arguments is a line of a diff."""

import difflib

import public_api


def test_public_interface_is_the_listed_one() -> None:
    listed, now = public_api.PATH.read_text().splitlines(), public_api.lines()
    change = "\n".join(line for line in difflib.unified_diff(listed, now, "testing/repo/public_api.txt", "the package", lineterm="", n=0))
    assert not change, f"{change}\nIf this is meant: .venv/bin/python testing/repo/public_api.py"
