"""The folder above has the conformance corpus and the server of ranges."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
